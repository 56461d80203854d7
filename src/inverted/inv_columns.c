/*-------------------------------------------------------------------------
 *
 * inv_columns.c
 *	  TIDs, lengths and NULLs of the documents of a segment.
 *
 * Each array keeps its group of 256 documents used last.  The first documents
 * of a group are picked out of the encoded bytes on the pinned page; after
 * MAX_PICKS of them, which take about as long, the whole group is decoded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_bytes.h"
#include "codec/codec_column.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_private.h"
#include "storage/storage_page.h"

#define NO_GROUP	PG_UINT64_MAX

#define MAX_PICKS	12

#define GROUP_BYTES_MASK	((UINT64CONST(1) << SNII_INV_GROUP_BITS) - 1)

struct SniiInvGroup
{
	SniiStreamReader reader;
	uint64		number;			/* of the group, or NO_GROUP */
	int			n;				/* documents in it */
	bool		decoded;
	int			picks;
	const uint8 *p;				/* the encoded group */
	const uint8 *end;
	uint32		first[SNII_INV_GROUP];	/* lengths, or block numbers */
	uint32		second[SNII_INV_GROUP]; /* offset numbers */
};

static SniiInvGroup *
make_group(SniiInvSegment *seg)
{
	MemoryContext old = MemoryContextSwitchTo(seg->context);
	SniiInvGroup *group = palloc(sizeof(SniiInvGroup));

	snii_storage_reader_init(&group->reader, seg->object,
							 SNII_INV_STREAM_COLUMNS);
	MemoryContextSwitchTo(old);
	group->number = NO_GROUP;
	return group;
}

static void
group_corrupted(const SniiInvSegment *seg, const SniiInvGroup *group)
{
	snii_storage_corrupted(seg->index, snii_inv_reader_block(&group->reader),
						   "malformed group " UINT64_FORMAT " of a column",
						   group->number);
}

/* Make the group of a document the current one; *i is its place in it. */
static void
locate(SniiInvSegment *seg, SniiInvGroup *group, uint64 directory,
	   uint32 doc, int *i)
{
	uint64		number = doc / SNII_INV_GROUP;
	uint64		place;
	uint64		offset;
	uint32		bytes;

	*i = doc % SNII_INV_GROUP;
	if (group->number == number)
		return;
	if (doc >= seg->ndocs)
		elog(ERROR, "document %u of a segment of " UINT64_FORMAT,
			 doc, seg->ndocs);
	group->number = NO_GROUP;
	place = snii_codec_load64(snii_storage_reader_get(&seg->directory,
													  directory + number * 8,
													  8));
	offset = place >> SNII_INV_GROUP_BITS;
	bytes = place & GROUP_BYTES_MASK;
	if (bytes == 0 || offset > seg->head.columns_bytes ||
		bytes > seg->head.columns_bytes - offset)
		snii_storage_corrupted(seg->index,
							   snii_inv_reader_block(&seg->directory),
							   "directory of a column points outside it");
	group->p = snii_storage_reader_get(&group->reader, offset, bytes);
	group->end = group->p + bytes;
	group->number = number;
	group->n = Min(SNII_INV_GROUP, seg->ndocs - number * SNII_INV_GROUP);
	group->decoded = false;
	group->picks = 0;
	snii_inv_counters.column_groups++;
}

/* Decode the current group: one array, or two. */
static void
decode_group(const SniiInvSegment *seg, SniiInvGroup *group, bool two)
{
	const uint8 *p;

	p = snii_codec_column_decode(group->p, group->end, group->n,
								 group->first);
	if (p != NULL && two)
		p = snii_codec_column_decode(p, group->end, group->n,
									 group->second);
	if (p != group->end)
		group_corrupted(seg, group);
	group->decoded = true;
}

/* Block and offset number i out of the encoded group. */
static void
pick_tid(const SniiInvSegment *seg, const SniiInvGroup *group, int i,
		 uint32 *block, uint32 *offset)
{
	const uint8 *p;

	p = snii_codec_column_skip(group->p, group->end, group->n);
	if (p == NULL ||
		!snii_codec_column_get(group->p, group->end, group->n, i, block) ||
		!snii_codec_column_get(p, group->end, group->n, i, offset))
		group_corrupted(seg, group);
}

/*
 * TID of a document, which must be below ndocs.
 */
