/*-------------------------------------------------------------------------
 *
 * text_output.c
 *	  The way of a token from where it was found to the caller's sink.
 *
 * Tokens that case folding does not change are handed on where they stand in
 * the text.  The others are folded into one buffer of this backend, which
 * survives errors and is cut back to SMALL_BUFFER when the next analysis
 * begins.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "text/text_output.h"
#include "text/text_props.h"
#include "text/text_utf8.h"
#include "utils/memutils.h"

/* What the buffer keeps from one analysis to the next. */
#define SMALL_BUFFER		(64 * 1024)

/* Room that one more folded code point may take. */
#define FOLDED_MAX			(SNII_FOLD_MAX * SNII_UTF8_MAX)

static uint8 *buffer = NULL;
static size_t buffer_size = 0;

/*
 * Returns the token buffer with at least size bytes of room, what it holds
 * preserved.  The pointer is valid until the next call.
 */
uint8 *
snii_text_buffer(size_t size)
{
	if (likely(size <= buffer_size))
		return buffer;
	size = Max(size, SMALL_BUFFER);
	if (buffer == NULL)
		buffer = MemoryContextAllocHuge(TopMemoryContext, size);
	else
		buffer = repalloc_huge(buffer, size);
	buffer_size = size;
	return buffer;
}

/* Gives back what an unusually long token made the buffer take. */
void
snii_text_buffer_trim(void)
{
	if (likely(buffer_size <= SMALL_BUFFER))
		return;
	pfree(buffer);
	buffer = NULL;
	buffer_size = 0;
}

/* Eight ASCII characters with capitals made small. */
static inline uint64
small_letters(uint64 chars)
{
	const uint64 ones = UINT64CONST(0x0101010101010101);
	uint64		from_a = chars + ones * (0x80 - 'A');
	uint64		after_z = chars + ones * (0x80 - 'Z' - 1);

	return chars | ((from_a & ~after_z & (ones * 0x80)) >> 2);
}

/* Hands on an ASCII token with its capitals made small. */
void
snii_text_put_ascii(SniiTextOutput *out, const uint8 *start,
					const uint8 *end)
{
	size_t		len = end - start;
	uint8	   *folded = snii_text_buffer(len);
	size_t		i = 0;

	for (; i + sizeof(uint64) <= len; i += sizeof(uint64))
	{
		uint64		chars;

		memcpy(&chars, start + i, sizeof(chars));
		chars = small_letters(chars);
		memcpy(folded + i, &chars, sizeof(chars));
	}
	for (; i < len; i++)
	{
		uint8		c = start[i];

		folded[i] = c | ((uint8) (c - 'A') < 26 ? 0x20 : 0);
	}
	snii_text_put(out, folded, len, start, end);
}

/* Length of the beginning of start .. end that folding does not change. */
static size_t
unchanged_prefix(const uint8 *start, const uint8 *end)
{
	const uint8 *p = start;

	while (p < end)
	{
		uint32		len;
		uint32		cp = snii_utf8_decode(p, end, &len);

		if (snii_text_props(cp)->fold[cp & 0xFF] != cp)
			break;
		p += len;
	}
	return p - start;
}

/* Hands on a token case-folded. */
void
snii_text_put_folded(SniiTextOutput *out, const uint8 *start,
					 const uint8 *end)
{
	size_t		used = unchanged_prefix(start, end);
	const uint8 *p = start + used;
	uint8	   *folded;

	if (p == end)
	{
		snii_text_put(out, start, used, start, end);
		return;
	}
	folded = snii_text_buffer(end - start + FOLDED_MAX);
	memcpy(folded, start, used);
	while (p < end)
	{
		uint32		len;
		uint32		cp = snii_utf8_decode(p, end, &len);
		uint64		fold = snii_text_props(cp)->fold[cp & 0xFF];

		if (unlikely(used + FOLDED_MAX > buffer_size))
			folded = snii_text_buffer(used + used / 2 + FOLDED_MAX);
		do
		{
			used += snii_utf8_encode(fold & SNII_FOLD_MASK, folded + used);
			fold >>= SNII_FOLD_BITS;
		} while (fold != 0);
		p += len;
	}
	snii_text_put(out, folded, used, start, end);
}
