/*-------------------------------------------------------------------------
 *
 * query_selfuncs.h
 *	  How many rows will a query match?
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_SELFUNCS_H
#define SNII_QUERY_SELFUNCS_H

#include "query/query_type.h"

extern double snii_query_default_selectivity(const SniiQueryNode *node);

#endif							/* SNII_QUERY_SELFUNCS_H */
