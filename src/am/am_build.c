/*-------------------------------------------------------------------------
 *
 * am_build.c
 *	  CREATE INDEX and INSERT.
 *
 * A build writes segments past the write buffer: one, or, of an inverted index,
 * one by each participant if it is parallel (am_parallel.c).  An insertion
 * tokenises its row and appends it to the buffer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "am/am_build.h"
#include "am/am_key_build.h"
#include "am/am_key_insert.h"
#include "am/am_options.h"
#include "am/am_parallel.h"
#include "inverted/inv_record.h"
#include "lsm/lsm_buffer.h"
#include "lsm/lsm_maintain.h"
#include "query/query_func.h"
#include "storage/storage_alloc.h"
#include "storage/storage_meta.h"

#include "access/detoast.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

typedef struct BuildState
{
	Relation	index;
	int			ncolumns;
	SniiInvBuilder *builder;
	MemoryContext row_context;
} BuildState;

static void
build_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool tuple_is_alive, void *arg)
{
	BuildState *state = arg;
	MemoryContext old = MemoryContextSwitchTo(state->row_context);

	snii_inv_builder_begin_doc(state->builder, tid);
	for (int i = 0; i < state->ncolumns; i++)
	{
		const char *text;
		size_t		len;

		if (isnull[i])
		{
			snii_inv_builder_null(state->builder, i);
			continue;
		}
		if (index->rd_opcintype[i] != NAMEOID)
			snii_inv_builder_value(state->builder,
								   toast_raw_datum_size(values[i]));
		snii_query_datum_text(index->rd_opcintype[i], values[i], &text, &len);
		snii_inv_builder_text(state->builder, i, text, len);
	}
	snii_inv_builder_end_doc(state->builder);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_context);
}

double
snii_am_cpu_ms(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double) (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000 +
		(double) (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
}

/*
 * Index what a scan returns, write it as a segment by way of the slot, and
 * publish that, if there was a row.  Called by every participant of a build.
 */
void
snii_am_build_share(Relation heap, Relation index, IndexInfo *info,
					const SniiAmPart *part, SniiAmShare *share)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiMetaPage meta;
	BuildState	state = {0};
	SniiObjectWriter *w;
	uint64		ndocs;

	share->cpu_ms = -snii_am_cpu_ms();
	snii_storage_meta_read(index, &meta);
	snii_storage_slot_acquire(index, part->slot, true);
	w = snii_storage_writer_begin(index, part->slot);
	state.index = index;
	state.ncolumns = meta.ncolumns;
	state.builder = snii_inv_builder_begin(index, w, meta.ncolumns,
										   meta.column_analyzer, part->budget,
										   part->place);
	snii_inv_builder_report(state.builder, snii_am_progress_report,
							part->progress);
	state.row_context = AllocSetContextCreate(context, "snii build row",
											  ALLOCSET_DEFAULT_SIZES);

	snii_am_progress_phase(SNII_AM_PHASE_SCAN);

	/*
	 * Without synchronised scans, documents come in the order of the heap.
	 * Shared scans are not synchronised, whatever the argument says.
	 */
	share->heap_tuples = table_index_build_scan(heap, index, info,
												part->scan != NULL,
												!IsParallelWorker(),
												build_row, &state,
												part->scan);
	share->broken_hot_chain = info->ii_BrokenHotChain;
	snii_am_progress_phase(SNII_AM_PHASE_WRITE);
	ndocs = snii_inv_builder_finish(state.builder);
	snii_inv_builder_stats(state.builder, &share->stats);
	if (ndocs > 0)
		snii_lsm_publish(index, w, part->slot, ndocs);
	snii_storage_slot_release(index, part->slot);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	share->cpu_ms += snii_am_cpu_ms();
	share->cpu_max_ms = share->cpu_ms;
}

static SniiAmLastBuild last_build = {0};

const SniiAmLastBuild *
snii_am_last_build(void)
{
	return &last_build;
}

