/*-------------------------------------------------------------------------
 *
 * lsm_vacuum.c
 *	  VACUUM of any kind of snii index.
 *
 * Segments and stretches come and go while VACUUM runs.  It takes one entry of
 * the directory after the other, always from a fresh copy, until there is
 * none left that it has not visited: an entry that was flushed or merged
 * before its turn comes again as a part of its successor, and one that was
 * visited hands its marks on when it is swapped (see lsm_maintain.c).
 *
 * VACUUM's own snapshot does not hold back the horizon, so while it reads an
 * entry it holds the RECYCLE lock in share mode, in turns (lsm_turn.c); between
 * two entries it holds nothing, and merges and frees go on.  Marks are set
 * at the end of each turn, so that those who publish a merge do not wait long
 * for MARKS either.
 *
 * When all marks are set, VACUUM waits for the scans that may still use what
 * they cover (lsm_barrier.c).
 *
 * Lock order: RECYCLE, MARKS, then buffer locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_barrier.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_side.h"
#include "lsm/lsm_stats.h"
#include "lsm/lsm_timing.h"
#include "lsm/lsm_turn.h"
#include "lsm/lsm_vacuum.h"
#include "lsm/lsm_view.h"
#include "lsm/lsm_worker.h"
#include "storage/storage_alloc.h"
#include "storage/storage_buffer.h"
#include "storage/storage_compact.h"
#include "storage/storage_directory.h"
#include "storage/storage_meta.h"
#include "storage/storage_point.h"
#include "storage/storage_recycle.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

typedef struct VacuumState
{
	Relation	index;
	Relation	heap;			/* or NULL */
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;
	void	   *callback_state;
	uint64	   *visited;		/* ids */
	int			nvisited;
	int			visited_capacity;
	uint64		nbytes;			/* of segments */
	SniiTurn	turn;
	/* Of the segment at hand. */
	const SniiDirEntry *entry;
	SniiObject *object;
	uint8	   *marks;			/* as they are in the pages */
	uint64	   *dead;			/* to be set */
	uint64		ndead;
	uint64		nlive;
} VacuumState;

static bool
was_visited(const VacuumState *v, uint64 id)
{
	for (int i = 0; i < v->nvisited; i++)
		if (v->visited[i] == id)
			return true;
	return false;
}

static void
note_visited(VacuumState *v, uint64 id)
{
	if (v->nvisited == v->visited_capacity)
	{
		v->visited_capacity *= 2;
		v->visited = repalloc(v->visited,
							  v->visited_capacity * sizeof(uint64));
	}
	v->visited[v->nvisited++] = id;
}

/* Dead documents that are marked at a time, at most. */
#define DEAD_CAPACITY	65536

/*
 * Set the marks that are to be set, unless the segment is gone; last: and
 * count them in the directory.  Returns whether it is there.
 */
static bool
set_marks(VacuumState *v, bool last)
{
	uint64		ndocs = v->entry->ndocs;
	instr_time	start;
	bool		exists;

	if (v->ndead == 0 && !last)
		return true;
	SNII_TEST_POINT("vacuum_read");
	snii_lsm_lock_page(v->index, SNII_LOCK_MARKS, ExclusiveLock);
	exists = snii_lsm_entry_exists(v->index, v->entry->id);
	if (exists && v->ndead > 0)
	{
		snii_storage_time_begin(&start);
		snii_storage_marks_set(v->object, ndocs, v->dead, v->ndead);
		snii_storage_time_end(SNII_TIME_WRITTEN, &start);
		SNII_TEST_POINT("vacuum_marked");
		for (uint64 i = 0; i < v->ndead; i++)
			v->marks[v->dead[i] / 8] |= (uint8) (1 << (v->dead[i] % 8));
		v->stats->tuples_removed += (double) v->ndead;
	}
	if (exists && last)
		snii_storage_dir_set_dead(v->index, v->entry->id,
								  pg_popcount((const char *) v->marks,
											  (int) ((ndocs + 7) / 8)));
	UnlockPage(v->index, SNII_LOCK_MARKS, ExclusiveLock);
	v->ndead = 0;
	return exists;
}

