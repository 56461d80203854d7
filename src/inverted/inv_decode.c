/*-------------------------------------------------------------------------
 *
 * inv_decode.c
 *	  Parsers of the bytes of an inverted segment.
 *
 * The grammar is in inv_format.h.  Every byte is taken for hostile: counts
 * are bounded by the bytes that are left before anything is read, sums are
 * made in 64 bits, and whoever calls may hand in any bytes at all.  What is
 * not checked here is what a single structure cannot tell (offsets into other
 * streams, order across entries); the callers do that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"
#include "inverted/inv_decode.h"
#include "inverted/inv_key.h"

/* A length nibble of this value is followed by a varint with the rest. */
#define LENGTH_ESCAPE	15

/* ---------------- dictionary blocks ---------------- */

/* Check the header of a dictionary block; false if it is malformed. */
bool
snii_inv_decode_block(const uint8 *payload, uint32 len, SniiInvBlock *block)
{
	SniiInvDictHeader header;
	uint32		anchors;

	if (len < sizeof(header))
		return false;
	memcpy(&header, payload, sizeof(header));
	anchors = (header.nentries + SNII_INV_ANCHOR - 1) / SNII_INV_ANCHOR;
	if (header.nentries == 0 || header.nanchors != anchors ||
		anchors * sizeof(uint16) > len - sizeof(header))
		return false;
	block->payload = payload;
	block->entries_end = payload + len - anchors * sizeof(uint16);
	block->docs_base = header.docs_base;
	block->positions_base = header.positions_base;
	block->nentries = header.nentries;
	block->nanchors = header.nanchors;
	return true;
}

/* The entry of anchor i, or NULL if it is not in the block. */
const uint8 *
snii_inv_decode_anchor(const SniiInvBlock *block, int i)
{
	uint16		offset;

	if (i < 0 || i >= block->nanchors)
		return NULL;
	memcpy(&offset, block->entries_end + i * sizeof(uint16), sizeof(uint16));
	if (offset < sizeof(SniiInvDictHeader) ||
		offset >= block->entries_end - block->payload)
		return NULL;
	return block->payload + offset;
}

/* Read the rest of a length whose nibble was the escape. */
static bool
get_long_length(const uint8 **p, const uint8 *end, uint32 *len)
{
	uint32		rest;

	if (!snii_codec_get_varint32(p, end, &rest) || rest > SNII_INV_KEY_MAX)
		return false;
	*len = LENGTH_ESCAPE + rest;
	return true;
}

/*
 * Parse the key part of the entry at p.  Returns the position of its info,
 * or NULL.  On success prefix + suffix_len is a possible length of a key.
 */
const uint8 *
snii_inv_decode_key(const uint8 *p, const uint8 *end, SniiInvEntryKey *key)
{
	if (p >= end)
		return NULL;
	key->prefix = *p >> 4;
	key->suffix_len = *p & 0x0F;
	p++;
	if (key->prefix == LENGTH_ESCAPE &&
		!get_long_length(&p, end, &key->prefix))
		return NULL;
	if (key->suffix_len == LENGTH_ESCAPE &&
		!get_long_length(&p, end, &key->suffix_len))
		return NULL;
	if (key->prefix + key->suffix_len < 2 ||
		key->prefix + key->suffix_len > SNII_INV_KEY_MAX ||
		key->suffix_len > end - p)
		return NULL;
	key->suffix = p;
	return p + key->suffix_len;
}

/* SINGLE: one document, and its positions as varints. */
static const uint8 *
get_single(const uint8 *p, const uint8 *end, uint64 doc, SniiInvTerm *term)
{
	uint32		n;
	uint32		position;

	if (doc > SNII_INV_DOC_MAX)
		return NULL;
	term->doc = (uint32) doc;
	term->df = 1;
	term->bytes = p;
	if (!snii_inv_decode_single(&p, end, &n))
		return NULL;
	position = 0;
	for (uint32 i = 0; i < n; i++)
	{
		if (!snii_inv_decode_position(&p, end, n, i, &position))
			return NULL;
	}
	term->ttf = n;
	term->positions_len = p - term->bytes;
	return p;
}

