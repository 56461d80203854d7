/*-------------------------------------------------------------------------
 *
 * test_policy_simulate.c
 *	  The policy at work: streams of flushes, deletes and merges.
 *
 * Nothing is stored but the sizes of segments, and of each how often its
 * bytes were written.  Every choice of the policy is verified.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lsm/lsm_policy.h"

#include "access/htup_details.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(policy_simulate);
PG_FUNCTION_INFO_V1(policy_simulate_keys);

/* More than a directory holds: that it is exceeded is found out here. */
#define MAX_SEGMENTS	SNII_DIR_CAPACITY

#define KB(n)			((uint64) (n) << 10)
#define MB(n)			((uint64) (n) << 20)
#define GB(n)			((uint64) (n) << 30)

/* Bytes of a document, where nothing else is said. */
#define DOC_BYTES		100

typedef struct Simulation
{
	const SniiPolicy *policy;
	pg_prng_state random;
	int			n;
	SniiPolicySegment segments[MAX_SEGMENTS];
	double		writes[MAX_SEGMENTS];	/* of a byte of it, on average */
	uint64		flushed;
	uint64		merged;			/* bytes written by merges */
	double		most_writes;
	int			max_segments;
	double		sum_segments;
} Simulation;

/* ----------------------------------------------------------------
 *		Streams
 * ----------------------------------------------------------------
 */

/* Between two sizes, each order of magnitude as likely as any other. */
static uint64
log_uniform(Simulation *sim, uint64 lo, uint64 hi)
{
	return (uint64) ((double) lo *
					 pow((double) hi / (double) lo,
						 pg_prng_double(&sim->random)));
}

/* Size and documents of flush i of a stream. */
static SniiPolicySegment
next_flush(Simulation *sim, const char *stream, int i)
{
	SniiPolicySegment result = {0};

	if (strcmp(stream, "even") == 0)
		result.nbytes = MB(8);
	else if (strcmp(stream, "tiny") == 0)
		result.nbytes = KB(64);
	else if (strcmp(stream, "mixed") == 0)
		result.nbytes = log_uniform(sim, KB(64), MB(16));
	else if (strcmp(stream, "vacuum") == 0)
		/* seven small flushes by VACUUM between two full ones */
		result.nbytes = i % 8 == 0 ? MB(8) : KB(80);
	else if (strcmp(stream, "saw") == 0)
		/* from large to small and again */
		result.nbytes = MB(64) >> (i % 11);
	else if (strcmp(stream, "bulk") == 0)
		/* a large build, then a trickle */
		result.nbytes = i == 0 ? GB(100) : MB(8);
	else if (strcmp(stream, "copies") == 0)
		/* a bulk load now and then */
		result.nbytes = i % 50 == 0 ? GB(1) : MB(1);
	else if (strcmp(stream, "documents") == 0)
	{
		result.nbytes = MB(50);
		result.ndocs = UINT64CONST(150000000) +
			pg_prng_uint64_range(&sim->random, 0, 100000000);
	}
	else
		elog(ERROR, "unknown stream \"%s\"", stream);
	if (result.ndocs == 0)
		result.ndocs = result.nbytes / DOC_BYTES;
	return result;
}

/*
 * Delete about a share of the live documents of about half of the segments;
 * now and then all of one.
 */
static void
delete_some(Simulation *sim, double share)
{
	for (int i = 0; i < sim->n; i++)
	{
		SniiPolicySegment *s = &sim->segments[i];
		double		part = share * 4 * pg_prng_double(&sim->random);

		if (pg_prng_double(&sim->random) < 0.5)
			continue;
		if (share > 0 && pg_prng_double(&sim->random) < 0.001)
			part = 1;
		s->ndead += (uint64) ((double) (s->ndocs - s->ndead) *
							  Min(part, 1.0));
	}
}

/* ----------------------------------------------------------------
 *		Merging
 * ----------------------------------------------------------------
 */

