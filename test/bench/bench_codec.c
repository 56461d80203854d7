/*-------------------------------------------------------------------------
 *
 * bench_codec.c
 *	  Speed of the codecs, in millions of values (or calls) a second.
 *
 * Run by hand, from the root of the repository:
 *
 *	  cc -O2 -Isrc -I$(pg_config --includedir-server) \
 *		  test/bench/bench_codec.c src/codec/codec_*.c -lm -o bench_codec
 *	  ./bench_codec
 *
 * Each figure is the best of several rounds over data that fits the
 * second-level cache, blocks lying back to back as they do in a segment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <time.h>

#include "codec/codec_bloom.h"
#include "codec/codec_column.h"
#include "codec/codec_impact.h"
#include "codec/codec_length.h"
#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"

/* no server library here */
#undef printf
#undef snprintf

#define BLOCKS		64
#define VALUES		(BLOCKS * SNII_PFOR_BLOCK)
#define REPEATS		200
#define ROUNDS		7

static uint32 values[VALUES];
static uint32 decoded[SNII_COLUMN_GROUP];
static uint8 encoded[VALUES * 5 + 64];
static uint8 filter[4096 * SNII_BLOOM_BLOCK_BYTES];
static uint8 lengths[VALUES];
static size_t encoded_size;
static uint64 random_state = 1;
static volatile uint64 sink;

static uint64
next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64CONST(0x2545F4914F6CDD1D);
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Run a function over VALUES values; print its best rate. */
static void
measure(const char *name, void (*run) (void))
{
	double		best = 1e9;

	for (int round = 0; round < ROUNDS; round++)
	{
		double		start = seconds();
		double		elapsed;

		for (int i = 0; i < REPEATS; i++)
			run();
		elapsed = seconds() - start;
		best = Min(best, elapsed);
	}
	printf("%-34s %8.0f M/s   %6.2f bits/value\n", name,
		   (double) VALUES * REPEATS / best / 1e6,
		   encoded_size * 8.0 / VALUES);
}

static void
pfor_encode(void)
{
	uint8	   *p = encoded;

	for (int i = 0; i < BLOCKS; i++)
		p += snii_codec_pfor_encode(values + i * SNII_PFOR_BLOCK,
									SNII_PFOR_BLOCK, p);
	encoded_size = p - encoded;
}

static void
pfor_decode(void)
{
	const uint8 *p = encoded;

	for (int i = 0; i < BLOCKS; i++)
		p = snii_codec_pfor_decode(p, encoded + encoded_size,
								   SNII_PFOR_BLOCK, decoded);
	sink += decoded[5];
}

static void
pfor_skip(void)
{
	const uint8 *p = encoded;

	for (int i = 0; i < BLOCKS; i++)
		p = snii_codec_pfor_skip(p, encoded + encoded_size,
								 SNII_PFOR_BLOCK);
	sink += *p;
}

static void
column_encode(void)
{
	uint8	   *p = encoded;

	for (int i = 0; i < VALUES; i += SNII_COLUMN_GROUP)
		p += snii_codec_column_encode(values + i, SNII_COLUMN_GROUP, p);
	encoded_size = p - encoded;
}

static void
column_decode(void)
{
	const uint8 *p = encoded;

	for (int i = 0; i < VALUES; i += SNII_COLUMN_GROUP)
		p = snii_codec_column_decode(p, encoded + encoded_size,
									 SNII_COLUMN_GROUP, decoded);
	sink += decoded[5];
}

static void
column_get(void)
{
	uint32		v = 0;
	uint64		sum = 0;

	for (int i = 0; i < VALUES; i++)
	{
		snii_codec_column_get(encoded, encoded + encoded_size,
							  SNII_COLUMN_GROUP, (i * 37) & 0xFF, &v);
		sum += v;
	}
	sink += sum;
}

