/*-------------------------------------------------------------------------
 *
 * test_snii_text.c
 *	  The analyzers against ICU.
 *
 * The reference is ICU alone, applied to whole texts: its break iterator of
 * the root locale, its case folding, its white space.  It shares nothing with
 * the code under test, not even the decoding of UTF-8.  A difference is an
 * error that shows the text in hexadecimal digits.
 *
 * Two deliberate differences: ICU may glue white space to a ZERO WIDTH JOINER
 * and a circled letter behind it, while our tokens begin after white space.
 * And the characters in separators[], about which releases of ICU disagree,
 * part words: ICU is given what stands between them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unicode/ubrk.h>
#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utf16.h>

#include "common/pg_prng.h"
#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "text/text_analyzer.h"
#include "text/text_break.h"
#include "text/text_convert.h"
#include "text/text_term.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_text_tables_used);
PG_FUNCTION_INFO_V1(test_text_document);
PG_FUNCTION_INFO_V1(test_text_random);
PG_FUNCTION_INFO_V1(test_text_every_character);
PG_FUNCTION_INFO_V1(test_text_repeat);
PG_FUNCTION_INFO_V1(test_text_tokens);
PG_FUNCTION_INFO_V1(test_text_shown);
PG_FUNCTION_INFO_V1(test_text_term);
PG_FUNCTION_INFO_V1(test_text_abort);
PG_FUNCTION_INFO_V1(test_text_count);

/* Longest random text, in characters. */
#define RANDOM_CHARS	60

/* One token of the reference. */
typedef struct Expected
{
	uint32		start;
	uint32		end;
} Expected;

/* What the reference found, and how far the comparison has come. */
typedef struct Reference
{
	const uint8 *input;
	size_t		len;
	bool		fold;
	Expected   *tokens;
	uint32		count;
} Reference;

/* What parts words by our definition, whatever ICU says. */
static const UChar separators[] = {
	0x40, 0x3A, 0xB8, 0xFE10, 0xFE13, 0xFE14, 0xFE55, 0xFF1A
};

static UBreakIterator *reference_words = NULL;
static UCaseMap *reference_case = NULL;

/* --- the reference ------------------------------------------------------ */

static void
check_icu(UErrorCode status)
{
	if (U_FAILURE(status))
		elog(ERROR, "ICU reports %s", u_errorName(status));
}

static void
open_reference(void)
{
	UErrorCode	status = U_ZERO_ERROR;

	if (reference_words == NULL)
		reference_words = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
	check_icu(status);
	if (reference_case == NULL)
		reference_case = ucasemap_open("", U_FOLD_CASE_DEFAULT, &status);
	check_icu(status);
}

/* Decodes by the server's own functions; an invalid byte is U+FFFD. */
static UChar32
reference_decode(const uint8 *p, const uint8 *end, int *len)
{
	*len = pg_utf_mblen(p);
	if (*len <= end - p && pg_utf8_islegal(p, *len))
		return (UChar32) utf8_to_unicode(p);
	*len = 1;
	return 0xFFFD;
}

/* Adds a token, without the white space that it may begin with. */
static void
add_expected(Reference *ref, uint32 start, uint32 end)
{
	for (uint32 i = start; i < end; i++)
	{
		if (ref->input[i] != '\0' &&
			strchr(" \t\n\v\f\r", ref->input[i]) != NULL)
			start = i + 1;
	}
	ref->tokens[ref->count].start = start;
	ref->tokens[ref->count].end = end;
	ref->count++;
}

/* Finds the words of units, whose offsets in the text are given. */
static void
find_expected_in_piece(Reference *ref, const UChar *units,
					   const uint32 *offsets, int32 count)
{
	UErrorCode	status = U_ZERO_ERROR;
	int32		from = 0;
	int32		to;

	ubrk_setText(reference_words, units, count, &status);
	check_icu(status);
	while ((to = ubrk_next(reference_words)) != UBRK_DONE)
	{
		if (ubrk_getRuleStatus(reference_words) != UBRK_WORD_NONE)
			add_expected(ref, offsets[from], offsets[to]);
		from = to;
	}
}

