/*-------------------------------------------------------------------------
 *
 * am_key_insert.h
 *	  INSERT into a key index, and uniqueness.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_INSERT_H
#define SNII_AM_KEY_INSERT_H

#include "access/amapi.h"
#include "nodes/execnodes.h"

/* aminsert for key indexes. */
extern bool snii_am_key_insert(Relation index, Datum *values, bool *isnull,
							   ItemPointer tid, Relation heap,
							   IndexUniqueCheck check_unique,
							   IndexInfo *info);

#endif							/* SNII_AM_KEY_INSERT_H */
