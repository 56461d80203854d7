/*-------------------------------------------------------------------------
 *
 * lsm_policy.c
 *	  When to flush and what to merge: decisions without input or output.
 *
 * Tiered: neighbours of depth "fanout" of at most some tier become one segment of about
 * the next one, so that a posting is rewritten about once per tier.  Small
 * merges come first, so that a large one never delays many of them; and a
 * segment is not rewritten for the sake of a few small neighbours: a merge
 * must write min_growth times the bytes of its largest input, which bounds how
 * often a posting is rewritten whatever the sizes of flushes are.
 *
 * docs/architecture.md tells the rules in prose; test/modules/test_snii_policy
 * simulates them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_policy.h"

const SniiPolicy snii_lsm_policy_default = {
	.fanout = 8,
	.tier_bytes = UINT64CONST(1) << 16,
	.min_growth = 3,
	.less_growth = 2,
	.many_segments = 20,
	.max_depth = SNII_POLICY_SEGMENT_LIMIT,
	.sleep_segments = 24,
	.help_depth = PG_INT32_MAX
};

/*
 * A flush makes some 3 MB.  Look-ups visit every run, and every one more has
 * a filter to be kept in memory, so there are fewer, and merges of all sizes
 * when there are 12.
 */
const SniiPolicy snii_lsm_policy_keys = {
	.fanout = 4,
	.tier_bytes = UINT64CONST(4) << 20,
	.min_growth = 3,
	.less_growth = 2,
	.many_segments = 9,
	.max_depth = 10,
	.sleep_segments = 4,
	.help_depth = 14
};

int
snii_lsm_policy_tier(const SniiPolicy *policy, uint64 nbytes)
{
	int			tier = 0;

	for (uint64 top = policy->tier_bytes;
		 nbytes > top && tier < SNII_POLICY_TIERS - 1;
		 top *= policy->fanout)
		tier++;
	return tier;
}

int
snii_lsm_policy_depth(const SniiPolicySegment *segments, int n)
{
	int			depth = 0;
	bool		plain = true;

	for (int i = 0; i < n; i++)
		plain &= segments[i].hi == 0;
	if (plain)
		return n;
	/* Where most segments meet, one of them begins. */
	for (int i = 0; i < n; i++)
	{
		int			here = 0;

		for (int k = 0; k < n; k++)
			if (segments[k].lo <= segments[i].lo &&
				segments[i].lo <= segments[k].hi)
				here++;
		depth = Max(depth, here);
	}
	return depth;
}

/* Documents that are alive. */
static uint64
live_docs(const SniiPolicySegment *s)
{
	return s->ndead >= s->ndocs ? 0 : s->ndocs - s->ndead;
}

uint64
snii_lsm_policy_live(const SniiPolicySegment *segment)
{
	if (live_docs(segment) == 0)
		return 0;
	return (uint64) ((double) segment->nbytes *
					 ((double) live_docs(segment) /
					  (double) segment->ndocs));
}

int
snii_lsm_policy_segments(const SniiDirEntry *entries, int n,
						 SniiPolicySegment *segments)
{
	int			nsegments = 0;

	for (int i = 0; i < n; i++)
	{
		if (entries[i].kind != SNII_ENTRY_SEGMENT)
			continue;
		segments[nsegments].nbytes = entries[i].nbytes;
		segments[nsegments].ndocs = entries[i].ndocs;
		segments[nsegments].ndead = entries[i].ndead;
		segments[nsegments].lo = segments[nsegments].hi = 0;
		nsegments++;
	}
	return nsegments;
}

/* ----------------------------------------------------------------
 *		Merges
 * ----------------------------------------------------------------
 */

/*
 * The longest merge that begins at "first", of segments of tier "tier" at
 * most, and satisfies every rule; n is 0 if there is none.  Segments that have
 * nothing in common are merged if there are very many of them.
 */
static SniiPolicyMerge
run_at(const SniiPolicy *policy, const SniiPolicySegment *segments, int n,
	   int first, int tier, uint64 max_bytes)
{
	SniiPolicyMerge result = {first, 0};
	uint64		bytes = 0;
	uint64		docs = 0;
	uint64		sum = 0;
	uint64		largest = 0;
	int			growth = n > policy->many_segments ?
	policy->less_growth : policy->min_growth;

	for (int len = 1; first + len <= n && len <= SNII_POLICY_MAX_INPUTS; len++)
	{
		const SniiPolicySegment *s = &segments[first + len - 1];
		uint64		live = snii_lsm_policy_live(s);

		bytes += s->nbytes;
		docs += live_docs(s);
		sum += live;
		largest = Max(largest, live);
		if (snii_lsm_policy_tier(policy, live) > tier || bytes > max_bytes ||
			docs > SNII_POLICY_MAX_DOCS)
			break;
		if (len >= policy->fanout && sum >= growth * largest &&
			(n > SNII_POLICY_SEGMENT_LIMIT ||
			 snii_lsm_policy_depth(segments + first, len) >= policy->fanout))
			result.n = len;
	}
	return result;
}

