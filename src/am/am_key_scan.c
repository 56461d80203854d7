/*-------------------------------------------------------------------------
 *
 * am_key_scan.c
 *	  Scans of key indexes.
 *
 * Scan keys become an interval of key/ and conditions that are tested on
 * entries.  Arrays (= ANY) are sorted, and every combination of their elements
 * is an interval of its own, in the order of the index; so the rows come in
 * order, forward and backward.  That holds as long as the columns before an
 * array's have one value at a time; behind a column without = an array is
 * tested on entries, too.
 *
 * A scan owns two memory contexts: keys, reset by rescan, and one for the
 * row at hand.  Pins that a scan holds are released by endscan or with the
 * transaction's resource owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_scan.h"
#include "key/key_scan.h"
#include "lsm/lsm_barrier.h"
#include "lsm/lsm_view.h"

#include "access/nbtree.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* A scan key that stands for every element of an array. */
typedef struct ArrayKey
{
	int			key;			/* in keys */
	Oid			type;			/* of the elements, as the family knows it */
	int			nelements;
	int			current;
	Datum	   *elements;		/* in the order of the index */
	bool		tested;			/* on entries; has no element at hand */
	FmgrInfo	compare;		/* tested: of a value and an element */
} ArrayKey;

typedef struct KeyScanState
{
	MemoryContext context;		/* of keys and scan; reset by rescan */
	MemoryContext row_context;	/* of the row at hand */
	MemoryContext view_context; /* of view and scan */
	SniiBarrier *barrier;		/* NULL: the snapshot is enough */
	SniiKeyDesc *desc;
	SniiView   *view;			/* NULL before the first fetch */
	SniiKeyScan *scan;
	bool		empty;			/* nothing can match */
	int			nkeys;
	ScanKey		keys;			/* arrays: with the element at hand */
	int			narrays;
	ArrayKey   *arrays;			/* by column */

	/* The interval at hand, if positioned. */
	bool		positioned;
	MemoryContext interval_context;
	SniiKeyInterval interval;
	Datum	   *values;			/* of the entry at hand, if they were needed */
	bool	   *isnull;
	const SniiKeyEntry *entry;	/* at hand, NULL: none */

	/* What markpos noted. */
	bool		has_mark;
	SniiKeyBytes mark;
	int		   *mark_elements;
} KeyScanState;

void
snii_am_key_beginscan(IndexScanDesc scan)
{
	KeyScanState *state = palloc0(sizeof(KeyScanState));

	state->context = AllocSetContextCreate(CurrentMemoryContext,
										   "snii key scan",
										   ALLOCSET_DEFAULT_SIZES);
	state->row_context = AllocSetContextCreate(CurrentMemoryContext,
											   "snii key scan row",
											   ALLOCSET_SMALL_SIZES);
	state->view_context = AllocSetContextCreate(CurrentMemoryContext,
												"snii key scan view",
												ALLOCSET_DEFAULT_SIZES);
	state->interval_context = AllocSetContextCreate(CurrentMemoryContext,
													"snii key interval",
													ALLOCSET_SMALL_SIZES);
	scan->xs_itupdesc = RelationGetDescr(scan->indexRelation);
	scan->opaque = state;
}

static void
close_view(KeyScanState *state)
{
	if (state->scan != NULL)
		snii_key_scan_end(state->scan);
	if (state->view != NULL)
		snii_lsm_view_release(state->view);
	state->scan = NULL;
	state->view = NULL;
	MemoryContextReset(state->view_context);
}

/* Forget the scan under way, if any. */
static void
stop_scan(KeyScanState *state)
{
	close_view(state);
	if (state->barrier != NULL)
		snii_lsm_barrier_leave(state->barrier);
	state->barrier = NULL;
	state->positioned = false;
	state->entry = NULL;
	state->has_mark = false;
}

/* ----------------------------------------------------------------
 *		Arrays
 * ----------------------------------------------------------------
 */

typedef struct ElementOrder
{
	FmgrInfo   *compare;
	Oid			collation;
	int			sign;
} ElementOrder;

static int
compare_elements(const void *a, const void *b, void *arg)
{
	ElementOrder *order = arg;

	return order->sign *
		DatumGetInt32(FunctionCall2Coll(order->compare, order->collation,
										*(const Datum *) a,
										*(const Datum *) b));
}

/*
 * Sort elements in the order of the index, each once; those of an inequality
 * are reduced to the one that says it all.
 */
