/*-------------------------------------------------------------------------
 *
 * am_memory.h
 *	  SQL functions that show the memory and work of index builds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_MEMORY_H
#define SNII_AM_MEMORY_H

#include "fmgr.h"

#endif							/* SNII_AM_MEMORY_H */
