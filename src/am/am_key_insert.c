/*-------------------------------------------------------------------------
 *
 * am_key_insert.c
 *	  INSERT into a key index, and uniqueness.
 *
 * docs/key-index.md, section 5, says why the search below finds every equal
 * key.  Rows of the table are looked up with no lock of the index held; what
 * keeps a TID from coming to another row meanwhile is the pin barrier.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_insert.h"
#include "key/key_record.h"
#include "key/key_scan.h"
#include "lsm/lsm_barrier.h"
#include "lsm/lsm_ordered.h"
#include "lsm/lsm_view.h"
#include "storage/storage_meta.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Kept from row to row of a statement in ii_AmCache. */
typedef struct KeyInsertState
{
	MemoryContext context;		/* reset for every row */
	SniiKeyDesc *desc;
	SniiOrder	order;
} KeyInsertState;

/* Rows that one look at the open stretch finds; further ones need another. */
#define MAX_FRESH	400

/* One row on its way. */
typedef struct Insertion
{
	Relation	index;
	Relation	heap;
	const SniiKeyDesc *desc;
	const SniiOrder *order;
	Datum	   *values;
	bool	   *isnull;
	ItemPointerData tid;
	IndexUniqueCheck mode;
	SniiBarrier *barrier;		/* NULL: not needed so far */
	SniiKeyBytes key;			/* without TID */
	SniiKeyBytes body;			/* of the record */

	/* Rows with this key that were looked up in this round. */
	int			nseen;
	int			seen_capacity;
	ItemPointerData *seen;

	/* Equal keys on the leaf that were not. */
	int			nfresh;
	ItemPointerData fresh[MAX_FRESH];
} Insertion;

typedef enum Verdict
{
	VERDICT_NONE,				/* no live row has this key */
	VERDICT_CONFLICT,			/* one has, and that is not an error yet */
	VERDICT_AGAIN				/* waited for another transaction */
} Verdict;

static void
add_tid(ItemPointerData **tids, int *n, int *capacity,
		const ItemPointerData *tid)
{
	if (*n == *capacity)
	{
		*capacity = Max(2 * *capacity, 16);
		if (*tids == NULL)
			*tids = palloc(*capacity * sizeof(ItemPointerData));
		else
			*tids = repalloc(*tids, *capacity * sizeof(ItemPointerData));
	}
	(*tids)[(*n)++] = *tid;
}

/* ----------------------------------------------------------------
 *		Conflicts
 * ----------------------------------------------------------------
 */

static void
report_duplicate(const Insertion *ins)
{
	char	   *description = BuildIndexValueDescription(ins->index,
														 ins->values,
														 ins->isnull);

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					RelationGetRelationName(ins->index)),
			 description ? errdetail("Key %s already exists.",
									 description) : 0,
			 errtableconstraint(ins->heap,
								RelationGetRelationName(ins->index))));
}

/* Is the row that is to be inserted still alive itself? */
static bool
still_wanted(const Insertion *ins)
{
	ItemPointerData tid = ins->tid;

	return table_index_fetch_tuple_check(ins->heap, &tid, SnapshotSelf, NULL);
}

/*
 * Look up a row that has the key.  *found_self: it is the row itself, where
 * that is expected.  xwait is set if another transaction decides; then the
 * caller lets go of everything and waits.
 */
static Verdict
test_row(Insertion *ins, const ItemPointerData *tid, bool *found_self,
		 TransactionId *xwait, uint32 *token)
{
	SnapshotData dirty;
	ItemPointerData row = *tid;
	bool		all_dead;

	if (ins->mode == UNIQUE_CHECK_EXISTING &&
		ItemPointerEquals(&row, &ins->tid))
	{
		*found_self = true;
		return VERDICT_NONE;
	}
	InitDirtySnapshot(dirty);
	if (!table_index_fetch_tuple_check(ins->heap, &row, &dirty, &all_dead))
		return VERDICT_NONE;
	/* A deferred check comes later; so far it is no more than a hint. */
	if (ins->mode == UNIQUE_CHECK_PARTIAL)
		return VERDICT_CONFLICT;
	*xwait = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
	if (TransactionIdIsValid(*xwait))
	{
		*token = dirty.speculativeToken;
		return VERDICT_AGAIN;
	}
	/* As in nbtree: no complaint on behalf of a row that is dead by now. */
	if (!still_wanted(ins))
		return VERDICT_NONE;
	CheckForSerializableConflictIn(ins->index, NULL, InvalidBlockNumber);
	report_duplicate(ins);
	return VERDICT_NONE;		/* not reached */
}

