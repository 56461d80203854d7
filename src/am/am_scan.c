/*-------------------------------------------------------------------------
 *
 * am_scan.c
 *	  Index scans.
 *
 * Scan keys become conditions of query/, which does the work.  The answer is
 * exact, but for a query whose analyzer is not that of the column: its terms
 * mean nothing to this index, so every row that is not NULL is returned for
 * recheck (the planner is told that this is very expensive).
 *
 * A scan owns two memory contexts: keys, reset by rescan, and the scan of
 * query/ in it.  Pins that a scan holds are released by endscan or with the
 * transaction's resource owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_options.h"
#include "am/am_scan.h"
#include "lsm/lsm_barrier.h"
#include "query/query_scan.h"
#include "query/query_type.h"

#include "access/relscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* TIDs fetched at a time: few at first, for queries with a LIMIT. */
#define FIRST_BATCH	16
#define BATCH		1024

typedef struct ScanState
{
	MemoryContext context;		/* of keys and scan; reset by rescan */
	SniiScan   *scan;			/* NULL before the first fetch */
	SniiBarrier *barrier;		/* NULL: none is needed */
	bool		empty;			/* nothing can match */
	bool		recheck;
	int			nconditions;
	SniiScanCondition *conditions;
	ItemPointerData *tids;		/* fetched ahead */
	int			batch;			/* to fetch next time */
	int			ntids;
	int			next;
} ScanState;

void
snii_am_beginscan(IndexScanDesc scan)
{
	ScanState  *state = palloc0(sizeof(ScanState));

	state->context = AllocSetContextCreate(CurrentMemoryContext, "snii scan",
										   ALLOCSET_DEFAULT_SIZES);
	scan->opaque = state;
}

/* Forget the scan under way, if any. */
static void
stop_scan(ScanState *state)
{
	if (state->scan != NULL)
		snii_query_scan_end(state->scan);
	if (state->barrier != NULL)
		snii_lsm_barrier_leave(state->barrier);
	state->scan = NULL;
	state->barrier = NULL;
	state->batch = FIRST_BATCH;
	state->ntids = state->next = 0;
}

/*
 * A query that matches what any element of an array matches; NULL if there is
 * no element but NULL.  *foreign: one has another analyzer.
 */
static SniiQuery *
any_element(Datum array, const SniiAnalyzer *analyzer, bool *foreign)
{
	ArrayType  *value = DatumGetArrayTypeP(array);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *elements;
	bool	   *nulls;
	SniiQueryNode **nodes;
	uint32		nnodes = 0;
	int			n;

	*foreign = false;
	get_typlenbyvalalign(ARR_ELEMTYPE(value), &typlen, &typbyval, &typalign);
	deconstruct_array(value, ARR_ELEMTYPE(value), typlen, typbyval, typalign,
					  &elements, &nulls, &n);
	nodes = palloc((n + 1) * sizeof(SniiQueryNode *));
	for (int i = 0; i < n; i++)
	{
		SniiQuery  *query;

		if (nulls[i])
			continue;
		query = DatumGetSniiQuery(elements[i]);
		*foreign |= snii_query_analyzer(query) != analyzer;
		nodes[nnodes++] = snii_query_tree(query);
	}
	if (nnodes == 0)
		return NULL;
	return snii_query_make(analyzer, nnodes == 1 ? nodes[0] :
						   snii_query_node_children(SNII_QUERY_OR, nodes,
													nnodes));
}

/*
 * One scan key to one condition; false if it adds none.
 */
static bool
make_condition(ScanState *state, const ScanKeyData *key,
			   const SniiAnalyzer **analyzers, SniiScanCondition *condition)
{
	int			column = key->sk_attno - 1;
	SniiQuery  *query;
	bool		foreign;

	condition->column = column;
	condition->query = NULL;
	if (key->sk_flags & SK_SEARCHNULL)
	{
		condition->type = SNII_CONDITION_NULL;
		return true;
	}
	if (key->sk_flags & SK_SEARCHNOTNULL)
	{
		condition->type = SNII_CONDITION_NOT_NULL;
		return true;
	}
	if (key->sk_flags & SK_ISNULL)
	{
		/* The operator is strict. */
		state->empty = true;
		return false;
	}
	if (key->sk_flags & SK_SEARCHARRAY)
	{
		query = any_element(key->sk_argument, analyzers[column], &foreign);
		if (query == NULL)
		{
			state->empty = true;
			return false;
		}
	}
	else
	{
		query = DatumGetSniiQuery(key->sk_argument);
		foreign = snii_query_analyzer(query) != analyzers[column];
	}
	if (foreign)
	{
		condition->type = SNII_CONDITION_NOT_NULL;
		state->recheck = true;
		return true;
	}
	condition->type = SNII_CONDITION_MATCH;
	condition->query = query;
	return true;
}

