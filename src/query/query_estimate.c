/*-------------------------------------------------------------------------
 *
 * query_estimate.c
 *	  How much a query finds, and what that costs, by the dictionary.
 *
 * Terms are looked up in the segments, the largest first: their document
 * frequencies are exact, without the documents that VACUUM has marked as far
 * as the side list knows them (inv_dead.c).  What combines them is a guess:
 *
 *	AND			terms are independent of each other
 *	OR			likewise
 *	phrase		two neighbours would meet ttf1 * ttf2 / tokens times if words
 *				were strewn at random, and at most as often as the rarer one
 *				occurs; words that are put together meet more often than by
 *				chance.  The estimate lies between the two on a logarithmic
 *				scale, at PHRASE_PULL of the way; further words follow with the
 *				share that their pair has of the word in common.
 *
 * The rules were chosen on a collection of English books (26,046 passages of
 * 143 words): over 2,000 word pairs taken from the text, the median of
 * estimate / truth is 0.8, with 80 % between 0.24 and 4.8; over triples 1.0
 * (0.5 and 8).  Chance alone gives 0.3 for pairs, the rarer word alone 18.  For
 * AND of two words of one passage independence has a median of 0.9.
 *
 * Records of the write buffer are taken to be like the documents of the
 * segments; if there are none, a few of them are matched.
 *
 * The cost is bounded: no positions are decoded, and after MAX_LOOKUPS
 * look-ups the rest is taken to be like what was seen.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_estimate.h"

#include <math.h>

#include "access/xact.h"
#include "compat.h"
#include "inverted/inv_cache.h"
#include "inverted/inv_dead.h"
#include "inverted/inv_record.h"
#include "lsm/lsm_buffer.h"
#include "lsm/lsm_view.h"
#include "miscadmin.h"
#include "query/query_match.h"
#include "query/query_selfuncs.h"
#include "storage/storage_buffer.h"
#include "utils/memutils.h"

#define MAX_LOOKUPS		1000	/* of one estimate */
#define PHRASE_PULL		0.35
#define MAX_STRETCHES	4		/* that records are counted in */
#define MAX_RECORDS		32		/* of each, that are counted */
#define UNKNOWN_SHARE	0.001	/* of a term that was not looked up */

/* Bytes of a TID in a segment, about. */
#define TID_BYTES		3.0

/* The segment at hand. */
typedef struct Source
{
	SniiInvSegment *segment;
	SniiInvDead *dead;
	int			column;
	double		documents;		/* alive and not NULL */
	double		tokens;
	int		   *lookups;		/* left */
} Source;

/* What a part of the query comes to in one segment. */
typedef struct PartCost
{
	double		rows;
	double		postings;
	double		pages;
	bool		negated;		/* postings and pages are of the complement */
} PartCost;

typedef struct TermCost
{
	double		df;				/* alive */
	double		ttf;
	double		postings;		/* dead ones included */
	double		pages;			/* dictionary and documents */
	double		position_pages;
} TermCost;

static PartCost estimate_node(Source *s, const SniiQueryNode *node);

/* ----------------
 *		Terms and phrases
 * ----------------
 */
static TermCost
estimate_term(Source *s, const SniiQueryTerm *term)
{
	TermCost	cost = {0, 0, 0, 1, 0};
	SniiInvTerm found;
	SniiInvAlive alive;

	if (*s->lookups <= 0)
	{
		cost.df = cost.ttf = s->documents * UNKNOWN_SHARE;
		cost.postings = cost.df;
		return cost;
	}
	(*s->lookups)--;
	if (!snii_inv_lookup(s->segment, s->column, term->kind, term->bytes,
						 term->len, &found))
		return cost;
	alive = snii_inv_dead_term(s->dead, &found);
	cost.df = alive.ndocs;
	cost.ttf = alive.ntokens;
	cost.postings = (double) found.df;
	if (found.form == SNII_INV_SLIM || found.form == SNII_INV_WINDOWED)
	{
		cost.pages += ceil((double) found.docs_len / SNII_PAGE_PAYLOAD);
		cost.position_pages = ceil((double) found.positions_len /
								   SNII_PAGE_PAYLOAD);
	}
	snii_inv_term_release(&found);
	return cost;
}

