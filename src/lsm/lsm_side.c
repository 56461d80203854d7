/*-------------------------------------------------------------------------
 *
 * lsm_side.c
 *	  Side lists: what statistics need to know of dead documents.
 *
 * A segment says of each term how many documents have it, and does not
 * change.  So after VACUUM marked documents, the postings are read once and
 * what they have in common with the marks is written beside the segment.  The
 * directory names the list; a new one takes the place of the old one in one
 * record, which also parks the old one.
 *
 * A list may be behind the marks: it is not written for every few documents,
 * a crash may come between marks and list, or a merge, which makes a segment
 * without dead documents and needs no list.  Readers know of how many
 * documents it is.
 *
 * While the postings are read, no lock is held that stops insertions, scans,
 * flushes or merges: the slot, which nobody else uses, and RECYCLE in turns
 * (lsm_turn.c).  A segment that goes away meanwhile is left alone; the pages
 * of its list go back with the slot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_side.h"
#include "lsm/lsm_timing.h"
#include "lsm/lsm_turn.h"
#include "storage/storage_alloc.h"
#include "storage/storage_directory.h"
#include "storage/storage_page.h"
#include "storage/storage_point.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

SniiObject *
snii_lsm_side_open(Relation index, const SniiDirEntry *entry,
				   SniiSideHead *head)
{
	SniiObject *side;

	if (!BlockNumberIsValid(entry->side_head))
		return NULL;
	side = snii_storage_side_open(index, entry->id, entry->side_head);
	snii_storage_read(side, SNII_SIDE_HEAD, 0, head, sizeof(*head));
	if (head->magic != SNII_SIDE_MAGIC || head->ndead > entry->ndocs)
		snii_storage_corrupted(index, entry->side_head,
							   "side list of segment %llu does not begin with a head",
							   (unsigned long long) entry->id);
	if (head->version != SNII_SIDE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" was written by a newer version of snii",
						RelationGetRelationName(index)),
				 errdetail("The side list of segment %llu has version %u.",
						   (unsigned long long) entry->id, head->version)));
	return side;
}

/* Dead documents that the list of a segment is of. */
static uint64
listed(Relation index, const SniiDirEntry *entry)
{
	SniiSideHead head = {0};

	(void) snii_lsm_side_open(index, entry, &head);
	return head.ndead;
}

/* What SniiGoOn is told of the segment being read. */
typedef struct SideWork
{
	SniiTurn	turn;
	uint64		id;
} SideWork;

static bool
go_on(void *arg)
{
	SideWork   *work = arg;
	instr_time	start;

	snii_storage_poll();
	snii_storage_time_begin(&start);
	snii_compat_vacuum_delay();
	snii_storage_time_end(SNII_TIME_WAITED, &start);
	return !snii_lsm_turn_is_over(&work->turn) ||
		snii_lsm_turn_next(&work->turn, work->id);
}

static const SniiTimingNames side_names = {"side list", "read", "published"};

/*
 * Write the list of a segment and put it in its place.  The caller holds the
 * slot, and a turn, also afterwards.
 */
static void
write_list(Relation index, const SniiKind *kind, const SniiDirEntry *entry,
		   SideWork *work)
{
	SniiObject *object = snii_lsm_open_segment(index, entry);
	SniiObjectWriter *w;
	uint64		len = (entry->ndocs + 7) / 8;
	uint8	   *marks = MemoryContextAllocHuge(CurrentMemoryContext, len + 1);
	SniiSideHead head = {0};
	SniiObjectRef ref;
	SniiTiming	timing;

	snii_lsm_timing_begin(&timing);
	snii_storage_marks_load(object, entry->ndocs, marks);
	head.magic = SNII_SIDE_MAGIC;
	head.version = SNII_SIDE_VERSION;
	head.ndead = pg_popcount((const char *) marks, (int) len);
	work->id = entry->id;
	w = snii_storage_writer_begin_side(index, SNII_SLOT_SIDE, entry->id);
	snii_storage_append(w, SNII_SIDE_HEAD, &head, sizeof(head));
	if (!kind->side(index, object, entry->ndocs, marks, w, go_on, work))
	{
		snii_lsm_timing_cancel(&timing);
		return;
	}
	snii_storage_writer_finish(w, &ref);
	SNII_TEST_POINT("side_written");
	snii_lsm_timing_last(&timing);
	(void) snii_storage_swap_side(index, SNII_SLOT_SIDE, entry->id);
	SNII_TEST_POINT("side_published");
	snii_lsm_timing_end(&timing, index, &side_names, 1, head.ndead,
						(uint64) ref.npages * BLCKSZ);
}

/* Is the list of a segment to be written? */
static bool
is_due(Relation index, const SniiDirEntry *entry)
{
	SniiPolicySegment segment;

	return snii_lsm_policy_segments(entry, 1, &segment) > 0 &&
		snii_lsm_policy_side(&segment, 0) &&
		snii_lsm_policy_side(&segment, listed(index, entry));
}

/*
 * Write the next list that is due, of a segment whose id is above "after":
 * returns that id, or 0 if there is none.
 */
static uint64
update_next(Relation index, Relation heap, const SniiKind *kind, uint64 after)
{
	const SniiDirEntry *next = NULL;
	SideWork	work;
	SniiView   *view;

	snii_lsm_turn_begin(&work.turn, index, heap);
	view = snii_lsm_view(index, true);
	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];

		if (entry->id > after && (next == NULL || entry->id < next->id) &&
			is_due(index, entry))
			next = entry;
	}
	if (next != NULL)
		write_list(index, kind, next, &work);
	snii_lsm_turn_end(&work.turn);
	return next == NULL ? 0 : next->id;
}

void
snii_lsm_side_update(Relation index, Relation heap)
{
	const SniiKind *kind = snii_lsm_kind(index);
	MemoryContext context;
	MemoryContext old;
	uint64		id = 0;

	if (kind->side == NULL)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "snii side list",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	do
	{
		/* What a list that came to nothing left goes back here, too. */
		snii_storage_slot_acquire(index, SNII_SLOT_SIDE, true);
		id = update_next(index, heap, kind, id);
		snii_storage_slot_release(index, SNII_SLOT_SIDE);
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	} while (id != 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
