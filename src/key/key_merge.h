/*-------------------------------------------------------------------------
 *
 * key_merge.h
 *	  Runs into one run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_MERGE_H
#define SNII_KEY_MERGE_H

#include "key/key_run.h"
#include "lsm/lsm_kind.h"

/* merge of SniiKind. */
extern uint64 snii_key_merge(Relation index, SniiObjectWriter *w,
							 SniiMergeInput *inputs, int ninputs);

#endif							/* SNII_KEY_MERGE_H */
