/*-------------------------------------------------------------------------
 *
 * codec_length.c
 *	  One-byte code of a document length, rounded down.
 *
 * Lengths up to 40 are exact.  From there on the code is a small float with
 * a three-bit mantissa: eight steps an octave, so that what is decoded is at
 * least 8/9 of the length.  The code never decreases as the length grows,
 * and never decodes to more than the length: a score that falls with the
 * length is bounded from above by its value at the decoded length.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "codec/codec_length.h"

/* Below this the code is the length. */
#define EXACT_BELOW		40

/*
 * What a code from EXACT_BELOW on exceeds (octave * 8 + mantissa) by, octave
 * 0 being 32 to 63: length 40 is octave 0, mantissa 2.
 */
#define FLOAT_BASE		(EXACT_BELOW - 2)

uint8
snii_codec_length_code(uint32 len)
{
	int			octave;

	if (len < EXACT_BELOW)
		return len;
	octave = pg_leftmost_one_pos32(len) - 5;
	return FLOAT_BASE + octave * 8 + ((len >> (octave + 2)) & 7);
}

/* The least length with this code; PG_UINT32_MAX for unused codes. */
uint32
snii_codec_length_decode(uint8 code)
{
	int			octave;
	uint32		mantissa;

	if (code < EXACT_BELOW)
		return code;
	if (code > SNII_LENGTH_CODE_MAX)
		return PG_UINT32_MAX;
	octave = (code - FLOAT_BASE) / 8;
	mantissa = (code - FLOAT_BASE) % 8;
	return (8 + mantissa) << (octave + 2);
}