static bool
is_separator(UChar unit)
{
	for (int i = 0; i < lengthof(separators); i++)
	{
		if (separators[i] == unit)
			return true;
	}
	return false;
}

/* Finds the words of a text by ICU, between separators. */
static void
find_expected_words(Reference *ref)
{
	const uint8 *end = ref->input + ref->len;
	UChar	   *units = palloc_extended((ref->len + 2) * sizeof(UChar),
										MCXT_ALLOC_HUGE);
	uint32	   *offsets = palloc_extended((ref->len + 2) * sizeof(uint32),
										  MCXT_ALLOC_HUGE);
	int32		count = 0;
	int32		from = 0;

	for (const uint8 *p = ref->input; p < end;)
	{
		int			len;
		UChar32		cp = reference_decode(p, end, &len);

		offsets[count] = offsets[count + 1] = p - ref->input;
		U16_APPEND_UNSAFE(units, count, cp);
		p += len;
	}
	offsets[count] = ref->len;
	for (int32 i = 0; i <= count; i++)
	{
		if (i < count && !is_separator(units[i]))
			continue;
		find_expected_in_piece(ref, units + from, offsets + from, i - from);
		from = i + 1;
	}
	pfree(units);
	pfree(offsets);
}

/* Finds what stands between white space in a text. */
static void
find_expected_chunks(Reference *ref)
{
	const uint8 *end = ref->input + ref->len;
	uint32		start = 0;
	uint32		at = 0;

	for (const uint8 *p = ref->input; p < end;)
	{
		int			len;
		UChar32		cp = reference_decode(p, end, &len);

		if (u_isUWhiteSpace(cp))
		{
			if (at > start)
				add_expected(ref, start, at);
			start = at + len;
		}
		at += len;
		p += len;
	}
	if (at > start)
		add_expected(ref, start, at);
}

/* Raises an error that shows the text and what is wrong with it. */
static void
report(const Reference *ref, const char *problem, uint32 position,
	   uint32 start, uint32 end)
{
	size_t		shown = Min(ref->len, 2000);
	char	   *hex = palloc(2 * shown + 1);

	hex[hex_encode((const char *) ref->input, shown, hex)] = '\0';
	if (position < ref->count)
		elog(ERROR, "%s: token %u at %u .. %u, expected at %u .. %u of %u"
			 ", in \\x%s", problem, position, start, end,
			 ref->tokens[position].start,
			 ref->tokens[position].end, ref->count, hex);
	elog(ERROR, "%s: token %u at %u .. %u, expected %u tokens, in \\x%s",
		 problem, position, start, end, ref->count, hex);
}

/* Are these bytes the folding of the text's start .. end? */
static bool
folded_right(const Reference *ref, const char *bytes, uint32 len,
			 uint32 start, uint32 end)
{
	UErrorCode	status = U_ZERO_ERROR;
	int32		room = 3 * (end - start) + 1;
	char	   *folded = palloc(room);
	int32		folded_len;
	bool		right;

	folded_len = ucasemap_utf8FoldCase(reference_case, folded, room,
									   (const char *) ref->input + start,
									   end - start, &status);
	check_icu(status);
	right = folded_len == len && memcmp(folded, bytes, len) == 0;
	pfree(folded);
	return right;
}

/* Token sink: compares with the reference. */
static void
compare(void *arg, const char *bytes, uint32 len, uint32 position,
		uint32 start, uint32 end)
{
	Reference  *ref = arg;

	if (position >= ref->count)
		report(ref, "surplus token", position, start, end);
	if (start != ref->tokens[position].start ||
		end != ref->tokens[position].end)
		report(ref, "different token", position, start, end);
	if (ref->fold ? !folded_right(ref, bytes, len, start, end) :
		len != end - start || memcmp(bytes, ref->input + start, len) != 0)
		report(ref, "wrong bytes", position, start, end);
}

