/*-------------------------------------------------------------------------
 *
 * storage_directory.h
 *	  The directory of segments and stretches, and its swap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_DIRECTORY_H
#define SNII_STORAGE_DIRECTORY_H

#include "compat.h"
#include "storage/storage_format.h"

/* Copy of the directory page, consistent. */
typedef struct SniiDirCopy
{
	uint64		generation;
	int			nentries;
	SniiDirEntry entries[SNII_DIR_CAPACITY];
} SniiDirCopy;

/*
 * With barrier not NULL, a pin on the barrier page of the directory's epoch
 * is taken under the same lock: as long as it is held, nothing that the copy
 * names is used again on this server.
 */
extern void snii_storage_dir_read(Relation index, SniiDirCopy *copy,
								  Buffer *barrier);

/*
 * Oldest epoch of which a scan may be under way: what was displaced before it
 * is seen by nobody.  Begins a new epoch if it can.  Never waits.
 */
extern uint32 snii_storage_epoch_floor(Relation index);

/*
 * Pin the gate page that scans pin now, under the directory's lock.
 */
extern Buffer snii_storage_gate_pin(Relation index);

/*
 * Wait until nobody has the gate page pinned that scans do not pin now; then
 * make it the one that they pin, and wait for the other one.  When this
 * returns, whoever pinned a gate page before the call has let go of it.  One
 * caller at a time; interruptible; nothing may be locked.
 */
extern void snii_storage_gate_switch(Relation index);

/*
 * Swap: in one WAL record the entries "remove" leave the directory and their
 * lists are parked, and "add" (or NULL) takes the place of the first of them,
 * or the end.  The list of slot (if not -1) becomes the added entry's list.
 * Raises without having changed anything if an entry to remove is not there
 * or the directory is full.  Returns the new generation.
 */
typedef struct SniiSwap
{
	int			slot;
	const SniiDirEntry *add;
	int			nremove;
	const uint64 *remove;
	const uint64 *counts;		/* SNII_COUNTERS, added to the meta page's, or
								 * NULL */
} SniiSwap;

extern uint64 snii_storage_swap(Relation index, const SniiSwap *swap);

/*
 * In one WAL record the list of slot becomes the side list of a segment, and
 * the one it had, if any, is parked.  False, without a change, if the segment is
 * not there any more.
 */
extern bool snii_storage_swap_side(Relation index, int slot, uint64 id);

/* Set the number of dead documents of an entry, if it is still there. */
extern void snii_storage_dir_set_dead(Relation index, uint64 id, uint64 ndead);

#endif							/* SNII_STORAGE_DIRECTORY_H */
