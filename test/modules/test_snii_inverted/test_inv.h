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

#include "common/pg_prng.h"

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
 * A random number in low .. high.  The server's function of this kind gives
 * other numbers from 16 on.
 */
static inline uint64
test_inv_range(pg_prng_state *prng, uint64 low, uint64 high)
{
	return low + pg_prng_uint64(prng) % (high - low + 1);
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
