/*-------------------------------------------------------------------------
 *
 * am_cost.h
 *	  What an index scan costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_COST_H
#define SNII_AM_COST_H

#include "nodes/pathnodes.h"

extern void snii_am_costestimate(PlannerInfo *root, IndexPath *path,
								 double loop_count, Cost *startup_cost,
								 Cost *total_cost, Selectivity *selectivity,
								 double *correlation, double *pages);

#endif							/* SNII_AM_COST_H */
