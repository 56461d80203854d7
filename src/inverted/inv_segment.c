/*-------------------------------------------------------------------------
 *
 * inv_segment.c
 *	  Open a segment of an inverted index.
 *
 * The head is read and checked once: after that every place it names lies
 * inside its stream, so that the rest of the reader checks only what it
 * computes from other bytes.
 *
 * No lock is held or needed while a segment is open; the caller keeps its
 * pages from being recycled.  Pins are held by the readers of streams until
 * snii_inv_close(), or until the resource owner goes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_bloom.h"
#include "inverted/inv_private.h"
#include "storage/storage_page.h"

SniiInvCounters snii_inv_counters;

/* Is [offset, offset + len) inside a stream of that many bytes? */
static bool
within(uint64 offset, uint64 len, uint64 bytes)
{
	return offset <= bytes && len <= bytes - offset;
}

static void
check_column(const SniiInvSegment *seg, int column)
{
	const SniiInvColumn *col = &seg->head.columns[column];
	uint64		bytes = seg->head.columns_bytes;
	uint64		directory = snii_inv_ngroups(seg->ndocs) * 8;

	if (col->ndocs > seg->ndocs || col->nnulls != seg->ndocs - col->ndocs ||
		!within(col->lengths_dir, directory, bytes) ||
		(col->nulls != SNII_INV_ABSENT &&
		 !within(col->nulls, (seg->ndocs + 7) / 8, bytes)) ||
		(col->nulls == SNII_INV_ABSENT && col->nnulls > 0))
		snii_storage_corrupted(seg->index, InvalidBlockNumber,
							   "head of segment " UINT64_FORMAT
							   " has an impossible column %d",
							   snii_storage_object_id(seg->object), column);
}

/* Do the sizes of the head agree with the pages that there are? */
static bool
streams_agree(const SniiInvSegment *seg)
{
	const SniiInvHead *head = &seg->head;
	static const int streams[] = {
		SNII_INV_STREAM_DOCS, SNII_INV_STREAM_POSITIONS,
		SNII_INV_STREAM_COLUMNS
	};
	uint64		bytes[3];

	bytes[0] = head->docs_bytes;
	bytes[1] = head->positions_bytes;
	bytes[2] = head->columns_bytes;
	for (int i = 0; i < 3; i++)
	{
		uint64		pages = snii_storage_stream_pages(seg->object, streams[i]);

		if (bytes[i] > pages * SNII_PAGE_PAYLOAD)
			return false;
	}
	return head->dict_pages ==
		snii_storage_stream_pages(seg->object, SNII_INV_STREAM_DICT) &&
		head->index_pages ==
		snii_storage_stream_pages(seg->object, SNII_INV_STREAM_INDEX);
}

static void
check_head(const SniiInvSegment *seg)
{
	const SniiInvHead *head = &seg->head;
	uint64		directory = snii_inv_ngroups(seg->ndocs) * 8;
	uint64		id = snii_storage_object_id(seg->object);

	if (head->ndocs != seg->ndocs)
		snii_storage_corrupted(seg->index, InvalidBlockNumber,
							   "segment " UINT64_FORMAT " has " UINT64_FORMAT
							   " documents where the directory has "
							   UINT64_FORMAT, id, head->ndocs, seg->ndocs);
	if (!streams_agree(seg) ||
		(head->index_levels > 0) != (head->dict_pages > 1) ||
		(head->index_levels > 0) != (head->index_pages > 0) ||
		(head->nterms > 0) != (head->dict_pages > 0) ||
		head->index_levels > head->index_pages ||
		!within(head->tids_dir, directory, head->columns_bytes))
		snii_storage_corrupted(seg->index, InvalidBlockNumber,
							   "head of segment " UINT64_FORMAT
							   " does not agree with its streams", id);
	if (head->filter != SNII_INV_ABSENT &&
		(head->filter_blocks == 0 ||
		 head->filter_blocks > SNII_BLOOM_MAX_BLOCKS ||
		 !within(head->filter, head->filter_blocks * SNII_BLOOM_BLOCK_BYTES,
				 head->columns_bytes)))
		snii_storage_corrupted(seg->index, InvalidBlockNumber,
							   "head of segment " UINT64_FORMAT
							   " has an impossible filter", id);
	for (int i = 0; i < head->ncolumns; i++)
		check_column(seg, i);
}

/* Read the head; its fixed part says how long it is. */
static void
read_head(SniiInvSegment *seg)
{
	SniiInvHead *head = &seg->head;
	size_t		fixed = offsetof(SniiInvHead, columns);

	snii_storage_read(seg->object, SNII_INV_STREAM_HEAD, 0, head, fixed);
	if (head->magic != SNII_INV_HEAD_MAGIC ||
		head->ncolumns == 0 || head->ncolumns > SNII_MAX_COLUMNS)
		snii_storage_corrupted(seg->index, InvalidBlockNumber,
							   "segment " UINT64_FORMAT
							   " does not begin with a head",
							   snii_storage_object_id(seg->object));
	if (head->version != SNII_INV_VERSION || head->features != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" was written by a newer version of snii",
						RelationGetRelationName(seg->index)),
				 errdetail("Segment " UINT64_FORMAT " has version %u and "
						   "features " UINT64_FORMAT ".",
						   snii_storage_object_id(seg->object),
						   head->version, head->features)));
	snii_storage_read(seg->object, SNII_INV_STREAM_HEAD, fixed,
					  head->columns, head->ncolumns * sizeof(SniiInvColumn));
}

/*
 * Open a segment for reading.  ndocs is the number of documents that the
 * directory of the index gives it.  The result lives in the current memory
 * context, refers to the object, and holds no pin yet.
 */
SniiInvSegment *
snii_inv_open(SniiObject *object, uint64 ndocs)
{
	SniiInvSegment *seg = palloc0(sizeof(SniiInvSegment));

	seg->object = object;
	seg->index = snii_storage_object_relation(object);
	seg->context = CurrentMemoryContext;
	seg->ndocs = ndocs;
	if (ndocs > PG_UINT32_MAX)
		snii_storage_corrupted(seg->index, InvalidBlockNumber,
							   "segment " UINT64_FORMAT
							   " has too many documents: " UINT64_FORMAT,
							   snii_storage_object_id(object), ndocs);
	read_head(seg);
	check_head(seg);
	snii_storage_reader_init(&seg->filter, object, SNII_INV_STREAM_COLUMNS);
	snii_storage_reader_init(&seg->directory, object,
							 SNII_INV_STREAM_COLUMNS);
	snii_storage_reader_init(&seg->nullbytes, object,
							 SNII_INV_STREAM_COLUMNS);
	return seg;
}

/*
 * Release pins and memory of a segment.  Terms, cursors and walks that were
 * opened on it must be gone.
 */
void
snii_inv_close(SniiInvSegment *seg)
{
	snii_storage_reader_close(&seg->filter);
	snii_storage_reader_close(&seg->directory);
	snii_storage_reader_close(&seg->nullbytes);
	snii_inv_columns_close(seg);
	pfree(seg);
}

/* Head of the segment; columns beyond ncolumns are zero. */
const SniiInvHead *
snii_inv_head(const SniiInvSegment *seg)
{
	return &seg->head;
}

/* The object that the segment is. */
SniiObject *
snii_inv_object(const SniiInvSegment *seg)
{
	return seg->object;
}
