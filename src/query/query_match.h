/*-------------------------------------------------------------------------
 *
 * query_match.h
 *	  Does a row match?  The truth that every scan must agree with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_MATCH_H
#define SNII_QUERY_MATCH_H

#include "inverted/inv_record.h"
#include "query/query_type.h"

typedef struct SniiMatcher SniiMatcher;

extern SniiMatcher *snii_query_matcher_create(const SniiQuery *query,
											  MemoryContext context);
extern void snii_query_matcher_free(SniiMatcher *matcher);
extern void snii_query_matcher_reset(SniiMatcher *matcher);
extern void snii_query_matcher_token(SniiMatcher *matcher, int kind,
									 const char *bytes, uint32 len,
									 uint32 position);
extern void snii_query_matcher_filter(const SniiMatcher *matcher,
									  SniiInvTermFilter *filter);
extern bool snii_query_matcher_decided(const SniiMatcher *matcher);
extern bool snii_query_matcher_result(SniiMatcher *matcher);
extern bool snii_query_match_text(SniiMatcher *matcher,
								  const SniiAnalyzer *analyzer,
								  const char *text, size_t len);

#endif							/* SNII_QUERY_MATCH_H */
