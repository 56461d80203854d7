/*-------------------------------------------------------------------------
 *
 * storage_format.h
 *	  On-disk structures shared by every kind of snii index.
 *
 * The byte-level description with drawings is docs/format.md.  Everything
 * here is fixed by format version 1: a change bumps SNII_FORMAT_VERSION and
 * changes that document, the golden file and the changelog in one commit.
 *
 * All integers are in the server's byte order, as in every other relation
 * file of a cluster.  Pages use the standard page header, and pd_lower marks
 * the end of the used payload, so that full page images and generic WAL
 * records leave the unused rest out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_FORMAT_H
#define SNII_STORAGE_FORMAT_H

#include "postgres.h"

#include "access/transam.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

#define SNII_FORMAT_VERSION		1	/* what this library writes */
#define SNII_FORMAT_MIN_READER	1	/* oldest library that may read it */

#define SNII_META_MAGIC			0x534E4949	/* "SNII" */
#define SNII_PAGE_MAGIC			0x5349
#define SNII_PAGE_ID			0xFF91	/* last two bytes of every page */

/* Fixed blocks. */
#define SNII_META_BLOCK			0
#define SNII_DIR_BLOCK			1
#define SNII_PARK_BLOCK			2
#define SNII_BARRIER_BLOCK(epoch)	(3 + ((epoch) & 1))
#define SNII_GATE_BLOCK(gate)	(5 + ((gate) & 1))
#define SNII_FIRST_FREE_BLOCK	7

/* ----------------
 *		Pages
 * ----------------
 */

/* Kinds of page; stored, never renumber. */
typedef enum SniiPageKind
{
	SNII_PAGE_META = 1,
	SNII_PAGE_DIR = 2,
	SNII_PAGE_PARK = 3,
	SNII_PAGE_LIST = 4,			/* list of extents */
	SNII_PAGE_DATA = 5,			/* page of a stream of a segment */
	SNII_PAGE_BUFFER = 6,		/* write buffer records */
	SNII_PAGE_SIDE = 7,			/* page of the side list of a segment */
	SNII_PAGE_BARRIER = 8		/* pinned by scans; empty */
} SniiPageKind;

/*
 * Special space of every page.  owner is the id of the segment or stretch
 * that the page belongs to, 0 for pages of the whole index; ids are never
 * used twice, so a recycled page cannot be taken for its former self.
 */
typedef struct SniiPageOpaque
{
	uint64		owner;
	uint16		magic;			/* SNII_PAGE_MAGIC */
	uint8		kind;			/* SniiPageKind */
	uint8		version;		/* version of this kind of page */
	uint8		stream;			/* DATA: stream number */
	uint8		flags;			/* by kind */
	uint16		page_id;		/* SNII_PAGE_ID */
} SniiPageOpaque;

#define SNII_PAGE_VERSION		1

#define SNII_PAGE_PAYLOAD \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - \
	 MAXALIGN(sizeof(SniiPageOpaque)))

StaticAssertDecl(sizeof(SniiPageOpaque) == 16, "snii page opaque size");
StaticAssertDecl(offsetof(SniiPageOpaque, page_id) == 14, "snii page id");

/* ----------------
 *		Extents
 * ----------------
 */

/*
 * A run of consecutive blocks, tagged with the stream that it belongs to.
 * The tag means nothing once the extent is in the free list.
 */
typedef struct SniiExtent
{
	BlockNumber start;
	uint32		tagged;			/* length in pages << 8 | stream */
} SniiExtent;

#define SNII_EXTENT_MAX			0x00FFFFFF
#define SniiExtentLen(e)		((e)->tagged >> 8)
#define SniiExtentStream(e)		((uint8) ((e)->tagged & 0xFF))
#define SniiExtentTag(len, stream)	(((uint32) (len) << 8) | (uint8) (stream))

/*
 * Page of a list of extents.  Chained; the list owns the pages it names and
 * its own pages.  Segments, stretches, allocation slots and the free list
 * all have this form, so ownership moves by changing a few head pointers.
 */
