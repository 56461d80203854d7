/*-------------------------------------------------------------------------
 *
 * inv_dead.c
 *	  Side list of an inverted segment: dead documents of each term.
 *
 * Streams (see storage_format.h for what HEAD begins with):
 *
 *	HEAD	:= SniiSideHead, SniiInvDeadColumn of each column, u64 of each
 *			   dictionary block and one more: where its terms begin in TERMS,
 *			   the last one where they end
 *	TERMS	:= for each term with a dead document: varint32 place of its
 *			   entry's info in the block, as the distance from the term before
 *			   of the block (from 0 for the first), varint64 dead documents,
 *			   varint64 their frequencies - dead documents
 *
 * A term is known by its place, which a look-up finds anyway, so that the list
 * has three or four bytes a term and no keys.
 *
 * Writing reads the dictionary and all documents of postings, no positions;
 * frequencies where a window has a dead document.  Memory: the bitmap, and a
 * few pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "codec/codec_varint.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_cursor.h"
#include "inverted/inv_dead.h"
#include "lsm/lsm_side.h"
#include "storage/storage_page.h"

#define STREAM_TERMS	SNII_SIDE_KIND

/* Longest term of TERMS. */
#define TERM_MAX		(5 + 10 + 10)

/* Dead documents of a column. */
typedef struct SniiInvDeadColumn
{
	uint64		ndocs;			/* that are not NULL */
	uint64		sum_length;
} SniiInvDeadColumn;

StaticAssertDecl(sizeof(SniiInvDeadColumn) == 16, "dead column size");

/* Offset in HEAD of the places of the dictionary blocks. */
static uint64
places_offset(int ncolumns)
{
	return sizeof(SniiSideHead) + ncolumns * sizeof(SniiInvDeadColumn);
}

/* ----------------------------------------------------------------
 *		Counting
 * ----------------------------------------------------------------
 */

/* Documents, terms and windows after which go_on() is asked. */
#define DOCS_PER_CALL		4096
#define TERMS_PER_CALL		256
#define WINDOWS_PER_CALL	32

/* A walk over all terms, and what is done with those of dead documents. */
typedef struct Count
{
	SniiInvSegment *seg;
	const uint8 *marks;
	SniiGoOn	go_on;
	void	   *arg;
	Relation	index;
	MemoryContext cursors;
	SniiStreamReader slim;		/* of DOCS */
	uint64		windows;		/* so far */
	void		(*term) (void *sink, const SniiInvTerm *term, uint64 df,
						 uint64 ttf);
	void	   *sink;
} Count;

static inline bool
is_dead(const uint8 *marks, uint32 doc)
{
	return ((marks[doc / 8] >> (doc % 8)) & 1) != 0;
}

/* Count the dead documents of each column; false if go_on() said so. */
static bool
count_columns(Count *c, SniiInvDeadColumn *columns)
{
	const SniiInvHead *head = snii_inv_head(c->seg);

	memset(columns, 0, head->ncolumns * sizeof(SniiInvDeadColumn));
	for (uint64 doc = 0; doc < head->ndocs; doc++)
	{
		if (doc % DOCS_PER_CALL == 0 && !c->go_on(c->arg))
			return false;
		if (!is_dead(c->marks, (uint32) doc))
			continue;
		for (int i = 0; i < head->ncolumns; i++)
		{
			if (snii_inv_is_null(c->seg, i, (uint32) doc))
				continue;
			columns[i].ndocs++;
			columns[i].sum_length += snii_inv_length(c->seg, i, (uint32) doc);
		}
	}
	return true;
}

/* Places in docs of those that are dead; returns their number. */
static inline int
find_dead(const uint8 *marks, const uint32 *docs, int n, uint8 *places)
{
	int			ndead = 0;

	for (int i = 0; i < n; i++)
	{
		places[ndead] = (uint8) i;
		ndead += is_dead(marks, docs[i]);
	}
	return ndead;
}

/*
 * Count what is dead in the only window of a term, whose bytes are given.
 */
