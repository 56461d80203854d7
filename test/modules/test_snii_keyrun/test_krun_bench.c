/*-------------------------------------------------------------------------
 *
 * test_krun_bench.c
 *	  What runs cost: processor time of this backend, and bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "storage/storage_alloc.h"
#include "test_krun.h"

PG_FUNCTION_INFO_V1(test_krun_bench);

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Runs that have the entries in turns. */
static SniiMergeInput *
make_inputs(Corpus *c, int n)
{
	SniiMergeInput *inputs = palloc0(n * sizeof(SniiMergeInput));
	SniiKeyEntry *mine =
	MemoryContextAllocHuge(CurrentMemoryContext,
						   (c->n + 1) * sizeof(SniiKeyEntry));

	for (int i = 0; i < n; i++)
	{
		SniiDirEntry run;
		uint64		count = 0;

		for (uint64 e = 0; e < c->n; e++)
			if (test_krun_mix(e + 1) % n == (uint64) i)
				mine[count++] = c->entries[e];
		run = test_krun_write(c, mine, count);
		inputs[i].object = test_krun_object(c, &run);
		inputs[i].ndocs = count;
		inputs[i].marks = palloc0(count / 8 + 1);
	}
	pfree(mine);
	return inputs;
}

/* Nanoseconds a search; of keys that are there, or in the filter alone. */
static double
search_ns(Corpus *c, const SniiKeyRun *run, int nsearches, bool filter)
{
	SniiKeyCursor *cursor = palloc(sizeof(SniiKeyCursor));
	double		start;
	double		end;
	uint64		passed = 0;

	snii_key_cursor_init(cursor, c->desc, run);
	start = cpu_ns();
	for (int i = 0; i < nsearches; i++)
	{
		const SniiKeyEntry *e =
		&c->entries[test_krun_range(&c->prng, 0, c->n - 1)];
		SniiKeyPos	pos = {e->str, e->len - SNII_KEY_TID_BYTES, false};

		if (filter)
			passed += snii_key_run_may_have(c->desc, run, pos.bytes, pos.len,
											test_krun_random(&c->prng));
		else
		{
			snii_key_cursor_seek(cursor, &pos);
			passed += cursor->entry.len;
		}
	}
	end = cpu_ns();
	CHECK(filter || passed > 0, "nothing found");
	snii_key_cursor_close(cursor);
	return (end - start) / nsearches;
}

/* Nanoseconds an entry of a walk through everything. */
static double
walk_ns(Corpus *c, const SniiKeyRun *run, bool forward)
{
	SniiKeyCursor *cursor = palloc(sizeof(SniiKeyCursor));
	double		start = cpu_ns();
	uint64		n = 0;

	snii_key_cursor_init(cursor, c->desc, run);
	for (bool more = forward ? snii_key_cursor_first(cursor) :
		 snii_key_cursor_last(cursor); more;
		 more = forward ? snii_key_cursor_next(cursor) :
		 snii_key_cursor_prev(cursor))
		n++;
	CHECK(n == c->n, "walk");
	snii_key_cursor_close(cursor);
	return (cpu_ns() - start) / n;
}

Datum
test_krun_bench(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), 1, PG_GETARG_INT32(1),
								   text_to_cstring(PG_GETARG_TEXT_PP(2)));
	int			ninputs = PG_GETARG_INT32(3);
	int			nsearches = PG_GETARG_INT32(4);
	SniiMergeInput *inputs;
	SniiObjectWriter *w;
	SniiDirEntry run;
	SniiObject *object;
	const SniiKeyRun *open;
	double		start;
	Datum		values[9];
	bool		nulls[9] = {false};
	TupleDesc	desc;

	start = cpu_ns();
	run = test_krun_write(c, c->entries, c->n);
	values[0] = Float8GetDatum((cpu_ns() - start) / c->n);
	object = test_krun_object(c, &run);
	inputs = make_inputs(c, ninputs);
	start = cpu_ns();
	w = snii_storage_writer_begin(c->index, SNII_SLOT_FLUSH);
	(void) test_krun_kind()->merge(c->index, w, inputs, ninputs);
	values[1] = Float8GetDatum((cpu_ns() - start) / c->n);
	run = test_krun_publish(c, w, c->n);
	open = snii_key_run_open(c->index, c->desc, &run);
	(void) search_ns(c, open, 1000, false);
	values[2] = Float8GetDatum(search_ns(c, open, nsearches, false));
	values[3] = Float8GetDatum(search_ns(c, open, nsearches, true));
	values[4] = Float8GetDatum(walk_ns(c, open, true));
	values[5] = Float8GetDatum(walk_ns(c, open, false));
	start = cpu_ns();
	for (int i = 0; i < 1000; i++)
		(void) snii_key_run_open(c->index, c->desc, &run);
	values[6] = Float8GetDatum((cpu_ns() - start) / 1000);
	values[7] = Float8GetDatum((double) BLCKSZ *
							   snii_storage_stream_pages(object,
														 SNII_KEY_STREAM_DATA)
							   / c->n);
	values[8] = Float8GetDatum((double) BLCKSZ * run.npages / c->n);
	test_krun_close(c);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
