/*-------------------------------------------------------------------------
 *
 * test_inv_read.c
 *	  Reading, merging and checking segments against a corpus in memory; and
 *	  what they do with bytes that have changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "inverted/inv_check.h"
#include "inverted/inv_kind.h"
#include "inverted/inv_merge.h"
#include "inverted/inv_record.h"
#include "storage/storage_alloc.h"
#include "text/text_term.h"
#include "test_inv_corpus.h"

PG_FUNCTION_INFO_V1(test_inv_read);
PG_FUNCTION_INFO_V1(test_inv_merge);
PG_FUNCTION_INFO_V1(test_inv_corrupt);
PG_FUNCTION_INFO_V1(test_inv_check_record);

/* Most memory that reading a damaged small segment may take. */
#define CORRUPT_MEMORY	((Size) 64 << 20)

/* ---------------- reading ---------------- */

/* SniiTidSink: TIDs come in order, each once. */
typedef struct TidCheck
{
	const Corpus *corpus;
	uint64		next;
} TidCheck;

static bool
check_tids(void *arg, uint64 first, const ItemPointerData *tids, int n)
{
	TidCheck   *check = arg;

	CHECK(first == check->next, "TIDs at " UINT64_FORMAT, first);
	for (int i = 0; i < n; i++)
		CHECK(ItemPointerEquals((ItemPointer) &tids[i],
								&check->corpus->tids[first + i]), "TID");
	check->next += n;
	return true;
}

/* Everything that must hold of a sound segment. */
static void
examine(Relation rel, SniiObject *object, const Corpus *c,
		const uint8 *dead, TestInvRandom *prng)
{
	TidCheck	check = {.corpus = c};

	test_inv_compare(object, c, prng, true);
	snii_inv_kind_check_segment(rel, object, c->ndocs, dead);
	snii_inv_kind_tids(rel, object, c->ndocs, check_tids, &check);
	CHECK(check.next == c->ndocs, UINT64_FORMAT " TIDs", check.next);
}

/* How many terms have each form. */
static char *
describe(SniiObject *object, const Corpus *c)
{
	SniiInvSegment *seg = snii_inv_open(object, c->ndocs);
	SniiInvDict *dict = snii_inv_dict_begin(seg);
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen;
	SniiInvTerm term;
	int			forms[4] = {0};
	char	   *result;

	while (snii_inv_dict_next(dict, key, &keylen, &term))
		forms[term.form]++;
	result = psprintf(UINT64_FORMAT " terms (%d single, %d inline, %d slim, "
					  "%d windowed), " UINT64_FORMAT " postings, "
					  UINT64_FORMAT " positions, %d levels",
					  c->nterms, forms[0], forms[1], forms[2], forms[3],
					  c->npostings, c->npositions,
					  snii_inv_head(seg)->index_levels);
	snii_inv_dict_end(dict);
	snii_inv_close(seg);
	return result;
}

/*
 * test_inv_read(rel, seed, ndocs, nterms, filter): a segment of a random
 * corpus says what the corpus says.  Returns its sizes.
 */
