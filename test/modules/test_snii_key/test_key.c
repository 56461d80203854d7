/*-------------------------------------------------------------------------
 *
 * test_key.c
 *	  Rows of a table, encoded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "test_key.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_key_desc);

/* Keep a row's values, toasted as they are. */
static void
keep(TupleDesc tupdesc, int natts, const Datum *values, const bool *isnull,
	 TestRow *row)
{
	row->values = palloc0(natts * sizeof(Datum));
	row->isnull = palloc0(natts * sizeof(bool));
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		row->isnull[i] = isnull[i];
		if (!isnull[i])
			row->values[i] = datumCopy(values[i], att->attbyval, att->attlen);
	}
}

static void
encode(const SniiKeyDesc *desc, TestRow *row)
{
	SniiKeyBytes key = {0};
	SniiKeyBytes payload = {0};

	snii_key_encode(desc, row->values, row->isnull, &key);
	snii_key_put_tid(&key, &row->tid);
	snii_key_encode_payload(desc, row->values, row->isnull, &payload);
	row->str = key.data;
	row->len = key.len;
	row->payload = payload.data;
	row->payload_len = payload.len;
}

/*
 * Rows of a table; with an index, the values of that instead.
 */
static int
read_rows(Relation heap, Relation index, TestRow **rows)
{
	EState	   *estate = CreateExecutorState();
	IndexInfo  *info = index ? BuildIndexInfo(index) : NULL;
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	TableScanDesc scan = table_beginscan(heap, GetActiveSnapshot(), 0, NULL);
	int			capacity = 1024;
	int			n = 0;

	*rows = palloc(capacity * sizeof(TestRow));
	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		TestRow    *row;

		if (n == capacity)
			*rows = repalloc(*rows, (capacity *= 2) * sizeof(TestRow));
		row = &(*rows)[n++];
		memset(row, 0, sizeof(*row));
		row->tid = slot->tts_tid;
		if (index == NULL)
		{
			slot_getallattrs(slot);
			keep(RelationGetDescr(heap), RelationGetDescr(heap)->natts,
				 slot->tts_values, slot->tts_isnull, row);
			continue;
		}
		FormIndexDatum(info, slot, estate, values, isnull);
		keep(RelationGetDescr(index), RelationGetDescr(index)->natts, values,
			 isnull, row);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	return n;
}

int
test_key_table(Relation heap, TestRow **rows)
{
	return read_rows(heap, NULL, rows);
}

void
test_key_load(Oid indexoid, TestRows *rows)
{
	rows->index = index_open(indexoid, AccessShareLock);
	rows->heap = table_open(rows->index->rd_index->indrelid, AccessShareLock);
	rows->desc = snii_key_desc(rows->index);
	rows->nrows = read_rows(rows->heap, rows->index, &rows->rows);
	for (int i = 0; i < rows->nrows; i++)
		encode(rows->desc, &rows->rows[i]);
}

void
test_key_unload(TestRows *rows)
{
	index_close(rows->index, AccessShareLock);
	table_close(rows->heap, AccessShareLock);
}

Datum
test_key_desc(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	const SniiKeyDesc *desc = snii_key_desc(index);
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < desc->nkeys; i++)
		appendStringInfo(&out, "%s %u, ",
						 desc->columns[i].class == SNII_KEY_BYTES ?
						 "bytes" : "compared", desc->columns[i].width);
	appendStringInfo(&out, "length %u", desc->fixed_len);
	index_close(index, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}
