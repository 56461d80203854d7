/*-------------------------------------------------------------------------
 *
 * inv_run.c
 *	  Sorted runs of a build in a temporary file, and their merge.
 *
 * All runs of a spool are in one BufFile, one after the other, so that
 * temp_file_limit and the clean-up after an error come for free.  A run is
 * described in memory only (place, length, checksum) and cannot be read before
 * it is sealed.
 *
 *	run			:= block*
 *	block		:= u32 raw length, u32 stored length, u32 crc32c of the stored
 *				   bytes, bytes (zstd)
 *
 * and the raw bytes of the blocks, of 64 KiB but for the last, are
 *
 *	run			:= term* varint32 0
 *	term		:= varint32 length of key (> 0), key, fragment+, 0x00
 *	fragment	:= varint64 base document + 1, piece*, 0x00
 *	piece		:= varint32 length (> 0), bytes of postings (inv_spimi.c)
 *
 * Runs hold increasing stretches of documents, and are merged in groups of
 * neighbours, so the fragments of a term, taken in the order of the runs,
 * are its postings in order.  Merging never decodes them: intermediate passes
 * copy pieces, and only the last one hands them to the pump, which joins a
 * document that was cut by a spill.
 *
 * Memory: a block and a key for each run of a group, one block of stored
 * bytes, two zstd contexts; the number of runs in a group follows from the
 * workspace (snii.merge_workspace), with FAN_IN_MIN and FAN_IN_MAX as limits.
 * However many runs there are, two files are open at a time.
 *
 * temp_file_limit holds for each process: participants of a parallel build
 * have a file each.
 *
 * The tournament is a tree of losers (D. Knuth, The Art of Computer
 * Programming, vol. 3, 5.4.1) that compares the first 8 bytes of keys as
 * integers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"

#include <zstd.h>

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "port/pg_crc32c.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "codec/codec_varint.h"
#include "inverted/inv_key.h"
#include "inverted/inv_pump.h"
#include "inverted/inv_run.h"
#include "storage/storage_object.h"

#define BLOCK_BYTES		(64 * 1024)
#define STORED_MAX		ZSTD_COMPRESSBOUND(BLOCK_BYTES)
#define PIECE_BYTES		(8 * 1024)
#define ZSTD_LEVEL		1

#define FAN_IN_MIN		4
#define FAN_IN_MAX		64

typedef struct BlockHeader
{
	uint32		raw;
	uint32		stored;
	pg_crc32c	crc;
} BlockHeader;

/* A sealed run. */
typedef struct Run
{
	uint64		offset;
	uint64		length;
	uint64		nterms;			/* upper bound */
	pg_crc32c	crc;			/* of the block headers */
} Run;

struct SniiInvSpool
{
	MemoryContext context;
	MemoryContextCallback callback; /* frees the zstd contexts */
	BufFile    *file;
	uint64		end;			/* bytes in the file */
	Run		   *runs;
	int			nruns;
	int			capacity;
	int			fan_in;
	SniiMemReporter *mem;		/* or NULL */
	SniiInvProgress *progress;
	Size		workspace;
	Size		used;			/* of it */
	ZSTD_CCtx  *cctx;
	ZSTD_DCtx  *dctx;
	uint8	   *stored;			/* one block, compressed */
};

/* Run that is being written. */
typedef struct RunWriter
{
	SniiInvSpool *spool;
	BufFile    *file;
	Run			run;
	uint32		used;
	uint8		block[BLOCK_BYTES];
} RunWriter;

/* Run that is being read. */
typedef struct RunReader
{
	SniiInvSpool *spool;
	BufFile    *file;
	Run			run;
	uint64		offset;			/* of the next block */
	pg_crc32c	crc;
	uint32		used;			/* bytes of block */
	uint32		read;
	bool		done;
	uint64		prefix;			/* of the key, big-endian */
	uint32		keylen;
	uint8		key[SNII_INV_KEY_MAX];
	uint8		block[BLOCK_BYTES];
} RunReader;

/* Two zstd contexts, a stored block, the buffers of two files. */
#define CODEC_MEMORY	((Size) 1024 * 1024)

/* No workspace is smaller: a pass reads FAN_IN_MIN runs and writes one. */
#define WORKSPACE_MIN \
	(CODEC_MEMORY + sizeof(RunWriter) + FAN_IN_MIN * sizeof(RunReader))

/* ---------------- spool ---------------- */

/* Runs that fit in a workspace at a time. */
static int
fan_in(Size workspace)
{
	Size		fixed = CODEC_MEMORY + sizeof(RunWriter);

	if (workspace <= WORKSPACE_MIN)
		return FAN_IN_MIN;
	return Min((workspace - fixed) / sizeof(RunReader), FAN_IN_MAX);
}

