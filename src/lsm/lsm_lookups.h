/*-------------------------------------------------------------------------
 *
 * lsm_lookups.h
 *	  Counters of look-ups in an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_LOOKUPS_H
#define SNII_LSM_LOOKUPS_H

#include "utils/relcache.h"

typedef enum SniiLookupCounter
{
	SNII_LOOKUPS,				/* whole keys that were looked up */
	SNII_LOOKUP_RUNS,			/* runs that had the key in their range */
	SNII_LOOKUP_PROBES,			/* of a filter */
	SNII_LOOKUP_NEGATIVES,		/* filters that said no */
	SNII_LOOKUP_FALSE_POSITIVES,	/* filters that said yes in vain */
	SNII_LOOKUP_BLOCKS,			/* pages of the index */
	SNII_LOOKUP_MISSES,			/* of these, not in shared buffers */
	SNII_LOOKUP_COUNTERS
} SniiLookupCounter;

typedef struct SniiLookupCounts
{
	uint64		counts[SNII_LOOKUP_COUNTERS];
} SniiLookupCounts;

/*
 * Add to the counts of an index, in this process; now and then, and at its
 * end, they are added to those of the server, if snii is preloaded.  Takes no
 * lock but then.
 */
extern void snii_lsm_lookups_add(Relation index,
								 const SniiLookupCounts *counts);

/*
 * Counts of all processes since the server started (of others, but for what
 * they have not yet published), if snii is preloaded, else of this one.
 */
extern void snii_lsm_lookups_get(Relation index, SniiLookupCounts *counts);

/* For _PG_init. */
extern void snii_lsm_lookups_init(void);

#endif							/* SNII_LSM_LOOKUPS_H */
