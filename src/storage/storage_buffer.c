/*-------------------------------------------------------------------------
 *
 * storage_buffer.c
 *	  Pages of the write buffer: appending, reading, marking records dead.
 *
 * An append that fits into the last page of its lane touches that page alone.
 * Otherwise the stretch's list page is locked, the next page is begun, and
 * the one before is closed (SNII_BUFFER_FULL), so that only the last page of
 * a stretch takes appends and sealing has one page to close.
 *
 * A record larger than a page first takes its pages ("used" moves on), then
 * writes the later ones, then the first, which makes it visible.  Meanwhile
 * its writer holds a heavyweight lock on the list page in share mode; a flush reads a
 * sealed stretch only when that lock is free in exclusive mode.
 *
 * Lock order: directory, list page of the stretch, data page, meta, free
 * list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_buffer.h"
#include "storage/storage_buffer_page.h"
#include "storage/storage_counters.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_object.h"
#include "storage/storage_page.h"
#include "storage/storage_patch.h"
#include "storage/storage_point.h"
#include "storage/storage_stretch.h"
#include "storage/storage_timing.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Put a record header and the bytes behind it at the end of a page. */
static void
put_record(Page page, const ItemPointerData *tid, const uint8 *data,
		   uint32 len)
{
	SniiBufferPage *buffer = snii_storage_records(page);
	uint32		at = snii_storage_record_bytes(page);
	SniiRecordHeader header = {0};

	header.len = (uint16) len;
	header.tid = *tid;
	memcpy(buffer->data + at, &header, sizeof(header));
	memcpy(buffer->data + at + sizeof(header), data, len);
	snii_storage_page_set_used(page, offsetof(SniiBufferPage, data) + at +
							   sizeof(header) + len);
}

static inline bool
has_room(Page page, uint32 len)
{
	return (snii_storage_opaque(page)->flags & SNII_BUFFER_FULL) == 0 &&
		snii_storage_record_fits(page, len);
}

/*
 * Pin and lock a data page of a stretch that was handed out.  InvalidBuffer
 * if the file ends before it: pages of a large record are handed out before
 * they are written, and a growth of the file is not logged, so that after a
 * crash, and on a standby, they need not be there.
 */
static Buffer
lock_data_page(Relation index, BlockNumber blk, int lockmode)
{
	Buffer		buf;

	if (blk >= RelationGetNumberOfBlocks(index))
		return InvalidBuffer;
	buf = ReadBuffer(index, blk);
	snii_storage_lock_page(index, buf, lockmode);
	return buf;
}

/* ----------------------------------------------------------------
 *		Appending
 * ----------------------------------------------------------------
 */

/*
 * Append a record to a page that has room, exclusively locked.
 */
static void
append_record(Relation index, Buffer buf, const ItemPointerData *tid,
			  const uint8 *data, uint32 len)
{
	Page		page = BufferGetPage(buf);
	uint16		end = ((PageHeader) page)->pd_lower;
	SniiRecordHeader header = {0};
	uint16		lower = (uint16) (end + sizeof(header) + len);
	SniiPatchPage patch = {.buf = buf};

	header.len = (uint16) len;
	header.tid = *tid;
	snii_storage_patch_add(&patch, offsetof(PageHeaderData, pd_lower), &lower,
						   sizeof(lower));
	snii_storage_patch_add(&patch, end, &header, sizeof(header));
	snii_storage_patch_add(&patch, end + sizeof(header), data, len);
	snii_storage_patch(index, &patch, 1);
}

/*
 * Append to the page of the hint.  False if the hint is stale or the page is
 * full.
 */
static bool
append_fast(Relation index, const SniiTail *tail, const ItemPointerData *tid,
			const uint8 *data, uint32 len)
{
	Buffer		buf;

	if (tail->id == 0)
		return false;
	buf = ReadBuffer(index, tail->page);
	snii_storage_lock_page(index, buf, BUFFER_LOCK_EXCLUSIVE);
	if (!snii_storage_page_is(BufferGetPage(buf), SNII_PAGE_BUFFER,
							  tail->id) ||
		!has_room(BufferGetPage(buf), len))
	{
		UnlockReleaseBuffer(buf);
		return false;
	}
	append_record(index, buf, tid, data, len);
	UnlockReleaseBuffer(buf);
	return true;
}

