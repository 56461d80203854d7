/*-------------------------------------------------------------------------
 *
 * text_icu.c
 *	  The ICU objects of this backend.
 *
 * Opening a break iterator costs as much as analysing a page of text and
 * allocates outside of memory contexts.  Each user opens one at first use,
 * keeps it until the backend ends and gives it each text in turn, so that an
 * error thrown out of an analysis leaks nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "text/text_icu.h"

/* No code point folds to more UTF-16 units than this. */
#define FOLD_UNITS		8

/* Raises an error that names what ICU could not do. */
void
snii_text_icu_error(const char *action, UErrorCode status)
{
	bool		no_memory = status == U_MEMORY_ALLOCATION_ERROR;

	ereport(ERROR,
			(errcode(no_memory ? ERRCODE_OUT_OF_MEMORY :
					 ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("could not %s: ICU reports %s",
					action, u_errorName(status))));
}

/*
 * Sets *words, a word break iterator of the root locale, to input, which must
 * stay in place as long as the iterator is used.  The caller keeps it in a
 * static variable, at first NULL, and never closes it.
 */
void
snii_text_icu_words(UBreakIterator **words, const UChar *input, int32 len)
{
	UErrorCode	status = U_ZERO_ERROR;

	if (*words == NULL)
	{
		UBreakIterator *opened = ubrk_open(UBRK_WORD, "", NULL, 0, &status);

		if (U_FAILURE(status))
			snii_text_icu_error("open a word break iterator", status);
		*words = opened;
	}
	ubrk_setText(*words, input, len, &status);
	if (U_FAILURE(status))
		snii_text_icu_error("set the text of a word break iterator", status);
}

/*
 * Stores the full default case folding of cp in folded, at most room code
 * points, and returns their number.  Full folding knows no context: the
 * folding of a string is the folding of its code points one by one.
 */
int32
snii_text_icu_fold(UChar32 cp, UChar32 *folded, int32 room)
{
	UErrorCode	status = U_ZERO_ERROR;
	UChar		source[U16_MAX_LENGTH];
	UChar		units[FOLD_UNITS];
	int32		source_len = 0;
	int32		units_len;
	int32		count = 0;

	U16_APPEND_UNSAFE(source, source_len, cp);
	units_len = u_strFoldCase(units, FOLD_UNITS, source, source_len,
							  U_FOLD_CASE_DEFAULT, &status);
	if (U_FAILURE(status))
		snii_text_icu_error("fold the case of a character", status);
	for (int32 i = 0; i < units_len;)
	{
		if (count == room)
			elog(ERROR, "case folding of U+%04X has more than %d characters",
				 (unsigned int) cp, room);
		U16_NEXT(units, i, units_len, folded[count]);
		count++;
	}
	return count;
}

/* Version of the library and of its Unicode data, as "ICU 72.1 Unicode 15". */
const char *
snii_text_icu_version(void)
{
	static char description[2 * U_MAX_VERSION_STRING_LENGTH + 16];
	UVersionInfo version;
	char		library[U_MAX_VERSION_STRING_LENGTH];
	char		unicode[U_MAX_VERSION_STRING_LENGTH];

	if (description[0] == '\0')
	{
		u_getVersion(version);
		u_versionToString(version, library);
		u_getUnicodeVersion(version);
		u_versionToString(version, unicode);
		snprintf(description, sizeof(description), "ICU %s Unicode %s",
				 library, unicode);
	}
	return description;
}
