/*-------------------------------------------------------------------------
 *
 * query_marks.c
 *	  Iterator over the documents of a segment that are marked dead.
 *
 * Only the pages of the bitmap that are asked for are read, so that a query
 * that finds little pays little.  One page is pinned and read without a lock:
 * VACUUM may be setting bits meanwhile, and either value of such a bit is
 * right, since the reader's snapshot is older than any tuple that could take
 * the TID over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_marks.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/storage_page.h"

typedef struct SniiIterMarks
{
	SniiIter	iter;
	const SniiObject *object;
	uint32		ndocs;
	Buffer		buffer;			/* page at hand, or invalid */
	uint32		first_byte;		/* of the bitmap, on that page */
	uint32		nbytes;
	const uint8 *bytes;
} SniiIterMarks;

/* Get hold of the page with a byte of the bitmap. */
static void
marks_page(SniiIterMarks *m, uint32 byte)
{
	uint32		pageno = byte / SNII_PAGE_PAYLOAD;
	uint32		used;

	CHECK_FOR_INTERRUPTS();
	m->buffer = snii_storage_pin(m->object, SNII_STREAM_MARKS, pageno,
								 m->buffer, &m->bytes, &used);
	m->first_byte = pageno * SNII_PAGE_PAYLOAD;
	m->nbytes = used;
	if (byte - m->first_byte >= used)
		snii_storage_corrupted(snii_storage_object_relation(m->object),
							   BufferGetBlockNumber(m->buffer),
							   "delete marks are too short");
}

static inline uint8
marks_byte(SniiIterMarks *m, uint32 byte)
{
	if (unlikely(byte - m->first_byte >= m->nbytes))
		marks_page(m, byte);
	return m->bytes[byte - m->first_byte];
}

static int64
marks_seek(SniiIter *it, uint32 target)
{
	SniiIterMarks *m = (SniiIterMarks *) it;
	uint8		mask = 0xFF << (target & 7);

	for (uint32 byte = target / 8; byte * UINT64CONST(8) < m->ndocs; byte++)
	{
		uint8		bits = marks_byte(m, byte) & mask;

		if (bits != 0)
			return byte * INT64CONST(8) + pg_rightmost_one_pos32(bits);
		mask = 0xFF;
	}
	return SNII_ITER_END;
}

static int64
marks_next(SniiIter *it)
{
	if (it->doc >= SNII_ITER_END - 1)
		return SNII_ITER_END;
	return marks_seek(it, (uint32) (it->doc + 1));
}

static int
marks_filter(SniiIter *it, uint32 *docs, int n)
{
	SniiIterMarks *m = (SniiIterMarks *) it;
	int			kept = 0;

	if (n > 0)
		it->doc = docs[n - 1];
	for (int i = 0; i < n; i++)
	{
		uint32		d = docs[i];

		docs[kept] = d;
		kept += (marks_byte(m, d / 8) >> (d & 7)) & 1;
	}
	return kept;
}

static void
marks_close(SniiIter *it)
{
	SniiIterMarks *m = (SniiIterMarks *) it;

	if (BufferIsValid(m->buffer))
		ReleaseBuffer(m->buffer);
	m->buffer = InvalidBuffer;
}

static const SniiIterOps marks_ops = {
	.next = marks_next,
	.seek = marks_seek,
	.batch = snii_query_iter_plain_batch,
	.filter = marks_filter,
	.fill = snii_query_iter_plain_fill,
	.close = marks_close,
};

/*
 * Documents of a segment of ndocs that are marked dead, about ndead of them.
 */
SniiIter *
snii_query_marks(const SniiObject *object, uint32 ndocs, double ndead)
{
	SniiIterMarks *m = palloc0(sizeof(SniiIterMarks));

	m->iter.ops = &marks_ops;
	m->iter.doc = -1;
	m->iter.exact = true;
	m->iter.cost = ndead;
	m->object = object;
	m->ndocs = ndocs;
	m->buffer = InvalidBuffer;
	return &m->iter;
}
