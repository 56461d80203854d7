/*-------------------------------------------------------------------------
 *
 * test_key_intervals.c
 *	  Intervals of random scan keys against the operators themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "test_key.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "funcapi.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(test_key_intervals);

#define MAX_KEYS	5

/* A column of the arguments that an index column has operators for. */
typedef struct Pairing
{
	int			column;			/* of the index */
	int			argument;		/* of the arguments */
	Oid			subtype;
	RegProcedure operators[BTMaxStrategyNumber + 1];
} Pairing;

typedef struct Trial
{
	TestRows	rows;
	TestRow    *arguments;
	int			narguments;
	Pairing    *pairings;
	int			npairings;
	pg_prng_state prng;
	ScanKeyData keys[MAX_KEYS];
	int			nkeys;
	/* results */
	int64		checked;
	int64		wanted;
	int			tight;
	int			residual;
	int			points;
} Trial;

static bool
pair(const SniiKeyColumn *col, Oid family, Oid left, Oid right,
	 Pairing *pairing)
{
	for (int s = BTLessStrategyNumber; s <= BTGreaterStrategyNumber; s++)
	{
		Oid			opno = get_opfamily_member(family, left, right, s);

		if (!OidIsValid(opno))
			return false;
		pairing->operators[s] = get_opcode(opno);
	}
	pairing->subtype = right;
	return true;
}

static void
find_pairings(Trial *trial, Relation arguments)
{
	TupleDesc	tupdesc = RelationGetDescr(arguments);
	const SniiKeyDesc *desc = trial->rows.desc;

	trial->pairings = palloc0(desc->nkeys * tupdesc->natts * sizeof(Pairing));
	for (int i = 0; i < desc->nkeys; i++)
	{
		Oid			family = trial->rows.index->rd_opfamily[i];
		Oid			left = trial->rows.index->rd_opcintype[i];
		Oid			type = TupleDescAttr(desc->tupdesc, i)->atttypid;

		for (int k = 0; k < tupdesc->natts; k++)
		{
			Oid			right = TupleDescAttr(tupdesc, k)->atttypid;
			Pairing    *pairing = &trial->pairings[trial->npairings];

			pairing->column = i;
			pairing->argument = k;
			if (pair(&desc->columns[i], family, left,
					 right == type ? left : right, pairing))
				trial->npairings++;
		}
	}
	if (trial->npairings == 0)
		elog(ERROR, "no operators for these arguments");
}

static int
pick(Trial *trial, int n)
{
	return (int) pg_prng_uint64_range(&trial->prng, 0, n - 1);
}

static void
random_key(Trial *trial, ScanKey key)
{
	const Pairing *p = &trial->pairings[pick(trial, trial->npairings)];
	const SniiKeyColumn *col;
	const TestRow *argument =
	&trial->arguments[pick(trial, trial->narguments)];
	int			strategy = 1 + pick(trial, BTMaxStrategyNumber);
	int			kind = pick(trial, 40);

	/* More of the first column, and of =. */
	if (pick(trial, 2) == 0)
		p = &trial->pairings[pick(trial, Max(trial->npairings / 2, 1))];
	if (pick(trial, 4) == 0)
		strategy = BTEqualStrategyNumber;
	col = &trial->rows.desc->columns[p->column];
	if (kind < 2)
		ScanKeyEntryInitialize(key, SK_ISNULL | (kind == 0 ? SK_SEARCHNULL :
												 SK_SEARCHNOTNULL),
							   p->column + 1, InvalidStrategy, InvalidOid,
							   col->collation, InvalidOid, (Datum) 0);
	else
		ScanKeyEntryInitialize(key,
							   argument->isnull[p->argument] ? SK_ISNULL : 0,
							   p->column + 1, strategy, p->subtype,
							   col->collation, p->operators[strategy],
							   argument->values[p->argument]);
}

static bool
is_wanted(Trial *trial, const TestRow *row)
{
	for (int i = 0; i < trial->nkeys; i++)
	{
		ScanKey		key = &trial->keys[i];
		bool		isnull = row->isnull[key->sk_attno - 1];

		if (key->sk_flags & SK_SEARCHNULL)
		{
			if (!isnull)
				return false;
		}
		else if (key->sk_flags & SK_SEARCHNOTNULL)
		{
			if (isnull)
				return false;
		}
		else if (isnull || (key->sk_flags & SK_ISNULL) ||
				 !DatumGetBool(FunctionCall2Coll(&key->sk_func,
												 key->sk_collation,
												 row->values[key->sk_attno - 1],
												 key->sk_argument)))
			return false;
	}
	return true;
}

