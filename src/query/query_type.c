/*-------------------------------------------------------------------------
 *
 * query_type.c
 *	  The SQL type sniiquery: an analysed query that carries its analyzer.
 *
 * A value is a varlena; all numbers are little-endian and unaligned:
 *
 *	value	:= version (u8, 1) analyzer id (u16) node
 *	node	:= type (u8) content, by type
 *	NONE, ALL	nothing
 *	TERM		term
 *	PHRASE		slop (u32, 0) flags (u8, bit 0: in order) n (u32, >= 2)
 *				(position (u32) term){n}, positions ascending from 0
 *	AND, OR		n (u32, >= 2) node{n}
 *	NOT			node
 *	term	:= length (u32, >= 1) bytes: the token as its analyzer made it
 *
 * Only normalised trees are stored (query_tree.c), so that two values are
 * equal if and only if their bytes are.  What is printed reads back to the
 * same value; query_parse.c has the grammar.  The binary format of the wire
 * has the same nodes in network order, the analyzer by its name, and tokens
 * as strings in the client's encoding.
 *
 * Nothing that is read is trusted: lengths, counts, types and depth are
 * checked before they are used, for a value from the wire or from a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_type.h"

#include "codec/codec_bytes.h"
#include "compat.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "query/query_build.h"
#include "query/query_parse.h"
#include "text/text_term.h"
#include "utils/memutils.h"

#define QUERY_VERSION		1
#define PHRASE_IN_ORDER		0x01

/*
 * Deepest tree that is read.  Each parenthesis of the text adds at most a
 * NOT, an AND and an OR.
 */
#define MAX_TREE_DEPTH		(4 * SNII_QUERY_MAX_DEPTH)

struct SniiQuery
{
	int32		vl_len_;		/* varlena header, do not touch directly */
	uint8		version;
	uint8		data[FLEXIBLE_ARRAY_MEMBER];	/* analyzer id, node */
};

/* Reads a node of a stored value or of a message. */
typedef struct NodeReader NodeReader;
struct NodeReader
{
	uint32		(*number) (NodeReader *reader, int bytes);
	void		(*token) (NodeReader *reader, SniiQueryTerm *term);
	const uint8 *p;				/* of a stored value */
	const uint8 *end;
	StringInfo	message;		/* of the wire */
	uint32		nodes;
};

PG_FUNCTION_INFO_V1(snii_query_in);
PG_FUNCTION_INFO_V1(snii_query_out);
PG_FUNCTION_INFO_V1(snii_query_recv);
PG_FUNCTION_INFO_V1(snii_query_send);
PG_FUNCTION_INFO_V1(snii_query_eq);
PG_FUNCTION_INFO_V1(snii_query_ne);

/* ---------- tree to value ---------- */

static void
put8(StringInfo buf, uint8 value)
{
	appendStringInfoCharMacro(buf, (char) value);
}

static void
put16(StringInfo buf, uint16 value)
{
	uint8		bytes[2];

	snii_codec_store16(bytes, value);
	appendBinaryStringInfo(buf, (const char *) bytes, sizeof(bytes));
}

static void
put32(StringInfo buf, uint32 value)
{
	uint8		bytes[4];

	snii_codec_store32(bytes, value);
	appendBinaryStringInfo(buf, (const char *) bytes, sizeof(bytes));
}

static void
put_term(StringInfo buf, const SniiQueryTerm *term)
{
	put32(buf, term->token_len);
	appendBinaryStringInfo(buf, term->token, (int) term->token_len);
}

static void
put_node(StringInfo buf, const SniiQueryNode *node)
{
	check_stack_depth();
	put8(buf, (uint8) node->type);
	switch (node->type)
	{
		case SNII_QUERY_NONE:
		case SNII_QUERY_ALL:
			return;
		case SNII_QUERY_TERM:
			put_term(buf, &node->terms[0]);
			return;
		case SNII_QUERY_PHRASE:
			put32(buf, node->slop);
			put8(buf, node->in_order ? PHRASE_IN_ORDER : 0);
			put32(buf, node->nterms);
			for (uint32 i = 0; i < node->nterms; i++)
			{
				put32(buf, node->terms[i].position);
				put_term(buf, &node->terms[i]);
			}
			return;
		case SNII_QUERY_AND:
		case SNII_QUERY_OR:
			put32(buf, node->nchildren);
			/* FALLTHROUGH */
		case SNII_QUERY_NOT:
			for (uint32 i = 0; i < node->nchildren; i++)
				put_node(buf, node->children[i]);
			return;
	}
	elog(ERROR, "unknown query node type %d", (int) node->type);
}

/*
 * Makes a value of a normalised tree, in the current context.  Raises
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED beyond 1 GB.
 */
