/*-------------------------------------------------------------------------
 *
 * codec_bloom.c
 *	  Split-block Bloom filter over 64-bit hashes.
 *
 * The high half of a hash chooses the block, the low half one bit in each of
 * its eight 32-bit words (stored little-endian): the top five bits of the
 * product with the word's salt.  With 10 bits a key about 1.2 % of absent
 * keys pass, at the price of one cache line.  The hash must be well mixed in
 * both halves.
 *
 * F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom
 * Filters" (2007); J. Apple, "Split block Bloom filters" (2021).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "codec/codec_bloom.h"
#include "codec/codec_bytes.h"

#define WORDS			8

/*
 * Odd multipliers, one a word: the first 32 bits of the fractional parts of
 * the square roots of the first eight primes, with the lowest bit set.
 */
static const uint32 salts[WORDS] = {
	0x6A09E667, 0xBB67AE85, 0x3C6EF373, 0xA54FF53B,
	0x510E527F, 0x9B05688D, 0x1F83D9AB, 0x5BE0CD19
};

/*
 * Number of blocks, 1 to SNII_BLOOM_MAX_BLOCKS, for that many distinct keys.
 */
uint64
snii_codec_bloom_blocks(uint64 ndistinct, double bits_per_key)
{
	double		blocks = ceil((double) ndistinct * bits_per_key /
							  (SNII_BLOOM_BLOCK_BYTES * 8));

	if (!(blocks >= 1.0))
		return 1;
	if (blocks >= (double) SNII_BLOOM_MAX_BLOCKS)
		return SNII_BLOOM_MAX_BLOCKS;
	return (uint64) blocks;
}

/* The block, 0 to nblocks - 1, of a hash in a filter of nblocks blocks. */
uint64
snii_codec_bloom_block_of(uint64 hash, uint64 nblocks)
{
	Assert(nblocks >= 1 && nblocks <= SNII_BLOOM_MAX_BLOCKS);
	return ((hash >> 32) * nblocks) >> 32;
}

/* Add a hash to its block. */
void
snii_codec_bloom_add(uint8 *block, uint64 hash)
{
	uint32		low = (uint32) hash;

	for (int i = 0; i < WORDS; i++)
	{
		uint32		bit = (low * salts[i]) >> 27;

		block[4 * i + bit / 8] |= 1 << (bit % 8);
	}
}

/* May the hash have been added to this block?  Never false if it was. */
bool
snii_codec_bloom_probe(const uint8 *block, uint64 hash)
{
	uint32		low = (uint32) hash;
	uint32		missing = 0;

	for (int i = 0; i < WORDS; i++)
	{
		uint32		bit = UINT32_C(1) << ((low * salts[i]) >> 27);

		missing |= ~snii_codec_load32(block + 4 * i) & bit;
	}
	return missing == 0;
}
