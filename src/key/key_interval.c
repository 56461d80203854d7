/*-------------------------------------------------------------------------
 *
 * key_interval.c
 *	  Scan keys as an interval of positions.
 *
 * Every condition is brought to one of = < <= >= > with a value of the
 * column's own type.  An argument of another type is replaced by the first
 * value of the column's type that is not less than it, or the first that is
 * greater: found by bisection, since the values of such types are numbers in
 * order, and the operator family has the comparison.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_desc.h"

#include "access/detoast.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* A condition on a column, with a value of its type. */
typedef struct Condition
{
	StrategyNumber strategy;	/* 1 to 5 */
	bool		never;			/* no value meets it */
	bool		always;			/* every value but NULL does */
	SniiKeyBytes value;			/* encoded, with its first byte */
} Condition;

/* ----------------------------------------------------------------
 *		Values of a type, by number
 * ----------------------------------------------------------------
 */

/* Greatest number of a value of the type; *found false: type has none. */
static uint64
last_number(const SniiKeyColumn *column, bool *found)
{
	*found = true;
	if (column->type == FLOAT4OID)
		return UINT64CONST(2) * 0x7F800000 + 1;
	*found = snii_key_column_is_integer(column);
	if (!*found)
		return 0;
	switch (column->type)
	{
		case DATEOID:
			return (uint64) (DATE_END_JULIAN - DATETIME_MIN_JULIAN) + 1;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return (uint64) END_TIMESTAMP - (uint64) MIN_TIMESTAMP + 1;
		default:
			return column->width == 8 ? PG_UINT64_MAX :
				(UINT64CONST(1) << (8 * column->width)) - 1;
	}
}

static float4
float_of_number(uint64 n)
{
	int64		ordered = (int64) n - 0x7F800000;
	union
	{
		uint32		bits;
		float4		value;
	}			u;

	if (ordered > 0x7F800000)
		u.bits = 0x7FC00000;	/* NaN is the greatest */
	else if (ordered < 0)
		u.bits = (uint32) -ordered | 0x80000000U;
	else
		u.bits = (uint32) ordered;
	return u.value;
}

/* Numbers 0 and the last one are the infinities of dates and timestamps. */
static Datum
value_of_number(const SniiKeyColumn *column, uint64 n, uint64 last)
{
	switch (column->type)
	{
		case FLOAT4OID:
			return Float4GetDatum(float_of_number(n));
		case DATEOID:
			if (n == 0)
				return DateADTGetDatum(DATEVAL_NOBEGIN);
			if (n == last)
				return DateADTGetDatum(DATEVAL_NOEND);
			return DateADTGetDatum((DateADT) ((int64) (n - 1) +
											  DATETIME_MIN_JULIAN -
											  POSTGRES_EPOCH_JDATE));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			if (n == 0)
				return TimestampGetDatum(DT_NOBEGIN);
			if (n == last)
				return TimestampGetDatum(DT_NOEND);
			return TimestampGetDatum((Timestamp) (n - 1 +
												  (uint64) MIN_TIMESTAMP));
		default:
			return snii_key_integer_datum(column, n);
	}
}

/*
 * The first value v with cmp(v, argument) >= least; false if there is none.
 */
static bool
bisect(const SniiKeyColumn *column, FmgrInfo *compare, Oid collation,
	   Datum argument, int least, Datum *value, bool *equal)
{
	bool		found;
	uint64		last = last_number(column, &found);
	uint64		low = 0;
	uint64		high = last;
	int			cmp;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;

		cmp = DatumGetInt32(FunctionCall2Coll(compare, collation,
											  value_of_number(column, middle,
															  last),
											  argument));
		if ((cmp > 0) - (cmp < 0) >= least)
			high = middle;
		else
			low = middle + 1;
	}
	*value = value_of_number(column, low, last);
	cmp = DatumGetInt32(FunctionCall2Coll(compare, collation, *value,
										  argument));
	*equal = cmp == 0;
	return (cmp > 0) - (cmp < 0) >= least;
}

/* ----------------------------------------------------------------
 *		Conditions
 * ----------------------------------------------------------------
 */

static bool
same_type(const SniiKeyColumn *column, Oid type)
{
	return !OidIsValid(type) || type == column->type ||
		type == column->input_type || IsPolymorphicType(type) ||
		(type == TEXTOID && column->type == VARCHAROID) ||
		(type == VARCHAROID && column->type == TEXTOID);
}

/*
 * An argument of another type: false if nothing can be said but by testing
 * each entry.
 */
