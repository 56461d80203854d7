/*-------------------------------------------------------------------------
 *
 * test_inv.h
 *	  What the tests of inverted segments share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_INV_H
#define TEST_INV_H

#include "compat.h"

#include <math.h>

#include "storage/storage_object.h"
#include "utils/rel.h"

/* Raise an error that shows where and why a property does not hold. */
#define CHECK(condition, ...) \
	do { \
		if (!(condition)) \
			test_inv_fail(#condition, __FILE__, __LINE__, \
						  psprintf(__VA_ARGS__)); \
	} while (0)

extern void test_inv_fail(const char *condition, const char *file, int line,
						  const char *details);

/*
 * Random numbers (splitmix64).  Those of the server for the same seed are
 * others from 16 on, and expected outputs show what is made of them.
 */
typedef struct TestInvRandom
{
	uint64		state;
} TestInvRandom;

static inline void
test_inv_seed(TestInvRandom *prng, uint64 seed)
{
	prng->state = seed;
}

static inline uint64
test_inv_random(TestInvRandom *prng)
{
	uint64		z = (prng->state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 <= the result < 1 */
static inline double
test_inv_double(TestInvRandom *prng)
{
	return ldexp((double) (test_inv_random(prng) >> 11), -53);
}

/* low <= the result <= high */
static inline uint64
test_inv_range(TestInvRandom *prng, uint64 low, uint64 high)
{
	return low + test_inv_random(prng) % (high - low + 1);
}

/*
 * A table whose file is used as if it were an index: it gets the first pages
 * of an index if it is empty.
 */
extern Relation test_inv_open(Oid relid, int ncolumns,
							  const uint8 *analyzers);
extern void test_inv_close(Relation rel);

/* Checksum of all bytes of all streams of an inverted segment. */
extern uint64 test_inv_checksum(const SniiObject *object);

#endif							/* TEST_INV_H */
