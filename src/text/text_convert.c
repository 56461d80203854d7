/*-------------------------------------------------------------------------
 *
 * text_convert.c
 *	  Texts in server encodings other than UTF-8.
 *
 * Everything behind this file sees UTF-8.  All server encodings agree with
 * ASCII below 0x80 and use no such byte in longer characters, so that only
 * the stretches around other bytes need conversion: they are converted run by
 * run, character by character, into a buffer with a map back to the original's
 * offsets.  The server's conversion procedures are asked once per
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

/* Bytes between two looks at pending interrupts. */
#define INTERRUPT_BYTES	65536

/* Bytes that a run has room for at first. */
#define RUN_ROOM		8192

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


/* A run in UTF-8 and, for each byte and the end, the original's offset. */
typedef struct Run
{
	size_t		room;
	size_t		used;
	uint8	   *bytes;
	uint32	   *origin;
} Run;

/* Kept for the rest of the session: its encoding cannot change. */
static CachedChar *cache = NULL;

static void
open_cache(void)
{
	if (cache == NULL)
		cache = MemoryContextAllocZero(TopMemoryContext,
									   CACHE_SLOTS * sizeof(CachedChar));
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
	Oid			proc = FindDefaultConversionProc(GetDatabaseEncoding(),
												 PG_UTF8);

	slot->source_len = 0;
	if (OidIsValid(proc))
		done = pg_do_encoding_conversion_buf(proc,
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
	slot = &cache[murmurhash32(key) % CACHE_SLOTS];
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

/* Makes room for one more character and the end in a run. */
static void
enlarge_run(Run *run)
{
	if (run->used + TARGET_MAX < run->room)
		return;
	run->room = run->room == 0 ? RUN_ROOM : 2 * run->room;
	if (run->bytes == NULL)
	{
		run->bytes = palloc(run->room);
		run->origin = palloc(run->room * sizeof(uint32));
		return;
	}
	run->bytes = repalloc(run->bytes, run->room);
	run->origin = repalloc(run->origin, run->room * sizeof(uint32));
}

/*
 * May a run that is too long be cut before this byte?  Only ASCII that parts
 * words wherever it stands.
 */
static bool
may_cut_before(uint8 byte)
{
	return strchr("(){}[]<>|/\\=+*&^%$#!?~`-:@", byte) != NULL && byte != 0;
}

/*
 * Converts input[from ..] up to white space, its end or SNII_TEXT_RUN_MAX
 * bytes; cuts the result into tokens.  Returns where it stopped.
 */
static size_t
cut_run(SniiTextOutput *out, Run *run, const uint8 *input, size_t from,
		size_t len, SniiTextCutter cutter)
{
	size_t		at = from;
	size_t		cut = 0;
	size_t		cut_used = 0;

	CHECK_FOR_INTERRUPTS();
	run->used = 0;
	enlarge_run(run);
	while (at < len && !snii_ascii_space(input[at]) &&
		   at - from <= SNII_TEXT_RUN_MAX - SOURCE_MAX)
	{
		uint32		added;
		int			read;

		if (may_cut_before(input[at]))
		{
			cut = at;
			cut_used = run->used;
		}
		enlarge_run(run);
		read = convert_next(input + at, input + len, run->bytes + run->used,
							&added);
		for (uint32 i = 0; i < added; i++)
			run->origin[run->used + i] = at;
		run->used += added;
		at += read;
	}
	if (at < len && !snii_ascii_space(input[at]) && cut > from)
	{
		at = cut;
		run->used = cut_used;
	}
	run->origin[run->used] = at;
	out->input = run->bytes;
	out->origin = run->origin;
	cutter(out, run->bytes, run->used);
	out->origin = NULL;
	return at;
}

/* Position of the first byte of input[from ..] that is not ASCII, or len. */
static size_t
next_high(const uint8 *input, size_t from, size_t len)
{
	while (from < len && input[from] < 0x80)
		from++;
	return from;
}

/* Must this text be converted before it can be analysed? */
bool
snii_text_convert_needed(const uint8 *input, size_t len)
{
	int			encoding = GetDatabaseEncoding();

	return encoding != PG_UTF8 && encoding != PG_SQL_ASCII &&
		next_high(input, 0, len) < len;
}

/*
 * Cuts a text in the database encoding into tokens, with offsets in that.
 * Works in the current memory context.
 */
void
snii_text_convert_cut(SniiTextOutput *out, const uint8 *input, size_t len,
					  SniiTextCutter cutter)
{
	Run			run = {0};
	size_t		at = 0;

	open_cache();
	while (at < len)
	{
		size_t		high = next_high(input, at, len);
		size_t		start = high;

		if (high < len)
			while (start > at && !snii_ascii_space(input[start - 1]))
				start--;
		out->input = input + at;
		out->base = (uint32) at;
		cutter(out, input + at, start - at);
		at = start;
		if (at < len)
			at = cut_run(out, &run, input, at, len, cutter);
	}
	if (run.bytes != NULL)
	{
		pfree(run.bytes);
		pfree(run.origin);
	}
}

/*
 * Converts all of a text to UTF-8.  *converted is allocated in the current
 * memory context; the result is its length.
 */
size_t
snii_text_convert_whole(const uint8 *input, size_t len, uint8 **converted)
{
	size_t		size = len + len / 2 + TARGET_MAX;
	size_t		used = 0;
	uint8	   *dest = MemoryContextAllocHuge(CurrentMemoryContext, size);

	open_cache();
	for (size_t at = 0; at < len;)
	{
		uint32		added;

		if (unlikely(at % INTERRUPT_BYTES == 0))
			CHECK_FOR_INTERRUPTS();
		if (used + TARGET_MAX > size)
		{
			size += size / 2 + TARGET_MAX;
			dest = repalloc_huge(dest, size);
		}
		at += convert_next(input + at, input + len, dest + used, &added);
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
