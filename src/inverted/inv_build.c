/*-------------------------------------------------------------------------
 *
 * inv_build.c
 *	  Build of one segment from documents: CREATE INDEX and flush.
 *
 * A builder analyses documents, or takes the tokens of write buffer records,
 * into a term buffer; over budget that becomes a run in the spool.  TIDs and
 * lengths go to the segment as documents end; the terms go there at the end,
 * from the buffer if it never spilled, else from the merged runs.  Either
 * way the segment is the same, byte for byte.
 *
 * All state is in the builder: a parallel build has one in each participant
 * (am_parallel.c).
 *
 * Budget: the term buffer gets the budget but for what a spill needs beside
 * it (SPILL_WORKSPACE, or a quarter of a small budget).  It is written as a
 * run when it is full, when it and the lengths of the documents are above the
 * budget, or when the limiter asks for it; the last two at the end of a
 * document and never below a floor, so that runs are large.  A merge happens
 * after the buffer is gone and has snii.merge_workspace, or the budget if
 * that is less.  Everything is counted in one reporter; outside of the budget,
 * but counted, is one large document.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "inverted/inv_build.h"
#include "inverted/inv_pump.h"
#include "inverted/inv_record.h"
#include "inverted/inv_run.h"
#include "inverted/inv_writer.h"
#include "memory/mem_shared.h"
#include "storage/storage_meta.h"
#include "storage/storage_object.h"
#include "storage/storage_page.h"
#include "text/text_analyzer.h"
#include "text/text_term.h"

/*
 * Compressor (about 600 kB) and buffers of a spill, and the fixed part of the
 * segment writer.
 */
#define SPILL_WORKSPACE		((Size) 4 * 1024 * 1024)

/* Values that are counted while they are read. */
#define VALUE_COUNTED		((Size) 1024 * 1024)

/* Bytes of postings that are taken from the term buffer at a time. */
#define PUMP_BYTES			(16 * 1024)

struct SniiInvBuilder
{
	Relation	index;
	MemoryContext context;		/* parent of buffer and spool */
	SniiInvWriter *writer;
	SniiSpimi  *spimi;
	SniiInvSpool *spool;		/* NULL: nothing was spilled */
	SniiMemReporter *mem;
	Size		budget;
	Size		value;			/* bytes of the large value under way */
	int			ncolumns;
	const SniiAnalyzer *analyzers[SNII_MAX_COLUMNS];
	SniiInvBuildStats stats;
	SniiInvProgress progress;
	uint64		bytes_reported;

	/* document under way */
	bool		in_doc;
	ItemPointerData tid;
	int			column;			/* of the tokens that are coming */
	uint32		lengths[SNII_MAX_COLUMNS];
	bool		nulls[SNII_MAX_COLUMNS];
};

/* ---------------- memory ---------------- */

/* SniiMemoryHook.grow */
static void
buffer_grows(void *arg, Size bytes)
{
	snii_mem_reserve(arg, bytes);
}

/* SniiMemoryHook.shrink */
static void
buffer_shrinks(void *arg, Size bytes)
{
	snii_mem_release(arg, bytes);
}

/* SniiMemoryHook.arena */
static void
arena_changes(void *arg, Size bytes)
{
	snii_mem_arena(arg, bytes);
}

/*
 * A value of that many bytes is about to be read, for the column that comes
 * next.  Large ones have a line of their own in the account, from here to the
 * end of the document.
 */
void
snii_inv_builder_value(SniiInvBuilder *b, Size bytes)
{
	if (bytes < VALUE_COUNTED)
		return;
	snii_mem_reserve(b->mem, bytes);
	b->value += bytes;
}

/*
 * Begin a build of a segment into object w, in the current memory context.
 * analyzers has the id of each column's analyzer; budget is in bytes; place
 * is where the limiter is (see snii_mem_reporter_begin()).
 */
SniiInvBuilder *
snii_inv_builder_begin(Relation index, SniiObjectWriter *w, int ncolumns,
					   const uint8 *analyzers, Size budget,
					   const SniiMemPlace *place)
{
	SniiInvBuilder *b = palloc0(sizeof(SniiInvBuilder));
	Size		workspace = Min(budget / 4, SPILL_WORKSPACE);
	SniiMemoryHook hook = {NULL, buffer_grows, buffer_shrinks, arena_changes};

	b->index = index;
	b->context = CurrentMemoryContext;
	b->budget = budget;
	b->ncolumns = ncolumns;
	for (int i = 0; i < ncolumns; i++)
	{
		b->analyzers[i] = snii_text_analyzer_by_id(analyzers[i]);
		if (b->analyzers[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index \"%s\" uses analyzer %d, which this version does not have",
							RelationGetRelationName(index), analyzers[i])));
	}
	b->mem = snii_mem_reporter_begin(place, RelationGetRelid(index), budget);
	hook.arg = b->mem;
	b->writer = snii_inv_writer_begin(index, w, ncolumns, analyzers, 1);
	snii_inv_writer_account(b->writer, b->mem);
	b->spimi = snii_inv_spimi_create(budget - workspace,
									 b->mem != NULL ? &hook : NULL);
	return b;
}

