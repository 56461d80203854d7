/*-------------------------------------------------------------------------
 *
 * am_build.c
 *	  CREATE INDEX and INSERT.
 *
 * A build writes one segment past the write buffer; an insertion tokenises
 * its row and appends it to the buffer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_build.h"
#include "am/am_options.h"
#include "inverted/inv_build.h"
#include "inverted/inv_record.h"
#include "lsm/lsm_buffer.h"
#include "lsm/lsm_maintain.h"
#include "query/query_func.h"
#include "storage/storage_alloc.h"

#include "access/tableam.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

/* Phases of pg_stat_progress_create_index; 1 is core's "initializing". */
#define PHASE_SCAN		2
#define PHASE_WRITE		3

typedef struct BuildState
{
	Relation	index;
	int			ncolumns;
	SniiInvBuilder *builder;
	MemoryContext row_context;
	double		ntuples;
} BuildState;

char *
snii_am_build_phase(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return (char *) "initializing";
		case PHASE_SCAN:
			return (char *) "scanning table";
		case PHASE_WRITE:
			return (char *) "writing segment";
		default:
			return NULL;
	}
}

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
		snii_query_datum_text(index->rd_opcintype[i], values[i], &text, &len);
		snii_inv_builder_text(state->builder, i, text, len);
	}
	snii_inv_builder_end_doc(state->builder);
	state->ntuples++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_context);
}

IndexBuildResult *
snii_am_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	SniiMetaSpec spec;
	BuildState	state = {0};
	MemoryContext context;
	MemoryContext old;
	SniiObjectWriter *w;
	uint64		ndocs;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	snii_am_spec(index, &spec);
	snii_storage_create(index, MAIN_FORKNUM, &spec);

	context = AllocSetContextCreate(CurrentMemoryContext, "snii build",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	snii_storage_slot_acquire(index, SNII_SLOT_FLUSH, true);
	w = snii_storage_writer_begin(index, SNII_SLOT_FLUSH);
	state.index = index;
	state.ncolumns = spec.ncolumns;
	state.builder = snii_inv_builder_begin(index, w, spec.ncolumns,
										   spec.column_analyzer,
										   (Size) maintenance_work_mem * 1024);
	state.row_context = AllocSetContextCreate(context, "snii build row",
											  ALLOCSET_DEFAULT_SIZES);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SCAN);
	/* Without synchronised scans, documents come in the order of the heap. */
	result->heap_tuples = table_index_build_scan(heap, index, info, false,
												 true, build_row, &state,
												 NULL);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_WRITE);
	ndocs = snii_inv_builder_finish(state.builder);
	if (ndocs > 0)
		snii_lsm_publish(index, w, SNII_SLOT_FLUSH, ndocs);
	snii_storage_slot_release(index, SNII_SLOT_FLUSH);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	result->index_tuples = state.ntuples;
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
	InsertState *state = insert_state(index, info);
	MemoryContext old = MemoryContextSwitchTo(state->context);
	SniiInvRecord record;

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
