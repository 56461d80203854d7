/*-------------------------------------------------------------------------
 *
 * codec_bytes.h
 *	  Little-endian loads and stores at any alignment.
 *
 * Every stored integer goes through these, so that the stored bytes are the
 * same on every machine.  The caller vouches for the bytes; nothing here
 * checks bounds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_BYTES_H
#define SNII_CODEC_BYTES_H

#include "port/pg_bswap.h"

#ifdef WORDS_BIGENDIAN
#define SNII_CODEC_LE16(x) pg_bswap16(x)
#define SNII_CODEC_LE32(x) pg_bswap32(x)
#define SNII_CODEC_LE64(x) pg_bswap64(x)
#else
#define SNII_CODEC_LE16(x) (x)
#define SNII_CODEC_LE32(x) (x)
#define SNII_CODEC_LE64(x) (x)
#endif

static inline uint16
snii_codec_load16(const uint8 *p)
{
	uint16		v;

	memcpy(&v, p, sizeof(v));
	return SNII_CODEC_LE16(v);
}

static inline uint32
snii_codec_load32(const uint8 *p)
{
	uint32		v;

	memcpy(&v, p, sizeof(v));
	return SNII_CODEC_LE32(v);
}

static inline uint64
snii_codec_load64(const uint8 *p)
{
	uint64		v;

	memcpy(&v, p, sizeof(v));
	return SNII_CODEC_LE64(v);
}

static inline void
snii_codec_store16(uint8 *p, uint16 v)
{
	v = SNII_CODEC_LE16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
snii_codec_store32(uint8 *p, uint32 v)
{
	v = SNII_CODEC_LE32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
snii_codec_store64(uint8 *p, uint64 v)
{
	v = SNII_CODEC_LE64(v);
	memcpy(p, &v, sizeof(v));
}

#endif							/* SNII_CODEC_BYTES_H */
