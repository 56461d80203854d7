/*-------------------------------------------------------------------------
 *
 * storage_recycle.h
 *	  Parked lists: when displaced pages may be used again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_RECYCLE_H
#define SNII_STORAGE_RECYCLE_H

#include "compat.h"
#include "storage/storage_format.h"

/*
 * Free every parked list that no snapshot can need any more.  Does nothing if
 * the RECYCLE lock cannot be had at once.  heap may be NULL (then the horizon
 * is the most careful one).  Returns the number of pages freed.  No buffer
 * lock may be held.
 */
extern uint64 snii_storage_recycle(Relation index, Relation heap);

/*
 * Pages parked now, and the oldest stamp (0: nothing is parked,
 * SNII_PARK_UNSTAMPED: nothing is stamped yet).
 */
extern uint64 snii_storage_parked(Relation index, uint64 *oldest_stamp);

/*
 * Empty the first park page by moving its entries behind it.  No buffer lock
 * may be held.
 */
extern void snii_storage_park_make_room(Relation index);

/*
 * Verify that no block of the index has two owners, and, if strict, that each
 * has one; raises ERRCODE_INDEX_CORRUPTED otherwise.  Strict needs a lock on
 * the table that excludes writers; else only what the directory owns is looked
 * at, and the caller's snapshot protects it.
 */
extern void snii_storage_check_ownership(Relation index, bool strict);

#endif							/* SNII_STORAGE_RECYCLE_H */
