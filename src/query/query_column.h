/*-------------------------------------------------------------------------
 *
 * query_column.h
 *	  Which analyzer does the left side of a search operator have?
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_COLUMN_H
#define SNII_QUERY_COLUMN_H

#include "nodes/pathnodes.h"
#include "query/query_type.h"
#include "utils/rel.h"

/*
 * Support function of an operator class that names its analyzer; 1 to 7 belong
 * to key classes.
 */
#define SNII_ANALYZER_PROC		8

/* What was found about an expression. */
typedef struct SniiColumn
{
	const SniiAnalyzer *analyzer;	/* never NULL */
	Oid			index;			/* the index that decides, or InvalidOid */
	Oid			collation;		/* of its column, or InvalidOid */
} SniiColumn;

extern void snii_query_column(PlannerInfo *root, Node *expr,
							  SniiColumn *column);
extern const SniiAnalyzer *snii_query_index_analyzer(Relation index,
													 int column);
extern const SniiAnalyzer *snii_query_catalog_analyzer(Relation index,
													   int column);
extern Node *snii_query_strip_cast(Node *expr);

#endif							/* SNII_QUERY_COLUMN_H */
