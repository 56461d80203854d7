/*-------------------------------------------------------------------------
 *
 * text_analyzer.c
 *	  Text in, tokens with positions and byte offsets out.
 *
 * The analyzers:
 *
 *	standard	Unicode words, case-folded: text_break.c
 *	whitespace	what stands between Unicode white space, unchanged
 *	keyword		the whole value as one token, unchanged, also if it is empty
 *
 * "Unchanged" means converted to UTF-8 where the database encoding is another
 * one.  In a SQL_ASCII database nothing can be converted: invalid bytes are
 * taken for U+FFFD, which is no white space and no part of a word, and stay
 * what they are in the tokens of whitespace and keyword.
 *
 * Promise to the layers above: no text whatsoever raises an error; equal text
 * gives equal tokens; work and memory are linear in the length of the text.
 * Memory beyond a fixed amount per backend (some 100 kB) is needed only for a
 * single token that is longer and is changed by folding: up to three times
 * its length, kept no longer than until the next analysis.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "text/text_analyzer.h"
#include "text/text_break.h"
#include "text/text_convert.h"
#include "text/text_icu.h"
#include "text/text_utf8.h"

struct SniiAnalyzer
{
	int			id;
	const char *name;
	SniiTextCutter cutter;		/* NULL: the text is one token */
};

static void cut_at_white_space(SniiTextOutput *out, const uint8 *input,
							   size_t len);

static const SniiAnalyzer analyzers[] = {
	{SNII_ANALYZER_STANDARD, "standard", snii_text_break_words},
	{SNII_ANALYZER_WHITESPACE, "whitespace", cut_at_white_space},
	{SNII_ANALYZER_KEYWORD, "keyword", NULL}
};

/* Returns the analyzer of that name (in small letters), or NULL. */
const SniiAnalyzer *
snii_text_analyzer_by_name(const char *name)
{
	for (int i = 0; i < lengthof(analyzers); i++)
	{
		if (strcmp(analyzers[i].name, name) == 0)
			return &analyzers[i];
	}
	return NULL;
}

/* Returns the analyzer with that on-disk identifier, or NULL. */
const SniiAnalyzer *
snii_text_analyzer_by_id(int id)
{
	for (int i = 0; i < lengthof(analyzers); i++)
	{
		if (analyzers[i].id == id)
			return &analyzers[i];
	}
	return NULL;
}

/* The on-disk identifier of an analyzer. */
int
snii_text_analyzer_id(const SniiAnalyzer *analyzer)
{
	return analyzer->id;
}

const char *
snii_text_analyzer_name(const SniiAnalyzer *analyzer)
{
	return analyzer->name;
}

/* All names, for hints. */
const char *
snii_text_analyzer_names(void)
{
	return "keyword, standard, whitespace";
}

/*
 * Version of what the standard analyzer depends on outside of this code.  An
 * index built under another one may lack tokens that a query looks for.
 */
const char *
snii_text_unicode_version(void)
{
	return snii_text_icu_version();
}

/*
 * Length of the white space (Unicode's White_Space, a closed set) at p, or 0
 * if there is none.
 */
static inline uint32
white_space_length(const uint8 *p, const uint8 *end)
{
	uint32		len;
	uint32		cp;

	if (*p < 0x80)
		return snii_ascii_space(*p) ? 1 : 0;
	if (*p != 0xC2 && (*p < 0xE1 || *p > 0xE3))
		return 0;
	cp = snii_utf8_decode(p, end, &len);
	if (cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
		(cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 ||
		cp == 0x202F || cp == 0x205F || cp == 0x3000)
		return len;
	return 0;
}

/* Hands on what stands between white space. */
static void
cut_at_white_space(SniiTextOutput *out, const uint8 *input, size_t len)
{
	const uint8 *end = input + len;
	const uint8 *p = input;

	while (p < end)
	{
		const uint8 *start = p;
		uint32		space = 0;

		while (p < end && (space = white_space_length(p, end)) == 0)
			p++;
		if (p > start)
			snii_text_put(out, start, p - start, start, p);
		if (p < end)
			p += space;
	}
}

/* Hands on the whole text as one token. */
static void
whole_text(SniiTextOutput *out, const uint8 *input, size_t len)
{
	uint8	   *converted;
	size_t		converted_len;

	if (!snii_text_convert_needed(input, len))
	{
		snii_text_put(out, input, len, input, input + len);
		return;
	}
	converted_len = snii_text_convert_whole(input, len, &converted);
	snii_text_put(out, converted, converted_len, input, input + len);
	pfree(converted);
}

/*
 * Hands each token of text (len bytes in the database encoding, at most
 * 1 GB) to sink; returns the number of tokens.
 *
 * Raises nothing about the text.  The sink and interrupts may throw at any
 * token; nothing leaks then but what the caller's memory context holds.
 */
uint32
snii_text_analyze(const SniiAnalyzer *analyzer, const char *input, size_t len,
				  SniiTokenSink sink, void *arg)
{
	const uint8 *bytes = (const uint8 *) input;
	SniiTextOutput out = {0};

	out.sink = sink;
	out.arg = arg;
	out.input = bytes;
	snii_text_buffer_trim();
	if (analyzer->cutter == NULL)
		whole_text(&out, bytes, len);
	else if (snii_text_convert_needed(bytes, len))
		snii_text_convert_cut(&out, bytes, len, analyzer->cutter);
	else
		analyzer->cutter(&out, bytes, len);
	return out.count;
}
