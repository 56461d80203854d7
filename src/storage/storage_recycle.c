/*-------------------------------------------------------------------------
 *
 * storage_recycle.c
 *	  Parked lists: when displaced pages may be used again.
 *
 * A swap of the directory parks the lists of the displaced entries, and the
 * next round of recycling stamps them with the next xid.  Whoever read the
 * old directory holds a snapshot whose xmin is not above that stamp, so the
 * pages are free once the stamp precedes the horizon of removable
 * transactions.  Readers without such a snapshot (VACUUM) hold the RECYCLE
 * lock in share mode instead.
 *
 * The horizon is more careful than need be: a transaction that has been idle
 * for hours holds it back, though its next scan will read a new directory.
 * So each view pins one of two barrier pages, by the epoch of the directory;
 * an epoch is past when a later one began and its page has no pin, which
 * tells exactly when no scan is left that saw what was displaced in it.
 * Epochs are used when parked pages are more than half of the live ones, and
 * always where no standby can mind.  They never override the xmin that a
 * standby reports by hot_standby_feedback.
 *
 * On a standby the same question is answered by a recovery conflict: before
 * lists are freed, a record with the newest stamp is logged that core
 * replays by cancelling, or waiting for, older snapshots.  That is why the
 * stamp is read after the swap was logged: of a transaction that got its xid
 * after the stamp, a standby must not see the end before it sees the swap,
 * else a snapshot newer than the stamp could have read the old directory.
 *
 * Lock order: meta, park pages from first to last, list page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_directory.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"
#include "storage/storage_point.h"
#include "storage/storage_recycle.h"

#include "access/generic_xlog.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

static inline SniiParkPage *
park_of(Page page)
{
	return (SniiParkPage *) PageGetContents(page);
}

static void
park_set(Page page, uint32 nentries)
{
	park_of(page)->nentries = nentries;
	snii_storage_page_set_used(page, offsetof(SniiParkPage, entries) +
							   nentries * sizeof(SniiParkEntry));
}

static Buffer
park_lock(Relation index, BlockNumber blk, int lockmode)
{
	Buffer		buf = snii_storage_read_page(index, blk, lockmode,
											 SNII_PAGE_PARK, 0);

	if (park_of(BufferGetPage(buf))->nentries > SNII_PARK_CAPACITY)
		snii_storage_corrupted(index, blk, "park page claims %u entries",
							   park_of(BufferGetPage(buf))->nentries);
	return buf;
}

/* What a round of recycling knows of readers. */
typedef struct Past
{
	Relation	heap;			/* or NULL */
	bool		by_epoch;		/* do epochs count? */
	TransactionId feedback;		/* oldest xmin of a standby, or invalid */
	uint32		floor;			/* oldest epoch that a scan may still see */
} Past;

/*
 * Is every snapshot that may have seen the directory before "stamp" gone?
 */
static bool
stamp_is_past(Relation heap, uint64 stamp)
{
	FullTransactionId fxid = FullTransactionIdFromU64(stamp);

	/*
	 * The horizon of temporary tables heeds no snapshot, but a cursor of this
	 * session may be reading.
	 */
	if (heap != NULL && RelationUsesLocalBuffers(heap) &&
		TransactionIdIsValid(MyProc->xmin) &&
		!TransactionIdPrecedes(XidFromFullTransactionId(fxid), MyProc->xmin))
		return false;
	return GlobalVisCheckRemovableFullXid(heap, fxid);
}

/* May a parked list be freed? */
static bool
entry_is_past(const Past *past, const SniiParkEntry *entry)
{
	if (entry->stamp == SNII_PARK_UNSTAMPED)
		return false;
	if (past->by_epoch && (int32) (entry->epoch - past->floor) < 0 &&
		(!TransactionIdIsValid(past->feedback) ||
		 TransactionIdPrecedes(XidFromFullTransactionId(FullTransactionIdFromU64(entry->stamp)),
							   past->feedback)))
		return true;
	return stamp_is_past(past->heap, entry->stamp);
}

/*
 * Find a parked list that may be freed on a park page and was announced to
 * standbys ("limit"); -1 if there is none.
 */
static int
find_free(const SniiParkPage *park, const Past *past, uint64 limit)
{
	for (int i = (int) park->nentries - 1; i >= 0; i--)
		if (park->entries[i].stamp <= limit &&
			entry_is_past(past, &park->entries[i]))
			return i;
	return -1;
}

