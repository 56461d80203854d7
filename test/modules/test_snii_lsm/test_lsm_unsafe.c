/*-------------------------------------------------------------------------
 *
 * test_lsm_unsafe.c
 *	  Scans with snapshots that are not MVCC, and a look at side lists.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "lsm/lsm_side.h"
#include "storage/storage_point.h"
#include "test_lsm.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(test_lsm_unsafe);
PG_FUNCTION_INFO_V1(test_lsm_sides);

/* Rows with a value. */
typedef struct ValueCount
{
	char	   *value;
	int			n;
} ValueCount;

#define MAX_VALUES	16

static void
count_value(ValueCount *counts, const char *value)
{
	for (int i = 0; i < MAX_VALUES; i++)
	{
		if (counts[i].value == NULL)
			counts[i].value = pstrdup(value);
		if (strcmp(counts[i].value, value) == 0)
		{
			counts[i].n++;
			return;
		}
	}
	elog(ERROR, "too many values");
}

static int
compare_counts(const void *a, const void *b)
{
	const char *x = ((const ValueCount *) a)->value;
	const char *y = ((const ValueCount *) b)->value;

	if (x == NULL || y == NULL)
		return (x == NULL) - (y == NULL);
	return strcmp(x, y);
}

/* The number of a TID in a set. */
static int
tid_number(const ItemPointerData *tid)
{
	return (int) ItemPointerGetBlockNumber(tid) * MaxHeapTuplesPerPage +
		ItemPointerGetOffsetNumber(tid);
}

/* All places of the table that are in use, by rows that are gone, too. */
static Bitmapset *
used_places(Relation heap)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	Bitmapset  *places = NULL;

	for (BlockNumber blk = 0; blk < nblocks; blk++)
	{
		Buffer		buf = ReadBuffer(heap, blk);
		Page		page = BufferGetPage(buf);
		ItemPointerData tid;

		LockBuffer(buf, BUFFER_LOCK_SHARE);
		for (OffsetNumber off = FirstOffsetNumber;
			 off <= PageGetMaxOffsetNumber(page); off++)
		{
			ItemPointerSet(&tid, blk, off);
			if (ItemIdIsUsed(PageGetItemId(page, off)))
				places = bms_add_member(places, tid_number(&tid));
		}
		UnlockReleaseBuffer(buf);
	}
	return places;
}

/*
 * Count values of rows at places that were in use when the scan began.  A row
 * that comes during the scan may be found or not, as it comes to a page of the
 * write buffer that the scan has read or not.
 */
static void
scan_rows(Relation heap, Relation index, Snapshot snapshot,
		  ValueCount *counts)
{
	Bitmapset  *places = used_places(heap);
	IndexScanDesc scan = SniiIndexBeginScan(heap, index, snapshot, 0);
	TupleTableSlot *slot = table_slot_create(heap, NULL);

	index_rescan(scan, NULL, 0, NULL, 0);
	while (index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		bool		isnull;
		Datum		value;

		snii_test_point("fetched");
		if (!bms_is_member(tid_number(&scan->xs_heaptid), places))
			continue;
		if (!index_fetch_heap(scan, slot))
			continue;
		value = slot_getattr(slot, 2, &isnull);
		count_value(counts, isnull ? "null" : TextDatumGetCString(value));
	}
	ExecDropSingleTupleTableSlot(slot);
	index_endscan(scan);
}

Datum
test_lsm_unsafe(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation	heap = table_open(IndexGetRelation(oid, false),
								  AccessShareLock);
	Relation	index = index_open(oid, AccessShareLock);
	SnapshotData dirty;
	ValueCount	counts[MAX_VALUES] = {{0}};
	StringInfoData result;

	InitDirtySnapshot(dirty);
	if (strcmp(what, "dirty") == 0)
		scan_rows(heap, index, &dirty, counts);
	else if (strcmp(what, "self") == 0)
		scan_rows(heap, index, SnapshotSelf, counts);
	else
		scan_rows(heap, index, SnapshotAny, counts);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	qsort(counts, MAX_VALUES, sizeof(ValueCount), compare_counts);
	initStringInfo(&result);
	for (int i = 0; i < MAX_VALUES && counts[i].value != NULL; i++)
		appendStringInfo(&result, "%s%s %d", i > 0 ? ", " : "",
						 counts[i].value, counts[i].n);
	PG_RETURN_TEXT_P(cstring_to_text(result.data));
}

Datum
test_lsm_sides(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	SniiView   *view = snii_lsm_view(index, false);
	int			lists = 0;
	uint64		listed = 0;
	uint64		pages = 0;
	Datum		values[3];
	bool		nulls[3] = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < view->nentries; i++)
	{
		SniiSideHead head;

		if (view->entries[i].kind != SNII_ENTRY_SEGMENT ||
			snii_lsm_side_open(index, &view->entries[i], &head) == NULL)
			continue;
		lists++;
		listed += head.ndead;
		pages += view->entries[i].side_pages;
	}
	snii_lsm_view_release(view);
	index_close(index, AccessShareLock);
	values[0] = Int32GetDatum(lists);
	values[1] = Int64GetDatum((int64) listed);
	values[2] = Int64GetDatum((int64) pages);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}
