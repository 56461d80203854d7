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
 * Support functions: the name of the analyzer that a class prescribes; of key
 * classes 2, order, and 3, extended hash (key/key_desc.h).
 */
#define SNII_ANALYZER_PROC		1
#define SNII_PROCS				3

extern bool snii_am_validate(Oid opclass);

#endif							/* SNII_AM_HANDLER_H */
