/*-------------------------------------------------------------------------
 *
 * am_stats.c
 *	  SQL function snii_stats(), without the part that views of the system
 *	  answer better.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_func.h"
#include "am/am_stats.h"
#include "lsm/lsm_stats.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(snii_stats_of);

#define NCOLUMNS	40

/* A row in the making. */
typedef struct Row
{
	int			n;
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS];
} Row;

static void
put(Row *row, Datum value)
{
	row->values[row->n++] = value;
}

static void
put_int64(Row *row, uint64 value)
{
	put(row, Int64GetDatum((int64) value));
}

static void
put_null(Row *row)
{
	row->nulls[row->n++] = true;
}

/* Two arrays: number and bytes of the segments of each tier. */
static void
put_tiers(Row *row, const SniiStats *stats)
{
	Datum		numbers[SNII_POLICY_TIERS];
	Datum		bytes[SNII_POLICY_TIERS];

	for (int i = 0; i < stats->ntiers; i++)
	{
		numbers[i] = Int32GetDatum((int32) stats->tier_segments[i]);
		bytes[i] = Int64GetDatum((int64) stats->tier_bytes[i]);
	}
	put(row, PointerGetDatum(construct_array(numbers, stats->ntiers, INT4OID,
											 sizeof(int32), true,
											 TYPALIGN_INT)));
	put(row, PointerGetDatum(construct_array(bytes, stats->ntiers, INT8OID,
											 sizeof(int64), FLOAT8PASSBYVAL,
											 TYPALIGN_DOUBLE)));
}

static const char *
sleep_reason(uint64 reason)
{
	switch (reason)
	{
		case SNII_SLEEP_BUFFER:
			return "buffer";
		case SNII_SLEEP_SEGMENTS:
			return "segments";
		default:
			return NULL;
	}
}

/* What was done so far. */
static void
put_counters(Row *row, const SniiStats *stats)
{
	const uint64 *c = stats->meta.counters;
	uint64		flushed = c[SNII_COUNTER_BYTES_FLUSHED];
	uint64		merged = c[SNII_COUNTER_BYTES_MERGED];
	const char *reason = sleep_reason(c[SNII_COUNTER_SLEEP_REASON]);

	put_int64(row, c[SNII_COUNTER_FLUSHES]);
	put_int64(row, c[SNII_COUNTER_MERGES]);
	put_int64(row, c[SNII_COUNTER_HELPS]);
	put_int64(row, c[SNII_COUNTER_DOCS_IN] + stats->open.ndocs +
			  stats->sealed.ndocs);
	put_int64(row, c[SNII_COUNTER_BYTES_IN] + stats->open.nbytes +
			  stats->sealed.nbytes);
	put_int64(row, c[SNII_COUNTER_BYTES_BUILT]);
	put_int64(row, flushed);
	put_int64(row, merged);
	if (flushed > 0)
		put(row, Float8GetDatum((double) (flushed + merged) /
								(double) flushed));
	else
		put_null(row);
	put_int64(row, stats->debt);
	put_int64(row, c[SNII_COUNTER_SLEEPS]);
	put(row, Float8GetDatum((double) c[SNII_COUNTER_SLEEP_US] / 1000.0));
	if (reason != NULL)
		put(row, CStringGetTextDatum(reason));
	else
		put_null(row);
}

/*
 * snii_stats_of(index regclass): a row of what the index itself knows.
 */
Datum
snii_stats_of(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = snii_am_open_to_inspect(PG_GETARG_OID(0), &heap);
	SniiStats	stats;
	Row			row = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	snii_lsm_stats(index, &stats);

	put_int64(&row, stats.open.nbytes);
	put_int64(&row, stats.sealed.nbytes);
	put_int64(&row, stats.open.ndocs + stats.sealed.ndocs);
	put_int64(&row, stats.open.ndead + stats.sealed.ndead);
	put(&row, Int32GetDatum(stats.nsegments));
	put_int64(&row, stats.ndocs);
	put_int64(&row, stats.ndead);
	put_tiers(&row, &stats);
	put_counters(&row, &stats);
	put_int64(&row, stats.parked_pages);
	put_int64(&row, stats.parked_pages * BLCKSZ);
	if (stats.oldest_stamp != 0 && stats.oldest_stamp != SNII_PARK_UNSTAMPED)
		put(&row, UInt64GetDatum(stats.oldest_stamp));
	else
		put_null(&row);
	put_int64(&row, stats.meta.free_pages);
	put_int64(&row, stats.nblocks);
	for (int i = 0; i < SNII_LOOKUP_COUNTERS; i++)
		put_int64(&row, stats.lookups.counts[i]);

	snii_am_close(index, heap);
	if (row.n != desc->natts)
		elog(ERROR, "snii_stats_of() returns %d columns, not %d", row.n,
			 desc->natts);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  row.values,
													  row.nulls)));
}
