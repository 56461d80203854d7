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
 * Combinations that are whole keys, one or many, are looked up in batches
 * (key/key_multiget.h).  The first batch of a scan is small and each one
 * larger than the one before, since it may be the last: a scan that wants one
 * row looks up few keys.  A batch is left, for a scan of the interval of the
 * combination at hand, when the direction changes, at a restored mark, where
 * a key has very many entries, and when the barrier was let go of.
 *
 * Of a parallel scan each participant takes one part after the other
 * (am_key_parallel.h): some combinations, or a piece of the interval of one.
 * Within a part it is a scan like others.
 *
 * A scan owns two memory contexts: keys, reset by rescan, and one for the
 * row at hand.  Pins that a scan holds are released by endscan or with the
 * transaction's resource owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_array.h"
#include "am/am_key_parallel.h"
#include "am/am_key_scan.h"
#include "key/key_multiget.h"
#include "key/key_scan.h"
#include "lsm/lsm_barrier.h"
#include "lsm/lsm_view.h"

#include "access/relscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Keys of the first batch of a scan, and how fast batches grow. */
#define FIRST_BATCH			8
#define FIRST_BATCH_BITMAP	64
#define BATCH_GROWTH		4

/* Of the pages of rows one in so many is asked for, to see if it is there. */
#define HEAP_SAMPLE			16

/*
 * Combinations of a part: that share of what is left, but no more than so
 * many.  Where more are left than that, intervals are not cut.
 */
#define PART_SHARE			32
#define PART_COMBINATIONS	64
#define MANY_COMBINATIONS	256

typedef enum KeyScanMode
{
	SNII_SCAN_NOWHERE,			/* at an end */
	SNII_SCAN_INTERVAL,			/* in the interval of one combination */
	SNII_SCAN_BATCH				/* in what a batch has found */
} KeyScanMode;

/* What comes behind the interval or batch at hand. */
typedef enum KeyScanNext
{
	SNII_NEXT_BEHIND,			/* the combination behind the one at hand */
	SNII_NEXT_AT,				/* the combination at hand */
	SNII_NEXT_NONE
} KeyScanNext;

typedef struct KeyScanState
{
	MemoryContext context;		/* of keys and scan; reset by rescan */
	MemoryContext row_context;	/* of the row at hand */
	MemoryContext view_context; /* of view and scan */
	SniiBarrier *barrier;		/* NULL: the snapshot is enough */
	SniiKeyDesc *desc;
	SniiView   *view;			/* NULL before the first fetch */
	SniiKeyScan *scan;			/* NULL until there is an interval */
	SniiKeyMultiget *multiget;	/* NULL until there is a batch */
	bool		empty;			/* nothing can match */
	int			nkeys;
	ScanKey		keys;			/* arrays: with the element at hand */
	int			narrays;
	SniiArrayKey *arrays;		/* by column */

	KeyScanMode mode;
	KeyScanNext next;

	/* The part at hand, of a parallel scan. */
	bool		parallel;
	SniiKeyPart part;
	ScanDirection part_dir;
	SniiKeySplitter *splitter;	/* NULL until it is needed */

	/* The interval at hand. */
	MemoryContext interval_context; /* NULL until there is one */
	SniiKeyInterval interval;

	/* The batch at hand. */
	ScanDirection batch_dir;
	int			batch_size;		/* of the next one */
	int			batch_at;		/* of what was found, the next one */
	int			batch_ahead;	/* rows that were asked for */
	int		   *batch_elements; /* of each key */

	/* The entry at hand. */
	bool		on_entry;
	ItemPointerData tid;
	SniiKeyFound found;			/* of a batch */
	const SniiKeyEntry *entry;	/* NULL: a batch without entries */
	Datum	   *values;			/* if they were needed */
	bool	   *isnull;

	/* What markpos noted. */
	bool		has_mark;
	bool		at_mark;		/* restored, and nothing fetched since */
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
	scan->xs_itupdesc = RelationGetDescr(scan->indexRelation);
	scan->opaque = state;
}

