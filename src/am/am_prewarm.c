/*-------------------------------------------------------------------------
 *
 * am_prewarm.c
 *	  SQL function snii_prewarm().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_func.h"
#include "lsm/lsm_prewarm.h"

#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(snii_prewarm);

/*
 * snii_prewarm(index regclass, what text) returns bigint: pages that were
 * read into shared buffers, or were there.
 */
Datum
snii_prewarm(PG_FUNCTION_ARGS)
{
	char	   *what = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool		all = strcmp(what, "all") == 0;
	Relation	heap;
	Relation	index;
	uint64		n;

	if (!all && strcmp(what, "filters") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized parts of an index: \"%s\"", what),
				 errhint("Valid values are \"filters\" and \"all\".")));
	index = snii_am_open_to_inspect(PG_GETARG_OID(0), &heap);
	n = snii_lsm_prewarm(index, all);
	snii_am_close(index, heap);
	PG_RETURN_INT64((int64) n);
}
