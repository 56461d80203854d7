/*-------------------------------------------------------------------------
 *
 * query_iter.c
 *	  Leaf iterators: the postings of a term, a set of documents as bits.
 *
 * Also the ways of working that fit any iterator, built on next(), seek()
 * and verify().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_iter.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

/* ----------------
 *		For any iterator
 * ----------------
 */

/*
 * Advance to the next match and return it, or SNII_ITER_END.
 */
int64
snii_query_iter_next_match(SniiIter *it)
{
	while (snii_query_iter_next(it) != SNII_ITER_END)
	{
		CHECK_FOR_INTERRUPTS();
		if (snii_query_iter_verify(it))
			break;
	}
	return it->doc;
}

/*
 * Advance to the first match that is not before target, which must be after
 * what the iterator returned last.
 */
int64
snii_query_iter_seek_match(SniiIter *it, uint32 target)
{
	if (snii_query_iter_seek(it, target) == SNII_ITER_END ||
		snii_query_iter_verify(it))
		return it->doc;
	return snii_query_iter_next_match(it);
}

/*
 * The next matches, at most max (no more than SNII_ITER_BATCH); 0 at the
 * end.
 */
int
snii_query_iter_next_batch(SniiIter *it, uint32 *docs, int max)
{
	CHECK_FOR_INTERRUPTS();
	if (it->doc >= SNII_ITER_END - 1)
		return 0;
	return it->ops->batch(it, (uint32) (it->doc + 1), docs,
						  Min(max, SNII_ITER_BATCH));
}

/* batch() by single steps; see SniiIterOps */
int
snii_query_iter_plain_batch(SniiIter *it, uint32 from, uint32 *docs, int max)
{
	int			n = 0;

	while (n < max)
	{
		int64		d = n == 0 ? snii_query_iter_seek(it, from) :
		snii_query_iter_next(it);

		if (d != SNII_ITER_END && !snii_query_iter_verify(it))
			d = snii_query_iter_next_match(it);
		if (d == SNII_ITER_END)
			break;
		docs[n++] = (uint32) d;
	}
	return n;
}

/* filter() by single steps; see SniiIterOps */
int
snii_query_iter_plain_filter(SniiIter *it, uint32 *docs, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (snii_query_iter_matches(it, docs[i]))
			docs[kept++] = docs[i];
		else if (it->doc == SNII_ITER_END)
			break;
	}
	return kept;
}

/* fill() by single steps; see SniiIterOps */
void
snii_query_iter_plain_fill(SniiIter *it, uint32 from, int64 end, uint64 *bits,
						   uint32 base)
{
	int64		d = snii_query_iter_seek(it, from);

	while (d < end)
	{
		CHECK_FOR_INTERRUPTS();
		if (snii_query_iter_verify(it))
			snii_query_iter_set_bit(bits, (uint32) d - base);
		d = snii_query_iter_next(it);
	}
}

/* ----------------
 *		Term
 * ----------------
 */
typedef struct SniiIterTerm
{
	SniiIter	iter;
	SniiInvTerm term;
	SniiInvCursor *cursor;
} SniiIterTerm;

static int64
term_next(SniiIter *it)
{
	SniiInvCursor *c = ((SniiIterTerm *) it)->cursor;
	uint32		d = snii_inv_cursor_doc(c);

	/* A fresh cursor, or one that a batch has left ahead. */
	if (d > it->doc)
		return d;
	return snii_inv_cursor_next(c);
}

static int64
term_seek(SniiIter *it, uint32 target)
{
	return snii_query_iter_advance(((SniiIterTerm *) it)->cursor, target);
}

static int
term_batch(SniiIter *it, uint32 from, uint32 *docs, int max)
{
	SniiInvCursor *c = ((SniiIterTerm *) it)->cursor;
	int			n = 0;

	if (snii_query_iter_advance(c, from) == SNII_INV_NO_DOC)
		max = 0;
	while (n < max)
	{
		const uint32 *window;
		int			len = snii_inv_cursor_window(c, &window);
		int			take = Min(len, max - n);

		if (len == 0)
			break;
		memcpy(docs + n, window, take * sizeof(uint32));
		n += take;

		/* Decode the next window only if it is needed. */
		if (take < len)
			c->pos += take;
		else if (n < max)
			snii_inv_cursor_skip_window(c);
		else
			c->pos += take - 1;
	}
	it->doc = n > 0 ? docs[n - 1] : SNII_ITER_END;
	return n;
}

