/*-------------------------------------------------------------------------
 *
 * inv_record.c
 *	  Tokens of one row as a record of the write buffer.
 *
 * The form is in inv_format.h.  A record grows with its document and may
 * pass 1 GB.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "codec/codec_varint.h"
#include "inverted/inv_record.h"
#include "text/text_term.h"

/* Largest token: length and flags, gap, bytes. */
#define TOKEN_MAX	(2 * SNII_VARINT32_MAX + SNII_TERM_MAX)

/* Flags of a token. */
#define TOKEN_LONG	0x01
#define TOKEN_GAP	0x02

/* Tokens between checks for interrupts. */
#define INTERRUPT_TOKENS	4096

/* Begin an empty record, in the current memory context. */
void
snii_inv_record_init(SniiInvRecord *r)
{
	memset(r, 0, sizeof(*r));
	r->size = 1024;
	r->data = palloc(r->size);
}

/* Empty it for the next row. */
void
snii_inv_record_reset(SniiInvRecord *r)
{
	r->len = 0;
}

static pg_noinline void
enlarge(SniiInvRecord *r)
{
	CHECK_FOR_INTERRUPTS();
	r->size *= 2;
	r->data = repalloc_huge(r->data, r->size);
}

/* Make room for a token or less. */
static inline void
ensure(SniiInvRecord *r)
{
	if (unlikely(r->size - r->len < TOKEN_MAX))
		enlarge(r);
}

/* The next column is NULL. */
void
snii_inv_record_null(SniiInvRecord *r)
{
	ensure(r);
	r->data[r->len++] = 0;
}

/*
 * Begin the tokens of the next column.  Their number comes first and is not
 * known yet: its place is left free for the moment.
 */
void
snii_inv_record_begin_column(SniiInvRecord *r)
{
	ensure(r);
	r->column = r->len;
	r->len += SNII_VARINT32_MAX;
	r->ntokens = 0;
	r->position = -1;
}

/*
 * Add a token: a term and its kind, as snii_text_term() gives them.
 * Positions are strictly increasing within a column.
 */
void
snii_inv_record_token(SniiInvRecord *r, int kind, const char *bytes,
					  uint32 len, uint32 position)
{
	uint32		gap = (uint32) (position - r->position - 1);
	uint8	   *p;

	Assert(len <= SNII_TERM_MAX && (int64) position > r->position);
	ensure(r);
	p = r->data + r->len;
	p = snii_codec_put_varint32(p, len << 2 | (gap != 0 ? TOKEN_GAP : 0) |
								(kind == SNII_TERM_LONG ? TOKEN_LONG : 0));
	if (gap != 0)
		p = snii_codec_put_varint32(p, gap);
	memcpy(p, bytes, len);
	r->len = p + len - r->data;
	r->position = position;
	r->ntokens++;
}

void
snii_inv_record_end_column(SniiInvRecord *r)
{
	uint8		head[SNII_VARINT32_MAX];
	int			n;
	uint8	   *tokens = r->data + r->column + SNII_VARINT32_MAX;
	Size		len = r->data + r->len - tokens;

	n = snii_codec_put_varint32(head, r->ntokens + 1) - head;
	memmove(r->data + r->column + n, tokens, len);
	memcpy(r->data + r->column, head, n);
	r->len = r->column + n + len;
}

/* SniiTokenSink */
static void
text_token(void *arg, const char *bytes, uint32 len, uint32 position,
		   uint32 start, uint32 end)
{
	uint8		buf[SNII_TERM_MAX];
	const char *term;
	uint32		term_len;
	int			kind = snii_text_term(bytes, len, buf, &term, &term_len);

	snii_inv_record_token(arg, kind, term, term_len, position);
}

/* Add a column with the tokens of a text; returns their number. */
uint32
snii_inv_record_text(SniiInvRecord *r, const SniiAnalyzer *analyzer,
					 const char *text, size_t len)
{
	snii_inv_record_begin_column(r);
	snii_text_analyze(analyzer, text, len, text_token, r);
	snii_inv_record_end_column(r);
	return r->ntokens;
}

/* Read one token and hand it on; false when it is malformed. */
static inline bool
decode_token(const uint8 **p, const uint8 *end, int column, uint64 *next,
			 const SniiInvRecordSink *sink)
{
	uint32		head;
	uint32		len;
	uint32		gap = 0;
	int			kind;

	if (!snii_codec_get_varint32(p, end, &head))
		return false;
	if ((head & TOKEN_GAP) && !snii_codec_get_varint32(p, end, &gap))
		return false;
	len = head >> 2;
	kind = (head & TOKEN_LONG) ? SNII_TERM_LONG : SNII_TERM_PLAIN;
	*next += gap;
	if (len > end - *p || *next > SNII_INV_POSITION_MAX ||
		(kind == SNII_TERM_LONG ? len != SNII_TERM_LONG_SIZE :
		 len > SNII_TERM_MAX))
		return false;
	if (sink->filter == NULL ||
		snii_inv_filter_passes(sink->filter, (const char *) *p, len))
		sink->token(sink->arg, column, kind, (const char *) *p, len,
					(uint32) *next);
	*p += len;
	(*next)++;
	return true;
}

/* Read one column and hand it on; false when it is malformed. */
static bool
decode_column(const uint8 **p, const uint8 *end, int column,
			  const SniiInvRecordSink *sink)
{
	uint32		n;
	uint64		next = 0;

	/* a token has a byte at least, so n is bounded by what is there */
	if (!snii_codec_get_varint32(p, end, &n) ||
		(n > 0 && n - 1 > end - *p))
		return false;
	sink->begin_column(sink->arg, column, n == 0, n == 0 ? 0 : n - 1);
	for (uint32 i = 1; i < n; i++)
	{
		if (i % INTERRUPT_TOKENS == 0)
			CHECK_FOR_INTERRUPTS();
		if (!decode_token(p, end, column, &next, sink))
			return false;
	}
	return true;
}

/*
 * Hand on the contents of a record of that many columns.  Returns false when
 * the bytes are malformed or do not end exactly at end; the sink may have
 * got a part by then.
 */
bool
snii_inv_record_decode(const uint8 *data, const uint8 *end, int ncolumns,
					   const SniiInvRecordSink *sink)
{
	const uint8 *p = data;

	for (int i = 0; i < ncolumns; i++)
	{
		if (!decode_column(&p, end, i, sink))
			return false;
	}
	return p == end;
}
