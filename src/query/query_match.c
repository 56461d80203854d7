/*-------------------------------------------------------------------------
 *
 * query_match.c
 *	  Does a row match?  The truth that every scan must agree with.
 *
 * A matcher is made once per query and used for many rows: reset, one call
 * per token of the row, result.  It finds tokens among the distinct terms of
 * the query by a hash table, behind a filter on first byte and length that
 * rejects most others with one load.  Positions are kept only for terms of
 * phrases.  A row costs no allocation unless it has more positions of such a
 * term than any row before; there is no limit on them.
 *
 * "Seen in this row" is an epoch in each term, so that a reset touches none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "query/query_match.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "text/text_term.h"
#include "utils/memutils.h"

/* A distinct term of the query. */
typedef struct MatchTerm
{
	uint32		hash;
	uint32		len;
	const char *bytes;
	int			kind;
	bool		keep_positions;
	uint64		epoch;			/* of the last row that has it */
	uint32	   *positions;		/* ascending, in that row */
	uint32		npositions;
	uint32		size;			/* allocated */
} MatchTerm;

/* A node of the query; its terms by their ordinals. */
typedef struct MatchNode MatchNode;
struct MatchNode
{
	SniiQueryNodeType type;
	uint32		n;				/* terms or children */
	uint32	   *terms;
	uint32	   *offsets;		/* of a phrase: position of each term */
	uint32	   *cursors;		/* of a phrase: into each term's positions */
	MatchNode **children;
};

/* When can the rest of a row no longer change the result? */
typedef enum MatchExit
{
	MATCH_EXIT_NEVER,
	MATCH_EXIT_FIRST,			/* a term, or an OR of terms: at the first */
	MATCH_EXIT_ALL				/* an AND of terms: when all were seen */
} MatchExit;

struct SniiMatcher
{
	MemoryContext context;		/* owns all of it */
	MatchNode  *root;
	MatchExit	exit;
	bool		decided;		/* the row matches, whatever follows */
	uint64		epoch;			/* of the current row, from 1 */
	uint32		seen;			/* distinct terms seen in it */
	uint32		nterms;
	MatchTerm  *terms;
	uint32	   *slots;			/* ordinal + 1, or 0; linear probing */
	uint32		slot_mask;
	SniiInvTermFilter filter;	/* of all terms */
};

/* ---------- terms ---------- */

static inline uint32
hash_term(int kind, const char *bytes, uint32 len)
{
	return hash_bytes((const unsigned char *) bytes, (int) len) ^ (uint32) kind;
}

/* The slot of a term, or the free one where it belongs. */
static inline uint32 *
find_slot(const SniiMatcher *matcher, uint32 hash, int kind,
		  const char *bytes, uint32 len)
{
	uint32		i = hash & matcher->slot_mask;

	for (;; i = (i + 1) & matcher->slot_mask)
	{
		const MatchTerm *term;

		if (matcher->slots[i] == 0)
			break;
		term = &matcher->terms[matcher->slots[i] - 1];
		if (term->hash == hash && term->len == len && term->kind == kind &&
			memcmp(term->bytes, bytes, len) == 0)
			break;
	}
	return &matcher->slots[i];
}

/* Ordinal of the term, which is added if it is new. */
static uint32
add_term(SniiMatcher *matcher, const SniiQueryTerm *term, bool keep_positions)
{
	uint32		hash = hash_term(term->kind, term->bytes, term->len);
	uint32	   *slot = find_slot(matcher, hash, term->kind,
								 term->bytes, term->len);
	MatchTerm  *match;

	if (*slot == 0)
	{
		match = &matcher->terms[matcher->nterms++];
		match->hash = hash;
		match->len = term->len;
		match->bytes = term->bytes;
		match->kind = term->kind;
		*slot = matcher->nterms;
		matcher->filter.lengths[(uint8) term->bytes[0]] |=
			snii_inv_length_bit(term->len);
	}
	match = &matcher->terms[*slot - 1];
	match->keep_positions |= keep_positions;
	return *slot - 1;
}

static uint64
count_terms(const SniiQueryNode *node)
{
	uint64		n = node->nterms;

	check_stack_depth();
	for (uint32 i = 0; i < node->nchildren; i++)
		n += count_terms(node->children[i]);
	return n;
}

/* Makes room for n terms in a table that is at most half full. */
static void
allocate_terms(SniiMatcher *matcher, uint64 n)
{
	uint64		slots = 8;

	while (slots < 2 * n)
		slots *= 2;
	matcher->slot_mask = (uint32) (slots - 1);
	matcher->slots = MemoryContextAllocExtended(matcher->context,
												slots * sizeof(uint32),
												MCXT_ALLOC_HUGE |
												MCXT_ALLOC_ZERO);
	matcher->terms = MemoryContextAllocExtended(matcher->context,
												(n + 1) * sizeof(MatchTerm),
												MCXT_ALLOC_HUGE |
												MCXT_ALLOC_ZERO);
}

