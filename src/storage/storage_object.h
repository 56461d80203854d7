/*-------------------------------------------------------------------------
 *
 * storage_object.h
 *	  Streams of bytes and pages in the blocks of an index.
 *
 * A segment is an object of up to SNII_STREAMS streams.  Above this layer a
 * place in a segment is (stream, byte offset) or (stream, page number);
 * which blocks of the file hold it is known here alone.  A stream is
 * written once, front to back, and never changed after the segment is
 * published, but for the bits of the delete marks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_OBJECT_H
#define SNII_STORAGE_OBJECT_H

#include "storage/storage_format.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

typedef struct SniiObject SniiObject;
typedef struct SniiObjectWriter SniiObjectWriter;

/* Where a finished object is; goes into its directory entry. */
typedef struct SniiObjectRef
{
	uint64		id;
	BlockNumber list_head;
	BlockNumber list_tail;
	uint32		npages;
} SniiObjectRef;

/* ---------------- writing ---------------- */

/*
 * For background workers: called by snii_storage_poll(); may raise, sleep, and
 * maintain the index in another slot.  NULL: nothing.
 */
extern void (*snii_storage_poll_hook) (void);

/*
 * CHECK_FOR_INTERRUPTS for whatever a flush or a merge does: to be called at
 * least every few milliseconds of work, with no buffer locked.  Pins may be
 * held.
 */
extern void snii_storage_poll(void);

/*
 * Begin an object in allocation slot "slot", whose lock the caller holds and
 * which is empty.  Everything is allocated in the current memory context.
 */
extern SniiObjectWriter *snii_storage_writer_begin(Relation index, int slot);

/*
 * The same for the side list of a segment, whose id it has.
 */
extern SniiObjectWriter *snii_storage_writer_begin_side(Relation index,
														int slot,
														uint64 segment);

/* Id of the object being written. */
extern uint64 snii_storage_writer_id(const SniiObjectWriter *w);

/* Append bytes to a stream; returns the offset of the first one. */
extern uint64 snii_storage_append(SniiObjectWriter *w, int stream,
								  const void *data, size_t len);

/* Offset at which the next byte of the stream will be. */
extern uint64 snii_storage_tell(const SniiObjectWriter *w, int stream);

/* Skip to the next page border of the stream, unless at one. */
extern void snii_storage_pad_to_page(SniiObjectWriter *w, int stream);

/*
 * Append the delete bitmap of ndocs documents; bits may be NULL for "none
 * dead", else (ndocs + 7) / 8 bytes.
 */
extern void snii_storage_append_marks(SniiObjectWriter *w, uint64 ndocs,
									  const uint8 *bits);

/*
 * Write what is pending and describe the object.
 * Its pages stay in the slot until snii_storage_publish() moves them.
 */
extern void snii_storage_writer_finish(SniiObjectWriter *w,
									   SniiObjectRef *ref);

/* ---------------- reading ---------------- */

/*
 * Open an object for reading.  The caller holds whatever keeps its pages
 * from being recycled (see docs/locking.md).  The result lives in the current
 * memory context and holds no pin.
 */
extern SniiObject *snii_storage_object_open(Relation index, uint64 id,
											BlockNumber list_head);

/*
 * For objects that are kept for longer than the relation is open: it was
 * opened anew.
 */
extern void snii_storage_object_bind(SniiObject *object, Relation index);

/* The same for the side list of a segment. */
extern SniiObject *snii_storage_side_open(Relation index, uint64 segment,
										  BlockNumber list_head);

extern Relation snii_storage_object_relation(const SniiObject *object);
extern uint64 snii_storage_object_id(const SniiObject *object);

/* Number of pages of a stream, 0 if there is none. */
extern uint32 snii_storage_stream_pages(const SniiObject *object, int stream);

/*
 * Pin page "pageno" of a stream, checked; *payload and *len give its bytes
 * (SNII_PAGE_PAYLOAD at most).  No lock is held: published pages do not
 * change.  The caller releases the pin with ReleaseBuffer().  "prev", if
 * valid, is a pin that is taken over or released.
 */
extern Buffer snii_storage_pin(const SniiObject *object, int stream,
							   uint32 pageno, Buffer prev,
							   const uint8 **payload, uint32 *len);

/* Start reading a page ahead; is there anything to be read? */
extern bool snii_storage_prefetch_page(const SniiObject *object, int stream,
									   uint32 pageno);

/* Start reading pages ahead. */
extern void snii_storage_prefetch(const SniiObject *object, int stream,
								  uint32 pageno, uint32 npages);

/* Copy len bytes at offset; an error if the stream is shorter. */
extern void snii_storage_read(const SniiObject *object, int stream,
							  uint64 offset, void *dst, size_t len);

/*
 * Reader of one stream with a pinned page: gives pointers into the page where
 * it can.
 */
typedef struct SniiStreamReader
{
	const SniiObject *object;
	int			stream;
	uint32		pageno;			/* of the pinned page */
	Buffer		buffer;			/* InvalidBuffer: nothing pinned */
	const uint8 *payload;
	uint32		len;			/* used bytes of the pinned page */
	MemoryContext context;		/* of the scratch buffer: current at init */
	uint8	   *scratch;		/* for reads across a page border */
	size_t		scratch_size;
	uint64		pages_read;		/* count of pins */
} SniiStreamReader;

extern void snii_storage_reader_init(SniiStreamReader *r,
									 const SniiObject *object, int stream);

/*
 * Pointer to len bytes at offset: into the pinned page, or into the scratch
 * buffer of the reader.  Valid until the next call with this reader.
 */
extern const uint8 *snii_storage_reader_get(SniiStreamReader *r,
											uint64 offset, size_t len);

/* Release pin and scratch buffer. */
extern void snii_storage_reader_close(SniiStreamReader *r);

/* ---------------- delete marks ---------------- */

/* Read the bitmap: (ndocs + 7) / 8 bytes into bits. */
extern void snii_storage_marks_load(const SniiObject *object, uint64 ndocs,
									uint8 *bits);

/* Is the bit of one document set? */
extern bool snii_storage_marks_test(const SniiObject *object, uint64 ordinal);

/*
 * Set the bits of sorted ordinals; logged and durable with the WAL.  The
 * caller holds the marks lock.
 */
extern void snii_storage_marks_set(const SniiObject *object, uint64 ndocs,
								   const uint64 *ordinals, uint64 n);

#endif							/* SNII_STORAGE_OBJECT_H */
