/*-------------------------------------------------------------------------
 *
 * query_bool.c
 *	  Iterators that combine others: and, or, and-not.
 *
 * A conjunction is led by its rarest child.  Step by step the children leap
 * over each other; in bulk the matches of the leader are handed from child to
 * child, each of which strikes out what it does not have.  Children that
 * must verify come last and see only documents on which all others agree.
 *
 * A disjunction keeps its children in a heap while it is asked step by step.
 * In bulk it works through blocks of 64 Ki documents: each child sets its
 * bits, which costs no comparison at all.  As a filter it asks its most
 * frequent children first.
 *
 * A difference of exact iterators is exact; else it verifies, the cheap side
 * first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_bool.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/*
 * The depth of recursion is that of the query.  Flat trees are bounded by
 * SNII_ITER_FLAT and go unchecked, since this is asked for every document.
 */
static inline void
check_depth(const SniiIter *it)
{
	if (unlikely(it->height > SNII_ITER_FLAT))
		check_stack_depth();
}

static int
height_above(SniiIter *const *children, int n)
{
	int			height = 0;

	for (int i = 0; i < n; i++)
		height = Max(height, children[i]->height);
	return height + 1;
}

static void
close_all(SniiIter **children, int n)
{
	for (int i = 0; i < n; i++)
		snii_query_iter_close(children[i]);
}

/* Rarest first; among equals those that need not verify. */
static int
compare_cost(const void *a, const void *b)
{
	const SniiIter *x = *(SniiIter *const *) a;
	const SniiIter *y = *(SniiIter *const *) b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return (int) y->exact - (int) x->exact;
}

/* Exact ones first, and among each the most frequent first. */
static int
compare_reach(const void *a, const void *b)
{
	const SniiIter *x = *(SniiIter *const *) a;
	const SniiIter *y = *(SniiIter *const *) b;

	if (x->exact != y->exact)
		return x->exact ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost > y->cost ? -1 : 1;
	return 0;
}

/* ----------------
 *		And
 * ----------------
 */
typedef struct SniiIterAnd
{
	SniiIter	iter;
	int			n;
	int			nverify;
	SniiIter  **children;		/* rarest first */
	SniiIter  **verify;			/* those that are not exact, rarest first */
} SniiIterAnd;

/*
 * Move on, from candidate d of the leader, to one of all children.
 */
static int64
and_align(SniiIterAnd *a, int64 d)
{
	SniiIter   *lead = a->children[0];
	int			i = 1;

	while (i < a->n && d != SNII_ITER_END)
	{
		int64		other = snii_query_iter_seek(a->children[i], d);

		if (other == d)
			i++;
		else
		{
			CHECK_FOR_INTERRUPTS();
			d = snii_query_iter_seek(lead, other);
			i = 1;
		}
	}
	return d;
}

static int64
and_next(SniiIter *it)
{
	SniiIterAnd *a = (SniiIterAnd *) it;

	check_depth(it);
	return and_align(a, snii_query_iter_seek(a->children[0], it->doc + 1));
}

static int64
and_seek(SniiIter *it, uint32 target)
{
	SniiIterAnd *a = (SniiIterAnd *) it;

	check_depth(it);
	return and_align(a, snii_query_iter_seek(a->children[0], target));
}

static bool
and_verify(SniiIter *it)
{
	SniiIterAnd *a = (SniiIterAnd *) it;

	check_depth(it);
	for (int i = 0; i < a->nverify; i++)
	{
		if (!snii_query_iter_verify(a->verify[i]))
			return false;
	}
	return true;
}

/*
 * Keep those of n documents, all matches of the exact children, on which all
 * others agree and which then pass.
 */
static int
and_filter_verify(SniiIterAnd *a, uint32 *docs, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		d = docs[i];
		bool		agree = true;

		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < a->nverify && agree; j++)
			agree = snii_query_iter_seek(a->verify[j], d) == d;
		for (int j = 0; j < a->nverify && agree; j++)
			agree = snii_query_iter_verify(a->verify[j]);
		if (agree)
			docs[kept++] = d;
	}
	return kept;
}