/* Segments without a live document cost nothing to drop. */
static SniiPolicyMerge
find_empty(const SniiPolicySegment *segments, int n)
{
	SniiPolicyMerge result = {0, 0};

	while (result.first < n && live_docs(&segments[result.first]) > 0)
		result.first++;
	while (result.first + result.n < n &&
		   live_docs(&segments[result.first + result.n]) == 0)
		result.n++;
	return result;
}

static inline bool
half_dead(const SniiPolicySegment *s)
{
	return s->ndead >= live_docs(s);
}

/*
 * Segments that are half dead, from "first" on and of tier "tier" at most:
 * rewriting them frees as much as it writes, and together costs no more than
 * one by one.
 */
static SniiPolicyMerge
half_dead_at(const SniiPolicy *policy, const SniiPolicySegment *segments,
			 int n, int first, int tier, uint64 max_bytes)
{
	SniiPolicyMerge result = {first, 0};
	uint64		bytes = 0;
	uint64		docs = 0;

	for (int i = first; i < n && result.n < SNII_POLICY_MAX_INPUTS; i++)
	{
		const SniiPolicySegment *s = &segments[i];

		bytes += s->nbytes;
		docs += live_docs(s);
		if (!half_dead(s) || bytes > max_bytes ||
			docs > SNII_POLICY_MAX_DOCS ||
			snii_lsm_policy_tier(policy, snii_lsm_policy_live(s)) > tier)
			break;
		result.n++;
	}
	return result;
}

/*
 * The first merge of tier "tier": a run, or else what is half dead.
 */
static SniiPolicyMerge
find_in_tier(const SniiPolicy *policy, const SniiPolicySegment *segments,
			 int n, int tier, uint64 max_bytes)
{
	SniiPolicyMerge result = {0, 0};

	for (int first = 0; first < n && result.n == 0; first++)
		result = run_at(policy, segments, n, first, tier, max_bytes);
	for (int first = 0; first < n && result.n == 0; first++)
		result = half_dead_at(policy, segments, n, first, tier, max_bytes);
	return result;
}

/*
 * Up to "fanout" neighbours whose merge reads the fewest bytes for each segment
 * that it saves.
 */
static SniiPolicyMerge
cheapest(const SniiPolicy *policy, const SniiPolicySegment *segments, int n)
{
	SniiPolicyMerge best = {0, 0};
	double		best_price = 0;

	for (int first = 0; first < n; first++)
	{
		uint64		bytes = 0;
		uint64		docs = 0;

		for (int len = 1; len <= policy->fanout && first + len <= n; len++)
		{
			double		price;
			int			saved;

			bytes += segments[first + len - 1].nbytes;
			docs += live_docs(&segments[first + len - 1]);
			if (docs > SNII_POLICY_MAX_DOCS)
				break;
			saved = n > SNII_POLICY_SEGMENT_LIMIT ? len - 1 :
				snii_lsm_policy_depth(segments + first, len) - 1;
			if (saved == 0)
				continue;
			price = (double) bytes / saved;
			if (best.n == 0 || price < best_price)
			{
				best.first = first;
				best.n = len;
				best_price = price;
			}
		}
	}
	return best;
}

/* The first merge of the lowest tier that has one. */
static SniiPolicyMerge
find_merge(const SniiPolicy *policy, const SniiPolicySegment *segments, int n,
		   uint64 max_bytes)
{
	SniiPolicyMerge result = {0, 0};
	int			top = 0;

	for (int i = 0; i < n; i++)
		top = Max(top,
				  snii_lsm_policy_tier(policy,
									   snii_lsm_policy_live(&segments[i])));
	for (int tier = 0; tier <= top && result.n == 0; tier++)
		result = find_in_tier(policy, segments, n, tier, max_bytes);
	return result;
}

SniiPolicyMerge
snii_lsm_policy_merge(const SniiPolicy *policy,
					  const SniiPolicySegment *segments, int n,
					  uint64 max_bytes)
{
	SniiPolicyMerge result = find_empty(segments, n);
	bool		many = n > SNII_POLICY_SEGMENT_LIMIT ||
	snii_lsm_policy_depth(segments, n) > policy->max_depth;

	if (result.n == 0)
		result = find_merge(policy, segments, n, max_bytes);
	if (result.n == 0 && many)
		result = find_merge(policy, segments, n, PG_UINT64_MAX);
	if (result.n == 0 && many)
		result = cheapest(policy, segments, n);
	return result;
}

int
snii_lsm_policy_apply(SniiPolicySegment *segments, int n,
					  SniiPolicyMerge merge)
{
	SniiPolicySegment sum = {0};
	int			kept = merge.first;

	for (int i = merge.first; i < merge.first + merge.n; i++)
	{
		sum.nbytes += snii_lsm_policy_live(&segments[i]);
		sum.ndocs += live_docs(&segments[i]);
		sum.lo = i == merge.first ? segments[i].lo :
			Min(sum.lo, segments[i].lo);
		sum.hi = Max(sum.hi, segments[i].hi);
	}
	if (sum.ndocs > 0)
		segments[kept++] = sum;
	for (int i = merge.first + merge.n; i < n; i++)
		segments[kept++] = segments[i];
	return kept;
}

