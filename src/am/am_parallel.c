/*-------------------------------------------------------------------------
 *
 * am_parallel.c
 *	  CREATE INDEX by several processes.
 *
 * The participants, of which the leader is one, share a scan of the table.
 *
 * Of an inverted index, each has a term buffer, documents and runs of its own,
 * and a slot through which it writes and publishes a segment of its own: what a
 * participant does
 * is what a build by one process does, so there is nothing that one does for
 * all at the end, and no time when one waits for another but for the last
 * rows.  Rejected: one segment for all, whose terms the leader merges.  That
 * takes a third of the time of a build, in one process.
 *
 * Queries then read a few segments where there might be one; later merges
 * see them like any others.  Which rows are in which segment depends on the
 * order in which participants took stretches of the table, the answers do
 * not.
 *
 * Of a key index, each sorts its rows, in memory or by way of a file of its
 * own, and the workers send them in order through queues to the leader, who
 * merges them with its own and writes the one run.  A worker looks its entries
 * up in memory, or merges its runs, while the leader writes.  Rejected: files
 * that the leader reads when all have ended, as core's parallel sort has them,
 * since the leader would wait and the runs of all would be merged by it alone.
 * The run is that of a build by one process, byte by byte.
 *
 * Workers (of an inverted index) write pages and WAL.  They need no transaction
 * id: all pages belong
 * to a relation that is new or has a new file, which goes away as a whole
 * when the transaction, or the leader, fails.  Slots are locked by
 * heavyweight locks, which do not tell the members of a lock group apart on
 * every version, and so no two participants ever use the same one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_build.h"
#include "am/am_parallel.h"
#include "compat.h"
#include "memory/mem_shared.h"
#include "storage/storage_alloc.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

#define KEY_SHARED			UINT64CONST(0x5E11000000000001)
#define KEY_QUERY_TEXT		UINT64CONST(0x5E11000000000002)
#define KEY_WAL_USAGE		UINT64CONST(0x5E11000000000003)
#define KEY_BUFFER_USAGE	UINT64CONST(0x5E11000000000004)
#define KEY_LIMITER			UINT64CONST(0x5E11000000000006)
#define KEY_SCAN			UINT64CONST(0x5E11000000000005)
#define KEY_QUEUES			UINT64CONST(0x5E11000000000007)

/* Between looks at the workers' progress. */
#define WATCH_MS			500

/* Of a build, in its dynamic shared memory. */
typedef struct BuildShared
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	bool		is_key;
	Size		budget;			/* of a participant */
	SniiAmShare shares[SNII_AM_MAX_WORKERS];	/* of the workers */
	SniiAmCounts counts[SNII_AM_MAX_WORKERS];
	pg_atomic_uint32 finished;	/* workers */
} BuildShared;

/* The leader's view of it. */
typedef struct BuildLeader
{
	ParallelContext *pcxt;
	BuildShared *shared;
	ParallelTableScanDesc scan;
	Snapshot	snapshot;
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;
	SniiMemPlace place;			/* of inverted indexes */
	char	   *queues;			/* of key indexes */
	SniiAmProgress progress;
} BuildLeader;

/* Workers to ask for; 0: build alone. */
static int
workers_wanted(Relation heap, Relation index, IndexInfo *info)
{
	/* TRUNCATE wants no workers, not even if the table has the option. */
	if (IsInParallelMode() || !IsNormalProcessingMode() ||
		RelationGetNumberOfBlocks(heap) == 0)
		return 0;
	return Min(SniiBuildWorkers(heap, index, info),
			   SNII_AM_MAX_WORKERS);
}

