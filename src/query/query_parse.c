/*-------------------------------------------------------------------------
 *
 * query_parse.c
 *	  Grammar of the query language: text in, parse tree out.
 *
 *	query		:= ["@" name] sequence
 *	sequence	:= clause*
 *	clause		:= conjunction (OR conjunction)*
 *	conjunction := unary (AND unary)*
 *	unary		:= ("+" | "-" | "!" | NOT)* primary
 *	primary		:= word | "quoted text" | "(" sequence ")"
 *				   | 'exact term' | "phrase(" exact (gap* exact)* ")" | "*"
 *
 * The last line is known in strict input only: it is what a sniiquery prints.
 * Lenient input never fails but for the limit on nodes: an operator without
 * its operands is a word, an unbalanced quote or parenthesis is ignored or
 * closed at the end, and syntax of later features is a word too.
 *
 * This file knows nothing of analyzers and raises no error, so that it can be
 * built and fuzzed outside the server.  Recursion is by parentheses only and
 * bounded by a limit on their depth.  One token of look-ahead; linear time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_parse.h"

typedef enum TokenKind
{
	TOKEN_END,
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_PLUS,
	TOKEN_MINUS,
	TOKEN_TEXT,
	TOKEN_EXACT,
	TOKEN_PHRASE,				/* phrase( */
	TOKEN_ALL
} TokenKind;

typedef struct Token
{
	TokenKind	kind;
	const char *start;			/* where it stands in the input */
	const char *text;			/* its content; may be a copy */
	size_t		len;
} Token;

typedef struct Parser
{
	const char *begin;
	const char *end;
	const char *p;				/* next byte to read */
	bool		lenient;
	bool		utf8;
	bool		no_quote;		/* no " follows that has a partner */
	uint32		depth;
	uint32		ignored;		/* open parentheses beyond the depth limit */
	uint32		nodes;
	Token		token;			/* current */
	Token		ahead;			/* the one after it */
	SniiParseResult *result;
} Parser;

static SniiParseNode *parse_sequence(Parser *parser);

/* Notes the first failure; the rest of the input is then read as empty. */
static void
fail(Parser *parser, SniiParseFailure failure, const char *where,
	 const char *message)
{
	if (parser->result->failure != SNII_PARSE_OK)
		return;
	parser->result->failure = failure;
	parser->result->offset = where - parser->begin;
	parser->result->message = message;
}

static bool
failed(const Parser *parser)
{
	return parser->result->failure != SNII_PARSE_OK;
}

/* ---------- tokens ---------- */

/* Length of the white space character at p, 0 if there is none. */
static int
space_length(const Parser *parser, const char *p)
{
	const unsigned char *u = (const unsigned char *) p;
	size_t		room = parser->end - p;

	if (room == 0)
		return 0;
	if (u[0] == ' ' || (u[0] >= '\t' && u[0] <= '\r'))
		return 1;
	if (!parser->utf8 || u[0] < 0xC2)
		return 0;
	/* U+0085, U+00A0 */
	if (room >= 2 && u[0] == 0xC2 && (u[1] == 0x85 || u[1] == 0xA0))
		return 2;
	if (room < 3)
		return 0;
	/* U+1680 */
	if (u[0] == 0xE1 && u[1] == 0x9A && u[2] == 0x80)
		return 3;
	/* U+2000 to U+200B, U+2028, U+2029, U+202F */
	if (u[0] == 0xE2 && u[1] == 0x80 &&
		((u[2] >= 0x80 && u[2] <= 0x8B) ||
		 u[2] == 0xA8 || u[2] == 0xA9 || u[2] == 0xAF))
		return 3;
	/* U+205F, U+3000 */
	if ((u[0] == 0xE2 && u[1] == 0x81 && u[2] == 0x9F) ||
		(u[0] == 0xE3 && u[1] == 0x80 && u[2] == 0x80))
		return 3;
	return 0;
}

static void
skip_space(Parser *parser)
{
	int			n;

	while ((n = space_length(parser, parser->p)) > 0)
		parser->p += n;
}

/* A byte that has a meaning to the language, so that \ takes it away. */
static bool
is_special(char c)
{
	return c != '\0' && strchr("+-!(){}[]^\"~*?:\\/&|'@", c) != NULL;
}

/* Is there a && or || at p? */
static bool
at_operator(const Parser *parser, const char *p)
{
	return parser->end - p >= 2 && p[0] == p[1] &&
		(p[0] == '&' || p[0] == '|');
}

