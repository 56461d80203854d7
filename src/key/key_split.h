/*-------------------------------------------------------------------------
 *
 * key_split.h
 *	  Intervals in parts, for scans by several processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_SPLIT_H
#define SNII_KEY_SPLIT_H

#include "key/key_desc.h"
#include "lsm/lsm_view.h"

#include "access/sdir.h"

typedef struct SniiKeySplitter SniiKeySplitter;

/* In the current memory context; as long as the view, and without pins. */
extern SniiKeySplitter *snii_key_splitter_begin(Relation index,
												const SniiKeyDesc *desc,
												const SniiView *view);

/*
 * Take a part off the end where a scan of that direction begins.  The border,
 * appended to the bytes, is a position before an entry (SniiKeyPos.after
 * false) and strictly between lower and upper.  False: the interval is so
 * small that it is one part.
 *
 * How large a part is depends on what is left of the interval, so that the last
 * ones are small.  The border is as good in any other view as in this one.
 */
extern bool snii_key_split(SniiKeySplitter *s, const SniiKeyPos *lower,
						   const SniiKeyPos *upper, ScanDirection dir,
						   SniiKeyBytes *border);

#endif							/* SNII_KEY_SPLIT_H */
