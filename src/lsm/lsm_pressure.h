/*-------------------------------------------------------------------------
 *
 * lsm_pressure.h
 *	  Back-pressure: inserters that are ahead of the workers slow down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_PRESSURE_H
#define SNII_LSM_PRESSURE_H

#include "compat.h"

/*
 * Pay a small share of what this backend owes.  At the beginning of an
 * insertion: no lock of the index is held.
 */
extern void snii_lsm_pressure_pay(Relation index);

/*
 * This backend sealed a stretch: wake a worker, owe a sleep, or help, as the
 * policy says.  heap may be NULL.
 */
extern void snii_lsm_pressure_sealed(Relation index, Relation heap);

#endif							/* SNII_LSM_PRESSURE_H */