/* Is p at the end, at white space or at a closing parenthesis? */
static bool
at_gap(const Parser *parser, const char *p)
{
	return p == parser->end || *p == ')' || space_length(parser, p) > 0;
}

/*
 * Copies from .. to without the bytes that escape: a doubled quote if quote
 * is set, else \ before a special byte or white space.
 */
static void
unescape(const Parser *parser, Token *token, const char *from, const char *to,
		 char quote)
{
	char	   *copy = palloc(to - from + 1);
	size_t		n = 0;

	while (from < to)
	{
		if (quote != '\0')
			from += (*from == quote);
		else if (*from == '\\' && to - from > 1 &&
				 (is_special(from[1]) || space_length(parser, from + 1) > 0))
			from++;
		copy[n++] = *from++;
	}
	token->text = copy;
	token->len = n;
}

/* Sets the token's content to from .. to, copied only if it has escapes. */
static void
set_content(const Parser *parser, Token *token, const char *from,
			const char *to)
{
	token->text = from;
	token->len = to - from;
	if (memchr(from, '\\', to - from) != NULL)
		unescape(parser, token, from, to, '\0');
}

/*
 * Reads "quoted text" at p.  Without a closing quote lenient input is told to
 * take this quote, and any behind it, as part of a word: returns false.
 */
static bool
lex_quoted(Parser *parser, Token *token)
{
	const char *from = parser->p + 1;
	const char *p = from;

	while (p < parser->end && *p != '"')
		p += (*p == '\\' && parser->end - p > 1) ? 2 : 1;
	if (p >= parser->end)
	{
		parser->no_quote = true;
		if (!parser->lenient)
			fail(parser, SNII_PARSE_SYNTAX, parser->p,
				 "unterminated quoted phrase");
		return false;
	}
	token->kind = TOKEN_TEXT;
	set_content(parser, token, from, p);
	parser->p = p + 1;
	return true;
}

/* Reads 'exact term' at p; '' stands for a quote. */
static void
lex_exact(Parser *parser, Token *token)
{
	const char *from = parser->p + 1;
	const char *p = from;
	bool		doubled = false;

	for (;; p++)
	{
		p = memchr(p, '\'', parser->end - p);
		if (p == NULL)
		{
			fail(parser, SNII_PARSE_SYNTAX, parser->p,
				 "unterminated exact term");
			return;
		}
		if (p + 1 == parser->end || p[1] != '\'')
			break;
		doubled = true;
		p++;
	}
	if (p == from)
		fail(parser, SNII_PARSE_SYNTAX, parser->p, "an exact term is empty");
	token->kind = TOKEN_EXACT;
	token->text = from;
	token->len = p - from;
	if (doubled)
		unescape(parser, token, from, p, '\'');
	parser->p = p + 1;
}

/* Fails if the byte at p of a strict word announces a later feature. */
static void
check_reserved(Parser *parser, const char *p)
{
	if (*p == '*' || *p == '?')
		fail(parser, SNII_PARSE_UNSUPPORTED, p,
			 "prefix and wildcard terms are not supported yet");
	else if (*p == '~')
		fail(parser, SNII_PARSE_UNSUPPORTED, p,
			 "fuzzy terms and slop are not supported yet");
	else if (*p == '^')
		fail(parser, SNII_PARSE_UNSUPPORTED, p,
			 "boosts are not supported yet");
}

/* Is the word from .. to the given one, of n bytes? */
static bool
word_is(const char *from, const char *to, const char *word, int n)
{
	return to - from == n && memcmp(from, word, n) == 0;
}

/*
 * Reads a bare word, or the operator that it spells.  The first byte belongs
 * to the word, whatever it is.
 */
static void
lex_word(Parser *parser, Token *token)
{
	const char *from = parser->p;
	const char *p = from;

	while (p < parser->end && space_length(parser, p) == 0)
	{
		if (p > from &&
			(*p == '(' || *p == ')' || (*p == '"' && !parser->no_quote) ||
			 at_operator(parser, p)))
			break;
		if (!parser->lenient)
			check_reserved(parser, p);
		if (*p == '\\' && parser->end - p > 1)
		{
			int			n = space_length(parser, p + 1);

			/* step over what is escaped, or over the backslash alone */
			p += n > 0 ? 1 + n : is_special(p[1]) ? 2 : 1;
		}
		else
			p++;
	}
	parser->p = p;
	token->kind = TOKEN_TEXT;
	if (word_is(from, p, "AND", 3))
		token->kind = TOKEN_AND;
	else if (word_is(from, p, "OR", 2))
		token->kind = TOKEN_OR;
	else if (word_is(from, p, "NOT", 3))
		token->kind = TOKEN_NOT;
	else if (!parser->lenient && word_is(from, p, "phrase", 6) &&
			 p < parser->end && *p == '(')
	{
		token->kind = TOKEN_PHRASE;
		parser->p++;
	}
	set_content(parser, token, from, p);
}

