/*-------------------------------------------------------------------------
 *
 * test_codec_pack.c
 *	  Properties of varints, patched blocks and columns.
 *
 * Encoders write into room that ends at unmapped memory right after the size
 * they return; decoders read, and are given every shorter prefix of, bytes
 * that end there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "codec/codec_column.h"
#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"
#include "test_codec.h"

/* What out has after the last value, to see writes past it. */
#define SENTINEL		0xDEADBEEF

/* Largest input of random bytes. */
#define GARBAGE_MAX		600

PG_FUNCTION_INFO_V1(test_codec_varint);
PG_FUNCTION_INFO_V1(test_codec_pfor);
PG_FUNCTION_INFO_V1(test_codec_column);
PG_FUNCTION_INFO_V1(test_codec_garbage);

/* ---- varint ---- */

/* A plain reader of up to maxlen bytes: the oracle. */
static bool
reference_varint(const uint8 *p, int avail, int maxlen, int maxbits,
				 uint64 *v, int *used)
{
	uint64		r = 0;

	for (int i = 0; i < Min(avail, maxlen); i++)
	{
		for (int bit = 0; bit < 7; bit++)
		{
			if ((p[i] >> bit) & 1)
			{
				if (7 * i + bit >= maxbits)
					return false;
				r |= UINT64CONST(1) << (7 * i + bit);
			}
		}
		if (!(p[i] & 0x80))
		{
			*v = r;
			*used = i + 1;
			return true;
		}
	}
	return false;
}

static void
check_varint_bytes(const uint8 *bytes, int size)
{
	const uint8 *p = test_codec_place(bytes, size);
	const uint8 *end = p + size;
	const uint8 *pos = p;
	uint64		expected = 0;
	int			used = 0;
	uint64		v64 = 1;
	uint32		v32 = 1;
	bool		good;

	good = reference_varint(p, size, SNII_VARINT64_MAX, 64, &expected,
							&used);
	CHECK(snii_codec_get_varint64(&pos, end, &v64) == good, "%d bytes", size);
	if (good)
		CHECK(v64 == expected && pos == p + used, "%d bytes", size);
	else
		CHECK(v64 == 1 && pos == p, "%d bytes", size);

	pos = p;
	good = reference_varint(p, size, SNII_VARINT32_MAX, 32, &expected,
							&used);
	CHECK(snii_codec_get_varint32(&pos, end, &v32) == good, "%d bytes", size);
	if (good)
		CHECK(v32 == expected && pos == p + used, "%d bytes", size);
	else
		CHECK(v32 == 1 && pos == p, "%d bytes", size);
}

static void
check_varint_value(uint64 v)
{
	int			size = snii_codec_varint_size(v);
	uint8	   *room = test_codec_room(size);
	uint8		bytes[SNII_VARINT64_MAX];

	CHECK(size >= 1 && size <= SNII_VARINT64_MAX, "size %d", size);
	CHECK(snii_codec_put_varint64(room, v) == room + size,
		  "value " UINT64_FORMAT, v);
	memcpy(bytes, room, size);
	for (int i = 0; i <= size; i++)
		check_varint_bytes(bytes, i);
	if (v <= PG_UINT32_MAX)
	{
		CHECK(size <= SNII_VARINT32_MAX, "size %d", size);
		memset(room, 0xFF, size);
		CHECK(snii_codec_put_varint32(room, (uint32) v) == room + size &&
			  memcmp(room, bytes, size) == 0, "value " UINT64_FORMAT, v);
	}
	CHECK(snii_codec_zigzag64(snii_codec_unzigzag64(v)) == v,
		  "value " UINT64_FORMAT, v);
	CHECK(snii_codec_zigzag32(snii_codec_unzigzag32((uint32) v)) ==
		  (uint32) v, "value " UINT64_FORMAT, v);
	CHECK(snii_codec_zigzag64((int64) (v >> 1)) == (v >> 1) * 2,
		  "value " UINT64_FORMAT, v);
}

