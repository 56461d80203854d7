/*-------------------------------------------------------------------------
 *
 * query_bool.h
 *	  Iterators that combine others: and, or, and-not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_BOOL_H
#define SNII_QUERY_BOOL_H

#include "query/query_iter.h"

extern SniiIter *snii_query_and(SniiIter **children, int n);
extern SniiIter *snii_query_or(SniiIter **children, int n);
extern SniiIter *snii_query_and_not(SniiIter *include, SniiIter *exclude);

#endif							/* SNII_QUERY_BOOL_H */
