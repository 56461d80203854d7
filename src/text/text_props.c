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
 * The classes of ASCII are written down here: how text in ASCII is cut does not
 * depend on the release of ICU.  Beyond ASCII they are those of UAX 29, from
 * ICU's properties, but for the separators of text_props.h.
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

/* Word class of an ASCII character: that of UAX 29, but for separators. */
static SniiWordClass
ascii_class(uint8 c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
		return SNII_WORD_LETTER;
	if (c >= '0' && c <= '9')
		return SNII_WORD_NUMBER;
	switch (c)
	{
		case '_':
			return SNII_WORD_JOINER;
		case '.':
			return SNII_WORD_MIDNUMLET;
		case ',':
		case ';':
			return SNII_WORD_MIDNUM;
		case '\'':
			return SNII_WORD_SQUOTE;
		case '"':
			return SNII_WORD_DQUOTE;
		default:
			return snii_text_separates(c) ?
				SNII_WORD_SEPARATOR : SNII_WORD_OTHER;
	}
}

/* Word class of a character beyond ASCII. */
static SniiWordClass
word_class(UChar32 cp)
{
	if (snii_text_separates(cp))
		return SNII_WORD_SEPARATOR;
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
			return SNII_WORD_MIDLETTER;
		case U_WB_MIDNUM:
			return SNII_WORD_MIDNUM;
		case U_WB_MIDNUMLET:
			return SNII_WORD_MIDNUMLET;
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
	for (uint8 c = 0; c < 0x80; c++)
		snii_text_props_ascii[c] = ascii_class(c);
}