static void
count_only_window(Count *c, const SniiInvTerm *term, const uint8 *p,
				  uint64 *df, uint64 *ttf)
{
	const uint8 *end = p + term->docs_len;
	uint32		docs[SNII_INV_WINDOW];
	uint32		freqs[SNII_INV_WINDOW];
	uint8		places[SNII_INV_WINDOW];
	int			n = (int) term->df;

	p = snii_inv_decode_docs(p, end, n, -1, docs);
	if (p == NULL || docs[n - 1] >= snii_inv_head(c->seg)->ndocs)
		snii_storage_corrupted(c->index, term->block,
							   "malformed window of a posting list");
	*df = *ttf = find_dead(c->marks, docs, n, places);
	if (*df == 0 || p == end)
		return;
	if (snii_inv_decode_freqs(p, end, n, freqs) == NULL)
		snii_storage_corrupted(c->index, term->block,
							   "malformed frequencies of a posting list");
	*ttf = 0;
	for (uint64 i = 0; i < *df; i++)
		*ttf += freqs[places[i]];
}

/* Count what is dead of a windowed term; false if go_on() said so. */
static bool
count_windows(Count *c, const SniiInvTerm *term, uint64 *df, uint64 *ttf)
{
	bool		freqs = term->ttf != term->df;
	MemoryContext old = MemoryContextSwitchTo(c->cursors);
	SniiInvCursor *cursor = snii_inv_cursor_open(c->seg, term,
												 freqs ? SNII_INV_FREQS : 0);
	const uint32 *docs;
	uint8		places[SNII_INV_WINDOW];
	int			n;
	bool		more = true;

	MemoryContextSwitchTo(old);
	while (more && (n = snii_inv_cursor_window(cursor, &docs)) > 0)
	{
		int			ndead = find_dead(c->marks, docs, n, places);

		*df += ndead;
		if (freqs && ndead > 0)
		{
			const uint32 *f = snii_inv_cursor_window_freqs(cursor);

			for (int i = 0; i < ndead; i++)
				*ttf += f[places[i]];
		}
		if (++c->windows % WINDOWS_PER_CALL == 0)
			more = c->go_on(c->arg);
		if (more)
			(void) snii_inv_cursor_skip_window(cursor);
	}
	snii_inv_cursor_close(cursor);
	if (!freqs)
		*ttf = *df;
	return more;
}

/* Count what is dead of a term; false if go_on() said so. */
static bool
count_term(Count *c, const SniiInvTerm *term, uint64 *df, uint64 *ttf)
{
	*df = *ttf = 0;
	switch (term->form)
	{
		case SNII_INV_SINGLE:
			if (is_dead(c->marks, term->doc))
			{
				*df = 1;
				*ttf = term->ttf;
			}
			return true;
		case SNII_INV_INLINE:
			count_only_window(c, term, term->bytes, df, ttf);
			return true;
		case SNII_INV_SLIM:
			count_only_window(c, term,
							  snii_storage_reader_get(&c->slim, term->docs,
													  term->docs_len),
							  df, ttf);
			return true;
		case SNII_INV_WINDOWED:
			break;
	}
	return count_windows(c, term, df, ttf);
}

/* Count all terms; false if go_on() said so. */
static bool
count_terms(Count *c)
{
	SniiInvDict *dict = snii_inv_dict_begin(c->seg);
	const SniiInvTerm *term;
	bool		more = true;

	c->index = snii_storage_object_relation(snii_inv_object(c->seg));
	c->cursors = AllocSetContextCreate(CurrentMemoryContext,
									   "snii cursors of a side list",
									   ALLOCSET_DEFAULT_SIZES);
	snii_storage_reader_init(&c->slim, snii_inv_object(c->seg),
							 SNII_INV_STREAM_DOCS);
	for (uint64 n = 1; more && (term = snii_inv_dict_next_info(dict)) != NULL;
		 n++)
	{
		uint64		df;
		uint64		ttf;

		more = count_term(c, term, &df, &ttf);
		if (more && df > 0)
			c->term(c->sink, term, df, ttf);
		if (more && n % TERMS_PER_CALL == 0)
			more = c->go_on(c->arg);
	}
	snii_storage_reader_close(&c->slim);
	snii_inv_dict_end(dict);
	MemoryContextDelete(c->cursors);
	return more;
}

