/*-------------------------------------------------------------------------
 *
 * mem_reporter.c
 *	  What one index writer uses, exact in its process.
 *
 * The local count changes with every block, before it is allocated and after
 * it was freed.  Shared counters are behind by less than a step (1 MiB): they
 * move when the difference has grown to it, with all of it at once, and at
 * the end with the rest.  The limiter is asked only when the arena grows.
 * Both came from a build that told everybody of each new term, and spent half
 * of its time waiting for a lock.
 *
 * A writer may end by an error, by the end of its process, or because the
 * segment that the counters lie in is unmapped.  What comes first gives back
 * what it has published and its slot: the end of the (sub)transaction, the
 * memory context, the detaching of the segment, the exit.  All may come, in any
 * order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "memory/mem_reporter.h"
#include "memory/mem_shared.h"
#include "memory/mem_system.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

int			snii_mem_step_kb = 1024;
int			snii_mem_forced_spill_min_arena_kb = 64 * 1024;

#ifndef SNII_NO_MEM_ACCOUNTING

struct SniiMemReporter
{
	dlist_node	node;			/* in reporters, while open */
	bool		open;
	SniiMemLimiter *limiter;
	dsm_segment *seg;
	int			slot;
	int			nest_level;		/* of the subtransaction */
	Size		budget;
	int64		held;			/* used - published */
	SniiMemStats stats;
	MemoryContextCallback callback;
};

static dlist_head reporters = DLIST_STATIC_INIT(reporters);
static bool callbacks_registered = false;

static void detached(dsm_segment *seg, Datum arg);

/* ---------------- ends ---------------- */

static void
publish(SniiMemReporter *r)
{
	if (r->limiter != NULL)
		snii_mem_limiter_publish(r->limiter, r->slot, r->held,
								 r->stats.used);
	r->stats.published += r->held;
	r->stats.shared_writes++;
	r->held = 0;
}

/* Give back everything that others know of. */
static void
close_reporter(SniiMemReporter *r)
{
	if (!r->open)
		return;
	r->open = false;
	dlist_delete(&r->node);
	r->held -= (int64) r->stats.used;
	r->stats.used = 0;
	r->stats.arena = 0;
	if (r->held != 0)
		publish(r);
	Assert(r->stats.published == 0);
	if (r->limiter == NULL)
		return;
	snii_mem_limiter_count(r->limiter, r->stats.shared_writes);
	if (r->slot >= 0)
		snii_mem_limiter_unregister(r->limiter, r->slot);
	r->limiter = NULL;
}

/* The memory context ends. */
static void
context_ends(void *arg)
{
	SniiMemReporter *r = arg;

	if (r->open && r->seg != NULL)
		cancel_on_dsm_detach(r->seg, detached, PointerGetDatum(r));
	close_reporter(r);
}

/* The segment with the limiter is about to be unmapped. */
static void
detached(dsm_segment *seg, Datum arg)
{
	close_reporter((SniiMemReporter *) DatumGetPointer(arg));
}

/* Close all from a level of subtransactions on. */
static void
close_from(int nest_level)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &reporters)
	{
		SniiMemReporter *r = dlist_container(SniiMemReporter, node, iter.cur);

		if (r->nest_level < nest_level)
			continue;
		if (r->seg != NULL)
			cancel_on_dsm_detach(r->seg, detached, PointerGetDatum(r));
		close_reporter(r);
	}
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		close_from(0);
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId mine,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		close_from(GetCurrentTransactionNestLevel());
}

static void
process_ends(int code, Datum arg)
{
	close_from(0);
}

static void
register_callbacks(void)
{
	if (callbacks_registered)
		return;
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	before_shmem_exit(process_ends, (Datum) 0);
	callbacks_registered = true;
}

/* ---------------- begin and end ---------------- */

SniiMemReporter *
snii_mem_reporter_begin(const SniiMemPlace *place, Oid index, Size budget)
{
	SniiMemReporter *r = palloc0(sizeof(SniiMemReporter));
	SniiMemLimiter *limiter = place != NULL ? place->limiter :
	snii_mem_shared_limiter();
	dsm_segment *seg = place != NULL ? place->seg : NULL;

	register_callbacks();
	r->limiter = limiter;
	r->slot = -1;
	r->nest_level = GetCurrentTransactionNestLevel();
	r->budget = budget;
	r->stats.index = index;
	r->callback.func = context_ends;
	r->callback.arg = r;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &r->callback);
	if (limiter != NULL && seg != NULL)
	{
		on_dsm_detach(seg, detached, PointerGetDatum(r));
		r->seg = seg;
	}
	/* from here on nothing raises an error */
	r->open = true;
	dlist_push_tail(&reporters, &r->node);
	if (limiter != NULL)
		r->slot = snii_mem_limiter_register(limiter, MyProcPid, MyDatabaseId,
											index);
	return r;
}

void
snii_mem_reporter_end(SniiMemReporter *r)
{
	if (r == NULL || !r->open)
		return;
	if (r->stats.used != 0)
		elog(WARNING, "snii index writer ends with " UINT64_FORMAT " bytes in use",
			 r->stats.used);
	Assert(r->stats.used == 0);
	context_ends(r);
}