/* ---------- nodes ---------- */

static void *
allocate_array(uint32 n, Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, (Size) n * size);
}

static MatchNode *
make_node(SniiMatcher *matcher, const SniiQueryNode *node)
{
	MatchNode  *match = palloc0(sizeof(MatchNode));
	bool		phrase = (node->type == SNII_QUERY_PHRASE);

	check_stack_depth();
	match->type = node->type;
	match->n = node->nterms + node->nchildren;
	if (node->nterms > 0)
		match->terms = allocate_array(node->nterms, sizeof(uint32));
	if (phrase)
	{
		match->offsets = allocate_array(node->nterms, sizeof(uint32));
		match->cursors = allocate_array(node->nterms, sizeof(uint32));
	}
	for (uint32 i = 0; i < node->nterms; i++)
	{
		match->terms[i] = add_term(matcher, &node->terms[i], phrase);
		if (phrase)
			match->offsets[i] = node->terms[i].position;
	}
	if (node->nchildren > 0)
		match->children = allocate_array(node->nchildren, sizeof(MatchNode *));
	for (uint32 i = 0; i < node->nchildren; i++)
		match->children[i] = make_node(matcher, node->children[i]);
	return match;
}

static MatchExit
find_exit(const MatchNode *root)
{
	if (root->type == SNII_QUERY_TERM)
		return MATCH_EXIT_FIRST;
	if (root->type != SNII_QUERY_OR && root->type != SNII_QUERY_AND)
		return MATCH_EXIT_NEVER;
	for (uint32 i = 0; i < root->n; i++)
		if (root->children[i]->type != SNII_QUERY_TERM)
			return MATCH_EXIT_NEVER;
	return root->type == SNII_QUERY_OR ? MATCH_EXIT_FIRST : MATCH_EXIT_ALL;
}

/*
 * Makes a matcher in a context of its own below the given one.  The query is
 * copied.
 */
SniiMatcher *
snii_query_matcher_create(const SniiQuery *query, MemoryContext context)
{
	MemoryContext own = AllocSetContextCreate(context, "snii matcher",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(own);
	SniiMatcher *matcher = palloc0(sizeof(SniiMatcher));
	SniiQuery  *copy = palloc(VARSIZE(query));
	SniiQueryNode *root;

	memcpy(copy, query, VARSIZE(query));
	root = snii_query_tree(copy);
	matcher->context = own;
	allocate_terms(matcher, count_terms(root));
	matcher->root = make_node(matcher, root);
	matcher->exit = find_exit(matcher->root);
	MemoryContextSwitchTo(old);
	snii_query_matcher_reset(matcher);
	return matcher;
}

void
snii_query_matcher_free(SniiMatcher *matcher)
{
	MemoryContextDelete(matcher->context);
}

/* ---------- a row ---------- */

/* Begins a row. */
void
snii_query_matcher_reset(SniiMatcher *matcher)
{
	matcher->epoch++;
	matcher->seen = 0;
	matcher->decided = false;
}

static void
add_position(SniiMatcher *matcher, MatchTerm *term, uint32 position)
{
	if (unlikely(term->npositions == term->size))
	{
		Size		size = term->size ? (Size) term->size * 2 : 16;

		if (term->positions == NULL)
			term->positions = MemoryContextAlloc(matcher->context,
												 size * sizeof(uint32));
		else
			term->positions = repalloc_huge(term->positions,
											size * sizeof(uint32));
		term->size = (uint32) size;
	}
	term->positions[term->npositions++] = position;
}

/* Notes that the row has the term. */
static void
see_term(SniiMatcher *matcher, MatchTerm *term, uint32 position)
{
	if (term->epoch != matcher->epoch)
	{
		term->epoch = matcher->epoch;
		term->npositions = 0;
		matcher->seen++;
		if (matcher->exit == MATCH_EXIT_FIRST ||
			(matcher->exit == MATCH_EXIT_ALL &&
			 matcher->seen == matcher->nterms))
			matcher->decided = true;
	}
	if (term->keep_positions)
		add_position(matcher, term, position);
}

/*
 * Takes one token of the row, as a dictionary key (snii_text_term()).  Tokens
 * come by ascending position.
 */
void
snii_query_matcher_token(SniiMatcher *matcher, int kind, const char *bytes,
						 uint32 len, uint32 position)
{
	uint32		slot;

	if (matcher->decided ||
		!snii_inv_filter_passes(&matcher->filter, bytes, len))
		return;
	slot = *find_slot(matcher, hash_term(kind, bytes, len), kind, bytes, len);
	if (slot != 0)
		see_term(matcher, &matcher->terms[slot - 1], position);
}

/* Add the terms that the matcher looks for to a filter. */
void
snii_query_matcher_filter(const SniiMatcher *matcher,
						  SniiInvTermFilter *filter)
{
	for (int i = 0; i < lengthof(filter->lengths); i++)
		filter->lengths[i] |= matcher->filter.lengths[i];
}

/* May the caller skip the remaining tokens of the row? */
bool
snii_query_matcher_decided(const SniiMatcher *matcher)
{
	return matcher->decided;
}

/*
 * Advances a cursor into the positions of the term to the first one at or
 * behind target; false if there is none.
 */
static bool
seek_position(const MatchTerm *term, uint32 *cursor, uint64 target)
{
	uint32		low = *cursor;
	uint32		step = 1;
	uint32		high;

	/* gallop, then search between the last two steps */
	while (low < term->npositions && term->positions[low] < target)
	{
		*cursor = low + 1;
		low = (low + step < term->npositions) ? low + step : term->npositions;
		step *= 2;
	}
	high = Min(low, term->npositions);
	low = *cursor;
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (term->positions[middle] < target)
			low = middle + 1;
		else
			high = middle;
	}
	*cursor = low;
	return low < term->npositions;
}

