/*-------------------------------------------------------------------------
 *
 * am_handler.h
 *	  The access method: its flags and functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_HANDLER_H
#define SNII_AM_HANDLER_H

#include "access/amapi.h"
#include "fmgr.h"

/* Strategy of "text @@@ sniiquery"; 1 to 5 are btree's, for key indexes. */
#define SNII_STRATEGY_MATCH		10
#define SNII_STRATEGIES			10

/*
 * Support functions.  Of an access method with order, later versions of
 * PostgreSQL take 1 to 6 for btree's.  Key classes have 1, order, and 7,
 * extended hash (key/key_desc.h); others may have 8 (query/query_column.h).
 */
#define SNII_PROCS				8

extern bool snii_am_validate(Oid opclass);

#endif							/* SNII_AM_HANDLER_H */
