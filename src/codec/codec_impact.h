/*-------------------------------------------------------------------------
 *
 * codec_impact.h
 *	  Upper bounds of scores: a short Pareto list of (frequency, length
 *	  code) pairs.
 *
 * For every posting (f, l) that was added, the list has a pair (F, L) with
 * F >= f and L <= l.  Hence the greatest score over the pairs bounds the
 * score of every posting, for any score that does not fall with the
 * frequency nor rise with the length, whatever its parameters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_IMPACT_H
#define SNII_CODEC_IMPACT_H

/* Largest number of pairs. */
#define SNII_IMPACT_MAX			6

/* Largest encoded list. */
#define SNII_IMPACT_MAX_BYTES	(1 + SNII_IMPACT_MAX * (5 + 1))

/*
 * Pairs 0 to n - 1, frequencies and length codes both strictly increasing,
 * so that no pair dominates another.
 */
typedef struct SniiImpacts
{
	int			n;
	uint32		freq[SNII_IMPACT_MAX];
	uint8		len[SNII_IMPACT_MAX];
} SniiImpacts;

extern void snii_codec_impact_insert(SniiImpacts *impacts, uint32 freq,
									 uint8 lencode);
extern void snii_codec_impact_merge(SniiImpacts *dst,
									const SniiImpacts *src);
extern uint8 *snii_codec_impact_put(uint8 *p, const SniiImpacts *impacts);
extern bool snii_codec_impact_get(const uint8 **p, const uint8 *end,
								  SniiImpacts *impacts);

/* Empty the list. */
static inline void
snii_codec_impact_reset(SniiImpacts *impacts)
{
	impacts->n = 0;
}

/*
 * Add a posting.  Nearly all are dominated by a pair that is there, which
 * is found here: the pairs of at least this frequency are the last ones,
 * and the first of those has the smallest length.
 */
static inline void
snii_codec_impact_add(SniiImpacts *impacts, uint32 freq, uint8 lencode)
{
	for (int i = 0; i < impacts->n; i++)
	{
		if (impacts->freq[i] >= freq)
		{
			if (impacts->len[i] <= lencode)
				return;
			break;
		}
	}
	snii_codec_impact_insert(impacts, freq, lencode);
}

#endif							/* SNII_CODEC_IMPACT_H */
