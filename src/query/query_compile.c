/*-------------------------------------------------------------------------
 *
 * query_compile.c
 *	  From the conditions of a scan to the iterator over one segment.
 *
 * What cannot match is found out here: a conjunction with a term that the
 * segment does not have is empty, and the rest of it is not looked up.
 *
 * Negation is carried outwards by De Morgan's rules, so that complements are
 * formed at most once for each condition.  They are complements in the
 * documents whose column is not NULL: a NULL matches neither a query nor its
 * negation.
 *
 * An open iterator of a term pins up to three buffers.  So that no query can
 * pin too many, long lists of children are evaluated in groups, whose
 * matches are kept as a bit for each document of the segment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_compile.h"

#include "inverted/inv_columns.h"
#include "miscadmin.h"
#include "query/query_bool.h"
#include "query/query_phrase.h"
#include "storage/bufmgr.h"

/*
 * What a part of a query matches among the documents that are not NULL: "it",
 * or all but that.  No iterator stands for the empty set.
 */
typedef struct Part
{
	SniiIter   *it;
	bool		negated;
} Part;

/* Parts to be connected by AND: all of pos, none of neg. */
typedef struct Group
{
	SniiInvSegment *seg;
	SniiIter  **pos;
	SniiIter  **neg;
	int			npos;
	int			nneg;
	int			limit;			/* of open iterators in either list */
	uint64	   *neg_words;		/* matches of earlier ones of neg */
} Group;

static Part compile_node(SniiInvSegment *seg, int column,
						 const SniiQueryNode *node);

static uint32
segment_ndocs(SniiInvSegment *seg)
{
	return (uint32) snii_inv_head(seg)->ndocs;
}

/* ----------------
 *		Groups
 * ----------------
 */
static void
group_init(Group *g, SniiInvSegment *seg, int capacity)
{
	memset(g, 0, sizeof(Group));
	g->seg = seg;
	g->limit = Min(Max(NBuffers / 128, 8), 128);
	g->pos = palloc(2 * (Size) capacity * sizeof(SniiIter *));
	g->neg = g->pos + capacity;
}

/* Give everything up. */
static void
group_close(Group *g)
{
	for (int i = 0; i < g->npos; i++)
		snii_query_iter_close(g->pos[i]);
	for (int i = 0; i < g->nneg; i++)
		snii_query_iter_close(g->neg[i]);
	if (g->neg_words != NULL)
		pfree(g->neg_words);
	pfree(g->pos);
}

/* Evaluate the open iterators of pos; false if nothing is left. */
static bool
group_collect_pos(Group *g)
{
	uint32		ndocs = segment_ndocs(g->seg);
	uint64	   *words = snii_query_iter_words(ndocs);

	snii_query_iter_collect(snii_query_and(g->pos, g->npos), ndocs, words);
	g->npos = 0;
	g->pos[0] = snii_query_iter_collected(words, ndocs);
	if (g->pos[0] == NULL)
		return false;
	g->npos = 1;
	return true;
}

static void
group_collect_neg(Group *g)
{
	uint32		ndocs = segment_ndocs(g->seg);

	if (g->neg_words == NULL)
		g->neg_words = snii_query_iter_words(ndocs);
	snii_query_iter_collect(snii_query_or(g->neg, g->nneg), ndocs,
							g->neg_words);
	g->nneg = 0;
}

/*
 * Add a part; false if the group has become empty, which also closes it.
 */
static bool
group_add(Group *g, Part part)
{
	bool		alive = true;

	if (part.it == NULL)
		alive = part.negated;	/* everything, or nothing */
	else if (part.negated)
	{
		g->neg[g->nneg++] = part.it;
		if (g->nneg > g->limit)
			group_collect_neg(g);
	}
	else
	{
		g->pos[g->npos++] = part.it;
		if (g->npos > g->limit)
			alive = group_collect_pos(g);
	}
	if (!alive)
		group_close(g);
	return alive;
}

/* What the group comes to. */
static Part
group_finish(Group *g)
{
	Part		part = {NULL, true};
	SniiIter   *neg = NULL;

	if (g->neg_words != NULL)
	{
		SniiIter   *set = snii_query_iter_collected(g->neg_words,
													segment_ndocs(g->seg));

		if (set != NULL)
			g->neg[g->nneg++] = set;
	}
	if (g->nneg > 0)
		part.it = neg = snii_query_or(g->neg, g->nneg);
	if (g->npos > 0)
	{
		part.negated = false;
		part.it = snii_query_and(g->pos, g->npos);
		if (neg != NULL)
			part.it = snii_query_and_not(part.it, neg);
	}
	pfree(g->pos);
	return part;
}

/* ----------------
 *		Trees
 * ----------------
 */
static Part
compile_term(SniiInvSegment *seg, int column, const SniiQueryTerm *term)
{
	SniiInvTerm found;
	Part		part = {NULL, false};

	if (snii_inv_lookup(seg, column, term->kind, term->bytes, term->len,
						&found))
		part.it = snii_query_iter_term(seg, &found);
	return part;
}

static int
compare_terms(const void *a, const void *b)
{
	const SniiQueryTerm *x = *(const SniiQueryTerm *const *) a;
	const SniiQueryTerm *y = *(const SniiQueryTerm *const *) b;
	int			cmp;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	cmp = memcmp(x->bytes, y->bytes, Min(x->len, y->len));
	if (cmp != 0)
		return cmp;
	return (x->len > y->len) - (x->len < y->len);
}

/*
 * A phrase: look up each distinct term once, stop at the first absent one.
 */