static void
estimate(ParallelContext *pcxt, Relation heap, Snapshot snapshot, bool is_key)
{
	shm_toc_estimator *e = &pcxt->estimator;

	shm_toc_estimate_chunk(e, sizeof(BuildShared));
	shm_toc_estimate_chunk(e, table_parallelscan_estimate(heap, snapshot));
	shm_toc_estimate_chunk(e, mul_size(sizeof(WalUsage), pcxt->nworkers));
	shm_toc_estimate_chunk(e, mul_size(sizeof(BufferUsage), pcxt->nworkers));
	if (is_key)
		shm_toc_estimate_chunk(e, mul_size(SNII_AM_KEY_QUEUE_BYTES,
										   pcxt->nworkers));
	else
		shm_toc_estimate_chunk(e, snii_mem_limiter_size(pcxt->nworkers + 1));
	shm_toc_estimate_keys(e, 5);
	if (debug_query_string != NULL)
	{
		shm_toc_estimate_chunk(e, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(e, 1);
	}
}

static void *
add_chunk(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *chunk = shm_toc_allocate(pcxt->toc, size);

	shm_toc_insert(pcxt->toc, key, chunk);
	return chunk;
}

/* The limiter of the server, or else that of the build. */
static SniiMemPlace
limiter_place(SniiMemLimiter *own, dsm_segment *seg)
{
	SniiMemPlace place = {snii_mem_shared_limiter(), NULL};

	if (place.limiter == NULL)
	{
		place.limiter = own;
		place.seg = seg;
	}
	return place;
}

static shm_mq *
queue_of(char *queues, int i)
{
	return (shm_mq *) (queues + (Size) i * SNII_AM_KEY_QUEUE_BYTES);
}

/* A limiter, or queues, by the kind of index. */
static void
share_by_kind(BuildLeader *leader)
{
	ParallelContext *pcxt = leader->pcxt;
	int			n = pcxt->nworkers;

	if (leader->shared->is_key)
	{
		leader->queues = add_chunk(pcxt, KEY_QUEUES,
								   mul_size(SNII_AM_KEY_QUEUE_BYTES, n));
		for (int i = 0; i < n; i++)
			shm_mq_set_receiver(shm_mq_create(queue_of(leader->queues, i),
											  SNII_AM_KEY_QUEUE_BYTES),
								MyProc);
	}
	else
	{
		SniiMemLimiter *limiter = add_chunk(pcxt, KEY_LIMITER,
											snii_mem_limiter_size(n + 1));

		snii_mem_limiter_init(limiter, n + 1);
		leader->place = limiter_place(limiter, pcxt->seg);
	}
}

/* Fill the shared memory that estimate() has asked for. */
static void
share(BuildLeader *leader, Relation heap, Relation index, bool is_key,
	  bool concurrent)
{
	ParallelContext *pcxt = leader->pcxt;
	int			n = pcxt->nworkers;

	leader->shared = add_chunk(pcxt, KEY_SHARED, sizeof(BuildShared));
	memset(leader->shared, 0, sizeof(BuildShared));
	pg_atomic_init_u32(&leader->shared->finished, 0);
	for (int i = 0; i < n; i++)
		snii_am_progress_init(&leader->shared->counts[i]);
	leader->progress.workers = leader->shared->counts;
	leader->progress.nworkers = n;
	leader->shared->heap = RelationGetRelid(heap);
	leader->shared->index = RelationGetRelid(index);
	leader->shared->concurrent = concurrent;
	leader->shared->is_key = is_key;
	leader->shared->budget = (Size) maintenance_work_mem * 1024 / (n + 1);
	leader->scan = add_chunk(pcxt, KEY_SCAN,
							 table_parallelscan_estimate(heap,
														 leader->snapshot));
	table_parallelscan_initialize(heap, leader->scan, leader->snapshot);
	leader->scan->phs_syncscan = false;
	leader->wal_usage = add_chunk(pcxt, KEY_WAL_USAGE,
								  mul_size(sizeof(WalUsage), n));
	leader->buffer_usage = add_chunk(pcxt, KEY_BUFFER_USAGE,
									 mul_size(sizeof(BufferUsage), n));
	share_by_kind(leader);
	if (debug_query_string != NULL)
		strcpy(add_chunk(pcxt, KEY_QUERY_TEXT,
						 strlen(debug_query_string) + 1),
			   debug_query_string);
}

/* Leave parallel mode; all workers have ended. */
static void
leave(BuildLeader *leader)
{
	if (IsMVCCSnapshot(leader->snapshot))
		UnregisterSnapshot(leader->snapshot);
	DestroyParallelContext(leader->pcxt);
	ExitParallelMode();
}

/*
 * Enter parallel mode and launch workers; false, and parallel mode left, if
 * there is no memory for it or no worker.
 */
static bool
enter(BuildLeader *leader, Relation heap, Relation index, bool is_key,
	  bool concurrent, int nworkers)
{
	EnterParallelMode();
	leader->pcxt = CreateParallelContext("snii", "snii_am_parallel_worker",
										 nworkers);
	/* As in any build: all rows, or those that a concurrent one sees. */
	leader->snapshot = concurrent ?
		RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	estimate(leader->pcxt, heap, leader->snapshot, is_key);
	InitializeParallelDSM(leader->pcxt);
	if (leader->pcxt->seg != NULL)
	{
		share(leader, heap, index, is_key, concurrent);
		LaunchParallelWorkers(leader->pcxt);
		if (leader->pcxt->nworkers_launched > 0)
			return true;
	}
	leave(leader);
	return false;
}

/* Has a worker left, whether it has finished or not? */
static bool
any_stopped(const ParallelContext *pcxt)
{
	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		BackgroundWorkerHandle *handle = pcxt->worker[i].bgwhandle;
		pid_t		pid;

		if (handle == NULL ||
			GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED)
			return true;
	}
	return false;
}

/*
 * Show the progress of the workers until all have finished, or one has left,
 * which WaitForParallelWorkersToFinish() then tells of.
 */
