/*-------------------------------------------------------------------------
 *
 * text_convert.h
 *	  Texts in server encodings other than UTF-8.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_CONVERT_H
#define SNII_TEXT_CONVERT_H

#include "text/text_output.h"

/*
 * A run without ASCII white space is converted in pieces of at most this many
 * bytes.  Part of what an index contains, like SNII_TEXT_WINDOW.
 */
#define SNII_TEXT_RUN_MAX		(1024 * 1024)

/* Cuts a piece of UTF-8 into tokens. */
typedef void (*SniiTextCutter) (SniiTextOutput *out, const uint8 *input,
								size_t len);

extern bool snii_text_convert_needed(const uint8 *input, size_t len);
extern void snii_text_convert_cut(SniiTextOutput *out, const uint8 *input,
								  size_t len, SniiTextCutter cutter);
extern size_t snii_text_convert_whole(const uint8 *input, size_t len,
									  uint8 **converted);
extern text *snii_text_convert_to_server(const char *bytes, size_t len);

#endif							/* SNII_TEXT_CONVERT_H */
