/*-------------------------------------------------------------------------
 *
 * query_phrase.c
 *	  Iterator over the documents that hold terms at given distances.
 *
 * Candidates are the documents that hold all terms: the cursors of the
 * distinct terms leap over each other, rarest first.  Only a document on
 * which they agree has its positions decoded, those of the two places with
 * the fewest occurrences first; the others follow only if these two meet.
 *
 * A match is a start s such that every slot's term stands at s + the slot's
 * position.  Distinct slots have distinct positions, so a term that is
 * repeated needs as many occurrences, though one cursor serves all of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_phrase.h"

#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct SniiPhraseTerm
{
	SniiInvTerm term;
	SniiInvCursor *cursor;
	int64		decoded;		/* document whose positions these are */
	const uint32 *positions;
	uint32		npositions;
} SniiPhraseTerm;

typedef struct SniiIterPhrase
{
	SniiIter	iter;
	int			nterms;
	SniiPhraseTerm *terms;		/* rarest first */
	int			nslots;
	SniiPhraseSlot *slots;		/* fewest occurrences first */
	int64		verified;		/* document that "result" is about */
	bool		result;
	int64	   *starts;			/* scratch of verify() */
	uint32		max_starts;
} SniiIterPhrase;

/*
 * First document from "doc" on that holds all terms.
 */
static int64
phrase_align(SniiIterPhrase *p, uint32 doc)
{
	int			i = 1;

	doc = snii_query_iter_advance(p->terms[0].cursor, doc);
	while (i < p->nterms && doc != SNII_INV_NO_DOC)
	{
		uint32		other = snii_query_iter_advance(p->terms[i].cursor, doc);

		if (other == doc)
			i++;
		else
		{
			CHECK_FOR_INTERRUPTS();
			doc = other == SNII_INV_NO_DOC ? other :
				snii_query_iter_advance(p->terms[0].cursor, other);
			i = 1;
		}
	}
	return doc;
}

static int64
phrase_next(SniiIter *it)
{
	if (it->doc >= SNII_ITER_END - 1)
		return SNII_ITER_END;
	return phrase_align((SniiIterPhrase *) it, (uint32) (it->doc + 1));
}

static int64
phrase_seek(SniiIter *it, uint32 target)
{
	return phrase_align((SniiIterPhrase *) it, target);
}

/*
 * Positions of the term of a slot in the current document, decoded once.
 */
static SniiPhraseTerm *
phrase_positions(SniiIterPhrase *p, int slot)
{
	SniiPhraseTerm *t = &p->terms[p->slots[slot].term];

	if (t->decoded != p->iter.doc)
	{
		t->positions = snii_inv_cursor_positions(t->cursor, &t->npositions);
		t->decoded = p->iter.doc;
	}
	return t;
}

/*
 * Does a position of the first two slots fit together?  What most phrases
 * come to, so it stops at the first hit and stores nothing.
 */
static bool
phrase_pair_meets(SniiIterPhrase *p)
{
	SniiPhraseTerm *a = phrase_positions(p, 0);
	SniiPhraseTerm *b = phrase_positions(p, 1);
	int64		shift = (int64) p->slots[1].position - p->slots[0].position;
	int64		least = p->slots[0].position;
	uint32		i = 0;
	uint32		j = 0;

	/* Which list moves on is hard to predict: no branch depends on it. */
	while (i < a->npositions && j < b->npositions)
	{
		int64		have = a->positions[i];
		int64		other = b->positions[j] - shift;

		if (have == other && have >= least)
			return true;
		i += have <= other;
		j += other <= have;
	}
	return false;
}

/*
 * Starts at which the first two slots fit together; returns how many.
 */
static uint32
phrase_pair_starts(SniiIterPhrase *p)
{
	SniiPhraseTerm *a = phrase_positions(p, 0);
	SniiPhraseTerm *b = phrase_positions(p, 1);
	int64		from_a = p->slots[0].position;
	int64		from_b = p->slots[1].position;
	uint32		most = Min(a->npositions, b->npositions);
	uint32		n = 0;
	uint32		i = 0;
	uint32		j = 0;

	if (most > p->max_starts)
	{
		if (p->starts != NULL)
			pfree(p->starts);
		p->max_starts = Max(most, 64);
		p->starts = MemoryContextAllocHuge(GetMemoryChunkContext(p),
										   p->max_starts * sizeof(int64));
	}
	while (i < a->npositions && j < b->npositions)
	{
		int64		start = a->positions[i] - from_a;
		int64		other = b->positions[j] - from_b;

		if (start == other && start >= 0)
			p->starts[n++] = start;
		i += start <= other;
		j += other <= start;
	}
	return n;
}

