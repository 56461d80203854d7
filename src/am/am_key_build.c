/*-------------------------------------------------------------------------
 *
 * am_key_build.c
 *	  CREATE INDEX of a key index.
 *
 * The rows of the table are sorted and written as one run.  Keys whose order is
 * that of their bytes are sorted as byte strings, the TID behind the key; others
 * as rows by core's tuplesort and the operators of their types.
 *
 * Several participants sort a share of the rows each; one merges their entries
 * as they come (am_parallel.c).  Uniqueness is seen when equal keys of rows that
 * are alive come one after the other, which is the same for any number of
 * participants.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_build.h"
#include "key/key_run.h"
#include "key/key_spool.h"
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
	const SniiAmPart *part;
	SniiInvProgress progress;
	MemoryContext context;
	MemoryContext row_context;
	SniiKeyBytes bytes;

	SniiMemReporter *mem;
	Size		rows_counted;	/* what core's tuplesort may take */

	/* One of these. */
	SniiKeySpool *spool;		/* keys of class BYTES */
	Tuplesortstate *sort;		/* rows */
	TupleTableSlot *slot;		/* of rows to sort */

	/* The run that is written, and the entry before. */
	SniiKeyRunWriter *run;
	bool		unique;
	bool		nulls_not_distinct;
	SniiKeyBytes last;			/* not for class BYTES */
	uint32		last_len;
	bool		alive;			/* was an entry of its key alive? */
} KeyBuild;

/*
 * Columns of a row that is sorted as such: those of the index, block and offset
 * of the row, is it alive.
 */
#define ROW_BLOCK(b)	((b)->desc->nattrs)
#define ROW_OFFSET(b)	((b)->desc->nattrs + 1)
#define ROW_ALIVE(b)	((b)->desc->nattrs + 2)
#define ROW_COLUMNS(b)	((b)->desc->nattrs + 3)

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
								   nulls_first, (int) (b->part->budget / 1024), NULL,
								   TUPLESORT_NONE);
}

