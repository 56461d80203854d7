/*-------------------------------------------------------------------------
 *
 * lsm_place.h
 *	  Places for workers of all databases, where there is no pool.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_PLACE_H
#define SNII_LSM_PLACE_H

/* Would a worker that is started now find a place?  A look, no promise. */
extern bool snii_lsm_place_is_free(void);

/*
 * Take a place for this process; false if all are taken.  It is kept across
 * transactions, until it is dropped or a transaction is aborted.
 */
extern bool snii_lsm_place_take(void);
extern void snii_lsm_place_drop(void);

/* To be called after an abort, which has dropped the place. */
extern void snii_lsm_place_forget(void);

#endif							/* SNII_LSM_PLACE_H */
