/*-------------------------------------------------------------------------
 *
 * key_check.c
 *	  Verifying runs and records of a key index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_check.h"
#include "key/key_reader.h"
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
	SniiKeyReader reader;
	SniiKeyCursor *cursor;		/* for the ways to an entry */
	uint32		last_len;
	uint8		last[SNII_KEY_MAX_ENTRY];
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

/*
 * An entry by itself, and behind the one before; the reader sees that bytes
 * are in order, and restarts and numbers where they should be.
 */
static void
check_entry(Check *check, const SniiKeyEntry *entry)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;

	if (!snii_key_valid(check->desc, entry->str, entry->len))
		fault(check, "malformed entry");
	snii_key_decode(check->index, check->desc, entry, values, isnull);
	snii_key_get_tid(entry, &tid);
	if (!snii_storage_tid_is_valid(&tid))
		fault(check, "entry with an invalid TID");
	if (!check->desc->all_bytes && check->last_len > 0 &&
		snii_key_compare(check->desc, check->last, check->last_len,
						 entry->str, entry->len) >= 0)
		fault(check, "entries are out of order");
}

/*
 * The ways that a look-up takes lead to the entry: filter, and to both ends of
 * each page the index.
 */
static void
check_ways(Check *check, const SniiKeyEntry *entry)
{
	const SniiKeyReader *r = &check->reader;
	uint32		len = entry->len - SNII_KEY_TID_BYTES;
	SniiKeyPos	pos = {entry->str, entry->len, false};

	if ((r->page.item == 0 || r->page.item + 1 == r->page.nentries) &&
		(!snii_key_cursor_seek(check->cursor, &pos) ||
		 check->cursor->ordinal != snii_key_reader_ordinal(r)))
		fault(check, "index does not lead to an entry");
	if ((check->last_len != entry->len ||
		 memcmp(check->last, entry->str, len) != 0) &&
		!snii_key_run_may_have(check->desc, check->run, entry->str, len,
							   snii_key_hash(check->desc, entry->str, len)))
		fault(check, "filter lacks a key");
}

/* Read all entries; row is a context for each of them. */
static void
check_entries(Check *check, MemoryContext row)
{
	SniiKeyReader *r = &check->reader;
	SniiKeyEntry first;
	SniiKeyEntry last;

	snii_key_run_range(check->run, &first, &last);
	while (snii_key_reader_next(r))
	{
		MemoryContext old = MemoryContextSwitchTo(row);
		SniiKeyEntry entry;

		entry.str = r->page.str;
		entry.len = r->page.len;
		entry.payload = r->page.payload;
		entry.payload_len = r->page.payload_len;
		CHECK_FOR_INTERRUPTS();
		check_entry(check, &entry);
		check_ways(check, &entry);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
		if (check->last_len == 0 &&
			(first.len != entry.len ||
			 memcmp(first.str, entry.str, first.len) != 0))
			fault(check, "first entry is not that of the head");
		check->last_len = entry.len;
		memcpy(check->last, entry.str, entry.len);
	}
	if (last.len != check->last_len ||
		memcmp(last.str, check->last, last.len) != 0)
		fault(check, "last entry is not that of the head");
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
	Check	   *check = palloc(sizeof(Check));

	check->index = index;
	check->desc = snii_key_desc(index);
	check->run = snii_key_run_load(index, check->desc, object, ndocs);
	check->last_len = 0;
	check->cursor = palloc(sizeof(SniiKeyCursor));
	snii_key_cursor_init(check->cursor, check->desc, check->run);
	snii_key_reader_init(&check->reader, check->desc, object, ndocs);
	check_entries(check, row);
	snii_key_cursor_close(check->cursor);
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