static void
close_view(KeyScanState *state)
{
	if (state->scan != NULL)
		snii_key_scan_end(state->scan);
	if (state->multiget != NULL)
		snii_key_multiget_end(state->multiget);
	if (state->view != NULL)
		snii_lsm_view_release(state->view);
	state->scan = NULL;
	state->multiget = NULL;
	state->splitter = NULL;
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
	state->mode = SNII_SCAN_NOWHERE;
	state->on_entry = false;
	state->entry = NULL;
	state->has_mark = false;
	state->at_mark = false;
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
	MemoryContextReset(state->row_context);
	memset(&state->mark, 0, sizeof(state->mark));
	memset(&state->part, 0, sizeof(state->part));
	state->batch_elements = NULL;
	state->batch_size = scan->heapRelation != NULL ? FIRST_BATCH :
		FIRST_BATCH_BITMAP;
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
	state->arrays = palloc0((state->nkeys + 1) * sizeof(SniiArrayKey));
	state->mark_elements = palloc((state->nkeys + 1) * sizeof(int));
	state->values = palloc(state->desc->nattrs * sizeof(Datum));
	state->isnull = palloc(state->desc->nattrs * sizeof(bool));
	for (int i = 0; i < state->nkeys && !state->empty; i++)
	{
		ScanKey		key = &state->keys[i];

		if ((key->sk_flags & SK_SEARCHARRAY) == 0)
			continue;
		if ((key->sk_flags & SK_ISNULL) != 0 ||
			!snii_am_key_array(index, state->desc, key,
							   &state->arrays[state->narrays]))
			state->empty = true;
		state->arrays[state->narrays++].key = i;
		key->sk_flags &= ~SK_SEARCHARRAY;
	}
	if (!state->empty && state->narrays > 0)
		snii_am_key_choose_tested(state->desc, state->keys, state->nkeys,
								  state->arrays, state->narrays);
	MemoryContextSwitchTo(old);
}

/* The elements at hand into the scan keys. */
static void
set_elements(KeyScanState *state)
{
	for (int i = 0; i < state->narrays; i++)
		if (!state->arrays[i].tested)
			state->keys[state->arrays[i].key].sk_argument =
				state->arrays[i].elements[state->arrays[i].current];
}

/* The interval of the scan keys, or of the part of it at hand. */
static void
make_interval(KeyScanState *state)
{
	MemoryContext old;

	if (state->interval_context == NULL)
		state->interval_context =
			AllocSetContextCreate(MemoryContextGetParent(state->context),
								  "snii key interval",
								  ALLOCSET_SMALL_SIZES);
	MemoryContextReset(state->interval_context);
	old = MemoryContextSwitchTo(state->interval_context);
	snii_key_interval(state->desc, state->keys, state->nkeys,
					  &state->interval);
	MemoryContextSwitchTo(old);
	if (state->parallel && !state->interval.empty)
		snii_am_key_part_cut(&state->part, state->part_dir, &state->interval);
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

	state->parallel = scan->parallel_scan != NULL;
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

/* Point the scan at the interval at hand. */
static void
begin_interval(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	if (state->scan == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->view_context);

		state->scan = snii_key_scan_begin(scan->indexRelation, state->desc,
										  state->view);
		MemoryContextSwitchTo(old);
	}
	state->mode = SNII_SCAN_INTERVAL;
	if (!state->interval.empty)
		snii_key_scan_set(state->scan, &state->interval.lower,
						  &state->interval.upper, state->interval.point,
						  SNII_KEY_ALL);
}

/* Go on in the interval of a combination, next to an entry. */
static void
resume_interval(IndexScanDesc scan, const int *elements,
				const SniiKeyBytes *string)
{
	KeyScanState *state = scan->opaque;

	for (int i = 0; i < state->narrays; i++)
		state->arrays[i].current = elements[i];
	set_elements(state);
	make_interval(state);
	begin_interval(scan);
	state->next = SNII_NEXT_BEHIND;
	if (!state->interval.empty)
		snii_key_scan_restore(state->scan, string->data, string->len);
}

