/*-------------------------------------------------------------------------
 *
 * test_inv_live.c
 *	  Statistics of live documents, of a real index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "inverted/inv_live.h"
#include "lsm/lsm_side.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(test_inv_live);
PG_FUNCTION_INFO_V1(test_inv_lists);

/*
 * test_inv_live(index, column, term): what is alive of the term and of the
 * column.
 */
Datum
test_inv_live(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	int			column = PG_GETARG_INT32(1) - 1;
	char	   *term = text_to_cstring(PG_GETARG_TEXT_PP(2));
	SniiInvTermRef refs[2] = {{0, "no such term", 12}, {0, term}};
	SniiView   *view = snii_lsm_view(index, false);
	SniiInvAlive of_terms[2];
	SniiInvAlive of_column;
	Datum		values[4];
	bool		nulls[4] = {0};
	TupleDesc	desc;

	refs[1].len = (uint32) strlen(term);
	snii_inv_live(index, view, column, refs, 2, of_terms, &of_column);
	if (of_terms[0].ndocs != 0 || of_terms[0].ntokens != 0)
		elog(ERROR, "a term that does not exist has documents");
	snii_lsm_view_release(view);
	index_close(index, AccessShareLock);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Float8GetDatum(of_terms[1].ndocs);
	values[1] = Float8GetDatum(of_terms[1].ntokens);
	values[2] = Float8GetDatum(of_column.ndocs);
	values[3] = Float8GetDatum(of_column.ntokens);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

/*
 * test_inv_lists(index): dead documents of each segment and those that its
 * side list is of, -1 if it has none.
 */
Datum
test_inv_lists(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index;
	SniiView   *view;

	InitMaterializedSRF(fcinfo, 0);
	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	view = snii_lsm_view(index, false);
	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		SniiSideHead head;
		bool		listed;
		Datum		values[4];
		bool		nulls[4] = {0};

		if (entry->kind != SNII_ENTRY_SEGMENT)
			continue;
		listed = snii_lsm_side_open(index, entry, &head) != NULL;
		values[0] = Int64GetDatum((int64) entry->ndocs);
		values[1] = Int64GetDatum((int64) entry->ndead);
		values[2] = Int64GetDatum(listed ? (int64) head.ndead : -1);
		values[3] = Int64GetDatum((int64) entry->side_pages);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	snii_lsm_view_release(view);
	index_close(index, AccessShareLock);
	return (Datum) 0;
}
