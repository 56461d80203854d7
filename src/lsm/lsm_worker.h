/*-------------------------------------------------------------------------
 *
 * lsm_worker.h
 *	  Background workers that flush and merge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_WORKER_H
#define SNII_LSM_WORKER_H

#include "compat.h"

#include "postmaster/bgworker.h"

/* Settings, see snii.c. */
extern bool snii_lsm_workers;
extern double snii_lsm_cost_delay;

/*
 * See to it that a worker maintains this index: true if one is at work, was
 * started, or will be as soon as one is free; false if nobody will come (no
 * process can be had, an index that no other process can open).  Never waits.
 */
extern bool snii_lsm_worker_request(Relation index);

/* What a worker is told. */
typedef struct SniiWorkerOrder
{
	Oid			database;
	Oid			index;
	int			limit_kb;		/* snii.buffer_limit of who asked */
	int			request;		/* of lsm_launcher.c, or -1 */
} SniiWorkerOrder;

/*
 * Start a worker.  False if there is no room for one more process.  notify is
 * a process that is told of start and end, or 0; handle, if not NULL, is
 * allocated in the current memory context.
 */
extern bool snii_lsm_worker_start(const SniiWorkerOrder *order, int notify,
								  BackgroundWorkerHandle **handle);

/* Entry point of the background worker. */
extern PGDLLEXPORT void snii_lsm_worker_main(Datum arg);

#endif							/* SNII_LSM_WORKER_H */