/*
 * Stamp the entries of a park page that have no stamp yet, with an xid that
 * was the next one at a time after their swap.
 */
static void
stamp_page(Relation index, BlockNumber blk)
{
	Buffer		buf = park_lock(index, blk, BUFFER_LOCK_EXCLUSIVE);
	SniiParkPage *park = park_of(BufferGetPage(buf));
	uint64		stamp = U64FromFullTransactionId(ReadNextFullTransactionId());
	GenericXLogState *state = NULL;

	for (uint32 i = 0; i < park->nentries; i++)
	{
		if (park->entries[i].stamp != SNII_PARK_UNSTAMPED)
			continue;
		if (state == NULL)
		{
			state = GenericXLogStart(index);
			park = park_of(GenericXLogRegisterBuffer(state, buf, 0));
		}
		park->entries[i].stamp = stamp;
	}
	if (state != NULL)
		GenericXLogFinish(state);
	UnlockReleaseBuffer(buf);
}

/*
 * Newest stamp that may be freed on a page, 0 if none.
 */
static uint64
newest_past(const SniiParkPage *park, const Past *past)
{
	uint64		result = 0;

	for (uint32 i = 0; i < park->nentries; i++)
		if (park->entries[i].stamp > result &&
			entry_is_past(past, &park->entries[i]))
			result = park->entries[i].stamp;
	return result;
}

/*
 * Move one parked list from a park page to the free list: one record of
 * meta, the park page, the last page of the list.  Returns the pages freed,
 * 0 when there is nothing to do.
 */
static uint64
free_one(Relation index, const Past *past, BlockNumber park_blk, uint64 limit)
{
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	Buffer		park_buf = park_lock(index, park_blk, BUFFER_LOCK_EXCLUSIVE);
	int			pos = find_free(park_of(BufferGetPage(park_buf)), past, limit);
	SniiParkEntry entry = {0};

	if (pos >= 0)
	{
		BlockNumber tail_blk =
		park_of(BufferGetPage(park_buf))->entries[pos].tail;
		Buffer		tail_buf = snii_storage_read_page(index, tail_blk,
													  BUFFER_LOCK_EXCLUSIVE,
													  SNII_PAGE_LIST,
													  SNII_ANY_OWNER);
		GenericXLogState *state = GenericXLogStart(index);
		SniiMetaPage *meta =
		snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
		Page		page = GenericXLogRegisterBuffer(state, park_buf, 0);
		SniiParkPage *park = park_of(page);
		Page		tail = GenericXLogRegisterBuffer(state, tail_buf, 0);

		entry = park->entries[pos];
		snii_storage_list(tail)->next = meta->free_head;
		meta->free_head = entry.head;
		meta->free_pages += entry.npages;
		park->entries[pos] = park->entries[park->nentries - 1];
		park_set(page, park->nentries - 1);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(tail_buf);
	}
	UnlockReleaseBuffer(park_buf);
	UnlockReleaseBuffer(meta_buf);
	return entry.npages;
}

/*
 * Unlink the page behind "prev_blk" if it is empty and make it the free
 * list's head: one record of meta, both pages.
 */
static bool
drop_empty_page(Relation index, BlockNumber prev_blk)
{
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	Buffer		prev_buf = park_lock(index, prev_blk, BUFFER_LOCK_EXCLUSIVE);
	BlockNumber blk = park_of(BufferGetPage(prev_buf))->next;
	bool		dropped = false;

	if (BlockNumberIsValid(blk))
	{
		Buffer		buf = park_lock(index, blk, BUFFER_LOCK_EXCLUSIVE);

		if (park_of(BufferGetPage(buf))->nentries == 0)
		{
			GenericXLogState *state = GenericXLogStart(index);
			SniiMetaPage *meta =
			snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf,
														0));
			Page		prev = GenericXLogRegisterBuffer(state, prev_buf, 0);
			Page		page = GenericXLogRegisterBuffer(state, buf, 0);

			park_of(prev)->next = park_of(page)->next;
			snii_storage_list_init(page, 0, meta->free_head);
			meta->free_head = blk;
			meta->free_pages++;
			GenericXLogFinish(state);
			dropped = true;
		}
		UnlockReleaseBuffer(buf);
	}
	UnlockReleaseBuffer(prev_buf);
	UnlockReleaseBuffer(meta_buf);
	return dropped;
}

