/*-------------------------------------------------------------------------
 *
 * test_lsm_resume.c
 *	  Reading the write buffer in steps, by marks that the session keeps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_policy.h"
#include "lsm/lsm_view.h"
#include "storage/storage_buffer.h"
#include "test_lsm.h"

#include "access/genam.h"
#include "fmgr.h"
#include "utils/builtins.h"

/* What the session has read of a stretch. */
typedef struct Progress
{
	Oid			index;
	uint64		id;
	uint64		nread;
	SniiBufferMark mark;
} Progress;

static Progress progress[64];

PG_FUNCTION_INFO_V1(test_lsm_resume);
PG_FUNCTION_INFO_V1(test_lsm_append);

static Progress *
find_progress(Oid index, uint64 id)
{
	for (int i = 0; i < lengthof(progress); i++)
	{
		if (progress[i].id == 0)
		{
			progress[i].index = index;
			progress[i].id = id;
		}
		if (progress[i].index == index && progress[i].id == id)
			return &progress[i];
	}
	elog(ERROR, "too many stretches");
	return NULL;
}

/* The record just read must be found again at its place. */
static void
check_place(Relation index, const Progress *p, const SniiBufferReader *reader,
			const ItemPointerData *tid, bool dead)
{
	SniiBufferPlace place = snii_storage_buffer_place(reader);
	ItemPointerData again;
	int			n = snii_storage_buffer_live(index, p->id,
											 p->mark.blocks[place.page],
											 &place, 1, &again);

	if (n != (dead ? 0 : 1) || (n == 1 && memcmp(&again, tid, sizeof(*tid))))
		elog(ERROR, "record is not at its place");
}

/* Read on, at most "step" records; 0: all. */
static void
read_on(Relation index, const SniiDirEntry *entry, Progress *p, int step)
{
	SniiBufferReader *reader = snii_storage_buffer_resume(index, entry,
														  &p->mark);
	ItemPointerData tid;
	const uint8 *data;
	size_t		len;
	bool		dead;

	for (int i = 0; step == 0 || i < step; i++)
	{
		if (!snii_storage_buffer_next(reader, &tid, &data, &len, &dead))
			break;
		p->nread++;
		check_place(index, p, reader, &tid, dead);
	}
	snii_storage_buffer_close(reader);
}

static uint64
count_all(Relation index, const SniiDirEntry *entry)
{
	SniiBufferReader *reader = snii_storage_buffer_open(index, entry);
	ItemPointerData tid;
	const uint8 *data;
	size_t		len;
	bool		dead;
	uint64		n = 0;

	while (snii_storage_buffer_next(reader, &tid, &data, &len, &dead))
		n++;
	snii_storage_buffer_close(reader);
	return n;
}

/*
 * Read each stretch on from where the session left it, unless it is said to
 * be unchanged.  Returns how many records are in all of them, and how many
 * of these were not read.
 */
Datum
test_lsm_resume(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	int			step = PG_GETARG_INT32(1);
	SniiView   *view = snii_lsm_view(index, false);
	uint64		all = 0;
	uint64		nread = 0;
	char	   *result;

	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		Progress   *p;

		if (entry->kind != SNII_ENTRY_STRETCH)
			continue;
		p = find_progress(RelationGetRelid(index), entry->id);
		if (!snii_storage_buffer_unchanged(index, entry->id, &p->mark))
			read_on(index, entry, p, step);
		all += count_all(index, entry);
		nread += p->nread;
	}
	snii_lsm_view_release(view);
	index_close(index, AccessShareLock);
	result = psprintf("%llu records, %lld not read", (unsigned long long) all,
					  (long long) (all - nread));
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/* Append so many records in each lane, whoever is the caller. */
Datum
test_lsm_append(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), RowExclusiveLock);
	int			n = PG_GETARG_INT32(1);

	for (int lane = 0; lane < 4; lane++)
	{
		SniiTail	tail = {0};

		for (int i = 0; i < n; i++)
		{
			ItemPointerData tid;

			ItemPointerSet(&tid, (BlockNumber) (1000 + i), lane + 1);
			(void) snii_storage_buffer_append(index, lane, &tail, &tid,
											  (const uint8 *) "\1small", 6,
											  SNII_POLICY_STRETCH_LIMIT);
		}
	}
	index_close(index, RowExclusiveLock);
	PG_RETURN_VOID();
}
