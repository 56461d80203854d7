/*-------------------------------------------------------------------------
 *
 * query_support.c
 *	  Planner support: every form of a search becomes @@@ with a sniiquery.
 *
 * The planner asks for a simpler form of each call of a match function, by
 * name or by operator, while it folds constants.  With a constant text the
 * answer is
 *
 *		column @@@ '@analyzer ...'::sniiquery
 *
 * and with anything else
 *
 *		column @@@ snii_any('analyzer', text)
 *
 * (or snii_all, snii_phrase, snii_websearch), an immutable call.  The answer
 * is given whenever the planner tells the query (root), also if the analyzer
 * is the default: no later stage may find another one.  Without a root
 * (predicates, CHECK, COPY WHERE, ...) the column is unknown and the call is
 * left as it is; query_func.c says what it does when it is executed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_support.h"

#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "query/query_column.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(snii_support_any);
PG_FUNCTION_INFO_V1(snii_support_all);
PG_FUNCTION_INFO_V1(snii_support_phrase);
PG_FUNCTION_INFO_V1(snii_support_web);
PG_FUNCTION_INFO_V1(snii_support_query);

/* Name of the immutable function that makes a query of (analyzer, text). */
const char *
snii_query_form_function(SniiQueryForm form)
{
	switch (form)
	{
		case SNII_FORM_ANY:
			return "snii_any";
		case SNII_FORM_ALL:
			return "snii_all";
		case SNII_FORM_PHRASE:
			return "snii_phrase";
		case SNII_FORM_WEB:
			return "snii_websearch";
		case SNII_FORM_STRICT:
			return "snii_query";
	}
	return NULL;
}

/* Our objects are in the schema of the function that is being planned. */
static Oid
type_oid(Oid schema)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
						   CStringGetDatum("sniiquery"),
						   ObjectIdGetDatum(schema));
}

static Oid
operator_oid(Oid schema, Oid left, Oid right)
{
	return GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum("@@@"),
						   ObjectIdGetDatum(left), ObjectIdGetDatum(right),
						   ObjectIdGetDatum(schema));
}

static Oid
constructor_oid(Oid schema, SniiQueryForm form)
{
	Oid			types[2] = {TEXTOID, TEXTOID};
	const char *name = snii_query_form_function(form);

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, 2)),
						   ObjectIdGetDatum(schema));
}

/* Type of the left side that an operator exists for. */
static Oid
left_type(Node *left)
{
	Oid			type = getBaseType(exprType(left));

	return type == BPCHAROID || type == NAMEOID ? type : TEXTOID;
}

/* left @@@ right, or NULL if there is no such operator. */
static Node *
make_match(Oid schema, Node *left, Node *right, Oid collation)
{
	Oid			opno;
	Expr	   *clause;

	left = snii_query_strip_cast(left);
	opno = operator_oid(schema, left_type(left), exprType(right));
	if (!OidIsValid(opno))
		return NULL;
	if (!OidIsValid(collation))
		collation = exprCollation(left);
	clause = make_opclause(opno, BOOLOID, false, (Expr *) left, (Expr *) right,
						   InvalidOid, collation);
	set_opfuncid((OpExpr *) clause);
	if (IsA(left, Const) && IsA(right, Const))
		return eval_const_expressions(NULL, (Node *) clause);
	return (Node *) clause;
}

/* The query that a constant text means. */
static Node *
constant_query(Oid type, SniiQueryForm form, const SniiAnalyzer *analyzer,
			   const Const *constant)
{
	text	   *value = DatumGetTextPP(constant->constvalue);
	SniiQuery  *query = snii_query_build(form, analyzer, VARDATA_ANY(value),
										 VARSIZE_ANY_EXHDR(value));

	return (Node *) makeConst(type, -1, InvalidOid, -1,
							  PointerGetDatum(query), false, false);
}

/* A call that makes the query when it is executed, or NULL. */
static Node *
query_call(Oid schema, Oid type, SniiQueryForm form,
		   const SniiAnalyzer *analyzer, Node *text)
{
	Oid			function = constructor_oid(schema, form);
	Const	   *name;

	if (!OidIsValid(function))
		return NULL;
	name = makeConst(TEXTOID, -1, InvalidOid, -1,
					 CStringGetTextDatum(snii_text_analyzer_name(analyzer)),
					 false, false);
	return (Node *) makeFuncExpr(function, type, list_make2(name, text),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* The simpler form of a call with text on the right, or NULL. */
static Node *
simplify_text(const SupportRequestSimplify *request, SniiQueryForm form)
{
	Oid			schema = get_func_namespace(request->fcall->funcid);
	Node	   *left = linitial(request->fcall->args);
	Node	   *right = lsecond(request->fcall->args);
	Oid			type = type_oid(schema);
	SniiColumn	column;
	Node	   *query;

	if (request->root == NULL || !OidIsValid(type))
		return NULL;
	snii_query_column(request->root, left, &column);
	if (IsA(right, Const) && !((Const *) right)->constisnull)
		query = constant_query(type, form, column.analyzer, (Const *) right);
	else
		query = query_call(schema, type, form, column.analyzer, right);
	if (query == NULL)
		return NULL;
	return make_match(schema, left, query, column.collation);
}

static Datum
support_text(FunctionCallInfo fcinfo, SniiQueryForm form)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(simplify_text((SupportRequestSimplify *) request, form));
}

Datum
snii_support_any(PG_FUNCTION_ARGS)
{
	return support_text(fcinfo, SNII_FORM_ANY);
}

Datum
snii_support_all(PG_FUNCTION_ARGS)
{
	return support_text(fcinfo, SNII_FORM_ALL);
}

Datum
snii_support_phrase(PG_FUNCTION_ARGS)
{
	return support_text(fcinfo, SNII_FORM_PHRASE);
}

Datum
snii_support_web(PG_FUNCTION_ARGS)
{
	return support_text(fcinfo, SNII_FORM_WEB);
}

/*
 * match(column, sniiquery): the operator of the same meaning.  Needs no root,
 * so that predicates of indexes have the same form as clauses of queries.
 */
Datum
snii_support_query(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSimplify *request = (SupportRequestSimplify *) node;

	if (!IsA(node, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(make_match(get_func_namespace(request->fcall->funcid),
								 linitial(request->fcall->args),
								 lsecond(request->fcall->args), InvalidOid));
}
