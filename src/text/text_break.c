/*-------------------------------------------------------------------------
 *
 * text_break.c
 *	  Unicode words of a text: what the standard analyzer does.
 *
 * The text is cut at separators: white space, '@', colons, and three more
 * that snii_text_separates() lists.  A token is a segment between two word
 * boundaries of UAX 29 of what stands between them, with the dictionaries of
 * ICU's root locale, whose rule status in ICU is not UBRK_WORD_NONE,
 * case-folded.  Three ways lead to it, each several times as fast as the next:
 *
 *	- ascii_word() for a segment of ASCII;
 *	- table_word() for a segment of letters, numbers, joiners, marks and the
 *	  characters that join them, in any script without a dictionary;
 *	- text_window.c, that is ICU, for the rest: Han, Kana, Thai, Lao, Khmer,
 *	  Burmese, flags, and whatever has a ZERO WIDTH JOINER in it.
 *
 * All three give the same boundaries.  They rest on two properties of the
 * rules, which the tests check against ICU on whole texts:
 *
 *	- Where the next boundary lies depends on nothing before the last one.
 *	  Hence, if one way meets something that it cannot handle, the next one
 *	  can take over from the start of the unfinished segment.
 *	- There always is a boundary before a character that is in no class of
 *	  UAX 29 and not pictographic, and what follows it does not change the
 *	  boundaries before it.  Hence ICU may be given the text up to such a
 *	  character only.
 *
 * Separators separate even where UAX 29 would glue them to a following mark,
 * or to a ZERO WIDTH JOINER and circled letter: no token holds a space.
 *
 * When the tables are first filled, they are compared with ICU on all
 * sequences of three classes.  If a release of ICU has rules that differ from
 * what is written here, segments that are not ASCII alone go to ICU, with what
 * follows them up to a separator: slower, but true to that release.  Text of
 * ASCII alone is cut in the same way under every release.
 *
 * Cost is linear in the length of the text.  What text_window.c says about
 * very long runs holds here too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "text/text_break.h"
#include "text/text_props.h"
#include "text/text_utf8.h"
#include "text/text_window.h"

/* What the fast loops want to know of a byte. */
#define BYTE_WORD		0x01	/* ASCII letter, number or joiner */
#define BYTE_UPPER		0x02	/* ASCII capital */
#define BYTE_MID		0x04	/* ASCII that may stand inside of a word */
#define BYTE_HIGH		0x08	/* not ASCII */

/* Code points of each class for the check of the rules. */
static const uint32 class_samples[] = {
	'a', 0xE9, '1', '_', 0x05D0, 0xAC00, 0xB7, ',', '.', '\'', '"', 0x2019,
	0x0301, 0xAD, '-', 0x2014, 0x2003, 0xA9
};

static bool ready = false;
static bool tables_usable = false;
static bool tables_used = false;
static uint8 byte_flags[256];

/* Decodes the character at p and returns its class. */
static inline SniiWordClass
class_at(const uint8 *p, const uint8 *end, uint32 *len)
{
	uint32		cp = snii_utf8_decode(p, end, len);

	if (unlikely(!tables_used))
		return snii_text_separates(cp) ? SNII_WORD_SEPARATOR : SNII_WORD_ICU;
	return snii_text_props(cp)->word_class[cp & 0xFF];
}

/*
 * Ends an unfinished segment start .. p where the tables know no further.  One
 * that exceeds the largest window ends here: ICU could not go beyond p, and
 * no text must be looked at again and again.
 */
static const uint8 *
hand_over(SniiTextOutput *out, const uint8 *start, const uint8 *p,
		  const uint8 *end, bool is_word)
{
	if (p - start < SNII_TEXT_WINDOW_MAX)
		return snii_text_window_words(out, start, end);
	if (is_word)
		snii_text_put_folded(out, start, p);
	return p;
}

/* No boundary between characters of these classes? */
static inline bool
classes_join(SniiWordClass left, SniiWordClass right)
{
	if (left == SNII_WORD_HANGUL || right == SNII_WORD_HANGUL)
		return left == right;
	return left >= SNII_WORD_LETTER;
}

/* No boundary around mid between characters of these classes? */
static inline bool
classes_join_around(SniiWordClass left, SniiWordClass mid,
					SniiWordClass right)
{
	bool		both = mid == SNII_WORD_MIDNUMLET || mid == SNII_WORD_SQUOTE;

	if (left == SNII_WORD_NUMBER)
		return right == SNII_WORD_NUMBER && (both || mid == SNII_WORD_MIDNUM);
	if (left != SNII_WORD_LETTER && left != SNII_WORD_HEBREW)
		return false;
	if (mid == SNII_WORD_DQUOTE)
		return left == SNII_WORD_HEBREW && right == SNII_WORD_HEBREW;
	return (right == SNII_WORD_LETTER || right == SNII_WORD_HEBREW) &&
		(both || mid == SNII_WORD_MIDLETTER);
}

