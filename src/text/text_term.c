/*-------------------------------------------------------------------------
 *
 * text_term.c
 *	  The dictionary key of a token.
 *
 * A token of at most SNII_TERM_MAX bytes is its own term.  A longer one is
 * known by its first SNII_TERM_LONG_PREFIX bytes and a 128-bit hash of all
 * its bytes, under a kind of its own, so that no plain token can be equal to
 * it.  Such a term answers equality and, up to the length of the kept prefix,
 * prefix questions; its full text is not in the dictionary.
 *
 * Two long tokens become one term only if they agree in the first 256 bytes
 * and in both 64-bit hashes.  With n distinct long tokens of one prefix the
 * odds are about n^2 / 2^129: for a billion of them 2e-21.  hash_bytes is not
 * cryptographic: who sets out to can construct a collision, and gains that a
 * search for one of his two documents also finds the other.
 *
 * The hash is part of the on-disk format.  hash_bytes_extended gives the
 * same value on every platform of one endianness, which is what a data
 * directory is bound to anyway.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "port/pg_bswap.h"
#include "text/text_term.h"

/* Seeds of the two halves of the hash: part of the on-disk format. */
#define SNII_TERM_SEED_HIGH		UINT64CONST(0x736e69692d746d31)
#define SNII_TERM_SEED_LOW		UINT64CONST(0x9e3779b97f4a7c15)

/* Writes hash as eight bytes, most significant first. */
static void
put_big_endian(uint8 *dest, uint64 hash)
{
	hash = pg_hton64(hash);
	memcpy(dest, &hash, sizeof(hash));
}

/*
 * Computes the term of a token and returns its kind.
 *
 * buf has room for SNII_TERM_MAX bytes and is used for long tokens only: a
 * plain term is returned as a pointer to the token itself.  Raises nothing.
 */
int
snii_text_term(const char *bytes, uint32 len, uint8 *buf,
			   const char **term, uint32 *term_len)
{
	const unsigned char *key = (const unsigned char *) bytes;

	if (likely(len <= SNII_TERM_MAX))
	{
		*term = bytes;
		*term_len = len;
		return SNII_TERM_PLAIN;
	}
	memcpy(buf, bytes, SNII_TERM_LONG_PREFIX);
	put_big_endian(buf + SNII_TERM_LONG_PREFIX,
				   hash_bytes_extended(key, (int) len, SNII_TERM_SEED_HIGH));
	put_big_endian(buf + SNII_TERM_LONG_PREFIX + sizeof(uint64),
				   hash_bytes_extended(key, (int) len, SNII_TERM_SEED_LOW));
	*term = (const char *) buf;
	*term_len = SNII_TERM_LONG_SIZE;
	return SNII_TERM_LONG;
}
