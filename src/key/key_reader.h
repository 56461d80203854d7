/*-------------------------------------------------------------------------
 *
 * key_reader.h
 *	  The entries of a run from the first to the last, each page once.
 *
 * For merges and VACUUM: reads ahead, polls for interrupts, verifies order
 * and numbers as it goes, and allocates nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_READER_H
#define SNII_KEY_READER_H

#include "key/key_page.h"
#include "storage/storage_object.h"

typedef struct SniiKeyReader
{
	SniiObject *object;
	uint64		nentries;
	uint64		next;			/* ordinal of the entry behind the one at hand */
	uint32		shared;			/* by the entry at hand with the one before */
	uint32		npages;
	uint32		pageno;			/* page behind the one at hand */
	uint32		ahead;			/* pages asked for so far */
	Buffer		buffer;
	SniiKeyPageReader page;		/* the entry at hand */
} SniiKeyReader;

/* Begin; no entry is at hand yet.  nentries is the directory's. */
extern void snii_key_reader_init(SniiKeyReader *r, const SniiKeyDesc *desc,
								 SniiObject *object, uint64 nentries);

/*
 * To the next entry; false at the end, when nothing is pinned any more: not
 * to be called again then.  An entry that is not greater than the one before
 * raises ERRCODE_INDEX_CORRUPTED; unless all columns are of class BYTES, only
 * an equal string is noticed.
 */
extern bool snii_key_reader_next(SniiKeyReader *r);

/* Let go of the pin before the end. */
extern void snii_key_reader_close(SniiKeyReader *r);

/* Ordinal of the entry at hand. */
static inline uint64
snii_key_reader_ordinal(const SniiKeyReader *r)
{
	return r->next - 1;
}

#endif							/* SNII_KEY_READER_H */
