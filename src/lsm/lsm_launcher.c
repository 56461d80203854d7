/*-------------------------------------------------------------------------
 *
 * lsm_launcher.c
 *	  A pool of workers for all indexes of the server, when preloaded.
 *
 * With shared_preload_libraries = 'snii' whoever needs a worker puts a request
 * into a table in shared memory and wakes the launcher, which starts the
 * same workers that would be started without it, but never more than
 * snii.max_workers at a time, and in the order of the requests.  The table is
 * bounded and a hint only: what is lost is asked for again by the next one
 * that seals a stretch.  Nothing in it matters to recovery or a standby.
 *
 * A request is WAITING until the launcher starts a worker for it (STARTING),
 * which then owns it (RUNNING) and ends it in an exit callback; it waits again
 * if it was repeated since the worker looked at the index for the last time.
 * A worker that never came is found by the launcher.  After a failure the request stays,
 * RESTING, so that an index that always fails is not tried all the time.  Then
 * inserters go on as if somebody worked, since what they can do for the index
 * would fail, too, and their insertions with it.
 *
 * The lock of the table is held for a walk over it and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_launcher.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

int			snii_lsm_max_workers = 2;

#define MAX_REQUESTS	128

/* A worker that has not come after this will not. */
#define START_MS		60000

/* How long to wait before another attempt when no process can be had. */
#define RETRY_MS		1000

/* The launcher looks around at least this often. */
#define ROUND_MS		10000

typedef enum RequestState
{
	REQUEST_FREE,
	REQUEST_WAITING,
	REQUEST_STARTING,
	REQUEST_RUNNING,
	REQUEST_RESTING
} RequestState;

typedef struct Request
{
	RequestState state;
	SniiWorkerOrder order;
	bool		again;			/* RUNNING: asked for since the last look */
	uint64		turn;			/* WAITING: the lowest is next */
	TimestampTz when;			/* STARTING: since; RESTING: until */
} Request;

typedef struct Pool
{
	LWLock	   *lock;
	Latch	   *launcher;		/* NULL: there is none */
	bool		blocked;		/* the last start failed */
	uint64		next_turn;
	Request		requests[MAX_REQUESTS];
} Pool;

static Pool *pool = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/* ----------------------------------------------------------------
 *		Set-up
 * ----------------------------------------------------------------
 */

static void
pool_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Pool)));
	RequestNamedLWLockTranche("snii", 1);
}

static void
pool_shmem_startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	pool = ShmemInitStruct("snii pool", sizeof(Pool), &found);
	if (!found)
	{
		memset(pool, 0, sizeof(Pool));
		pool->lock = &GetNamedLWLockTranche("snii")->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

void
snii_lsm_launcher_init(void)
{
	BackgroundWorker worker = {0};

	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = pool_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = pool_shmem_startup;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "snii", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "snii_lsm_launcher_main",
			sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "snii launcher", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "snii launcher", sizeof(worker.bgw_type));
	RegisterBackgroundWorker(&worker);
}

bool
snii_lsm_launcher_exists(void)
{
	return pool != NULL;
}

/* ----------------------------------------------------------------
 *		Requests
 * ----------------------------------------------------------------
 */

/*
 * The request for an index, else one that is free, else NULL.  The table is
 * locked.
 */
static Request *
find_request(Oid database, Oid index)
{
	Request    *result = NULL;
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < MAX_REQUESTS; i++)
	{
		Request    *r = &pool->requests[i];

		if (r->state == REQUEST_RESTING && r->when <= now)
			r->state = REQUEST_FREE;
		if (r->state == REQUEST_FREE)
		{
			if (result == NULL)
				result = r;
		}
		else if (r->order.database == database && r->order.index == index)
			return r;
	}
	return result;
}

static void
queue_request(Request *r)
{
	r->state = REQUEST_WAITING;
	r->again = false;
	r->turn = pool->next_turn++;
}

static void
wake_launcher(void)
{
	if (pool->launcher != NULL)
		SetLatch(pool->launcher);
}

bool
snii_lsm_launcher_request(Oid index, int limit_kb)
{
	Request    *r;
	bool		result = true;

	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	r = find_request(MyDatabaseId, index);
	if (r == NULL || pool->launcher == NULL || snii_lsm_max_workers == 0)
		result = false;
	else if (r->state == REQUEST_FREE)
	{
		r->order.database = MyDatabaseId;
		r->order.index = index;
		r->order.limit_kb = limit_kb;
		r->order.request = (int) (r - pool->requests);
		queue_request(r);
		wake_launcher();
	}
	else
		r->again = true;
	if (result && r->state == REQUEST_WAITING && pool->blocked)
		result = false;
	LWLockRelease(pool->lock);
	return result;
}

/* ----------------------------------------------------------------
 *		A worker
 * ----------------------------------------------------------------
 */

/* The request of this process, and what becomes of it. */
static Request *my_request = NULL;
static int	my_rest_ms = 0;

static void
end_request(int code, Datum arg)
{
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	if (my_rest_ms > 0)
	{
		my_request->state = REQUEST_RESTING;
		my_request->when = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   my_rest_ms);
	}
	else if (my_request->again)
		queue_request(my_request);
	else
		my_request->state = REQUEST_FREE;
	wake_launcher();
	LWLockRelease(pool->lock);
}

