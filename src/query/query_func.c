/*-------------------------------------------------------------------------
 *
 * query_func.c
 *	  SQL functions and operators that match text against a query.
 *
 * snii_match() is the one search operator, @@@ with a sniiquery.  The forms
 * with text on the right (match_any(), ..., and their operators) depend on
 * the analyzer of their left side's index; the planner replaces them
 * (query_support.c), since only it knows which column that is.  They are
 * executed as they are
 *
 *	- for values that are no column, such as variables of PL/pgSQL: with the
 *	  analyzer "standard", as the planner would;
 *	- for columns in expressions that are planned without a query (CHECK,
 *	  COPY WHERE, WHEN of a trigger, ALTER TYPE ... USING, statistics) and for arrays
 *	  (column ||| ANY (...)), which the planner does not ask about.  The
 *	  analyzer of the column cannot be known there, and to guess would give
 *	  such a clause another meaning than the same one in a query.  So they
 *	  raise an error that says how to name the analyzer.
 *
 * Matchers and queries are kept in fn_extra and made again when the query
 * changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_func.h"

#include "catalog/pg_type.h"
#include "compat.h"
#include "nodes/nodeFuncs.h"
#include "query/query_build.h"
#include "query/query_match.h"
#include "query/query_support.h"
#include "utils/builtins.h"

/* The query of the last call. */
typedef struct QueryCache
{
	bool		constant;		/* the second argument cannot change */
	text	   *analyzer;		/* key of a constructor ... */
	text	   *text;			/* ... and of a form with text */
	SniiQuery  *query;
	SniiMatcher *matcher;		/* of a match function */
	const SniiAnalyzer *matcher_analyzer;
} QueryCache;

PG_FUNCTION_INFO_V1(snii_match);
PG_FUNCTION_INFO_V1(snii_match_bpchar);
PG_FUNCTION_INFO_V1(snii_match_name);
PG_FUNCTION_INFO_V1(snii_match_any);
PG_FUNCTION_INFO_V1(snii_match_all);
PG_FUNCTION_INFO_V1(snii_match_phrase);
PG_FUNCTION_INFO_V1(snii_match_web);
PG_FUNCTION_INFO_V1(snii_match_web_bpchar);
PG_FUNCTION_INFO_V1(snii_match_web_name);
PG_FUNCTION_INFO_V1(snii_any);
PG_FUNCTION_INFO_V1(snii_all);
PG_FUNCTION_INFO_V1(snii_phrase);
PG_FUNCTION_INFO_V1(snii_query);
PG_FUNCTION_INFO_V1(snii_websearch);
PG_FUNCTION_INFO_V1(snii_websearch_standard);

/* ---------- cache ---------- */

/*
 * Is the right side of the call a constant?  Of an operator with ANY it is an
 * array, whose elements differ.
 */
static bool
right_is_constant(FunctionCallInfo fcinfo)
{
	Node	   *expr = fcinfo->flinfo->fn_expr;
	List	   *args = NIL;

	if (expr != NULL && IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	else if (expr != NULL && IsA(expr, OpExpr))
		args = ((OpExpr *) expr)->args;
	return list_length(args) == 2 && IsA(lsecond(args), Const);
}

static QueryCache *
call_cache(FunctionCallInfo fcinfo)
{
	QueryCache *cache = fcinfo->flinfo->fn_extra;

	if (cache == NULL)
	{
		cache = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
									   sizeof(QueryCache));
		cache->constant = right_is_constant(fcinfo);
		fcinfo->flinfo->fn_extra = cache;
	}
	return cache;
}

/* Is value the same as the one kept?  NULL is never kept. */
static bool
same_text(const text *kept, const text *value)
{
	return kept != NULL &&
		VARSIZE_ANY_EXHDR(kept) == VARSIZE_ANY_EXHDR(value) &&
		memcmp(VARDATA_ANY(kept), VARDATA_ANY(value),
			   VARSIZE_ANY_EXHDR(kept)) == 0;
}

/* Keeps a copy of a varlena in place of the old one. */
static void *
keep(FunctionCallInfo fcinfo, void *old, const void *value)
{
	Size		size = VARSIZE_ANY(value);
	void	   *copy = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, size);

	memcpy(copy, value, size);
	if (old != NULL)
		pfree(old);
	return copy;
}

