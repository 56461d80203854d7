/*-------------------------------------------------------------------------
 *
 * test_lsm.h
 *	  A trivial kind of index, (value, TID) in the order of arrival, to test
 *	  storage/ and lsm/ with.
 *
 * A record is one byte (1: a value follows, 0: NULL) and the value.  A
 * segment has three streams: TIDs, the end of each record in the third
 * stream, and the records.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_LSM_H
#define TEST_LSM_H

#include "lsm/lsm_kind.h"

#define TEST_STREAM_TIDS		(SNII_STREAM_KIND + 0)
#define TEST_STREAM_ENDS		(SNII_STREAM_KIND + 1)
#define TEST_STREAM_RECORDS		(SNII_STREAM_KIND + 2)

extern const SniiKind test_lsm_kind;

/* Settings. */
extern char *test_lsm_hold;
extern char *test_lsm_fail;
extern char *test_lsm_crash;
extern int	test_lsm_hold_key;
extern bool test_lsm_barrier;

/* Add a document to a segment being written. */
extern void test_lsm_add(SniiObjectWriter *w, const SniiRecord *record);

/* Reader of the documents of a segment, in order. */
typedef struct TestSegment
{
	uint64		ndocs;
	uint64		next;
	uint64		end;			/* of the record before */
	SniiStreamReader tids;
	SniiStreamReader ends;
	SniiStreamReader records;
} TestSegment;

extern void test_lsm_open(TestSegment *s, SniiObject *object, uint64 ndocs);
extern bool test_lsm_next(TestSegment *s, SniiRecord *record);
extern void test_lsm_close(TestSegment *s);

/* The kind with an order, its insertion, and a reader of its open stretches. */
typedef struct TestLeaves TestLeaves;

extern const SniiKind *test_lsm_ordered_kind(void);
extern void test_lsm_ordered_insert(Relation index, Relation heap,
									const SniiRecord *record);

/* Records that may have a key (NULL: all); the key is not copied. */
extern TestLeaves *test_lsm_leaves(const SniiDirEntry *stretch,
								   const uint8 *key, size_t len);
extern bool test_lsm_leaves_next(Relation index, TestLeaves *leaves,
								 SniiRecord *record);

/* Callbacks of the access method that are in a file of their own. */
extern void test_lsm_scan_methods(void *amroutine);

#endif							/* TEST_LSM_H */
