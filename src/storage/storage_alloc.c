/*-------------------------------------------------------------------------
 *
 * storage_alloc.c
 *	  Who owns which page: slots and the free list.
 *
 * Both are chains of list pages that name extents.  A list owns the pages it
 * names and its own pages; when the head page of the free list has no extent
 * left, it is the next page to be handed out itself.
 *
 * Buffer locks are taken in the order meta, list of the slot, free list; the
 * file never grows while one is held.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"

/*
 * Blocks that a crash may take from the end of the file: those that were
 * taken and not yet written.  More than these is not made up for, lest a
 * damaged number fills the disk.
 */
#define MAX_LOST_BLOCKS		SNII_LOST_PAGES_MAX

/* ----------------------------------------------------------------
 *		Taking pages, inside a record being built
 * ----------------------------------------------------------------
 */

/*
 * Does an extent of the free list's head lie among the blocks in use, beside
 * the fixed blocks and that page itself?
 */
static void
verify_free_extent(Relation index, const SniiMetaPage *meta,
				   const SniiExtent *extent)
{
	uint32		len = SniiExtentLen(extent);

	if (len == 0 || extent->start < SNII_FIRST_FREE_BLOCK ||
		extent->start >= meta->nblocks ||
		len > meta->nblocks - extent->start ||
		meta->free_head - extent->start < len)
		snii_storage_corrupted(index, meta->free_head,
							   "free list names blocks %u to %llu of %u",
							   extent->start,
							   (unsigned long long) extent->start + len,
							   meta->nblocks);
}

/*
 * Choose up to "want" pages from the free list or the end of the file.  On
 * entry the meta page is locked and registered; the free list's head is
 * locked and registered here if it changes, and its buffer left in
 * *free_buf for the caller to release after GenericXLogFinish().  "physical" is
 * the length of the file.  Returns a length of 0 if the file must grow first.
 */
SniiExtent
snii_storage_take(Relation index, GenericXLogState *state, SniiMetaPage *meta,
				  uint32 want, BlockNumber physical, Buffer *free_buf)
{
	SniiExtent	result = {InvalidBlockNumber, 0};
	Page		page;
	SniiListPage *list;
	uint32		best = 0;
	uint32		len;

	*free_buf = InvalidBuffer;
	if (!BlockNumberIsValid(meta->free_head))
	{
		if ((uint64) meta->nblocks + want > SNII_LAST_BLOCK)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("index \"%s\" has reached its maximum size",
							RelationGetRelationName(index))));
		if (meta->nblocks + want > physical)
			return result;
		result.start = meta->nblocks;
		result.tagged = SniiExtentTag(want, 0);
		meta->nblocks += want;
		return result;
	}

	*free_buf = snii_storage_read_page(index, meta->free_head,
									   BUFFER_LOCK_EXCLUSIVE, SNII_PAGE_LIST,
									   SNII_ANY_OWNER);
	list = snii_storage_list(BufferGetPage(*free_buf));
	snii_storage_list_verify(index, meta->free_head, list);
	if (list->nextents == 0)
	{
		/* The list page itself is the page. */
		result.start = meta->free_head;
		result.tagged = SniiExtentTag(1, 0);
		if (result.start >= physical)
		{
			result.tagged = 0;
			UnlockReleaseBuffer(*free_buf);
			*free_buf = InvalidBuffer;
			return result;
		}
		meta->free_head = list->next;
		meta->free_pages--;
		/* Not needed any more: the caller may want the page itself. */
		UnlockReleaseBuffer(*free_buf);
		*free_buf = InvalidBuffer;
		return result;
	}

	/* The smallest extent that is large enough, else the largest. */
	for (uint32 i = 1; i < list->nextents; i++)
	{
		uint32		have = SniiExtentLen(&list->extents[best]);
		uint32		other = SniiExtentLen(&list->extents[i]);

		if (have < want ? other > have : (other >= want && other < have))
			best = i;
	}
	len = Min(want, SniiExtentLen(&list->extents[best]));
	verify_free_extent(index, meta, &list->extents[best]);
	result.start = list->extents[best].start +
		SniiExtentLen(&list->extents[best]) - len;
	if (result.start + len > physical)
	{
		/* The file lost its tail in a crash; it has to be made again. */
		result.tagged = 0;
		UnlockReleaseBuffer(*free_buf);
		*free_buf = InvalidBuffer;
		return result;
	}
	result.tagged = SniiExtentTag(len, 0);

	page = GenericXLogRegisterBuffer(state, *free_buf, 0);
	list = snii_storage_list(page);
	if (len == SniiExtentLen(&list->extents[best]))
	{
		list->extents[best] = list->extents[list->nextents - 1];
		snii_storage_list_set(page, list->nextents - 1);
	}
	else
		list->extents[best].tagged =
			SniiExtentTag(SniiExtentLen(&list->extents[best]) - len, 0);
	meta->free_pages -= len;
	return result;
}

