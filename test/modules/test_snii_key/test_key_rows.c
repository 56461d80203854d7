/*-------------------------------------------------------------------------
 *
 * test_key_rows.c
 *	  Encoded rows against the comparison functions of their types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "test_key.h"

#include "access/genam.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(test_key_rows);
PG_FUNCTION_INFO_V1(test_key_damage);

/* Order of the rows as SQL has it. */
typedef struct Truth
{
	const SniiKeyDesc *desc;
	FmgrInfo	compare[INDEX_MAX_KEYS];
} Truth;

static void
init_truth(const TestRows *rows, bool own_order, Truth *truth)
{
	truth->desc = rows->desc;
	for (int i = 0; i < rows->desc->nkeys; i++)
	{
		Oid			type = TupleDescAttr(rows->desc->tupdesc, i)->atttypid;

		if (own_order)
			fmgr_info_copy(&truth->compare[i],
						   index_getprocinfo(rows->index, i + 1,
											 SNII_KEY_COMPARE_PROC),
						   CurrentMemoryContext);
		else
			truth->compare[i] =
				lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
	}
}

static int
true_order(Truth *truth, const TestRow *a, const TestRow *b, int ncolumns)
{
	for (int i = 0; i < ncolumns; i++)
	{
		const SniiKeyColumn *col = &truth->desc->columns[i];
		int			cmp;

		if (a->isnull[i] || b->isnull[i])
		{
			cmp = (int) a->isnull[i] - (int) b->isnull[i];
			if (col->nulls_first)
				cmp = -cmp;
		}
		else
		{
			cmp = DatumGetInt32(FunctionCall2Coll(&truth->compare[i],
												  col->collation, a->values[i],
												  b->values[i]));
			cmp = (cmp > 0) - (cmp < 0);
			if (col->desc)
				cmp = -cmp;
		}
		if (cmp != 0)
			return cmp;
	}
	return 0;
}

static int
sign(int n)
{
	return (n > 0) - (n < 0);
}

static void
fail(const TestRow *a, const TestRow *b, const char *what, int got, int want)
{
	elog(ERROR, "%s of (%u,%u) and (%u,%u): %d, not %d", what,
		 ItemPointerGetBlockNumber(&a->tid),
		 ItemPointerGetOffsetNumber(&a->tid),
		 ItemPointerGetBlockNumber(&b->tid),
		 ItemPointerGetOffsetNumber(&b->tid), got, want);
}

/* A row by itself: its string is sound and gives back what was stored. */
static void
check_row(const TestRows *rows, const TestRow *row)
{
	const SniiKeyDesc *desc = rows->desc;
	SniiKeyEntry entry = {row->str, row->len, row->payload, row->payload_len};
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;
	bool		any_null = false;

	if (!snii_key_valid(desc, row->str, row->len))
		fail(row, row, "valid", 0, 1);
	if (desc->fixed_len > 0 && row->len != desc->fixed_len)
		fail(row, row, "length", row->len, desc->fixed_len);
	snii_key_get_tid(&entry, &tid);
	if (!ItemPointerEquals(&tid, unconstify(ItemPointerData *, &row->tid)))
		fail(row, row, "TID", 0, 1);
	snii_key_decode(rows->index, desc, &entry, values, isnull);
	for (int i = 0; i < desc->nattrs; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc->tupdesc, i);

		if (isnull[i] != row->isnull[i] ||
			(!isnull[i] && !datum_image_eq(values[i], row->values[i],
										   att->attbyval, att->attlen)))
			elog(ERROR, "column %d of (%u,%u) is not what was stored", i + 1,
				 ItemPointerGetBlockNumber(&row->tid),
				 ItemPointerGetOffsetNumber(&row->tid));
		any_null |= i < desc->nkeys && isnull[i];
	}
	if (snii_key_has_null(desc, row->str, row->len) != any_null)
		fail(row, row, "has_null with TID", !any_null, any_null);
	if (snii_key_has_null(desc, row->str, row->len - SNII_KEY_TID_BYTES) !=
		any_null)
		fail(row, row, "has_null", !any_null, any_null);
}

static void
check_pair(Truth *truth, const TestRow *a, const TestRow *b)
{
	const SniiKeyDesc *desc = truth->desc;
	uint32		alen = a->len - SNII_KEY_TID_BYTES;
	uint32		blen = b->len - SNII_KEY_TID_BYTES;
	int			want = true_order(truth, a, b, desc->nkeys);
	int			got = snii_key_compare_keys(desc, a->str, a->len, b->str,
											b->len);

	if (sign(got) != want)
		fail(a, b, "order of keys", got, want);
	if (snii_key_equal(desc, a->str, alen, b->str, blen) != (want == 0))
		fail(a, b, "equality", want != 0, want == 0);
	if (want == 0 && snii_key_hash(desc, a->str, alen) !=
		snii_key_hash(desc, b->str, blen))
		fail(a, b, "hashes", 1, 0);
	if (want == 0)
		want = ItemPointerCompare(unconstify(ItemPointerData *, &a->tid),
								  unconstify(ItemPointerData *, &b->tid));
	got = snii_key_compare(desc, a->str, a->len, b->str, b->len);
	if (sign(got) != sign(want))
		fail(a, b, "order", got, want);
}