Datum
test_codec_varint(PG_FUNCTION_ARGS)
{
	pg_prng_state prng;
	int64		cases = 0;

	pg_prng_seed(&prng, PG_GETARG_INT64(0));
	for (int bit = 0; bit < 64; bit++)
	{
		for (int near = -2; near <= 2; near++, cases++)
			check_varint_value((UINT64CONST(1) << bit) + (uint64) near);
	}
	for (int i = 0; i < PG_GETARG_INT32(1); i++, cases += 2)
	{
		uint8		bytes[12];
		int			size = pg_prng_uint64_range(&prng, 0, sizeof(bytes));

		check_varint_value(pg_prng_uint64(&prng) >>
						   pg_prng_uint64_range(&prng, 0, 63));
		/* mostly continuation bytes, so that all lengths occur */
		for (int j = 0; j < size; j++)
		{
			bytes[j] = test_codec_random_bits(&prng, 8);
			if (pg_prng_uint64_range(&prng, 0, 9) > 0)
				bytes[j] |= 0x80;
			else if (pg_prng_bool(&prng))
				bytes[j] &= 1;
		}
		check_varint_bytes(bytes, size);
	}
	PG_RETURN_INT64(cases);
}

/* ---- pfor ---- */

/* Size of a block with a palette, or as large as can be if there is none. */
static size_t
size_with_palette(const uint32 *v, int n, int maxbits)
{
	int			distinct = 0;
	int			indexbits = 0;

	for (int i = 0; i < n; i++)
	{
		bool		seen = false;

		for (int j = 0; j < i && !seen; j++)
			seen = v[j] == v[i];
		distinct += !seen;
	}
	if (n < 8 || maxbits == 0 || distinct > 32)
		return SIZE_MAX;
	while ((1 << indexbits) < distinct)
		indexbits++;
	return 2 + (distinct * maxbits + 7) / 8 + (n * indexbits + 7) / 8;
}

/* Size of the smallest form, found by trying every width. */
static size_t
smallest_pfor(const uint32 *v, int n)
{
	size_t		varints = 1;
	size_t		best;
	int			maxbits = 0;

	for (int i = 0; i < n; i++)
	{
		while (((uint64) v[i] >> maxbits) != 0)
			maxbits++;
		varints += snii_codec_varint_size(v[i]);
	}
	best = 1 + (n * maxbits + 7) / 8;
	for (int w = 0; w < maxbits; w++)
	{
		int			exceptions = 0;

		for (int i = 0; i < n; i++)
			exceptions += ((v[i] >> w) != 0);
		best = Min(best, (size_t) (3 + (n * w + 7) / 8 + exceptions +
								   (exceptions * (maxbits - w) + 7) / 8));
	}
	best = Min(best, size_with_palette(v, n, maxbits));
	return n < 8 ? Min(best, varints) : best;
}

/* Every proper prefix of an encoded block must be refused. */
static void
check_pfor_truncated(const uint8 *bytes, size_t size, int n)
{
	uint32		out[SNII_PFOR_BLOCK];

	for (size_t cut = 0; cut < size; cut++)
	{
		const uint8 *p = test_codec_place(bytes, cut);

		CHECK(snii_codec_pfor_decode(p, p + cut, n, out) == NULL,
			  "n %d, %zu of %zu bytes", n, cut, size);
		CHECK(snii_codec_pfor_skip(p, p + cut, n) == NULL,
			  "n %d, %zu of %zu bytes", n, cut, size);
	}
}

