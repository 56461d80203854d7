/*-------------------------------------------------------------------------
 *
 * am_func.c
 *	  SQL functions that maintain and inspect an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_func.h"
#include "compat.h"
#include "lsm/lsm_check.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_stats.h"
#include "lsm/lsm_view.h"
#include "storage/storage_recycle.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(snii_flush);
PG_FUNCTION_INFO_V1(snii_merge);
PG_FUNCTION_INFO_V1(snii_check);
PG_FUNCTION_INFO_V1(snii_segments);

/*
 * Lock table and index, in this order, and verify that it is a snii index
 * that can be used.  The caller closes both with snii_am_close().
 */
static Relation
open_index(Oid oid, LOCKMODE table_lock, LOCKMODE index_lock,
		   Relation *heap)
{
	Oid			heap_oid = IndexGetRelation(oid, true);
	Relation	index;

	*heap = OidIsValid(heap_oid) ? table_open(heap_oid, table_lock) : NULL;
	index = relation_open(oid, index_lock);
	if (index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_rel->relam != get_am_oid("snii", true))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a snii index",
						RelationGetRelationName(index)),
				 index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ?
				 errhint("Name the index of a partition.") : 0));
	/* The table may have been dropped before it was locked. */
	if (*heap == NULL || IndexGetRelation(oid, false) != heap_oid)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(index))));
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(index))));
	return index;
}

static void
close_index(Relation index, Relation heap, LOCKMODE table_lock,
			LOCKMODE index_lock)
{
	relation_close(index, index_lock);
	table_close(heap, table_lock);
}

Relation
snii_am_open_to_inspect(Oid oid, Relation *heap)
{
	Relation	index = open_index(oid, AccessShareLock, AccessShareLock,
								   heap);

	if (pg_class_aclcheck(RelationGetRelid(*heap), GetUserId(),
						  ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   RelationGetRelationName(*heap));
	return index;
}

void
snii_am_close(Relation index, Relation heap)
{
	close_index(index, heap, AccessShareLock, AccessShareLock);
}

/*
 * Called before anything is locked, so that a user without the right cannot
 * stall others, and again under the lock.
 */
static void
check_owner(Oid oid)
{
	if (!snii_compat_owns_relation(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(oid));
}

static void
forbid_in_recovery(const char *what)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("%s cannot be executed during recovery.", what)));
}

/*
 * snii_flush(index regclass) returns bigint: stretches of the write buffer
 * that were made a segment.
 */
Datum
snii_flush(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Relation	heap;
	Relation	index;
	int			n;

	forbid_in_recovery("snii_flush()");
	check_owner(oid);
	index = open_index(oid, RowExclusiveLock, RowExclusiveLock, &heap);
	check_owner(oid);
	n = snii_lsm_flush(index, true, true);
	snii_lsm_recycle(index, heap);
	close_index(index, heap, RowExclusiveLock, RowExclusiveLock);
	PG_RETURN_INT64(n);
}

/*
 * snii_merge(index regclass) returns bigint: segments that were merged into
 * one.
 */
Datum
snii_merge(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Relation	heap;
	Relation	index;
	int			n;

	forbid_in_recovery("snii_merge()");
	check_owner(oid);
	index = open_index(oid, RowExclusiveLock, RowExclusiveLock, &heap);
	check_owner(oid);
	n = snii_lsm_merge_all(index);
	snii_lsm_recycle(index, heap);
	close_index(index, heap, RowExclusiveLock, RowExclusiveLock);
	PG_RETURN_INT64(n);
}

/* ----------------------------------------------------------------
 *		snii_check
 * ----------------------------------------------------------------
 */

typedef struct HeapCheck
{
	Relation	index;
	const SniiTidList *tids;
} HeapCheck;

static void
heap_check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool tuple_is_alive, void *arg)
{
	HeapCheck  *check = arg;

	if (!snii_lsm_tid_list_has(check->tids, tid))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("heap tuple (%u,%u) from table \"%s\" lacks a matching entry in index \"%s\"",
						ItemPointerGetBlockNumber(tid),
						ItemPointerGetOffsetNumber(tid),
						get_rel_name(check->index->rd_index->indrelid),
						RelationGetRelationName(check->index)),
				 errhint("Please REINDEX it.")));
}

/*
 * Every row that a snapshot sees and that the index should have must be in
 * the sorted list.
 */
static void
check_heap(Relation heap, Relation index, const SniiTidList *tids)
{
	IndexInfo  *info = BuildIndexInfo(index);
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	TableScanDesc scan = table_beginscan_strat(heap, snapshot, 0, NULL, true,
											   false);
	HeapCheck	check = {index, tids};

	/*
	 * A build leaves out rows that only snapshots older than it see; such a
	 * one is no measure of the index.
	 */
	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   snapshot->xmin))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" cannot be verified with this transaction's snapshot",
						RelationGetRelationName(index))));

	/* As a concurrent build does: only rows that the snapshot sees. */
	info->ii_Concurrent = true;
	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	/* "true": the scan was begun without synchronisation, that is what counts */
	table_index_build_scan(heap, index, info, true, false, heap_check_row,
						   &check, scan);
	UnregisterSnapshot(snapshot);
}

/*
 * snii_check(index regclass, heapallindexed boolean) returns void: silent
 * when all is well.  On a primary it locks the table in share mode.
 */
Datum
snii_check(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	bool		heapallindexed = PG_GETARG_BOOL(1);
	bool		strict = !RecoveryInProgress();
	LOCKMODE	table_lock = strict ? ShareLock : AccessShareLock;
	Relation	heap;
	Relation	index;
	SniiTidList tids = {0};
	SniiMetaPage meta;

	check_owner(oid);
	/* Of the index, since workers lock nothing else. */
	index = open_index(oid, table_lock, table_lock, &heap);
	check_owner(oid);
	snii_storage_meta_read(index, &meta);
	snii_lsm_check(index, strict, &tids);
	if (heapallindexed)
		check_heap(heap, index, &tids);
	close_index(index, heap, table_lock, table_lock);
	PG_RETURN_VOID();
}

/* ----------------------------------------------------------------
 *		snii_segments
 * ----------------------------------------------------------------
 */

/*
 * snii_segments(index regclass): what the index consists of.
 */
Datum
snii_segments(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	heap;
	Relation	index;
	SniiView   *view;

	InitMaterializedSRF(fcinfo, 0);
	index = snii_am_open_to_inspect(oid, &heap);
	view = snii_lsm_view(index, false);
	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		bool		segment = entry->kind == SNII_ENTRY_SEGMENT;
		int64		docs = (int64) entry->ndocs;
		int64		dead = (int64) entry->ndead;
		Datum		values[7];
		bool		nulls[7] = {0};

		if (!segment)
		{
			SniiStretchStats count;

			snii_lsm_stretch_stats(index, entry, &count);
			docs = (int64) count.ndocs;
			dead = (int64) count.ndead;
		}
		values[0] = Int64GetDatum((int64) entry->id);
		values[1] = CStringGetTextDatum(segment ? "segment" :
										(entry->flags & SNII_ENTRY_SEALED) ?
										"sealed buffer" : "open buffer");
		values[2] = Int32GetDatum(entry->level);
		nulls[2] = !segment;
		values[3] = Int64GetDatum(docs);
		values[4] = Int64GetDatum(dead);
		values[5] = Int64GetDatum(entry->npages);
		values[6] = Int64GetDatum((int64) entry->npages * BLCKSZ);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	snii_lsm_view_release(view);
	snii_am_close(index, heap);
	return (Datum) 0;
}
