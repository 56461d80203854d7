/*-------------------------------------------------------------------------
 *
 * inv_writer.h
 *	  The one writer of inverted segments: build, flush and merge share it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_WRITER_H
#define SNII_INV_WRITER_H

#include "inverted/inv_format.h"
#include "memory/mem_reporter.h"
#include "storage/storage_object.h"

typedef struct SniiInvWriter SniiInvWriter;

extern SniiInvWriter *snii_inv_writer_begin(Relation index,
											SniiObjectWriter *w,
											int ncolumns,
											const uint8 *analyzers,
											uint64 expected_terms);

/* Count the memory of the writer there, until it is finished. */
extern void snii_inv_writer_account(SniiInvWriter *iw, SniiMemReporter *mem);

/* Bytes that grow with the documents, in use. */
extern Size snii_inv_writer_memory(const SniiInvWriter *iw);

/* ---------------- documents ---------------- */

extern void snii_inv_writer_doc(SniiInvWriter *iw, const ItemPointerData *tid,
								const uint32 *lengths, const bool *nulls);

/* ---------------- terms and postings ---------------- */

extern void snii_inv_writer_term(SniiInvWriter *iw, int column, int kind,
								 const uint8 *bytes, uint32 len);
extern void snii_inv_writer_posting(SniiInvWriter *iw, uint32 doc);
extern void snii_inv_writer_position(SniiInvWriter *iw, uint32 position);
extern void snii_inv_writer_positions(SniiInvWriter *iw,
									  const uint32 *positions, uint32 n);

extern uint64 snii_inv_writer_finish(SniiInvWriter *iw);

#endif							/* SNII_INV_WRITER_H */
