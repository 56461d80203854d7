/*-------------------------------------------------------------------------
 *
 * test_query.c
 *	  Iterators over random segments against a naive evaluation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/arrayaccess.h"
#include "utils/memutils.h"

#include "query/query_compile.h"
#include "test_query.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_query_random);
PG_FUNCTION_INFO_V1(test_query_lookups);
PG_FUNCTION_INFO_V1(test_query_nested);

#define MAX_CONDITIONS	3
#define LONG_LIST		300		/* more than a group of children holds */

typedef struct Test
{
	pg_prng_state random;
	int			ndocs;
	int			nwords;
	TestField  *fields;
	SniiInvSegment *seg;
	uint8	   *marks;
	uint64		ndead;
	int			nconditions;
	SniiCondition conditions[MAX_CONDITIONS];
	uint32	   *expected;
	int			nexpected;
	int64		checks;
} Test;

/* A random number, both ends included. */
static int
pick(Test *t, int low, int high)
{
	return (int) pg_prng_uint64_range(&t->random, low, high);
}

/* A random word; small numbers are frequent, the last one is absent. */
static uint32
pick_word(Test *t)
{
	int			a = pick(t, 0, t->nwords);
	int			b = pick(t, 0, t->nwords);

	return Min(a, b);
}

/* ----------------
 *		Random segments and trees
 * ----------------
 */
static void
make_field(Test *t, TestField *field, int max_tokens)
{
	uint32		position = 0;

	field->null = pick(t, 0, 9) == 0;
	field->n = field->null ? 0 : pick(t, 0, max_tokens);
	field->tokens = palloc(Max(field->n, 1) * sizeof(TestToken));
	for (int i = 0; i < field->n; i++)
	{
		if (pick(t, 0, 9) == 0)
			position += pick(t, 1, 3);
		field->tokens[i].position = position++;
		field->tokens[i].word = pick_word(t) % t->nwords;
	}
}

static void
make_segment(Test *t)
{
	/* In some segments no column is NULL, in others no word is frequent. */
	bool		nulls = pick(t, 0, 2) > 0;
	int			max_tokens = t->ndocs > 10000 ? 3 : pick(t, 1, 20);

	t->fields = MemoryContextAllocHuge(CurrentMemoryContext,
									   (Size) Max(t->ndocs, 1) * TEST_COLUMNS *
									   sizeof(TestField));
	for (int i = 0; i < t->ndocs * TEST_COLUMNS; i++)
	{
		make_field(t, &t->fields[i], max_tokens);
		t->fields[i].null &= nulls;
	}
	t->seg = test_query_segment(&t->random, t->ndocs, t->nwords, t->fields);
	t->expected = palloc(Max(t->ndocs, 1) * sizeof(uint32));
	t->marks = palloc(t->ndocs / 8 + 1);
}

static void
make_marks(Test *t)
{
	static const int percent[] = {0, 0, 10, 90, 100};
	int			share = percent[pick(t, 0, lengthof(percent) - 1)];

	memset(t->marks, 0, t->ndocs / 8 + 1);
	t->ndead = 0;
	for (int doc = 0; doc < t->ndocs && share > 0; doc++)
	{
		if (pick(t, 1, 100) <= share)
		{
			t->marks[doc / 8] |= 1 << (doc % 8);
			t->ndead++;
		}
	}
}

static SniiQueryNode *
make_node(SniiQueryNodeType type)
{
	SniiQueryNode *node = palloc0(sizeof(SniiQueryNode));

	node->type = type;
	return node;
}

static SniiQueryNode *
make_terms(Test *t, int nterms)
{
	SniiQueryNode *node = make_node(nterms > 1 ? SNII_QUERY_PHRASE :
									SNII_QUERY_TERM);
	uint32		position = 0;

	node->nterms = nterms;
	node->terms = palloc0(nterms * sizeof(SniiQueryTerm));
	for (int i = 0; i < nterms; i++)
	{
		node->terms[i].bytes = test_query_word(pick_word(t));
		node->terms[i].len = sizeof(uint32);
		node->terms[i].position = position;
		position += pick(t, 0, 9) == 0 ? pick(t, 2, 3) : 1;
	}
	return node;
}

