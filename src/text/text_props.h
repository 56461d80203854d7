/*-------------------------------------------------------------------------
 *
 * text_props.h
 *	  Word class and case folding of a code point, from tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_PROPS_H
#define SNII_TEXT_PROPS_H

#include "text/text_utf8.h"

/*
 * Classes of code points for word breaking: those of UAX 29, with the ones
 * united that behave alike, and SNII_WORD_ICU for what is left to ICU.
 */
typedef enum SniiWordClass
{
	SNII_WORD_OTHER,			/* never part of a word */
	SNII_WORD_SEPARATOR,		/* nor of a segment: snii_text_separates() */
	SNII_WORD_PICT,				/* the same, but may follow a ZWJ */
	SNII_WORD_SPACE,			/* WSegSpace beyond ASCII: spaces join */
	SNII_WORD_MIDLETTER,
	SNII_WORD_MIDNUM,
	SNII_WORD_MIDNUMLET,
	SNII_WORD_SQUOTE,
	SNII_WORD_DQUOTE,
	SNII_WORD_EXTEND,			/* Extend and Format */
	SNII_WORD_ICU,				/* ZWJ, flags, what needs a dictionary */
	/* from here on: what may begin a word */
	SNII_WORD_LETTER,
	SNII_WORD_HEBREW,
	SNII_WORD_NUMBER,
	SNII_WORD_JOINER,			/* ExtendNumLet */
	SNII_WORD_HANGUL			/* Hangul syllables, not jamo */
} SniiWordClass;

/* A folding is up to three code points of 21 bits, the first lowest. */
#define SNII_FOLD_MAX			3
#define SNII_FOLD_BITS			21
#define SNII_FOLD_MASK			((1 << SNII_FOLD_BITS) - 1)

/* Properties of 256 code points. */
typedef struct SniiPropsPage
{
	uint8		word_class[256];
	uint64		fold[256];
} SniiPropsPage;

#define SNII_PROPS_PAGES		(0x110000 >> 8)

extern SniiPropsPage *snii_text_props_pages[SNII_PROPS_PAGES];
extern uint8 snii_text_props_ascii[128];

/*
 * Is this a separator, a part of no word and no joint of words, whatever
 * stands beside it?  White space is, and what releases of ICU disagree about:
 * '@' (a letter up to ICU 72), colons (they join letters up to ICU 71 and
 * from 78 on, or some of them do), the cedilla without a letter (one itself
 * from 78 on), and upright forms of comma and semicolon (which join numbers up
 * to ICU 72).
 */
static inline bool
snii_text_separates(uint32 cp)
{
	if (cp < 0x80)
		return cp == '@' || cp == ':' || snii_ascii_space((uint8) cp);
	if (cp < 0xFE10)
		return cp == 0xB8;
	return cp == 0xFE10 || cp == 0xFE13 || cp == 0xFE14 || cp == 0xFE55 ||
		cp == 0xFF1A;
}

extern void snii_text_props_init(void);
extern SniiPropsPage *snii_text_props_load(uint32 cp);

/* Properties of the 256 code points around cp. */
static inline const SniiPropsPage *
snii_text_props(uint32 cp)
{
	SniiPropsPage *page = snii_text_props_pages[cp >> 8];

	if (unlikely(page == NULL))
		page = snii_text_props_load(cp);
	return page;
}

#endif							/* SNII_TEXT_PROPS_H */
