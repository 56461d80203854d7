/*-------------------------------------------------------------------------
 *
 * codec_bitpack.h
 *	  Fixed-width bit packing, least significant bit first.
 *
 * Value i of width w occupies bits i * w to i * w + w - 1 of the packed
 * bytes, bit k being bit k % 8 of byte k / 8.  The unused bits of the last
 * byte are zero when written and ignored when read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_BITPACK_H
#define SNII_CODEC_BITPACK_H

/* Packed size in bytes of n values of the given width. */
#define SNII_BITPACK_BYTES(n, width) \
	(((size_t) (n) * (size_t) (width) + 7) / 8)

extern uint8 *snii_codec_bitpack(const uint32 *v, int n, int width,
								 uint8 *out);
extern void snii_codec_bitunpack(const uint8 *p, const uint8 *end, int n,
								 int width, uint32 *out);
extern uint32 snii_codec_bitpack_get(const uint8 *p, const uint8 *end, int i,
									 int width);

#endif							/* SNII_CODEC_BITPACK_H */