/* Reads a token of length n that is an operator or a parenthesis. */
static void
lex_operator(Parser *parser, Token *token, TokenKind kind, int n)
{
	token->kind = kind;
	token->text = parser->p;
	token->len = n;
	parser->p += n;
}

/*
 * Reads + - or ! before a clause.  Returns false if it is none: before a gap
 * or another one it is part of a word (--help, 5 - 3, "Bonjour !").
 */
static bool
lex_prefix(Parser *parser, Token *token)
{
	const char *p = parser->p;
	TokenKind	kind = (*p == '+') ? TOKEN_PLUS :
	(*p == '-') ? TOKEN_MINUS : TOKEN_NOT;

	if (at_gap(parser, p + 1) || strchr("+-!", p[1]) != NULL)
	{
		if (!parser->lenient)
			fail(parser, SNII_PARSE_SYNTAX, p,
				 "a clause must follow + - or ! without a space");
		return false;
	}
	lex_operator(parser, token, kind, 1);
	return true;
}

/* Reads what exists in strict input only; returns false if it is a word. */
static bool
lex_strict(Parser *parser, Token *token)
{
	const char *p = parser->p;

	if (*p == '\'')
		lex_exact(parser, token);
	else if (*p == '*' && (at_gap(parser, p + 1) || p[1] == '('))
		lex_operator(parser, token, TOKEN_ALL, 1);
	else if (*p == '/')
		fail(parser, SNII_PARSE_UNSUPPORTED, p,
			 "regular expressions are not supported yet; "
			 "quote text that begins with a slash");
	else if (*p == '[' || *p == '{')
		fail(parser, SNII_PARSE_UNSUPPORTED, p,
			 "ranges are not supported yet; "
			 "quote text that begins with a bracket");
	else
		return false;
	return true;
}

/* Reads the next token into *token. */
static void
lex(Parser *parser, Token *token)
{
	char		c;

	skip_space(parser);
	token->start = parser->p;
	token->kind = TOKEN_END;
	token->text = parser->p;
	token->len = 0;
	if (parser->p == parser->end || failed(parser))
		return;
	c = *parser->p;
	if (c == '(' || c == ')')
		lex_operator(parser, token,
					 c == '(' ? TOKEN_LPAREN : TOKEN_RPAREN, 1);
	else if (at_operator(parser, parser->p))
		lex_operator(parser, token, c == '&' ? TOKEN_AND : TOKEN_OR, 2);
	else if (c == '"' && !parser->no_quote && lex_quoted(parser, token))
		return;
	else if ((c == '+' || c == '-' || c == '!') && lex_prefix(parser, token))
		return;
	else if (!parser->lenient && lex_strict(parser, token))
		return;
	else
		lex_word(parser, token);
}

static void
advance(Parser *parser)
{
	parser->token = parser->ahead;
	lex(parser, &parser->ahead);
}

/* Can this token begin an operand? */
static bool
starts_operand(const Token *token)
{
	switch (token->kind)
	{
		case TOKEN_END:
		case TOKEN_RPAREN:
		case TOKEN_AND:
		case TOKEN_OR:
			return false;
		default:
			return true;
	}
}

/* ---------- grammar ---------- */

static SniiParseNode *
make_node(Parser *parser, SniiParseKind kind, SniiParseNode *child)
{
	SniiParseNode *node = palloc0(sizeof(SniiParseNode));

	if (++parser->nodes > SNII_QUERY_MAX_NODES)
		fail(parser, SNII_PARSE_LIMIT, parser->token.start,
			 "a query has too many words and operators");
	node->kind = kind;
	node->child = child;
	return node;
}

/* A leaf of the current token, which is consumed. */
static SniiParseNode *
take_leaf(Parser *parser, SniiParseKind kind)
{
	SniiParseNode *node = make_node(parser, kind, NULL);

	node->text = parser->token.text;
	node->len = parser->token.len;
	advance(parser);
	return node;
}

/*
 * Reads a gap of phrase(...): _ for one position that may hold anything, _N
 * for N of them.
 */