uint64
snii_lsm_policy_debt(const SniiPolicy *policy,
					 const SniiPolicySegment *segments, int n, int *nleft)
{
	SniiPolicySegment copy[SNII_DIR_CAPACITY];
	uint64		debt = 0;

	Assert(n <= SNII_DIR_CAPACITY);
	memcpy(copy, segments, n * sizeof(SniiPolicySegment));
	for (;;)
	{
		SniiPolicyMerge merge = snii_lsm_policy_merge(policy, copy, n,
													  PG_UINT64_MAX);

		if (merge.n == 0)
			break;
		for (int i = merge.first; i < merge.first + merge.n; i++)
			debt += copy[i].nbytes;
		n = snii_lsm_policy_apply(copy, n, merge);
	}
	if (nleft != NULL)
		*nleft = n;
	return debt;
}

/* ----------------------------------------------------------------
 *		Flushes and back-pressure
 * ----------------------------------------------------------------
 */

/*
 * Bytes of records that a query reads in about a tenth of a millisecond, and
 * about what a flush writes at least.
 */
#ifdef SNII_SMALL_PAGES
#define VACUUM_FLUSH_BYTES	1
#else
#define VACUUM_FLUSH_BYTES	(128 * 1024)
#endif

bool
snii_lsm_policy_vacuum_flush(uint64 ndocs, uint64 ndead, uint64 nbytes)
{
	/* Without a live record the flush makes no segment, it only frees. */
	return nbytes >= VACUUM_FLUSH_BYTES || (ndocs > 0 && ndead == ndocs);
}

/*
 * Segments up to this size are read in some milliseconds; of larger ones so
 * many documents in a hundred die between two side lists.
 */
#define SIDE_SMALL_BYTES	(UINT64CONST(1) << 20)
#define SIDE_STEP_PERCENT	5

bool
snii_lsm_policy_side(const SniiPolicySegment *segment, uint64 listed)
{
	if (segment->ndead <= listed || half_dead(segment))
		return false;
	return segment->nbytes <= SIDE_SMALL_BYTES ||
		(double) (segment->ndead - listed) * 100 >=
		(double) segment->ndocs * SIDE_STEP_PERCENT;
}

/* Sealed bytes, as a share of the limit, from which on ... */
#define WAKE_SHARE		0.25	/* a worker is woken */
#define SLEEP_SHARE		0.75	/* inserters are slowed down, a little */
#define HELP_SHARE		3.0		/* they flush themselves */

/* Entries of the directory at which inserters help. */
#define HELP_ENTRIES	96

/* Sleep per sealed stretch when twice SLEEP_SHARE is waiting. */
#define SLEEP_MS		60.0

SniiPolicyAdvice
snii_lsm_policy_advice(const SniiPolicy *policy, const SniiPolicyLoad *load,
					   uint64 limit, bool has_worker)
{
	SniiPolicyAdvice advice = {0};
	double		share = (double) load->sealed_bytes / (double) limit;
	int			excess = load->nsegments - load->nsettled;

	if (!has_worker)
	{
		advice.help = share >= 1.0 || load->nentries >= HELP_ENTRIES;
		advice.help_merge = advice.help;
		return advice;
	}
	advice.wake = snii_lsm_policy_flush(load, limit) || excess > 0;
	if (share > SLEEP_SHARE)
	{
		advice.sleep_ms = SLEEP_MS * (share / SLEEP_SHARE - 1);
		advice.reason = SNII_SLEEP_BUFFER;
	}
	if (excess > policy->sleep_segments)
	{
		double		more = SLEEP_MS * (excess - policy->sleep_segments) /
		policy->sleep_segments;

		if (more > advice.sleep_ms)
			advice.reason = SNII_SLEEP_SEGMENTS;
		advice.sleep_ms += more;
	}
	/* Merges are the worker's, unless the directory is about to be full. */
	advice.help_merge = load->nentries >= HELP_ENTRIES ||
		load->depth >= policy->help_depth;
	advice.help = share >= HELP_SHARE || advice.help_merge;
	return advice;
}

bool
snii_lsm_policy_flush(const SniiPolicyLoad *load, uint64 limit)
{
	/* A sealed ordered stretch is a run by its own right. */
	if (load->ordered)
		return load->sealed_bytes > 0;
	return (double) load->sealed_bytes >= WAKE_SHARE * (double) limit;
}

bool
snii_lsm_policy_urgent(const SniiPolicy *policy, const SniiPolicyLoad *load,
					   uint64 limit)
{
	/* What is dead would make the file grow. */
	if (load->segment_bytes > 2 * load->live_bytes + limit)
		return true;
	return (double) load->sealed_bytes > SLEEP_SHARE * (double) limit ||
		load->nsegments - load->nsettled > policy->sleep_segments / 2;
}
