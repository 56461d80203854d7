/*-------------------------------------------------------------------------
 *
 * query_func.h
 *	  SQL functions and operators that match text against a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_FUNC_H
#define SNII_QUERY_FUNC_H

#include "query/query_type.h"

extern void snii_query_datum_text(Oid type, Datum value, const char **text,
								  size_t *len);

#endif							/* SNII_QUERY_FUNC_H */