void
snii_inv_builder_report(SniiInvBuilder *b,
						void (*report) (void *arg, const SniiInvProgress *p),
						void *arg)
{
	b->progress.report = report;
	b->progress.arg = arg;
}

/* ---------------- documents ---------------- */

/*
 * Begin the next document.  Columns that are not given until its end are
 * NULL.
 */
void
snii_inv_builder_begin_doc(SniiInvBuilder *b, const ItemPointerData *tid)
{
	snii_storage_poll();
	Assert(!b->in_doc);
	if (b->stats.ndocs > SNII_INV_DOC_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a segment cannot hold more than %u documents",
						SNII_INV_DOC_MAX)));
	b->in_doc = true;
	b->tid = *tid;
	for (int i = 0; i < b->ncolumns; i++)
	{
		b->lengths[i] = 0;
		b->nulls[i] = true;
	}
	snii_inv_spimi_begin_doc(b->spimi, (uint32) b->stats.ndocs);
}

/* Write the buffer as a run; the document under way goes on in the next. */
static pg_noinline void
spill(SniiInvBuilder *b, bool forced)
{
	Size		used = snii_inv_spimi_used(b->spimi);

	if (b->spool == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(b->context);

		b->spool = snii_inv_spool_create(Min(b->budget,
											 (Size) snii_mem_merge_workspace_kb *
											 1024),
										 b->mem, &b->progress);
		MemoryContextSwitchTo(old);
	}
	b->stats.peak = Max(b->stats.peak, used);
	b->stats.nruns++;
	b->stats.nforced += forced;
	/* who asked for it needs the memory; else the next run does */
	snii_inv_spool_spill(b->spool, b->spimi,
						 !forced && snii_mem_recycle_blocks);
	snii_mem_spilled(b->mem, forced);
	b->progress.runs++;
	snii_inv_progress_report(&b->progress);
	if (b->in_doc)
		snii_inv_spimi_begin_doc(b->spimi, (uint32) b->stats.ndocs);
}

/*
 * Others need memory: give back the blocks that wait for use, and spill if
 * what is left makes a run.
 */
static pg_noinline void
yield_memory(SniiInvBuilder *b)
{
	snii_inv_spimi_trim(b->spimi);
	if (snii_mem_spill_wanted(b->mem))
		spill(b, true);
	else
		snii_mem_yielded(b->mem);
}

static inline void
add_term(SniiInvBuilder *b, int column, int kind, const char *bytes,
		 uint32 len, uint32 position)
{
	snii_inv_spimi_token(b->spimi, column, kind, bytes, len, position);
	if (unlikely(snii_inv_spimi_should_spill(b->spimi)))
		spill(b, false);
}

/* SniiTokenSink */
static void
text_token(void *arg, const char *bytes, uint32 len, uint32 position,
		   uint32 start, uint32 end)
{
	SniiInvBuilder *b = arg;

	if (likely(len <= SNII_TERM_MAX))
		add_term(b, b->column, SNII_TERM_PLAIN, bytes, len, position);
	else
	{
		uint8		buf[SNII_TERM_MAX];
		const char *term;
		uint32		term_len;
		int			kind = snii_text_term(bytes, len, buf, &term, &term_len);

		add_term(b, b->column, kind, term, term_len, position);
	}
}

/* The text of a column of the document. */
void
snii_inv_builder_text(SniiInvBuilder *b, int column, const char *text,
					  size_t len)
{
	Assert(b->in_doc && column >= 0 && column < b->ncolumns);
	b->column = column;
	b->nulls[column] = false;
	b->lengths[column] = snii_text_analyze(b->analyzers[column], text, len,
										   text_token, b);
	b->stats.ntokens += b->lengths[column];
	b->progress.bytes += len;
}

/* A column of the document is NULL. */
void
snii_inv_builder_null(SniiInvBuilder *b, int column)
{
	Assert(b->in_doc && column >= 0 && column < b->ncolumns);
	b->nulls[column] = true;
	b->lengths[column] = 0;
}

/* SniiInvRecordSink */
static void
record_column(void *arg, int column, bool isnull, uint32 ntokens)
{
	SniiInvBuilder *b = arg;

	b->nulls[column] = isnull;
	b->lengths[column] = ntokens;
	b->stats.ntokens += ntokens;
}

/* SniiInvRecordSink */
static void
record_token(void *arg, int column, int kind, const char *bytes, uint32 len,
			 uint32 position)
{
	add_term(arg, column, kind, bytes, len, position);
}

/* All columns of the document, as the write buffer has them. */
void
snii_inv_builder_record(SniiInvBuilder *b, const SniiRecord *record)
{
	SniiInvRecordSink sink = {b, record_column, record_token};

	Assert(b->in_doc);
	b->progress.bytes += record->len;
	if (!snii_inv_record_decode(record->data, record->data + record->len,
								b->ncolumns, &sink))
		snii_storage_corrupted(b->index, InvalidBlockNumber,
							   "record of row (%u,%u) is malformed",
							   ItemPointerGetBlockNumberNoCheck(&record->tid),
							   ItemPointerGetOffsetNumberNoCheck(&record->tid));
}

