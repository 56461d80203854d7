/*-------------------------------------------------------------------------
 *
 * am_key_parallel.h
 *	  Scans of key indexes by several processes: who reads what.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_PARALLEL_H
#define SNII_AM_KEY_PARALLEL_H

#include "am/am_key_array.h"
#include "key/key_split.h"

#include "access/relscan.h"

/* For amestimateparallelscan, aminitparallelscan and amparallelrescan. */
extern Size snii_am_key_parallel_size(void);
extern void snii_am_key_parallel_init(void *shared);
extern void snii_am_key_parallel_reset(void *shared);

/*
 * What a participant was given: combinations of elements by number, in the
 * direction of the scan, and, if it is one only, what of its interval.
 */
typedef struct SniiKeyPart
{
	uint64		begin;
	uint64		end;			/* behind the last combination */
	SniiKeyBytes from;			/* border where it begins; none if empty */
	SniiKeyBytes to;			/* and where it ends */
} SniiKeyPart;

/*
 * Begin to take a part: false if nothing is left.  If it is true, *part has
 * one combination and the rest of its interval, and the others wait for one of
 * the two calls below, which may but make it smaller: by an end of the
 * interval (appended to part->to), or have it reach up to a later combination.
 * total: number of combinations.  Bytes are in the memory context that they were
 * first in.
 */
extern bool snii_am_key_part_begin(IndexScanDesc scan, uint64 total,
								   SniiKeyPart *part);
extern void snii_am_key_part_end(IndexScanDesc scan, const SniiKeyPart *part);

/* Cut an interval to the part. */
extern void snii_am_key_part_cut(const SniiKeyPart *part, ScanDirection dir,
								 SniiKeyInterval *interval);

#endif							/* SNII_AM_KEY_PARALLEL_H */
