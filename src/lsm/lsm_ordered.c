/*-------------------------------------------------------------------------
 *
 * lsm_ordered.c
 *	  Inserting into the write buffer of a kind that has an order.
 *
 * Where the open stretch is, is remembered in the relation cache and checked
 * by storage/ before use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_maintain.h"
#include "lsm/lsm_ordered.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_pressure.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* Pages that a stretch has at least before it is sealed. */
#define MIN_PAGES	8

/* What rd_amcache of an index holds. */
typedef struct OrderedCache
{
	Oid			file;			/* relation file that the tail belongs to */
	SniiOrderedTail tail;
} OrderedCache;

static OrderedCache *
get_cache(Relation index)
{
	OrderedCache *cache = index->rd_amcache;

	if (cache == NULL)
		index->rd_amcache = cache =
			MemoryContextAllocZero(index->rd_indexcxt, sizeof(OrderedCache));
	/* Ids of stretches begin anew with each file. */
	if (cache->file != SniiRelFileNumber(index))
	{
		memset(cache, 0, sizeof(*cache));
		cache->file = SniiRelFileNumber(index);
	}
	return cache;
}

static uint32
max_pages(void)
{
	int			pages = snii_lsm_buffer_limit_kb / (BLCKSZ / 1024);

	return (uint32) Min(Max(pages, MIN_PAGES), SNII_ORDERED_PAGES);
}

SniiOrderedResult
snii_lsm_insert_ordered(Relation index, Relation heap,
						const SniiOrder *order, uint64 expected,
						const SniiRecord *record,
						const SniiOrderedCheck *check)
{
	SniiOrderedWish wish;

	snii_lsm_pressure_pay(index);
	wish.expected = expected;
	wish.check = check;
	wish.max_pages = max_pages();
	wish.limit = SNII_POLICY_STRETCH_LIMIT;
	for (;;)
	{
		/* The cache may be freed while we wait for a lock: work on a copy. */
		SniiOrderedTail tail = get_cache(index)->tail;
		SniiOrderedResult result;

		result = snii_storage_ordered_insert(index, order, &tail, &wish,
											 record);
		get_cache(index)->tail = tail;
		switch (result)
		{
			case SNII_ORDERED_DONE:
			case SNII_ORDERED_REFUSED:
			case SNII_ORDERED_MOVED:
				return result;
			case SNII_ORDERED_SEALED:
				snii_lsm_pressure_sealed(index, heap);
				if (expected != 0)
					return SNII_ORDERED_MOVED;
				break;
			case SNII_ORDERED_NO_ROOM:
				snii_lsm_make_room(index, heap);
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

void
snii_lsm_begin_ordered(Relation index, Relation heap)
{
	for (;;)
	{
		SniiOrderedTail tail;
		SniiOrderedResult result;

		result = snii_storage_ordered_begin(index, &tail,
											SNII_POLICY_STRETCH_LIMIT);
		get_cache(index)->tail = tail;
		if (result == SNII_ORDERED_DONE)
			return;
		snii_lsm_make_room(index, heap);
		CHECK_FOR_INTERRUPTS();
	}
}