/* Add what one participant did to the sum. */
void
snii_am_build_add(SniiAmShare *sum, const SniiAmShare *share)
{
	sum->heap_tuples += share->heap_tuples;
	sum->broken_hot_chain |= share->broken_hot_chain;
	sum->cpu_ms += share->cpu_ms;
	sum->cpu_max_ms = Max(sum->cpu_max_ms, share->cpu_max_ms);
	sum->stats.ndocs += share->stats.ndocs;
	sum->stats.ntokens += share->stats.ntokens;
	sum->stats.nruns += share->stats.nruns;
	sum->stats.spilled += share->stats.spilled;
	sum->stats.peak += share->stats.peak;
	sum->stats.nforced += share->stats.nforced;
	sum->stats.mem.peak += share->stats.mem.peak;
	sum->stats.mem.calls += share->stats.mem.calls;
	sum->stats.mem.limiter_calls += share->stats.mem.limiter_calls;
	sum->stats.mem.shared_writes += share->stats.mem.shared_writes;
}

IndexBuildResult *
snii_am_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	SniiMetaSpec spec;
	SniiAmShare sum;
	SniiAmProgress progress = {0};
	SniiAmPart	alone = {NULL, SNII_SLOT_FLUSH,
		(Size) maintenance_work_mem * 1024, NULL, &progress
	};

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	snii_am_spec(index, &spec);
	snii_storage_create(index, MAIN_FORKNUM, &spec);
	memset(&last_build, 0, sizeof(last_build));
	if (snii_am_parallel_build(heap, index, info, spec.kind == SNII_KIND_KEY,
							   &last_build))
		 /* done */ ;
	else if (spec.kind == SNII_KIND_KEY)
		snii_am_key_build(heap, index, info, &alone, NULL, NULL,
						  &last_build.sum);
	else
		snii_am_build_share(heap, index, info, &alone, &last_build.sum);
	last_build.index = RelationGetRelid(index);
	sum = last_build.sum;
	if (sum.broken_hot_chain)
		info->ii_BrokenHotChain = true;
	result->heap_tuples = sum.heap_tuples;
	result->index_tuples = sum.stats.ndocs;
	return result;
}

void
snii_am_buildempty(Relation index)
{
	SniiMetaSpec spec;

	snii_am_spec(index, &spec);
	snii_storage_create(index, INIT_FORKNUM, &spec);
}

/* ----------------------------------------------------------------
 *		INSERT
 * ----------------------------------------------------------------
 */

/* Kept from row to row of a statement in ii_AmCache. */
typedef struct InsertState
{
	int			ncolumns;
	const SniiAnalyzer *analyzers[SNII_MAX_COLUMNS];
	MemoryContext context;		/* reset for every row */
} InsertState;

static InsertState *
insert_state(Relation index, IndexInfo *info)
{
	InsertState *state = info->ii_AmCache;

	if (state == NULL)
	{
		state = MemoryContextAllocZero(info->ii_Context, sizeof(InsertState));
		snii_storage_check_writable(index);
		state->ncolumns = snii_am_analyzers(index, state->analyzers);
		state->context = AllocSetContextCreate(info->ii_Context,
											   "snii insert",
											   ALLOCSET_DEFAULT_SIZES);
		info->ii_AmCache = state;
	}
	return state;
}

bool
snii_am_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
			   Relation heap, IndexUniqueCheck check_unique,
			   bool index_unchanged, IndexInfo *info)
{
	InsertState *state;
	MemoryContext old;
	SniiInvRecord record;

	if (snii_am_is_key(index))
		return snii_am_key_insert(index, values, isnull, tid, heap,
								  check_unique, info);
	state = insert_state(index, info);
	old = MemoryContextSwitchTo(state->context);
	snii_inv_record_init(&record);
	for (int i = 0; i < state->ncolumns; i++)
	{
		const char *text;
		size_t		len;

		if (isnull[i])
		{
			snii_inv_record_null(&record);
			continue;
		}
		snii_query_datum_text(index->rd_opcintype[i], values[i], &text, &len);
		snii_inv_record_text(&record, state->analyzers[i], text, len);
	}
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
	snii_lsm_insert(index, heap, tid, record.data, record.len);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->context);
	return false;
}
