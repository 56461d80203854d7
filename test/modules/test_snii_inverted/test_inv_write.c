/*-------------------------------------------------------------------------
 *
 * test_inv_write.c
 *	  Round trips: random documents into a segment and back.
 *
 * The model is a sorted array of all tokens, made by the analyzer alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "codec/codec_length.h"
#include "inverted/inv_build.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_cursor.h"
#include "inverted/inv_record.h"
#include "inverted/inv_segment.h"
#include "inverted/inv_writer.h"
#include "storage/storage_alloc.h"
#include "text/text_analyzer.h"
#include "text/text_term.h"
#include "test_inv.h"

PG_FUNCTION_INFO_V1(test_inv_write);
PG_FUNCTION_INFO_V1(test_inv_misuse);

#define COLUMNS 2

static const uint8 column_analyzers[COLUMNS] = {
	SNII_ANALYZER_WHITESPACE, SNII_ANALYZER_KEYWORD
};

/* One token of the model. */
typedef struct Occurrence
{
	uint8	   *key;			/* column, kind, bytes */
	uint32		keylen;
	uint32		doc;
	uint32		position;
} Occurrence;

typedef struct Document
{
	ItemPointerData tid;
	bool		nulls[COLUMNS];
	uint32		lengths[COLUMNS];
	StringInfoData texts[COLUMNS];
} Document;

typedef struct Model
{
	int64		seed;
	int			ndocs;
	int			max_tokens;
	int			vocabulary;
	Document   *docs;
	Occurrence *tokens;
	Size		ntokens;
	Size		capacity;
	/* document and column under way */
	int			doc;
	int			column;
} Model;

/* ---------------- model ---------------- */

/* A word: low numbers are frequent; some are very long. */
static void
put_word(const Model *m, TestInvRandom *prng, StringInfo text)
{
	double		u = test_inv_double(prng);
	int			word = (int) (m->vocabulary * u * u * u);

	appendStringInfo(text, "w%x", word);
	if (word % 7 == 3)
		appendStringInfo(text, "-shared-prefix-%d", word);
	if (word % 997 == 11)
	{
		for (int i = 0; i < 530; i++)
			appendStringInfoChar(text, 'a' + (word + i) % 26);
	}
}

static void
make_document(const Model *m, TestInvRandom *prng, int doc)
{
	Document   *d = &m->docs[doc];
	int			n = (int) (test_inv_double(prng) * test_inv_double(prng) *
						   m->max_tokens);

	/* rows of a heap, with gaps; now and then a hole in the blocks */
	ItemPointerSet(&d->tid, doc / 30 * 3 + (doc > m->ndocs / 2 ? 100000 : 0),
				   doc % 30 * 5 + 1);
	initStringInfo(&d->texts[0]);
	initStringInfo(&d->texts[1]);
	d->nulls[0] = test_inv_range(prng, 0, 19) == 0;
	d->nulls[1] = test_inv_range(prng, 0, 2) == 0;
	/* one document has most of the tokens */
	if (doc == m->ndocs / 3)
	{
		n = m->max_tokens * 20;
		d->nulls[0] = false;
	}
	for (int i = 0; i < n && !d->nulls[0]; i++)
	{
		if (i > 0)
			appendStringInfoChar(&d->texts[0], ' ');
		put_word(m, prng, &d->texts[0]);
	}
	if (!d->nulls[1] && test_inv_range(prng, 0, 4) != 0)
		put_word(m, prng, &d->texts[1]);
}

/* SniiTokenSink */
static void
model_token(void *arg, const char *bytes, uint32 len, uint32 position,
			uint32 start, uint32 end)
{
	Model	   *m = arg;
	uint8		buf[SNII_TERM_MAX];
	const char *term;
	uint32		term_len;
	int			kind = snii_text_term(bytes, len, buf, &term, &term_len);
	Occurrence *o;

	if (m->ntokens == m->capacity)
	{
		m->capacity *= 2;
		m->tokens = repalloc_huge(m->tokens,
								  m->capacity * sizeof(Occurrence));
	}
	o = &m->tokens[m->ntokens++];
	o->keylen = term_len + 2;
	o->key = palloc(o->keylen);
	o->key[0] = m->column;
	o->key[1] = kind;
	memcpy(o->key + 2, term, term_len);
	o->doc = m->doc;
	o->position = position;
}

