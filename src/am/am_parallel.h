/*-------------------------------------------------------------------------
 *
 * am_parallel.h
 *	  CREATE INDEX by several processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_PARALLEL_H
#define SNII_AM_PARALLEL_H

#include "am/am_build.h"

#include "access/parallel.h"

/* Workers and the leader have a slot each. */
#define SNII_AM_MAX_WORKERS		(SNII_SLOTS - SNII_SLOT_WORKER)

/*
 * Build an index of either kind with the workers that the planner suggests;
 * *result gets what all participants did.  False, and nothing done, if there
 * are none.
 */
extern bool snii_am_parallel_build(Relation heap, Relation index,
								   IndexInfo *info, bool is_key,
								   SniiAmLastBuild *result);

/* Entry point of a worker, found by its name. */
extern PGDLLEXPORT void snii_am_parallel_worker(dsm_segment *seg,
												shm_toc *toc);

#endif							/* SNII_AM_PARALLEL_H */
