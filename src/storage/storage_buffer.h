/*-------------------------------------------------------------------------
 *
 * storage_buffer.h
 *	  Pages of the write buffer: appending, reading, marking records dead.
 *
 * Readers copy a page at a time and hold no lock between calls.  A page of a
 * stretch that was handed out but never written (an insertion under way, or
 * one that a crash ended) does not carry the stretch's id and is skipped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_BUFFER_H
#define SNII_STORAGE_BUFFER_H

#include "compat.h"
#include "storage/storage_format.h"

#include "access/genam.h"

/* Data pages of a stretch at most (with its list page 256 kB). */
#define SNII_STRETCH_PAGES		31

StaticAssertDecl(SNII_LIST_CAPACITY >= SNII_STRETCH_PAGES,
				 "a stretch has one list page, whatever its extents");

/* Longest record that a stretch can hold. */
#define SNII_RECORD_MAX_PAGES	24
#define SNII_RECORD_MAX \
	((uint32) SNII_RECORD_MAX_PAGES * SNII_BUFFER_CAPACITY - \
	 sizeof(SniiRecordHeader))

/* One record of the write buffer. */
typedef struct SniiRecord
{
	ItemPointerData tid;
	const uint8 *data;			/* as long as its source says */
	size_t		len;
} SniiRecord;

/* Where a lane's appends go: a hint, checked before use. */
typedef struct SniiTail
{
	uint64		id;				/* stretch; 0: not known */
	BlockNumber header;			/* its list page */
	BlockNumber page;			/* its last data page */
} SniiTail;

typedef enum SniiAppendResult
{
	SNII_APPEND_DONE,
	SNII_APPEND_SEALED,			/* done, and a stretch was sealed before */
	SNII_APPEND_NO_ROOM			/* not done: the directory has "limit" entries */
} SniiAppendResult;

/*
 * Append a record of at most SNII_RECORD_MAX bytes in a lane.  It is visible
 * to every reader when this returns.  "tail" is used and kept up to date.
 * No buffer lock may be held.
 */
extern SniiAppendResult snii_storage_buffer_append(Relation index, int lane,
												   SniiTail *tail,
												   const ItemPointerData *tid,
												   const uint8 *data,
												   uint32 len, int limit);

/*
 * End appends to a stretch.  Does nothing if it is sealed or gone.
 */
extern void snii_storage_stretch_seal(Relation index, uint64 id);

/*
 * Is nobody writing into a sealed stretch any more?  Does not wait.
 */
extern bool snii_storage_stretch_quiet(Relation index,
									   const SniiDirEntry *entry);

/* ---------------- reading ---------------- */

typedef struct SniiBufferReader SniiBufferReader;

/*
 * How far a stretch was read, page by page, so that a later reader goes on
 * there: on the page that takes appends, on new ones, and on those that had
 * been handed out and were not written.  Nothing was read if it is all zero.
 */
typedef struct SniiBufferMark
{
	bool		complete;		/* no record will come any more */
	uint32		npages;			/* whose block is known */
	BlockNumber blocks[SNII_STRETCH_PAGES];
	uint16		upto[SNII_STRETCH_PAGES];	/* next record; SNII_MARK_CLOSED */
} SniiBufferMark;

#define SNII_MARK_CLOSED	PG_UINT16_MAX	/* no record will come here */

/* Where a record, or its first part, is in its stretch. */
typedef struct SniiBufferPlace
{
	uint16		page;			/* data page, from 0 */
	uint16		offset;			/* of its header in the page's data */
} SniiBufferPlace;

/*
 * Read the records of a stretch, in order.  The caller keeps the stretch from
 * being recycled.  Allocates in the current memory context.
 */
extern SniiBufferReader *snii_storage_buffer_open(Relation index,
												  const SniiDirEntry *entry);

/*
 * Read the records that a mark does not cover.  The mark moves on with each
 * record returned; it must live as long as the reader.
 */
extern SniiBufferReader *snii_storage_buffer_resume(Relation index,
													const SniiDirEntry *entry,
													SniiBufferMark *mark);

/*
 * Is there surely no record that the mark does not cover?  Reads one page at
 * most.
 */
extern bool snii_storage_buffer_unchanged(Relation index, uint64 id,
										  const SniiBufferMark *mark);

/*
 * Next record, dead ones included; false at the end.  data is valid until the
 * next call.  place() tells where the last one returned is.
 */
extern bool snii_storage_buffer_next(SniiBufferReader *r, ItemPointer tid,
									 const uint8 **data, size_t *len,
									 bool *dead);
extern SniiBufferPlace snii_storage_buffer_place(const SniiBufferReader *r);
extern void snii_storage_buffer_close(SniiBufferReader *r);

/*
 * The TIDs of those of n records of one page of a stretch that are not marked
 * dead; returns their number.  The records were read before.
 */
extern int	snii_storage_buffer_live(Relation index, uint64 id,
									 BlockNumber blk,
									 const SniiBufferPlace *places, int n,
									 ItemPointerData *tids);

/* ---------------- VACUUM ---------------- */

/*
 * Show every TID of a stretch to the callback and mark those dead that it
 * says so; logged.  The caller holds the MARKS lock.  Counts records that
 * live on and those newly marked.
 */
extern void snii_storage_buffer_vacuum(Relation index,
									   const SniiDirEntry *entry,
									   IndexBulkDeleteCallback callback,
									   void *callback_state,
									   uint64 *live, uint64 *removed);

#endif							/* SNII_STORAGE_BUFFER_H */
