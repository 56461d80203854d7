/*-------------------------------------------------------------------------
 *
 * test_inv_compare.c
 *	  Compare all that the reader says of a segment with a corpus.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "codec/codec_length.h"
#include "inverted/inv_key.h"
#include "text/text_term.h"
#include "test_inv_corpus.h"

static uint32
pick(TestInvRandom *prng, uint32 low, uint32 high)
{
	return (uint32) test_inv_range(prng, low, high);
}

/* Is what no checker can verify compared? */
static bool compare_values = true;

/* ---------------- postings ---------------- */

/* One cursor on one term, and where it must be. */
typedef struct Walk
{
	const Corpus *corpus;
	const CorpusTerm *term;
	SniiInvSegment *seg;
	SniiInvCursor *cursor;
	uint64		at;				/* posting; df: exhausted */
} Walk;

static inline const CorpusPosting *
posting(const Walk *w, uint64 i)
{
	return &w->corpus->postings[w->term->postings + i];
}

static inline uint32
expected_doc(const Walk *w)
{
	return w->at < w->term->df ? posting(w, w->at)->doc : SNII_INV_NO_DOC;
}

/* First posting from the current one on that is not before target. */
static uint64
lower_bound(const Walk *w, uint32 target)
{
	uint64		low = w->at;
	uint64		high = w->term->df;

	while (low < high)
	{
		uint64		mid = (low + high) / 2;

		if (posting(w, mid)->doc < target)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
check_doc(Walk *w, uint32 doc, const char *how)
{
	CHECK(doc == expected_doc(w), "%s gave %u, not %u", how, doc,
		  expected_doc(w));
	CHECK(snii_inv_cursor_doc(w->cursor) == doc, "after %s", how);
}

static void
check_positions(Walk *w)
{
	const CorpusPosting *p = posting(w, w->at);
	uint32		n;
	const uint32 *positions = snii_inv_cursor_positions(w->cursor, &n);

	CHECK(n == p->freq, "%u positions, not %u", n, p->freq);
	CHECK(!compare_values ||
		  memcmp(positions, w->corpus->positions + p->positions,
				 n * sizeof(uint32)) == 0, "positions of document %u", p->doc);
}

/* Read some runs of positions; all of them if max is large. */
static void
check_runs(Walk *w, int max)
{
	const CorpusPosting *p = posting(w, w->at);
	const uint32 *run;
	uint32		done = 0;
	int			n = 0;

	while (max-- > 0 &&
		   (n = snii_inv_cursor_position_next(w->cursor, &run)) > 0)
	{
		CHECK(done + n <= p->freq, "run of %d after %u", n, done);
		CHECK(!compare_values ||
			  memcmp(run, w->corpus->positions + p->positions + done,
					 n * sizeof(uint32)) == 0, "run after %u", done);
		done += n;
	}
	CHECK(max >= 0 ? done == p->freq : done <= p->freq,
		  "%u positions, not %u", done, p->freq);
}

/*
 * Bounds of the first document from target on, which is not before the
 * current one: cover it, and no score of what they cover is above.
 */
static void
check_bound(Walk *w, uint32 target, bool super)
{
	SniiInvBound bound;
	uint64		i = lower_bound(w, target);
	bool		found;

	found = super ? snii_inv_cursor_super_bound(w->cursor, target, &bound) :
		snii_inv_cursor_bound(w->cursor, target, &bound);
	CHECK(found == (i < w->term->df), "bound on %u", target);
	if (!found)
		return;
	CHECK(bound.last >= posting(w, i)->doc, "bound on %u", target);
	CHECK((bound.impacts == NULL) == (w->term->df <= SNII_INV_WINDOW),
		  "impacts");
	for (; bound.impacts != NULL && i < w->term->df &&
		 posting(w, i)->doc <= bound.last; i++)
	{
		const CorpusPosting *p = posting(w, i);
		uint8		code = snii_codec_length_code(w->corpus->lengths
												  [w->term->key[0]][p->doc]);
		bool		covered = false;

		for (int j = 0; j < bound.impacts->n; j++)
			covered = covered || (bound.impacts->freq[j] >= p->freq &&
								  bound.impacts->len[j] <= code);
		CHECK(covered, "document %u exceeds its bound", p->doc);
	}
}

/* Whatever may be asked of the current document. */
static void
check_current(Walk *w, TestInvRandom *prng)
{
	const CorpusPosting *p;
	uint32		ahead;

	if (w->at >= w->term->df)
		return;
	p = posting(w, w->at);
	switch (pick(prng, 0, 7))
	{
		case 0:
			check_positions(w);
			break;
		case 1:
			check_runs(w, PG_INT32_MAX);
			check_positions(w);
			break;
		case 2:
			check_runs(w, 1);
			check_positions(w);
			check_positions(w);
			break;
		case 3:
			CHECK(snii_inv_cursor_freq(w->cursor) == p->freq, "frequency");
			break;
		case 4:
			/* ask ahead: must not move the cursor */
			ahead = pick(prng, 0, 10000);
			check_bound(w, p->doc + ahead, pick(prng, 0, 1));
			check_doc(w, snii_inv_cursor_doc(w->cursor), "bound");
			break;
		default:
			break;
	}
}

static void
begin_walk(Walk *w, const SniiInvTerm *term, int flags)
{
	w->cursor = snii_inv_cursor_open(w->seg, term, flags);
	w->at = 0;
}

/* All postings, one after the other. */
static void
walk_next(Walk *w, const SniiInvTerm *term, TestInvRandom *prng)
{
	begin_walk(w, term, SNII_INV_POSITIONS);
	check_doc(w, snii_inv_cursor_doc(w->cursor), "first");
	while (w->at < w->term->df)
	{
		check_positions(w);
		CHECK(snii_inv_cursor_freq(w->cursor) == posting(w, w->at)->freq,
			  "frequency");
		w->at++;
		check_doc(w, snii_inv_cursor_next(w->cursor), "next");
	}
	check_doc(w, snii_inv_cursor_next(w->cursor), "next after the last");
	check_doc(w, snii_inv_cursor_seek(w->cursor, 0), "seek after the last");
	snii_inv_cursor_close(w->cursor);
}

/* Windows as arrays, some of them skipped. */
static void
walk_windows(Walk *w, const SniiInvTerm *term, TestInvRandom *prng)
{
	const uint32 *docs;
	int			n;

	begin_walk(w, term, SNII_INV_FREQS);
	while ((n = snii_inv_cursor_window(w->cursor, &docs)) > 0)
	{
		const uint32 *freqs = snii_inv_cursor_window_freqs(w->cursor);

		CHECK(w->at + n <= w->term->df, "window of %d", n);
		for (int i = 0; i < n; i++)
			CHECK(docs[i] == posting(w, w->at + i)->doc &&
				  freqs[i] == posting(w, w->at + i)->freq, "window");
		w->at += n;
		check_doc(w, snii_inv_cursor_skip_window(w->cursor), "skip");
	}
	CHECK(w->at == w->term->df, "windows end early");
	snii_inv_cursor_close(w->cursor);
}

/* Random steps, seeks near and far, questions of all sorts between. */
static void
walk_random(Walk *w, const SniiInvTerm *term, TestInvRandom *prng)
{
	uint32		span = pick(prng, 0, 2) == 0 ? 50 :
	(uint32) w->corpus->ndocs / 4 + 1;

	begin_walk(w, term, SNII_INV_FREQS | SNII_INV_POSITIONS);
	if (pick(prng, 0, 1) == 0)
		check_bound(w, pick(prng, 0, (uint32) w->corpus->ndocs), false);
	while (w->at < w->term->df)
	{
		uint32		target;

		check_current(w, prng);
		switch (pick(prng, 0, 5))
		{
			case 0:
				w->at++;
				check_doc(w, snii_inv_cursor_next(w->cursor), "next");
				break;
			case 1:
				target = posting(w, w->at)->doc;
				target = target > 5 ? target - 5 : 0;
				check_doc(w, snii_inv_cursor_seek(w->cursor, target),
						  "seek backwards");
				break;
			default:
				target = posting(w, w->at)->doc + pick(prng, 0, span);
				w->at = lower_bound(w, target);
				check_doc(w, snii_inv_cursor_seek(w->cursor, target),
						  "seek");
				break;
		}
	}
	snii_inv_cursor_close(w->cursor);
}

/*
 * One document deep in a long list: one window is decoded, and no block of
 * positions more than the document has.
 */
static void
count_work(Walk *w, const SniiInvTerm *term, TestInvRandom *prng)
{
	SniiInvCounters before = snii_inv_counters;
	uint64		blocks;

	begin_walk(w, term, SNII_INV_POSITIONS);
	w->at = test_inv_range(prng, 0, w->term->df - 1);
	check_doc(w, snii_inv_cursor_seek(w->cursor, posting(w, w->at)->doc),
			  "seek");
	check_positions(w);
	blocks = posting(w, w->at)->freq / 128 + 2;
	if (term->form != SNII_INV_SINGLE)
		CHECK(snii_inv_counters.windows_decoded - before.windows_decoded == 1,
			  "windows decoded");
	CHECK(snii_inv_counters.position_blocks - before.position_blocks <=
		  blocks, "position blocks decoded");
	CHECK(snii_inv_counters.windows_skipped - before.windows_skipped ==
		  w->at / SNII_INV_WINDOW, "windows skipped");
	snii_inv_cursor_close(w->cursor);
}

static void
compare_postings(Walk *w, const SniiInvTerm *term, TestInvRandom *prng)
{
	walk_next(w, term, prng);
	walk_windows(w, term, prng);
	walk_random(w, term, prng);
	walk_random(w, term, prng);
	count_work(w, term, prng);
}

/* ---------------- dictionary ---------------- */

static bool
lookup(SniiInvSegment *seg, const uint8 *key, uint32 keylen,
	   SniiInvTerm *term)
{
	return snii_inv_lookup(seg, key[0], key[1], (const char *) key + 2,
						   keylen - 2, term);
}

/* Number of the first term not smaller than a key. */
static uint64
find_term(const Corpus *c, const uint8 *key, uint32 keylen)
{
	uint64		low = 0;
	uint64		high = c->nterms;

	while (low < high)
	{
		uint64		mid = (low + high) / 2;

		if (snii_inv_key_compare(c->terms[mid].key, c->terms[mid].keylen,
								 key, keylen) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool
has_term(const Corpus *c, const uint8 *key, uint32 keylen)
{
	uint64		i = find_term(c, key, keylen);

	return i < c->nterms &&
		snii_inv_key_compare(c->terms[i].key, c->terms[i].keylen,
							 key, keylen) == 0;
}

/* Keys near a term's: longer, shorter, a bit different, of another column. */
static void
compare_neighbours(SniiInvSegment *seg, const Corpus *c,
				   const CorpusTerm *term, TestInvRandom *prng)
{
	for (int how = 0; how < 4; how++)
	{
		uint8		key[SNII_INV_KEY_MAX];
		uint32		keylen = term->keylen;
		SniiInvTerm found;
		bool		have;

		memcpy(key, term->key, keylen);
		if (how == 0 && keylen < SNII_INV_KEY_MAX)
			key[keylen++] = 0;
		else if (how == 1 && keylen > 2)
			keylen--;
		else if (how == 2)
		{
			uint8	   *byte = &key[pick(prng, 1, keylen - 1)];

			*byte ^= 1 << pick(prng, 0, 7);
		}
		else
			key[0] = pick(prng, 0, CORPUS_COLUMNS);
		have = lookup(seg, key, keylen, &found);
		CHECK(have == has_term(c, key, keylen), "neighbour %d", how);
		snii_inv_term_release(&found);
	}
}

/* Look-ups of all terms, with their postings. */
static void
compare_terms(SniiInvSegment *seg, const Corpus *c, TestInvRandom *prng)
{
	uint64		copied = snii_inv_counters.dict_bytes_copied;
	Walk		w = {.corpus = c,.seg = seg};

	for (uint64 i = 0; i < c->nterms; i++)
	{
		const CorpusTerm *t = &c->terms[i];
		SniiInvTerm term;

		CHECK_FOR_INTERRUPTS();
		CHECK(lookup(seg, t->key, t->keylen, &term), "term " UINT64_FORMAT, i);
		CHECK(term.df == t->df && term.ttf == t->ttf &&
			  term.column == t->key[0], "term " UINT64_FORMAT, i);
		w.term = t;
		compare_postings(&w, &term, prng);
		snii_inv_term_release(&term);
		compare_neighbours(seg, c, t, prng);
	}
	CHECK(snii_inv_counters.dict_bytes_copied == copied, "look-ups copied");
}

/* The walk from a place on gives the terms from number i on. */
static void
compare_walk(SniiInvSegment *seg, const Corpus *c, SniiInvDict *dict,
			 uint64 i, uint64 most)
{
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen;
	SniiInvTerm term;
	SniiInvCursor *cursor;

	for (; i < c->nterms && most-- > 0; i++)
	{
		CHECK(snii_inv_dict_next(dict, key, &keylen, &term),
			  "term " UINT64_FORMAT, i);
		CHECK(snii_inv_key_compare(key, keylen, c->terms[i].key,
								   c->terms[i].keylen) == 0 &&
			  term.df == c->terms[i].df && term.ttf == c->terms[i].ttf,
			  "term " UINT64_FORMAT, i);
		/* a term that is kept outlives the walk's pin */
		snii_inv_dict_keep(dict, &term);
		cursor = snii_inv_cursor_open(seg, &term, 0);
		CHECK(snii_inv_cursor_doc(cursor) ==
			  c->postings[c->terms[i].postings].doc, "first document");
		snii_inv_cursor_close(cursor);
		snii_inv_term_release(&term);
	}
	if (i == c->nterms)
		CHECK(!snii_inv_dict_next(dict, key, &keylen, &term) &&
			  !snii_inv_dict_next(dict, key, &keylen, &term), "the end");
}

static void
compare_dictionary(SniiInvSegment *seg, const Corpus *c, TestInvRandom *prng)
{
	SniiInvDict *dict = snii_inv_dict_begin(seg);

	compare_walk(seg, c, dict, 0, PG_UINT64_MAX);
	for (int round = 0; round < 100; round++)
	{
		uint8		key[SNII_INV_KEY_MAX] = {0};
		uint32		keylen = 2;

		if (c->nterms > 0)
		{
			const CorpusTerm *t =
			&c->terms[test_inv_range(prng, 0, c->nterms - 1)];

			memcpy(key, t->key, t->keylen);
			keylen = pick(prng, 0, 1) ? t->keylen :
				pick(prng, 2, t->keylen);
			if (keylen < SNII_INV_KEY_MAX && pick(prng, 0, 2) == 0)
				key[keylen++] = pick(prng, 0, 255);
		}
		snii_inv_dict_seek(dict, key[0], key[1], (const char *) key + 2,
						   keylen - 2);
		compare_walk(seg, c, dict, find_term(c, key, keylen),
					 pick(prng, 0, 40));
	}
	snii_inv_dict_end(dict);
}

/* ---------------- documents ---------------- */

static void
compare_document(SniiInvSegment *seg, const Corpus *c, uint32 doc)
{
	ItemPointerData tid;

	snii_inv_tid(seg, doc, &tid);
	CHECK(!compare_values || ItemPointerEquals(&tid, &c->tids[doc]),
		  "TID of %u", doc);
	for (int i = 0; i < CORPUS_COLUMNS; i++)
	{
		CHECK(snii_inv_length(seg, i, doc) == c->lengths[i][doc],
			  "length of %u", doc);
		CHECK(snii_inv_is_null(seg, i, doc) == c->nulls[i][doc] ||
			  (!compare_values && c->lengths[i][doc] == 0),
			  "NULL in %u", doc);
	}
}

static void
compare_documents(SniiInvSegment *seg, const Corpus *c, TestInvRandom *prng)
{
	uint32		docs[100];
	ItemPointerData tids[100];
	int			n = 0;

	for (uint64 i = 0; i < c->ndocs; i++)
		compare_document(seg, c, (uint32) i);
	for (int i = 0; c->ndocs > 0 && i < 300; i++)
		compare_document(seg, c, pick(prng, 0, (uint32) c->ndocs - 1));
	for (uint64 doc = 0; doc < c->ndocs && n < 100;
		 doc += pick(prng, 1, 300))
		docs[n++] = (uint32) doc;
	snii_inv_tids(seg, docs, n, tids);
	for (int i = 0; i < n; i++)
		CHECK(!compare_values ||
			  ItemPointerEquals(&tids[i], &c->tids[docs[i]]), "TID");
	/* the whole bitmap is used from here on */
	for (int i = 0; i < CORPUS_COLUMNS; i++)
		snii_inv_nulls(seg, i);
	for (int i = 0; c->ndocs > 0 && i < 100; i++)
		compare_document(seg, c, pick(prng, 0, (uint32) c->ndocs - 1));
}

static void
compare_head(SniiInvSegment *seg, const Corpus *c)
{
	const SniiInvHead *head = snii_inv_head(seg);
	uint64		nterms[CORPUS_COLUMNS] = {0};
	uint64		sum_df[CORPUS_COLUMNS] = {0};

	for (uint64 i = 0; i < c->nterms; i++)
	{
		nterms[c->terms[i].key[0]]++;
		sum_df[c->terms[i].key[0]] += c->terms[i].df;
	}
	CHECK(head->ndocs == c->ndocs && head->nterms == c->nterms, "head");
	for (int i = 0; i < CORPUS_COLUMNS; i++)
	{
		uint64		sum = 0;
		uint64		nnulls = 0;

		for (uint64 doc = 0; doc < c->ndocs; doc++)
		{
			sum += c->lengths[i][doc];
			nnulls += c->nulls[i][doc];
		}
		CHECK(head->columns[i].sum_length == sum &&
			  head->columns[i].nnulls == nnulls &&
			  head->columns[i].ndocs == c->ndocs - nnulls &&
			  head->columns[i].nterms == nterms[i] &&
			  head->columns[i].sum_df == sum_df[i], "column %d", i);
	}
}

void
test_inv_compare(SniiObject *object, const Corpus *c, TestInvRandom *prng,
				 bool values)
{
	SniiInvSegment *seg = snii_inv_open(object, c->ndocs);

	compare_values = values;
	compare_head(seg, c);
	compare_terms(seg, c, prng);
	compare_dictionary(seg, c, prng);
	compare_documents(seg, c, prng);
	snii_inv_close(seg);
}