static SniiQueryNode *
make_tree(Test *t, int depth)
{
	int			kind = depth > 0 ? pick(t, 0, 99) : pick(t, 0, 49);
	SniiQueryNode *node;

	if (kind < 30)
		return make_terms(t, 1);
	if (kind < 46)
		return make_terms(t, pick(t, 2, pick(t, 2, 6)));
	if (kind < 50)
		return make_node(kind < 48 ? SNII_QUERY_NONE : SNII_QUERY_ALL);

	node = make_node(kind < 68 ? SNII_QUERY_AND :
					 kind < 86 ? SNII_QUERY_OR : SNII_QUERY_NOT);
	node->nchildren = node->type == SNII_QUERY_NOT ? 1 : pick(t, 2, 5);
	if (node->nchildren == 5 && pick(t, 0, 3) == 0)
	{
		node->nchildren = LONG_LIST;
		depth = 1;
	}
	node->children = palloc(node->nchildren * sizeof(SniiQueryNode *));
	for (uint32 i = 0; i < node->nchildren; i++)
		node->children[i] = make_tree(t, depth - 1);
	return node;
}

static void
make_conditions(Test *t)
{
	t->nconditions = pick(t, 0, 9) == 0 ? 0 : pick(t, 1, MAX_CONDITIONS);
	for (int i = 0; i < t->nconditions; i++)
	{
		int			kind = pick(t, 0, 9);

		t->conditions[i].column = pick(t, 0, TEST_COLUMNS - 1);
		t->conditions[i].type = kind == 0 ? SNII_CONDITION_NULL :
			kind == 1 ? SNII_CONDITION_NOT_NULL : SNII_CONDITION_MATCH;
		t->conditions[i].tree = make_tree(t, pick(t, 0, 4));
	}
}

/* ----------------
 *		Naive evaluation
 * ----------------
 */
static uint32
word_of(const SniiQueryTerm *term)
{
	uint32		word;

	memcpy(&word, term->bytes, sizeof(word));
	return word;
}

static bool
has_word_at(const TestField *field, uint32 word, int64 position)
{
	for (int i = 0; i < field->n; i++)
	{
		if (field->tokens[i].word == word &&
			(position < 0 || field->tokens[i].position == position))
			return true;
	}
	return false;
}

static bool
has_phrase(const TestField *field, const SniiQueryNode *node)
{
	for (int i = 0; i < field->n; i++)
	{
		int64		start = field->tokens[i].position;
		bool		all = true;

		for (uint32 j = 0; j < node->nterms && all; j++)
			all = has_word_at(field, word_of(&node->terms[j]),
							  start + node->terms[j].position);
		if (all)
			return true;
	}
	return false;
}

static bool
naive(const TestField *field, const SniiQueryNode *node)
{
	bool		stop = node->type == SNII_QUERY_OR;

	switch (node->type)
	{
		case SNII_QUERY_NONE:
			return false;
		case SNII_QUERY_ALL:
			return true;
		case SNII_QUERY_TERM:
			return has_word_at(field, word_of(&node->terms[0]), -1);
		case SNII_QUERY_PHRASE:
			return has_phrase(field, node);
		case SNII_QUERY_NOT:
			return !naive(field, node->children[0]);
		case SNII_QUERY_AND:
		case SNII_QUERY_OR:
			for (uint32 i = 0; i < node->nchildren; i++)
			{
				if (naive(field, node->children[i]) == stop)
					return stop;
			}
			return !stop;
	}
	return false;
}

static bool
naive_document(Test *t, int doc)
{
	if (t->marks[doc / 8] & (1 << (doc % 8)))
		return false;
	for (int i = 0; i < t->nconditions; i++)
	{
		const SniiCondition *c = &t->conditions[i];
		const TestField *field = &t->fields[doc * TEST_COLUMNS + c->column];

		if (field->null != (c->type == SNII_CONDITION_NULL))
			return false;
		if (c->type == SNII_CONDITION_MATCH && !naive(field, c->tree))
			return false;
	}
	return true;
}

static void
naive_all(Test *t)
{
	t->nexpected = 0;
	for (int doc = 0; doc < t->ndocs; doc++)
	{
		CHECK_FOR_INTERRUPTS();
		if (naive_document(t, doc))
			t->expected[t->nexpected++] = doc;
	}
}

/* ----------------
 *		Comparison
 * ----------------
 */
static void
describe(StringInfo out, const SniiQueryNode *node)
{
	static const char *const names[] =
	{"none", "all", "term", "phrase", "and", "or", "not"};

	appendStringInfo(out, "%s(", names[node->type]);
	for (uint32 i = 0; i < node->nterms; i++)
		appendStringInfo(out, " %u@%u", word_of(&node->terms[i]),
						 node->terms[i].position);
	for (uint32 i = 0; i < node->nchildren; i++)
		describe(out, node->children[i]);
	appendStringInfoChar(out, ')');
}

static char *
describe_conditions(Test *t)
{
	static const char *const names[] = {"match", "null", "not null"};
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < t->nconditions; i++)
	{
		appendStringInfo(&out, "; column %d %s ", t->conditions[i].column,
						 names[t->conditions[i].type]);
		if (t->conditions[i].type == SNII_CONDITION_MATCH)
			describe(&out, t->conditions[i].tree);
	}
	return out.data;
}

