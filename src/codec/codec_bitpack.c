/*-------------------------------------------------------------------------
 *
 * codec_bitpack.c
 *	  Fixed-width bit packing, least significant bit first.
 *
 * Eight values of width w fill exactly w bytes, so a group of eight always
 * begins at a byte and every offset and shift within it is a constant of
 * the width.  The reader has one unrolled loop per width, each value taken
 * from one 64-bit load (7 + 32 bits at most), which compilers turn into load,
 * shift, mask, store.  Such loads reach up to 7 bytes past the group: groups
 * for which that would leave the input are read from a padded copy.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_bitpack.h"
#include "codec/codec_bytes.h"

/* Values in a group. */
#define GROUP_VALUES	8

/* First byte past the loads of a group at offset 0. */
#define GROUP_REACH(width) ((7 * (width)) / 8 + 8)

/*
 * Room for the groups that are not safe to read in place.  With the input
 * ending right after the packed bytes these are fewer than
 * GROUP_REACH(width) / width whole groups and one partial group.
 */
#define TAIL_BYTES		(2 * 32 + 2 * 8 + 32)

typedef void (*unpack_groups_fn) (const uint8 *p, int ngroups, uint32 *out);

static pg_attribute_always_inline uint32
extract(const uint8 *p, int bit, int width)
{
	uint64		mask = (UINT64CONST(1) << width) - 1;

	return (uint32) ((snii_codec_load64(p + bit / 8) >> (bit % 8)) & mask);
}

static pg_attribute_always_inline void
unpack_groups(const uint8 *p, int ngroups, uint32 *out, const int width)
{
	for (int g = 0; g < ngroups; g++)
	{
		out[0] = extract(p, 0 * width, width);
		out[1] = extract(p, 1 * width, width);
		out[2] = extract(p, 2 * width, width);
		out[3] = extract(p, 3 * width, width);
		out[4] = extract(p, 4 * width, width);
		out[5] = extract(p, 5 * width, width);
		out[6] = extract(p, 6 * width, width);
		out[7] = extract(p, 7 * width, width);
		out += GROUP_VALUES;
		p += width;
	}
}

#define UNPACK(w) \
static void \
unpack_groups_##w(const uint8 *p, int ngroups, uint32 *out) \
{ \
	unpack_groups(p, ngroups, out, w); \
}

UNPACK(1) UNPACK(2) UNPACK(3) UNPACK(4)
UNPACK(5) UNPACK(6) UNPACK(7) UNPACK(8)
UNPACK(9) UNPACK(10) UNPACK(11) UNPACK(12)
UNPACK(13) UNPACK(14) UNPACK(15) UNPACK(16)
UNPACK(17) UNPACK(18) UNPACK(19) UNPACK(20)
UNPACK(21) UNPACK(22) UNPACK(23) UNPACK(24)
UNPACK(25) UNPACK(26) UNPACK(27) UNPACK(28)
UNPACK(29) UNPACK(30) UNPACK(31) UNPACK(32)

static const unpack_groups_fn unpack_by_width[33] = {
	NULL,
	unpack_groups_1, unpack_groups_2, unpack_groups_3, unpack_groups_4,
	unpack_groups_5, unpack_groups_6, unpack_groups_7, unpack_groups_8,
	unpack_groups_9, unpack_groups_10, unpack_groups_11, unpack_groups_12,
	unpack_groups_13, unpack_groups_14, unpack_groups_15, unpack_groups_16,
	unpack_groups_17, unpack_groups_18, unpack_groups_19, unpack_groups_20,
	unpack_groups_21, unpack_groups_22, unpack_groups_23, unpack_groups_24,
	unpack_groups_25, unpack_groups_26, unpack_groups_27, unpack_groups_28,
	unpack_groups_29, unpack_groups_30, unpack_groups_31, unpack_groups_32
};

/*
 * Pack n values of the given width (0 to 32), of which only the low bits
 * are taken; returns the position after the SNII_BITPACK_BYTES(n, width)
 * bytes written.
 */
uint8 *
snii_codec_bitpack(const uint32 *v, int n, int width, uint8 *out)
{
	uint64		mask = (UINT64CONST(1) << width) - 1;
	uint64		acc = 0;
	int			nbits = 0;

	if (width == 0)
		return out;
	for (int i = 0; i < n; i++)
	{
		acc |= (v[i] & mask) << nbits;
		nbits += width;
		if (nbits >= 32)
		{
			snii_codec_store32(out, (uint32) acc);
			out += 4;
			acc >>= 32;
			nbits -= 32;
		}
	}
	for (; nbits > 0; nbits -= 8)
	{
		*out++ = (uint8) acc;
		acc >>= 8;
	}
	return out;
}

/*
 * Unpack the values that could not be read in place: n values whose packed
 * bytes begin at p.
 */
static void
unpack_tail(const uint8 *p, int n, int width, uint32 *out)
{
	size_t		nbytes = SNII_BITPACK_BYTES(n, width);
	int			whole = n / GROUP_VALUES;
	int			rest = n % GROUP_VALUES;
	uint8		copy[TAIL_BYTES];
	uint32		last[GROUP_VALUES];

	/* the widest load of the last group must find initialised bytes */
	memset(copy, 0, sizeof(copy));
	Assert(whole * width + GROUP_REACH(width) <= TAIL_BYTES);
	memcpy(copy, p, nbytes);
	unpack_by_width[width] (copy, whole, out);
	if (rest > 0)
	{
		unpack_by_width[width] (copy + whole * width, 1, last);
		memcpy(out + whole * GROUP_VALUES, last, rest * sizeof(uint32));
	}
}

/*
 * Unpack n values of the given width (0 to 32) into out, which gets exactly
 * n values.  The caller has checked that SNII_BITPACK_BYTES(n, width) bytes
 * lie between p and end; no byte at or after end is read.
 */
void
snii_codec_bitunpack(const uint8 *p, const uint8 *end, int n, int width,
					 uint32 *out)
{
	int			ngroups = n / GROUP_VALUES;
	size_t		avail = end - p;

	if (width == 0)
	{
		memset(out, 0, n * sizeof(uint32));
		return;
	}

	/* the groups whose loads end before the input does */
	if (ngroups > 0)
	{
		size_t		need = (ngroups - 1) * width + GROUP_REACH(width);

		if (need > avail)
			ngroups -= Min((size_t) ngroups,
						   (need - avail + width - 1) / width);
		unpack_by_width[width] (p, ngroups, out);
	}
	n -= ngroups * GROUP_VALUES;
	if (n > 0)
		unpack_tail(p + ngroups * width, n, width, out + ngroups * GROUP_VALUES);
}

/*
 * Value i of a packed array of the given width (0 to 32).  The caller has
 * checked that SNII_BITPACK_BYTES(i + 1, width) bytes lie between p and end.
 */
uint32
snii_codec_bitpack_get(const uint8 *p, const uint8 *end, int i, int width)
{
	size_t		bit = (size_t) i * width;
	uint8		copy[8] = {0};

	if (width == 0)
		return 0;
	p += bit / 8;
	if (end - p >= 8)
		return extract(p, bit % 8, width);
	memcpy(copy, p, end - p);
	return extract(copy, bit % 8, width);
}