/*
 * Stamp what has none, and find the newest stamp over all park pages that may
 * be freed, 0 if none.
 */
static uint64
newest_past_all(Relation index, const Past *past)
{
	uint64		result = 0;

	for (BlockNumber blk = SNII_PARK_BLOCK; BlockNumberIsValid(blk);)
	{
		Buffer		buf;
		uint64		newest;

		stamp_page(index, blk);
		buf = park_lock(index, blk, BUFFER_LOCK_SHARE);
		newest = newest_past(park_of(BufferGetPage(buf)), past);
		result = Max(result, newest);
		blk = park_of(BufferGetPage(buf))->next;
		UnlockReleaseBuffer(buf);
		CHECK_FOR_INTERRUPTS();
	}
	return result;
}

/*
 * Does the debt of parked pages ask for epochs?  The horizon alone is kinder
 * to standbys: with hot_standby_feedback it knows their snapshots.
 */
static bool
want_epochs(Relation index)
{
	SniiMetaPage meta;
	uint64		oldest;
	uint64		parked = snii_storage_parked(index, &oldest);

	if (parked == 0)
		return false;
	if (!RelationNeedsWAL(index) || !XLogStandbyInfoActive())
		return true;
	snii_storage_meta_read(index, &meta);
	return parked * 3 > (uint64) meta.nblocks - meta.free_pages;
}

uint64
snii_storage_recycle(Relation index, Relation heap)
{
	uint64		freed = 0;
	uint64		limit;
	Past		past = {heap, false, InvalidTransactionId, 0};

	if (!ConditionalLockPage(index, SNII_LOCK_RECYCLE, ExclusiveLock))
		return 0;
	past.by_epoch = want_epochs(index);
	if (past.by_epoch)
	{
		past.floor = snii_storage_epoch_floor(index);
		past.feedback = snii_compat_feedback_xmin();
	}
	limit = newest_past_all(index, &past);
	if (limit != 0)
	{
		if (RelationNeedsWAL(index) && XLogStandbyInfoActive())
			snii_compat_log_page_reuse(index, false, SNII_META_BLOCK,
									   FullTransactionIdFromU64(limit));
		SNII_TEST_POINT("recycle_logged");

		/*
		 * Only holders of this lock unlink park pages, so the chain stays in
		 * place but for new pages behind the first.
		 */
		for (BlockNumber blk = SNII_PARK_BLOCK; BlockNumberIsValid(blk);)
		{
			uint64		n;
			Buffer		buf;

			while ((n = free_one(index, &past, blk, limit)) > 0)
			{
				freed += n;
				SNII_TEST_POINT("recycle_one");
				CHECK_FOR_INTERRUPTS();
			}
			while (drop_empty_page(index, blk))
				CHECK_FOR_INTERRUPTS();
			buf = park_lock(index, blk, BUFFER_LOCK_SHARE);
			blk = park_of(BufferGetPage(buf))->next;
			UnlockReleaseBuffer(buf);
		}
	}
	UnlockPage(index, SNII_LOCK_RECYCLE, ExclusiveLock);
	return freed;
}

uint64
snii_storage_parked(Relation index, uint64 *oldest_stamp)
{
	uint64		result = 0;
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BlockNumber pages = 0;
	Buffer		buf = park_lock(index, SNII_PARK_BLOCK, BUFFER_LOCK_SHARE);

	*oldest_stamp = 0;
	for (;;)
	{
		SniiParkPage *park = park_of(BufferGetPage(buf));
		Buffer		next;

		for (uint32 i = 0; i < park->nentries; i++)
		{
			result += park->entries[i].npages;
			if (*oldest_stamp == 0 ||
				park->entries[i].stamp < *oldest_stamp)
				*oldest_stamp = park->entries[i].stamp;
		}
		if (!BlockNumberIsValid(park->next))
			break;
		if (++pages > nblocks)
			snii_storage_corrupted(index, park->next,
								   "chain of park pages is circular");
		/* Hold this one meanwhile: an empty page behind it may be dropped. */
		next = park_lock(index, park->next, BUFFER_LOCK_SHARE);
		UnlockReleaseBuffer(buf);
		buf = next;
	}
	UnlockReleaseBuffer(buf);
	return result;
}

/*
 * One attempt at emptying the first park page: one record of meta, that page, the
 * new page, the free list.
 */