static void
sort_elements(Relation index, const SniiKeyDesc *desc, const ScanKeyData *key,
			  Oid element_type, ArrayKey *array)
{
	int			column = key->sk_attno - 1;
	Oid			proc = get_opfamily_proc(index->rd_opfamily[column],
										 element_type, element_type,
										 SNII_KEY_COMPARE_PROC);
	FmgrInfo	compare;
	ElementOrder order;

	if (!OidIsValid(proc))
		elog(ERROR, "missing support function %d(%u,%u) in operator family %u",
			 SNII_KEY_COMPARE_PROC, element_type, element_type,
			 index->rd_opfamily[column]);
	fmgr_info(proc, &compare);
	order.compare = &compare;
	order.collation = key->sk_collation;
	order.sign = desc->columns[column].desc ? -1 : 1;
	if (key->sk_strategy != BTEqualStrategyNumber)
		order.sign = 1;
	qsort_arg(array->elements, array->nelements, sizeof(Datum),
			  compare_elements, &order);
	array->nelements = (int) qunique_arg(array->elements, array->nelements,
										 sizeof(Datum), compare_elements,
										 &order);
	if (key->sk_strategy != BTEqualStrategyNumber)
	{
		bool		greatest = key->sk_strategy == BTLessStrategyNumber ||
		key->sk_strategy == BTLessEqualStrategyNumber;

		if (greatest)
			array->elements[0] = array->elements[array->nelements - 1];
		array->nelements = 1;
	}
}

/* Take an array apart; false if it has no element that can match. */
static bool
make_array(Relation index, const SniiKeyDesc *desc, const ScanKeyData *key,
		   ArrayKey *array)
{
	ArrayType  *value = DatumGetArrayTypeP(key->sk_argument);
	Oid			type = ARR_ELEMTYPE(value);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(value, type, typlen, typbyval, typalign, &elements,
					  &nulls, &n);
	array->nelements = 0;
	array->elements = elements;
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			array->elements[array->nelements++] = elements[i];
	if (array->nelements == 0)
		return false;
	if (OidIsValid(key->sk_subtype))
		type = key->sk_subtype;
	array->type = type;
	sort_elements(index, desc, key, type, array);
	return true;
}

/* Has a column a condition that gives it one value at a time? */
static bool
has_single_value(const KeyScanState *state, int column)
{
	for (int i = 0; i < state->nkeys; i++)
	{
		const ScanKeyData *key = &state->keys[i];

		if (key->sk_attno != column + 1)
			continue;
		if ((key->sk_flags & SK_SEARCHNULL) != 0)
			return true;
		/* A time with time zone can be that of several local times. */
		if ((key->sk_flags & SK_SEARCHNOTNULL) == 0 &&
			key->sk_strategy == BTEqualStrategyNumber &&
			(state->desc->columns[column].type != TIMESTAMPOID ||
			 key->sk_subtype != TIMESTAMPTZOID))
			return true;
	}
	return false;
}

/*
 * Have arrays tested on entries where an interval for each element would give
 * the rows out of order, and read the same entries again and again.
 */
static void
choose_tested(KeyScanState *state)
{
	int			column = 0;

	while (column < state->desc->nkeys && has_single_value(state, column))
		column++;
	for (int i = 0; i < state->narrays; i++)
	{
		ArrayKey   *array = &state->arrays[i];
		ScanKey		key = &state->keys[array->key];
		const SniiKeyColumn *of;
		Oid			proc;

		if (key->sk_attno <= column + 1 ||
			key->sk_strategy != BTEqualStrategyNumber)
			continue;
		of = &state->desc->columns[key->sk_attno - 1];
		proc = get_opfamily_proc(of->family, of->input_type, array->type,
								 SNII_KEY_COMPARE_PROC);
		if (!OidIsValid(proc))
			elog(ERROR, "missing support function %d(%u,%u) in operator family %u",
				 SNII_KEY_COMPARE_PROC, of->input_type, array->type,
				 of->family);
		fmgr_info(proc, &array->compare);
		array->tested = true;
		key->sk_flags |= SK_SEARCHARRAY;
	}
}

