/*-------------------------------------------------------------------------
 *
 * storage_object.c
 *	  Streams of bytes and pages in the blocks of an index.
 *
 * Writer: each stream collects full pages in memory and writes them in
 * batches of up to BATCH_PAGES (256 kB), each batch as one WAL record of full
 * page images; extents are taken for a batch and fit it, so that nothing is
 * left over.
 *
 * Reader: the list of extents is read once and split by stream; page n of a
 * stream is found by binary search.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_object.h"
#include "storage/storage_page.h"
#include "storage/storage_point.h"
#include "storage/storage_timing.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#ifdef SNII_SMALL_PAGES
#define BATCH_PAGES			4
#else
#define BATCH_PAGES			32	/* XLR_MAX_BLOCK_ID allows no more */
#endif

/* ----------------------------------------------------------------
 *		Writing
 * ----------------------------------------------------------------
 */

typedef struct StreamWriter
{
	uint64		written;		/* pages written to the file */
	SniiExtent	extent;			/* the current one */
	uint32		extent_used;	/* pages of it that are taken */
	int			npending;		/* pages in memory, the last one not full */
	uint32		fill;			/* bytes in the last one */
	PGAlignedBlock *pages;		/* BATCH_PAGES, allocated on demand */
	int			capacity;		/* pages allocated */
} StreamWriter;

struct SniiObjectWriter
{
	Relation	index;
	int			slot;
	uint64		id;
	SniiPageKind kind;			/* of its pages */
	MemoryContext context;
	StreamWriter streams[SNII_STREAMS];
};

SniiObjectWriter *
snii_storage_writer_begin(Relation index, int slot)
{
	SniiObjectWriter *w = palloc0(sizeof(SniiObjectWriter));

	w->index = index;
	w->slot = slot;
	w->id = snii_storage_next_id(index);
	w->kind = SNII_PAGE_DATA;
	w->context = CurrentMemoryContext;
	return w;
}

SniiObjectWriter *
snii_storage_writer_begin_side(Relation index, int slot, uint64 segment)
{
	SniiObjectWriter *w = palloc0(sizeof(SniiObjectWriter));

	w->index = index;
	w->slot = slot;
	w->id = segment;
	w->kind = SNII_PAGE_SIDE;
	w->context = CurrentMemoryContext;
	return w;
}

uint64
snii_storage_writer_id(const SniiObjectWriter *w)
{
	return w->id;
}

void		(*snii_storage_poll_hook) (void) = NULL;

void
snii_storage_poll(void)
{
	CHECK_FOR_INTERRUPTS();
	if (snii_storage_poll_hook != NULL && InterruptHoldoffCount == 0 &&
		CritSectionCount == 0)
		snii_storage_poll_hook();
}

/*
 * Write n page images to blocks, in one WAL record.
 */
static void
write_batch(Relation index, const BlockNumber *blocks,
			const PGAlignedBlock *pages, int n)
{
	Buffer		bufs[BATCH_PAGES];
	bool		wal = RelationNeedsWAL(index);
	instr_time	start;

	snii_storage_poll();
	snii_storage_time_begin(&start);
	/* Of VACUUM, and of workers: does nothing elsewhere. */
	snii_compat_vacuum_delay();
	snii_storage_time_end(SNII_TIME_WAITED, &start);
	snii_storage_time_begin(&start);
	for (int i = 0; i < n; i++)
		bufs[i] = snii_storage_fresh_page(index, blocks[i]);
	if (wal)
		XLogEnsureRecordSpace(n, 0);

	START_CRIT_SECTION();
	for (int i = 0; i < n; i++)
	{
		memcpy(BufferGetPage(bufs[i]), pages[i].data, BLCKSZ);
		MarkBufferDirty(bufs[i]);
	}
	if (wal)
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < n; i++)
			XLogRegisterBuffer((uint8) i, bufs[i],
							   REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = XLogInsert(RM_XLOG_ID, XLOG_FPI);
		for (int i = 0; i < n; i++)
			PageSetLSN(BufferGetPage(bufs[i]), lsn);
	}
	END_CRIT_SECTION();

	for (int i = 0; i < n; i++)
		UnlockReleaseBuffer(bufs[i]);
	snii_storage_time_end(SNII_TIME_WRITTEN, &start);
}