/* Steps over Extend and Format characters; *next: the class behind them. */
static const uint8 *
skip_extend(const uint8 *p, const uint8 *end, SniiWordClass *next,
			uint32 *len)
{
	*next = SNII_WORD_OTHER;
	*len = 0;
	while (p < end && (*next = class_at(p, end, len)) == SNII_WORD_EXTEND)
	{
		p += *len;
		*next = SNII_WORD_OTHER;
	}
	return p;
}

/*
 * Finds and hands on the segment that begins at start, a boundary, with a
 * character that may begin a word.  Returns the boundary behind it.
 *
 * is_word follows ICU's rule status, which is that of the rules that match up
 * to the boundary: a single joiner is no word, nor is a segment whose last
 * joiner, Hangul syllable or Hebrew quote is followed by a mark.
 */
static const uint8 *
table_word(SniiTextOutput *out, const uint8 *start, const uint8 *end)
{
	uint32		len;
	SniiWordClass left = class_at(start, end, &len);
	const uint8 *p = start + len;
	bool		is_word = left != SNII_WORD_JOINER;

	if (unlikely(!tables_used))
		return snii_text_window_words(out, start, end);
	while (p < end)
	{
		SniiWordClass next = class_at(p, end, &len);

		if (next >= SNII_WORD_LETTER)
		{
			if (!classes_join(left, next))
				break;
			left = next;
			is_word = true;
			p += len;
		}
		else if (next == SNII_WORD_EXTEND)
		{
			is_word = is_word && left != SNII_WORD_JOINER &&
				left != SNII_WORD_HANGUL;
			if (left == SNII_WORD_HANGUL)
				left = SNII_WORD_OTHER;
			p += len;
		}
		else if (next >= SNII_WORD_MIDLETTER && next <= SNII_WORD_DQUOTE)
		{
			const uint8 *after = p + len;
			SniiWordClass right;
			const uint8 *q = skip_extend(after, end, &right, &len);

			if (right == SNII_WORD_ICU)
				return hand_over(out, start, p, end, is_word);
			if (classes_join_around(left, next, right))
			{
				left = right;
				is_word = true;
				p = q + len;
				continue;
			}
			if (left == SNII_WORD_HEBREW && next == SNII_WORD_SQUOTE)
			{
				is_word = q == after;
				p = q;
			}
			break;
		}
		else if (next == SNII_WORD_ICU)
			return hand_over(out, start, p, end, is_word);
		else
			break;
	}
	if (is_word)
		snii_text_put_folded(out, start, p);
	return p;
}

/*
 * Finds and hands on the segment that begins at start, a boundary, with ASCII
 * that may begin a word.  Returns the boundary behind it.
 */
static inline const uint8 *
ascii_word(SniiTextOutput *out, const uint8 *start, const uint8 *end)
{
	const uint8 *p = start;
	uint8		seen = 0;

	for (;;)
	{
		uint8		flags = 0;

		while (p < end && ((flags = byte_flags[*p]) & BYTE_WORD))
		{
			seen |= flags;
			p++;
		}
		if (p == end || !(flags & (BYTE_MID | BYTE_HIGH)))
			break;
		if (flags & BYTE_HIGH)
			return table_word(out, start, end);
		if (p + 1 == end)
			break;
		if (byte_flags[p[1]] & BYTE_HIGH)
			return table_word(out, start, end);
		if (!classes_join_around(snii_text_props_ascii[p[-1]],
								 snii_text_props_ascii[p[0]],
								 snii_text_props_ascii[p[1]]))
			break;
		p++;
	}
	if (p - start == 1 && snii_text_props_ascii[*start] == SNII_WORD_JOINER)
		return p;
	if (seen & BYTE_UPPER)
		snii_text_put_ascii(out, start, p);
	else
		snii_text_put(out, start, p - start, start, p);
	return p;
}

/*
 * Goes over what is not ASCII and begins no word, from p on; hands on the
 * first token if it finds one.  Returns the boundary where it stopped.
 *
 * boundary is the last known one, at or before p: ICU must see the segment
 * that p belongs to from its beginning.
 */
