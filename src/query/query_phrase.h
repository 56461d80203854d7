/*-------------------------------------------------------------------------
 *
 * query_phrase.h
 *	  Iterator over the documents that hold terms at given distances.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_PHRASE_H
#define SNII_QUERY_PHRASE_H

#include "query/query_iter.h"

/* One place of a phrase: which of its distinct terms, and where. */
typedef struct SniiPhraseSlot
{
	int			term;
	uint32		position;		/* relative to the first slot */
} SniiPhraseSlot;

extern SniiIter *snii_query_phrase(SniiInvSegment *seg,
								   const SniiInvTerm *terms, int nterms,
								   const SniiPhraseSlot *slots, int nslots);

#endif							/* SNII_QUERY_PHRASE_H */
