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

/* Settings, see snii.c. */
extern bool snii_lsm_workers;
extern double snii_lsm_cost_delay;

/*
 * See to it that a worker maintains this index: true if one is at work or was
 * started, false if none can be had (no slot free, an index that no other
 * process can open).  Never waits.
 */
extern bool snii_lsm_worker_request(Relation index);

/* Entry point of the background worker; its argument is the index. */
extern PGDLLEXPORT void snii_lsm_worker_main(Datum arg);

#endif							/* SNII_LSM_WORKER_H */
