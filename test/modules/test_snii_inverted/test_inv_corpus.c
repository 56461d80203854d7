/*-------------------------------------------------------------------------
 *
 * test_inv_corpus.c
 *	  Random postings in memory, and a segment of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "inverted/inv_key.h"
#include "inverted/inv_writer.h"
#include "storage/storage_alloc.h"
#include "storage/storage_directory.h"
#include "text/text_analyzer.h"
#include "text/text_term.h"
#include "test_inv_corpus.h"

const uint8 test_inv_analyzers[CORPUS_COLUMNS] = {
	SNII_ANALYZER_STANDARD, SNII_ANALYZER_WHITESPACE, SNII_ANALYZER_KEYWORD
};

/* ---------------- random parts ---------------- */

static uint32
pick(TestInvRandom *prng, uint32 low, uint32 high)
{
	return (uint32) test_inv_range(prng, low, high);
}

/* Bytes of a term: words with common beginnings, any bytes, the longest. */
static uint32
make_bytes(TestInvRandom *prng, uint8 *bytes)
{
	uint32		style = pick(prng, 0, 9);
	uint32		len;

	if (style < 6)
	{
		int			letters = pick(prng, 0, 24);

		return snprintf((char *) bytes, SNII_TERM_MAX, "%.*s%x",
						letters, "internationalisierungsbemuehung",
						pick(prng, 0, 0xFFFFF));
	}
	len = style < 9 ? pick(prng, 1, 20) : pick(prng, 200, SNII_TERM_MAX);
	for (uint32 i = 0; i < len; i++)
		bytes[i] = style == 9 ? 'a' + i % 3 :
			(pick(prng, 0, 3) ? pick(prng, 0, 255) : 0xFF);
	return len;
}

static int
compare_terms(const void *a, const void *b)
{
	const CorpusTerm *ta = a;
	const CorpusTerm *tb = b;

	return snii_inv_key_compare(ta->key, ta->keylen, tb->key, tb->keylen);
}

/* Keys, in order and each once. */
static void
make_keys(Corpus *c, TestInvRandom *prng, uint64 nterms)
{
	c->terms = palloc0((nterms + 1) * sizeof(CorpusTerm));
	for (uint64 i = 0; i < nterms; i++)
	{
		uint8	   *key = palloc(SNII_INV_KEY_MAX);

		key[0] = pick(prng, 0, 9) < 7 ? 0 : pick(prng, 1, 2);
		key[1] = pick(prng, 0, 19) == 0 ? SNII_TERM_LONG : SNII_TERM_PLAIN;
		c->terms[i].keylen = 2 + make_bytes(prng, key + 2);
		c->terms[i].key = key;
	}
	qsort(c->terms, nterms, sizeof(CorpusTerm), compare_terms);
	for (uint64 i = 0; i < nterms; i++)
	{
		if (c->nterms == 0 ||
			compare_terms(&c->terms[c->nterms - 1], &c->terms[i]) != 0)
			c->terms[c->nterms++] = c->terms[i];
	}
}

static uint32
random_frequency(TestInvRandom *prng, uint32 style)
{
	if (style == 0)
		return 1;
	switch (pick(prng, 0, style == 1 ? 30 : 3000))
	{
		case 0:
			return pick(prng, 100, 700);
		case 1:
		case 2:
			return pick(prng, 2, 40);
		case 3:
			return style == 1 ? 2 : pick(prng, 2000, 9000);
		default:
			return pick(prng, 1, 3);
	}
}

static void
add_position(Corpus *c, uint32 position)
{
	if (c->npositions == c->maxpositions)
	{
		c->maxpositions *= 2;
		c->positions = repalloc_huge(c->positions,
									 c->maxpositions * sizeof(uint32));
	}
	c->positions[c->npositions++] = position;
}

static void
add_posting(Corpus *c, CorpusTerm *term, uint32 doc)
{
	CorpusPosting *p;

	if (c->npostings == c->maxpostings)
	{
		c->maxpostings *= 2;
		c->postings = repalloc_huge(c->postings,
									c->maxpostings * sizeof(CorpusPosting));
	}
	p = &c->postings[c->npostings++];
	p->doc = doc;
	p->freq = 0;
	p->positions = c->npositions;
	term->df++;
}

