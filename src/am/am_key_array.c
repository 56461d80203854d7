/*-------------------------------------------------------------------------
 *
 * am_key_array.c
 *	  Arrays in the conditions of a scan of a key index.
 *
 * Elements are sorted by their beginnings as integers where the column has
 * such, and by the comparison function where these are equal or there are
 * none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_array.h"

#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

typedef struct ElementOrder
{
	FmgrInfo	compare;
	Oid			collation;
	int			sign;
} ElementOrder;

typedef struct Element
{
	uint64		prefix;
	Datum		value;
} Element;

static int
compare_elements(const Element *a, const Element *b, ElementOrder *order)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return order->sign *
		DatumGetInt32(FunctionCall2Coll(&order->compare, order->collation,
										a->value, b->value));
}

#define ST_SORT sort_prefixes
#define ST_ELEMENT_TYPE Element
#define ST_COMPARE_ARG_TYPE ElementOrder
#define ST_COMPARE(a, b, arg) compare_elements(a, b, arg)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* The comparison of elements with each other. */
static void
find_order(Relation index, const SniiKeyDesc *desc, const ScanKeyData *key,
		   Oid element_type, ElementOrder *order)
{
	int			column = key->sk_attno - 1;
	Oid			proc = get_opfamily_proc(index->rd_opfamily[column],
										 element_type, element_type,
										 SNII_KEY_COMPARE_PROC);

	if (!OidIsValid(proc))
		elog(ERROR, "missing support function %d(%u,%u) in operator family %u",
			 SNII_KEY_COMPARE_PROC, element_type, element_type,
			 index->rd_opfamily[column]);
	fmgr_info(proc, &order->compare);
	order->collation = key->sk_collation;
	order->sign = desc->columns[column].desc &&
		key->sk_strategy == BTEqualStrategyNumber ? -1 : 1;
}

/*
 * Sort elements in the order of the index (those of an inequality in
 * ascending order), each once.
 */
static void
sort_elements(const SniiKeyDesc *desc, const ScanKeyData *key,
			  ElementOrder *order, SniiArrayKey *array)
{
	Element    *elements = palloc_extended(array->nelements * sizeof(Element),
										   MCXT_ALLOC_HUGE);
	SniiKeyBytes scratch = {0};
	bool		prefixes = key->sk_strategy == BTEqualStrategyNumber;
	int			n = 0;

	for (int i = 0; i < array->nelements; i++)
	{
		elements[i].value = array->elements[i];
		elements[i].prefix = 0;
		if (prefixes)
			prefixes = snii_key_prefix(desc, key->sk_attno - 1,
									   key->sk_subtype, elements[i].value,
									   &scratch, &elements[i].prefix);
	}
	for (int i = 0; !prefixes && i < array->nelements; i++)
		elements[i].prefix = 0;
	sort_prefixes(elements, array->nelements, order);
	for (int i = 0; i < array->nelements; i++)
		if (i == 0 ||
			compare_elements(&elements[i - 1], &elements[i], order) != 0)
			array->elements[n++] = elements[i].value;
	array->nelements = n;
	pfree(elements);
	if (scratch.data != NULL)
		pfree(scratch.data);
}

bool
snii_am_key_array(Relation index, const SniiKeyDesc *desc,
				  const ScanKeyData *key, SniiArrayKey *array)
{
	ArrayType  *value = DatumGetArrayTypeP(key->sk_argument);
	Oid			type = ARR_ELEMTYPE(value);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	ElementOrder order;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(value, type, typlen, typbyval, typalign, &elements,
					  &nulls, &n);
	array->nelements = 0;
	array->elements = elements;
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			array->elements[array->nelements++] = elements[i];
	if (array->nelements == 0)
		return false;
	if (OidIsValid(key->sk_subtype))
		type = key->sk_subtype;
	array->type = type;
	find_order(index, desc, key, type, &order);
	sort_elements(desc, key, &order, array);
	if (key->sk_strategy == BTLessStrategyNumber ||
		key->sk_strategy == BTLessEqualStrategyNumber)
		array->elements[0] = array->elements[array->nelements - 1];
	if (key->sk_strategy != BTEqualStrategyNumber)
		array->nelements = 1;
	return true;
}

/* Has a column a condition that gives it one value at a time? */
static bool
has_single_value(const SniiKeyDesc *desc, const ScanKeyData *keys,
				 int nkeys, int column)
{
	for (int i = 0; i < nkeys; i++)
	{
		const ScanKeyData *key = &keys[i];

		if (key->sk_attno != column + 1)
			continue;
		if ((key->sk_flags & SK_SEARCHNULL) != 0)
			return true;
		/* A time with time zone can be that of several local times. */
		if ((key->sk_flags & SK_SEARCHNOTNULL) == 0 &&
			key->sk_strategy == BTEqualStrategyNumber &&
			(desc->columns[column].type != TIMESTAMPOID ||
			 key->sk_subtype != TIMESTAMPTZOID))
			return true;
	}
	return false;
}