static uint64
live_docs(const SniiPolicySegment *s)
{
	return s->ndocs - s->ndead;
}

/* Raise if the choice breaks a rule that holds for all. */
static void
verify(const Simulation *sim, SniiPolicyMerge merge, uint64 max_bytes)
{
	uint64		bytes = 0;
	uint64		docs = 0;
	uint64		dead = 0;

	if (merge.first < 0 || merge.n < 1 || merge.first + merge.n > sim->n)
		elog(ERROR, "merge of %d segments at %d of %d", merge.n, merge.first,
			 sim->n);
	for (int i = merge.first; i < merge.first + merge.n; i++)
	{
		bytes += sim->segments[i].nbytes;
		docs += live_docs(&sim->segments[i]);
		dead += sim->segments[i].ndead;
	}
	for (int i = 0; i < sim->n && docs > 0; i++)
		if (live_docs(&sim->segments[i]) == 0)
			elog(ERROR, "segment %d is empty, but another is merged", i);
	if (docs > SNII_POLICY_MAX_DOCS)
		elog(ERROR, "merge of %llu documents", (unsigned long long) docs);
	if (docs > 0 && bytes > max_bytes && sim->n <= SNII_POLICY_SEGMENT_LIMIT)
		elog(ERROR, "merge of %llu bytes", (unsigned long long) bytes);
	if (docs > 0 && merge.n == 1 && dead < docs)
		elog(ERROR, "segment with %llu live of %llu documents is rewritten",
			 (unsigned long long) docs, (unsigned long long) (docs + dead));
}

static void
do_merge(Simulation *sim, SniiPolicyMerge merge)
{
	uint64		before = 0;
	double		writes = 0;
	int			n = sim->n;
	int			removed;

	for (int i = merge.first; i < merge.first + merge.n; i++)
	{
		uint64		live = snii_lsm_policy_live(&sim->segments[i]);

		before += live;
		writes += (double) live * sim->writes[i];
	}
	sim->n = snii_lsm_policy_apply(sim->segments, sim->n, merge);
	sim->merged += before;
	removed = n - sim->n;		/* n - 1, or n if nothing is left */
	if (removed < merge.n)
	{
		double		mean = before > 0 ? writes / (double) before + 1 : 1;

		sim->writes[merge.first] = mean;
		sim->most_writes = Max(sim->most_writes, mean);
		memmove(&sim->writes[merge.first + 1],
				&sim->writes[merge.first + merge.n],
				(n - merge.first - merge.n) * sizeof(double));
	}
	else
		memmove(&sim->writes[merge.first],
				&sim->writes[merge.first + merge.n],
				(n - merge.first - merge.n) * sizeof(double));
}

/* Up to "most" merges; 0: as many as there are. */
static void
do_merges(Simulation *sim, int most, uint64 max_bytes)
{
	for (int i = 0; most == 0 || i < most; i++)
	{
		SniiPolicyMerge merge = snii_lsm_policy_merge(sim->policy,
													  sim->segments,
													  sim->n, max_bytes);

		if (merge.n == 0)
			return;
		if (i > 1000)
			elog(ERROR, "merges without end");
		verify(sim, merge, max_bytes);
		do_merge(sim, merge);
	}
}