/* Write the first n pending pages of a stream. */
static void
flush_pages(SniiObjectWriter *w, int stream, int n)
{
	StreamWriter *s = &w->streams[stream];
	BlockNumber blocks[BATCH_PAGES];
	instr_time	start;

	snii_storage_time_begin(&start);
	for (int i = 0; i < n; i++)
	{
		if (s->extent_used == SniiExtentLen(&s->extent))
		{
			s->extent = snii_storage_alloc(w->index, w->slot, (uint32) (n - i),
										   stream);
			s->extent_used = 0;
		}
		blocks[i] = s->extent.start + s->extent_used++;
	}
	snii_storage_time_end(SNII_TIME_WRITTEN, &start);
	write_batch(w->index, blocks, s->pages, n);
	s->written += n;
	SNII_TEST_POINT("batch_written");
	if (n < s->npending)
		memmove(s->pages, s->pages + n,
				(size_t) (s->npending - n) * BLCKSZ);
	s->npending -= n;
}

/* Begin the next page of a stream. */
static void
next_page(SniiObjectWriter *w, int stream)
{
	StreamWriter *s = &w->streams[stream];

	if (s->npending == BATCH_PAGES)
		flush_pages(w, stream, BATCH_PAGES);
	if (s->npending == s->capacity)
	{
		int			capacity = s->capacity == 0 ? 2 : s->capacity * 2;
		PGAlignedBlock *pages;

		capacity = Min(capacity, BATCH_PAGES);
		pages = MemoryContextAlloc(w->context, (Size) capacity * BLCKSZ);
		if (s->npending > 0)
			memcpy(pages, s->pages, (Size) s->npending * BLCKSZ);
		if (s->pages != NULL)
			pfree(s->pages);
		s->pages = pages;
		s->capacity = capacity;
	}
	snii_storage_page_init((Page) s->pages[s->npending].data, w->kind,
						   w->id, stream);
	s->npending++;
	s->fill = 0;
}

uint64
snii_storage_tell(const SniiObjectWriter *w, int stream)
{
	const StreamWriter *s = &w->streams[stream];

	if (s->npending == 0)
		return s->written * SNII_PAGE_PAYLOAD;
	return (s->written + s->npending - 1) * SNII_PAGE_PAYLOAD + s->fill;
}

uint64
snii_storage_append(SniiObjectWriter *w, int stream, const void *data,
					size_t len)
{
	StreamWriter *s = &w->streams[stream];
	const char *src = data;
	uint64		offset = snii_storage_tell(w, stream);

	while (len > 0)
	{
		Page		page;
		size_t		n;

		if (s->npending == 0 || s->fill == SNII_PAGE_PAYLOAD)
			next_page(w, stream);
		page = (Page) s->pages[s->npending - 1].data;
		n = Min(len, SNII_PAGE_PAYLOAD - s->fill);
		memcpy(PageGetContents(page) + s->fill, src, n);
		s->fill += (uint32) n;
		snii_storage_page_set_used(page, s->fill);
		src += n;
		len -= n;
	}
	return offset;
}

void
snii_storage_pad_to_page(SniiObjectWriter *w, int stream)
{
	StreamWriter *s = &w->streams[stream];

	/* pd_lower stays where the data ends. */
	if (s->npending > 0)
		s->fill = SNII_PAGE_PAYLOAD;
}

void
snii_storage_append_marks(SniiObjectWriter *w, uint64 ndocs,
						  const uint8 *bits)
{
	uint64		len = (ndocs + 7) / 8;

	if (bits != NULL)
		snii_storage_append(w, SNII_STREAM_MARKS, bits, len);
	else
	{
		static const char zeros[1024] = {0};

		for (; len > 0; len -= Min(len, sizeof(zeros)))
			snii_storage_append(w, SNII_STREAM_MARKS, zeros,
								Min(len, sizeof(zeros)));
	}
}

