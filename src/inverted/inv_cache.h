/*-------------------------------------------------------------------------
 *
 * inv_cache.h
 *	  What a backend keeps of the write buffers that it searches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_CACHE_H
#define SNII_INV_CACHE_H

#include "inverted/inv_stretch.h"
#include "lsm/lsm_view.h"

#include "utils/rel.h"

/* snii.buffer_cache: limit of its memory, in kB; 0: keep nothing */
extern PGDLLIMPORT int snii_inv_cache_limit_kb;

/* What was done since the backend began, for tests. */
typedef struct SniiInvCacheStats
{
	uint64		missed;			/* stretches to be matched record by record */
	uint64		used;			/* stretches found */
	uint64		partial;		/* of them, those with a rest to be matched */
	uint64		created;
	uint64		bytes;			/* of records indexed, about */
	uint64		evicted;		/* for want of room */
	uint64		dropped;		/* left the view, or not to be trusted */
	/* now */
	uint64		indexes;
	uint64		stretches;
	uint64		memory;
} SniiInvCacheStats;

extern void snii_inv_cache_begin(Relation index, const SniiView *view);
extern const SniiInvStretch *snii_inv_cache_stretch(Relation index,
													const SniiDirEntry *entry,
													bool *rest);
extern const SniiInvStretch *snii_inv_cache_peek(Relation index, uint64 id);
extern PGDLLEXPORT void snii_inv_cache_stats(SniiInvCacheStats *stats);

#endif							/* SNII_INV_CACHE_H */