SniiQuery *
snii_query_make(const SniiAnalyzer *analyzer, const SniiQueryNode *root)
{
	StringInfoData buf;

	initStringInfo(&buf);
	put32(&buf, 0);				/* room for the varlena header */
	put8(&buf, QUERY_VERSION);
	put16(&buf, (uint16) snii_text_analyzer_id(analyzer));
	put_node(&buf, root);
	SET_VARSIZE(buf.data, buf.len);
	return (SniiQuery *) buf.data;
}

/* ---------- value to tree ---------- */

static void
invalid(NodeReader *reader, const char *what)
{
	ereport(ERROR,
			(errcode(reader->message ? ERRCODE_INVALID_BINARY_REPRESENTATION :
					 ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid sniiquery: %s", what)));
}

/* Bytes of a stored value. */
static const uint8 *
take_bytes(NodeReader *reader, uint32 n)
{
	const uint8 *p = reader->p;

	if (n > (size_t) (reader->end - p))
		invalid(reader, "it ends too early");
	reader->p += n;
	return p;
}

static uint32
stored_number(NodeReader *reader, int bytes)
{
	const uint8 *p = take_bytes(reader, bytes);

	return bytes == 1 ? p[0] :
		bytes == 2 ? snii_codec_load16(p) : snii_codec_load32(p);
}

static void
stored_token(NodeReader *reader, SniiQueryTerm *term)
{
	term->token_len = stored_number(reader, 4);
	term->token = (const char *) take_bytes(reader, term->token_len);
}

static uint32
message_number(NodeReader *reader, int bytes)
{
	return pq_getmsgint(reader->message, bytes);
}

static void
message_token(NodeReader *reader, SniiQueryTerm *term)
{
	term->token = pq_getmsgstring(reader->message);
	term->token_len = strlen(term->token);
}

/* The fewest bytes that are left, to bound a count before allocating. */
static size_t
bytes_left(const NodeReader *reader)
{
	if (reader->message)
		return reader->message->len - reader->message->cursor;
	return reader->end - reader->p;
}

/* Reads a count of at least two things of at least min_size bytes each. */
static uint32
read_count(NodeReader *reader, uint32 min_size)
{
	uint32		n = reader->number(reader, 4);

	if (n < 2)
		invalid(reader, "a count is below 2");
	if (n > bytes_left(reader) / min_size)
		invalid(reader, "a count is too large");
	return n;
}

static void
read_token(NodeReader *reader, SniiQueryTerm *term)
{
	reader->token(reader, term);
	if (term->token_len == 0)
		invalid(reader, "a term is empty");
	if (++reader->nodes > SNII_QUERY_MAX_NODES)
		invalid(reader, "it has too many nodes");
}

static SniiQueryNode *
read_phrase(NodeReader *reader)
{
	SniiQueryTerm *terms;
	uint32		n;

	if (reader->number(reader, 4) != 0)
		invalid(reader, "slop is not supported yet");
	if (reader->number(reader, 1) != PHRASE_IN_ORDER)
		invalid(reader, "unknown flags of a phrase");
	/* a position, and a token of one byte with a length or NUL */
	n = read_count(reader, 4 + 2);
	terms = MemoryContextAllocExtended(CurrentMemoryContext,
									   (Size) n * sizeof(SniiQueryTerm),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < n; i++)
	{
		terms[i].position = reader->number(reader, 4);
		read_token(reader, &terms[i]);
		if (terms[i].position > PG_INT32_MAX ||
			(i == 0 ? terms[i].position != 0 :
			 terms[i].position <= terms[i - 1].position))
			invalid(reader, "positions of a phrase do not ascend from 0");
	}
	return snii_query_node_terms(terms, n);
}

static SniiQueryNode *
read_term(NodeReader *reader)
{
	SniiQueryTerm *term = palloc0(sizeof(SniiQueryTerm));

	read_token(reader, term);
	return snii_query_node_terms(term, 1);
}

/* Reads a node and normalises it. */
static SniiQueryNode *
read_node(NodeReader *reader, int depth)
{
	SniiQueryNodeType type = (SniiQueryNodeType) reader->number(reader, 1);
	SniiQueryNode **children;
	uint32		n;

	check_stack_depth();
	if (depth > MAX_TREE_DEPTH)
		invalid(reader, "it is nested too deeply");
	if (++reader->nodes > SNII_QUERY_MAX_NODES)
		invalid(reader, "it has too many nodes");
	switch (type)
	{
		case SNII_QUERY_NONE:
		case SNII_QUERY_ALL:
			return snii_query_node(type);
		case SNII_QUERY_TERM:
			return read_term(reader);
		case SNII_QUERY_PHRASE:
			return read_phrase(reader);
		case SNII_QUERY_NOT:
			return snii_query_node_not(read_node(reader, depth + 1));
		case SNII_QUERY_AND:
		case SNII_QUERY_OR:
			n = read_count(reader, 1);
			children = MemoryContextAllocHuge(CurrentMemoryContext,
											  (Size) n * sizeof(*children));
			for (uint32 i = 0; i < n; i++)
				children[i] = read_node(reader, depth + 1);
			return snii_query_node_children(type, children, n);
	}
	invalid(reader, "unknown type of node");
	return NULL;				/* keep compilers quiet */
}

/* Sets up a reader behind the version of a stored value. */
static void
begin_stored(NodeReader *reader, const SniiQuery *query)
{
	memset(reader, 0, sizeof(NodeReader));
	reader->number = stored_number;
	reader->token = stored_token;
	reader->p = (const uint8 *) query + VARHDRSZ;
	reader->end = (const uint8 *) query + VARSIZE(query);
	if (stored_number(reader, 1) != QUERY_VERSION)
		invalid(reader, "its version is not supported");
}

static const SniiAnalyzer *
read_analyzer(NodeReader *reader)
{
	const SniiAnalyzer *analyzer;

	analyzer = snii_text_analyzer_by_id((int) stored_number(reader, 2));
	if (analyzer == NULL)
		invalid(reader, "unknown analyzer");
	return analyzer;
}

/* The analyzer whose terms the query holds; never NULL. */
const SniiAnalyzer *
snii_query_analyzer(const SniiQuery *query)
{
	NodeReader	reader;

	begin_stored(&reader, query);
	return read_analyzer(&reader);
}

/* Fills in the dictionary keys of all terms below node. */
static void
set_keys(SniiQueryNode *node)
{
	check_stack_depth();
	for (uint32 i = 0; i < node->nterms; i++)
	{
		SniiQueryTerm *term = &node->terms[i];
		uint8	   *buf = NULL;

		if (term->token_len > SNII_TERM_MAX)
			buf = palloc(SNII_TERM_MAX);
		term->kind = snii_text_term(term->token, term->token_len, buf,
									&term->bytes, &term->len);
	}
	for (uint32 i = 0; i < node->nchildren; i++)
		set_keys(node->children[i]);
}

/* Reads the tree of a stored value. */
static SniiQueryNode *
stored_tree(const SniiQuery *query)
{
	NodeReader	reader;
	SniiQueryNode *root;

	begin_stored(&reader, query);
	(void) read_analyzer(&reader);
	root = read_node(&reader, 0);
	if (reader.p != reader.end)
		invalid(&reader, "bytes follow its end");
	return root;
}

/*
 * The tree of a query, allocated in the current context.  Tokens point into
 * the value, which must live as long as the tree.
 */
SniiQueryNode *
snii_query_tree(const SniiQuery *query)
{
	SniiQueryNode *root = stored_tree(query);

	set_keys(root);
	return root;
}

bool
snii_query_equal(const SniiQuery *a, const SniiQuery *b)
{
	return a == b ||
		(VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0);
}

/* ---------- text ---------- */

static void
print_term(StringInfo buf, const SniiQueryTerm *term)
{
	const char *p = term->token;
	const char *end = p + term->token_len;

	appendStringInfoChar(buf, '\'');
	while (p < end)
	{
		const char *quote = memchr(p, '\'', end - p);
		const char *stop = quote ? quote + 1 : end;

		appendBinaryStringInfo(buf, p, stop - p);
		if (quote)
			appendStringInfoChar(buf, '\'');
		p = stop;
	}
	appendStringInfoChar(buf, '\'');
}

static void
print_phrase(StringInfo buf, const SniiQueryNode *node)
{
	appendStringInfoString(buf, "phrase(");
	for (uint32 i = 0; i < node->nterms; i++)
	{
		const SniiQueryTerm *term = &node->terms[i];
		uint32		gap = i == 0 ? 0 : term->position - term[-1].position - 1;

		if (i > 0)
			appendStringInfoChar(buf, ' ');
		if (gap == 1)
			appendStringInfoString(buf, "_ ");
		else if (gap > 1)
			appendStringInfo(buf, "_%u ", gap);
		print_term(buf, term);
	}
	appendStringInfoChar(buf, ')');
}

static void print_node(StringInfo buf, const SniiQueryNode *node);

/* Prints a node in parentheses if its operator binds less than the one above. */
static void
print_operand(StringInfo buf, const SniiQueryNode *node,
			  SniiQueryNodeType above)
{
	bool		parentheses = node->type == SNII_QUERY_OR ||
	(node->type == SNII_QUERY_AND && above == SNII_QUERY_NOT);

	if (parentheses)
		appendStringInfoChar(buf, '(');
	print_node(buf, node);
	if (parentheses)
		appendStringInfoChar(buf, ')');
}

static void
print_node(StringInfo buf, const SniiQueryNode *node)
{
	check_stack_depth();
	switch (node->type)
	{
		case SNII_QUERY_NONE:
			appendStringInfoString(buf, "()");
			return;
		case SNII_QUERY_ALL:
			appendStringInfoChar(buf, '*');
			return;
		case SNII_QUERY_TERM:
			print_term(buf, &node->terms[0]);
			return;
		case SNII_QUERY_PHRASE:
			print_phrase(buf, node);
			return;
		case SNII_QUERY_NOT:
			appendStringInfoString(buf, "NOT ");
			print_operand(buf, node->children[0], SNII_QUERY_NOT);
			return;
		case SNII_QUERY_AND:
		case SNII_QUERY_OR:
			for (uint32 i = 0; i < node->nchildren; i++)
			{
				if (i > 0)
					appendStringInfoString(buf, node->type == SNII_QUERY_AND ?
										   " AND " : " OR ");
				print_operand(buf, node->children[i], node->type);
			}
			return;
	}
}

/* Output: @analyzer and the query in exact terms. */
Datum
snii_query_out(PG_FUNCTION_ARGS)
{
	SniiQuery  *query = PG_GETARG_SNII_QUERY(0);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "@%s ",
					 snii_text_analyzer_name(snii_query_analyzer(query)));
	print_node(&buf, stored_tree(query));
	PG_RETURN_CSTRING(buf.data);
}

/* Input: the query language, strict; see docs/query-language.md. */
Datum
snii_query_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	SniiQuery  *query;

	query = snii_query_build_strict(NULL, text, strlen(text),
									SNII_ERROR_CONTEXT(fcinfo));
	if (query == NULL)
		PG_RETURN_NULL();		/* a soft error */
	PG_RETURN_POINTER(query);
}

/* ---------- wire ---------- */

static void
send_term(StringInfo buf, const SniiQueryTerm *term)
{
	char	   *token = pnstrdup(term->token, term->token_len);

	pq_sendstring(buf, token);
	pfree(token);
}

static void
send_node(StringInfo buf, const SniiQueryNode *node)
{
	check_stack_depth();
	pq_sendint8(buf, node->type);
	if (node->type == SNII_QUERY_PHRASE)
	{
		pq_sendint32(buf, node->slop);
		pq_sendint8(buf, node->in_order ? PHRASE_IN_ORDER : 0);
		pq_sendint32(buf, node->nterms);
	}
	for (uint32 i = 0; i < node->nterms; i++)
	{
		if (node->type == SNII_QUERY_PHRASE)
			pq_sendint32(buf, node->terms[i].position);
		send_term(buf, &node->terms[i]);
	}
	if (node->type == SNII_QUERY_AND || node->type == SNII_QUERY_OR)
		pq_sendint32(buf, node->nchildren);
	for (uint32 i = 0; i < node->nchildren; i++)
		send_node(buf, node->children[i]);
}

Datum
snii_query_send(PG_FUNCTION_ARGS)
{
	SniiQuery  *query = PG_GETARG_SNII_QUERY(0);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendint8(&buf, QUERY_VERSION);
	pq_sendstring(&buf, snii_text_analyzer_name(snii_query_analyzer(query)));
	send_node(&buf, stored_tree(query));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

Datum
snii_query_recv(PG_FUNCTION_ARGS)
{
	NodeReader	reader;
	const SniiAnalyzer *analyzer;
	SniiQueryNode *root;

	memset(&reader, 0, sizeof(reader));
	reader.message = (StringInfo) PG_GETARG_POINTER(0);
	reader.number = message_number;
	reader.token = message_token;
	if (reader.number(&reader, 1) != QUERY_VERSION)
		invalid(&reader, "its version is not supported");
	analyzer = snii_text_analyzer_by_name(pq_getmsgstring(reader.message));
	if (analyzer == NULL)
		invalid(&reader, "unknown analyzer");
	root = read_node(&reader, 0);
	pq_getmsgend(reader.message);
	if (snii_query_node_depth(root) > SNII_QUERY_MAX_DEPTH)
		invalid(&reader, "it is nested too deeply");
	PG_RETURN_POINTER(snii_query_make(analyzer, root));
}

/* ---------- equality ---------- */

Datum
snii_query_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(snii_query_equal(PG_GETARG_SNII_QUERY(0),
									PG_GETARG_SNII_QUERY(1)));
}

Datum
snii_query_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!snii_query_equal(PG_GETARG_SNII_QUERY(0),
									 PG_GETARG_SNII_QUERY(1)));
}
