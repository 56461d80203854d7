/*-------------------------------------------------------------------------
 *
 * lsm_prewarm.h
 *	  Reading pages of an index into shared buffers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_PREWARM_H
#define SNII_LSM_PREWARM_H

#include "utils/relcache.h"

/*
 * Read the pages of all segments that every look-up begins with, as the kind
 * of index says (SniiKind.warm), or all pages, with those of the write
 * buffer.  Returns how many.  The caller has a snapshot.  Interruptible; one
 * pin at a time.
 */
extern uint64 snii_lsm_prewarm(Relation index, bool all);

#endif							/* SNII_LSM_PREWARM_H */
