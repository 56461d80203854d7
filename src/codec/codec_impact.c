/*-------------------------------------------------------------------------
 *
 * codec_impact.c
 *	  Upper bounds of scores: a short Pareto list of (frequency, length
 *	  code) pairs.
 *
 * A list that would grow beyond SNII_IMPACT_MAX has two neighbours replaced
 * by the higher frequency of the one with the smaller length of the other.
 * That pair dominates both, so the bound stays a bound; which neighbours go
 * is chosen so that it rises little.  The same calls in the same order give
 * the same list.
 *
 * Stored form: a byte with the number of pairs in bits 0 to 2 and the first
 * frequency in bits 3 to 7, 31 there meaning that (frequency - 31) follows as
 * a varint; then the first length code; then, for each further pair, the
 * increases of frequency (varint) and length code (byte), less one each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_impact.h"
#include "codec/codec_varint.h"

/* First frequencies from here on need a varint. */
#define FREQ_ESCAPE		31

/*
 * How much a bound rises, roughly, when the pairs (f1, l1) and (f2, l2) are
 * replaced by (f2, l1): the smaller of the rises over either.  Taken from
 * f / (f + K) at K = 1, with K growing by 2 ** (1/8) a step of the length
 * code, in units of 2 ** -32.
 */
static uint64
merge_cost(uint64 f1, int l1, uint64 f2, int l2)
{
	uint64		scale = UINT64CONST(1) << 32;
	uint64		byfreq;
	uint64		bylength;

	/* f2 / (f2 + 1) - f1 / (f1 + 1), without overflow */
	byfreq = scale / (f1 + 1) - scale / (f2 + 1);
	/* slope f / (f + 1) ** 2, times ln 2 / 8 a step */
	bylength = (scale / (f2 + 1)) * (uint64) (l2 - l1) * 11 / 128;
	return Min(byfreq, bylength);
}

/* Replace two neighbours of the n pairs given; n is at least 2. */
static void
shorten(uint32 *freq, uint8 *len, int n)
{
	int			best = 0;
	uint64		bestcost = PG_UINT64_MAX;

	for (int i = 0; i + 1 < n; i++)
	{
		uint64		cost = merge_cost(freq[i], len[i],
									  freq[i + 1], len[i + 1]);

		if (cost < bestcost)
		{
			bestcost = cost;
			best = i;
		}
	}
	/* the higher frequency takes the smaller length; close the gap */
	freq[best] = freq[best + 1];
	for (int i = best + 1; i + 1 < n; i++)
	{
		freq[i] = freq[i + 1];
		len[i] = len[i + 1];
	}
}

/*
 * Add a pair that no pair of the list dominates (the general case of
 * snii_codec_impact_add): it replaces those that it dominates.
 */
void
snii_codec_impact_insert(SniiImpacts *impacts, uint32 freq, uint8 lencode)
{
	uint32		newfreq[SNII_IMPACT_MAX + 1];
	uint8		newlen[SNII_IMPACT_MAX + 1];
	int			n = 0;
	int			i = 0;

	/* smaller in both */
	for (; i < impacts->n && impacts->freq[i] <= freq &&
		 impacts->len[i] < lencode; i++)
	{
		newfreq[n] = impacts->freq[i];
		newlen[n++] = impacts->len[i];
	}
	newfreq[n] = freq;
	newlen[n++] = lencode;
	/* dominated by the new one */
	while (i < impacts->n && impacts->freq[i] <= freq)
		i++;
	/* greater in both */
	for (; i < impacts->n; i++)
	{
		newfreq[n] = impacts->freq[i];
		newlen[n++] = impacts->len[i];
	}
	if (n > SNII_IMPACT_MAX)
	{
		shorten(newfreq, newlen, n);
		n--;
	}
	memcpy(impacts->freq, newfreq, n * sizeof(uint32));
	memcpy(impacts->len, newlen, n * sizeof(uint8));
	impacts->n = n;
}

/* Make dst bound what src bounds, too. */
void
snii_codec_impact_merge(SniiImpacts *dst, const SniiImpacts *src)
{
	for (int i = 0; i < src->n; i++)
		snii_codec_impact_add(dst, src->freq[i], src->len[i]);
}

/*
 * Write a list; p has room for SNII_IMPACT_MAX_BYTES.  Returns the position
 * after it.
 */
uint8 *
snii_codec_impact_put(uint8 *p, const SniiImpacts *impacts)
{
	uint32		first;

	if (impacts->n == 0)
	{
		*p++ = 0;
		return p;
	}
	first = Min(impacts->freq[0], FREQ_ESCAPE);
	*p++ = (uint8) (impacts->n | (first << 3));
	if (first == FREQ_ESCAPE)
		p = snii_codec_put_varint32(p, impacts->freq[0] - FREQ_ESCAPE);
	*p++ = impacts->len[0];
	for (int i = 1; i < impacts->n; i++)
	{
		p = snii_codec_put_varint32(p, impacts->freq[i] -
									impacts->freq[i - 1] - 1);
		*p++ = impacts->len[i] - impacts->len[i - 1] - 1;
	}
	return p;
}

/* Read an increase by at least one; false when it ends or overflows. */
static bool
get_next_pair(const uint8 **p, const uint8 *end, SniiImpacts *impacts, int i)
{
	uint32		increase;
	uint64		freq;
	int			len;

	if (!snii_codec_get_varint32(p, end, &increase) || *p >= end)
		return false;
	freq = (uint64) impacts->freq[i - 1] + increase + 1;
	len = impacts->len[i - 1] + *(*p)++ + 1;
	if (freq > PG_UINT32_MAX || len > PG_UINT8_MAX)
		return false;
	impacts->freq[i] = (uint32) freq;
	impacts->len[i] = (uint8) len;
	return true;
}

/*
 * Read a list and advance *p past it.  Returns false when it is malformed or
 * does not end before end; *p and *impacts are then undefined.
 */
bool
snii_codec_impact_get(const uint8 **p, const uint8 *end,
					  SniiImpacts *impacts)
{
	uint32		rest = 0;
	uint8		head;

	if (*p >= end)
		return false;
	head = *(*p)++;
	impacts->n = head & 7;
	if (impacts->n > SNII_IMPACT_MAX || (impacts->n == 0 && head != 0))
		return false;
	if (impacts->n == 0)
		return true;
	if ((head >> 3) == FREQ_ESCAPE &&
		(!snii_codec_get_varint32(p, end, &rest) ||
		 rest > PG_UINT32_MAX - FREQ_ESCAPE))
		return false;
	if (*p >= end)
		return false;
	impacts->freq[0] = (head >> 3) + rest;
	impacts->len[0] = *(*p)++;
	for (int i = 1; i < impacts->n; i++)
	{
		if (!get_next_pair(p, end, impacts, i))
			return false;
	}
	return true;
}
