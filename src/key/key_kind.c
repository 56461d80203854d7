/*-------------------------------------------------------------------------
 *
 * key_kind.c
 *	  The key index as a kind of LSM index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_check.h"
#include "key/key_kind.h"
#include "key/key_merge.h"
#include "key/key_reader.h"
#include "key/key_record.h"
#include "key/key_run.h"
#include "key/key_sort.h"
#include "lsm/lsm_view.h"
#include "storage/storage_page.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* ----------------------------------------------------------------
 *		Flush
 * ----------------------------------------------------------------
 */

/* A record of the write buffer as an entry. */
static void
take_record(Relation index, const SniiKeyDesc *desc, const SniiRecord *record,
			SniiKeySort *sort)
{
	uint8		str[SNII_KEY_MAX_ENTRY];
	SniiKeyEntry entry;

	snii_key_record_parse(desc, record, &entry);
	memcpy(str, entry.str, entry.len);
	snii_key_record_tid(record, str + entry.len);
	entry.str = str;
	entry.len += SNII_KEY_TID_BYTES;
	if (!snii_key_valid(desc, str, entry.len))
		snii_storage_corrupted(index, InvalidBlockNumber,
							   "record of the write buffer is malformed");
	/* A stretch is small, and there are few. */
	(void) snii_key_sort_add(sort, &entry, 0);
}

static uint64
key_build(Relation index, SniiObjectWriter *w, SniiRecordSource *source)
{
	SniiKeyDesc *desc = snii_key_desc(index);
	SniiMemReporter *mem = snii_mem_reporter_begin(NULL,
												   RelationGetRelid(index),
												   (Size) maintenance_work_mem *
												   1024);
	SniiKeySort *sort = snii_key_sort_begin(desc, SIZE_MAX, mem);
	SniiKeyRunWriter *writer;
	SniiRecord	record;

	while (source->next(source, &record))
		take_record(index, desc, &record, sort);
	snii_key_sort_perform(sort);
	writer = snii_key_run_begin(desc, w);
	for (uint64 i = 0; i < snii_key_sort_count(sort); i++)
	{
		SniiKeyEntry entry;
		uint8		tag;

		snii_key_sort_get(sort, i, &entry, &tag);
		snii_key_run_add(writer, &entry);
	}
	snii_key_sort_end(sort);
	snii_mem_reporter_end(mem);
	return snii_key_run_finish(writer);
}

/* ----------------------------------------------------------------
 *		VACUUM
 * ----------------------------------------------------------------
 */

#define TIDS	512

static void
key_tids(Relation index, SniiObject *object, uint64 ndocs, SniiTidSink sink,
		 void *arg)
{
	SniiKeyReader *r = palloc(sizeof(SniiKeyReader));
	ItemPointerData tids[TIDS];
	uint64		first = 0;
	int			n = 0;

	snii_key_reader_init(r, snii_key_desc(index), object, ndocs);
	while (snii_key_reader_next(r))
	{
		SniiKeyEntry entry = {r->page.str, r->page.len};

		snii_key_get_tid(&entry, &tids[n++]);
		if (n == TIDS)
		{
			if (!sink(arg, first, tids, n))
			{
				snii_key_reader_close(r);
				return;
			}
			first += n;
			n = 0;
		}
	}
	if (n > 0)
		(void) sink(arg, first, tids, n);
	pfree(r);
}

/* ----------------------------------------------------------------
 *		Late marks
 * ----------------------------------------------------------------
 */

/* Marks between two looks at others. */
#define POLL_MARKS	4096

/* Ordinal of a string that is there. */
static uint64
find_string(Relation index, SniiKeyCursor *c, const uint8 *str, uint32 len)
{
	SniiKeyPos	pos = {str, len, false};

	if (!snii_key_cursor_seek(c, &pos) || c->entry.len != len ||
		memcmp(c->entry.str, str, len) != 0)
		elog(ERROR, "entry is missing in what was written for index \"%s\"",
			 RelationGetRelationName(index));
	return c->ordinal;
}

