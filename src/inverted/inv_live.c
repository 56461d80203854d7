/*-------------------------------------------------------------------------
 *
 * inv_live.c
 *	  Statistics of the live documents of a whole index.
 *
 * What a score needs to know of a collection: of each term the documents that
 * have it and how often, and of the column the documents and their length,
 * over all segments and the write buffer, without what VACUUM has marked.
 * (Rows that are dead and not marked yet count: the index does not know of
 * them.)
 *
 * Segments are exact but for documents that died after their side list was
 * written (inv_dead.c); the buffer is exact: each of its records is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "inverted/inv_live.h"
#include "inverted/inv_record.h"
#include "lsm/lsm_buffer.h"
#include "storage/storage_page.h"

/* What is counted. */
typedef struct Live
{
	Relation	index;
	int			column;
	int			nterms;
	const SniiInvTermRef *terms;
	SniiInvAlive *of_terms;
	SniiInvAlive *of_column;
	uint32	   *tf;				/* of each term, in the record at hand */
} Live;

static void
add(SniiInvAlive *sum, SniiInvAlive alive)
{
	sum->ndocs += alive.ndocs;
	sum->ntokens += alive.ntokens;
}

static void
add_segment(Live *live, const SniiDirEntry *entry)
{
	SniiObject *object;
	SniiInvSegment *seg;
	SniiInvDead *dead;

	if (entry->ndead >= entry->ndocs)
		return;
	object = snii_lsm_open_segment(live->index, entry);
	seg = snii_inv_open(object, entry->ndocs);
	dead = snii_inv_dead_open(seg, entry);
	add(live->of_column, snii_inv_dead_column(dead, live->column));
	for (int i = 0; i < live->nterms; i++)
	{
		const SniiInvTermRef *ref = &live->terms[i];
		SniiInvTerm term;

		if (!snii_inv_lookup(seg, live->column, ref->kind, ref->bytes,
							 ref->len, &term))
			continue;
		add(&live->of_terms[i], snii_inv_dead_term(dead, &term));
		snii_inv_term_release(&term);
	}
	snii_inv_dead_close(dead);
	snii_inv_close(seg);
}

static void
sink_column(void *arg, int column, bool isnull, uint32 ntokens)
{
	Live	   *live = arg;

	if (column != live->column || isnull)
		return;
	live->of_column->ndocs += 1;
	live->of_column->ntokens += ntokens;
}

static void
sink_token(void *arg, int column, int kind, const char *bytes, uint32 len,
		   uint32 position)
{
	Live	   *live = arg;

	if (column != live->column)
		return;
	for (int i = 0; i < live->nterms; i++)
	{
		const SniiInvTermRef *ref = &live->terms[i];

		if (ref->len == len && ref->kind == kind &&
			memcmp(ref->bytes, bytes, len) == 0)
			live->tf[i]++;
	}
}

static void
add_stretch(Live *live, const SniiDirEntry *entry)
{
	SniiInvRecordSink sink = {live, sink_column, sink_token};
	SniiBufferScan *scan = snii_lsm_buffer_scan(live->index, entry);
	int			ncolumns = IndexRelationGetNumberOfAttributes(live->index);
	SniiRecord	record;

	while (snii_lsm_buffer_next(scan, &record))
	{
		CHECK_FOR_INTERRUPTS();
		memset(live->tf, 0, live->nterms * sizeof(uint32));
		if (!snii_inv_record_decode(record.data, record.data + record.len,
									ncolumns, &sink))
			snii_storage_corrupted(live->index, InvalidBlockNumber,
								   "record of the write buffer for row (%u,%u) is malformed",
								   ItemPointerGetBlockNumberNoCheck(&record.tid),
								   ItemPointerGetOffsetNumberNoCheck(&record.tid));
		for (int i = 0; i < live->nterms; i++)
		{
			live->of_terms[i].ndocs += live->tf[i] > 0;
			live->of_terms[i].ntokens += live->tf[i];
		}
	}
	snii_lsm_buffer_end(scan);
}

/*
 * Count nterms terms of a column (from 0) in all that a view names: what is
 * alive of each, in of_terms, and of the column, in of_column.  Reads the
 * write buffer whole.
 */
void
snii_inv_live(Relation index, const SniiView *view, int column,
			  const SniiInvTermRef *terms, int nterms,
			  SniiInvAlive *of_terms, SniiInvAlive *of_column)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii statistics",
												  ALLOCSET_DEFAULT_SIZES);
	Live		live = {index, column, nterms, terms, of_terms, of_column};
	MemoryContext old;

	live.tf = palloc((nterms + 1) * sizeof(uint32));
	memset(of_terms, 0, nterms * sizeof(SniiInvAlive));
	memset(of_column, 0, sizeof(SniiInvAlive));
	old = MemoryContextSwitchTo(context);
	for (int i = 0; i < view->nentries; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (view->entries[i].kind == SNII_ENTRY_SEGMENT)
			add_segment(&live, &view->entries[i]);
		else
			add_stretch(&live, &view->entries[i]);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	pfree(live.tf);
}
