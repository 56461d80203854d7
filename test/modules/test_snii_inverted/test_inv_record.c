/*-------------------------------------------------------------------------
 *
 * test_inv_record.c
 *	  Records of the write buffer: round trips and damage.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "inverted/inv_record.h"
#include "text/text_term.h"
#include "test_inv.h"

PG_FUNCTION_INFO_V1(test_inv_record);

#define COLUMNS		3
#define TOKENS		200

/* What was encoded, and how far it was seen again. */
typedef struct Expected
{
	bool		strict;			/* bytes are undamaged */
	int			column;
	bool		nulls[COLUMNS];
	uint32		ntokens[COLUMNS];
	uint32		seen;
	uint32		position[COLUMNS][TOKENS];
	uint32		len[COLUMNS][TOKENS];
	int			kind[COLUMNS][TOKENS];
	uint8		fill[COLUMNS][TOKENS];
} Expected;

static void
begin_column(void *arg, int column, bool isnull, uint32 ntokens)
{
	Expected   *e = arg;

	if (!e->strict)
		return;
	CHECK(column == e->column + 1, "column %d", column);
	CHECK(column == 0 || e->seen == e->ntokens[column - 1], "column %d", column);
	CHECK(isnull == e->nulls[column], "column %d", column);
	CHECK(ntokens == e->ntokens[column], "%u tokens", ntokens);
	e->column = column;
	e->seen = 0;
}

static void
token(void *arg, int column, int kind, const char *bytes, uint32 len,
	  uint32 position)
{
	Expected   *e = arg;
	uint32		i = e->seen++;

	CHECK(len <= SNII_TERM_MAX && position <= SNII_INV_POSITION_MAX,
		  "%u bytes at %u", len, position);
	for (uint32 k = 0; k < len; k++)
		CHECK(!e->strict || (uint8) bytes[k] == e->fill[column][i],
			  "token %u", i);
	if (e->strict)
		CHECK(column == e->column && kind == e->kind[column][i] &&
			  len == e->len[column][i] && position == e->position[column][i],
			  "token %u", i);
}

/* Encode a random record. */
static void
encode(TestInvRandom *prng, SniiInvRecord *r, Expected *e)
{
	char		bytes[SNII_TERM_MAX];

	snii_inv_record_reset(r);
	for (int c = 0; c < COLUMNS; c++)
	{
		uint32		position = 0;

		e->nulls[c] = test_inv_range(prng, 0, 3) == 0;
		e->ntokens[c] = e->nulls[c] ? 0 :
			test_inv_range(prng, 0, TOKENS);
		if (e->nulls[c])
		{
			snii_inv_record_null(r);
			continue;
		}
		snii_inv_record_begin_column(r);
		for (uint32 i = 0; i < e->ntokens[c]; i++)
		{
			bool		islong = test_inv_range(prng, 0, 9) == 0;

			if (test_inv_range(prng, 0, 3) == 0)
				position += test_inv_range(prng, 0, 1000000);
			e->kind[c][i] = islong ? SNII_TERM_LONG : SNII_TERM_PLAIN;
			e->len[c][i] = islong ? SNII_TERM_LONG_SIZE :
				test_inv_range(prng, 0, 20);
			e->fill[c][i] = test_inv_random(prng);
			e->position[c][i] = position;
			memset(bytes, e->fill[c][i], e->len[c][i]);
			snii_inv_record_token(r, e->kind[c][i], bytes, e->len[c][i],
								  position++);
		}
		snii_inv_record_end_column(r);
	}
}

Datum
test_inv_record(PG_FUNCTION_ARGS)
{
	TestInvRandom prng;
	SniiInvRecord r;
	Expected   *e = palloc0(sizeof(Expected));
	SniiInvRecordSink sink = {e, begin_column, token};
	int64		total = 0;

	test_inv_seed(&prng, PG_GETARG_INT64(0));
	snii_inv_record_init(&r);
	for (int round = 0; round < PG_GETARG_INT32(1); round++)
	{
		uint8	   *copy;
		Size		cut;

		encode(&prng, &r, e);
		e->strict = true;
		e->column = -1;
		e->seen = 0;
		CHECK(snii_inv_record_decode(r.data, r.data + r.len, COLUMNS, &sink),
			  "round %d", round);
		CHECK(e->column == COLUMNS - 1 &&
			  e->seen == e->ntokens[COLUMNS - 1], "round %d", round);
		for (int c = 0; c < COLUMNS; c++)
			total += e->ntokens[c];

		/* a shorter or longer one is never accepted; any reads stay inside */
		e->strict = false;
		cut = test_inv_range(&prng, 0, r.len - 1);
		copy = palloc(r.len + 1);
		memcpy(copy, r.data, r.len);
		copy[r.len] = 0;
		CHECK(!snii_inv_record_decode(copy, copy + cut, COLUMNS, &sink),
			  "cut at %zu", cut);
		CHECK(!snii_inv_record_decode(copy, copy + r.len + 1, COLUMNS, &sink),
			  "a byte more");
		for (int i = 0; i < 10; i++)
		{
			uint8	   *byte = copy +
			test_inv_range(&prng, 0, r.len - 1);

			*byte ^= 1 << test_inv_range(&prng, 0, 7);
			(void) snii_inv_record_decode(copy, copy + r.len, COLUMNS, &sink);
		}
		pfree(copy);
	}
	PG_RETURN_INT64(total);
}