static bool
try_make_room(Relation index)
{
	BlockNumber physical = RelationGetNumberOfBlocks(index);
	Buffer		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	Buffer		first_buf = park_lock(index, SNII_PARK_BLOCK,
									  BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	SniiMetaPage *meta =
	snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf, 0));
	Page		first = GenericXLogRegisterBuffer(state, first_buf, 0);
	Buffer		free_buf;
	SniiExtent	extent = snii_storage_take(index, state, meta, 1, physical,
										   &free_buf);
	bool		done = SniiExtentLen(&extent) > 0;

	if (done)
	{
		Buffer		buf = snii_storage_fresh_page(index, extent.start);
		Page		page = GenericXLogRegisterBuffer(state, buf,
													 GENERIC_XLOG_FULL_IMAGE);

		snii_storage_page_init(page, SNII_PAGE_PARK, 0, 0);
		memcpy(park_of(page), park_of(first),
			   offsetof(SniiParkPage, entries) +
			   park_of(first)->nentries * sizeof(SniiParkEntry));
		park_set(page, park_of(first)->nentries);
		park_of(first)->next = extent.start;
		park_set(first, 0);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buf);
		if (BufferIsValid(free_buf))
			UnlockReleaseBuffer(free_buf);
	}
	else
		GenericXLogAbort(state);
	UnlockReleaseBuffer(first_buf);
	UnlockReleaseBuffer(meta_buf);
	return done;
}

void
snii_storage_park_make_room(Relation index)
{
	while (!try_make_room(index))
	{
		snii_storage_reserve(index, 1);
		CHECK_FOR_INTERRUPTS();
	}
}

/* ----------------------------------------------------------------
 *		Ownership
 * ----------------------------------------------------------------
 */

/* Bit per block: it has an owner. */
typedef struct OwnMap
{
	Relation	index;
	bool		strict;
	BlockNumber nblocks;		/* in use, as the meta page said last */
	uint8	   *seen;
} OwnMap;

/* Read the number of blocks in use (again) and make room for their bits. */
static void
own_resize(OwnMap *map)
{
	SniiMetaPage meta;
	Size		old_size = map->seen == NULL ? 0 : map->nblocks / 8 + 1;
	Size		size;

	snii_storage_meta_read(map->index, &meta);
	if (meta.nblocks < SNII_FIRST_FREE_BLOCK || meta.nblocks < map->nblocks)
		snii_storage_corrupted(map->index, SNII_META_BLOCK,
							   "meta page claims %u blocks", meta.nblocks);
	size = meta.nblocks / 8 + 1;
	if (map->seen == NULL)
		map->seen = MemoryContextAllocHuge(CurrentMemoryContext, size);
	else
		map->seen = repalloc_huge(map->seen, size);
	memset(map->seen + old_size, 0, size - old_size);
	map->nblocks = meta.nblocks;
}

/* Note that a run of blocks has an owner. */
static void
own(OwnMap *map, BlockNumber start, uint32 len, const char *owner)
{
	/* An open stretch may have grown since we looked. */
	if (!map->strict &&
		(start >= map->nblocks || len > map->nblocks - start))
		own_resize(map);
	if (start >= map->nblocks || len > map->nblocks - start)
		snii_storage_corrupted(map->index, start,
							   "%s owns %u blocks beyond the %u in use",
							   owner, len, map->nblocks);
	for (BlockNumber blk = start; blk < start + len; blk++)
	{
		if (map->seen[blk / 8] & (1 << (blk % 8)))
			snii_storage_corrupted(map->index, blk,
								   "block of %s has another owner, too",
								   owner);
		map->seen[blk / 8] |= (uint8) (1 << (blk % 8));
	}
}

