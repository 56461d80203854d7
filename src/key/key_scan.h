/*-------------------------------------------------------------------------
 *
 * key_scan.h
 *	  Entries of a key index in order: runs and write buffer together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_SCAN_H
#define SNII_KEY_SCAN_H

#include "key/key_desc.h"
#include "lsm/lsm_view.h"

#include "access/sdir.h"

typedef struct SniiKeyScan SniiKeyScan;

/*
 * Begin to read a view, which must outlive the scan.  Everything is in the
 * current memory context; pins are let go of by snii_key_scan_end().
 */
extern SniiKeyScan *snii_key_scan_begin(Relation index,
										const SniiKeyDesc *desc,
										const SniiView *view);

/*
 * Restrict the scan to what is between two positions, whose bytes must stay
 * where they are.  point: both are the same whole key.  sources: which
 * entries of the view are read.
 */
typedef enum SniiKeySources
{
	SNII_KEY_ALL,
	SNII_KEY_CLOSED				/* without the open stretch */
} SniiKeySources;

extern void snii_key_scan_set(SniiKeyScan *scan, const SniiKeyPos *lower,
							  const SniiKeyPos *upper, bool point,
							  SniiKeySources sources);

/*
 * Next entry that is not marked dead; NULL at the end of the interval, from
 * where the other direction leads back.  Valid until the next call.  The
 * direction may change at any time.
 */
extern const SniiKeyEntry *snii_key_scan_next(SniiKeyScan *scan,
											  ScanDirection dir);

/* Go on behind (forward) or before (backward) an entry of this string. */
extern void snii_key_scan_restore(SniiKeyScan *scan, const uint8 *str,
								  uint32 len);

extern void snii_key_scan_end(SniiKeyScan *scan);

#endif							/* SNII_KEY_SCAN_H */