static void
free_zstd(void *arg)
{
	SniiInvSpool *spool = arg;

	ZSTD_freeCCtx(spool->cctx);
	ZSTD_freeDCtx(spool->dctx);
}

static void
take(SniiInvSpool *spool, Size bytes)
{
	spool->used += bytes;
	Assert(spool->used <= Max(spool->workspace, WORKSPACE_MIN));
	snii_mem_reserve(spool->mem, bytes);
}

static void
give_back(SniiInvSpool *spool, Size bytes)
{
	spool->used -= bytes;
	snii_mem_release(spool->mem, bytes);
}

/*
 * Create a spool in a context of its own under the current one.  workspace
 * bounds its memory, in bytes, but for WORKSPACE_MIN; it is counted there.
 */
SniiInvSpool *
snii_inv_spool_create(Size workspace, SniiMemReporter *mem,
					  SniiInvProgress *progress)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii spool",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiInvSpool *spool = palloc0(sizeof(SniiInvSpool));

	spool->context = context;
	spool->callback.func = free_zstd;
	spool->callback.arg = spool;
	MemoryContextRegisterResetCallback(context, &spool->callback);
	spool->cctx = ZSTD_createCCtx();
	spool->dctx = ZSTD_createDCtx();
	if (spool->cctx == NULL || spool->dctx == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Could not create a zstd context.")));
	spool->mem = mem;
	spool->progress = progress;
	spool->workspace = workspace;
	spool->fan_in = fan_in(workspace);
	take(spool, CODEC_MEMORY);
	spool->stored = palloc(STORED_MAX);
	spool->file = BufFileCreateTemp(false);
	MemoryContextSwitchTo(old);
	return spool;
}

void
snii_inv_spool_destroy(SniiInvSpool *spool)
{
	BufFileClose(spool->file);
	give_back(spool, CODEC_MEMORY);
	Assert(spool->used == 0);
	MemoryContextDelete(spool->context);
}

int
snii_inv_spool_runs(const SniiInvSpool *spool)
{
	return spool->nruns;
}

/* Upper bound of the number of distinct terms in all runs. */
uint64
snii_inv_spool_terms(const SniiInvSpool *spool)
{
	uint64		sum = 0;

	for (int i = 0; i < spool->nruns; i++)
		sum += spool->runs[i].nterms;
	return sum;
}

/* Bytes in the temporary file. */
uint64
snii_inv_spool_bytes(const SniiInvSpool *spool)
{
	return spool->end;
}

/* Runs that are merged at a time. */
int
snii_inv_spool_fan_in(const SniiInvSpool *spool)
{
	return spool->fan_in;
}

static void
add_run(SniiInvSpool *spool, const Run *run)
{
	MemoryContext old = MemoryContextSwitchTo(spool->context);

	if (spool->runs == NULL)
	{
		spool->capacity = 16;
		spool->runs = palloc(spool->capacity * sizeof(Run));
	}
	else if (spool->nruns == spool->capacity)
	{
		spool->capacity *= 2;
		spool->runs = repalloc(spool->runs, spool->capacity * sizeof(Run));
	}
	spool->runs[spool->nruns++] = *run;
	MemoryContextSwitchTo(old);
}

/* ---------------- writing ---------------- */