static const uint8 *
high_characters(SniiTextOutput *out, const uint8 *boundary,
				const uint8 *p, const uint8 *end)
{
	const uint8 *segment = p;
	bool		after_space = false;

	if (p > boundary && p[-1] < 0x80 &&
		snii_text_props_ascii[p[-1]] != SNII_WORD_SEPARATOR)
		segment = p - 1;
	while (p < end && (byte_flags[*p] & BYTE_HIGH))
	{
		uint32		len;
		SniiWordClass class = class_at(p, end, &len);

		if (class == SNII_WORD_ICU)
			return snii_text_window_words(out, segment, end);
		if (class >= SNII_WORD_LETTER)
			return table_word(out, p, end);
		if (class != SNII_WORD_EXTEND &&
			!(class == SNII_WORD_SPACE && after_space))
			segment = p;
		after_space = class == SNII_WORD_SPACE;
		p += len;
		if (class == SNII_WORD_SEPARATOR)
			segment = p;
	}
	return p;
}

/* Sets what the fast loops know of each byte. */
static void
set_byte_flags(void)
{
	memset(byte_flags, BYTE_HIGH, sizeof(byte_flags));
	for (int c = 0; c < 0x80; c++)
	{
		SniiWordClass class = snii_text_props_ascii[c];

		if (class >= SNII_WORD_LETTER)
			byte_flags[c] = BYTE_WORD |
				(c >= 'A' && c <= 'Z' ? BYTE_UPPER : 0);
		else
			byte_flags[c] = class >= SNII_WORD_MIDLETTER &&
				class <= SNII_WORD_SQUOTE ? BYTE_MID : 0;
	}
}

/* Cuts text into tokens; out->input and its origin describe it. */
static void
break_words(SniiTextOutput *out, const uint8 *input, size_t len)
{
	const uint8 *p = input;
	const uint8 *end = input + len;
	const uint8 *boundary = input;

	while (p < end)
	{
		uint8		flags = byte_flags[*p];

		if (flags & BYTE_WORD)
			boundary = p = ascii_word(out, p, end);
		else if (flags & BYTE_HIGH)
			boundary = p = high_characters(out, boundary, p, end);
		else
			p++;
	}
}

/* Token sink that folds the offsets of all tokens into a hash. */
static void
hash_offsets(void *arg, const char *bytes, uint32 len, uint32 position,
			 uint32 start, uint32 end)
{
	uint64	   *hash = arg;

	*hash = (*hash ^ ((uint64) start << 32 | end)) *
		UINT64CONST(0x9e3779b97f4a7c15);
}

/* Hash of where the words of text are, with the tables or without. */
static uint64
hash_of_words(const uint8 *input, size_t len, bool use)
{
	uint64		hash = 0;
	SniiTextOutput out = {0};

	out.sink = hash_offsets;
	out.arg = &hash;
	out.input = input;
	tables_used = use;
	break_words(&out, input, len);
	return hash;
}

/* Do tables and ICU agree on all sequences of three classes? */
static bool
tables_agree(void)
{
	enum
	{
		samples = lengthof(class_samples)
	};
	uint8	   *input = palloc(samples * samples * samples *
							   (3 * SNII_UTF8_MAX + 1));
	size_t		len = 0;
	bool		agree;

	for (int i = 0; i < samples * samples * samples; i++)
	{
		len += snii_utf8_encode(class_samples[i % samples], input + len);
		len += snii_utf8_encode(class_samples[i / samples % samples],
								input + len);
		len += snii_utf8_encode(class_samples[i / samples / samples],
								input + len);
		input[len++] = ' ';
	}
	agree = hash_of_words(input, len, true) ==
		hash_of_words(input, len, false);
	pfree(input);
	return agree;
}

/* Fills the tables and decides whether they can be used. */
static void
get_ready(void)
{
	snii_text_props_init();
	set_byte_flags();
	tables_usable = tables_agree();
	tables_used = tables_usable;
	ready = true;
}

/*
 * Chooses between the tables and ICU for all that is not ASCII, for tests; the
 * tables are not used where they do not agree with ICU.  Returns the choice.
 */
bool
snii_text_break_use_tables(bool use)
{
	if (!ready)
		get_ready();
	tables_used = use && tables_usable;
	return tables_used;
}

/*
 * Hands each word of text, valid or invalid UTF-8, to out.  The caller set
 * out->input to text.  Raises only what the sink raises, an interrupt, or that
 * memory is exhausted.
 */
void
snii_text_break_words(SniiTextOutput *out, const uint8 *input, size_t len)
{
	if (unlikely(!ready))
		get_ready();
	snii_text_window_trim();
	break_words(out, input, len);
}
