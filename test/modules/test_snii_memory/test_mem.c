/*-------------------------------------------------------------------------
 *
 * test_mem.c
 *	  Tests of src/memory.
 *
 * Every function raises an error that tells what does not hold.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inverted/inv_spimi.h"
#include "memory/mem_reporter.h"
#include "memory/mem_shared.h"
#include "memory/mem_system.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "port/atomics.h"
#include "storage/s_lock.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_mem_terms_stay_off_limiter);
PG_FUNCTION_INFO_V1(test_mem_pressure_at_growth);
PG_FUNCTION_INFO_V1(test_mem_small_swings);
PG_FUNCTION_INFO_V1(test_mem_step);
PG_FUNCTION_INFO_V1(test_mem_end);
PG_FUNCTION_INFO_V1(test_mem_concurrent);
PG_FUNCTION_INFO_V1(test_mem_victims);
PG_FUNCTION_INFO_V1(test_mem_slots);
PG_FUNCTION_INFO_V1(test_mem_limit_setting);
PG_FUNCTION_INFO_V1(test_mem_kept_blocks);
PG_FUNCTION_INFO_V1(test_mem_view);
PG_FUNCTION_INFO_V1(test_mem_machine);
PG_FUNCTION_INFO_V1(test_mem_machine_files);
PG_FUNCTION_INFO_V1(test_mem_leave);
PG_FUNCTION_INFO_V1(test_mem_left);
PG_FUNCTION_INFO_V1(test_mem_counts);

#define KB		((Size) 1024)
#define MB		(1024 * KB)
#define SLOTS	8

#define CHECK(condition, ...) \
	do { \
		if (!(condition)) \
			ereport(ERROR, \
					(errcode(ERRCODE_INTERNAL_ERROR), \
					 errmsg_internal("%s does not hold at line %d: %s", \
									 #condition, __LINE__, \
									 psprintf(__VA_ARGS__)))); \
	} while (0)

/* ---------------- what the tests share ---------------- */

static SniiMemPlace
new_place(int nslots)
{
	SniiMemPlace place = {palloc(snii_mem_limiter_size(nslots)), NULL};

	snii_mem_limiter_init(place.limiter, nslots);
	return place;
}

static uint64
published(const SniiMemPlace *place)
{
	SniiMemTotals totals;

	snii_mem_limiter_totals(place->limiter, &totals);
	return totals.published;
}

static void
set_limit(uint64 bytes)
{
	snii_mem_assign_build_limit(NULL, &bytes);
}

static SniiMemStats
stats_of(SniiMemReporter *r)
{
	SniiMemStats stats;

	snii_mem_stats(r, &stats);
	return stats;
}

static void
grow(void *arg, Size bytes)
{
	snii_mem_reserve(arg, bytes);
}

static void
shrink(void *arg, Size bytes)
{
	snii_mem_release(arg, bytes);
}

static void
arena(void *arg, Size bytes)
{
	snii_mem_arena(arg, bytes);
}

static SniiSpimi *
new_buffer(SniiMemReporter *r)
{
	SniiMemoryHook hook = {r, grow, shrink, arena};

	return snii_inv_spimi_create(1024 * MB, &hook);
}

/* Add a term that was not there, in a document of its own. */
static void
add_new_term(SniiSpimi *s, uint32 i)
{
	char		term[16];

	snprintf(term, sizeof(term), "%010u", i * 2654435761u);
	snii_inv_spimi_begin_doc(s, i);
	snii_inv_spimi_token(s, 0, 0, term, 10, 1);
}

/* ---------------- the limiter is asked by blocks ---------------- */