static int
term_filter(SniiIter *it, uint32 *docs, int n)
{
	SniiInvCursor *c = ((SniiIterTerm *) it)->cursor;
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		target = docs[i];
		uint32		d = snii_query_iter_advance(c, target);

		if (d == target)
			docs[kept++] = d;
		else if (d == SNII_INV_NO_DOC)
			break;
	}
	it->doc = snii_inv_cursor_doc(c);
	return kept;
}

static void
term_fill(SniiIter *it, uint32 from, int64 end, uint64 *bits, uint32 base)
{
	SniiInvCursor *c = ((SniiIterTerm *) it)->cursor;
	uint32		d = snii_query_iter_advance(c, from);

	while (d != SNII_INV_NO_DOC && d < end)
	{
		const uint32 *window = NULL;
		int			len = snii_inv_cursor_window(c, &window);
		int			i;

		if (window[len - 1] < end)
		{
			for (i = 0; i < len; i++)
				snii_query_iter_set_bit(bits, window[i] - base);
			d = snii_inv_cursor_skip_window(c);
		}
		else
		{
			for (i = 0; window[i] < end; i++)
				snii_query_iter_set_bit(bits, window[i] - base);
			c->pos += i;
			d = window[i];
		}
	}
	it->doc = d;
}

static void
term_close(SniiIter *it)
{
	SniiIterTerm *t = (SniiIterTerm *) it;

	snii_inv_cursor_close(t->cursor);
	snii_inv_term_release(&t->term);
}

static const SniiIterOps term_ops = {
	.next = term_next,
	.seek = term_seek,
	.batch = term_batch,
	.filter = term_filter,
	.fill = term_fill,
	.close = term_close,
};

/*
 * Documents that hold a term.  Takes the term's pin over.
 */
SniiIter *
snii_query_iter_term(SniiInvSegment *seg, const SniiInvTerm *term)
{
	SniiIterTerm *t = palloc0(sizeof(SniiIterTerm));

	t->iter.ops = &term_ops;
	t->iter.doc = -1;
	t->iter.exact = true;
	t->iter.cost = (double) term->df;
	t->term = *term;
	t->cursor = snii_inv_cursor_open(seg, &t->term, 0);
	return &t->iter;
}

/* ----------------
 *		Set of documents
 * ----------------
 */
typedef struct SniiIterSet
{
	SniiIter	iter;
	const uint8 *bits;			/* NULL: no bit is set */
	bool		invert;
	uint32		ndocs;
} SniiIterSet;

/*
 * Bits of documents 64 * w and up; documents that do not exist are 0.
 */
static uint64
set_word(const SniiIterSet *s, uint32 w)
{
	uint32		first = w * 64;
	uint32		left = s->ndocs - first;
	uint64		word = 0;

	if (s->bits != NULL)
	{
		memcpy(&word, s->bits + first / 8, Min(8, (left + 7) / 8));
#ifdef WORDS_BIGENDIAN
		word = pg_bswap64(word);
#endif
	}
	if (s->invert)
		word = ~word;
	if (left < 64)
		word &= (UINT64CONST(1) << left) - 1;
	return word;
}

static uint32
set_nwords(const SniiIterSet *s)
{
	return s->ndocs / 64 + (s->ndocs % 64 != 0);
}

static inline bool
set_has(const SniiIterSet *s, uint32 d)
{
	bool		bit = s->bits != NULL && (s->bits[d >> 3] >> (d & 7)) & 1;

	return bit != s->invert;
}

static int64
set_seek(SniiIter *it, uint32 target)
{
	SniiIterSet *s = (SniiIterSet *) it;
	uint32		nwords = set_nwords(s);
	uint64		mask = PG_UINT64_MAX << (target & 63);

	for (uint32 w = target >> 6; w < nwords; w++)
	{
		uint64		word = set_word(s, w) & mask;

		if (word != 0)
			return (int64) w * 64 + pg_rightmost_one_pos64(word);
		mask = PG_UINT64_MAX;
	}
	return SNII_ITER_END;
}

static int64
set_next(SniiIter *it)
{
	if (it->doc >= SNII_ITER_END - 1)
		return SNII_ITER_END;
	return set_seek(it, (uint32) (it->doc + 1));
}