/* Compares one analyzer on one text; returns the number of tokens. */
static uint32
check_analyzer(const char *name, const uint8 *input, size_t len)
{
	Reference	ref = {0};
	uint32		found;

	open_reference();
	ref.input = input;
	ref.len = len;
	ref.fold = strcmp(name, "standard") == 0;
	ref.tokens = palloc_extended((len + 1) * sizeof(Expected),
								 MCXT_ALLOC_HUGE);
	if (ref.fold)
		find_expected_words(&ref);
	else
		find_expected_chunks(&ref);
	found = snii_text_analyze(snii_text_analyzer_by_name(name),
							  (const char *) input, len, compare, &ref);
	if (found != ref.count)
		report(&ref, "missing tokens", found, 0, 0);
	pfree(ref.tokens);
	return found;
}

/* Compares all of them, with tables and without. */
static uint32
check_text(const uint8 *input, size_t len)
{
	uint32		found;

	check_analyzer("whitespace", input, len);
	snii_text_break_use_tables(false);
	check_analyzer("standard", input, len);
	snii_text_break_use_tables(true);
	found = check_analyzer("standard", input, len);
	CHECK_FOR_INTERRUPTS();
	return found;
}

/* --- random texts ------------------------------------------------------- */

/* Ranges of code points; a random text stays in one for a while. */
static const uint32 ranges[][2] = {
	{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}, {' ', '/'}, {':', '@'},
	{'[', '`'}, {'\t', '\r'}, {' ', ' '}, {0x80, 0xFF}, {0x100, 0x17F},
	{0x130, 0x131}, {0x1E9E, 0x1E9E}, {0x2010, 0x2027}, {0x2000, 0x200F},
	{0x202F, 0x2044}, {0x300, 0x36F}, {0x200C, 0x200D}, {0x200D, 0x200D},
	{0x370, 0x52F}, {0x5BE, 0x5F4}, {0x5D0, 0x5EA}, {'"', '\''},
	{0x600, 0x6FF}, {0x900, 0x97F}, {0x980, 0xDFF}, {0xE01, 0xE5B},
	{0xE81, 0xEDF}, {0xF00, 0xFFF}, {0x1000, 0x109F}, {0x10A0, 0x10FF},
	{0x1100, 0x11FF}, {0x1780, 0x17F9}, {0x1F00, 0x1FFF}, {0x2100, 0x214F},
	{0x2460, 0x24FF}, {0x24C2, 0x24C2}, {0x2600, 0x27BF}, {0x3000, 0x303F},
	{0x3001, 0x3002}, {0x3041, 0x309F}, {0x30A0, 0x30FF}, {0x4E00, 0x4FFF},
	{0x4E00, 0x9FFF}, {0xA000, 0xA4C6}, {0xA960, 0xAA7F}, {0xAC00, 0xD7A3},
	{0xD7B0, 0xD7FB}, {0xE000, 0xE010}, {0xF900, 0xFAFF}, {0xFB00, 0xFDFF},
	{0xFE00, 0xFE6F}, {0xFE0F, 0xFE0F}, {0xFF00, 0xFFEF}, {0xFEFF, 0xFEFF},
	{0x10400, 0x1044F}, {0x10A00, 0x10A60}, {0x17000, 0x17010},
	{0x1B000, 0x1B122}, {0x1D400, 0x1D7FF}, {0x1F100, 0x1F265},
	{0x1F1E6, 0x1F1FF}, {0x1F300, 0x1FAFF}, {0x1F3FB, 0x1F3FF},
	{0x20000, 0x2A6DF}, {0xE0001, 0xE01EF}, {1, 0xD7FF}, {0xE000, 0x10FFFF}
};

