/*-------------------------------------------------------------------------
 *
 * fuzz_codec.c
 *	  Arbitrary bytes for every decoder of the codec layer.
 *
 * The first two bytes of an input choose the decoder and the number of
 * values.  Each decoder must stay inside its input and output, and what it
 * accepts must survive being encoded and decoded again.
 *
 *-------------------------------------------------------------------------
 */
/* sources: src/codec/codec_bitpack.c src/codec/codec_bloom.c */
/* sources: src/codec/codec_column.c src/codec/codec_impact.c */
/* sources: src/codec/codec_length.c src/codec/codec_pfor.c */
#include "postgres.h"

#include "codec/codec_bloom.h"
#include "codec/codec_column.h"
#include "codec/codec_impact.h"
#include "codec/codec_length.h"
#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
			__builtin_trap(); \
	} while (0)

int			LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

static void
fuzz_varint(const uint8 *p, const uint8 *end)
{
	uint8		bytes[SNII_VARINT64_MAX];
	const uint8 *start = p;
	uint64		v64;
	uint32		v32;

	while (p < end)
	{
		const uint8 *q = p;

		start = p;
		if (!snii_codec_get_varint64(&p, end, &v64))
		{
			REQUIRE(p == start);
			REQUIRE(!snii_codec_get_varint32(&q, end, &v32) && q == start);
			break;
		}
		REQUIRE(p > start && p <= end);
		REQUIRE(snii_codec_put_varint64(bytes, v64) - bytes ==
				snii_codec_varint_size(v64));
		REQUIRE(snii_codec_varint_size(v64) <= p - start);
		if (snii_codec_get_varint32(&q, end, &v32))
			REQUIRE(q == p && v32 == v64);
		else
			REQUIRE(v64 > PG_UINT32_MAX || p - start > SNII_VARINT32_MAX);
	}
}

static void
fuzz_pfor(const uint8 *p, const uint8 *end, int n)
{
	/* allocated to size, so that the sanitizer sees writes beyond it */
	uint32	   *out = malloc(n * sizeof(uint32));
	uint32	   *again = malloc(n * sizeof(uint32));
	uint8	   *bytes = malloc(SNII_PFOR_MAX_BYTES);
	const uint8 *decoded = snii_codec_pfor_decode(p, end, n, out);
	const uint8 *skipped = snii_codec_pfor_skip(p, end, n);

	if (decoded != NULL)
	{
		size_t		size = snii_codec_pfor_encode(out, n, bytes);

		REQUIRE(decoded == skipped && decoded > p && decoded <= end);
		/* padded varints aside, ours is the smallest form */
		REQUIRE(size <= (size_t) (decoded - p));
		REQUIRE(snii_codec_pfor_decode(bytes, bytes + size, n, again) ==
				bytes + size);
		REQUIRE(memcmp(out, again, n * sizeof(uint32)) == 0);
	}
	free(out);
	free(again);
	free(bytes);
}

static void
fuzz_column(const uint8 *p, const uint8 *end, int n)
{
	uint32	   *out = malloc(n * sizeof(uint32));
	uint8	   *bytes = malloc(SNII_COLUMN_MAX_BYTES);
	const uint8 *decoded = snii_codec_column_decode(p, end, n, out);
	uint32		v;
	int			got = 0;

	for (int i = 0; i < n; i++)
	{
		if (!snii_codec_column_get(p, end, n, i, &v))
			continue;
		REQUIRE(decoded == NULL || v == out[i]);
		got++;
	}
	REQUIRE((decoded != NULL) == (got == n));
	if (decoded != NULL)
	{
		size_t		size = snii_codec_column_encode(out, n, bytes);

		REQUIRE(decoded == snii_codec_column_skip(p, end, n));
		for (int i = 0; i < n; i++)
			REQUIRE(snii_codec_column_get(bytes, bytes + size, n, i, &v) &&
					v == out[i]);
	}
	free(out);
	free(bytes);
}

static void
check_pareto(const SniiImpacts *impacts)
{
	REQUIRE(impacts->n >= 0 && impacts->n <= SNII_IMPACT_MAX);
	for (int i = 1; i < impacts->n; i++)
		REQUIRE(impacts->freq[i] > impacts->freq[i - 1] &&
				impacts->len[i] > impacts->len[i - 1]);
}

static void
fuzz_impact(const uint8 *p, const uint8 *end)
{
	SniiImpacts all;
	SniiImpacts one;
	uint8		bytes[SNII_IMPACT_MAX_BYTES];

	snii_codec_impact_reset(&all);
	while (p < end && snii_codec_impact_get(&p, end, &one))
	{
		check_pareto(&one);
		snii_codec_impact_merge(&all, &one);
		check_pareto(&all);
		for (int i = 0; i < one.n; i++)
		{
			int			j = 0;

			while (j < all.n && (all.freq[j] < one.freq[i] ||
								 all.len[j] > one.len[i]))
				j++;
			REQUIRE(j < all.n);
		}
	}
	REQUIRE(snii_codec_impact_put(bytes, &all) <= bytes + sizeof(bytes));
}

static void
fuzz_bloom(const uint8 *p, const uint8 *end)
{
	uint8	   *block;
	uint64		hash;

	if (end - p < SNII_BLOOM_BLOCK_BYTES + (int) sizeof(hash))
		return;
	block = malloc(SNII_BLOOM_BLOCK_BYTES);
	memcpy(block, p, SNII_BLOOM_BLOCK_BYTES);
	p += SNII_BLOOM_BLOCK_BYTES;
	for (; end - p >= (int) sizeof(hash); p += sizeof(hash))
	{
		memcpy(&hash, p, sizeof(hash));
		REQUIRE(snii_codec_bloom_block_of(hash, (hash & 0xFFFF) + 1) <=
				(hash & 0xFFFF));
		snii_codec_bloom_add(block, hash);
		REQUIRE(snii_codec_bloom_probe(block, hash));
	}
	free(block);
}

static void
fuzz_length(const uint8 *p, const uint8 *end)
{
	uint32		len;

	for (; end - p >= (int) sizeof(len); p += sizeof(len))
	{
		uint8		code;

		memcpy(&len, p, sizeof(len));
		code = snii_codec_length_code(len);
		REQUIRE(snii_codec_length_decode(code) <= len);
		REQUIRE(code == SNII_LENGTH_CODE_MAX ||
				snii_codec_length_decode(code + 1) > len);
	}
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	uint8	   *copy;
	const uint8 *end;

	if (size < 2)
		return 0;
	/* allocated to size, so that the sanitizer sees reads beyond it */
	copy = malloc(size - 2);
	memcpy(copy, data + 2, size - 2);
	end = copy + size - 2;
	switch (data[0] % 6)
	{
		case 0:
			fuzz_varint(copy, end);
			break;
		case 1:
			fuzz_pfor(copy, end, data[1] % SNII_PFOR_BLOCK + 1);
			break;
		case 2:
			fuzz_column(copy, end, data[1] % SNII_COLUMN_GROUP + 1);
			break;
		case 3:
			fuzz_impact(copy, end);
			break;
		case 4:
			fuzz_bloom(copy, end);
			break;
		default:
			fuzz_length(copy, end);
			break;
	}
	free(copy);
	return 0;
}
