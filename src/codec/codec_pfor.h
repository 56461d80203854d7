/*-------------------------------------------------------------------------
 *
 * codec_pfor.h
 *	  Patched frame-of-reference blocks of up to 128 small integers.
 *
 * The number of values is not stored: the caller knows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_PFOR_H
#define SNII_CODEC_PFOR_H

/* Largest number of values in a block. */
#define SNII_PFOR_BLOCK			128

/* Largest encoded block: header and 32 bits a value. */
#define SNII_PFOR_MAX_BYTES		(1 + SNII_PFOR_BLOCK * 4)

extern size_t snii_codec_pfor_encode(const uint32 *v, int n, uint8 *out);
extern const uint8 *snii_codec_pfor_decode(const uint8 *p, const uint8 *end,
										   int n, uint32 *out);
extern const uint8 *snii_codec_pfor_skip(const uint8 *p, const uint8 *end,
										 int n);

#endif							/* SNII_CODEC_PFOR_H */