static int
compare_keys(const Occurrence *a, const Occurrence *b)
{
	int			cmp = memcmp(a->key, b->key, Min(a->keylen, b->keylen));

	if (cmp != 0)
		return cmp;
	return (a->keylen > b->keylen) - (a->keylen < b->keylen);
}

static int
compare_occurrences(const void *pa, const void *pb)
{
	const Occurrence *a = pa;
	const Occurrence *b = pb;
	int			cmp = compare_keys(a, b);

	if (cmp != 0)
		return cmp;
	if (a->doc != b->doc)
		return a->doc < b->doc ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

static void
make_model(Model *m)
{
	TestInvRandom prng;

	test_inv_seed(&prng, m->seed);
	m->docs = palloc0((Size) Max(m->ndocs, 1) * sizeof(Document));
	m->capacity = 1024;
	m->tokens = palloc(m->capacity * sizeof(Occurrence));
	m->ntokens = 0;
	for (int doc = 0; doc < m->ndocs; doc++)
	{
		Document   *d = &m->docs[doc];

		make_document(m, &prng, doc);
		m->doc = doc;
		for (int c = 0; c < COLUMNS; c++)
		{
			m->column = c;
			if (!d->nulls[c])
				d->lengths[c] =
					snii_text_analyze(snii_text_analyzer_by_id(column_analyzers[c]),
									  d->texts[c].data, d->texts[c].len,
									  model_token, m);
		}
	}
	qsort(m->tokens, m->ntokens, sizeof(Occurrence), compare_occurrences);
}

/* ---------------- building ---------------- */

static void
build_by_text(const Model *m, SniiInvBuilder *b)
{
	for (int doc = 0; doc < m->ndocs; doc++)
	{
		Document   *d = &m->docs[doc];

		snii_inv_builder_begin_doc(b, &d->tid);
		for (int c = 0; c < COLUMNS; c++)
		{
			if (d->nulls[c])
				snii_inv_builder_null(b, c);
			else
				snii_inv_builder_text(b, c, d->texts[c].data,
									  d->texts[c].len);
		}
		snii_inv_builder_end_doc(b);
	}
}

/* The model's documents as records of the write buffer. */
typedef struct ModelSource
{
	SniiRecordSource base;
	const Model *model;
	int			next;
	SniiInvRecord record;
} ModelSource;

static bool
source_next(SniiRecordSource *self, SniiRecord *record)
{
	ModelSource *source = (ModelSource *) self;
	const Document *d;

	if (source->next >= source->model->ndocs)
		return false;
	d = &source->model->docs[source->next++];
	snii_inv_record_reset(&source->record);
	for (int c = 0; c < COLUMNS; c++)
	{
		if (d->nulls[c])
			snii_inv_record_null(&source->record);
		else
			snii_inv_record_text(&source->record,
								 snii_text_analyzer_by_id(column_analyzers[c]),
								 d->texts[c].data, d->texts[c].len);
	}
	record->tid = d->tid;
	record->data = source->record.data;
	record->len = source->record.len;
	return true;
}

static void
build_by_records(const Model *m, SniiInvBuilder *b)
{
	ModelSource source = {{source_next}, m, 0};
	SniiRecord	record;

	snii_inv_record_init(&source.record);
	while (source.base.next(&source.base, &record))
	{
		snii_inv_builder_begin_doc(b, &record.tid);
		snii_inv_builder_record(b, &record);
		snii_inv_builder_end_doc(b);
	}
}

/* Keep the last report. */
static void
keep_report(void *arg, const SniiInvProgress *p)
{
	SniiInvProgress *last = arg;

	CHECK(p->documents >= last->documents && p->bytes >= last->bytes &&
		  p->runs >= last->runs && p->terms <= p->terms_total,
		  "progress goes on");
	*last = *p;
}

/* Build from text or records by a builder, with its statistics. */
static void
build_by_builder(const Model *m, Relation rel, SniiObjectWriter *w,
				 Size budget, bool records, SniiInvBuildStats *stats)
{
	SniiInvBuilder *b = snii_inv_builder_begin(rel, w, COLUMNS,
											   column_analyzers, budget, NULL);
	SniiInvProgress last = {0};

	snii_inv_builder_report(b, keep_report, &last);
	if (records)
		build_by_records(m, b);
	else
		build_by_text(m, b);
	CHECK(snii_inv_builder_finish(b) == m->ndocs, "%d documents", m->ndocs);
	snii_inv_builder_stats(b, stats);
	CHECK(stats->ntokens == m->ntokens, UINT64_FORMAT " tokens",
		  stats->ntokens);
	CHECK(last.documents == m->ndocs && last.runs == stats->nruns &&
		  (last.bytes > 0) == (m->ntokens > 0), "all of it is reported");
	CHECK(stats->nruns > 0 ? last.terms > 0 && last.terms <= last.terms_total :
		  last.terms == last.terms_total, UINT64_FORMAT " of " UINT64_FORMAT " terms",
		  last.terms, last.terms_total);
}

/* Build as a flush does; there are no statistics. */
static void
build_by_kind(const Model *m, Relation rel, SniiObjectWriter *w,
			  SniiInvBuildStats *stats)
{
	ModelSource source = {{source_next}, m, 0};

	snii_inv_record_init(&source.record);
	CHECK(snii_inv_kind_build(rel, w, &source.base) == m->ndocs,
		  "%d documents", m->ndocs);
	memset(stats, 0, sizeof(*stats));
}

/* ---------------- checking ---------------- */

/* Check documents: TIDs, lengths, NULLs, and the sums of the head. */
static void
check_documents(const Model *m, SniiInvSegment *seg)
{
	const SniiInvHead *head = snii_inv_head(seg);
	uint64		sums[COLUMNS] = {0};
	uint64		nulls[COLUMNS] = {0};

	CHECK(head->ndocs == m->ndocs, UINT64_FORMAT, head->ndocs);
	for (int doc = 0; doc < m->ndocs; doc++)
	{
		Document   *d = &m->docs[doc];
		ItemPointerData tid;

		snii_inv_tid(seg, doc, &tid);
		CHECK(ItemPointerEquals(&tid, &d->tid), "document %d", doc);
		for (int c = 0; c < COLUMNS; c++)
		{
			CHECK(snii_inv_length(seg, c, doc) == d->lengths[c],
				  "document %d", doc);
			CHECK(snii_inv_is_null(seg, c, doc) == d->nulls[c],
				  "document %d", doc);
			sums[c] += d->lengths[c];
			nulls[c] += d->nulls[c];
		}
	}
	for (int c = 0; c < COLUMNS; c++)
	{
		CHECK(head->columns[c].sum_length == sums[c], "column %d", c);
		CHECK(head->columns[c].nnulls == nulls[c], "column %d", c);
		CHECK(head->columns[c].analyzer == column_analyzers[c],
			  "column %d", c);
	}
}

/* The bounds of a cursor's window cover each posting in it. */
static void
check_bound(const Model *m, SniiInvCursor *cursor, int column, uint32 doc,
			uint32 freq)
{
	SniiInvBound bounds[2];
	uint8		code = snii_codec_length_code(m->docs[doc].lengths[column]);
	int			n = 0;

	n += snii_inv_cursor_bound(cursor, doc, &bounds[n]);
	n += snii_inv_cursor_super_bound(cursor, doc, &bounds[n]);
	for (int i = 0; i < n; i++)
	{
		const SniiImpacts *impacts = bounds[i].impacts;
		bool		covered = impacts == NULL;

		CHECK(bounds[i].last >= doc, "document %u", doc);
		for (int k = 0; !covered && k < impacts->n; k++)
			covered = impacts->freq[k] >= freq && impacts->len[k] <= code;
		CHECK(covered, "document %u, bound %d", doc, i);
	}
}

/* Check the postings of a term whose tokens are from to to - 1. */
static void
check_postings(const Model *m, SniiInvSegment *seg, const SniiInvTerm *term,
			   Size from, Size to)
{
	SniiInvCursor *cursor;
	uint64		df = 0;
	int			flags = SNII_INV_FREQS | SNII_INV_POSITIONS;

	cursor = snii_inv_cursor_open(seg, term, flags);
	while (from < to)
	{
		uint32		doc = snii_inv_cursor_doc(cursor);
		const uint32 *positions;
		uint32		n;

		CHECK(doc == m->tokens[from].doc, "document %u, not %u", doc,
			  m->tokens[from].doc);
		positions = snii_inv_cursor_positions(cursor, &n);
		CHECK(n == snii_inv_cursor_freq(cursor), "document %u", doc);
		CHECK(n <= to - from, "document %u", doc);
		for (uint32 i = 0; i < n; i++, from++)
			CHECK(m->tokens[from].doc == doc &&
				  m->tokens[from].position == positions[i],
				  "document %u, position %u", doc, positions[i]);
		check_bound(m, cursor, m->tokens[from - 1].key[0], doc, n);
		df++;
		snii_inv_cursor_next(cursor);
	}
	CHECK(snii_inv_cursor_doc(cursor) == SNII_INV_NO_DOC, "too many postings");
	CHECK(df == term->df, UINT64_FORMAT " documents", df);
	snii_inv_cursor_close(cursor);
}

/*
 * Check the dictionary: every term by walk and by look-up, and that no look-up
 * finds what is not there.  forms counts the terms of each form.
 */
static void
check_terms(const Model *m, SniiInvSegment *seg, int *forms)
{
	SniiInvDict *dict = snii_inv_dict_begin(seg);
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen;
	SniiInvTerm term;
	Size		at = 0;
	uint64		nterms = 0;

	snii_inv_dict_seek(dict, 0, 0, "", 0);
	while (snii_inv_dict_next(dict, key, &keylen, &term))
	{
		Occurrence *o = &m->tokens[at];
		Size		to = at;
		SniiInvTerm found;

		CHECK(at < m->ntokens, "too many terms");
		CHECK(keylen == o->keylen && memcmp(key, o->key, keylen) == 0,
			  "term at %zu", at);
		while (to < m->ntokens && compare_keys(o, &m->tokens[to]) == 0)
			to++;
		CHECK(term.ttf == to - at, UINT64_FORMAT " tokens", term.ttf);
		check_postings(m, seg, &term, at, to);
		CHECK(snii_inv_lookup(seg, key[0], key[1], (char *) key + 2,
							  keylen - 2, &found), "term at %zu", at);
		CHECK(found.df == term.df && found.ttf == term.ttf &&
			  found.docs == term.docs && found.positions == term.positions,
			  "term at %zu", at);
		snii_inv_term_release(&found);
		if (keylen < SNII_INV_KEY_MAX)
		{
			key[keylen] = 1;
			CHECK(!snii_inv_lookup(seg, key[0], key[1], (char *) key + 2,
								   keylen - 1, &found), "after %zu", at);
		}
		forms[term.form]++;
		nterms++;
		at = to;
	}
	CHECK(at == m->ntokens, "%zu of %zu tokens", at, m->ntokens);
	CHECK(nterms == snii_inv_head(seg)->nterms, UINT64_FORMAT " terms", nterms);
	snii_inv_dict_end(dict);
}

/* Write a segment, and compare it with the model. */
Datum
test_inv_write(PG_FUNCTION_ARGS)
{
	Model		m = {0};
	Size		budget = PG_GETARG_INT64(5);
	bool		records = PG_GETARG_BOOL(6);
	Relation	rel = test_inv_open(PG_GETARG_OID(0), COLUMNS,
									column_analyzers);
	SniiObjectWriter *w = snii_storage_writer_begin(rel, SNII_SLOT_FLUSH);
	SniiInvBuildStats stats;
	SniiObjectRef ref;
	SniiObject *object;
	SniiInvSegment *seg;
	int			forms[4] = {0};
	Datum		form_datums[4];
	Datum		values[7];
	bool		nulls[7] = {false};
	TupleDesc	desc;

	m.seed = PG_GETARG_INT64(1);
	m.ndocs = PG_GETARG_INT32(2);
	m.max_tokens = PG_GETARG_INT32(3);
	m.vocabulary = PG_GETARG_INT32(4);
	make_model(&m);
	if (budget == 0)
		build_by_kind(&m, rel, w, &stats);
	else
		build_by_builder(&m, rel, w, budget, records, &stats);
	snii_storage_writer_finish(w, &ref);
	object = snii_storage_object_open(rel, ref.id, ref.list_head);
	seg = snii_inv_open(object, m.ndocs);
	check_documents(&m, seg);
	check_terms(&m, seg, forms);

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < 4; i++)
		form_datums[i] = Int32GetDatum(forms[i]);
	values[0] = Int64GetDatum(stats.ndocs);
	values[1] = Int64GetDatum(stats.ntokens);
	values[2] = Int32GetDatum(stats.nruns);
	values[3] = Int64GetDatum(snii_inv_head(seg)->nterms);
	values[4] = Int64GetDatum(stats.peak);
	values[5] = PointerGetDatum(construct_array(form_datums, 4, INT4OID,
												sizeof(int32), true,
												TYPALIGN_INT));
	values[6] = Int64GetDatum(test_inv_checksum(object));
	snii_inv_close(seg);
	test_inv_close(rel);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* ---------------- misuse ---------------- */

/* Calls in an order that the writer must refuse. */
Datum
test_inv_misuse(PG_FUNCTION_ARGS)
{
	const char *what = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation	rel = test_inv_open(PG_GETARG_OID(0), COLUMNS,
									column_analyzers);
	SniiObjectWriter *w = snii_storage_writer_begin(rel, SNII_SLOT_FLUSH);
	SniiInvWriter *iw = snii_inv_writer_begin(rel, w, COLUMNS,
											  column_analyzers, 10);
	uint32		lengths[COLUMNS] = {1, 1};
	bool		nulls[COLUMNS] = {false, false};
	ItemPointerData tid;

	ItemPointerSet(&tid, 1, 1);
	for (int i = 0; i < 5; i++)
		snii_inv_writer_doc(iw, &tid, lengths, nulls);
	snii_inv_writer_term(iw, 0, 0, (const uint8 *) "b", 1);
	if (strcmp(what, "empty term") != 0)
	{
		snii_inv_writer_posting(iw, 3);
		snii_inv_writer_position(iw, 7);
	}
	if (strcmp(what, "document") == 0)
		snii_inv_writer_posting(iw, 3);
	else if (strcmp(what, "unknown document") == 0)
		snii_inv_writer_posting(iw, 5);
	else if (strcmp(what, "position") == 0)
		snii_inv_writer_position(iw, 7);
	else if (strcmp(what, "large position") == 0)
		snii_inv_writer_position(iw, 0x80000000);
	else if (strcmp(what, "no position") == 0)
	{
		snii_inv_writer_posting(iw, 4);
		snii_inv_writer_finish(iw);
	}
	else if (strcmp(what, "late document") == 0)
		snii_inv_writer_doc(iw, &tid, lengths, nulls);
	else if (strcmp(what, "equal term") == 0)
		snii_inv_writer_term(iw, 0, 0, (const uint8 *) "b", 1);
	else if (strcmp(what, "smaller term") == 0)
		snii_inv_writer_term(iw, 0, 0, (const uint8 *) "ab", 2);
	else if (strcmp(what, "empty term") == 0)
		snii_inv_writer_finish(iw);
	else
		snii_inv_writer_finish(iw);
	test_inv_close(rel);
	PG_RETURN_VOID();
}