static Datum
result_row(FunctionCallInfo fcinfo, const Simulation *sim, int flushes)
{
	Datum		values[6];
	bool		nulls[6] = {0};
	TupleDesc	desc;
	uint64		docs = 0;
	uint64		dead = 0;

	for (int i = 0; i < sim->n; i++)
	{
		docs += sim->segments[i].ndocs;
		dead += sim->segments[i].ndead;
	}
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(sim->max_segments);
	values[1] = Float8GetDatum(sim->sum_segments / flushes);
	values[2] = Int64GetDatum((int64) sim->flushed);
	values[3] = Int64GetDatum((int64) sim->merged);
	values[4] = Float8GetDatum(sim->most_writes);
	values[5] = Float8GetDatum(docs > 0 ? (double) dead / (double) docs : 0);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

Datum
policy_simulate(PG_FUNCTION_ARGS)
{
	char	   *stream = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int			flushes = PG_GETARG_INT32(2);
	double		deletes = PG_GETARG_FLOAT8(3);
	int			merges_per_flush = PG_GETARG_INT32(4);
	uint64		max_bytes = (uint64) PG_GETARG_INT64(5);
	Simulation *sim = palloc0(sizeof(Simulation));

	sim->policy = &snii_lsm_policy_default;
	pg_prng_seed(&sim->random, (uint64) PG_GETARG_INT64(0));
	for (int i = 0; i < flushes; i++)
	{
		if (sim->n >= MAX_SEGMENTS)
			elog(ERROR, "directory is full after %d flushes", i);
		sim->segments[sim->n] = next_flush(sim, stream, i);
		sim->writes[sim->n] = 1;
		sim->flushed += sim->segments[sim->n].nbytes;
		sim->n++;
		delete_some(sim, deletes);
		do_merges(sim, merges_per_flush, max_bytes);
		sim->max_segments = Max(sim->max_segments, sim->n);
		sim->sum_segments += sim->n;
	}
	return result_row(fcinfo, sim, flushes);
}

/* ----------------------------------------------------------------
 *		Keys
 * ----------------------------------------------------------------
 */

/* A flush of a full stretch of keys of 16 bytes. */
#define KEYS			190000
#define KEY_RUN_BYTES	MB(3)

/* Flush i of a stream of keys: where it is among the others. */
static SniiPolicySegment
next_keys(const char *stream, int i)
{
	SniiPolicySegment result = {0};

	result.nbytes = KEY_RUN_BYTES;
	result.ndocs = KEYS;
	if (strcmp(stream, "random") == 0)
		;						/* each run has keys from all over */
	else if (strcmp(stream, "sequential") == 0)
	{
		result.lo = 2 * i + 1;
		result.hi = 2 * i + 2;
	}
	else if (strcmp(stream, "window") == 0)
	{
		/* ascending, but each with keys that come late */
		result.lo = Max(2 * i - 10, 1);
		result.hi = 2 * i + 2;
	}
	else if (strcmp(stream, "vacuum") == 0)
	{
		if (i % 4 != 0)
		{
			result.nbytes = KB(200);
			result.ndocs = KEYS / 15;
		}
	}
	else
		elog(ERROR, "unknown stream \"%s\"", stream);
	return result;
}

Datum
policy_simulate_keys(PG_FUNCTION_ARGS)
{
	char	   *stream = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int			flushes = PG_GETARG_INT32(2);
	double		deletes = PG_GETARG_FLOAT8(3);
	int			merges_per_flush = PG_GETARG_INT32(4);
	Simulation *sim = palloc0(sizeof(Simulation));
	Datum		values[4];
	bool		nulls[4] = {0};
	TupleDesc	desc;
	int			depth = 0;

	sim->policy = &snii_lsm_policy_keys;
	pg_prng_seed(&sim->random, (uint64) PG_GETARG_INT64(0));
	for (int i = 0; i < flushes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (sim->n >= MAX_SEGMENTS)
			elog(ERROR, "directory is full after %d flushes", i);
		sim->segments[sim->n] = next_keys(stream, i);
		sim->writes[sim->n] = 1;
		sim->flushed += sim->segments[sim->n].nbytes;
		sim->n++;
		depth = Max(depth, snii_lsm_policy_depth(sim->segments, sim->n));
		sim->max_segments = Max(sim->max_segments, sim->n);
		delete_some(sim, deletes);
		do_merges(sim, merges_per_flush, PG_UINT64_MAX);
	}
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(depth);
	values[1] = Int32GetDatum(sim->max_segments);
	values[2] = Int64GetDatum((int64) sim->flushed);
	values[3] = Int64GetDatum((int64) sim->merged);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}
