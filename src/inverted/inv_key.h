/*-------------------------------------------------------------------------
 *
 * inv_key.h
 *	  Keys of terms: their order and their hash in the filter.
 *
 * A key is column (u8), kind (u8), bytes; the order is that of memcmp, then
 * of the length.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_KEY_H
#define SNII_INV_KEY_H

#include "common/hashfn.h"

/*
 * Hash of a key as the filter of a segment stores it: hash_bytes_extended()
 * of the bytes, seeded with column and kind.  Part of the format.
 */
static inline uint64
snii_inv_key_hash(int column, int kind, const char *bytes, uint32 len)
{
	uint64		seed = (((uint64) column << 8) | (uint64) kind) + 1;

	return hash_bytes_extended((const unsigned char *) bytes, (int) len,
							   seed);
}

/* Order of two whole keys: negative, 0, positive. */
static inline int
snii_inv_key_compare(const uint8 *a, uint32 alen, const uint8 *b, uint32 blen)
{
	int			cmp = memcmp(a, b, Min(alen, blen));

	if (cmp != 0)
		return cmp;
	return (alen > blen) - (alen < blen);
}

#endif							/* SNII_INV_KEY_H */