/* A row against the positions that are prefixes of another one. */
static void
check_positions(Truth *truth, const TestRow *row, const TestRow *of)
{
	const SniiKeyDesc *desc = truth->desc;
	SniiKeyPos	pos = {of->str, 0, false};

	for (int i = 0; i <= desc->nkeys; i++)
	{
		int			order = true_order(truth, row, of, i);

		for (int after = 0; after < 2; after++)
		{
			int			got;
			int			want = order != 0 ? order : after ? -1 : 1;

			pos.after = after;
			got = snii_key_compare_pos(desc, row->str, row->len, &pos);
			if (sign(got) != want)
				fail(row, of, after ? "side of position behind" :
					 "side of position before", got, want);
			if (i == desc->nkeys)
				continue;

			/* The first byte of the next column: NULL or not. */
			pos.len++;
			if (order == 0 && row->isnull[i] != of->isnull[i])
				want = row->isnull[i] == desc->columns[i].nulls_first ? -1 : 1;
			got = snii_key_compare_pos(desc, row->str, row->len, &pos);
			if (sign(got) != want)
				fail(row, of, "side of position of NULLs", got, want);
			pos.len--;
		}
		if (i < desc->nkeys)
			pos.len = snii_key_column_end(&desc->columns[i], of->str, pos.len,
										  of->len);
	}
}

/* What parts two neighbours, and on which side of positions it is. */
static void
check_separator(Truth *truth, const TestRow *left, const TestRow *right,
				const TestRow *other)
{
	const SniiKeyDesc *desc = truth->desc;
	SniiKeyBytes sep = {0};
	SniiKeyPos	pos;

	snii_key_separator(desc, left->str, left->len, right->str, right->len,
					   &sep);
	if (snii_key_compare(desc, left->str, left->len, sep.data, sep.len) >= 0)
		fail(left, right, "left and separator", 0, -1);
	if (snii_key_compare(desc, sep.data, sep.len, right->str, right->len) > 0)
		fail(left, right, "separator and right", 1, 0);
	if (sep.len > right->len)
		fail(left, right, "length of separator", sep.len, right->len);
	for (int cut = 0; cut < 4; cut++)
	{
		int			of_left;
		int			of_sep;
		int			of_right;

		pos.bytes = other->str;
		pos.len = cut < 2 ? other->len : other->len - SNII_KEY_TID_BYTES;
		pos.after = cut % 2;
		of_left = sign(snii_key_compare_pos(desc, left->str, left->len, &pos));
		of_sep = sign(snii_key_compare_pos(desc, sep.data, sep.len, &pos));
		of_right = sign(snii_key_compare_pos(desc, right->str, right->len,
											 &pos));
		if (of_left > of_sep)
			fail(left, right, "side of separator", of_sep, of_left);
		if (of_sep > of_right)
			fail(left, right, "side of separator", of_sep, of_right);
	}
}

static int
by_string(const void *a, const void *b, void *desc)
{
	const TestRow *left = a;
	const TestRow *right = b;

	return snii_key_compare(desc, left->str, left->len, right->str,
							right->len);
}

static const TestRow *
any_row(const TestRows *rows, pg_prng_state *prng)
{
	return &rows->rows[pg_prng_uint64_range(prng, 0, rows->nrows - 1)];
}

static int
by_hash(const void *a, const void *b)
{
	uint64		left = *(const uint64 *) a;
	uint64		right = *(const uint64 *) b;

	return (left > right) - (left < right);
}

/*
 * Different keys have different hashes, unless there is no hash function.
 * PostgreSQL's for numeric has one for x and -x, and more of the kind.
 */
