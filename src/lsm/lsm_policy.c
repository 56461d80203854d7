/*-------------------------------------------------------------------------
 *
 * lsm_policy.c
 *	  When to flush and what to merge: decisions without input or output.
 *
 * Tiered: FANOUT neighbours of at most some tier become one segment of about
 * the next one, so that a posting is rewritten once per tier.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_policy.h"

int
snii_lsm_policy_tier(uint64 nbytes)
{
	int			tier = 0;

	for (uint64 top = SNII_POLICY_TIER_BYTES; nbytes > top && tier < 20;
		 top *= SNII_POLICY_FANOUT)
		tier++;
	return tier;
}

static uint64
live_bytes(const SniiPolicySegment *s)
{
	double		share;

	if (s->ndocs == 0 || s->ndead >= s->ndocs)
		return 0;
	share = (double) (s->ndocs - s->ndead) / (double) s->ndocs;
	return (uint64) ((double) s->nbytes * share);
}

/*
 * First run of at least "fanout" neighbours of tier "tier" at most that reads
 * no more than max_bytes.  A longer run is taken whole, up to twice the fan-out.
 */
static SniiPolicyMerge
find_run(const SniiPolicySegment *segments, int n, int tier, int fanout,
		 uint64 max_bytes)
{
	SniiPolicyMerge none = {0, 0};
	int			first = 0;

	while (first < n)
	{
		uint64		bytes = 0;
		int			len = 0;

		while (first + len < n && len < 2 * fanout &&
			   snii_lsm_policy_tier(live_bytes(&segments[first + len])) <= tier)
		{
			bytes += segments[first + len].nbytes;
			len++;
		}
		if (len >= fanout && bytes <= max_bytes)
		{
			SniiPolicyMerge result = {first, len};

			return result;
		}
		first += Max(len, 1);
	}
	return none;
}

/* The FANOUT neighbours with the fewest bytes. */
static SniiPolicyMerge
cheapest(const SniiPolicySegment *segments, int n)
{
	SniiPolicyMerge best = {0, 0};
	uint64		best_bytes = PG_UINT64_MAX;

	for (int first = 0; first + SNII_POLICY_FANOUT <= n; first++)
	{
		uint64		bytes = 0;

		for (int i = 0; i < SNII_POLICY_FANOUT; i++)
			bytes += segments[first + i].nbytes;
		if (bytes < best_bytes)
		{
			best.first = first;
			best.n = SNII_POLICY_FANOUT;
			best_bytes = bytes;
		}
	}
	return best;
}

SniiPolicyMerge
snii_lsm_policy_merge(const SniiPolicySegment *segments, int n,
					  uint64 max_bytes)
{
	SniiPolicyMerge result = {0, 0};

	/* Segments without a live document cost nothing to drop. */
	for (int i = 0; i < n; i++)
		if (segments[i].ndead >= segments[i].ndocs)
		{
			result.first = i;
			result.n = 1;
			return result;
		}
	for (int tier = 0; tier <= 20 && n >= SNII_POLICY_FANOUT; tier++)
	{
		result = find_run(segments, n, tier, SNII_POLICY_FANOUT, max_bytes);
		if (result.n > 0)
			return result;
	}
	/* Half dead: rewriting it frees as much as it writes. */
	for (int i = 0; i < n; i++)
		if (segments[i].ndead >= segments[i].ndocs / 2 &&
			segments[i].ndead > 0 && segments[i].nbytes <= max_bytes)
		{
			result.first = i;
			result.n = 1;
			return result;
		}
	if (n > SNII_POLICY_SEGMENT_LIMIT)
		return cheapest(segments, n);
	return result;
}

/* Sealed bytes, as a share of the limit, from which on ... */
#define WAKE_SHARE		0.25	/* a worker is woken */
#define SLEEP_SHARE		0.75	/* inserters are slowed down, a little */
#define HELP_SHARE		3.0		/* they flush themselves */

/* Segments beyond which inserters are slowed down, too. */
#define SLEEP_SEGMENTS	32

/* Entries of the directory at which inserters help. */
#define HELP_ENTRIES	96

/* Sleep per sealed stretch when twice SLEEP_SHARE is waiting. */
#define SLEEP_MS		20.0

SniiPolicyAdvice
snii_lsm_policy_advice(const SniiPolicyLoad *load, uint64 limit,
					   bool has_worker)
{
	SniiPolicyAdvice advice = {false, false, 0};
	double		share = (double) load->sealed_bytes / (double) limit;

	if (!has_worker)
	{
		advice.help = share >= 1.0 || load->nentries >= HELP_ENTRIES;
		return advice;
	}
	advice.wake = share >= WAKE_SHARE ||
		load->nsegments >= SNII_POLICY_FANOUT;
	if (share > SLEEP_SHARE)
		advice.sleep_ms = SLEEP_MS * (share / SLEEP_SHARE - 1);
	if (load->nsegments > SLEEP_SEGMENTS)
		advice.sleep_ms += SLEEP_MS *
			(load->nsegments - SLEEP_SEGMENTS) / SLEEP_SEGMENTS;
	advice.help = share >= HELP_SHARE || load->nentries >= HELP_ENTRIES;
	return advice;
}

bool
snii_lsm_policy_urgent(const SniiPolicyLoad *load, uint64 limit)
{
	return (double) load->sealed_bytes > SLEEP_SHARE * (double) limit ||
		load->nsegments > SLEEP_SEGMENTS / 2;
}
