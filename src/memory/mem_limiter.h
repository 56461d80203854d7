/*-------------------------------------------------------------------------
 *
 * mem_limiter.h
 *	  Shared count of the memory of index builds, and whom to ask for some.
 *
 * The count and a registry of writers live in shared memory: that of the
 * server if the library was preloaded (mem_shared.c), else that of one
 * parallel build.  Nothing here locks, waits or raises an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_MEM_LIMITER_H
#define SNII_MEM_LIMITER_H

typedef struct SniiMemLimiter SniiMemLimiter;

/* A writer as others see it. */
typedef struct SniiMemWriter
{
	int			pid;
	Oid			database;
	Oid			index;
	uint64		published;
	uint64		used;			/* as of the last step or block of the arena */
	uint64		arena;
	bool		flagged;		/* asked to spill */
	uint64		spills;
	uint64		forced;			/* spills that were asked for */
} SniiMemWriter;

/* The server's or the build's memory as a whole. */
typedef struct SniiMemTotals
{
	uint64		published;
	uint64		shared_writes;	/* of the writers that have ended */
	uint64		flags;			/* requests to spill */
	uint64		shortfalls;		/* times that spilling could not do it */
} SniiMemTotals;

extern Size snii_mem_limiter_size(int nslots);
extern void snii_mem_limiter_init(SniiMemLimiter *l, int nslots);

/*
 * Enter a writer of this process; -1 if there is no room, in which case it is
 * counted but never asked to spill.
 */
extern int	snii_mem_limiter_register(SniiMemLimiter *l, int pid,
									  Oid database, Oid index);
extern void snii_mem_limiter_unregister(SniiMemLimiter *l, int slot);

/*
 * Add to what is counted; slot is -1 or that of the writer, which has that
 * much in use.
 */
extern void snii_mem_limiter_publish(SniiMemLimiter *l, int slot, int64 delta,
									 Size used);

/*
 * The arena of a writer grew, or was emptied.  If the sum is above limit
 * (PG_UINT64_MAX: no limit), enough writers are flagged, largest arena first, but none
 * below the floor.  Returns the bytes of the deficit that spilling will not
 * cover, to be logged by the caller.
 */
extern uint64 snii_mem_limiter_arena(SniiMemLimiter *l, int slot, Size arena,
									 Size used, uint64 limit, Size floor);

/*
 * Is it time to look at the machine's memory?  True for one process a second,
 * which then says what is missing (0: enough); until the next one does, builds
 * have a limit that is what they had published by then, less that.
 */
extern bool snii_mem_limiter_system_due(SniiMemLimiter *l, uint64 now_seconds);
extern void snii_mem_limiter_system(SniiMemLimiter *l, uint64 missing);

/* The limit that follows from the machine's memory; PG_UINT64_MAX: none. */
extern uint64 snii_mem_limiter_system_limit(SniiMemLimiter *l);

/* Flag writers until the deficit is covered; returns what is not. */
extern uint64 snii_mem_limiter_choose(SniiMemLimiter *l, uint64 deficit,
									  Size floor);

/* Was the writer asked to spill?  One read. */
extern bool snii_mem_limiter_flagged(SniiMemLimiter *l, int slot);

/*
 * The writer has given back what it could; spilled also counts a spill.  What
 * its arena is now was said before.
 */
extern void snii_mem_limiter_yielded(SniiMemLimiter *l, int slot);
extern void snii_mem_limiter_spilled(SniiMemLimiter *l, int slot,
									 bool forced);

/* Count shared writes of a writer that ends. */
extern void snii_mem_limiter_count(SniiMemLimiter *l, uint64 shared_writes);

extern int	snii_mem_limiter_slots(const SniiMemLimiter *l);
extern bool snii_mem_limiter_get(SniiMemLimiter *l, int slot,
								 SniiMemWriter *writer);
extern void snii_mem_limiter_totals(SniiMemLimiter *l, SniiMemTotals *totals);

/* May the shortfall be logged now?  At most once in ten seconds. */
extern bool snii_mem_limiter_may_log(SniiMemLimiter *l, int64 now_seconds);

#endif							/* SNII_MEM_LIMITER_H */
