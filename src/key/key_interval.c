/*-------------------------------------------------------------------------
 *
 * key_interval.c
 *	  Scan keys as an interval of positions.
 *
 * Every condition on a column becomes a stretch of its values, and these are
 * intersected; a column whose stretch is one value, or NULL, is followed by the
 * next one.  An argument of another type is replaced by values of the column's
 * type, found by bisection: the values of such types are numbers in order, and
 * the operator family has the comparison.
 *
 * Timestamps are not quite in the order of the times with time zone that they
 * stand for: where clocks are set forward, local times that do not exist
 * overtake others.  Near such places a wider stretch is taken and each entry
 * tested, so that the result is that of a sequential scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_desc.h"

#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

/* Further than clocks are ever set. */
#define MAX_CLOCK_CHANGE	(2 * USECS_PER_DAY)

/*
 * Places between the values of a column, which are encoded with their first
 * byte, or that byte alone: before or after all that begin with it.
 */
typedef struct Stretch
{
	bool		empty;
	bool		test;			/* has others, too */
	SniiKeyPos	lower;
	SniiKeyPos	upper;
} Stretch;

/* Values of a type by number, both ends included. */
typedef struct Numbers
{
	bool		none;
	uint64		first;
	uint64		last;
} Numbers;

/* An argument of another type, and what the column's values are to it. */
typedef struct Foreign
{
	const SniiKeyColumn *column;
	uint64		last;			/* number of the greatest value */
	FmgrInfo	compare;
	Oid			collation;
	Datum		argument;
} Foreign;

/* ----------------------------------------------------------------
 *		Values of a type, by number
 * ----------------------------------------------------------------
 */

/* Greatest number of a value of the type; *found false: type has none. */
static uint64
last_number(const SniiKeyColumn *column, bool *found)
{
	*found = column->standard;
	if (!*found)
		return 0;
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

/* Order of the value with that number and the argument. */
static int
compare_number(Foreign *foreign, uint64 n)
{
	Datum		value = value_of_number(foreign->column, n, foreign->last);
	int			cmp = DatumGetInt32(FunctionCall2Coll(&foreign->compare,
													  foreign->collation,
													  value,
													  foreign->argument));

	return (cmp > 0) - (cmp < 0);
}

/*
 * The first number from "from" on whose value is not less than the argument
 * (least 0), or greater (least 1); false if there is none.
 */
static bool
bisect(Foreign *foreign, uint64 from, int least, uint64 *number)
{
	uint64		low = from;
	uint64		high = foreign->last;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;

		if (compare_number(foreign, middle) >= least)
			high = middle;
		else
			low = middle + 1;
	}
	*number = low;
	return compare_number(foreign, low) >= least;
}

/* Numbers of the values that are less than the argument, or equal, too. */
static void
numbers_below(Foreign *foreign, bool equal, Numbers *numbers)
{
	uint64		n;

	numbers->first = 0;
	numbers->last = foreign->last;
	if (!bisect(foreign, 0, equal ? 1 : 0, &n))
		return;
	numbers->none = n == 0;
	numbers->last = n - 1;
}

static void
numbers_above(Foreign *foreign, bool equal, Numbers *numbers)
{
	numbers->last = foreign->last;
	numbers->none = !bisect(foreign, 0, equal ? 0 : 1, &numbers->first);
}

static void
numbers_equal(Foreign *foreign, Numbers *numbers)
{
	uint64		n;

	numbers->none = !bisect(foreign, 0, 0, &n);
	numbers->first = numbers->last = n;
	if (numbers->none)
		return;
	numbers->none = compare_number(foreign, n) != 0;
	if (numbers->none || n == foreign->last ||
		compare_number(foreign, n + 1) != 0)
		return;
	numbers->last = foreign->last;
	if (bisect(foreign, n + 1, 1, &n))
		numbers->last = n - 1;
}

static Timestamp
local_time(TimestampTz t)
{
	return DatumGetTimestamp(DirectFunctionCall1(timestamptz_timestamp,
												 TimestampTzGetDatum(t)));
}

/* Are clocks set near that time? */
static bool
near_clock_change(TimestampTz t)
{
	Timestamp	before;
	Timestamp	after;

	if (t < MIN_TIMESTAMP + MAX_CLOCK_CHANGE ||
		t >= END_TIMESTAMP - 2 * MAX_CLOCK_CHANGE)
		return false;
	before = local_time(t - MAX_CLOCK_CHANGE);
	after = local_time(t + MAX_CLOCK_CHANGE);
	return after - before != 2 * MAX_CLOCK_CHANGE;
}

