/*-------------------------------------------------------------------------
 *
 * key_check.c
 *	  Verifying runs and records of a key index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_check.h"
#include "key/key_record.h"
#include "key/key_run.h"
#include "storage/storage_page.h"

#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct Check
{
	Relation	index;
	const SniiKeyDesc *desc;
	SniiKeyRun *run;
	SniiKeyCursor *cursor;
	SniiKeyBytes last;
} Check;

static void
fault(const Check *check, const char *what)
{
	snii_storage_corrupted(check->index, InvalidBlockNumber,
						   "run %llu: %s",
						   (unsigned long long)
						   snii_storage_object_id(snii_key_run_object(check->run)),
						   what);
}

/* An entry by itself, and behind the one before. */
static void
check_entry(Check *check, uint64 n)
{
	SniiKeyCursor *c = check->cursor;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;

	if (c->ordinal != n)
		fault(check, "entries are not numbered in order");
	if (!snii_key_valid(check->desc, c->entry.str, c->entry.len))
		fault(check, "malformed entry");
	snii_key_decode(check->index, check->desc, &c->entry, values, isnull);
	snii_key_get_tid(&c->entry, &tid);
	if (!snii_storage_tid_is_valid(&tid))
		fault(check, "entry with an invalid TID");
	if (n > 0 && snii_key_compare(check->desc, check->last.data,
								  check->last.len, c->entry.str,
								  c->entry.len) >= 0)
		fault(check, "entries are out of order");
}

/*
 * The ways that a look-up takes lead to the entry: index, page, filter.
 */
static void
check_ways(Check *check, SniiKeyCursor *other)
{
	const SniiKeyEntry *entry = &check->cursor->entry;
	uint32		len = entry->len - SNII_KEY_TID_BYTES;
	SniiKeyPos	pos = {entry->str, entry->len, false};

	if (!snii_key_cursor_seek(other, &pos) ||
		other->ordinal != check->cursor->ordinal)
		fault(check, "index does not lead to an entry");
	if (!snii_key_run_may_have(check->desc, check->run, entry->str, len,
							   snii_key_hash(check->desc, entry->str, len)))
		fault(check, "filter lacks a key");
}

void
snii_key_check_segment(Relation index, SniiObject *object, uint64 ndocs,
					   const uint8 *marks)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii key check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext row = AllocSetContextCreate(context, "snii key check row",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Check		check = {0};
	SniiKeyCursor *other = palloc(sizeof(SniiKeyCursor));
	SniiKeyEntry first;
	SniiKeyEntry last;
	uint64		n = 0;

	check.index = index;
	check.desc = snii_key_desc(index);
	check.run = snii_key_run_load(index, check.desc, object, ndocs);
	check.cursor = palloc(sizeof(SniiKeyCursor));
	snii_key_cursor_init(check.cursor, check.desc, check.run);
	snii_key_cursor_init(other, check.desc, check.run);
	snii_key_run_range(check.run, &first, &last);
	for (bool more = snii_key_cursor_first(check.cursor); more;
		 more = snii_key_cursor_next(check.cursor))
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(row);
		check_entry(&check, n);
		check_ways(&check, other);
		MemoryContextSwitchTo(context);
		MemoryContextReset(row);
		if (n == 0 && (first.len != check.cursor->entry.len ||
					   memcmp(first.str, check.cursor->entry.str,
							  first.len) != 0))
			fault(&check, "first entry is not that of the head");
		check.last.len = 0;
		snii_key_bytes_add(&check.last, check.cursor->entry.str,
						   check.cursor->entry.len);
		n++;
	}
	if (n != ndocs)
		fault(&check, "wrong number of entries");
	if (last.len != check.last.len ||
		memcmp(last.str, check.last.data, last.len) != 0)
		fault(&check, "last entry is not that of the head");
	snii_key_cursor_close(check.cursor);
	snii_key_cursor_close(other);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
snii_key_check_record(Relation index, const SniiRecord *record)
{
	SniiKeyDesc *desc = snii_key_desc(index);
	SniiKeyEntry entry;
	SniiKeyBytes str = {0};
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	snii_key_record_parse(desc, record, &entry);
	snii_key_bytes_add(&str, entry.str, entry.len);
	snii_key_put_tid(&str, &record->tid);
	entry.str = str.data;
	entry.len = str.len;
	if (!snii_key_valid(desc, entry.str, entry.len))
		snii_storage_corrupted(index, InvalidBlockNumber,
							   "record of the write buffer is malformed");
	snii_key_decode(index, desc, &entry, values, isnull);
	pfree(str.data);
	pfree(desc);
}
