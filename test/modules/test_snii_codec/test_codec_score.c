/*-------------------------------------------------------------------------
 *
 * test_codec_score.c
 *	  Properties of length codes and impact lists.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "codec/codec_impact.h"
#include "codec/codec_length.h"
#include "test_codec.h"

/* Postings in a block, blocks under a second-level list. */
#define POSTINGS		128
#define SECOND_LEVEL	8

/* Parameters of a BM25 score. */
typedef struct Scoring
{
	double		k1;
	double		b;
	double		average;
} Scoring;

/* Some postings. */
typedef struct Postings
{
	int			n;
	uint32		freq[POSTINGS * SECOND_LEVEL];
	uint32		len[POSTINGS * SECOND_LEVEL];
} Postings;

PG_FUNCTION_INFO_V1(test_codec_length);
PG_FUNCTION_INFO_V1(test_codec_impact);

/* ---- length code ---- */

static void
check_length(uint32 len)
{
	uint8		code = snii_codec_length_code(len);
	uint32		floor = snii_codec_length_decode(code);

	CHECK(code <= SNII_LENGTH_CODE_MAX, "length %u", len);
	CHECK(floor <= len, "length %u", len);
	CHECK(code == SNII_LENGTH_CODE_MAX ||
		  snii_codec_length_decode(code + 1) > len, "length %u", len);
	CHECK((uint64) floor * 9 >= (uint64) len * 8, "length %u", len);
	CHECK(len > 40 || floor == len, "length %u", len);
}

Datum
test_codec_length(PG_FUNCTION_ARGS)
{
	pg_prng_state prng;
	int64		cases = 0;

	pg_prng_seed(&prng, PG_GETARG_INT64(0));

	/* with the steps right, the code is monotone and a floor everywhere */
	for (int code = 1; code <= SNII_LENGTH_CODE_MAX; code++, cases++)
	{
		uint32		len = snii_codec_length_decode(code);

		CHECK(snii_codec_length_code(len) == code, "code %d", code);
		CHECK(snii_codec_length_code(len - 1) == code - 1, "code %d", code);
		CHECK(len > snii_codec_length_decode(code - 1), "code %d", code);
	}
	for (int code = SNII_LENGTH_CODE_MAX + 1; code <= 255; code++)
		CHECK(snii_codec_length_decode(code) == PG_UINT32_MAX,
			  "code %d", code);
	check_length(PG_UINT32_MAX);
	for (uint32 len = 0; len < 10000; len++, cases++)
		check_length(len);
	for (int i = 0; i < PG_GETARG_INT32(1); i++, cases++)
		check_length(test_codec_random_bits(&prng,
											pg_prng_uint64_range(&prng, 0,
																 32)));
	PG_RETURN_INT64(cases);
}

/* ---- impacts ---- */

/*
 * BM25 without the idf, written so that rounding keeps it monotone in both
 * arguments.
 */
static double
score(const Scoring *s, uint32 freq, uint32 len)
{
	return (s->k1 + 1) /
		(1 + s->k1 * (1 - s->b + s->b * (len / s->average)) / freq);
}

static double
bound_of(const Scoring *s, const SniiImpacts *impacts)
{
	double		bound = 0;

	for (int i = 0; i < impacts->n; i++)
		bound = Max(bound, score(s, impacts->freq[i],
								 snii_codec_length_decode(impacts->len[i])));
	return bound;
}

static void
random_scoring(pg_prng_state *prng, Scoring *s)
{
	s->k1 = pg_prng_double(prng) * 4;
	s->b = pg_prng_double(prng);
	s->average = 1 + exp(pg_prng_double(prng) * 15);
}

