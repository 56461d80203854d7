/*-------------------------------------------------------------------------
 *
 * query_memory.c
 *	  Conditions over a stretch of the write buffer that is indexed in memory.
 *
 * A stretch has some thousands of records at most, so each part of a query
 * is a set of bits, one for each record.  A phrase is the list of its starts:
 * those of its rarest term, filtered by the positions of each other one.
 *
 * The result is exact, but for records that VACUUM has marked dead since they
 * were indexed; those are found out when their TIDs are read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_memory.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

/*
 * Terms beyond which the records are looked at one by one: a look-up in each
 * stretch costs some 50 ns, a record a fifth of a microsecond.
 */
#define MAX_TERMS		512

/* Where a query is evaluated. */
typedef struct Source
{
	const SniiInvStretch *stretch;
	const SniiInvStretchRecord *records;
	uint32		nrecords;
	uint32		nwords;
	int			column;
} Source;

/* ----------------
 *		Sets of records
 * ----------------
 */
static uint64 *
make_words(const Source *s)
{
	return palloc(Max(s->nwords, 1) * sizeof(uint64));
}

static void
set_all(const Source *s, uint64 *words, bool in)
{
	memset(words, in ? 0xFF : 0, s->nwords * sizeof(uint64));
}

static inline void
set_record(uint64 *words, uint32 record)
{
	words[record / 64] |= UINT64CONST(1) << record % 64;
}

static void
eval_term(const Source *s, const SniiQueryTerm *term, uint64 *words)
{
	SniiInvStretchTerm found;

	set_all(s, words, false);
	if (!snii_inv_stretch_find(s->stretch, s->column, term->kind, term->bytes,
							   term->len, &found))
		return;
	while (snii_inv_stretch_next(&found))
		set_record(words, found.record);
}

/* ----------------
 *		Phrases
 * ----------------
 */

/* A start: record and position, in this order. */
typedef uint64 Start;

/*
 * The start that a term at that offset asks for where it stands; false if
 * there is none, since it stands too early.
 */
static inline bool
start_of(const SniiInvStretchTerm *term, uint32 offset, Start *start)
{
	if (term->position < offset)
		return false;
	*start = (Start) term->record << 32 | (term->position - offset);
	return true;
}

/* All starts that a term asks for, ascending. */
static Start *
list_starts(SniiInvStretchTerm *term, uint32 offset, uint32 *n)
{
	uint32		size = 64;
	Start	   *starts = palloc(size * sizeof(Start));

	*n = 0;
	while (snii_inv_stretch_next(term))
	{
		if (*n == size)
		{
			size *= 2;
			starts = repalloc_huge(starts, size * sizeof(Start));
		}
		if (start_of(term, offset, &starts[*n]))
			(*n)++;
	}
	return starts;
}

/* Keep those starts that a term asks for, too; returns how many. */
static uint32
filter_starts(Start *starts, uint32 n, SniiInvStretchTerm *term,
			  uint32 offset)
{
	uint32		kept = 0;
	uint32		i = 0;
	Start		start;

	while (i < n && snii_inv_stretch_next(term))
	{
		if (!start_of(term, offset, &start))
			continue;
		while (i < n && starts[i] < start)
			i++;
		if (i < n && starts[i] == start)
			starts[kept++] = starts[i++];
	}
	return kept;
}

/* Find all terms of a phrase; false if one is not there. */
static bool
find_terms(const Source *s, const SniiQueryNode *node,
		   SniiInvStretchTerm *found, uint32 *rarest)
{
	*rarest = 0;
	for (uint32 i = 0; i < node->nterms; i++)
	{
		const SniiQueryTerm *term = &node->terms[i];

		if (!snii_inv_stretch_find(s->stretch, s->column, term->kind,
								   term->bytes, term->len, &found[i]))
			return false;
		if (found[i].term.slices < found[*rarest].term.slices)
			*rarest = i;
	}
	return true;
}

static void
eval_phrase(const Source *s, const SniiQueryNode *node, uint64 *words)
{
	SniiInvStretchTerm *found = palloc(node->nterms *
									   sizeof(SniiInvStretchTerm));
	uint32		rarest;

	set_all(s, words, false);
	if (find_terms(s, node, found, &rarest))
	{
		uint32		n;
		Start	   *starts = list_starts(&found[rarest],
										 node->terms[rarest].position, &n);

		for (uint32 i = 0; i < node->nterms && n > 0; i++)
			if (i != rarest)
				n = filter_starts(starts, n, &found[i],
								  node->terms[i].position);
		for (uint32 i = 0; i < n; i++)
			set_record(words, (uint32) (starts[i] >> 32));
		pfree(starts);
	}
	pfree(found);
}

/* ----------------
 *		Trees
 * ----------------
 */
static void eval_node(const Source *s, const SniiQueryNode *node,
					  uint64 *words);

/* AND and OR. */
static void
eval_list(const Source *s, const SniiQueryNode *node, uint64 *words)
{
	uint64	   *more = make_words(s);

	eval_node(s, node->children[0], words);
	for (uint32 i = 1; i < node->nchildren; i++)
	{
		uint64		any = 0;

		eval_node(s, node->children[i], more);
		if (node->type == SNII_QUERY_OR)
		{
			for (uint32 w = 0; w < s->nwords; w++)
				words[w] |= more[w];
			continue;
		}
		for (uint32 w = 0; w < s->nwords; w++)
			any |= words[w] &= more[w];
		if (any == 0)
			break;
	}
	pfree(more);
}

