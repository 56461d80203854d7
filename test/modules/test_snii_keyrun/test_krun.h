/*-------------------------------------------------------------------------
 *
 * test_krun.h
 *	  What the tests of runs of key indexes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_KRUN_H
#define TEST_KRUN_H

#include "compat.h"

#include "key/key_run.h"
#include "lsm/lsm_kind.h"

/* Raise an error that shows where and why a property does not hold. */
#define CHECK(condition, ...) \
	do { \
		if (!(condition)) \
			test_krun_fail(#condition, __FILE__, __LINE__, \
						   psprintf(__VA_ARGS__)); \
	} while (0)

extern void test_krun_fail(const char *condition, const char *file, int line,
						   const char *details);

/* Random numbers (splitmix64): the same in every version of the server. */
typedef struct TestKrunRandom
{
	uint64		state;
} TestKrunRandom;

static inline uint64
test_krun_mix(uint64 z)
{
	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static inline uint64
test_krun_random(TestKrunRandom *prng)
{
	return test_krun_mix(prng->state += UINT64CONST(0x9E3779B97F4A7C15));
}

/* low <= the result <= high */
static inline uint64
test_krun_range(TestKrunRandom *prng, uint64 low, uint64 high)
{
	return low + test_krun_random(prng) % (high - low + 1);
}

typedef enum Shape
{
	SHAPE_RANDOM,
	SHAPE_SEQUENTIAL,
	SHAPE_DUPLICATES,			/* a handful of keys */
	SHAPE_PREFIX,				/* long, and different at the end */
	SHAPE_LONG,					/* any length, up to the longest */
	SHAPE_LONGEST				/* about as long as can be */
} Shape;

/* The index under test, emptied, and its slot; and what is to be in it. */
typedef struct Corpus
{
	Relation	index;
	SniiKeyDesc *desc;
	Shape		shape;
	TestKrunRandom prng;
	uint64		n;
	SniiKeyEntry *entries;		/* sorted */
} Corpus;

extern Shape test_krun_shape(const char *name);

/* Open and empty an index, and make n random entries for it. */
extern Corpus *test_krun_open(Oid indexid, uint64 seed, uint64 n,
							  const char *shape);
extern void test_krun_close(Corpus *c);

/*
 * Encode key "number" of a shape, without TID; appends.  Numbers of that
 * remainder by 50 are NULL, unless they are sequential.
 */
#define TEST_KRUN_NULL	17

extern void test_krun_key(const Corpus *c, uint64 number, SniiKeyBytes *key,
						  SniiKeyBytes *payload);

/* Write entries as a run that is published; returns its directory entry. */
extern SniiDirEntry test_krun_write(Corpus *c, const SniiKeyEntry *entries,
									uint64 n);

/* Publish what was written, and find its entry. */
extern SniiDirEntry test_krun_publish(Corpus *c, SniiObjectWriter *w,
									  uint64 n);

extern SniiObject *test_krun_object(Corpus *c, const SniiDirEntry *entry);

/* Checksum of all bytes of all streams but the marks. */
extern uint64 test_krun_checksum(const SniiObject *object);

extern const SniiKind *test_krun_kind(void);

/* A run has exactly these entries, by every way there is. */
extern void test_krun_verify(Corpus *c, const SniiDirEntry *entry,
							 const SniiKeyEntry *entries, uint64 n,
							 int nsearches);

static inline bool
test_krun_same(const SniiKeyEntry *a, const SniiKeyEntry *b)
{
	return a->len == b->len && memcmp(a->str, b->str, a->len) == 0 &&
		a->payload_len == b->payload_len &&
		(a->payload_len == 0 ||
		 memcmp(a->payload, b->payload, a->payload_len) == 0);
}

#endif							/* TEST_KRUN_H */
