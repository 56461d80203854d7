/*-------------------------------------------------------------------------
 *
 * test_inv_corpus.h
 *	  Random postings in memory: what a segment is compared with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_INV_CORPUS_H
#define TEST_INV_CORPUS_H

#include "inverted/inv_columns.h"
#include "inverted/inv_cursor.h"
#include "test_inv.h"

#define CORPUS_COLUMNS	3

typedef struct CorpusPosting
{
	uint32		doc;
	uint32		freq;
	uint64		positions;		/* place of the first one */
} CorpusPosting;

typedef struct CorpusTerm
{
	const uint8 *key;
	uint32		keylen;
	uint64		postings;		/* place of the first one */
	uint64		df;
	uint64		ttf;
} CorpusTerm;

/* Terms in the order of keys, their postings in that of documents. */
typedef struct Corpus
{
	uint64		ndocs;
	ItemPointerData *tids;
	uint32	   *lengths[CORPUS_COLUMNS];
	bool	   *nulls[CORPUS_COLUMNS];
	uint64		nterms;
	CorpusTerm *terms;
	uint64		npostings;
	uint64		maxpostings;
	CorpusPosting *postings;
	uint64		npositions;
	uint64		maxpositions;
	uint32	   *positions;
} Corpus;

extern const uint8 test_inv_analyzers[CORPUS_COLUMNS];

extern Corpus *test_inv_corpus(TestInvRandom *prng, uint64 ndocs,
							   uint64 nterms);
extern Corpus *test_inv_corpus_part(const Corpus *whole, uint64 from,
									uint64 to, const uint8 *dead);
extern SniiObject *test_inv_corpus_write(Relation rel, const Corpus *corpus,
										 const uint8 *dead, bool filter);
extern SniiObject *test_inv_publish(Relation rel, SniiObjectWriter *w,
									uint64 ndocs, const uint8 *dead);
extern BlockNumber test_inv_list_head(Relation rel, uint64 id);

/*
 * Compare a segment with a corpus; raises at the first difference.  Without
 * "values", TIDs, positions and whether a document without tokens is NULL are
 * read but not compared: nothing else in a segment tells of them, so no
 * checker can verify them.
 */
extern void test_inv_compare(SniiObject *object, const Corpus *corpus,
							 TestInvRandom *prng, bool values);

#endif							/* TEST_INV_CORPUS_H */