/*
 * The records that match a node, apart from NULLs, which the caller leaves
 * out; bits behind the last record have no meaning.
 */
static void
eval_node(const Source *s, const SniiQueryNode *node, uint64 *words)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->type)
	{
		case SNII_QUERY_NONE:
		case SNII_QUERY_ALL:
			set_all(s, words, node->type == SNII_QUERY_ALL);
			return;
		case SNII_QUERY_TERM:
			eval_term(s, &node->terms[0], words);
			return;
		case SNII_QUERY_PHRASE:
			eval_phrase(s, node, words);
			return;
		case SNII_QUERY_AND:
		case SNII_QUERY_OR:
			eval_list(s, node, words);
			return;
		case SNII_QUERY_NOT:
			eval_node(s, node->children[0], words);
			for (uint32 w = 0; w < s->nwords; w++)
				words[w] = ~words[w];
			return;
	}
	elog(ERROR, "unknown query node type %d", (int) node->type);
}

/* ----------------
 *		Conditions
 * ----------------
 */
static uint64
count_terms(const SniiQueryNode *node)
{
	uint64		n = node->nterms;

	check_stack_depth();
	for (uint32 i = 0; i < node->nchildren; i++)
		n += count_terms(node->children[i]);
	return n;
}

/*
 * Is it better to look terms up than to look at the records?
 */
bool
snii_query_memory_suits(const SniiCondition *conditions, int n)
{
	uint64		terms = 0;

	for (int i = 0; i < n; i++)
		if (conditions[i].type == SNII_CONDITION_MATCH)
			terms += count_terms(conditions[i].tree);
	return terms <= MAX_TERMS;
}

/* Records that match all queries, NULLs included, and how many at most. */
static uint32
match_queries(Source *s, const SniiCondition *conditions, int n,
			  uint64 *words)
{
	uint64	   *more = NULL;
	bool		first = true;
	uint32		count = 0;

	set_all(s, words, true);
	for (int i = 0; i < n; i++)
	{
		if (conditions[i].type != SNII_CONDITION_MATCH)
			continue;
		s->column = conditions[i].column;
		if (first)
			eval_node(s, conditions[i].tree, words);
		else
		{
			if (more == NULL)
				more = make_words(s);
			eval_node(s, conditions[i].tree, more);
			for (uint32 w = 0; w < s->nwords; w++)
				words[w] &= more[w];
		}
		first = false;
	}
	if (s->nrecords % 64 != 0)
		words[s->nwords - 1] &= (UINT64CONST(1) << s->nrecords % 64) - 1;
	for (uint32 w = 0; w < s->nwords; w++)
		count += pg_popcount64(words[w]);
	return count;
}

/* Note where the records of a set are whose NULLs are as they have to be. */
static void
collect(const Source *s, const SniiCondition *conditions, int n,
		const uint64 *words, SniiMemoryHits *hits)
{
	uint32		null = 0;
	uint32		not_null = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		bit = (uint32) 1 << conditions[i].column;

		if (conditions[i].type == SNII_CONDITION_NULL)
			null |= bit;
		else
			not_null |= bit;
	}
	for (uint32 w = 0; w < s->nwords; w++)
	{
		for (uint64 left = words[w]; left != 0; left &= left - 1)
		{
			const SniiInvStretchRecord *record =
			&s->records[w * 64 + pg_rightmost_one_pos64(left)];

			if ((record->nulls & not_null) == 0 &&
				(record->nulls & null) == null)
				hits->places[hits->n++] = record->place;
		}
	}
}

/*
 * Find the records of an indexed stretch that meet all conditions.  What is
 * found lives in the current context and needs the index no more.
 */
void
snii_query_memory_find(const SniiInvStretch *stretch, uint64 id,
					   const SniiCondition *conditions, int n,
					   SniiMemoryHits *hits)
{
	Source		s = {.stretch = stretch};
	uint64	   *words;
	uint32		most;

	hits->id = id;
	hits->n = hits->next = 0;
	hits->places = NULL;
	hits->mark = *snii_inv_stretch_mark(stretch);
	s.records = snii_inv_stretch_records(stretch, &s.nrecords);
	s.nwords = (s.nrecords + 63) / 64;
	words = make_words(&s);
	most = match_queries(&s, conditions, n, words);
	if (most > 0)
	{
		hits->places = palloc(most * sizeof(SniiBufferPlace));
		collect(&s, conditions, n, words, hits);
	}
	pfree(words);
}

/*
 * The next TIDs of what was found, at most max; 0 at the end.  No lock is
 * held between calls; the caller keeps the stretch from being recycled.
 */
int
snii_query_memory_next(Relation index, SniiMemoryHits *hits,
					   ItemPointerData *tids, int max)
{
	int			n = 0;

	while (hits->next < hits->n && n < max)
	{
		const SniiBufferPlace *first = &hits->places[hits->next];
		int			same = 1;

		CHECK_FOR_INTERRUPTS();
		while (hits->next + same < hits->n && n + same < max &&
			   first[same].page == first->page)
			same++;
		n += snii_storage_buffer_live(index, hits->id,
									  hits->mark.blocks[first->page], first,
									  same, tids + n);
		hits->next += same;
	}
	return n;
}
