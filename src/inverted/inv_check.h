/*-------------------------------------------------------------------------
 *
 * inv_check.h
 *	  Verify segments and buffer records of an inverted index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_CHECK_H
#define SNII_INV_CHECK_H

#include "lsm/lsm_kind.h"

extern void snii_inv_kind_check_segment(Relation index, SniiObject *object,
										uint64 ndocs, const uint8 *marks);
extern void snii_inv_kind_check_record(Relation index,
									   const SniiRecord *record);

#endif							/* SNII_INV_CHECK_H */
