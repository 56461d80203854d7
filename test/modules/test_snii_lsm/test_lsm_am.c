/*-------------------------------------------------------------------------
 *
 * test_lsm_am.c
 *	  Access method snii_test: building, inserting, vacuuming.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_buffer.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_vacuum.h"
#include "storage/storage_alloc.h"
#include "storage/storage_meta.h"
#include "test_lsm.h"

#include "access/amapi.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "lsm/lsm_barrier.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

PG_FUNCTION_INFO_V1(test_lsm_handler);
PG_FUNCTION_INFO_V1(test_lsm_ordered_handler);

static bool test_ordered_aminsert(Relation index, Datum *values, bool *isnull,
								  ItemPointer tid, Relation heap,
								  IndexUniqueCheck check, bool unchanged,
								  IndexInfo *info);

static void
create(Relation index, ForkNumber fork)
{
	SniiMetaSpec spec = {0};

	spec.kind = index->rd_indam->aminsert == test_ordered_aminsert ?
		SNII_KIND_TEST_ORDERED : SNII_KIND_TEST;
	spec.ncolumns = 1;
	snii_storage_create(index, fork, &spec);
}

/* The record of a value, in the current memory context. */
static void
make_record(Datum value, bool isnull, SniiRecord *record)
{
	uint8	   *data;

	if (isnull)
	{
		data = palloc0(1);
		record->len = 1;
	}
	else
	{
		text	   *t = DatumGetTextPP(value);

		record->len = 1 + VARSIZE_ANY_EXHDR(t);
		data = palloc(record->len);
		data[0] = 1;
		memcpy(data + 1, VARDATA_ANY(t), record->len - 1);
	}
	record->data = data;
}

typedef struct BuildState
{
	SniiObjectWriter *w;
	uint64		ndocs;
	MemoryContext context;
} BuildState;

static void
build_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool tupleIsAlive, void *state)
{
	BuildState *build = state;
	MemoryContext old = MemoryContextSwitchTo(build->context);
	SniiRecord	record;

	make_record(values[0], isnull[0], &record);
	record.tid = *tid;
	test_lsm_add(build->w, &record);
	build->ndocs++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->context);
}

static IndexBuildResult *
test_ambuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	BuildState	build = {0};

	create(index, MAIN_FORKNUM);
	snii_storage_slot_acquire(index, SNII_SLOT_FLUSH, true);
	build.w = snii_storage_writer_begin(index, SNII_SLOT_FLUSH);
	build.context = AllocSetContextCreate(CurrentMemoryContext, "test build",
										  ALLOCSET_DEFAULT_SIZES);
	result->heap_tuples = table_index_build_scan(heap, index, info, false,
												 false, build_callback,
												 &build, NULL);
	if (build.ndocs > 0)
		snii_lsm_publish(index, build.w, SNII_SLOT_FLUSH, build.ndocs);
	snii_storage_slot_release(index, SNII_SLOT_FLUSH);
	MemoryContextDelete(build.context);
	result->index_tuples = (double) build.ndocs;
	return result;
}

static void
test_ambuildempty(Relation index)
{
	create(index, INIT_FORKNUM);
}

static bool
test_aminsert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
			  Relation heap, IndexUniqueCheck check, bool unchanged,
			  IndexInfo *info)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "test insert",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiRecord	record;

	make_record(values[0], isnull[0], &record);
	snii_lsm_insert(index, heap, tid, record.data, record.len);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return false;
}

static bool
test_ordered_aminsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer tid, Relation heap, IndexUniqueCheck check,
					  bool unchanged, IndexInfo *info)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "test insert",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiRecord	record;

	make_record(values[0], isnull[0], &record);
	record.tid = *tid;
	test_lsm_ordered_insert(index, heap, &record);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return false;
}

static IndexBulkDeleteResult *
test_ambulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				  IndexBulkDeleteCallback callback, void *state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	snii_lsm_bulkdelete(info, stats, callback, state);
	return stats;
}

static IndexBulkDeleteResult *
test_amvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	heap;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false),
					  AccessShareLock);
	snii_lsm_cleanup(info, heap, stats);
	table_close(heap, AccessShareLock);
	return stats;
}

static void
test_amcostestimate(struct PlannerInfo *root, struct IndexPath *path,
					double loop_count, Cost *startup, Cost *total,
					Selectivity *selectivity, double *correlation,
					double *pages)
{
	*startup = 0;
	*total = 1;
	*selectivity = 0.01;
	*correlation = 0;
	*pages = 1;
}

static bytea *
test_amoptions(Datum reloptions, bool validate)
{
	return NULL;
}

static bool
test_amvalidate(Oid opclass)
{
	return true;
}

static IndexAmRoutine *
make_routine(aminsert_function insert)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = 1;
	am->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL;
	am->amusemaintenanceworkmem = true;
	am->amkeytype = InvalidOid;
	am->ambuild = test_ambuild;
	am->ambuildempty = test_ambuildempty;
	am->aminsert = insert;
	am->ambulkdelete = test_ambulkdelete;
	am->amvacuumcleanup = test_amvacuumcleanup;
	am->amcostestimate = test_amcostestimate;
	am->amoptions = test_amoptions;
	am->amvalidate = test_amvalidate;
	test_lsm_scan_methods(am);
	return am;
}

Datum
test_lsm_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_routine(test_aminsert));
}

Datum
test_lsm_ordered_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_routine(test_ordered_aminsert));
}

void
_PG_init(void)
{
	snii_lsm_register_kind(&test_lsm_kind);
	snii_lsm_register_kind(test_lsm_ordered_kind());
	DefineCustomIntVariable("test_snii_lsm.buffer_limit_kb",
							"Bytes of sealed stretches that make an inserter flush.",
							NULL, &snii_lsm_buffer_limit_kb, 512, 1, 1000000,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	snii_lsm_barrier_init();
	DefineCustomIntVariable("test_snii_lsm.hold_key",
							"Key of the advisory lock that is waited for.",
							NULL, &test_lsm_hold_key, 7207, 1, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("test_snii_lsm.barrier",
							 "Scans use a barrier, whatever their snapshot.",
							 NULL, &test_lsm_barrier, false, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("test_snii_lsm.hold",
							   "Test point at which this session waits for advisory lock 7207.",
							   NULL, &test_lsm_hold, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
	DefineCustomStringVariable("test_snii_lsm.fail",
							   "Test point at which this session raises an error.",
							   NULL, &test_lsm_fail, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
	DefineCustomStringVariable("test_snii_lsm.crash",
							   "Test point at which this session kills itself.",
							   NULL, &test_lsm_crash, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
}