/*
 * Lock the list page of the lane's open stretch, beginning one if there is
 * none.  InvalidBuffer: the directory has "limit" entries.
 */
static Buffer
lock_open_stretch(Relation index, int lane, int limit, SniiTail *tail)
{
	BlockNumber last = InvalidBlockNumber;
	int			tries = 0;

	for (;;)
	{
		SniiMetaPage meta;
		BlockNumber blk;
		Buffer		buf;
		Page		page;

		CHECK_FOR_INTERRUPTS();
		snii_storage_meta_read(index, &meta);
		blk = meta.lanes[lane];
		if (!BlockNumberIsValid(blk))
		{
			blk = snii_storage_stretch_begin(index, lane, blk, limit);
			if (!BlockNumberIsValid(blk))
				return InvalidBuffer;
		}
		if (blk >= RelationGetNumberOfBlocks(index))
			snii_storage_corrupted(index, SNII_META_BLOCK,
								   "lane %d begins at block %u, beyond the end",
								   lane, blk);
		buf = ReadBuffer(index, blk);
		snii_storage_lock_page(index, buf, BUFFER_LOCK_EXCLUSIVE);
		page = BufferGetPage(buf);
		if (snii_storage_page_is(page, SNII_PAGE_LIST, SNII_ANY_OWNER) &&
			snii_storage_opaque(page)->owner != 0 &&
			snii_storage_list(page)->lane == (uint32) lane &&
			!snii_storage_list(page)->sealed)
		{
			snii_storage_stretch_verify(index, blk, snii_storage_list(page));
			tail->id = snii_storage_opaque(page)->owner;
			tail->header = blk;
			return buf;
		}
		UnlockReleaseBuffer(buf);

		/* It was sealed, or even recycled, since we read the meta page. */
		tries = (blk == last) ? tries + 1 : 0;
		last = blk;
		if (tries > 1000)
			snii_storage_corrupted(index, blk,
								   "lane %d has no valid open stretch", lane);
	}
}

/*
 * Close the last page of the stretch and hand out n more.  header is locked.
 * If "begin", the first of them is begun as an empty page in the same record.
 */
static BlockNumber
hand_out(Relation index, Buffer header, uint64 id, uint32 n, bool begin)
{
	Page		page = BufferGetPage(header);
	const SniiListPage *old = snii_storage_list(page);
	BlockNumber next = snii_storage_stretch_block(old, old->used);
	Buffer		prev_buf = InvalidBuffer;
	uint32		used = old->used + n;
	uint8		flags;
	PGAlignedBlock first;
	SniiPatchPage pages[3] = {0};
	int			npages = 1;

	if (old->used > 0)
		prev_buf = lock_data_page(index,
								  snii_storage_stretch_block(old,
															 old->used - 1),
								  BUFFER_LOCK_EXCLUSIVE);
	pages[0].buf = header;
	snii_storage_patch_add(&pages[0], (char *) &old->used - (char *) page,
						   &used, sizeof(used));
	if (BufferIsValid(prev_buf) &&
		snii_storage_page_is(BufferGetPage(prev_buf), SNII_PAGE_BUFFER, id))
	{
		Page		prev = BufferGetPage(prev_buf);
		uint8	   *field = &snii_storage_opaque(prev)->flags;

		flags = *field | SNII_BUFFER_FULL;
		pages[npages].buf = prev_buf;
		snii_storage_patch_add(&pages[npages++], (char *) field - (char *) prev,
							   &flags, sizeof(flags));
	}
	if (begin)
	{
		snii_storage_records_begin((Page) first.data, id, 0);
		pages[npages].buf = snii_storage_fresh_page(index, next);
		pages[npages++].image = first.data;
	}
	snii_storage_patch(index, pages, npages);
	if (begin)
		UnlockReleaseBuffer(pages[npages - 1].buf);
	if (BufferIsValid(prev_buf))
		UnlockReleaseBuffer(prev_buf);
	return next;
}