/* The same for words with marks, quotes and joiners in all orders. */
static const uint32 joining[] = {
	'a', 'B', '1', '_', '\'', '"', '.', ',', ':', ';', '@', '-', ' ', 0x5D0,
	0xFF1A, 0xFE13, 0xB8,
	0x5F3, 0x5F4, 0xB7, 0x2019, 0x2018, 0x201D, 0x301, 0xAD, 0x200D, 0x200C,
	0xAC00, 0x1100, 0x660, 0x66B, 0x203F, 0xE01, 0xE48, 0x4E00, 0x3042,
	0x30AB, 0xFF76, 0x3002, 0x3000, 0x2003, 0xA0, 0x24C2, 0x1F600, 0x1F3FB,
	0x1F1E6, 0xDF, 0x130, 0xFFFD, '\n', '\r'
};

static uint32
random_below(pg_prng_state *state, uint32 bound)
{
	return (uint32) (pg_prng_uint64(state) % bound);
}

static uint32
random_in_range(pg_prng_state *state, const uint32 *range)
{
	return range[0] + random_below(state, range[1] - range[0] + 1);
}

/* Appends a code point, but none that UTF-8 does not know. */
static void
append_char(StringInfo input, uint32 cp)
{
	unsigned char bytes[8];

	if (cp == 0 || (cp >= 0xD800 && cp <= 0xDFFF))
		return;
	unicode_to_utf8(cp, bytes);
	appendBinaryStringInfo(input, (char *) bytes, pg_utf_mblen(bytes));
}

static void
random_ascii(StringInfo input, pg_prng_state *state)
{
	static const char likely_chars[] = "aZb09__''..,,::;;@\"- \n!/";
	uint32		chars = random_below(state, RANDOM_CHARS);

	while (chars-- > 0)
	{
		uint32		any = random_below(state, sizeof(likely_chars) * 4 / 3);

		appendStringInfoChar(input, any < sizeof(likely_chars) - 1 ?
							 likely_chars[any] : random_below(state, 128));
	}
}

static void
random_mixed(StringInfo input, pg_prng_state *state)
{
	uint32		chars = random_below(state, RANDOM_CHARS);
	uint32		keep = 1 + random_below(state, 8);
	uint32		choice = 0;

	while (chars-- > 0)
	{
		if (random_below(state, keep) == 0)
			choice = random_below(state, lengthof(ranges));
		append_char(input, random_in_range(state, ranges[choice]));
	}
}

static void
random_joining(StringInfo input, pg_prng_state *state)
{
	uint32		chars = random_below(state, RANDOM_CHARS / 4);
	uint32		kinds = 2 + random_below(state, 8);
	uint32		kind[10];

	/* few kinds, so that they meet in all orders */
	for (uint32 i = 0; i < kinds; i++)
		kind[i] = joining[random_below(state, lengthof(joining))];
	while (chars-- > 0)
		append_char(input, kind[random_below(state, kinds)]);
}

/* Valid text with bytes changed, cut off or inserted. */
static void
random_invalid(StringInfo input, pg_prng_state *state)
{
	uint32		changes = 1 + random_below(state, 8);

	random_mixed(input, state);
	while (changes-- > 0 && input->len > 0)
	{
		int			at = random_below(state, input->len);

		if (random_below(state, 3) == 0)
			input->len = at;
		else
			input->data[at] = (char) pg_prng_uint64(state);
	}
}

/* Compares rounds random texts of a kind; returns the number of tokens. */
Datum
test_text_random(PG_FUNCTION_ARGS)
{
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int32		rounds = PG_GETARG_INT32(2);
	int64		tokens = 0;
	pg_prng_state state;
	StringInfoData input;

	pg_prng_seed(&state, (uint64) PG_GETARG_INT64(1));
	initStringInfo(&input);
	while (rounds-- > 0)
	{
		char	   *exact;

		resetStringInfo(&input);
		if (strcmp(kind, "ascii") == 0)
			random_ascii(&input, &state);
		else if (strcmp(kind, "mixed") == 0)
			random_mixed(&input, &state);
		else if (strcmp(kind, "joining") == 0)
			random_joining(&input, &state);
		else if (strcmp(kind, "invalid") == 0)
			random_invalid(&input, &state);
		else
			elog(ERROR, "unknown kind of text \"%s\"", kind);

		/* a block of exactly its size: valgrind sees reads beyond it */
		exact = malloc(Max(input.len, 1));
		if (exact == NULL)
			elog(ERROR, "out of memory");
		memcpy(exact, input.data, input.len);
		tokens += check_text((uint8 *) exact, input.len);
		free(exact);
	}
	PG_RETURN_INT64(tokens);
}