static void
seek(BufFile *file, uint64 offset)
{
	if (BufFileSeek(file, 0, (off_t) offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in a temporary file: %m")));
}

static void
flush_block(RunWriter *rw)
{
	SniiInvSpool *spool = rw->spool;
	BlockHeader header;
	size_t		n;

	snii_storage_poll();
	n = ZSTD_compressCCtx(spool->cctx, spool->stored, STORED_MAX,
						  rw->block, rw->used, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		elog(ERROR, "zstd compression failed: %s", ZSTD_getErrorName(n));
	header.raw = rw->used;
	header.stored = n;
	INIT_CRC32C(header.crc);
	COMP_CRC32C(header.crc, spool->stored, n);
	FIN_CRC32C(header.crc);
	BufFileWrite(rw->file, &header, sizeof(header));
	BufFileWrite(rw->file, spool->stored, n);
	COMP_CRC32C(rw->run.crc, &header, sizeof(header));
	rw->run.length += sizeof(header) + n;
	rw->used = 0;
}

static void
put(RunWriter *rw, const void *bytes, size_t n)
{
	const uint8 *p = bytes;

	while (n > 0)
	{
		size_t		part = Min(n, BLOCK_BYTES - rw->used);

		memcpy(rw->block + rw->used, p, part);
		rw->used += part;
		p += part;
		n -= part;
		if (rw->used == BLOCK_BYTES)
			flush_block(rw);
	}
}

static void
put_varint(RunWriter *rw, uint64 v)
{
	uint8		buf[SNII_VARINT64_MAX];

	put(rw, buf, snii_codec_put_varint64(buf, v) - buf);
}

/* Begin a run at that offset, which is the end of the file. */
static RunWriter *
run_begin(SniiInvSpool *spool, BufFile *file, uint64 offset)
{
	RunWriter  *rw;

	take(spool, sizeof(RunWriter));
	rw = palloc(sizeof(RunWriter));
	rw->spool = spool;
	rw->file = file;
	memset(&rw->run, 0, sizeof(Run));
	rw->run.offset = offset;
	INIT_CRC32C(rw->run.crc);
	rw->used = 0;
	return rw;
}

/* End the run; *run describes it. */
static void
run_seal(RunWriter *rw, Run *run)
{
	put_varint(rw, 0);
	if (rw->used > 0)
		flush_block(rw);
	FIN_CRC32C(rw->run.crc);
	*run = rw->run;
	give_back(rw->spool, sizeof(RunWriter));
	pfree(rw);
}

/* Write a term of the buffer with its postings as they are. */
static void
spill_term(RunWriter *rw, SniiSpimi *s, SniiSpimiTerm *term)
{
	uint8		piece[PIECE_BYTES];
	uint8		ident[2];
	size_t		n;

	ident[0] = term->column;
	ident[1] = term->kind;
	put_varint(rw, term->len + sizeof(ident));
	put(rw, ident, sizeof(ident));
	put(rw, term->bytes, term->len);
	put_varint(rw, (uint64) snii_inv_spimi_base(s) + 1);
	while ((n = snii_inv_spimi_read(s, term, piece, sizeof(piece))) > 0)
	{
		put_varint(rw, n);
		put(rw, piece, n);
	}
	put_varint(rw, 0);
	put_varint(rw, 0);
}

/*
 * Write all terms of the buffer as a run, and empty the buffer, which may keep
 * its memory for the next run.
 */
void
snii_inv_spool_spill(SniiInvSpool *spool, SniiSpimi *s, bool keep)
{
	RunWriter  *rw;
	SniiSpimiTerm term;
	Run			run;

	snii_inv_spimi_sort(s);
	seek(spool->file, spool->end);
	rw = run_begin(spool, spool->file, spool->end);
	while (snii_inv_spimi_next(s, &term))
		spill_term(rw, s, &term);
	rw->run.nterms = snii_inv_spimi_terms(s);
	run_seal(rw, &run);
	spool->end += run.length;
	add_run(spool, &run);
	snii_inv_spimi_reset(s, keep);
}

/* ---------------- reading ---------------- */

SNII_NORETURN_PRE static void damaged(void) SNII_NORETURN_POST;

static void
damaged(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a temporary file of an index build is damaged")));
}

static void
read_exact(BufFile *file, void *buf, size_t n)
{
	if (BufFileRead(file, buf, n) != n)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from a temporary file")));
}

/* Read the next block; its bytes were used up. */
static void
load_block(RunReader *rr)
{
	SniiInvSpool *spool = rr->spool;
	BlockHeader header;
	pg_crc32c	crc;
	uint64		end = rr->run.offset + rr->run.length;

	snii_storage_poll();
	if (rr->offset + sizeof(header) > end)
		damaged();
	seek(rr->file, rr->offset);
	read_exact(rr->file, &header, sizeof(header));
	if (header.raw == 0 || header.raw > BLOCK_BYTES ||
		header.stored > STORED_MAX ||
		rr->offset + sizeof(header) + header.stored > end)
		damaged();
	read_exact(rr->file, spool->stored, header.stored);
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, spool->stored, header.stored);
	FIN_CRC32C(crc);
	if (!EQ_CRC32C(crc, header.crc) ||
		ZSTD_decompressDCtx(spool->dctx, rr->block, BLOCK_BYTES,
							spool->stored, header.stored) != header.raw)
		damaged();
	COMP_CRC32C(rr->crc, &header, sizeof(header));
	rr->offset += sizeof(header) + header.stored;
	rr->used = header.raw;
	rr->read = 0;
}

static inline uint8
get_byte(RunReader *rr)
{
	if (unlikely(rr->read == rr->used))
		load_block(rr);
	return rr->block[rr->read++];
}

static uint64
get_varint(RunReader *rr)
{
	uint64		v = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		uint8		b = get_byte(rr);

		v |= (uint64) (b & 0x7F) << shift;
		if (b < 0x80)
			return v;
	}
	damaged();
	return 0;					/* not reached */
}

/* Up to n of the next bytes, in place; *bytes is valid until the next call. */
static size_t
get_some(RunReader *rr, size_t n, const uint8 **bytes)
{
	size_t		part;

	if (rr->read == rr->used)
		load_block(rr);
	part = Min(n, rr->used - rr->read);
	*bytes = rr->block + rr->read;
	rr->read += part;
	return part;
}

/* All blocks were read: check the seal. */
static void
check_seal(RunReader *rr)
{
	pg_crc32c	crc = rr->crc;

	FIN_CRC32C(crc);
	if (rr->read != rr->used || !EQ_CRC32C(crc, rr->run.crc) ||
		rr->offset != rr->run.offset + rr->run.length)
		damaged();
}

/* Go to the next term of the run; done is set after the last one. */
static void
next_term(RunReader *rr)
{
	uint64		len = get_varint(rr);
	uint8		prefix[8] = {0};
	uint32		at = 0;

	if (len == 0)
	{
		check_seal(rr);
		rr->done = true;
		return;
	}
	if (len < 2 || len > SNII_INV_KEY_MAX)
		damaged();
	rr->keylen = (uint32) len;
	while (at < rr->keylen)
	{
		const uint8 *bytes;
		size_t		part = get_some(rr, rr->keylen - at, &bytes);

		memcpy(rr->key + at, bytes, part);
		at += part;
	}
	memcpy(prefix, rr->key, Min(rr->keylen, sizeof(prefix)));
	memcpy(&rr->prefix, prefix, sizeof(prefix));
	rr->prefix = pg_ntoh64(rr->prefix);
}

static RunReader *
run_open(SniiInvSpool *spool, BufFile *file, const Run *run)
{
	RunReader  *rr;

	take(spool, sizeof(RunReader));
	rr = palloc(sizeof(RunReader));
	rr->spool = spool;
	rr->file = file;
	rr->run = *run;
	rr->offset = run->offset;
	INIT_CRC32C(rr->crc);
	rr->used = rr->read = 0;
	rr->done = false;
	next_term(rr);
	return rr;
}

/* ---------------- merging ---------------- */

typedef struct Tournament
{
	int			n;
	RunReader **runs;
	int		   *losers;			/* inner nodes 1 to n - 1; [0] is the winner */
} Tournament;

/*
 * Order of two runs by their terms.  Equal terms come in the order of the
 * runs; finished runs come last.
 */
static bool
comes_first(const Tournament *t, int a, int b)
{
	const RunReader *ra = t->runs[a];
	const RunReader *rb = t->runs[b];
	int			cmp;

	if (ra->done || rb->done)
		return ra->done == rb->done ? a < b : rb->done;
	if (ra->prefix != rb->prefix)
		return ra->prefix < rb->prefix;
	cmp = snii_inv_key_compare(ra->key, ra->keylen, rb->key, rb->keylen);
	return cmp != 0 ? cmp < 0 : a < b;
}

/* Play the matches of the subtree of a node; returns its winner. */
static int
play(Tournament *t, int node)
{
	int			left;
	int			right;

	if (node >= t->n)
		return node - t->n;
	left = play(t, 2 * node);
	right = play(t, 2 * node + 1);
	if (comes_first(t, left, right))
	{
		t->losers[node] = right;
		return left;
	}
	t->losers[node] = left;
	return right;
}

/* The winner has moved on: play its way up. */
static void
replay(Tournament *t)
{
	int			winner = t->losers[0];

	for (int node = (winner + t->n) / 2; node > 0; node /= 2)
	{
		if (comes_first(t, t->losers[node], winner))
		{
			int			loser = winner;

			winner = t->losers[node];
			t->losers[node] = loser;
		}
	}
	t->losers[0] = winner;
}

static void
tournament_begin(Tournament *t, SniiInvSpool *spool, BufFile *file,
				 const Run *runs, int n)
{
	t->n = n;
	t->runs = palloc(n * sizeof(RunReader *));
	t->losers = palloc0(n * sizeof(int));
	for (int i = 0; i < n; i++)
		t->runs[i] = run_open(spool, file, &runs[i]);
	t->losers[0] = play(t, 1);
}

static void
tournament_end(Tournament *t)
{
	for (int i = 0; i < t->n; i++)
	{
		give_back(t->runs[i]->spool, sizeof(RunReader));
		pfree(t->runs[i]);
	}
	pfree(t->runs);
	pfree(t->losers);
}

/* The run whose term is next, or NULL when all are finished. */
static inline RunReader *
winner(const Tournament *t)
{
	RunReader  *rr = t->runs[t->losers[0]];

	return rr->done ? NULL : rr;
}

/* Where the fragments of merged terms go: a run or a segment. */
typedef struct MergeTarget
{
	RunWriter  *run;			/* or NULL */
	SniiInvPump pump;
} MergeTarget;

/* Move one piece of n bytes. */
static void
move_piece(RunReader *rr, MergeTarget *target, uint64 n)
{
	if (target->run != NULL)
		put_varint(target->run, n);
	while (n > 0)
	{
		const uint8 *bytes;
		size_t		part = get_some(rr, n, &bytes);

		if (target->run != NULL)
			put(target->run, bytes, part);
		else if (!snii_inv_pump_bytes(&target->pump, bytes, part))
			damaged();
		n -= part;
	}
}

/* Move the fragments of the current term, and go to the next one. */
static void
move_fragments(RunReader *rr, MergeTarget *target)
{
	uint64		base;
	uint64		n;

	while ((base = get_varint(rr)) != 0)
	{
		if (base - 1 > SNII_INV_DOC_MAX)
			damaged();
		if (target->run != NULL)
			put_varint(target->run, base);
		else
			snii_inv_pump_fragment(&target->pump, (uint32) (base - 1));
		while ((n = get_varint(rr)) != 0)
			move_piece(rr, target, n);
		if (target->run != NULL)
			put_varint(target->run, 0);
		else if (!snii_inv_pump_end_fragment(&target->pump))
			damaged();
	}
	next_term(rr);
}

static void
begin_merged_term(MergeTarget *target, const uint8 *key, uint32 len)
{
	if (target->run != NULL)
	{
		put_varint(target->run, len);
		put(target->run, key, len);
		target->run->run.nterms++;
	}
	else
		snii_inv_pump_term(&target->pump, key[0], key[1], key + 2, len - 2);
}

static void
end_merged_term(MergeTarget *target)
{
	if (target->run != NULL)
		put_varint(target->run, 0);
	else
		snii_inv_pump_end_term(&target->pump);
}

/* Merge all terms of the runs of a tournament into the target. */
static void
merge_runs(Tournament *t, MergeTarget *target, SniiInvProgress *progress)
{
	uint8		key[SNII_INV_KEY_MAX];
	RunReader  *rr;

	while ((rr = winner(t)) != NULL)
	{
		uint32		len = rr->keylen;

		memcpy(key, rr->key, len);
		begin_merged_term(target, key, len);
		do
		{
			move_fragments(rr, target);
			snii_inv_progress_term(progress);
			replay(t);
			rr = winner(t);
		} while (rr != NULL && rr->keylen == len &&
				 memcmp(rr->key, key, len) == 0);
		end_merged_term(target);
	}
}

/*
 * One pass: merge groups of neighbouring runs into runs of a new file.
 */
static void
merge_pass(SniiInvSpool *spool)
{
	MemoryContext old = MemoryContextSwitchTo(spool->context);
	BufFile    *file = BufFileCreateTemp(false);
	uint64		end = 0;
	int			nruns = 0;

	snii_inv_progress_pass(spool->progress, snii_inv_spool_terms(spool));
	for (int first = 0; first < spool->nruns; first += spool->fan_in)
	{
		int			n = Min(spool->fan_in, spool->nruns - first);
		MergeTarget target;
		Tournament	t;
		Run			run;

		tournament_begin(&t, spool, spool->file, &spool->runs[first], n);
		target.run = run_begin(spool, file, end);
		merge_runs(&t, &target, spool->progress);
		run_seal(target.run, &run);
		tournament_end(&t);
		end += run.length;
		spool->runs[nruns++] = run; /* the inputs before are done with */
	}
	BufFileClose(spool->file);
	spool->file = file;
	spool->nruns = nruns;
	spool->end = end;
	MemoryContextSwitchTo(old);
}

/*
 * Write the terms of all runs, which are used up by this, to a segment whose
 * documents are there already.
 */
void
snii_inv_spool_merge(SniiInvSpool *spool, SniiInvWriter *iw)
{
	MergeTarget target;
	Tournament	t;

	while (spool->nruns > spool->fan_in)
		merge_pass(spool);
	if (spool->nruns == 0)
		return;
	snii_inv_progress_pass(spool->progress, snii_inv_spool_terms(spool));
	target.run = NULL;
	snii_inv_pump_init(&target.pump, iw);
	tournament_begin(&t, spool, spool->file, spool->runs, spool->nruns);
	merge_runs(&t, &target, spool->progress);
	tournament_end(&t);
	spool->nruns = 0;
}