static void
check(Test *t, bool right, const char *way, int64 doc)
{
	t->checks++;
	if (!right)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("iterator is wrong in %s near document %lld", way,
						(long long) doc),
				 errdetail("%d documents, %lld dead, after %lld checks%s.",
						   t->ndocs, (long long) t->ndead,
						   (long long) t->checks, describe_conditions(t))));
}

static SniiIter *
compile(Test *t)
{
	SniiIter   *dead = NULL;

	if (t->ndead > 0)
		dead = snii_query_iter_set(t->marks, false, t->ndocs, t->ndead);
	return snii_query_compile(t->seg, t->conditions, t->nconditions, dead);
}

/* Read with steps, seeks and batches as the bits of "ways" allow. */
static void
check_walk(Test *t, SniiIter *it, int ways, const char *name)
{
	uint32		docs[SNII_ITER_BATCH + 100];
	int			at = 0;
	int64		doc = -1;

	while (doc != SNII_ITER_END)
	{
		int			way = 1 << pick(t, 0, 2);
		int			n;

		CHECK_FOR_INTERRUPTS();
		if (!(way & ways))
			continue;
		if (way == 4)
		{
			n = snii_query_iter_next_batch(it, docs, pick(t, 1, lengthof(docs)));
			check(t, n <= t->nexpected - at, name, doc);
			check(t, memcmp(docs, t->expected + at, n * sizeof(uint32)) == 0,
				  name, doc);
			at += n;
			doc = n > 0 ? docs[n - 1] : SNII_ITER_END;
			check(t, n > 0 || at == t->nexpected, name, doc);
			continue;
		}
		if (way == 2)
		{
			uint32		target = doc + pick(t, 1, pick(t, 1, t->ndocs + 1));

			/* A batch may have looked further than its last document. */
			target = Max(target, it->doc + 1);
			while (at < t->nexpected && t->expected[at] < target)
				at++;
			doc = snii_query_iter_seek_match(it, target);
		}
		else
			doc = snii_query_iter_next_match(it);
		check(t, doc == (at < t->nexpected ? t->expected[at] : SNII_ITER_END),
			  name, doc);
		at += doc != SNII_ITER_END;
	}
	snii_query_iter_close(it);
}

static void
check_collect(Test *t, SniiIter *it)
{
	uint64	   *words = snii_query_iter_words(t->ndocs);
	int			at = 0;

	snii_query_iter_collect(it, t->ndocs, words);
	it = snii_query_iter_collected(words, t->ndocs);
	check(t, (it == NULL) == (t->nexpected == 0), "collect", 0);
	if (it == NULL)
		return;
	check(t, it->cost == t->nexpected, "collect", 0);
	for (at = 0; at < t->nexpected; at++)
		check(t, snii_query_iter_next_match(it) == t->expected[at], "collect",
			  t->expected[at]);
	check(t, snii_query_iter_next_match(it) == SNII_ITER_END, "collect", -1);
}

static void
check_filter(Test *t, SniiIter *it)
{
	uint32		docs[SNII_ITER_BATCH];
	uint32		doc = 0;
	int			at = 0;
	int			stride = pick(t, 1, 20);

	while (doc < t->ndocs)
	{
		int			most = pick(t, 1, SNII_ITER_BATCH);
		int			n = 0;
		int			kept;
		uint32		first;

		doc += pick(t, 0, 9) == 0 ? pick(t, 0, 5000) : 0;
		for (first = doc; doc < t->ndocs && n < most; doc += pick(t, 1, stride))
			docs[n++] = doc;
		if (n == 0)
			break;
		kept = it->ops->filter(it, docs, n);
		for (int i = 0; i < kept; i++)
		{
			while (at < t->nexpected && t->expected[at] < docs[i])
				at++;
			check(t, at < t->nexpected && t->expected[at] == docs[i], "filter",
				  docs[i]);
		}
		/* With a stride of 1 nothing may be missing. */
		if (stride == 1)
		{
			int			want = 0;

			for (int i = 0; i < t->nexpected; i++)
				want += t->expected[i] >= first && t->expected[i] < doc;
			check(t, kept == want, "filter", first);
		}
	}
	snii_query_iter_close(it);
}

