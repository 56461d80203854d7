/*-------------------------------------------------------------------------
 *
 * query_scan.c
 *	  A scan of a whole inverted index: TIDs that meet all conditions.
 *
 * The scan goes through one view of the directory, taken when the first
 * TIDs are asked for: segment by segment with compiled iterators, then the
 * stretches of the write buffer, as far as this backend has indexed them by
 * their terms (query_memory.c), and the rest record by record with the row
 * matcher.  Its answer is exact: no recheck is needed.  Documents that are marked dead are
 * left out.  A document is in one place of the view only, so no TID comes
 * twice.
 *
 * The caller holds a snapshot that was taken before the first call of
 * snii_query_scan_next() and keeps it until the end: see lsm_view.h.
 *
 * Between calls no lock is held.  Pins are kept: that of the view, and of the
 * pages that the iterators of the segment at hand stand on: two or three for
 * each term of the query, some hundreds at most (see query_compile.c).  They
 * stand in nobody's way: VACUUM sets marks under a lock that needs no
 * cleanup, and what the view names is not recycled while its pin is held.
 *
 * Memory: the view, the queries, and for the segment at hand what iterators
 * need, freed when the scan goes on to the next one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_scan.h"

#include "inverted/inv_cache.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_record.h"
#include "inverted/inv_segment.h"
#include "lsm/lsm_buffer.h"
#include "lsm/lsm_view.h"
#include "miscadmin.h"
#include "query/query_marks.h"
#include "query/query_match.h"
#include "query/query_memory.h"
#include "storage/storage_page.h"
#include "utils/memutils.h"

struct SniiScan
{
	Relation	index;
	MemoryContext context;		/* of the scan */
	MemoryContext set_context;	/* of conditions and view */
	MemoryContext entry_context;	/* of the segment or stretch at hand */

	int			nconditions;
	SniiCondition *conditions;
	SniiQuery **queries;		/* NULL for those that match no query */
	SniiMatcher **matchers;		/* of the queries; NULL: not needed so far */
	SniiInvTermFilter *filter;	/* of all matchers */
	bool		use_memory;		/* what is indexed of the write buffer */

	SniiView   *view;			/* NULL until the first call of next() */
	int			entry;			/* of the view; nentries at the end */
	SniiInvSegment *segment;
	SniiIter   *iter;
	SniiMemoryHits hits;		/* of the stretch; n is 0 if not used */
	SniiBufferScan *buffer;		/* its records, or the rest of them */

	/* The record at hand. */
	int			ncolumns;
	bool		nulls[SNII_MAX_COLUMNS];
};

/* ----------------
 *		Beginning and end
 * ----------------
 */

/* Leave the segment or stretch at hand. */
static void
leave_entry(SniiScan *scan)
{
	if (scan->iter != NULL)
		snii_query_iter_close(scan->iter);
	if (scan->segment != NULL)
		snii_inv_close(scan->segment);
	if (scan->buffer != NULL)
		snii_lsm_buffer_end(scan->buffer);
	scan->iter = NULL;
	scan->segment = NULL;
	scan->buffer = NULL;
	scan->hits.n = scan->hits.next = 0;
	MemoryContextReset(scan->entry_context);
}

/* Copy a query into the current context. */
static SniiQuery *
copy_query(const SniiQuery *query)
{
	SniiQuery  *copy = palloc(VARSIZE(query));

	memcpy(copy, query, VARSIZE(query));
	return copy;
}

/*
 * Begin a scan, in a context below the current one.  Reads nothing yet.
 */
SniiScan *
snii_query_scan_begin(Relation index, const SniiScanCondition *conditions,
					  int nconditions)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii scan",
												  ALLOCSET_SMALL_SIZES);
	SniiScan   *scan = MemoryContextAllocZero(context, sizeof(SniiScan));

	scan->index = index;
	scan->context = context;
	scan->set_context = AllocSetContextCreate(context, "snii scan conditions",
											  ALLOCSET_SMALL_SIZES);
	scan->entry_context = AllocSetContextCreate(context, "snii scan segment",
												ALLOCSET_DEFAULT_SIZES);
	scan->ncolumns = IndexRelationGetNumberOfAttributes(index);
	snii_query_scan_rescan(scan, conditions, nconditions);
	return scan;
}

