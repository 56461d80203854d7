/*-------------------------------------------------------------------------
 *
 * am_func.h
 *	  SQL functions that maintain and inspect an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_FUNC_H
#define SNII_AM_FUNC_H

#include "fmgr.h"
#include "storage/storage_meta.h"

#endif							/* SNII_AM_FUNC_H */