static Part
compile_phrase(SniiInvSegment *seg, int column, const SniiQueryNode *node)
{
	int			n = node->nterms;
	const SniiQueryTerm **sorted = palloc(n * sizeof(SniiQueryTerm *));
	SniiPhraseSlot *slots = palloc(n * sizeof(SniiPhraseSlot));
	SniiInvTerm *found = palloc(n * sizeof(SniiInvTerm));
	int			nfound = 0;
	bool		alive = true;
	Part		part = {NULL, false};

	for (int i = 0; i < n; i++)
		sorted[i] = &node->terms[i];
	qsort(sorted, n, sizeof(SniiQueryTerm *), compare_terms);

	for (int i = 0; i < n && alive; i++)
	{
		if (i == 0 || compare_terms(&sorted[i - 1], &sorted[i]) != 0)
		{
			alive = snii_inv_lookup(seg, column, sorted[i]->kind,
									sorted[i]->bytes, sorted[i]->len,
									&found[nfound]);
			nfound += alive;
		}
		slots[i].term = nfound - 1;
		slots[i].position = sorted[i]->position;
	}

	if (alive)
		part.it = snii_query_phrase(seg, found, nfound, slots, n);
	else
	{
		for (int i = 0; i < nfound; i++)
			snii_inv_term_release(&found[i]);
	}
	pfree(sorted);
	pfree(slots);
	pfree(found);
	return part;
}

static bool
is_leaf(const SniiQueryNode *node)
{
	return node->type != SNII_QUERY_AND && node->type != SNII_QUERY_OR &&
		node->type != SNII_QUERY_NOT;
}

/*
 * AND, and OR as the negation of an AND of negations.  Children that are
 * only looked up come first, since they may settle the matter.
 */
static Part
compile_list(SniiInvSegment *seg, int column, const SniiQueryNode *node)
{
	bool		flip = node->type == SNII_QUERY_OR;
	Part		part;
	Group		g;

	group_init(&g, seg, node->nchildren);
	for (int pass = 0; pass < 2; pass++)
	{
		for (uint32 i = 0; i < node->nchildren; i++)
		{
			const SniiQueryNode *child = node->children[i];

			if (is_leaf(child) != (pass == 0))
				continue;
			part = compile_node(seg, column, child);
			part.negated ^= flip;
			if (!group_add(&g, part))
			{
				part.it = NULL;
				part.negated = flip;
				return part;
			}
		}
	}
	part = group_finish(&g);
	part.negated ^= flip;
	return part;
}

static Part
compile_node(SniiInvSegment *seg, int column, const SniiQueryNode *node)
{
	Part		part = {NULL, false};

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->type)
	{
		case SNII_QUERY_NONE:
			break;
		case SNII_QUERY_ALL:
			part.negated = true;
			break;
		case SNII_QUERY_TERM:
			part = compile_term(seg, column, &node->terms[0]);
			break;
		case SNII_QUERY_PHRASE:
			part = compile_phrase(seg, column, node);
			break;
		case SNII_QUERY_AND:
		case SNII_QUERY_OR:
			part = compile_list(seg, column, node);
			break;
		case SNII_QUERY_NOT:
			part = compile_node(seg, column, node->children[0]);
			part.negated = !part.negated;
			break;
	}
	return part;
}

/* ----------------
 *		Conditions
 * ----------------
 */

/*
 * Documents whose column is NULL, or is not.
 */
static Part
compile_nulls(SniiInvSegment *seg, int column, bool null)
{
	const SniiInvHead *head = snii_inv_head(seg);
	const uint8 *nulls = snii_inv_nulls(seg, column);
	uint64		nnulls = head->columns[column].nnulls;
	Part		part = {NULL, !null};

	if (nulls != NULL)
	{
		part.it = snii_query_iter_set(nulls, !null, segment_ndocs(seg),
									  (double) (null ? nnulls :
												head->ndocs - nnulls));
		part.negated = false;
	}
	return part;
}

/* Add one condition; false if nothing can match. */
static bool
add_condition(Group *g, const SniiCondition *condition)
{
	SniiInvSegment *seg = g->seg;
	int			column = condition->column;
	Part		part;

	if (condition->type != SNII_CONDITION_MATCH)
		return group_add(g, compile_nulls(seg, column, condition->type ==
										  SNII_CONDITION_NULL));

	part = compile_node(seg, column, condition->tree);
	if (!group_add(g, part))
		return false;
	return !part.negated || group_add(g, compile_nulls(seg, column, false));
}

/*
 * Iterator over the documents of a segment that meet all conditions, without
 * those of "dead" (may be NULL); NULL if there are none.  Takes "dead" over.
 * Everything lives in the current memory context, which the caller resets
 * after closing the iterator; trees stay the caller's.
 */
SniiIter *
snii_query_compile(SniiInvSegment *seg, const SniiCondition *conditions,
				   int n, SniiIter *dead)
{
	uint32		ndocs = segment_ndocs(seg);
	Group		g;
	Part		part;

	group_init(&g, seg, 2 * n + 1);
	for (int i = 0; i < n; i++)
	{
		if (!add_condition(&g, &conditions[i]))
		{
			if (dead != NULL)
				snii_query_iter_close(dead);
			return NULL;
		}
	}
	if (g.npos == 0)
		g.pos[g.npos++] = snii_query_iter_set(NULL, true, ndocs, ndocs);
	part = group_finish(&g);
	if (dead != NULL)
		part.it = snii_query_and_not(part.it, dead);
	return part.it;
}