/* --- other checks ------------------------------------------------------- */

/* Did the tables pass their comparison with ICU? */
Datum
test_text_tables_used(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(snii_text_break_use_tables(true));
}

/* Compares a given text. */
Datum
test_text_document(PG_FUNCTION_ARGS)
{
	text	   *document = PG_GETARG_TEXT_PP(0);

	PG_RETURN_INT64(check_text((uint8 *) VARDATA_ANY(document),
							   VARSIZE_ANY_EXHDR(document)));
}

/* Every code point alone and between letters, numbers, joiners and marks. */
Datum
test_text_every_character(PG_FUNCTION_ARGS)
{
	static const char *const contexts[][2] = {
		{"", ""}, {"a", "a"}, {"1", "1"}, {"_", "_"}, {"a", "1"},
		{"\xD7\x90", "\xD7\x90"}, {"\xEA\xB0\x80", "\xEA\xB0\x80"},
		{"\xCC\x81", "\xCC\x81"}, {"a.", ".a"}, {"!", "\xCC\x81" "b"},
		{"!", "\xE2\x80\x8D\xE2\x93\x82"}
	};
	int64		tokens = 0;
	StringInfoData input;

	initStringInfo(&input);
	for (uint32 cp = 1; cp <= 0x10FFFF; cp++)
	{
		for (int i = 0; i < lengthof(contexts); i++)
		{
			appendStringInfoString(&input, contexts[i][0]);
			append_char(&input, cp);
			appendStringInfoString(&input, contexts[i][1]);
			appendStringInfoChar(&input, '\n');
		}
		if (cp % 64 == 63)
		{
			const uint8 *bytes = (uint8 *) input.data;

			tokens += check_analyzer("standard", bytes, input.len);
			check_analyzer("whitespace", bytes, input.len);
			resetStringInfo(&input);
			CHECK_FOR_INTERRUPTS();
		}
	}
	PG_RETURN_INT64(tokens);
}

/* Checks order, and folds all tokens into a hash that ignores an offset. */
typedef struct Summary
{
	uint32		shift;
	uint32		last_end;
	uint64		hash;
} Summary;

static void
summarise(void *arg, const char *bytes, uint32 len, uint32 position,
		  uint32 start, uint32 end)
{
	Summary    *summary = arg;

	if (start < summary->last_end || end < start)
		elog(ERROR, "token %u at %u .. %u after one that ends at %u",
			 position, start, end, summary->last_end);
	summary->last_end = end;
	if (start >= summary->shift)
		summary->hash = (summary->hash ^
						 ((uint64) (start - summary->shift) << 32 | len)) *
			UINT64CONST(0x9e3779b97f4a7c15);
}

/*
 * Analyses pattern times over, alone and behind other text: the tokens must be
 * the same.  Returns their number.
 */