/* Postings whose frequencies and lengths have random scales. */
static void
random_postings(pg_prng_state *prng, Postings *p, int n)
{
	double		freqscale = exp(pg_prng_double(prng) * 6) - 1;
	double		lenscale = exp(pg_prng_double(prng) * 12);
	bool		extreme = (pg_prng_uint64_range(prng, 0, 19) == 0);

	p->n = n;
	for (int i = 0; i < n; i++)
	{
		double		length = exp(pg_prng_double(prng) * 3) * lenscale;

		/* long documents hold a term more often */
		p->freq[i] = 1 - log(1.0 - pg_prng_double(prng)) * freqscale *
			(1 + length / lenscale / 4);
		p->len[i] = p->freq[i] + length;
		if (extreme)
		{
			p->freq[i] = Max(test_codec_random_bits(prng, 32), 1);
			p->len[i] = test_codec_random_bits(prng, 32);
		}
	}
}

/*
 * The list is a Pareto list made of frequencies and lengths that were added,
 * and dominates all postings.
 */
static void
check_impacts(const SniiImpacts *impacts, const Postings *p, int from)
{
	bool		freqseen[SNII_IMPACT_MAX] = {false};
	bool		lenseen[SNII_IMPACT_MAX] = {false};

	CHECK(impacts->n >= 1 && impacts->n <= SNII_IMPACT_MAX, "%d pairs",
		  impacts->n);
	for (int i = 1; i < impacts->n; i++)
		CHECK(impacts->freq[i] > impacts->freq[i - 1] &&
			  impacts->len[i] > impacts->len[i - 1], "pair %d", i);
	for (int i = from; i < p->n; i++)
	{
		uint8		code = snii_codec_length_code(p->len[i]);
		bool		dominated = false;

		for (int j = 0; j < impacts->n; j++)
		{
			dominated |= (impacts->freq[j] >= p->freq[i] &&
						  impacts->len[j] <= code);
			freqseen[j] |= (impacts->freq[j] == p->freq[i]);
			lenseen[j] |= (impacts->len[j] == code);
		}
		CHECK(dominated, "posting %d", i);
	}
	for (int i = 0; i < impacts->n; i++)
		CHECK(freqseen[i] && lenseen[i], "pair %d", i);
}

/* No posting scores above the bound; returns bound over best score. */
static double
check_bound(const Scoring *s, const SniiImpacts *impacts, const Postings *p,
			int from)
{
	double		bound = bound_of(s, impacts);
	double		best = 0;

	for (int i = from; i < p->n; i++)
	{
		uint32		floor =
		snii_codec_length_decode(snii_codec_length_code(p->len[i]));
		double		mine = score(s, p->freq[i], p->len[i]);

		CHECK(mine <= bound, "posting %d scores %g, bound is %g", i, mine,
			  bound);
		best = Max(best, score(s, p->freq[i], floor));
	}
	return bound / best;
}

/*
 * The postings' own Pareto list, by definition; -1 when it has more pairs
 * than a list holds.
 */
static int
pareto_size(const Postings *p, int from, int to)
{
	int			n = 0;

	for (int i = from; i < to; i++)
	{
		uint8		code = snii_codec_length_code(p->len[i]);
		bool		dominated = false;

		for (int j = from; j < to && !dominated; j++)
		{
			uint8		other = snii_codec_length_code(p->len[j]);

			/* of equal ones the first counts */
			dominated = (p->freq[j] >= p->freq[i] && other <= code &&
						 (p->freq[j] != p->freq[i] || other != code ||
						  j < i));
		}
		n += !dominated;
	}
	return n;
}

static void
check_impact_bytes(const SniiImpacts *impacts)
{
	uint8		bytes[SNII_IMPACT_MAX_BYTES];
	size_t		size = snii_codec_impact_put(bytes, impacts) - bytes;
	uint8	   *room = test_codec_room(size);
	const uint8 *p;
	SniiImpacts back;

	CHECK(size <= SNII_IMPACT_MAX_BYTES, "%zu bytes", size);
	CHECK(snii_codec_impact_put(room, impacts) == room + size,
		  "%zu bytes", size);
	p = room;
	CHECK(snii_codec_impact_get(&p, room + size, &back) && p == room + size,
		  "%zu bytes", size);
	CHECK(back.n == impacts->n &&
		  memcmp(back.freq, impacts->freq, back.n * sizeof(uint32)) == 0 &&
		  memcmp(back.len, impacts->len, back.n) == 0, "%zu bytes", size);
	for (size_t cut = 0; cut < size; cut++)
	{
		p = test_codec_place(bytes, cut);
		CHECK(!snii_codec_impact_get(&p, p + cut, &back),
			  "%zu of %zu bytes", cut, size);
	}
}

