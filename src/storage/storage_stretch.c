/*-------------------------------------------------------------------------
 *
 * storage_stretch.c
 *	  Beginning and growing a stretch of the write buffer.
 *
 * A stretch has one list page, whose "used" counts the data pages that were
 * handed out, in the order of its extents.
 *
 * Lock order: directory, or list page of the stretch; then meta; then the
 * free list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_buffer.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"
#include "storage/storage_stretch.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"

/*
 * One attempt, with directory and meta page locked: one record of directory,
 * meta, the new list page, the free list.  Returns InvalidBlockNumber if the
 * file must grow first.
 */
static BlockNumber
begin_locked(Relation index, int lane, Buffer dir_buf, Buffer meta_buf,
			 BlockNumber physical)
{
	GenericXLogState *state = GenericXLogStart(index);
	Page		dir_page = GenericXLogRegisterBuffer(state, dir_buf, 0);
	SniiDirPage *dir = (SniiDirPage *) PageGetContents(dir_page);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	SniiDirEntry *entry = &dir->entries[dir->nentries];
	Buffer		free_buf;
	Buffer		buf;
	Page		page;
	SniiExtent	extent;

	extent = snii_storage_take(index, state, meta, 1, physical, &free_buf);
	if (SniiExtentLen(&extent) == 0)
	{
		GenericXLogAbort(state);
		return InvalidBlockNumber;
	}
	memset(entry, 0, sizeof(*entry));
	entry->id = meta->next_id++;
	entry->kind = SNII_ENTRY_STRETCH;
	entry->lane = (uint8) lane;
	entry->list_head = extent.start;
	entry->list_tail = extent.start;
	entry->npages = 1;
	entry->side_head = InvalidBlockNumber;
	dir->nentries++;
	dir->generation++;
	snii_storage_page_set_used(dir_page, offsetof(SniiDirPage, entries) +
							   dir->nentries * sizeof(SniiDirEntry));
	meta->lanes[lane] = extent.start;

	buf = snii_storage_fresh_page(index, extent.start);
	page = GenericXLogRegisterBuffer(state, buf, GENERIC_XLOG_FULL_IMAGE);
	snii_storage_list_init(page, entry->id, InvalidBlockNumber);
	snii_storage_list(page)->lane = (uint32) lane;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buf);
	if (BufferIsValid(free_buf))
		UnlockReleaseBuffer(free_buf);
	return extent.start;
}

BlockNumber
snii_storage_stretch_begin(Relation index, int lane, BlockNumber expected,
						   int limit)
{
	BlockNumber result;

	for (;;)
	{
		BlockNumber physical = RelationGetNumberOfBlocks(index);
		Buffer		dir_buf = snii_storage_read_page(index, SNII_DIR_BLOCK,
													 BUFFER_LOCK_EXCLUSIVE,
													 SNII_PAGE_DIR, 0);
		SniiDirPage *dir = (SniiDirPage *)
		PageGetContents(BufferGetPage(dir_buf));
		Buffer		meta_buf = snii_storage_meta_lock(index,
													  BUFFER_LOCK_EXCLUSIVE);
		SniiMetaPage *meta = snii_storage_meta(BufferGetPage(meta_buf));
		bool		full = false;

		if (meta->lanes[lane] != expected)
			result = meta->lanes[lane];
		else if (dir->nentries >= (uint32) limit ||
				 dir->nentries >= SNII_DIR_CAPACITY)
		{
			result = InvalidBlockNumber;
			full = true;
		}
		else
			result = begin_locked(index, lane, dir_buf, meta_buf, physical);
		UnlockReleaseBuffer(meta_buf);
		UnlockReleaseBuffer(dir_buf);
		if (full || BlockNumberIsValid(result))
			return result;
		if (expected != InvalidBlockNumber)
		{
			/* The lane's stretch was taken away: there is none now. */
			SniiMetaPage copy;

			snii_storage_meta_read(index, &copy);
			if (copy.lanes[lane] == InvalidBlockNumber)
				expected = InvalidBlockNumber;
		}
		snii_storage_reserve(index, 1);
		CHECK_FOR_INTERRUPTS();
	}
}

bool
snii_storage_stretch_grow(Relation index, Buffer header, uint32 want)
{
	BlockNumber physical = RelationGetNumberOfBlocks(index);
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	Page		page = GenericXLogRegisterBuffer(state, header, 0);
	SniiListPage *list = snii_storage_list(page);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	Buffer		free_buf;
	SniiExtent	extent;

	Assert(list->nextents < SNII_LIST_CAPACITY);
	extent = snii_storage_take(index, state, meta, want, physical, &free_buf);
	if (SniiExtentLen(&extent) == 0)
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(meta_buf);
		return false;
	}
	extent.tagged = SniiExtentTag(SniiExtentLen(&extent), SNII_STREAM_BUFFER);
	list->extents[list->nextents] = extent;
	list->total += SniiExtentLen(&extent);
	snii_storage_list_set(page, list->nextents + 1);
	GenericXLogFinish(state);
	if (BufferIsValid(free_buf))
		UnlockReleaseBuffer(free_buf);
	UnlockReleaseBuffer(meta_buf);
	return true;
}

void
snii_storage_stretch_verify(Relation index, BlockNumber blk,
							const SniiListPage *list)
{
	uint64		total = 0;

	snii_storage_list_verify(index, blk, list);
	for (uint32 e = 0; e < list->nextents; e++)
		total += SniiExtentLen(&list->extents[e]);
	if (list->used > list->total ||
		list->total > (list->lane == SNII_ORDERED_LANE ?
					   SNII_ORDERED_PAGES : SNII_STRETCH_PAGES) ||
		total != list->total)
		snii_storage_corrupted(index, blk,
							   "stretch claims %u of %u pages and has %llu",
							   list->used, list->total,
							   (unsigned long long) total);
}

BlockNumber
snii_storage_stretch_block(const SniiListPage *list, uint32 i)
{
	for (uint32 e = 0; e < list->nextents; e++)
	{
		uint32		len = SniiExtentLen(&list->extents[e]);

		if (i < len)
			return list->extents[e].start + i;
		i -= len;
	}
	return InvalidBlockNumber;
}