/* Frees what was kept, so that a half made change is not taken for whole. */
static void *
forget(void *old)
{
	if (old != NULL)
		pfree(old);
	return NULL;
}

/* Makes the cache hold a matcher of the query. */
static void
use_query(FunctionCallInfo fcinfo, QueryCache *cache, const SniiQuery *query)
{
	if (cache->matcher != NULL && snii_query_equal(cache->query, query))
		return;
	if (cache->matcher != NULL)
		snii_query_matcher_free(cache->matcher);
	cache->matcher = NULL;
	cache->query = keep(fcinfo, cache->query, query);
	cache->matcher_analyzer = snii_query_analyzer(cache->query);
	cache->matcher = snii_query_matcher_create(cache->query,
											   fcinfo->flinfo->fn_mcxt);
}

/* ---------- matching ---------- */

/*
 * The text of a value of a type that can be searched: text (and what is
 * binary compatible), bpchar, whose trailing blanks mean nothing, or name.
 * text points into the value or a detoasted copy of it.
 */
void
snii_query_datum_text(Oid type, Datum value, const char **text, size_t *len)
{
	struct varlena *varlena;

	if (type == NAMEOID)
	{
		*text = NameStr(*DatumGetName(value));
		*len = strlen(*text);
		return;
	}
	varlena = PG_DETOAST_DATUM_PACKED(value);
	*text = VARDATA_ANY(varlena);
	*len = VARSIZE_ANY_EXHDR(varlena);
	if (type == BPCHAROID)
		*len = bpchartruelen(unconstify(char *, *text), (int) *len);
}

static bool
match_value(QueryCache *cache, Oid type, Datum value)
{
	const char *text;
	size_t		len;

	snii_query_datum_text(type, value, &text, &len);
	return snii_query_match_text(cache->matcher, cache->matcher_analyzer,
								 text, len);
}

/* value @@@ sniiquery */
static Datum
match_query(FunctionCallInfo fcinfo, Oid type)
{
	QueryCache *cache = call_cache(fcinfo);

	if (!cache->constant || cache->matcher == NULL)
		use_query(fcinfo, cache, PG_GETARG_SNII_QUERY(1));
	PG_RETURN_BOOL(match_value(cache, type, PG_GETARG_DATUM(0)));
}

Datum
snii_match(PG_FUNCTION_ARGS)
{
	return match_query(fcinfo, TEXTOID);
}

Datum
snii_match_bpchar(PG_FUNCTION_ARGS)
{
	return match_query(fcinfo, BPCHAROID);
}

Datum
snii_match_name(PG_FUNCTION_ARGS)
{
	return match_query(fcinfo, NAMEOID);
}

/* ---------- forms with text on the right ---------- */

/* Does the expression read a column of a table? */
static bool
reads_column(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) ||
		(IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC))
		return true;
	return expression_tree_walker(node, reads_column, arg);
}

/* The left side of a call that the planner did not replace, or NULL. */
static Node *
left_side(FunctionCallInfo fcinfo)
{
	Node	   *expr = fcinfo->flinfo->fn_expr;
	List	   *args = NIL;

	if (expr == NULL)
		return NULL;
	if (IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	else if (IsA(expr, OpExpr))
		args = ((OpExpr *) expr)->args;
	else if (IsA(expr, ScalarArrayOpExpr))
		args = ((ScalarArrayOpExpr *) expr)->args;
	return args != NIL ? linitial(args) : NULL;
}

/* Refuses to guess the analyzer of a column; see the top of the file. */
static void
check_left_side(FunctionCallInfo fcinfo, SniiQueryForm form)
{
	if (!reads_column(left_side(fcinfo), NULL))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the analyzer of a column is not known here"),
			 errdetail("In CHECK, COPY, triggers, statistics and with ANY or ALL, "
					   "a search operator cannot see which index its column "
					   "has."),
			 errhint("Name the analyzer: column @@@ %s('standard', text), "
					 "or column @@@ ANY (array of sniiquery).",
					 snii_query_form_function(form))));
}