/* Note the blocks of a list; verify its length and tail if given. */
static void
own_list(OwnMap *map, BlockNumber head, BlockNumber tail, int64 npages,
		 const char *owner)
{
	SniiListPage *list = palloc(BLCKSZ);
	uint64		count = 0;
	BlockNumber last = InvalidBlockNumber;

	for (BlockNumber blk = head; BlockNumberIsValid(blk);)
	{
		Buffer		buf;

		own(map, blk, 1, owner);
		buf = snii_storage_read_page(map->index, blk, BUFFER_LOCK_SHARE,
									 SNII_PAGE_LIST, SNII_ANY_OWNER);
		memcpy(list, snii_storage_list(BufferGetPage(buf)),
			   SNII_PAGE_PAYLOAD);
		UnlockReleaseBuffer(buf);
		snii_storage_list_verify(map->index, blk, list);
		for (uint32 i = 0; i < list->nextents; i++)
		{
			own(map, list->extents[i].start,
				SniiExtentLen(&list->extents[i]), owner);
			count += SniiExtentLen(&list->extents[i]);
		}
		count++;
		last = blk;
		blk = list->next;
		CHECK_FOR_INTERRUPTS();
		if (last == tail && BlockNumberIsValid(tail))
			break;
	}
	pfree(list);
	if (BlockNumberIsValid(tail) && last != tail)
		snii_storage_corrupted(map->index, head,
							   "list of %s does not reach its last page %u",
							   owner, tail);
	if (npages >= 0 && count != (uint64) npages)
		snii_storage_corrupted(map->index, head,
							   "list of %s has %llu pages instead of %lld",
							   owner, (unsigned long long) count,
							   (long long) npages);
}

/* Note the park pages and what they hold. */
static void
own_parked(OwnMap *map)
{
	SniiParkPage *copy = palloc(BLCKSZ);

	for (BlockNumber blk = SNII_PARK_BLOCK; BlockNumberIsValid(blk);)
	{
		Buffer		buf;

		own(map, blk, 1, "the park pages");
		buf = park_lock(map->index, blk, BUFFER_LOCK_SHARE);
		memcpy(copy, park_of(BufferGetPage(buf)), SNII_PAGE_PAYLOAD);
		UnlockReleaseBuffer(buf);
		for (uint32 i = 0; i < copy->nentries; i++)
			own_list(map, copy->entries[i].head, copy->entries[i].tail,
					 copy->entries[i].npages, "a parked list");
		blk = copy->next;
	}
	pfree(copy);
}

/* Note what the directory owns. */
static void
own_directory(OwnMap *map)
{
	SniiDirPage *dir = palloc(BLCKSZ);
	Buffer		buf = snii_storage_read_page(map->index, SNII_DIR_BLOCK,
											 BUFFER_LOCK_SHARE,
											 SNII_PAGE_DIR, 0);

	memcpy(dir, PageGetContents(BufferGetPage(buf)), SNII_PAGE_PAYLOAD);
	UnlockReleaseBuffer(buf);
	if (dir->nentries > SNII_DIR_CAPACITY)
		snii_storage_corrupted(map->index, SNII_DIR_BLOCK,
							   "directory claims %u entries", dir->nentries);
	for (uint32 i = 0; i < dir->nentries; i++)
	{
		const SniiDirEntry *entry = &dir->entries[i];
		bool		segment = entry->kind == SNII_ENTRY_SEGMENT;

		own_list(map, entry->list_head, entry->list_tail,
				 segment || (entry->flags & SNII_ENTRY_SEALED) ?
				 (int64) entry->npages : -1,
				 segment ? "a segment" : "a stretch");
		if (segment && BlockNumberIsValid(entry->side_head))
			own_list(map, entry->side_head, entry->side_tail,
					 (int64) entry->side_pages, "a side list");
	}
	pfree(dir);
}

void
snii_storage_check_ownership(Relation index, bool strict)
{
	OwnMap		map = {index, strict};

	own_resize(&map);
	own(&map, SNII_META_BLOCK, 1, "the meta page");
	own(&map, SNII_DIR_BLOCK, 1, "the directory");
	for (BlockNumber blk = SNII_BARRIER_BLOCK(0); blk < SNII_FIRST_FREE_BLOCK;
		 blk++)
	{
		own(&map, blk, 1, "a barrier");
		ReleaseBuffer(snii_storage_read_page(index, blk, BUFFER_LOCK_UNLOCK,
											 SNII_PAGE_BARRIER, 0));
	}
	own_directory(&map);
	if (strict)
	{
		SniiMetaPage meta;

		snii_storage_meta_read(index, &meta);
		for (int i = 0; i < SNII_SLOTS; i++)
			own_list(&map, meta.slots[i].head, meta.slots[i].tail,
					 meta.slots[i].npages, "a slot");
		own_parked(&map);
		own_list(&map, meta.free_head, InvalidBlockNumber, meta.free_pages,
				 "the free list");
		for (BlockNumber blk = 0; blk < map.nblocks; blk++)
			if ((map.seen[blk / 8] & (1 << (blk % 8))) == 0)
				snii_storage_corrupted(index, blk, "block has no owner");
	}
	pfree(map.seen);
}