/*
 * TIDs of a segment; those of documents that are dead already are not ours.
 * Ends the turn when it is over.
 */
static bool
tid_sink(void *arg, uint64 first_ordinal, const ItemPointerData *tids, int n)
{
	VacuumState *v = arg;
	instr_time	start;

	snii_storage_time_begin(&start);
	snii_compat_vacuum_delay();
	snii_storage_time_end(SNII_TIME_WAITED, &start);
	for (int i = 0; i < n; i++)
	{
		uint64		ordinal = first_ordinal + i;
		ItemPointerData tid = tids[i];

		if (v->marks[ordinal / 8] & (1 << (ordinal % 8)))
			continue;
		if (!v->callback(&tid, v->callback_state))
		{
			v->nlive++;
			continue;
		}
		if (v->ndead == DEAD_CAPACITY && !set_marks(v, false))
			return false;
		v->dead[v->ndead++] = ordinal;
	}
	return !snii_lsm_turn_is_over(&v->turn) ||
		(set_marks(v, false) &&
		 snii_lsm_turn_next(&v->turn, v->entry->id));
}

/*
 * Read a segment and set its marks, as long as it is there: what is not done
 * when it goes is left for its successor, which will be visited.
 */
static void
vacuum_segment(VacuumState *v, const SniiDirEntry *entry)
{
	v->entry = entry;
	v->object = snii_lsm_open_segment(v->index, entry);
	v->marks = MemoryContextAllocHuge(CurrentMemoryContext,
									  (entry->ndocs + 7) / 8 + 1);
	snii_storage_marks_load(v->object, entry->ndocs, v->marks);
	v->dead = palloc(DEAD_CAPACITY * sizeof(uint64));
	v->ndead = v->nlive = 0;
	snii_lsm_kind(v->index)->tids(v->index, v->object, entry->ndocs, tid_sink,
								  v);
	if (!set_marks(v, true))
		return;
	v->stats->num_index_tuples += (double) v->nlive;
	v->nbytes += entry->nbytes;
}

static void
vacuum_stretch(VacuumState *v, const SniiDirEntry *entry)
{
	uint64		live = 0;
	uint64		removed = 0;

	snii_lsm_lock_page(v->index, SNII_LOCK_MARKS, ExclusiveLock);
	if (snii_lsm_entry_exists(v->index, entry->id))
		snii_storage_buffer_vacuum(v->index, entry, v->callback,
								   v->callback_state, &live, &removed);
	UnlockPage(v->index, SNII_LOCK_MARKS, ExclusiveLock);
	v->stats->tuples_removed += (double) removed;
	v->stats->num_index_tuples += (double) live;
}

/*
 * Visit one entry that was not visited yet; false if there is none.
 */
static bool
visit_next(VacuumState *v)
{
	SniiView   *view;
	const SniiDirEntry *entry = NULL;

	snii_lsm_turn_begin(&v->turn, v->index, v->heap);
	view = snii_lsm_view(v->index, true);
	for (int i = 0; i < view->nentries && entry == NULL; i++)
		if (!was_visited(v, view->entries[i].id))
			entry = &view->entries[i];
	if (entry != NULL)
	{
		note_visited(v, entry->id);
		if (entry->kind == SNII_ENTRY_SEGMENT)
			vacuum_segment(v, entry);
		else
			vacuum_stretch(v, entry);
	}
	snii_lsm_turn_end(&v->turn);
	SNII_TEST_POINT("vacuum_between");
	return entry != NULL;
}

static const SniiTimingNames vacuum_names = {"vacuum", "tested", NULL};