static uint32
parse_gap(Parser *parser)
{
	const Token *token = &parser->token;
	uint64		n = 0;
	size_t		i;

	if (token->kind == TOKEN_TEXT && token->len > 0 && token->text[0] == '_')
	{
		for (i = 1; i < token->len && n < PG_INT32_MAX; i++)
		{
			if (token->text[i] < '0' || token->text[i] > '9')
				break;
			n = n * 10 + (token->text[i] - '0');
		}
		if (token->len == 1)
			n = 1;
		if (i == token->len && n > 0 && n < PG_INT32_MAX)
		{
			advance(parser);
			return (uint32) n;
		}
	}
	fail(parser, SNII_PARSE_SYNTAX, token->start,
		 "an exact term, _ or ) must follow in phrase(...)");
	return 0;
}

/* phrase( exact (gap* exact)* ); the current token is the opening. */
static SniiParseNode *
parse_phrase(Parser *parser)
{
	SniiParseNode *phrase = make_node(parser, SNII_PARSE_EXACT_PHRASE, NULL);
	SniiParseNode **tail = &phrase->child;
	const char *start = parser->token.start;
	uint64		position = 0;
	bool		gap = true;		/* so that an exact term must follow */

	advance(parser);
	while (!failed(parser) &&
		   (gap || parser->token.kind != TOKEN_RPAREN))
	{
		if (parser->token.kind == TOKEN_EXACT)
		{
			*tail = take_leaf(parser, SNII_PARSE_EXACT);
			(*tail)->position = (uint32) position++;
			tail = &(*tail)->next;
			gap = false;
		}
		else if (phrase->child != NULL)
		{
			position += parse_gap(parser);
			gap = true;
		}
		else
			fail(parser, SNII_PARSE_SYNTAX, parser->token.start,
				 "phrase( must be followed by an exact term");
		if (position >= PG_INT32_MAX)
			fail(parser, SNII_PARSE_LIMIT, start,
				 "a phrase has too many positions");
	}
	advance(parser);
	return phrase;
}

/*
 * ( sequence ).  Beyond the depth limit lenient input ignores parentheses:
 * then the result is NULL and the caller goes on with what follows.
 */
static SniiParseNode *
parse_group(Parser *parser)
{
	SniiParseNode *group;
	const char *start = parser->token.start;

	if (parser->depth >= (parser->lenient ? SNII_QUERY_LENIENT_DEPTH :
						  SNII_QUERY_MAX_DEPTH))
	{
		if (!parser->lenient)
			fail(parser, SNII_PARSE_LIMIT, start,
				 "parentheses are nested too deeply");
		parser->ignored++;
		advance(parser);
		return NULL;
	}
	parser->depth++;
	advance(parser);
	group = parse_sequence(parser);
	parser->depth--;
	if (parser->token.kind == TOKEN_RPAREN)
		advance(parser);
	else if (!parser->lenient)
		fail(parser, SNII_PARSE_SYNTAX, start, "unmatched (");
	group->occur = SNII_OCCUR_OPTIONAL;
	return group;
}

/* An operand is missing: a failure if strict, else the operator is a word. */
static SniiParseNode *
missing_operand(Parser *parser)
{
	if (!parser->lenient)
	{
		fail(parser, SNII_PARSE_SYNTAX, parser->token.start,
			 "a word, a phrase or ( was expected");
		return make_node(parser, SNII_PARSE_EMPTY, NULL);
	}
	if (parser->token.kind == TOKEN_AND || parser->token.kind == TOKEN_OR)
		return take_leaf(parser, SNII_PARSE_TEXT);
	return make_node(parser, SNII_PARSE_EMPTY, NULL);
}

static SniiParseNode *
parse_primary(Parser *parser)
{
	for (;;)
	{
		switch (parser->token.kind)
		{
			case TOKEN_LPAREN:
				{
					SniiParseNode *group = parse_group(parser);

					if (group == NULL)
						continue;
					return group;
				}
			case TOKEN_TEXT:
				return take_leaf(parser, SNII_PARSE_TEXT);
			case TOKEN_EXACT:
				return take_leaf(parser, SNII_PARSE_EXACT);
			case TOKEN_PHRASE:
				return parse_phrase(parser);
			case TOKEN_ALL:
				return take_leaf(parser, SNII_PARSE_ALL);
			case TOKEN_PLUS:
			case TOKEN_MINUS:
			case TOKEN_NOT:
				/* only behind an ignored parenthesis: ignored as well */
				if (!starts_operand(&parser->ahead))
					return take_leaf(parser, SNII_PARSE_TEXT);
				advance(parser);
				continue;
			default:
				return missing_operand(parser);
		}
	}
}

