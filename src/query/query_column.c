/*-------------------------------------------------------------------------
 *
 * query_column.c
 *	  Which analyzer does the left side of a search operator have?
 *
 * The answer must be the same at whatever level of a query a clause stands,
 * before and after the planner has pulled subqueries up, inlined CTEs or
 * pushed the clause down.  So the expression is followed down to a table: a
 * Var of a subquery, CTE, join, grouping step or VALUES list is replaced by
 * the expression it stands for, in the scope of that one, until all Vars are
 * columns of one table.  Then the snii indexes of the table are searched for
 * that column or expression; the valid one with the lowest OID decides.
 *
 * A set operation or VALUES list has several expressions for one Var: the
 * first of them that leads to an index decides.  A table with partitions or
 * children is searched under the name that the query gives, so that the
 * topmost parent decides for all of them.  Without an index: "standard".
 *
 * All relations looked at are in the range table of the query or of a
 * subquery.  Hence they are locked by the planner's caller, a cached plan
 * depends on them, and whatever changes their set of indexes invalidates it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_column.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "compat.h"
#include "lsm/lsm_kind.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "storage/storage_meta.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* A query level, to look up Vars in. */
typedef struct Scope Scope;
struct Scope
{
	Query	   *query;
	PlannerInfo *root;			/* NULL for a query not being planned */
	Scope	   *outer;			/* NULL if not known yet, see outer_scope() */
};

/* The one range table entry that all Vars of an expression belong to. */
typedef struct VarOwner
{
	int			varno;			/* 0: no Var was seen */
	Index		level;
	bool		mixed;			/* Vars of several, or what is not followed */
} VarOwner;

/* Gives the expression that column attno of a range table entry stands for. */
typedef struct Substitution
{
	List	   *expressions;	/* by attno, or ... */
	List	   *targets;		/* ... TargetEntries, by resno */
	Index		relation_level; /* 1: replace by plain columns of a table */
	bool		failed;
} Substitution;

static bool resolve(Scope *scope, Node *expr, SniiColumn *column);

/* ---------- expressions ---------- */

/*
 * If expr is a cast to text that search operators see through (bpchar and
 * name have operators of their own), its argument, else expr.
 */
Node *
snii_query_strip_cast(Node *expr)
{
	if (IsA(expr, FuncExpr))
	{
		FuncExpr   *func = (FuncExpr *) expr;

		if (func->funcid == F_TEXT_BPCHAR || func->funcid == F_TEXT_NAME)
			return linitial(func->args);
	}
	return expr;
}

/* Removes what does not change the value at the top of an expression. */
static Node *
strip(Node *expr)
{
	for (;;)
	{
		Node	   *inner = snii_query_strip_cast(expr);

		if (IsA(inner, RelabelType))
			inner = (Node *) ((RelabelType *) inner)->arg;
		else if (IsA(inner, CollateExpr))
			inner = (Node *) ((CollateExpr *) inner)->arg;
		else if (IsA(inner, CoerceToDomain))
			inner = (Node *) ((CoerceToDomain *) inner)->arg;
		else if (IsA(inner, PlaceHolderVar))
			inner = (Node *) ((PlaceHolderVar *) inner)->phexpr;
		if (inner == expr)
			return expr;
		expr = inner;
	}
}

static bool
find_owner_walker(Node *node, void *arg)
{
	VarOwner   *owner = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (owner->varno != 0 &&
			(owner->varno != (int) var->varno ||
			 owner->level != var->varlevelsup))
			owner->mixed = true;
		owner->varno = (int) var->varno;
		owner->level = var->varlevelsup;
		return owner->mixed;
	}
	if (IsA(node, SubLink) || IsA(node, SubPlan) ||
		IsA(node, AlternativeSubPlan) || IsA(node, Aggref) ||
		IsA(node, GroupingFunc) || IsA(node, WindowFunc))
	{
		owner->mixed = true;
		return true;
	}
	return expression_tree_walker(node, find_owner_walker, arg);
}

/* What a column of a substitution stands for; NULL if nothing. */
static Node *
substitute(const Substitution *by, AttrNumber attno)
{
	if (attno <= 0)
		return NULL;
	if (by->targets != NIL)
	{
		TargetEntry *target = get_tle_by_resno(by->targets, attno);

		return target && !target->resjunk ? (Node *) target->expr : NULL;
	}
	if (attno > list_length(by->expressions))
		return NULL;
	return list_nth(by->expressions, attno - 1);
}

