/*-------------------------------------------------------------------------
 *
 * query_build.c
 *	  Text to query: parse, analyse, normalise.
 *
 * The only place where the text of a query meets an analyzer, so that all
 * forms of a query mean the same.  An operand whose text has no token (only
 * punctuation) is left out as if it had not been written; a query of nothing
 * else matches nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_build.h"

#include "compat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "query/query_parse.h"
#include "utils/memutils.h"

/* The tokens of one text. */
typedef struct TokenList
{
	SniiQueryTerm *terms;
	uint32		n;
	uint32		size;
} TokenList;

/* A growing array of nodes. */
typedef struct NodeList
{
	SniiQueryNode **nodes;
	uint32		n;
	uint32		size;
} NodeList;

static SniiQueryNode *convert(const SniiAnalyzer *analyzer,
							  const SniiParseNode *node);

/* ---------- tokens ---------- */

/* Sink of the analyzer: keeps a copy of the token. */
static void
collect_token(void *arg, const char *bytes, uint32 len, uint32 position,
			  uint32 start, uint32 end)
{
	TokenList  *list = arg;
	SniiQueryTerm *term;
	char	   *copy;

	if (list->n >= SNII_QUERY_MAX_NODES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a query must not have more than %d terms",
						SNII_QUERY_MAX_NODES)));
	if (list->n == list->size)
	{
		list->size = list->size ? list->size * 2 : 8;
		list->terms = list->terms == NULL ?
			palloc(list->size * sizeof(SniiQueryTerm)) :
			repalloc_huge(list->terms, list->size * sizeof(SniiQueryTerm));
	}
	copy = palloc(len + 1);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	term = &list->terms[list->n++];
	memset(term, 0, sizeof(SniiQueryTerm));
	term->token = copy;
	term->token_len = len;
	term->position = position;
}

static void
analyze(const SniiAnalyzer *analyzer, const char *text, size_t len,
		TokenList *list)
{
	memset(list, 0, sizeof(TokenList));
	snii_text_analyze(analyzer, text, len, collect_token, list);
}

/* A node TERM for each token of the list. */
static SniiQueryNode **
term_nodes(const TokenList *list)
{
	SniiQueryNode **nodes;

	nodes = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) (list->n + 1) * sizeof(*nodes));
	for (uint32 i = 0; i < list->n; i++)
		nodes[i] = snii_query_node_terms(&list->terms[i], 1);
	return nodes;
}

/* ---------- parse tree to query tree ---------- */

static void
append_node(NodeList *list, SniiQueryNode *node)
{
	if (list->n == list->size)
	{
		list->size = list->size ? list->size * 2 : 4;
		list->nodes = list->nodes == NULL ?
			palloc(list->size * sizeof(SniiQueryNode *)) :
			repalloc_huge(list->nodes, list->size * sizeof(SniiQueryNode *));
	}
	list->nodes[list->n++] = node;
}

/* Word or quoted text: a term, a phrase, or NULL without a token. */
static SniiQueryNode *
convert_text(const SniiAnalyzer *analyzer, const SniiParseNode *node)
{
	TokenList	list;

	analyze(analyzer, node->text, node->len, &list);
	return list.n == 0 ? NULL : snii_query_node_terms(list.terms, list.n);
}