/* Prefixes and their operand. */
static SniiParseNode *
parse_unary(Parser *parser)
{
	SniiParseNode *node;
	bool		negated = false;
	bool		required = false;

	for (;; advance(parser))
	{
		if (parser->token.kind == TOKEN_PLUS)
			required = true;
		else if (parser->token.kind == TOKEN_MINUS)
			negated = !negated;
		else if (parser->token.kind == TOKEN_NOT &&
				 (!parser->lenient || starts_operand(&parser->ahead)))
			negated = !negated;
		else
			break;
	}
	if (parser->token.kind == TOKEN_NOT)
		node = take_leaf(parser, SNII_PARSE_TEXT);
	else
		node = parse_primary(parser);
	if (negated)
	{
		node = make_node(parser, SNII_PARSE_NOT, node);
		node->occur = SNII_OCCUR_PROHIBITED;
	}
	if (required)
		node->occur = SNII_OCCUR_REQUIRED;
	return node;
}

/* Operands joined by the operator; a single one is returned as it is. */
static SniiParseNode *
parse_chain(Parser *parser, TokenKind operator, SniiParseKind kind,
			SniiParseNode *(*operand) (Parser *))
{
	SniiParseNode *first = operand(parser);
	SniiParseNode *last = first;

	while (parser->token.kind == operator && !failed(parser) &&
		   (!parser->lenient || starts_operand(&parser->ahead)))
	{
		advance(parser);
		last->next = operand(parser);
		last = last->next;
	}
	return first == last ? first : make_node(parser, kind, first);
}

static SniiParseNode *
parse_conjunction(Parser *parser)
{
	return parse_chain(parser, TOKEN_AND, SNII_PARSE_AND, parse_unary);
}

static SniiParseNode *
parse_clause(Parser *parser)
{
	return parse_chain(parser, TOKEN_OR, SNII_PARSE_OR, parse_conjunction);
}

/*
 * Is the current token the end of a sequence?  Consumes parentheses that
 * close nothing.
 */
static bool
sequence_ends(Parser *parser)
{
	for (;;)
	{
		if (parser->token.kind == TOKEN_END || failed(parser))
			return true;
		if (parser->token.kind != TOKEN_RPAREN)
			return false;
		if (parser->ignored > 0)
			parser->ignored--;
		else if (parser->depth > 0)
			return true;
		else if (!parser->lenient)
			fail(parser, SNII_PARSE_SYNTAX, parser->token.start,
				 "unmatched )");
		advance(parser);
	}
}

/* Clauses up to the end or a closing parenthesis, which is not consumed. */
static SniiParseNode *
parse_sequence(Parser *parser)
{
	SniiParseNode *first = NULL;
	SniiParseNode **tail = &first;

	while (!sequence_ends(parser))
	{
		*tail = parse_clause(parser);
		tail = &(*tail)->next;
	}
	if (first == NULL)
		return make_node(parser, SNII_PARSE_EMPTY, NULL);
	if (first->next == NULL)
		return first;
	return make_node(parser, SNII_PARSE_SEQUENCE, first);
}

/* Reads "@name" at the start of strict input. */
static void
parse_analyzer(Parser *parser)
{
	const char *from;

	skip_space(parser);
	if (parser->p == parser->end || *parser->p != '@')
		return;
	from = ++parser->p;
	while (!at_gap(parser, parser->p) && *parser->p != '(')
		parser->p++;
	if (parser->p == from)
		fail(parser, SNII_PARSE_SYNTAX, from,
			 "the name of an analyzer was expected");
	parser->result->analyzer = from;
	parser->result->analyzer_len = parser->p - from;
}

/*
 * Parses a query of len bytes.
 *
 * Returns false and fills in the failure if it is not a query; lenient input
 * fails only beyond SNII_QUERY_MAX_NODES.  All of the result is palloc'ed in
 * the current context or points into text.
 */
bool
snii_query_parse(const char *text, size_t len, int flags,
				 SniiParseResult *result)
{
	Parser		parser;

	memset(result, 0, sizeof(SniiParseResult));
	memset(&parser, 0, sizeof(Parser));
	parser.begin = parser.p = text;
	parser.end = text +len;

	parser.lenient = (flags & SNII_PARSE_LENIENT) != 0;
	parser.utf8 = (flags & SNII_PARSE_UTF8) != 0;
	parser.result = result;

	if (!parser.lenient)
		parse_analyzer(&parser);
	lex(&parser, &parser.token);
	lex(&parser, &parser.ahead);
	result->root = parse_sequence(&parser);
	if (failed(&parser))
		result->root = NULL;
	return result->root != NULL;
}
