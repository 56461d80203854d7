/*-------------------------------------------------------------------------
 *
 * text_output.h
 *	  The way of a token from where it was found to the caller's sink.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_OUTPUT_H
#define SNII_TEXT_OUTPUT_H

#include "miscadmin.h"
#include "text/text_analyzer.h"

/* Tokens between two looks at pending interrupts; a power of two. */
#define SNII_TEXT_INTERRUPT_TOKENS	2048

/*
 * One analysis.  text is the piece of UTF-8 being cut into tokens; the byte at
 * input[i] comes from the original's byte origin[i], or base + i if origin is
 * NULL.
 */
typedef struct SniiTextOutput
{
	SniiTokenSink sink;
	void	   *arg;
	uint32		count;			/* tokens so far */
	uint32		base;
	const uint8 *input;
	const uint32 *origin;
} SniiTextOutput;

extern void snii_text_put_ascii(SniiTextOutput *out, const uint8 *start,
								const uint8 *end);
extern void snii_text_put_folded(SniiTextOutput *out, const uint8 *start,
								 const uint8 *end);
extern uint8 *snii_text_buffer(size_t size);
extern void snii_text_buffer_trim(void);

/* Hands on a token of len bytes that stands at start .. end of out->input. */
static inline void
snii_text_put(SniiTextOutput *out, const uint8 *bytes, size_t len,
			  const uint8 *start, const uint8 *end)
{
	uint32		from = (uint32) (start - out->input);
	uint32		to = (uint32) (end - out->input);

	if (unlikely(out->origin != NULL))
	{
		from = out->origin[from];
		to = out->origin[to];
	}
	else
	{
		from += out->base;
		to += out->base;
	}
	if (unlikely(out->count % SNII_TEXT_INTERRUPT_TOKENS == 0))
		CHECK_FOR_INTERRUPTS();
	out->sink(out->arg, (const char *) bytes, (uint32) len,
			  out->count++, from, to);
}

#endif							/* SNII_TEXT_OUTPUT_H */
