/*-------------------------------------------------------------------------
 *
 * lsm_ordered.h
 *	  Inserting into the write buffer of a kind that has an order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_ORDERED_H
#define SNII_LSM_ORDERED_H

#include "lsm/lsm_kind.h"
#include "storage/storage_ordered.h"

/*
 * Insert a record: visible to everybody when this returns DONE.  expected is
 * the id of the stretch that must be open, 0 for any; check may be NULL.
 * Returns DONE, MOVED (expected is not the open one) or REFUSED (by check).
 * May pay for what this backend owes, flush, and merge in bounds.  No lock may
 * be held but those of an ordinary insertion; heap may be NULL.
 */
extern SniiOrderedResult snii_lsm_insert_ordered(Relation index, Relation heap,
												 const SniiOrder *order,
												 uint64 expected,
												 const SniiRecord *record,
												 const SniiOrderedCheck *check);

/* Make sure that a stretch is open. */
extern void snii_lsm_begin_ordered(Relation index, Relation heap);

#endif							/* SNII_LSM_ORDERED_H */
