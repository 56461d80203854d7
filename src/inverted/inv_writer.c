/*-------------------------------------------------------------------------
 *
 * inv_writer.c
 *	  The one writer of inverted segments: build, flush and merge share it.
 *
 * Documents are given in the order of their ordinals, all of them before the
 * first term, since the bounds of postings need their lengths; then terms in
 * the order of keys, each with its postings in the order of documents and
 * their positions.  Every order is checked.  The bytes written depend on
 * these calls alone, so equal input gives equal segments however it was
 * gathered.
 *
 * Everything is written as it comes.  In memory are, whatever the term:
 *
 *	- one window: documents and frequencies, 128 of each;
 *	- one block of 128 positions; the encoded positions of a term that may
 *	  yet be inline, at most SNII_INV_INLINE_MAX bytes;
 *	- one super-block, about 34 kB, and the table of the term's super-blocks,
 *	  some 20 to 50 bytes for 4096 documents;
 *	- what inv_dict_writer.c and inv_column_writer.c say.
 *
 * The form of an entry is chosen at the end of its term: SINGLE or INLINE if
 * the bytes fit, else SLIM up to 128 documents, else WINDOWED.  When the
 * 129th document comes the first window goes into a super-block.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "codec/codec_impact.h"
#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"
#include "inverted/inv_column_writer.h"
#include "inverted/inv_dict_writer.h"
#include "inverted/inv_writer.h"

#define WINDOW_MAX_BYTES	(2 * SNII_PFOR_MAX_BYTES)
#define ROW_MAX_BYTES \
	(2 * SNII_VARINT32_MAX + SNII_VARINT64_MAX + SNII_IMPACT_MAX_BYTES)
#define TABLE_ROW_MAX_BYTES \
	(SNII_VARINT32_MAX + 2 * SNII_VARINT64_MAX + SNII_IMPACT_MAX_BYTES)

StaticAssertDecl(SNII_PFOR_BLOCK == SNII_INV_WINDOW,
				 "a window is a block of each part");

/* Windows of a super-block that is being filled. */
typedef struct SuperBlock
{
	int			nwindows;
	uint32		rows_len;
	uint32		windows_len;
	uint64		positions_len;
	SniiImpacts impacts;
	uint8		rows[SNII_INV_SUPER * ROW_MAX_BYTES];
	uint8		windows[SNII_INV_SUPER * WINDOW_MAX_BYTES];
} SuperBlock;

struct SniiInvWriter
{
	SniiObjectWriter *w;
	SniiInvColumnWriter *columns;
	SniiInvDictWriter *dict;
	SniiMemReporter *mem;
	int			ncolumns;
	SniiInvHead head;			/* statistics are summed here */

	/* term under way */
	bool		in_term;
	int			column;
	const uint8 *codes;			/* length codes of its column */
	uint64		ndocs;
	uint64		df;				/* without the window under way */
	uint64		ttf;
	uint64		docs_begin;		/* places in the streams */
	uint64		positions_begin;

	/* window under way */
	int			ndoc;			/* documents in the window */
	int64		last_doc;		/* of the term; -1: none */
	int64		window_base;	/* last document of the window before, or -1 */
	uint64		window_positions;	/* encoded bytes in the stream */
	uint32		docs[SNII_INV_WINDOW];
	uint32		freqs[SNII_INV_WINDOW];

	/* positions under way */
	int			npending;
	int64		last_position;	/* in the document; -1: none */
	bool		streamed;		/* positions of the term are in the stream */
	uint32		kept_len;
	uint32		pending[SNII_PFOR_BLOCK];
	uint8		kept[SNII_INV_INLINE_MAX + SNII_PFOR_MAX_BYTES];

	/* windowed list under way */
	int64		super_base;		/* last document of the super-block before */
	uint64		supers_len;
	uint8	   *table;
	Size		table_len;
	Size		table_size;
	SuperBlock	super;
};

