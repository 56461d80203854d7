/*-------------------------------------------------------------------------
 *
 * inv_build.h
 *	  Build of one segment from documents: CREATE INDEX and flush.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_BUILD_H
#define SNII_INV_BUILD_H

#include "inverted/inv_progress.h"
#include "inverted/inv_spimi.h"
#include "lsm/lsm_kind.h"
#include "memory/mem_reporter.h"

typedef struct SniiInvBuilder SniiInvBuilder;

/* What a build did, for its reports and tests. */
typedef struct SniiInvBuildStats
{
	uint64		ndocs;
	uint64		ntokens;
	int			nruns;			/* spills; 0: everything fit in memory */
	uint64		spilled;		/* bytes in temporary files */
	int			nforced;		/* spills that the limiter asked for */
	Size		peak;			/* of the term buffer */
	SniiMemStats mem;			/* of all that is counted */
} SniiInvBuildStats;

extern SniiInvBuilder *snii_inv_builder_begin(Relation index,
											  SniiObjectWriter *w,
											  int ncolumns,
											  const uint8 *analyzers,
											  Size budget,
											  const SniiMemPlace *place);

/* Let report(arg, ...) hear of the progress (inv_progress.h). */
extern void snii_inv_builder_report(SniiInvBuilder *b,
									void (*report) (void *arg,
													const SniiInvProgress *p),
									void *arg);
extern void snii_inv_builder_value(SniiInvBuilder *b, Size bytes);
extern void snii_inv_builder_begin_doc(SniiInvBuilder *b,
									   const ItemPointerData *tid);
extern void snii_inv_builder_text(SniiInvBuilder *b, int column,
								  const char *text, size_t len);
extern void snii_inv_builder_null(SniiInvBuilder *b, int column);
extern void snii_inv_builder_record(SniiInvBuilder *b,
									const SniiRecord *record);
extern void snii_inv_builder_end_doc(SniiInvBuilder *b);
extern uint64 snii_inv_builder_finish(SniiInvBuilder *b);
extern void snii_inv_builder_stats(const SniiInvBuilder *b,
								   SniiInvBuildStats *stats);

extern uint64 snii_inv_kind_build(Relation index, SniiObjectWriter *w,
								  SniiRecordSource *source);

#endif							/* SNII_INV_BUILD_H */
