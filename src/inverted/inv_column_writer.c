/*-------------------------------------------------------------------------
 *
 * inv_column_writer.c
 *	  Writer of the COLUMNS stream: TIDs, lengths and NULLs of documents.
 *
 * Documents come in the order of their ordinals.  Every 256 of them a group
 * of each array goes to the stream; what stays in memory is the directories
 * (8 bytes a group and array), the length codes (a byte a document and
 * column, which the bounds of postings are made from) and, for columns with
 * a NULL, a bit a document.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "codec/codec_bytes.h"
#include "codec/codec_column.h"
#include "codec/codec_length.h"
#include "inverted/inv_column_writer.h"

/* Array of bytes that grows, possibly beyond 1 GB. */
typedef struct GrowingBytes
{
	uint8	   *data;
	Size		size;
} GrowingBytes;

/* One array: its group under way and its directory, as stored. */
typedef struct ColumnArray
{
	uint32		values[SNII_INV_GROUP];
	GrowingBytes dir;
} ColumnArray;

/* What is kept for a column besides its lengths. */
typedef struct ColumnState
{
	ColumnArray lengths;
	GrowingBytes codes;
	GrowingBytes nulls;			/* allocated at the first NULL */
	uint64		nnulls;
	uint64		sum_length;
} ColumnState;

struct SniiInvColumnWriter
{
	SniiObjectWriter *w;
	MemoryContext context;
	SniiMemReporter *mem;
	Size		memory;			/* of all arrays that grow */
	int			ncolumns;
	uint64		ndocs;
	uint32		blocks[SNII_INV_GROUP];
	ColumnArray offsets;		/* offset numbers; its directory is that of
								 * both halves of the TIDs */
	ColumnState columns[FLEXIBLE_ARRAY_MEMBER];
};

/* Make room for that many bytes; new ones are zero if asked for. */
static void
ensure(SniiInvColumnWriter *cw, GrowingBytes *g, Size size, bool zero)
{
	Size		newsize;

	if (size <= g->size)
		return;
	newsize = Max(g->size * 2, Max(size, 1024));
	/* growing may need both, old and new */
	snii_mem_reserve(cw->mem, newsize);
	cw->memory += newsize - g->size;
	if (g->data == NULL)
		g->data = MemoryContextAllocHuge(cw->context, newsize);
	else
		g->data = repalloc_huge(g->data, newsize);
	snii_mem_release(cw->mem, g->size);
	if (zero)
		memset(g->data + g->size, 0, newsize - g->size);
	g->size = newsize;
}

/* Everything is allocated in the current memory context. */
SniiInvColumnWriter *
snii_inv_column_writer_begin(SniiObjectWriter *w, int ncolumns)
{
	SniiInvColumnWriter *cw;

	cw = palloc0(offsetof(SniiInvColumnWriter, columns) +
				 ncolumns * sizeof(ColumnState));
	cw->w = w;
	cw->context = CurrentMemoryContext;
	cw->ncolumns = ncolumns;
	return cw;
}

static void
drop(SniiInvColumnWriter *cw, GrowingBytes *g)
{
	if (g->data == NULL)
		return;
	pfree(g->data);
	g->data = NULL;
	snii_mem_release(cw->mem, g->size);
	cw->memory -= g->size;
	g->size = 0;
}

/* Count the arrays there; called before they have grown. */
void
snii_inv_column_writer_account(SniiInvColumnWriter *cw, SniiMemReporter *mem)
{
	Assert(cw->memory == 0);
	cw->mem = mem;
}

/* Bytes of the arrays, by capacity. */
Size
snii_inv_column_writer_memory(const SniiInvColumnWriter *cw)
{
	return cw->memory;
}

/* Append an encoded group and its entry in the directory. */
static void
put_group(SniiInvColumnWriter *cw, GrowingBytes *dir, uint64 group,
		  const uint8 *bytes, size_t len)
{
	uint64		at = snii_storage_append(cw->w, SNII_INV_STREAM_COLUMNS,
										 bytes, len);

	StaticAssertStmt(2 * SNII_COLUMN_MAX_BYTES < (1 << SNII_INV_GROUP_BITS),
					 "length of a group");
	ensure(cw, dir, (group + 1) * sizeof(uint64), false);
	snii_codec_store64(dir->data + group * sizeof(uint64),
					   at << SNII_INV_GROUP_BITS | len);
}

