/*-------------------------------------------------------------------------
 *
 * text_utf8.h
 *	  Decoding and encoding of UTF-8 that nobody has validated.
 *
 * In a SQL_ASCII database a text may hold any bytes.  A byte that does not
 * begin or belong to a well-formed character stands for one U+FFFD.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_UTF8_H
#define SNII_TEXT_UTF8_H

/* What an invalid byte is taken for. */
#define SNII_UTF8_REPLACEMENT	0xFFFD

/* Longest encoding of one code point. */
#define SNII_UTF8_MAX			4

static inline bool
snii_utf8_trail(uint8 byte)
{
	return (byte & 0xC0) == 0x80;
}

/*
 * Decodes the character at p (p < end) and stores its length in *len.
 *
 * Rejects overlong forms, surrogates, values above U+10FFFF and truncated
 * sequences: then *len is 1 and the result SNII_UTF8_REPLACEMENT.
 */
static inline uint32
snii_utf8_decode(const uint8 *p, const uint8 *end, uint32 *len)
{
	uint32		cp = p[0];
	size_t		room = end - p;

	*len = 1;
	if (cp < 0x80)
		return cp;
	if (cp >= 0xC2 && cp < 0xE0 && room >= 2 && snii_utf8_trail(p[1]))
	{
		*len = 2;
		return (cp & 0x1F) << 6 | (p[1] & 0x3F);
	}
	if ((cp & 0xF0) == 0xE0 && room >= 3 &&
		snii_utf8_trail(p[1]) && snii_utf8_trail(p[2]))
	{
		cp = (cp & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F);
		if (cp >= 0x800 && (cp & 0xF800) != 0xD800)
		{
			*len = 3;
			return cp;
		}
	}
	else if ((cp & 0xF8) == 0xF0 && room >= 4 && snii_utf8_trail(p[1]) &&
			 snii_utf8_trail(p[2]) && snii_utf8_trail(p[3]))
	{
		cp = (cp & 0x07) << 18 | (p[1] & 0x3F) << 12 |
			(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
		if (cp >= 0x10000 && cp <= 0x10FFFF)
		{
			*len = 4;
			return cp;
		}
	}
	return SNII_UTF8_REPLACEMENT;
}

/* Writes cp at dest (SNII_UTF8_MAX bytes of room); returns its length. */
static inline uint32
snii_utf8_encode(uint32 cp, uint8 *dest)
{
	if (cp < 0x80)
	{
		dest[0] = (uint8) cp;
		return 1;
	}
	if (cp < 0x800)
	{
		dest[0] = 0xC0 | cp >> 6;
		dest[1] = 0x80 | (cp & 0x3F);
		return 2;
	}
	if (cp < 0x10000)
	{
		dest[0] = 0xE0 | cp >> 12;
		dest[1] = 0x80 | (cp >> 6 & 0x3F);
		dest[2] = 0x80 | (cp & 0x3F);
		return 3;
	}
	dest[0] = 0xF0 | cp >> 18;
	dest[1] = 0x80 | (cp >> 12 & 0x3F);
	dest[2] = 0x80 | (cp >> 6 & 0x3F);
	dest[3] = 0x80 | (cp & 0x3F);
	return 4;
}

/* ASCII white space: a part of no word, whatever stands beside it. */
static inline bool
snii_ascii_space(uint8 byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

#endif							/* SNII_TEXT_UTF8_H */