/*
 * How long the file must be for snii_storage_take() to go on.
 */
static void
grow_file(Relation index, uint32 want)
{
	SniiMetaPage meta;
	BlockNumber physical;

	snii_storage_meta_read(index, &meta);
	physical = RelationGetNumberOfBlocks(index);
	if (meta.nblocks > physical && meta.nblocks - physical > MAX_LOST_BLOCKS)
		snii_storage_corrupted(index, SNII_META_BLOCK,
							   "meta page claims %u blocks, the file has %u",
							   meta.nblocks, physical);
	if (physical < meta.nblocks + want)
		snii_compat_extend(index, meta.nblocks + want);
}

void
snii_storage_reserve(Relation index, uint32 n)
{
	grow_file(index, n);
}

/* ----------------------------------------------------------------
 *		Slots
 * ----------------------------------------------------------------
 */

/* Last page of a list that nobody changes. */
static BlockNumber
find_tail(Relation index, BlockNumber head)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BlockNumber tail = head;
	BlockNumber pages = 0;

	for (;;)
	{
		Buffer		buf = snii_storage_read_page(index, tail,
												 BUFFER_LOCK_SHARE,
												 SNII_PAGE_LIST,
												 SNII_ANY_OWNER);
		BlockNumber next = snii_storage_list(BufferGetPage(buf))->next;

		UnlockReleaseBuffer(buf);
		if (!BlockNumberIsValid(next))
			return tail;
		if (++pages > nblocks)
			snii_storage_corrupted(index, tail, "list is circular");
		tail = next;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Link the list of an abandoned slot in front of the free list.
 */
static void
reclaim_slot(Relation index, int slot)
{
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	SniiMetaPage *meta = snii_storage_meta(BufferGetPage(meta_buf));
	GenericXLogState *state;
	SniiSlot   *s;
	Buffer		tail_buf;
	BlockNumber tail = meta->slots[slot].tail;

	if (!BlockNumberIsValid(meta->slots[slot].head))
	{
		UnlockReleaseBuffer(meta_buf);
		return;
	}
	if (!BlockNumberIsValid(tail))
	{
		/* Nobody but the holder of the slot changes its list. */
		BlockNumber head = meta->slots[slot].head;

		UnlockReleaseBuffer(meta_buf);
		tail = find_tail(index, head);
		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	}
	state = GenericXLogStart(index);
	meta = snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	s = &meta->slots[slot];
	tail_buf = snii_storage_read_page(index, tail, BUFFER_LOCK_EXCLUSIVE,
									  SNII_PAGE_LIST, SNII_ANY_OWNER);
	snii_storage_list(GenericXLogRegisterBuffer(state, tail_buf, 0))->next =
		meta->free_head;
	meta->free_head = s->head;
	meta->free_pages += s->npages;
	s->head = s->tail = InvalidBlockNumber;
	s->npages = 0;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(tail_buf);
	UnlockReleaseBuffer(meta_buf);
}

bool
snii_storage_slot_acquire(Relation index, int slot, bool wait)
{
	if (wait)
		LockPage(index, SNII_LOCK_SLOT(slot), ExclusiveLock);
	else if (!ConditionalLockPage(index, SNII_LOCK_SLOT(slot), ExclusiveLock))
		return false;
	reclaim_slot(index, slot);
	return true;
}

void
snii_storage_slot_release(Relation index, int slot)
{
	reclaim_slot(index, slot);
	UnlockPage(index, SNII_LOCK_SLOT(slot), ExclusiveLock);
}

void
snii_storage_slot_get(Relation index, int slot, SniiSlot *result)
{
	SniiMetaPage meta;

	snii_storage_meta_read(index, &meta);
	*result = meta.slots[slot];
}

uint64
snii_storage_next_id(Relation index)
{
	Buffer		buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, buf, 0));
	uint64		id = meta->next_id++;

	GenericXLogFinish(state);
	UnlockReleaseBuffer(buf);
	return id;
}

/*
 * Give the slot a list page with room.  One record: meta, the page, the old
 * tail, the free list.  Returns false if the file must grow first.
 */