/* Read df (given) and ttf; false if they are impossible for the form. */
static bool
get_frequencies(const uint8 **p, const uint8 *end, uint64 df,
				SniiInvTerm *term)
{
	uint64		more;

	if (df == 0 || df > PG_UINT32_MAX ||
		(df > SNII_INV_WINDOW) != (term->form == SNII_INV_WINDOWED))
		return false;
	if (!snii_codec_get_varint64(p, end, &more) ||
		more > df * (uint64) PG_UINT32_MAX - df)
		return false;
	term->df = df;
	term->ttf = df + more;
	return true;
}

/* Read an offset relative to base. */
static bool
get_offset(const uint8 **p, const uint8 *end, uint64 base, uint64 *offset)
{
	uint64		delta;

	if (!snii_codec_get_varint64(p, end, &delta) ||
		delta > PG_UINT64_MAX - base)
		return false;
	*offset = base + delta;
	return true;
}

/* Read the length of a window. */
static bool
get_window_length(const uint8 **p, const uint8 *end, uint64 *len)
{
	uint32		v;

	if (!snii_codec_get_varint32(p, end, &v) || v == 0 ||
		v > SNII_INV_WINDOW_MAX_BYTES)
		return false;
	*len = v;
	return true;
}

/* INLINE: window and positions in the entry itself. */
static const uint8 *
get_inline(const uint8 *p, const uint8 *end, SniiInvTerm *term)
{
	uint32		positions_len;

	if (!get_window_length(&p, end, &term->docs_len) ||
		!snii_codec_get_varint32(&p, end, &positions_len))
		return NULL;
	term->positions_len = positions_len;
	if (term->docs_len + term->positions_len > (size_t) (end - p))
		return NULL;
	term->bytes = p;
	return p + term->docs_len + term->positions_len;
}

/* SLIM and WINDOWED: where the posting list is. */
static const uint8 *
get_outside(const SniiInvBlock *block, const uint8 *p, SniiInvTerm *term)
{
	const uint8 *end = block->entries_end;

	if (!get_offset(&p, end, block->docs_base, &term->docs))
		return NULL;
	if (term->form == SNII_INV_SLIM)
	{
		if (!get_window_length(&p, end, &term->docs_len))
			return NULL;
	}
	else if (!snii_codec_get_varint64(&p, end, &term->docs_len) ||
			 !snii_codec_get_varint32(&p, end, &term->table_len))
		return NULL;
	if (!get_offset(&p, end, block->positions_base, &term->positions) ||
		!snii_codec_get_varint64(&p, end, &term->positions_len))
		return NULL;
	return p;
}

/*
 * Parse the info at p.  Returns the position of the next entry, or NULL.
 * Sets all of *term but column, buffer and block.
 */
const uint8 *
snii_inv_decode_info(const SniiInvBlock *block, const uint8 *p,
					 SniiInvTerm *term)
{
	const uint8 *end = block->entries_end;
	uint64		head;

	if (!snii_codec_get_varint64(&p, end, &head))
		return NULL;
	term->form = (SniiInvForm) (head & 3);
	term->doc = 0;
	term->table_len = 0;
	term->docs = 0;
	term->docs_len = 0;
	term->positions = 0;
	term->bytes = NULL;
	if (term->form == SNII_INV_SINGLE)
		return get_single(p, end, head >> 2, term);
	if (!get_frequencies(&p, end, head >> 2, term))
		return NULL;
	if (term->form == SNII_INV_INLINE)
		return get_inline(p, end, term);
	return get_outside(block, p, term);
}

/*
 * The last anchor whose key is not greater than the given one, or 0; -1 if
 * the block is malformed.
 */