/* value matches text in the given form, by the default analyzer */
static Datum
match_form(FunctionCallInfo fcinfo, SniiQueryForm form, Oid type)
{
	QueryCache *cache = call_cache(fcinfo);
	text	   *query = PG_GETARG_TEXT_PP(1);

	if (cache->query == NULL)
		check_left_side(fcinfo, form);
	if (!same_text(cache->text, query))
	{
		const SniiAnalyzer *analyzer;

		analyzer = snii_text_analyzer_by_id(SNII_ANALYZER_STANDARD);
		cache->text = forget(cache->text);
		use_query(fcinfo, cache,
				  snii_query_build(form, analyzer, VARDATA_ANY(query),
								   VARSIZE_ANY_EXHDR(query)));
		cache->text = keep(fcinfo, NULL, query);
	}
	PG_RETURN_BOOL(match_value(cache, type, PG_GETARG_DATUM(0)));
}

Datum
snii_match_any(PG_FUNCTION_ARGS)
{
	return match_form(fcinfo, SNII_FORM_ANY, TEXTOID);
}

Datum
snii_match_all(PG_FUNCTION_ARGS)
{
	return match_form(fcinfo, SNII_FORM_ALL, TEXTOID);
}

Datum
snii_match_phrase(PG_FUNCTION_ARGS)
{
	return match_form(fcinfo, SNII_FORM_PHRASE, TEXTOID);
}

Datum
snii_match_web(PG_FUNCTION_ARGS)
{
	return match_form(fcinfo, SNII_FORM_WEB, TEXTOID);
}

Datum
snii_match_web_bpchar(PG_FUNCTION_ARGS)
{
	return match_form(fcinfo, SNII_FORM_WEB, BPCHAROID);
}

Datum
snii_match_web_name(PG_FUNCTION_ARGS)
{
	return match_form(fcinfo, SNII_FORM_WEB, NAMEOID);
}

/* ---------- constructors ---------- */

/*
 * The query of a text, kept in fn_extra: with a parameter, a plan may call a
 * constructor once for each row that it looks at.
 */
static Datum
make_query(FunctionCallInfo fcinfo, SniiQueryForm form)
{
	QueryCache *cache = call_cache(fcinfo);
	text	   *name = PG_GETARG_TEXT_PP(0);
	text	   *query = PG_GETARG_TEXT_PP(1);

	if (!same_text(cache->analyzer, name) || !same_text(cache->text, query))
	{
		const SniiAnalyzer *analyzer;
		SniiQuery  *built;

		analyzer = snii_query_analyzer_named(VARDATA_ANY(name),
											 VARSIZE_ANY_EXHDR(name));
		built = snii_query_build(form, analyzer, VARDATA_ANY(query),
								 VARSIZE_ANY_EXHDR(query));
		cache->text = forget(cache->text);
		cache->query = keep(fcinfo, cache->query, built);
		cache->analyzer = keep(fcinfo, cache->analyzer, name);
		cache->text = keep(fcinfo, NULL, query);
	}
	PG_RETURN_POINTER(cache->query);
}

Datum
snii_any(PG_FUNCTION_ARGS)
{
	return make_query(fcinfo, SNII_FORM_ANY);
}

Datum
snii_all(PG_FUNCTION_ARGS)
{
	return make_query(fcinfo, SNII_FORM_ALL);
}

Datum
snii_phrase(PG_FUNCTION_ARGS)
{
	return make_query(fcinfo, SNII_FORM_PHRASE);
}

Datum
snii_query(PG_FUNCTION_ARGS)
{
	return make_query(fcinfo, SNII_FORM_STRICT);
}

Datum
snii_websearch(PG_FUNCTION_ARGS)
{
	return make_query(fcinfo, SNII_FORM_WEB);
}

/* The lenient language with the default analyzer. */
Datum
snii_websearch_standard(PG_FUNCTION_ARGS)
{
	text	   *query = PG_GETARG_TEXT_PP(0);
	const SniiAnalyzer *analyzer;

	analyzer = snii_text_analyzer_by_id(SNII_ANALYZER_STANDARD);
	PG_RETURN_POINTER(snii_query_build(SNII_FORM_WEB, analyzer,
									   VARDATA_ANY(query),
									   VARSIZE_ANY_EXHDR(query)));
}