/*
 * Begin a segment in object w, allocated in the current memory context.
 * expected_terms is an upper bound of the number of terms, or 0 for a segment
 * without a filter.  (The filter fits the terms that really come.)
 */
SniiInvWriter *
snii_inv_writer_begin(Relation index, SniiObjectWriter *w, int ncolumns,
					  const uint8 *analyzers, uint64 expected_terms)
{
	SniiInvWriter *iw = palloc0(sizeof(SniiInvWriter));

	Assert(ncolumns >= 1 && ncolumns <= SNII_MAX_COLUMNS);
	iw->w = w;
	iw->ncolumns = ncolumns;
	iw->columns = snii_inv_column_writer_begin(w, ncolumns);
	iw->dict = snii_inv_dict_writer_begin(w, expected_terms > 0);
	for (int i = 0; i < ncolumns; i++)
		iw->head.columns[i].analyzer = analyzers[i];
	iw->table_size = 1024;
	iw->table = palloc(iw->table_size);
	return iw;
}

/* Batches of pages of the streams, hashes of the filter, the structs. */
#define FIXED_MEMORY		((Size) 3 * 1024 * 1024)

void
snii_inv_writer_account(SniiInvWriter *iw, SniiMemReporter *mem)
{
	iw->mem = mem;
	snii_mem_reserve(mem, FIXED_MEMORY + iw->table_size);
	snii_inv_column_writer_account(iw->columns, mem);
	snii_inv_dict_writer_account(iw->dict, mem);
}

Size
snii_inv_writer_memory(const SniiInvWriter *iw)
{
	return snii_inv_column_writer_memory(iw->columns);
}

/*
 * Add the next document; lengths and nulls have an element for each column.
 * All documents are added before the first term.
 */
void
snii_inv_writer_doc(SniiInvWriter *iw, const ItemPointerData *tid,
					const uint32 *lengths, const bool *nulls)
{
	if (iw->in_term)
		elog(ERROR, "snii document after the first term");
	snii_inv_column_writer_doc(iw->columns, tid, lengths, nulls);
}

/* ---------------- positions ---------------- */

/* Put encoded positions where those of the term go. */
static void
put_positions(SniiInvWriter *iw, const uint8 *bytes, size_t len)
{
	iw->window_positions += len;
	if (!iw->streamed)
	{
		if (iw->kept_len + len <= SNII_INV_INLINE_MAX)
		{
			memcpy(iw->kept + iw->kept_len, bytes, len);
			iw->kept_len += len;
			return;
		}
		iw->streamed = true;
		if (iw->kept_len > 0)
			snii_storage_append(iw->w, SNII_INV_STREAM_POSITIONS,
								iw->kept, iw->kept_len);
	}
	snii_storage_append(iw->w, SNII_INV_STREAM_POSITIONS, bytes, len);
}

/* Encode the pending positions. */
static void
flush_positions(SniiInvWriter *iw)
{
	uint8		buf[SNII_PFOR_MAX_BYTES];

	if (iw->npending == 0)
		return;
	put_positions(iw, buf, snii_codec_pfor_encode(iw->pending, iw->npending,
												  buf));
	iw->npending = 0;
}

/* The positions of the term will not be inline. */
static void
stream_positions(SniiInvWriter *iw)
{
	if (iw->streamed)
		return;
	iw->streamed = true;
	if (iw->kept_len > 0)
		snii_storage_append(iw->w, SNII_INV_STREAM_POSITIONS,
							iw->kept, iw->kept_len);
}

/*
 * Add positions of the current posting; those of one posting are strictly
 * increasing over all calls, and there is at least one.
 */