static void
watch(BuildLeader *leader)
{
	uint32		n = leader->pcxt->nworkers_launched;

	snii_am_progress_phase(SNII_AM_PHASE_WAIT);
	while (pg_atomic_read_u32(&leader->shared->finished) < n &&
		   !any_stopped(leader->pcxt))
	{
		snii_am_progress_show(&leader->progress);
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WATCH_MS, WAIT_EVENT_PARALLEL_FINISH);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	snii_am_progress_show(&leader->progress);
}

/* The leader's share of a key index. */
static void
lead_key_build(BuildLeader *leader, Relation heap, Relation index,
			   IndexInfo *info, const SniiAmPart *part, SniiAmShare *share)
{
	ParallelContext *pcxt = leader->pcxt;
	int			n = pcxt->nworkers_launched;
	shm_mq_handle **queues = palloc(n * sizeof(shm_mq_handle *));

	/* With its handle, a worker that never came does not keep us waiting. */
	for (int i = 0; i < n; i++)
		queues[i] = shm_mq_attach(queue_of(leader->queues, i), pcxt->seg,
								  pcxt->worker[i].bgwhandle);
	snii_am_key_build(heap, index, info, part, pcxt, queues, share);
	for (int i = 0; i < n; i++)
		shm_mq_detach(queues[i]);
	pfree(queues);
}

/* The leader's own share, then the sum of all. */
static void
participate(BuildLeader *leader, Relation heap, Relation index,
			IndexInfo *info, SniiAmShare *sum)
{
	SniiAmPart	part = {table_beginscan_parallel(heap, leader->scan),
		SNII_SLOT_FLUSH, leader->shared->budget, &leader->place,
	&leader->progress};

	if (leader->shared->is_key)
		lead_key_build(leader, heap, index, info, &part, sum);
	else
		snii_am_build_share(heap, index, info, &part, sum);
	watch(leader);
	WaitForParallelWorkersToFinish(leader->pcxt);
	for (int i = 0; i < leader->pcxt->nworkers_launched; i++)
	{
		snii_am_build_add(sum, &leader->shared->shares[i]);
		InstrAccumParallelQuery(&leader->buffer_usage[i],
								&leader->wal_usage[i]);
	}
}

bool
snii_am_parallel_build(Relation heap, Relation index, IndexInfo *info,
					   bool is_key, SniiAmLastBuild *result)
{
	BuildLeader leader = {0};
	int			nworkers = workers_wanted(heap, index, info);

	result->planned = nworkers;
	if (nworkers <= 0 ||
		!enter(&leader, heap, index, is_key, info->ii_Concurrent, nworkers))
		return false;
	participate(&leader, heap, index, info, &result->sum);
	result->launched = leader.pcxt->nworkers_launched;
	leave(&leader);
	return true;
}

/* A worker's share, by the kind of index. */
static void
work(dsm_segment *seg, shm_toc *toc, BuildShared *shared, Relation heap,
	 Relation index, IndexInfo *info)
{
	SniiAmShare *share = &shared->shares[ParallelWorkerNumber];
	SniiAmProgress progress = {0};
	SniiAmPart	part;

	progress.mine = &shared->counts[ParallelWorkerNumber];
	part.scan = table_beginscan_parallel(heap, shm_toc_lookup(toc, KEY_SCAN,
															  false));
	part.slot = SNII_SLOT_WORKER + ParallelWorkerNumber;
	part.budget = shared->budget;
	part.place = NULL;
	part.progress = &progress;
	if (shared->is_key)
	{
		shm_mq	   *queue = queue_of(shm_toc_lookup(toc, KEY_QUEUES, false),
									 ParallelWorkerNumber);
		shm_mq_handle *handle;

		shm_mq_set_sender(queue, MyProc);
		handle = shm_mq_attach(queue, seg, NULL);
		snii_am_key_build_worker(heap, index, info, &part, handle, share);
		shm_mq_detach(handle);
	}
	else
	{
		SniiMemPlace place = limiter_place(shm_toc_lookup(toc, KEY_LIMITER,
														  false), seg);

		part.place = &place;
		snii_am_build_share(heap, index, info, &part, share);
	}
	pg_atomic_fetch_add_u32(&shared->finished, 1);
}

void
snii_am_parallel_worker(dsm_segment *seg, shm_toc *toc)
{
	BuildShared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	bool		concurrent = shared->concurrent;
	LOCKMODE	heap_lock;
	LOCKMODE	index_lock;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	WalUsage   *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);

	/* The locks that the leader has, by index.c. */
	heap_lock = concurrent ? ShareUpdateExclusiveLock : ShareLock;
	index_lock = concurrent ? RowExclusiveLock : AccessExclusiveLock;
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = concurrent;

	InstrStartParallelQuery();
	work(seg, toc, shared, heap, index, info);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
