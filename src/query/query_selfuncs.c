/*-------------------------------------------------------------------------
 *
 * query_selfuncs.c
 *	  How many rows will a query match?
 *
 * The dictionary of an index on the column knows; without one, terms are
 * taken to be as frequent as the server takes those of text search to be.
 * NULLs are subtracted by the statistics of the column, for pure negations
 * as for anything else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_selfuncs.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "lsm/lsm_kind.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/paths.h"
#include "query/query_column.h"
#include "query/query_estimate.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"

/* Of a term that nothing is known about. */
#define DEFAULT_TERM_SELECTIVITY	0.005

/* Of a query that is not known when the plan is made. */
#define DEFAULT_MATCH_SELECTIVITY	0.005

PG_FUNCTION_INFO_V1(snii_matchsel);

/*
 * The share of documents, of those not NULL, that match the query, from the
 * dictionary of an index on the column (from 0).  False if it cannot tell.
 * The planner holds the lock of the index.
 */
static bool
estimate_by_dictionary(Oid indexoid, int column, const SniiQuery *query,
					   double *selectivity)
{
	Relation	index;
	SniiEstimate e = {0};

	/* What an index consists of can be read with a snapshot only. */
	if (!ActiveSnapshotSet())
		return false;
	index = index_open(indexoid, NoLock);
	/* that of a partitioned table, listed from 16 on, has no pages */
	if (index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_rel->relam == get_index_am_oid("snii", true) &&
		index->rd_index->indisvalid &&
		snii_lsm_kind(index)->id == SNII_KIND_INVERTED &&
		snii_query_index_analyzer(index, column) == snii_query_analyzer(query))
		snii_query_estimate(index, column, query, &e);
	index_close(index, NoLock);
	if (e.documents <= 0)
		return false;
	*selectivity = Min(e.rows / e.documents, 1.0);
	return true;
}

/*
 * The share of documents that match, as if all terms were independent of each
 * other and equally rare.
 */
double
snii_query_default_selectivity(const SniiQueryNode *node)
{
	double		s = 1.0;

	check_stack_depth();
	switch (node->type)
	{
		case SNII_QUERY_NONE:
			return 0.0;
		case SNII_QUERY_ALL:
			return 1.0;
		case SNII_QUERY_TERM:
			return DEFAULT_TERM_SELECTIVITY;
		case SNII_QUERY_PHRASE:
			/* words of a phrase go together: less than independent */
			return DEFAULT_TERM_SELECTIVITY / node->nterms;
		case SNII_QUERY_NOT:
			return 1.0 - snii_query_default_selectivity(node->children[0]);
		case SNII_QUERY_AND:
			for (uint32 i = 0; i < node->nchildren; i++)
				s *= snii_query_default_selectivity(node->children[i]);
			return s;
		case SNII_QUERY_OR:
			for (uint32 i = 0; i < node->nchildren; i++)
				s *= 1.0 - snii_query_default_selectivity(node->children[i]);
			return 1.0 - s;
	}
	return DEFAULT_MATCH_SELECTIVITY;
}

/* Looks for an index of the variable's relation that can tell. */
static bool
estimate_by_index(const VariableStatData *vardata, const SniiQuery *query,
				  double *selectivity)
{
	ListCell   *lc;

	if (vardata->rel == NULL)
		return false;
	foreach(lc, vardata->rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (index->hypothetical || (index->indpred != NIL && !index->predOK))
			continue;
		for (int i = 0; i < index->nkeycolumns; i++)
			if (match_index_to_operand(vardata->var, i, index) &&
				estimate_by_dictionary(index->indexoid, i, query, selectivity))
				return true;
	}
	return false;
}

/* The share of rows of the variable that are not NULL. */
static double
not_null_share(const VariableStatData *vardata)
{
	if (!HeapTupleIsValid(vardata->statsTuple))
		return 1.0;
	return 1.0 -
		((Form_pg_statistic) GETSTRUCT(vardata->statsTuple))->stanullfrac;
}

static double
estimate(const VariableStatData *vardata, Node *other, Oid query_type)
{
	double		selectivity = DEFAULT_MATCH_SELECTIVITY;
	const Const *constant = (const Const *) other;

	if (IsA(other, Const) && constant->constisnull)
		return 0.0;
	if (IsA(other, Const) && constant->consttype == query_type)
	{
		SniiQuery  *query = DatumGetSniiQuery(constant->constvalue);

		if (!estimate_by_index(vardata, query, &selectivity))
			selectivity = snii_query_default_selectivity(snii_query_tree(query));
	}
	return selectivity * not_null_share(vardata);
}

/* Restriction estimator of all search operators. */
Datum
snii_matchsel(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			operator = PG_GETARG_OID(1);
	List	   *args = (List *) PG_GETARG_POINTER(2);
	int			varRelid = PG_GETARG_INT32(3);
	VariableStatData vardata;
	Node	   *other;
	bool		varonleft;
	Oid			left;
	Oid			right;
	double		selectivity = DEFAULT_MATCH_SELECTIVITY;

	if (!get_restriction_variable(root, args, varRelid,
								  &vardata, &other, &varonleft))
		PG_RETURN_FLOAT8(selectivity);
	op_input_types(operator, &left, &right);
	/* with text on the right there is no query yet */
	if (varonleft)
		selectivity = estimate(&vardata, other,
							   right == TEXTOID ? InvalidOid : right);
	ReleaseVariableStats(vardata);
	CLAMP_PROBABILITY(selectivity);
	PG_RETURN_FLOAT8(selectivity);
}
