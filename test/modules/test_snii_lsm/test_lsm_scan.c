/*-------------------------------------------------------------------------
 *
 * test_lsm_scan.c
 *	  Access method snii_test: scans, which read all entries of a view and
 *	  compare.  Pages are read on demand, as the scan goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_barrier.h"
#include "lsm/lsm_buffer.h"
#include "lsm/lsm_view.h"
#include "test_lsm.h"

#include "access/amapi.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

bool		test_lsm_barrier = false;

typedef struct TestScan
{
	MemoryContext context;
	SniiBarrier *barrier;		/* NULL: none */
	SniiView   *view;			/* NULL: not begun */
	int			entry;			/* the one being read */
	bool		open;			/* of it */
	uint8	   *marks;			/* segment; NULL: stretch */
	TestSegment segment;
	SniiBufferScan *buffer;
	bool		ordered;		/* the kind has an order: */
	TestLeaves *leaves;
	uint8	   *key;			/* bytes of the value looked for, or NULL */
	size_t		key_len;
} TestScan;

static void
close_entry(TestScan *s)
{
	if (!s->open)
		return;
	if (s->marks != NULL)
		test_lsm_close(&s->segment);
	else if (!s->ordered)
		snii_lsm_buffer_end(s->buffer);
	s->open = false;
}

static void
open_entry(Relation index, TestScan *s)
{
	const SniiDirEntry *entry = &s->view->entries[s->entry];

	s->marks = NULL;
	if (entry->kind == SNII_ENTRY_SEGMENT)
	{
		SniiObject *object = snii_lsm_open_segment(index, entry);

		s->marks = MemoryContextAllocHuge(s->context,
										  entry->ndocs / 8 + 1);
		snii_storage_marks_load(object, entry->ndocs, s->marks);
		test_lsm_open(&s->segment, object, entry->ndocs);
	}
	else if (s->ordered)
		s->leaves = test_lsm_leaves(entry, s->key, s->key_len);
	else
		s->buffer = snii_lsm_buffer_scan(index, entry);
	s->open = true;
}

/*
 * Hold the barrier.  If it was let go of since the last call, documents may
 * have died meanwhile whose TIDs are not to be used: read the marks again.
 * (Tests of this have no write buffer.)
 */
static void
hold_barrier(Relation index, TestScan *s)
{
	const SniiDirEntry *entry;

	if (s->barrier == NULL || !snii_lsm_barrier_enter(s->barrier) ||
		!s->open || s->marks == NULL)
		return;
	entry = &s->view->entries[s->entry];
	snii_storage_marks_load(snii_lsm_open_segment(index, entry),
							entry->ndocs, s->marks);
}

/* Next live record of the view. */
static bool
next_record(Relation index, TestScan *s, SniiRecord *record)
{
	for (; s->entry < s->view->nentries; s->entry++)
	{
		if (!s->open)
			open_entry(index, s);
		if (s->marks == NULL && s->ordered)
		{
			if (test_lsm_leaves_next(index, s->leaves, record))
				return true;
		}
		else if (s->marks == NULL)
		{
			if (snii_lsm_buffer_next(s->buffer, record))
				return true;
		}
		else
			while (test_lsm_next(&s->segment, record))
			{
				uint64		ordinal = s->segment.next - 1;

				if ((s->marks[ordinal / 8] & (1 << (ordinal % 8))) == 0)
					return true;
			}
		close_entry(s);
	}
	return false;
}

static bool
matches(IndexScanDesc scan, const SniiRecord *record)
{
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		text	   *t;

		if (record->data[0] == 0 || (key->sk_flags & SK_ISNULL))
			return false;
		t = DatumGetTextPP(key->sk_argument);
		if (VARSIZE_ANY_EXHDR(t) != record->len - 1 ||
			memcmp(VARDATA_ANY(t), record->data + 1, record->len - 1) != 0)
			return false;
	}
	return true;
}

/* For a kind with an order: what is looked for, as the bytes of a record. */
static void
prepare_key(IndexScanDesc scan, TestScan *s)
{
	text	   *t;

	s->ordered = snii_lsm_kind(scan->indexRelation)->order != NULL;
	s->key = NULL;
	if (scan->numberOfKeys == 0 || (scan->keyData[0].sk_flags & SK_ISNULL))
		return;
	t = DatumGetTextPP(scan->keyData[0].sk_argument);
	s->key_len = VARSIZE_ANY_EXHDR(t) + 1;
	s->key = palloc(s->key_len);
	s->key[0] = 1;
	memcpy(s->key + 1, VARDATA_ANY(t), s->key_len - 1);
}

/* Next matching TID, beginning the scan if need be. */
static bool
next_match(IndexScanDesc scan, ItemPointer tid)
{
	TestScan   *s = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(s->context);
	SniiRecord	record;
	bool		found = false;

	if (s->view == NULL &&
		(test_lsm_barrier || !IsMVCCSnapshot(scan->xs_snapshot)))
		s->barrier = snii_lsm_barrier_create(scan->indexRelation, false);
	hold_barrier(scan->indexRelation, s);
	if (s->view == NULL)
	{
		pgstat_count_index_scan(scan->indexRelation);
		s->view = snii_lsm_view(scan->indexRelation, false);
		prepare_key(scan, s);
	}
	while (!found && next_record(scan->indexRelation, s, &record))
	{
		CHECK_FOR_INTERRUPTS();
		found = matches(scan, &record);
	}
	if (found)
		*tid = record.tid;
	else if (s->barrier != NULL)
		snii_lsm_barrier_leave(s->barrier);
	MemoryContextSwitchTo(old);
	return found;
}

static IndexScanDesc
test_ambeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	TestScan   *s = palloc0(sizeof(TestScan));

	s->context = AllocSetContextCreate(CurrentMemoryContext, "test scan",
									   ALLOCSET_DEFAULT_SIZES);
	scan->opaque = s;
	return scan;
}

static void
test_amrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys,
			  int norderbys)
{
	TestScan   *s = scan->opaque;

	close_entry(s);
	if (s->barrier != NULL)
		snii_lsm_barrier_leave(s->barrier);
	s->barrier = NULL;
	if (s->view != NULL)
		snii_lsm_view_release(s->view);
	s->view = NULL;
	s->entry = 0;
	MemoryContextReset(s->context);
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

static bool
test_amgettuple(IndexScanDesc scan, ScanDirection direction)
{
	if (direction != ForwardScanDirection)
		elog(ERROR, "access method snii_test scans forward only");
	scan->xs_recheck = false;
	return next_match(scan, &scan->xs_heaptid);
}

static int64
test_amgetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	ItemPointerData tid;
	int64		n = 0;

	for (; next_match(scan, &tid); n++)
		tbm_add_tuples(tbm, &tid, 1, false);
	return n;
}

static void
test_amendscan(IndexScanDesc scan)
{
	TestScan   *s = scan->opaque;

	close_entry(s);
	if (s->barrier != NULL)
		snii_lsm_barrier_leave(s->barrier);
	if (s->view != NULL)
		snii_lsm_view_release(s->view);
	MemoryContextDelete(s->context);
	pfree(s);
}

void
test_lsm_scan_methods(void *amroutine)
{
	IndexAmRoutine *am = amroutine;

	am->ambeginscan = test_ambeginscan;
	am->amrescan = test_amrescan;
	am->amgettuple = test_amgettuple;
	am->amgetbitmap = test_amgetbitmap;
	am->amendscan = test_amendscan;
}
