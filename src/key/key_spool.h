/*-------------------------------------------------------------------------
 *
 * key_spool.h
 *	  Sorting entries, in memory as far as it goes and then in files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_SPOOL_H
#define SNII_KEY_SPOOL_H

#include "key/key_stream.h"
#include "memory/mem_reporter.h"

typedef struct SniiKeySpool SniiKeySpool;

typedef struct SniiKeySpoolStats
{
	uint64		entries;
	int			nruns;			/* spills; 0: everything fit in memory */
	int			nforced;		/* of them, those that were asked for */
	uint64		spilled;		/* bytes in temporary files */
	Size		peak;			/* of memory */
} SniiKeySpoolStats;

/*
 * Collect entries in about budget bytes; all columns must be of class BYTES.
 * mem (may be NULL) counts them, and may ask for a spill before its time.
 * Everything is in a memory context of its own below the current one, but for
 * the temporary file, which is the resource owner's.
 */
extern SniiKeySpool *snii_key_spool_begin(const SniiKeyDesc *desc,
										  Size budget, SniiMemReporter *mem);
extern void snii_key_spool_add(SniiKeySpool *spool, const SniiKeyEntry *entry,
							   uint8 tag);

/* No more entries come; sorts what is in memory. */
extern void snii_key_spool_sort(SniiKeySpool *spool);

/* All entries in order, once; the stream ends with the spool. */
extern SniiKeyStream *snii_key_spool_stream(SniiKeySpool *spool);
extern void snii_key_spool_stats(const SniiKeySpool *spool,
								 SniiKeySpoolStats *stats);
extern void snii_key_spool_end(SniiKeySpool *spool);

#endif							/* SNII_KEY_SPOOL_H */
