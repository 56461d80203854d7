/*-------------------------------------------------------------------------
 *
 * lsm_vacuum.h
 *	  VACUUM of any kind of snii index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_VACUUM_H
#define SNII_LSM_VACUUM_H

#include "access/genam.h"

/*
 * Show the TID of every live entry, in segments and buffer, to the callback, and mark those
 * dead that it says so: logged before this returns.  Never rewrites a segment.
 * When this returns, no scan with a barrier uses what was marked.
 */
extern void snii_lsm_bulkdelete(IndexVacuumInfo *info,
								IndexBulkDeleteResult *stats,
								IndexBulkDeleteCallback callback,
								void *callback_state);

/*
 * Flush if the buffer is large enough for it, merge, recycle, and write side
 * lists, at VACUUM's pace; leaves large merges to a worker if one can be had, and what others
 * are doing to them.  Fills in stats.
 */
extern void snii_lsm_cleanup(IndexVacuumInfo *info, Relation heap,
							 IndexBulkDeleteResult *stats);

#endif							/* SNII_LSM_VACUUM_H */