int
snii_inv_decode_anchor_of(const SniiInvBlock *block, const uint8 *key,
						  uint32 keylen)
{
	int			low = 0;
	int			high = block->nanchors;

	/* anchor "low" is not greater, or is 0; anchor "high" is greater */
	while (high - low > 1)
	{
		int			mid = (low + high) / 2;
		const uint8 *p = snii_inv_decode_anchor(block, mid);
		SniiInvEntryKey entry;

		if (p == NULL ||
			snii_inv_decode_key(p, block->entries_end, &entry) == NULL ||
			entry.prefix != 0)
			return -1;
		if (snii_inv_key_compare(entry.suffix, entry.suffix_len,
								 key, keylen) <= 0)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Number of bytes that two strings share at their beginnings. */
static inline uint32
common_prefix(const uint8 *a, uint32 alen, const uint8 *b, uint32 blen)
{
	uint32		n = Min(alen, blen);
	uint32		i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/*
 * Find a key in a block, comparing where the bytes are.  Returns 1 and the
 * position of its info, 0 if it is not there, -1 if the block is malformed.
 *
 * Entries from an anchor on are compared with the help of "matched", the
 * number of bytes that the entry before shares with the key.  That entry is
 * smaller than the key, so an entry that shares more than that with it is
 * smaller, too, and one that shares less is greater.
 */
int
snii_inv_decode_find(const SniiInvBlock *block, const uint8 *key,
					 uint32 keylen, const uint8 **info)
{
	int			anchor = snii_inv_decode_anchor_of(block, key, keylen);
	int			n;
	const uint8 *p;
	uint32		matched = 0;

	if (anchor < 0 || (p = snii_inv_decode_anchor(block, anchor)) == NULL)
		return -1;
	n = Min(SNII_INV_ANCHOR, block->nentries - anchor * SNII_INV_ANCHOR);
	for (int i = 0; i < n; i++)
	{
		SniiInvEntryKey entry;
		SniiInvTerm skipped;
		uint32		m;

		p = snii_inv_decode_key(p, block->entries_end, &entry);
		if (p == NULL || (i == 0 && entry.prefix != 0))
			return -1;
		if (entry.prefix < matched)
			return 0;
		if (entry.prefix == matched)
		{
			m = common_prefix(entry.suffix, entry.suffix_len,
							  key + matched, keylen - matched);
			if (matched + m == keylen)
			{
				*info = p;
				return m == entry.suffix_len ? 1 : 0;
			}
			if (m < entry.suffix_len && entry.suffix[m] > key[matched + m])
				return 0;
			matched += m;
		}
		p = snii_inv_decode_info(block, p, &skipped);
		if (p == NULL)
			return -1;
	}
	return 0;
}

/* ---------------- inner nodes ---------------- */

/* Check the header of an inner node; false if it is malformed. */
bool
snii_inv_decode_node(const uint8 *payload, uint32 len, SniiInvNode *node)
{
	SniiInvIndexHeader header;

	if (len < sizeof(header))
		return false;
	memcpy(&header, payload, sizeof(header));
	if (header.nchildren == 0 ||
		header.nchildren * sizeof(uint16) > len - sizeof(header))
		return false;
	node->payload = payload;
	node->len = len;
	node->nchildren = header.nchildren;
	node->level = header.level;
	node->first_child = header.first_child;
	return true;
}

/* Offset of key i in the payload; that of key n is the end. */
static inline uint32
node_offset(const SniiInvNode *node, int i)
{
	uint16		offset;

	if (i >= node->nchildren)
		return node->len;
	memcpy(&offset, node->payload + sizeof(SniiInvIndexHeader) +
		   i * sizeof(uint16), sizeof(uint16));
	return offset;
}

/* Separator i (0 to nchildren - 1) of a node; false if it is malformed. */
bool
snii_inv_decode_node_key(const SniiInvNode *node, int i, const uint8 **key,
						 uint32 *keylen)
{
	uint32		start = node_offset(node, i);
	uint32		end = node_offset(node, i + 1);
	uint32		first = sizeof(SniiInvIndexHeader) +
	node->nchildren * sizeof(uint16);

	if (start < first || end < start || end > node->len ||
		end - start > SNII_INV_KEY_MAX)
		return false;
	*key = node->payload + start;
	*keylen = end - start;
	return true;
}

/*
 * Number of the child that may hold a key: the last one whose separator is
 * not greater; -1 if the node is malformed.
 */
int
snii_inv_decode_child(const SniiInvNode *node, const uint8 *key,
					  uint32 keylen)
{
	int			low = 0;
	int			high = node->nchildren;

	while (high - low > 1)
	{
		int			mid = (low + high) / 2;
		const uint8 *separator;
		uint32		len;

		if (!snii_inv_decode_node_key(node, mid, &separator, &len))
			return -1;
		if (snii_inv_key_compare(separator, len, key, keylen) <= 0)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* ---------------- postings ---------------- */

/*
 * Parse a row of a window or of a super-block.  Returns the position after
 * it, or NULL.  A row advances by one document at least.
 */
const uint8 *
snii_inv_decode_row(const uint8 *p, const uint8 *end, SniiInvRow *row)
{
	if (!snii_codec_get_varint32(&p, end, &row->last_delta) ||
		row->last_delta == 0 ||
		!snii_codec_get_varint64(&p, end, &row->docs_len) ||
		row->docs_len == 0 ||
		!snii_codec_get_varint64(&p, end, &row->positions_len) ||
		!snii_codec_impact_get(&p, end, &row->impacts))
		return NULL;
	return p;
}

/*
 * Decode the n document numbers of a window into docs; previous is the last
 * one before, or -1.  Returns the position after them, or NULL.  They are
 * strictly increasing and below SNII_INV_NO_DOC.
 */
const uint8 *
snii_inv_decode_docs(const uint8 *p, const uint8 *end, int n, int64 previous,
					 uint32 *docs)
{
	uint64		sum = (uint64) (previous + 1);

	p = snii_codec_pfor_decode(p, end, n, docs);
	if (p == NULL)
		return NULL;
	for (int i = 0; i < n; i++)
	{
		sum += docs[i];
		docs[i] = (uint32) sum;
		sum++;
	}
	return sum <= PG_UINT32_MAX ? p : NULL;
}

/*
 * Decode the n frequencies of a window.  Returns the position after them, or
 * NULL.
 */
const uint8 *
snii_inv_decode_freqs(const uint8 *p, const uint8 *end, int n, uint32 *freqs)
{
	bool		overflow = false;

	p = snii_codec_pfor_decode(p, end, n, freqs);
	if (p == NULL)
		return NULL;
	for (int i = 0; i < n; i++)
	{
		overflow |= (freqs[i] == PG_UINT32_MAX);
		freqs[i]++;
	}
	return overflow ? NULL : p;
}

/*
 * Turn n stored values of one document's positions into positions, in place.
 * first: the run begins with the first position of the document; else *last
 * is the position before.  *last becomes the last one.  False if a position
 * is too large.
 */
bool
snii_inv_decode_gaps(uint32 *values, int n, bool first, uint32 *last)
{
	uint64		next = first ? 0 : (uint64) *last + 1;

	if (n == 0)
		return true;
	for (int i = 0; i < n; i++)
	{
		next += values[i];
		values[i] = (uint32) next;
		next++;
	}
	*last = values[n - 1];
	return next <= (uint64) SNII_INV_POSITION_MAX + 1;
}

/*
 * Begin with the positions of a SINGLE entry: their number.  *p moves to
 * where snii_inv_decode_position() goes on.
 */
bool
snii_inv_decode_single(const uint8 **p, const uint8 *end, uint32 *n)
{
	const uint8 *q = *p;
	uint32		head;

	if (!snii_codec_get_varint32(&q, end, &head))
		return false;
	if ((head & 1) == 0)
	{
		/* the head is the position itself: it will be read again */
		*n = 1;
		return true;
	}
	*n = head >> 1;
	if (*n < 2 || *n > end - q)
		return false;
	*p = q;
	return true;
}

/*
 * Read position i of the n of a SINGLE entry; *position holds the one
 * before.
 */
bool
snii_inv_decode_position(const uint8 **p, const uint8 *end, uint32 n,
						 uint32 i, uint32 *position)
{
	uint32		v;
	uint64		next;

	if (!snii_codec_get_varint32(p, end, &v))
		return false;
	if (n == 1)
	{
		*position = v >> 1;
		return true;
	}
	next = i == 0 ? v : (uint64) *position + v + 1;
	if (next > SNII_INV_POSITION_MAX)
		return false;
	*position = (uint32) next;
	return true;
}
