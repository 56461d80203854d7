/*-------------------------------------------------------------------------
 *
 * test_codec.c
 *	  What the property tests share: random numbers and guarded bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fmgr.h"

#include "test_codec.h"

PG_MODULE_MAGIC;

#define GUARDED_PAGES	4

void
test_codec_fail(const char *condition, const char *file, int line,
				const char *details)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("property does not hold: %s", condition),
			 errdetail("%s, at %s:%d.", details, file, line)));
}

/*
 * Some bytes that end where unmapped memory begins.  All calls share one
 * area, which lives as long as the process.
 */
uint8 *
test_codec_room(size_t size)
{
	static uint8 *guard = NULL;
	size_t		page = sysconf(_SC_PAGESIZE);

	if (guard == NULL)
	{
		uint8	   *area = mmap(NULL, (GUARDED_PAGES + 1) * page,
								PROT_READ | PROT_WRITE,
								MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED ||
			mprotect(area + GUARDED_PAGES * page, page, PROT_NONE) != 0)
			elog(ERROR, "could not map a guarded area: %m");
		guard = area + GUARDED_PAGES * page;
	}
	if (size > GUARDED_PAGES * page)
		elog(ERROR, "guarded area has no room for %zu bytes", size);
	return guard - size;
}

/* Copy bytes so that they end where unmapped memory begins. */
const uint8 *
test_codec_place(const uint8 *bytes, size_t size)
{
	uint8	   *room = test_codec_room(size);

	memcpy(room, bytes, size);
	return room;
}

/* A value of at most that many bits (0 to 32). */
uint32
test_codec_random_bits(pg_prng_state *prng, int bits)
{
	return (uint32) (pg_prng_uint64(prng) & ((UINT64CONST(1) << bits) - 1));
}

/*
 * Values of a shape that is itself random: a common width, with a share of
 * outliers of any width, now and then all equal or increasing.
 */
void
test_codec_random_values(pg_prng_state *prng, uint32 *v, int n)
{
	int			bits = pg_prng_uint64_range(prng, 0, 32);
	int			outliers = pg_prng_uint64_range(prng, 0, 40);
	int			shape = pg_prng_uint64_range(prng, 0, 9);
	uint32		base = test_codec_random_bits(prng, bits);

	for (int i = 0; i < n; i++)
	{
		if (shape == 0)
			v[i] = base;
		else if (shape == 1)
			v[i] = base + i;
		else if (outliers < 30 &&
				 pg_prng_uint64_range(prng, 0, 99) < outliers)
			v[i] = test_codec_random_bits(prng,
										  pg_prng_uint64_range(prng, 0, 32));
		else
			v[i] = test_codec_random_bits(prng, bits);
	}
}
