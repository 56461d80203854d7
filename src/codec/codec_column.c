/*-------------------------------------------------------------------------
 *
 * codec_column.c
 *	  Groups of up to 256 integers with access to any one of them.
 *
 * A group is a header byte, the minimum, and the n differences to it,
 * bit-packed with one width:
 *
 *	  header bits 0 to 5	width (0 to 32)
 *	  header bits 6 and 7	bytes of the minimum: 0, 1, 2 or 4
 *
 * One value costs a few instructions, whichever it is.  Outliers cost their
 * width for the whole group, which is why groups are small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "codec/codec_bitpack.h"
#include "codec/codec_bytes.h"
#include "codec/codec_column.h"

/* What the first bytes of a group say. */
typedef struct ColumnLayout
{
	int			width;
	uint32		min;
	const uint8 *packed;
	const uint8 *end;
} ColumnLayout;

/* Write header and minimum; returns the position after them. */
static uint8 *
put_head(uint8 *out, int width, uint32 min)
{
	if (min == 0)
	{
		out[0] = width;
		return out + 1;
	}
	if (min <= 0xFF)
	{
		out[0] = width | (1 << 6);
		out[1] = min;
		return out + 2;
	}
	if (min <= 0xFFFF)
	{
		out[0] = width | (2 << 6);
		snii_codec_store16(out + 1, min);
		return out + 3;
	}
	out[0] = width | (3 << 6);
	snii_codec_store32(out + 1, min);
	return out + 5;
}

/*
 * Encode n values (1 to SNII_COLUMN_GROUP).  out has room for
 * SNII_COLUMN_MAX_BYTES.  Returns the number of bytes written.
 */
size_t
snii_codec_column_encode(const uint32 *v, int n, uint8 *out)
{
	uint32		delta[SNII_COLUMN_GROUP];
	uint32		min = v[0];
	uint32		max = v[0];
	int			width = 0;
	uint8	   *p;

	Assert(n >= 1 && n <= SNII_COLUMN_GROUP);
	for (int i = 1; i < n; i++)
	{
		min = Min(min, v[i]);
		max = Max(max, v[i]);
	}
	for (int i = 0; i < n; i++)
		delta[i] = v[i] - min;
	if (max > min)
		width = pg_leftmost_one_pos32(max - min) + 1;
	p = put_head(out, width, min);
	p = snii_codec_bitpack(delta, n, width, p);
	return p - out;
}

/*
 * Work out the parts of a group.  Returns false when it is malformed or does
 * not fit before end.
 */
static inline bool
parse_layout(const uint8 *p, const uint8 *end, int n, ColumnLayout *layout)
{
	static const uint8 minbytes_of[4] = {0, 1, 2, 4};
	size_t		packedbytes;
	int			minbytes;

	if (n < 1 || n > SNII_COLUMN_GROUP || p >= end)
		return false;
	layout->width = *p & 0x3F;
	minbytes = minbytes_of[*p >> 6];
	if (layout->width > 32)
		return false;
	packedbytes = SNII_BITPACK_BYTES(n, layout->width);
	if ((size_t) (end - p) < 1 + minbytes + packedbytes)
		return false;
	p++;
	switch (minbytes)
	{
		case 0:
			layout->min = 0;
			break;
		case 1:
			layout->min = *p;
			break;
		case 2:
			layout->min = snii_codec_load16(p);
			break;
		default:
			layout->min = snii_codec_load32(p);
			break;
	}
	layout->packed = p + minbytes;
	layout->end = layout->packed + packedbytes;
	return true;
}

/*
 * Value i (0 to n - 1) of a group of n.  Returns false when the group is
 * malformed, does not end before end, or i is out of range.
 */
bool
snii_codec_column_get(const uint8 *p, const uint8 *end, int n, int i,
					  uint32 *v)
{
	ColumnLayout layout;
	uint32		delta;

	if (i < 0 || i >= n || !parse_layout(p, end, n, &layout))
		return false;
	delta = snii_codec_bitpack_get(layout.packed, end, i, layout.width);
	if (delta > PG_UINT32_MAX - layout.min)
		return false;
	*v = layout.min + delta;
	return true;
}

/*
 * Decode a group of n values into out, which has room for n.  Returns the
 * position after the group, or NULL when it is malformed or does not end
 * before end; out is then undefined.
 */
const uint8 *
snii_codec_column_decode(const uint8 *p, const uint8 *end, int n,
						 uint32 *out)
{
	ColumnLayout layout;
	uint32		overflow = 0;

	if (!parse_layout(p, end, n, &layout))
		return NULL;
	snii_codec_bitunpack(layout.packed, end, n, layout.width, out);
	if (layout.min == 0)
		return layout.end;
	for (int i = 0; i < n; i++)
	{
		out[i] += layout.min;
		overflow |= (out[i] < layout.min);
	}
	return overflow ? NULL : layout.end;
}

/* The position after a group of n values, or NULL as above. */
const uint8 *
snii_codec_column_skip(const uint8 *p, const uint8 *end, int n)
{
	ColumnLayout layout;

	return parse_layout(p, end, n, &layout) ? layout.end : NULL;
}