/*
 * Strike out of docs what the children from number "first" on do not have.
 */
static int
and_strike(SniiIterAnd *a, int first, uint32 *docs, int n)
{
	for (int i = first; i < a->n && n > 0; i++)
	{
		if (a->children[i]->exact)
			n = a->children[i]->ops->filter(a->children[i], docs, n);
	}
	return a->nverify > 0 ? and_filter_verify(a, docs, n) : n;
}

static int
and_batch(SniiIter *it, uint32 from, uint32 *docs, int max)
{
	SniiIterAnd *a = (SniiIterAnd *) it;
	SniiIter   *lead = a->children[0];
	int64		next = from;

	check_depth(it);
	if (!lead->exact)
		return snii_query_iter_plain_batch(it, from, docs, max);

	for (;;)
	{
		int			n;

		CHECK_FOR_INTERRUPTS();

		/* No match is before the place that a child has reached. */
		for (int i = 1; i < a->n; i++)
			next = Max(next, a->children[i]->doc);
		if (next >= SNII_ITER_END)
			break;
		n = lead->ops->batch(lead, (uint32) next, docs, max);
		if (n == 0)
			break;
		next = lead->doc + 1;
		n = and_strike(a, 1, docs, n);
		if (n > 0)
		{
			it->doc = lead->doc;
			return n;
		}
	}
	it->doc = SNII_ITER_END;
	return 0;
}

static int
and_filter(SniiIter *it, uint32 *docs, int n)
{
	check_depth(it);
	if (n > 0)
		it->doc = docs[n - 1];
	return and_strike((SniiIterAnd *) it, 0, docs, n);
}

static void
and_close(SniiIter *it)
{
	SniiIterAnd *a = (SniiIterAnd *) it;

	check_depth(it);
	close_all(a->children, a->n);
}

static const SniiIterOps and_ops = {
	.next = and_next,
	.seek = and_seek,
	.verify = and_verify,
	.batch = and_batch,
	.filter = and_filter,
	.fill = snii_query_iter_plain_fill,
	.close = and_close,
};

/*
 * Documents that all of n >= 1 iterators have.  The array is the caller's,
 * the iterators are taken over.
 */
SniiIter *
snii_query_and(SniiIter **children, int n)
{
	SniiIterAnd *a;

	if (n == 1)
		return children[0];

	a = palloc0(sizeof(SniiIterAnd));
	a->n = n;
	a->children = palloc(2 * n * sizeof(SniiIter *));
	a->verify = a->children + n;
	memcpy(a->children, children, n * sizeof(SniiIter *));
	qsort(a->children, n, sizeof(SniiIter *), compare_cost);
	for (int i = 0; i < n; i++)
	{
		if (!a->children[i]->exact)
			a->verify[a->nverify++] = a->children[i];
	}
	a->iter.ops = &and_ops;
	a->iter.doc = -1;
	a->iter.exact = a->nverify == 0;
	a->iter.height = height_above(children, n);
	a->iter.cost = a->children[0]->cost;
	return &a->iter;
}

/* ----------------
 *		Or
 * ----------------
 */
#define OR_BLOCK	65536		/* documents of a block */

typedef struct SniiIterOr
{
	SniiIter	iter;
	int			n;
	SniiIter  **children;		/* exact ones, then others; frequent first */
	SniiIter  **heap;			/* by doc, if heap_valid */
	bool		heap_valid;

	/*
	 * Matches block_start .. block_end - 1 are in bits, and the children have
	 * gone on beyond.
	 */
	int64		block_start;
	int64		block_end;		/* 0: no block yet */
	uint64	   *bits;
	uint32	   *rest;			/* scratch of filter() */
} SniiIterOr;