static void
wait_for(const Insertion *ins, TransactionId xwait, uint32 token)
{
	ItemPointerData tid = ins->tid;

	if (token != 0)
		SpeculativeInsertionWait(xwait, token);
	else
		XactLockTableWait(xwait, ins->heap, &tid, XLTW_InsertIndex);
}

/* ----------------------------------------------------------------
 *		Search
 * ----------------------------------------------------------------
 */

/* Look up the rows that the runs and sealed stretches (or all) have. */
static Verdict
search_view(Insertion *ins, const SniiView *view, SniiKeySources sources,
			bool *found_self, TransactionId *xwait, uint32 *token)
{
	SniiKeyScan *scan = snii_key_scan_begin(ins->index, ins->desc, view);
	SniiKeyPos	lower = {ins->key.data, ins->key.len, false};
	SniiKeyPos	upper = {ins->key.data, ins->key.len, true};
	const SniiKeyEntry *entry;
	Verdict		verdict = VERDICT_NONE;

	snii_key_scan_set(scan, &lower, &upper, true, sources);
	while (verdict == VERDICT_NONE &&
		   (entry = snii_key_scan_next(scan, ForwardScanDirection)) != NULL)
	{
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		snii_key_get_tid(entry, &tid);
		verdict = test_row(ins, &tid, found_self, xwait, token);
	}
	snii_key_scan_end(scan);
	return verdict;
}

/* test of SniiOrderedCheck: refuse if the leaf has an equal key not looked up yet. */
static bool
check_leaf_record(void *arg, const SniiRecord *record)
{
	Insertion  *ins = arg;
	SniiKeyEntry entry;

	snii_key_record_parse(ins->desc, record, &entry);
	if (!snii_key_equal(ins->desc, entry.str, entry.len, ins->key.data,
						ins->key.len))
		return true;
	for (int i = 0; i < ins->nseen; i++)
		if (ItemPointerEquals(&ins->seen[i],
							  unconstify(ItemPointerData *, &record->tid)))
			return true;
	if (ins->nfresh < MAX_FRESH)
		ins->fresh[ins->nfresh++] = record->tid;
	return false;
}

/* The open stretch of a view; 0 if there is none. */
static uint64
open_stretch(const SniiView *view)
{
	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_STRETCH &&
			(view->entries[i].flags & SNII_ENTRY_SEALED) == 0)
			return view->entries[i].id;
	return 0;
}

/*
 * Take a view whose TIDs are those of the same rows until end_search().
 */
static SniiView *
begin_search(Insertion *ins)
{
	if (ins->barrier == NULL)
		ins->barrier = snii_lsm_barrier_create(ins->index, true);
	(void) snii_lsm_barrier_enter(ins->barrier);
	return snii_lsm_view(ins->index, false);
}

static void
end_search(Insertion *ins, SniiView *view)
{
	snii_lsm_view_release(view);
	snii_lsm_barrier_leave(ins->barrier);
}

/*
 * One round: search, and insert if nothing stands against it.  Returns false
 * if another one is needed, having waited for whom there was to wait.
 */
static bool
try_insert(Insertion *ins, bool *is_unique)
{
	SniiView   *view = begin_search(ins);
	uint64		stretch = open_stretch(view);
	TransactionId xwait = InvalidTransactionId;
	uint32		token = 0;
	bool		self = false;
	SniiOrderedResult result = SNII_ORDERED_REFUSED;
	SniiKeyPos	low = {ins->key.data, ins->key.len, false};
	SniiKeyPos	high = {ins->key.data, ins->key.len, true};
	SniiOrderedCheck check = {check_leaf_record, ins, &low, &high};
	SniiRecord	record = {ins->tid, ins->body.data, ins->body.len};
	Verdict		verdict;

	*is_unique = true;
	ins->nseen = 0;
	if (stretch == 0)
	{
		/* There must be one for insertions of equal keys to meet on. */
		end_search(ins, view);
		snii_lsm_begin_ordered(ins->index, ins->heap);
		return false;
	}
	verdict = search_view(ins, view, SNII_KEY_CLOSED, &self, &xwait, &token);
	while (verdict != VERDICT_AGAIN && result == SNII_ORDERED_REFUSED)
	{
		if (verdict == VERDICT_CONFLICT)
			*is_unique = false;
		ins->nfresh = 0;
		result = snii_lsm_insert_ordered(ins->index, ins->heap, ins->order,
										 stretch, &record,
										 *is_unique ? &check : NULL);
		for (int i = 0; i < ins->nfresh && verdict == VERDICT_NONE; i++)
		{
			verdict = test_row(ins, &ins->fresh[i], &self, &xwait, &token);
			add_tid(&ins->seen, &ins->nseen, &ins->seen_capacity,
					&ins->fresh[i]);
		}
		CHECK_FOR_INTERRUPTS();
	}
	end_search(ins, view);
	if (result == SNII_ORDERED_DONE)
		return true;
	if (TransactionIdIsValid(xwait))
		wait_for(ins, xwait, token);
	return false;
}

