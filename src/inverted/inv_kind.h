/*-------------------------------------------------------------------------
 *
 * inv_kind.h
 *	  The inverted index as a kind of the LSM machinery.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_KIND_H
#define SNII_INV_KIND_H

#include "lsm/lsm_kind.h"

extern void snii_inv_kind_tids(Relation index, SniiObject *object,
							   uint64 ndocs, SniiTidSink sink, void *arg);
extern void snii_inv_kind_register(void);

#endif							/* SNII_INV_KIND_H */
