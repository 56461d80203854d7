/*-------------------------------------------------------------------------
 *
 * text_props.c
 *	  Word class and case folding of a code point, from tables.
 *
 * Asking ICU for the properties of each character is too slow for bulk
 * loading, so that they are kept in tables of 256 code points each, filled
 * when a text first touches them and kept until the backend ends.  A page
 * takes 2.3 kB; text in one script touches a handful.
 *
 * ICU tailors the classes of a few characters ('@' is a letter to it, ':'
 * joined letters up to ICU 71).  Where that is possible the class is therefore
 * not taken from the property but observed: the break iterator is asked how
 * it breaks around the character.  That is done for all of ASCII and for all
 * characters that join words.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>

#include "text/text_icu.h"
#include "text/text_props.h"
#include "text/text_utf8.h"
#include "utils/memutils.h"

/* Pages by code point / 256; NULL: not filled yet. */
SniiPropsPage *snii_text_props_pages[SNII_PROPS_PAGES];

/* Word classes of ASCII; filled by snii_text_props_init(). */
uint8		snii_text_props_ascii[128];

/*
 * The iterator that is asked about single characters.  Not the one that breaks
 * texts: a page may be filled while that one is at work.
 */
static UBreakIterator *probe_words = NULL;

/* Where ICU ends the first word of "before cp after", in UTF-16 units. */
static int32
probe_boundary(UChar before, UChar32 cp, UChar after, int32 *rule_status)
{
	UChar		input[4];
	int32		len = 0;
	int32		boundary;

	if (before != 0)
		input[len++] = before;
	U16_APPEND_UNSAFE(input, len, cp);
	if (after != 0)
		input[len++] = after;
	snii_text_icu_words(&probe_words, input, len);
	boundary = ubrk_next(probe_words);
	*rule_status = ubrk_getRuleStatus(probe_words);
	return boundary;
}

/* True if ICU takes "side cp side" for one word. */
static bool
probe_joins(UChar side, UChar32 cp)
{
	int32		rule_status;

	return probe_boundary(side, cp, side, &rule_status) == 2 + U16_LENGTH(cp);
}

/*
 * Class of a character that is a letter, number, joiner, may stand in the
 * middle of a word, or none of these, by the way ICU breaks around it.
 */
static SniiWordClass
observed_class(UChar32 cp)
{
	int			property = u_getIntPropertyValue(cp, UCHAR_WORD_BREAK);
	int32		rule_status;
	bool		letters = probe_joins('a', cp);
	bool		numbers = probe_joins('1', cp);

	if (probe_boundary('a', cp, 0, &rule_status) > 1)
	{
		probe_boundary(0, cp, 0, &rule_status);
		if (rule_status >= UBRK_WORD_LETTER)
			return SNII_WORD_LETTER;
		return rule_status >= UBRK_WORD_NUMBER ?
			SNII_WORD_NUMBER : SNII_WORD_JOINER;
	}
	if (property == U_WB_DOUBLE_QUOTE)
		return SNII_WORD_DQUOTE;
	if (letters && numbers)
		return property == U_WB_SINGLE_QUOTE ?
			SNII_WORD_SQUOTE : SNII_WORD_MIDNUMLET;
	if (letters)
		return SNII_WORD_MIDLETTER;
	return numbers ? SNII_WORD_MIDNUM : SNII_WORD_OTHER;
}

/* True for characters whose words ICU finds by dictionary or special rule. */
static bool
needs_icu(UChar32 cp)
{
	UErrorCode	status = U_ZERO_ERROR;
	UScriptCode script = uscript_getScript(cp, &status);
	int			property = u_getIntPropertyValue(cp, UCHAR_WORD_BREAK);

	return property == U_WB_ZWJ || property == U_WB_KATAKANA ||
		property == U_WB_REGIONAL_INDICATOR ||
		script == USCRIPT_HAN || script == USCRIPT_HIRAGANA ||
		u_hasBinaryProperty(cp, UCHAR_IDEOGRAPHIC) ||
		u_getIntPropertyValue(cp, UCHAR_LINE_BREAK) == U_LB_COMPLEX_CONTEXT;
}

/* Word class of a character beyond ASCII. */
static SniiWordClass
word_class(UChar32 cp)
{
	if (needs_icu(cp))
		return SNII_WORD_ICU;
	if (cp >= 0xAC00 && cp <= 0xD7A3)
		return SNII_WORD_HANGUL;
	switch (u_getIntPropertyValue(cp, UCHAR_WORD_BREAK))
	{
		case U_WB_ALETTER:
			return SNII_WORD_LETTER;
		case U_WB_HEBREW_LETTER:
			return SNII_WORD_HEBREW;
		case U_WB_NUMERIC:
			return SNII_WORD_NUMBER;
		case U_WB_EXTENDNUMLET:
			return SNII_WORD_JOINER;
		case U_WB_EXTEND:
		case U_WB_FORMAT:
			return SNII_WORD_EXTEND;
		case U_WB_MIDLETTER:
		case U_WB_MIDNUM:
		case U_WB_MIDNUMLET:
		case U_WB_SINGLE_QUOTE:
		case U_WB_DOUBLE_QUOTE:
			return observed_class(cp);
		case U_WB_WSEGSPACE:
			return SNII_WORD_SPACE;
		default:
			return u_hasBinaryProperty(cp, UCHAR_EXTENDED_PICTOGRAPHIC) ?
				SNII_WORD_PICT : SNII_WORD_OTHER;
	}
}

/* The folding of cp in the packed form of the tables. */
static uint64
packed_fold(UChar32 cp)
{
	UChar32		folded[SNII_FOLD_MAX];
	int32		count = snii_text_icu_fold(cp, folded, SNII_FOLD_MAX);
	uint64		packed = 0;

	for (int32 i = count - 1; i >= 0; i--)
		packed = packed << SNII_FOLD_BITS | (uint64) folded[i];
	return packed;
}

/*
 * Fills and returns the page of cp.  It appears in the table only when it is
 * complete, so that an error on the way does no harm.
 */
SniiPropsPage *
snii_text_props_load(uint32 cp)
{
	uint32		first = cp & ~(uint32) 0xFF;
	SniiPropsPage *page = palloc(sizeof(SniiPropsPage));
	SniiPropsPage *kept;

	for (uint32 i = 0; i < 256; i++)
	{
		UChar32		c = (UChar32) (first + i);

		page->word_class[i] = c < 0x80 ?
			snii_text_props_ascii[c] : word_class(c);
		page->fold[i] = U_IS_SURROGATE(c) ? (uint64) c : packed_fold(c);
	}
	kept = MemoryContextAlloc(TopMemoryContext, sizeof(SniiPropsPage));
	memcpy(kept, page, sizeof(SniiPropsPage));
	pfree(page);
	snii_text_props_pages[first >> 8] = kept;
	return kept;
}

/* Fills the word classes of ASCII. */
void
snii_text_props_init(void)
{
	for (UChar32 c = 0; c < 0x80; c++)
		snii_text_props_ascii[c] = snii_ascii_space((uint8) c) || c == 0 ?
			SNII_WORD_OTHER : observed_class(c);
}