/* Random positions of a new posting. */
static void
random_posting(Corpus *c, TestInvRandom *prng, CorpusTerm *term, uint32 doc,
			   uint32 style)
{
	uint32		freq = random_frequency(prng, style);
	uint32		range = pick(prng, 0, 9) == 0 ? 200000 : 20;
	uint32		position = pick(prng, 0, 5 * range);

	add_posting(c, term, doc);
	c->postings[c->npostings - 1].freq = freq;
	for (uint32 i = 0; i < freq; i++)
	{
		uint32		gap = pick(prng, 0, range);

		add_position(c, position);
		position += 1 + gap * pick(prng, 0, 1);
	}
	/* the largest position that there is */
	if (pick(prng, 0, 999) == 0)
		c->positions[c->npositions - 1] = SNII_INV_POSITION_MAX;
	term->ttf += freq;
	c->lengths[term->key[0]][doc] += freq;
}

/* Postings of a term: one, a few, a window, many, nearly all, clustered. */
static void
make_postings(Corpus *c, TestInvRandom *prng, CorpusTerm *term)
{
	uint32		kind = pick(prng, 0, 99);
	uint32		style = pick(prng, 0, 2);
	double		density;
	uint64		doc = pick(prng, 0, c->ndocs - 1);

	term->postings = c->npostings;
	if (kind < 45)
		density = 0;
	else if (kind < 70)
		density = 5.0 / c->ndocs;
	else if (kind < 85)
		density = 100.0 / c->ndocs;
	else if (kind < 97)
		density = test_inv_double(prng) * 0.3;
	else
		density = 0.97;
	density = Min(density, 0.97);
	if (density > 0)
		doc = pick(prng, 0, Min(c->ndocs - 1, (uint64) (2 / density)));
	while (doc < c->ndocs)
	{
		if (!c->nulls[term->key[0]][doc])
			random_posting(c, prng, term, (uint32) doc, style);
		if (density == 0)
			break;
		doc += 1 + (uint64) (test_inv_double(prng) * 2 * (1 / density - 1));
		if (kind == 90 && pick(prng, 0, 50) == 0)
			doc += c->ndocs / 20;
	}
}

/* An empty corpus with room for its documents. */
static Corpus *
begin_corpus(uint64 ndocs)
{
	Corpus	   *c = palloc0(sizeof(Corpus));

	c->ndocs = ndocs;
	c->tids = palloc0((ndocs + 1) * sizeof(ItemPointerData));
	for (int i = 0; i < CORPUS_COLUMNS; i++)
	{
		c->lengths[i] = palloc0((ndocs + 1) * sizeof(uint32));
		c->nulls[i] = palloc0((ndocs + 1) * sizeof(bool));
	}
	c->maxpostings = c->maxpositions = 1024;
	c->postings = palloc(c->maxpostings * sizeof(CorpusPosting));
	c->positions = palloc(c->maxpositions * sizeof(uint32));
	return c;
}

/*
 * Random documents and terms; about nterms, without those that got no
 * posting.  The second column often has NULLs, the third has none.
 */
Corpus *
test_inv_corpus(TestInvRandom *prng, uint64 ndocs, uint64 nterms)
{
	Corpus	   *c = begin_corpus(ndocs);
	uint64		n = 0;

	for (uint64 doc = 0; doc < ndocs; doc++)
	{
		/* a macro up to 15, which evaluates its arguments more than once */
		BlockNumber block = doc / 20 * (1 + pick(prng, 0, 1) * 1000);
		OffsetNumber offset = 1 + pick(prng, 0, 290);

		ItemPointerSet(&c->tids[doc], block, offset);
		c->nulls[0][doc] = pick(prng, 0, 9) == 0;
		c->nulls[1][doc] = pick(prng, 0, 1) == 0;
	}
	make_keys(c, prng, nterms);
	for (uint64 i = 0; i < c->nterms; i++)
	{
		CHECK_FOR_INTERRUPTS();
		make_postings(c, prng, &c->terms[i]);
		if (c->terms[i].df > 0)
			c->terms[n++] = c->terms[i];
	}
	c->nterms = n;
	return c;
}

static inline bool
is_set(const uint8 *bits, uint64 i)
{
	return bits != NULL && ((bits[i / 8] >> (i % 8)) & 1) != 0;
}