void
snii_inv_writer_positions(SniiInvWriter *iw, const uint32 *positions,
						  uint32 n)
{
	int64		last = iw->last_position;

	Assert(iw->in_term && iw->ndoc > 0);
	for (uint32 i = 0; i < n; i++)
	{
		if (unlikely((int64) positions[i] <= last ||
					 positions[i] > SNII_INV_POSITION_MAX))
			elog(ERROR, "snii position %u after " INT64_FORMAT,
				 positions[i], last);
		if (iw->npending == SNII_PFOR_BLOCK)
			flush_positions(iw);
		/* last is -1 for the first one, which is stored as it is */
		iw->pending[iw->npending++] = (uint32) (positions[i] - last - 1);
		last = positions[i];
	}
	iw->last_position = last;
	iw->freqs[iw->ndoc - 1] += n;
	iw->ttf += n;
}

void
snii_inv_writer_position(SniiInvWriter *iw, uint32 position)
{
	snii_inv_writer_positions(iw, &position, 1);
}

/* ---------------- windows ---------------- */

/* Encode the window under way; buf has room for WINDOW_MAX_BYTES. */
static size_t
encode_window(const SniiInvWriter *iw, uint8 *buf)
{
	uint32		values[SNII_INV_WINDOW];
	uint32		any = 0;
	int64		previous = iw->window_base;
	size_t		len;

	for (int i = 0; i < iw->ndoc; i++)
	{
		values[i] = (uint32) (iw->docs[i] - previous - 1);
		previous = iw->docs[i];
	}
	len = snii_codec_pfor_encode(values, iw->ndoc, buf);
	for (int i = 0; i < iw->ndoc; i++)
		any |= values[i] = iw->freqs[i] - 1;
	if (any != 0)
		len += snii_codec_pfor_encode(values, iw->ndoc, buf + len);
	return len;
}

/* Append a row to the table of super-blocks. */
static void
add_table_row(SniiInvWriter *iw, uint64 super_len)
{
	const SuperBlock *super = &iw->super;
	uint8	   *p;

	if (iw->table_len + TABLE_ROW_MAX_BYTES > iw->table_size)
	{
		snii_mem_reserve(iw->mem, iw->table_size * 2);
		iw->table = repalloc_huge(iw->table, iw->table_size * 2);
		snii_mem_release(iw->mem, iw->table_size);
		iw->table_size *= 2;
	}
	p = iw->table + iw->table_len;
	p = snii_codec_put_varint32(p, (uint32) (iw->last_doc - iw->super_base));
	p = snii_codec_put_varint64(p, super_len);
	p = snii_codec_put_varint64(p, super->positions_len);
	p = snii_codec_impact_put(p, &super->impacts);
	iw->table_len = p - iw->table;
}

/* Write the super-block under way, whose last document is last_doc. */
static void
flush_super(SniiInvWriter *iw)
{
	SuperBlock *super = &iw->super;
	uint8		head[SNII_VARINT32_MAX];
	int			head_len = snii_codec_put_varint32(head, super->rows_len) -
	head;
	uint64		len = (uint64) head_len + super->rows_len +
	super->windows_len;

	snii_storage_append(iw->w, SNII_INV_STREAM_DOCS, head, head_len);
	snii_storage_append(iw->w, SNII_INV_STREAM_DOCS, super->rows,
						super->rows_len);
	snii_storage_append(iw->w, SNII_INV_STREAM_DOCS, super->windows,
						super->windows_len);
	add_table_row(iw, len);
	iw->supers_len += len;
	iw->super_base = iw->last_doc;
	super->nwindows = 0;
	super->rows_len = 0;
	super->windows_len = 0;
	super->positions_len = 0;
	snii_codec_impact_reset(&super->impacts);
}

/* Bounds of the window under way. */
static void
window_impacts(const SniiInvWriter *iw, SniiImpacts *impacts)
{
	snii_codec_impact_reset(impacts);
	for (int i = 0; i < iw->ndoc; i++)
		snii_codec_impact_add(impacts, iw->freqs[i], iw->codes[iw->docs[i]]);
}

