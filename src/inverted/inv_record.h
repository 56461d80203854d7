/*-------------------------------------------------------------------------
 *
 * inv_record.h
 *	  Tokens of one row as a record of the write buffer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_RECORD_H
#define SNII_INV_RECORD_H

#include "inverted/inv_format.h"
#include "text/text_analyzer.h"

/* Record under construction; the bytes are data[0 .. len - 1]. */
typedef struct SniiInvRecord
{
	uint8	   *data;
	Size		len;
	Size		size;
	/* column under way */
	Size		column;			/* where it begins */
	uint32		ntokens;
	int64		position;		/* of the last token, -1: none */
} SniiInvRecord;

/*
 * Which terms are of interest, about: by the first byte, a bit for each length;
 * lengths from 63 on share one.
 */
typedef struct SniiInvTermFilter
{
	uint64		lengths[256];
} SniiInvTermFilter;

/* Receives the contents of a record; either function may raise. */
typedef struct SniiInvRecordSink
{
	void	   *arg;
	void		(*begin_column) (void *arg, int column, bool isnull,
								 uint32 ntokens);
	void		(*token) (void *arg, int column, int kind,
						  const char *bytes, uint32 len, uint32 position);
	/* tokens that do not pass need not be handed on; NULL: all pass */
	const SniiInvTermFilter *filter;
} SniiInvRecordSink;

/* The bit of a length. */
static inline uint64
snii_inv_length_bit(uint32 len)
{
	return UINT64CONST(1) << Min(len, 63);
}

/* Does a term pass?  None is empty. */
static inline bool
snii_inv_filter_passes(const SniiInvTermFilter *filter, const char *bytes,
					   uint32 len)
{
	return len > 0 &&
		(filter->lengths[(uint8) bytes[0]] & snii_inv_length_bit(len)) != 0;
}

extern void snii_inv_record_init(SniiInvRecord *r);
extern void snii_inv_record_reset(SniiInvRecord *r);
extern void snii_inv_record_null(SniiInvRecord *r);
extern void snii_inv_record_begin_column(SniiInvRecord *r);
extern void snii_inv_record_token(SniiInvRecord *r, int kind,
								  const char *bytes, uint32 len,
								  uint32 position);
extern void snii_inv_record_end_column(SniiInvRecord *r);
extern uint32 snii_inv_record_text(SniiInvRecord *r,
								   const SniiAnalyzer *analyzer,
								   const char *text, size_t len);

extern bool snii_inv_record_decode(const uint8 *data, const uint8 *end,
								   int ncolumns,
								   const SniiInvRecordSink *sink);

#endif							/* SNII_INV_RECORD_H */
