/*-------------------------------------------------------------------------
 *
 * lsm_buffer.c
 *	  The write buffer: inserting records and reading them back.
 *
 * Each backend appends in one of LANES lanes, chosen by its process id, so
 * that concurrent inserters do not queue on one page.  Where the lane ends is
 * remembered in the relation cache and checked by storage/ before use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_buffer.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_pressure.h"
#include "storage/storage_buffer.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#define LANES	4

StaticAssertDecl(LANES <= SNII_LANES, "lanes of the write buffer");

/* What rd_amcache of an index holds. */
typedef struct AmCache
{
	Oid			file;			/* relation file that the tails belong to */
	SniiTail	tails[LANES];
} AmCache;

static AmCache *
get_cache(Relation index)
{
	AmCache    *cache = index->rd_amcache;

	if (cache == NULL)
		index->rd_amcache = cache =
			MemoryContextAllocZero(index->rd_indexcxt, sizeof(AmCache));
	/* Ids of stretches begin anew with each file. */
	if (cache->file != SniiRelFileNumber(index))
	{
		memset(cache, 0, sizeof(*cache));
		cache->file = SniiRelFileNumber(index);
	}
	return cache;
}

void
snii_lsm_insert(Relation index, Relation heap, const ItemPointerData *tid,
				const uint8 *data, size_t len)
{
	int			lane = MyProcPid % LANES;
	SniiTail	tail;

	snii_lsm_pressure_pay(index);
	if (len > SNII_RECORD_MAX)
	{
		snii_lsm_insert_segment(index, heap, tid, data, len);
		return;
	}
	for (;;)
	{
		SniiAppendResult result;

		/* The cache may be freed while we wait for a lock: work on a copy. */
		tail = get_cache(index)->tails[lane];
		result = snii_storage_buffer_append(index, lane, &tail, tid, data,
											(uint32) len,
											SNII_POLICY_STRETCH_LIMIT);
		get_cache(index)->tails[lane] = tail;
		if (result == SNII_APPEND_DONE)
			return;
		if (result == SNII_APPEND_SEALED)
		{
			snii_lsm_pressure_sealed(index, heap);
			return;
		}
		/* The directory is full: this one has to wait for room. */
		snii_lsm_make_room(index, heap);
		CHECK_FOR_INTERRUPTS();
	}
}

struct SniiBufferScan
{
	SniiBufferReader *reader;
	SniiBufferMark mark;		/* used by buffer_rest() */
};

SniiBufferScan *
snii_lsm_buffer_scan(Relation index, const SniiDirEntry *stretch)
{
	SniiBufferScan *scan = palloc(sizeof(SniiBufferScan));

	scan->reader = snii_storage_buffer_open(index, stretch);
	return scan;
}

SniiBufferScan *
snii_lsm_buffer_rest(Relation index, const SniiDirEntry *stretch,
					 const SniiBufferMark *mark)
{
	SniiBufferScan *scan = palloc(sizeof(SniiBufferScan));

	scan->mark = *mark;
	scan->reader = snii_storage_buffer_resume(index, stretch, &scan->mark);
	return scan;
}

bool
snii_lsm_buffer_next(SniiBufferScan *scan, SniiRecord *record)
{
	bool		dead;

	while (snii_storage_buffer_next(scan->reader, &record->tid,
									&record->data, &record->len, &dead))
		if (!dead)
			return true;
	return false;
}

void
snii_lsm_buffer_end(SniiBufferScan *scan)
{
	snii_storage_buffer_close(scan->reader);
	pfree(scan);
}
