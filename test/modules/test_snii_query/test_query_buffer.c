/*-------------------------------------------------------------------------
 *
 * test_query_buffer.c
 *	  What the installed library says of the write buffers in its memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "inverted/inv_cache.h"

PG_FUNCTION_INFO_V1(test_query_buffer_stats);

/* The counters of the library that searches, not of this one. */
Datum
test_query_buffer_stats(PG_FUNCTION_ARGS)
{
	void		(*get) (SniiInvCacheStats *) =
	(void (*) (SniiInvCacheStats *))
	load_external_function("$libdir/snii", "snii_inv_cache_stats", true,
						   NULL);
	SniiInvCacheStats stats;
	TupleDesc	desc;
	Datum		values[10];
	bool		nulls[10] = {false};

	get(&stats);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum((int64) stats.missed);
	values[1] = Int64GetDatum((int64) stats.used);
	values[2] = Int64GetDatum((int64) stats.partial);
	values[3] = Int64GetDatum((int64) stats.created);
	values[4] = Int64GetDatum((int64) stats.bytes);
	values[5] = Int64GetDatum((int64) stats.evicted);
	values[6] = Int64GetDatum((int64) stats.dropped);
	values[7] = Int64GetDatum((int64) stats.indexes);
	values[8] = Int64GetDatum((int64) stats.stretches);
	values[9] = Int64GetDatum((int64) stats.memory);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
