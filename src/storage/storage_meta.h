/*-------------------------------------------------------------------------
 *
 * storage_meta.h
 *	  The meta page and the first blocks of an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_META_H
#define SNII_STORAGE_META_H

#include "compat.h"
#include "storage/storage_format.h"

/* What the creator of an index says of it. */
typedef struct SniiMetaSpec
{
	uint8		kind;			/* SniiKindId */
	uint8		ncolumns;
	uint8		column_analyzer[SNII_MAX_COLUMNS];
	const char *unicode_version;	/* NULL: none */
} SniiMetaSpec;

/*
 * Write the fixed blocks of an empty index into a fork that has none.
 */
extern void snii_storage_create(Relation index, ForkNumber fork,
								const SniiMetaSpec *spec);

/*
 * Copy the meta page.  Raises when the index was written by a version or
 * with features that this library cannot read.  No lock held on entry to or
 * exit from the call.
 */
extern void snii_storage_meta_read(Relation index, SniiMetaPage *meta);

/*
 * Raises when the index has features that this library cannot maintain.
 */
extern void snii_storage_check_writable(Relation index);

/*
 * Meta page locked as asked for and checked; for the other files of this
 * folder.  With BUFFER_LOCK_EXCLUSIVE, write features are checked too.
 */
extern Buffer snii_storage_meta_lock(Relation index, int lockmode);

static inline SniiMetaPage *
snii_storage_meta(Page page)
{
	return (SniiMetaPage *) PageGetContents(page);
}

#endif							/* SNII_STORAGE_META_H */
