/*-------------------------------------------------------------------------
 *
 * codec_bloom.h
 *	  Split-block Bloom filter over 64-bit hashes.
 *
 * The filter is an array of blocks of 32 bytes, wherever the caller keeps
 * them; a look-up touches one block.  A new block is all zeroes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_BLOOM_H
#define SNII_CODEC_BLOOM_H

#define SNII_BLOOM_BLOCK_BYTES	32
#define SNII_BLOOM_MAX_BLOCKS	(UINT64CONST(1) << 32)

extern uint64 snii_codec_bloom_blocks(uint64 ndistinct,
									  double bits_per_key);
extern uint64 snii_codec_bloom_block_of(uint64 hash, uint64 nblocks);
extern void snii_codec_bloom_add(uint8 *block, uint64 hash);
extern bool snii_codec_bloom_probe(const uint8 *block, uint64 hash);

#endif							/* SNII_CODEC_BLOOM_H */