/* ----------------------------------------------------------------
 *		Writing
 * ----------------------------------------------------------------
 */
typedef struct Sink
{
	SniiObjectWriter *w;
	uint32		nblocks;		/* whose places were written */
	uint32		offset;			/* of the term before, in its block */
} Sink;

/* Write the places of the blocks before "end". */
static void
end_blocks(Sink *s, uint32 end)
{
	for (; s->nblocks < end; s->nblocks++)
	{
		uint64		place = snii_storage_tell(s->w, STREAM_TERMS);

		snii_storage_append(s->w, SNII_SIDE_HEAD, &place, sizeof(place));
		s->offset = 0;
	}
}

static void
write_term(void *sink, const SniiInvTerm *term, uint64 df, uint64 ttf)
{
	Sink	   *s = sink;
	uint8		bytes[TERM_MAX];
	uint8	   *p = bytes;

	end_blocks(s, term->page + 1);
	p = snii_codec_put_varint32(p, term->offset - s->offset);
	p = snii_codec_put_varint64(p, df);
	p = snii_codec_put_varint64(p, ttf - df);
	snii_storage_append(s->w, STREAM_TERMS, bytes, p - bytes);
	s->offset = term->offset;
}

bool
snii_inv_kind_side(Relation index, SniiObject *object, uint64 ndocs,
				   const uint8 *marks, SniiObjectWriter *w, SniiGoOn go_on,
				   void *arg)
{
	SniiInvSegment *seg = snii_inv_open(object, ndocs);
	SniiInvDeadColumn columns[SNII_MAX_COLUMNS];
	Sink		sink = {w};
	Count		c = {seg, marks, go_on, arg};
	bool		done;

	c.term = write_term;
	c.sink = &sink;
	done = count_columns(&c, columns);
	if (done)
	{
		snii_storage_append(w, SNII_SIDE_HEAD, columns,
							snii_inv_head(seg)->ncolumns *
							sizeof(SniiInvDeadColumn));
		done = count_terms(&c);
	}
	if (done)
		end_blocks(&sink, snii_inv_head(seg)->dict_pages + 1);
	snii_inv_close(seg);
	return done;
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */
struct SniiInvDead
{
	SniiInvSegment *seg;
	SniiObject *side;			/* NULL: nothing is listed */
	double		share;			/* of what is not listed, that is alive */
	SniiStreamReader head;
	SniiStreamReader terms;
	SniiInvDeadColumn columns[SNII_MAX_COLUMNS];
};

/* Begin to read a list; its HEAD is as long as it has to be. */
static void
open_side(SniiInvDead *dead, SniiObject *side)
{
	const SniiInvHead *head = snii_inv_head(dead->seg);

	dead->side = side;
	snii_storage_reader_init(&dead->head, side, SNII_SIDE_HEAD);
	snii_storage_reader_init(&dead->terms, side, STREAM_TERMS);
	snii_storage_read(side, SNII_SIDE_HEAD, sizeof(SniiSideHead),
					  dead->columns,
					  head->ncolumns * sizeof(SniiInvDeadColumn));
	for (int i = 0; i < head->ncolumns; i++)
		if (dead->columns[i].ndocs > head->columns[i].ndocs ||
			dead->columns[i].sum_length > head->columns[i].sum_length)
			snii_storage_corrupted(snii_storage_object_relation(side),
								   InvalidBlockNumber,
								   "side list of segment " UINT64_FORMAT
								   " has more dead documents than there are",
								   snii_storage_object_id(side));
}

/*
 * What is known of the dead documents of a segment of a view.  Lives in the
 * current memory context; holds pins until it is closed.
 */
SniiInvDead *
snii_inv_dead_open(SniiInvSegment *seg, const SniiDirEntry *entry)
{
	SniiInvDead *dead = palloc0(sizeof(SniiInvDead));
	SniiSideHead head = {0};
	SniiObject *side;
	uint64		ndead = Min(entry->ndead, entry->ndocs);

	dead->seg = seg;
	side = snii_lsm_side_open(snii_storage_object_relation(snii_inv_object(seg)),
							  entry, &head);
	if (side != NULL)
		open_side(dead, side);
	if (entry->ndocs > head.ndead)
		dead->share = Min((double) (entry->ndocs - ndead) /
						  (double) (entry->ndocs - head.ndead), 1);
	return dead;
}

void
snii_inv_dead_close(SniiInvDead *dead)
{
	if (dead->side != NULL)
	{
		snii_storage_reader_close(&dead->head);
		snii_storage_reader_close(&dead->terms);
	}
	pfree(dead);
}

static void
side_corrupted(const SniiInvDead *dead, const char *what)
{
	snii_storage_corrupted(snii_storage_object_relation(dead->side),
						   InvalidBlockNumber,
						   "side list of segment " UINT64_FORMAT ": %s",
						   snii_storage_object_id(dead->side), what);
}

/* Bytes in TERMS of a dictionary block; valid until the next call. */
static const uint8 *
terms_of_block(SniiInvDead *dead, uint32 page, const uint8 **end)
{
	uint64		places[2];
	uint64		offset = places_offset(snii_inv_head(dead->seg)->ncolumns) +
	page * UINT64CONST(8);
	const uint8 *p;

	memcpy(places, snii_storage_reader_get(&dead->head, offset,
										   sizeof(places)), sizeof(places));
	if (places[1] < places[0] ||
		places[1] - places[0] > (uint64) SNII_PAGE_PAYLOAD * TERM_MAX)
		side_corrupted(dead, "places are not in order");
	if (places[0] == places[1])
		return *end = NULL;
	p = snii_storage_reader_get(&dead->terms, places[0],
								places[1] - places[0]);
	*end = p + (places[1] - places[0]);
	return p;
}

/* A term of a list. */
typedef struct Listed
{
	uint32		offset;			/* of the term before, then of this one */
	uint64		df;
	uint64		ttf;
} Listed;

/* The next term of a block; false at the end. */
static bool
next_listed(SniiInvDead *dead, const uint8 **p, const uint8 *end,
			Listed *listed)
{
	uint32		distance;

	if (*p == end)
		return false;
	if (!snii_codec_get_varint32(p, end, &distance) || distance == 0 ||
		distance > SNII_PAGE_PAYLOAD - listed->offset ||
		!snii_codec_get_varint64(p, end, &listed->df) || listed->df == 0 ||
		!snii_codec_get_varint64(p, end, &listed->ttf))
		side_corrupted(dead, "malformed term");
	listed->offset += distance;
	listed->ttf += listed->df;
	return true;
}

/* What is listed of a term, zeros if it is not. */
static Listed
find_listed(SniiInvDead *dead, const SniiInvTerm *term)
{
	Listed		listed = {0};
	const uint8 *end;
	const uint8 *p = terms_of_block(dead, term->page, &end);

	while (next_listed(dead, &p, end, &listed) &&
		   listed.offset < term->offset)
		 /* go on */ ;
	if (listed.offset == term->offset)
		return listed;
	memset(&listed, 0, sizeof(listed));
	return listed;
}

/* What is alive of a term that was looked up in the segment. */
SniiInvAlive
snii_inv_dead_term(SniiInvDead *dead, const SniiInvTerm *term)
{
	SniiInvAlive alive = {(double) term->df, (double) term->ttf};

	if (dead->side != NULL)
	{
		Listed		listed = find_listed(dead, term);

		if (listed.df > term->df || listed.ttf > term->ttf)
			side_corrupted(dead, "a term has more dead documents than documents");
		alive.ndocs -= (double) listed.df;
		alive.ntokens -= (double) listed.ttf;
	}
	alive.ndocs *= dead->share;
	alive.ntokens *= dead->share;
	return alive;
}

/* What is alive of a column. */
SniiInvAlive
snii_inv_dead_column(const SniiInvDead *dead, int column)
{
	const SniiInvColumn *all = &snii_inv_head(dead->seg)->columns[column];
	const SniiInvDeadColumn *listed = &dead->columns[column];
	SniiInvAlive alive;

	alive.ndocs = (double) (all->ndocs - listed->ndocs) * dead->share;
	alive.ntokens = (double) (all->sum_length - listed->sum_length) *
		dead->share;
	return alive;
}

/* ----------------------------------------------------------------
 *		Verifying
 * ----------------------------------------------------------------
 */
typedef struct SideCheck
{
	SniiInvDead *dead;
	bool		complete;
	uint64		nterms;			/* listed terms that were met */
} SideCheck;

static bool
check_go_on(void *arg)
{
	CHECK_FOR_INTERRUPTS();
	return true;
}

/*
 * Numbers of a list are not above those of the bitmap, and the same if it is
 * complete.
 */
static void
check_numbers(const SideCheck *c, uint64 listed, uint64 counted,
			  const char *what)
{
	if (listed > counted || (c->complete && listed != counted))
		snii_storage_corrupted(snii_storage_object_relation(c->dead->side),
							   InvalidBlockNumber,
							   "side list of segment " UINT64_FORMAT
							   " has " UINT64_FORMAT " %s, not "
							   UINT64_FORMAT,
							   snii_storage_object_id(c->dead->side), listed,
							   what, counted);
}

static void
check_term(void *sink, const SniiInvTerm *term, uint64 df, uint64 ttf)
{
	SideCheck  *c = sink;
	Listed		listed = find_listed(c->dead, term);

	check_numbers(c, listed.df, df, "dead documents of a term");
	check_numbers(c, listed.ttf, ttf, "dead occurrences of a term");
	c->nterms += listed.df > 0;
}

/* Every listed term was met; HEAD and TERMS are as long as they have to be. */
static void
check_listed(SideCheck *c)
{
	SniiInvDead *dead = c->dead;
	uint32		nblocks = snii_inv_head(dead->seg)->dict_pages;
	uint64		end_of_head = places_offset(snii_inv_head(dead->seg)->ncolumns) +
	(nblocks + UINT64CONST(1)) * 8;
	uint64		place;
	uint64		nterms = 0;

	for (uint32 page = 0; page < nblocks; page++)
	{
		Listed		listed = {0};
		const uint8 *end;
		const uint8 *p = terms_of_block(dead, page, &end);

		CHECK_FOR_INTERRUPTS();
		while (next_listed(dead, &p, end, &listed))
			nterms++;
	}
	if (nterms != c->nterms)
		side_corrupted(dead, "a term that is not in the dictionary, or has no dead document");
	memcpy(&place, snii_storage_reader_get(&dead->head, end_of_head - 8, 8),
		   8);
	if (snii_storage_stream_pages(dead->side, STREAM_TERMS) !=
		(place + SNII_PAGE_PAYLOAD - 1) / SNII_PAGE_PAYLOAD ||
		snii_storage_stream_pages(dead->side, SNII_SIDE_HEAD) !=
		(end_of_head + SNII_PAGE_PAYLOAD - 1) / SNII_PAGE_PAYLOAD)
		side_corrupted(dead, "wrong number of pages");
}

void
snii_inv_kind_check_side(Relation index, SniiObject *object, uint64 ndocs,
						 const uint8 *marks, SniiObject *side, bool complete)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii check of a side list",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiInvDead dead = {snii_inv_open(object, ndocs)};
	SniiInvDeadColumn columns[SNII_MAX_COLUMNS];
	SideCheck	check = {&dead, complete};
	Count		c = {dead.seg, marks, check_go_on, NULL};

	open_side(&dead, side);
	c.term = check_term;
	c.sink = &check;
	(void) count_columns(&c, columns);
	for (int i = 0; i < snii_inv_head(dead.seg)->ncolumns; i++)
	{
		check_numbers(&check, dead.columns[i].ndocs, columns[i].ndocs,
					  "dead documents of a column");
		check_numbers(&check, dead.columns[i].sum_length,
					  columns[i].sum_length, "dead tokens of a column");
	}
	(void) count_terms(&c);
	check_listed(&check);
	snii_storage_reader_close(&dead.head);
	snii_storage_reader_close(&dead.terms);
	snii_inv_close(dead.seg);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