/* Sift down the heap from place i. */
static void
or_sift(SniiIterOr *o, int i)
{
	SniiIter   *it = o->heap[i];

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= o->n)
			break;
		if (child + 1 < o->n && o->heap[child + 1]->doc < o->heap[child]->doc)
			child++;
		if (o->heap[child]->doc >= it->doc)
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = it;
}

/*
 * Move all children to target or beyond and return the first candidate.
 */
static int64
or_children_seek(SniiIterOr *o, int64 target)
{
	if (!o->heap_valid)
	{
		for (int i = 0; i < o->n; i++)
			snii_query_iter_seek(o->children[i], target);
		for (int i = o->n / 2 - 1; i >= 0; i--)
			or_sift(o, i);
		o->heap_valid = true;
	}
	while (o->heap[0]->doc < target)
	{
		snii_query_iter_seek(o->heap[0], target);
		or_sift(o, 0);
	}
	return o->heap[0]->doc;
}

/* Set bits of all matches of the block that holds "first", from it on. */
static void
or_fill_block(SniiIterOr *o, int64 first)
{
	o->block_start = first / 64 * 64;
	o->block_end = Min(o->block_start + OR_BLOCK, SNII_ITER_END);
	if (o->bits == NULL)
		o->bits = MemoryContextAlloc(GetMemoryChunkContext(o), OR_BLOCK / 8);
	memset(o->bits, 0, OR_BLOCK / 8);
	for (int i = 0; i < o->n; i++)
	{
		SniiIter   *child = o->children[i];

		if (child->doc < o->block_end)
			child->ops->fill(child, (uint32) first, o->block_end, o->bits,
							 (uint32) o->block_start);
	}
	o->heap_valid = false;
}

/* Up to max documents of the block, not before "from". */
static int
or_block_batch(SniiIterOr *o, int64 from, uint32 *docs, int max)
{
	uint32		at = (uint32) (from - o->block_start);
	uint64		mask = PG_UINT64_MAX << (at & 63);
	int			n = 0;

	for (uint32 w = at / 64; w < OR_BLOCK / 64 && n < max; w++)
	{
		uint64		word = o->bits[w] & mask;

		while (word != 0 && n < max)
		{
			docs[n++] = (uint32) o->block_start + w * 64 +
				pg_rightmost_one_pos64(word);
			word &= word - 1;
		}
		mask = PG_UINT64_MAX;
	}
	return n;
}

static int64
or_seek(SniiIter *it, uint32 target)
{
	SniiIterOr *o = (SniiIterOr *) it;
	uint32		doc;

	check_depth(it);
	if (target < o->block_end)
	{
		if (or_block_batch(o, target, &doc, 1) > 0)
			return doc;
		return or_children_seek(o, o->block_end);
	}
	return or_children_seek(o, target);
}

static int64
or_next(SniiIter *it)
{
	if (it->doc >= SNII_ITER_END - 1)
		return SNII_ITER_END;
	return or_seek(it, (uint32) (it->doc + 1));
}

/* Is there a match among the children below place i that are at doc? */
static bool
or_verify_below(SniiIterOr *o, int i, bool exact)
{
	if (i >= o->n || o->heap[i]->doc != o->iter.doc)
		return false;
	if (exact ? o->heap[i]->exact :
		(!o->heap[i]->exact && snii_query_iter_verify(o->heap[i])))
		return true;
	return or_verify_below(o, 2 * i + 1, exact) ||
		or_verify_below(o, 2 * i + 2, exact);
}

static bool
or_verify(SniiIter *it)
{
	SniiIterOr *o = (SniiIterOr *) it;

	check_depth(it);
	if (it->doc < o->block_end)
		return true;			/* came from the block */
	return or_verify_below(o, 0, true) || or_verify_below(o, 0, false);
}

static int
or_batch(SniiIter *it, uint32 from, uint32 *docs, int max)
{
	SniiIterOr *o = (SniiIterOr *) it;
	int64		next = from;
	int			n = 0;

	check_depth(it);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (next < o->block_end)
		{
			n += or_block_batch(o, next, docs + n, max - n);
			if (n == max)
				break;
			next = o->block_end;
		}
		next = or_children_seek(o, next);
		if (next == SNII_ITER_END)
			break;
		or_fill_block(o, next);
	}
	it->doc = n > 0 ? docs[n - 1] : SNII_ITER_END;
	return n;
}

