/*-------------------------------------------------------------------------
 *
 * query_estimate.h
 *	  How much a query finds, and what that costs, by the dictionary.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_ESTIMATE_H
#define SNII_QUERY_ESTIMATE_H

#include "query/query_type.h"
#include "utils/rel.h"

/* Of a query on one column of an index. */
typedef struct SniiEstimate
{
	double		documents;		/* whose column is not NULL */
	double		rows;			/* of these, that match */
	double		pages;			/* of the index, that a scan reads */
	double		postings;		/* documents that iterators look at */
	double		records;		/* of the write buffer, all are looked at */
} SniiEstimate;

extern void snii_query_estimate(Relation index, int column,
								const SniiQuery *query, SniiEstimate *e);

#endif							/* SNII_QUERY_ESTIMATE_H */
