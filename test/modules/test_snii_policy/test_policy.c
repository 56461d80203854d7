/*-------------------------------------------------------------------------
 *
 * test_policy.c
 *	  SQL access to the policy: cases.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_policy.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(policy_tier);
PG_FUNCTION_INFO_V1(policy_merge);
PG_FUNCTION_INFO_V1(policy_debt);
PG_FUNCTION_INFO_V1(policy_urgent);
PG_FUNCTION_INFO_V1(policy_advice);
PG_FUNCTION_INFO_V1(policy_vacuum_flush);
PG_FUNCTION_INFO_V1(policy_side);

/* Elements of an array of bigint without NULLs. */
static Datum *
elements(ArrayType *array, int *n)
{
	Datum	   *values;
	bool	   *nulls;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, n);
	return values;
}

/* Segments from three arrays, the arguments 0 to 2. */
static SniiPolicySegment *
get_segments(FunctionCallInfo fcinfo, int *n)
{
	Datum	   *columns[3];
	int			lengths[3];
	SniiPolicySegment *segments;

	for (int i = 0; i < 3; i++)
		columns[i] = elements(PG_GETARG_ARRAYTYPE_P(i), &lengths[i]);
	*n = lengths[0];
	if (lengths[1] != *n || lengths[2] != *n || *n > SNII_DIR_CAPACITY)
		elog(ERROR, "wrong number of segments");
	segments = palloc0((*n + 1) * sizeof(SniiPolicySegment));
	for (int i = 0; i < *n; i++)
	{
		segments[i].nbytes = (uint64) DatumGetInt64(columns[0][i]);
		segments[i].ndocs = (uint64) DatumGetInt64(columns[1][i]);
		segments[i].ndead = (uint64) DatumGetInt64(columns[2][i]);
	}
	return segments;
}

static Datum
make_row(FunctionCallInfo fcinfo, Datum *values)
{
	bool		nulls[8] = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

Datum
policy_tier(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(snii_lsm_policy_tier(&snii_lsm_policy_default,
										 (uint64) PG_GETARG_INT64(0)));
}

Datum
policy_merge(PG_FUNCTION_ARGS)
{
	int			n;
	SniiPolicySegment *segments = get_segments(fcinfo, &n);
	SniiPolicyMerge merge = snii_lsm_policy_merge(&snii_lsm_policy_default, segments, n,
												  (uint64) PG_GETARG_INT64(3));

	if (merge.n == 0)
		PG_RETURN_TEXT_P(cstring_to_text("none"));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%d..%d", merge.first + 1,
											  merge.first + merge.n)));
}

Datum
policy_debt(PG_FUNCTION_ARGS)
{
	int			n;
	SniiPolicySegment *segments = get_segments(fcinfo, &n);
	int			nleft;
	Datum		values[2];

	values[0] = Int64GetDatum((int64) snii_lsm_policy_debt(&snii_lsm_policy_default,
														   segments, n,
														   &nleft));
	values[1] = Int32GetDatum(nleft);
	PG_RETURN_DATUM(make_row(fcinfo, values));
}

Datum
policy_advice(PG_FUNCTION_ARGS)
{
	SniiPolicyLoad load = {0};
	uint64		limit = (uint64) PG_GETARG_INT64(1);
	SniiPolicyAdvice advice;
	Datum		values[6];

	load.sealed_bytes = (uint64) PG_GETARG_INT64(0);
	load.nsegments = PG_GETARG_INT32(2);
	load.nsettled = PG_GETARG_INT32(3);
	load.nentries = PG_GETARG_INT32(4);
	advice = snii_lsm_policy_advice(&snii_lsm_policy_default, &load, limit, PG_GETARG_BOOL(5));
	values[0] = BoolGetDatum(advice.wake);
	values[1] = BoolGetDatum(advice.help);
	values[2] = BoolGetDatum(advice.help_merge);
	values[3] = Float8GetDatum(advice.sleep_ms);
	values[4] = Int32GetDatum((int32) advice.reason);
	values[5] = BoolGetDatum(snii_lsm_policy_urgent(&snii_lsm_policy_default, &load, limit));
	PG_RETURN_DATUM(make_row(fcinfo, values));
}

Datum
policy_urgent(PG_FUNCTION_ARGS)
{
	SniiPolicyLoad load = {0};

	load.segment_bytes = (uint64) PG_GETARG_INT64(0);
	load.live_bytes = (uint64) PG_GETARG_INT64(1);
	PG_RETURN_BOOL(snii_lsm_policy_urgent(&snii_lsm_policy_default, &load,
										  (uint64) PG_GETARG_INT64(2)));
}

Datum
policy_vacuum_flush(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(snii_lsm_policy_vacuum_flush((uint64) PG_GETARG_INT64(0),
												(uint64) PG_GETARG_INT64(1),
												(uint64) PG_GETARG_INT64(2)));
}

Datum
policy_side(PG_FUNCTION_ARGS)
{
	SniiPolicySegment segment;

	segment.nbytes = (uint64) PG_GETARG_INT64(0);
	segment.ndocs = (uint64) PG_GETARG_INT64(1);
	segment.ndead = (uint64) PG_GETARG_INT64(2);
	PG_RETURN_BOOL(snii_lsm_policy_side(&segment,
										(uint64) PG_GETARG_INT64(3)));
}
