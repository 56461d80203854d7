/*-------------------------------------------------------------------------
 *
 * lsm_timing.h
 *	  The log of slow flushes, merges and VACUUMs: snii.log_min_duration.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_TIMING_H
#define SNII_LSM_TIMING_H

#include "storage/storage_timing.h"

#include "storage/block.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

/* Milliseconds from which on an operation is logged, -1: never. */
extern int	snii_lsm_log_min_duration;

/* A measurement.  May be nested: the outer one counts the inner as waiting. */
typedef struct SniiTiming
{
	bool		on;
	bool		outer_on;
	instr_time	outer[SNII_TIMES];
	instr_time	start;
	double		work_ms;		/* until the last phase, -1: not begun */
} SniiTiming;

/* What the log calls an operation and its own phases. */
typedef struct SniiTimingNames
{
	const char *what;			/* "flush" */
	const char *work;			/* what is not reading or writing: "built" */
	const char *last;			/* the last phase: "published", or NULL */
} SniiTimingNames;

/* Begin to measure.  If an error ends it, nothing is left to be done. */
extern void snii_lsm_timing_begin(SniiTiming *t);

/* The last phase begins. */
extern void snii_lsm_timing_last(SniiTiming *t);

/*
 * Milliseconds since it began that were neither waiting, reading nor writing;
 * 0 if nothing is measured.
 */
extern double snii_lsm_timing_so_far(const SniiTiming *t);

/*
 * For what makes one line of several measurements: end this one; returns its
 * milliseconds, 0 if nothing was measured.  Is a sum to be logged?
 */
extern double snii_lsm_timing_stop(SniiTiming *t);
extern bool snii_lsm_timing_is_slow(double total);

/* There was nothing to do. */
extern void snii_lsm_timing_cancel(SniiTiming *t);

/* End; one line in the log if it took long. */
extern void snii_lsm_timing_end(SniiTiming *t, Relation index,
								const SniiTimingNames *names, int ninputs,
								uint64 ndocs, uint64 nbytes);

/* The same of recycling. */
extern void snii_lsm_timing_end_recycle(SniiTiming *t, Relation index,
										uint64 npages);

/* LockPage(), counted as waiting. */
extern void snii_lsm_lock_page(Relation index, BlockNumber blk,
							   LOCKMODE mode);

#endif							/* SNII_LSM_TIMING_H */