typedef struct SniiListPage
{
	BlockNumber next;			/* InvalidBlockNumber at the end */
	uint32		nextents;
	/* The next three serve the first list page of a stretch only. */
	uint32		used;			/* data pages handed out so far */
	uint32		total;			/* data pages in the extents */
	uint32		lane;
	uint32		sealed;			/* 1: no more appends */
	SniiExtent	extents[FLEXIBLE_ARRAY_MEMBER];
} SniiListPage;

/*
 * Tests of the layers are built with small pages, so that chains of pages and
 * full directories come with few rows.
 */
#ifdef SNII_SMALL_PAGES
#define SNII_LIST_CAPACITY		32
#else
#define SNII_LIST_CAPACITY \
	((SNII_PAGE_PAYLOAD - offsetof(SniiListPage, extents)) / \
	 sizeof(SniiExtent))
#endif

StaticAssertDecl(sizeof(SniiExtent) == 8, "snii extent size");
StaticAssertDecl(offsetof(SniiListPage, extents) == 24, "snii list page");

/* ----------------
 *		Meta page
 * ----------------
 */
#define SNII_SLOTS				8	/* allocation slots */
#define SNII_LANES				8	/* append lanes of the write buffer */
#define SNII_MAX_COLUMNS		32
#define SNII_COUNTERS			16

/*
 * Allocation slot: what an operation under way (build, flush, merge) has
 * taken and not yet published.  Whoever holds the slot's lock owns it; what
 * is found in it on taking the lock was left by a crash or an abort.
 */
typedef struct SniiSlot
{
	BlockNumber head;
	BlockNumber tail;
	uint32		npages;
	uint32		reserved;
} SniiSlot;

typedef struct SniiMetaPage
{
	uint32		magic;			/* SNII_META_MAGIC */
	uint16		version;		/* format version of the writer */
	uint16		min_reader;		/* oldest version that may read it */
	uint64		features_read;	/* bits a reader must know */
	uint64		features_write; /* bits a writer must know */
	uint64		next_id;		/* next segment or stretch id */
	uint8		kind;			/* SniiKindId */
	uint8		ncolumns;
	uint16		flags;			/* reserved, 0 */
	BlockNumber nblocks;		/* blocks in use; the file may be longer */
	BlockNumber free_head;		/* free list */
	uint32		free_pages;		/* pages in the free list, lists included */
	SniiSlot	slots[SNII_SLOTS];
	BlockNumber lanes[SNII_LANES];	/* first list page of open stretches */
	uint64		counters[SNII_COUNTERS];	/* SNII_COUNTER_xxx */
	uint8		column_analyzer[SNII_MAX_COLUMNS];
	uint8		column_flags[SNII_MAX_COLUMNS];
	char		unicode_version[32];	/* NUL-terminated */
	uint64		reserved[24];
} SniiMetaPage;

/*
 * Counters; stored, never renumber.  Records are counted when they leave the
 * buffer.  Those of inserters come late, and in part never: see
 * storage_counters.h.
 */
#define SNII_COUNTER_FLUSHES		0
#define SNII_COUNTER_MERGES			1
#define SNII_COUNTER_BYTES_IN		2	/* of records that were flushed */
#define SNII_COUNTER_BYTES_FLUSHED	3	/* of segments made of them */
#define SNII_COUNTER_BYTES_MERGED	4	/* of segments made of segments */
#define SNII_COUNTER_DOCS_IN		5	/* records that were flushed */
#define SNII_COUNTER_BYTES_BUILT	6	/* of segments made by CREATE INDEX */
#define SNII_COUNTER_HELPS			7	/* flushes by inserters */
#define SNII_COUNTER_SLEEPS			8	/* of inserters */
#define SNII_COUNTER_SLEEP_US		9	/* microseconds of these */
#define SNII_COUNTER_SLEEP_REASON	10	/* SniiSleepReason of the last one */

