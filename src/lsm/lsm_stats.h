/*-------------------------------------------------------------------------
 *
 * lsm_stats.h
 *	  What an index is made of, what was done to it and what is to be done.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_STATS_H
#define SNII_LSM_STATS_H

#include "lsm/lsm_lookups.h"
#include "lsm/lsm_policy.h"
#include "storage/storage_meta.h"

#include "utils/relcache.h"

/* Records of a stretch of the write buffer. */
typedef struct SniiStretchStats
{
	uint64		ndocs;
	uint64		ndead;			/* of these, marked dead by VACUUM */
	uint64		nbytes;			/* bodies */
} SniiStretchStats;

typedef struct SniiStats
{
	SniiStretchStats open;		/* stretches that take insertions */
	SniiStretchStats sealed;	/* stretches that wait for a flush */
	int			nsegments;
	uint64		ndocs;			/* in segments, dead ones included */
	uint64		ndead;
	int			ntiers;			/* highest tier + 1 */
	uint32		tier_segments[SNII_POLICY_TIERS];
	uint64		tier_bytes[SNII_POLICY_TIERS];
	uint64		debt;			/* bytes that merges would read now */
	uint64		parked_pages;
	uint64		oldest_stamp;	/* 0: nothing parked */
	BlockNumber nblocks;		/* of the file */
	SniiMetaPage meta;			/* counters, free pages */
	SniiLookupCounts lookups;
} SniiStats;

/*
 * Count the records of a stretch of a view; the caller keeps its pages from
 * being recycled.
 */
extern void snii_lsm_stretch_stats(Relation index, const SniiDirEntry *entry,
								   SniiStretchStats *result);

/*
 * All of it.  Reads the write buffer.  The caller has a snapshot.  Tiers
 * are those of the live bytes, as the policy sees them.
 */
extern void snii_lsm_stats(Relation index, SniiStats *stats);

#endif							/* SNII_LSM_STATS_H */