static void
check_pfor(const uint32 *v, int n, bool truncate)
{
	uint8		bytes[SNII_PFOR_MAX_BYTES + 64];
	uint32		out[SNII_PFOR_BLOCK + 1];
	size_t		size = snii_codec_pfor_encode(v, n, bytes);
	uint8	   *room = test_codec_room(size);
	const uint8 *p;

	CHECK(size <= SNII_PFOR_MAX_BYTES, "n %d, %zu bytes", n, size);
	CHECK(size == smallest_pfor(v, n), "n %d, %zu bytes instead of %zu", n,
		  size, smallest_pfor(v, n));
	CHECK(snii_codec_pfor_encode(v, n, room) == size &&
		  memcmp(room, bytes, size) == 0, "n %d, %zu bytes", n, size);

	/* at the end of the input, and with more behind it */
	for (int behind = 0; behind <= 64; behind += 16)
	{
		memset(bytes + size, 0xFF, behind);
		p = test_codec_place(bytes, size + behind);
		memset(out, 0xA5, sizeof(out));
		out[n] = SENTINEL;
		CHECK(snii_codec_pfor_decode(p, p + size + behind, n, out) ==
			  p + size, "n %d, %zu bytes", n, size);
		CHECK(memcmp(out, v, n * sizeof(uint32)) == 0,
			  "n %d, %zu bytes", n, size);
		CHECK(out[n] == SENTINEL, "n %d, %zu bytes", n, size);
		CHECK(snii_codec_pfor_skip(p, p + size + behind, n) == p + size,
			  "n %d, %zu bytes", n, size);
	}
	if (truncate)
		check_pfor_truncated(bytes, size, n);
}

/* Every width and count; one value of full width, and some outliers. */
static int64
check_pfor_all_widths(pg_prng_state *prng)
{
	uint32		v[SNII_PFOR_BLOCK];
	int64		cases = 0;

	for (int width = 0; width <= 32; width++)
	{
		for (int n = 1; n <= SNII_PFOR_BLOCK; n++, cases += 2)
		{
			for (int i = 0; i < n; i++)
				v[i] = test_codec_random_bits(prng, width);
			if (width > 0)
				v[n / 2] |= UINT32_C(1) << (width - 1);
			check_pfor(v, n, true);
			for (int i = 0; i < n; i += 1 + width)
				v[i] = test_codec_random_bits(prng, 32);
			check_pfor(v, n, false);
		}
	}
	return cases;
}

/* Every number of distinct values, of some widths. */
static int64
check_pfor_palettes(pg_prng_state *prng)
{
	uint32		v[SNII_PFOR_BLOCK];
	uint32		values[34];
	int64		cases = 0;

	for (int distinct = 1; distinct <= lengthof(values); distinct++)
	{
		for (int width = 1; width <= 32; width += 3)
		{
			for (int n = 1; n <= SNII_PFOR_BLOCK; n += 1 + n / 5, cases++)
			{
				for (int i = 0; i < distinct; i++)
					values[i] = test_codec_random_bits(prng, width);
				for (int i = 0; i < n; i++)
					v[i] = values[pg_prng_uint64_range(prng, 0,
													   distinct - 1)];
				check_pfor(v, n, n < 20);
			}
		}
	}
	return cases;
}

Datum
test_codec_pfor(PG_FUNCTION_ARGS)
{
	pg_prng_state prng;
	uint32		v[SNII_PFOR_BLOCK];
	int64		cases;

	pg_prng_seed(&prng, PG_GETARG_INT64(0));
	cases = check_pfor_all_widths(&prng);
	cases += check_pfor_palettes(&prng);
	for (int i = 0; i < PG_GETARG_INT32(1); i++, cases++)
	{
		int			n = pg_prng_uint64_range(&prng, 1, SNII_PFOR_BLOCK);

		if (i % 4 == 0)
			n = pg_prng_uint64_range(&prng, 1, 10);
		test_codec_random_values(&prng, v, n);
		check_pfor(v, n, i % 16 == 0);
	}
	PG_RETURN_INT64(cases);
}

/* ---- column ---- */