/*
 * Keep those of n starts at which a slot fits too; returns how many.
 */
static uint32
phrase_restrict(SniiIterPhrase *p, int slot, uint32 n)
{
	SniiPhraseTerm *t = phrase_positions(p, slot);
	uint32		position = p->slots[slot].position;
	uint32		kept = 0;
	uint32		i = 0;
	uint32		j = 0;

	while (i < n && j < t->npositions)
	{
		int64		want = p->starts[i] + position;

		if (t->positions[j] < want)
			j++;
		else
		{
			if (t->positions[j] == want)
				p->starts[kept++] = p->starts[i];
			i++;
		}
	}
	return kept;
}

static bool
phrase_verify(SniiIter *it)
{
	SniiIterPhrase *p = (SniiIterPhrase *) it;

	if (p->verified == it->doc)
		return p->result;
	p->verified = it->doc;

	if (p->nslots == 2)
		p->result = phrase_pair_meets(p);
	else
	{
		uint32		n = phrase_pair_starts(p);

		for (int slot = 2; slot < p->nslots && n > 0; slot++)
			n = phrase_restrict(p, slot, n);
		p->result = n > 0;
	}
	return p->result;
}

static void
phrase_close(SniiIter *it)
{
	SniiIterPhrase *p = (SniiIterPhrase *) it;

	for (int i = 0; i < p->nterms; i++)
	{
		snii_inv_cursor_close(p->terms[i].cursor);
		snii_inv_term_release(&p->terms[i].term);
	}
}

static const SniiIterOps phrase_ops = {
	.next = phrase_next,
	.seek = phrase_seek,
	.verify = phrase_verify,
	.batch = snii_query_iter_plain_batch,
	.filter = snii_query_iter_plain_filter,
	.fill = snii_query_iter_plain_fill,
	.close = phrase_close,
};

/* The rarest term first: it leads. */
static int
compare_df(const void *a, const void *b)
{
	uint64		x = ((const SniiPhraseTerm *) a)->term.df;
	uint64		y = ((const SniiPhraseTerm *) b)->term.df;

	return (x > y) - (x < y);
}

typedef struct SlotOrder
{
	SniiPhraseSlot slot;
	double		per_doc;		/* occurrences in a document that has any */
} SlotOrder;

/* The slot with the shortest lists first. */
static int
compare_slot(const void *a, const void *b)
{
	const SlotOrder *x = a;
	const SlotOrder *y = b;

	if (x->per_doc != y->per_doc)
		return x->per_doc < y->per_doc ? -1 : 1;
	return (x->slot.position > y->slot.position) -
		(x->slot.position < y->slot.position);
}

/*
 * Documents that hold the phrase of at least two slots.  Terms are distinct
 * and slots refer to them by number; both arrays stay the caller's, the pins
 * of the terms are taken over.
 */
SniiIter *
snii_query_phrase(SniiInvSegment *seg, const SniiInvTerm *terms, int nterms,
				  const SniiPhraseSlot *slots, int nslots)
{
	SniiIterPhrase *p = palloc0(sizeof(SniiIterPhrase));
	SlotOrder  *order = palloc(nslots * sizeof(SlotOrder));
	int		   *place = palloc(nterms * sizeof(int));

	/* Sort terms; "decoded" carries the number that slots know them by. */
	p->nterms = nterms;
	p->terms = palloc0(nterms * sizeof(SniiPhraseTerm));
	for (int i = 0; i < nterms; i++)
	{
		p->terms[i].term = terms[i];
		p->terms[i].decoded = i;
	}
	qsort(p->terms, nterms, sizeof(SniiPhraseTerm), compare_df);
	for (int i = 0; i < nterms; i++)
	{
		place[p->terms[i].decoded] = i;
		p->terms[i].decoded = -1;
		p->terms[i].cursor = snii_inv_cursor_open(seg, &p->terms[i].term,
												  SNII_INV_POSITIONS);
	}

	for (int i = 0; i < nslots; i++)
	{
		const SniiInvTerm *term = &terms[slots[i].term];

		order[i].slot.term = place[slots[i].term];
		order[i].slot.position = slots[i].position;
		order[i].per_doc = (double) term->ttf / Max(term->df, 1);
	}
	qsort(order, nslots, sizeof(SlotOrder), compare_slot);
	p->nslots = nslots;
	p->slots = palloc(nslots * sizeof(SniiPhraseSlot));
	for (int i = 0; i < nslots; i++)
		p->slots[i] = order[i].slot;
	pfree(order);
	pfree(place);

	p->iter.ops = &phrase_ops;
	p->iter.doc = -1;
	p->iter.cost = (double) p->terms[0].term.df;
	p->verified = -1;
	return &p->iter;
}