/* Documents that hold two neighbours of a phrase. */
static double
estimate_pair(const Source *s, const TermCost *a, const TermCost *b)
{
	double		most = Min(a->df, b->df);
	double		chance = a->ttf * b->ttf / Max(s->tokens, 1);

	if (most <= 0)
		return 0;
	chance = Min(chance, most);
	return pow(chance, 1 - PHRASE_PULL) * pow(most, PHRASE_PULL);
}

/*
 * What a phrase costs to read: its rarest term leads, and positions are
 * decoded where all terms are.
 */
static PartCost
phrase_cost(const Source *s, const TermCost *terms, int n, double rarest)
{
	PartCost	cost = {rarest, 0, 0, false};
	double		candidates = s->documents;

	for (int i = 0; i < n; i++)
		candidates *= terms[i].df / Max(s->documents, 1);
	candidates = Min(candidates, rarest);
	for (int i = 0; i < n; i++)
	{
		cost.postings += Min(terms[i].df, 2 * rarest) + candidates *
			terms[i].ttf / Max(terms[i].df, 1);
		cost.pages += Min(terms[i].pages, rarest + 2) +
			Min(terms[i].position_pages, candidates + 1);
	}
	return cost;
}

static PartCost
estimate_phrase(Source *s, const SniiQueryNode *node)
{
	int			n = node->nterms;
	TermCost   *terms = palloc(n * sizeof(TermCost));
	double		rarest = s->documents;
	double		bound = s->documents;
	double		rows = 0;
	PartCost	cost = {0, 0, 0, false};

	for (int i = 0; i < n; i++)
	{
		terms[i] = estimate_term(s, &node->terms[i]);
		cost.pages += 1;
		if (terms[i].df == 0)
			return cost;
		rarest = Min(rarest, terms[i].df);
		if (i > 0)
		{
			double		pair = estimate_pair(s, &terms[i - 1], &terms[i]);

			bound = Min(bound, pair);
			rows = i == 1 ? pair : rows * pair / terms[i - 1].df;
		}
	}
	cost = phrase_cost(s, terms, n, rarest);
	cost.rows = Min(Max(rows, 1), bound);
	pfree(terms);
	return cost;
}

/* ----------------
 *		Trees
 * ----------------
 */
static PartCost
estimate_and(Source *s, const SniiQueryNode *node)
{
	double		share = 1;
	double		rarest = s->documents;
	PartCost   *parts = palloc(node->nchildren * sizeof(PartCost));
	PartCost	cost = {0, 0, 0, true};

	for (uint32 i = 0; i < node->nchildren; i++)
	{
		parts[i] = estimate_node(s, node->children[i]);
		share *= parts[i].rows / Max(s->documents, 1);
		if (!parts[i].negated)
		{
			rarest = Min(rarest, parts[i].rows);
			cost.negated = false;
		}
		if (parts[i].rows == 0)
			break;
	}
	cost.rows = share * s->documents;
	for (uint32 i = 0; i < node->nchildren && share > 0; i++)
	{
		cost.postings += Min(parts[i].postings, 2 * rarest + 1);
		cost.pages += Min(parts[i].pages, 2 * rarest + 2);
	}
	pfree(parts);
	return cost;
}

static PartCost
estimate_or(Source *s, const SniiQueryNode *node)
{
	double		none = 1;
	PartCost	cost = {0, 0, 0, false};

	for (uint32 i = 0; i < node->nchildren; i++)
	{
		PartCost	part = estimate_node(s, node->children[i]);

		none *= 1 - part.rows / Max(s->documents, 1);
		cost.postings += part.postings;
		cost.pages += part.pages;
		cost.negated |= part.negated;
	}
	cost.rows = (1 - none) * s->documents;
	return cost;
}