static bool
add_list_page(Relation index, Buffer meta_buf, int slot, BlockNumber physical)
{
	GenericXLogState *state = GenericXLogStart(index);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	SniiSlot   *s = &meta->slots[slot];
	Buffer		old_buf = InvalidBuffer;
	Buffer		free_buf;
	Buffer		new_buf;
	SniiExtent	extent;

	extent = snii_storage_take(index, state, meta, 1, physical, &free_buf);
	if (SniiExtentLen(&extent) == 0)
	{
		GenericXLogAbort(state);
		return false;
	}
	new_buf = snii_storage_fresh_page(index, extent.start);
	snii_storage_list_init(GenericXLogRegisterBuffer(state, new_buf,
													 GENERIC_XLOG_FULL_IMAGE),
						   0, InvalidBlockNumber);
	if (BlockNumberIsValid(s->tail))
	{
		old_buf = snii_storage_read_page(index, s->tail, BUFFER_LOCK_EXCLUSIVE,
										 SNII_PAGE_LIST, SNII_ANY_OWNER);
		snii_storage_list(GenericXLogRegisterBuffer(state, old_buf, 0))->next =
			extent.start;
	}
	else
		s->head = extent.start;
	s->tail = extent.start;
	s->npages++;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(new_buf);
	if (BufferIsValid(old_buf))
		UnlockReleaseBuffer(old_buf);
	if (BufferIsValid(free_buf))
		UnlockReleaseBuffer(free_buf);
	return true;
}

/*
 * Take an extent into the tail page of the slot, which has room.  One
 * record: meta, tail, the free list.
 */
static SniiExtent
add_extent(Relation index, Buffer meta_buf, Buffer tail_buf, int slot,
		   uint32 want, int stream, BlockNumber physical)
{
	GenericXLogState *state = GenericXLogStart(index);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	Page		page = GenericXLogRegisterBuffer(state, tail_buf, 0);
	SniiListPage *list = snii_storage_list(page);
	Buffer		free_buf;
	SniiExtent	extent;

	extent = snii_storage_take(index, state, meta, want, physical, &free_buf);
	if (SniiExtentLen(&extent) == 0)
	{
		GenericXLogAbort(state);
		return extent;
	}
	extent.tagged = SniiExtentTag(SniiExtentLen(&extent), stream);
	list->extents[list->nextents] = extent;
	snii_storage_list_set(page, list->nextents + 1);
	meta->slots[slot].npages += SniiExtentLen(&extent);
	GenericXLogFinish(state);
	if (BufferIsValid(free_buf))
		UnlockReleaseBuffer(free_buf);
	return extent;
}

/*
 * One attempt at snii_storage_alloc(); a length of 0 asks for another one.
 */
static SniiExtent
try_alloc(Relation index, int slot, uint32 want, int stream, bool *grow)
{
	BlockNumber physical = RelationGetNumberOfBlocks(index);
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	SniiSlot	s = snii_storage_meta(BufferGetPage(meta_buf))->slots[slot];
	SniiExtent	extent = {InvalidBlockNumber, 0};
	Buffer		tail_buf;

	*grow = false;
	if (!BlockNumberIsValid(s.tail))
	{
		*grow = !add_list_page(index, meta_buf, slot, physical);
		UnlockReleaseBuffer(meta_buf);
		return extent;
	}
	tail_buf = snii_storage_read_page(index, s.tail, BUFFER_LOCK_EXCLUSIVE,
									  SNII_PAGE_LIST, SNII_ANY_OWNER);
	if (snii_storage_list(BufferGetPage(tail_buf))->nextents <
		SNII_LIST_CAPACITY)
	{
		extent = add_extent(index, meta_buf, tail_buf, slot, want, stream,
							physical);
		*grow = SniiExtentLen(&extent) == 0;
		UnlockReleaseBuffer(tail_buf);
	}
	else
	{
		UnlockReleaseBuffer(tail_buf);
		*grow = !add_list_page(index, meta_buf, slot, physical);
	}
	UnlockReleaseBuffer(meta_buf);
	return extent;
}

SniiExtent
snii_storage_alloc(Relation index, int slot, uint32 want, int stream)
{
	Assert(want >= 1 && want <= SNII_EXTENT_MAX);
	for (;;)
	{
		bool		grow;
		SniiExtent	extent = try_alloc(index, slot, want, stream, &grow);

		if (SniiExtentLen(&extent) > 0)
			return extent;
		if (grow)
			grow_file(index, want);
		CHECK_FOR_INTERRUPTS();
	}
}
