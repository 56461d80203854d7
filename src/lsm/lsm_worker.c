/*-------------------------------------------------------------------------
 *
 * lsm_worker.c
 *	  Background workers that flush and merge.
 *
 * An inserter that seals a stretch asks for a worker.  One works for an index
 * at a time: it holds the WORKER lock of the index for its session, which is
 * how others know of it, without shared memory and so without a restart.  It
 * lingers for a moment when there is nothing to do, since a process costs
 * more than a flush, and then leaves.
 *
 * A worker never delays anybody.  It locks the index alone, in a mode that
 * insertions and VACUUM do not mind, for one unit of work a transaction, and
 * has no snapshot.  At
 * least every POLL_MS it looks for sessions that wait for the index or want
 * the database for themselves, and gives way: the unit is abandoned like any
 * cancelled transaction, the pages that it took are returned by the next one.
 * While it lingers it holds no lock but WORKER, which no command takes.
 *
 * A worker never starts or waits for a worker.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_maintain.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_worker.h"
#include "storage/storage_alloc.h"
#include "storage/storage_compact.h"
#include "storage/storage_object.h"
#include "storage/storage_recycle.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
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

static bool
take_worker_lock(void)
{
	have_tag = LockAcquire(&my_tag, ExclusiveLock, true, true) !=
		LOCKACQUIRE_NOT_AVAIL;
	return have_tag;
}

/* before_shmem_exit callback */
static void
drop_worker_lock(int code, Datum arg)
{
	if (have_tag)
		LockRelease(&my_tag, ExclusiveLock, true);
	have_tag = false;
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
snii_lsm_worker_request(Relation index)
{
	BackgroundWorker worker = {0};

	/* What nobody else can see yet, no worker can open. */
	if (!snii_lsm_workers || RelationUsesLocalBuffers(index) ||
		snii_compat_is_new_in_transaction(index))
		return false;
	if (has_worker(RelationGetRelid(index)))
		return true;
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "snii", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "snii_lsm_worker_main",
			sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, sizeof(worker.bgw_name),
			 "snii worker for index %u of database %u",
			 RelationGetRelid(index), MyDatabaseId);
	strlcpy(worker.bgw_type, "snii worker", sizeof(worker.bgw_type));
	worker.bgw_main_arg = ObjectIdGetDatum(RelationGetRelid(index));
	memcpy(worker.bgw_extra, &MyDatabaseId, sizeof(Oid));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* ----------------------------------------------------------------
 *		Giving way
 * ----------------------------------------------------------------
 */

/* The index that the unit of work at hand has locked. */
static Relation work_index = NULL;
static TimestampTz last_poll = 0;
static bool gave_way = false;

/*
 * Does somebody want the database for itself (DROP DATABASE, CREATE DATABASE
 * ... TEMPLATE)?  Then this lock, which every new connection takes for a
 * moment, cannot be had.
 */
static bool
database_is_wanted(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

/*
 * Called by storage/ now and then while pages are written.
 */
static void
poll_others(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (work_index == NULL ||
		!TimestampDifferenceExceeds(last_poll, now, POLL_MS))
		return;
	last_poll = now;
	if (LockHasWaitersRelation(work_index, WORK_LOCK) ||
		database_is_wanted())
	{
		gave_way = true;
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("snii worker gives way to another session")));
	}
	if (snii_lsm_cost_delay > 0)
		snii_compat_vacuum_delay();
}

/* ----------------------------------------------------------------
 *		The worker
 * ----------------------------------------------------------------
 */

typedef enum WorkResult
{
	WORK_DONE,					/* did something: there may be more */
	WORK_NONE,					/* nothing to do, or not now */
	WORK_GONE					/* the index cannot be worked on any more */
} WorkResult;

/*
 * Throttle merges as VACUUM is, unless they are urgent.
 */
static void
set_throttle(bool urgent)
{
	char		delay[32];

	snprintf(delay, sizeof(delay), "%g", urgent ? 0.0 : snii_lsm_cost_delay);
	SetConfigOption("vacuum_cost_delay", delay, PGC_USERSET, PGC_S_SESSION);
	snii_compat_update_vacuum_costs();
}

/*
 * Flush, or else one merge, of an index that is open and locked.
 */
static bool
work_on(Relation index)
{
	bool		did;

	set_throttle(true);
	did = snii_lsm_flush(index, false, false) > 0;
	if (!did)
	{
		set_throttle(snii_lsm_is_urgent(index));
		did = snii_lsm_merge_one(index, PG_UINT64_MAX, false);
	}
	if (did && snii_lsm_recycle(index, NULL) > 0)
		snii_storage_compact_free(index);
	return did;
}

/*
 * One unit of work in a transaction of its own.
 */
static WorkResult
work_once(Oid oid)
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
		result = work_on(index) ? WORK_DONE : WORK_NONE;
		work_index = NULL;
	}
	relation_close(index, WORK_LOCK);
	return result;
}

/*
 * The same, with errors caught: giving way is one.
 */
static WorkResult
work_safely(Oid oid)
{
	MemoryContext context = CurrentMemoryContext;
	volatile WorkResult result = WORK_GONE;

	StartTransactionCommand();
	PG_TRY();
	{
		result = work_once(oid);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		work_index = NULL;
		HOLD_INTERRUPTS();
		if (!gave_way)
			EmitErrorReport();
		AbortCurrentTransaction();
		have_tag = false;
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RESUME_INTERRUPTS();
		result = gave_way ? WORK_NONE : WORK_GONE;
		gave_way = false;
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
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return database_is_wanted();
}

void
snii_lsm_worker_main(Datum arg)
{
	Oid			index = DatumGetObjectId(arg);
	Oid			database;
	int			idle = 0;

	memcpy(&database, MyBgworkerEntry->bgw_extra, sizeof(Oid));
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);

	worker_tag(&my_tag, index);
	before_shmem_exit(drop_worker_lock, (Datum) 0);
	if (!take_worker_lock())
		proc_exit(0);			/* somebody else was faster */
	snii_storage_interrupt_hook = poll_others;
	pgstat_report_appname("snii worker");
	while (idle < IDLE_ROUNDS)
	{
		WorkResult	result = work_safely(index);

		if (result == WORK_GONE || (!have_tag && !take_worker_lock()))
			break;
		if (result == WORK_DONE)
			idle = 0;
		else
		{
			idle++;
			if (linger())
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
	proc_exit(0);
}