static void
begin_sort(KeyBuild *b)
{
	if (b->desc->all_bytes)
		b->spool = snii_key_spool_begin(b->desc, b->part->budget, b->mem);
	else
	{
		b->rows_counted = b->part->budget;
		snii_mem_reserve(b->mem, b->rows_counted);
		begin_row_sort(b);
	}
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
	snii_key_spool_add(b->spool, &entry, alive);
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

/* Show what was done so far. */
static void
report(KeyBuild *b)
{
	if (b->spool != NULL)
	{
		SniiKeySpoolStats stats;

		snii_key_spool_stats(b->spool, &stats);
		b->progress.runs = stats.nruns;
	}
	snii_inv_progress_report(&b->progress);
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
	MemoryContextSwitchTo(old);
	MemoryContextReset(b->row_context);
	if (++b->progress.documents % SNII_INV_PROGRESS_DOCUMENTS == 0)
		report(b);
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

/* Is the key of an entry that of the one before? */
static inline bool
same_key(const KeyBuild *b, const SniiKeyStream *s)
{
	if (b->last_len == 0)
		return false;
	if (b->desc->all_bytes)
		return s->entry.len == b->last_len &&
			s->shared >= b->last_len - SNII_KEY_TID_BYTES;
	return snii_key_compare_keys(b->desc, b->last.data, b->last_len,
								 s->entry.str, s->entry.len) == 0;
}

/*
 * The next entry in order.  Rows that are dead but were still to be indexed
 * do not conflict.
 */
static inline void
check_unique(KeyBuild *b, const SniiKeyStream *s)
{
	if (!same_key(b, s))
		b->alive = false;
	if (b->alive && s->tag &&
		(b->nulls_not_distinct ||
		 !snii_key_has_null(b->desc, s->entry.str, s->entry.len)))
		report_duplicate(b, &s->entry);
	b->alive |= s->tag;
	b->last_len = s->entry.len;
	if (!b->desc->all_bytes)
	{
		b->last.len = 0;
		snii_key_bytes_add(&b->last, s->entry.str, s->entry.len);
	}
}

/* Write a stream as a run, by way of a slot. */
static void
write_run(KeyBuild *b, SniiKeyStream *s)
{
	SniiObjectWriter *w;
	uint64		n = 0;

	snii_storage_slot_acquire(b->index, SNII_SLOT_FLUSH, true);
	w = snii_storage_writer_begin(b->index, SNII_SLOT_FLUSH);
	b->run = snii_key_run_begin(b->desc, w);
	while (snii_key_stream_next(s))
	{
		if (++n % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (b->unique)
			check_unique(b, s);
		if (b->desc->all_bytes)
			snii_key_run_add_shared(b->run, &s->entry, s->shared);
		else
			snii_key_run_add(b->run, &s->entry);
	}
	n = snii_key_run_finish(b->run);
	if (n > 0)
		snii_lsm_publish(b->index, w, SNII_SLOT_FLUSH, n);
	snii_storage_slot_release(b->index, SNII_SLOT_FLUSH);
}

/* ----------------------------------------------------------------
 *		The rows of one participant
 * ----------------------------------------------------------------
 */

/* Entries of rows that were sorted. */
typedef struct RowStream
{
	SniiKeyStream s;
	KeyBuild   *build;
} RowStream;

static bool
next_of_rows(SniiKeyStream *s)
{
	KeyBuild   *b = ((RowStream *) s)->build;
	TupleTableSlot *slot = b->slot;
	MemoryContext old;
	ItemPointerData tid;

	CHECK_FOR_INTERRUPTS();
	if (!tuplesort_gettupleslot(b->sort, true, false, slot, NULL))
		return false;
	MemoryContextReset(b->row_context);
	old = MemoryContextSwitchTo(b->row_context);
	slot_getallattrs(slot);
	ItemPointerSet(&tid,
				   (BlockNumber) DatumGetInt64(slot->tts_values[ROW_BLOCK(b)]),
				   (OffsetNumber) DatumGetInt32(slot->tts_values[ROW_OFFSET(b)]));
	memset(&b->bytes, 0, sizeof(b->bytes));
	snii_key_encode(b->desc, slot->tts_values, slot->tts_isnull, &b->bytes);
	snii_key_put_tid(&b->bytes, &tid);
	s->entry.len = b->bytes.len;
	snii_key_encode_payload(b->desc, slot->tts_values, slot->tts_isnull,
							&b->bytes);
	s->entry.str = b->bytes.data;
	s->entry.payload = b->bytes.data + s->entry.len;
	s->entry.payload_len = b->bytes.len - s->entry.len;
	s->tag = DatumGetBool(slot->tts_values[ROW_ALIVE(b)]);
	MemoryContextSwitchTo(old);
	return true;
}

static SniiKeyStream *
row_stream(KeyBuild *b)
{
	RowStream  *result = palloc0(sizeof(RowStream));

	result->s.next = next_of_rows;
	result->build = b;
	return &result->s;
}

/* Begin in a memory context of its own, which becomes the current one. */
static void
begin(KeyBuild *b, Relation heap, Relation index, IndexInfo *info,
	  const SniiAmPart *part)
{
	memset(b, 0, sizeof(KeyBuild));
	b->context = AllocSetContextCreate(CurrentMemoryContext, "snii key build",
									   ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(b->context);
	b->row_context = AllocSetContextCreate(b->context, "snii key build row",
										   ALLOCSET_DEFAULT_SIZES);
	b->heap = heap;
	b->index = index;
	b->desc = snii_key_desc(index);
	b->part = part;
	b->mem = snii_mem_reporter_begin(part->place, RelationGetRelid(index),
									 part->budget);
	b->progress.report = snii_am_progress_report;
	b->progress.arg = part->progress;
	b->unique = info->ii_Unique;
	b->nulls_not_distinct = info->ii_NullsNotDistinct;
	snii_key_bytes_reserve(&b->bytes, 2 * SNII_KEY_MAX_ENTRY);
	begin_sort(b);
}

/* Scan and sort; returns the entries.  *share: what it says about the rows. */
static SniiKeyStream *
collect(KeyBuild *b, IndexInfo *info, SniiAmShare *share)
{
	SniiKeySpoolStats stats;

	snii_am_progress_phase(SNII_AM_PHASE_SCAN);
	share->heap_tuples = table_index_build_scan(b->heap, b->index, info, true,
												!IsParallelWorker(),
												build_row, b, b->part->scan);
	share->broken_hot_chain = info->ii_BrokenHotChain;
	report(b);
	snii_am_progress_phase(SNII_AM_PHASE_SORT);
	if (b->spool == NULL)
	{
		tuplesort_performsort(b->sort);
		share->stats.ndocs = b->progress.documents;
		return row_stream(b);
	}
	snii_key_spool_sort(b->spool);
	snii_key_spool_stats(b->spool, &stats);
	share->stats.ndocs = stats.entries;
	share->stats.nruns = stats.nruns;
	share->stats.nforced = stats.nforced;
	share->stats.spilled = stats.spilled;
	share->stats.peak = stats.peak;
	return snii_key_spool_stream(b->spool);
}

/* End, in the memory context that was current at the beginning. */
static void
end(KeyBuild *b, SniiAmShare *share)
{
	MemoryContextSwitchTo(MemoryContextGetParent(b->context));
	if (b->spool != NULL)
		snii_key_spool_end(b->spool);
	if (b->sort != NULL)
		tuplesort_end(b->sort);
	if (b->slot != NULL)
		ExecDropSingleTupleTableSlot(b->slot);
	snii_mem_release(b->mem, b->rows_counted);
	snii_mem_reporter_end(b->mem);
	snii_mem_stats(b->mem, &share->stats.mem);
	MemoryContextDelete(b->context);
}

/* ----------------------------------------------------------------
 *		Builds
 * ----------------------------------------------------------------
 */

static void
send_block(void *arg, uint8 *block, uint32 len)
{
	if (shm_mq_send(arg, len, block, false, false) != SHM_MQ_SUCCESS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the leader of an index build does not take its keys any more")));
}

void
snii_am_key_build_worker(Relation heap, Relation index, IndexInfo *info,
						 const SniiAmPart *part, shm_mq_handle *queue,
						 SniiAmShare *share)
{
	MemoryContext old = CurrentMemoryContext;
	uint8		last = 0;
	KeyBuild	b;

	share->cpu_ms = -snii_am_cpu_ms();
	begin(&b, heap, index, info, part);
	snii_key_stream_write(collect(&b, info, share), send_block, queue);
	end(&b, share);
	MemoryContextSwitchTo(old);
	share->cpu_ms += snii_am_cpu_ms();
	share->cpu_max_ms = share->cpu_ms;
	/* A message of one byte, shorter than any entry, is the end. */
	if (shm_mq_send(queue, sizeof(last), &last, false, true) !=
		SHM_MQ_SUCCESS)
		elog(ERROR, "the leader of an index build has left");
}

/* What the leader gets from a worker. */
typedef struct QueueSource
{
	ParallelContext *workers;
	shm_mq_handle *queue;
} QueueSource;

static const uint8 *
receive_block(void *arg, uint32 *len)
{
	QueueSource *source = arg;
	Size		nbytes;
	void	   *data;

	if (shm_mq_receive(source->queue, &nbytes, &data, false) !=
		SHM_MQ_SUCCESS)
	{
		/* Raises the worker's error, or that it could not be started. */
		WaitForParallelWorkersToFinish(source->workers);
		elog(ERROR, "a worker of an index build ended early");
	}
	if (nbytes == 1)
		return NULL;
	*len = (uint32) nbytes;
	return data;
}

void
snii_am_key_build(Relation heap, Relation index, IndexInfo *info,
				  const SniiAmPart *part, ParallelContext *workers,
				  shm_mq_handle **queues, SniiAmShare *share)
{
	MemoryContext old = CurrentMemoryContext;
	int			n = workers == NULL ? 0 : workers->nworkers_launched;
	SniiKeyStream **inputs;
	KeyBuild	b;

	share->cpu_ms = -snii_am_cpu_ms();
	begin(&b, heap, index, info, part);
	inputs = palloc((n + 1) * sizeof(SniiKeyStream *));
	inputs[n] = collect(&b, info, share);
	for (int i = 0; i < n; i++)
	{
		QueueSource *source = palloc(sizeof(QueueSource));

		source->workers = workers;
		source->queue = queues[i];
		inputs[i] = snii_key_stream_read(receive_block, source);
	}
	snii_am_progress_phase(SNII_AM_PHASE_WRITE);
	write_run(&b, snii_key_stream_merge(b.desc, inputs, n + 1));
	end(&b, share);
	MemoryContextSwitchTo(old);
	share->cpu_ms += snii_am_cpu_ms();
	share->cpu_max_ms = share->cpu_ms;
}
