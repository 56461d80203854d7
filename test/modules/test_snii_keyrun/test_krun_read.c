/*-------------------------------------------------------------------------
 *
 * test_krun_read.c
 *	  A run against a sorted array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "key/key_record.h"
#include "storage/storage_alloc.h"
#include "test_krun.h"

PG_FUNCTION_INFO_V1(test_krun_read);
PG_FUNCTION_INFO_V1(test_krun_build);
PG_FUNCTION_INFO_V1(test_krun_filter);
PG_FUNCTION_INFO_V1(test_krun_misuse);

/* ---------------- verifying ---------------- */

/* Does the cursor stand on entry i, or nowhere if there is none? */
static void
check_place(SniiKeyCursor *c, const SniiKeyEntry *entries, uint64 n, int64 i,
			const char *how)
{
	CHECK(c->valid == (i >= 0 && i < (int64) n),
		  "%s: cursor is valid: %d, entry " INT64_FORMAT " of " UINT64_FORMAT,
		  how, c->valid, i, n);
	if (!c->valid)
		return;
	CHECK(c->ordinal == (uint64) i, "%s: ordinal " UINT64_FORMAT
		  " instead of " INT64_FORMAT, how, c->ordinal, i);
	CHECK(test_krun_same(&c->entry, &entries[i]), "%s: entry " INT64_FORMAT,
		  how, i);
}

/* Both ways through everything. */
static void
check_walks(SniiKeyCursor *c, const SniiKeyEntry *entries, uint64 n)
{
	bool		more = snii_key_cursor_first(c);

	for (uint64 i = 0; i < n; i++, more = snii_key_cursor_next(c))
		check_place(c, entries, n, (int64) i, "next");
	CHECK(!more, "more than " UINT64_FORMAT " entries", n);
	more = snii_key_cursor_last(c);
	for (uint64 i = n; i > 0; i--, more = snii_key_cursor_prev(c))
		check_place(c, entries, n, (int64) i - 1, "prev");
	CHECK(!more, "more than " UINT64_FORMAT " entries backward", n);
}