void
snii_am_rescan(IndexScanDesc scan, ScanKey keys)
{
	ScanState  *state = scan->opaque;
	const SniiAnalyzer *analyzers[SNII_MAX_COLUMNS];
	MemoryContext old;

	stop_scan(state);
	MemoryContextReset(state->context);
	state->empty = state->recheck = false;
	state->tids = NULL;
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys,
				scan->numberOfKeys * sizeof(ScanKeyData));

	old = MemoryContextSwitchTo(state->context);
	snii_am_analyzers(scan->indexRelation, analyzers);
	state->conditions = palloc((scan->numberOfKeys + 1) *
							   sizeof(SniiScanCondition));
	state->nconditions = 0;
	for (int i = 0; i < scan->numberOfKeys; i++)
		if (make_condition(state, &scan->keyData[i], analyzers,
						   &state->conditions[state->nconditions]))
			state->nconditions++;
	MemoryContextSwitchTo(old);
}

/*
 * Begin to read: the view of the index is taken here, under the caller's
 * snapshot.  One that is not MVCC would see a row that came to the place of
 * another one: such a scan holds a barrier, from before it reads anything to
 * its end.  No cursor of SQL has such a snapshot, so that nobody leaves it idle.
 */
static void
start_scan(IndexScanDesc scan)
{
	ScanState  *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	/* The planner was told not to (am_cost.c): each would return all rows. */
	if (scan->parallel_scan != NULL)
		elog(ERROR, "index \"%s\" cannot be scanned in parallel",
			 RelationGetRelationName(scan->indexRelation));
	if (scan->xs_snapshot != NULL && !IsMVCCSnapshot(scan->xs_snapshot))
	{
		state->barrier = snii_lsm_barrier_create(scan->indexRelation, true);
		(void) snii_lsm_barrier_enter(state->barrier);
	}
	pgstat_count_index_scan(scan->indexRelation);
	if (scan->xs_snapshot != NULL)
		PredicateLockRelation(scan->indexRelation, scan->xs_snapshot);
	state->scan = snii_query_scan_begin(scan->indexRelation,
										state->conditions,
										state->nconditions);
	MemoryContextSwitchTo(old);
}

bool
snii_am_gettuple(IndexScanDesc scan, ScanDirection dir)
{
	ScanState  *state = scan->opaque;

	if (state->empty)
		return false;
	if (state->scan == NULL)
		start_scan(scan);
	if (state->next >= state->ntids)
	{
		MemoryContext old = MemoryContextSwitchTo(state->context);

		if (state->tids == NULL)
			state->tids = palloc(BATCH * sizeof(ItemPointerData));
		state->ntids = snii_query_scan_next(state->scan, state->tids,
											state->batch);
		state->batch = Min(2 * state->batch, BATCH);
		state->next = 0;
		MemoryContextSwitchTo(old);
		if (state->ntids == 0)
		{
			if (state->barrier != NULL)
				snii_lsm_barrier_leave(state->barrier);
			return false;
		}
	}
	scan->xs_heaptid = state->tids[state->next++];
	scan->xs_recheck = state->recheck;
	return true;
}

/* All rows of the scan into a bitmap, to be rechecked. */
static int64
recheck_bitmap(ScanState *state, TIDBitmap *tbm)
{
	ItemPointerData *tids = palloc(BATCH * sizeof(ItemPointerData));
	int64		total = 0;
	int			n;

	while ((n = snii_query_scan_next(state->scan, tids, BATCH)) > 0)
	{
		tbm_add_tuples(tbm, tids, n, true);
		total += n;
	}
	pfree(tids);
	return total;
}

int64
snii_am_getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	ScanState  *state = scan->opaque;
	MemoryContext old;
	int64		n;

	if (state->empty)
		return 0;
	if (state->scan == NULL)
		start_scan(scan);
	old = MemoryContextSwitchTo(state->context);
	if (state->recheck)
		n = recheck_bitmap(state, tbm);
	else
		n = snii_query_scan_bitmap(state->scan, tbm);
	MemoryContextSwitchTo(old);
	return n;
}

void
snii_am_endscan(IndexScanDesc scan)
{
	ScanState  *state = scan->opaque;

	stop_scan(state);
	MemoryContextDelete(state->context);
	pfree(state);
	scan->opaque = NULL;
}
