/*-------------------------------------------------------------------------
 *
 * test_krun_damage.c
 *	  Damaged bytes give errors or answers, never a crash or an endless loop.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "storage/storage_alloc.h"
#include "test_krun.h"

PG_FUNCTION_INFO_V1(test_krun_damage);

/* Most memory that reading a damaged small run may take. */
#define DAMAGE_MEMORY	((Size) 64 << 20)

typedef enum Outcome
{
	OUTCOME_SAME,				/* as if nothing was damaged */
	OUTCOME_DIFFERENT,			/* another answer */
	OUTCOME_CORRUPTED			/* ERRCODE_INDEX_CORRUPTED */
} Outcome;

typedef struct Damage
{
	Corpus	   *c;
	SniiDirEntry entry;
	TestKrunRandom prng;
} Damage;

/* ---------------- what is run over the bytes ---------------- */
static void
run_check(Damage *d)
{
	uint8	   *marks = palloc0(d->entry.ndocs / 8 + 1);

	test_krun_kind()->check_segment(d->c->index,
									test_krun_object(d->c, &d->entry),
									d->entry.ndocs, marks);
}

static bool
no_sink(void *arg, uint64 first, const ItemPointerData *tids, int n)
{
	return true;
}

/* Not a matter of answers: nothing is read beyond the entries. */
static void
check_bounds(const SniiKeyCursor *c)
{
	if (c->valid && c->entry.payload + c->entry.payload_len >
		c->reader.page + c->reader.end)
		elog(ERROR, "entry reaches beyond its page");
}

/* Everything that reads, its answers compared; past the cache. */
static void
run_read(Damage *d)
{
	Corpus	   *c = d->c;
	const SniiKeyRun *run =
	snii_key_run_load(c->index, c->desc, test_krun_object(c, &d->entry),
					  c->n);
	SniiKeyCursor *cursor = palloc(sizeof(SniiKeyCursor));
	uint64		n = 0;

	snii_key_cursor_init(cursor, c->desc, run);
	for (int i = 0; i < 200; i++)
	{
		uint64		at = test_krun_range(&d->prng, 0, c->n - 1);
		const SniiKeyEntry *e = &c->entries[at];
		SniiKeyPos	pos = {e->str, e->len, false};
		uint32		len = e->len - SNII_KEY_TID_BYTES;

		snii_key_cursor_seek(cursor, &pos);
		check_bounds(cursor);
		CHECK(cursor->valid && test_krun_same(&cursor->entry, e), "seek");
		snii_key_cursor_prev(cursor);
		CHECK(cursor->valid == (at > 0), "prev");
		CHECK(at == 0 || test_krun_same(&cursor->entry, e - 1), "prev");
		CHECK(snii_key_run_may_have(c->desc, run, e->str, len,
									snii_key_hash(c->desc, e->str, len)),
			  "filter");
	}
	for (bool more = snii_key_cursor_first(cursor); more;
		 more = snii_key_cursor_next(cursor), n++)
	{
		check_bounds(cursor);
		CHECK(n < c->n && test_krun_same(&cursor->entry, &c->entries[n]) &&
			  cursor->ordinal == n, "next");
	}
	CHECK(n == c->n, "end");
	for (bool more = snii_key_cursor_last(cursor); more;
		 more = snii_key_cursor_prev(cursor), n--)
		CHECK(n > 0, "backward");
	snii_key_cursor_close(cursor);
	test_krun_kind()->tids(c->index, test_krun_object(c, &d->entry), c->n,
						   no_sink, NULL);
}

/* A merge with nothing else writes what it read. */
static void
run_merge(Damage *d)
{
	Corpus	   *c = d->c;
	SniiMergeInput input = {test_krun_object(c, &d->entry), c->n, 0,
	palloc0(c->n / 8 + 1)};
	SniiObjectWriter *w;

	w = snii_storage_writer_begin(c->index, SNII_SLOT_FLUSH);
	(void) test_krun_kind()->merge(c->index, w, &input, 1);
}

/*
 * Run something in a subtransaction and classify how it ends.  Any error but
 * those expected is a failure of the test.
 */
