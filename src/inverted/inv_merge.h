/*-------------------------------------------------------------------------
 *
 * inv_merge.h
 *	  Make one segment out of several, leaving dead documents out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_MERGE_H
#define SNII_INV_MERGE_H

#include "lsm/lsm_kind.h"

extern uint64 snii_inv_kind_merge(Relation index, SniiObjectWriter *w,
								  SniiMergeInput *inputs, int ninputs);

#endif							/* SNII_INV_MERGE_H */
