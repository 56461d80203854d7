/*-------------------------------------------------------------------------
 *
 * codec_varint.h
 *	  Variable-length integers: 7 bits a byte, least significant first, the
 *	  high bit set on every byte but the last.
 *
 * Writers need SNII_VARINT32_MAX or SNII_VARINT64_MAX bytes of room and
 * return the position after what they wrote.  Readers return false, with
 * *p and *v untouched, when the bytes end too early, run past the maximal
 * length, or hold more bits than the type does.  Padded forms within the
 * maximal length (0x80 0x00 for 0) are read, but never written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_VARINT_H
#define SNII_CODEC_VARINT_H

#include "port/pg_bitutils.h"

#define SNII_VARINT32_MAX	5
#define SNII_VARINT64_MAX	10

static inline uint8 *
snii_codec_put_varint64(uint8 *p, uint64 v)
{
	while (v >= 0x80)
	{
		*p++ = (uint8) (v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8) v;
	return p;
}

static inline uint8 *
snii_codec_put_varint32(uint8 *p, uint32 v)
{
	while (v >= 0x80)
	{
		*p++ = (uint8) (v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8) v;
	return p;
}

/* Number of bytes that the writers above use for v: 1 to 10. */
static inline int
snii_codec_varint_size(uint64 v)
{
	return 1 + pg_leftmost_one_pos64(v | 1) / 7;
}

/*
 * The general case of both readers: at most maxlen bytes, of which the last
 * possible one may not exceed lastmax.
 */
static inline bool
snii_codec_get_varint_slow(const uint8 **p, const uint8 *end, int maxlen,
						   uint8 lastmax, uint64 *v)
{
	const uint8 *s = *p;
	uint64		r = 0;

	for (int i = 0; i < maxlen && s < end; i++)
	{
		uint8		b = *s++;

		if (i == maxlen - 1 && b > lastmax)
			return false;
		r |= (uint64) (b & 0x7F) << (7 * i);
		if (b < 0x80)
		{
			*v = r;
			*p = s;
			return true;
		}
	}
	return false;
}

static inline bool
snii_codec_get_varint32(const uint8 **p, const uint8 *end, uint32 *v)
{
	uint64		r;

	if (likely(*p < end && **p < 0x80))
	{
		*v = *(*p)++;
		return true;
	}
	if (!snii_codec_get_varint_slow(p, end, SNII_VARINT32_MAX, 0x0F, &r))
		return false;
	*v = (uint32) r;
	return true;
}

static inline bool
snii_codec_get_varint64(const uint8 **p, const uint8 *end, uint64 *v)
{
	if (likely(*p < end && **p < 0x80))
	{
		*v = *(*p)++;
		return true;
	}
	return snii_codec_get_varint_slow(p, end, SNII_VARINT64_MAX, 0x01, v);
}

/*
 * Zig-zag: signed to unsigned so that small magnitudes stay small
 * (0, -1, 1, -2 become 0, 1, 2, 3).
 */
static inline uint32
snii_codec_zigzag32(int32 v)
{
	return ((uint32) v << 1) ^ (v < 0 ? PG_UINT32_MAX : 0);
}

static inline int32
snii_codec_unzigzag32(uint32 v)
{
	return (int32) ((v >> 1) ^ ((v & 1) ? PG_UINT32_MAX : 0));
}

static inline uint64
snii_codec_zigzag64(int64 v)
{
	return ((uint64) v << 1) ^ (v < 0 ? PG_UINT64_MAX : 0);
}

static inline int64
snii_codec_unzigzag64(uint64 v)
{
	return (int64) ((v >> 1) ^ ((v & 1) ? PG_UINT64_MAX : 0));
}

#endif							/* SNII_CODEC_VARINT_H */