/* One way of reading, from a fresh iterator, in memory of its own. */
static void
check_way(Test *t, int way)
{
	static const char *const names[] =
	{"filter", "steps", "seeks", "steps, seeks", "batches", "steps, batches",
	"seeks, batches", "all ways", "collect"};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "iterator",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiIter   *it = compile(t);

	if (it == NULL)
		check(t, t->nexpected == 0, "compile", 0);
	else if (way == 0)
		check_filter(t, it);
	else if (way == 8)
		check_collect(t, it);
	else
		check_walk(t, it, way, names[way]);
	check(t, test_query_counters.cursors == 0, "cursors left open", 0);
	check(t, test_query_counters.terms == 0, "terms left pinned", 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

Datum
test_query_random(PG_FUNCTION_ARGS)
{
	Test	   *t = palloc0(sizeof(Test));
	int			rounds = PG_GETARG_INT32(3);
	int64		matches = 0;

	memset(&test_query_counters, 0, sizeof(test_query_counters));
	pg_prng_seed(&t->random, (uint64) PG_GETARG_INT64(0));
	t->ndocs = PG_GETARG_INT32(1);
	t->nwords = PG_GETARG_INT32(2);
	if (t->ndocs < 0 || t->nwords < 1)
		elog(ERROR, "there must be a word, and no less than 0 documents");
	make_segment(t);
	for (int round = 0; round < rounds; round++)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
													  "round",
													  ALLOCSET_DEFAULT_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);

		make_conditions(t);
		make_marks(t);
		naive_all(t);
		matches += t->nexpected;
		for (int way = 0; way <= 8; way++)
			check_way(t, way);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	if (t->ndocs > 0 && rounds > 10 && matches == 0)
		elog(ERROR, "nothing was ever found");
	PG_RETURN_INT64(t->checks);
}

/* A segment of one document that holds word 0 twice, in both columns. */
static SniiInvSegment *
small_segment(void)
{
	pg_prng_state random;
	TestField  *fields = palloc0(TEST_COLUMNS * sizeof(TestField));

	pg_prng_seed(&random, 1);
	for (int column = 0; column < TEST_COLUMNS; column++)
	{
		fields[column].n = 2;
		fields[column].tokens = palloc0(2 * sizeof(TestToken));
		fields[column].tokens[1].position = 1;
	}
	memset(&test_query_counters, 0, sizeof(test_query_counters));
	return test_query_segment(&random, 1, 1, fields);
}

static SniiQueryNode *
make_word(uint32 word)
{
	SniiQueryNode *node = make_node(SNII_QUERY_TERM);

	node->nterms = 1;
	node->terms = palloc0(sizeof(SniiQueryTerm));
	node->terms[0].bytes = test_query_word(word);
	node->terms[0].len = sizeof(uint32);
	return node;
}

Datum
test_query_lookups(PG_FUNCTION_ARGS)
{
	SniiInvSegment *seg = small_segment();
	SniiQueryNode *tree = make_node(SNII_QUERY_AND);
	SniiCondition condition = {.type = SNII_CONDITION_MATCH,.tree = tree};
	AnyArrayType *array = PG_GETARG_ANY_ARRAY_P(0);
	array_iter	elements;
	SniiIter   *it;

	tree->nchildren = ArrayGetNItems(AARR_NDIM(array), AARR_DIMS(array));
	tree->children = palloc(tree->nchildren * sizeof(SniiQueryNode *));
	array_iter_setup(&elements, array);
	for (uint32 i = 0; i < tree->nchildren; i++)
	{
		bool		null;
		Datum		present = array_iter_next(&elements, &null, i, 1, true,
											  TYPALIGN_CHAR);

		tree->children[i] = make_word(!null && DatumGetBool(present) ? 0 : 1);
	}
	it = snii_query_compile(seg, &condition, 1, NULL);
	if (it != NULL)
		snii_query_iter_close(it);
	if (test_query_counters.terms != 0 || test_query_counters.cursors != 0)
		elog(ERROR, "a term or cursor was left open");
	PG_RETURN_INT32(test_query_counters.lookups);
}

/* x AND (x OR (x AND (x OR ... x))), without what the parser simplifies. */
Datum
test_query_nested(PG_FUNCTION_ARGS)
{
	SniiInvSegment *seg = small_segment();
	SniiQueryNode *tree = make_word(0);
	SniiCondition condition = {.type = SNII_CONDITION_MATCH};
	int			depth = PG_GETARG_INT32(0);
	int64		n = 0;
	SniiIter   *it;

	for (int i = 0; i < depth; i++)
	{
		SniiQueryNode *node = make_node(i % 2 ? SNII_QUERY_AND :
										SNII_QUERY_OR);

		node->nchildren = 2;
		node->children = palloc(2 * sizeof(SniiQueryNode *));
		node->children[0] = make_word(0);
		node->children[1] = tree;
		tree = node;
	}
	condition.tree = tree;
	it = snii_query_compile(seg, &condition, 1, NULL);
	while (it != NULL && snii_query_iter_next_match(it) != SNII_ITER_END)
		n++;
	if (it != NULL)
		snii_query_iter_close(it);
	PG_RETURN_INT64(n);
}