StaticAssertDecl(sizeof(SniiSlot) == 16, "snii slot size");
StaticAssertDecl(offsetof(SniiMetaPage, slots) == 48, "snii meta slots");
StaticAssertDecl(offsetof(SniiMetaPage, lanes) == 176, "snii meta lanes");
StaticAssertDecl(offsetof(SniiMetaPage, counters) == 208, "snii counters");
StaticAssertDecl(offsetof(SniiMetaPage, reserved) == 432, "snii meta rest");
StaticAssertDecl(sizeof(SniiMetaPage) == 624, "snii meta size");

/* ----------------
 *		Directory
 * ----------------
 */
typedef enum SniiEntryKind
{
	SNII_ENTRY_SEGMENT = 1,
	SNII_ENTRY_STRETCH = 2
} SniiEntryKind;

/*
 * One segment or one stretch of the write buffer.  Segments stand in the
 * order of their age; only neighbours are merged.
 */
typedef struct SniiDirEntry
{
	uint64		id;
	uint8		kind;			/* SniiEntryKind */
	uint8		level;			/* segments: tier at birth */
	uint8		lane;			/* stretches */
	uint8		flags;			/* SNII_ENTRY_SEALED */
	BlockNumber list_head;
	BlockNumber list_tail;
	uint32		npages;			/* with list pages; stretches: at sealing */
	uint64		ndocs;			/* segments */
	uint64		ndead;			/* documents marked dead; by the last VACUUM */
	uint64		nbytes;			/* bytes of all streams */
	BlockNumber side_head;		/* segments: list of the side list's pages;
								 * ordered stretches: fence page; or invalid */
	BlockNumber side_tail;
	uint32		side_pages;		/* with list pages */
	uint32		reserved;		/* 0 */
} SniiDirEntry;

#define SNII_ENTRY_SEALED		0x01	/* stretches: no more appends */

typedef struct SniiDirPage
{
	uint64		generation;		/* grows with every swap */
	uint32		nentries;
	uint32		epoch;			/* which barrier page scans pin now */
	uint32		gate;			/* which gate page scans pin now */
	uint32		reserved;		/* 0 */
	SniiDirEntry entries[FLEXIBLE_ARRAY_MEMBER];
} SniiDirPage;

#ifdef SNII_SMALL_PAGES
#define SNII_DIR_CAPACITY		36
#else
#define SNII_DIR_CAPACITY \
	((SNII_PAGE_PAYLOAD - offsetof(SniiDirPage, entries)) / \
	 sizeof(SniiDirEntry))
#endif

StaticAssertDecl(sizeof(SniiDirEntry) == 64, "snii directory entry size");
StaticAssertDecl(offsetof(SniiDirPage, entries) == 24, "snii directory page");

/* ----------------
 *		Parked lists
 * ----------------
 */

/* A displaced list of extents that some snapshot may still read. */
typedef struct SniiParkEntry
{
	uint64		stamp;			/* FullTransactionId, or SNII_PARK_UNSTAMPED */
	BlockNumber head;
	BlockNumber tail;
	uint32		npages;
	uint32		epoch;			/* of the directory at the swap */
} SniiParkEntry;

/* Displaced, and the next xid was not read since. */
#define SNII_PARK_UNSTAMPED		PG_UINT64_MAX

typedef struct SniiParkPage
{
	BlockNumber next;
	uint32		nentries;
	SniiParkEntry entries[FLEXIBLE_ARRAY_MEMBER];
} SniiParkPage;

#ifdef SNII_SMALL_PAGES
#define SNII_PARK_CAPACITY		72
#else
#define SNII_PARK_CAPACITY \
	((SNII_PAGE_PAYLOAD - offsetof(SniiParkPage, entries)) / \
	 sizeof(SniiParkEntry))
#endif

StaticAssertDecl(sizeof(SniiParkEntry) == 24, "snii park entry size");
StaticAssertDecl(SNII_PARK_CAPACITY >= 2 * SNII_DIR_CAPACITY,
				 "one park page takes whatever a swap displaces");

/* ----------------
 *		Write buffer
 * ----------------
 *
 * A buffer page holds whole records, or the first or a later part of one
 * record that is larger than a page (SNII_BUFFER_FIRST, SNII_BUFFER_CONT in
 * the opaque flags).  A record becomes visible with the page that holds its
 * beginning, which is written last.
 */