/* 'exact' or phrase('a' ...): the terms as they are written. */
static SniiQueryNode *
convert_exact(const SniiParseNode *node)
{
	const SniiParseNode *first = node->child ? node->child : node;
	SniiQueryTerm *terms;
	uint32		n = 0;

	for (const SniiParseNode *p = first; p; p = node->child ? p->next : NULL)
		n++;
	terms = MemoryContextAllocExtended(CurrentMemoryContext,
									   (Size) n * sizeof(SniiQueryTerm),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	n = 0;
	for (const SniiParseNode *p = first; p; p = node->child ? p->next : NULL)
	{
		terms[n].token = p->text;
		terms[n].token_len = (uint32) p->len;
		terms[n++].position = p->position;
	}
	return snii_query_node_terms(terms, n);
}

/* AND or OR of the children that have content; NULL if none has. */
static SniiQueryNode *
convert_boolean(const SniiAnalyzer *analyzer, const SniiParseNode *node)
{
	NodeList	list = {0};

	for (const SniiParseNode *p = node->child; p; p = p->next)
	{
		SniiQueryNode *child = convert(analyzer, p);

		if (child)
			append_node(&list, child);
	}
	if (list.n == 0)
		return NULL;
	return snii_query_node_children(node->kind == SNII_PARSE_AND ?
									SNII_QUERY_AND : SNII_QUERY_OR,
									list.nodes, list.n);
}

/*
 * Adjacent clauses: all of the required ones, or else any of the optional
 * ones, and none of the prohibited ones.
 */
static SniiQueryNode *
convert_sequence(const SniiAnalyzer *analyzer, const SniiParseNode *node)
{
	NodeList	all = {0};
	NodeList	optional = {0};
	bool		required = false;

	for (const SniiParseNode *p = node->child; p; p = p->next)
	{
		SniiQueryNode *child = convert(analyzer, p);

		if (child == NULL)
			continue;
		append_node(p->occur == SNII_OCCUR_OPTIONAL ? &optional : &all, child);
		if (p->occur == SNII_OCCUR_REQUIRED)
			required = true;
	}
	if (all.n == 0 && optional.n == 0)
		return NULL;
	if (optional.n > 0 && !required)
	{
		SniiQueryNode *any = snii_query_node_children(SNII_QUERY_OR,
													  optional.nodes,
													  optional.n);

		/* what is asked for reads better before what is not */
		append_node(&all, any);
		memmove(all.nodes + 1, all.nodes, (all.n - 1) * sizeof(*all.nodes));
		all.nodes[0] = any;
	}
	return snii_query_node_children(SNII_QUERY_AND, all.nodes, all.n);
}

/* The query of a parse tree; NULL if it has no content. */
static SniiQueryNode *
convert(const SniiAnalyzer *analyzer, const SniiParseNode *node)
{
	SniiQueryNode *child;

	check_stack_depth();
	switch (node->kind)
	{
		case SNII_PARSE_EMPTY:
			return NULL;
		case SNII_PARSE_TEXT:
			return convert_text(analyzer, node);
		case SNII_PARSE_EXACT:
		case SNII_PARSE_EXACT_PHRASE:
			return convert_exact(node);
		case SNII_PARSE_ALL:
			return snii_query_node(SNII_QUERY_ALL);
		case SNII_PARSE_AND:
		case SNII_PARSE_OR:
			return convert_boolean(analyzer, node);
		case SNII_PARSE_NOT:
			child = convert(analyzer, node->child);
			return child ? snii_query_node_not(child) : NULL;
		case SNII_PARSE_SEQUENCE:
			return convert_sequence(analyzer, node);
	}
	elog(ERROR, "unknown kind of parse node: %d", (int) node->kind);
	return NULL;				/* keep compilers quiet */
}

/* ---------- errors of strict input ---------- */

/* Reports why text is no query; returns NULL if the error is a soft one. */
static SniiQuery *
report_failure(const SniiParseResult *result, const char *text,
			   Node *escontext)
{
	int			code = ERRCODE_SYNTAX_ERROR;
	int			character;

	if (result->failure == SNII_PARSE_UNSUPPORTED)
		code = ERRCODE_FEATURE_NOT_SUPPORTED;
	else if (result->failure == SNII_PARSE_LIMIT)
		code = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	character = pg_mbstrlen_with_len(text, (int) result->offset) + 1;
	SNII_SOFT_ERROR(escontext, NULL,
					(errcode(code),
					 code == ERRCODE_SYNTAX_ERROR ?
					 errmsg("syntax error in sniiquery: \"%s\"", text) :
					 errmsg("cannot read sniiquery: \"%s\"", text),
					 errdetail("At character %d: %s.",
							   character, result->message)));
}

/* A query that is too deep for its text to be read back. */
static SniiQuery *
report_depth(Node *escontext)
{
	SNII_SOFT_ERROR(escontext, NULL,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("a sniiquery must not be nested more than %d deep",
							SNII_QUERY_MAX_DEPTH)));
}

static SniiQuery *
report_analyzer(const char *name, Node *escontext)
{
	SNII_SOFT_ERROR(escontext, NULL,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("analyzer \"%s\" does not exist", name),
					 errhint("Analyzers are: %s.", snii_text_analyzer_names())));
}

