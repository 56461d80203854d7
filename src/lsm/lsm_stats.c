/*-------------------------------------------------------------------------
 *
 * lsm_stats.c
 *	  What an index is made of, what was done to it and what is to be done.
 *
 * Reads the directory, the meta page, the park pages and the write buffer, one
 * after the other and each consistent in itself; no lock is held between.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_maintain.h"
#include "lsm/lsm_stats.h"
#include "lsm/lsm_view.h"
#include "storage/storage_buffer.h"
#include "storage/storage_recycle.h"

#include "storage/bufmgr.h"

void
snii_lsm_stretch_stats(Relation index, const SniiDirEntry *entry,
					   SniiStretchStats *result)
{
	SniiBufferReader *reader = snii_storage_buffer_open(index, entry);
	ItemPointerData tid;
	const uint8 *data;
	size_t		len;
	bool		dead;

	memset(result, 0, sizeof(*result));
	while (snii_storage_buffer_next(reader, &tid, &data, &len, &dead))
	{
		result->ndocs++;
		result->ndead += dead;
		result->nbytes += len;
	}
	snii_storage_buffer_close(reader);
}

static void
add_stretch(Relation index, const SniiDirEntry *entry, SniiStats *stats)
{
	SniiStretchStats *sum = (entry->flags & SNII_ENTRY_SEALED) != 0 ?
	&stats->sealed : &stats->open;
	SniiStretchStats one;

	snii_lsm_stretch_stats(index, entry, &one);
	sum->ndocs += one.ndocs;
	sum->ndead += one.ndead;
	sum->nbytes += one.nbytes;
}

static void
add_segment(const SniiPolicy *policy, const SniiPolicySegment *segment,
			SniiStats *stats)
{
	int			tier = snii_lsm_policy_tier(policy, snii_lsm_policy_live(segment));

	stats->ndocs += segment->ndocs;
	stats->ndead += segment->ndead;
	stats->tier_segments[tier]++;
	stats->tier_bytes[tier] += segment->nbytes;
	stats->ntiers = Max(stats->ntiers, tier + 1);
}

void
snii_lsm_stats(Relation index, SniiStats *stats)
{
	const SniiPolicy *policy = snii_lsm_policy(index);
	SniiView   *view;
	SniiPolicySegment *segments;

	memset(stats, 0, sizeof(*stats));
	/* The counters first: what is flushed meanwhile is not counted twice. */
	snii_storage_meta_read(index, &stats->meta);
	view = snii_lsm_view(index, false);
	segments = palloc((view->nentries + 1) * sizeof(SniiPolicySegment));
	stats->nsegments = snii_lsm_measure(index, view->entries, view->nentries,
										segments);
	for (int i = 0; i < stats->nsegments; i++)
		add_segment(policy, &segments[i], stats);
	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_STRETCH)
			add_stretch(index, &view->entries[i], stats);
	stats->debt = snii_lsm_policy_debt(policy, segments, stats->nsegments, NULL);
	stats->parked_pages = snii_storage_parked(index, &stats->oldest_stamp);
	snii_lsm_lookups_get(index, &stats->lookups);
	stats->nblocks = RelationGetNumberOfBlocks(index);
	pfree(segments);
	snii_lsm_view_release(view);
}
