/*-------------------------------------------------------------------------
 *
 * test_inv_bench.c
 *	  Where the time of a build goes: processor time of this backend.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/heapam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "inverted/inv_build.h"
#include "inverted/inv_segment.h"
#include "storage/storage_alloc.h"
#include "text/text_analyzer.h"
#include "test_inv.h"

PG_FUNCTION_INFO_V1(test_inv_bench);

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000.0 + t.tv_nsec / 1000000.0;
}

/* SniiTokenSink that costs next to nothing. */
static void
count_token(void *arg, const char *bytes, uint32 len, uint32 position,
			uint32 start, uint32 end)
{
	(*(uint64 *) arg)++;
}

/*
 * Scan the table: texts are detoasted, and, as asked for, analysed or given
 * to the builder.  Returns milliseconds of the
 * processor.
 */
static double
pass(Relation source, int attno, const SniiAnalyzer *analyzer,
	 SniiInvBuilder *b)
{
	TupleTableSlot *slot = table_slot_create(source, NULL);
	TableScanDesc scan = table_beginscan(source, GetActiveSnapshot(), 0,
										 NULL);
	double		start = cpu_ms();
	double		end;
	uint64		ntokens = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		d = slot_getattr(slot, attno, &isnull);
		text	   *t;

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		t = DatumGetTextPP(d);
		if (b != NULL)
		{
			snii_inv_builder_begin_doc(b, &slot->tts_tid);
			snii_inv_builder_text(b, 0, VARDATA_ANY(t),
								  VARSIZE_ANY_EXHDR(t));
			snii_inv_builder_end_doc(b);
		}
		else if (analyzer != NULL)
			snii_text_analyze(analyzer, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t),
							  count_token, &ntokens);
		if ((Pointer) t != DatumGetPointer(d))
			pfree(t);
	}
	end = cpu_ms();
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return end - start;
}

Datum
test_inv_bench(PG_FUNCTION_ARGS)
{
	const uint8 analyzers[1] = {SNII_ANALYZER_STANDARD};
	int			attno = PG_GETARG_INT32(2);
	Relation	rel = test_inv_open(PG_GETARG_OID(0), 1, analyzers);
	Relation	source = relation_open(PG_GETARG_OID(1), AccessShareLock);
	SniiObjectWriter *w = snii_storage_writer_begin(rel, SNII_SLOT_FLUSH);
	SniiInvBuilder *b;
	SniiInvBuildStats stats;
	SniiObjectRef ref;
	SniiInvSegment *seg;
	double		scan_ms;
	double		analyze_ms;
	double		buffer_ms;
	double		start;
	double		write_ms;
	Datum		values[10];
	bool		nulls[10] = {false};
	TupleDesc	desc;

	scan_ms = pass(source, attno, NULL, NULL);
	analyze_ms = pass(source, attno,
					  snii_text_analyzer_by_id(analyzers[0]), NULL);
	b = snii_inv_builder_begin(rel, w, 1, analyzers, PG_GETARG_INT64(3),
							   NULL);
	buffer_ms = pass(source, attno, NULL, b);
	start = cpu_ms();
	snii_inv_builder_finish(b);
	snii_storage_writer_finish(w, &ref);
	write_ms = cpu_ms() - start;
	snii_inv_builder_stats(b, &stats);
	seg = snii_inv_open(snii_storage_object_open(rel, ref.id, ref.list_head),
						stats.ndocs);

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(stats.ntokens);
	values[1] = Int64GetDatum(snii_inv_head(seg)->nterms);
	values[2] = Int32GetDatum(stats.nruns);
	values[3] = Int64GetDatum(stats.spilled);
	values[4] = Int64GetDatum(stats.peak);
	values[5] = Float8GetDatum(scan_ms);
	values[6] = Float8GetDatum(analyze_ms - scan_ms);
	values[7] = Float8GetDatum(buffer_ms - analyze_ms);
	values[8] = Float8GetDatum(write_ms);
	values[9] = Float8GetDatum(ref.npages * (double) BLCKSZ / (1024 * 1024));
	snii_inv_close(seg);
	relation_close(source, AccessShareLock);
	test_inv_close(rel);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
