/*-------------------------------------------------------------------------
 *
 * mem_limiter.c
 *	  Shared count of the memory of index builds, and whom to ask for some.
 *
 * A spill frees the arena of a writer (postings, the terms that they belong
 * to, and blocks that wait for more of them) and nothing else, so victims are
 * ranked by arena, not by what they use in all; and an arena below the floor
 * is never asked for, since its run would be tiny and its writer would soon be
 * asked again.  The flags that are pending count as covered, so that pressure
 * which lasts does not flag everybody.
 *
 * Two signals tell of pressure: the sum against the limit of all builds, and
 * the machine's memory.  They overlap, so the larger deficit counts and not
 * their sum.  The second is looked at once a second; what is kept is not the
 * deficit but the sum at which there would be none, so that what was freed
 * since then counts.
 *
 * Everything is best effort: a deficit that the arenas above the floor do not
 * cover flags them all and is reported.  A request is honoured by the writer
 * itself, at its next document; this process never waits for it.
 *
 * No lock is held.  The count is one atomic variable.  A slot is written by
 * its owner, but for the flag.  Flags are chosen by one process at a time, and
 * another one that comes meanwhile leaves it at that: the next block of any
 * arena decides again.  Choosing reads all slots and allocates nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "memory/mem_limiter.h"

#include "port/atomics.h"

#define LOG_SECONDS		10

/* A cache line, or two; pid 0 is a free slot. */
typedef struct LimiterSlot
{
	pg_atomic_uint32 pid;
	pg_atomic_uint32 flag;
	Oid			database;
	Oid			index;
	pg_atomic_uint64 published;
	pg_atomic_uint64 used;
	pg_atomic_uint64 arena;
	pg_atomic_uint64 spills;
	pg_atomic_uint64 forced;
	char		padding[PG_CACHE_LINE_SIZE - 7 * sizeof(uint64)];
} LimiterSlot;

StaticAssertDecl(sizeof(LimiterSlot) == PG_CACHE_LINE_SIZE,
				 "slots share no cache line");

struct SniiMemLimiter
{
	int			nslots;
	pg_atomic_flag choosing;
	pg_atomic_uint64 last_log;	/* seconds */
	pg_atomic_uint64 last_look; /* at the machine's memory, seconds */
	pg_atomic_uint64 system_limit;
	pg_atomic_uint64 shared_writes;
	pg_atomic_uint64 flags;
	pg_atomic_uint64 shortfalls;
	char		padding[PG_CACHE_LINE_SIZE];
	pg_atomic_uint64 published;
	char		padding2[PG_CACHE_LINE_SIZE];
	LimiterSlot slots[FLEXIBLE_ARRAY_MEMBER];
};

Size
snii_mem_limiter_size(int nslots)
{
	return offsetof(SniiMemLimiter, slots) + nslots * sizeof(LimiterSlot);
}

void
snii_mem_limiter_init(SniiMemLimiter *l, int nslots)
{
	memset(l, 0, offsetof(SniiMemLimiter, slots));
	l->nslots = nslots;
	pg_atomic_init_flag(&l->choosing);
	pg_atomic_init_u64(&l->last_log, 0);
	pg_atomic_init_u64(&l->last_look, 0);
	pg_atomic_init_u64(&l->system_limit, PG_UINT64_MAX);
	pg_atomic_init_u64(&l->shared_writes, 0);
	pg_atomic_init_u64(&l->flags, 0);
	pg_atomic_init_u64(&l->shortfalls, 0);
	pg_atomic_init_u64(&l->published, 0);
	for (int i = 0; i < nslots; i++)
	{
		LimiterSlot *s = &l->slots[i];

		memset(s, 0, sizeof(*s));
		pg_atomic_init_u32(&s->pid, 0);
		pg_atomic_init_u32(&s->flag, 0);
		pg_atomic_init_u64(&s->published, 0);
		pg_atomic_init_u64(&s->used, 0);
		pg_atomic_init_u64(&s->arena, 0);
		pg_atomic_init_u64(&s->spills, 0);
		pg_atomic_init_u64(&s->forced, 0);
	}
}

int
snii_mem_limiter_register(SniiMemLimiter *l, int pid, Oid database, Oid index)
{
	for (int i = 0; i < l->nslots; i++)
	{
		LimiterSlot *s = &l->slots[i];
		uint32		nobody = 0;

		if (pg_atomic_read_u32(&s->pid) != 0 ||
			!pg_atomic_compare_exchange_u32(&s->pid, &nobody, (uint32) pid))
			continue;
		s->database = database;
		s->index = index;
		return i;
	}
	return -1;
}

void
snii_mem_limiter_unregister(SniiMemLimiter *l, int slot)
{
	LimiterSlot *s = &l->slots[slot];

	Assert(slot >= 0 && slot < l->nslots);
	pg_atomic_write_u64(&s->published, 0);
	pg_atomic_write_u64(&s->used, 0);
	pg_atomic_write_u64(&s->arena, 0);
	pg_atomic_write_u64(&s->spills, 0);
	pg_atomic_write_u64(&s->forced, 0);
	pg_atomic_write_u32(&s->flag, 0);
	pg_write_barrier();
	pg_atomic_write_u32(&s->pid, 0);
}

void
snii_mem_limiter_publish(SniiMemLimiter *l, int slot, int64 delta, Size used)
{
	pg_atomic_fetch_add_u64(&l->published, delta);
	if (slot >= 0)
	{
		pg_atomic_uint64 *p = &l->slots[slot].published;

		pg_atomic_write_u64(p, pg_atomic_read_u64(p) + delta);
		pg_atomic_write_u64(&l->slots[slot].used, used);
	}
}

/* ---------------- victims ---------------- */