/* Documents from .. to - 1 whose bit in dead (of the whole) is not set. */
Corpus *
test_inv_corpus_part(const Corpus *whole, uint64 from, uint64 to,
					 const uint8 *dead)
{
	uint32	   *number = palloc((whole->ndocs + 1) * sizeof(uint32));
	Corpus	   *c = begin_corpus(to - from);
	uint64		n = 0;

	for (uint64 doc = 0; doc < whole->ndocs; doc++)
	{
		number[doc] = SNII_INV_NO_DOC;
		if (doc < from || doc >= to || is_set(dead, doc))
			continue;
		c->tids[n] = whole->tids[doc];
		for (int i = 0; i < CORPUS_COLUMNS; i++)
		{
			c->lengths[i][n] = whole->lengths[i][doc];
			c->nulls[i][n] = whole->nulls[i][doc];
		}
		number[doc] = n++;
	}
	c->ndocs = n;
	c->terms = palloc0((whole->nterms + 1) * sizeof(CorpusTerm));
	for (uint64 i = 0; i < whole->nterms; i++)
	{
		const CorpusTerm *old = &whole->terms[i];
		CorpusTerm *term = &c->terms[c->nterms];

		term->key = old->key;
		term->keylen = old->keylen;
		term->postings = c->npostings;
		term->df = term->ttf = 0;
		for (uint64 j = 0; j < old->df; j++)
		{
			const CorpusPosting *p = &whole->postings[old->postings + j];

			if (number[p->doc] == SNII_INV_NO_DOC)
				continue;
			add_posting(c, term, number[p->doc]);
			c->postings[c->npostings - 1].freq = p->freq;
			for (uint32 k = 0; k < p->freq; k++)
				add_position(c, whole->positions[p->positions + k]);
			term->ttf += p->freq;
		}
		if (term->df > 0)
			c->nterms++;
	}
	return c;
}

/* ---------------- writing ---------------- */

/* Finish an object, put it into the directory and open it. */
SniiObject *
test_inv_publish(Relation rel, SniiObjectWriter *w, uint64 ndocs,
				 const uint8 *dead)
{
	SniiObjectRef ref;
	SniiDirEntry entry = {0};
	SniiSwap	swap = {0};

	snii_storage_append_marks(w, ndocs, dead);
	snii_storage_writer_finish(w, &ref);
	entry.id = ref.id;
	entry.kind = SNII_ENTRY_SEGMENT;
	entry.list_head = ref.list_head;
	entry.list_tail = ref.list_tail;
	entry.npages = ref.npages;
	entry.ndocs = ndocs;
	entry.side_head = InvalidBlockNumber;
	swap.slot = SNII_SLOT_FLUSH;
	swap.add = &entry;
	snii_storage_swap(rel, &swap);
	return snii_storage_object_open(rel, ref.id, ref.list_head);
}

/* Where the list of a published object begins. */
BlockNumber
test_inv_list_head(Relation rel, uint64 id)
{
	SniiDirCopy *dir = palloc(sizeof(SniiDirCopy));

	snii_storage_dir_read(rel, dir, NULL);
	for (int i = 0; i < dir->nentries; i++)
	{
		if (dir->entries[i].id == id)
			return dir->entries[i].list_head;
	}
	elog(ERROR, "object " UINT64_FORMAT " is not in the directory", id);
}

/* Write a corpus as a segment, by the writer alone. */
SniiObject *
test_inv_corpus_write(Relation rel, const Corpus *c, const uint8 *dead,
					  bool filter)
{
	SniiObjectWriter *w = snii_storage_writer_begin(rel, SNII_SLOT_FLUSH);
	SniiInvWriter *iw;

	iw = snii_inv_writer_begin(rel, w, CORPUS_COLUMNS, test_inv_analyzers,
							   filter ? c->nterms + 1 : 0);
	for (uint64 doc = 0; doc < c->ndocs; doc++)
	{
		uint32		lengths[CORPUS_COLUMNS];
		bool		nulls[CORPUS_COLUMNS];

		for (int i = 0; i < CORPUS_COLUMNS; i++)
		{
			lengths[i] = c->lengths[i][doc];
			nulls[i] = c->nulls[i][doc];
		}
		snii_inv_writer_doc(iw, &c->tids[doc], lengths, nulls);
	}
	for (uint64 i = 0; i < c->nterms; i++)
	{
		const CorpusTerm *t = &c->terms[i];

		snii_inv_writer_term(iw, t->key[0], t->key[1], t->key + 2,
							 t->keylen - 2);
		for (uint64 j = 0; j < t->df; j++)
		{
			const CorpusPosting *p = &c->postings[t->postings + j];

			snii_inv_writer_posting(iw, p->doc);
			snii_inv_writer_positions(iw, c->positions + p->positions,
									  p->freq);
		}
	}
	snii_inv_writer_finish(iw);
	return test_inv_publish(rel, w, c->ndocs, dead);
}