/* Let go of the view, after whatever was read of it. */
static void
leave_view(SniiScan *scan)
{
	if (scan->view != NULL)
		snii_lsm_view_release(scan->view);
	scan->view = NULL;
}

/*
 * Begin anew, with other conditions and a new view.
 */
void
snii_query_scan_rescan(SniiScan *scan, const SniiScanCondition *conditions,
					   int nconditions)
{
	MemoryContext old;

	leave_entry(scan);
	leave_view(scan);
	MemoryContextReset(scan->set_context);
	scan->entry = 0;

	old = MemoryContextSwitchTo(scan->set_context);
	scan->nconditions = nconditions;
	scan->conditions = palloc0(nconditions * sizeof(SniiCondition));
	scan->queries = palloc0(nconditions * sizeof(SniiQuery *));
	scan->matchers = NULL;
	scan->filter = NULL;
	for (int i = 0; i < nconditions; i++)
	{
		SniiCondition *c = &scan->conditions[i];

		c->column = conditions[i].column;
		c->type = conditions[i].type;
		if (c->type == SNII_CONDITION_MATCH)
		{
			scan->queries[i] = copy_query(conditions[i].query);
			c->tree = snii_query_tree(scan->queries[i]);
		}
	}
	scan->use_memory = snii_query_memory_suits(scan->conditions, nconditions);
	MemoryContextSwitchTo(old);
}

void
snii_query_scan_end(SniiScan *scan)
{
	leave_entry(scan);
	leave_view(scan);
	MemoryContextDelete(scan->context);
}

/* ----------------
 *		Segments
 * ----------------
 */
static void
enter_segment(SniiScan *scan, const SniiDirEntry *entry)
{
	SniiObject *object;
	SniiIter   *dead = NULL;

	if (entry->ndocs == 0)
		return;
	object = snii_lsm_open_segment(scan->index, entry);
	scan->segment = snii_inv_open(object, entry->ndocs);
	if (entry->ndead > 0)
		dead = snii_query_marks(object, (uint32) entry->ndocs,
								(double) entry->ndead);
	scan->iter = snii_query_compile(scan->segment, scan->conditions,
									scan->nconditions, dead);
}

/* The next TIDs of the segment at hand; 0 at its end. */
static int
next_of_segment(SniiScan *scan, ItemPointerData *tids, int max)
{
	uint32		docs[SNII_ITER_BATCH];
	int			n;

	n = snii_query_iter_next_batch(scan->iter, docs, max);
	snii_inv_tids(scan->segment, docs, n, tids);
	return n;
}

/* ----------------
 *		Write buffer
 * ----------------
 */
static void
sink_column(void *arg, int column, bool isnull, uint32 ntokens)
{
	((SniiScan *) arg)->nulls[column] = isnull;
}

static void
sink_token(void *arg, int column, int kind, const char *bytes, uint32 len,
		   uint32 position)
{
	SniiScan   *scan = arg;

	for (int i = 0; i < scan->nconditions; i++)
	{
		if (scan->conditions[i].column == column && scan->matchers[i] != NULL)
			snii_query_matcher_token(scan->matchers[i], kind, bytes, len,
									 position);
	}
}

static bool
condition_holds(SniiScan *scan, int i)
{
	bool		null = scan->nulls[scan->conditions[i].column];

	switch (scan->conditions[i].type)
	{
		case SNII_CONDITION_NULL:
			return null;
		case SNII_CONDITION_NOT_NULL:
			return !null;
		case SNII_CONDITION_MATCH:
			return !null && snii_query_matcher_result(scan->matchers[i]);
	}
	return false;
}

/* Does a record meet all conditions? */
static bool
record_matches(SniiScan *scan, const SniiRecord *record)
{
	SniiInvRecordSink sink = {
		.arg = scan,
		.begin_column = sink_column,
		.token = sink_token,
		.filter = scan->filter
	};

	if (scan->nconditions == 0)
		return true;
	for (int i = 0; i < scan->nconditions; i++)
	{
		if (scan->matchers[i] != NULL)
			snii_query_matcher_reset(scan->matchers[i]);
	}
	if (!snii_inv_record_decode(record->data, record->data + record->len,
								scan->ncolumns, &sink))
		snii_storage_corrupted(scan->index, InvalidBlockNumber,
							   "record of the write buffer for row (%u,%u) is malformed",
							   ItemPointerGetBlockNumberNoCheck(&record->tid),
							   ItemPointerGetOffsetNumberNoCheck(&record->tid));
	for (int i = 0; i < scan->nconditions; i++)
	{
		if (!condition_holds(scan, i))
			return false;
	}
	return true;
}