static bool
convert_argument(const SniiKeyDesc *desc, int i, const ScanKeyData *key,
				 Condition *c)
{
	const SniiKeyColumn *column = &desc->columns[i];
	Oid			proc;
	FmgrInfo	compare;
	Datum		value;
	bool		found;
	bool		equal;
	bool		greater = key->sk_strategy == BTLessEqualStrategyNumber ||
	key->sk_strategy == BTGreaterStrategyNumber;

	if (column->type == FLOAT8OID && key->sk_subtype == FLOAT4OID)
	{
		c->strategy = key->sk_strategy;
		snii_key_encode_column(desc, i,
							   Float8GetDatum(DatumGetFloat4(key->sk_argument)),
							   false, &c->value);
		return true;
	}
	(void) last_number(column, &found);
	proc = get_opfamily_proc(column->family, column->input_type,
							 key->sk_subtype, SNII_KEY_COMPARE_PROC);
	if (!found || !OidIsValid(proc))
		return false;
	fmgr_info(proc, &compare);
	found = bisect(column, &compare, key->sk_collation, key->sk_argument,
				   greater ? 1 : 0, &value, &equal);
	switch (key->sk_strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			c->strategy = BTLessStrategyNumber;
			c->always = !found;
			break;
		case BTEqualStrategyNumber:
			c->strategy = BTEqualStrategyNumber;
			c->never = !found || !equal;
			break;
		default:
			c->strategy = BTGreaterEqualStrategyNumber;
			c->never = !found;
			break;
	}
	if (found)
		snii_key_encode_column(desc, i, value, false, &c->value);
	return true;
}

/* False: the condition has to be tested on every entry. */
static bool
make_condition(const SniiKeyDesc *desc, int i, const ScanKeyData *key,
			   Condition *c)
{
	memset(c, 0, sizeof(*c));
	if (!same_type(&desc->columns[i], key->sk_subtype))
		return convert_argument(desc, i, key, c);
	/* Nothing that is too long to be indexed is there. */
	c->strategy = key->sk_strategy;
	if (desc->columns[i].typlen == -1 &&
		toast_raw_datum_size(key->sk_argument) > SNII_KEY_MAX_ENTRY)
		return false;
	snii_key_encode_column(desc, i, key->sk_argument, false, &c->value);
	return true;
}

/* ----------------------------------------------------------------
 *		The interval
 * ----------------------------------------------------------------
 */

typedef struct Building
{
	const SniiKeyDesc *desc;
	SniiKeyInterval *interval;
	SniiKeyBytes prefix;		/* columns with = so far */
	SniiKeyPos	lower;			/* of the column at hand */
	SniiKeyPos	upper;
} Building;

static void
add_residual(SniiKeyInterval *interval, int key)
{
	Assert(interval->nresidual < (int) lengthof(interval->residual));
	interval->residual[interval->nresidual++] = key;
}

/* The prefix and, behind it, bytes of the next column. */
static SniiKeyPos
position(const Building *b, const void *bytes, uint32 len, bool after)
{
	SniiKeyBytes all = {0};
	SniiKeyPos	pos;

	snii_key_bytes_reserve(&all, b->prefix.len + len + 1);
	snii_key_bytes_add(&all, b->prefix.data, b->prefix.len);
	snii_key_bytes_add(&all, bytes, len);
	pos.bytes = all.data;
	pos.len = all.len;
	pos.after = after;
	return pos;
}

/* Is position a behind position b? */
static bool
behind(const SniiKeyDesc *desc, const SniiKeyPos *a, const SniiKeyPos *b)
{
	SniiKeyPos	side = *b;

	if (a->len < b->len)
		return !behind(desc, b, a);
	side.after = false;
	if (snii_key_compare_pos(desc, a->bytes, a->len, &side) < 0)
		return false;
	side.after = true;
	if (snii_key_compare_pos(desc, a->bytes, a->len, &side) > 0)
		return true;
	/* The same bytes, or b is the beginning of a. */
	if (a->len != b->len)
		return !b->after;
	return a->after && !b->after;
}

static void
narrow(Building *b, const Condition *c, bool desc)
{
	bool		less = c->strategy == BTLessStrategyNumber ||
	c->strategy == BTLessEqualStrategyNumber;
	bool		strict = c->strategy == BTLessStrategyNumber ||
	c->strategy == BTGreaterStrategyNumber;
	bool		is_upper = less != desc;
	SniiKeyPos	pos = position(b, c->value.data, c->value.len,
							   is_upper ? !strict : strict);

	if (is_upper)
	{
		if (behind(b->desc, &b->upper, &pos))
			b->upper = pos;
	}
	else if (behind(b->desc, &pos, &b->lower))
		b->lower = pos;
}

