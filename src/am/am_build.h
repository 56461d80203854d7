/*-------------------------------------------------------------------------
 *
 * am_build.h
 *	  CREATE INDEX and INSERT.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_BUILD_H
#define SNII_AM_BUILD_H

#include "am/am_progress.h"
#include "inverted/inv_build.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"

/* What one participant of a build, or all of them, did. */
typedef struct SniiAmShare
{
	double		heap_tuples;
	bool		broken_hot_chain;
	double		cpu_ms;			/* of all, and of the one with the most */
	double		cpu_max_ms;
	SniiInvBuildStats stats;
} SniiAmShare;

/* What a participant is given. */
typedef struct SniiAmPart
{
	TableScanDesc scan;			/* NULL: of the whole table */
	int			slot;			/* that nobody else uses */
	Size		budget;			/* bytes */
	const SniiMemPlace *place;	/* of the limiter; NULL: the server's */
	SniiAmProgress *progress;
} SniiAmPart;

extern IndexBuildResult *snii_am_build(Relation heap, Relation index,
									   IndexInfo *info);

/* What the last build of this session did; workers 0: it was alone. */
typedef struct SniiAmLastBuild
{
	Oid			index;			/* InvalidOid: there was none */
	int			planned;		/* workers */
	int			launched;
	SniiAmShare sum;
} SniiAmLastBuild;

extern const SniiAmLastBuild *snii_am_last_build(void);
extern void snii_am_buildempty(Relation index);
extern void snii_am_build_share(Relation heap, Relation index,
								IndexInfo *info, const SniiAmPart *part,
								SniiAmShare *share);

/* Processor time of this process so far. */
extern double snii_am_cpu_ms(void);
extern void snii_am_build_add(SniiAmShare *sum, const SniiAmShare *share);
extern bool snii_am_insert(Relation index, Datum *values, bool *isnull,
						   ItemPointer tid, Relation heap,
						   IndexUniqueCheck check_unique,
						   bool index_unchanged, IndexInfo *info);

#endif							/* SNII_AM_BUILD_H */
