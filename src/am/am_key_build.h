/*-------------------------------------------------------------------------
 *
 * am_key_build.h
 *	  CREATE INDEX of a key index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_BUILD_H
#define SNII_AM_KEY_BUILD_H

#include "access/amapi.h"
#include "nodes/execnodes.h"

/* ambuild for key indexes; the meta page is there. */
extern void snii_am_key_build(Relation heap, Relation index, IndexInfo *info,
							  IndexBuildResult *result);

#endif							/* SNII_AM_KEY_BUILD_H */