/*
 * Take what the keys say about column i.  Returns true if it is bound to one
 * value (or to NULL), which then belongs to the prefix.
 */
static bool
take_column(Building *b, int i, ScanKey keys, int nkeys, bool *is_null)
{
	const SniiKeyColumn *column = &b->desc->columns[i];
	uint8		value = SNII_KEY_VALUE;
	bool		equal = false;
	bool		bounded = false;
	SniiKeyBytes equal_bytes = {0};

	*is_null = false;
	b->lower = position(b, &value, 1, false);
	b->upper = position(b, &value, 1, true);
	for (int k = 0; k < nkeys && !b->interval->empty; k++)
	{
		ScanKey		key = &keys[k];
		Condition	c;

		if (key->sk_attno != i + 1)
			continue;
		if (key->sk_flags & SK_SEARCHNULL)
		{
			if (bounded)
				b->interval->empty = true;
			*is_null = true;
			continue;
		}
		bounded = true;
		if (key->sk_flags & SK_SEARCHNOTNULL)
			continue;
		if (key->sk_flags & SK_ROW_HEADER)
			elog(ERROR, "row comparisons are not supported by snii");
		if (key->sk_flags & SK_ISNULL)
		{
			b->interval->empty = true;	/* the operators are strict */
			continue;
		}
		if (!make_condition(b->desc, i, key, &c))
			add_residual(b->interval, k);
		else if (c.never)
			b->interval->empty = true;
		else if (c.always)
			continue;
		else if (c.strategy != BTEqualStrategyNumber)
			narrow(b, &c, column->desc);
		else if (!equal)
		{
			equal = true;
			equal_bytes = c.value;
		}
		else
			add_residual(b->interval, k);
	}
	if (*is_null && bounded)
		b->interval->empty = true;
	if (b->interval->empty)
		return false;
	if (*is_null)
	{
		snii_key_encode_column(b->desc, i, (Datum) 0, true, &b->prefix);
		return true;
	}
	if (equal)
	{
		SniiKeyPos	low = position(b, equal_bytes.data, equal_bytes.len,
								   false);
		SniiKeyPos	high = position(b, equal_bytes.data, equal_bytes.len,
									true);

		if (behind(b->desc, &b->lower, &low) ||
			behind(b->desc, &high, &b->upper))
			b->interval->empty = true;
		snii_key_bytes_add(&b->prefix, equal_bytes.data, equal_bytes.len);
		return true;
	}
	if (!bounded)
	{
		/* NULLs, too. */
		b->lower = position(b, NULL, 0, false);
		b->upper = position(b, NULL, 0, true);
	}
	else if (behind(b->desc, &b->lower, &b->upper))
		b->interval->empty = true;
	return false;
}

void
snii_key_interval(const SniiKeyDesc *desc, ScanKey keys, int nkeys,
				  SniiKeyInterval *interval)
{
	Building	b = {0};
	int			column = 0;
	bool		is_null;

	memset(interval, 0, offsetof(SniiKeyInterval, residual));
	b.desc = desc;
	b.interval = interval;
	interval->point = true;
	for (; column < desc->nkeys; column++)
	{
		bool		one = take_column(&b, column, keys, nkeys, &is_null);

		if (is_null)
			interval->point = false;
		if (interval->empty)
			return;
		if (!one)
			break;
	}
	if (column == desc->nkeys)
	{
		b.lower = position(&b, NULL, 0, false);
		b.upper = position(&b, NULL, 0, true);
	}
	else
		interval->point = false;
	interval->lower = b.lower;
	interval->upper = b.upper;

	/* Columns behind the first one that is not bound to a value. */
	for (int k = 0; k < nkeys; k++)
	{
		if (keys[k].sk_attno <= column + 1)
			continue;
		if ((keys[k].sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL)) == 0 &&
			(keys[k].sk_flags & SK_ISNULL) != 0)
			interval->empty = true;
		add_residual(interval, k);
	}
}

bool
snii_key_test(const SniiKeyDesc *desc, ScanKey key, const Datum *values,
			  const bool *isnull)
{
	int			i = key->sk_attno - 1;

	if (key->sk_flags & SK_SEARCHNULL)
		return isnull[i];
	if (isnull[i])
		return false;
	if (key->sk_flags & SK_SEARCHNOTNULL)
		return true;
	return DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										  values[i], key->sk_argument));
}
