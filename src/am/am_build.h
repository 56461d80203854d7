/*-------------------------------------------------------------------------
 *
 * am_build.h
 *	  CREATE INDEX and INSERT.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_BUILD_H
#define SNII_AM_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern IndexBuildResult *snii_am_build(Relation heap, Relation index,
									   IndexInfo *info);
extern void snii_am_buildempty(Relation index);
extern char *snii_am_build_phase(int64 phase);
extern bool snii_am_insert(Relation index, Datum *values, bool *isnull,
						   ItemPointer tid, Relation heap,
						   IndexUniqueCheck check_unique,
						   bool index_unchanged, IndexInfo *info);

#endif							/* SNII_AM_BUILD_H */
