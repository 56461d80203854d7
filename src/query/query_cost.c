/*-------------------------------------------------------------------------
 *
 * query_cost.c
 *	  What it costs to match a value.
 *
 * Matching cuts the whole text into tokens, so that the price of a row is in
 * proportion to the length of its text: some 12 ns a byte, where the server
 * takes 2.2 us for what it calls a cost of 1, by sequential scans of a cached
 * table of books with and without a match.  A constant would be right for
 * one length of text only; too low a price lets the planner prefer a sequential
 * scan, or rows of another index with the match as a filter, to a search.
 *
 * A bitmap heap scan is charged for rechecks of all its rows, though ours are
 * exact.  With the true price a plain index scan, which is not charged, would
 * always look cheaper, and it is not where many rows are wanted.  So where an
 * index can answer the clause the price is bounded, such that a plain scan is
 * preferred beyond two thirds of the rows and a sequential scan never.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(snii_support_match);

/* Of a match of an empty text, and of each byte; in cpu_operator_cost. */
#define OPERATORS_PER_MATCH		50.0
#define OPERATORS_PER_BYTE		2.0

/* Bytes of text in a byte of a TOAST table, which is compressed, about. */
#define TOAST_RATIO		2.0

/* See the head of this file. */
#define PLAIN_SCAN_SHARE		(2.0 / 3.0)

/*
 * Bytes of a row of the table that are out of line.  If several columns have
 * some, each is taken to have them all.
 */
static double
toasted_width(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			toast = InvalidOid;
	double		rows = 0;
	double		pages = 0;

	if (HeapTupleIsValid(tuple))
	{
		toast = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
		rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	if (!OidIsValid(toast) || rows < 1)
		return 0;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(toast));
	if (HeapTupleIsValid(tuple))
	{
		pages = ((Form_pg_class) GETSTRUCT(tuple))->relpages;
		ReleaseSysCache(tuple);
	}
	return pages * BLCKSZ / rows * TOAST_RATIO;
}

/* Bytes of a column's values on average. */
static double
column_width(PlannerInfo *root, const Var *var)
{
	const RangeTblEntry *rte = NULL;
	double		width = 0;

	if (!IS_SPECIAL_VARNO(var->varno) &&
		var->varno <= list_length(root->parse->rtable))
		rte = planner_rt_fetch(var->varno, root);
	if (rte != NULL && rte->rtekind == RTE_RELATION && var->varattno > 0)
	{
		width = get_attavgwidth(rte->relid, var->varattno);
		if (get_typlen(var->vartype) == -1)
			width += toasted_width(rte->relid);
	}
	if (width <= 0)
		width = get_typavgwidth(var->vartype, var->vartypmod);
	return width;
}

/* What text_width() adds up. */
typedef struct WidthContext
{
	PlannerInfo *root;
	double		width;
} WidthContext;

/*
 * Not pull_var_clause(), which raises for what it does not expect: arguments
 * of functions that are being inlined are costed, too, and may have variables
 * of outer queries.
 */
static bool
width_walker(Node *node, WidthContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		if (((Var *) node)->varlevelsup == 0)
			context->width += column_width(context->root, (Var *) node);
		return false;
	}
	return expression_tree_walker(node, width_walker, context);
}

/* Bytes of the text that an expression gives, about. */
static double
text_width(PlannerInfo *root, Node *expr)
{
	WidthContext context = {root, 0};

	(void) width_walker(expr, &context);
	return context.width;
}

/*
 * The relation that an expression is of, or NULL if it is of none or several,
 * or if it is too early to know them.
 */
static RelOptInfo *
relation_of(PlannerInfo *root, Node *expr)
{
	int			varno;

	if (root->simple_rel_array == NULL ||
		!bms_get_singleton_member(pull_varnos(root, expr), &varno) ||
		varno >= root->simple_rel_array_size)
		return NULL;
	return root->simple_rel_array[varno];
}

/* Can an index answer the clause? */
static bool
has_index(const RelOptInfo *rel, const OpExpr *clause)
{
	Oid			am = get_index_am_oid("snii", true);
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (index->relam != am ||
			(index->indpred != NIL && !index->predOK))
			continue;
		for (int i = 0; i < index->nkeycolumns; i++)
			if (op_in_opfamily(clause->opno, index->opfamily[i]) &&
				match_index_to_operand(linitial(clause->args), i, index))
				return true;
	}
	return false;
}

/*
 * What a row may cost, if an index can answer the clause: a plain scan of all
 * rows reads each page at random once, a bitmap scan in order.
 */
static double
bound(const RelOptInfo *rel)
{
	double		random_page_cost;
	double		seq_page_cost;

	get_tablespace_page_costs(rel->reltablespace, &random_page_cost,
							  &seq_page_cost);
	return (random_page_cost - seq_page_cost) * rel->pages /
		Max(rel->tuples * PLAIN_SCAN_SHARE, 1.0);
}

/*
 * Support function of snii_match(): its cost, if the planner has told what
 * is matched.
 */
Datum
snii_support_match(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestCost *request = (SupportRequestCost *) node;
	List	   *args = NIL;
	double		least = OPERATORS_PER_MATCH * cpu_operator_cost;
	RelOptInfo *rel;

	if (!IsA(node, SupportRequestCost) || request->root == NULL ||
		request->node == NULL)
		PG_RETURN_POINTER(NULL);
	if (IsA(request->node, OpExpr))
		args = ((OpExpr *) request->node)->args;
	else if (IsA(request->node, FuncExpr))
		args = ((FuncExpr *) request->node)->args;
	if (list_length(args) != 2)
		PG_RETURN_POINTER(NULL);

	request->startup = 0;
	request->per_tuple = least + OPERATORS_PER_BYTE * cpu_operator_cost *
		text_width(request->root, linitial(args));
	rel = relation_of(request->root, linitial(args));
	if (rel != NULL && IsA(request->node, OpExpr) &&
		has_index(rel, (OpExpr *) request->node))
		request->per_tuple = Max(Min(request->per_tuple, bound(rel)), least);
	PG_RETURN_POINTER(request);
}