Datum
test_inv_read(PG_FUNCTION_ARGS)
{
	Relation	rel = test_inv_open(PG_GETARG_OID(0), CORPUS_COLUMNS,
									test_inv_analyzers);
	TestInvRandom prng;
	Corpus	   *corpus;
	SniiObject *object;
	char	   *result;

	test_inv_seed(&prng, PG_GETARG_INT64(1));
	corpus = test_inv_corpus(&prng, PG_GETARG_INT32(2), PG_GETARG_INT32(3));
	object = test_inv_corpus_write(rel, corpus, NULL, PG_GETARG_BOOL(4));
	examine(rel, object, corpus, NULL, &prng);
	result = describe(object, corpus);
	test_inv_close(rel);
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/* ---------------- merging ---------------- */

/* Bits of dead documents: none, some, or all of a stretch. */
static uint8 *
random_marks(TestInvRandom *prng, uint64 ndocs, uint64 *ndead)
{
	uint8	   *bits = palloc0(ndocs / 8 + 8);
	uint32		style = test_inv_range(prng, 0, 3);

	*ndead = 0;
	for (uint64 i = 0; i < ndocs; i++)
	{
		bool		dead;

		dead = style == 0 ? false :
			style == 1 ? test_inv_range(prng, 0, 2) == 0 :
			style == 2 ? test_inv_range(prng, 0, 500) == 0 :
			i < ndocs / 2;
		if (dead)
		{
			bits[i / 8] |= 1 << (i % 8);
			(*ndead)++;
		}
	}
	return bits;
}

/* Write one piece, with marks, and note its dead documents for the whole. */
static void
write_piece(Relation rel, TestInvRandom *prng, const Corpus *whole,
			uint64 from, uint64 to, uint8 *dead, SniiMergeInput *input)
{
	Corpus	   *part = test_inv_corpus_part(whole, from, to, NULL);

	input->ndocs = to - from;
	input->marks = random_marks(prng, input->ndocs, &input->ndead);
	for (uint64 i = from; i < to; i++)
	{
		if ((input->marks[(i - from) / 8] >> ((i - from) % 8)) & 1)
			dead[i / 8] |= 1 << (i % 8);
	}
	input->object = test_inv_corpus_write(rel, part, input->marks,
										  test_inv_range(prng, 0, 3) != 0);
	examine(rel, input->object, part, input->marks, prng);
}

/*
 * test_inv_merge(rel, seed, ndocs, nterms, npieces): merging pieces with
 * dead documents gives, byte by byte, the segment of the live documents.
 */
Datum
test_inv_merge(PG_FUNCTION_ARGS)
{
	Relation	rel = test_inv_open(PG_GETARG_OID(0), CORPUS_COLUMNS,
									test_inv_analyzers);
	uint64		ndocs = PG_GETARG_INT32(2);
	int			npieces = PG_GETARG_INT32(4);
	uint8	   *dead = palloc0(ndocs / 8 + 8);
	SniiMergeInput *inputs = palloc0(npieces * sizeof(SniiMergeInput));
	TestInvRandom prng;
	Corpus	   *whole;
	Corpus	   *live;
	SniiObjectWriter *w;
	SniiObject *merged;
	SniiObject *direct;
	uint64		from = 0;
	uint64		n;
	instr_time	start;
	instr_time	elapsed;

	test_inv_seed(&prng, PG_GETARG_INT64(1));
	whole = test_inv_corpus(&prng, ndocs, PG_GETARG_INT32(3));
	for (int i = 0; i < npieces; i++)
	{
		uint64		to = i == npieces - 1 ? ndocs :
		test_inv_range(&prng, from, ndocs);

		write_piece(rel, &prng, whole, from, to, dead, &inputs[i]);
		from = to;
	}
	live = test_inv_corpus_part(whole, 0, ndocs, dead);
	INSTR_TIME_SET_CURRENT(start);
	w = snii_storage_writer_begin(rel, SNII_SLOT_FLUSH);
	n = snii_inv_kind_merge(rel, w, inputs, npieces);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	elog(DEBUG1, "%.1f ms for " UINT64_FORMAT " postings, " UINT64_FORMAT
		 " positions", INSTR_TIME_GET_MILLISEC(elapsed), live->npostings,
		 live->npositions);
	CHECK(n == live->ndocs, UINT64_FORMAT " documents", n);
	merged = test_inv_publish(rel, w, n, NULL);
	direct = test_inv_corpus_write(rel, live, NULL, true);
	CHECK(test_inv_checksum(merged) == test_inv_checksum(direct),
		  "merged and written at once");
	examine(rel, merged, live, NULL, &prng);
	test_inv_close(rel);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(UINT64_FORMAT " of "
											  UINT64_FORMAT " documents, "
											  UINT64_FORMAT " of "
											  UINT64_FORMAT " terms",
											  live->ndocs, whole->ndocs,
											  live->nterms, whole->nterms)));
}

/* ---------------- damage ---------------- */

typedef enum Outcome
{
	OUTCOME_SAME,
	OUTCOME_DIFFERENT,			/* test_inv_fail() */
	OUTCOME_CORRUPTED			/* ERRCODE_INDEX_CORRUPTED */
} Outcome;

typedef struct Damage
{
	Relation	rel;
	const Corpus *corpus;
	uint64		id;
	BlockNumber list_head;
	uint64		seed;
	bool		values;			/* compare what cannot be verified, too */
} Damage;