void
snii_storage_writer_finish(SniiObjectWriter *w, SniiObjectRef *ref)
{
	SniiSlot	slot;

	for (int i = 0; i < SNII_STREAMS; i++)
	{
		StreamWriter *s = &w->streams[i];

		if (s->npending > 0)
			flush_pages(w, i, s->npending);
		if (s->pages != NULL)
			pfree(s->pages);
		s->pages = NULL;
		s->capacity = 0;
	}
	snii_storage_slot_get(w->index, w->slot, &slot);
	ref->id = w->id;
	ref->list_head = slot.head;
	ref->list_tail = slot.tail;
	ref->npages = slot.npages;
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

/* One extent of a stream; first is its first page in the stream. */
typedef struct StreamExtent
{
	uint32		first;
	BlockNumber start;
} StreamExtent;

typedef struct StreamMap
{
	uint32		npages;
	uint32		nextents;
	uint32		capacity;
	StreamExtent *extents;
} StreamMap;

struct SniiObject
{
	Relation	index;
	uint64		id;
	SniiPageKind kind;			/* of its pages */
	StreamMap	streams[SNII_STREAMS];
};

static void
add_to_map(Relation index, BlockNumber blk, StreamMap *map,
		   const SniiExtent *extent, BlockNumber nblocks)
{
	uint32		len = SniiExtentLen(extent);
	StreamExtent *last;

	if (len == 0 || extent->start >= nblocks || len > nblocks - extent->start)
		snii_storage_corrupted(index, blk,
							   "extent of %u blocks at %u does not fit into %u blocks",
							   len, extent->start, nblocks);
	last = map->nextents > 0 ? &map->extents[map->nextents - 1] : NULL;
	if (last != NULL &&
		last->start + (map->npages - last->first) == extent->start)
	{
		map->npages += len;
		return;
	}
	if (map->nextents == map->capacity)
	{
		map->capacity = map->capacity == 0 ? 4 : map->capacity * 2;
		if (map->extents == NULL)
			map->extents = palloc(map->capacity * sizeof(StreamExtent));
		else
			map->extents = repalloc_huge(map->extents,
										 map->capacity * sizeof(StreamExtent));
	}
	map->extents[map->nextents].first = map->npages;
	map->extents[map->nextents].start = extent->start;
	map->nextents++;
	map->npages += len;
}

static SniiObject *
open_object(Relation index, uint64 id, BlockNumber list_head,
			SniiPageKind kind)
{
	SniiObject *object = palloc0(sizeof(SniiObject));
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	SniiListPage *copy = palloc(BLCKSZ);
	uint32		pages = 0;

	object->index = index;
	object->id = id;
	object->kind = kind;
	for (BlockNumber blk = list_head; BlockNumberIsValid(blk);)
	{
		Buffer		buf = snii_storage_read_page(index, blk, BUFFER_LOCK_SHARE,
												 SNII_PAGE_LIST,
												 SNII_ANY_OWNER);

		memcpy(copy, PageGetContents(BufferGetPage(buf)), SNII_PAGE_PAYLOAD);
		UnlockReleaseBuffer(buf);
		snii_storage_list_verify(index, blk, copy);
		for (uint32 i = 0; i < copy->nextents; i++)
		{
			int			stream = SniiExtentStream(&copy->extents[i]);

			if (stream >= SNII_STREAMS)
				snii_storage_corrupted(index, blk, "unknown stream %d",
									   stream);
			add_to_map(index, blk, &object->streams[stream],
					   &copy->extents[i], nblocks);
		}
		if (++pages > nblocks)
			snii_storage_corrupted(index, blk, "list of extents is circular");
		CHECK_FOR_INTERRUPTS();
		blk = copy->next;
	}
	pfree(copy);
	return object;
}

SniiObject *
snii_storage_object_open(Relation index, uint64 id, BlockNumber list_head)
{
	return open_object(index, id, list_head, SNII_PAGE_DATA);
}

SniiObject *
snii_storage_side_open(Relation index, uint64 segment, BlockNumber list_head)
{
	return open_object(index, segment, list_head, SNII_PAGE_SIDE);
}

void
snii_storage_object_bind(SniiObject *object, Relation index)
{
	object->index = index;
}

Relation
snii_storage_object_relation(const SniiObject *object)
{
	return object->index;
}

uint64
snii_storage_object_id(const SniiObject *object)
{
	return object->id;
}

uint32
snii_storage_stream_pages(const SniiObject *object, int stream)
{
	return object->streams[stream].npages;
}

/* Block of a page of a stream. */
static BlockNumber
stream_block(const SniiObject *object, int stream, uint32 pageno)
{
	const StreamMap *map = &object->streams[stream];
	uint32		lo = 0;
	uint32		hi = map->nextents;

	if (pageno >= map->npages)
		snii_storage_corrupted(object->index, InvalidBlockNumber,
							   "page %u of stream %d of segment %llu is beyond its end",
							   pageno, stream,
							   (unsigned long long) object->id);
	while (hi - lo > 1)
	{
		uint32		mid = lo + (hi - lo) / 2;

		if (map->extents[mid].first <= pageno)
			lo = mid;
		else
			hi = mid;
	}
	return map->extents[lo].start + (pageno - map->extents[lo].first);
}

/* The gate for pages of streams. */
static void
check_data_page(const SniiObject *object, Page page, BlockNumber blk,
				int stream)
{
	if (!snii_storage_page_is(page, object->kind, object->id) ||
		snii_storage_opaque(page)->stream != stream)
		snii_storage_corrupted(object->index, blk,
							   "not a page of stream %d of%s segment %llu",
							   stream,
							   object->kind == SNII_PAGE_SIDE ?
							   " the side list of" : "", (unsigned long long) object->id);
}

Buffer
snii_storage_pin(const SniiObject *object, int stream, uint32 pageno,
				 Buffer prev, const uint8 **payload, uint32 *len)
{
	BlockNumber blk = stream_block(object, stream, pageno);
	Buffer		buf = prev;
	Page		page;

	if (!BufferIsValid(prev) || BufferGetBlockNumber(prev) != blk)
	{
		instr_time	start;

		snii_storage_time_begin(&start);
		if (BufferIsValid(prev))
			ReleaseBuffer(prev);
		buf = ReadBuffer(object->index, blk);
		snii_storage_time_end(SNII_TIME_READ, &start);
	}
	page = BufferGetPage(buf);
	check_data_page(object, page, blk, stream);
	*payload = (const uint8 *) PageGetContents(page);
	*len = snii_storage_page_used(page);
	return buf;
}

bool
snii_storage_prefetch_page(const SniiObject *object, int stream,
						   uint32 pageno)
{
	return PrefetchBuffer(object->index, MAIN_FORKNUM,
						  stream_block(object, stream, pageno)).initiated_io;
}

void
snii_storage_prefetch(const SniiObject *object, int stream, uint32 pageno,
					  uint32 npages)
{
	const StreamMap *map = &object->streams[stream];

	for (; npages > 0 && pageno < map->npages; npages--, pageno++)
		PrefetchBuffer(object->index, MAIN_FORKNUM,
					   stream_block(object, stream, pageno));
}

void
snii_storage_read(const SniiObject *object, int stream, uint64 offset,
				  void *dst, size_t len)
{
	char	   *to = dst;

	while (len > 0)
	{
		uint32		pageno = (uint32) (offset / SNII_PAGE_PAYLOAD);
		uint32		start = (uint32) (offset % SNII_PAGE_PAYLOAD);
		const uint8 *payload;
		uint32		used;
		size_t		n;
		Buffer		buf;

		if (offset / SNII_PAGE_PAYLOAD > MaxBlockNumber)
			snii_storage_corrupted(object->index, InvalidBlockNumber,
								   "offset beyond the end of stream %d",
								   stream);
		buf = snii_storage_pin(object, stream, pageno, InvalidBuffer,
							   &payload, &used);
		n = Min(len, SNII_PAGE_PAYLOAD - start);
		if (start + n > used)
			snii_storage_corrupted(object->index, BufferGetBlockNumber(buf),
								   "stream %d ends within a value", stream);
		memcpy(to, payload + start, n);
		ReleaseBuffer(buf);
		to += n;
		offset += n;
		len -= n;
	}
}

void
snii_storage_reader_init(SniiStreamReader *r, const SniiObject *object,
						 int stream)
{
	memset(r, 0, sizeof(*r));
	r->object = object;
	r->stream = stream;
	r->buffer = InvalidBuffer;
	r->context = CurrentMemoryContext;
}

const uint8 *
snii_storage_reader_get(SniiStreamReader *r, uint64 offset, size_t len)
{
	uint64		pageno = offset / SNII_PAGE_PAYLOAD;
	uint32		start = (uint32) (offset % SNII_PAGE_PAYLOAD);

	if (pageno > MaxBlockNumber)
		snii_storage_corrupted(r->object->index, InvalidBlockNumber,
							   "offset beyond the end of stream %d",
							   r->stream);
	/* A damaged length may be anything: no sum that could wrap around. */
	if (len <= SNII_PAGE_PAYLOAD - start)
	{
		if (!BufferIsValid(r->buffer) || r->pageno != (uint32) pageno)
		{
			r->buffer = snii_storage_pin(r->object, r->stream,
										 (uint32) pageno, r->buffer,
										 &r->payload, &r->len);
			r->pageno = (uint32) pageno;
			r->pages_read++;
		}
		if (start + len > r->len)
			snii_storage_corrupted(r->object->index,
								   BufferGetBlockNumber(r->buffer),
								   "stream %d ends within a value",
								   r->stream);
		return r->payload + start;
	}
	/* The pages bound what can be asked for, so that no lie allocates. */
	if (pageno + len / SNII_PAGE_PAYLOAD >
		snii_storage_stream_pages(r->object, r->stream))
		snii_storage_corrupted(r->object->index, InvalidBlockNumber,
							   "value of %zu bytes beyond the end of stream %d",
							   len, r->stream);
	if (r->scratch_size < len)
	{
		if (r->scratch != NULL)
			pfree(r->scratch);
		r->scratch = NULL;
		r->scratch_size = 0;
		r->scratch = MemoryContextAllocHuge(r->context, len);
		r->scratch_size = len;
	}
	snii_storage_read(r->object, r->stream, offset, r->scratch, len);
	r->pages_read += 2;
	return r->scratch;
}

void
snii_storage_reader_close(SniiStreamReader *r)
{
	if (BufferIsValid(r->buffer))
		ReleaseBuffer(r->buffer);
	r->buffer = InvalidBuffer;
	if (r->scratch != NULL)
		pfree(r->scratch);
	r->scratch = NULL;
	r->scratch_size = 0;
}

/* ----------------------------------------------------------------
 *		Delete marks
 * ----------------------------------------------------------------
 */

/* Lock the marks page that holds a byte of the bitmap. */
static Buffer
marks_lock(const SniiObject *object, uint64 byte, int lockmode, uint32 *used)
{
	BlockNumber blk = stream_block(object, SNII_STREAM_MARKS,
								   (uint32) (byte / SNII_PAGE_PAYLOAD));
	Buffer		buf = ReadBuffer(object->index, blk);

	snii_storage_lock_page(object->index, buf, lockmode);
	check_data_page(object, BufferGetPage(buf), blk, SNII_STREAM_MARKS);
	*used = snii_storage_page_used(BufferGetPage(buf));
	return buf;
}

void
snii_storage_marks_load(const SniiObject *object, uint64 ndocs, uint8 *bits)
{
	uint64		len = (ndocs + 7) / 8;
	instr_time	start;

	snii_storage_time_begin(&start);
	for (uint64 byte = 0; byte < len;)
	{
		uint32		used;
		Buffer		buf = marks_lock(object, byte, BUFFER_LOCK_SHARE, &used);
		uint64		n = Min(len - byte, SNII_PAGE_PAYLOAD);

		if (n > used)
			snii_storage_corrupted(object->index, BufferGetBlockNumber(buf),
								   "delete marks are too short");
		memcpy(bits + byte, PageGetContents(BufferGetPage(buf)), n);
		UnlockReleaseBuffer(buf);
		byte += n;
		snii_storage_poll();
	}
	/* Whoever counts bits relies on it. */
	if (ndocs % 8 != 0 && (bits[len - 1] >> (ndocs % 8)) != 0)
		snii_storage_corrupted(object->index,
							   stream_block(object, SNII_STREAM_MARKS,
											(uint32) ((len - 1) / SNII_PAGE_PAYLOAD)),
							   "delete mark beyond the last document");
	snii_storage_time_end(SNII_TIME_READ, &start);
}

bool
snii_storage_marks_test(const SniiObject *object, uint64 ordinal)
{
	uint32		used;
	Buffer		buf = marks_lock(object, ordinal / 8, BUFFER_LOCK_SHARE,
								 &used);
	uint64		at = ordinal / 8 % SNII_PAGE_PAYLOAD;
	bool		result;

	if (at >= used)
		snii_storage_corrupted(object->index, BufferGetBlockNumber(buf),
							   "delete marks are too short");
	result = (((const uint8 *) PageGetContents(BufferGetPage(buf)))[at] &
			  (1 << (ordinal % 8))) != 0;
	UnlockReleaseBuffer(buf);
	return result;
}

void
snii_storage_marks_set(const SniiObject *object, uint64 ndocs,
					   const uint64 *ordinals, uint64 n)
{
	const uint64 per_page = (uint64) SNII_PAGE_PAYLOAD * 8;

	for (uint64 i = 0; i < n;)
	{
		uint64		pageno = ordinals[i] / per_page;
		uint32		used;
		Buffer		buf;
		GenericXLogState *state;
		uint8	   *bits;

		if (ordinals[n - 1] >= ndocs)
			elog(ERROR, "document %llu does not exist",
				 (unsigned long long) ordinals[n - 1]);
		buf = marks_lock(object, ordinals[i] / 8, BUFFER_LOCK_EXCLUSIVE,
						 &used);
		state = GenericXLogStart(object->index);
		bits = (uint8 *)
			PageGetContents(GenericXLogRegisterBuffer(state, buf, 0));
		for (; i < n && ordinals[i] / per_page == pageno; i++)
		{
			uint64		bit = ordinals[i] % per_page;

			if (bit / 8 >= used)
				snii_storage_corrupted(object->index,
									   BufferGetBlockNumber(buf),
									   "delete marks are too short");
			bits[bit / 8] |= (uint8) (1 << (bit % 8));
		}
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buf);
		snii_storage_poll();
	}
}
