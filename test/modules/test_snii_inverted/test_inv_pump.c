/*-------------------------------------------------------------------------
 *
 * test_inv_pump.c
 *	  Encoded postings from outside: what the pump makes of any bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "inverted/inv_dict.h"
#include "inverted/inv_pump.h"
#include "inverted/inv_segment.h"
#include "storage/storage_alloc.h"
#include "text/text_analyzer.h"
#include "test_inv.h"

PG_FUNCTION_INFO_V1(test_inv_pump);

#define DOCS	100

/*
 * One term with one fragment of these bytes, given in pieces of that size;
 * documents count from 10.  Returns "malformed", or documents and tokens.
 */
Datum
test_inv_pump(PG_FUNCTION_ARGS)
{
	const uint8 analyzers[1] = {SNII_ANALYZER_STANDARD};
	Relation	rel = test_inv_open(PG_GETARG_OID(0), 1, analyzers);
	bytea	   *bytes = PG_GETARG_BYTEA_PP(1);
	int			piece = PG_GETARG_INT32(2);
	int			len = VARSIZE_ANY_EXHDR(bytes);
	SniiObjectWriter *w = snii_storage_writer_begin(rel, SNII_SLOT_FLUSH);
	SniiInvWriter *iw = snii_inv_writer_begin(rel, w, 1, analyzers, 1);
	uint32		lengths[1] = {10};
	bool		nulls[1] = {false};
	ItemPointerData tid;
	SniiInvPump pump;
	bool		good = true;
	const char *result = "malformed";

	for (int i = 0; i < DOCS; i++)
	{
		ItemPointerSet(&tid, 1, i + 1);
		snii_inv_writer_doc(iw, &tid, lengths, nulls);
	}
	snii_inv_pump_init(&pump, iw);
	snii_inv_pump_term(&pump, 0, 0, (const uint8 *) "term", 4);
	snii_inv_pump_fragment(&pump, 10);
	for (int at = 0; good && at < len; at += piece)
	{
		int			n = Min(piece, len - at);
		uint8	   *copy = palloc(n);	/* so that tools see its end */

		memcpy(copy, VARDATA_ANY(bytes) + at, n);
		good = snii_inv_pump_bytes(&pump, copy, n);
		pfree(copy);
	}
	if (good && snii_inv_pump_end_fragment(&pump))
	{
		SniiObjectRef ref;
		SniiInvSegment *seg;
		SniiInvTerm term;

		snii_inv_pump_end_term(&pump);
		snii_inv_writer_finish(iw);
		snii_storage_writer_finish(w, &ref);
		seg = snii_inv_open(snii_storage_object_open(rel, ref.id,
													 ref.list_head), DOCS);
		CHECK(snii_inv_lookup(seg, 0, 0, "term", 4, &term), "no term");
		result = psprintf(UINT64_FORMAT " documents, " UINT64_FORMAT " tokens",
						  term.df, term.ttf);
		snii_inv_term_release(&term);
		snii_inv_close(seg);
	}
	test_inv_close(rel);
	PG_RETURN_TEXT_P(cstring_to_text(result));
}
