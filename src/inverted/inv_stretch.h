/*-------------------------------------------------------------------------
 *
 * inv_stretch.h
 *	  Index, in memory, of the records of one stretch of the write buffer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_STRETCH_H
#define SNII_INV_STRETCH_H

#include "inverted/inv_spimi.h"
#include "storage/storage_buffer.h"

/* A record that was alive when it was read; they count from 0. */
typedef struct SniiInvStretchRecord
{
	SniiBufferPlace place;
	uint32		nulls;			/* a bit for each column that is NULL */
} SniiInvStretchRecord;

typedef struct SniiInvStretch SniiInvStretch;

/* Occurrences of a term by record, then position. */
typedef struct SniiInvStretchTerm
{
	uint32		record;			/* of the last occurrence that was read */
	uint32		position;
	/* private */
	const SniiSpimi *terms;
	SniiSpimiTerm term;
	int			at;
	int			have;
	uint8		bytes[256];
} SniiInvStretchTerm;

extern SniiInvStretch *snii_inv_stretch_create(int ncolumns);
extern void snii_inv_stretch_destroy(SniiInvStretch *s);
extern bool snii_inv_stretch_catch_up(SniiInvStretch *s, Relation index,
									  const SniiDirEntry *entry,
									  Size *budget);

extern Size snii_inv_stretch_memory(const SniiInvStretch *s);
extern const SniiBufferMark *snii_inv_stretch_mark(const SniiInvStretch *s);
extern const SniiInvStretchRecord *snii_inv_stretch_records(
															const SniiInvStretch *s,
															uint32 *n);

extern bool snii_inv_stretch_find(const SniiInvStretch *s, int column,
								  int kind, const char *bytes, uint32 len,
								  SniiInvStretchTerm *term);
extern bool snii_inv_stretch_next(SniiInvStretchTerm *term);

#endif							/* SNII_INV_STRETCH_H */