static void
run_check(const Damage *d, SniiObject *object)
{
	snii_inv_kind_check_segment(d->rel, object, d->corpus->ndocs, NULL);
}

static void
run_compare(const Damage *d, SniiObject *object)
{
	TestInvRandom prng;

	test_inv_seed(&prng, d->seed);
	test_inv_compare(object, d->corpus, &prng, d->values);
}

/*
 * Run something over the segment in a subtransaction and classify how it
 * ends.  Any error but the two expected ones is a failure of the test.
 */
static Outcome
attempt(const Damage *d, SniiObject *object,
		void (*run) (const Damage *, SniiObject *))
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
		run(d, object);
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
	CHECK(size <= CORRUPT_MEMORY, "%zu bytes allocated", size);
	MemoryContextDelete(work);
	return outcome;
}

/* A random page of the segment, pinned; *stream is what it belongs to. */
static Buffer
pick_page(TestInvRandom *prng, const SniiObject *object, int *stream,
		  uint32 *used)
{
	const uint8 *payload;
	uint32		npages;

	do
	{
		*stream = test_inv_range(prng, SNII_STREAM_KIND,
								 SNII_STREAMS - 1);
		npages = snii_storage_stream_pages(object, *stream);
	} while (npages == 0);
	return snii_storage_pin(object, *stream,
							test_inv_range(prng, 0, npages - 1),
							InvalidBuffer, &payload, used);
}

