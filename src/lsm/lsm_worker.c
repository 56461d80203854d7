/*-------------------------------------------------------------------------
 *
 * lsm_worker.c
 *	  Background workers that flush and merge.
 *
 * An inserter that seals a stretch asks for a worker.  One works for an index
 * at a time: it holds the WORKER lock of the index for its session, which is
 * how others know of it, without shared memory and so without a restart.  It
 * lingers for a moment when there is nothing to do, since a process costs
 * more than a flush, and then leaves.  With the library preloaded, the
 * launcher starts the same workers, a bounded number of them
 * (lsm_launcher.c).
 *
 * A worker never delays anybody.  It locks the index alone, in a mode that
 * insertions and VACUUM do not mind, for one unit of work a transaction, and
 * keeps no snapshot.  At least every POLL_MS of work it looks for sessions
 * that wait for the index or want the database for themselves, and gives way:
 * the unit is abandoned like any cancelled transaction, the pages that it took
 * are returned by the next one.  While it lingers it holds no lock but
 * WORKER, which no command takes.
 *
 * A long merge does not keep the buffer from being flushed, nor small segments
 * from being merged: both are done from within it, when it looks around.
 *
 * A worker never starts or waits for a worker.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_launcher.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_place.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_worker.h"
#include "storage/storage_alloc.h"
#include "storage/storage_compact.h"
#include "storage/storage_object.h"
#include "storage/storage_timing.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

bool		snii_lsm_workers = false;	/* the GUC says true */
double		snii_lsm_cost_delay = 2;

/*
 * Lock of the index during a unit of work: stands in nobody's way but that of
 * DDL.  Weaker ones take the fast path of the lock manager, where those who
 * wait cannot be seen.
 */
#define WORK_LOCK		ShareUpdateExclusiveLock

/* How often a worker looks for those that it might delay. */
#define POLL_MS			100

/* Rounds without work, of POLL_MS each, after which it leaves. */
#define IDLE_ROUNDS		10

/* How long it takes a worker to come; nobody starts another one meanwhile. */
#define START_MS		1000

/* How long an index is left alone after an error. */
#define REST_MS			60000

/* What a merge within another one reads at most. */
#define NESTED_MERGE_BYTES	(UINT64CONST(64) << 20)

/* How long a worker of the pool serves one index while others wait. */
#define SERVE_MS		2000

/* Attempts at the WORKER lock, 10 ms apart: those who look take it, too. */
#define LOCK_ATTEMPTS	5

/* ----------------------------------------------------------------
 *		Asking for a worker
 * ----------------------------------------------------------------
 */

static void
worker_tag(LOCKTAG *tag, Oid index)
{
	SET_LOCKTAG_PAGE(*tag, MyDatabaseId, index, SNII_LOCK_WORKER);
}

/*
 * The lock that says that a worker is at work.  It belongs to the session,
 * which has its price: an abort drops it with those of the transaction, and
 * where no transaction is under way, nobody drops it when the process exits.
 */
static LOCKTAG my_tag;
static bool have_tag = false;

/* False if another worker has it, or others have all places. */
static bool
take_worker_lock(void)
{
	bool		placed = snii_lsm_launcher_exists();

	for (int i = 0; i < LOCK_ATTEMPTS && !(have_tag && placed); i++)
	{
		if (i > 0)
			pg_usleep(10000L);
		CHECK_FOR_INTERRUPTS();
		placed = placed || snii_lsm_place_take();
		have_tag = have_tag || LockAcquire(&my_tag, ExclusiveLock, true, true) !=
			LOCKACQUIRE_NOT_AVAIL;
	}
	return have_tag && placed;
}

/* before_shmem_exit callback */
static void
drop_worker_lock(int code, Datum arg)
{
	if (have_tag)
		LockRelease(&my_tag, ExclusiveLock, true);
	have_tag = false;
	snii_lsm_place_drop();
}

/* Is a worker at work for this index? */
static bool
has_worker(Oid index)
{
	LOCKTAG		tag;

	worker_tag(&tag, index);
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return false;
}

bool
snii_lsm_worker_start(const SniiWorkerOrder *order, int notify,
					  BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker = {0};

	StaticAssertStmt(sizeof(SniiWorkerOrder) <= BGW_EXTRALEN,
					 "what a worker is told");
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "snii", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "snii_lsm_worker_main",
			sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, sizeof(worker.bgw_name),
			 "snii worker for index %u of database %u", order->index,
			 order->database);
	strlcpy(worker.bgw_type, "snii worker", sizeof(worker.bgw_type));
	memcpy(worker.bgw_extra, order, sizeof(*order));
	worker.bgw_notify_pid = notify;
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

