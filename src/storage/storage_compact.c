/*-------------------------------------------------------------------------
 *
 * storage_compact.c
 *	  Joining neighbours in the free list.
 *
 * Lists come back to the free list as they were taken: in pieces of a few
 * pages.  Segments that are made of such pieces read slowly, so now and then
 * the free list is rewritten:
 *
 *	1. {meta}: the whole list moves to a slot of its own; who needs pages
 *	   meanwhile takes them from the end of the file
 *	2. new list pages are written, in pages that the list names: nobody reads
 *	   those, and the list itself stays as it is
 *	3. {meta}: the slot's list is the new one
 *	4. the slot is released: its list goes back to the free list
 *
 * After a crash or an error the slot holds the old list or the new one, and
 * is given back by whoever takes the slot next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_compact.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"
#include "storage/storage_point.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Rewriting pays from so many list pages on, with extents this small. */
#define MIN_LIST_PAGES		8
#define SMALL_EXTENT		16

/* Extents of the free list: all, or those that its pages name. */
typedef struct FreeExtents
{
	SniiExtent *extents;
	uint64		n;
	uint64		capacity;
	uint64		npages;
} FreeExtents;

static void
add_extent(FreeExtents *all, BlockNumber start, uint32 len)
{
	if (all->n == all->capacity)
	{
		all->capacity = Max(all->capacity * 2, 1024);
		if (all->extents == NULL)
			all->extents = palloc(all->capacity * sizeof(SniiExtent));
		else
			all->extents = repalloc_huge(all->extents,
										 all->capacity * sizeof(SniiExtent));
	}
	all->extents[all->n].start = start;
	all->extents[all->n].tagged = SniiExtentTag(len, 0);
	all->n++;
	all->npages += len;
}

/*
 * Read a chain of list pages that nobody else changes.
 */
static void
read_chain(Relation index, BlockNumber head, FreeExtents *all,
		   FreeExtents *named)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BlockNumber lists = 0;

	for (BlockNumber blk = head; BlockNumberIsValid(blk);)
	{
		Buffer		buf = snii_storage_read_page(index, blk,
												 BUFFER_LOCK_SHARE,
												 SNII_PAGE_LIST,
												 SNII_ANY_OWNER);
		SniiListPage *list = snii_storage_list(BufferGetPage(buf));

		snii_storage_list_verify(index, blk, list);
		add_extent(all, blk, 1);
		for (uint32 i = 0; i < list->nextents; i++)
		{
			add_extent(all, list->extents[i].start,
					   SniiExtentLen(&list->extents[i]));
			add_extent(named, list->extents[i].start,
					   SniiExtentLen(&list->extents[i]));
		}
		if (++lists > nblocks)
			snii_storage_corrupted(index, blk, "free list is circular");
		blk = list->next;
		UnlockReleaseBuffer(buf);
		CHECK_FOR_INTERRUPTS();
	}
}

static int
compare_start(const void *a, const void *b)
{
	BlockNumber x = ((const SniiExtent *) a)->start;
	BlockNumber y = ((const SniiExtent *) b)->start;

	return x < y ? -1 : x > y;
}

/* Sort by place and join neighbours. */
static void
join_extents(FreeExtents *all)
{
	uint64		n = 0;

	qsort(all->extents, all->n, sizeof(SniiExtent), compare_start);
	for (uint64 i = 0; i < all->n; i++)
	{
		SniiExtent *last = n > 0 ? &all->extents[n - 1] : NULL;
		uint32		len = SniiExtentLen(&all->extents[i]);

		if (last != NULL &&
			last->start + SniiExtentLen(last) == all->extents[i].start &&
			SniiExtentLen(last) + len <= SNII_EXTENT_MAX)
			last->tagged = SniiExtentTag(SniiExtentLen(last) + len, 0);
		else
			all->extents[n++] = all->extents[i];
	}
	all->n = n;
}

static int
compare_len(const void *a, const void *b)
{
	uint32		x = SniiExtentLen((const SniiExtent *) a);
	uint32		y = SniiExtentLen((const SniiExtent *) b);

	return x > y ? -1 : x < y ? 1 : compare_start(a, b);
}

/*
 * Is the beginning of the free list in small pieces?  Allocations wait
 * meanwhile, so only a few pages are looked at.
 */
static bool
is_fragmented(Relation index)
{
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_SHARE);
	BlockNumber blk = snii_storage_meta(BufferGetPage(meta_buf))->free_head;
	uint64		pages = 0;
	uint32		extents = 0;
	uint32		lists = 0;

	while (BlockNumberIsValid(blk) && lists < MIN_LIST_PAGES)
	{
		Buffer		buf = snii_storage_read_page(index, blk,
												 BUFFER_LOCK_SHARE,
												 SNII_PAGE_LIST,
												 SNII_ANY_OWNER);
		SniiListPage *list = snii_storage_list(BufferGetPage(buf));

		snii_storage_list_verify(index, blk, list);
		for (uint32 i = 0; i < list->nextents; i++)
			pages += SniiExtentLen(&list->extents[i]);
		extents += list->nextents + 1;
		lists++;
		blk = list->next;
		UnlockReleaseBuffer(buf);
	}
	UnlockReleaseBuffer(meta_buf);
	return lists == MIN_LIST_PAGES &&
		pages + lists < (uint64) extents * SMALL_EXTENT;
}

