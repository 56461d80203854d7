/*-------------------------------------------------------------------------
 *
 * inv_check.c
 *	  Verify segments and buffer records of an inverted index.
 *
 * Everything that a segment says twice is compared, and every rule of the
 * format is checked; the first fault raises ERRCODE_INDEX_CORRUPTED.  Much is
 * checked by reading alone, since the reader distrusts all bytes: what is
 * here is what reading one thing cannot show.
 *
 *	head		sizes and pages of the streams; statistics against a count;
 *				columns against the meta page
 *	columns		groups, TIDs, lengths, NULLs
 *	dictionary	order, anchors, exact prefixes, block ends; shape of the inner
 *				nodes; every term is found by a look-up, which proves filter
 *				and separators
 *	postings	every window, frequency and position; places in the order of
 *				terms without overlap; bounds that no posting exceeds; none of
 *				a NULL document
 *
 * That the positions of each document and column are as many as its length
 * says is checked for all documents at once, in constant memory: the sums,
 * modulo 2^64, of length times r(document) and of frequency times r(document)
 * are the same, r being a hash.  Lengths that are wrong escape with a
 * probability of about 2^-64.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "codec/codec_bloom.h"
#include "codec/codec_length.h"
#include "inverted/inv_check.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_cursor.h"
#include "inverted/inv_key.h"
#include "inverted/inv_record.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"
#include "text/text_term.h"

/* What was counted of a column. */
typedef struct ColumnCount
{
	uint64		nterms;
	uint64		sum_df;
	uint64		lengths;		/* sum of length * r(document) */
	uint64		frequencies;	/* the same of frequencies */
} ColumnCount;

typedef struct Check
{
	Relation	index;
	SniiInvSegment *seg;
	const SniiInvHead *head;
	ColumnCount columns[SNII_MAX_COLUMNS];
	uint64		docs_end;		/* of the terms so far, in DOCS */
	uint64		positions_end;	/* in POSITIONS */
	MemoryContext cursors;
	SniiInvBlock block;			/* dictionary block under way */
	BlockNumber blk;
	uint32		keylen;
	uint8		key[SNII_INV_KEY_MAX];
} Check;

/* r(document) of the file header. */
static inline uint64
random_of(uint32 doc)
{
	return hash_bytes_uint32_extended(doc, UINT64CONST(0x736E6969));
}

/* ---------------- head and columns ---------------- */

/* A stream has as many pages as its bytes need. */
static void
check_stream(const Check *c, int stream, uint64 bytes)
{
	uint64		pages = (bytes + SNII_PAGE_PAYLOAD - 1) / SNII_PAGE_PAYLOAD;
	uint32		found = snii_storage_stream_pages(snii_inv_object(c->seg),
												  stream);

	if (found != pages)
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "stream %d of a segment has %u pages for "
							   UINT64_FORMAT " bytes", stream, found, bytes);
}

/* The filter has the size that its terms ask for. */
static void
check_filter(const Check *c)
{
	uint64		blocks = snii_codec_bloom_blocks(c->head->nterms,
												 SNII_INV_FILTER_BITS);

	if (c->head->filter != SNII_INV_ABSENT &&
		c->head->filter_blocks != blocks)
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "filter of a segment has " UINT64_FORMAT
							   " blocks, not " UINT64_FORMAT,
							   c->head->filter_blocks, blocks);
}

/* The columns are those of the index. */
static void
check_against_meta(const Check *c)
{
	SniiMetaPage meta;

	snii_storage_meta_read(c->index, &meta);
	if (c->head->ncolumns != meta.ncolumns)
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "segment has %u columns where the index has %u",
							   c->head->ncolumns, meta.ncolumns);
	for (int i = 0; i < meta.ncolumns; i++)
	{
		if (c->head->columns[i].analyzer != meta.column_analyzer[i])
			snii_storage_corrupted(c->index, InvalidBlockNumber,
								   "column %d of a segment has analyzer %u "
								   "where the index has %u", i,
								   c->head->columns[i].analyzer,
								   meta.column_analyzer[i]);
	}
}

