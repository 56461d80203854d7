/*-------------------------------------------------------------------------
 *
 * am_key_build.c
 *	  CREATE INDEX of a key index.
 *
 * The rows of the table are sorted and written as one run.  Keys whose order is
 * that of their bytes are sorted as byte strings, the TID behind the key: in
 * memory as long as there is enough of it, else by core's tuplesort; others
 * by that as rows, by the operators of their types.
 * Uniqueness is seen when equal keys of rows that are alive come one after
 * the other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_build.h"
#include "am/am_key_build.h"
#include "key/key_run.h"
#include "key/key_sort.h"
#include "lsm/lsm_maintain.h"
#include "storage/storage_alloc.h"

#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

typedef struct KeyBuild
{
	Relation	heap;
	Relation	index;
	const SniiKeyDesc *desc;
	bool		unique;
	bool		nulls_not_distinct;
	SniiKeySort *memory;		/* keys of class BYTES, until it is full */
	Tuplesortstate *sort;		/* else; NULL while it is not needed */
	TupleTableSlot *slot;		/* of rows to sort, unless by bytes */
	MemoryContext row_context;
	MemoryContext context;
	SniiKeyBytes bytes;
	SniiKeyBytes datum;
	double		tuples;

	/* The entry before, when the run is written. */
	SniiKeyBytes last;
	bool		last_alive;
	SniiKeyRunWriter *run;
} KeyBuild;

/*
 * Columns of a row that is sorted as such: those of the index, block and offset
 * of the row, is it alive.
 */
#define ROW_BLOCK(b)	((b)->desc->nattrs)
#define ROW_OFFSET(b)	((b)->desc->nattrs + 1)
#define ROW_ALIVE(b)	((b)->desc->nattrs + 2)
#define ROW_COLUMNS(b)	((b)->desc->nattrs + 3)

/*
 * Behind the string of a byte-sorted entry: payload, length of the payload
 * (u16), is the row alive (u8).
 */
#define BYTES_TAIL		3

/* ----------------------------------------------------------------
 *		Sorting
 * ----------------------------------------------------------------
 */

static TupleDesc
row_desc(const KeyBuild *b)
{
	TupleDesc	index_desc = b->desc->tupdesc;
	TupleDesc	desc = CreateTemplateTupleDesc(ROW_COLUMNS(b));

	for (int i = 0; i < b->desc->nattrs; i++)
		TupleDescCopyEntry(desc, (AttrNumber) (i + 1), index_desc,
						   (AttrNumber) (i + 1));
	TupleDescInitEntry(desc, (AttrNumber) (ROW_BLOCK(b) + 1), "block",
					   INT8OID, -1, 0);
	TupleDescInitEntry(desc, (AttrNumber) (ROW_OFFSET(b) + 1), "offset",
					   INT4OID, -1, 0);
	TupleDescInitEntry(desc, (AttrNumber) (ROW_ALIVE(b) + 1), "alive",
					   BOOLOID, -1, 0);
	return desc;
}

/*
 * The ordering operator of a column: that of its class, which must be known
 * as one to the sort.
 */
static Oid
sort_operator(const KeyBuild *b, int i)
{
	const SniiKeyColumn *column = &b->desc->columns[i];
	Oid			opr = get_opfamily_member(b->index->rd_opfamily[i],
										  column->input_type,
										  column->input_type,
										  column->desc ?
										  BTGreaterStrategyNumber :
										  BTLessStrategyNumber);

	if (!OidIsValid(opr) || !snii_compat_is_ordering_operator(opr))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("type %s cannot be sorted for index \"%s\"",
						format_type_be(column->type),
						RelationGetRelationName(b->index)),
				 errdetail("The operators of its operator class are in no btree operator family.")));
	return opr;
}