static int
set_batch(SniiIter *it, uint32 from, uint32 *docs, int max)
{
	SniiIterSet *s = (SniiIterSet *) it;
	uint32		nwords = set_nwords(s);
	uint64		mask = PG_UINT64_MAX << (from & 63);
	int			n = 0;

	for (uint32 w = from >> 6; w < nwords && n < max; w++)
	{
		uint64		word = set_word(s, w) & mask;

		while (word != 0 && n < max)
		{
			docs[n++] = w * 64 + pg_rightmost_one_pos64(word);
			word &= word - 1;
		}
		mask = PG_UINT64_MAX;
	}
	it->doc = n > 0 ? docs[n - 1] : SNII_ITER_END;
	return n;
}

static int
set_filter(SniiIter *it, uint32 *docs, int n)
{
	SniiIterSet *s = (SniiIterSet *) it;
	int			kept = 0;

	if (n > 0)
		it->doc = docs[n - 1];
	for (int i = 0; i < n && docs[i] < s->ndocs; i++)
	{
		uint32		d = docs[i];

		docs[kept] = d;
		kept += set_has(s, d);
	}
	return kept;
}

static void
set_fill(SniiIter *it, uint32 from, int64 end, uint64 *bits, uint32 base)
{
	SniiIterSet *s = (SniiIterSet *) it;
	int64		nwords = Min((int64) set_nwords(s), (end + 63) / 64);
	uint64		mask = PG_UINT64_MAX << (from & 63);

	for (uint32 w = from >> 6; w < nwords; w++)
	{
		if ((int64) w * 64 + 64 > end)
			mask &= (UINT64CONST(1) << (end & 63)) - 1;
		bits[w - base / 64] |= set_word(s, w) & mask;
		mask = PG_UINT64_MAX;
	}
	it->doc = end < SNII_ITER_END ? set_seek(it, (uint32) end) :
		SNII_ITER_END;
}

static void
set_close(SniiIter *it)
{
}

static const SniiIterOps set_ops = {
	.next = set_next,
	.seek = set_seek,
	.batch = set_batch,
	.filter = set_filter,
	.fill = set_fill,
	.close = set_close,
};

/*
 * Documents 0 .. ndocs - 1 whose bit is set, or is not set if "invert".
 * Bits, (ndocs + 7) / 8 bytes of them, stay the caller's; NULL stands for
 * none set.  cost: how many documents there are.
 */
SniiIter *
snii_query_iter_set(const uint8 *bits, bool invert, uint32 ndocs, double cost)
{
	SniiIterSet *s = palloc0(sizeof(SniiIterSet));

	s->iter.ops = &set_ops;
	s->iter.doc = -1;
	s->iter.exact = true;
	s->iter.cost = cost;
	s->bits = bits;
	s->invert = invert;
	s->ndocs = ndocs;
	return &s->iter;
}

/* ----------------
 *		Materialized matches
 * ----------------
 */

/*
 * Bits for all documents of a segment, none set.
 */
uint64 *
snii_query_iter_words(uint32 ndocs)
{
	Size		size = ((Size) ndocs + 63) / 64 * sizeof(uint64);

	return MemoryContextAllocExtended(CurrentMemoryContext, Max(size, 8),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/*
 * Add all matches of a fresh iterator to the bits, and close it.
 */
void
snii_query_iter_collect(SniiIter *it, uint32 ndocs, uint64 *words)
{
	const int64 step = 65536;
	int64		at = 0;

	while (at < ndocs)
	{
		CHECK_FOR_INTERRUPTS();
		it->ops->fill(it, (uint32) at, Min(at + step, (int64) ndocs),
					  words + at / 64, (uint32) at);
		if (it->doc == SNII_ITER_END)
			break;
		at = Max(at + step, it->doc / 64 * 64);
	}
	snii_query_iter_close(it);
}

/*
 * Iterator over collected bits, which it takes over; NULL if none is set.
 */
SniiIter *
snii_query_iter_collected(uint64 *words, uint32 ndocs)
{
	uint32		nwords = ndocs / 64 + (ndocs % 64 != 0);
	double		count = 0;

	for (uint32 w = 0; w < nwords; w++)
	{
		count += pg_popcount64(words[w]);
#ifdef WORDS_BIGENDIAN
		words[w] = pg_bswap64(words[w]);
#endif
	}
	if (count == 0)
	{
		pfree(words);
		return NULL;
	}
	return snii_query_iter_set((const uint8 *) words, false, ndocs, count);
}
