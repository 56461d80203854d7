/*-------------------------------------------------------------------------
 *
 * test_krun_merge.c
 *	  Merges against a sorted array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "storage/storage_alloc.h"
#include "test_krun.h"

PG_FUNCTION_INFO_V1(test_krun_merge);
PG_FUNCTION_INFO_V1(test_krun_merge_twice);
PG_FUNCTION_INFO_V1(test_krun_merge_allocations);

/* Runs that share the entries, and which of them are dead. */
typedef struct Inputs
{
	int			n;
	SniiDirEntry *runs;
	SniiMergeInput *inputs;
	SniiKeyEntry **entries;		/* of each run */
	SniiKeyEntry *live;			/* all, in order */
	uint64		nlive;
} Inputs;

/*
 * Deal the entries out: one by one, or (spread 0) in neighbouring ranges.
 * Every dead-th is dead, at random; 0: none.  An input that gets nothing gets
 * an entry of another.
 */
static Inputs *
deal(Corpus *c, int n, bool ranges, int dead)
{
	Inputs	   *in = palloc0(sizeof(Inputs));
	uint8	  **marks = palloc(n * sizeof(uint8 *));

	in->n = n;
	in->runs = palloc0(n * sizeof(SniiDirEntry));
	in->inputs = palloc0(n * sizeof(SniiMergeInput));
	in->entries = palloc(n * sizeof(SniiKeyEntry *));
	in->live = MemoryContextAllocHuge(CurrentMemoryContext,
									  (c->n + 1) * sizeof(SniiKeyEntry));
	for (int i = 0; i < n; i++)
	{
		in->entries[i] = MemoryContextAllocHuge(CurrentMemoryContext,
												(c->n + 1) *
												sizeof(SniiKeyEntry));
		marks[i] = palloc0(c->n / 8 + 1);
		in->inputs[i].marks = marks[i];
	}
	for (uint64 e = 0; e < c->n; e++)
	{
		int			i = e < (uint64) n ? (int) e :
		ranges ? (int) (e * n / c->n) :
		(int) test_krun_range(&c->prng, 0, n - 1);
		SniiMergeInput *input = &in->inputs[i];

		in->entries[i][input->ndocs] = c->entries[e];
		if (dead > 0 && test_krun_range(&c->prng, 1, dead) == 1)
		{
			marks[i][input->ndocs / 8] |= 1 << (input->ndocs % 8);
			input->ndead++;
		}
		else
			in->live[in->nlive++] = c->entries[e];
		input->ndocs++;
	}
	for (int i = 0; i < n; i++)
	{
		in->runs[i] = test_krun_write(c, in->entries[i], in->inputs[i].ndocs);
		in->inputs[i].object = test_krun_object(c, &in->runs[i]);
	}
	return in;
}

typedef struct Found
{
	uint64	   *ordinals;
	uint64		n;
} Found;

static void
found_sink(void *arg, uint64 ordinal)
{
	Found	   *found = arg;

	found->ordinals[found->n++] = ordinal;
}

/* What VACUUM marks in an input meanwhile is found in the output. */
static void
check_late(Corpus *c, const Inputs *in, const SniiDirEntry *merged)
{
	for (int i = 0; i < in->n; i++)
	{
		const SniiMergeInput *input = &in->inputs[i];
		uint8	   *late = palloc0(input->ndocs / 8 + 1);
		SniiKeyEntry *expected = palloc((input->ndocs + 1) *
										sizeof(SniiKeyEntry));
		Found		found = {palloc((input->ndocs + 1) * sizeof(uint64))};
		uint64		nlate = 0;

		for (uint64 d = 0; d < input->ndocs; d++)
		{
			if ((input->marks[d / 8] & (1 << (d % 8))) != 0 ||
				test_krun_range(&c->prng, 0, 30) != 0)
				continue;
			late[d / 8] |= 1 << (d % 8);
			expected[nlate++] = in->entries[i][d];
		}
		test_krun_kind()->find_marked(c->index, test_krun_object(c, merged),
									  merged->ndocs, input->object,
									  input->ndocs, late, found_sink, &found);
		CHECK(found.n == nlate, UINT64_FORMAT " late marks of "
			  UINT64_FORMAT, found.n, nlate);
		for (uint64 j = 0; j < nlate; j++)
			CHECK(found.ordinals[j] < in->nlive &&
				  test_krun_same(&in->live[found.ordinals[j]], &expected[j]),
				  "late mark " UINT64_FORMAT, j);
		pfree(late);
		pfree(expected);
		pfree(found.ordinals);
	}
}