typedef enum MakeRoom
{
	ROOM_MADE,
	ROOM_AGAIN,					/* file or stretch changed: start over */
	ROOM_SEALED,				/* the stretch was full and is sealed now */
	ROOM_NONE					/* no stretch can be begun */
} MakeRoom;

/*
 * Is the file long enough for the next n pages of the stretch?  Pages that
 * were taken before a crash, or by another server, need not be there.  If
 * not, the header is let go of and the file made longer.
 */
static bool
pages_exist(Relation index, Buffer header, uint32 n)
{
	const SniiListPage *list = snii_storage_list(BufferGetPage(header));
	BlockNumber last = 0;
	SniiMetaPage meta;

	for (uint32 i = 0; i < n; i++)
	{
		BlockNumber blk = snii_storage_stretch_block(list, list->used + i);

		last = Max(last, blk);
	}
	if (last < RelationGetNumberOfBlocks(index))
		return true;
	UnlockReleaseBuffer(header);
	snii_storage_meta_read(index, &meta);
	if (last >= meta.nblocks)
		snii_storage_corrupted(index, last,
							   "block of a stretch is beyond the %u in use",
							   meta.nblocks);
	snii_storage_reserve(index, 0);
	return false;
}

/*
 * Make sure that the stretch has n pages left to hand out, and that they are
 * in the file, since a page beyond its end counts as never written; the
 * header is locked on entry, and on return only with ROOM_MADE.
 */
static MakeRoom
reserve_pages(Relation index, Buffer header, uint64 id, uint32 n)
{
	SniiListPage *list = snii_storage_list(BufferGetPage(header));

	if (list->used + n <= list->total)
		return pages_exist(index, header, n) ? ROOM_MADE : ROOM_AGAIN;
	if (list->used + n > SNII_STRETCH_PAGES ||
		list->nextents >= SNII_LIST_CAPACITY)
	{
		UnlockReleaseBuffer(header);
		snii_storage_stretch_seal(index, id);
		return ROOM_SEALED;
	}
	if (!pages_exist(index, header, list->total - list->used))
		return ROOM_AGAIN;
	while (list->used + n > list->total)
	{
		uint32		want = Max(list->used + n - list->total, list->total);

		want = Min(want, SNII_STRETCH_PAGES - list->total);
		if (!snii_storage_stretch_grow(index, header, want))
		{
			UnlockReleaseBuffer(header);
			snii_storage_reserve(index, want);
			return ROOM_AGAIN;
		}
	}
	return ROOM_MADE;
}

/*
 * Make the lane's last page one with room for len bytes and note it in tail.
 */
static MakeRoom
advance(Relation index, int lane, SniiTail *tail, uint32 len, int limit)
{
	Buffer		header = lock_open_stretch(index, lane, limit, tail);
	SniiListPage *list;
	MakeRoom	room;

	if (!BufferIsValid(header))
		return ROOM_NONE;
	list = snii_storage_list(BufferGetPage(header));
	if (list->used > 0)
	{
		BlockNumber blk = snii_storage_stretch_block(list, list->used - 1);
		Buffer		buf = lock_data_page(index, blk, BUFFER_LOCK_SHARE);
		bool		ok = false;

		if (BufferIsValid(buf))
		{
			ok = snii_storage_page_is(BufferGetPage(buf), SNII_PAGE_BUFFER,
									  tail->id) &&
				has_room(BufferGetPage(buf), len);
			UnlockReleaseBuffer(buf);
		}
		if (ok)
		{
			/* Somebody else has moved the lane on. */
			tail->page = blk;
			UnlockReleaseBuffer(header);
			return ROOM_MADE;
		}
	}
	room = reserve_pages(index, header, tail->id, 1);
	if (room == ROOM_MADE)
	{
		tail->page = hand_out(index, header, tail->id, 1, true);
		UnlockReleaseBuffer(header);
	}
	return room;
}

/*
 * Write the pages of a large record, handed out before: the first one last.
 */
