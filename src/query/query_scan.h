/*-------------------------------------------------------------------------
 *
 * query_scan.h
 *	  A scan of a whole inverted index: TIDs that meet all conditions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_SCAN_H
#define SNII_QUERY_SCAN_H

#include "nodes/tidbitmap.h"
#include "query/query_compile.h"
#include "query/query_type.h"
#include "utils/rel.h"

/* Conditions of a scan are connected by AND. */
typedef struct SniiScanCondition
{
	int			column;			/* of the index, from 0 */
	SniiConditionType type;
	const SniiQuery *query;		/* MATCH; copied by the scan */
} SniiScanCondition;

typedef struct SniiScan SniiScan;

extern SniiScan *snii_query_scan_begin(Relation index,
									   const SniiScanCondition *conditions,
									   int nconditions);
extern void snii_query_scan_rescan(SniiScan *scan,
								   const SniiScanCondition *conditions,
								   int nconditions);
extern int	snii_query_scan_next(SniiScan *scan, ItemPointerData *tids,
								 int max);
extern int64 snii_query_scan_bitmap(SniiScan *scan, TIDBitmap *tbm);
extern void snii_query_scan_end(SniiScan *scan);

#endif							/* SNII_QUERY_SCAN_H */
