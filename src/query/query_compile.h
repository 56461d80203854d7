/*-------------------------------------------------------------------------
 *
 * query_compile.h
 *	  From the conditions of a scan to the iterator over one segment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_COMPILE_H
#define SNII_QUERY_COMPILE_H

#include "query/query_iter.h"
#include "query/query_tree.h"

typedef enum SniiConditionType
{
	SNII_CONDITION_MATCH,		/* column matches the query */
	SNII_CONDITION_NULL,		/* column IS NULL */
	SNII_CONDITION_NOT_NULL		/* column IS NOT NULL */
} SniiConditionType;

/* Conditions of a scan are connected by AND. */
typedef struct SniiCondition
{
	int			column;			/* of the index, from 0 */
	SniiConditionType type;
	const SniiQueryNode *tree;	/* MATCH */
} SniiCondition;

extern SniiIter *snii_query_compile(SniiInvSegment *seg,
									const SniiCondition *conditions, int n,
									SniiIter *dead);

#endif							/* SNII_QUERY_COMPILE_H */
