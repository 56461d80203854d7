/*-------------------------------------------------------------------------
 *
 * inv_merge.c
 *	  Make one segment out of several, leaving dead documents out.
 *
 * The live documents of the inputs, one input after the other, are numbered
 * anew: a document's new number is that of the input's first one plus its
 * rank among the live ones of its input.  The rank is looked up in a table of
 * the live documents before every 64th, which costs half a bit a document.
 * Then the dictionaries are walked side by side; since inputs keep their
 * order, the posting lists of a term are one after the other and nothing is
 * sorted.  A term is begun with its first live posting, so that terms of dead
 * documents vanish.
 *
 * Nothing is tokenised, and all bytes are made by inv_writer.c: a merge
 * writes what building the live documents at once would.  Memory: the table,
 * the marks, and a few pages for each input; nothing is allocated for a
 * posting, and one position block at a time is decoded however large a
 * document is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "codec/codec_bytes.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_cursor.h"
#include "inverted/inv_key.h"
#include "inverted/inv_merge.h"
#include "inverted/inv_writer.h"
#include "storage/storage_object.h"
#include "storage/storage_page.h"

/* Terms after which the memory of their cursors is given back. */
#define TERMS_PER_RESET		1024

/* Documents a word of the rank table. */
#define RANK_WORD			64

/* One input of the merge. */
typedef struct Source
{
	SniiInvSegment *seg;
	uint64		ndocs;
	uint32		base;			/* new number of its first live document */
	uint64	   *dead;			/* bits of dead documents, or NULL: none */
	uint32	   *rank;			/* live documents before each word */
	SniiInvDict *dict;
	SniiInvTerm term;			/* current term */
	uint32		keylen;
	uint8		key[SNII_INV_KEY_MAX];
} Source;

typedef struct Merge
{
	SniiMemReporter *mem;		/* counts the writer */
	SniiInvWriter *writer;
	int			nsources;
	Source	   *sources;
	binaryheap *heap;			/* numbers of the sources that have a term */
	uint64		ndocs;			/* live documents */
	MemoryContext cursors;		/* reset every so many terms */
} Merge;

/* ---------------- documents ---------------- */

/* Copy the marks into words, and count the live documents before each. */
static uint64
load_marks(Source *s, const SniiMergeInput *input)
{
	uint64		nwords = (s->ndocs + RANK_WORD - 1) / RANK_WORD;
	uint64		nbytes = (s->ndocs + 7) / 8;
	uint64		live = 0;

	if (input->marks == NULL)
		return s->ndocs;
	s->dead = MemoryContextAllocHuge(CurrentMemoryContext,
									 (nwords + 1) * sizeof(uint64));
	s->rank = MemoryContextAllocHuge(CurrentMemoryContext,
									 (nwords + 1) * sizeof(uint32));
	for (uint64 i = 0; i < nwords; i++)
	{
		uint8		bytes[8] = {0};
		int			ndocs = Min(RANK_WORD, s->ndocs - i * RANK_WORD);

		memcpy(bytes, input->marks + i * 8, Min(8, nbytes - i * 8));
		s->dead[i] = snii_codec_load64(bytes);
		if (ndocs < RANK_WORD)
			s->dead[i] &= (UINT64CONST(1) << ndocs) - 1;
		s->rank[i] = (uint32) live;
		live += ndocs - pg_popcount64(s->dead[i]);
	}
	return live;
}

static inline bool
is_dead(const Source *s, uint32 doc)
{
	return s->dead != NULL &&
		((s->dead[doc / RANK_WORD] >> (doc % RANK_WORD)) & 1) != 0;
}

/* New number of a live document. */
static inline uint32
new_number(const Source *s, uint32 doc)
{
	uint64		before;

	if (s->dead == NULL)
		return s->base + doc;
	before = (UINT64CONST(1) << (doc % RANK_WORD)) - 1;
	return s->base + s->rank[doc / RANK_WORD] +
		pg_popcount64(~s->dead[doc / RANK_WORD] & before);
}