void
snii_am_key_choose_tested(const SniiKeyDesc *desc, ScanKey keys, int nkeys,
						  SniiArrayKey *arrays, int narrays)
{
	int			column = 0;

	while (column < desc->nkeys &&
		   has_single_value(desc, keys, nkeys, column))
		column++;
	for (int i = 0; i < narrays; i++)
	{
		SniiArrayKey *array = &arrays[i];
		ScanKey		key = &keys[array->key];
		const SniiKeyColumn *of;
		Oid			proc;

		if (key->sk_attno <= column + 1 ||
			key->sk_strategy != BTEqualStrategyNumber)
			continue;
		of = &desc->columns[key->sk_attno - 1];
		proc = get_opfamily_proc(of->family, of->input_type, array->type,
								 SNII_KEY_COMPARE_PROC);
		if (!OidIsValid(proc))
			elog(ERROR, "missing support function %d(%u,%u) in operator family %u",
				 SNII_KEY_COMPARE_PROC, of->input_type, array->type,
				 of->family);
		fmgr_info(proc, &array->compare);
		array->tested = true;
		key->sk_flags |= SK_SEARCHARRAY;
	}
}

/* Is a value, not NULL, among the elements of a tested array? */
static bool
has_element(const SniiKeyDesc *desc, const ScanKeyData *key,
			const SniiArrayKey *array, Datum value)
{
	int			sign = desc->columns[key->sk_attno - 1].desc ? -1 : 1;
	int			low = 0;
	int			high = array->nelements;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			cmp = sign *
		DatumGetInt32(FunctionCall2Coll(unconstify(FmgrInfo *,
												   &array->compare),
										key->sk_collation, value,
										array->elements[middle]));

		if (cmp == 0)
			return true;
		if (cmp > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool
snii_am_key_test_array(const SniiKeyDesc *desc, const ScanKeyData *keys,
					   int key, const SniiArrayKey *arrays, int narrays,
					   const Datum *values, const bool *isnull)
{
	int			column = keys[key].sk_attno - 1;

	if (isnull[column])
		return false;
	for (int i = 0; i < narrays; i++)
		if (arrays[i].key == key)
			return has_element(desc, &keys[key], &arrays[i], values[column]);
	return false;
}

void
snii_am_key_first_elements(SniiArrayKey *arrays, int narrays,
						   ScanDirection dir)
{
	for (int i = 0; i < narrays; i++)
		arrays[i].current = ScanDirectionIsForward(dir) ? 0 :
			arrays[i].nelements - 1;
}

bool
snii_am_key_next_elements(SniiArrayKey *arrays, int narrays,
						  ScanDirection dir)
{
	bool		forward = ScanDirectionIsForward(dir);

	for (int i = narrays - 1; i >= 0; i--)
	{
		SniiArrayKey *array = &arrays[i];

		if (array->tested)
			continue;
		array->current += forward ? 1 : -1;
		if (array->current >= 0 && array->current < array->nelements)
			return true;
		array->current = forward ? 0 : array->nelements - 1;
	}
	return false;
}

uint64
snii_am_key_combinations(const SniiArrayKey *arrays, int narrays)
{
	uint64		n = 1;

	for (int i = 0; i < narrays; i++)
		if (!arrays[i].tested &&
			pg_mul_u64_overflow(n, (uint64) arrays[i].nelements, &n))
			return PG_UINT64_MAX;
	return n;
}

uint64
snii_am_key_get_combination(const SniiArrayKey *arrays, int narrays,
							ScanDirection dir)
{
	uint64		number = 0;

	for (int i = 0; i < narrays; i++)
	{
		const SniiArrayKey *array = &arrays[i];

		if (!array->tested)
			number = number * (uint64) array->nelements +
				(uint64) (ScanDirectionIsForward(dir) ? array->current :
						  array->nelements - 1 - array->current);
	}
	return number;
}

void
snii_am_key_set_combination(SniiArrayKey *arrays, int narrays,
							ScanDirection dir, uint64 number)
{
	for (int i = narrays - 1; i >= 0; i--)
	{
		SniiArrayKey *array = &arrays[i];
		int			digit;

		if (array->tested)
			continue;
		digit = (int) (number % (uint64) array->nelements);
		number /= (uint64) array->nelements;
		array->current = ScanDirectionIsForward(dir) ? digit :
			array->nelements - 1 - digit;
	}
}
