/*-------------------------------------------------------------------------
 *
 * storage_timing.h
 *	  Where the time of a flush, a merge or VACUUM goes, below lsm/.
 *
 * Off unless a measurement is under way: then a few clock readings for each
 * page read and each batch of pages written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_TIMING_H
#define SNII_STORAGE_TIMING_H

#include "portability/instr_time.h"

typedef enum SniiTime
{
	SNII_TIME_WAITED,			/* for locks, and for the throttle */
	SNII_TIME_READ,				/* pages */
	SNII_TIME_WRITTEN,			/* pages, with taking them and WAL */
	SNII_TIMES
} SniiTime;

extern bool snii_storage_timing;
extern instr_time snii_storage_times[SNII_TIMES];

static inline void
snii_storage_time_begin(instr_time *start)
{
	if (snii_storage_timing)
		INSTR_TIME_SET_CURRENT(*start);
	else
		INSTR_TIME_SET_ZERO(*start);
}

/* Add the time since begin; nothing is lost if an error comes between. */
static inline void
snii_storage_time_end(SniiTime what, const instr_time *start)
{
	instr_time	now;

	if (INSTR_TIME_IS_ZERO(*start))
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(snii_storage_times[what], now, *start);
}

#endif							/* SNII_STORAGE_TIMING_H */