/* The largest arena of at least floor bytes that is not flagged; -1: none. */
static int
largest(SniiMemLimiter *l, Size floor, uint64 *arena)
{
	int			best = -1;

	*arena = 0;
	for (int i = 0; i < l->nslots; i++)
	{
		LimiterSlot *s = &l->slots[i];
		uint64		a = pg_atomic_read_u64(&s->arena);

		if (a < floor || a <= *arena || pg_atomic_read_u32(&s->flag) != 0)
			continue;
		best = i;
		*arena = a;
	}
	return best;
}

uint64
snii_mem_limiter_choose(SniiMemLimiter *l, uint64 deficit, Size floor)
{
	uint64		covered = 0;

	for (int i = 0; i < l->nslots; i++)
	{
		if (pg_atomic_read_u32(&l->slots[i].flag) != 0)
			covered += pg_atomic_read_u64(&l->slots[i].arena);
	}
	while (covered < deficit)
	{
		uint64		arena;
		int			victim = largest(l, floor, &arena);

		if (victim < 0)
			return deficit - covered;
		pg_atomic_write_u32(&l->slots[victim].flag, 1);
		pg_atomic_fetch_add_u64(&l->flags, 1);
		covered += arena;
	}
	return 0;
}

uint64
snii_mem_limiter_arena(SniiMemLimiter *l, int slot, Size arena, Size used,
					   uint64 limit, Size floor)
{
	uint64		published;
	uint64		missing;

	if (slot >= 0)
	{
		pg_atomic_write_u64(&l->slots[slot].arena, arena);
		pg_atomic_write_u64(&l->slots[slot].used, used);
	}
	published = pg_atomic_read_u64(&l->published);
	if (published <= limit ||
		!pg_atomic_test_set_flag(&l->choosing))
		return 0;
	missing = snii_mem_limiter_choose(l, published - limit, floor);
	pg_atomic_clear_flag(&l->choosing);
	if (missing > 0)
		pg_atomic_fetch_add_u64(&l->shortfalls, 1);
	return missing;
}

/* ---------------- the machine's memory ---------------- */

bool
snii_mem_limiter_system_due(SniiMemLimiter *l, uint64 now_seconds)
{
	uint64		last = pg_atomic_read_u64(&l->last_look);

	/* a clock that was set back is a new second, too */
	return now_seconds != last &&
		pg_atomic_compare_exchange_u64(&l->last_look, &last, now_seconds);
}

void
snii_mem_limiter_system(SniiMemLimiter *l, uint64 missing)
{
	uint64		published = pg_atomic_read_u64(&l->published);

	pg_atomic_write_u64(&l->system_limit, missing == 0 ? PG_UINT64_MAX :
						published - Min(published, missing));
}

uint64
snii_mem_limiter_system_limit(SniiMemLimiter *l)
{
	return pg_atomic_read_u64(&l->system_limit);
}

bool
snii_mem_limiter_flagged(SniiMemLimiter *l, int slot)
{
	return slot >= 0 && pg_atomic_read_u32(&l->slots[slot].flag) != 0;
}

void
snii_mem_limiter_yielded(SniiMemLimiter *l, int slot)
{
	if (slot < 0)
		return;
	/* whoever chooses now does not see the old arena without a flag */
	pg_write_barrier();
	pg_atomic_write_u32(&l->slots[slot].flag, 0);
}

void
snii_mem_limiter_spilled(SniiMemLimiter *l, int slot, bool forced)
{
	LimiterSlot *s;

	if (slot < 0)
		return;
	s = &l->slots[slot];
	pg_atomic_write_u64(&s->spills, pg_atomic_read_u64(&s->spills) + 1);
	if (forced)
		pg_atomic_write_u64(&s->forced, pg_atomic_read_u64(&s->forced) + 1);
	snii_mem_limiter_yielded(l, slot);
}

/* ---------------- for views ---------------- */

void
snii_mem_limiter_count(SniiMemLimiter *l, uint64 shared_writes)
{
	pg_atomic_fetch_add_u64(&l->shared_writes, shared_writes);
}

int
snii_mem_limiter_slots(const SniiMemLimiter *l)
{
	return l->nslots;
}

/* False if nobody is in the slot. */
bool
snii_mem_limiter_get(SniiMemLimiter *l, int slot, SniiMemWriter *writer)
{
	LimiterSlot *s = &l->slots[slot];

	writer->pid = (int) pg_atomic_read_u32(&s->pid);
	if (writer->pid == 0)
		return false;
	writer->database = s->database;
	writer->index = s->index;
	writer->published = pg_atomic_read_u64(&s->published);
	writer->used = pg_atomic_read_u64(&s->used);
	writer->arena = pg_atomic_read_u64(&s->arena);
	writer->flagged = pg_atomic_read_u32(&s->flag) != 0;
	writer->spills = pg_atomic_read_u64(&s->spills);
	writer->forced = pg_atomic_read_u64(&s->forced);
	return true;
}

void
snii_mem_limiter_totals(SniiMemLimiter *l, SniiMemTotals *totals)
{
	totals->published = pg_atomic_read_u64(&l->published);
	totals->shared_writes = pg_atomic_read_u64(&l->shared_writes);
	totals->flags = pg_atomic_read_u64(&l->flags);
	totals->shortfalls = pg_atomic_read_u64(&l->shortfalls);
}

bool
snii_mem_limiter_may_log(SniiMemLimiter *l, int64 now_seconds)
{
	uint64		last = pg_atomic_read_u64(&l->last_log);

	if (now_seconds < (int64) last + LOG_SECONDS)
		return false;
	return pg_atomic_compare_exchange_u64(&l->last_log, &last,
										  (uint64) now_seconds);
}
