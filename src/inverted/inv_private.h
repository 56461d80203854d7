/*-------------------------------------------------------------------------
 *
 * inv_private.h
 *	  Inside of an open segment, for the files of its reader only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_PRIVATE_H
#define SNII_INV_PRIVATE_H

#include "inverted/inv_segment.h"

/* A group of a column array that was located, see inv_columns.c. */
typedef struct SniiInvGroup SniiInvGroup;

struct SniiInvSegment
{
	SniiObject *object;
	Relation	index;
	MemoryContext context;		/* the one current at opening */
	uint64		ndocs;
	SniiStreamReader filter;
	SniiStreamReader directory; /* of the column arrays */
	SniiInvGroup *tids;			/* NULL until used */
	SniiInvGroup *lengths[SNII_MAX_COLUMNS];
	SniiStreamReader nullbytes;
	uint8	   *nulls[SNII_MAX_COLUMNS];	/* whole bitmaps, if asked for */
	SniiInvHead head;
};

/* Groups of a column array of the segment. */
static inline uint64
snii_inv_ngroups(uint64 ndocs)
{
	return (ndocs + SNII_INV_GROUP - 1) / SNII_INV_GROUP;
}

/* Block that a reader has pinned, for messages. */
static inline BlockNumber
snii_inv_reader_block(const SniiStreamReader *r)
{
	return BufferIsValid(r->buffer) ? BufferGetBlockNumber(r->buffer) :
		InvalidBlockNumber;
}

/* Release what inv_columns.c keeps for a segment. */
extern void snii_inv_columns_close(SniiInvSegment *seg);

#endif							/* SNII_INV_PRIVATE_H */