/* Keep the documents of a that are not in b, a subset in the same order. */
static int
subtract(uint32 *a, int na, const uint32 *b, int nb)
{
	int			kept = 0;
	int			j = 0;

	if (nb == 0)
		return na;
	for (int i = 0; i < na; i++)
	{
		if (j < nb && b[j] == a[i])
			j++;
		else
			a[kept++] = a[i];
	}
	return kept;
}

/*
 * Each child in turn is asked about the documents that no child before had.
 */
static int
or_filter(SniiIter *it, uint32 *docs, int n)
{
	SniiIterOr *o = (SniiIterOr *) it;
	uint32	   *rest;
	uint32	   *asked;
	int			nrest = n;

	check_depth(it);
	if (n == 0)
		return 0;
	if (docs[0] < o->block_end)
		return snii_query_iter_plain_filter(it, docs, n);
	it->doc = docs[n - 1];
	if (o->rest == NULL)
		o->rest = MemoryContextAlloc(GetMemoryChunkContext(o),
									 2 * SNII_ITER_BATCH * sizeof(uint32));
	rest = o->rest;
	asked = o->rest + SNII_ITER_BATCH;

	memcpy(rest, docs, n * sizeof(uint32));
	for (int i = 0; i < o->n && nrest > 0; i++)
	{
		int			had;

		memcpy(asked, rest, nrest * sizeof(uint32));
		had = o->children[i]->ops->filter(o->children[i], asked, nrest);
		nrest = subtract(rest, nrest, asked, had);
	}
	o->heap_valid = false;
	return subtract(docs, n, rest, nrest);
}

static void
or_fill(SniiIter *it, uint32 from, int64 end, uint64 *bits, uint32 base)
{
	SniiIterOr *o = (SniiIterOr *) it;

	check_depth(it);
	if (from < o->block_end)
	{
		snii_query_iter_plain_fill(it, from, end, bits, base);
		return;
	}
	for (int i = 0; i < o->n; i++)
		o->children[i]->ops->fill(o->children[i], from, end, bits, base);
	o->heap_valid = false;
	it->doc = or_children_seek(o, end);
}

static void
or_close(SniiIter *it)
{
	SniiIterOr *o = (SniiIterOr *) it;

	check_depth(it);
	close_all(o->children, o->n);
}

static const SniiIterOps or_ops = {
	.next = or_next,
	.seek = or_seek,
	.verify = or_verify,
	.batch = or_batch,
	.filter = or_filter,
	.fill = or_fill,
	.close = or_close,
};

/*
 * Documents that any of n >= 1 iterators has.  The array is the caller's, the
 * iterators are taken over.
 */
SniiIter *
snii_query_or(SniiIter **children, int n)
{
	SniiIterOr *o;

	if (n == 1)
		return children[0];

	o = palloc0(sizeof(SniiIterOr));
	o->n = n;
	o->children = palloc(2 * n * sizeof(SniiIter *));
	o->heap = o->children + n;
	memcpy(o->children, children, n * sizeof(SniiIter *));
	qsort(o->children, n, sizeof(SniiIter *), compare_reach);
	memcpy(o->heap, o->children, n * sizeof(SniiIter *));
	o->iter.ops = &or_ops;
	o->iter.doc = -1;
	o->iter.exact = true;
	for (int i = 0; i < n; i++)
	{
		o->iter.exact &= children[i]->exact;
		o->iter.cost += children[i]->cost;
	}
	o->iter.height = height_above(children, n);
	return &o->iter;
}

/* ----------------
 *		And not
 * ----------------
 */
typedef struct SniiIterNot
{
	SniiIter	iter;
	SniiIter   *include;
	SniiIter   *exclude;
	uint32	   *hits;			/* scratch of batch() and filter() */
} SniiIterNot;

