/*-------------------------------------------------------------------------
 *
 * storage_stretch.h
 *	  Beginning and growing a stretch of the write buffer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_STRETCH_H
#define SNII_STORAGE_STRETCH_H

#include "compat.h"
#include "storage/storage_format.h"

/*
 * Begin an empty stretch in a lane whose open stretch is "expected", as the
 * meta page says (InvalidBlockNumber: none).  Returns the first list page of
 * the lane's open stretch: the new one, or that which somebody else began
 * meanwhile.  Returns InvalidBlockNumber, having done nothing, if the
 * directory has "limit" entries or more.  No buffer lock may be held.
 */
extern BlockNumber snii_storage_stretch_begin(Relation index, int lane,
											  BlockNumber expected,
											  int limit);

/*
 * Add up to "want" pages to the stretch whose first list page is in "header",
 * pinned and exclusively locked by the caller before and after.  Returns
 * false, having done nothing, if the file must grow first: the caller lets
 * go of the lock, calls snii_storage_reserve() and tries again.
 */
extern bool snii_storage_stretch_grow(Relation index, Buffer header,
									  uint32 want);

/* Block of data page "i" (< used) of a stretch, from its first list page. */
extern BlockNumber snii_storage_stretch_block(const SniiListPage *list,
											  uint32 i);

#endif							/* SNII_STORAGE_STRETCH_H */
