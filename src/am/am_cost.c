/*-------------------------------------------------------------------------
 *
 * am_cost.c
 *	  What an index scan costs.
 *
 * The rows come from the selectivity of the clauses, which asks the
 * dictionary (query_selfuncs.c), so that every plan sees the same number. The
 * pages come from the places that the terms of the query have.
 *
 * A plain scan gives rows nearly in the order of the heap: it reads the pages
 * that a bitmap scan would read, and can stop early.  The planner has no way
 * to be told so but the correlation, which stands between all pages read at
 * random and a dense piece of the heap.  heap_order_correlation() gives the
 * one for which its sum is right.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_cost.h"
#include "am/am_key_cost.h"
#include "am/am_options.h"
#include "compat.h"
#include "query/query_column.h"
#include "query/query_estimate.h"
#include "query/query_type.h"

#include "access/genam.h"
#include "access/relation.h"
#include "math.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/* Pages of a term that is not known while planning. */
#define DEFAULT_TERM_PAGES		10.0

/* Work per entry of a posting list, in units of cpu_operator_cost. */
#define OPERATORS_PER_POSTING	0.1

/* A plain scan of all rows is to look that much dearer than a bitmap scan. */
#define BITMAP_PREFERENCE		1.05

typedef struct ScanCost
{
	double		pages;
	bool		wrong_analyzer;
	bool		whole_index;	/* no condition narrows it */
} ScanCost;

/* Add the pages of one condition. */
static void
add_condition(PlannerInfo *root, Relation index, int column, Node *clause,
			  ScanCost *cost)
{
	Node	   *right;
	SniiQuery  *query;
	SniiEstimate estimate;

	if (IsA(clause, ScalarArrayOpExpr))
	{
		Node	   *array = lsecond(((ScalarArrayOpExpr *) clause)->args);

		cost->whole_index = false;
		cost->pages += DEFAULT_TERM_PAGES *
			snii_compat_array_length(root, array);
		return;
	}
	if (!IsA(clause, OpExpr))
		return;					/* IS [NOT] NULL */
	right = get_rightop((Expr *) clause);
	cost->whole_index = false;
	if (!IsA(right, Const))
	{
		cost->pages += DEFAULT_TERM_PAGES;
		return;
	}
	if (((Const *) right)->constisnull)
		return;
	query = DatumGetSniiQuery(((Const *) right)->constvalue);
	if (snii_query_analyzer(query) != snii_query_index_analyzer(index, column))
	{
		cost->wrong_analyzer = true;
		return;
	}
	snii_query_estimate(index, column, query, &estimate);
	cost->pages += estimate.pages;
}

/*
 * The correlation for which cost_index() arrives at the cost of reading the
 * pages as a bitmap scan does.  That scan is also charged for rechecks, which
 * it never does; the same is added here, and somewhat more, so that all rows
 * are fetched by a bitmap and few of them by a plain scan.
 */
static double
heap_order_correlation(PlannerInfo *root, IndexPath *path, List *quals,
					   Selectivity selectivity, double rows)
{
	RelOptInfo *rel = path->indexinfo->rel;
	double		heap_pages = Max((double) rel->pages, 1.0);
	double		pages = Min(2.0 * heap_pages * rows /
							(2.0 * heap_pages + rows), heap_pages);
	double		random_page_cost;
	double		seq_page_cost;
	double		scattered;
	double		dense;
	double		wanted;
	QualCost	recheck;

	get_tablespace_page_costs(rel->reltablespace, &random_page_cost,
							  &seq_page_cost);
	scattered = random_page_cost *
		index_pages_fetched(rows, rel->pages,
							(double) path->indexinfo->pages, root);
	dense = random_page_cost +
		(ceil(selectivity * heap_pages) - 1) * seq_page_cost;
	cost_qual_eval(&recheck, quals, root);
	wanted = pages * (random_page_cost - (random_page_cost - seq_page_cost) *
					  sqrt(pages / heap_pages)) +
		rows * recheck.per_tuple;
	wanted *= BITMAP_PREFERENCE;
	if (scattered <= wanted)
		return 0;
	if (dense >= wanted)
		return 1;
	return sqrt((scattered - wanted) / (scattered - dense));
}

void
snii_am_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
					 Cost *startup_cost, Cost *total_cost,
					 Selectivity *selectivity, double *correlation,
					 double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	Relation	index = index_open(info->indexoid, NoLock);
	ScanCost	cost = {0, false, true};
	List	   *quals = get_quals_from_indexclauses(path->indexclauses);
	double		random_page_cost;
	double		seq_page_cost;
	double		rows;
	double		cpu;
	double		outer = Max(loop_count, 1.0);
	ListCell   *lc;

	if (snii_am_is_key(index))
	{
		snii_am_key_costestimate(root, path, index, loop_count, startup_cost,
								 total_cost, selectivity, correlation, pages);
		index_close(index, NoLock);
		return;
	}

	/*
	 * amcanparallel is for key indexes.  Core looks at it after it has asked
	 * what the scan by one process costs, that is, here.
	 */
	info->amcanparallel = false;
	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		ListCell   *lc2;

		foreach(lc2, clause->indexquals)
			add_condition(root, index, clause->indexcol,
						  (Node *) lfirst_node(RestrictInfo, lc2)->clause,
						  &cost);
	}
	index_close(index, NoLock);

	quals = add_predicate_to_index_quals(info, quals);
	*selectivity = clauselist_selectivity(root, quals,
										  info->rel->relid, JOIN_INNER, NULL);
	rows = clamp_row_est(*selectivity * info->rel->tuples);
	get_tablespace_page_costs(info->reltablespace, &random_page_cost,
							  &seq_page_cost);

	/* Streams of the whole index are read in order, terms at random. */
	if (cost.whole_index)
		*total_cost = info->pages * seq_page_cost;
	else
	{
		cost.pages = Min(cost.pages, Max((double) info->pages, 1.0));
		if (outer > 1)
			cost.pages = index_pages_fetched(cost.pages * outer,
											 info->pages, info->pages,
											 root) / outer;
		*total_cost = cost.pages * random_page_cost;
	}
	cpu = rows * (cpu_index_tuple_cost + OPERATORS_PER_POSTING *
				  cpu_operator_cost * list_length(quals));
	*startup_cost = 0;
	*total_cost += cpu;
	if (cost.wrong_analyzer)
	{
		*startup_cost += disable_cost;
		*total_cost += disable_cost;
	}

	/*
	 * Core thinks of an index-only scan where no column is needed, whatever
	 * amcanreturn says.  Such a scan trusts the visibility map, which needs a
	 * barrier against VACUUM that this access method does not have.
	 */
	if (path->path.pathtype == T_IndexOnlyScan)
		snii_compat_disable_path(&path->path, startup_cost, total_cost);
	*correlation = outer > 1 || cost.wrong_analyzer ? 0 :
		heap_order_correlation(root, path, quals, *selectivity, rows);
	*pages = cost.whole_index ? info->pages : cost.pages;
}
