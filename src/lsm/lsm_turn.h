/*-------------------------------------------------------------------------
 *
 * lsm_turn.h
 *	  The RECYCLE lock of who reads a segment for long without a snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_TURN_H
#define SNII_LSM_TURN_H

#include "lsm/lsm_view.h"

#include "portability/instr_time.h"

typedef struct SniiTurn
{
	Relation	index;
	Relation	heap;			/* or NULL */
	instr_time	start;			/* when the lock was taken */
} SniiTurn;

/* Take the lock.  heap may be NULL. */
extern void snii_lsm_turn_begin(SniiTurn *turn, Relation index,
								Relation heap);

/* Was the lock held so long that others should have a chance? */
extern bool snii_lsm_turn_is_over(const SniiTurn *turn);

/*
 * Let go of the lock, free what may be freed, sleep if VACUUM is to, and take
 * the lock again.  False if the entry is not in the directory any more: what
 * was read of it must not be read on.  No buffer may be locked.
 */
extern bool snii_lsm_turn_next(SniiTurn *turn, uint64 id);

extern void snii_lsm_turn_end(SniiTurn *turn);

#endif							/* SNII_LSM_TURN_H */