/* The marks have no bits behind the last document. */
static void
check_marks(const Check *c, uint64 ndocs, const uint8 *marks,
			const char *what)
{
	if (marks != NULL && ndocs % 8 != 0 &&
		(marks[ndocs / 8] >> (ndocs % 8)) != 0)
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "%s has bits behind the last document", what);
}

/* Lengths and NULLs of a column. */
static void
check_column(Check *c, int column)
{
	const SniiInvColumn *col = &c->head->columns[column];
	const uint8 *nulls = snii_inv_nulls(c->seg, column);
	uint64		sum = 0;
	uint64		nnulls = 0;

	check_marks(c, c->head->ndocs, nulls, "NULL bitmap");
	for (uint64 doc = 0; doc < c->head->ndocs; doc++)
	{
		uint32		length = snii_inv_length(c->seg, column, (uint32) doc);
		bool		isnull = nulls != NULL &&
		((nulls[doc / 8] >> (doc % 8)) & 1) != 0;

		if (doc % SNII_INV_GROUP == 0)
		{
			/* the second time decodes the group, of one document, too */
			snii_inv_length(c->seg, column, (uint32) doc);
			CHECK_FOR_INTERRUPTS();
		}
		if (isnull && length != 0)
			snii_storage_corrupted(c->index, InvalidBlockNumber,
								   "NULL document " UINT64_FORMAT
								   " of column %d has length %u",
								   doc, column, length);
		nnulls += isnull;
		sum += length;
		c->columns[column].lengths += length * random_of((uint32) doc);
	}
	if (sum != col->sum_length || nnulls != col->nnulls ||
		c->head->ndocs - nnulls != col->ndocs)
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "column %d has " UINT64_FORMAT " NULLs and "
							   UINT64_FORMAT " tokens where its segment says "
							   UINT64_FORMAT " and " UINT64_FORMAT,
							   column, nnulls, sum, col->nnulls,
							   col->sum_length);
}

/* All TIDs can be: the reader raises if one cannot. */
static void
check_tids(const Check *c)
{
	for (uint64 doc = 0; doc < c->head->ndocs; doc++)
	{
		ItemPointerData tid;

		snii_inv_tid(c->seg, (uint32) doc, &tid);
		if (doc % SNII_INV_GROUP == 0)
		{
			/* the second time decodes the group, of one document, too */
			snii_inv_tid(c->seg, (uint32) doc, &tid);
			CHECK_FOR_INTERRUPTS();
		}
	}
}

/* ---------------- inner nodes ---------------- */

/*
 * Pages of a level are in the order of their children, which are all pages
 * of the level below, each once; keys ascend, the first one is empty.
 */
static void
check_node(Check *c, uint32 pageno, int level, uint64 *child)
{
	const uint8 *payload;
	uint32		len;
	SniiInvNode node;
	const uint8 *before = NULL;
	uint32		before_len = 0;
	Buffer		buffer;
	bool		good;

	buffer = snii_storage_pin(snii_inv_object(c->seg), SNII_INV_STREAM_INDEX,
							  pageno, InvalidBuffer, &payload, &len);
	good = snii_inv_decode_node(payload, len, &node) && node.level == level &&
		node.first_child == *child;
	for (int i = 0; good && i < node.nchildren; i++)
	{
		const uint8 *key;
		uint32		keylen;

		good = snii_inv_decode_node_key(&node, i, &key, &keylen) &&
			(i == 0 ? keylen == 0 :
			 snii_inv_key_compare(before, before_len, key, keylen) < 0);
		before = key;
		before_len = keylen;
	}
	if (!good)
		snii_storage_corrupted(c->index, BufferGetBlockNumber(buffer),
							   "malformed inner node of the dictionary");
	*child += node.nchildren;
	ReleaseBuffer(buffer);
}

/* The inner nodes are a tree over all blocks with the root at the end. */
static void
check_nodes(Check *c)
{
	uint64		end = c->head->dict_pages;	/* of the level below */
	uint64		child = 0;
	uint32		pageno = 0;

	for (int level = 1; level <= c->head->index_levels; level++)
	{
		uint32		first = pageno;

		while (child < end && pageno < c->head->index_pages)
			check_node(c, pageno++, level, &child);
		if (child != end)
			snii_storage_corrupted(c->index, InvalidBlockNumber,
								   "level %d of the dictionary ends at child "
								   UINT64_FORMAT " of " UINT64_FORMAT,
								   level, child, end);
		child = first;
		end = pageno;
	}
	if (pageno != c->head->index_pages ||
		(c->head->index_levels > 0 && end - child != 1))
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "dictionary has %u inner nodes, not %u",
							   c->head->index_pages, pageno);
}

