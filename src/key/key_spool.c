/*-------------------------------------------------------------------------
 *
 * key_spool.c
 *	  Sorting entries, in memory as far as it goes and then in files.
 *
 * When the memory is full, what it holds is sorted and written to a temporary
 * file, a run behind the others.  The runs are merged at the end, each read
 * through one block of memory; if there are more of them than there is memory
 * for, groups of them are merged into a new file first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_sort.h"
#include "key/key_spool.h"

#include "storage/buffile.h"
#include "utils/memutils.h"

/* A run of the file: blocks, each behind its length. */
typedef struct Run
{
	uint64		begin;
	uint64		end;
} Run;

struct SniiKeySpool
{
	const SniiKeyDesc *desc;
	MemoryContext context;
	MemoryContext merge_context;	/* of the streams of a merge */
	Size		budget;
	SniiMemReporter *mem;		/* or NULL */
	SniiKeySort *sort;			/* NULL: all is in the file */
	BufFile    *file;			/* NULL: nothing was spilled */
	uint64		file_end;
	int			nruns;
	int			capacity;
	Run		   *runs;
	SniiKeySpoolStats stats;
};

/* Runs that are merged at a time at least, however little memory there is. */
#define MIN_FAN_IN		8

SniiKeySpool *
snii_key_spool_begin(const SniiKeyDesc *desc, Size budget,
					 SniiMemReporter *mem)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii key spool",
												  ALLOCSET_DEFAULT_SIZES);
	SniiKeySpool *spool = MemoryContextAllocZero(context,
												 sizeof(SniiKeySpool));
	MemoryContext old = MemoryContextSwitchTo(context);

	Assert(desc->all_bytes);
	spool->desc = desc;
	spool->context = context;
	spool->merge_context = AllocSetContextCreate(context,
												 "snii key spool merge",
												 ALLOCSET_DEFAULT_SIZES);
	spool->budget = budget;
	spool->mem = mem;
	spool->sort = snii_key_sort_begin(desc, budget, mem);
	MemoryContextSwitchTo(old);
	return spool;
}

/* ----------------------------------------------------------------
 *		Runs
 * ----------------------------------------------------------------
 */

/* Where a run is being written to. */
typedef struct RunTarget
{
	BufFile    *file;
	uint64		end;
} RunTarget;

static void
write_block(void *arg, uint8 *block, uint32 len)
{
	RunTarget  *target = arg;

	BufFileWrite(target->file, &len, sizeof(len));
	BufFileWrite(target->file, block, len);
	target->end += sizeof(len) + len;
}

/* A run being read. */
typedef struct RunSource
{
	BufFile    *file;
	uint64		at;
	uint64		end;
	uint8		block[SNII_KEY_BLOCK_BYTES];
} RunSource;

static void
read_exact(BufFile *file, void *to, size_t n)
{
	if (BufFileRead(file, to, n) != n)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from a temporary file: %m")));
}