/* Give the live documents of a source to the writer. */
static void
add_documents(Merge *m, Source *s, int ncolumns)
{
	uint32		lengths[SNII_MAX_COLUMNS];
	bool		nulls[SNII_MAX_COLUMNS];
	const uint8 *bitmaps[SNII_MAX_COLUMNS];

	for (int i = 0; i < ncolumns; i++)
		bitmaps[i] = snii_inv_nulls(s->seg, i);
	for (uint64 doc = 0; doc < s->ndocs; doc++)
	{
		ItemPointerData tid;

		if (doc % SNII_INV_GROUP == 0)
			snii_storage_poll();
		if (is_dead(s, (uint32) doc))
			continue;
		snii_inv_tid(s->seg, (uint32) doc, &tid);
		for (int i = 0; i < ncolumns; i++)
		{
			lengths[i] = snii_inv_length(s->seg, i, (uint32) doc);
			nulls[i] = bitmaps[i] != NULL &&
				((bitmaps[i][doc / 8] >> (doc % 8)) & 1) != 0;
		}
		snii_inv_writer_doc(m->writer, &tid, lengths, nulls);
	}
}

/* ---------------- terms ---------------- */

/* Order of sources: by key, then by place; the heap has the greatest first. */
static int
compare_sources(Datum a, Datum b, void *arg)
{
	const Merge *m = arg;
	const Source *sa = &m->sources[DatumGetInt32(a)];
	const Source *sb = &m->sources[DatumGetInt32(b)];
	int			cmp = snii_inv_key_compare(sb->key, sb->keylen,
										   sa->key, sa->keylen);

	return cmp != 0 ? cmp : DatumGetInt32(b) - DatumGetInt32(a);
}

/* Add the positions of a cursor's current document. */
static inline void
add_positions(Merge *m, SniiInvCursor *c)
{
	const uint32 *run;
	int			n;

	while ((n = snii_inv_cursor_position_next(c, &run)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		snii_inv_writer_positions(m->writer, run, n);
	}
}

/*
 * Add the live postings of a source's current term, and before the first one
 * the term, unless that was done.  Returns whether it now is.
 */
static bool
add_postings(Merge *m, Source *s, bool begun)
{
	MemoryContext old = MemoryContextSwitchTo(m->cursors);
	SniiInvCursor *c = snii_inv_cursor_open(s->seg, &s->term,
											SNII_INV_FREQS |
											SNII_INV_POSITIONS);
	uint64		n = 0;

	MemoryContextSwitchTo(old);
	for (uint32 doc = snii_inv_cursor_doc(c); doc != SNII_INV_NO_DOC;
		 doc = snii_inv_cursor_next(c))
	{
		if (++n % SNII_INV_WINDOW == 0)
			snii_storage_poll();
		if (is_dead(s, doc))
			continue;
		if (!begun)
			snii_inv_writer_term(m->writer, s->key[0], s->key[1],
								 s->key + 2, s->keylen - 2);
		begun = true;
		snii_inv_writer_posting(m->writer, new_number(s, doc));
		add_positions(m, c);
	}
	snii_inv_cursor_close(c);
	return begun;
}

/* Step a source that is at the top of the heap. */
static void
step_top(Merge *m, Source *s)
{
	if (snii_inv_dict_next(s->dict, s->key, &s->keylen, &s->term))
		binaryheap_replace_first(m->heap, Int32GetDatum(s - m->sources));
	else
		binaryheap_remove_first(m->heap);
}

/* Add the smallest term, of all sources that have it. */
static void
add_term(Merge *m)
{
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen;
	Source	   *s = &m->sources[DatumGetInt32(binaryheap_first(m->heap))];
	bool		begun = false;

	keylen = s->keylen;
	memcpy(key, s->key, keylen);
	do
	{
		begun = add_postings(m, s, begun);
		step_top(m, s);
		if (binaryheap_empty(m->heap))
			break;
		s = &m->sources[DatumGetInt32(binaryheap_first(m->heap))];
	} while (snii_inv_key_compare(key, keylen, s->key, s->keylen) == 0);
}

/* Walk all dictionaries side by side. */
static void
add_terms(Merge *m)
{
	m->heap = binaryheap_allocate(m->nsources, compare_sources, m);
	for (int i = 0; i < m->nsources; i++)
	{
		Source	   *s = &m->sources[i];

		s->dict = snii_inv_dict_begin(s->seg);
		if (snii_inv_dict_next(s->dict, s->key, &s->keylen, &s->term))
			binaryheap_add_unordered(m->heap, Int32GetDatum(i));
	}
	binaryheap_build(m->heap);
	for (uint64 n = 1; !binaryheap_empty(m->heap); n++)
	{
		add_term(m);
		if (n % TERMS_PER_RESET == 0)
			MemoryContextReset(m->cursors);
	}
	for (int i = 0; i < m->nsources; i++)
		snii_inv_dict_end(m->sources[i].dict);
	binaryheap_free(m->heap);
}

/* ---------------- the merge ---------------- */

/* Open the inputs; all must be of the same index. */
static void
open_sources(Merge *m, Relation index, SniiMergeInput *inputs)
{
	m->sources = palloc0(m->nsources * sizeof(Source));
	for (int i = 0; i < m->nsources; i++)
	{
		Source	   *s = &m->sources[i];
		const SniiInvHead *head;
		const SniiInvHead *first;

		s->seg = snii_inv_open(inputs[i].object, inputs[i].ndocs);
		s->ndocs = inputs[i].ndocs;
		s->base = (uint32) m->ndocs;
		m->ndocs += load_marks(s, &inputs[i]);
		if (m->ndocs > SNII_INV_DOC_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("a segment cannot hold more than %u documents",
							SNII_INV_DOC_MAX)));
		head = snii_inv_head(s->seg);
		first = snii_inv_head(m->sources[0].seg);
		for (int c = 0; c < first->ncolumns; c++)
		{
			if (head->ncolumns != first->ncolumns ||
				head->columns[c].analyzer != first->columns[c].analyzer)
				snii_storage_corrupted(index, InvalidBlockNumber,
									   "segments to merge have different columns");
		}
	}
}

