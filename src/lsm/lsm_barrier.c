/*-------------------------------------------------------------------------
 *
 * lsm_barrier.c
 *	  The pin barrier: keeps a TID that a scan found from being used again.
 *
 * An MVCC snapshot does not see a row that came to a place in the heap after
 * the index told of its former owner.  Two kinds of scans have no such help:
 * those with another snapshot, and those that trust the visibility map, which
 * may call the page all-visible when the TID has another owner already.  Such
 * a scan holds a pin while it uses TIDs, and VACUUM, which has marked its
 * entries and is about to let the heap use their places again, waits for the
 * pins of scans that began before that.
 *
 * There are two gate pages, used in turn (storage_directory.h), so that VACUUM
 * does not wait for those that come after it, however many there are.
 *
 * A cursor that is left idle must not hold up VACUUM for hours.  Access
 * methods are not told when they are left idle; but an idle cursor has left
 * the executor, so at the end of each run of the executor all barriers of the
 * session are let go of, but for those that want to be kept.  The TID that was
 * returned last has been used by then: the executor looks at the heap, or the
 * visibility map, before it does anything else.  The next call of the scan
 * enters again, and is told that it has to look at its other TIDs again.
 * What is not idle holds its pin: VACUUM waits for a query whose client is
 * slow to take the rows that it is being sent.
 *
 * Pins are those of the resource owner that was current when they were taken.
 * The list of entered barriers must not outlive them, nor the memory that they
 * are in: errors free either without a call of ours, so there is a callback
 * for each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "lsm/lsm_barrier.h"
#include "storage/storage_directory.h"

#include "executor/executor.h"
#include "lib/ilist.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

struct SniiBarrier
{
	dlist_node	node;			/* in "entered", if buffer is valid */
	Relation	index;
	bool		keep;
	Buffer		buffer;			/* InvalidBuffer: not entered */
	ResourceOwner owner;		/* of the pin */
	MemoryContextCallback callback;
};

static dlist_head entered = DLIST_STATIC_INIT(entered);
static ExecutorRun_hook_type next_executor_run = NULL;

bool
snii_lsm_barrier_works(void)
{
	return !RecoveryInProgress();
}

/* The pin is gone, or will go with its owner. */
static void
forget(SniiBarrier *b)
{
	if (!BufferIsValid(b->buffer))
		return;
	dlist_delete(&b->node);
	b->buffer = InvalidBuffer;
}

static void
memory_callback(void *arg)
{
	forget(arg);
}

SniiBarrier *
snii_lsm_barrier_create(Relation index, bool keep)
{
	SniiBarrier *b = palloc0(sizeof(SniiBarrier));

	b->index = index;
	b->keep = keep;
	b->buffer = InvalidBuffer;
	b->callback.func = memory_callback;
	b->callback.arg = b;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &b->callback);
	return b;
}

bool
snii_lsm_barrier_enter(SniiBarrier *b)
{
	if (BufferIsValid(b->buffer))
		return false;
	if (!snii_lsm_barrier_works())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot be scanned in this way during recovery",
						RelationGetRelationName(b->index))));
	b->buffer = snii_storage_gate_pin(b->index);
	b->owner = CurrentResourceOwner;
	dlist_push_tail(&entered, &b->node);
	return true;
}

void
snii_lsm_barrier_leave(SniiBarrier *b)
{
	Buffer		buffer = b->buffer;
	ResourceOwner old = CurrentResourceOwner;

	if (!BufferIsValid(buffer))
		return;
	forget(b);
	CurrentResourceOwner = b->owner;
	ReleaseBuffer(buffer);
	CurrentResourceOwner = old;
}

void
snii_lsm_barrier_wait(Relation index)
{
	/* Of a temporary table, nobody else can be scanning, nor can we. */
	if (!RelationUsesLocalBuffers(index))
		snii_storage_gate_switch(index);
}

/* This process leaves the executor. */
static void
let_go(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &entered)
	{
		SniiBarrier *b = dlist_container(SniiBarrier, node, iter.cur);

		if (!b->keep)
			snii_lsm_barrier_leave(b);
	}
}

static void
executor_run(SNII_EXECUTOR_RUN_PARAMETERS)
{
	if (next_executor_run != NULL)
		next_executor_run(SNII_EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(SNII_EXECUTOR_RUN_ARGUMENTS);
	let_go();
}

/* A resource owner has let go of its pins. */
static void
owner_callback(ResourceReleasePhase phase, bool is_commit, bool is_top_level,
			   void *arg)
{
	dlist_mutable_iter iter;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	dlist_foreach_modify(iter, &entered)
	{
		SniiBarrier *b = dlist_container(SniiBarrier, node, iter.cur);

		if (b->owner == CurrentResourceOwner)
			forget(b);
	}
}

void
snii_lsm_barrier_init(void)
{
	RegisterResourceReleaseCallback(owner_callback, NULL);
	next_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
}
