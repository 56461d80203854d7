/*-------------------------------------------------------------------------
 *
 * query_estimate.c
 *	  Placeholder until helper iter's version lands (replace this file).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_estimate.h"

double
snii_query_estimate_rows(Relation index, int column,
						 const SniiQueryNode *tree, double *pages)
{
	*pages = 5;
	return 100;
}
