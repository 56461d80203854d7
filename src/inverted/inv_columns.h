/*-------------------------------------------------------------------------
 *
 * inv_columns.h
 *	  TIDs, lengths and NULLs of the documents of a segment.
 *
 * Any order of documents works; ascending order is the fast one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_COLUMNS_H
#define SNII_INV_COLUMNS_H

#include "inverted/inv_segment.h"

#include "storage/itemptr.h"

extern void snii_inv_tid(SniiInvSegment *seg, uint32 doc, ItemPointer tid);
extern void snii_inv_tids(SniiInvSegment *seg, const uint32 *docs, int n,
						  ItemPointerData *out);
extern uint32 snii_inv_length(SniiInvSegment *seg, int column, uint32 doc);
extern bool snii_inv_is_null(SniiInvSegment *seg, int column, uint32 doc);
extern const uint8 *snii_inv_nulls(SniiInvSegment *seg, int column);

#endif							/* SNII_INV_COLUMNS_H */
