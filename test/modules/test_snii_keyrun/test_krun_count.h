/*-------------------------------------------------------------------------
 *
 * test_krun_count.h
 *	  Included before every source file of the module: counts allocations.
 *
 * What the functions of core allocate is not counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_KRUN_COUNT_H
#define TEST_KRUN_COUNT_H

#include "postgres.h"

#include "utils/memutils.h"

extern uint64 test_krun_allocations;

#define palloc(size) (test_krun_allocations++, palloc(size))
#define palloc0(size) (test_krun_allocations++, palloc0(size))
#define repalloc(p, size) (test_krun_allocations++, repalloc(p, size))
#define repalloc_huge(p, size) \
	(test_krun_allocations++, repalloc_huge(p, size))
#define MemoryContextAlloc(context, size) \
	(test_krun_allocations++, MemoryContextAlloc(context, size))
#define MemoryContextAllocZero(context, size) \
	(test_krun_allocations++, MemoryContextAllocZero(context, size))
#define MemoryContextAllocHuge(context, size) \
	(test_krun_allocations++, MemoryContextAllocHuge(context, size))

#endif							/* TEST_KRUN_COUNT_H */
