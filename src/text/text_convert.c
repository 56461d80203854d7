/*-------------------------------------------------------------------------
 *
 * text_convert.c
 *	  Texts in server encodings other than UTF-8.
 *
 * Everything behind this file sees UTF-8.  All server encodings agree with
 * ASCII below 0x80 and use no such byte in longer characters, so that only
 * the stretches around other bytes need conversion: they are converted run by
 * run, character by character, into a small buffer with a map back to the
 * original's offsets.  The server's conversion procedures are asked once per
 * distinct character; a cache remembers the answers.
 *
 * Bytes that are invalid or have no equivalent become one U+FFFD each, as do
 * invalid bytes elsewhere.  Nothing is raised about them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "text/text_convert.h"
#include "text/text_utf8.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Longest character of a server encoding, and of one character in UTF-8. */
#define SOURCE_MAX		4
#define TARGET_MAX		(MAX_CONVERSION_GROWTH * SOURCE_MAX)

#define CACHE_SLOTS		4096	/* a power of two */

/* Bytes that are converted back at a time. */
#define PIECE_MAX		8192

/* One character in both encodings; source_len 0: empty slot. */
typedef struct CachedChar
{
	uint8		source[SOURCE_MAX];
	uint8		target[TARGET_MAX];
	uint8		source_len;
	uint8		target_len;
} CachedChar;

/* What a run is converted with and into, for the rest of the session. */
typedef struct Converter
{
	Oid			procedure;		/* InvalidOid: there is none */
	CachedChar	cache[CACHE_SLOTS];
	uint8		run[SNII_TEXT_RUN_MAX * MAX_CONVERSION_GROWTH];
	uint32		origin[SNII_TEXT_RUN_MAX * MAX_CONVERSION_GROWTH + 1];
} Converter;

static Converter *converter = NULL;

/* Makes the converter of this backend; its encoding cannot change. */
static void
open_converter(void)
{
	Converter  *fresh;

	if (converter != NULL)
		return;
	fresh = MemoryContextAllocZero(TopMemoryContext, sizeof(Converter));
	converter = fresh;
}

/* Length of the character at p, or 0 if it is not valid. */
static int
source_length(const uint8 *p, const uint8 *end)
{
	int			len = pg_encoding_verifymbchar(GetDatabaseEncoding(),
											   (const char *) p,
											   Min(end - p, SOURCE_MAX));

	return len > 0 ? len : 0;
}

/* Converts one valid character without looking at the cache. */
static void
convert_char(CachedChar *slot, const uint8 *source, int len)
{
	uint8		target[TARGET_MAX + 1];
	int			done = 0;

	if (!OidIsValid(converter->procedure))
		converter->procedure =
			FindDefaultConversionProc(GetDatabaseEncoding(), PG_UTF8);
	slot->source_len = 0;
	if (OidIsValid(converter->procedure))
		done = pg_do_encoding_conversion_buf(converter->procedure,
											 GetDatabaseEncoding(), PG_UTF8,
											 unconstify(uint8 *, source), len,
											 target, sizeof(target), true);
	if (done == len)
		slot->target_len = strlen((char *) target);
	else
		slot->target_len = snii_utf8_encode(SNII_UTF8_REPLACEMENT, target);
	memcpy(slot->target, target, slot->target_len);
	memset(slot->source, 0, SOURCE_MAX);
	memcpy(slot->source, source, len);
	slot->source_len = len;
}

/* Finds the conversion of a valid character of len bytes. */
static const CachedChar *
converted_char(const uint8 *source, int len)
{
	uint32		key = 0;
	CachedChar *slot;

	memcpy(&key, source, len);
	slot = &converter->cache[murmurhash32(key) % CACHE_SLOTS];
	if (slot->source_len != len || memcmp(slot->source, source, len) != 0)
		convert_char(slot, source, len);
	return slot;
}

/* Converts the character at p to dest; returns the bytes read. */
static int
convert_next(const uint8 *p, const uint8 *end, uint8 *dest,
			 uint32 *dest_len)
{
	int			len;

	if (*p < 0x80)
	{
		dest[0] = *p;
		*dest_len = 1;
		return 1;
	}
	len = source_length(p, end);
	if (len == 0)
	{
		*dest_len = snii_utf8_encode(SNII_UTF8_REPLACEMENT, dest);
		return 1;
	}
	else
	{
		const CachedChar *converted = converted_char(p, len);

		memcpy(dest, converted->target, converted->target_len);
		*dest_len = converted->target_len;
		return len;
	}
}

/*
 * Converts text[from ..] up to white space, its end or SNII_TEXT_RUN_MAX
 * bytes; cuts the result into tokens.  Returns where it stopped.
 */