static void
check_hashes(Truth *truth, const TestRows *rows)
{
	uint64	   *hashes = palloc(rows->nrows * sizeof(uint64));
	int			keys = 0;
	int			different = 0;
	bool		weak = false;

	for (int i = 0; i < rows->desc->nkeys; i++)
		if (rows->desc->columns[i].class == SNII_KEY_COMPARED &&
			!OidIsValid(rows->desc->columns[i].hash.fn_oid))
			return;
		else
			weak |= rows->desc->columns[i].hash.fn_oid == F_HASH_NUMERIC_EXTENDED ||
				rows->desc->columns[i].hash.fn_oid == F_HASH_RECORD_EXTENDED;
	for (int i = 0; i < rows->nrows; i++)
	{
		const TestRow *row = &rows->rows[i];

		keys += i == 0 || true_order(truth, row - 1, row,
									 rows->desc->nkeys) != 0;
		hashes[i] = snii_key_hash(rows->desc, row->str,
								  row->len - SNII_KEY_TID_BYTES);
	}
	qsort(hashes, rows->nrows, sizeof(uint64), by_hash);
	for (int i = 0; i < rows->nrows; i++)
		different += i == 0 || hashes[i] != hashes[i - 1];
	if (weak ? different < keys / 4 : different != keys)
		elog(ERROR, "%d keys have %d hashes", keys, different);
}

Datum
test_key_rows(PG_FUNCTION_ARGS)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "test pairs",
												  ALLOCSET_DEFAULT_SIZES);
	pg_prng_state prng;
	TestRows	rows;
	Truth		truth;

	pg_prng_seed(&prng, PG_GETARG_INT64(1));
	test_key_load(PG_GETARG_OID(0), &rows);
	init_truth(&rows, PG_GETARG_BOOL(2), &truth);
	for (int i = 0; i < rows.nrows; i++)
		check_row(&rows, &rows.rows[i]);
	qsort_arg(rows.rows, rows.nrows, sizeof(TestRow), by_string,
			  unconstify(SniiKeyDesc *, rows.desc));
	MemoryContextSwitchTo(context);
	for (int i = 1; i < rows.nrows; i++)
	{
		MemoryContextReset(context);
		check_pair(&truth, &rows.rows[i - 1], &rows.rows[i]);
		for (int k = 0; k < 8; k++)
			check_separator(&truth, &rows.rows[i - 1], &rows.rows[i],
							any_row(&rows, &prng));
		check_separator(&truth, &rows.rows[i - 1], &rows.rows[i],
						&rows.rows[i - 1]);
		check_separator(&truth, &rows.rows[i - 1], &rows.rows[i],
						&rows.rows[i]);
		check_positions(&truth, &rows.rows[i - 1], &rows.rows[i]);
		check_positions(&truth, &rows.rows[i], &rows.rows[i - 1]);
	}
	for (int i = 0; i < 20 * rows.nrows; i++)
	{
		const TestRow *a = any_row(&rows, &prng);
		const TestRow *b = any_row(&rows, &prng);

		MemoryContextReset(context);
		check_pair(&truth, a, b);
		check_positions(&truth, a, b);
	}
	check_hashes(&truth, &rows);
	test_key_unload(&rows);
	PG_RETURN_INT64(rows.nrows);
}

/* Look at bytes in every way that may not be surprised by them. */
static bool
look_at_damage(const TestRows *rows, const uint8 *str, uint32 len)
{
	const SniiKeyDesc *desc = rows->desc;
	SniiKeyEntry entry = {str, len, NULL, 0};
	bool		valid = snii_key_valid(desc, str, len);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	(void) snii_key_has_null(desc, str, len);
	if (valid && desc->nattrs == desc->nkeys)
		snii_key_decode(rows->index, desc, &entry, values, isnull);
	return valid;
}

/*
 * Every string is an allocation of its own length, so that an assert-enabled
 * server notices what is written behind it.
 */
Datum
test_key_damage(PG_FUNCTION_ARGS)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "test damage",
												  ALLOCSET_DEFAULT_SIZES);
	pg_prng_state prng;
	TestRows	rows;
	int64		malformed = 0;
	int			rounds = PG_GETARG_INT32(2);

	pg_prng_seed(&prng, PG_GETARG_INT64(1));
	test_key_load(PG_GETARG_OID(0), &rows);
	MemoryContextSwitchTo(context);
	for (int i = 0; i < rounds; i++)
	{
		const TestRow *row = any_row(&rows, &prng);
		uint32		len = row->len;
		uint8	   *str;

		MemoryContextReset(context);
		if (pg_prng_bool(&prng))
			len = pg_prng_uint64_range(&prng, 0, row->len - 1);
		str = palloc(len + 1);
		memcpy(str, row->str, len);
		if (len == row->len)
			for (int n = 1 + (int) pg_prng_uint64_range(&prng, 0, 2); n > 0; n--)
				str[pg_prng_uint64_range(&prng, 0, len - 1)] =
					(uint8) pg_prng_uint64(&prng);
		else if (look_at_damage(&rows, str, len))
			elog(ERROR, "a key of %u bytes is as good with %u", row->len, len);
		malformed += !look_at_damage(&rows, str, len);
	}
	test_key_unload(&rows);
	PG_RETURN_INT64(malformed);
}