void
snii_inv_tid(SniiInvSegment *seg, uint32 doc, ItemPointer tid)
{
	SniiInvGroup *group;
	uint32		block;
	uint32		offset;
	int			i;

	if (seg->tids == NULL)
		seg->tids = make_group(seg);
	group = seg->tids;
	locate(seg, group, seg->head.tids_dir, doc, &i);
	if (!group->decoded && group->picks++ == MAX_PICKS)
		decode_group(seg, group, true);
	if (group->decoded)
	{
		block = group->first[i];
		offset = group->second[i];
	}
	else
		pick_tid(seg, group, i, &block, &offset);
	ItemPointerSet(tid, block, (OffsetNumber) offset);
	if (offset > PG_UINT16_MAX || !snii_storage_tid_is_valid(tid))
		snii_storage_corrupted(seg->index,
							   snii_inv_reader_block(&group->reader),
							   "document %u has the impossible TID (%u,%u)",
							   doc, block, offset);
}

/* Are the documents from i on so dense that their group is to be decoded? */
static inline bool
many_of_group(const uint32 *docs, int i, int n)
{
	return i + MAX_PICKS < n &&
		docs[i + MAX_PICKS] / SNII_INV_GROUP == docs[i] / SNII_INV_GROUP;
}

/* TIDs of n documents, best in ascending order. */
void
snii_inv_tids(SniiInvSegment *seg, const uint32 *docs, int n,
			  ItemPointerData *out)
{
	for (int i = 0; i < n; i++)
	{
		snii_inv_tid(seg, docs[i], &out[i]);
		if (!seg->tids->decoded && many_of_group(docs, i, n))
			decode_group(seg, seg->tids, true);
	}
}

/* Number of tokens of a document in a column; 0 if it is NULL. */
uint32
snii_inv_length(SniiInvSegment *seg, int column, uint32 doc)
{
	SniiInvGroup *group = seg->lengths[column];
	uint32		length;
	int			i;

	Assert(column >= 0 && column < seg->head.ncolumns);
	if (group == NULL)
		group = seg->lengths[column] = make_group(seg);
	locate(seg, group, seg->head.columns[column].lengths_dir, doc, &i);
	if (!group->decoded && group->picks++ == MAX_PICKS)
		decode_group(seg, group, false);
	if (group->decoded)
		return group->first[i];
	if (!snii_codec_column_get(group->p, group->end, group->n, i, &length))
		group_corrupted(seg, group);
	return length;
}

/* Is the column NULL in that document? */
bool
snii_inv_is_null(SniiInvSegment *seg, int column, uint32 doc)
{
	uint64		place = seg->head.columns[column].nulls;
	const uint8 *p;

	Assert(column >= 0 && column < seg->head.ncolumns);
	if (place == SNII_INV_ABSENT)
		return false;
	if (doc >= seg->ndocs)
		elog(ERROR, "document %u of a segment of " UINT64_FORMAT,
			 doc, seg->ndocs);
	if (seg->nulls[column] != NULL)
		p = seg->nulls[column] + doc / 8;
	else
		p = snii_storage_reader_get(&seg->nullbytes, place + doc / 8, 1);
	return (*p >> (doc % 8)) & 1;
}

/*
 * Bitmap of the documents whose column is NULL, (ndocs + 7) / 8 bytes read
 * once and kept with the segment; NULL if there is none.
 */
const uint8 *
snii_inv_nulls(SniiInvSegment *seg, int column)
{
	uint64		place = seg->head.columns[column].nulls;
	size_t		bytes = (seg->ndocs + 7) / 8;
	uint8	   *bits;

	Assert(column >= 0 && column < seg->head.ncolumns);
	if (place == SNII_INV_ABSENT || seg->nulls[column] != NULL)
		return seg->nulls[column];
	bits = MemoryContextAllocHuge(seg->context, bytes + 1);
	snii_storage_read(seg->object, SNII_INV_STREAM_COLUMNS, place, bits,
					  bytes);
	seg->nulls[column] = bits;
	return bits;
}

static void
free_group(SniiInvGroup *group)
{
	if (group == NULL)
		return;
	snii_storage_reader_close(&group->reader);
	pfree(group);
}

/* Release pins and memory; part of snii_inv_close(). */
void
snii_inv_columns_close(SniiInvSegment *seg)
{
	free_group(seg->tids);
	for (int i = 0; i < SNII_MAX_COLUMNS; i++)
	{
		free_group(seg->lengths[i]);
		if (seg->nulls[i] != NULL)
			pfree(seg->nulls[i]);
	}
}