/* New terms that keep the arena stay off the limiter. */
Datum
test_mem_terms_stay_off_limiter(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r = snii_mem_reporter_begin(&place, 1, 64 * MB);
	SniiSpimi  *s = new_buffer(r);
	Size		bytes = 0;
	uint64		asked = 0;
	uint64		sorting;

	for (uint32 i = 0; i < 20000; i++)
	{
		add_new_term(s, i);
		if (snii_inv_spimi_arena(s) != bytes)
		{
			bytes = snii_inv_spimi_arena(s);
			asked++;
		}
		CHECK(stats_of(r).limiter_calls == asked,
			  UINT64_FORMAT " calls at term %u, " UINT64_FORMAT " blocks",
			  stats_of(r).limiter_calls, i, asked);
	}
	CHECK(asked > 3 && asked < 20, UINT64_FORMAT " blocks", asked);
	/* exact: what the buffer says, but for the array for sorting */
	sorting = snii_inv_spimi_used(s) - stats_of(r).used;
	CHECK(sorting % 16 == 0 && sorting / 16 > 20000 - 64 &&
		  sorting / 16 <= 20000, UINT64_FORMAT " bytes", sorting);
	snii_inv_spimi_destroy(s);
	CHECK(stats_of(r).used == 0 && stats_of(r).arena == 0,
		  UINT64_FORMAT " bytes left", stats_of(r).used);
	snii_mem_reporter_end(r);
	PG_RETURN_VOID();
}

/* Pressure is decided when the arena next grows, and not before. */
Datum
test_mem_pressure_at_growth(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r;
	SniiMemTotals totals;

	set_limit(8 * MB);
	snii_mem_forced_spill_min_arena_kb = 1024;
	r = snii_mem_reporter_begin(&place, 1, MB);
	snii_mem_reserve(r, 2 * MB);
	snii_mem_arena(r, 2 * MB);
	CHECK(!snii_mem_spill_wanted(r), "below the limit");
	snii_mem_reserve(r, 20 * MB);
	CHECK(published(&place) == 22 * MB, "published");
	CHECK(!snii_mem_spill_wanted(r), "above, but the arena did not grow");
	snii_mem_arena(r, 2 * MB);
	CHECK(!snii_mem_spill_wanted(r), "above, but it is as large as before");
	snii_mem_arena(r, 2 * MB + 32 * KB);
	CHECK(snii_mem_spill_wanted(r), "above, and the arena grew");
	snii_mem_limiter_totals(place.limiter, &totals);
	CHECK(totals.flags == 1 && totals.shortfalls == 1,
		  UINT64_FORMAT " flags, " UINT64_FORMAT " shortfalls", totals.flags,
		  totals.shortfalls);
	/* a flag is not honoured below the floor, and stays */
	snii_mem_forced_spill_min_arena_kb = 4096;
	CHECK(!snii_mem_spill_wanted(r), "a higher floor");
	snii_mem_forced_spill_min_arena_kb = 1024;
	CHECK(snii_mem_spill_wanted(r), "still asked");
	/* it spills, and is not asked again while it is small */
	snii_mem_arena(r, 0);
	snii_mem_spilled(r, true);
	CHECK(!snii_mem_spill_wanted(r) && stats_of(r).forced == 1, "spilled");
	snii_mem_arena(r, MB - 32 * KB);
	CHECK(!snii_mem_spill_wanted(r), "below the floor");
	snii_mem_arena(r, MB);
	CHECK(snii_mem_spill_wanted(r), "at the floor");
	snii_mem_release(r, 22 * MB);
	snii_mem_reporter_end(r);

	/* the limit has room for four writers */
	r = snii_mem_reporter_begin(&place, 1, 10 * MB);
	snii_mem_reserve(r, 40 * MB);
	snii_mem_arena(r, 4 * MB);
	CHECK(!snii_mem_spill_wanted(r), "four times the budget");
	snii_mem_reserve(r, MB);
	snii_mem_arena(r, 5 * MB);
	CHECK(snii_mem_spill_wanted(r), "more than that");
	snii_mem_release(r, 41 * MB);
	snii_mem_reporter_end(r);
	set_limit(0);
	PG_RETURN_VOID();
}

/*
 * Blocks that are kept for the next run can be asked for like those in use,
 * are given back without a run of their own, and filling them again asks
 * nobody.
 */