Datum
test_text_repeat(PG_FUNCTION_ARGS)
{
	static const char before[] = "x \xE2\x80\x9Cy\xE2\x80\x9D\n";
	text	   *pattern = PG_GETARG_TEXT_PP(0);
	size_t		pattern_len = VARSIZE_ANY_EXHDR(pattern);
	size_t		shift = strlen(before);
	size_t		len = pattern_len * PG_GETARG_INT32(1);
	char	   *document = palloc_extended(shift + len, MCXT_ALLOC_HUGE);
	const SniiAnalyzer *standard = snii_text_analyzer_by_name("standard");
	Summary		alone = {0};
	Summary		behind = {.shift = shift};
	uint32		tokens;

	memcpy(document, before, shift);
	for (size_t at = 0; at < len; at += pattern_len)
		memcpy(document + shift + at, VARDATA_ANY(pattern), pattern_len);
	tokens = snii_text_analyze(standard, document + shift, len,
							   summarise, &alone);
	snii_text_analyze(standard, document, shift + len, summarise, &behind);
	if (alone.hash != behind.hash)
		elog(ERROR, "tokens depend on the text before them");
	pfree(document);
	PG_RETURN_INT64(tokens);
}

static void
put_token(void *arg, const char *bytes, uint32 len, uint32 position,
		  uint32 start, uint32 end)
{
	ReturnSetInfo *result = arg;
	Datum		values[3];
	bool		nulls[3] = {false};

	values[0] = PointerGetDatum(cstring_to_text_with_len(bytes, len));
	values[1] = Int64GetDatum(start);
	values[2] = Int64GetDatum(end);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Tokens of any bytes, taken for text in the database encoding. */
Datum
test_text_tokens(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bytea	   *document = PG_GETARG_BYTEA_PP(1);

	InitMaterializedSRF(fcinfo, 0);
	snii_text_analyze(snii_text_analyzer_by_name(name),
					  VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document),
					  put_token, fcinfo->resultinfo);
	return (Datum) 0;
}

/* A token in the database encoding. */
Datum
test_text_shown(PG_FUNCTION_ARGS)
{
	bytea	   *token = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_TEXT_P(snii_text_convert_to_server(VARDATA_ANY(token),
												 VARSIZE_ANY_EXHDR(token)));
}

/* Kind and bytes of the term of a token. */
Datum
test_text_term(PG_FUNCTION_ARGS)
{
	bytea	   *token = PG_GETARG_BYTEA_PP(0);
	uint8		buf[SNII_TERM_MAX];
	const char *term;
	uint32		term_len;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(snii_text_term(VARDATA_ANY(token),
											 VARSIZE_ANY_EXHDR(token),
											 buf, &term, &term_len));
	values[1] = PointerGetDatum(cstring_to_text_with_len(term, term_len));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

/* Token sink that throws at a given token. */
static void
throw_at(void *arg, const char *bytes, uint32 len, uint32 position,
		 uint32 start, uint32 end)
{
	if (position == *(int32 *) arg)
		ereport(ERROR,
				(errcode(ERRCODE_RAISE_EXCEPTION),
				 errmsg("thrown at token %u", position)));
}

/* An analysis whose sink throws at a token, if there are that many. */
Datum
test_text_abort(PG_FUNCTION_ARGS)
{
	text	   *document = PG_GETARG_TEXT_PP(0);
	int32		at = PG_GETARG_INT32(1);

	PG_RETURN_INT64(snii_text_analyze(snii_text_analyzer_by_name("standard"),
									  VARDATA_ANY(document),
									  VARSIZE_ANY_EXHDR(document),
									  throw_at, &at));
}

/* Token sink that adds up token lengths, for measuring. */
static void
add_length(void *arg, const char *bytes, uint32 len, uint32 position,
		   uint32 start, uint32 end)
{
	*(uint64 *) arg += len + (uint8) bytes[0];
}

/* Number of tokens, found loops times: the speed of an analyzer. */
Datum
test_text_count(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text	   *document = PG_GETARG_TEXT_PP(1);
	const SniiAnalyzer *analyzer = snii_text_analyzer_by_name(name);
	uint64		sum = 0;
	uint32		tokens = 0;

	for (int32 i = PG_GETARG_INT32(2); i > 0; i--)
		tokens = snii_text_analyze(analyzer, VARDATA_ANY(document),
								   VARSIZE_ANY_EXHDR(document),
								   add_length, &sum);
	PG_RETURN_INT64(tokens);
}