/* Replaces the Vars of an expression, all of which have one owner. */
static Node *
substitute_mutator(Node *node, void *arg)
{
	Substitution *by = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
		return substitute_mutator((Node *) ((PlaceHolderVar *) node)->phexpr,
								  arg);
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;
		Node	   *expr;

		if (by->relation_level > 0)
		{
			Var		   *plain = copyObject((Var *) node);

			plain->varno = 1;
			plain->varlevelsup = 0;
			SNII_CLEAR_VAR(plain);
			return (Node *) plain;
		}
		expr = substitute(by, var->varattno);
		if (expr == NULL)
			by->failed = true;
		return expr ? copyObject(expr) : copyObject(node);
	}
	return expression_tree_mutator(node, substitute_mutator, arg);
}

/* ---------- indexes ---------- */

/*
 * Analyzer that the operator class of an index column (0-based) prescribes by
 * support function SNII_ANALYZER_PROC; NULL if it leaves that to the options.
 */
static const SniiAnalyzer *
opclass_analyzer(Relation index, int column)
{
	FmgrInfo   *proc;

	if (!OidIsValid(index_getprocid(index, column + 1, SNII_ANALYZER_PROC)))
		return NULL;
	proc = index_getprocinfo(index, column + 1, SNII_ANALYZER_PROC);
	return snii_text_analyzer_by_name(
									  TextDatumGetCString(FunctionCall0Coll(proc, InvalidOid)));
}

/* The analyzer that the storage options of an index name; NULL if none. */
static const SniiAnalyzer *
option_analyzer(Oid index)
{
	const SniiAnalyzer *analyzer = NULL;
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	Datum		options;
	bool		isnull;
	ListCell   *lc;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
							  &isnull);
	foreach(lc, isnull ? NIL : untransformRelOptions(options))
	{
		DefElem    *option = lfirst(lc);

		if (strcmp(option->defname, "analyzer") == 0)
			analyzer = snii_text_analyzer_by_name(defGetString(option));
	}
	ReleaseSysCache(tuple);
	return analyzer;
}

/* The analyzer that the meta page has for a column of a built index. */
static const SniiAnalyzer *
meta_analyzer(Relation index, int column)
{
	const SniiAnalyzer *analyzer;
	SniiMetaPage meta;

	snii_storage_meta_read(index, &meta);
	if (meta.kind != SNII_KIND_INVERTED || column >= meta.ncolumns ||
		meta.column_analyzer[column] == 0)
		return NULL;
	analyzer = snii_text_analyzer_by_id(meta.column_analyzer[column]);
	if (analyzer == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" uses analyzer %d, which this version "
						"does not have", RelationGetRelationName(index),
						meta.column_analyzer[column]),
				 errhint("Update the library, or REINDEX the index.")));
	return analyzer;
}

/* Can the pages of the index be read? */
static bool
has_pages(Relation index)
{
	if (index->rd_rel->relkind != RELKIND_INDEX)
		return false;
	return RelationIsPermanent(index) || !RecoveryInProgress();
}

/*
 * What the catalogs say of the analyzer of a column (0-based): the choice of
 * its operator class or of the index's options, "standard" without either.
 * The next build will use it.
 */
const SniiAnalyzer *
snii_query_catalog_analyzer(Relation index, int column)
{
	const SniiAnalyzer *analyzer = opclass_analyzer(index, column);

	if (analyzer == NULL)
		analyzer = option_analyzer(RelationGetRelid(index));
	return analyzer ? analyzer :
		snii_text_analyzer_by_id(SNII_ANALYZER_STANDARD);
}

/*
 * The analyzer of a column (0-based) of a snii index; NULL if that is no
 * column of text to search in.
 *
 * The meta page knows what the index contains; its options are what the next
 * REINDEX will use.  An index of a partitioned table has options only, which
 * cannot be changed, and a table that is not logged has no pages on a
 * standby, where it cannot be queried either.
 */