/*
 * Are the buffer and what the writer keeps of the documents above the budget,
 * and would a spill free a quarter of it?
 */
static inline bool
over_budget(const SniiInvBuilder *b)
{
	Size		kept = snii_inv_writer_memory(b->writer);

	return kept >= b->budget / 16 &&
		snii_inv_spimi_used(b->spimi) + kept >= b->budget &&
		snii_inv_spimi_spillable(b->spimi) >= b->budget / 4;
}

void
snii_inv_builder_end_doc(SniiInvBuilder *b)
{
	Assert(b->in_doc);
	snii_inv_writer_doc(b->writer, &b->tid, b->lengths, b->nulls);
	b->in_doc = false;
	b->stats.ndocs++;
	b->progress.documents++;
	if (unlikely(b->progress.documents % SNII_INV_PROGRESS_DOCUMENTS == 0 ||
				 b->progress.bytes - b->bytes_reported >=
				 SNII_INV_PROGRESS_BYTES))
	{
		b->bytes_reported = b->progress.bytes;
		snii_inv_progress_report(&b->progress);
	}
	if (unlikely(b->value > 0))
	{
		snii_mem_release(b->mem, b->value);
		b->value = 0;
	}
	if (unlikely(snii_mem_spill_wanted(b->mem)))
		yield_memory(b);
	else if (unlikely(over_budget(b)))
		spill(b, false);
}

/* ---------------- terms ---------------- */

/* Write one term of the buffer to the segment. */
static void
write_term(SniiInvBuilder *b, SniiInvPump *pump, SniiSpimiTerm *term,
		   uint8 *buf)
{
	size_t		n;

	snii_inv_pump_term(pump, term->column, term->kind, term->bytes,
					   term->len);
	snii_inv_pump_fragment(pump, snii_inv_spimi_base(b->spimi));
	while ((n = snii_inv_spimi_read(b->spimi, term, buf, PUMP_BYTES)) > 0)
	{
		snii_storage_poll();
		if (!snii_inv_pump_bytes(pump, buf, n))
			elog(ERROR, "snii term buffer has malformed postings");
	}
	if (!snii_inv_pump_end_fragment(pump))
		elog(ERROR, "snii term buffer has malformed postings");
	snii_inv_pump_end_term(pump);
}

/* Write all terms from the buffer. */
static void
write_buffer(SniiInvBuilder *b)
{
	SniiInvPump pump;
	SniiSpimiTerm term;
	uint8	   *buf = palloc(PUMP_BYTES);

	snii_inv_pump_init(&pump, b->writer);
	snii_inv_spimi_sort(b->spimi);
	snii_inv_progress_pass(&b->progress, snii_inv_spimi_terms(b->spimi));
	while (snii_inv_spimi_next(b->spimi, &term))
	{
		write_term(b, &pump, &term, buf);
		snii_inv_progress_term(&b->progress);
	}
	pfree(buf);
}

/*
 * Write everything that is pending; returns the number of documents.  The
 * object itself is finished by the caller, and the builder's memory is freed
 * with its context.
 */
uint64
snii_inv_builder_finish(SniiInvBuilder *b)
{
	uint64		ndocs;

	Assert(!b->in_doc);
	/* No spill can be asked for any more. */
	snii_mem_arena(b->mem, 0);
	if (b->spool == NULL)
	{
		write_buffer(b);
		b->stats.peak = snii_inv_spimi_used(b->spimi);
		snii_inv_spimi_destroy(b->spimi);
	}
	else
	{
		if (snii_inv_spimi_tokens(b->spimi) > 0)
			spill(b, false);
		snii_inv_spimi_destroy(b->spimi);
		b->stats.spilled = snii_inv_spool_bytes(b->spool);
		snii_inv_spool_merge(b->spool, b->writer);
		snii_inv_spool_destroy(b->spool);
		b->spool = NULL;
	}
	b->spimi = NULL;
	snii_inv_progress_report(&b->progress);
	ndocs = snii_inv_writer_finish(b->writer);
	snii_mem_reporter_end(b->mem);
	snii_mem_stats(b->mem, &b->stats.mem);
	return ndocs;
}

/* What was done; complete after snii_inv_builder_finish(). */
void
snii_inv_builder_stats(const SniiInvBuilder *b, SniiInvBuildStats *stats)
{
	*stats = b->stats;
}

/* SniiKind.build: a segment of the records of the write buffer. */
uint64
snii_inv_kind_build(Relation index, SniiObjectWriter *w,
					SniiRecordSource *source)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii inverted build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiMetaPage meta;
	SniiInvBuilder *b;
	SniiRecord	record;
	uint64		ndocs;

	snii_storage_meta_read(index, &meta);
	b = snii_inv_builder_begin(index, w, meta.ncolumns, meta.column_analyzer,
							   (Size) maintenance_work_mem * 1024, NULL);
	while (source->next(source, &record))
	{
		snii_inv_builder_begin_doc(b, &record.tid);
		snii_inv_builder_record(b, &record);
		snii_inv_builder_end_doc(b);
	}
	ndocs = snii_inv_builder_finish(b);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ndocs;
}
