/*-------------------------------------------------------------------------
 *
 * text_window.c
 *	  Words that only ICU can find, in windows of bounded size.
 *
 * ICU wants UTF-16 and, for scripts with a dictionary, memory in proportion
 * to what it is given.  It gets a run of text up to the next separator, but
 * at most SNII_TEXT_WINDOW units.  A longer run is cut
 *
 *	- before the last character of the window that is in no class of UAX 29
 *	  and not pictographic: there always is a boundary, and what follows does
 *	  not change the ones before it;
 *	- where there is none, before the last segment of the window, which may
 *	  go on beyond it;
 *	- where the window is one segment, nowhere: the window is doubled, up to
 *	  SNII_TEXT_WINDOW_MAX, which is where a segment ends at last.
 *
 * The first changes nothing.  The others may, within a window from the cut
 * (thousands of Han characters without a full stop, a word of a million), but
 * always do the same to the same text.  Each window is used for at least half
 * of what its predecessor held, so that the cost is linear.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unicode/utf16.h>

#include "text/text_icu.h"
#include "text/text_props.h"
#include "text/text_utf8.h"
#include "text/text_window.h"
#include "utils/memutils.h"

/* A window, with the offset from its start of each unit's character. */
typedef struct Window
{
	int32		size;
	UChar	   *units;
	uint32	   *offsets;
} Window;

static UChar small_units[SNII_TEXT_WINDOW + U16_MAX_LENGTH];
static uint32 small_offsets[SNII_TEXT_WINDOW + U16_MAX_LENGTH];

static Window window = {SNII_TEXT_WINDOW, small_units, small_offsets};

/* The iterator that breaks what the tables cannot. */
static UBreakIterator *words = NULL;

/* Gives back the memory of a grown window. */
void
snii_text_window_trim(void)
{
	UChar	   *units = window.units;

	if (likely(units == small_units))
		return;
	window.size = SNII_TEXT_WINDOW;
	window.units = small_units;
	window.offsets = small_offsets;
	pfree(units);
}

/* Doubles the window; what it holds is lost. */
static void
grow_window(void)
{
	int32		size = 2 * window.size;
	size_t		slots = size + U16_MAX_LENGTH;
	char	   *block = MemoryContextAlloc(TopMemoryContext,
										   slots * (sizeof(UChar) +
													sizeof(uint32)));

	/* the offsets come second: slots is even, which aligns them */
	StaticAssertStmt(U16_MAX_LENGTH % 2 == 0 && SNII_TEXT_WINDOW % 2 == 0,
					 "number of slots is even");
	snii_text_window_trim();
	window.size = size;
	window.units = (UChar *) block;
	window.offsets = (uint32 *) (block + slots * sizeof(UChar));
}

/*
 * Converts text from start on into the window, up to a separator or the end,
 * and returns the number of units; *complete tells if that was reached.
 */
static int32
fill_window(const uint8 *start, const uint8 *end, bool *complete)
{
	const uint8 *p = start;
	int32		count = 0;

	*complete = true;
	while (p < end)
	{
		uint32		len;
		uint32		cp = snii_utf8_decode(p, end, &len);

		if (snii_text_separates(cp))
			break;
		if (count >= window.size)
		{
			*complete = false;
			break;
		}
		window.offsets[count] = window.offsets[count + 1] = p - start;
		U16_APPEND_UNSAFE(window.units, count, cp);
		p += len;
	}
	window.offsets[count] = p - start;
	return count;
}

/*
 * The last place in the window before which there is a boundary whatever
 * follows, or 0 if there is none.
 */
static int32
last_safe_cut(int32 count)
{
	for (int32 i = count - 1; i > 0; i--)
	{
		uint32		unit = window.units[i];
		uint8		class = snii_text_props(unit)->word_class[unit & 0xFF];

		if (class == SNII_WORD_OTHER && !U16_IS_SURROGATE(unit))
			return i;
	}
	return 0;
}

/*
 * Fills the window so that ICU can tell where its first segment ends, and sets
 * the iterator to it.  Returns the number of units to break; *open tells if
 * the last segment may go on beyond them.
 */
static int32
prepare_window(const uint8 *start, const uint8 *end, bool *open)
{
	for (;;)
	{
		bool		complete;
		int32		count = fill_window(start, end, &complete);
		int32		cut = complete ? count : last_safe_cut(count);

		if (cut > 0)
			count = cut;
		*open = cut == 0 && count > 0;
		snii_text_icu_words(&words, window.units, count);
		if (!*open)
			return count;
		if (window.size >= SNII_TEXT_WINDOW_MAX || ubrk_next(words) < count)
		{
			ubrk_first(words);
			return count;
		}
		grow_window();
	}
}

/*
 * Hands on the tokens from start, a boundary and no separator, to the next
 * separator or the end of the window.  Returns the boundary up to which it was done.
 */
const uint8 *
snii_text_window_words(SniiTextOutput *out, const uint8 *start,
					   const uint8 *end)
{
	bool		open;
	int32		count;
	int32		from = 0;
	int32		to;

	/* text of emoji alone is slow and has no tokens */
	CHECK_FOR_INTERRUPTS();
	snii_text_window_trim();
	count = prepare_window(start, end, &open);
	while ((to = ubrk_next(words)) != UBRK_DONE)
	{
		if (open && to == count && from > 0)
			break;
		if (ubrk_getRuleStatus(words) >= UBRK_WORD_NONE_LIMIT)
			snii_text_put_folded(out, start + window.offsets[from],
								 start + window.offsets[to]);
		from = to;
	}
	return start + window.offsets[from];
}