static PartCost
estimate_node(Source *s, const SniiQueryNode *node)
{
	PartCost	cost = {0, 0, 0, false};
	TermCost	term;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->type)
	{
		case SNII_QUERY_NONE:
			break;
		case SNII_QUERY_ALL:
			cost.rows = s->documents;
			cost.negated = true;
			break;
		case SNII_QUERY_TERM:
			term = estimate_term(s, &node->terms[0]);
			cost.rows = Min(term.df, s->documents);
			cost.postings = term.postings;
			cost.pages = term.pages;
			break;
		case SNII_QUERY_PHRASE:
			cost = estimate_phrase(s, node);
			break;
		case SNII_QUERY_AND:
			cost = estimate_and(s, node);
			break;
		case SNII_QUERY_OR:
			cost = estimate_or(s, node);
			break;
		case SNII_QUERY_NOT:
			cost = estimate_node(s, node->children[0]);
			cost.rows = Max(s->documents - cost.rows, 0);
			cost.negated = !cost.negated;
			break;
	}
	return cost;
}

/* ----------------
 *		Segments
 * ----------------
 */

/* Add one segment. */
static void
estimate_segment(Relation index, const SniiDirEntry *entry, int column,
				 const SniiQueryNode *tree, int *lookups, SniiEstimate *e)
{
	SniiObject *object = snii_lsm_open_segment(index, entry);
	SniiInvSegment *segment = snii_inv_open(object, entry->ndocs);
	const SniiInvHead *head = snii_inv_head(segment);
	double		all = (double) entry->ndocs;
	Source		s = {.segment = segment,.column = column,.lookups = lookups};
	SniiInvAlive alive;
	PartCost	cost;

	s.dead = snii_inv_dead_open(segment, entry);
	alive = snii_inv_dead_column(s.dead, column);
	s.documents = alive.ndocs;
	s.tokens = alive.ntokens;
	cost = estimate_node(&s, tree);
	if (cost.negated)
	{
		/* the complement is formed in all documents, with the NULL bitmap */
		cost.postings += (double) head->columns[column].ndocs;
		if (head->columns[column].nulls != SNII_INV_ABSENT)
			cost.pages += all / 8 / SNII_PAGE_PAYLOAD;
	}

	/* head and list of pages; TIDs; delete marks */
	cost.pages += 2;
	cost.pages += Min(cost.rows, all * TID_BYTES / SNII_PAGE_PAYLOAD);
	if (entry->ndead > 0)
		cost.pages += Min(cost.rows, all / 8 / SNII_PAGE_PAYLOAD + 1);

	e->documents += s.documents;
	e->rows += cost.rows;
	e->postings += cost.postings;
	e->pages += cost.pages;
	snii_inv_dead_close(s.dead);
	snii_inv_close(segment);
}

static int
compare_size(const void *a, const void *b)
{
	uint64		x = (*(const SniiDirEntry *const *) a)->ndocs;
	uint64		y = (*(const SniiDirEntry *const *) b)->ndocs;

	return (x < y) - (x > y);
}

/*
 * Add all segments, the largest first, in memory that is given back after
 * each.  When there are no look-ups left, the rest is scaled.
 */
