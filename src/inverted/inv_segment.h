/*-------------------------------------------------------------------------
 *
 * inv_segment.h
 *	  An open segment of an inverted index, and what reading it cost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_SEGMENT_H
#define SNII_INV_SEGMENT_H

#include "inverted/inv_format.h"
#include "storage/storage_object.h"

typedef struct SniiInvSegment SniiInvSegment;

/* Work done by this backend; never reset here. */
typedef struct SniiInvCounters
{
	uint64		filter_probes;
	uint64		filter_misses;	/* look-ups that the filter answered */
	uint64		dict_pages;		/* dictionary and inner pages pinned */
	uint64		dict_bytes_copied;	/* of keys, by walks; look-ups copy none */
	uint64		windows_decoded;
	uint64		windows_skipped;	/* passed without decoding */
	uint64		position_blocks;	/* decoded */
	uint64		column_groups;	/* of TIDs and lengths, located */
} SniiInvCounters;

extern PGDLLIMPORT SniiInvCounters snii_inv_counters;

extern SniiInvSegment *snii_inv_open(SniiObject *object, uint64 ndocs);
extern void snii_inv_close(SniiInvSegment *seg);
extern const SniiInvHead *snii_inv_head(const SniiInvSegment *seg);
extern SniiObject *snii_inv_object(const SniiInvSegment *seg);

#endif							/* SNII_INV_SEGMENT_H */
