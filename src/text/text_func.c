/*-------------------------------------------------------------------------
 *
 * text_func.c
 *	  SQL functions that show what analyzers do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "text/text_analyzer.h"
#include "text/text_convert.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#define ANALYZE_COLUMNS		4

PG_FUNCTION_INFO_V1(snii_analyze);

/* Token sink of snii_analyze(): one row in the result for each token. */
static void
put_row(void *arg, const char *bytes, uint32 len, uint32 position,
		uint32 start, uint32 end)
{
	ReturnSetInfo *result = arg;
	Datum		values[ANALYZE_COLUMNS];
	bool		nulls[ANALYZE_COLUMNS] = {false};
	text	   *token = snii_text_convert_to_server(bytes, len);

	values[0] = PointerGetDatum(token);
	values[1] = Int64GetDatum(position);
	values[2] = Int64GetDatum(start);
	values[3] = Int64GetDatum(end);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	pfree(token);
}

/* snii_analyze(analyzer text, document text): the tokens of a document */
Datum
snii_analyze(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text	   *document = PG_GETARG_TEXT_PP(1);
	const SniiAnalyzer *analyzer = snii_text_analyzer_by_name(name);

	if (analyzer == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown analyzer \"%s\"", name),
				 errhint("The analyzers are: %s.",
						 snii_text_analyzer_names())));
	InitMaterializedSRF(fcinfo, 0);
	snii_text_analyze(analyzer, VARDATA_ANY(document),
					  VARSIZE_ANY_EXHDR(document), put_row,
					  fcinfo->resultinfo);
	return (Datum) 0;
}