/* Put bytes into a page that is pinned. */
static void
put_bytes(Buffer buffer, uint32 offset, const uint8 *bytes, int n)
{
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	memcpy((char *) BufferGetPage(buffer) + offset, bytes, n);
	MarkBufferDirty(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

/* Change one to four bytes of a page, in one of several ways. */
static void
damage_bytes(TestInvRandom *prng, uint8 *bytes, int n)
{
	uint32		how = test_inv_range(prng, 0, 3);

	for (int i = 0; i < n; i++)
	{
		if (how == 0)
			bytes[i] ^= 1 << test_inv_range(prng, 0, 7);
		else if (how == 1)
			bytes[i] = 0xFF;
		else if (how == 2)
			bytes[i] = 0;
		else
			bytes[i] = test_inv_range(prng, 0, 255);
	}
}

/*
 * One round: damage a page, check and compare, repair.  The checker finds
 * whatever changes an answer, but for TIDs and positions, and for keys that
 * are still in order and pass the filter by chance.
 */
static void
damage_round(Damage *d, TestInvRandom *prng, int counts[3])
{
	SniiObject *object = snii_storage_object_open(d->rel, d->id,
												  d->list_head);
	int			stream;
	uint32		used;
	Buffer		buffer = pick_page(prng, object, &stream, &used);
	uint8		old[4];
	uint8		new[4];
	int			n = test_inv_range(prng, 1, 4);
	uint32		offset = MAXALIGN(SizeOfPageHeaderData) +
	test_inv_range(prng, 0, used - n);
	Outcome		checked;
	Outcome		compared;

	/* now and then the header or the special space, but for the LSN */
	if (test_inv_range(prng, 0, 19) == 0)
		offset = test_inv_range(prng, 0, 1) ?
			test_inv_range(prng, 10, 20) :
			test_inv_range(prng, BLCKSZ - 16, BLCKSZ - 4);
	memcpy(old, (char *) BufferGetPage(buffer) + offset, n);
	memcpy(new, old, n);
	damage_bytes(prng, new, n);
	put_bytes(buffer, offset, new, n);
	d->seed = test_inv_random(prng);
	checked = attempt(d, object, run_check);
	d->values = false;
	compared = attempt(d, object, run_compare);
	CHECK(checked == OUTCOME_CORRUPTED || compared == OUTCOME_SAME ||
		  stream == SNII_INV_STREAM_DICT,
		  "stream %d, block %u, offset %u, %d bytes: check is silent, "
		  "answers are not the same", stream,
		  BufferGetBlockNumber(buffer), offset, n);
	d->values = true;
	compared = attempt(d, object, run_compare);
	put_bytes(buffer, offset, old, n);
	CHECK(checked == OUTCOME_SAME || checked == OUTCOME_CORRUPTED,
		  "check of damaged bytes");
	ReleaseBuffer(buffer);
	counts[checked == OUTCOME_CORRUPTED ? 2 :
		   compared == OUTCOME_SAME ? 0 : 1]++;
}

/*
 * test_inv_corrupt(rel, seed, ndocs, nterms, rounds): damaged pages give
 * errors of the right kind or answers, never a crash, endless loop or large
 * allocation; after each repair the segment is sound.
 */
Datum
test_inv_corrupt(PG_FUNCTION_ARGS)
{
	Damage		d = {0};
	int			rounds = PG_GETARG_INT32(4);
	int			counts[3] = {0};
	MemoryContext round_context;
	MemoryContext old;
	TestInvRandom prng;
	SniiObject *object;

	d.rel = test_inv_open(PG_GETARG_OID(0), CORPUS_COLUMNS,
						  test_inv_analyzers);
	test_inv_seed(&prng, PG_GETARG_INT64(1));
	d.corpus = test_inv_corpus(&prng, PG_GETARG_INT32(2), PG_GETARG_INT32(3));
	object = test_inv_corpus_write(d.rel, d.corpus, NULL, true);
	d.id = snii_storage_object_id(object);
	d.list_head = test_inv_list_head(d.rel, d.id);
	round_context = AllocSetContextCreate(CurrentMemoryContext, "rounds",
										  ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < rounds; i++)
	{
		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(round_context);
		damage_round(&d, &prng, counts);
		MemoryContextSwitchTo(old);
		MemoryContextReset(round_context);
	}
	examine(d.rel, object, d.corpus, NULL, &prng);
	test_inv_close(d.rel);
	elog(DEBUG1, "%d harmless, %d silent, %d found", counts[0], counts[1],
		 counts[2]);
	PG_RETURN_BOOL(counts[2] > rounds / 4);
}

/* ---------------- records ---------------- */

/* What attempt() runs: check the record that the seed points to. */
static void
run_check_record(const Damage *d, SniiObject *object)
{
	const SniiRecord *record = (const SniiRecord *) (uintptr_t) d->seed;

	snii_inv_kind_check_record(d->rel, record);
}

static void
expect_record(Damage *d, const SniiRecord *record, Outcome expected,
			  const char *what)
{
	d->seed = (uint64) (uintptr_t) record;
	CHECK(attempt(d, NULL, run_check_record) == expected, "%s", what);
}

/* A record of one column with one token, and NULL in the others. */
static void
one_token(SniiInvRecord *r, int kind, uint32 len)
{
	char	   *bytes = palloc0(len + 1);

	snii_inv_record_reset(r);
	snii_inv_record_begin_column(r);
	snii_inv_record_token(r, kind, bytes, len, 7);
	snii_inv_record_end_column(r);
	for (int i = 1; i < CORPUS_COLUMNS; i++)
		snii_inv_record_null(r);
}

/*
 * test_inv_check_record(rel): sound records pass, others do not.
 */
Datum
test_inv_check_record(PG_FUNCTION_ARGS)
{
	Damage		d = {0};
	SniiInvRecord r;
	SniiRecord	record;

	d.rel = test_inv_open(PG_GETARG_OID(0), CORPUS_COLUMNS,
						  test_inv_analyzers);
	snii_inv_record_init(&r);
	one_token(&r, SNII_TERM_PLAIN, 20);
	ItemPointerSet(&record.tid, 1, 1);
	record.data = r.data;
	record.len = r.len;
	expect_record(&d, &record, OUTCOME_SAME, "sound");
	for (record.len = 0; record.len < r.len; record.len++)
		expect_record(&d, &record, OUTCOME_CORRUPTED, "cut");
	ItemPointerSetInvalid(&record.tid);
	expect_record(&d, &record, OUTCOME_CORRUPTED, "without a TID");
	ItemPointerSet(&record.tid, 1, 1);
	one_token(&r, SNII_TERM_LONG, SNII_TERM_LONG_SIZE);
	record.data = r.data;
	record.len = r.len;
	expect_record(&d, &record, OUTCOME_SAME, "long token");
	one_token(&r, SNII_TERM_LONG, SNII_TERM_LONG_SIZE - 1);
	record.data = r.data;
	record.len = r.len;
	expect_record(&d, &record, OUTCOME_CORRUPTED, "short long token");
	test_inv_close(d.rel);
	PG_RETURN_VOID();
}