/* What is read from any bytes is a Pareto list. */
static void
check_impact_garbage(pg_prng_state *prng)
{
	uint8		bytes[SNII_IMPACT_MAX_BYTES];
	size_t		size = pg_prng_uint64_range(prng, 0, sizeof(bytes));
	SniiImpacts back;
	const uint8 *p;
	const uint8 *end;

	for (size_t i = 0; i < size; i++)
		bytes[i] = test_codec_random_bits(prng, 8);
	if (size > 0 && pg_prng_bool(prng))
		bytes[0] |= 0xF8;
	p = test_codec_place(bytes, size);
	end = p + size;
	if (!snii_codec_impact_get(&p, end, &back))
		return;
	CHECK(p <= end && back.n >= 0 && back.n <= SNII_IMPACT_MAX, "%d pairs",
		  back.n);
	for (int i = 1; i < back.n; i++)
		CHECK(back.freq[i] > back.freq[i - 1] && back.len[i] > back.len[i - 1],
			  "pair %d", i);
}

/* One block: build its list and check it; returns the bound's excess. */
static double
check_block(pg_prng_state *prng, const Postings *p, int from, int to,
			SniiImpacts *impacts)
{
	static const Scoring usual = {1.2, 0.75, 1000};
	bool		fits = true;
	Postings	block = *p;

	block.n = to;
	snii_codec_impact_reset(impacts);
	for (int i = from; i < to; i++)
	{
		snii_codec_impact_add(impacts, p->freq[i],
							  snii_codec_length_code(p->len[i]));
		fits = fits && pareto_size(p, from, i + 1) <= SNII_IMPACT_MAX;
		/* without a reduction the list is exact */
		if (fits)
			CHECK(impacts->n == pareto_size(p, from, i + 1), "posting %d", i);
	}
	check_impacts(impacts, &block, from);
	check_impact_bytes(impacts);
	for (int i = 0; i < 4; i++)
	{
		Scoring		s;
		double		excess;

		random_scoring(prng, &s);
		excess = check_bound(&s, impacts, &block, from);
		CHECK(!fits || excess == 1.0, "bound is %g times the score", excess);
	}
	return check_bound(&usual, impacts, &block, from);
}

Datum
test_codec_impact(PG_FUNCTION_ARGS)
{
	pg_prng_state prng;
	Postings   *postings = palloc(sizeof(Postings));
	double		excess = 0;
	int64		blocks = 0;

	pg_prng_seed(&prng, PG_GETARG_INT64(0));
	for (int i = 0; i < PG_GETARG_INT32(1); i++)
	{
		SniiImpacts second;
		int			size = pg_prng_uint64_range(&prng, 1, POSTINGS);

		random_postings(&prng, postings, size * SECOND_LEVEL);
		snii_codec_impact_reset(&second);
		check_impact_bytes(&second);
		for (int j = 0; j < SECOND_LEVEL; j++, blocks++)
		{
			SniiImpacts impacts;

			excess += check_block(&prng, postings, j * size, (j + 1) * size,
								  &impacts);
			snii_codec_impact_merge(&second, &impacts);
			check_impact_garbage(&prng);
			CHECK_FOR_INTERRUPTS();
		}
		check_impacts(&second, postings, 0);
		check_impact_bytes(&second);
		for (int j = 0; j < 4; j++)
		{
			Scoring		s;

			random_scoring(&prng, &s);
			check_bound(&s, &second, postings, 0);
		}
	}
	/* reducing a list must not cost the bounds their use */
	elog(DEBUG1, "bounds exceed the best score by %g",
		 excess / Max(blocks, 1) - 1);
	CHECK(excess <= 1.02 * blocks, "bounds exceed the best score by %g",
		  excess / Max(blocks, 1) - 1);
	PG_RETURN_INT64(blocks);
}