/* ---------------- counting ---------------- */

static inline void
changed(SniiMemReporter *r)
{
	int64		step = (int64) snii_mem_step_kb * 1024;

	r->stats.calls++;
	if (r->held >= step || r->held <= -step)
		publish(r);
}

void
snii_mem_reserve(SniiMemReporter *r, Size bytes)
{
	if (r == NULL || !r->open || bytes == 0)
		return;
	r->stats.used += bytes;
	r->stats.peak = Max(r->stats.peak, r->stats.used);
	r->held += (int64) bytes;
	changed(r);
}

void
snii_mem_release(SniiMemReporter *r, Size bytes)
{
	if (r == NULL || !r->open || bytes == 0)
		return;
	Assert(r->stats.used >= bytes);
	r->stats.used -= bytes;
	r->held -= (int64) bytes;
	changed(r);
}

/* ---------------- limiter ---------------- */

/*
 * The sum of all builds from which on some are asked to spill: the less of
 * what the settings allow and what the machine has.
 */
static uint64
current_limit(SniiMemReporter *r)
{
	uint64		limit = snii_mem_build_limit(r->budget);
	uint64		least = snii_mem_min_available();

	if (limit == 0)
		limit = PG_UINT64_MAX;
	if (least == 0)
		return limit;
	if (snii_mem_limiter_system_due(r->limiter, (uint64)
									(GetCurrentTimestamp() / USECS_PER_SEC)))
	{
		uint64		left = snii_mem_system_available();

		snii_mem_limiter_system(r->limiter, least - Min(least, left));
	}
	return Min(limit, snii_mem_limiter_system_limit(r->limiter));
}

static void
log_shortfall(SniiMemReporter *r, uint64 limit, uint64 missing)
{
	SniiMemTotals totals;
	int64		now = GetCurrentTimestamp() / USECS_PER_SEC;

	if (!snii_mem_limiter_may_log(r->limiter, now))
		return;
	snii_mem_limiter_totals(r->limiter, &totals);
	ereport(LOG,
			(errmsg("index builds use " UINT64_FORMAT " kB of the " UINT64_FORMAT " kB that %s leaves them, and spilling will not free " UINT64_FORMAT " kB of the excess",
					totals.published / 1024, limit / 1024,
					limit < snii_mem_limiter_system_limit(r->limiter) ?
					"\"snii.build_memory_limit\"" :
					"\"snii.min_available_memory\"",
					missing / 1024),
			 errhint("Run fewer builds at a time, give them less \"maintenance_work_mem\", or lower \"snii.forced_spill_min_arena\".")));
}

void
snii_mem_arena(SniiMemReporter *r, Size bytes)
{
	uint64		limit = PG_UINT64_MAX;
	uint64		missing;
	bool		grew;

	if (r == NULL || !r->open || bytes == r->stats.arena)
		return;
	grew = bytes > r->stats.arena;
	r->stats.arena = bytes;
	if (r->limiter == NULL)
		return;
	if (grew)
		limit = current_limit(r);
	r->stats.limiter_calls++;
	r->stats.shared_writes++;
	missing = snii_mem_limiter_arena(r->limiter, r->slot, bytes,
									 r->stats.used, limit,
									 (Size) snii_mem_forced_spill_min_arena_kb * 1024);
	if (missing > 0)
		log_shortfall(r, limit, missing);
}

bool
snii_mem_spill_wanted(SniiMemReporter *r)
{
	return r != NULL && r->limiter != NULL &&
		snii_mem_limiter_flagged(r->limiter, r->slot) &&
		r->stats.arena >= (Size) snii_mem_forced_spill_min_arena_kb * 1024;
}

void
snii_mem_spilled(SniiMemReporter *r, bool forced)
{
	if (r == NULL || !r->open)
		return;
	r->stats.spills++;
	r->stats.forced += forced;
	if (r->limiter != NULL)
		snii_mem_limiter_spilled(r->limiter, r->slot, forced);
}

void
snii_mem_yielded(SniiMemReporter *r)
{
	if (r != NULL && r->open && r->limiter != NULL)
		snii_mem_limiter_yielded(r->limiter, r->slot);
}

/* ---------------- for views ---------------- */

/* NULL has used nothing. */
void
snii_mem_stats(const SniiMemReporter *r, SniiMemStats *stats)
{
	if (r != NULL)
		*stats = r->stats;
	else
		memset(stats, 0, sizeof(*stats));
}

SniiMemReporter *
snii_mem_reporter_next(const SniiMemReporter *r)
{
	if (r == NULL)
		return dlist_is_empty(&reporters) ? NULL :
			dlist_head_element(SniiMemReporter, node, &reporters);
	if (!dlist_has_next(&reporters, unconstify(dlist_node *, &r->node)))
		return NULL;
	return dlist_container(SniiMemReporter, node, r->node.next);
}

#endif							/* SNII_NO_MEM_ACCOUNTING */
