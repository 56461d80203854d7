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

/* Neighbours of a tier that are merged into one. */
#define SNII_POLICY_FANOUT			8

/* Segments beyond which merges of any size are everybody's business. */
#ifdef SNII_SMALL_PAGES
#define SNII_POLICY_SEGMENT_LIMIT	14
#else
#define SNII_POLICY_SEGMENT_LIMIT	64
#endif

/* Bytes that the first tier reaches to; each further one is FANOUT times. */
#define SNII_POLICY_TIER_BYTES		(UINT64CONST(1) << 20)

typedef struct SniiPolicySegment
{
	uint64		nbytes;
	uint64		ndocs;
	uint64		ndead;
} SniiPolicySegment;

/* A choice: segments first .. first + n - 1; n is 0 for "nothing to do". */
typedef struct SniiPolicyMerge
{
	int			first;
	int			n;
} SniiPolicyMerge;

/* Tier of a segment of so many live bytes, 0 .. */
extern int	snii_lsm_policy_tier(uint64 nbytes);

/*
 * Choose the merge to do next among n segments.  Merges that read more than
 * max_bytes are left out, unless there are more than
 * SNII_POLICY_SEGMENT_LIMIT segments.
 */
extern SniiPolicyMerge snii_lsm_policy_merge(const SniiPolicySegment *segments,
											 int n, uint64 max_bytes);

/* What is waiting to be done for an index. */
typedef struct SniiPolicyLoad
{
	uint64		sealed_bytes;	/* in sealed stretches */
	int			nsegments;
	int			nentries;		/* of the directory */
} SniiPolicyLoad;

/* What a backend that has just sealed a stretch should do. */
typedef struct SniiPolicyAdvice
{
	bool		wake;			/* see to it that a worker is at work */
	bool		help;			/* flush, and merge in bounds */
	double		sleep_ms;		/* to be paid in shares */
} SniiPolicyAdvice;

/*
 * "limit" is the size that the buffer is meant to have at most; with
 * has_worker false there is nobody to wake.
 */
extern SniiPolicyAdvice snii_lsm_policy_advice(const SniiPolicyLoad *load,
											   uint64 limit, bool has_worker);

/* Is it so much that a worker should not be throttled? */
extern bool snii_lsm_policy_urgent(const SniiPolicyLoad *load, uint64 limit);

#endif							/* SNII_LSM_POLICY_H */