Datum
test_mem_kept_blocks(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r;
	SniiSpimi  *s;
	SniiMemWriter w;
	uint64		calls;
	Size		full;

	set_limit(PG_UINT64_MAX);
	snii_mem_forced_spill_min_arena_kb = 1024;
	r = snii_mem_reporter_begin(&place, 1, MB);
	s = new_buffer(r);
	for (uint32 i = 0; i < 200000; i++)
		add_new_term(s, i);
	snii_inv_spimi_drain(s);
	full = stats_of(r).arena;
	/* blocks of terms alone are said with the next one of postings */
	CHECK(full <= snii_inv_spimi_spillable(s) &&
		  full + 256 * KB >= snii_inv_spimi_spillable(s) && full > 4 * MB,
		  "%zu bytes", full);
	full = snii_inv_spimi_spillable(s);
	snii_inv_spimi_reset(s, true);
	snii_mem_spilled(r, false);
	CHECK(snii_inv_spimi_spillable(s) <= 32 * KB, "nothing to spill");
	CHECK(stats_of(r).arena >= full - 64 * KB && stats_of(r).arena <= full,
		  UINT64_FORMAT " of %zu kept", stats_of(r).arena, full);
	CHECK(snii_mem_limiter_get(place.limiter, 0, &w) &&
		  w.arena == stats_of(r).arena, "others see it");
	calls = stats_of(r).limiter_calls;
	for (uint32 i = 0; i < 100000; i++)
		add_new_term(s, i);
	snii_inv_spimi_drain(s);
	CHECK(stats_of(r).limiter_calls == calls,
		  "filled anew, " UINT64_FORMAT " calls", stats_of(r).limiter_calls - calls);
	/* asked for: what is kept goes, what is in use stays */
	CHECK(snii_mem_limiter_choose(place.limiter, 1, MB) == 0 &&
		  snii_mem_spill_wanted(r), "a victim");
	full = stats_of(r).used;
	snii_inv_spimi_trim(s);
	CHECK(stats_of(r).arena == snii_inv_spimi_spillable(s) &&
		  stats_of(r).used < full - 2 * MB, UINT64_FORMAT " of %zu left",
		  stats_of(r).used, full);
	CHECK(snii_mem_spill_wanted(r), "enough for a run is left");
	snii_mem_yielded(r);
	CHECK(!snii_mem_spill_wanted(r) && stats_of(r).spills == 1 &&
		  stats_of(r).forced == 0, "it yielded and did not spill");
	snii_inv_spimi_destroy(s);
	snii_mem_reporter_end(r);
	set_limit(0);
	PG_RETURN_VOID();
}

/* ---------------- the machine's memory ---------------- */

/*
 * Builds are asked to spill if the machine lacks memory, and what they gave
 * back since it was looked at counts.
 */
Datum
test_mem_machine(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemLimiter *l = place.limiter;
	int			slot = snii_mem_limiter_register(l, 1, 0, 0);

	CHECK(snii_mem_limiter_system_limit(l) == PG_UINT64_MAX, "at first");
	CHECK(snii_mem_limiter_system_due(l, 7) &&
		  !snii_mem_limiter_system_due(l, 7) &&
		  snii_mem_limiter_system_due(l, 8) &&
		  snii_mem_limiter_system_due(l, 6), "once a second");
	snii_mem_limiter_publish(l, slot, 10 * MB, 10 * MB);
	snii_mem_limiter_system(l, 4 * MB);
	CHECK(snii_mem_limiter_system_limit(l) == 6 * MB, "six are left");
	CHECK(snii_mem_limiter_arena(l, slot, 3 * MB, 10 * MB, 6 * MB, MB) == MB,
		  "three can be spilled");
	CHECK(snii_mem_limiter_flagged(l, slot), "a victim");
	snii_mem_limiter_publish(l, slot, -4 * (int64) MB, 6 * MB);
	snii_mem_limiter_arena(l, slot, 0, 6 * MB, PG_UINT64_MAX, MB);
	snii_mem_limiter_spilled(l, slot, true);
	CHECK(snii_mem_limiter_arena(l, slot, 2 * MB, 6 * MB,
								 snii_mem_limiter_system_limit(l), MB) == 0 &&
		  !snii_mem_limiter_flagged(l, slot), "what it gave back counts");
	snii_mem_limiter_system(l, 100 * MB);
	CHECK(snii_mem_limiter_system_limit(l) == 0, "all of it");
	snii_mem_limiter_system(l, 0);
	CHECK(snii_mem_limiter_system_limit(l) == PG_UINT64_MAX, "enough");
	PG_RETURN_VOID();
}

