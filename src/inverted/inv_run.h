/*-------------------------------------------------------------------------
 *
 * inv_run.h
 *	  Sorted runs of a build in a temporary file, and their merge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_RUN_H
#define SNII_INV_RUN_H

#include "inverted/inv_progress.h"
#include "inverted/inv_spimi.h"
#include "inverted/inv_writer.h"

typedef struct SniiInvSpool SniiInvSpool;

/* progress outlives the spool. */
extern SniiInvSpool *snii_inv_spool_create(Size workspace,
										   SniiMemReporter *mem,
										   SniiInvProgress *progress);
extern void snii_inv_spool_spill(SniiInvSpool *spool, SniiSpimi *s,
								 bool keep);
extern int	snii_inv_spool_runs(const SniiInvSpool *spool);
extern uint64 snii_inv_spool_terms(const SniiInvSpool *spool);
extern uint64 snii_inv_spool_bytes(const SniiInvSpool *spool);
extern int	snii_inv_spool_fan_in(const SniiInvSpool *spool);
extern void snii_inv_spool_merge(SniiInvSpool *spool, SniiInvWriter *iw);
extern void snii_inv_spool_destroy(SniiInvSpool *spool);

#endif							/* SNII_INV_RUN_H */