/* Write the groups of the last n documents. */
static void
flush_groups(SniiInvColumnWriter *cw, int n)
{
	uint64		group = (cw->ndocs - 1) / SNII_INV_GROUP;
	uint8		buf[2 * SNII_COLUMN_MAX_BYTES];
	size_t		len;

	len = snii_codec_column_encode(cw->blocks, n, buf);
	len += snii_codec_column_encode(cw->offsets.values, n, buf + len);
	put_group(cw, &cw->offsets.dir, group, buf, len);
	for (int i = 0; i < cw->ncolumns; i++)
	{
		ColumnArray *lengths = &cw->columns[i].lengths;

		len = snii_codec_column_encode(lengths->values, n, buf);
		put_group(cw, &lengths->dir, group, buf, len);
	}
}

/* Add the length of the current document in a column. */
static void
add_length(SniiInvColumnWriter *cw, ColumnState *c, uint32 length,
		   bool isnull)
{
	uint64		doc = cw->ndocs;

	if (isnull)
	{
		length = 0;
		c->nnulls++;
		ensure(cw, &c->nulls, doc / 8 + 1, true);
		c->nulls.data[doc / 8] |= 1 << (doc % 8);
	}
	c->lengths.values[doc % SNII_INV_GROUP] = length;
	c->sum_length += length;
	ensure(cw, &c->codes, doc + 1, false);
	c->codes.data[doc] = snii_codec_length_code(length);
}

/* Add the next document. */
void
snii_inv_column_writer_doc(SniiInvColumnWriter *cw,
						   const ItemPointerData *tid,
						   const uint32 *lengths, const bool *nulls)
{
	int			i = cw->ndocs % SNII_INV_GROUP;

	if (cw->ndocs > SNII_INV_DOC_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a segment cannot hold more than %u documents",
						SNII_INV_DOC_MAX)));
	cw->blocks[i] = ItemPointerGetBlockNumberNoCheck(tid);
	cw->offsets.values[i] = ItemPointerGetOffsetNumberNoCheck(tid);
	for (int c = 0; c < cw->ncolumns; c++)
		add_length(cw, &cw->columns[c], lengths[c], nulls[c]);
	cw->ndocs++;
	if (i == SNII_INV_GROUP - 1)
		flush_groups(cw, SNII_INV_GROUP);
}

uint64
snii_inv_column_writer_ndocs(const SniiInvColumnWriter *cw)
{
	return cw->ndocs;
}

/*
 * Length codes of the documents that were added, in their order; valid until
 * the next one is.
 */
const uint8 *
snii_inv_column_writer_codes(const SniiInvColumnWriter *cw, int column)
{
	return cw->columns[column].codes.data;
}

/*
 * Write what is pending, the directories and bitmaps; fill in the parts of
 * the head that tell of documents.  All arrays are freed.
 */
void
snii_inv_column_writer_finish(SniiInvColumnWriter *cw, SniiInvHead *head)
{
	uint64		dirbytes = (cw->ndocs + SNII_INV_GROUP - 1) /
	SNII_INV_GROUP * sizeof(uint64);

	if (cw->ndocs % SNII_INV_GROUP != 0)
		flush_groups(cw, cw->ndocs % SNII_INV_GROUP);
	head->ndocs = cw->ndocs;
	head->tids_dir = snii_storage_append(cw->w, SNII_INV_STREAM_COLUMNS,
										 cw->offsets.dir.data, dirbytes);
	for (int i = 0; i < cw->ncolumns; i++)
	{
		ColumnState *c = &cw->columns[i];
		SniiInvColumn *out = &head->columns[i];

		out->ndocs = cw->ndocs - c->nnulls;
		out->nnulls = c->nnulls;
		out->sum_length = c->sum_length;
		out->lengths_dir = snii_storage_append(cw->w, SNII_INV_STREAM_COLUMNS,
											   c->lengths.dir.data, dirbytes);
		out->nulls = SNII_INV_ABSENT;
		if (c->nnulls > 0)
		{
			ensure(cw, &c->nulls, (cw->ndocs + 7) / 8, true);
			out->nulls = snii_storage_append(cw->w, SNII_INV_STREAM_COLUMNS,
											 c->nulls.data,
											 (cw->ndocs + 7) / 8);
		}
		drop(cw, &c->lengths.dir);
		drop(cw, &c->codes);
		drop(cw, &c->nulls);
	}
	drop(cw, &cw->offsets.dir);
}