static void
write_large(Relation index, uint64 id, const BlockNumber *blocks, int n,
			const ItemPointerData *tid, const uint8 *data, uint32 len)
{
	uint32		first = (uint32) SNII_RECORD_MAX_BODY;

	for (int i = n - 1; i >= 0; i--)
	{
		Buffer		buf = snii_storage_fresh_page(index, blocks[i]);
		GenericXLogState *state = GenericXLogStart(index);
		Page		page = GenericXLogRegisterBuffer(state, buf,
													 GENERIC_XLOG_FULL_IMAGE);

		if (i > 0)
		{
			uint32		from = first + (uint32) (i - 1) * SNII_BUFFER_CAPACITY;
			uint32		part = Min(len - from, SNII_BUFFER_CAPACITY);

			snii_storage_records_begin(page, id, SNII_BUFFER_CONT | SNII_BUFFER_FULL);
			memcpy(snii_storage_records(page)->data, data + from, part);
			snii_storage_page_set_used(page, offsetof(SniiBufferPage, data) +
									   part);
		}
		else
		{
			snii_storage_records_begin(page, id, SNII_BUFFER_FIRST | SNII_BUFFER_FULL);
			put_record(page, tid, data, first);
			snii_storage_records(page)->rest = len - first;
		}
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buf);
		if (i == 1)
			SNII_TEST_POINT("large_half");
	}
}

/*
 * Append a record of several pages.
 */
static MakeRoom
append_large(Relation index, int lane, SniiTail *tail,
			 const ItemPointerData *tid, const uint8 *data, uint32 len,
			 int limit)
{
	uint32		rest = len - (uint32) SNII_RECORD_MAX_BODY;
	uint32		n = 1 + (rest + SNII_BUFFER_CAPACITY - 1) /
	SNII_BUFFER_CAPACITY;
	BlockNumber blocks[SNII_RECORD_MAX_PAGES + 1];
	BlockNumber header_blk;
	Buffer		header;
	MakeRoom	room;
	uint32		used;

	Assert(n <= SNII_RECORD_MAX_PAGES);

	/* The heavyweight lock comes first: it may have to wait. */
	header = lock_open_stretch(index, lane, limit, tail);
	if (!BufferIsValid(header))
		return ROOM_NONE;
	header_blk = tail->header;
	UnlockReleaseBuffer(header);
	LockPage(index, header_blk, ShareLock);
	header = lock_open_stretch(index, lane, limit, tail);
	if (!BufferIsValid(header))
		room = ROOM_NONE;
	else if (tail->header != header_blk)
	{
		UnlockReleaseBuffer(header);
		room = ROOM_AGAIN;
	}
	else
		room = reserve_pages(index, header, tail->id, n);
	if (room == ROOM_MADE)
	{
		used = snii_storage_list(BufferGetPage(header))->used;
		for (uint32 i = 0; i < n; i++)
			blocks[i] = snii_storage_stretch_block(
												   snii_storage_list(BufferGetPage(header)),
												   used + i);
		hand_out(index, header, tail->id, n, false);
		UnlockReleaseBuffer(header);
		SNII_TEST_POINT("large_handed_out");
		write_large(index, tail->id, blocks, (int) n, tid, data, len);
		tail->id = 0;
	}
	UnlockPage(index, header_blk, ShareLock);
	return room;
}

SniiAppendResult
snii_storage_buffer_append(Relation index, int lane, SniiTail *tail,
						   const ItemPointerData *tid, const uint8 *data,
						   uint32 len, int limit)
{
	bool		large = len > SNII_RECORD_MAX_BODY;
	bool		sealed = false;

	Assert(len <= SNII_RECORD_MAX);
	for (;;)
	{
		MakeRoom	room;

		if (large)
		{
			room = append_large(index, lane, tail, tid, data, len, limit);
			if (room == ROOM_MADE)
				break;
		}
		else
		{
			if (append_fast(index, tail, tid, data, len))
				break;
			room = advance(index, lane, tail, len, limit);
		}
		if (room == ROOM_NONE)
			return SNII_APPEND_NO_ROOM;
		if (room == ROOM_SEALED)
			sealed = true;
		CHECK_FOR_INTERRUPTS();
	}
	return sealed ? SNII_APPEND_SEALED : SNII_APPEND_DONE;
}

/* ----------------------------------------------------------------
 *		Sealing
 * ----------------------------------------------------------------
 */