static void
check_column_truncated(const uint8 *bytes, size_t size, int n)
{
	uint32		out[SNII_COLUMN_GROUP];

	for (size_t cut = 0; cut < size; cut++)
	{
		const uint8 *p = test_codec_place(bytes, cut);

		CHECK(snii_codec_column_decode(p, p + cut, n, out) == NULL,
			  "n %d, %zu of %zu bytes", n, cut, size);
		CHECK(snii_codec_column_skip(p, p + cut, n) == NULL,
			  "n %d, %zu of %zu bytes", n, cut, size);
		CHECK(!snii_codec_column_get(p, p + cut, n, 0, out),
			  "n %d, %zu of %zu bytes", n, cut, size);
		CHECK(!snii_codec_column_get(p, p + cut, n, n - 1, out),
			  "n %d, %zu of %zu bytes", n, cut, size);
	}
}

static void
check_column_get(const uint8 *p, const uint8 *end, const uint32 *v, int n)
{
	uint32		one = 0;

	for (int i = 0; i < n; i++)
		CHECK(snii_codec_column_get(p, end, n, i, &one) && one == v[i],
			  "n %d, value %d", n, i);
	CHECK(!snii_codec_column_get(p, end, n, n, &one), "n %d", n);
	CHECK(!snii_codec_column_get(p, end, n, -1, &one), "n %d", n);
}

static void
check_column(const uint32 *v, int n, bool truncate)
{
	uint8		bytes[SNII_COLUMN_MAX_BYTES + 64];
	uint32		out[SNII_COLUMN_GROUP + 1];
	size_t		size = snii_codec_column_encode(v, n, bytes);
	uint8	   *room = test_codec_room(size);
	const uint8 *p;

	CHECK(size <= 1 + 4 + n * 4, "n %d, %zu bytes", n, size);
	CHECK(snii_codec_column_encode(v, n, room) == size &&
		  memcmp(room, bytes, size) == 0, "n %d, %zu bytes", n, size);
	for (int behind = 0; behind <= 64; behind += 16)
	{
		memset(bytes + size, 0xFF, behind);
		p = test_codec_place(bytes, size + behind);
		memset(out, 0xA5, sizeof(out));
		out[n] = SENTINEL;
		CHECK(snii_codec_column_decode(p, p + size + behind, n, out) ==
			  p + size, "n %d, %zu bytes", n, size);
		CHECK(memcmp(out, v, n * sizeof(uint32)) == 0,
			  "n %d, %zu bytes", n, size);
		CHECK(out[n] == SENTINEL, "n %d, %zu bytes", n, size);
		CHECK(snii_codec_column_skip(p, p + size + behind, n) == p + size,
			  "n %d, %zu bytes", n, size);
		check_column_get(p, p + size + behind, v, n);
	}
	if (truncate)
		check_column_truncated(bytes, size, n);
}

Datum
test_codec_column(PG_FUNCTION_ARGS)
{
	pg_prng_state prng;
	uint32		v[SNII_COLUMN_GROUP];
	int64		cases = 0;

	pg_prng_seed(&prng, PG_GETARG_INT64(0));
	for (int width = 0; width <= 32; width++)
	{
		for (int n = 1; n <= SNII_COLUMN_GROUP; n++, cases++)
		{
			uint32		min = test_codec_random_bits(&prng, 32 - width);

			for (int i = 0; i < n; i++)
				v[i] = min + test_codec_random_bits(&prng, width);
			check_column(v, n, n % 8 == 1);
		}
	}
	for (int i = 0; i < PG_GETARG_INT32(1); i++, cases++)
	{
		int			n = pg_prng_uint64_range(&prng, 1, SNII_COLUMN_GROUP);

		test_codec_random_values(&prng, v, n);
		check_column(v, n, i % 16 == 0);
	}
	PG_RETURN_INT64(cases);
}

/* ---- arbitrary bytes ---- */

