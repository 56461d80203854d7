/*-------------------------------------------------------------------------
 *
 * lsm_view.h
 *	  What an index consists of at one moment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_VIEW_H
#define SNII_LSM_VIEW_H

#include "lsm/lsm_kind.h"
#include "storage/storage_format.h"

/* Segments, oldest first, and stretches, in the directory's order. */
typedef struct SniiView
{
	uint64		generation;
	Buffer		barrier;		/* pin, or InvalidBuffer */
	int			nentries;
	SniiDirEntry entries[FLEXIBLE_ARRAY_MEMBER];
} SniiView;

/*
 * Copy the directory into the current memory context.  The view owns a pin
 * that keeps what it names from being used again; snii_lsm_view_release()
 * lets go of it.
 *
 * The caller has a snapshot that holds back the horizon (MyProc->xmin), taken
 * before this call, and keeps it as long as it reads what the view names; or
 * it holds the RECYCLE lock in share mode, or the slot lock that alone may
 * displace what it reads (then pass has_lock, and there is no pin).
 */
extern SniiView *snii_lsm_view(Relation index, bool has_lock);
extern void snii_lsm_view_release(SniiView *view);

/* Open a segment of a view for reading. */
extern SniiObject *snii_lsm_open_segment(Relation index,
										 const SniiDirEntry *entry);

/* Is this entry still in the directory? */
extern bool snii_lsm_entry_exists(Relation index, uint64 id);

#endif							/* SNII_LSM_VIEW_H */
