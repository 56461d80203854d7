/*-------------------------------------------------------------------------
 *
 * test_query_reader.c
 *	  A segment in memory, behind the interface of the segment reader.
 *
 * Windows have a random size for each term, and a window that was left is
 * overwritten, so that a reader that holds on to it is found out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "inverted/inv_columns.h"
#include "inverted/inv_cursor.h"

#include "test_query.h"

TestCounters test_query_counters;

typedef struct MockTerm
{
	uint32		df;
	uint32		ttf;
	int			window;
	uint32	   *docs;
	uint32	   *first;			/* df + 1 offsets into positions */
	uint32	   *positions;
} MockTerm;

struct SniiInvSegment
{
	SniiInvHead head;
	int			nwords;
	MockTerm   *terms;			/* column * nwords + word */
	uint8	   *nulls[TEST_COLUMNS];
};

typedef struct MockCursor
{
	SniiInvCursor cursor;
	MockTerm   *term;
	uint32		at;				/* documents before the window */
	int			flags;
	uint32		window[SNII_INV_WINDOW];
} MockCursor;

const char *
test_query_word(uint32 word)
{
	uint32	   *key = palloc(sizeof(uint32));

	*key = word;
	return (const char *) key;
}

/* Count, or store, the postings of one document. */
static void
add_field(SniiInvSegment *seg, int column, uint32 doc, const TestField *field,
		  bool store)
{
	for (int i = 0; i < field->n; i++)
	{
		MockTerm   *t = &seg->terms[column * seg->nwords +
									field->tokens[i].word];
		bool		seen = false;

		for (int j = 0; j < i && !seen; j++)
			seen = field->tokens[j].word == field->tokens[i].word;
		if (store)
		{
			if (!seen)
			{
				t->docs[t->df] = doc;
				t->first[t->df] = t->ttf;
			}
			t->positions[t->ttf] = field->tokens[i].position;
		}
		t->df += !seen;
		t->ttf++;
	}
}

static void
add_fields(SniiInvSegment *seg, const TestField *fields, bool store)
{
	for (uint32 doc = 0; doc < seg->head.ndocs; doc++)
	{
		for (int column = 0; column < TEST_COLUMNS; column++)
			add_field(seg, column, doc, &fields[doc * TEST_COLUMNS + column],
					  store);
	}
}

static void
add_nulls(SniiInvSegment *seg, const TestField *fields, int column)
{
	uint32		ndocs = seg->head.ndocs;
	uint8	   *bits = palloc0(ndocs / 8 + 1);

	for (uint32 doc = 0; doc < ndocs; doc++)
	{
		if (fields[doc * TEST_COLUMNS + column].null)
		{
			bits[doc / 8] |= 1 << (doc % 8);
			seg->head.columns[column].nnulls++;
		}
	}
	if (seg->head.columns[column].nnulls > 0)
		seg->nulls[column] = bits;
}

SniiInvSegment *
test_query_segment(pg_prng_state *random, int ndocs, int nwords,
				   TestField *fields)
{
	SniiInvSegment *seg = palloc0(sizeof(SniiInvSegment));

	seg->head.ndocs = ndocs;
	seg->nwords = nwords;
	seg->terms = palloc0(TEST_COLUMNS * nwords * sizeof(MockTerm));
	add_fields(seg, fields, false);
	for (int i = 0; i < TEST_COLUMNS * nwords; i++)
	{
		MockTerm   *t = &seg->terms[i];

		t->docs = palloc(Max(t->df, 1) * sizeof(uint32));
		t->first = palloc((t->df + 1) * sizeof(uint32));
		t->positions = palloc(Max(t->ttf, 1) * sizeof(uint32));
		t->first[t->df] = t->ttf;
		t->df = t->ttf = 0;
		t->window = pg_prng_uint64_range(random, 1, SNII_INV_WINDOW);
	}
	add_fields(seg, fields, true);
	for (int column = 0; column < TEST_COLUMNS; column++)
		add_nulls(seg, fields, column);
	return seg;
}

const SniiInvHead *
snii_inv_head(const SniiInvSegment *seg)
{
	return &seg->head;
}

const uint8 *
snii_inv_nulls(SniiInvSegment *seg, int column)
{
	return seg->nulls[column];
}

bool
snii_inv_lookup(SniiInvSegment *seg, int column, int kind, const char *bytes,
				uint32 len, SniiInvTerm *term)
{
	uint32		word;
	MockTerm   *t;

	test_query_counters.lookups++;
	Assert(len == sizeof(word));
	memcpy(&word, bytes, len);
	if (word >= seg->nwords)
		return false;
	t = &seg->terms[column * seg->nwords + word];
	if (t->df == 0)
		return false;
	memset(term, 0, sizeof(SniiInvTerm));
	term->df = t->df;
	term->ttf = t->ttf;
	term->column = column;
	term->bytes = (const uint8 *) t;
	test_query_counters.terms++;
	return true;
}

void
snii_inv_term_release(SniiInvTerm *term)
{
	test_query_counters.terms--;
}

SniiInvCursor *
snii_inv_cursor_open(SniiInvSegment *seg, const SniiInvTerm *term, int flags)
{
	MockCursor *m = palloc0(sizeof(MockCursor));

	m->term = (MockTerm *) term->bytes;
	m->flags = flags;
	m->cursor.docs = m->window;
	test_query_counters.cursors++;
	return &m->cursor;
}

void
snii_inv_cursor_close(SniiInvCursor *c)
{
	test_query_counters.cursors--;
	pfree(c);
}

/* Decode the window that begins "at" documents into the list. */
static uint32
load_window(MockCursor *m, uint32 at)
{
	memset(m->window, 0xEE, sizeof(m->window));
	m->at = Min(at, m->term->df);
	m->cursor.pos = 0;
	m->cursor.n = Min(m->term->window, m->term->df - m->at);
	if (m->cursor.n == 0)
		return SNII_INV_NO_DOC;
	memcpy(m->window, m->term->docs + m->at, m->cursor.n * sizeof(uint32));
	return m->window[0];
}

uint32
snii_inv_cursor_start(SniiInvCursor *c)
{
	MockCursor *m = (MockCursor *) c;

	return load_window(m, m->at + c->n);
}

uint32
snii_inv_cursor_next_window(SniiInvCursor *c)
{
	MockCursor *m = (MockCursor *) c;

	if (snii_inv_cursor_doc(c) == SNII_INV_NO_DOC)
		return SNII_INV_NO_DOC;
	if (c->pos + 1 < c->n)
		return c->docs[++c->pos];
	return load_window(m, m->at + c->n);
}

uint32
snii_inv_cursor_seek_far(SniiInvCursor *c, uint32 target)
{
	while (snii_inv_cursor_doc(c) < target)
		snii_inv_cursor_next(c);
	return snii_inv_cursor_doc(c);
}

const uint32 *
snii_inv_cursor_positions(SniiInvCursor *c, uint32 *n)
{
	MockCursor *m = (MockCursor *) c;
	const uint32 *first = m->term->first + m->at + c->pos;

	if (!(m->flags & SNII_INV_POSITIONS) || c->pos >= c->n)
		elog(ERROR, "no positions here");
	*n = first[1] - first[0];
	return m->term->positions + first[0];
}
