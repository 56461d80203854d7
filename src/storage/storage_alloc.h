/*-------------------------------------------------------------------------
 *
 * storage_alloc.h
 *	  Who owns which page: slots, free list, parked lists, the directory swap.
 *
 * At any time every block below the meta page's nblocks belongs to exactly
 * one of: the fixed blocks and further park pages, a directory entry, an
 * allocation slot, the free list, a parked list.  Each step below keeps that
 * true in one WAL record of at most four pages.
 *
 * Heavyweight locks (LOCKTAG_PAGE with block numbers that no file reaches),
 * see docs/locking.md:
 *	slot i		one operation (build, flush, merge) at a time in a slot
 *	MARKS		held while delete marks change or marked objects are swapped
 *	WORKER		held by the background worker of the index
 *	RECYCLE		share: read without a snapshot; exclusive: free parked pages
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_ALLOC_H
#define SNII_STORAGE_ALLOC_H

#include "compat.h"
#include "storage/storage_format.h"

/* Slots, by purpose. */
#define SNII_SLOT_FLUSH			0	/* flush and build */
#define SNII_SLOT_MERGE			1
#define SNII_SLOT_COMPACT		2	/* the free list, being rewritten */
#define SNII_SLOT_WORKER		3	/* workers of a build: this and up */
/* Merges by the holder of SLOT_MERGE; nobody builds any more then. */
#define SNII_SLOT_NESTED		SNII_SLOT_WORKER
/* Side lists that VACUUM writes, likewise. */
#define SNII_SLOT_SIDE			(SNII_SLOT_WORKER + 1)

#define SNII_LOCK_SLOT(i)		(MaxBlockNumber - 64 + (BlockNumber) (i))
#define SNII_LOCK_MARKS			(MaxBlockNumber - 1)
#define SNII_LOCK_RECYCLE		(MaxBlockNumber - 2)
#define SNII_LOCK_WORKER		(MaxBlockNumber - 3)

/*
 * Take the lock of a slot and give back what a crash or an abort left in it.
 * With wait false, returns false if somebody else has it.  No buffer lock may be
 * held.
 */
extern bool snii_storage_slot_acquire(Relation index, int slot, bool wait);
extern void snii_storage_slot_release(Relation index, int slot);

/*
 * Take up to "want" consecutive pages (1 at least) for a stream of the object
 * being written in a slot.  Their contents are undefined.
 */
extern SniiExtent snii_storage_alloc(Relation index, int slot, uint32 want,
									 int stream);

/* Where the list of a slot is. */
extern void snii_storage_slot_get(Relation index, int slot, SniiSlot *result);

/* Next id of a segment or stretch. */
extern uint64 snii_storage_next_id(Relation index);

/* Make sure that the next "n" new pages exist in the file. */
extern void snii_storage_reserve(Relation index, uint32 n);

#endif							/* SNII_STORAGE_ALLOC_H */
