/*-------------------------------------------------------------------------
 *
 * text_icu.h
 *	  The ICU objects of this backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_ICU_H
#define SNII_TEXT_ICU_H

#include <unicode/ubrk.h>
#include <unicode/utypes.h>

extern void snii_text_icu_words(UBreakIterator **words, const UChar *input,
								int32 len);
extern int32 snii_text_icu_fold(UChar32 cp, UChar32 *folded, int32 room);
extern const char *snii_text_icu_version(void);
extern void snii_text_icu_error(const char *action, UErrorCode status);

#endif							/* SNII_TEXT_ICU_H */