/* Where the entry at hand is, appended to string, and its combination. */
static void
get_place(KeyScanState *state, SniiKeyBytes *string, int *elements)
{
	const int  *current = NULL;

	if (state->mode == SNII_SCAN_BATCH)
	{
		snii_key_multiget_string(state->multiget, state->found.key,
								 &state->tid, string);
		current = state->batch_elements + state->found.key * state->narrays;
	}
	else
		snii_key_bytes_add(string, state->entry->str, state->entry->len);
	for (int i = 0; i < state->narrays; i++)
		elements[i] = current != NULL ? current[i] :
			state->arrays[i].current;
}

/*
 * Leave what was read, with its view if that is asked for, and go on at the
 * entry at hand by a scan.
 */
static void
reread(IndexScanDesc scan, bool new_view)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	SniiKeyBytes at = {0};
	int		   *elements = palloc((state->narrays + 1) * sizeof(int));

	Assert(state->on_entry);
	get_place(state, &at, elements);
	MemoryContextSwitchTo(old);
	state->on_entry = false;
	state->entry = NULL;
	if (new_view)
	{
		close_view(state);
		open_view(scan);
	}
	resume_interval(scan, elements, &at);
	pfree(at.data);
	pfree(elements);
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

	if (state->on_entry)
	{
		reread(scan, true);
		return;
	}
	Assert(state->at_mark || state->mode == SNII_SCAN_NOWHERE);
	close_view(state);
	open_view(scan);
	if (state->at_mark)
		resume_interval(scan, state->mark_elements, &state->mark);
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
			!snii_am_key_test_array(state->desc, state->keys, k,
									state->arrays, state->narrays,
									state->values, state->isnull) :
			!snii_key_test(state->desc, &state->keys[k], state->values,
						   state->isnull))
			return false;
	}
	return true;
}

/* Next entry of the interval at hand. */
static bool
next_of_interval(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;

	if (state->interval.empty)
		return false;
	while ((state->entry = snii_key_scan_next(state->scan, dir)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (passes(state, scan->indexRelation))
		{
			snii_key_get_tid(state->entry, &state->tid);
			return true;
		}
		MemoryContextReset(state->row_context);
	}
	return false;
}

/*
 * To the combination behind the one at hand; false if there is none, or it is
 * not of the part.
 */
static bool
next_elements(KeyScanState *state, ScanDirection dir)
{
	if (state->parallel &&
		snii_am_key_get_combination(state->arrays, state->narrays, dir) + 1 >=
		state->part.end)
		return false;
	return snii_am_key_next_elements(state->arrays, state->narrays, dir);
}

/* ----------------------------------------------------------------
 *		Batches
 * ----------------------------------------------------------------
 */

/* Make the scan keys a key of the batch, if they are one. */
static bool
add_to_batch(KeyScanState *state)
{
	SniiKeyBytes *bytes = snii_key_multiget_bytes(state->multiget);

	if (!snii_key_point(state->desc, state->keys, state->nkeys, bytes))
	{
		make_interval(state);
		if (state->interval.empty || !state->interval.point ||
			state->interval.nresidual > 0)
			return false;
		snii_key_bytes_add(bytes, state->interval.lower.bytes,
						   state->interval.lower.len);
	}
	snii_key_multiget_add(state->multiget);
	return true;
}

/*
 * Fill a batch with the combinations from the one at hand on.  Returns the
 * number of keys; if that is 0 and something is next, the combination at hand
 * is no key and its interval was made.
 */
static int
fill_batch(KeyScanState *state, ScanDirection dir)
{
	int			n = 0;

	do
	{
		set_elements(state);
		if (!add_to_batch(state))
		{
			if (state->interval.empty)
				continue;
			state->next = SNII_NEXT_AT;
			return n;
		}
		for (int i = 0; i < state->narrays; i++)
			state->batch_elements[n * state->narrays + i] =
				state->arrays[i].current;
		if (++n == state->batch_size)
		{
			state->next = SNII_NEXT_BEHIND;
			return n;
		}
		CHECK_FOR_INTERRUPTS();
	} while (next_elements(state, dir));
	state->next = SNII_NEXT_NONE;
	return n;
}

static void
make_multiget(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->view_context);

	state->multiget = snii_key_multiget_begin(scan->indexRelation,
											  state->desc, state->view,
											  scan->xs_want_itup);
	MemoryContextSwitchTo(old);
	if (state->batch_elements == NULL && state->narrays > 0)
		state->batch_elements = MemoryContextAlloc(state->context,
												   SNII_KEY_BATCH *
												   state->narrays *
												   sizeof(int));
}

