/*-------------------------------------------------------------------------
 *
 * storage_list.h
 *	  List pages, and taking and giving pages inside a record being built.
 *
 * For the files of this folder only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_LIST_H
#define SNII_STORAGE_LIST_H

#include "storage/storage_page.h"

#include "access/generic_xlog.h"

/* Pseudo block numbers for locks begin above this one. */
#define SNII_LAST_BLOCK			(MaxBlockNumber - 128)

static inline SniiListPage *
snii_storage_list(Page page)
{
	return (SniiListPage *) PageGetContents(page);
}

/* Set the number of extents, and pd_lower with it. */
static inline void
snii_storage_list_set(Page page, uint32 nextents)
{
	snii_storage_list(page)->nextents = nextents;
	snii_storage_page_set_used(page, offsetof(SniiListPage, extents) +
							   nextents * sizeof(SniiExtent));
}

static inline void
snii_storage_list_init(Page page, uint64 owner, BlockNumber next)
{
	snii_storage_page_init(page, SNII_PAGE_LIST, owner, 0);
	snii_storage_list(page)->next = next;
	snii_storage_list_set(page, 0);
}

static inline void
snii_storage_list_verify(Relation index, BlockNumber blk,
						 const SniiListPage *list)
{
	if (list->nextents > SNII_LIST_CAPACITY)
		snii_storage_corrupted(index, blk, "list page claims %u extents",
							   list->nextents);
}

/* Verify the first list page of a stretch. */
extern void snii_storage_stretch_verify(Relation index, BlockNumber blk,
										const SniiListPage *list);

extern SniiExtent snii_storage_take(Relation index, GenericXLogState *state,
									SniiMetaPage *meta, uint32 want,
									BlockNumber physical, Buffer *free_buf);

#endif							/* SNII_STORAGE_LIST_H */
