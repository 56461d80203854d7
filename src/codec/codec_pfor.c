/*-------------------------------------------------------------------------
 *
 * codec_pfor.c
 *	  Patched frame-of-reference blocks of up to 128 small integers.
 *
 * A block is one of
 *
 *	  packed	 header = width				(0 to 32)
 *				 n values of that width, bit-packed
 *	  patched	 header = 0x40 | width		(0 to 31)
 *				 count of exceptions		(1 to n), one byte
 *				 width of their high parts	(1 to 32 - width), one byte
 *				 n low parts, bit-packed
 *				 index of each exception, one byte each, increasing
 *				 high parts of the exceptions (value >> width), bit-packed
 *	  varint	 header = 0x80, only for n < 8
 *				 n varints
 *	  palette	 header = 0xC0 | width		(1 to 32), only for n >= 8
 *				 number of distinct values	(1 to 32), one byte
 *				 the distinct values, bit-packed, as they first occur
 *				 n indexes of distinct values, bit-packed with the width
 *				 that the largest index needs (0 to 5)
 *
 * The end of a block that is not of varints follows from its first three
 * bytes, which makes skipping cheap.  The cost of a width depends only on how
 * many values need more bits than it, so the smallest form is found exactly
 * from a histogram of bit widths.  Among equals the form with fewer exceptions
 * wins, since it is read faster; a palette is used only where it is smaller
 * than all others.  It serves logs, where one message has a word always in the
 * same few places.
 *
 * The idea of patching is from M. Zukowski et al., "Super-Scalar RAM-CPU
 * Cache Compression" (ICDE 2006); choosing the width by cost is from
 * H. Yan et al., "Inverted Index Compression and Query Processing with
 * Optimized Document Ordering" (WWW 2009).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_bitpack.h"
#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"

#define HEADER_PATCHED	0x40
#define HEADER_VARINT	0x80
#define HEADER_PALETTE	0xC0
#define HEADER_FORM		0xC0
#define HEADER_WIDTH	0x3F

/* Blocks with fewer values may use varints, others a palette. */
#define VARINT_BELOW	8

/* Most values of a palette, and the slots of the table that finds them. */
#define PALETTE_MAX		32
#define PALETTE_SLOTS	256

/* What the first bytes of a packed or patched block say. */
typedef struct PforLayout
{
	int			width;
	int			nexceptions;
	int			highwidth;
	const uint8 *low;			/* packed low parts */
	const uint8 *index;			/* indexes of exceptions */
	const uint8 *high;			/* packed high parts */
	const uint8 *end;			/* end of the block */
} PforLayout;

static inline int
bits_of(uint32 v)
{
	return v == 0 ? 0 : pg_leftmost_one_pos32(v) + 1;
}

/*
 * Find the width with the smallest block, and with it the number of
 * exceptions; returns the size in bytes.
 */
static size_t
choose_width(const int *histogram, int n, int maxbits, int *width,
			 int *nexceptions)
{
	size_t		best = 1 + SNII_BITPACK_BYTES(n, maxbits);
	int			exceptions = 0;

	*width = maxbits;
	*nexceptions = 0;
	for (int w = maxbits - 1; w >= 0; w--)
	{
		size_t		size;

		exceptions += histogram[w + 1];
		size = 3 + exceptions + SNII_BITPACK_BYTES(exceptions, maxbits - w);
		if (size >= best)
			break;				/* what exceptions take only grows */
		size += SNII_BITPACK_BYTES(n, w);
		if (size < best)
		{
			best = size;
			*width = w;
			*nexceptions = exceptions;
		}
	}
	return best;
}

static uint8 *
put_patched(const uint32 *v, int n, int width, int highwidth, uint8 *out)
{
	uint8	   *count = out + 1;
	uint32		high[SNII_PFOR_BLOCK];
	int			nexceptions = 0;

	out[0] = HEADER_PATCHED | width;
	out[2] = highwidth;
	out = snii_codec_bitpack(v, n, width, out + 3);
	for (int i = 0; i < n; i++)
	{
		if ((v[i] >> width) != 0)
		{
			high[nexceptions++] = v[i] >> width;
			*out++ = i;
		}
	}
	*count = nexceptions;
	return snii_codec_bitpack(high, nexceptions, highwidth, out);
}

