/*-------------------------------------------------------------------------
 *
 * text_window.h
 *	  Words that only ICU can find, in windows of bounded size.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_WINDOW_H
#define SNII_TEXT_WINDOW_H

#include "text/text_output.h"

/*
 * UTF-16 units that ICU is given at a time, and how far that grows for a
 * single segment that is longer.  Part of what an index contains: a change
 * needs a new analyzer id.
 */
#define SNII_TEXT_WINDOW		4096
#define SNII_TEXT_WINDOW_MAX	(1024 * 1024)

extern const uint8 *snii_text_window_words(SniiTextOutput *out,
										   const uint8 *start,
										   const uint8 *end);
extern void snii_text_window_trim(void);

#endif							/* SNII_TEXT_WINDOW_H */
