/*-------------------------------------------------------------------------
 *
 * test_codec.h
 *	  What the property tests share: random numbers and guarded bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_CODEC_H
#define TEST_CODEC_H

#include "common/pg_prng.h"

/* Raise an error that shows where and why a property does not hold. */
#define CHECK(condition, ...) \
	do { \
		if (!(condition)) \
			test_codec_fail(#condition, __FILE__, __LINE__, \
							psprintf(__VA_ARGS__)); \
	} while (0)

extern void test_codec_fail(const char *condition, const char *file,
							int line, const char *details);

/* Bytes at whose end the address space ends: touching more is a crash. */
extern uint8 *test_codec_room(size_t size);
extern const uint8 *test_codec_place(const uint8 *bytes, size_t size);

extern uint32 test_codec_random_bits(pg_prng_state *prng, int bits);
extern void test_codec_random_values(pg_prng_state *prng, uint32 *v, int n);

#endif							/* TEST_CODEC_H */