/* The deferred check: the row is there; is it the only one alive? */
static void
check_existing(Insertion *ins)
{
	for (;;)
	{
		SniiView   *view = begin_search(ins);
		TransactionId xwait = InvalidTransactionId;
		uint32		token = 0;
		bool		self = false;
		Verdict		verdict = search_view(ins, view, SNII_KEY_ALL, &self,
										  &xwait, &token);

		end_search(ins, view);
		if (verdict == VERDICT_AGAIN)
		{
			wait_for(ins, xwait, token);
			continue;
		}
		if (!self)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("failed to re-find tuple within index \"%s\"",
							RelationGetRelationName(ins->index)),
					 errhint("This may be because of a non-immutable index expression."),
					 errtableconstraint(ins->heap,
										RelationGetRelationName(ins->index))));
		return;
	}
}

static KeyInsertState *
insert_state(Relation index, IndexInfo *info)
{
	KeyInsertState *state = info->ii_AmCache;
	MemoryContext old;

	if (state == NULL)
	{
		state = MemoryContextAllocZero(info->ii_Context,
									   sizeof(KeyInsertState));
		snii_storage_check_writable(index);
		state->context = AllocSetContextCreate(info->ii_Context,
											   "snii key insert",
											   ALLOCSET_DEFAULT_SIZES);
		old = MemoryContextSwitchTo(info->ii_Context);
		state->desc = snii_key_desc(index);
		MemoryContextSwitchTo(old);
		snii_key_record_order(state->desc, &state->order);
		info->ii_AmCache = state;
	}
	return state;
}

bool
snii_am_key_insert(Relation index, Datum *values, bool *isnull,
				   ItemPointer tid, Relation heap,
				   IndexUniqueCheck check_unique, IndexInfo *info)
{
	KeyInsertState *state = insert_state(index, info);
	MemoryContext old = MemoryContextSwitchTo(state->context);
	Insertion	ins;
	bool		is_unique = true;

	memset(&ins, 0, offsetof(Insertion, fresh));
	ins.index = index;
	ins.heap = heap;
	ins.desc = state->desc;
	ins.values = values;
	ins.isnull = isnull;
	ins.tid = *tid;
	ins.mode = check_unique;
	ins.order = &state->order;
	snii_key_encode(ins.desc, values, isnull, &ins.key);
	snii_key_record_make(ins.desc, &ins.key, values, isnull, &ins.body);
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);

	/* Keys with a NULL differ from each other, unless the index says not. */
	if (check_unique != UNIQUE_CHECK_NO && !info->ii_NullsNotDistinct &&
		snii_key_has_null(ins.desc, ins.key.data, ins.key.len))
		ins.mode = UNIQUE_CHECK_NO;

	if (check_unique == UNIQUE_CHECK_EXISTING)
	{
		if (ins.mode != UNIQUE_CHECK_NO)
			check_existing(&ins);
	}
	else if (ins.mode == UNIQUE_CHECK_NO)
	{
		SniiRecord	record = {ins.tid, ins.body.data, ins.body.len};

		snii_lsm_insert_ordered(index, heap, ins.order, 0, &record, NULL);
	}
	else
		while (!try_insert(&ins, &is_unique))
			CHECK_FOR_INTERRUPTS();
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->context);
	/* Of interest to deferred and speculative checks alone. */
	return check_unique == UNIQUE_CHECK_PARTIAL ? is_unique : false;
}
