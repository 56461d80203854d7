/*-------------------------------------------------------------------------
 *
 * test_query.h
 *	  A segment in memory, behind the interface of the segment reader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_QUERY_H
#define TEST_QUERY_H

#include "common/pg_prng.h"
#include "inverted/inv_dict.h"

#define TEST_COLUMNS	2

typedef struct TestToken
{
	uint32		word;
	uint32		position;
} TestToken;

typedef struct TestField
{
	bool		null;
	int			n;
	TestToken  *tokens;			/* by position */
} TestField;

/* What is open and what was done. */
typedef struct TestCounters
{
	int			cursors;
	int			terms;
	int			lookups;
} TestCounters;

extern TestCounters test_query_counters;

/* fields: TEST_COLUMNS for each document */
extern SniiInvSegment *test_query_segment(pg_prng_state *random, int ndocs,
										  int nwords, TestField *fields);

/* A word as a dictionary key: the address of its number. */
extern const char *test_query_word(uint32 word);

#endif							/* TEST_QUERY_H */