/* Move the window under way into the super-block, and that out if full. */
static void
flush_window(SniiInvWriter *iw)
{
	SuperBlock *super = &iw->super;
	SniiImpacts impacts;
	size_t		len;
	uint8	   *p;

	stream_positions(iw);
	flush_positions(iw);
	len = encode_window(iw, super->windows + super->windows_len);
	window_impacts(iw, &impacts);
	snii_codec_impact_merge(&super->impacts, &impacts);
	p = super->rows + super->rows_len;
	p = snii_codec_put_varint32(p, (uint32) (iw->last_doc - iw->window_base));
	p = snii_codec_put_varint32(p, (uint32) len);
	p = snii_codec_put_varint64(p, iw->window_positions);
	p = snii_codec_impact_put(p, &impacts);
	super->rows_len = p - super->rows;
	super->windows_len += len;
	super->positions_len += iw->window_positions;
	iw->df += iw->ndoc;
	iw->window_base = iw->last_doc;
	iw->window_positions = 0;
	iw->ndoc = 0;
	if (++super->nwindows == SNII_INV_SUPER)
		flush_super(iw);
}

/* The posting under way is complete. */
static inline void
end_posting(SniiInvWriter *iw)
{
	if (unlikely(iw->last_position < 0))
		elog(ERROR, "snii posting without a position");
	iw->last_position = -1;
}

/* Begin the posting of the next document of the term. */
void
snii_inv_writer_posting(SniiInvWriter *iw, uint32 doc)
{
	if (unlikely((int64) doc <= iw->last_doc || doc >= iw->ndocs))
		elog(ERROR, "snii document %u after " INT64_FORMAT " of " UINT64_FORMAT,
			 doc, iw->last_doc, iw->ndocs);
	if (iw->last_doc >= 0)
	{
		end_posting(iw);
		if (iw->ndoc == SNII_INV_WINDOW)
			flush_window(iw);
	}
	iw->docs[iw->ndoc] = doc;
	iw->freqs[iw->ndoc] = 0;
	iw->ndoc++;
	iw->last_doc = doc;
}

/* ---------------- terms ---------------- */

/* Entry of a single document, if its positions are few enough. */
static bool
make_single(SniiInvWriter *iw, SniiInvEntry *e, uint8 *body)
{
	uint8	   *p = body;
	int			n = iw->npending;

	if (iw->ndoc != 1 || iw->streamed || iw->kept_len > 0)
		return false;
	if (n == 1)
		p = snii_codec_put_varint32(p, iw->pending[0] << 1);
	else
	{
		p = snii_codec_put_varint32(p, (uint32) n << 1 | 1);
		for (int i = 0; i < n; i++)
			p = snii_codec_put_varint32(p, iw->pending[i]);
	}
	if (p - body > SNII_INV_INLINE_MAX)
		return false;
	e->form = SNII_INV_SINGLE;
	e->n = iw->docs[0];
	e->body = body;
	e->body_len = p - body;
	return true;
}

/*
 * Entry of one window: inline if window and positions fit in body, which has
 * room for SNII_INV_INLINE_MAX bytes.
 */
static void
make_one_window(SniiInvWriter *iw, SniiInvEntry *e, uint8 *body)
{
	uint8		window[WINDOW_MAX_BYTES];

	flush_positions(iw);
	e->n = iw->ndoc;
	e->docs_len = encode_window(iw, window);
	e->positions_len = iw->window_positions;
	if (!iw->streamed && e->docs_len + iw->kept_len <= SNII_INV_INLINE_MAX)
	{
		e->form = SNII_INV_INLINE;
		memcpy(body, window, e->docs_len);
		memcpy(body + e->docs_len, iw->kept, iw->kept_len);
		e->body = body;
		e->body_len = e->docs_len + iw->kept_len;
		return;
	}
	stream_positions(iw);
	e->form = SNII_INV_SLIM;
	snii_storage_append(iw->w, SNII_INV_STREAM_DOCS, window, e->docs_len);
}

