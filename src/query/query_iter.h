/*-------------------------------------------------------------------------
 *
 * query_iter.h
 *	  Iterators over the documents of one segment.
 *
 * An iterator yields documents in ascending order and never goes back: every
 * call names documents beyond those of the calls before.  Its "doc" is -1 at
 * first and SNII_ITER_END at the end; else every document before it is dealt
 * with, and it is either dealt with itself (the last one that batch() or
 * filter() looked at) or a candidate.
 *
 * Two phases: next() and seek() yield candidates.  A candidate of an iterator
 * that is "exact" matches; else verify() tells, at a price (positions).  So
 * conjunctions first agree on a document and then pay.  batch(), filter() and
 * fill() deliver matches only; they are what bulk readers use.
 *
 * An iterator and its parts live in the memory context that was current when
 * it was made.  close() releases pins; the memory goes with the context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_ITER_H
#define SNII_QUERY_ITER_H

#include "inverted/inv_cursor.h"

#define SNII_ITER_END			((int64) SNII_INV_NO_DOC)

/* Most documents of one batch() or filter(). */
#define SNII_ITER_BATCH			1024

/* Iterators nested deeper than this look after the stack when they run. */
#define SNII_ITER_FLAT			64

typedef struct SniiIter SniiIter;

typedef struct SniiIterOps
{
	/* First candidate after doc. */
	int64		(*next) (SniiIter *it);

	/* First candidate that is not before target; target is after doc. */
	int64		(*seek) (SniiIter *it, uint32 target);

	/* Does the candidate match?  Only for iterators that are not exact. */
	bool		(*verify) (SniiIter *it);

	/*
	 * Up to max matches that are not before "from"; 0 at the end only.  doc
	 * becomes the last document that was looked at, or END.
	 */
	int			(*batch) (SniiIter *it, uint32 from, uint32 *docs, int max);

	/* Keep those of n ascending documents that match; returns how many. */
	int			(*filter) (SniiIter *it, uint32 *docs, int n);

	/*
	 * Set bit (d - base) for every match d, from <= d < end; base is a
	 * multiple of 64.  doc becomes a candidate that is not before end.
	 */
	void		(*fill) (SniiIter *it, uint32 from, int64 end, uint64 *bits,
						 uint32 base);

	/* Release pins. */
	void		(*close) (SniiIter *it);
} SniiIterOps;

struct SniiIter
{
	const SniiIterOps *ops;
	int64		doc;
	bool		exact;
	int			height;			/* of the tree of iterators below */
	double		cost;			/* expected number of candidates */
};

/* ---------------- leaves ---------------- */

extern SniiIter *snii_query_iter_term(SniiInvSegment *seg,
									  const SniiInvTerm *term);
extern SniiIter *snii_query_iter_set(const uint8 *bits, bool invert,
									 uint32 ndocs, double cost);

extern uint64 *snii_query_iter_words(uint32 ndocs);
extern void snii_query_iter_collect(SniiIter *it, uint32 ndocs,
									uint64 *words);
extern SniiIter *snii_query_iter_collected(uint64 *words, uint32 ndocs);

/* ---------------- whole matches, for users ---------------- */

extern int64 snii_query_iter_next_match(SniiIter *it);
extern int64 snii_query_iter_seek_match(SniiIter *it, uint32 target);
extern int	snii_query_iter_next_batch(SniiIter *it, uint32 *docs, int max);

/* ---------------- for iterators that have nothing better ---------------- */

extern int	snii_query_iter_plain_batch(SniiIter *it, uint32 from,
										uint32 *docs, int max);
extern int	snii_query_iter_plain_filter(SniiIter *it, uint32 *docs, int n);
extern void snii_query_iter_plain_fill(SniiIter *it, uint32 from, int64 end,
									   uint64 *bits, uint32 base);

static inline int64
snii_query_iter_next(SniiIter *it)
{
	return it->doc = it->ops->next(it);
}

/* Stays where it is if that is not before target. */
static inline int64
snii_query_iter_seek(SniiIter *it, int64 target)
{
	if (it->doc < target)
	{
		it->doc = target < SNII_ITER_END ?
			it->ops->seek(it, (uint32) target) : SNII_ITER_END;
	}
	return it->doc;
}

static inline bool
snii_query_iter_verify(SniiIter *it)
{
	return it->exact || it->ops->verify(it);
}

static inline void
snii_query_iter_close(SniiIter *it)
{
	it->ops->close(it);
}

/* Is d a match?  Every later question is about a later document. */
static inline bool
snii_query_iter_matches(SniiIter *it, int64 d)
{
	return snii_query_iter_seek(it, d) == d && snii_query_iter_verify(it);
}

static inline void
snii_query_iter_set_bit(uint64 *bits, uint32 n)
{
	bits[n >> 6] |= UINT64CONST(1) << (n & 63);
}

/*
 * Move a cursor to the first document that is not before target, mostly
 * within its window.
 */
static inline uint32
snii_query_iter_advance(SniiInvCursor *c, uint32 target)
{
	const uint32 *docs = c->docs;
	int			pos = c->pos;
	int			high = c->n - 1;

	if (pos > high || docs[high] < target)
		return snii_inv_cursor_seek_far(c, target);

	for (int near = 0; near < 4; near++)
	{
		if (docs[pos] >= target)
		{
			c->pos = pos;
			return docs[pos];
		}
		pos++;
	}

	/* docs[high] is not before target, so pos cannot pass it. */
	while (pos < high)
	{
		int			middle = (pos + high) / 2;

		if (docs[middle] < target)
			pos = middle + 1;
		else
			high = middle;
	}
	c->pos = pos;
	return docs[pos];
}

#endif							/* SNII_QUERY_ITER_H */
