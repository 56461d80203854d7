/*-------------------------------------------------------------------------
 *
 * lsm_policy.h
 *	  When to flush and what to merge: decisions without input or output.
 *
 * Segments stand oldest first.  Only neighbours are merged, so that the order
 * of age stays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_POLICY_H
#define SNII_LSM_POLICY_H

#include "storage/storage_format.h"

/* Entries of the directory beyond which no stretch is begun. */
#ifdef SNII_SMALL_PAGES
#define SNII_POLICY_STRETCH_LIMIT	24
#else
#define SNII_POLICY_STRETCH_LIMIT	112
#endif

/* Inputs of a merge at most. */
#define SNII_POLICY_MAX_INPUTS		32

/* Segments beyond which merges of any size are everybody's business. */
#ifdef SNII_SMALL_PAGES
#define SNII_POLICY_SEGMENT_LIMIT	14
#else
#define SNII_POLICY_SEGMENT_LIMIT	64
#endif

#define SNII_POLICY_TIERS			16

/*
 * What kinds of index want.  "Depth" is the number of segments that a search
 * may have to look into: all of them, unless their kind says that some have
 * nothing in common (SniiPolicySegment.lo, hi).
 */
typedef struct SniiPolicy
{
	int			fanout;			/* depth of neighbours that become one */

	/*
	 * Bytes that the first tier reaches to, about the least that a segment
	 * has; each further tier reaches to fanout times as many.
	 */
	uint64		tier_bytes;

	/*
	 * A merge writes at least so many times the live bytes of its largest
	 * input: what bounds the number of times that a byte is written.  Less is
	 * asked for when there are many segments.
	 */
	int			min_growth;
	int			less_growth;
	int			many_segments;

	int			max_depth;		/* beyond, merges of any size are done */
	int			sleep_segments; /* due to be merged away: inserters slow down */
	int			help_depth;		/* inserters merge themselves */
} SniiPolicy;

/* Of kinds that have none of their own, and of key indexes. */
extern const SniiPolicy snii_lsm_policy_default;
extern const SniiPolicy snii_lsm_policy_keys;

/* Documents of a segment have numbers of 32 bits. */
#define SNII_POLICY_MAX_DOCS		((uint64) PG_UINT32_MAX - 1)

typedef struct SniiPolicySegment
{
	uint64		nbytes;
	uint64		ndocs;
	uint64		ndead;
	int			lo;				/* ranks, from 1, of its first and last
								 * document */
	int			hi;				/* in order; all 0: every search looks in */
} SniiPolicySegment;

/* A choice: segments first .. first + n - 1; n is 0 for "nothing to do". */
typedef struct SniiPolicyMerge
{
	int			first;
	int			n;
} SniiPolicyMerge;

/* Tier of a segment of so many live bytes, 0 .. SNII_POLICY_TIERS - 1 */
extern int	snii_lsm_policy_tier(const SniiPolicy *policy, uint64 nbytes);

/* Segments that one search may have to look into. */
extern int	snii_lsm_policy_depth(const SniiPolicySegment *segments, int n);

/* Bytes that a segment would have without its dead documents, about. */
extern uint64 snii_lsm_policy_live(const SniiPolicySegment *segment);

/*
 * The segments among n entries of a directory, in their order; returns their
 * number.
 */
extern int	snii_lsm_policy_segments(const SniiDirEntry *entries, int n,
									 SniiPolicySegment *segments);

/*
 * Choose the merge to do next among n segments.  Merges that read more than
 * max_bytes are left out, unless there are more than
 * SNII_POLICY_SEGMENT_LIMIT segments, or the depth is too great.
 */
extern SniiPolicyMerge snii_lsm_policy_merge(const SniiPolicy *policy,
											 const SniiPolicySegment *segments,
											 int n, uint64 max_bytes);

/*
 * Do a merge in the array: what is left in front of the returned number of
 * segments is as if it had been done.
 */
extern int	snii_lsm_policy_apply(SniiPolicySegment *segments, int n,
								  SniiPolicyMerge merge);

/*
 * Bytes that all merges would read that are due now, one after the other.
 * *nleft (may be NULL): segments that there are after these.
 */
extern uint64 snii_lsm_policy_debt(const SniiPolicy *policy,
								   const SniiPolicySegment *segments, int n,
								   int *nleft);

/*
 * Does it pay that VACUUM flushes a buffer of so many records, dead ones among
 * them, and bytes of their bodies?
 */
extern bool snii_lsm_policy_vacuum_flush(uint64 ndocs, uint64 ndead,
										 uint64 nbytes);

/*
 * Is the side list of a segment, which was written when "listed" of its
 * documents were dead (0: there is none), to be written again?  Writing it
 * reads all postings, so not for every few documents of a large segment; nor
 * for one that is soon rewritten.
 */
extern bool snii_lsm_policy_side(const SniiPolicySegment *segment,
								 uint64 listed);

/* What is waiting to be done for an index. */
typedef struct SniiPolicyLoad
{
	uint64		sealed_bytes;	/* in sealed stretches */
	uint64		segment_bytes;
	uint64		live_bytes;		/* of these */
	int			nsegments;
	int			nsettled;		/* segments when all merges are done */
	int			nentries;		/* of the directory */
	int			depth;			/* of the segments */
	bool		ordered;		/* the write buffer is of ordered stretches */
} SniiPolicyLoad;

/* Why an inserter is slowed down; stored in the meta page, never renumber. */
typedef enum SniiSleepReason
{
	SNII_SLEEP_NONE = 0,
	SNII_SLEEP_BUFFER = 1,		/* flushes are behind */
	SNII_SLEEP_SEGMENTS = 2		/* merges are behind */
} SniiSleepReason;

/* What a backend that has just sealed a stretch should do. */
typedef struct SniiPolicyAdvice
{
	bool		wake;			/* see to it that a worker is at work */
	bool		help;			/* flush */
	bool		help_merge;		/* and then merge, in bounds */
	double		sleep_ms;		/* to be paid in shares */
	SniiSleepReason reason;		/* of the greater part of the sleep */
} SniiPolicyAdvice;

/*
 * "limit" is the size that the buffer is meant to have at most; with
 * has_worker false there is nobody to wake.
 */
extern SniiPolicyAdvice snii_lsm_policy_advice(const SniiPolicy *policy,
											   const SniiPolicyLoad *load,
											   uint64 limit, bool has_worker);

/*
 * Is there so much in the buffer that a worker flushes it?  Smaller segments
 * would be merged more often.
 */
extern bool snii_lsm_policy_flush(const SniiPolicyLoad *load, uint64 limit);

/* Is it so much that a worker should not be throttled? */
extern bool snii_lsm_policy_urgent(const SniiPolicy *policy,
								   const SniiPolicyLoad *load, uint64 limit);

#endif							/* SNII_LSM_POLICY_H */
