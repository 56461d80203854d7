/*-------------------------------------------------------------------------
 *
 * query_estimate.h
 *	  How many documents a query matches, and what finding them reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_ESTIMATE_H
#define SNII_QUERY_ESTIMATE_H

#include "query/query_tree.h"
#include "utils/rel.h"

extern double snii_query_estimate_rows(Relation index, int column,
									   const SniiQueryNode *tree,
									   double *pages);

#endif							/* SNII_QUERY_ESTIMATE_H */