/* Number of entries before a position, by the order of the descriptor. */
static uint64
count_before(const SniiKeyDesc *desc, const SniiKeyEntry *entries, uint64 n,
			 const SniiKeyPos *pos)
{
	uint64		lo = 0;
	uint64		hi = n;

	while (lo < hi)
	{
		uint64		mid = (lo + hi) / 2;

		if (snii_key_compare_pos(desc, entries[mid].str, entries[mid].len,
								 pos) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * A place: at an entry, at its key, at the beginning of it, or near it.  An
 * end within a column is a place if order is that of bytes.
 */
static void
random_pos(Corpus *c, const SniiKeyEntry *entries, uint64 n, uint8 *bytes,
		   SniiKeyPos *pos)
{
	const SniiKeyEntry *e = &entries[test_krun_range(&c->prng, 0, n - 1)];
	uint32		key = e->len - SNII_KEY_TID_BYTES;

	memcpy(bytes, e->str, e->len);
	pos->bytes = bytes;
	pos->after = test_krun_range(&c->prng, 0, 1) == 1;
	pos->len = e->len;
	switch (test_krun_range(&c->prng, 0, c->desc->all_bytes ? 5 : 3))
	{
		case 0:
			break;
		case 1:
			pos->len = key;
			break;
		case 2:
			pos->len = 1;
			break;
		case 3:
			/* another TID */
			bytes[key + test_krun_range(&c->prng, 0, 5)] ^=
				(uint8) (1 << test_krun_range(&c->prng, 0, 7));
			break;
		case 4:
			pos->len = (uint32) test_krun_range(&c->prng, 0, e->len);
			break;
		case 5:
			bytes[test_krun_range(&c->prng, 0, e->len - 1)] ^=
				(uint8) (1 << test_krun_range(&c->prng, 0, 7));
			break;
	}
}

static void
check_search(Corpus *c, SniiKeyCursor *cursor, const SniiKeyEntry *entries,
			 uint64 n)
{
	uint8		bytes[SNII_KEY_MAX_ENTRY];
	SniiKeyPos	pos;
	int64		i;
	uint32		page;

	random_pos(c, entries, n, bytes, &pos);
	i = (int64) count_before(c->desc, entries, n, &pos);
	page = snii_key_run_page_of(c->desc, cursor->run, &pos);
	snii_key_cursor_seek(cursor, &pos);
	check_place(cursor, entries, n, i, "seek");
	if (cursor->valid)
		CHECK(cursor->page == page || cursor->page == page + 1,
			  "page %u, entry on %u", page, cursor->page);
	for (int k = (int) test_krun_range(&c->prng, 0, 40);
		 k > 0 && cursor->valid; k--)
	{
		bool		forward = test_krun_range(&c->prng, 0, 2) > 0;

		i += forward ? 1 : -1;
		if (forward)
			snii_key_cursor_next(cursor);
		else
			snii_key_cursor_prev(cursor);
		check_place(cursor, entries, n, i, "step");
	}
	i = (int64) test_krun_range(&c->prng, 0, n - 1);
	snii_key_cursor_goto(cursor, (uint64) i);
	check_place(cursor, entries, n, i, "goto");
	i += (int64) test_krun_range(&c->prng, 0, 500);
	i = Min(i, (int64) n - 1);
	snii_key_cursor_goto(cursor, (uint64) i);
	check_place(cursor, entries, n, i, "goto behind");
	random_pos(c, entries, n, bytes, &pos);
	i = (int64) count_before(c->desc, entries, n, &pos);
	snii_key_cursor_seek_before(cursor, &pos);
	check_place(cursor, entries, n, i - 1, "seek before");
}

/* SniiTidSink */
typedef struct TidCheck
{
	const SniiKeyEntry *entries;
	uint64		next;
} TidCheck;

static bool
check_tids(void *arg, uint64 first, const ItemPointerData *tids, int n)
{
	TidCheck   *check = arg;

	CHECK(first == check->next, "TIDs at " UINT64_FORMAT, first);
	for (int i = 0; i < n; i++)
	{
		ItemPointerData tid;

		snii_key_get_tid(&check->entries[first + i], &tid);
		CHECK(ItemPointerEquals(unconstify(ItemPointerData *, &tids[i]),
								&tid), "TID of " UINT64_FORMAT, first + i);
	}
	check->next += n;
	return true;
}

/* SniiTidSink that has enough at once. */
static bool
one_call(void *arg, uint64 first, const ItemPointerData *tids, int n)
{
	(*(int *) arg)++;
	return false;
}

void
test_krun_verify(Corpus *c, const SniiDirEntry *entry,
				 const SniiKeyEntry *entries, uint64 n, int nsearches)
{
	const SniiKeyRun *run = snii_key_run_open(c->index, c->desc, entry);
	const SniiKind *kind = test_krun_kind();
	SniiKeyCursor *cursor = palloc(sizeof(SniiKeyCursor));
	uint8	   *marks = palloc0(n / 8 + 1);
	TidCheck	tids = {entries, 0};
	int			calls = 0;
	SniiKeyEntry first;
	SniiKeyEntry last;

	CHECK(snii_key_run_entries(run) == n, "entries");
	snii_key_run_range(run, &first, &last);
	CHECK(first.len == entries[0].len &&
		  memcmp(first.str, entries[0].str, first.len) == 0, "first string");
	CHECK(last.len == entries[n - 1].len &&
		  memcmp(last.str, entries[n - 1].str, last.len) == 0,
		  "last string");
	snii_key_cursor_init(cursor, c->desc, run);
	check_walks(cursor, entries, n);
	for (int i = 0; i < nsearches; i++)
		check_search(c, cursor, entries, n);
	snii_key_cursor_close(cursor);
	for (uint64 i = 0; i < n; i++)
	{
		uint32		len = entries[i].len - SNII_KEY_TID_BYTES;

		CHECK(snii_key_run_may_have(c->desc, run, entries[i].str, len,
									snii_key_hash(c->desc, entries[i].str,
												  len)),
			  "filter lacks entry " UINT64_FORMAT, i);
	}
	kind->tids(c->index, test_krun_object(c, entry), n, check_tids, &tids);
	CHECK(tids.next == n, UINT64_FORMAT " TIDs", tids.next);
	kind->tids(c->index, test_krun_object(c, entry), n, one_call, &calls);
	CHECK(calls == 1, "%d calls of a sink that has enough", calls);
	kind->check_segment(c->index, test_krun_object(c, entry), n, marks);
	pfree(marks);
	pfree(cursor);
}

/* ---------------- tests ---------------- */

/*
 * test_krun_read(index, seed, n, shape, searches): write and verify a run.
 * Returns pages of data and levels of the index.
 */
Datum
test_krun_read(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), PG_GETARG_INT64(1),
								   PG_GETARG_INT32(2),
								   text_to_cstring(PG_GETARG_TEXT_PP(3)));
	SniiDirEntry entry = test_krun_write(c, c->entries, c->n);
	SniiObject *object = test_krun_object(c, &entry);
	SniiKeyHead head;

	test_krun_verify(c, &entry, c->entries, c->n, PG_GETARG_INT32(4));
	snii_storage_read(object, SNII_KEY_STREAM_HEAD, 0, &head, sizeof(head));
	test_krun_close(c);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%u pages, %u levels",
											  head.ndata, head.levels)));
}

