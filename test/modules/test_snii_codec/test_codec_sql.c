/*-------------------------------------------------------------------------
 *
 * test_codec_sql.c
 *	  The codecs as SQL functions, to pin bytes and values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "codec/codec_bloom.h"
#include "codec/codec_column.h"
#include "codec/codec_impact.h"
#include "codec/codec_length.h"
#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"

PG_FUNCTION_INFO_V1(codec_varint_put);
PG_FUNCTION_INFO_V1(codec_pfor_encode);
PG_FUNCTION_INFO_V1(codec_pfor_decode);
PG_FUNCTION_INFO_V1(codec_column_encode);
PG_FUNCTION_INFO_V1(codec_column_decode);
PG_FUNCTION_INFO_V1(codec_bloom_block);
PG_FUNCTION_INFO_V1(codec_length_code);
PG_FUNCTION_INFO_V1(codec_length_decode);
PG_FUNCTION_INFO_V1(codec_impact_put);
PG_FUNCTION_INFO_V1(codec_impact_get);

static bytea *
make_bytea(const uint8 *bytes, size_t size)
{
	bytea	   *result = palloc(VARHDRSZ + size);

	SET_VARSIZE(result, VARHDRSZ + size);
	memcpy(VARDATA(result), bytes, size);
	return result;
}

/* The elements of a bigint array; an error unless there are 1 to max. */
static int64 *
array_values(ArrayType *array, int max, int *n)
{
	Datum	   *elements;
	int64	   *values;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &elements, NULL, n);
	if (*n < 1 || *n > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array must have 1 to %d elements", max)));
	values = palloc(*n * sizeof(int64));
	for (int i = 0; i < *n; i++)
		values[i] = DatumGetInt64(elements[i]);
	return values;
}

static uint32 *
array_values32(ArrayType *array, int max, int *n)
{
	int64	   *wide = array_values(array, max, n);
	uint32	   *values = palloc(*n * sizeof(uint32));

	for (int i = 0; i < *n; i++)
		values[i] = (uint32) wide[i];
	return values;
}

static ArrayType *
make_array(const uint32 *values, int n)
{
	Datum	   *elements = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
		elements[i] = Int64GetDatum(values[i]);
	return construct_array(elements, n, INT8OID, sizeof(int64),
						   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

Datum
codec_varint_put(PG_FUNCTION_ARGS)
{
	uint8		bytes[SNII_VARINT64_MAX];
	uint8	   *end = snii_codec_put_varint64(bytes, PG_GETARG_INT64(0));

	PG_RETURN_BYTEA_P(make_bytea(bytes, end - bytes));
}

Datum
codec_pfor_encode(PG_FUNCTION_ARGS)
{
	uint8		bytes[SNII_PFOR_MAX_BYTES];
	int			n;
	uint32	   *v = array_values32(PG_GETARG_ARRAYTYPE_P(0),
								   SNII_PFOR_BLOCK, &n);

	PG_RETURN_BYTEA_P(make_bytea(bytes, snii_codec_pfor_encode(v, n, bytes)));
}

Datum
codec_pfor_decode(PG_FUNCTION_ARGS)
{
	bytea	   *input = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(input);
	int			n = PG_GETARG_INT32(1);
	uint32		out[SNII_PFOR_BLOCK];

	if (!snii_codec_pfor_decode(p, p + VARSIZE_ANY_EXHDR(input), n, out))
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(make_array(out, n));
}

Datum
codec_column_encode(PG_FUNCTION_ARGS)
{
	uint8		bytes[SNII_COLUMN_MAX_BYTES];
	int			n;
	uint32	   *v = array_values32(PG_GETARG_ARRAYTYPE_P(0),
								   SNII_COLUMN_GROUP, &n);

	PG_RETURN_BYTEA_P(make_bytea(bytes,
								 snii_codec_column_encode(v, n, bytes)));
}

Datum
codec_column_decode(PG_FUNCTION_ARGS)
{
	bytea	   *input = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(input);
	int			n = PG_GETARG_INT32(1);
	uint32		out[SNII_COLUMN_GROUP];

	if (!snii_codec_column_decode(p, p + VARSIZE_ANY_EXHDR(input), n, out))
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(make_array(out, n));
}

Datum
codec_bloom_block(PG_FUNCTION_ARGS)
{
	uint8		block[SNII_BLOOM_BLOCK_BYTES] = {0};
	int			n;
	int64	   *hashes = array_values(PG_GETARG_ARRAYTYPE_P(0), 1000, &n);

	for (int i = 0; i < n; i++)
		snii_codec_bloom_add(block, (uint64) hashes[i]);
	PG_RETURN_BYTEA_P(make_bytea(block, sizeof(block)));
}

Datum
codec_length_code(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(snii_codec_length_code((uint32) PG_GETARG_INT64(0)));
}

Datum
codec_length_decode(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(snii_codec_length_decode((uint8) PG_GETARG_INT32(0)));
}

Datum
codec_impact_put(PG_FUNCTION_ARGS)
{
	uint8		bytes[SNII_IMPACT_MAX_BYTES];
	SniiImpacts impacts;
	int			n;
	int			nlen;
	uint32	   *freq = array_values32(PG_GETARG_ARRAYTYPE_P(0), 1000, &n);
	uint32	   *len = array_values32(PG_GETARG_ARRAYTYPE_P(1), 1000, &nlen);

	snii_codec_impact_reset(&impacts);
	for (int i = 0; i < Min(n, nlen); i++)
		snii_codec_impact_add(&impacts, freq[i], (uint8) len[i]);
	PG_RETURN_BYTEA_P(make_bytea(bytes,
								 snii_codec_impact_put(bytes, &impacts) -
								 bytes));
}

/* Frequency and length code of each pair in turn; NULL when malformed. */
Datum
codec_impact_get(PG_FUNCTION_ARGS)
{
	bytea	   *input = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(input);
	SniiImpacts impacts;
	uint32		values[2 * SNII_IMPACT_MAX];

	if (!snii_codec_impact_get(&p, p + VARSIZE_ANY_EXHDR(input), &impacts))
		PG_RETURN_NULL();
	for (int i = 0; i < impacts.n; i++)
	{
		values[2 * i] = impacts.freq[i];
		values[2 * i + 1] = impacts.len[i];
	}
	PG_RETURN_ARRAYTYPE_P(make_array(values, 2 * impacts.n));
}
