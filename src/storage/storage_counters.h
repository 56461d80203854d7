/*-------------------------------------------------------------------------
 *
 * storage_counters.h
 *	  Counters of an index: kept in the meta page, added up in the process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_COUNTERS_H
#define SNII_STORAGE_COUNTERS_H

#include "compat.h"
#include "storage/storage_format.h"

/*
 * Add n to a counter (for SNII_COUNTER_SLEEP_REASON: set it).  Nothing is
 * written: the next record of this process that writes the meta page anyway,
 * when a stretch is sealed or the directory is swapped, takes it along.  What
 * is pending when the process ends is lost.
 */
extern void snii_storage_count(Relation index, int counter, uint64 n);

/* Take along what is pending: meta is a page image of a record in the making. */
extern void snii_storage_counters_publish(Relation index, SniiMetaPage *meta);

#endif							/* SNII_STORAGE_COUNTERS_H */