static void
begin_row_sort(KeyBuild *b)
{
	TupleDesc	desc = row_desc(b);
	int			n = b->desc->nkeys + 2;
	AttrNumber *columns = palloc(n * sizeof(AttrNumber));
	Oid		   *operators = palloc(n * sizeof(Oid));
	Oid		   *collations = palloc0(n * sizeof(Oid));
	bool	   *nulls_first = palloc0(n * sizeof(bool));

	for (int i = 0; i < b->desc->nkeys; i++)
	{
		columns[i] = (AttrNumber) (i + 1);
		operators[i] = sort_operator(b, i);
		collations[i] = b->desc->columns[i].collation;
		nulls_first[i] = b->desc->columns[i].nulls_first;
	}
	columns[n - 2] = (AttrNumber) (ROW_BLOCK(b) + 1);
	operators[n - 2] = Int8LessOperator;
	columns[n - 1] = (AttrNumber) (ROW_OFFSET(b) + 1);
	operators[n - 1] = Int4LessOperator;
	b->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	b->sort = tuplesort_begin_heap(desc, n, columns, operators, collations,
								   nulls_first, maintenance_work_mem, NULL,
								   TUPLESORT_NONE);
}

static void
begin_sort(KeyBuild *b)
{
	if (b->desc->all_bytes)
		b->memory = snii_key_sort_begin(b->desc,
										(Size) maintenance_work_mem * 1024);
	else
		begin_row_sort(b);
}

/* Give an entry to the tuplesort, as a bytea. */
static void
put_datum(KeyBuild *b, const SniiKeyEntry *entry, uint8 alive)
{
	uint16		payload_len = (uint16) entry->payload_len;

	b->datum.len = 0;
	snii_key_bytes_reserve(&b->datum, VARHDRSZ);
	b->datum.len = VARHDRSZ;
	snii_key_bytes_add(&b->datum, entry->str, entry->len);
	snii_key_bytes_add(&b->datum, entry->payload, entry->payload_len);
	snii_key_bytes_add(&b->datum, &payload_len, sizeof(payload_len));
	snii_key_bytes_add(&b->datum, &alive, 1);
	SET_VARSIZE(b->datum.data, b->datum.len);
	tuplesort_putdatum(b->sort, PointerGetDatum(b->datum.data), false);
}

/* The memory is full: everything goes through files. */
static void
leave_memory(KeyBuild *b)
{
	b->sort = tuplesort_begin_datum(BYTEAOID, ByteaLessOperator, InvalidOid,
									false, maintenance_work_mem, NULL,
									TUPLESORT_NONE);
	for (uint64 i = 0; i < snii_key_sort_count(b->memory); i++)
	{
		SniiKeyEntry entry;
		uint8		alive;

		CHECK_FOR_INTERRUPTS();
		snii_key_sort_get(b->memory, i, &entry, &alive);
		put_datum(b, &entry, alive);
	}
	snii_key_sort_end(b->memory);
	b->memory = NULL;
}

static void
put_bytes(KeyBuild *b, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive)
{
	SniiKeyEntry entry;

	b->bytes.len = 0;
	snii_key_encode(b->desc, values, isnull, &b->bytes);
	snii_key_put_tid(&b->bytes, tid);
	entry.len = b->bytes.len;
	snii_key_encode_payload(b->desc, values, isnull, &b->bytes);
	entry.str = b->bytes.data;
	entry.payload = b->bytes.data + entry.len;
	entry.payload_len = b->bytes.len - entry.len;
	if (b->bytes.len > SNII_KEY_MAX_ENTRY)
		snii_key_too_long(b->desc, b->bytes.len);
	if (b->memory != NULL && snii_key_sort_add(b->memory, &entry, alive))
		return;
	if (b->memory != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(b->context);

		leave_memory(b);
		MemoryContextSwitchTo(old);
	}
	put_datum(b, &entry, alive);
}

