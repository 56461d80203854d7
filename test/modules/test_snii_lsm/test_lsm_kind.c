/*-------------------------------------------------------------------------
 *
 * test_lsm_kind.c
 *	  The functions of the trivial kind, and the test points.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_page.h"
#include "storage/storage_point.h"
#include "test_lsm.h"

#include <signal.h>
#include <unistd.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

char	   *test_lsm_hold = NULL;
char	   *test_lsm_fail = NULL;
char	   *test_lsm_crash = NULL;

/* Key of the advisory lock at which a session that holds at a point waits. */
int			test_lsm_hold_key = 7207;

static bool
named(const char *setting, const char *name)
{
	return setting != NULL && strcmp(setting, name) == 0;
}

/*
 * Wait, fail or kill the process if the session's settings say so for this
 * place.  Waiting needs a place where no buffer is locked.
 */
void
snii_test_point(const char *name)
{
	if (named(test_lsm_crash, name))
		kill(MyProcPid, SIGKILL);
	if (named(test_lsm_fail, name))
		ereport(ERROR,
				(errcode(ERRCODE_RAISE_EXCEPTION),
				 errmsg("failure wanted at %s", name)));
	if (named(test_lsm_hold, name))
	{
		Datum		key = Int64GetDatum(test_lsm_hold_key);

		DirectFunctionCall1(pg_advisory_lock_int8, key);
		DirectFunctionCall1(pg_advisory_unlock_int8, key);
	}
}

/* ----------------------------------------------------------------
 *		Segments
 * ----------------------------------------------------------------
 */

void
test_lsm_add(SniiObjectWriter *w, const SniiRecord *record)
{
	uint64		end;

	snii_storage_append(w, TEST_STREAM_TIDS, &record->tid,
						sizeof(ItemPointerData));
	end = snii_storage_append(w, TEST_STREAM_RECORDS, record->data,
							  record->len) + record->len;
	snii_storage_append(w, TEST_STREAM_ENDS, &end, sizeof(end));
}

void
test_lsm_open(TestSegment *s, SniiObject *object, uint64 ndocs)
{
	s->ndocs = ndocs;
	s->next = 0;
	s->end = 0;
	snii_storage_reader_init(&s->tids, object, TEST_STREAM_TIDS);
	snii_storage_reader_init(&s->ends, object, TEST_STREAM_ENDS);
	snii_storage_reader_init(&s->records, object, TEST_STREAM_RECORDS);
}

bool
test_lsm_next(TestSegment *s, SniiRecord *record)
{
	uint64		end;

	if (s->next >= s->ndocs)
		return false;
	memcpy(&record->tid,
		   snii_storage_reader_get(&s->tids,
								   s->next * sizeof(ItemPointerData),
								   sizeof(ItemPointerData)),
		   sizeof(ItemPointerData));
	memcpy(&end, snii_storage_reader_get(&s->ends, s->next * sizeof(end),
										 sizeof(end)), sizeof(end));
	if (end <= s->end)
		snii_storage_corrupted(snii_storage_object_relation(s->records.object),
							   InvalidBlockNumber, "record without bytes");
	record->len = end - s->end;
	record->data = snii_storage_reader_get(&s->records, s->end, record->len);
	s->end = end;
	s->next++;
	return true;
}

void
test_lsm_close(TestSegment *s)
{
	snii_storage_reader_close(&s->tids);
	snii_storage_reader_close(&s->ends);
	snii_storage_reader_close(&s->records);
}

static uint64
test_build(Relation index, SniiObjectWriter *w, SniiRecordSource *source)
{
	SniiRecord	record;
	uint64		n = 0;

	snii_test_point("build_start");
	while (source->next(source, &record))
	{
		CHECK_FOR_INTERRUPTS();
		test_lsm_add(w, &record);
		n++;
	}
	snii_test_point("build_end");
	return n;
}

static uint64
test_merge(Relation index, SniiObjectWriter *w, SniiMergeInput *inputs,
		   int ninputs)
{
	uint64		n = 0;

	snii_test_point("merge_start");
	for (int i = 0; i < ninputs; i++)
	{
		TestSegment s;
		SniiRecord	record;

		test_lsm_open(&s, inputs[i].object, inputs[i].ndocs);
		for (uint64 ordinal = 0; test_lsm_next(&s, &record); ordinal++)
		{
			CHECK_FOR_INTERRUPTS();
			if (inputs[i].marks[ordinal / 8] & (1 << (ordinal % 8)))
				continue;
			test_lsm_add(w, &record);
			n++;
		}
		test_lsm_close(&s);
	}
	snii_test_point("merge_end");
	return n;
}

