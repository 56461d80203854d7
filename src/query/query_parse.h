/*-------------------------------------------------------------------------
 *
 * query_parse.h
 *	  Grammar of the query language: text in, parse tree out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_PARSE_H
#define SNII_QUERY_PARSE_H

/*
 * Deepest nesting of parentheses, in strict input and in what a value prints.
 * Each one of the input makes at most two in the output, hence the lower
 * limit beyond which lenient input ignores them.
 */
#define SNII_QUERY_MAX_DEPTH	256
#define SNII_QUERY_LENIENT_DEPTH 100

/* Most nodes of one query, terms of phrases included. */
#define SNII_QUERY_MAX_NODES	(16 * 1024 * 1024)

/* Flags of snii_query_parse(). */
#define SNII_PARSE_LENIENT		0x01	/* take what is no query as words */
#define SNII_PARSE_UTF8			0x02	/* know the white space of Unicode */

typedef enum SniiParseKind
{
	SNII_PARSE_EMPTY,			/* an operand without content: () */
	SNII_PARSE_TEXT,			/* word or "quoted text", to be analysed */
	SNII_PARSE_EXACT,			/* 'exact term' */
	SNII_PARSE_EXACT_PHRASE,	/* phrase(...); its children are exact terms */
	SNII_PARSE_ALL,				/* * */
	SNII_PARSE_AND,
	SNII_PARSE_OR,
	SNII_PARSE_NOT,
	SNII_PARSE_SEQUENCE			/* adjacent clauses, see occur */
} SniiParseKind;

/* What a clause of a sequence asks for. */
typedef enum SniiParseOccur
{
	SNII_OCCUR_OPTIONAL,
	SNII_OCCUR_REQUIRED,		/* had + */
	SNII_OCCUR_PROHIBITED		/* a NOT node that had -, ! or NOT */
} SniiParseOccur;

typedef struct SniiParseNode SniiParseNode;
struct SniiParseNode
{
	SniiParseKind kind;
	SniiParseOccur occur;
	uint32		position;		/* of an exact term within its phrase */
	size_t		len;
	const char *text;			/* may point into the input; no NUL behind */
	SniiParseNode *child;		/* the first child ... */
	SniiParseNode *next;		/* ... and its siblings */
};

typedef enum SniiParseFailure
{
	SNII_PARSE_OK,
	SNII_PARSE_SYNTAX,
	SNII_PARSE_UNSUPPORTED,		/* syntax of a feature to come */
	SNII_PARSE_LIMIT
} SniiParseFailure;

typedef struct SniiParseResult
{
	SniiParseNode *root;		/* NULL only after a failure */
	const char *analyzer;		/* name after a leading @, or NULL */
	size_t		analyzer_len;
	SniiParseFailure failure;
	size_t		offset;			/* byte at which the failure was seen */
	const char *message;		/* what was expected or is not supported */
} SniiParseResult;

extern bool snii_query_parse(const char *text, size_t len, int flags,
							 SniiParseResult *result);

#endif							/* SNII_QUERY_PARSE_H */