/*
 * Start one, unless this backend did so a moment ago and it is still to come.
 */
static bool
start_once(const SniiWorkerOrder *order)
{
	static Oid	last_index = InvalidOid;
	static TimestampTz last_start = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (order->index == last_index &&
		!TimestampDifferenceExceeds(last_start, now, START_MS))
		return true;
	if (!snii_lsm_worker_start(order, 0, NULL))
		return false;
	last_index = order->index;
	last_start = now;
	return true;
}

bool
snii_lsm_worker_request(Relation index)
{
	SniiWorkerOrder order = {0};

	/* What nobody else can see yet, no worker can open. */
	if (!snii_lsm_workers || RelationUsesLocalBuffers(index) ||
		snii_compat_is_new_in_transaction(index))
		return false;
	if (snii_lsm_launcher_exists())
		return snii_lsm_launcher_request(RelationGetRelid(index),
										 snii_lsm_buffer_limit_kb);
	if (has_worker(RelationGetRelid(index)))
		return true;
	if (!snii_lsm_place_is_free())
		return false;
	order.database = MyDatabaseId;
	order.index = RelationGetRelid(index);
	order.limit_kb = snii_lsm_buffer_limit_kb;
	order.request = -1;
	return start_once(&order);
}

/* ----------------------------------------------------------------
 *		Giving way, and what else is done within a long merge
 * ----------------------------------------------------------------
 */

/* The unit of work at hand. */
static Relation work_index = NULL;	/* is locked, or NULL: none */
static bool in_merge = false;
static bool nested = false;		/* in what is done within that merge */
static bool gave_way = false;
static bool in_vain = false;	/* ... since the merge was not worth it */
static TimestampTz last_poll = 0;

/*
 * Does somebody want the database for itself (DROP DATABASE, CREATE DATABASE
 * ... TEMPLATE)?  Then this lock, which every new connection takes for a
 * moment, cannot be had.  Not tied to a transaction, since there may be none.
 */
static bool
database_is_wanted(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, true);
	return false;
}

/* Is a swap under way, for which VACUUM would have to wait? */
static bool
holds_marks(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_PAGE(tag, MyDatabaseId, RelationGetRelid(work_index),
					 SNII_LOCK_MARKS);
	return snii_compat_lock_held(&tag, ExclusiveLock);
}

/*
 * Throttle as VACUUM is, unless it is urgent.
 */
static void
set_throttle(bool urgent)
{
	double		delay = urgent ? 0 : snii_lsm_cost_delay;

	if (VacuumCostDelay == delay && VacuumCostActive == (delay > 0))
		return;
	VacuumCostDelay = delay;
	snii_compat_update_vacuum_costs();
}

static uint64
buffer_limit(void)
{
	return (uint64) snii_lsm_buffer_limit_kb * 1024;
}

/* Returns the number of pages that were freed. */
static uint64
recycle(Relation index)
{
	/* The horizon is computed when a snapshot is taken. */
	PushActiveSnapshot(GetTransactionSnapshot());
	PopActiveSnapshot();
	return snii_lsm_recycle(index, NULL);
}

/*
 * What a long merge must not hold up.  What is displaced meanwhile would else
 * make the file grow until the merge ends.  The pins of others may have made an
 * earlier try to recycle fail, so that one is made each time.
 */
static void
work_within_merge(const SniiPolicyLoad *load)
{
	nested = true;
	if (snii_lsm_policy_flush(load, buffer_limit()))
	{
		set_throttle(true);
		snii_lsm_flush(work_index, false, false);
		/* Only what costs nothing: the next flush may be due. */
		if (load->nsegments > load->nsettled)
			snii_lsm_merge_nested(work_index, 0);
	}
	else if (load->nsegments > load->nsettled)
		snii_lsm_merge_nested(work_index, NESTED_MERGE_BYTES);
	recycle(work_index);
	nested = false;
}

static void
reload_settings(void)
{
	if (!ConfigReloadPending)
		return;
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	/* The cost limit may have changed. */
	snii_compat_update_vacuum_costs();
}

/*
 * Look around.
 */