/*
 * Look up what is next, from the combination at hand on: a batch of keys, or,
 * if that is no key or one with very many entries, its interval.
 */
static void
begin_batch(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;
	int			n;
	int			answered = 0;

	if (state->multiget == NULL)
		make_multiget(scan);
	snii_key_multiget_reset(state->multiget, dir);
	n = fill_batch(state, dir);
	if (n == 0 && state->next == SNII_NEXT_AT)
	{
		begin_interval(scan);
		state->next = SNII_NEXT_BEHIND;
		return;
	}
	if (n > 0)
		answered = snii_key_multiget_run(state->multiget);
	if (answered < n)
	{
		for (int i = 0; i < state->narrays; i++)
			state->arrays[i].current =
				state->batch_elements[answered * state->narrays + i];
		state->next = SNII_NEXT_AT;
		state->batch_size = Max(answered, 1);
	}
	else
		state->batch_size = Min(BATCH_GROWTH * state->batch_size,
								SNII_KEY_BATCH);
	if (answered == 0 && n > 0)
	{
		set_elements(state);
		make_interval(state);
		begin_interval(scan);
		state->next = SNII_NEXT_BEHIND;
		return;
	}
	state->mode = SNII_SCAN_BATCH;
	state->batch_dir = dir;
	state->batch_at = state->batch_ahead = 0;
}

/*
 * Ask for the pages of the rows from the one at hand on, up to the size of a
 * batch, unless they seem to be there.
 */
static void
ask_for_rows(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;
	int			end = Min(snii_key_multiget_count(state->multiget),
						  state->batch_at + SNII_KEY_BATCH);
	bool		all = false;

	if (end - state->batch_at > 1 && !scan->xs_want_itup &&
		snii_compat_may_prefetch_rows(scan->heapRelation))
		for (int i = state->batch_at; i < end; i += all ? 1 : HEAP_SAMPLE)
		{
			SniiKeyFound found;

			snii_key_multiget_found(state->multiget, i, &found);
			if (PrefetchBuffer(scan->heapRelation, MAIN_FORKNUM,
							   ItemPointerGetBlockNumber(&found.tid)).initiated_io &&
				!all)
			{
				all = true;
				i = state->batch_at - 1;
			}
		}
	state->batch_ahead = end;
}

static bool
next_of_batch(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	if (state->batch_at == snii_key_multiget_count(state->multiget))
		return false;
	if (state->batch_at == state->batch_ahead)
		ask_for_rows(scan);
	snii_key_multiget_found(state->multiget, state->batch_at++,
							&state->found);
	state->tid = state->found.tid;
	state->entry = scan->xs_want_itup ? &state->found.entry : NULL;
	return true;
}

/* ----------------------------------------------------------------
 *		The entries of all combinations
 * ----------------------------------------------------------------
 */

/*
 * Decide how large a part is that has the combination at hand, whose interval
 * was made: some combinations, if they are keys or there are many; else a piece
 * of the interval.
 */
