/*-------------------------------------------------------------------------
 *
 * lsm_maintain.h
 *	  Flushing the write buffer and merging segments.
 *
 * Every function here may be called by any backend that holds the table's
 * RowExclusiveLock or more and no buffer lock.  They are interruptible, and
 * an error leaves the index as it was; pages that were taken are returned
 * by the next one that takes the slot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_MAINTAIN_H
#define SNII_LSM_MAINTAIN_H

#include "lsm/lsm_kind.h"
#include "lsm/lsm_policy.h"

/* Bytes of sealed stretches that make an inserter flush: snii.buffer_limit. */
extern int	snii_lsm_buffer_limit_kb;

/*
 * Publish a segment that was written without the buffer (build).  The caller
 * holds the slot's lock.
 */
extern void snii_lsm_publish(Relation index, SniiObjectWriter *w, int slot,
							 uint64 ndocs);

/* Make a segment of one record that is too large for the buffer. */
extern void snii_lsm_insert_segment(Relation index, Relation heap,
									const ItemPointerData *tid,
									const uint8 *data, size_t len);

/*
 * Make one segment of the buffer.  seal_open: also of stretches still open.
 * wait: wait for another flush to end, else return if there is one.  Returns
 * the number of stretches flushed, -1 if somebody else is flushing.
 */
extern int	snii_lsm_flush(Relation index, bool seal_open, bool wait);

/* Do the merges that the policy asks for; returns their number. */
extern int	snii_lsm_merge(Relation index, uint64 max_bytes, bool wait);

/* Do one merge; false if there is none to do or somebody else is merging. */
extern bool snii_lsm_merge_one(Relation index, uint64 max_bytes, bool wait);

/*
 * The same from within a merge by this process (snii_storage_poll_hook), of
 * what is newer than its inputs and not large: a long merge keeps nothing
 * else from being done.  With max_bytes 0, only of what has no live document.
 */
extern bool snii_lsm_merge_nested(Relation index, uint64 max_bytes);

/*
 * Did more than half of what the merge by this process was to copy die since
 * it began?  Then beginning anew is less work, and frees more.
 */
extern bool snii_lsm_merge_is_vain(Relation index);

/*
 * Free displaced pages that nobody reads any more, as snii_storage_recycle().
 */
extern uint64 snii_lsm_recycle(Relation index, Relation heap);

/*
 * What the policy wants to know of n entries of a directory; returns the
 * number of segments among them.  The caller keeps their pages from being
 * recycled.
 */
extern int	snii_lsm_measure(Relation index, const SniiDirEntry *entries,
							 int n, SniiPolicySegment *segments);

/* What is waiting to be done? */
extern void snii_lsm_load(Relation index, SniiPolicyLoad *load);

/* Merge all segments into one; returns the number of inputs. */
extern int	snii_lsm_merge_all(Relation index);

/* Flush, and do one merge in bounds, on behalf of everybody. */
extern void snii_lsm_help(Relation index, Relation heap, bool merge);

/* The directory is full: flush and merge until it is not. */
extern void snii_lsm_make_room(Relation index, Relation heap);

#endif							/* SNII_LSM_MAINTAIN_H */