static void
put_row(KeyBuild *b, ItemPointer tid, Datum *values, bool *isnull, bool alive)
{
	TupleTableSlot *slot = b->slot;

	ExecClearTuple(slot);
	for (int i = 0; i < b->desc->nattrs; i++)
	{
		slot->tts_values[i] = values[i];
		slot->tts_isnull[i] = isnull[i];
		/* Values may be elsewhere by the time the sort is done. */
		if (!isnull[i] &&
			TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen == -1)
			slot->tts_values[i] =
				PointerGetDatum(PG_DETOAST_DATUM(values[i]));
	}
	slot->tts_values[ROW_BLOCK(b)] =
		Int64GetDatum((int64) ItemPointerGetBlockNumber(tid));
	slot->tts_values[ROW_OFFSET(b)] =
		Int32GetDatum((int32) ItemPointerGetOffsetNumber(tid));
	slot->tts_values[ROW_ALIVE(b)] = BoolGetDatum(alive);
	slot->tts_isnull[ROW_BLOCK(b)] = slot->tts_isnull[ROW_OFFSET(b)] =
		slot->tts_isnull[ROW_ALIVE(b)] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(b->sort, slot);
}

static void
build_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool tuple_is_alive, void *arg)
{
	KeyBuild   *b = arg;
	MemoryContext old = MemoryContextSwitchTo(b->row_context);

	if (b->desc->all_bytes)
		put_bytes(b, tid, values, isnull, tuple_is_alive);
	else
		put_row(b, tid, values, isnull, tuple_is_alive);
	b->tuples += 1;
	MemoryContextSwitchTo(old);
	MemoryContextReset(b->row_context);
}

/* ----------------------------------------------------------------
 *		Writing
 * ----------------------------------------------------------------
 */

static void
report_duplicate(const KeyBuild *b, const SniiKeyEntry *entry)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	SniiKeyEntry key = *entry;
	char	   *description;

	snii_key_decode(b->index, b->desc, &key, values, isnull);
	description = BuildIndexValueDescription(b->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(b->index)),
			 description ? errdetail("Key %s is duplicated.", description) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(b->heap,
								RelationGetRelationName(b->index))));
}

/*
 * The next entry in order.  Rows that are dead but were still to be indexed
 * do not conflict.
 */
static void
write_entry(KeyBuild *b, const SniiKeyEntry *entry, bool alive)
{
	if (b->unique && alive && b->last_alive && b->last.len > 0 &&
		snii_key_compare_keys(b->desc, b->last.data, b->last.len,
							  entry->str, entry->len) == 0 &&
		(b->nulls_not_distinct ||
		 !snii_key_has_null(b->desc, entry->str, entry->len)))
		report_duplicate(b, entry);
	snii_key_run_add(b->run, entry);
	if (b->unique && alive)
	{
		b->last.len = 0;
		snii_key_bytes_add(&b->last, entry->str, entry->len);
		b->last_alive = true;
	}
}

static void
write_sorted_bytes(KeyBuild *b)
{
	MemoryContext old = MemoryContextSwitchTo(b->row_context);
	Datum		value;
	bool		isnull;

	while (snii_compat_getdatum(b->sort, &value, &isnull))
	{
		const uint8 *data = (const uint8 *) VARDATA_ANY(DatumGetPointer(value));
		uint32		len = (uint32) VARSIZE_ANY_EXHDR(DatumGetPointer(value));
		uint16		payload_len;
		SniiKeyEntry entry;

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(old);
		memcpy(&payload_len, data + len - BYTES_TAIL, sizeof(payload_len));
		entry.str = data;
		entry.len = len - BYTES_TAIL - payload_len;
		entry.payload = data + entry.len;
		entry.payload_len = payload_len;
		write_entry(b, &entry, data[len - 1] != 0);
		/* 15 returns a copy. */
		MemoryContextReset(b->row_context);
		MemoryContextSwitchTo(b->row_context);
	}
	MemoryContextSwitchTo(old);
}