/* Find an entry in a locked directory page. */
static SniiDirEntry *
find_entry(Page page, uint64 id)
{
	SniiDirPage *dir = (SniiDirPage *) PageGetContents(page);

	for (uint32 i = 0; i < Min(dir->nentries, SNII_DIR_CAPACITY); i++)
		if (dir->entries[i].id == id)
			return &dir->entries[i];
	return NULL;
}

void
snii_storage_stretch_seal(Relation index, uint64 id)
{
	Buffer		dir_buf = snii_storage_read_page(index, SNII_DIR_BLOCK,
												 BUFFER_LOCK_EXCLUSIVE,
												 SNII_PAGE_DIR, 0);
	SniiDirEntry *entry = find_entry(BufferGetPage(dir_buf), id);
	Buffer		header;
	Buffer		meta_buf;
	Buffer		last_buf = InvalidBuffer;
	SniiListPage *list;

	if (entry == NULL)
	{
		UnlockReleaseBuffer(dir_buf);
		return;
	}
	header = snii_storage_read_page(index, entry->list_head,
									BUFFER_LOCK_EXCLUSIVE, SNII_PAGE_LIST,
									id);
	list = snii_storage_list(BufferGetPage(header));
	snii_storage_stretch_verify(index, entry->list_head, list);
	if (!list->sealed)
	{
		GenericXLogState *state;
		SniiMetaPage *meta;
		BlockNumber header_blk = BufferGetBlockNumber(header);

		/* Ordered stretches: the page that all insertions look at. */
		if (list->used > 0)
			last_buf = lock_data_page(index,
									  snii_storage_stretch_block(list,
																 list->lane == SNII_ORDERED_LANE ?
																 0 : list->used - 1),
									  BUFFER_LOCK_EXCLUSIVE);
		meta_buf = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
		state = GenericXLogStart(index);
		entry = find_entry(GenericXLogRegisterBuffer(state, dir_buf, 0), id);
		entry->npages = 1 + list->total;
		entry->nbytes = (uint64) list->used * SNII_PAGE_PAYLOAD;
		entry->flags |= SNII_ENTRY_SEALED;
		snii_storage_list(GenericXLogRegisterBuffer(state, header,
													0))->sealed = 1;
		if (BufferIsValid(last_buf) &&
			snii_storage_page_is(BufferGetPage(last_buf), SNII_PAGE_BUFFER,
								 id))
			snii_storage_opaque(GenericXLogRegisterBuffer(state, last_buf,
														  0))->flags |=
				list->lane == SNII_ORDERED_LANE ?
				SNII_BUFFER_CLOSED : SNII_BUFFER_FULL;
		meta = snii_storage_meta(GenericXLogRegisterBuffer(state, meta_buf,
														   0));
		for (int i = 0; i < SNII_LANES; i++)
			if (meta->lanes[i] == header_blk)
				meta->lanes[i] = InvalidBlockNumber;
		snii_storage_counters_publish(index, meta);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(meta_buf);
		if (BufferIsValid(last_buf))
			UnlockReleaseBuffer(last_buf);
	}
	UnlockReleaseBuffer(header);
	UnlockReleaseBuffer(dir_buf);
}