/* Is a row between the positions, and does it pass what is left over? */
static bool
is_selected(Trial *trial, const SniiKeyInterval *interval, const TestRow *row,
			bool *inside)
{
	const SniiKeyDesc *desc = trial->rows.desc;

	*inside = !interval->empty &&
		snii_key_compare_pos(desc, row->str, row->len, &interval->lower) > 0 &&
		snii_key_compare_pos(desc, row->str, row->len, &interval->upper) < 0;
	if (!*inside)
		return false;
	for (int i = 0; i < interval->nresidual; i++)
		if (!snii_key_test(desc, &trial->keys[interval->residual[i]],
						   row->values, row->isnull))
			return false;
	return true;
}

static void
report(Trial *trial, const TestRow *row, bool wanted, bool inside)
{
	StringInfoData keys;

	initStringInfo(&keys);
	for (int i = 0; i < trial->nkeys; i++)
		appendStringInfo(&keys, " (column %d strategy %d type %u flags %x)",
						 trial->keys[i].sk_attno, trial->keys[i].sk_strategy,
						 trial->keys[i].sk_subtype, trial->keys[i].sk_flags);
	elog(ERROR, "row (%u,%u) is %swanted and %s:%s",
		 ItemPointerGetBlockNumber(&row->tid),
		 ItemPointerGetOffsetNumber(&row->tid), wanted ? "" : "not ",
		 wanted ? inside ? "fails a condition" : "outside" : "selected",
		 keys.data);
}

static void
one_round(Trial *trial)
{
	const SniiKeyDesc *desc = trial->rows.desc;
	SniiKeyInterval interval;
	bool		tight = true;
	uint64		hash = 0;

	trial->nkeys = pick(trial, MAX_KEYS + 1);
	for (int i = 0; i < trial->nkeys; i++)
		random_key(trial, &trial->keys[i]);
	snii_key_interval(desc, trial->keys, trial->nkeys, &interval);
	if (!interval.empty && interval.point)
	{
		trial->points++;
		hash = snii_key_hash(desc, interval.lower.bytes, interval.lower.len);
	}
	for (int i = 0; i < trial->rows.nrows; i++)
	{
		const TestRow *row = &trial->rows.rows[i];
		bool		wanted = is_wanted(trial, row);
		bool		inside;

		if (is_selected(trial, &interval, row, &inside) != wanted)
			report(trial, row, wanted, inside);
		if (wanted && interval.point &&
			snii_key_hash(desc, row->str,
						  row->len - SNII_KEY_TID_BYTES) != hash)
			elog(ERROR, "the hash of a point is not that of its row");
		tight &= inside == wanted;
		trial->wanted += wanted;
		trial->checked++;
	}
	trial->tight += tight;
	trial->residual += !interval.empty && interval.nresidual > 0;
}

Datum
test_key_intervals(PG_FUNCTION_ARGS)
{
	Relation	arguments = table_open(PG_GETARG_OID(1), AccessShareLock);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "test intervals",
												  ALLOCSET_DEFAULT_SIZES);
	Trial		trial = {0};
	int			rounds = PG_GETARG_INT32(3);
	TupleDesc	tupdesc;
	MemoryContext old;
	Datum		values[5];
	bool		isnull[5] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	pg_prng_seed(&trial.prng, PG_GETARG_INT64(2));
	test_key_load(PG_GETARG_OID(0), &trial.rows);
	trial.narguments = test_key_table(arguments, &trial.arguments);
	find_pairings(&trial, arguments);
	old = MemoryContextSwitchTo(context);
	for (int i = 0; i < rounds; i++)
	{
		MemoryContextReset(context);
		one_round(&trial);
	}
	MemoryContextSwitchTo(old);
	test_key_unload(&trial.rows);
	table_close(arguments, AccessShareLock);
	values[0] = Int64GetDatum(trial.checked);
	values[1] = Int64GetDatum(trial.wanted);
	values[2] = Int32GetDatum(trial.tight);
	values[3] = Int32GetDatum(trial.residual);
	values[4] = Int32GetDatum(trial.points);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values,
													  isnull)));
}