/* A file of a made-up /proc or /sys in the folder. */
static void
put_file(const char *root, const char *path, const char *text)
{
	char	   *full = psprintf("%s%s", root, path);
	char	   *end = pstrdup(full);
	FILE	   *f;

	*strrchr(end, '/') = '\0';
	CHECK(pg_mkdir_p(end, 0700) == 0, "%s: %m", end);
	f = fopen(full, "w");
	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s: %m", full);
}

/* Total and rest as the kernel's files have them, for one folder. */
Datum
test_mem_machine_files(PG_FUNCTION_ARGS)
{
	const char *root = "test_mem_machine";
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r;

	CHECK(snii_mem_system_total() > 64 * MB &&
		  snii_mem_system_total() != SNII_MEM_UNKNOWN, "this machine");
	snii_mem_system_root = root;
	CHECK(access(root, F_OK) != 0 || rmtree(root, true), "cannot remove it");
	CHECK(snii_mem_system_available() == SNII_MEM_UNKNOWN, "no file");
	CHECK(snii_mem_system_total() != SNII_MEM_UNKNOWN, "by sysconf()");
	put_file(root, "/proc/meminfo", "MemTotal:        1000 kB\n"
			 "MemFree: 1 kB\nMemAvailable:   600 kB\n");
	CHECK(snii_mem_system_total() == 1000 * KB &&
		  snii_mem_system_available() == 600 * KB, "the machine");
	/* version 2: the group, those around it, and pages of files */
	put_file(root, "/proc/self/cgroup", "0::/a/b\n");
	CHECK(snii_mem_system_total() == 1000 * KB, "a group without files");
	put_file(root, "/sys/fs/cgroup/a/b/memory.max", "max\n");
	put_file(root, "/sys/fs/cgroup/a/b/memory.current", "5000\n");
	CHECK(snii_mem_system_total() == 1000 * KB &&
		  snii_mem_system_available() == 600 * KB, "a group without a limit");
	put_file(root, "/sys/fs/cgroup/a/memory.max", "512000\n");
	put_file(root, "/sys/fs/cgroup/a/memory.current", "412000\n");
	CHECK(snii_mem_system_total() == 500 * KB &&
		  snii_mem_system_available() == 100000, "the group around it");
	put_file(root, "/sys/fs/cgroup/a/memory.stat",
			 "anon 3\nfile 4\ninactive_file 112000\nactive_file 9\n");
	CHECK(snii_mem_system_available() == 212000, "pages of files");
	put_file(root, "/sys/fs/cgroup/a/memory.current", "900000\n");
	CHECK(snii_mem_system_available() == 0, "above the limit");
	/* version 1, beside it */
	put_file(root, "/proc/self/cgroup",
			 "3:cpu:/x\n2:freezer,memory:/m\n1:notmemory:/a\n0::/\n");
	CHECK(snii_mem_system_total() == 1000 * KB, "other groups");
	put_file(root, "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "300000\n");
	put_file(root, "/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "250000\n");
	put_file(root, "/sys/fs/cgroup/memory/m/memory.stat",
			 "inactive_file 7\ntotal_inactive_file 1000\n");
	CHECK(snii_mem_system_total() == 300000 &&
		  snii_mem_system_available() == 51000, "version 1");
	/* nonsense tells nothing */
	put_file(root, "/sys/fs/cgroup/memory/m/memory.limit_in_bytes",
			 "99999999999999999999999\n");
	put_file(root, "/proc/meminfo", "MemTotal:\nMemAvailable 18446744073709551615 kB");
	CHECK(snii_mem_system_available() == SNII_MEM_UNKNOWN, "nonsense");

	/* a writer looks there, and is asked to spill */
	put_file(root, "/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 3072 kB\n");
	set_limit(0);
	snii_mem_assign_min_available(NULL, (uint64[])
								  {
		4		   *MB
	});
	snii_mem_forced_spill_min_arena_kb = 1024;
	r = snii_mem_reporter_begin(&place, 1, MB);
	snii_mem_reserve(r, 2 * MB);
	snii_mem_arena(r, 2 * MB);
	CHECK(snii_mem_spill_wanted(r), "the machine lacks a megabyte");
	snii_mem_release(r, 2 * MB);
	snii_mem_reporter_end(r);
	snii_mem_assign_min_available(NULL, (uint64[])
								  {
		0
	});
	snii_mem_system_root = "";
	CHECK(rmtree(root, true), "cannot remove %s", root);
	PG_RETURN_VOID();
}

/* ---------------- shared counters move by steps ---------------- */

/* What others see of a writer is consistent at every step. */
Datum
test_mem_view(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(1);
	SniiMemReporter *r = snii_mem_reporter_begin(&place, 1, MB);
	SniiMemWriter w;

	snii_mem_reserve(r, MB + 5);
	CHECK(snii_mem_limiter_get(place.limiter, 0, &w) &&
		  w.used == w.published && w.used == MB + 5, "at the step");
	snii_mem_reserve(r, 1000);
	snii_mem_arena(r, 32 * KB);
	CHECK(snii_mem_limiter_get(place.limiter, 0, &w) &&
		  w.used - w.published == 1000 && w.arena == 32 * KB, "at a block");
	snii_mem_release(r, MB + 1005);
	CHECK(snii_mem_limiter_get(place.limiter, 0, &w) && w.used == 0 &&
		  w.published == 0, "given back");
	snii_mem_arena(r, 0);
	snii_mem_reporter_end(r);
	PG_RETURN_VOID();
}

/* Swings below the step stay off the shared counters. */
Datum
test_mem_small_swings(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r = snii_mem_reporter_begin(&place, 1, MB);

	snii_mem_step_kb = 1024;
	for (int i = 0; i < 1000; i++)
	{
		snii_mem_reserve(r, MB - 1);
		CHECK(stats_of(r).used == MB - 1, "exact here");
		snii_mem_release(r, MB - 1);
	}
	CHECK(stats_of(r).shared_writes == 0 && published(&place) == 0,
		  UINT64_FORMAT " writes", stats_of(r).shared_writes);
	CHECK(stats_of(r).calls == 2000, "counted");
	/* the same around a level that was published */
	snii_mem_reserve(r, 10 * MB);
	for (int i = 0; i < 1000; i++)
	{
		snii_mem_release(r, MB - 1);
		snii_mem_reserve(r, MB - 1);
	}
	CHECK(stats_of(r).shared_writes == 1 && published(&place) == 10 * MB,
		  UINT64_FORMAT " writes", stats_of(r).shared_writes);
	snii_mem_release(r, 10 * MB);
	snii_mem_reporter_end(r);
	PG_RETURN_VOID();
}

/* Held-back bytes are published together at the step. */
Datum
test_mem_step(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r = snii_mem_reporter_begin(&place, 1, MB);
	SniiMemWriter w;

	snii_mem_reserve(r, MB - 1);
	CHECK(published(&place) == 0, "below");
	snii_mem_reserve(r, 1);
	CHECK(published(&place) == MB && stats_of(r).shared_writes == 1, "at it");
	snii_mem_reserve(r, MB - 1);
	snii_mem_reserve(r, 5000);
	CHECK(published(&place) == 2 * MB + 4999 &&
		  stats_of(r).shared_writes == 2, "all of it");
	CHECK(snii_mem_limiter_get(place.limiter, 0, &w) &&
		  w.published == 2 * MB + 4999, "in its slot, too");
	/* downwards */
	snii_mem_release(r, MB - 1);
	CHECK(published(&place) == 2 * MB + 4999, "below");
	snii_mem_release(r, 1);
	CHECK(published(&place) == MB + 4999 &&
		  stats_of(r).shared_writes == 3, "at it");
	CHECK(stats_of(r).used == MB + 4999 && stats_of(r).peak == 2 * MB + 4999,
		  "exact here");
	snii_mem_release(r, MB + 4999);
	snii_mem_reporter_end(r);
	PG_RETURN_VOID();
}

/*
 * The last partial step is published at the end: by itself, and when the
 * memory context goes away in the middle.
 */
Datum
test_mem_end(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r = snii_mem_reporter_begin(&place, 1, MB);
	SniiMemWriter w;
	MemoryContext context;
	MemoryContext old;

	snii_mem_reserve(r, MB + 1000);
	snii_mem_release(r, MB);
	snii_mem_release(r, 1000);
	CHECK(published(&place) == 1000, "the last part is below the step");
	snii_mem_reporter_end(r);
	CHECK(published(&place) == 0, UINT64_FORMAT " bytes left",
		  published(&place));
	CHECK(!snii_mem_limiter_get(place.limiter, 0, &w), "left the registry");
	snii_mem_reporter_end(r);
	snii_mem_reserve(r, 5 * MB);
	CHECK(published(&place) == 0, "ended is ended");

	context = AllocSetContextCreate(CurrentMemoryContext, "test",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	r = snii_mem_reporter_begin(&place, 1, MB);
	MemoryContextSwitchTo(old);
	snii_mem_reserve(r, 3 * MB);
	snii_mem_reserve(r, 100);
	CHECK(published(&place) == 3 * MB, "two steps and a part");
	CHECK(snii_mem_reporter_next(NULL) == r, "open");
	MemoryContextDelete(context);
	CHECK(published(&place) == 0, UINT64_FORMAT " bytes left",
		  published(&place));
	CHECK(!snii_mem_limiter_get(place.limiter, 0, &w), "left the registry");
	CHECK(snii_mem_reporter_next(NULL) == NULL, "closed");
	PG_RETURN_VOID();
}

/* ---------------- several processes ---------------- */

#define CHILDREN	4
#define ROUNDS		1000000
#define PLACES		200000

/* A child process, no PostgreSQL but atomics; its exit status. */
static int
child(SniiMemLimiter *l, int i)
{
	int			slot;

	/* Slots are taken by one at a time. */
	for (int round = 0; round < PLACES; round++)
	{
		SniiMemWriter w;

		slot = snii_mem_limiter_register(l, 1000 + i, 0, 0);
		if (slot < 0)
			return 1;
		if (!snii_mem_limiter_get(l, slot, &w) || w.pid != 1000 + i)
			return 2;
		snii_mem_limiter_unregister(l, slot);
	}
	slot = snii_mem_limiter_register(l, 1000 + i, 0, 0);
	if (slot < 0)
		return 1;
	for (int round = 0; round < ROUNDS; round++)
	{
		snii_mem_limiter_publish(l, slot, 1000 + i, 1000 + i);
		if (round % 16 == 0)
			snii_mem_limiter_arena(l, slot, 64 * 1024 + round % 7, 0,
								   0, 64 * 1024);
		if (round % 64 == 0)
			snii_mem_limiter_spilled(l, slot, true);
		snii_mem_limiter_publish(l, slot, -(1000 + i) + 1, 1);
	}
	return 0;
}

/*
 * Wait, spinning, until all have been started; spread over the processors,
 * since short processes of one parent are kept on one of them if all are busy.
 */
static void
pass_gate(pg_atomic_uint32 *gate, int i)
{
#ifdef __linux__
	cpu_set_t	all;
	cpu_set_t	mine;
	int			n = 0;

	CPU_ZERO(&mine);
	if (sched_getaffinity(0, sizeof(all), &all) == 0)
	{
		i %= CPU_COUNT(&all);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		{
			if (CPU_ISSET(cpu, &all) && n++ == i)
				CPU_SET(cpu, &mine);
		}
		(void) sched_setaffinity(0, sizeof(mine), &mine);
	}
#endif
	pg_atomic_fetch_add_u32(gate, 1);
	while (pg_atomic_read_u32(gate) < CHILDREN)
		SPIN_DELAY();
}

static void
run_children(void)
{
	Size		size = snii_mem_limiter_size(SLOTS) + 64;
	char	   *shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pg_atomic_uint32 *gate = (pg_atomic_uint32 *) shared;
	SniiMemLimiter *l = (SniiMemLimiter *) (shared + 64);
	SniiMemTotals totals;
	uint64		in_slots = 0;
	int			failed = 0;
	pid_t		pids[CHILDREN];

	CHECK((void *) shared != MAP_FAILED, "no memory");
	pg_atomic_init_u32(gate, 0);
	snii_mem_limiter_init(l, SLOTS);
	for (int i = 0; i < CHILDREN; i++)
	{
		pids[i] = fork();
		if (pids[i] == 0)
		{
			pass_gate(gate, i);
			_exit(child(l, i));
		}
	}
	for (int i = 0; i < CHILDREN; i++)
	{
		int			status = 0;

		failed += pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] ||
			status != 0;
	}
	CHECK(failed == 0, "%d children failed", failed);
	snii_mem_limiter_totals(l, &totals);
	CHECK(totals.published == (uint64) CHILDREN * ROUNDS,
		  UINT64_FORMAT " bytes", totals.published);
	for (int i = 0; i < SLOTS; i++)
	{
		SniiMemWriter w;

		if (snii_mem_limiter_get(l, i, &w))
			in_slots += w.published;
	}
	CHECK(in_slots == totals.published, UINT64_FORMAT " in slots", in_slots);
	CHECK(totals.flags > 0, "somebody was asked");
	munmap(shared, size);
}

/*
 * Concurrent changes lose nothing.  On a busy machine the children may run one
 * after the other, hence several times.
 */
Datum
test_mem_concurrent(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < 8; i++)
		run_children();
	PG_RETURN_VOID();
}

/* ---------------- victims ---------------- */

static bool
flagged(SniiMemLimiter *l, int slot)
{
	return snii_mem_limiter_flagged(l, slot);
}

/* Writers with these arenas, in kB, in the slots from 0 on. */
static SniiMemLimiter *
with_arenas(const int *kb, int n)
{
	SniiMemPlace place = new_place(SLOTS);

	for (int i = 0; i < n; i++)
	{
		CHECK(snii_mem_limiter_register(place.limiter, i + 1, 0, 0) == i,
			  "slot %d", i);
		snii_mem_limiter_arena(place.limiter, i, kb[i] * KB, kb[i] * KB,
							   PG_UINT64_MAX, 0);
	}
	return place.limiter;
}

Datum
test_mem_victims(PG_FUNCTION_ARGS)
{
	const int	kb[] = {50, 100, 10, 70, 39, 40};
	SniiMemLimiter *l = with_arenas(kb, lengthof(kb));

	/* largest first, as many as it takes */
	CHECK(snii_mem_limiter_choose(l, 100 * KB, 40 * KB) == 0, "one");
	CHECK(flagged(l, 1) && !flagged(l, 3) && !flagged(l, 0), "the largest");
	/* pending flags count */
	CHECK(snii_mem_limiter_choose(l, 90 * KB, 40 * KB) == 0, "none");
	CHECK(!flagged(l, 3), "covered already");
	CHECK(snii_mem_limiter_choose(l, 100 * KB + 1, 40 * KB) == 0, "next");
	CHECK(flagged(l, 3) && !flagged(l, 0), "the next one");
	/* nobody below the floor, all the others, and what is missing */
	CHECK(snii_mem_limiter_choose(l, 300 * KB, 40 * KB) == 40 * KB, "best effort");
	CHECK(flagged(l, 0) && flagged(l, 5), "all above the floor");
	CHECK(!flagged(l, 2) && !flagged(l, 4), "none below");
	/* a spill takes arena and flag back */
	snii_mem_limiter_arena(l, 1, 0, 0, PG_UINT64_MAX, 0);
	snii_mem_limiter_spilled(l, 1, true);
	CHECK(!flagged(l, 1), "honoured");
	CHECK(snii_mem_limiter_choose(l, 170 * KB, 40 * KB) == 10 * KB, "less");
	/* no deficit, no victims */
	l = with_arenas(kb, lengthof(kb));
	CHECK(snii_mem_limiter_choose(l, 0, 40 * KB) == 0, "nothing");
	for (int i = 0; i < SLOTS; i++)
		CHECK(!flagged(l, i), "slot %d", i);
	PG_RETURN_VOID();
}

Datum
test_mem_slots(PG_FUNCTION_ARGS)
{
	SniiMemPlace place = new_place(2);
	SniiMemReporter *r[3];

	for (int i = 0; i < 3; i++)
	{
		r[i] = snii_mem_reporter_begin(&place, i, MB);
		snii_mem_reserve(r[i], 2 * MB);
		snii_mem_arena(r[i], 2 * MB);
	}
	/* the third has no slot, is counted and never asked */
	CHECK(published(&place) == 6 * MB, "counted");
	CHECK(snii_mem_limiter_choose(place.limiter, 100 * MB, 1) == 96 * MB,
		  "two are known");
	CHECK(snii_mem_spill_wanted(r[0]) && snii_mem_spill_wanted(r[1]) &&
		  !snii_mem_spill_wanted(r[2]), "asked");
	for (int i = 0; i < 3; i++)
	{
		snii_mem_release(r[i], 2 * MB);
		snii_mem_reporter_end(r[i]);
	}
	CHECK(published(&place) == 0, "all gone");
	/* a flag does not stay for the next one in the slot */
	r[0] = snii_mem_reporter_begin(&place, 0, MB);
	CHECK(!snii_mem_limiter_flagged(place.limiter, 0), "fresh");
	snii_mem_reporter_end(r[0]);
	PG_RETURN_VOID();
}

/* ---------------- the setting ---------------- */

static uint64
parsed(const char *text)
{
	char	   *value = pstrdup(text);
	void	   *extra = NULL;
	uint64		bytes;

	if (!snii_mem_check_amount(&value, &extra, PGC_S_TEST))
		return PG_UINT64_MAX;
	snii_mem_assign_build_limit(value, extra);
	bytes = snii_mem_build_limit(0);
	set_limit(0);
	return bytes;
}

Datum
test_mem_limit_setting(PG_FUNCTION_ARGS)
{
	uint64		all = parsed("100%");
	uint64		quarter = parsed(" 25 %");

	CHECK(all > 256 * MB, UINT64_FORMAT " bytes", all);
	CHECK(quarter > all / 4 - 8 && quarter < all / 4 + 8,
		  UINT64_FORMAT " bytes", quarter);
	CHECK(parsed("0") == 0 && parsed("0%") == 0, "none");
	CHECK(parsed("100MB") == 100 * MB && parsed("64") == 64 * KB, "amounts");
	CHECK(parsed("1 TB") == MB * MB, "large");
	CHECK(parsed("-1") == PG_UINT64_MAX && parsed("101%") == PG_UINT64_MAX &&
		  parsed("nan%") == PG_UINT64_MAX && parsed("5 %x") == PG_UINT64_MAX &&
		  parsed("") == PG_UINT64_MAX && parsed("%") == PG_UINT64_MAX,
		  "refused");
	PG_RETURN_VOID();
}

/* ---------------- transactions ---------------- */

static SniiMemPlace session_place = {NULL, NULL};

static void
ensure_session_place(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	if (session_place.limiter == NULL)
		session_place = new_place(SLOTS);
	MemoryContextSwitchTo(old);
}

Datum
test_mem_leave(PG_FUNCTION_ARGS)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	SniiMemReporter *r;

	ensure_session_place();
	r = snii_mem_reporter_begin(&session_place, 1, MB);
	MemoryContextSwitchTo(old);
	snii_mem_reserve(r, PG_GETARG_INT64(0));
	PG_RETURN_VOID();
}

