/*-------------------------------------------------------------------------
 *
 * lsm_buffer.h
 *	  The write buffer: inserting records and reading them back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_BUFFER_H
#define SNII_LSM_BUFFER_H

#include "lsm/lsm_kind.h"
#include "storage/storage_buffer.h"

/*
 * Insert a record: visible to everybody when this returns.  May flush the
 * buffer and merge small segments on behalf of everybody, in bounds.  heap
 * may be NULL.  No lock may be held but those of an ordinary insertion.
 */
extern void snii_lsm_insert(Relation index, Relation heap,
							const ItemPointerData *tid, const uint8 *data,
							size_t len);

typedef struct SniiBufferScan SniiBufferScan;

/*
 * Read the live records of a stretch of a view, in order.  No lock is held
 * between calls; data of a record is valid until the next call.
 */
extern SniiBufferScan *snii_lsm_buffer_scan(Relation index,
											const SniiDirEntry *stretch);

/* The same without those that a mark covers.  It is copied. */
extern SniiBufferScan *snii_lsm_buffer_rest(Relation index,
											const SniiDirEntry *stretch,
											const SniiBufferMark *mark);
extern bool snii_lsm_buffer_next(SniiBufferScan *scan, SniiRecord *record);
extern void snii_lsm_buffer_end(SniiBufferScan *scan);

#endif							/* SNII_LSM_BUFFER_H */