static void
test_tids(Relation index, SniiObject *object, uint64 ndocs, SniiTidSink sink,
		  void *arg)
{
	SniiStreamReader r;
	uint64		n;

	snii_test_point("tids");
	snii_storage_reader_init(&r, object, TEST_STREAM_TIDS);
	for (uint64 i = 0; i < ndocs; i += n)
	{
		n = Min(ndocs - i, 100);
		if (!sink(arg, i, (const ItemPointerData *)
				  snii_storage_reader_get(&r, i * sizeof(ItemPointerData),
										  n * sizeof(ItemPointerData)),
				  (int) n))
			break;
	}
	snii_storage_reader_close(&r);
	snii_test_point("tids_end");
}

static void
test_check_record(Relation index, const SniiRecord *record)
{
	if (record->len < 1 || record->data[0] > 1 ||
		(record->data[0] == 0 && record->len != 1))
		snii_storage_corrupted(index, InvalidBlockNumber, "damaged record");
}

static void
test_check_segment(Relation index, SniiObject *object, uint64 ndocs,
				   const uint8 *marks)
{
	TestSegment s;
	SniiRecord	record;

	test_lsm_open(&s, object, ndocs);
	while (test_lsm_next(&s, &record))
		test_check_record(index, &record);
	test_lsm_close(&s);
}

/* Bytes of the dead documents' records; false if go_on() said so. */
static bool
count_dead(SniiObject *object, uint64 ndocs, const uint8 *marks,
		   SniiGoOn go_on, void *arg, uint64 *nbytes)
{
	TestSegment s;
	SniiRecord	record;
	bool		more = true;

	*nbytes = 0;
	test_lsm_open(&s, object, ndocs);
	for (uint64 i = 0; more && test_lsm_next(&s, &record); i++)
	{
		if (marks[i / 8] & (1 << (i % 8)))
			*nbytes += record.len;
		more = i % 100 != 99 || go_on(arg);
	}
	test_lsm_close(&s);
	return more;
}

/*
 * Behind the head there are the bytes of the dead documents' records, and in
 * a stream of its own the same number again and again, a page for each
 * thousand documents.
 */
static bool
test_side(Relation index, SniiObject *object, uint64 ndocs,
		  const uint8 *marks, SniiObjectWriter *w, SniiGoOn go_on, void *arg)
{
	uint64		nbytes;

	snii_test_point("side_start");
	if (!count_dead(object, ndocs, marks, go_on, arg, &nbytes))
		return false;
	snii_storage_append(w, SNII_SIDE_HEAD, &nbytes, sizeof(nbytes));
	for (uint64 i = 0; i < ndocs; i += 1000)
	{
		snii_storage_append(w, SNII_SIDE_KIND, &nbytes, sizeof(nbytes));
		snii_storage_pad_to_page(w, SNII_SIDE_KIND);
	}
	return true;
}

static bool
always(void *arg)
{
	CHECK_FOR_INTERRUPTS();
	return true;
}

static void
test_check_side(Relation index, SniiObject *object, uint64 ndocs,
				const uint8 *marks, SniiObject *side, bool complete)
{
	uint64		listed;
	uint64		nbytes;

	snii_storage_read(side, SNII_SIDE_HEAD, sizeof(SniiSideHead), &listed,
					  sizeof(listed));
	(void) count_dead(object, ndocs, marks, always, NULL, &nbytes);
	if (listed > nbytes || (complete && listed != nbytes))
		snii_storage_corrupted(index, InvalidBlockNumber,
							   "side list has %llu bytes, not %llu",
							   (unsigned long long) listed,
							   (unsigned long long) nbytes);
	for (uint32 i = 0; i < (ndocs + 999) / 1000; i++)
	{
		uint64		again;

		snii_storage_read(side, SNII_SIDE_KIND,
						  (uint64) i * SNII_PAGE_PAYLOAD, &again,
						  sizeof(again));
		if (again != listed)
			snii_storage_corrupted(index, InvalidBlockNumber,
								   "side list has another page's bytes");
	}
}

const SniiKind test_lsm_kind = {
	.id = SNII_KIND_TEST,
	.name = "test",
	.build = test_build,
	.merge = test_merge,
	.tids = test_tids,
	.check_segment = test_check_segment,
	.check_record = test_check_record,
	.side = test_side,
	.check_side = test_check_side
};
