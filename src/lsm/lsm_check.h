/*-------------------------------------------------------------------------
 *
 * lsm_check.h
 *	  Verification of any kind of snii index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_CHECK_H
#define SNII_LSM_CHECK_H

#include "lsm/lsm_view.h"

/* Live TIDs of an index, sorted. */
typedef struct SniiTidList
{
	ItemPointerData *tids;
	uint64		n;
	uint64		capacity;
} SniiTidList;

/*
 * Verify pages, ownership, segments, marks and buffer; raises
 * ERRCODE_INDEX_CORRUPTED at the first fault.  strict: the caller excludes
 * writers (see snii_storage_check_ownership()).  If tids is not NULL, it gets
 * every live TID in order, and if strict, a TID that is there twice is a
 * fault.
 */
extern void snii_lsm_check(Relation index, bool strict, SniiTidList *tids);

/* Is a TID in a sorted list? */
extern bool snii_lsm_tid_list_has(const SniiTidList *list,
								  const ItemPointerData *tid);

#endif							/* SNII_LSM_CHECK_H */
