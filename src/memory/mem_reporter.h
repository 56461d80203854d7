/*-------------------------------------------------------------------------
 *
 * mem_reporter.h
 *	  What one index writer uses, exact in its process.
 *
 * With SNII_NO_MEM_ACCOUNTING all of it is compiled out: there are no
 * reporters, and what is said to one costs nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_MEM_REPORTER_H
#define SNII_MEM_REPORTER_H

#include "memory/mem_limiter.h"

#include "storage/dsm.h"

typedef struct SniiMemReporter SniiMemReporter;

/*
 * Where a limiter is: seg is the segment that it lies in, or NULL if it is
 * there for as long as the process.
 */
typedef struct SniiMemPlace
{
	SniiMemLimiter *limiter;	/* NULL: none */
	dsm_segment *seg;
} SniiMemPlace;

/* What a writer has used and done so far. */
typedef struct SniiMemStats
{
	Oid			index;
	uint64		used;
	uint64		peak;
	uint64		arena;
	uint64		published;
	uint64		calls;			/* of the reporter */
	uint64		limiter_calls;
	uint64		shared_writes;
	uint64		spills;
	uint64		forced;			/* spills that were asked for */
} SniiMemStats;

/* Bytes that are held back: snii.memory_step. */
extern int	snii_mem_step_kb;

/* Arena below which nobody is asked to spill. */
extern int	snii_mem_forced_spill_min_arena_kb;

#ifndef SNII_NO_MEM_ACCOUNTING

/*
 * A reporter in the current memory context, with which it ends at the latest,
 * for a writer that has that budget.  place NULL: the limiter of the server,
 * if there is one.
 */
extern SniiMemReporter *snii_mem_reporter_begin(const SniiMemPlace *place,
												Oid index, Size budget);

/* Everything was given back; publishes what was held back.  NULL is allowed. */
extern void snii_mem_reporter_end(SniiMemReporter *r);

/* Before memory is taken, after it was given back.  NULL is allowed. */
extern void snii_mem_reserve(SniiMemReporter *r, Size bytes);
extern void snii_mem_release(SniiMemReporter *r, Size bytes);

/*
 * What the writer could give back is now that much: asks the limiter, if it
 * grew.
 */
extern void snii_mem_arena(SniiMemReporter *r, Size bytes);

/* Should the writer spill now, because others need memory? */
extern bool snii_mem_spill_wanted(SniiMemReporter *r);
extern void snii_mem_spilled(SniiMemReporter *r, bool forced);

/* It gave back what it could without a spill. */
extern void snii_mem_yielded(SniiMemReporter *r);

extern void snii_mem_stats(const SniiMemReporter *r, SniiMemStats *stats);

/* Reporters of this process, one after the other: NULL begins, NULL ends. */
extern SniiMemReporter *snii_mem_reporter_next(const SniiMemReporter *r);

#else

#define snii_mem_reporter_begin(place, index, budget) \
	((void) (place), (SniiMemReporter *) NULL)
#define snii_mem_reporter_end(r)			((void) (r))
#define snii_mem_reserve(r, bytes)			((void) (r))
#define snii_mem_release(r, bytes)			((void) (r))
#define snii_mem_arena(r, bytes)			((void) (r))
#define snii_mem_spill_wanted(r)			((void) (r), false)
#define snii_mem_spilled(r, forced)			((void) (r))
#define snii_mem_yielded(r)					((void) (r))
#define snii_mem_stats(r, stats) \
	((void) (r), memset(stats, 0, sizeof(SniiMemStats)))
#define snii_mem_reporter_next(r)			((SniiMemReporter *) NULL)

#endif

#endif							/* SNII_MEM_REPORTER_H */