static void
poll_others(void)
{
	SniiPolicyLoad load;

	reload_settings();
	/* Keeps the horizon back, and CREATE INDEX CONCURRENTLY waiting. */
	InvalidateCatalogSnapshot();
	if (LockHasWaitersRelation(work_index, WORK_LOCK) ||
		database_is_wanted())
	{
		gave_way = true;
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("snii worker gives way to another session")));
	}
	if (holds_marks() || nested || !in_merge)
		return;
	if (snii_lsm_merge_is_vain(work_index))
	{
		gave_way = in_vain = true;
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("snii worker begins a merge anew")));
	}
	snii_lsm_load(work_index, &load);
	work_within_merge(&load);
	set_throttle(snii_lsm_policy_urgent(snii_lsm_policy(work_index), &load,
										buffer_limit()));
}

/*
 * snii_storage_poll_hook
 */
static void
worker_poll(void)
{
	TimestampTz now;

	if (work_index == NULL)
		return;
	now = GetCurrentTimestamp();
	if (TimestampDifferenceExceeds(last_poll, now, POLL_MS))
	{
		last_poll = now;
		poll_others();
	}
	if (VacuumCostActive && VacuumCostBalance >= VacuumCostLimit &&
		!holds_marks())
	{
		instr_time	start;

		snii_storage_time_begin(&start);
		snii_compat_vacuum_delay();
		snii_storage_time_end(SNII_TIME_WAITED, &start);
	}
}

/* ----------------------------------------------------------------
 *		The worker
 * ----------------------------------------------------------------
 */

typedef enum WorkResult
{
	WORK_DONE,					/* did something: there may be more */
	WORK_NONE,					/* nothing to do, or not now */
	WORK_GONE,					/* the index cannot be worked on any more */
	WORK_FAILED					/* an error, which was reported */
} WorkResult;

/*
 * A flush if the buffer is worth it ("any": if there is anything to flush),
 * or else one merge, of an index that is open and locked.
 */
static bool
work_on(Relation index, bool any)
{
	SniiPolicyLoad load;
	bool		did = false;

	snii_lsm_load(index, &load);
	if (any || snii_lsm_policy_flush(&load, buffer_limit()))
	{
		set_throttle(true);
		did = snii_lsm_flush(index, false, false) > 0;
	}
	if (!did)
	{
		set_throttle(snii_lsm_policy_urgent(snii_lsm_policy(index), &load,
											buffer_limit()));
		in_merge = true;
		did = snii_lsm_merge_one(index, PG_UINT64_MAX, false);
		in_merge = false;
	}
	if (recycle(index) > 0)
		snii_storage_compact_free(index);
	return did;
}

/*
 * One unit of work in a transaction of its own.
 */
static WorkResult
work_once(Oid oid, bool any)
{
	WorkResult	result = WORK_GONE;
	Relation	index;

	if (!ConditionalLockRelationOid(oid, WORK_LOCK))
		return WORK_NONE;
	index = try_relation_open(oid, NoLock);
	if (index == NULL)
	{
		UnlockRelationOid(oid, WORK_LOCK);
		return WORK_GONE;
	}
	if (index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_rel->relam == get_am_oid("snii", true) &&
		index->rd_index->indisready && index->rd_index->indislive)
	{
		work_index = index;
		last_poll = GetCurrentTimestamp();
		pgstat_report_activity(STATE_RUNNING, "snii: flush and merge");
		InvalidateCatalogSnapshot();
		result = work_on(index, any) ? WORK_DONE : WORK_NONE;
		work_index = NULL;
	}
	relation_close(index, WORK_LOCK);
	return result;
}

/*
 * The same, with errors caught: giving way is one.
 */