/*
 * Do all terms of the phrase stand at their offsets from one start?
 *
 * Each round raises the candidate start to the largest that some term asks
 * for, so that every list is walked once.  A term that occurs twice in the
 * phrase shares the list, not the cursor; a single shared cursor would have
 * to go back.
 */
static bool
match_phrase(SniiMatcher *matcher, const MatchNode *node)
{
	uint64		start = 0;
	uint32		agreed = 0;		/* terms that stand at start, in a row */

	for (uint32 i = 0; i < node->n; i++)
	{
		if (matcher->terms[node->terms[i]].epoch != matcher->epoch)
			return false;
		node->cursors[i] = 0;
	}
	for (uint32 i = 0; agreed < node->n; i = (i + 1 == node->n) ? 0 : i + 1)
	{
		const MatchTerm *term = &matcher->terms[node->terms[i]];
		uint64		found;

		if (!seek_position(term, &node->cursors[i], start + node->offsets[i]))
			return false;
		found = term->positions[node->cursors[i]] - (uint64) node->offsets[i];
		agreed = (found == start) ? agreed + 1 : 1;
		start = found;
	}
	return true;
}

/* Does the row match the node? */
static bool
match_node(SniiMatcher *matcher, const MatchNode *node)
{
	switch (node->type)
	{
		case SNII_QUERY_NONE:
			return false;
		case SNII_QUERY_ALL:
			return true;
		case SNII_QUERY_TERM:
			return matcher->terms[node->terms[0]].epoch == matcher->epoch;
		case SNII_QUERY_PHRASE:
			return match_phrase(matcher, node);
		case SNII_QUERY_NOT:
			return !match_node(matcher, node->children[0]);
		case SNII_QUERY_AND:
			for (uint32 i = 0; i < node->n; i++)
				if (!match_node(matcher, node->children[i]))
					return false;
			return true;
		case SNII_QUERY_OR:
			for (uint32 i = 0; i < node->n; i++)
				if (match_node(matcher, node->children[i]))
					return true;
			return false;
	}
	elog(ERROR, "unknown query node type %d", (int) node->type);
	return false;				/* keep compilers quiet */
}

/* Does the row whose tokens were given since the reset match? */
bool
snii_query_matcher_result(SniiMatcher *matcher)
{
	return matcher->decided || match_node(matcher, matcher->root);
}

static void
match_token(void *arg, const char *bytes, uint32 len, uint32 position,
			uint32 start, uint32 end)
{
	SniiMatcher *matcher = arg;
	uint8		buf[SNII_TERM_MAX];
	int			kind = SNII_TERM_PLAIN;

	if (matcher->decided)
		return;
	if (unlikely(len > SNII_TERM_MAX))
		kind = snii_text_term(bytes, len, buf, &bytes, &len);
	snii_query_matcher_token(matcher, kind, bytes, len, position);
}

/* Does a row with this text match? */
bool
snii_query_match_text(SniiMatcher *matcher, const SniiAnalyzer *analyzer,
					  const char *text, size_t len)
{
	snii_query_matcher_reset(matcher);
	snii_text_analyze(analyzer, text, len, match_token, matcher);
	return snii_query_matcher_result(matcher);
}
