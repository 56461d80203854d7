/*-------------------------------------------------------------------------
 *
 * am_progress.h
 *	  Progress of CREATE INDEX, for pg_stat_progress_create_index and
 *	  snii_progress.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_PROGRESS_H
#define SNII_AM_PROGRESS_H

#include "inverted/inv_progress.h"

#include "port/atomics.h"

/* Phases of pg_stat_progress_create_index; 1 is core's "initializing". */
#define SNII_AM_PHASE_SCAN		2
#define SNII_AM_PHASE_WRITE		3
#define SNII_AM_PHASE_WAIT		4
#define SNII_AM_PHASE_SORT		5

/* Counts of a worker, in shared memory. */
typedef struct SniiAmCounts
{
	pg_atomic_uint64 documents;
	pg_atomic_uint64 bytes;
	pg_atomic_uint64 runs;
	pg_atomic_uint64 terms;
	pg_atomic_uint64 terms_total;
} SniiAmCounts;

/*
 * A participant's view.  A worker writes its counts to mine; any other process
 * has mine NULL, and shows its own counts and those of nworkers workers.
 */
typedef struct SniiAmProgress
{
	SniiAmCounts *mine;
	SniiAmCounts *workers;
	int			nworkers;
	SniiInvProgress own;
} SniiAmProgress;

extern char *snii_am_build_phase(int64 phase);
extern void snii_am_progress_phase(int64 phase);
extern void snii_am_progress_init(SniiAmCounts *counts);

/* SniiInvProgress.report; arg is a SniiAmProgress. */
extern void snii_am_progress_report(void *arg, const SniiInvProgress *p);

/* Show the counts as they are now. */
extern void snii_am_progress_show(const SniiAmProgress *progress);

#endif							/* SNII_AM_PROGRESS_H */