static WorkResult
work_safely(Oid oid, bool any)
{
	MemoryContext context = CurrentMemoryContext;
	volatile WorkResult result = WORK_GONE;

	snii_lsm_launcher_look();
	StartTransactionCommand();
	PG_TRY();
	{
		result = work_once(oid, any);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		work_index = NULL;
		in_merge = nested = false;
		HOLD_INTERRUPTS();
		if (!gave_way)
			EmitErrorReport();
		AbortCurrentTransaction();
		have_tag = false;
		snii_lsm_place_forget();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RESUME_INTERRUPTS();
		result = in_vain ? WORK_DONE : gave_way ? WORK_NONE : WORK_FAILED;
		gave_way = in_vain = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
	return result;
}

/* Wait POLL_MS; true if the worker should leave. */
static bool
linger(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 POLL_MS, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	reload_settings();
	return database_is_wanted();
}

/*
 * Leave an index alone that failed.  In the pool the table remembers it; else
 * the WORKER lock does, as long as this process keeps it.
 */
static void
rest(void)
{
	snii_lsm_launcher_failed(REST_MS);
	if (!snii_lsm_launcher_exists())
		for (int ms = 0; ms < REST_MS && !linger(); ms += POLL_MS)
			 /* wait */ ;
}

/*
 * Without a pool nobody knows who waits for a place: a worker that has had
 * one for long leaves it for a moment, in which inserters of other indexes
 * may have a worker started.  False if one did.
 */
static bool
give_others_a_chance(TimestampTz *begin)
{
	if (snii_lsm_launcher_exists() ||
		!TimestampDifferenceExceeds(*begin, GetCurrentTimestamp(), SERVE_MS))
		return true;
	snii_lsm_place_drop();
	(void) linger();
	*begin = GetCurrentTimestamp();
	return take_worker_lock();
}

/*
 * Work until there is nothing to do for a while.  Whoever woke this worker
 * wants a flush.
 */
static WorkResult
work_until_idle(Oid index)
{
	TimestampTz begin = GetCurrentTimestamp();
	WorkResult	result = WORK_DONE;
	bool		any = true;

	for (int idle = 0; idle < IDLE_ROUNDS;)
	{
		result = work_safely(index, any);
		any = false;
		if (!take_worker_lock())
			result = WORK_GONE;
		if (result == WORK_GONE || result == WORK_FAILED)
			break;
		if (snii_lsm_launcher_others_wait() &&
			(result == WORK_NONE ||
			 TimestampDifferenceExceeds(begin, GetCurrentTimestamp(),
										SERVE_MS)))
		{
			if (result == WORK_DONE)
				snii_lsm_launcher_again();
			break;
		}
		if (!give_others_a_chance(&begin))
		{
			result = WORK_GONE;
			break;
		}
		idle = result == WORK_DONE ? 0 : idle + 1;
		if (idle > 0 && linger())
		{
			result = WORK_GONE;
			break;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return result;
}

/*
 * Maintain an index until there is nothing to do.
 */
static void
maintain(Oid index)
{
	WorkResult	result;

	worker_tag(&my_tag, index);
	before_shmem_exit(drop_worker_lock, (Datum) 0);
	do
	{
		if (!take_worker_lock())
			return;
		result = work_until_idle(index);
		/* Whoever asked may have a smaller limit than we: leave nothing. */
		if (result == WORK_NONE && work_safely(index, true) == WORK_FAILED)
			result = WORK_FAILED;
		if (!take_worker_lock())
			return;
		if (result == WORK_FAILED)
			rest();
		drop_worker_lock(0, (Datum) 0);

		/*
		 * Whoever looked before that believes that we go on, so look once
		 * more.  The pool's table knows of those who asked.
		 */
	} while (result == WORK_NONE && !snii_lsm_launcher_exists() &&
			 work_safely(index, false) == WORK_DONE);
}

/*
 * Settings of postgresql.conf, ALTER DATABASE and ALTER ROLE are meant for
 * sessions; these would do harm here.
 */
static void
adjust_settings(int limit_kb)
{
	static const char *const fixed[][2] = {
		{"zero_damaged_pages", "false"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		{"transaction_timeout", "0"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"default_transaction_isolation", "read committed"},
		{"synchronous_commit", "local"},
		{"default_tablespace", ""}
	};
	char		buf[32];

	for (int i = 0; i < lengthof(fixed); i++)
		if (GetConfigOption(fixed[i][0], true, false) != NULL)
			SetConfigOption(fixed[i][0], fixed[i][1], PGC_SUSET,
							PGC_S_OVERRIDE);
	if (limit_kb < snii_lsm_buffer_limit_kb)
	{
		snprintf(buf, sizeof(buf), "%d", limit_kb);
		SetConfigOption("snii.buffer_limit", buf, PGC_USERSET,
						PGC_S_OVERRIDE);
	}
	if (autovacuum_work_mem >= 0)
	{
		snprintf(buf, sizeof(buf), "%d", autovacuum_work_mem);
		SetConfigOption("maintenance_work_mem", buf, PGC_USERSET,
						PGC_S_OVERRIDE);
	}
}

void
snii_lsm_worker_main(Datum arg)
{
	SniiWorkerOrder order;

	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	if (order.request >= 0 && !snii_lsm_launcher_attach(&order))
		proc_exit(0);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(order.database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	adjust_settings(order.limit_kb);
	pgstat_report_appname("snii worker");
	snii_storage_poll_hook = worker_poll;
	maintain(order.index);
	proc_exit(0);
}
