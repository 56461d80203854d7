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

#include "utils/relcache.h"

/*
 * Lock table and index to read them and verify that it is a snii index that
 * can be used and whose table the user may read.
 */
extern Relation snii_am_open_to_inspect(Oid index, Relation *heap);

/* Close both and give the locks back. */
extern void snii_am_close(Relation index, Relation heap);

#endif							/* SNII_AM_FUNC_H */
