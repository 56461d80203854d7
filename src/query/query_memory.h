/*-------------------------------------------------------------------------
 *
 * query_memory.h
 *	  Conditions over a stretch of the write buffer that is indexed in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_MEMORY_H
#define SNII_QUERY_MEMORY_H

#include "inverted/inv_stretch.h"
#include "query/query_compile.h"
#include "utils/rel.h"

/* The records of a stretch that meet the conditions. */
typedef struct SniiMemoryHits
{
	uint64		id;				/* of the stretch */
	uint32		n;
	uint32		next;			/* to be returned next */
	SniiBufferPlace *places;
	SniiBufferMark mark;		/* what was searched */
} SniiMemoryHits;

extern bool snii_query_memory_suits(const SniiCondition *conditions, int n);
extern void snii_query_memory_find(const SniiInvStretch *stretch, uint64 id,
								   const SniiCondition *conditions, int n,
								   SniiMemoryHits *hits);
extern int	snii_query_memory_next(Relation index, SniiMemoryHits *hits,
								   ItemPointerData *tids, int max);

#endif							/* SNII_QUERY_MEMORY_H */
