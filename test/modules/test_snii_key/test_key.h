/*-------------------------------------------------------------------------
 *
 * test_key.h
 *	  Rows of a table, encoded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_KEY_H
#define TEST_KEY_H

#include "key/key_desc.h"

#include "common/pg_prng.h"

typedef struct TestRow
{
	Datum	   *values;
	bool	   *isnull;
	ItemPointerData tid;
	uint8	   *str;			/* with TID */
	uint32		len;
	uint8	   *payload;
	uint32		payload_len;
} TestRow;

typedef struct TestRows
{
	Relation	heap;
	Relation	index;
	const SniiKeyDesc *desc;
	TestRow    *rows;
	int			nrows;
} TestRows;

/* Open an index and encode the rows of its table, and the opposite. */
extern void test_key_load(Oid index, TestRows *rows);
extern void test_key_unload(TestRows *rows);

/* Values of all columns of a table, from the first row to the last. */
extern int	test_key_table(Relation heap, TestRow **rows);

#endif							/* TEST_KEY_H */