/*
 * test_krun_merge(index, seed, n, shape, inputs, ranges, dead): merge, and
 * compare with the live entries, and with a run that is written of these, byte
 * for byte.  Returns the number of live entries.
 */
Datum
test_krun_merge(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), PG_GETARG_INT64(1),
								   PG_GETARG_INT32(2),
								   text_to_cstring(PG_GETARG_TEXT_PP(3)));
	Inputs	   *in = deal(c, PG_GETARG_INT32(4), PG_GETARG_BOOL(5),
						  PG_GETARG_INT32(6));
	SniiObjectWriter *w = snii_storage_writer_begin(c->index,
													SNII_SLOT_FLUSH);
	uint64		n = test_krun_kind()->merge(c->index, w, in->inputs, in->n);
	SniiDirEntry merged;
	SniiDirEntry written;

	CHECK(n == in->nlive, UINT64_FORMAT " entries of " UINT64_FORMAT, n,
		  in->nlive);
	if (n > 0)
	{
		merged = test_krun_publish(c, w, n);
		written = test_krun_write(c, in->live, n);
		CHECK(test_krun_checksum(test_krun_object(c, &merged)) ==
			  test_krun_checksum(test_krun_object(c, &written)), "checksum");
		test_krun_verify(c, &merged, in->live, n, 100);
		check_late(c, in, &merged);
	}
	test_krun_close(c);
	PG_RETURN_INT64(n);
}

/*
 * test_krun_merge_twice(index): the same entry in two inputs is damage.
 */
Datum
test_krun_merge_twice(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), 1, 2000, "random");
	SniiMergeInput inputs[2] = {0};
	SniiKeyEntry *half = palloc(c->n * sizeof(SniiKeyEntry));
	uint8	   *marks = palloc0(c->n);

	for (uint64 i = 0; i < c->n / 2; i++)
		half[i] = c->entries[2 * i];
	for (int i = 0; i < 2; i++)
	{
		SniiDirEntry run = i == 0 ? test_krun_write(c, c->entries, c->n) :
		test_krun_write(c, half, c->n / 2);

		inputs[i].object = test_krun_object(c, &run);
		inputs[i].ndocs = run.ndocs;
		inputs[i].marks = marks;
	}
	(void) test_krun_kind()->merge(c->index,
								   snii_storage_writer_begin(c->index,
															 SNII_SLOT_FLUSH),
								   inputs, 2);
	test_krun_close(c);
	PG_RETURN_VOID();
}

/*
 * test_krun_merge_allocations(index, n): how often a merge of n entries in 8
 * runs allocates memory.
 */
Datum
test_krun_merge_allocations(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), 1, PG_GETARG_INT32(1),
								   "random");
	Inputs	   *in = deal(c, 8, false, 20);
	SniiObjectWriter *w = snii_storage_writer_begin(c->index,
													SNII_SLOT_FLUSH);
	uint64		before = test_krun_allocations;
	uint64		n = test_krun_kind()->merge(c->index, w, in->inputs, in->n);
	uint64		allocations = test_krun_allocations - before;

	(void) test_krun_publish(c, w, n);
	test_krun_close(c);
	PG_RETURN_INT64((int64) allocations);
}
