/*-------------------------------------------------------------------------
 *
 * lsm_launcher.h
 *	  A pool of workers for all indexes of the server, when preloaded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_LAUNCHER_H
#define SNII_LSM_LAUNCHER_H

#include "lsm/lsm_worker.h"

/* Setting: size of the pool. */
extern int	snii_lsm_max_workers;

/*
 * When the library is loaded: if by shared_preload_libraries, ask for shared
 * memory and a launcher; else do nothing.
 */
extern void snii_lsm_launcher_init(void);

/* Is there a pool?  Else workers are started by who needs them. */
extern bool snii_lsm_launcher_exists(void);

/*
 * Ask for a worker for an index of this database.  False if none will come: no
 * launcher, no room in the table or for a process.
 */
extern bool snii_lsm_launcher_request(Oid index, int limit_kb);

/* ---------------- for a worker of the pool ---------------- */

/*
 * The worker for a request is here; false if it is not wanted any more.  When
 * the process ends, however it does, the request ends.
 */
extern bool snii_lsm_launcher_attach(const SniiWorkerOrder *order);

/* The worker looks at the index now: what was asked before is heeded. */
extern void snii_lsm_launcher_look(void);

/* Do others wait for a worker, and is the pool full? */
extern bool snii_lsm_launcher_others_wait(void);

/* There is more to do: queue the request again when the process ends. */
extern void snii_lsm_launcher_again(void);

/* It failed: when the process ends, leave the index alone for some time. */
extern void snii_lsm_launcher_failed(int rest_ms);

/* Entry point of the launcher. */
extern PGDLLEXPORT void snii_lsm_launcher_main(Datum arg);

#endif							/* SNII_LSM_LAUNCHER_H */