/* ---------------- postings ---------------- */

static void
term_corrupted(const Check *c, const char *what, uint64 number)
{
	snii_storage_corrupted(c->index, c->blk,
						   "%s (" UINT64_FORMAT ") of a term of column %d "
						   "in a segment", what, number, c->key[0]);
}

/* Is there a pair that a posting does not exceed? */
static bool
dominated(const SniiImpacts *impacts, uint32 freq, uint8 code)
{
	for (int i = 0; i < impacts->n; i++)
	{
		if (impacts->freq[i] >= freq && impacts->len[i] <= code)
			return true;
	}
	return false;
}

/* Bounds of the window and of the super-block of the current document. */
static void
check_bounds(Check *c, SniiInvCursor *cursor, uint32 doc, uint32 freq)
{
	uint8		code = snii_codec_length_code(snii_inv_length(c->seg,
															  c->key[0],
															  doc));
	SniiInvBound bound;

	if (!snii_inv_cursor_bound(cursor, doc, &bound) || bound.last < doc ||
		!dominated(bound.impacts, freq, code))
		term_corrupted(c, "window without a bound on document", doc);
	if (!snii_inv_cursor_super_bound(cursor, doc, &bound) ||
		bound.last < doc || !dominated(bound.impacts, freq, code))
		term_corrupted(c, "super-block without a bound on document", doc);
}