/* Numbers of all values that might meet a condition, and some around them. */
static void
widen(const Foreign *foreign, Numbers *numbers)
{
	numbers->none = false;
	numbers->first -= Min(numbers->first, MAX_CLOCK_CHANGE);
	numbers->last += Min(foreign->last - numbers->last, MAX_CLOCK_CHANGE);
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

/* All values but NULL. */
static void
whole(Stretch *s)
{
	static const uint8 value = SNII_KEY_VALUE;

	s->lower.bytes = s->upper.bytes = &value;
	s->lower.len = s->upper.len = 1;
	s->lower.after = false;
	s->upper.after = true;
}

/* Values above, or below, an encoded one, which may belong to them. */
static void
cut(const SniiKeyColumn *column, const SniiKeyBytes *value, bool above,
	bool itself, Stretch *s)
{
	bool		is_lower = above != column->desc;
	SniiKeyPos *pos = is_lower ? &s->lower : &s->upper;

	pos->bytes = value->data;
	pos->len = value->len;
	pos->after = is_lower ? !itself : itself;
}

/* Restrict a whole stretch; false if the value has no encoding. */
static bool
restrict_to(const SniiKeyDesc *desc, int i, StrategyNumber strategy,
			Datum argument, Stretch *s)
{
	const SniiKeyColumn *column = &desc->columns[i];
	SniiKeyBytes value = {0};

	if (!snii_key_encode_bound(desc, i, argument, &value))
		return false;
	if (strategy >= BTEqualStrategyNumber)
		cut(column, &value, true, strategy != BTGreaterStrategyNumber, s);
	if (strategy <= BTEqualStrategyNumber)
		cut(column, &value, false, strategy != BTLessStrategyNumber, s);
	return true;
}

/* The same by an argument of another type. */
static bool
restrict_to_foreign(const SniiKeyDesc *desc, int i, const ScanKeyData *key,
					Stretch *s)
{
	const SniiKeyColumn *column = &desc->columns[i];
	Foreign		foreign = {column};
	Numbers		numbers = {0};
	bool		found;
	Oid			proc = get_opfamily_proc(column->family, column->input_type,
										 key->sk_subtype,
										 SNII_KEY_COMPARE_PROC);

	foreign.last = last_number(column, &found);
	if (!found || !OidIsValid(proc))
		return false;
	fmgr_info(proc, &foreign.compare);
	foreign.collation = key->sk_collation;
	foreign.argument = key->sk_argument;
	switch (key->sk_strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			numbers_below(&foreign,
						  key->sk_strategy == BTLessEqualStrategyNumber,
						  &numbers);
			break;
		case BTEqualStrategyNumber:
			numbers_equal(&foreign, &numbers);
			break;
		default:
			numbers_above(&foreign,
						  key->sk_strategy == BTGreaterEqualStrategyNumber,
						  &numbers);
			break;
	}
	if (column->type == TIMESTAMPOID && key->sk_subtype == TIMESTAMPTZOID &&
		near_clock_change(DatumGetTimestampTz(key->sk_argument)))
	{
		widen(&foreign, &numbers);
		s->test = true;
	}
	s->empty = numbers.none;
	if (s->empty)
		return true;
	(void) restrict_to(desc, i, BTGreaterEqualStrategyNumber,
					   value_of_number(column, numbers.first, foreign.last),
					   s);
	if (numbers.last < foreign.last ||
		key->sk_strategy == BTEqualStrategyNumber)
		(void) restrict_to(desc, i, BTLessEqualStrategyNumber,
						   value_of_number(column, numbers.last,
										   foreign.last), s);
	return true;
}

/* What a key says about its column. */
static void
make_stretch(const SniiKeyDesc *desc, int i, const ScanKeyData *key,
			 Stretch *s)
{
	const SniiKeyColumn *column = &desc->columns[i];
	SniiKeyBytes null = {0};
	bool		expressed;

	memset(s, 0, sizeof(*s));
	whole(s);
	if (key->sk_flags & SK_SEARCHNULL)
	{
		snii_key_encode_column(desc, i, (Datum) 0, true, &null);
		s->lower.bytes = s->upper.bytes = null.data;
		s->lower.len = s->upper.len = null.len;
		return;
	}
	if (key->sk_flags & SK_SEARCHNOTNULL)
		return;
	if (key->sk_flags & SK_ROW_HEADER)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row comparisons are not supported by snii")));
	/* The operators are strict. */
	s->empty = (key->sk_flags & SK_ISNULL) != 0;
	s->test = (key->sk_flags & SK_SEARCHARRAY) != 0;
	if (s->empty || s->test)
		return;
	if (same_type(column, key->sk_subtype))
		expressed = restrict_to(desc, i, key->sk_strategy, key->sk_argument,
								s);
	else if (column->standard && column->type == FLOAT8OID &&
			 key->sk_subtype == FLOAT4OID)
		expressed = restrict_to(desc, i, key->sk_strategy,
								Float8GetDatum(DatumGetFloat4(key->sk_argument)),
								s);
	else
		expressed = restrict_to_foreign(desc, i, key, s);
	s->test |= !expressed;
}

/* ----------------------------------------------------------------
 *		The interval
 * ----------------------------------------------------------------
 */

/* Every key at most once: residual has room for all. */
static void
add_residual(SniiKeyInterval *interval, int key)
{
	interval->residual[interval->nresidual++] = key;
}

static int
compare_pos(const SniiKeyDesc *desc, int i, const SniiKeyPos *a,
			const SniiKeyPos *b)
{
	int			cmp = (int) a->bytes[0] - (int) b->bytes[0];

	if (cmp != 0)
		return cmp;
	if (a->len == 1 && b->len > 1)
		return a->after ? 1 : -1;
	if (b->len == 1 && a->len > 1)
		return b->after ? -1 : 1;
	if (a->len > 1)
		cmp = snii_key_compare_column(desc, &desc->columns[i], a->bytes,
									  a->len, b->bytes, b->len);
	return cmp != 0 ? cmp : (int) a->after - (int) b->after;
}

/* Is all of a stretch one value, or NULL? */
static bool
is_one(const SniiKeyDesc *desc, int i, const Stretch *s)
{
	SniiKeyPos	after = s->lower;

	if (s->lower.after || !s->upper.after ||
		(s->lower.len == 1 && s->lower.bytes[0] == SNII_KEY_VALUE))
		return false;
	after.after = true;
	return compare_pos(desc, i, &after, &s->upper) == 0;
}

/*
 * What all keys say about column i; false if there is none.
 */
static bool
take_column(const SniiKeyDesc *desc, int i, ScanKey keys, int nkeys,
			SniiKeyInterval *interval, Stretch *all)
{
	bool		bounded = false;

	memset(all, 0, sizeof(*all));
	for (int k = 0; k < nkeys; k++)
	{
		Stretch		s;

		if (keys[k].sk_attno != i + 1)
			continue;
		make_stretch(desc, i, &keys[k], &s);
		if (s.test)
			add_residual(interval, k);
		if (s.empty)
			all->empty = true;
		if (!bounded || compare_pos(desc, i, &s.lower, &all->lower) > 0)
			all->lower = s.lower;
		if (!bounded || compare_pos(desc, i, &s.upper, &all->upper) < 0)
			all->upper = s.upper;
		bounded = true;
	}
	if (bounded && compare_pos(desc, i, &all->lower, &all->upper) >= 0)
		all->empty = true;
	return bounded;
}

/* A position behind the columns that have one value. */
static SniiKeyPos
position(const SniiKeyBytes *prefix, const SniiKeyPos *column, bool after)
{
	SniiKeyBytes all = {0};
	SniiKeyPos	pos;

	snii_key_bytes_reserve(&all, prefix->len + (column ? column->len : 0) + 1);
	snii_key_bytes_add(&all, prefix->data, prefix->len);
	if (column != NULL)
		snii_key_bytes_add(&all, column->bytes, column->len);
	pos.bytes = all.data;
	pos.len = all.len;
	pos.after = column ? column->after : after;
	return pos;
}

void
snii_key_interval(const SniiKeyDesc *desc, ScanKey keys, int nkeys,
				  SniiKeyInterval *interval)
{
	SniiKeyBytes prefix = {0};
	Stretch		s;
	bool		bounded = false;
	int			column = 0;

	memset(interval, 0, sizeof(*interval));
	interval->residual = palloc((nkeys + 1) * sizeof(int));
	interval->point = true;
	for (; column < desc->nkeys; column++)
	{
		bounded = take_column(desc, column, keys, nkeys, interval, &s);
		interval->empty = s.empty;
		if (s.empty)
			return;
		if (!bounded || !is_one(desc, column, &s))
			break;
		interval->point &= s.lower.bytes[0] == SNII_KEY_VALUE;
		snii_key_bytes_add(&prefix, s.lower.bytes, s.lower.len);
		bounded = false;
	}
	interval->point &= column == desc->nkeys;
	interval->lower = position(&prefix, bounded ? &s.lower : NULL, false);
	interval->upper = position(&prefix, bounded ? &s.upper : NULL, true);

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
snii_key_prefix(const SniiKeyDesc *desc, int i, Oid type, Datum value,
				SniiKeyBytes *scratch, uint64 *prefix)
{
	const SniiKeyColumn *column = &desc->columns[i];
	uint64		bits = 0;

	scratch->len = 0;
	if (column->class != SNII_KEY_BYTES || !same_type(column, type) ||
		!snii_key_encode_bound(desc, i, value, scratch))
		return false;
	/* The first byte says that it is a value. */
	for (uint32 at = 1; at <= sizeof(bits); at++)
		bits = bits << 8 | (at < scratch->len ? scratch->data[at] : 0);
	*prefix = bits;
	return true;
}

bool
snii_key_point(const SniiKeyDesc *desc, const ScanKeyData *keys, int nkeys,
			   SniiKeyBytes *out)
{
	uint32		from = out->len;

	if (nkeys != desc->nkeys)
		return false;
	for (int i = 0; i < nkeys; i++)
		if (keys[i].sk_attno != i + 1 ||
			keys[i].sk_strategy != BTEqualStrategyNumber ||
			(keys[i].sk_flags & (SK_ISNULL | SK_SEARCHNULL |
								 SK_SEARCHNOTNULL | SK_SEARCHARRAY |
								 SK_ROW_HEADER)) != 0 ||
			!same_type(&desc->columns[i], keys[i].sk_subtype) ||
			!snii_key_encode_bound(desc, i, keys[i].sk_argument, out))
		{
			out->len = from;
			return false;
		}
	return true;
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