static const uint8 *
read_block(void *arg, uint32 *len)
{
	RunSource  *source = arg;

	if (source->at >= source->end)
		return NULL;
	/* Runs that are read by turns share the file's place. */
	if (BufFileSeek(source->file, 0, (off_t) source->at, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in a temporary file: %m")));
	read_exact(source->file, len, sizeof(*len));
	if (*len == 0 || *len > SNII_KEY_BLOCK_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("sorted keys in a temporary file are damaged")));
	read_exact(source->file, source->block, *len);
	source->at += sizeof(*len) + *len;
	return source->block;
}

/* A stream over runs that stand one behind the other. */
static SniiKeyStream *
merge_runs(SniiKeySpool *spool, const Run *runs, int n)
{
	MemoryContext old = MemoryContextSwitchTo(spool->merge_context);
	SniiKeyStream **inputs = palloc(n * sizeof(SniiKeyStream *));
	SniiKeyStream *result;

	for (int i = 0; i < n; i++)
	{
		RunSource  *source = palloc(sizeof(RunSource));

		source->file = spool->file;
		source->at = runs[i].begin;
		source->end = runs[i].end;
		inputs[i] = snii_key_stream_read(read_block, source);
	}
	result = snii_key_stream_merge(spool->desc, inputs, n);
	spool->stats.peak = Max(spool->stats.peak,
							MemoryContextMemAllocated(spool->merge_context,
													  false));
	MemoryContextSwitchTo(old);
	return result;
}

static int
fan_in(const SniiKeySpool *spool)
{
	return (int) Max(spool->budget / (sizeof(RunSource) + SNII_KEY_MAX_ENTRY),
					 MIN_FAN_IN);
}

/* Merge groups of neighbouring runs into runs of a new file. */
static void
merge_pass(SniiKeySpool *spool)
{
	RunTarget	target = {BufFileCreateTemp(false), 0};
	int			n = 0;

	for (int first = 0; first < spool->nruns; first += fan_in(spool))
	{
		uint64		begin = target.end;

		snii_key_stream_write(merge_runs(spool, &spool->runs[first],
										 Min(fan_in(spool),
											 spool->nruns - first)),
							  write_block, &target);
		MemoryContextReset(spool->merge_context);
		spool->runs[n].begin = begin;	/* the inputs are done with */
		spool->runs[n++].end = target.end;
	}
	BufFileClose(spool->file);
	spool->file = target.file;
	spool->stats.spilled += target.end;
	spool->nruns = n;
}

/* ----------------------------------------------------------------
 *		Collecting
 * ----------------------------------------------------------------
 */

/* Sort what is in memory. */
static void
sort_memory(SniiKeySpool *spool)
{
	spool->stats.entries += snii_key_sort_count(spool->sort);
	spool->stats.peak = Max(spool->stats.peak,
							snii_key_sort_memory(spool->sort));
	snii_key_sort_perform(spool->sort);
}

/* Write what is in memory, which is sorted, as a run. */
static void
spill(SniiKeySpool *spool, bool forced)
{
	RunTarget	target = {spool->file, spool->file_end};

	if (spool->nruns == spool->capacity)
	{
		spool->capacity = Max(2 * spool->capacity, 64);
		spool->runs = spool->runs == NULL ?
			palloc(spool->capacity * sizeof(Run)) :
			repalloc(spool->runs, spool->capacity * sizeof(Run));
	}
	if (target.file == NULL)
		target.file = spool->file = BufFileCreateTemp(false);
	snii_key_stream_write(snii_key_sort_stream(spool->sort), write_block,
						  &target);
	spool->runs[spool->nruns].begin = spool->file_end;
	spool->runs[spool->nruns++].end = target.end;
	spool->stats.nruns++;
	spool->stats.spilled += target.end - spool->file_end;
	spool->file_end = target.end;
	snii_key_sort_end(spool->sort);
	spool->sort = NULL;
	spool->stats.nforced += forced;
	snii_mem_arena(spool->mem, 0);
	snii_mem_spilled(spool->mem, forced);
}

/* Write what is in memory as a run, and begin anew. */
static pg_noinline void
spill_and_go_on(SniiKeySpool *spool, bool forced)
{
	MemoryContext old = MemoryContextSwitchTo(spool->context);

	sort_memory(spool);
	spill(spool, forced);
	spool->sort = snii_key_sort_begin(spool->desc, spool->budget, spool->mem);
	MemoryContextSwitchTo(old);
}

void
snii_key_spool_add(SniiKeySpool *spool, const SniiKeyEntry *entry, uint8 tag)
{
	if (unlikely(snii_mem_spill_wanted(spool->mem)))
		spill_and_go_on(spool, true);
	if (likely(snii_key_sort_add(spool->sort, entry, tag)))
	{
		/* changes with a chunk or the array only */
		snii_mem_arena(spool->mem, snii_key_sort_memory(spool->sort));
		return;
	}
	spill_and_go_on(spool, false);
	if (!snii_key_sort_add(spool->sort, entry, tag))
		elog(ERROR, "a key does not fit into memory that is empty");
}

void
snii_key_spool_sort(SniiKeySpool *spool)
{
	MemoryContext old = MemoryContextSwitchTo(spool->context);

	sort_memory(spool);
	/* no spill can be asked for any more */
	snii_mem_arena(spool->mem, 0);
	if (spool->nruns > 0)
	{
		spill(spool, false);
		while (spool->nruns > fan_in(spool))
			merge_pass(spool);
	}
	MemoryContextSwitchTo(old);
}

SniiKeyStream *
snii_key_spool_stream(SniiKeySpool *spool)
{
	if (spool->nruns == 0)
		return snii_key_sort_stream(spool->sort);
	return merge_runs(spool, spool->runs, spool->nruns);
}

void
snii_key_spool_stats(const SniiKeySpool *spool, SniiKeySpoolStats *stats)
{
	*stats = spool->stats;
}

void
snii_key_spool_end(SniiKeySpool *spool)
{
	if (spool->file != NULL)
		BufFileClose(spool->file);
	if (spool->sort != NULL)
		snii_key_sort_end(spool->sort);
	MemoryContextDelete(spool->context);
}