/* Is a value, not NULL, among the elements of a tested array? */
static bool
has_element(const KeyScanState *state, const ArrayKey *array, Datum value)
{
	const ScanKeyData *key = &state->keys[array->key];
	int			sign = state->desc->columns[key->sk_attno - 1].desc ? -1 : 1;
	int			low = 0;
	int			high = array->nelements;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			cmp = sign *
		DatumGetInt32(FunctionCall2Coll(unconstify(FmgrInfo *,
												   &array->compare),
										key->sk_collation, value,
										array->elements[middle]));

		if (cmp == 0)
			return true;
		if (cmp > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Does the entry whose columns are in state pass a key that is an array? */
static bool
passes_array(const KeyScanState *state, int key)
{
	int			column = state->keys[key].sk_attno - 1;

	if (state->isnull[column])
		return false;
	for (int i = 0; i < state->narrays; i++)
		if (state->arrays[i].key == key)
			return has_element(state, &state->arrays[i],
							   state->values[column]);
	return false;
}

/* All arrays at their first element, or their last one. */
static void
first_elements(KeyScanState *state, ScanDirection dir)
{
	for (int i = 0; i < state->narrays; i++)
		state->arrays[i].current = ScanDirectionIsForward(dir) ? 0 :
			state->arrays[i].nelements - 1;
}

/* The next combination of elements; false if there is none. */
static bool
next_elements(KeyScanState *state, ScanDirection dir)
{
	bool		forward = ScanDirectionIsForward(dir);

	for (int i = state->narrays - 1; i >= 0; i--)
	{
		ArrayKey   *array = &state->arrays[i];

		if (array->tested)
			continue;
		array->current += forward ? 1 : -1;
		if (array->current >= 0 && array->current < array->nelements)
			return true;
		array->current = forward ? 0 : array->nelements - 1;
	}
	return false;
}

/* ----------------------------------------------------------------
 *		Keys
 * ----------------------------------------------------------------
 */

void
snii_am_key_rescan(IndexScanDesc scan, ScanKey keys)
{
	KeyScanState *state = scan->opaque;
	Relation	index = scan->indexRelation;
	MemoryContext old;

	stop_scan(state);
	MemoryContextReset(state->context);
	MemoryContextReset(state->interval_context);
	MemoryContextReset(state->row_context);
	memset(&state->mark, 0, sizeof(state->mark));
	scan->xs_itup = NULL;
	state->empty = false;
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys,
				scan->numberOfKeys * sizeof(ScanKeyData));

	old = MemoryContextSwitchTo(state->context);
	state->desc = snii_key_desc(index);
	state->nkeys = scan->numberOfKeys;
	state->keys = palloc((state->nkeys + 1) * sizeof(ScanKeyData));
	memcpy(state->keys, scan->keyData, state->nkeys * sizeof(ScanKeyData));
	state->narrays = 0;
	state->arrays = palloc0((state->nkeys + 1) * sizeof(ArrayKey));
	state->mark_elements = palloc((state->nkeys + 1) * sizeof(int));
	state->values = palloc(state->desc->nattrs * sizeof(Datum));
	state->isnull = palloc(state->desc->nattrs * sizeof(bool));
	for (int i = 0; i < state->nkeys && !state->empty; i++)
	{
		ScanKey		key = &state->keys[i];

		if ((key->sk_flags & SK_SEARCHARRAY) == 0)
			continue;
		if ((key->sk_flags & SK_ISNULL) != 0 ||
			!make_array(index, state->desc, key,
						&state->arrays[state->narrays]))
			state->empty = true;
		state->arrays[state->narrays++].key = i;
		key->sk_flags &= ~SK_SEARCHARRAY;
	}
	if (!state->empty && state->narrays > 0)
		choose_tested(state);
	MemoryContextSwitchTo(old);
}

/*
 * Point the scan at the interval of the elements at hand.  False if nothing
 * can be in it.
 */
static bool
set_interval(KeyScanState *state)
{
	MemoryContext old;

	for (int i = 0; i < state->narrays; i++)
		if (!state->arrays[i].tested)
			state->keys[state->arrays[i].key].sk_argument =
				state->arrays[i].elements[state->arrays[i].current];
	MemoryContextReset(state->interval_context);
	old = MemoryContextSwitchTo(state->interval_context);
	snii_key_interval(state->desc, state->keys, state->nkeys,
					  &state->interval);
	MemoryContextSwitchTo(old);
	if (state->interval.empty)
		return false;
	snii_key_scan_set(state->scan, &state->interval.lower,
					  &state->interval.upper, state->interval.point,
					  SNII_KEY_ALL);
	return true;
}

/* ----------------------------------------------------------------
 *		Fetching
 * ----------------------------------------------------------------
 */

static void
open_view(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->view_context);

	state->view = snii_lsm_view(scan->indexRelation, false);
	state->scan = snii_key_scan_begin(scan->indexRelation, state->desc,
									  state->view);
	MemoryContextSwitchTo(old);
}

/*
 * Begin to read: the view of the index is taken here, under the caller's
 * snapshot.  One that is no MVCC snapshot does not tell a row from a later one
 * at the same place, nor does the visibility map, which an index-only scan
 * trusts: these need the barrier, from before the view.
 */
static void
start_scan(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	pgstat_count_index_scan(scan->indexRelation);
	if (scan->xs_snapshot != NULL)
		PredicateLockRelation(scan->indexRelation, scan->xs_snapshot);
	if (scan->xs_want_itup ||
		(scan->xs_snapshot != NULL && !IsMVCCSnapshot(scan->xs_snapshot)))
	{
		MemoryContext old = MemoryContextSwitchTo(state->context);

		state->barrier = snii_lsm_barrier_create(scan->indexRelation, false);
		MemoryContextSwitchTo(old);
		(void) snii_lsm_barrier_enter(state->barrier);
	}
	open_view(scan);
}

