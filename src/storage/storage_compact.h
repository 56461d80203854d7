/*-------------------------------------------------------------------------
 *
 * storage_compact.h
 *	  Joining neighbours in the free list.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_COMPACT_H
#define SNII_STORAGE_COMPACT_H

#include "compat.h"
#include "storage/storage_format.h"

/*
 * Rewrite the free list with neighbouring extents joined, the largest first,
 * if it has become fragmented.  Does nothing if somebody else is at it.  No
 * buffer lock may be held.  Returns whether it was rewritten.
 */
extern bool snii_storage_compact_free(Relation index);

#endif							/* SNII_STORAGE_COMPACT_H */