static Outcome
attempt(Damage *d, void (*run) (Damage *))
{
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext work = AllocSetContextCreate(outer, "damage",
											   ALLOCSET_DEFAULT_SIZES);
	ResourceOwner owner = CurrentResourceOwner;
	volatile Outcome outcome = OUTCOME_SAME;
	Size		size;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(work);
	PG_TRY();
	{
		run(d);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(work);
		error = CopyErrorData();
		if (error->sqlerrcode == ERRCODE_INDEX_CORRUPTED)
			outcome = OUTCOME_CORRUPTED;
		else if (error->sqlerrcode == ERRCODE_DATA_CORRUPTED &&
				 strncmp(error->message, "property", 8) == 0)
			outcome = OUTCOME_DIFFERENT;
		else if (error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED &&
				 strstr(error->message, "newer version") != NULL)
			outcome = OUTCOME_CORRUPTED;
		else
			PG_RE_THROW();
		FlushErrorState();
		elog(DEBUG2, "%s: %s", error->message,
			 error->detail ? error->detail : "");
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(outer);
	size = MemoryContextMemAllocated(work, true);
	CHECK(size <= DAMAGE_MEMORY, "%zu bytes allocated", size);
	MemoryContextDelete(work);
	return outcome;
}

/* ---------------- damage ---------------- */
static void
put_bytes(Buffer buffer, uint32 offset, const uint8 *bytes, int n)
{
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	memcpy((char *) BufferGetPage(buffer) + offset, bytes, n);
	MarkBufferDirty(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

static void
damage_bytes(TestKrunRandom *prng, uint8 *bytes, int n)
{
	uint32		how = (uint32) test_krun_range(prng, 0, 3);

	for (int i = 0; i < n; i++)
	{
		if (how == 0)
			bytes[i] ^= (uint8) (1 << test_krun_range(prng, 0, 7));
		else if (how == 1)
			bytes[i] = 0xFF;
		else if (how == 2)
			bytes[i] = 0;
		else
			bytes[i] = (uint8) test_krun_range(prng, 0, 255);
	}
}

/*
 * Damage a page, read in every way, repair.  The checker finds whatever
 * makes an entry that is there unreachable; a key or TID that becomes another
 * one in the same place is another answer, which only the table disproves.
 */
static void
damage_round(Damage *d, int counts[3])
{
	TestKrunRandom *prng = &d->c->prng;
	SniiObject *object = test_krun_object(d->c, &d->entry);
	int			stream = (int) test_krun_range(prng, SNII_KEY_STREAM_HEAD,
											   SNII_KEY_STREAM_FILTER);
	uint32		npages = snii_storage_stream_pages(object, stream);
	const uint8 *payload;
	uint32		used;
	uint32		offset;
	Buffer		buffer;
	uint8		old[4];
	uint8		new[4];
	int			n = (int) test_krun_range(prng, 1, 4);
	Outcome		checked;
	Outcome		compared;

	if (npages == 0)
		return;
	buffer = snii_storage_pin(object, stream,
							  (uint32) test_krun_range(prng, 0, npages - 1),
							  InvalidBuffer, &payload, &used);
	/* Every fourth time among the lengths and offsets at both ends. */
	offset = (uint32) test_krun_range(prng, 0, used - n);
	if (test_krun_range(prng, 0, 3) == 0)
		offset = test_krun_range(prng, 0, 1) ?
			(uint32) test_krun_range(prng, 0, Min(20, used - n)) :
			used - n - (uint32) test_krun_range(prng, 0, Min(40, used - n));
	offset += MAXALIGN(SizeOfPageHeaderData);
	if (test_krun_range(prng, 0, 19) == 0)
		offset = test_krun_range(prng, 0, 1) ?
			(uint32) test_krun_range(prng, 10, 20) :
			(uint32) test_krun_range(prng, BLCKSZ - 16, BLCKSZ - 4);
	memcpy(old, (char *) BufferGetPage(buffer) + offset, n);
	memcpy(new, old, n);
	damage_bytes(prng, new, n);
	put_bytes(buffer, offset, new, n);
	d->prng.state = test_krun_random(prng);
	checked = attempt(d, run_check);
	compared = attempt(d, run_read);
	(void) attempt(d, run_merge);
	put_bytes(buffer, offset, old, n);
	CHECK(checked != OUTCOME_DIFFERENT, "check");
	CHECK(checked == OUTCOME_CORRUPTED || compared == OUTCOME_SAME ||
		  stream == SNII_KEY_STREAM_DATA,
		  "stream %d, block %u, offset %u, %d bytes: check is silent, answers "
		  "are not the same", stream, BufferGetBlockNumber(buffer), offset,
		  n);
	ReleaseBuffer(buffer);
	counts[checked == OUTCOME_CORRUPTED ? 2 :
		   compared == OUTCOME_SAME ? 0 : 1]++;
}

/*
 * test_krun_damage(index, seed, n, shape, rounds): after each repair the run
 * is sound again.
 */
Datum
test_krun_damage(PG_FUNCTION_ARGS)
{
	Damage		d = {0};
	int			rounds = PG_GETARG_INT32(4);
	int			counts[3] = {0};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rounds",
												  ALLOCSET_DEFAULT_SIZES);

	d.c = test_krun_open(PG_GETARG_OID(0), PG_GETARG_INT64(1),
						 PG_GETARG_INT32(2),
						 text_to_cstring(PG_GETARG_TEXT_PP(3)));
	d.entry = test_krun_write(d.c, d.c->entries, d.c->n);
	for (int i = 0; i < rounds; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		damage_round(&d, counts);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	test_krun_verify(d.c, &d.entry, d.c->entries, d.c->n, 10);
	/* What the merges left there would be published next. */
	snii_storage_slot_release(d.c->index, SNII_SLOT_FLUSH);
	snii_storage_slot_acquire(d.c->index, SNII_SLOT_FLUSH, true);
	test_krun_close(d.c);
	elog(DEBUG1, "%d harmless, %d silent, %d found", counts[0], counts[1],
		 counts[2]);
	PG_RETURN_BOOL(counts[2] > rounds / 4);
}
