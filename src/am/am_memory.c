/*-------------------------------------------------------------------------
 *
 * am_memory.c
 *	  SQL functions that show the memory and work of index builds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_build.h"
#include "am/am_memory.h"
#include "memory/mem_reporter.h"
#include "memory/mem_shared.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#define MEMORY_COLUMNS		10
#define LAST_BUILD_COLUMNS	15

PG_FUNCTION_INFO_V1(snii_memory);
PG_FUNCTION_INFO_V1(snii_last_build);

static void
put_row(ReturnSetInfo *rsinfo, const SniiMemWriter *w)
{
	Datum		values[MEMORY_COLUMNS];
	bool		nulls[MEMORY_COLUMNS] = {0};

	values[0] = Int32GetDatum(w->pid);
	values[1] = ObjectIdGetDatum(w->database);
	values[2] = ObjectIdGetDatum(w->index);
	values[3] = Int64GetDatum(w->used);
	values[4] = Int64GetDatum(w->arena);
	values[5] = Int64GetDatum(w->published);
	values[6] = Int64GetDatum((int64) w->used - (int64) w->published);
	values[7] = Int64GetDatum(w->spills);
	values[8] = Int64GetDatum(w->forced);
	values[9] = BoolGetDatum(w->flagged);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * The sum of all writers.  published is the limiter's, so that those count
 * for whom it had no place, with what they have published.
 */
static void
put_sum(ReturnSetInfo *rsinfo, const SniiMemWriter *sum, uint64 published)
{
	int64		held_back = (int64) sum->used - (int64) sum->published;

	Datum		values[MEMORY_COLUMNS];
	bool		nulls[MEMORY_COLUMNS] = {true, true, true};

	values[3] = Int64GetDatum((int64) published + held_back);
	values[4] = Int64GetDatum(sum->arena);
	values[5] = Int64GetDatum(published);
	values[6] = Int64GetDatum(held_back);
	values[7] = Int64GetDatum(sum->spills);
	values[8] = Int64GetDatum(sum->forced);
	values[9] = BoolGetDatum(sum->flagged);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
add(SniiMemWriter *sum, const SniiMemWriter *w)
{
	sum->used += w->used;
	sum->published += w->published;
	sum->arena += w->arena;
	sum->spills += w->spills;
	sum->forced += w->forced;
	sum->flagged |= w->flagged;
}

/* Writers of the server. */
static void
put_shared(ReturnSetInfo *rsinfo, SniiMemLimiter *limiter)
{
	SniiMemWriter sum = {0};
	SniiMemTotals totals;

	for (int i = 0; i < snii_mem_limiter_slots(limiter); i++)
	{
		SniiMemWriter w;

		if (!snii_mem_limiter_get(limiter, i, &w))
			continue;
		put_row(rsinfo, &w);
		add(&sum, &w);
	}
	snii_mem_limiter_totals(limiter, &totals);
	put_sum(rsinfo, &sum, totals.published);
}

/* Writers of this process, where the server has no limiter. */
static void
put_own(ReturnSetInfo *rsinfo)
{
	SniiMemWriter sum = {0};

	for (SniiMemReporter *r = snii_mem_reporter_next(NULL); r != NULL;
		 r = snii_mem_reporter_next(r))
	{
		SniiMemStats stats;
		SniiMemWriter w = {0};

		snii_mem_stats(r, &stats);
		w.pid = MyProcPid;
		w.database = MyDatabaseId;
		w.index = stats.index;
		w.published = stats.published;
		w.used = stats.used;
		w.arena = stats.arena;
		w.spills = stats.spills;
		w.forced = stats.forced;
		put_row(rsinfo, &w);
		add(&sum, &w);
	}
	put_sum(rsinfo, &sum, sum.published);
}

/*
 * snii_memory() returns a row for each index writer, and one, with a NULL
 * pid, for their sum.
 */
Datum
snii_memory(PG_FUNCTION_ARGS)
{
	SniiMemLimiter *limiter = snii_mem_shared_limiter();

	InitMaterializedSRF(fcinfo, 0);
	if (limiter != NULL)
		put_shared((ReturnSetInfo *) fcinfo->resultinfo, limiter);
	else
		put_own((ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}

/*
 * snii_last_build() returns what the last build of this session did, NULL if
 * there was none.
 */
Datum
snii_last_build(PG_FUNCTION_ARGS)
{
	const SniiAmLastBuild *last = snii_am_last_build();
	const SniiInvBuildStats *stats = &last->sum.stats;
	Datum		values[LAST_BUILD_COLUMNS];
	bool		nulls[LAST_BUILD_COLUMNS] = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!OidIsValid(last->index))
		PG_RETURN_NULL();
	values[0] = ObjectIdGetDatum(last->index);
	values[1] = Int32GetDatum(last->planned);
	values[2] = Int32GetDatum(last->launched);
	values[3] = Int64GetDatum(stats->ndocs);
	values[4] = Int64GetDatum(stats->ntokens);
	values[5] = Int32GetDatum(stats->nruns);
	values[6] = Int32GetDatum(stats->nforced);
	values[7] = Int64GetDatum(stats->spilled);
	values[8] = Int64GetDatum(stats->peak);
	values[9] = Int64GetDatum(stats->mem.peak);
	values[10] = Int64GetDatum(stats->mem.calls);
	values[11] = Int64GetDatum(stats->mem.limiter_calls);
	values[12] = Int64GetDatum(stats->mem.shared_writes);
	values[13] = Float8GetDatum(last->sum.cpu_ms);
	values[14] = Float8GetDatum(last->sum.cpu_max_ms);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