/* Bytes of a varint block. */
static size_t
varint_block_size(const uint32 *v, int n)
{
	size_t		size = 1;

	for (int i = 0; i < n; i++)
		size += snii_codec_varint_size(v[i]);
	return size;
}

static uint8 *
put_varints(const uint32 *v, int n, uint8 *out)
{
	*out++ = HEADER_VARINT;
	for (int i = 0; i < n; i++)
		out = snii_codec_put_varint32(out, v[i]);
	return out;
}

/* Distinct values of a block, and which one each value is. */
typedef struct Palette
{
	int			count;
	int			index_width;
	uint32		values[PALETTE_MAX];
	uint32		index[SNII_PFOR_BLOCK];
} Palette;

/* Bits that the largest of count indexes needs. */
static inline int
index_width_of(int count)
{
	return bits_of((uint32) count - 1);
}

static inline size_t
palette_bytes(int n, int width, int count)
{
	return 2 + SNII_BITPACK_BYTES(count, width) +
		SNII_BITPACK_BYTES(n, index_width_of(count));
}

/*
 * Find the distinct values.  Returns false as soon as a palette of these is
 * not smaller than that many bytes.
 */
static bool
make_palette(const uint32 *v, int n, int width, size_t bytes,
			 Palette *palette)
{
	uint8		slots[PALETTE_SLOTS] = {0}; /* index + 1; 0: free */
	int			count = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		slot = (v[i] * UINT32_C(0x9E3779B1)) >> 24;

		while (slots[slot] != 0 && palette->values[slots[slot] - 1] != v[i])
			slot = (slot + 1) % PALETTE_SLOTS;
		if (slots[slot] == 0)
		{
			if (count == PALETTE_MAX ||
				palette_bytes(n, width, count + 1) >= bytes)
				return false;
			palette->values[count++] = v[i];
			slots[slot] = count;
		}
		palette->index[i] = slots[slot] - 1;
	}
	palette->count = count;
	palette->index_width = index_width_of(count);
	return true;
}

static uint8 *
put_palette(const Palette *palette, int n, int width, uint8 *out)
{
	out[0] = HEADER_PALETTE | width;
	out[1] = palette->count;
	out = snii_codec_bitpack(palette->values, palette->count, width, out + 2);
	return snii_codec_bitpack(palette->index, n, palette->index_width, out);
}

/*
 * Encode n values (1 to SNII_PFOR_BLOCK) in the smallest form.  out has room
 * for SNII_PFOR_MAX_BYTES.  Returns the number of bytes written.
 */
size_t
snii_codec_pfor_encode(const uint32 *v, int n, uint8 *out)
{
	int			histogram[33] = {0};
	uint32		all = 0;
	int			maxbits;
	int			width;
	int			nexceptions;
	size_t		size;
	uint8	   *p;
	Palette		palette;

	Assert(n >= 1 && n <= SNII_PFOR_BLOCK);
	for (int i = 0; i < n; i++)
	{
		all |= v[i];
		histogram[bits_of(v[i])]++;
	}
	maxbits = bits_of(all);
	size = choose_width(histogram, n, maxbits, &width, &nexceptions);
	if (n < VARINT_BELOW && varint_block_size(v, n) < size)
		p = put_varints(v, n, out);
	else if (n >= VARINT_BELOW && all != 0 &&
			 make_palette(v, n, maxbits, size, &palette))
		p = put_palette(&palette, n, maxbits, out);
	else if (nexceptions > 0)
		p = put_patched(v, n, width, maxbits - width, out);
	else
	{
		out[0] = width;
		p = snii_codec_bitpack(v, n, width, out + 1);
	}
	return p - out;
}

/*
 * Work out the parts of a packed or patched block.  Returns false when it
 * is malformed or does not fit before end.
 */
static inline bool
parse_layout(const uint8 *p, const uint8 *end, int n, PforLayout *layout)
{
	size_t		avail = end - p;
	size_t		head = 1;
	size_t		lowbytes;
	size_t		highbytes;
	uint8		header = *p;

	layout->width = header & HEADER_WIDTH;
	layout->nexceptions = 0;
	layout->highwidth = 0;
	if ((header & HEADER_VARINT) || layout->width > 32)
		return false;
	if (header & HEADER_PATCHED)
	{
		if (avail < 3)
			return false;
		head = 3;
		layout->nexceptions = p[1];
		layout->highwidth = p[2];
		if (layout->nexceptions < 1 || layout->nexceptions > n ||
			layout->highwidth < 1 || layout->width + layout->highwidth > 32)
			return false;
	}
	lowbytes = SNII_BITPACK_BYTES(n, layout->width);
	highbytes = SNII_BITPACK_BYTES(layout->nexceptions, layout->highwidth);
	if (avail < head + lowbytes + layout->nexceptions + highbytes)
		return false;
	layout->low = p + head;
	layout->index = layout->low + lowbytes;
	layout->high = layout->index + layout->nexceptions;
	layout->end = layout->high + highbytes;
	return true;
}