/* Count the positions of the current document; order is the reader's. */
static uint32
count_positions(SniiInvCursor *cursor)
{
	const uint32 *run;
	uint32		total = 0;
	int			n;

	while ((n = snii_inv_cursor_position_next(cursor, &run)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		total += n;
	}
	return total;
}

/* Every posting of a term. */
static void
check_postings(Check *c, const SniiInvTerm *term)
{
	ColumnCount *count = &c->columns[term->column];
	const uint8 *nulls = snii_inv_nulls(c->seg, term->column);
	SniiInvCursor *cursor;
	int64		last = -1;
	uint64		df = 0;
	uint64		ttf = 0;

	cursor = snii_inv_cursor_open(c->seg, term,
								  SNII_INV_FREQS | SNII_INV_POSITIONS);
	for (uint32 doc = snii_inv_cursor_doc(cursor); doc != SNII_INV_NO_DOC;
		 doc = snii_inv_cursor_next(cursor))
	{
		uint32		freq = snii_inv_cursor_freq(cursor);

		if (df % SNII_INV_WINDOW == 0)
			CHECK_FOR_INTERRUPTS();
		if (doc <= last || doc >= c->head->ndocs)
			term_corrupted(c, "document out of order", doc);
		if (nulls != NULL && ((nulls[doc / 8] >> (doc % 8)) & 1) != 0)
			term_corrupted(c, "posting of a NULL document", doc);
		if (count_positions(cursor) != freq)
			term_corrupted(c, "wrong frequency in document", doc);
		if (term->form == SNII_INV_WINDOWED)
			check_bounds(c, cursor, doc, freq);
		count->frequencies += freq * random_of(doc);
		ttf += freq;
		df++;
		last = doc;
	}
	snii_inv_cursor_close(cursor);
	if (df != term->df)
		term_corrupted(c, "wrong number of documents", df);
	if (ttf != term->ttf)
		term_corrupted(c, "wrong number of positions", ttf);
	count->nterms++;
	count->sum_df += df;
}

/* Postings are in the streams in the order of terms. */
static void
check_places(Check *c, const SniiInvTerm *term)
{
	if (term->form != SNII_INV_SLIM && term->form != SNII_INV_WINDOWED)
		return;
	if (term->docs < c->docs_end)
		term_corrupted(c, "overlapping documents", term->docs);
	if (term->positions < c->positions_end)
		term_corrupted(c, "overlapping positions", term->positions);
	c->docs_end = term->docs + term->docs_len + term->table_len;
	c->positions_end = term->positions + term->positions_len;
}

/* A look-up finds the same term. */
static void
check_lookup(Check *c, const SniiInvTerm *term)
{
	SniiInvTerm found;

	if (!snii_inv_lookup(c->seg, c->key[0], c->key[1],
						 (const char *) c->key + 2, c->keylen - 2, &found))
		term_corrupted(c, "look-up misses a dictionary entry", term->df);
	if (found.block != term->block || found.df != term->df ||
		found.ttf != term->ttf || found.form != term->form ||
		found.docs != term->docs || found.positions != term->positions)
		term_corrupted(c, "look-up finds another dictionary entry",
					   found.df);
	snii_inv_term_release(&found);
}

/* ---------------- dictionary ---------------- */

/* Key of the next entry, exact and in order; makes it the current one. */
static bool
check_key(Check *c, int i, const SniiInvEntryKey *entry)
{
	uint32		shared = 0;
	uint32		limit = Min(c->keylen, entry->prefix + entry->suffix_len);

	if (i % SNII_INV_ANCHOR == 0)
	{
		if (entry->prefix != 0 ||
			(c->keylen > 0 &&
			 snii_inv_key_compare(c->key, c->keylen, entry->suffix,
								  entry->suffix_len) >= 0))
			return false;
	}
	else
	{
		if (entry->prefix > c->keylen || entry->suffix_len == 0)
			return false;
		shared = entry->prefix;
		if (shared < limit && c->key[shared] >= entry->suffix[0])
			return false;
	}
	memcpy(c->key + entry->prefix, entry->suffix, entry->suffix_len);
	c->keylen = entry->prefix + entry->suffix_len;
	return c->key[0] < c->head->ncolumns && c->key[1] <= SNII_TERM_LONG;
}

/* Entry i of the block, at p; returns the position of the next one. */
static const uint8 *
check_entry(Check *c, const uint8 *p, int i)
{
	SniiInvEntryKey entry;
	SniiInvTerm term;

	if (i % SNII_INV_ANCHOR == 0 &&
		snii_inv_decode_anchor(&c->block, i / SNII_INV_ANCHOR) != p)
		snii_storage_corrupted(c->index, c->blk,
							   "wrong anchor for dictionary entry %d", i);
	p = snii_inv_decode_key(p, c->block.entries_end, &entry);
	if (p == NULL || !check_key(c, i, &entry))
		snii_storage_corrupted(c->index, c->blk,
							   "wrong key in dictionary entry %d", i);
	p = snii_inv_decode_info(&c->block, p, &term);
	if (p == NULL)
		snii_storage_corrupted(c->index, c->blk,
							   "malformed dictionary entry %d", i);
	term.column = c->key[0];
	term.buffer = InvalidBuffer;
	term.block = c->blk;
	/* the look-up also checks that the places are inside their streams */
	check_lookup(c, &term);
	check_places(c, &term);
	check_postings(c, &term);
	return p;
}

/* All dictionary blocks. */
static void
check_dictionary(Check *c)
{
	Buffer		buffer = InvalidBuffer;
	MemoryContext old = MemoryContextSwitchTo(c->cursors);

	for (uint32 pageno = 0; pageno < c->head->dict_pages; pageno++)
	{
		const uint8 *payload;
		const uint8 *p;
		uint32		len;

		buffer = snii_storage_pin(snii_inv_object(c->seg),
								  SNII_INV_STREAM_DICT, pageno, buffer,
								  &payload, &len);
		c->blk = BufferGetBlockNumber(buffer);
		if (!snii_inv_decode_block(payload, len, &c->block))
			snii_storage_corrupted(c->index, c->blk,
								   "malformed dictionary block");
		p = payload + sizeof(SniiInvDictHeader);
		for (int i = 0; i < c->block.nentries; i++)
			p = check_entry(c, p, i);
		if (p != c->block.entries_end)
			snii_storage_corrupted(c->index, c->blk,
								   "dictionary block has bytes between its "
								   "entries and its anchors");
		MemoryContextReset(c->cursors);
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	MemoryContextSwitchTo(old);
}

/* What was counted is what the head says. */
static void
check_statistics(const Check *c)
{
	uint64		nterms = 0;

	for (int i = 0; i < c->head->ncolumns; i++)
	{
		const ColumnCount *count = &c->columns[i];
		const SniiInvColumn *col = &c->head->columns[i];

		if (count->nterms != col->nterms || count->sum_df != col->sum_df)
			snii_storage_corrupted(c->index, InvalidBlockNumber,
								   "column %d has " UINT64_FORMAT
								   " terms and " UINT64_FORMAT
								   " postings where its segment says "
								   UINT64_FORMAT " and " UINT64_FORMAT,
								   i, count->nterms, count->sum_df,
								   col->nterms, col->sum_df);
		if (count->lengths != count->frequencies)
			snii_storage_corrupted(c->index, InvalidBlockNumber,
								   "lengths of column %d do not agree with "
								   "its postings", i);
		nterms += count->nterms;
	}
	if (nterms != c->head->nterms)
		snii_storage_corrupted(c->index, InvalidBlockNumber,
							   "segment has " UINT64_FORMAT " terms, not "
							   UINT64_FORMAT, nterms, c->head->nterms);
}

/*
 * Verify a segment; raises ERRCODE_INDEX_CORRUPTED at the first fault.  See
 * SniiKind.check_segment.
 */
void
snii_inv_kind_check_segment(Relation index, SniiObject *object, uint64 ndocs,
							const uint8 *marks)
{
	MemoryContext context;
	MemoryContext old;
	Check	   *c;

	context = AllocSetContextCreate(CurrentMemoryContext,
									"snii check of a segment",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	c = palloc0(sizeof(Check));
	c->index = index;
	c->seg = snii_inv_open(object, ndocs);
	c->head = snii_inv_head(c->seg);
	c->cursors = AllocSetContextCreate(context, "snii cursors of a check",
									   ALLOCSET_DEFAULT_SIZES);
	check_against_meta(c);
	check_stream(c, SNII_INV_STREAM_DOCS, c->head->docs_bytes);
	check_stream(c, SNII_INV_STREAM_POSITIONS, c->head->positions_bytes);
	check_stream(c, SNII_INV_STREAM_COLUMNS, c->head->columns_bytes);
	check_filter(c);
	check_marks(c, ndocs, marks, "delete bitmap");
	check_tids(c);
	for (int i = 0; i < c->head->ncolumns; i++)
		check_column(c, i);
	check_nodes(c);
	check_dictionary(c);
	check_statistics(c);
	snii_inv_close(c->seg);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---------------- records ---------------- */

/* What is known of a record while it is decoded. */
typedef struct RecordCheck
{
	Relation	index;
	ItemPointerData tid;
} RecordCheck;

static void
record_corrupted(const RecordCheck *rc)
{
	snii_storage_corrupted(rc->index, InvalidBlockNumber,
						   "malformed buffer record of TID (%u,%u)",
						   ItemPointerGetBlockNumberNoCheck(&rc->tid),
						   ItemPointerGetOffsetNumberNoCheck(&rc->tid));
}

static void
record_column(void *arg, int column, bool isnull, uint32 ntokens)
{
}

/* A token has a term that a dictionary can hold. */
static void
record_token(void *arg, int column, int kind, const char *bytes, uint32 len,
			 uint32 position)
{
	if ((kind == SNII_TERM_PLAIN && len > SNII_TERM_MAX) ||
		(kind == SNII_TERM_LONG && len != SNII_TERM_LONG_SIZE) ||
		position > SNII_INV_POSITION_MAX)
		record_corrupted(arg);
}

/* Verify one record of the write buffer.  See SniiKind.check_record. */
void
snii_inv_kind_check_record(Relation index, const SniiRecord *record)
{
	RecordCheck rc;
	SniiInvRecordSink sink = {&rc, record_column, record_token};
	SniiMetaPage meta;

	rc.index = index;
	rc.tid = record->tid;
	snii_storage_meta_read(index, &meta);
	if (!snii_storage_tid_is_valid(&rc.tid) ||
		!snii_inv_record_decode(record->data, record->data + record->len,
								meta.ncolumns, &sink))
		record_corrupted(&rc);
}