static void
size_part(IndexScanDesc scan, uint64 total, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;
	SniiKeyPart *part = &state->part;
	uint64		left = total - part->begin;

	if (part->from.len == 0 &&
		(state->interval.empty || state->interval.point ||
		 left > MANY_COMBINATIONS))
	{
		part->end = part->begin +
			Min(Max(left / PART_SHARE, 1), PART_COMBINATIONS);
		return;
	}
	if (state->splitter == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->view_context);

		state->splitter = snii_key_splitter_begin(scan->indexRelation,
												  state->desc, state->view);
		MemoryContextSwitchTo(old);
	}
	(void) snii_key_split(state->splitter, &state->interval.lower,
						  &state->interval.upper, dir, &part->to);
}

/* Take the next part of a parallel scan; false if there is none. */
static bool
next_part(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	uint64		total = snii_am_key_combinations(state->arrays,
												 state->narrays);
	bool		found = snii_am_key_part_begin(scan, total, &state->part);

	if (found)
	{
		state->part_dir = dir;
		snii_am_key_set_combination(state->arrays, state->narrays, dir,
									state->part.begin);
		set_elements(state);
		make_interval(state);
		size_part(scan, total, dir);
		snii_am_key_part_end(scan, &state->part);
	}
	MemoryContextSwitchTo(old);
	return found;
}

/* To the combination that is next; false if there is none. */
static bool
next_combination(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;

	if (state->mode != SNII_SCAN_NOWHERE)
	{
		if (state->next == SNII_NEXT_AT)
			return true;
		if (state->next == SNII_NEXT_BEHIND && next_elements(state, dir))
			return true;
		return state->parallel && next_part(scan, dir);
	}
	if (state->parallel)
		return next_part(scan, dir);
	snii_am_key_first_elements(state->arrays, state->narrays, dir);
	return true;
}

/* Next entry of the scan; false at the end. */
static bool
next_entry(IndexScanDesc scan, ScanDirection dir)
{
	KeyScanState *state = scan->opaque;

	if (state->empty)
		return false;
	if (state->view == NULL)
		start_scan(scan);
	else if (state->barrier != NULL &&
			 snii_lsm_barrier_enter(state->barrier))
		reopen(scan);
	if (state->mode == SNII_SCAN_BATCH && state->batch_dir != dir)
		reread(scan, false);
	state->at_mark = false;
	MemoryContextReset(state->row_context);
	for (;;)
	{
		if (state->mode == SNII_SCAN_BATCH)
			state->on_entry = next_of_batch(scan);
		else
			state->on_entry = state->mode == SNII_SCAN_INTERVAL &&
				next_of_interval(scan, dir);
		if (state->on_entry)
			return true;
		state->entry = NULL;
		CHECK_FOR_INTERRUPTS();
		if (!next_combination(scan, dir))
		{
			state->mode = SNII_SCAN_NOWHERE;
			return false;
		}
		begin_batch(scan, dir);
	}
}

/* The columns of the entry at hand, for an index-only scan. */
static void
make_index_tuple(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	if (state->mode == SNII_SCAN_BATCH || state->interval.nresidual == 0)
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
		scan->xs_heaptid = state->tid;
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
		MemoryContextSwitchTo(old);
		tbm_add_tuples(tbm, &state->tid, 1, false);
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

	state->has_mark = state->on_entry;
	if (state->has_mark)
	{
		state->mark.len = 0;
		get_place(state, &state->mark, state->mark_elements);
	}
	MemoryContextSwitchTo(old);
}

void
snii_am_key_restrpos(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	state->on_entry = false;
	state->entry = NULL;
	state->mode = SNII_SCAN_NOWHERE;
	state->at_mark = state->has_mark;
	if (state->has_mark)
		resume_interval(scan, state->mark_elements, &state->mark);
}

void
snii_am_key_endscan(IndexScanDesc scan)
{
	KeyScanState *state = scan->opaque;

	stop_scan(state);
	MemoryContextDelete(state->context);
	MemoryContextDelete(state->view_context);
	MemoryContextDelete(state->row_context);
	if (state->interval_context != NULL)
		MemoryContextDelete(state->interval_context);
	pfree(state);
	scan->opaque = NULL;
}
