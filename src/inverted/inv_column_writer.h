/*-------------------------------------------------------------------------
 *
 * inv_column_writer.h
 *	  Writer of the COLUMNS stream: TIDs, lengths and NULLs of documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_COLUMN_WRITER_H
#define SNII_INV_COLUMN_WRITER_H

#include "inverted/inv_format.h"
#include "memory/mem_reporter.h"
#include "storage/storage_object.h"

typedef struct SniiInvColumnWriter SniiInvColumnWriter;

extern SniiInvColumnWriter *snii_inv_column_writer_begin(SniiObjectWriter *w,
														 int ncolumns);
extern void snii_inv_column_writer_account(SniiInvColumnWriter *cw,
										   SniiMemReporter *mem);
extern Size snii_inv_column_writer_memory(const SniiInvColumnWriter *cw);
extern void snii_inv_column_writer_doc(SniiInvColumnWriter *cw,
									   const ItemPointerData *tid,
									   const uint32 *lengths,
									   const bool *nulls);
extern uint64 snii_inv_column_writer_ndocs(const SniiInvColumnWriter *cw);
extern const uint8 *snii_inv_column_writer_codes(const SniiInvColumnWriter *cw,
												 int column);
extern void snii_inv_column_writer_finish(SniiInvColumnWriter *cw,
										  SniiInvHead *head);

#endif							/* SNII_INV_COLUMN_WRITER_H */