/* The text names another analyzer than the call. */
static SniiQuery *
report_mismatch(const SniiAnalyzer *analyzer, const char *name,
				Node *escontext)
{
	SNII_SOFT_ERROR(escontext, NULL,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the query names analyzer \"%s\", not \"%s\"",
							name, snii_text_analyzer_name(analyzer))));
}

/* The analyzer of this name; ERRCODE_UNDEFINED_OBJECT if there is none. */
const SniiAnalyzer *
snii_query_analyzer_named(const char *name, size_t len)
{
	char	   *copy = pnstrdup(name, len);
	const SniiAnalyzer *analyzer = snii_text_analyzer_by_name(copy);

	if (analyzer == NULL)
		(void) report_analyzer(copy, NULL);
	pfree(copy);
	return analyzer;
}

/* ---------- entry points ---------- */

static int
encoding_flag(void)
{
	return GetDatabaseEncoding() == PG_UTF8 ? SNII_PARSE_UTF8 : 0;
}

/* NONE in place of a query without content. */
static SniiQueryNode *
or_none(SniiQueryNode *node)
{
	return node ? node : snii_query_node(SNII_QUERY_NONE);
}

/*
 * Reads the strict query language.
 *
 * An analyzer that the text names must be the given one, if there is one;
 * without any it is "standard".  A mistake of the text is reported to
 * escontext, then the result is NULL, or raised if that is NULL.  text ends
 * with a NUL at text[len].
 */
SniiQuery *
snii_query_build_strict(const SniiAnalyzer *analyzer, const char *text,
						size_t len, Node *escontext)
{
	SniiParseResult result;
	SniiQueryNode *root;

	if (!snii_query_parse(text, len, encoding_flag(), &result))
		return report_failure(&result, text, escontext);
	if (result.analyzer)
	{
		char	   *name = pnstrdup(result.analyzer, result.analyzer_len);
		const SniiAnalyzer *named = snii_text_analyzer_by_name(name);

		if (named == NULL)
			return report_analyzer(name, escontext);
		if (analyzer != NULL && analyzer != named)
			return report_mismatch(analyzer, name, escontext);
		analyzer = named;
	}
	if (analyzer == NULL)
		analyzer = snii_text_analyzer_by_id(SNII_ANALYZER_STANDARD);
	root = or_none(convert(analyzer, result.root));
	if (snii_query_node_depth(root) > SNII_QUERY_MAX_DEPTH)
		return report_depth(escontext);
	return snii_query_make(analyzer, root);
}

/* Reads the lenient query language; raises nothing but limits on size. */
static SniiQueryNode *
web_tree(const SniiAnalyzer *analyzer, const char *text, size_t len)
{
	SniiParseResult result;

	if (!snii_query_parse(text, len, encoding_flag() | SNII_PARSE_LENIENT,
						  &result))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a query must not have more than %d terms",
						SNII_QUERY_MAX_NODES)));
	return or_none(convert(analyzer, result.root));
}

static SniiQuery *
build(SniiQueryForm form, const SniiAnalyzer *analyzer,
	  const char *text, size_t len)
{
	SniiQueryNode *root;
	TokenList	list;

	if (form == SNII_FORM_STRICT)
		return snii_query_build_strict(analyzer, pnstrdup(text, len), len,
									   NULL);
	if (form == SNII_FORM_WEB)
		return snii_query_make(analyzer, web_tree(analyzer, text, len));
	analyze(analyzer, text, len, &list);
	if (form == SNII_FORM_PHRASE || list.n == 0)
		root = snii_query_node_terms(list.terms, list.n);
	else
		root = snii_query_node_children(form == SNII_FORM_ANY ?
										SNII_QUERY_OR : SNII_QUERY_AND,
										term_nodes(&list), list.n);
	return snii_query_make(analyzer, root);
}

/*
 * The query that text means in the given form, in the current context, which
 * gets nothing else.
 */
SniiQuery *
snii_query_build(SniiQueryForm form, const SniiAnalyzer *analyzer,
				 const char *text, size_t len)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii query builder",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiQuery  *query = build(form, analyzer, text, len);
	SniiQuery  *result;

	MemoryContextSwitchTo(old);
	result = palloc(VARSIZE(query));
	memcpy(result, query, VARSIZE(query));
	MemoryContextDelete(context);
	return result;
}
