/*-------------------------------------------------------------------------
 *
 * query_type.h
 *	  The SQL type sniiquery: an analysed query that carries its analyzer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_TYPE_H
#define SNII_QUERY_TYPE_H

#include "fmgr.h"
#include "query/query_tree.h"
#include "text/text_analyzer.h"

/* A value; opaque but for its size. */
typedef struct SniiQuery SniiQuery;

#define DatumGetSniiQuery(x)	((SniiQuery *) PG_DETOAST_DATUM(x))
#define PG_GETARG_SNII_QUERY(n) DatumGetSniiQuery(PG_GETARG_DATUM(n))

extern SniiQuery *snii_query_make(const SniiAnalyzer *analyzer,
								  const SniiQueryNode *root);
extern const SniiAnalyzer *snii_query_analyzer(const SniiQuery *query);
extern SniiQueryNode *snii_query_tree(const SniiQuery *query);
extern bool snii_query_equal(const SniiQuery *a, const SniiQuery *b);

#endif							/* SNII_QUERY_TYPE_H */