/* A source of records in a random order. */
typedef struct Source
{
	SniiRecordSource base;
	Corpus	   *c;
	uint64	   *order;
	uint64		next;
	SniiKeyBytes body;
} Source;

static bool
source_next(SniiRecordSource *self, SniiRecord *record)
{
	Source	   *s = (Source *) self;
	const SniiKeyEntry *e;
	uint32		len;
	uint16		len16;

	if (s->next == s->c->n)
		return false;
	e = &s->c->entries[s->order[s->next++]];
	len = e->len - SNII_KEY_TID_BYTES;
	s->body.len = 0;
	if (s->c->desc->nattrs > s->c->desc->nkeys)
	{
		len16 = (uint16) len;
		snii_key_bytes_add(&s->body, &len16, sizeof(len16));
	}
	snii_key_bytes_add(&s->body, e->str, len);
	snii_key_bytes_add(&s->body, e->payload, e->payload_len);
	snii_key_get_tid(e, &record->tid);
	record->data = s->body.data;
	record->len = s->body.len;
	test_krun_kind()->check_record(s->c->index, record);
	return true;
}

/*
 * test_krun_build(index, seed, n, shape): what a flush makes of records in
 * any order is what the writer makes of sorted entries, byte for byte; and
 * each record is found in it.
 */
Datum
test_krun_build(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), PG_GETARG_INT64(1),
								   PG_GETARG_INT32(2),
								   text_to_cstring(PG_GETARG_TEXT_PP(3)));
	Source		source = {{source_next}, c};
	SniiObjectWriter *w = snii_storage_writer_begin(c->index,
													SNII_SLOT_FLUSH);
	SniiDirEntry built;
	SniiDirEntry written;
	SniiRecord	record;

	source.order = palloc((c->n + 1) * sizeof(uint64));
	for (uint64 i = 0; i < c->n; i++)
	{
		uint64		j = test_krun_range(&c->prng, 0, i);

		source.order[i] = source.order[j];
		source.order[j] = i;
	}
	CHECK(test_krun_kind()->build(c->index, w, &source.base) == c->n,
		  "entries");
	built = test_krun_publish(c, w, c->n);
	written = test_krun_write(c, c->entries, c->n);
	CHECK(test_krun_checksum(test_krun_object(c, &built)) ==
		  test_krun_checksum(test_krun_object(c, &written)), "checksum");
	source.next = 0;
	for (uint64 i = 0; i < c->n && source_next(&source.base, &record);
		 i += 1 + c->n / 200)
	{
		uint64		found;

		found = test_krun_kind()->find_record(c->index,
											  test_krun_object(c, &built),
											  c->n, &record);
		CHECK(found == source.order[source.next - 1], "found "
			  UINT64_FORMAT, found);
	}
	test_krun_close(c);
	PG_RETURN_VOID();
}