const SniiAnalyzer *
snii_query_index_analyzer(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	if (type != TEXTOID && type != BPCHAROID && type != NAMEOID)
		return NULL;
	if (has_pages(index))
		return meta_analyzer(index, column);
	return snii_query_catalog_analyzer(index, column);
}

/*
 * Finds expr, a column or an expression over the columns of Var number 1,
 * among the columns of an index.  Returns its 0-based number, or -1.
 */
static int
find_index_column(Relation index, Node *expr)
{
	Form_pg_index form = index->rd_index;
	List	   *expressions = RelationGetIndexExpressions(index);
	ListCell   *next = list_head(expressions);

	for (int i = 0; i < form->indnkeyatts; i++)
	{
		AttrNumber	attno = form->indkey.values[i];

		if (attno != 0)
		{
			if (IsA(expr, Var) && ((Var *) expr)->varattno == attno)
				return i;
		}
		else if (next != NULL)
		{
			if (equal(strip(lfirst(next)), expr))
				return i;
			next = lnext(expressions, next);
		}
	}
	return -1;
}

/* Does the index, if it is a valid one of ours, have expr as a column? */
static bool
search_index(Oid indexoid, Oid am, Node *expr, SniiColumn *column)
{
	Relation	index = index_open(indexoid, AccessShareLock);
	const SniiAnalyzer *analyzer = NULL;

	if (index->rd_rel->relam == am && index->rd_index->indisvalid)
	{
		int			i = find_index_column(index, expr);

		if (i >= 0)
			analyzer = snii_query_index_analyzer(index, i);
		if (analyzer != NULL)
		{
			column->analyzer = analyzer;
			column->index = indexoid;
			column->collation = index->rd_indcollation[i];
		}
	}
	index_close(index, NoLock);
	return analyzer != NULL;
}

/* Searches the indexes of a table by ascending OID. */
static bool
search_indexes(Oid relid, Node *expr, SniiColumn *column)
{
	Oid			am = get_index_am_oid("snii", true);
	Relation	rel;
	List	   *indexes;
	ListCell   *lc;
	bool		found = false;

	if (!OidIsValid(am))
		return false;
	rel = table_open(relid, AccessShareLock);
	indexes = RelationGetIndexList(rel);
	list_sort(indexes, list_oid_cmp);
	foreach(lc, indexes)
	{
		found = search_index(lfirst_oid(lc), am, expr, column);
		if (found)
			break;
	}
	list_free(indexes);
	table_close(rel, NoLock);
	return found;
}

/* All Vars of expr are columns of this table: look at its indexes. */
static bool
resolve_table(Oid relid, Node *expr, SniiColumn *column)
{
	Substitution by = {0};

	by.relation_level = 1;
	expr = substitute_mutator(expr, &by);
	/* index expressions are stored as parsed and simplified like this */
	if (!IsA(expr, Var))
		expr = strip(eval_const_expressions(NULL, expr));
	return search_indexes(relid, expr, column);
}

/* ---------- scopes ---------- */

/* The scope n levels up; NULL if there is none. */
static Scope *
outer_scope(Scope *scope, Index n)
{
	for (; n > 0 && scope != NULL; n--)
	{
		if (scope->outer == NULL && scope->root != NULL &&
			scope->root->parent_root != NULL)
		{
			scope->outer = palloc0(sizeof(Scope));
			scope->outer->root = scope->root->parent_root;
			scope->outer->query = scope->outer->root->parse;
		}
		scope = scope->outer;
	}
	return scope;
}

/* Replaces the Vars of expr and goes on with the result in scope. */
static bool
resolve_by(Scope *scope, Node *expr, Substitution *by, SniiColumn *column)
{
	Node	   *replaced = substitute_mutator(expr, by);

	return !by->failed && resolve(scope, replaced, column);
}

static bool
resolve_expressions(Scope *scope, List *expressions, Node *expr,
					SniiColumn *column)
{
	Substitution by = {0};

	by.expressions = expressions;
	return resolve_by(scope, expr, &by, column);
}

