/*-------------------------------------------------------------------------
 *
 * lsm_check.c
 *	  Verification of any kind of snii index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_check.h"
#include "lsm/lsm_side.h"
#include "storage/storage_buffer.h"
#include "storage/storage_page.h"
#include "storage/storage_recycle.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

static void
add_tid(SniiTidList *list, const ItemPointerData *tid)
{
	if (list->n == list->capacity)
	{
		list->capacity = Max(list->capacity * 2, 1024);
		if (list->tids == NULL)
			list->tids = MemoryContextAllocHuge(CurrentMemoryContext,
												list->capacity *
												sizeof(ItemPointerData));
		else
			list->tids = repalloc_huge(list->tids, list->capacity *
									   sizeof(ItemPointerData));
	}
	list->tids[list->n++] = *tid;
}

/* State of the TID walk over one segment. */
typedef struct TidWalk
{
	Relation	index;
	const uint8 *marks;
	uint64		next;			/* ordinal expected next */
	uint64		ndocs;
	SniiTidList *tids;
} TidWalk;

static bool
walk_sink(void *arg, uint64 first_ordinal, const ItemPointerData *tids, int n)
{
	TidWalk    *walk = arg;

	CHECK_FOR_INTERRUPTS();
	if (first_ordinal != walk->next || (uint64) n > walk->ndocs - walk->next)
		snii_storage_corrupted(walk->index, InvalidBlockNumber,
							   "segment reports the wrong number of TIDs");
	walk->next += n;
	for (int i = 0; i < n; i++)
	{
		uint64		ordinal = first_ordinal + i;

		if (!snii_storage_tid_is_valid(&tids[i]))
			snii_storage_corrupted(walk->index, InvalidBlockNumber,
								   "document %llu has an invalid TID",
								   (unsigned long long) ordinal);
		if (walk->tids != NULL &&
			(walk->marks[ordinal / 8] & (1 << (ordinal % 8))) == 0)
			add_tid(walk->tids, &tids[i]);
	}
	return true;
}

/* A side list is of some of the dead documents, or of all of them. */
static void
check_side(Relation index, const SniiKind *kind, const SniiDirEntry *entry,
		   SniiObject *object, const uint8 *marks, uint64 dead)
{
	SniiSideHead head;
	SniiObject *side = snii_lsm_side_open(index, entry, &head);

	if (side == NULL)
		return;
	if (head.ndead > dead)
		snii_storage_corrupted(index, entry->side_head,
							   "side list is of %llu dead documents, there are %llu",
							   (unsigned long long) head.ndead,
							   (unsigned long long) dead);
	if (kind->check_side != NULL)
		kind->check_side(index, object, entry->ndocs, marks, side,
						 head.ndead == dead);
}

static void
check_segment(Relation index, const SniiKind *kind, const SniiDirEntry *entry,
			  SniiTidList *tids)
{
	SniiObject *object = snii_lsm_open_segment(index, entry);
	uint64		len = (entry->ndocs + 7) / 8;
	uint8	   *marks;
	TidWalk		walk = {0};
	uint64		dead;

	marks = MemoryContextAllocHuge(CurrentMemoryContext, len + 1);
	snii_storage_marks_load(object, entry->ndocs, marks);
	if (entry->ndocs % 8 != 0 &&
		(marks[len - 1] >> (entry->ndocs % 8)) != 0)
		snii_storage_corrupted(index, entry->list_head,
							   "delete mark beyond the last document");
	dead = pg_popcount((const char *) marks, (int) len);
	if (dead < entry->ndead || dead > entry->ndocs)
		snii_storage_corrupted(index, entry->list_head,
							   "segment has %llu delete marks, the directory says %llu",
							   (unsigned long long) dead,
							   (unsigned long long) entry->ndead);
	kind->check_segment(index, object, entry->ndocs, marks);
	check_side(index, kind, entry, object, marks, dead);
	walk.index = index;
	walk.marks = marks;
	walk.ndocs = entry->ndocs;
	walk.tids = tids;
	kind->tids(index, object, entry->ndocs, walk_sink, &walk);
	if (walk.next != entry->ndocs)
		snii_storage_corrupted(index, entry->list_head,
							   "segment reports %llu of %llu TIDs",
							   (unsigned long long) walk.next,
							   (unsigned long long) entry->ndocs);
	pfree(marks);
}

static void
check_stretch(Relation index, const SniiKind *kind, const SniiDirEntry *entry,
			  SniiTidList *tids)
{
	SniiBufferReader *reader = snii_storage_buffer_open(index, entry);
	SniiRecord	record;
	bool		dead;

	while (snii_storage_buffer_next(reader, &record.tid, &record.data,
									&record.len, &dead))
	{
		kind->check_record(index, &record);
		if (!dead && tids != NULL)
			add_tid(tids, &record.tid);
	}
	snii_storage_buffer_close(reader);
	if (kind->order != NULL)
		snii_storage_ordered_check(index, entry, kind->order(index));
}

static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/* A table may have billions of rows: this can be interrupted. */
#define ST_SORT sort_tids
#define ST_ELEMENT_TYPE ItemPointerData
#define ST_COMPARE(a, b) compare_tids(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

void
snii_lsm_check(Relation index, bool strict, SniiTidList *tids)
{
	const SniiKind *kind = snii_lsm_kind(index);
	SniiView   *view;

	snii_storage_check_ownership(index, strict);
	view = snii_lsm_view(index, strict);
	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];

		for (int j = 0; j < i; j++)
			if (view->entries[j].id == entry->id)
				snii_storage_corrupted(index, SNII_DIR_BLOCK,
									   "entry %llu is there twice",
									   (unsigned long long) entry->id);
		if (entry->kind == SNII_ENTRY_SEGMENT)
			check_segment(index, kind, entry, tids);
		else if (entry->kind == SNII_ENTRY_STRETCH)
			check_stretch(index, kind, entry, tids);
		else
			snii_storage_corrupted(index, SNII_DIR_BLOCK,
								   "entry of unknown kind %u", entry->kind);
		CHECK_FOR_INTERRUPTS();
	}
	snii_lsm_view_release(view);
	if (tids == NULL || tids->n == 0)
		return;
	sort_tids(tids->tids, tids->n);

	/*
	 * Beside a VACUUM that goes on, an entry may have died after we read it
	 * and its TID been given to a tuple whose entry we read later.
	 */
	for (uint64 i = 1; strict && i < tids->n; i++)
		if (ItemPointerEquals(&tids->tids[i - 1], &tids->tids[i]))
			snii_storage_corrupted(index, InvalidBlockNumber,
								   "heap tuple (%u,%u) is indexed twice",
								   ItemPointerGetBlockNumber(&tids->tids[i]),
								   ItemPointerGetOffsetNumber(&tids->tids[i]));
}

bool
snii_lsm_tid_list_has(const SniiTidList *list, const ItemPointerData *tid)
{
	return list->n > 0 &&
		bsearch(tid, list->tids, list->n, sizeof(ItemPointerData),
				compare_tids) != NULL;
}