/* Number of different keys. */
static double
count_keys(const Corpus *c)
{
	const SniiKeyEntry *e = c->entries;
	double		result = 1;

	for (uint64 i = 1; i < c->n; i++)
		result += !snii_key_equal(c->desc, e[i].str,
								  e[i].len - SNII_KEY_TID_BYTES, e[i - 1].str,
								  e[i - 1].len - SNII_KEY_TID_BYTES);
	return result;
}

/*
 * test_krun_filter(index, seed, n, shape, probes): false positives of keys
 * that are not there, in relation to what the bits let through in theory (a
 * split block has a number of keys of Poisson's distribution).  The bits are at
 * least 10 a key, and each probe touches one page.
 */
Datum
test_krun_filter(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), PG_GETARG_INT64(1),
								   PG_GETARG_INT32(2),
								   text_to_cstring(PG_GETARG_TEXT_PP(3)));
	SniiDirEntry entry = test_krun_write(c, c->entries, c->n);
	const SniiKeyRun *run = snii_key_run_open(c->index, c->desc, &entry);
	int			probes = PG_GETARG_INT32(4);
	int			passed = 0;
	double		theory = 0;
	double		mean = count_keys(c) / (SNII_KEY_PAGE_BLOCKS *
										snii_key_run_filter_pages(run));
	double		weight = exp(-mean);
	int64		hits = pgBufferUsage.shared_blks_hit +
	pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_hit;

	for (int i = 0; i < probes; i++)
	{
		SniiKeyBytes key = {0};
		uint64		number = test_krun_random(&c->prng);

		/* NULL is there. */
		if (number % 50 == TEST_KRUN_NULL)
			number++;
		test_krun_key(c, number, &key, NULL);
		passed += snii_key_run_may_have(c->desc, run, key.data, key.len,
										snii_key_hash(c->desc, key.data,
													  key.len));
		pfree(key.data);
	}
	hits = pgBufferUsage.shared_blks_hit + pgBufferUsage.shared_blks_read +
		pgBufferUsage.local_blks_hit - hits;
	/* Each of the k keys of a block sets one of 32 bits in each word. */
	for (int k = 1; k < 100; k++)
	{
		weight *= mean / k;
		theory += weight * pow(1 - pow(31.0 / 32, k), 8);
	}
	test_krun_close(c);
	CHECK(mean <= 25.6, "%g keys a block", mean);
	CHECK(hits == probes, INT64_FORMAT " pages for %d probes", hits, probes);
	PG_RETURN_FLOAT8(passed / (theory * probes));
}

/* test_krun_misuse(index, what): raises what the writer does. */
Datum
test_krun_misuse(PG_FUNCTION_ARGS)
{
	Corpus	   *c = test_krun_open(PG_GETARG_OID(0), 1, 1000, "random");
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(1));
	SniiKeyEntry *e = c->entries;
	SniiKeyEntry other;

	if (strcmp(what, "twice") == 0)
		e[500] = e[499];
	else if (strcmp(what, "order") == 0)
	{
		other = e[500];
		e[500] = e[501];
		e[501] = other;
	}
	else if (strcmp(what, "long") == 0)
	{
		uint8	   *str = palloc(SNII_KEY_MAX_ENTRY + 1);

		memset(str, 2, SNII_KEY_MAX_ENTRY + 1);
		e[500].str = str;
		e[500].len = SNII_KEY_MAX_ENTRY + 1;
	}
	(void) test_krun_write(c, e, c->n);
	test_krun_close(c);
	PG_RETURN_VOID();
}
