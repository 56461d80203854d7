/*-------------------------------------------------------------------------
 *
 * inv_pump.c
 *	  Encoded postings of the term buffer into a segment writer.
 *
 * A term consists of fragments, one from each run that has it, in the order
 * of the runs; a fragment is the bytes of inv_spimi.c in pieces of any size.
 * A document that a spill cut in two is the last of one fragment and the
 * first of the next: its posting goes on.
 *
 * The bytes may come from a file, so nothing is taken for granted; what is
 * well-formed but out of order is found by the writer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_varint.h"
#include "inverted/inv_pump.h"

/* What became of a token. */
typedef enum PumpResult
{
	PUMP_OK,
	PUMP_CUT,					/* the bytes end within it */
	PUMP_BAD
} PumpResult;

void
snii_inv_pump_init(SniiInvPump *p, SniiInvWriter *writer)
{
	memset(p, 0, offsetof(SniiInvPump, carry));
	p->writer = writer;
}

/* Begin a term. */
void
snii_inv_pump_term(SniiInvPump *p, int column, int kind, const uint8 *bytes,
				   uint32 len)
{
	snii_inv_writer_term(p->writer, column, kind, bytes, len);
	p->posting = -1;
	p->npositions = 0;
}

/* Begin a fragment whose documents count from base. */
void
snii_inv_pump_fragment(SniiInvPump *p, uint32 base)
{
	p->doc = base;
	p->begun = false;
	p->ncarry = 0;
}

static inline void
flush_positions(SniiInvPump *p)
{
	if (p->npositions > 0)
		snii_inv_writer_positions(p->writer, p->positions, p->npositions);
	p->npositions = 0;
}

static inline void
add_position(SniiInvPump *p, uint32 position)
{
	if (p->npositions == SNII_PUMP_POSITIONS)
		flush_positions(p);
	p->positions[p->npositions++] = position;
	p->position = position;
}

/* Take one token; *bytes is moved past it if the result is PUMP_OK. */
static inline PumpResult
take_token(SniiInvPump *p, const uint8 **bytes, const uint8 *end)
{
	const uint8 *s = *bytes;
	uint64		v;
	uint32		position;

	if (!snii_codec_get_varint64(&s, end, &v))
		return end - s < SNII_VARINT64_MAX ? PUMP_CUT : PUMP_BAD;
	if ((v & 1) == 0)
	{
		uint64		sum = p->position + (v >> 1);

		if (!p->begun || sum > SNII_INV_POSITION_MAX)
			return PUMP_BAD;
		add_position(p, (uint32) sum);
		*bytes = s;
		return PUMP_OK;
	}
	if (!snii_codec_get_varint32(&s, end, &position))
		return end - s < SNII_VARINT32_MAX ? PUMP_CUT : PUMP_BAD;
	v = (v >> 1) + p->doc;
	if (v > SNII_INV_DOC_MAX)
		return PUMP_BAD;
	flush_positions(p);
	if ((int64) v != p->posting)
		snii_inv_writer_posting(p->writer, (uint32) v);
	p->posting = v;
	p->doc = (uint32) v;
	p->begun = true;
	add_position(p, position);
	*bytes = s;
	return PUMP_OK;
}

/* Complete the token that the piece before ended in. */
static bool
take_carried(SniiInvPump *p, const uint8 **bytes, const uint8 *end)
{
	while (*bytes < end)
	{
		const uint8 *s = p->carry;
		PumpResult	result;

		if (p->ncarry == SNII_SPIMI_TOKEN_MAX)
			return false;
		p->carry[p->ncarry++] = *(*bytes)++;
		result = take_token(p, &s, p->carry + p->ncarry);
		if (result == PUMP_OK)
		{
			p->ncarry = 0;
			return true;
		}
		if (result == PUMP_BAD)
			return false;
	}
	return true;
}

/* Take the next piece of the fragment; false when it is malformed. */
bool
snii_inv_pump_bytes(SniiInvPump *p, const uint8 *bytes, size_t n)
{
	const uint8 *end = bytes + n;

	if (p->ncarry > 0 && !take_carried(p, &bytes, end))
		return false;
	while (bytes < end)
	{
		PumpResult	result = take_token(p, &bytes, end);

		if (result == PUMP_OK)
			continue;
		if (result == PUMP_BAD || end - bytes > SNII_SPIMI_TOKEN_MAX)
			return false;
		p->ncarry = end - bytes;
		memcpy(p->carry, bytes, p->ncarry);
		return true;
	}
	return true;
}

/* End the fragment; false if it ends within a token. */
bool
snii_inv_pump_end_fragment(SniiInvPump *p)
{
	return p->ncarry == 0;
}

/* Hand on what is left of the term. */
void
snii_inv_pump_end_term(SniiInvPump *p)
{
	flush_positions(p);
}
