/*-------------------------------------------------------------------------
 *
 * inv_dict_writer.h
 *	  Writer of the dictionary of a segment: blocks, inner nodes, filter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_DICT_WRITER_H
#define SNII_INV_DICT_WRITER_H

#include "inverted/inv_format.h"
#include "memory/mem_reporter.h"
#include "storage/storage_object.h"

typedef struct SniiInvDictWriter SniiInvDictWriter;

/* What the entry of a term says, besides its key. */
typedef struct SniiInvEntry
{
	SniiInvForm form;
	uint64		n;				/* document if SINGLE, else df */
	uint64		extra;			/* ttf - df; not SINGLE */
	uint64		docs;			/* DOCS offset; SLIM, WINDOWED */
	uint64		docs_len;		/* window, or super-blocks; not SINGLE */
	uint32		table_len;		/* WINDOWED */
	uint64		positions;		/* POSITIONS offset; SLIM, WINDOWED */
	uint64		positions_len;	/* not SINGLE */
	const uint8 *body;			/* SINGLE, INLINE: the end of the entry */
	uint32		body_len;
} SniiInvEntry;

extern SniiInvDictWriter *snii_inv_dict_writer_begin(SniiObjectWriter *w,
													 bool filter);
extern void snii_inv_dict_writer_key(SniiInvDictWriter *dw, int column,
									 int kind, const uint8 *bytes,
									 uint32 len);
extern void snii_inv_dict_writer_entry(SniiInvDictWriter *dw,
									   const SniiInvEntry *entry);
extern void snii_inv_dict_writer_account(SniiInvDictWriter *dw,
										 SniiMemReporter *mem);
extern void snii_inv_dict_writer_finish(SniiInvDictWriter *dw,
										SniiInvHead *head);

#endif							/* SNII_INV_DICT_WRITER_H */