static void
varint_encode(void)
{
	uint8	   *p = encoded;

	for (int i = 0; i < VALUES; i++)
		p = snii_codec_put_varint32(p, values[i]);
	encoded_size = p - encoded;
}

static void
varint_decode(void)
{
	const uint8 *p = encoded;
	uint64		sum = 0;
	uint32		v;

	while (snii_codec_get_varint32(&p, encoded + encoded_size, &v))
		sum += v;
	sink += sum;
}

static uint64
hash_of(uint32 v)
{
	uint64		h = v * UINT64CONST(0x9E3779B97F4A7C15);

	h ^= h >> 32;
	h *= UINT64CONST(0xD6E8FEB86659FD93);
	return h ^ (h >> 29);
}

static void
bloom_add(void)
{
	for (int i = 0; i < VALUES; i++)
	{
		uint64		h = hash_of(i);
		uint64		b = snii_codec_bloom_block_of(h, 4096);

		snii_codec_bloom_add(filter + b * SNII_BLOOM_BLOCK_BYTES, h);
	}
}

static void
bloom_probe(void)
{
	uint64		found = 0;

	for (int i = 0; i < VALUES; i++)
	{
		uint64		h = hash_of(i + VALUES / 2);
		uint64		b = snii_codec_bloom_block_of(h, 4096);

		found += snii_codec_bloom_probe(filter + b * SNII_BLOOM_BLOCK_BYTES,
										h);
	}
	sink += found;
}

static void
impact_add(void)
{
	SniiImpacts impacts;

	for (int i = 0; i < VALUES; i++)
	{
		if (i % SNII_PFOR_BLOCK == 0)
			snii_codec_impact_reset(&impacts);
		snii_codec_impact_add(&impacts, values[i], lengths[i]);
	}
	sink += impacts.freq[0];
}

static void
length_code(void)
{
	uint64		sum = 0;

	for (int i = 0; i < VALUES; i++)
		sum += snii_codec_length_code(values[i]);
	sink += sum;
}

/* Geometric values of about the given mean, as gaps of documents are. */
static void
fill_geometric(double mean)
{
	for (int i = 0; i < VALUES; i++)
	{
		double		u = (next_random() >> 11) * (1.0 / 9007199254740992.0);

		values[i] = (uint32) (-log(1.0 - u) * mean);
	}
}

static void
bench_pfor(void)
{
	static const double means[] = {0.1, 1, 10, 100, 1000};
	char		name[64];

	for (int width = 0; width <= 32; width += width < 16 ? 1 : 4)
	{
		for (int i = 0; i < VALUES; i++)
			values[i] = width == 0 ? 0 :
				(uint32) (next_random() >> 32) >> (32 - width);
		pfor_encode();
		snprintf(name, sizeof(name), "pfor decode, %d bits", width);
		measure(name, pfor_decode);
	}
	for (int i = 0; i < lengthof(means); i++)
	{
		fill_geometric(means[i]);
		snprintf(name, sizeof(name), "pfor encode, gaps of %g", means[i]);
		measure(name, pfor_encode);
		snprintf(name, sizeof(name), "pfor decode, gaps of %g", means[i]);
		measure(name, pfor_decode);
		snprintf(name, sizeof(name), "varint encode, gaps of %g", means[i]);
		measure(name, varint_encode);
		snprintf(name, sizeof(name), "varint decode, gaps of %g", means[i]);
		measure(name, varint_decode);
	}
	pfor_encode();
	measure("pfor skip", pfor_skip);
}

int
main(void)
{
	bench_pfor();
	fill_geometric(300);
	measure("column encode", column_encode);
	measure("column decode", column_decode);
	measure("column get", column_get);
	measure("length code", length_code);
	for (int i = 0; i < VALUES; i++)
		lengths[i] = snii_codec_length_code(values[i]);
	fill_geometric(1.5);
	measure("impact add, blocks of 128", impact_add);
	measure("bloom add", bloom_add);
	measure("bloom probe, half present", bloom_probe);
	return 0;
}
