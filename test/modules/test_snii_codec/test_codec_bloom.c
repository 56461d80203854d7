/*-------------------------------------------------------------------------
 *
 * test_codec_bloom.c
 *	  Properties of the split-block Bloom filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "codec/codec_bloom.h"
#include "test_codec.h"

#define KEYS			100000
#define PROBES			1000000

PG_FUNCTION_INFO_V1(test_codec_bloom);

/*
 * Share of absent keys that should pass: a block gets a Poisson number of
 * keys, each setting one of 32 bits in each of its 8 words.
 */
static double
expected_rate(double keys_per_block)
{
	double		rate = 0;
	double		probability = exp(-keys_per_block);

	for (int keys = 0; keys < 1000; keys++)
	{
		rate += probability * pow(1 - pow(31.0 / 32.0, keys), 8);
		probability *= keys_per_block / (keys + 1);
	}
	return rate;
}

static void
check_blocks(void)
{
	CHECK(snii_codec_bloom_blocks(0, 10) == 1, "no keys");
	CHECK(snii_codec_bloom_blocks(1, 10) == 1, "one key");
	CHECK(snii_codec_bloom_blocks(256, 1) == 1, "full block");
	CHECK(snii_codec_bloom_blocks(257, 1) == 2, "full block and one");
	CHECK(snii_codec_bloom_blocks(1000000, 10) == 39063, "a million keys");
	CHECK(snii_codec_bloom_blocks(100, -1) == 1, "negative");
	CHECK(snii_codec_bloom_blocks(100, NAN) == 1, "not a number");
	CHECK(snii_codec_bloom_blocks(PG_UINT64_MAX, 1e300) ==
		  SNII_BLOOM_MAX_BLOCKS, "too many");
	CHECK(snii_codec_bloom_block_of(PG_UINT64_MAX, 1) == 0, "one block");
	CHECK(snii_codec_bloom_block_of(PG_UINT64_MAX, 7) == 6, "last block");
	CHECK(snii_codec_bloom_block_of(0, 7) == 0, "first block");
	CHECK(snii_codec_bloom_block_of(PG_UINT64_MAX, SNII_BLOOM_MAX_BLOCKS) ==
		  SNII_BLOOM_MAX_BLOCKS - 1, "last of all blocks");
}

/* Add KEYS random hashes; returns the filter. */
static uint8 *
fill(pg_prng_state *prng, uint64 nblocks)
{
	uint8	   *filter = palloc0(nblocks * SNII_BLOOM_BLOCK_BYTES);

	for (int i = 0; i < KEYS; i++)
	{
		uint64		hash = pg_prng_uint64(prng);
		uint64		number = snii_codec_bloom_block_of(hash, nblocks);
		uint8	   *block = filter + number * SNII_BLOOM_BLOCK_BYTES;

		CHECK(number < nblocks, "block " UINT64_FORMAT, number);
		snii_codec_bloom_add(block, hash);
		CHECK(snii_codec_bloom_probe(block, hash), "key %d", i);
	}
	return filter;
}

static bool
probe(const uint8 *filter, uint64 nblocks, uint64 hash)
{
	uint64		number = snii_codec_bloom_block_of(hash, nblocks);

	return snii_codec_bloom_probe(filter + number * SNII_BLOOM_BLOCK_BYTES,
								  hash);
}

/* One block of each word's bits: eight words of one bit after one add. */
static void
check_one_block(pg_prng_state *prng)
{
	uint8	   *block = test_codec_room(SNII_BLOOM_BLOCK_BYTES);

	for (int i = 0; i < 1000; i++)
	{
		uint64		hash = pg_prng_uint64(prng);

		memset(block, 0, SNII_BLOOM_BLOCK_BYTES);
		CHECK(!snii_codec_bloom_probe(block, hash), "empty block");
		snii_codec_bloom_add(block, hash);
		CHECK(snii_codec_bloom_probe(block, hash), "full block");
		for (int word = 0; word < 8; word++)
		{
			int			bits = 0;

			for (int bit = 0; bit < 32; bit++)
				bits += (block[4 * word + bit / 8] >> (bit % 8)) & 1;
			CHECK(bits == 1, "word %d has %d bits", word, bits);
		}
		/* any missing bit is noticed */
		for (int byte = 0; byte < SNII_BLOOM_BLOCK_BYTES; byte++)
		{
			uint8		saved = block[byte];

			block[byte] = 0;
			CHECK(snii_codec_bloom_probe(block, hash) == (saved == 0),
				  "byte %d", byte);
			block[byte] = saved;
		}
	}
}

Datum
test_codec_bloom(PG_FUNCTION_ARGS)
{
	double		bits_per_key = PG_GETARG_FLOAT8(1);
	uint64		nblocks = snii_codec_bloom_blocks(KEYS, bits_per_key);
	pg_prng_state prng;
	pg_prng_state again;
	uint8	   *filter;
	double		expected = expected_rate((double) KEYS / nblocks);
	double		rate;
	int			passed = 0;

	check_blocks();
	pg_prng_seed(&prng, PG_GETARG_INT64(0));
	check_one_block(&prng);
	again = prng;
	filter = fill(&prng, nblocks);
	for (int i = 0; i < KEYS; i++)
		CHECK(probe(filter, nblocks, pg_prng_uint64(&again)), "key %d", i);
	for (int i = 0; i < PROBES; i++)
		passed += probe(filter, nblocks, pg_prng_uint64(&prng));
	rate = (double) passed / PROBES;
	elog(DEBUG1, "%g of absent keys pass, %g expected", rate, expected);
	CHECK(rate <= expected * 1.3 && rate >= expected / 1.3,
		  "%g of absent keys pass, %g expected", rate, expected);
	PG_RETURN_INT64(KEYS + PROBES);
}