static uint64
key_find_record(Relation index, SniiObject *output, uint64 ndocs,
				const SniiRecord *record)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii key search",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiKeyDesc *desc = snii_key_desc(index);
	SniiKeyCursor *c = palloc(sizeof(SniiKeyCursor));
	SniiKeyEntry entry;
	uint8		str[SNII_KEY_MAX_ENTRY];
	uint64		result;

	snii_key_record_parse(desc, record, &entry);
	memcpy(str, entry.str, entry.len);
	snii_key_record_tid(record, str + entry.len);
	snii_key_cursor_init(c, desc, snii_key_run_load(index, desc, output,
													ndocs));
	result = find_string(index, c, str, entry.len + SNII_KEY_TID_BYTES);
	snii_key_cursor_close(c);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}

static void
key_find_marked(Relation index, SniiObject *output, uint64 ndocs,
				SniiObject *input, uint64 input_ndocs, const uint8 *late,
				void (*sink) (void *arg, uint64 ordinal), void *arg)
{
	SniiKeyDesc *desc = snii_key_desc(index);
	SniiKeyCursor *from = palloc(sizeof(SniiKeyCursor));
	SniiKeyCursor *to = palloc(sizeof(SniiKeyCursor));

	snii_key_cursor_init(from, desc, snii_key_run_load(index, desc, input,
													   input_ndocs));
	snii_key_cursor_init(to, desc, snii_key_run_load(index, desc, output,
													 ndocs));
	for (uint64 i = 0; i < input_ndocs; i++)
	{
		if (i % POLL_MARKS == 0)
			snii_storage_poll();
		if (late[i / 8] == 0)
			i |= 7;
		else if ((late[i / 8] & (1 << (i % 8))) != 0)
		{
			snii_key_cursor_goto(from, i);
			sink(arg, find_string(index, to, from->entry.str,
								  from->entry.len));
		}
	}
	snii_key_cursor_close(from);
	snii_key_cursor_close(to);
}

/* ----------------------------------------------------------------
 *		Ranges
 * ----------------------------------------------------------------
 */

typedef struct Border
{
	SniiKeyEntry entry;
	int			segment;
	bool		last;
} Border;

static int
compare_borders(const void *a, const void *b, void *arg)
{
	const Border *x = a;
	const Border *y = b;

	return snii_key_compare(arg, x->entry.str, x->entry.len, y->entry.str,
							y->entry.len);
}

static void
key_ranges(Relation index, const SniiDirEntry *segments, int n,
		   SniiPolicySegment *result)
{
	SniiKeyDesc *desc = snii_key_desc(index);
	Border	   *borders = palloc(2 * n * sizeof(Border));

	for (int i = 0; i < n; i++)
	{
		const SniiKeyRun *run = snii_key_run_open(index, desc, &segments[i]);

		snii_key_run_range(run, &borders[2 * i].entry,
						   &borders[2 * i + 1].entry);
		borders[2 * i].segment = borders[2 * i + 1].segment = i;
		borders[2 * i].last = false;
		borders[2 * i + 1].last = true;
	}
	qsort_arg(borders, 2 * n, sizeof(Border), compare_borders, desc);
	for (int i = 0; i < 2 * n; i++)
		if (borders[i].last)
			result[borders[i].segment].hi = i + 1;
		else
			result[borders[i].segment].lo = i + 1;
	pfree(borders);
}

/* ----------------------------------------------------------------
 *		The kind
 * ----------------------------------------------------------------
 */

static SniiOrder *
key_order(Relation index)
{
	SniiOrder  *order = palloc(sizeof(SniiOrder));

	snii_key_record_order(snii_key_desc(index), order);
	return order;
}

static const SniiKind key_kind = {
	.id = SNII_KIND_KEY,
	.name = "key",
	.warm = 1 << SNII_KEY_STREAM_HEAD | 1 << SNII_KEY_STREAM_INDEX |
	1 << SNII_KEY_STREAM_FILTER,
	.build = key_build,
	.merge = snii_key_merge,
	.tids = key_tids,
	.check_segment = snii_key_check_segment,
	.check_record = snii_key_check_record,
	.order = key_order,
	.find_record = key_find_record,
	.find_marked = key_find_marked,
	.ranges = key_ranges,
	.policy = &snii_lsm_policy_keys
};

void
snii_key_kind_register(void)
{
	snii_lsm_register_kind(&key_kind);
}