/* Decoding and skipping agree, and neither leaves the input. */
static void
check_pfor_garbage(const uint8 *p, size_t size, int n)
{
	uint32		out[SNII_PFOR_BLOCK + 1];
	const uint8 *end = p + size;
	const uint8 *decoded;
	const uint8 *skipped;

	out[Max(Min(n, SNII_PFOR_BLOCK), 0)] = SENTINEL;
	decoded = snii_codec_pfor_decode(p, end, n, out);
	skipped = snii_codec_pfor_skip(p, end, n);
	CHECK(decoded == NULL || (decoded > p && decoded <= end), "n %d", n);
	CHECK(decoded == NULL || decoded == skipped, "n %d", n);
	CHECK(skipped == NULL || (skipped > p && skipped <= end), "n %d", n);
	CHECK(out[Max(Min(n, SNII_PFOR_BLOCK), 0)] == SENTINEL, "n %d", n);
}

/* A group decodes if and only if each of its values can be got. */
static void
check_column_garbage(const uint8 *p, size_t size, int n)
{
	uint32		out[SNII_COLUMN_GROUP + 1];
	const uint8 *end = p + size;
	const uint8 *decoded;
	int			got = 0;

	out[Max(Min(n, SNII_COLUMN_GROUP), 0)] = SENTINEL;
	decoded = snii_codec_column_decode(p, end, n, out);
	CHECK(decoded == NULL || (decoded > p && decoded <= end), "n %d", n);
	CHECK(decoded == NULL || decoded == snii_codec_column_skip(p, end, n),
		  "n %d", n);
	CHECK(out[Max(Min(n, SNII_COLUMN_GROUP), 0)] == SENTINEL, "n %d", n);
	for (int i = 0; i < n; i++)
	{
		uint32		one = 0;

		if (!snii_codec_column_get(p, end, n, i, &one))
			continue;
		CHECK(decoded == NULL || one == out[i], "n %d, value %d", n, i);
		got++;
	}
	CHECK((decoded != NULL) == (n > 0 && got == n), "n %d, got %d", n, got);
}

/* Random bytes, or an encoded block with some bytes changed. */
static size_t
make_garbage(pg_prng_state *prng, uint8 *bytes, int n)
{
	uint32		v[SNII_PFOR_BLOCK];
	size_t		size = pg_prng_uint64_range(prng, 0, GARBAGE_MAX);

	if (pg_prng_bool(prng) && n >= 1 && n <= SNII_PFOR_BLOCK)
	{
		test_codec_random_values(prng, v, n);
		if (pg_prng_bool(prng))
			size = snii_codec_pfor_encode(v, n, bytes);
		else
			size = snii_codec_column_encode(v, n, bytes);
		for (int i = pg_prng_uint64_range(prng, 0, 4); i > 0; i--)
			bytes[pg_prng_uint64_range(prng, 0, Min(size - 1, 8))] =
				test_codec_random_bits(prng, 8);
		bytes[pg_prng_uint64_range(prng, 0, size - 1)] ^= 1;
		return size;
	}
	for (size_t i = 0; i < size; i++)
		bytes[i] = test_codec_random_bits(prng, 8);
	if (size > 3)
	{
		bytes[0] &= 0x5F;
		bytes[1] &= 0x1F;
		bytes[2] &= 0x0F;
	}
	return size;
}

Datum
test_codec_garbage(PG_FUNCTION_ARGS)
{
	pg_prng_state prng;
	uint8		bytes[SNII_COLUMN_MAX_BYTES];
	int64		cases = 0;

	pg_prng_seed(&prng, PG_GETARG_INT64(0));
	for (int i = 0; i < PG_GETARG_INT32(1); i++, cases++)
	{
		/* out of range counts are refused, too */
		int			n = (int) pg_prng_uint64_range(&prng, 0, 260) - 2;
		size_t		size = make_garbage(&prng, bytes, n);
		const uint8 *p = test_codec_place(bytes, size);

		check_pfor_garbage(p, size, n);
		check_column_garbage(p, size, n);
		check_pfor_garbage(p, size, n % 9);
	}
	PG_RETURN_INT64(cases);
}