/* Move the whole free list to the slot; returns its head. */
static BlockNumber
detach_list(Relation index)
{
	Buffer		meta_buf = snii_storage_meta_lock(index,
												  BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	SniiSlot   *slot = &meta->slots[SNII_SLOT_COMPACT];
	BlockNumber head = meta->free_head;

	slot->head = head;
	slot->tail = InvalidBlockNumber;	/* found when it is needed */
	slot->npages = meta->free_pages;
	meta->free_head = InvalidBlockNumber;
	meta->free_pages = 0;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(meta_buf);
	return head;
}

/* Put the new list in the place of the old one in the slot. */
static void
replace_list(Relation index, BlockNumber head, BlockNumber tail)
{
	Buffer		meta_buf = snii_storage_meta_lock(index,
												  BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));

	meta->slots[SNII_SLOT_COMPACT].head = head;
	meta->slots[SNII_SLOT_COMPACT].tail = tail;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(meta_buf);
}

/* Write one page of the new list: a record of its own. */
static void
write_list_page(Relation index, BlockNumber blk, BlockNumber next,
				const SniiExtent *extents, uint32 n)
{
	Buffer		buf = snii_storage_fresh_page(index, blk);
	GenericXLogState *state = GenericXLogStart(index);
	Page		page = GenericXLogRegisterBuffer(state, buf,
												 GENERIC_XLOG_FULL_IMAGE);

	snii_storage_list_init(page, 0, next);
	memcpy(snii_storage_list(page)->extents, extents, n * sizeof(SniiExtent));
	snii_storage_list_set(page, n);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buf);
}

/*
 * Choose n pages for the new list among those that the old one names (its
 * own pages must stay as they are), and take them out of the extents.
 * Returns how many were found.
 */
static uint32
choose_list_pages(FreeExtents *all, const FreeExtents *named,
				  BlockNumber nblocks, uint32 n, BlockNumber *pages)
{
	uint32		found = 0;

	/* What a crash cut off the file would have to be made again. */
	for (uint64 i = 0; i < named->n && found < n; i++)
		if (named->extents[i].start < nblocks)
			pages[found++] = named->extents[i].start;
	for (uint32 p = 0; p < found; p++)
		for (uint64 i = 0; i < all->n; i++)
		{
			BlockNumber start = all->extents[i].start;
			uint32		len = SniiExtentLen(&all->extents[i]);
			uint32		before;

			if (pages[p] < start || pages[p] >= start + len)
				continue;
			before = pages[p] - start;
			all->npages -= len;
			all->extents[i].tagged = SniiExtentTag(before, 0);
			all->npages += before;
			if (len > before + 1)
				add_extent(all, pages[p] + 1, len - before - 1);
			break;
		}
	return found;
}

/*
 * Write the new list; false if there are too few pages for it.
 */
static bool
write_list(Relation index, FreeExtents *all, const FreeExtents *named)
{
	uint32		npages = (uint32) (all->n / (SNII_LIST_CAPACITY / 2)) + 1;
	BlockNumber *pages = palloc(npages * sizeof(BlockNumber));
	uint64		at = 0;

	if (choose_list_pages(all, named, RelationGetNumberOfBlocks(index),
						  npages, pages) < npages)
		return false;
	qsort(all->extents, all->n, sizeof(SniiExtent), compare_len);
	while (all->n > 0 && SniiExtentLen(&all->extents[all->n - 1]) == 0)
		all->n--;
	for (uint32 p = 0; p < npages; p++)
	{
		uint32		n = (uint32) Min(all->n - at, SNII_LIST_CAPACITY);

		write_list_page(index, pages[p],
						p + 1 < npages ? pages[p + 1] : InvalidBlockNumber,
						all->extents + at, n);
		at += n;
		CHECK_FOR_INTERRUPTS();
	}
	Assert(at == all->n);
	SNII_TEST_POINT("compact_written");
	replace_list(index, pages[0], pages[npages - 1]);
	return true;
}

bool
snii_storage_compact_free(Relation index)
{
	MemoryContext context;
	MemoryContext old;
	FreeExtents all = {0};
	FreeExtents named = {0};
	BlockNumber head;
	bool		done;

	/* The slot first: it may hold a list that a crash left there. */
	if (!snii_storage_slot_acquire(index, SNII_SLOT_COMPACT, false))
		return false;
	if (!is_fragmented(index))
	{
		snii_storage_slot_release(index, SNII_SLOT_COMPACT);
		return false;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "snii free list",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	head = detach_list(index);
	SNII_TEST_POINT("compact_detached");
	read_chain(index, head, &all, &named);
	join_extents(&all);
	done = write_list(index, &all, &named);
	SNII_TEST_POINT("compact_replaced");
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	snii_storage_slot_release(index, SNII_SLOT_COMPACT);
	return done;
}