bool
snii_storage_stretch_quiet(Relation index, const SniiDirEntry *entry)
{
	if (!ConditionalLockPage(index, entry->list_head, ExclusiveLock))
		return false;
	UnlockPage(index, entry->list_head, ExclusiveLock);
	return true;
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

struct SniiBufferReader
{
	Relation	index;
	uint64		id;
	BlockNumber header;			/* its list page */
	SniiListPage *list;			/* copy */
	uint32		next_page;		/* data page to read next */
	char	   *page;			/* copy of a page, BLCKSZ */
	uint32		at;				/* offset of the next record */
	uint32		end;
	SniiBufferPlace place;		/* of the last record */
	SniiBufferMark *mark;		/* may be NULL */
	uint8	   *large;			/* a large record put together */
	size_t		large_size;
};

static SniiListPage *
copy_list(Relation index, const SniiDirEntry *entry)
{
	SniiListPage *copy = palloc(BLCKSZ);
	Buffer		buf = snii_storage_read_page(index, entry->list_head,
											 BUFFER_LOCK_SHARE,
											 SNII_PAGE_LIST, entry->id);

	memcpy(copy, PageGetContents(BufferGetPage(buf)), SNII_PAGE_PAYLOAD);
	UnlockReleaseBuffer(buf);
	snii_storage_stretch_verify(index, entry->list_head, copy);
	return copy;
}

SniiBufferReader *
snii_storage_buffer_open(Relation index, const SniiDirEntry *entry)
{
	SniiBufferReader *r = palloc0(sizeof(SniiBufferReader));

	r->index = index;
	r->id = entry->id;
	r->header = entry->list_head;
	r->list = copy_list(index, entry);
	r->page = palloc(BLCKSZ);
	return r;
}

SniiBufferReader *
snii_storage_buffer_resume(Relation index, const SniiDirEntry *entry,
						   SniiBufferMark *mark)
{
	SniiBufferReader *r = snii_storage_buffer_open(index, entry);

	r->mark = mark;
	if (r->list->used > SNII_STRETCH_PAGES)
		snii_storage_corrupted(index, entry->list_head,
							   "stretch has %u pages", r->list->used);
	for (; mark->npages < r->list->used; mark->npages++)
		mark->blocks[mark->npages] =
			snii_storage_stretch_block(r->list, mark->npages);
	return r;
}

bool
snii_storage_buffer_unchanged(Relation index, uint64 id,
							  const SniiBufferMark *mark)
{
	int			last = (int) mark->npages - 1;
	Buffer		buf;
	Page		page;
	bool		same;

	if (mark->complete)
		return true;
	for (int i = 0; i < last; i++)
		if (mark->upto[i] != SNII_MARK_CLOSED)
			return false;
	if (last < 0 || mark->upto[last] == SNII_MARK_CLOSED)
		return false;

	/* As long as this page takes appends, none is handed out behind it. */
	buf = lock_data_page(index, mark->blocks[last], BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return false;
	page = BufferGetPage(buf);
	same = snii_storage_page_is(page, SNII_PAGE_BUFFER, id) &&
		(snii_storage_opaque(page)->flags & SNII_BUFFER_FULL) == 0 &&
		snii_storage_record_bytes(page) == mark->upto[last];
	UnlockReleaseBuffer(buf);
	return same;
}

/*
 * Copy data page i.  False if it was never written.
 */
static bool
load_page(SniiBufferReader *r, uint32 i)
{
	BlockNumber blk = snii_storage_stretch_block(r->list, i);
	Buffer		buf;
	bool		valid;
	instr_time	start;

	snii_storage_poll();
	snii_storage_time_begin(&start);
	buf = lock_data_page(r->index, blk, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return false;
	valid = snii_storage_page_is(BufferGetPage(buf), SNII_PAGE_BUFFER, r->id);
	if (valid)
		memcpy(r->page, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
	snii_storage_time_end(SNII_TIME_READ, &start);
	return valid;
}

/*
 * Put the rest of a large record, whose first page is the current one,
 * behind its first part.
 */
static void
load_large(SniiBufferReader *r, const SniiRecordHeader *header, uint32 rest,
		   const char *first)
{
	BlockNumber blk = snii_storage_stretch_block(r->list, r->next_page - 1);
	size_t		size = (size_t) header->len + rest;
	size_t		have = header->len;

	if (size > SNII_RECORD_MAX)
		snii_storage_corrupted(r->index, blk,
							   "record claims %zu bytes", size);
	if (r->large_size < size)
	{
		if (r->large != NULL)
			pfree(r->large);
		r->large = palloc(size);
		r->large_size = size;
	}
	memcpy(r->large, first, header->len);
	while (have < size)
	{
		uint32		n;

		if (r->next_page >= r->list->used || !load_page(r, r->next_page))
			snii_storage_corrupted(r->index, blk, "record has no end");
		r->next_page++;
		n = snii_storage_record_bytes((Page) r->page);
		if ((snii_storage_opaque((Page) r->page)->flags &
			 SNII_BUFFER_CONT) == 0 || n == 0 || n > size - have)
			snii_storage_corrupted(r->index, blk,
								   "record continues on a wrong page");
		memcpy(r->large + have, snii_storage_records((Page) r->page)->data, n);
		have += n;
	}
}

/*
 * Note in the mark that data page i, which is loaded, was read up to r->at.
 */
static inline void
move_mark(SniiBufferReader *r, uint32 i)
{
	if (r->mark == NULL)
		return;
	if (r->at >= r->end &&
		(snii_storage_opaque((Page) r->page)->flags & SNII_BUFFER_FULL) != 0)
		r->mark->upto[i] = SNII_MARK_CLOSED;
	else
		r->mark->upto[i] = (uint16) r->at;
}

/* All pages were read: is the mark complete? */
static void
end_mark(SniiBufferReader *r)
{
	bool		complete = r->list->sealed;

	if (r->mark == NULL)
		return;
	for (uint32 i = 0; i < r->list->used && complete; i++)
		complete = r->mark->upto[i] == SNII_MARK_CLOSED;
	r->mark->complete = complete;
}

/*
 * A leaf of an open ordered stretch may have been split since its list was
 * read, and records that were not read may be on a new page now.
 */
static bool
more_pages(SniiBufferReader *r)
{
	SniiDirEntry entry = {0};
	SniiListPage *list;
	bool		more;

	if (r->list->lane != SNII_ORDERED_LANE || r->list->sealed)
		return false;
	entry.id = r->id;
	entry.list_head = r->header;
	list = copy_list(r->index, &entry);
	more = list->used > r->list->used;
	pfree(r->list);
	r->list = list;
	return more;
}

/*
 * Go to the next page that has records to be read; false at the end.
 */
static bool
next_page(SniiBufferReader *r)
{
	while (r->at >= r->end)
	{
		uint32		i = r->next_page;

		if (i >= r->list->used)
		{
			if (more_pages(r))
				continue;
			end_mark(r);
			return false;
		}
		r->next_page++;
		r->at = r->end = 0;
		if ((r->mark != NULL && r->mark->upto[i] == SNII_MARK_CLOSED) ||
			!load_page(r, i))
			continue;
		/* Else its beginning was not written. */
		if ((snii_storage_opaque((Page) r->page)->flags &
			 SNII_BUFFER_NO_RECORD) == 0)
		{
			r->end = snii_storage_record_bytes((Page) r->page);
			if (r->mark != NULL)
				r->at = r->mark->upto[i];
			if (r->at > r->end)
				snii_storage_corrupted(r->index,
									   snii_storage_stretch_block(r->list, i),
									   "buffer page has lost records");
		}
		move_mark(r, i);
	}
	return true;
}

bool
snii_storage_buffer_next(SniiBufferReader *r, ItemPointer tid,
						 const uint8 **data, size_t *len, bool *dead)
{
	SniiRecordHeader header;
	const char *body;
	uint32		rest;

	if (r->at >= r->end && !next_page(r))
		return false;
	r->place.page = (uint16) (r->next_page - 1);
	r->place.offset = (uint16) r->at;

	if (r->end - r->at < sizeof(header))
		snii_storage_corrupted(r->index,
							   snii_storage_stretch_block(r->list,
														  r->next_page - 1),
							   "buffer page ends within a record header");
	memcpy(&header, snii_storage_records((Page) r->page)->data + r->at, sizeof(header));
	r->at += sizeof(header);
	if (header.len > r->end - r->at ||
		!snii_storage_tid_is_valid(&header.tid))
		snii_storage_corrupted(r->index,
							   snii_storage_stretch_block(r->list,
														  r->next_page - 1),
							   "buffer page has a damaged record");
	body = snii_storage_records((Page) r->page)->data + r->at;
	*tid = header.tid;
	*dead = (header.flags & SNII_RECORD_DEAD) != 0;
	*data = (const uint8 *) body;
	*len = header.len;
	r->at += header.len;
	move_mark(r, r->place.page);

	rest = snii_storage_records((Page) r->page)->rest;
	if ((snii_storage_opaque((Page) r->page)->flags & SNII_BUFFER_FIRST) &&
		rest > 0)
	{
		load_large(r, &header, rest, body);
		*data = r->large;
		*len = (size_t) header.len + rest;
		r->at = r->end = 0;
	}
	return true;
}

SniiBufferPlace
snii_storage_buffer_place(const SniiBufferReader *r)
{
	return r->place;
}

int
snii_storage_buffer_live(Relation index, uint64 id, BlockNumber blk,
						 const SniiBufferPlace *places, int n,
						 ItemPointerData *tids)
{
	Buffer		buf = snii_storage_read_page(index, blk, BUFFER_LOCK_SHARE,
											 SNII_PAGE_BUFFER, id);
	Page		page = BufferGetPage(buf);
	uint32		end = snii_storage_record_bytes(page);
	int			live = 0;

	for (int i = 0; i < n; i++)
	{
		SniiRecordHeader header;

		if (places[i].offset + sizeof(header) > end)
			snii_storage_corrupted(index, blk, "buffer page has lost records");
		memcpy(&header, snii_storage_records(page)->data + places[i].offset,
			   sizeof(header));
		if ((header.flags & SNII_RECORD_DEAD) == 0)
			tids[live++] = header.tid;
	}
	UnlockReleaseBuffer(buf);
	return live;
}

void
snii_storage_buffer_close(SniiBufferReader *r)
{
	if (r->large != NULL)
		pfree(r->large);
	pfree(r->page);
	pfree(r->list);
	pfree(r);
}

/* ----------------------------------------------------------------
 *		VACUUM
 * ----------------------------------------------------------------
 */

/*
 * Mark the dead records of one page, which is locked.
 */
static void
vacuum_page(Relation index, Buffer buf, IndexBulkDeleteCallback callback,
			void *callback_state, uint64 *live, uint64 *removed)
{
	Page		page = BufferGetPage(buf);
	uint32		end = snii_storage_record_bytes(page);
	GenericXLogState *state = NULL;
	Page		image = NULL;

	for (uint32 at = 0; at < end;)
	{
		SniiRecordHeader header;

		if (end - at < sizeof(header))
			snii_storage_corrupted(index, BufferGetBlockNumber(buf),
								   "buffer page ends within a record header");
		memcpy(&header, snii_storage_records(page)->data + at, sizeof(header));
		if (header.len > end - at - sizeof(header) ||
			!snii_storage_tid_is_valid(&header.tid))
			snii_storage_corrupted(index, BufferGetBlockNumber(buf),
								   "buffer page has a damaged record");
		if ((header.flags & SNII_RECORD_DEAD) == 0)
		{
			if (callback(&header.tid, callback_state))
			{
				if (image == NULL)
				{
					state = GenericXLogStart(index);
					image = GenericXLogRegisterBuffer(state, buf, 0);
				}
				header.flags |= SNII_RECORD_DEAD;
				memcpy(snii_storage_records(image)->data + at, &header, sizeof(header));
				(*removed)++;
			}
			else
				(*live)++;
		}
		at += (uint32) sizeof(header) + header.len;
	}
	if (state != NULL)
		GenericXLogFinish(state);
}

/*
 * The list page anew, since a leaf may have been split while others were
 * visited: its records that were not are on a page behind those known so far.
 */
static SniiListPage *
reread_list(Relation index, const SniiDirEntry *entry, SniiListPage *list)
{
	if (list->lane != SNII_ORDERED_LANE)
		return list;
	pfree(list);
	return copy_list(index, entry);
}

void
snii_storage_buffer_vacuum(Relation index, const SniiDirEntry *entry,
						   IndexBulkDeleteCallback callback,
						   void *callback_state, uint64 *live,
						   uint64 *removed)
{
	SniiListPage *list = copy_list(index, entry);

	for (uint32 i = 0; i < list->used; i++)
	{
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		buf = lock_data_page(index, snii_storage_stretch_block(list, i),
							 BUFFER_LOCK_EXCLUSIVE);
		if (BufferIsValid(buf))
		{
			if (snii_storage_page_is(BufferGetPage(buf), SNII_PAGE_BUFFER,
									 entry->id) &&
				(snii_storage_opaque(BufferGetPage(buf))->flags &
				 SNII_BUFFER_NO_RECORD) == 0)
				vacuum_page(index, buf, callback, callback_state, live,
							removed);
			UnlockReleaseBuffer(buf);
		}
		if (i + 1 == list->used)
			list = reread_list(index, entry, list);
	}
	pfree(list);
}
