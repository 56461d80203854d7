/*-------------------------------------------------------------------------
 *
 * key_check.h
 *	  Verifying runs and records of a key index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_CHECK_H
#define SNII_KEY_CHECK_H

#include "lsm/lsm_kind.h"

/* check_segment and check_record of SniiKind. */
extern void snii_key_check_segment(Relation index, SniiObject *object,
								   uint64 ndocs, const uint8 *marks);
extern void snii_key_check_record(Relation index, const SniiRecord *record);

#endif							/* SNII_KEY_CHECK_H */