#define SNII_BUFFER_FIRST		0x01
#define SNII_BUFFER_CONT		0x02
#define SNII_BUFFER_FULL		0x04	/* no more appends to this page */
#define SNII_BUFFER_FENCE		0x08	/* ordered stretch: page of separators */
#define SNII_BUFFER_CLOSED		0x10	/* fence page: the stretch is sealed */

/* Pages whose data does not begin with a record. */
#define SNII_BUFFER_NO_RECORD	(SNII_BUFFER_CONT | SNII_BUFFER_FENCE)

typedef struct SniiBufferPage
{
	uint32		unused;			/* 0 */
	uint32		rest;			/* FIRST: bytes of the record on later pages */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} SniiBufferPage;

/* Header of a record, unaligned in the page; the body follows. */
typedef struct SniiRecordHeader
{
	uint16		len;			/* bytes of the body on this page */
	uint8		flags;			/* SNII_RECORD_DEAD */
	uint8		reserved;
	ItemPointerData tid;
} SniiRecordHeader;

#define SNII_RECORD_DEAD		0x01

#define SNII_BUFFER_CAPACITY \
	(SNII_PAGE_PAYLOAD - offsetof(SniiBufferPage, data))
#define SNII_RECORD_MAX_BODY \
	(SNII_BUFFER_CAPACITY - sizeof(SniiRecordHeader))

StaticAssertDecl(sizeof(SniiRecordHeader) == 10, "snii record header size");

/*
 * Fence page of an ordered stretch (the first data page): separators in
 * order, each with the leaf that has the records from it to the next one.
 * offsets[] say where the fences are, from the beginning of the page's
 * payload; behind them lie the fences, unaligned.
 */
typedef struct SniiFence
{
	BlockNumber leaf;			/* InvalidBlockNumber: no record yet */
	uint16		len;			/* of the separator that follows */
} SniiFence;

#define SNII_FENCE_BYTES		6	/* of a fence without its separator */

#ifdef SNII_SMALL_PAGES
#define SNII_FENCE_CAPACITY		24
#else
#define SNII_FENCE_CAPACITY		640
#endif

typedef struct SniiFencePage
{
	uint16		nfences;
	uint16		nappended;		/* leaves begun where the keys of one ended */
	uint32		end;			/* where the next fence goes */
	uint16		offsets[SNII_FENCE_CAPACITY];
	uint8		fences[FLEXIBLE_ARRAY_MEMBER];
} SniiFencePage;

/* Lane of ordered stretches, and their data pages at most. */
#define SNII_ORDERED_LANE		7
#define SNII_ORDERED_PAGES		(SNII_FENCE_CAPACITY + 1)
StaticAssertDecl(offsetof(SniiBufferPage, data) == 8, "snii buffer page");

/* ----------------
 *		Streams of a segment
 * ----------------
 */
#define SNII_STREAM_BUFFER		0	/* stretches: buffer pages */
#define SNII_STREAM_MARKS		1	/* delete bitmap, bit per document */
#define SNII_STREAM_KIND		2	/* first number that kinds may use */
#define SNII_STREAMS			16

/* ----------------
 *		Side list of a segment
 * ----------------
 *
 * What VACUUM wrote, for statistics, of the documents that were dead then.
 * Its streams are those of an object whose pages are of SNII_PAGE_SIDE and
 * belong to the segment.  HEAD begins with this; what follows, and the
 * other streams, are the kind's.
 */
#define SNII_SIDE_HEAD			0
#define SNII_SIDE_KIND			1	/* first number that kinds may use */

typedef struct SniiSideHead
{
	uint32		magic;			/* SNII_SIDE_MAGIC */
	uint32		version;		/* SNII_SIDE_VERSION */
	uint64		ndead;			/* documents that were marked dead */
} SniiSideHead;

#define SNII_SIDE_MAGIC			0x45444953	/* "SIDE" */
#define SNII_SIDE_VERSION		1

StaticAssertDecl(sizeof(SniiSideHead) == 16, "snii side list head");

#endif							/* SNII_STORAGE_FORMAT_H */
