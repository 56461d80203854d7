/*-------------------------------------------------------------------------
 *
 * test_lsm_sql.c
 *	  SQL functions that drive lsm/ and look into an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_check.h"
#include "lsm/lsm_maintain.h"
#include "storage/storage_alloc.h"
#include "storage/storage_compact.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"
#include "storage/storage_recycle.h"
#include "test_lsm.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(test_lsm_flush);
PG_FUNCTION_INFO_V1(test_lsm_merge);
PG_FUNCTION_INFO_V1(test_lsm_merge_all);
PG_FUNCTION_INFO_V1(test_lsm_recycle);
PG_FUNCTION_INFO_V1(test_lsm_compact);
PG_FUNCTION_INFO_V1(test_lsm_check);
PG_FUNCTION_INFO_V1(test_lsm_entries);
PG_FUNCTION_INFO_V1(test_lsm_info);
PG_FUNCTION_INFO_V1(test_lsm_poke);
PG_FUNCTION_INFO_V1(test_lsm_lock);

/* Open table and index of an argument. */
static Relation
open_index(FunctionCallInfo fcinfo, LOCKMODE lockmode, Relation *heap)
{
	Oid			oid = PG_GETARG_OID(0);

	*heap = table_open(IndexGetRelation(oid, false), lockmode);
	return index_open(oid, lockmode);
}

static void
close_index(Relation index, Relation heap, LOCKMODE lockmode)
{
	index_close(index, lockmode);
	table_close(heap, lockmode);
}

Datum
test_lsm_flush(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, RowExclusiveLock, &heap);
	int			n = snii_lsm_flush(index, PG_GETARG_BOOL(1),
								   PG_GETARG_BOOL(2));

	close_index(index, heap, RowExclusiveLock);
	PG_RETURN_INT32(n);
}

Datum
test_lsm_merge(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, RowExclusiveLock, &heap);
	int			n = snii_lsm_merge(index, (uint64) PG_GETARG_INT64(1),
								   PG_GETARG_BOOL(2));

	close_index(index, heap, RowExclusiveLock);
	PG_RETURN_INT32(n);
}

Datum
test_lsm_merge_all(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, RowExclusiveLock, &heap);
	int			n = snii_lsm_merge_all(index);

	close_index(index, heap, RowExclusiveLock);
	PG_RETURN_INT32(n);
}

Datum
test_lsm_recycle(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, RowExclusiveLock, &heap);
	uint64		n = snii_storage_recycle(index, heap);

	close_index(index, heap, RowExclusiveLock);
	PG_RETURN_INT64((int64) n);
}

Datum
test_lsm_compact(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, RowExclusiveLock, &heap);
	bool		done = snii_storage_compact_free(index);

	close_index(index, heap, RowExclusiveLock);
	PG_RETURN_BOOL(done);
}

Datum
test_lsm_check(PG_FUNCTION_ARGS)
{
	bool		strict = PG_GETARG_BOOL(1);
	LOCKMODE	lockmode = strict ? ShareLock : AccessShareLock;
	Relation	heap;
	Relation	index = open_index(fcinfo, lockmode, &heap);
	SniiTidList tids = {0};

	snii_lsm_check(index, strict, &tids);
	close_index(index, heap, lockmode);
	PG_RETURN_INT64((int64) tids.n);
}

Datum
test_lsm_entries(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	heap;
	Relation	index;
	SniiView   *view;

	InitMaterializedSRF(fcinfo, 0);
	index = open_index(fcinfo, AccessShareLock, &heap);
	view = snii_lsm_view(index, true);
	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		bool		segment = entry->kind == SNII_ENTRY_SEGMENT;
		Datum		values[6];
		bool		nulls[6] = {0};

		values[0] = CStringGetTextDatum(segment ? "segment" : "stretch");
		values[1] = Int64GetDatum((int64) entry->id);
		values[2] = Int64GetDatum((int64) entry->npages);
		values[3] = Int64GetDatum((int64) entry->ndocs);
		values[4] = Int64GetDatum((int64) entry->ndead);
		values[5] = BoolGetDatum((entry->flags & SNII_ENTRY_SEALED) != 0);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	close_index(index, heap, AccessShareLock);
	return (Datum) 0;
}

Datum
test_lsm_info(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, AccessShareLock, &heap);
	SniiView   *view = snii_lsm_view(index, true);
	SniiMetaPage meta;
	uint64		oldest;
	Datum		values[6];
	bool		nulls[6] = {0};
	TupleDesc	desc;

	snii_storage_meta_read(index, &meta);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum((int64) view->generation);
	values[1] = Int64GetDatum((int64) meta.nblocks);
	values[2] = Int64GetDatum((int64) meta.free_pages);
	values[3] = Int64GetDatum((int64) snii_storage_parked(index, &oldest));
	values[4] = Int64GetDatum((int64) meta.counters[SNII_COUNTER_FLUSHES]);
	values[5] = Int64GetDatum((int64) meta.counters[SNII_COUNTER_MERGES]);
	close_index(index, heap, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

/*
 * Damage a page: put bytes at an offset of it, without a word in the WAL.
 */
Datum
test_lsm_poke(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(fcinfo, RowExclusiveLock, &heap);
	bytea	   *bytes = PG_GETARG_BYTEA_PP(3);
	int32		offset = PG_GETARG_INT32(2);
	int32		len = (int32) VARSIZE_ANY_EXHDR(bytes);
	Buffer		buf;

	if (offset < 0 || offset + len > BLCKSZ)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d bytes at %d are not within a page", len, offset)));
	buf = ReadBuffer(index, (BlockNumber) PG_GETARG_INT32(1));
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	memcpy((char *) BufferGetPage(buf) + offset, VARDATA_ANY(bytes), len);
	MarkBufferDirty(buf);
	UnlockReleaseBuffer(buf);
	close_index(index, heap, RowExclusiveLock);
	PG_RETURN_VOID();
}

/*
 * Take one of the page locks of an index of any kind, in exclusive mode, to
 * the end of the transaction: others stop where they want it.
 */
Datum
test_lsm_lock(PG_FUNCTION_ARGS)
{
	static const struct
	{
		const char *name;
		BlockNumber lock;
	}			locks[] = {
		{"marks", SNII_LOCK_MARKS},
		{"recycle", SNII_LOCK_RECYCLE},
		{"flush", SNII_LOCK_SLOT(SNII_SLOT_FLUSH)},
		{"merge", SNII_LOCK_SLOT(SNII_SLOT_MERGE)}
	};
	Relation	index = relation_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int			i = 0;

	while (i < lengthof(locks) && strcmp(locks[i].name, name) != 0)
		i++;
	if (i == lengthof(locks))
		elog(ERROR, "no lock is called %s", name);
	LockPage(index, locks[i].lock, ExclusiveLock);
	relation_close(index, AccessShareLock);
	PG_RETURN_VOID();
}