/* Put the high parts of the exceptions in place; false when malformed. */
static bool
patch(const PforLayout *layout, const uint8 *end, int n, uint32 *out)
{
	uint32		high[SNII_PFOR_BLOCK];
	int			previous = -1;

	snii_codec_bitunpack(layout->high, end, layout->nexceptions,
						 layout->highwidth, high);
	for (int i = 0; i < layout->nexceptions; i++)
	{
		int			index = layout->index[i];

		if (index <= previous || index >= n)
			return false;
		out[index] |= high[i] << layout->width;
		previous = index;
	}
	return true;
}

/* Read (or skip, when out is NULL) a block with a palette. */
static const uint8 *
get_palette(const uint8 *p, const uint8 *end, int n, uint32 *out)
{
	uint32		values[PALETTE_MAX];
	uint32		largest = 0;
	int			width = *p & HEADER_WIDTH;
	int			count;
	size_t		bytes;

	if (n < VARINT_BELOW || end - p < 2 || width < 1 || width > 32)
		return NULL;
	count = p[1];
	if (count < 1 || count > PALETTE_MAX)
		return NULL;
	bytes = palette_bytes(n, width, count);
	if ((size_t) (end - p) < bytes)
		return NULL;
	if (out == NULL)
		return p + bytes;
	snii_codec_bitunpack(p + 2, end, count, width, values);
	snii_codec_bitunpack(p + 2 + SNII_BITPACK_BYTES(count, width), end, n,
						 index_width_of(count), out);
	for (int i = 0; i < n; i++)
		largest = Max(largest, out[i]);
	if (largest >= (uint32) count)
		return NULL;
	for (int i = 0; i < n; i++)
		out[i] = values[out[i]];
	return p + bytes;
}

/* Read (or skip, when out is NULL) the varints of a small block. */
static const uint8 *
get_varints(const uint8 *p, const uint8 *end, int n, uint32 *out)
{
	uint32		v;

	if (n >= VARINT_BELOW)
		return NULL;
	for (int i = 0; i < n; i++)
	{
		if (!snii_codec_get_varint32(&p, end, &v))
			return NULL;
		if (out != NULL)
			out[i] = v;
	}
	return p;
}

/*
 * Decode a block of n values into out, which has room for n.  Returns the
 * position after the block, or NULL when it is malformed or does not end
 * before end; out is then undefined.
 */
const uint8 *
snii_codec_pfor_decode(const uint8 *p, const uint8 *end, int n, uint32 *out)
{
	PforLayout	layout;

	if (n < 1 || n > SNII_PFOR_BLOCK || p >= end)
		return NULL;
	if (*p == HEADER_VARINT)
		return get_varints(p + 1, end, n, out);
	if ((*p & HEADER_FORM) == HEADER_PALETTE)
		return get_palette(p, end, n, out);
	if (!parse_layout(p, end, n, &layout))
		return NULL;
	snii_codec_bitunpack(layout.low, end, n, layout.width, out);
	if (layout.nexceptions > 0 && !patch(&layout, end, n, out))
		return NULL;
	return layout.end;
}

/*
 * The position after a block of n values, without decoding it; NULL when
 * its first bytes are malformed or it does not end before end.
 */
const uint8 *
snii_codec_pfor_skip(const uint8 *p, const uint8 *end, int n)
{
	PforLayout	layout;

	if (n < 1 || n > SNII_PFOR_BLOCK || p >= end)
		return NULL;
	if (*p == HEADER_VARINT)
		return get_varints(p + 1, end, n, NULL);
	if ((*p & HEADER_FORM) == HEADER_PALETTE)
		return get_palette(p, end, n, NULL);
	if (!parse_layout(p, end, n, &layout))
		return NULL;
	return layout.end;
}