void
snii_lsm_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					IndexBulkDeleteCallback callback, void *callback_state)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii vacuum",
												  ALLOCSET_DEFAULT_SIZES);
	VacuumState v = {0};
	SniiTiming	timing;
	double		removed = stats->tuples_removed;
	instr_time	start;
	bool		more = true;

	snii_lsm_timing_begin(&timing);
	v.index = info->index;
	v.heap = snii_compat_vacuum_heap(info);
	v.stats = stats;
	v.callback = callback;
	v.callback_state = callback_state;
	v.visited_capacity = 256;
	v.visited = palloc(v.visited_capacity * sizeof(uint64));
	stats->num_index_tuples = 0;
	while (more)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		/* note_visited() grows its array where it was allocated. */
		more = visit_next(&v);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		snii_compat_vacuum_delay();
	}
	MemoryContextDelete(context);
	SNII_TEST_POINT("vacuum_barrier");
	snii_storage_time_begin(&start);
	snii_lsm_barrier_wait(info->index);
	snii_storage_time_end(SNII_TIME_WAITED, &start);
	snii_lsm_timing_end(&timing, info->index, &vacuum_names, v.nvisited,
						(uint64) (stats->tuples_removed - removed), v.nbytes);
	pfree(v.visited);
}

/* ----------------------------------------------------------------
 *		Cleanup
 * ----------------------------------------------------------------
 */

/* Merges that VACUUM does itself even if there is a worker. */
#define OWN_MERGE_BYTES	(UINT64CONST(64) << 20)

/*
 * Count what is alive in segments and buffer, and what the buffer has.  What
 * VACUUM marked dead is not alive, what it could not remove is.
 */
static double
count_live(Relation index, SniiStretchStats *buffer)
{
	SniiView   *view;
	double		live = 0;

	memset(buffer, 0, sizeof(*buffer));
	LockPage(index, SNII_LOCK_RECYCLE, ShareLock);
	view = snii_lsm_view(index, true);
	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		SniiStretchStats stretch;

		if (entry->kind == SNII_ENTRY_SEGMENT)
		{
			live += (double) (entry->ndocs - Min(entry->ndead, entry->ndocs));
			continue;
		}
		snii_lsm_stretch_stats(index, entry, &stretch);
		live += (double) (stretch.ndocs - stretch.ndead);
		buffer->ndocs += stretch.ndocs;
		buffer->ndead += stretch.ndead;
		buffer->nbytes += stretch.nbytes;
	}
	snii_lsm_view_release(view);
	UnlockPage(index, SNII_LOCK_RECYCLE, ShareLock);
	return live;
}

/* Is there a merge due that is not small, and a worker that can do it? */
static bool
leave_to_worker(Relation index)
{
	SniiPolicyLoad load;

	snii_lsm_load(index, &load);
	return load.nsegments > load.nsettled && snii_lsm_worker_request(index);
}

/*
 * Flush if that pays, merge, write side lists of what is left, recycle: at the
 * pace of VACUUM.
 */
static void
maintain(Relation index, Relation heap, bool flush)
{
	if (flush)
		snii_lsm_flush(index, true, false);
	snii_lsm_merge(index, OWN_MERGE_BYTES, false);
	if (!leave_to_worker(index))
		snii_lsm_merge(index, PG_UINT64_MAX, false);
	snii_lsm_side_update(index, heap);
	snii_lsm_recycle(index, heap);
	snii_storage_compact_free(index);
}

void
snii_lsm_cleanup(IndexVacuumInfo *info, Relation heap,
				 IndexBulkDeleteResult *stats)
{
	Relation	index = info->index;
	SniiMetaPage meta;
	SniiStretchStats buffer;
	uint64		oldest;
	double		live;

	(void) count_live(index, &buffer);
	maintain(index, heap,
			 snii_lsm_policy_vacuum_flush(buffer.ndocs, buffer.ndead,
										  buffer.nbytes));
	live = count_live(index, &buffer);

	/* Entries of rows that died too recently to be removed are no rows. */
	if (!info->estimated_count)
		live = Min(live, info->num_heap_tuples);
	snii_storage_meta_read(index, &meta);
	stats->num_index_tuples = live;
	stats->estimated_count = false;
	stats->num_pages = RelationGetNumberOfBlocks(index);
	stats->pages_free = meta.free_pages;
	stats->pages_deleted = meta.free_pages +
		(BlockNumber) snii_storage_parked(index, &oldest);
}