/* From candidate d on, the first one that need not be left out. */
static int64
not_skip(SniiIterNot *x, int64 d)
{
	if (!x->iter.exact)
		return d;
	while (d != SNII_ITER_END && snii_query_iter_seek(x->exclude, d) == d)
	{
		CHECK_FOR_INTERRUPTS();
		d = snii_query_iter_next(x->include);
	}
	return d;
}

static int64
not_next(SniiIter *it)
{
	SniiIterNot *x = (SniiIterNot *) it;

	check_depth(it);
	return not_skip(x, snii_query_iter_seek(x->include, it->doc + 1));
}

static int64
not_seek(SniiIter *it, uint32 target)
{
	SniiIterNot *x = (SniiIterNot *) it;

	check_depth(it);
	return not_skip(x, snii_query_iter_seek(x->include, target));
}

static bool
not_verify(SniiIter *it)
{
	SniiIterNot *x = (SniiIterNot *) it;
	bool		hit;

	check_depth(it);
	hit = snii_query_iter_seek(x->exclude, it->doc) == it->doc;
	if (hit && x->exclude->exact)
		return false;
	if (!snii_query_iter_verify(x->include))
		return false;
	return !hit || !snii_query_iter_verify(x->exclude);
}

/* Strike out of docs what the excluded iterator has. */
static int
not_strike(SniiIterNot *x, uint32 *docs, int n)
{
	int			nhits;

	if (x->hits == NULL)
		x->hits = MemoryContextAlloc(GetMemoryChunkContext(x),
									 SNII_ITER_BATCH * sizeof(uint32));
	memcpy(x->hits, docs, n * sizeof(uint32));
	nhits = x->exclude->ops->filter(x->exclude, x->hits, n);
	return subtract(docs, n, x->hits, nhits);
}

static int
not_batch(SniiIter *it, uint32 from, uint32 *docs, int max)
{
	SniiIterNot *x = (SniiIterNot *) it;
	int64		next = from;

	check_depth(it);
	if (!x->include->exact)
		return snii_query_iter_plain_batch(it, from, docs, max);

	while (next < SNII_ITER_END)
	{
		int			n = x->include->ops->batch(x->include, (uint32) next, docs,
											   max);

		CHECK_FOR_INTERRUPTS();
		if (n == 0)
			break;
		next = x->include->doc + 1;
		n = not_strike(x, docs, n);
		if (n > 0)
		{
			it->doc = x->include->doc;
			return n;
		}
	}
	it->doc = SNII_ITER_END;
	return 0;
}

static int
not_filter(SniiIter *it, uint32 *docs, int n)
{
	SniiIterNot *x = (SniiIterNot *) it;

	check_depth(it);
	if (n == 0)
		return 0;
	it->doc = docs[n - 1];
	n = x->include->ops->filter(x->include, docs, n);
	return n > 0 ? not_strike(x, docs, n) : 0;
}

static void
not_close(SniiIter *it)
{
	SniiIterNot *x = (SniiIterNot *) it;

	check_depth(it);
	snii_query_iter_close(x->include);
	snii_query_iter_close(x->exclude);
}

static const SniiIterOps not_ops = {
	.next = not_next,
	.seek = not_seek,
	.verify = not_verify,
	.batch = not_batch,
	.filter = not_filter,
	.fill = snii_query_iter_plain_fill,
	.close = not_close,
};

/*
 * Documents of "include" that "exclude" does not have.  Takes both over.
 */
SniiIter *
snii_query_and_not(SniiIter *include, SniiIter *exclude)
{
	SniiIterNot *x = palloc0(sizeof(SniiIterNot));

	x->iter.ops = &not_ops;
	x->iter.doc = -1;
	x->iter.exact = include->exact && exclude->exact;
	x->iter.height = Max(include->height, exclude->height) + 1;
	x->iter.cost = include->cost;
	x->include = include;
	x->exclude = exclude;
	return &x->iter;
}