static size_t
cut_run(SniiTextOutput *out, const uint8 *text, size_t from, size_t len,
		SniiTextCutter cutter)
{
	size_t		at = from;
	uint32		used = 0;

	while (at < len && !snii_ascii_space(text[at]) &&
		   at - from <= SNII_TEXT_RUN_MAX - SOURCE_MAX)
	{
		uint32		added;
		int			read = convert_next(text + at, text + len,
										converter->run + used, &added);

		for (uint32 i = 0; i < added; i++)
			converter->origin[used + i] = at;
		used += added;
		at += read;
	}
	converter->origin[used] = at;
	out->text = converter->run;
	out->origin = converter->origin;
	cutter(out, converter->run, used);
	out->origin = NULL;
	return at;
}

/* Position of the first byte of text[from ..] that is not ASCII, or len. */
static size_t
next_high(const uint8 *text, size_t from, size_t len)
{
	while (from < len && text[from] < 0x80)
		from++;
	return from;
}

/* Must this text be converted before it can be analysed? */
bool
snii_text_convert_needed(const uint8 *text, size_t len)
{
	int			encoding = GetDatabaseEncoding();

	return encoding != PG_UTF8 && encoding != PG_SQL_ASCII &&
		next_high(text, 0, len) < len;
}

/* Cuts a text in the database encoding into tokens, offsets in that. */
void
snii_text_convert_cut(SniiTextOutput *out, const uint8 *text, size_t len,
					  SniiTextCutter cutter)
{
	size_t		at = 0;

	open_converter();
	while (at < len)
	{
		size_t		high = next_high(text, at, len);
		size_t		run = high;

		if (high < len)
			while (run > at && !snii_ascii_space(text[run - 1]))
				run--;
		out->text = text + at;
		out->base = (uint32) at;
		cutter(out, text + at, run - at);
		at = cut_run(out, text, run, len, cutter);
	}
}

/*
 * Converts all of a text to UTF-8.  *converted is allocated in the current
 * memory context; the result is its length.
 */
size_t
snii_text_convert_whole(const uint8 *text, size_t len, uint8 **converted)
{
	size_t		size = len + len / 2 + TARGET_MAX;
	size_t		used = 0;
	uint8	   *dest = MemoryContextAllocHuge(CurrentMemoryContext, size);

	open_converter();
	for (size_t at = 0; at < len;)
	{
		uint32		added;

		if (used + TARGET_MAX > size)
		{
			size += size / 2 + TARGET_MAX;
			dest = repalloc_huge(dest, size);
		}
		at += convert_next(text + at, text + len, dest + used, &added);
		used += added;
	}
	*converted = dest;
	return used;
}

/*
 * Appends as much of UTF-8 bytes as can be converted at once to dest, in the
 * database encoding; returns the bytes read, 0 if the first one cannot be.
 */
static size_t
append_converted(StringInfo dest, const uint8 *bytes, size_t len, Oid proc)
{
	int			piece = (int) Min(len, PIECE_MAX);
	int			room = piece * MAX_CONVERSION_GROWTH + 1;
	int			done;

	/* do not cut a character */
	while (piece < len && piece > 0 && snii_utf8_trail(bytes[piece]))
		piece--;
	enlargeStringInfo(dest, room);
	done = pg_do_encoding_conversion_buf(proc, PG_UTF8, GetDatabaseEncoding(),
										 unconstify(uint8 *, bytes), piece,
										 (uint8 *) dest->data + dest->len,
										 room, true);
	dest->len += strlen(dest->data + dest->len);
	return done;
}

/*
 * The token or term of UTF-8 bytes as a text in the database encoding, for
 * people to look at: what that encoding lacks is shown as a question mark.
 * The result is allocated in the current memory context.
 */
text *
snii_text_convert_to_server(const char *bytes, size_t len)
{
	int			encoding = GetDatabaseEncoding();
	StringInfoData dest;
	Oid			proc;
	text	   *result;

	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII ||
		next_high((const uint8 *) bytes, 0, len) == len)
		return cstring_to_text_with_len(bytes, len);
	proc = FindDefaultConversionProc(PG_UTF8, encoding);
	initStringInfo(&dest);
	for (size_t at = 0; at < len;)
	{
		const uint8 *p = (const uint8 *) bytes + at;
		uint32		skipped = 0;

		if (OidIsValid(proc))
			skipped = append_converted(&dest, p, len - at, proc);
		if (skipped == 0)
		{
			appendStringInfoChar(&dest, '?');
			(void) snii_utf8_decode(p, p + len - at, &skipped);
		}
		at += skipped;
	}
	result = cstring_to_text_with_len(dest.data, dest.len);
	pfree(dest.data);
	return result;
}