/* Finish a windowed list, and make its entry. */
static void
make_windowed(SniiInvWriter *iw, SniiInvEntry *e)
{
	flush_window(iw);
	if (iw->super.nwindows > 0)
		flush_super(iw);
	if (iw->table_len > PG_UINT32_MAX)
		elog(ERROR, "snii table of super-blocks is too large");
	snii_storage_append(iw->w, SNII_INV_STREAM_DOCS, iw->table,
						iw->table_len);
	e->form = SNII_INV_WINDOWED;
	e->n = iw->df;
	e->docs_len = iw->supers_len;
	e->table_len = (uint32) iw->table_len;
	e->positions_len = snii_storage_tell(iw->w, SNII_INV_STREAM_POSITIONS) -
		iw->positions_begin;
}

/* Finish the term under way, if there is one. */
static void
end_term(SniiInvWriter *iw)
{
	SniiInvColumn *column = &iw->head.columns[iw->column];
	uint8		body[SNII_INV_WINDOW * SNII_VARINT32_MAX + SNII_VARINT32_MAX];
	SniiInvEntry e = {0};
	uint64		df = iw->df + iw->ndoc;

	if (!iw->in_term)
		return;
	if (df == 0)
		elog(ERROR, "snii term without a posting");
	end_posting(iw);
	e.docs = iw->docs_begin;
	e.positions = iw->positions_begin;
	e.extra = iw->ttf - df;
	if (iw->df > 0)
		make_windowed(iw, &e);
	else if (!make_single(iw, &e, body))
		make_one_window(iw, &e, body);
	snii_inv_dict_writer_entry(iw->dict, &e);
	column->nterms++;
	column->sum_df += df;
	iw->in_term = false;
}

/* Begin the next term; ends the one before. */
void
snii_inv_writer_term(SniiInvWriter *iw, int column, int kind,
					 const uint8 *bytes, uint32 len)
{
	Assert(column >= 0 && column < iw->ncolumns);
	end_term(iw);
	snii_inv_dict_writer_key(iw->dict, column, kind, bytes, len);
	iw->in_term = true;
	iw->column = column;
	iw->codes = snii_inv_column_writer_codes(iw->columns, column);
	iw->ndocs = snii_inv_column_writer_ndocs(iw->columns);
	iw->df = 0;
	iw->ttf = 0;
	iw->docs_begin = snii_storage_tell(iw->w, SNII_INV_STREAM_DOCS);
	iw->positions_begin = snii_storage_tell(iw->w, SNII_INV_STREAM_POSITIONS);
	iw->ndoc = 0;
	iw->last_doc = -1;
	iw->window_base = -1;
	iw->window_positions = 0;
	iw->npending = 0;
	iw->last_position = -1;
	iw->streamed = false;
	iw->kept_len = 0;
	iw->super_base = -1;
	iw->supers_len = 0;
	iw->table_len = 0;
}

/*
 * End the last term, write everything that is pending and the head; returns
 * the number of documents.  The object itself is finished by the caller.
 */
uint64
snii_inv_writer_finish(SniiInvWriter *iw)
{
	SniiInvHead *head = &iw->head;

	end_term(iw);
	snii_inv_column_writer_finish(iw->columns, head);
	snii_inv_dict_writer_finish(iw->dict, head);
	head->magic = SNII_INV_HEAD_MAGIC;
	head->version = SNII_INV_VERSION;
	head->ncolumns = iw->ncolumns;
	head->docs_bytes = snii_storage_tell(iw->w, SNII_INV_STREAM_DOCS);
	head->positions_bytes = snii_storage_tell(iw->w,
											  SNII_INV_STREAM_POSITIONS);
	head->columns_bytes = snii_storage_tell(iw->w, SNII_INV_STREAM_COLUMNS);
	snii_storage_append(iw->w, SNII_INV_STREAM_HEAD, head,
						offsetof(SniiInvHead, columns) +
						iw->ncolumns * sizeof(SniiInvColumn));
	pfree(iw->table);
	iw->table = NULL;
	snii_mem_release(iw->mem, iw->mem != NULL ?
					 FIXED_MEMORY + iw->table_size : 0);
	return head->ndocs;
}
