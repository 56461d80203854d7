/*-------------------------------------------------------------------------
 *
 * am_key_cost.c
 *	  What a scan of a key index costs.
 *
 * The model is that of core's btree, whose shape a run has, with what the
 * number of sources adds: each look-up visits the write buffer and every run that
 * may have the key.  A filter costs little; an interval costs a descent in
 * each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_cost.h"
#include "key/key_desc.h"
#include "lsm/lsm_view.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_statistic.h"
#include "math.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

/* A filter, and a descent to the page, in units of cpu_operator_cost. */
#define FILTER_COST		25.0
#define DESCENT_COST	150.0

/* What the conditions say about the interval that is read. */
typedef struct KeyBounds
{
	List	   *quals;			/* those that bound it */
	bool		all_equal;		/* = on every column so far */
	int			nequal;			/* columns with = */
	double		arrays;			/* combinations of array elements */
	bool		is_null;
} KeyBounds;

/* Strategy of a condition on a column, 0 if it is IS [NOT] NULL. */
static int
strategy_of(const IndexOptInfo *info, int column, Expr *clause)
{
	Oid			opno;

	if (IsA(clause, OpExpr))
		opno = ((OpExpr *) clause)->opno;
	else if (IsA(clause, ScalarArrayOpExpr))
		opno = ((ScalarArrayOpExpr *) clause)->opno;
	else if (IsA(clause, RowCompareExpr))
		opno = linitial_oid(((RowCompareExpr *) clause)->opnos);
	else
		return 0;
	return get_op_opfamily_strategy(opno, info->opfamily[column]);
}

/*
 * The conditions that bound the interval: those of the leading columns with
 * =, and of the first column without.
 */
static void
find_bounds(PlannerInfo *root, IndexPath *path, KeyBounds *bounds)
{
	IndexOptInfo *info = path->indexinfo;
	int			column = 0;
	bool		equal = true;	/* the column at hand has = */
	ListCell   *lc;

	memset(bounds, 0, sizeof(*bounds));
	bounds->arrays = 1;
	bounds->all_equal = true;
	equal = false;
	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		ListCell   *lc2;

		if (clause->indexcol != column)
		{
			if (!equal || clause->indexcol != column + 1)
				break;
			column = clause->indexcol;
			equal = false;
		}
		foreach(lc2, clause->indexquals)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc2);
			Expr	   *expr = rinfo->clause;

			if (IsA(expr, ScalarArrayOpExpr))
				bounds->arrays *=
					snii_compat_array_length(root, (Node *)
											 lsecond(((ScalarArrayOpExpr *) expr)->args));
			if (IsA(expr, NullTest))
			{
				if (((NullTest *) expr)->nulltesttype == IS_NULL)
				{
					bounds->is_null = true;
					equal = true;
				}
			}
			else if (strategy_of(info, column, expr) == BTEqualStrategyNumber)
			{
				if (!equal)
					bounds->nequal++;
				equal = true;
			}
			bounds->quals = lappend(bounds->quals, rinfo);
		}
	}
}

/* Sources of the index: runs and stretches. */
static void
count_sources(Relation index, double *runs, double *stretches)
{
	SniiView   *view;

	*runs = *stretches = 0;
	view = snii_lsm_view(index, true);
	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_SEGMENT)
			*runs += 1;
		else
			*stretches += 1;
	pfree(view);
}

/* Correlation of the first column with the order of the table. */
static double
column_correlation(PlannerInfo *root, IndexOptInfo *info)
{
	VariableStatData vardata;
	AttStatsSlot slot;
	Oid			sortop;
	double		result = 0;

	memset(&vardata, 0, sizeof(vardata));
	if (info->indexkeys[0] != 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(info->rel->relid, root);

		vardata.statsTuple = SearchSysCache3(STATRELATTINH,
											 ObjectIdGetDatum(rte->relid),
											 Int16GetDatum(info->indexkeys[0]),
											 BoolGetDatum(rte->inh));
	}
	else
		vardata.statsTuple = SearchSysCache3(STATRELATTINH,
											 ObjectIdGetDatum(info->indexoid),
											 Int16GetDatum(1),
											 BoolGetDatum(false));
	vardata.freefunc = ReleaseSysCache;
	if (!HeapTupleIsValid(vardata.statsTuple))
		return 0;
	sortop = get_opfamily_member(info->opfamily[0], info->opcintype[0],
								 info->opcintype[0], BTLessStrategyNumber);
	if (OidIsValid(sortop) &&
		get_attstatsslot(&slot, vardata.statsTuple,
						 STATISTIC_KIND_CORRELATION, sortop,
						 ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			result = slot.numbers[0];
		if (info->reverse_sort != NULL && info->reverse_sort[0])
			result = -result;
		if (info->nkeycolumns > 1)
			result *= 0.75;
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(vardata);
	return result;
}

void
snii_am_key_costestimate(PlannerInfo *root, IndexPath *path, Relation index,
						 double loop_count, Cost *startup_cost,
						 Cost *total_cost, Selectivity *selectivity,
						 double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	GenericCosts costs;
	KeyBounds	bounds;
	double		tuples;
	double		runs;
	double		stretches;
	bool		point;
	Cost		probe;

	find_bounds(root, path, &bounds);
	count_sources(index, &runs, &stretches);
	point = bounds.nequal == info->nkeycolumns && !bounds.is_null;
	memset(&costs, 0, sizeof(costs));
	if (info->unique && point)
		tuples = 1;
	else
	{
		List	   *quals = add_predicate_to_index_quals(info, bounds.quals);
		Selectivity s = clauselist_selectivity(root, quals,
											   info->rel->relid, JOIN_INNER,
											   NULL);

		/* genericcostestimate() multiplies with the arrays again. */
		tuples = rint(s * info->rel->tuples / bounds.arrays);
	}
	costs.numIndexTuples = Max(tuples, 1.0);
	genericcostestimate(root, path, loop_count, &costs);

	/* A look-up skips what its filter excludes. */
	probe = point ?
		(runs * FILTER_COST + (1 + stretches) * DESCENT_COST) :
		(runs + stretches) * DESCENT_COST;
	probe *= cpu_operator_cost;
	costs.indexStartupCost += probe;
	costs.indexTotalCost += probe * costs.num_sa_scans;

	*startup_cost = costs.indexStartupCost;
	*total_cost = costs.indexTotalCost;
	*selectivity = costs.indexSelectivity;
	*correlation = column_correlation(root, info);
	*pages = costs.numIndexPages;
}
