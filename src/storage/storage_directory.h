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

/* Set the number of dead documents of an entry, if it is still there. */
extern void snii_storage_dir_set_dead(Relation index, uint64 id, uint64 ndead);

#endif							/* SNII_STORAGE_DIRECTORY_H */