/* Make the matchers, unless it was done. */
static void
make_matchers(SniiScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->set_context);
	SniiMatcher **matchers;

	if (scan->matchers == NULL)
	{
		matchers = palloc0(scan->nconditions * sizeof(SniiMatcher *));
		scan->filter = palloc0(sizeof(SniiInvTermFilter));
		for (int i = 0; i < scan->nconditions; i++)
		{
			if (scan->queries[i] == NULL)
				continue;
			matchers[i] = snii_query_matcher_create(scan->queries[i],
													scan->set_context);
			snii_query_matcher_filter(matchers[i], scan->filter);
		}
		scan->matchers = matchers;
	}
	MemoryContextSwitchTo(old);
}

/*
 * Search a stretch, as far as it is indexed, and begin to read what is not.
 */
static void
enter_stretch(SniiScan *scan, const SniiDirEntry *entry)
{
	const SniiInvStretch *stretch = NULL;
	bool		rest = true;

	if (scan->use_memory)
		stretch = snii_inv_cache_stretch(scan->index, entry, &rest);
	if (stretch != NULL)
		snii_query_memory_find(stretch, entry->id, scan->conditions,
							   scan->nconditions, &scan->hits);
	if (stretch != NULL && !rest)
		return;
	make_matchers(scan);
	if (stretch != NULL)
		scan->buffer = snii_lsm_buffer_rest(scan->index, entry,
											&scan->hits.mark);
	else
		scan->buffer = snii_lsm_buffer_scan(scan->index, entry);
}

/* The next TIDs of the stretch at hand; 0 at its end. */
static int
next_of_stretch(SniiScan *scan, ItemPointerData *tids, int max)
{
	SniiRecord	record;
	int			n;

	n = snii_query_memory_next(scan->index, &scan->hits, tids, max);
	if (n > 0 || scan->buffer == NULL)
		return n;
	while (n < max && snii_lsm_buffer_next(scan->buffer, &record))
	{
		CHECK_FOR_INTERRUPTS();
		if (record_matches(scan, &record))
			tids[n++] = record.tid;
	}
	return n;
}

/* ----------------
 *		The scan
 * ----------------
 */

/* Enter the next segment or stretch of the view. */
static void
enter_entry(SniiScan *scan)
{
	const SniiDirEntry *entry = &scan->view->entries[scan->entry];

	CHECK_FOR_INTERRUPTS();
	if (entry->kind == SNII_ENTRY_SEGMENT)
		enter_segment(scan, entry);
	else
		enter_stretch(scan, entry);
}

static void
take_view(SniiScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->set_context);

	scan->view = snii_lsm_view(scan->index, false);
	scan->entry = -1;
	snii_inv_cache_begin(scan->index, scan->view);
	MemoryContextSwitchTo(old);
}

/*
 * The next TIDs, at most max of them; 0 at the end only.  A caller that may
 * not need all of them begins with a small max.
 */
int
snii_query_scan_next(SniiScan *scan, ItemPointerData *tids, int max)
{
	MemoryContext old;
	int			n = 0;

	if (scan->view == NULL)
		take_view(scan);
	old = MemoryContextSwitchTo(scan->entry_context);
	for (;;)
	{
		if (scan->iter != NULL)
			n = next_of_segment(scan, tids, max);
		else
			n = next_of_stretch(scan, tids, max);
		if (n > 0 || scan->entry == scan->view->nentries)
			break;
		leave_entry(scan);
		if (++scan->entry < scan->view->nentries)
			enter_entry(scan);
	}
	MemoryContextSwitchTo(old);
	return n;
}

/*
 * Add all TIDs to a bitmap; returns their number.
 */
int64
snii_query_scan_bitmap(SniiScan *scan, TIDBitmap *tbm)
{
	ItemPointerData tids[SNII_ITER_BATCH];
	int64		ntids = 0;
	int			n;

	while ((n = snii_query_scan_next(scan, tids, SNII_ITER_BATCH)) > 0)
	{
		tbm_add_tuples(tbm, tids, n, false);
		ntids += n;
	}
	return ntids;
}