Datum
test_mem_left(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {0};
	int			writers = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	ensure_session_place();
	for (int i = 0; i < SLOTS; i++)
	{
		SniiMemWriter w;

		writers += snii_mem_limiter_get(session_place.limiter, i, &w);
	}
	values[0] = Int64GetDatum(published(&session_place));
	values[1] = Int32GetDatum(writers);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* ---------------- work ---------------- */

Datum
test_mem_counts(PG_FUNCTION_ARGS)
{
	int			n = PG_GETARG_INT32(0);
	SniiMemPlace place = new_place(SLOTS);
	SniiMemReporter *r = snii_mem_reporter_begin(&place, 1, 64 * MB);
	SniiSpimi  *s;
	SniiMemStats stats;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	snii_mem_step_kb = PG_GETARG_INT32(1);
	s = new_buffer(r);
	for (int i = 0; i < n; i++)
		add_new_term(s, i);
	snii_inv_spimi_destroy(s);
	snii_mem_reporter_end(r);
	snii_mem_step_kb = 1024;
	CHECK(published(&place) == 0, "back to zero");
	snii_mem_stats(r, &stats);
	values[0] = Int64GetDatum(stats.calls);
	values[1] = Int64GetDatum(stats.limiter_calls);
	values[2] = Int64GetDatum(stats.shared_writes);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