bool
snii_lsm_launcher_attach(const SniiWorkerOrder *order)
{
	Request    *r;
	bool		wanted;

	if (pool == NULL || order->request < 0 || order->request >= MAX_REQUESTS)
		return false;
	r = &pool->requests[order->request];
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	wanted = r->state == REQUEST_STARTING &&
		r->order.database == order->database &&
		r->order.index == order->index;
	if (wanted)
	{
		r->state = REQUEST_RUNNING;
		my_request = r;
		before_shmem_exit(end_request, (Datum) 0);
	}
	LWLockRelease(pool->lock);
	return wanted;
}

/* Workers that are there or come; the table is locked. */
static int
count_workers(void)
{
	int			n = 0;

	for (int i = 0; i < MAX_REQUESTS; i++)
		n += pool->requests[i].state == REQUEST_STARTING ||
			pool->requests[i].state == REQUEST_RUNNING;
	return n;
}

bool
snii_lsm_launcher_others_wait(void)
{
	bool		result = false;

	if (my_request == NULL)
		return false;
	LWLockAcquire(pool->lock, LW_SHARED);
	if (count_workers() >= snii_lsm_max_workers)
		for (int i = 0; i < MAX_REQUESTS && !result; i++)
			result = pool->requests[i].state == REQUEST_WAITING;
	LWLockRelease(pool->lock);
	return result;
}

void
snii_lsm_launcher_look(void)
{
	if (my_request == NULL)
		return;
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	my_request->again = false;
	LWLockRelease(pool->lock);
}

void
snii_lsm_launcher_again(void)
{
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	my_request->again = true;
	LWLockRelease(pool->lock);
}

void
snii_lsm_launcher_failed(int rest_ms)
{
	my_rest_ms = rest_ms;
}

/* ----------------------------------------------------------------
 *		The launcher
 * ----------------------------------------------------------------
 */

/* Of the last worker that was started for each request. */
static BackgroundWorkerHandle *handles[MAX_REQUESTS];

static void
forget_launcher(int code, Datum arg)
{
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	pool->launcher = NULL;
	LWLockRelease(pool->lock);
}

/*
 * Did the worker of a STARTING request end before it came?
 */
static bool
never_came(int i)
{
	pid_t		pid;

	if (handles[i] != NULL)
		return GetBackgroundWorkerPid(handles[i], &pid) == BGWH_STOPPED;
	/* Started by a launcher before this one. */
	return TimestampDifferenceExceeds(pool->requests[i].when,
									  GetCurrentTimestamp(), START_MS);
}

/*
 * Free the requests of workers that will not come, and choose the next one to
 * start a worker for: -1 if there is none, or the pool is full.
 */
static int
next_request(SniiWorkerOrder *order)
{
	int			result = -1;

	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_REQUESTS; i++)
	{
		Request    *r = &pool->requests[i];

		if (r->state == REQUEST_STARTING && never_came(i))
			r->state = REQUEST_FREE;
		if (r->state == REQUEST_WAITING &&
			(result < 0 || r->turn < pool->requests[result].turn))
			result = i;
	}
	if (count_workers() >= snii_lsm_max_workers)
		result = -1;
	if (result >= 0)
	{
		pool->requests[result].state = REQUEST_STARTING;
		pool->requests[result].when = GetCurrentTimestamp();
		*order = pool->requests[result].order;
	}
	LWLockRelease(pool->lock);
	return result;
}

/* Workers for databases that were dropped would end with a message. */
static bool
database_exists(Oid database)
{
	bool		result;

	StartTransactionCommand();
	result = SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database));
	CommitTransactionCommand();
	return result;
}

/*
 * Start a worker for a request that is STARTING.
 */
static bool
start_worker(int i, const SniiWorkerOrder *order)
{
	RequestState state = REQUEST_STARTING;
	MemoryContext old;

	if (handles[i] != NULL)
		pfree(handles[i]);
	handles[i] = NULL;
	if (!database_exists(order->database))
		state = REQUEST_FREE;
	else
	{
		old = MemoryContextSwitchTo(TopMemoryContext);
		if (!snii_lsm_worker_start(order, MyProcPid, &handles[i]))
			state = REQUEST_WAITING;
		MemoryContextSwitchTo(old);
	}
	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	/* A worker that was started may be at work by now. */
	if (state != REQUEST_STARTING)
		pool->requests[i].state = state;
	pool->blocked = state == REQUEST_WAITING;
	LWLockRelease(pool->lock);
	return state != REQUEST_WAITING;
}

/*
 * Start what can be started.  Returns how long to wait, in milliseconds.
 */
static long
serve(void)
{
	SniiWorkerOrder order;
	int			i;

	while ((i = next_request(&order)) >= 0)
		if (!start_worker(i, &order))
			return RETRY_MS;
	return ROUND_MS;
}

void
snii_lsm_launcher_main(Datum arg)
{
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	/* No database: only what all of them share. */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pgstat_report_appname("snii launcher");

	LWLockAcquire(pool->lock, LW_EXCLUSIVE);
	pool->launcher = MyLatch;
	pool->blocked = false;
	LWLockRelease(pool->lock);
	before_shmem_exit(forget_launcher, (Datum) 0);

	while (!ShutdownRequestPending)
	{
		long		wait_ms = serve();

		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 wait_ms, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
	/* Not 0, so that it comes back if it was not the server that stops. */
	proc_exit(1);
}