static void
estimate_segments(Relation index, const SniiView *view, int column,
				  const SniiQueryNode *tree, SniiEstimate *e)
{
	const SniiDirEntry **sorted = palloc(Max(view->nentries, 1) *
										 sizeof(SniiDirEntry *));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii estimate",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			lookups = MAX_LOOKUPS;
	int			n = 0;
	double		total = 0;
	double		seen = 0;

	for (int i = 0; i < view->nentries; i++)
	{
		if (view->entries[i].kind == SNII_ENTRY_SEGMENT &&
			view->entries[i].ndocs > 0)
		{
			sorted[n++] = &view->entries[i];
			total += (double) view->entries[i].ndocs;
		}
	}
	qsort(sorted, n, sizeof(SniiDirEntry *), compare_size);
	for (int i = 0; i < n && lookups > 0; i++)
	{
		estimate_segment(index, sorted[i], column, tree, &lookups, e);
		seen += (double) sorted[i]->ndocs;
		MemoryContextReset(context);
	}
	if (seen > 0 && seen < total)
	{
		double		factor = total / seen;

		e->documents *= factor;
		e->rows *= factor;
		e->postings *= factor;
		e->pages *= factor;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ----------------
 *		Write buffer
 * ----------------
 */

/* What was seen of the write buffer. */
typedef struct Sample
{
	int			column;
	int			ncolumns;
	SniiMatcher *matcher;		/* NULL: records are only counted */
	bool		null;			/* of the record at hand */
	int			looked_at;
	int			not_null;
	int			matched;
} Sample;

static void
sample_column(void *arg, int column, bool isnull, uint32 ntokens)
{
	Sample	   *sample = arg;

	if (column == sample->column)
		sample->null = isnull;
}

static void
sample_token(void *arg, int column, int kind, const char *bytes, uint32 len,
			 uint32 position)
{
	Sample	   *sample = arg;

	if (column == sample->column)
		snii_query_matcher_token(sample->matcher, kind, bytes, len, position);
}

/* A malformed record is left for the scan to complain about. */
static void
sample_record(Sample *sample, const SniiRecord *record)
{
	SniiInvRecordSink sink = {
		.arg = sample,
		.begin_column = sample_column,
		.token = sample_token
	};

	if (sample->matcher == NULL)
		return;
	sample->looked_at++;
	snii_query_matcher_reset(sample->matcher);
	if (!snii_inv_record_decode(record->data, record->data + record->len,
								sample->ncolumns, &sink) || sample->null)
		return;
	sample->not_null++;
	if (snii_query_matcher_result(sample->matcher))
		sample->matched++;
}

/*
 * About how many records a stretch has: counted, if they are few, else by the
 * length of the first ones.
 */
static double
stretch_records(Relation index, const SniiDirEntry *entry, Sample *sample)
{
	SniiBufferScan *scan = snii_lsm_buffer_scan(index, entry);
	SniiRecord	record;
	double		bytes = 0;
	int			n = 0;
	bool		more = true;

	while (n < MAX_RECORDS && (more = snii_lsm_buffer_next(scan, &record)))
	{
		sample_record(sample, &record);
		bytes += record.len + sizeof(SniiRecordHeader);
		n++;
	}
	snii_lsm_buffer_end(scan);
	if (!more)
		return n;
	return Max((double) SNII_STRETCH_PAGES * SNII_BUFFER_CAPACITY / bytes, 1) *
		n;
}

/*
 * The share of records that match, by the sample if that can tell.  A query
 * that matches none of it matches few.
 */
static double
sample_share(const Sample *sample, const SniiQueryNode *tree)
{
	double		guess = snii_query_default_selectivity(tree);

	if (sample->not_null == 0)
		return guess;
	if (sample->matched == 0)
		return Min(guess, 0.5 / sample->not_null);
	return (double) sample->matched / sample->not_null;
}

/*
 * Records of a stretch that this session has indexed to its end: their number
 * is known.
 */
static bool
known_records(Relation index, const SniiDirEntry *entry, double *records)
{
	const SniiInvStretch *stretch = snii_inv_cache_peek(index, entry->id);
	uint32		n;

	if (stretch == NULL || !snii_inv_stretch_mark(stretch)->complete)
		return false;
	(void) snii_inv_stretch_records(stretch, &n);
	*records += n;
	return true;
}

/*
 * Add the write buffer: every record is looked at, and matches as often as
 * documents of the segments do.  Without segments some records are tried.
 */
static void
estimate_buffer(Relation index, const SniiView *view, int column,
				const SniiQuery *query, SniiEstimate *e)
{
	const SniiQueryNode *tree = snii_query_tree(query);
	Sample		sample = {.column = column};
	double		known = 0;
	double		records = 0;
	double		not_null = 1;
	double		share;
	int			n = 0;
	int			others = 0;
	int			counted = 0;

	sample.ncolumns = IndexRelationGetNumberOfAttributes(index);
	if (e->documents == 0)
		sample.matcher = snii_query_matcher_create(query,
												   CurrentMemoryContext);
	for (int i = 0; i < view->nentries; i++)
	{
		if (view->entries[i].kind != SNII_ENTRY_STRETCH)
			continue;
		n++;
		if (sample.matcher == NULL &&
			known_records(index, &view->entries[i], &known))
			continue;
		others++;
		if (counted < MAX_STRETCHES)
		{
			records += stretch_records(index, &view->entries[i], &sample);
			counted++;
		}
	}
	share = e->documents > 0 ? e->rows / e->documents :
		sample_share(&sample, tree);
	if (sample.matcher != NULL)
		snii_query_matcher_free(sample.matcher);
	if (counted > 0)
		records *= (double) others / counted;
	records += known;
	if (records == 0)
		return;
	if (sample.looked_at > 0)
		not_null = (double) sample.not_null / sample.looked_at;
	e->records = records;
	e->documents += records * not_null;
	e->rows += records * not_null * share;
	e->pages += (double) n * (SNII_STRETCH_PAGES + 1);
}

/* ----------------
 *		All of it
 * ----------------
 */

/*
 * The planner asks for the rows and then, for each path, for the pages: what
 * was found is kept for the statement, as long as it changes nothing itself.
 */
typedef struct Memo
{
	Oid			index;			/* InvalidOid: empty */
	Oid			file;
	uint64		generation;		/* of the directory */
	TimestampTz statement;
	CommandId	command;
	int			column;
	SniiQuery  *query;			/* in TopMemoryContext */
	SniiEstimate estimate;
} Memo;

#define MEMOS			8
#define MEMO_QUERY		1024	/* longest query, in bytes */

static Memo memos[MEMOS];
static int	next_memo = 0;

/* Is it the same but for what was found? */
static bool
same_question(const Memo *a, const Memo *b)
{
	return a->index == b->index && a->file == b->file &&
		a->generation == b->generation && a->statement == b->statement &&
		a->command == b->command && a->column == b->column &&
		VARSIZE(a->query) == VARSIZE(b->query) &&
		memcmp(a->query, b->query, VARSIZE(a->query)) == 0;
}

static void
memorize(const Memo *found)
{
	Memo	   *memo = &memos[next_memo];
	SniiQuery  *copy;

	if (VARSIZE(found->query) > MEMO_QUERY)
		return;
	copy = MemoryContextAlloc(TopMemoryContext, VARSIZE(found->query));
	memcpy(copy, found->query, VARSIZE(found->query));
	if (OidIsValid(memo->index))
		pfree(memo->query);
	*memo = *found;
	memo->query = copy;
	next_memo = (next_memo + 1) % MEMOS;
}

/*
 * Estimate a query on a column (from 0) of an index.  The caller has a
 * snapshot; see lsm_view.h.
 */
void
snii_query_estimate(Relation index, int column, const SniiQuery *query,
					SniiEstimate *e)
{
	SniiView   *view = snii_lsm_view(index, false);
	Memo		memo = {
		.index = RelationGetRelid(index),
		.file = SniiRelFileNumber(index),
		.generation = view->generation,
		.statement = GetCurrentStatementStartTimestamp(),
		.command = GetCurrentCommandId(false),
		.column = column,
		.query = unconstify(SniiQuery *, query)
	};

	for (int i = 0; i < MEMOS; i++)
	{
		if (OidIsValid(memos[i].index) && same_question(&memos[i], &memo))
		{
			snii_lsm_view_release(view);
			*e = memos[i].estimate;
			return;
		}
	}
	memset(e, 0, sizeof(SniiEstimate));
	e->pages = 1;				/* the directory */
	estimate_segments(index, view, column, snii_query_tree(query), e);
	estimate_buffer(index, view, column, query, e);
	snii_lsm_view_release(view);
	memo.estimate = *e;
	memorize(&memo);
}
