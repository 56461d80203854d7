/*-------------------------------------------------------------------------
 *
 * lsm_barrier.h
 *	  The pin barrier: keeps a TID that a scan found from being used again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_BARRIER_H
#define SNII_LSM_BARRIER_H

#include "utils/rel.h"

typedef struct SniiBarrier SniiBarrier;

/*
 * May scans use a barrier now?  Not in recovery: replay waits for no pin.
 * amcanreturn and the like ask when a query is planned; who begins a scan that
 * needs it asks again.
 */
extern bool snii_lsm_barrier_works(void);

/*
 * Make a barrier in the current memory context, not entered.  With keep false
 * it is let go of whenever this process leaves the executor.
 */
extern SniiBarrier *snii_lsm_barrier_create(Relation index, bool keep);

/*
 * Pin, unless that was done: TIDs of entries that were seen to be alive after
 * this call are not used again before the barrier is let go of.  True if it
 * was pinned now: what was read before must be looked up again, that is, whether
 * its delete marks are set.
 */
extern bool snii_lsm_barrier_enter(SniiBarrier *b);
extern void snii_lsm_barrier_leave(SniiBarrier *b);

/*
 * For ambulkdelete, when all marks are set: wait until all barriers were left
 * that were entered before this call.  Interruptible; nothing may be locked but
 * the relations.
 */
extern void snii_lsm_barrier_wait(Relation index);

/* For _PG_init. */
extern void snii_lsm_barrier_init(void);

#endif							/* SNII_LSM_BARRIER_H */