/*
 * The barrier was let go of, since the cursor was left alone: what was read
 * before is worth nothing.  Go on where we were in a new view, which has all
 * that the snapshot sees.
 */
static void
reopen(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	SniiKeyBytes at = {0};
	bool		has_entry = state->entry != NULL;

	if (has_entry)
		snii_key_bytes_add(&at, state->entry->str, state->entry->len);
	MemoryContextSwitchTo(old);
	state->entry = NULL;
	close_view(state);
	open_view(scan);
	if (state->positioned && !state->interval.empty)
	{
		snii_key_scan_set(state->scan, &state->interval.lower,
						  &state->interval.upper, state->interval.point,
						  SNII_KEY_ALL);
		if (has_entry)
			snii_key_scan_restore(state->scan, at.data, at.len);
	}
	if (has_entry)
		pfree(at.data);
}

/* Does the entry at hand pass the conditions that are no interval? */
static bool
passes(KeyScanState *state, Relation index)
{
	const SniiKeyInterval *interval = &state->interval;

	if (interval->nresidual == 0)
		return true;
	snii_key_decode(index, state->desc, state->entry, state->values,
					state->isnull);
	for (int i = 0; i < interval->nresidual; i++)
	{
		int			k = interval->residual[i];

		if ((state->keys[k].sk_flags & SK_SEARCHARRAY) != 0 ?
			!passes_array(state, k) :
			!snii_key_test(state->desc, &state->keys[k], state->values,
						   state->isnull))
			return false;
	}
	return true;
}

/* Next entry of the scan; false at the end. */
static bool
next_entry(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;

	if (state->empty)
		return false;
	if (state->scan == NULL)
		start_scan(scan);
	else if (state->barrier != NULL &&
			 snii_lsm_barrier_enter(state->barrier))
		reopen(scan);
	MemoryContextReset(state->row_context);
	for (;;)
	{
		if (!state->positioned)
		{
			first_elements(state, dir);
			state->positioned = true;
			state->interval.empty = !set_interval(state);
		}
		while (!state->interval.empty &&
			   (state->entry = snii_key_scan_next(state->scan, dir)) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			if (passes(state, scan->indexRelation))
				return true;
			MemoryContextReset(state->row_context);
		}
		state->entry = NULL;
		CHECK_FOR_INTERRUPTS();
		if (!next_elements(state, dir))
		{
			state->positioned = false;
			return false;
		}
		state->interval.empty = !set_interval(state);
	}
}

/* The columns of the entry at hand, for an index-only scan. */
static void
make_index_tuple(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	if (state->interval.nresidual == 0)
		snii_key_decode(scan->indexRelation, state->desc, state->entry,
						state->values, state->isnull);
	scan->xs_itup = index_form_tuple(RelationGetDescr(scan->indexRelation),
									 state->values, state->isnull);
}

bool
snii_am_key_gettuple(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->row_context);
	bool		found = next_entry(scan, dir);

	if (found)
	{
		snii_key_get_tid(state->entry, &scan->xs_heaptid);
		scan->xs_recheck = false;
		if (scan->xs_want_itup)
			make_index_tuple(scan);
	}
	MemoryContextSwitchTo(old);
	return found;
}

int64
snii_am_key_getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->row_context);
	int64		n = 0;

	while (next_entry(scan, ForwardScanDirection))
	{
		ItemPointerData tid;

		snii_key_get_tid(state->entry, &tid);
		MemoryContextSwitchTo(old);
		tbm_add_tuples(tbm, &tid, 1, false);
		MemoryContextSwitchTo(state->row_context);
		n++;
	}
	MemoryContextSwitchTo(old);
	return n;
}

void
snii_am_key_markpos(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	state->has_mark = state->entry != NULL;
	if (state->has_mark)
	{
		state->mark.len = 0;
		snii_key_bytes_add(&state->mark, state->entry->str,
						   state->entry->len);
		for (int i = 0; i < state->narrays; i++)
			state->mark_elements[i] = state->arrays[i].current;
	}
	MemoryContextSwitchTo(old);
}

void
snii_am_key_restrpos(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	state->entry = NULL;
	state->positioned = false;
	if (!state->has_mark)
		return;
	for (int i = 0; i < state->narrays; i++)
		state->arrays[i].current = state->mark_elements[i];
	state->interval.empty = !set_interval(state);
	state->positioned = true;
	if (!state->interval.empty)
		snii_key_scan_restore(state->scan, state->mark.data, state->mark.len);
}

void
snii_am_key_endscan(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	stop_scan(state);
	MemoryContextDelete(state->context);
	MemoryContextDelete(state->view_context);
	MemoryContextDelete(state->row_context);
	MemoryContextDelete(state->interval_context);
	pfree(state);
	scan->opaque = NULL;
}
