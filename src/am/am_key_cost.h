/*-------------------------------------------------------------------------
 *
 * am_key_cost.h
 *	  What a scan of a key index costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_COST_H
#define SNII_AM_KEY_COST_H

#include "access/amapi.h"
#include "nodes/pathnodes.h"

/* amcostestimate for key indexes; index is open. */
extern void snii_am_key_costestimate(PlannerInfo *root, IndexPath *path,
									 Relation index, double loop_count,
									 Cost *startup_cost, Cost *total_cost,
									 Selectivity *selectivity,
									 double *correlation, double *pages);

#endif							/* SNII_AM_KEY_COST_H */
