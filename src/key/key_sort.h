/*-------------------------------------------------------------------------
 *
 * key_sort.h
 *	  Sorting entries in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_SORT_H
#define SNII_KEY_SORT_H

#include "key/key_stream.h"
#include "memory/mem_reporter.h"

typedef struct SniiKeySort SniiKeySort;

/*
 * Collect entries, up to budget bytes in all with what the sort itself needs
 * (but the first entry always fits).  Everything is in a memory context of its
 * own below the current one, and counted by the reporter (may be NULL).
 */
extern SniiKeySort *snii_key_sort_begin(const SniiKeyDesc *desc, Size budget,
										SniiMemReporter *mem);

/* Copy an entry, and a byte of the caller's; false: the budget is spent. */
extern bool snii_key_sort_add(SniiKeySort *sort, const SniiKeyEntry *entry,
							  uint8 tag);
extern uint64 snii_key_sort_count(const SniiKeySort *sort);

/* Bytes that it takes, with what the sort itself needs. */
extern Size snii_key_sort_memory(const SniiKeySort *sort);

/* Sort; then snii_key_sort_get() gives them in order, and so does a stream. */
extern void snii_key_sort_perform(SniiKeySort *sort);
extern void snii_key_sort_get(const SniiKeySort *sort, uint64 i,
							  SniiKeyEntry *entry, uint8 *tag);
extern SniiKeyStream *snii_key_sort_stream(const SniiKeySort *sort);
extern void snii_key_sort_end(SniiKeySort *sort);

#endif							/* SNII_KEY_SORT_H */