static void
write_sorted_memory(KeyBuild *b)
{
	for (uint64 i = 0; i < snii_key_sort_count(b->memory); i++)
	{
		SniiKeyEntry entry;
		uint8		alive;

		CHECK_FOR_INTERRUPTS();
		snii_key_sort_get(b->memory, i, &entry, &alive);
		write_entry(b, &entry, alive);
	}
}

static void
write_sorted_rows(KeyBuild *b)
{
	while (tuplesort_gettupleslot(b->sort, true, false, b->slot, NULL))
	{
		MemoryContext old = MemoryContextSwitchTo(b->row_context);
		ItemPointerData tid;
		SniiKeyEntry entry;
		uint32		string_len;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(b->slot);
		ItemPointerSet(&tid,
					   (BlockNumber) DatumGetInt64(b->slot->tts_values[ROW_BLOCK(b)]),
					   (OffsetNumber) DatumGetInt32(b->slot->tts_values[ROW_OFFSET(b)]));
		memset(&b->bytes, 0, sizeof(b->bytes));
		snii_key_encode(b->desc, b->slot->tts_values, b->slot->tts_isnull,
						&b->bytes);
		snii_key_put_tid(&b->bytes, &tid);
		string_len = b->bytes.len;
		snii_key_encode_payload(b->desc, b->slot->tts_values,
								b->slot->tts_isnull, &b->bytes);
		entry.str = b->bytes.data;
		entry.len = string_len;
		entry.payload = b->bytes.data + string_len;
		entry.payload_len = b->bytes.len - string_len;
		MemoryContextSwitchTo(old);
		write_entry(b, &entry,
					DatumGetBool(b->slot->tts_values[ROW_ALIVE(b)]));
		MemoryContextReset(b->row_context);
	}
}

/* Write what was sorted as a run, by way of a slot. */
static void
write_run(KeyBuild *b)
{
	SniiObjectWriter *w;
	uint64		n;

	snii_storage_slot_acquire(b->index, SNII_SLOT_FLUSH, true);
	w = snii_storage_writer_begin(b->index, SNII_SLOT_FLUSH);
	b->run = snii_key_run_begin(b->desc, w);
	if (b->memory != NULL)
		write_sorted_memory(b);
	else if (b->desc->all_bytes)
		write_sorted_bytes(b);
	else
		write_sorted_rows(b);
	n = snii_key_run_finish(b->run);
	if (n > 0)
		snii_lsm_publish(b->index, w, SNII_SLOT_FLUSH, n);
	snii_storage_slot_release(b->index, SNII_SLOT_FLUSH);
}

void
snii_am_key_build(Relation heap, Relation index, IndexInfo *info,
				  IndexBuildResult *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii key build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	KeyBuild	b = {0};

	b.heap = heap;
	b.index = index;
	b.context = context;
	snii_key_bytes_reserve(&b.bytes, 2 * SNII_KEY_MAX_ENTRY);
	snii_key_bytes_reserve(&b.datum, 2 * SNII_KEY_MAX_ENTRY);
	b.desc = snii_key_desc(index);
	b.unique = info->ii_Unique;
	b.nulls_not_distinct = info->ii_NullsNotDistinct;
	b.row_context = AllocSetContextCreate(context, "snii key build row",
										  ALLOCSET_DEFAULT_SIZES);
	begin_sort(&b);
	snii_am_progress_phase(SNII_AM_PHASE_SCAN);
	result->heap_tuples = table_index_build_scan(heap, index, info, true,
												 true, build_row, &b, NULL);
	snii_am_progress_phase(SNII_AM_PHASE_SORT);
	if (b.memory != NULL)
		snii_key_sort_perform(b.memory);
	else
		tuplesort_performsort(b.sort);
	snii_am_progress_phase(SNII_AM_PHASE_WRITE);
	if (b.tuples > 0)
		write_run(&b);
	if (b.sort != NULL)
		tuplesort_end(b.sort);
	if (b.slot != NULL)
		ExecDropSingleTupleTableSlot(b.slot);
	result->index_tuples = b.tuples;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