/* Begin the output like the first input. */
static void
begin_output(Merge *m, Relation index, SniiObjectWriter *w)
{
	const SniiInvHead *head = snii_inv_head(m->sources[0].seg);
	uint8		analyzers[SNII_MAX_COLUMNS];
	uint64		nterms = 0;

	for (int c = 0; c < head->ncolumns; c++)
		analyzers[c] = head->columns[c].analyzer;
	for (int i = 0; i < m->nsources; i++)
		nterms += snii_inv_head(m->sources[i].seg)->nterms;
	m->mem = snii_mem_reporter_begin(NULL, RelationGetRelid(index), 0);
	m->writer = snii_inv_writer_begin(index, w, head->ncolumns, analyzers,
									  nterms);
	snii_inv_writer_account(m->writer, m->mem);
}

/*
 * Write one segment of the live documents of the inputs, in their order.
 * Returns the number of documents.  See SniiKind.merge.
 */
uint64
snii_inv_kind_merge(Relation index, SniiObjectWriter *w,
					SniiMergeInput *inputs, int ninputs)
{
	MemoryContext context;
	MemoryContext old;
	Merge		m = {0};
	uint64		ndocs;

	if (ninputs < 1)
		elog(ERROR, "nothing to merge");
	context = AllocSetContextCreate(CurrentMemoryContext,
									"snii merge of segments",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	m.nsources = ninputs;
	m.cursors = AllocSetContextCreate(context, "snii cursors of a merge",
									  ALLOCSET_DEFAULT_SIZES);
	open_sources(&m, index, inputs);
	begin_output(&m, index, w);
	for (int i = 0; i < ninputs; i++)
		add_documents(&m, &m.sources[i],
					  snii_inv_head(m.sources[0].seg)->ncolumns);
	add_terms(&m);
	ndocs = snii_inv_writer_finish(m.writer);
	snii_mem_reporter_end(m.mem);
	for (int i = 0; i < ninputs; i++)
		snii_inv_close(m.sources[i].seg);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	if (ndocs != m.ndocs)
		elog(ERROR, "merge wrote " UINT64_FORMAT " documents of "
			 UINT64_FORMAT, ndocs, m.ndocs);
	return ndocs;
}
