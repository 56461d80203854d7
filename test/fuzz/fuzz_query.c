/*-------------------------------------------------------------------------
 *
 * fuzz_query.c
 *	  Arbitrary bytes for the parser of the query language.
 *
 * The first byte of an input chooses strict or lenient and the encoding.  The
 * parser must stay inside its input, lenient input must never fail, and what
 * comes out must be a sound tree of bounded depth whose text is no longer
 * than the input.
 *
 *-------------------------------------------------------------------------
 */
/* sources: src/query/query_parse.c */
#include "postgres.h"

#include "query/query_parse.h"

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
			__builtin_trap(); \
	} while (0)

/* What an input has allocated. */
typedef struct Chunk
{
	struct Chunk *next;
	uint64		padding;		/* for the alignment of palloc */
} Chunk;

static Chunk *chunks;

int			LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

/* The server's allocator, as far as the parser needs it. */
void *
palloc(Size size)
{
	Chunk	   *chunk = malloc(sizeof(Chunk) + size);

	REQUIRE(chunk != NULL);
	chunk->next = chunks;
	chunks = chunk;
	return chunk + 1;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

static void
free_all(void)
{
	while (chunks != NULL)
	{
		Chunk	   *next = chunks->next;

		free(chunks);
		chunks = next;
	}
}

static void
check_leaf(const SniiParseNode *node)
{
	volatile unsigned sum = 0;

	REQUIRE(node->child == NULL);
	REQUIRE(node->text !=NULL);
	for (size_t i = 0; i < node->len; i++)
		sum += (uint8) node->text[i];
}

/* Checks the shape of a tree; returns the bytes of all its text. */
static size_t
check_tree(const SniiParseNode *node, bool lenient, int depth)
{
	size_t		bytes = node->len;
	int			children = 0;
	int64		position = -1;

	REQUIRE(depth < 8 * SNII_QUERY_MAX_DEPTH);
	for (const SniiParseNode *p = node->child; p; p = p->next)
	{
		bytes += check_tree(p, lenient, depth + 1);
		children++;
		if (node->kind == SNII_PARSE_EXACT_PHRASE)
		{
			REQUIRE(p->kind == SNII_PARSE_EXACT);
			REQUIRE((int64) p->position > position);
			position = p->position;
		}
		if (p->occur == SNII_OCCUR_PROHIBITED)
			REQUIRE(p->kind == SNII_PARSE_NOT);
	}
	switch (node->kind)
	{
		case SNII_PARSE_EMPTY:
			REQUIRE(children == 0);
			break;
		case SNII_PARSE_EXACT:
			REQUIRE(node->len > 0);
			/* FALLTHROUGH */
		case SNII_PARSE_ALL:
			REQUIRE(!lenient);
			/* FALLTHROUGH */
		case SNII_PARSE_TEXT:
			check_leaf(node);
			break;
		case SNII_PARSE_EXACT_PHRASE:
			REQUIRE(!lenient && children > 0);
			break;
		case SNII_PARSE_NOT:
			REQUIRE(children == 1);
			break;
		case SNII_PARSE_AND:
		case SNII_PARSE_OR:
		case SNII_PARSE_SEQUENCE:
			REQUIRE(children >= 2);
			break;
		default:
			REQUIRE(false);
	}
	return bytes;
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	SniiParseResult result;
	bool		lenient;
	char	   *text;
	size_t		len;

	if (size < 1)
		return 0;
	lenient = (data[0] & SNII_PARSE_LENIENT) != 0;
	len = size - 1;
	/* an allocation of exactly this size, so that no byte more is read */
	text = malloc(len > 0 ? len : 1);

	REQUIRE(text !=NULL);
	memcpy(text, data + 1, len);
	if (snii_query_parse(text, len,
						 data[0] & (SNII_PARSE_LENIENT | SNII_PARSE_UTF8),
						 &result))
	{
		REQUIRE(result.failure == SNII_PARSE_OK);
		REQUIRE(check_tree(result.root, lenient, 0) <= len);
	}
	else
	{
		REQUIRE(!lenient);
		REQUIRE(result.failure != SNII_PARSE_OK);
		REQUIRE(result.message != NULL);
		REQUIRE(result.offset <= len);
	}
	free_all();
	free(text);
	return 0;
}