/* The Vars of expr are columns of this query, a subquery of scope. */
static bool
resolve_query(Scope *scope, Query *query, Node *expr, bool first_only,
			  SniiColumn *column)
{
	Scope		inner = {query, NULL, scope};
	Substitution by = {0};
	List	   *pending;

	if (query == NULL || !IsA(query, Query))
		return false;
	if (query->setOperations == NULL)
	{
		by.targets = query->commandType == CMD_SELECT ?
			query->targetList : query->returningList;
		return by.targets != NIL && resolve_by(&inner, expr, &by, column);
	}

	/* a set operation: its leaves from left to right */
	pending = list_make1(query->setOperations);
	while (pending != NIL)
	{
		Node	   *node = linitial(pending);

		pending = list_delete_first(pending);
		if (IsA(node, SetOperationStmt))
		{
			SetOperationStmt *op = (SetOperationStmt *) node;

			pending = lcons(op->larg, lcons(op->rarg, pending));
		}
		else if (IsA(node, RangeTblRef))
		{
			RangeTblEntry *leaf = rt_fetch(((RangeTblRef *) node)->rtindex,
										   query->rtable);

			if (resolve_query(&inner, leaf->subquery, expr, false, column))
				return true;
			if (first_only)
				return false;
		}
	}
	return false;
}

/*
 * A CTE.  Within its own recursive term it stands for the first leaf, which
 * is not recursive.
 */
static bool
resolve_cte(Scope *scope, const RangeTblEntry *rte, Node *expr,
			SniiColumn *column)
{
	ListCell   *lc;

	scope = outer_scope(scope, rte->ctelevelsup);
	if (scope == NULL)
		return false;
	foreach(lc, scope->query->cteList)
	{
		CommonTableExpr *cte = lfirst(lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			return resolve_query(scope, (Query *) cte->ctequery, expr,
								 rte->self_reference, column);
	}
	return false;
}

/* All Vars of expr belong to this range table entry of scope. */
static bool
resolve_entry(Scope *scope, const RangeTblEntry *rte, Node *expr,
			  SniiColumn *column)
{
	ListCell   *lc;

	switch (rte->rtekind)
	{
		case RTE_RELATION:
		case RTE_NAMEDTUPLESTORE:
			return OidIsValid(rte->relid) &&
				resolve_table(rte->relid, expr, column);
		case RTE_SUBQUERY:
			return resolve_query(scope, rte->subquery, expr, false, column);
		case RTE_CTE:
			return resolve_cte(scope, rte, expr, column);
		case RTE_JOIN:
			return resolve_expressions(scope, rte->joinaliasvars, expr,
									   column);
		case RTE_VALUES:
			foreach(lc, rte->values_lists)
			{
				if (resolve_expressions(scope, lfirst(lc), expr, column))
					return true;
			}
			return false;
		default:
			if (SNII_GROUP_EXPRESSIONS(rte) != NIL)
				return resolve_expressions(scope, SNII_GROUP_EXPRESSIONS(rte),
										   expr, column);
			return false;
	}
}

/* Follows expr, an expression in scope, to an index; false if there is none. */
static bool
resolve(Scope *scope, Node *expr, SniiColumn *column)
{
	VarOwner	owner = {0};

	check_stack_depth();
	expr = strip(expr);
	if (IsA(expr, SubLink) && ((SubLink *) expr)->subLinkType == EXPR_SUBLINK)
	{
		Query	   *query = (Query *) ((SubLink *) expr)->subselect;
		Var		   *first = makeVar(1, 1, TEXTOID, -1, InvalidOid, 0);

		return resolve_query(scope, query, (Node *) first, false, column);
	}
	(void) find_owner_walker(expr, &owner);
	if (owner.varno <= 0 || owner.mixed)
		return false;
	scope = outer_scope(scope, owner.level);
	if (scope == NULL || owner.varno > list_length(scope->query->rtable))
		return false;
	return resolve_entry(scope, rt_fetch(owner.varno, scope->query->rtable),
						 expr, column);
}

/*
 * Finds the analyzer of expr, the left side of a search operator in the query
 * that root plans.  Raises nothing but what the catalogs raise.
 */
void
snii_query_column(PlannerInfo *root, Node *expr, SniiColumn *column)
{
	Scope		scope = {root->parse, root, NULL};

	column->analyzer = snii_text_analyzer_by_id(SNII_ANALYZER_STANDARD);
	column->index = InvalidOid;
	column->collation = InvalidOid;
	(void) resolve(&scope, expr, column);
}
