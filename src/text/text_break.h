/*-------------------------------------------------------------------------
 *
 * text_break.h
 *	  Unicode words of a text: what the standard analyzer does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_BREAK_H
#define SNII_TEXT_BREAK_H

#include "text/text_output.h"

extern void snii_text_break_words(SniiTextOutput *out, const uint8 *input,
								  size_t len);
extern bool snii_text_break_use_tables(bool use);

#endif							/* SNII_TEXT_BREAK_H */
