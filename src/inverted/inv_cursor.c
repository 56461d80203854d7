/*-------------------------------------------------------------------------
 *
 * inv_cursor.c
 *	  Postings of one term of a segment, in the order of documents.
 *
 * A posting list of up to 128 documents is one window.  A longer one is
 * super-blocks of 32 windows, with a table that has a row for each of them,
 * while each begins with a row for each of its windows.  A cursor keeps two
 * places: the window that is decoded, which the caller's current document is
 * in, and the row that was looked at last, which may be further on when
 * bounds were asked for.  Going to a document reads the table up to its
 * super-block, the rows of that one, and decodes one window; frequencies and
 * positions are decoded only when asked for, and of the positions only the
 * blocks that hold some of the document.
 *
 * Reads go through three readers, so that each pins the page it works on: one
 * for the table and the rows, one for windows, one for positions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "codec/codec_pfor.h"
#include "codec/codec_varint.h"
#include "inverted/inv_cursor.h"
#include "inverted/inv_private.h"
#include "storage/storage_page.h"

/* How much of the positions of a window is asked of the storage at once. */
#define POSITION_CHUNK		2048

/* First allocation for the positions of a document. */
#define POSITIONS_INITIAL	256

typedef enum CursorState
{
	CURSOR_FRESH,				/* nothing decoded; on the first document */
	CURSOR_ON_WINDOW,
	CURSOR_DONE
} CursorState;

/* A super-block, as its row in the table has it. */
typedef struct Super
{
	uint32		number;
	int64		previous;		/* last document before it, or -1 */
	uint32		last;			/* its last document */
	uint64		docs;			/* offset in DOCS */
	uint64		docs_len;
	uint64		positions;		/* offset in POSITIONS */
	uint64		positions_len;
	uint64		next_row;		/* offset of the row after, in DOCS */
	SniiImpacts impacts;
} Super;

/* The windows of a super-block. */
typedef struct Rows
{
	Super		super;
	bool		loaded;			/* the rest is set */
	int			n;
	int			current;		/* the row looked at last */
	uint32		last[SNII_INV_SUPER];
	uint64		docs[SNII_INV_SUPER + 1];	/* begin, end of the last */
	uint64		positions[SNII_INV_SUPER + 1];
	SniiImpacts impacts[SNII_INV_SUPER];
} Rows;

/* What is decoded of the positions of the decoded window. */
typedef struct Positions
{
	uint64		total;			/* positions of the window, or 0: unknown */
	int			doc;			/* in docs, whose ... */
	uint64		start;			/* ... first position is the start-th */
	uint64		consumed;		/* bytes of the blocks decoded or skipped */
	uint64		next_block;		/* number of the block after them */
	int			nvalues;		/* of the block before it; 0: not decoded */
	const uint8 *view;			/* bytes at hand, from view_start on */
	uint64		view_start;
	uint64		view_len;
	uint32		values[SNII_PFOR_BLOCK];
} Positions;

/* Where a reader of one document's positions is. */
typedef struct DocPositions
{
	int			doc;			/* in docs, or -1 */
	uint32		n;				/* frequency */
	uint32		done;
	uint32		last;
	const uint8 *p;				/* SINGLE: next varint */
} DocPositions;

typedef struct Cursor
{
	SniiInvCursor pub;			/* first */
	SniiInvSegment *seg;
	SniiInvTerm term;
	CursorState state;
	int			flags;
	MemoryContext context;
	SniiStreamReader windows;
	SniiStreamReader table;
	SniiStreamReader posbytes;
	bool		open_windows;	/* are the readers in use? */
	bool		open_table;
	bool		open_posbytes;
	uint64		nwindows;
	Rows	   *rows;			/* WINDOWED */
	Super		here;			/* super-block of the decoded window */
	uint64		window;			/* number of the decoded window */
	uint64		pos_offset;		/* its positions, in POSITIONS unless INLINE */
	uint64		pos_len;
	const uint8 *freq_bytes;	/* of the decoded window ... */
	const uint8 *freq_end;		/* ... equal: all frequencies are 1 */
	bool		freqs_decoded;
	uint32	   *freqs;			/* NULL until needed */
	Positions  *positions;		/* NULL until needed */
	DocPositions stream;		/* of snii_inv_cursor_position_next() */
	uint32	   *out;			/* positions for the caller */
	size_t		out_size;
	int			out_doc;		/* whose are all in out, or -1 */
	uint32		one;			/* docs of a SINGLE */
} Cursor;

/* ---------------- opening and closing ---------------- */

/*
 * Open a cursor on the postings of a term.  Allocated in the current memory
 * context.  flags: what the caller will ask for.
 */
SniiInvCursor *
snii_inv_cursor_open(SniiInvSegment *seg, const SniiInvTerm *term, int flags)
{
	bool		single = term->form == SNII_INV_SINGLE;
	int			ndocs = single ? 0 : (int) Min(term->df, SNII_INV_WINDOW);
	Cursor	   *c;

	c = palloc0(MAXALIGN(sizeof(Cursor)) + ndocs * sizeof(uint32));
	c->pub.docs = single ? &c->one :
		(uint32 *) ((char *) c + MAXALIGN(sizeof(Cursor)));
	c->seg = seg;
	c->term = *term;
	c->flags = flags;
	c->context = CurrentMemoryContext;
	c->nwindows = (term->df + SNII_INV_WINDOW - 1) / SNII_INV_WINDOW;
	c->stream.doc = -1;
	c->out_doc = -1;
	return &c->pub;
}

static void
close_readers(Cursor *c)
{
	if (c->open_windows)
		snii_storage_reader_close(&c->windows);
	if (c->open_table)
		snii_storage_reader_close(&c->table);
	if (c->open_posbytes)
		snii_storage_reader_close(&c->posbytes);
	c->open_windows = c->open_table = c->open_posbytes = false;
}

/* Close a cursor: releases its pins and its memory. */
void
snii_inv_cursor_close(SniiInvCursor *cursor)
{
	Cursor	   *c = (Cursor *) cursor;

	close_readers(c);
	if (c->rows != NULL)
		pfree(c->rows);
	if (c->freqs != NULL)
		pfree(c->freqs);
	if (c->positions != NULL)
		pfree(c->positions);
	if (c->out != NULL)
		pfree(c->out);
	pfree(c);
}

/* The list is exhausted. */
static uint32
finish(Cursor *c)
{
	c->state = CURSOR_DONE;
	c->pub.n = 0;
	c->pub.pos = 0;
	close_readers(c);
	return SNII_INV_NO_DOC;
}

/* Bytes of DOCS or POSITIONS through a reader that is opened if need be. */
static const uint8 *
get_bytes(Cursor *c, SniiStreamReader *r, bool *is_open, int stream,
		  uint64 offset, uint64 len)
{
	if (!*is_open)
	{
		MemoryContext old = MemoryContextSwitchTo(c->context);

		snii_storage_reader_init(r, c->seg->object, stream);
		MemoryContextSwitchTo(old);
		*is_open = true;
	}
	return snii_storage_reader_get(r, offset, len);
}

/* Bytes of DOCS for the table and the rows. */
static inline const uint8 *
get_table(Cursor *c, uint64 offset, uint64 len)
{
	return get_bytes(c, &c->table, &c->open_table, SNII_INV_STREAM_DOCS,
					 offset, len);
}

static inline BlockNumber
table_block(const Cursor *c)
{
	return c->open_table ? snii_inv_reader_block(&c->table) : c->term.block;
}

static inline BlockNumber
windows_block(const Cursor *c)
{
	return c->open_windows ? snii_inv_reader_block(&c->windows) :
		c->term.block;
}

/* ---------------- table and rows ---------------- */

static uint64
count_supers(const Cursor *c)
{
	return (c->nwindows + SNII_INV_SUPER - 1) / SNII_INV_SUPER;
}

/* Number of windows of a super-block. */
static int
windows_of(const Cursor *c, uint32 super)
{
	return Min(SNII_INV_SUPER,
			   c->nwindows - (uint64) super * SNII_INV_SUPER);
}

/*
 * Does the super-block fit the list?  The last one ends where the list does.
 */
static bool
super_fits(const Cursor *c, const Super *s, uint64 table_end)
{
	uint64		docs_end = c->term.docs + c->term.docs_len;
	uint64		positions_end = c->term.positions + c->term.positions_len;

	if (s->docs_len > docs_end - s->docs ||
		s->positions_len > positions_end - s->positions)
		return false;
	if (s->number + UINT64CONST(1) < count_supers(c))
		return true;
	return s->docs + s->docs_len == docs_end &&
		s->positions + s->positions_len == positions_end &&
		s->next_row == table_end;
}

/* Read the row at s->next_row into *s, whose docs and positions are set. */
static void
read_super(Cursor *c, Super *s)
{
	uint64		table_end = c->term.docs + c->term.docs_len +
	c->term.table_len;
	uint64		len = Min(SNII_INV_ROW_MAX, table_end - s->next_row);
	const uint8 *start = NULL;
	const uint8 *p = NULL;
	SniiInvRow	row;
	int64		last = 0;

	if (len > 0)
	{
		start = get_table(c, s->next_row, len);
		p = snii_inv_decode_row(start, start + len, &row);
	}
	if (p != NULL)
	{
		last = s->previous + row.last_delta;
		s->docs_len = row.docs_len;
		s->positions_len = row.positions_len;
		s->impacts = row.impacts;
		s->next_row += p - start;
	}
	if (p == NULL || last >= c->seg->ndocs || !super_fits(c, s, table_end))
		snii_storage_corrupted(c->seg->index, table_block(c),
							   "malformed table of a posting list");
	s->last = (uint32) last;
}

/* Begin with the first super-block. */
static void
first_super(Cursor *c)
{
	Super	   *s;

	if (c->rows == NULL)
		c->rows = MemoryContextAlloc(c->context, sizeof(Rows));
	s = &c->rows->super;
	c->rows->loaded = false;
	c->rows->current = 0;
	s->number = 0;
	s->previous = -1;
	s->docs = c->term.docs;
	s->positions = c->term.positions;
	s->next_row = c->term.docs + c->term.docs_len;
	read_super(c, s);
}

/* Step to the next super-block; false after the last. */
static bool
next_super(Cursor *c)
{
	Super	   *s = &c->rows->super;

	if (s->number + UINT64CONST(1) >= count_supers(c))
		return false;
	c->rows->loaded = false;
	c->rows->current = 0;
	s->number++;
	s->previous = s->last;
	s->docs += s->docs_len;
	s->positions += s->positions_len;
	read_super(c, s);
	return true;
}

/* Parse the rows at p; false unless they agree with the super-block's row. */
static bool
parse_rows(const Cursor *c, Rows *rows, const uint8 *p, const uint8 *end)
{
	const Super *s = &rows->super;
	int64		last = s->previous;
	uint64		docs_end = s->docs + s->docs_len;
	uint64		positions_end = s->positions + s->positions_len;

	rows->n = windows_of(c, s->number);
	rows->positions[0] = s->positions;
	for (int i = 0; i < rows->n; i++)
	{
		SniiInvRow	row;

		p = snii_inv_decode_row(p, end, &row);
		if (p == NULL || row.docs_len > SNII_INV_WINDOW_MAX_BYTES ||
			row.docs_len > docs_end - rows->docs[i] ||
			row.positions_len > positions_end - rows->positions[i])
			return false;
		last += row.last_delta;
		if (last > s->last)
			return false;
		rows->last[i] = (uint32) last;
		rows->docs[i + 1] = rows->docs[i] + row.docs_len;
		rows->positions[i + 1] = rows->positions[i] + row.positions_len;
		rows->impacts[i] = row.impacts;
	}
	return p == end && last == s->last &&
		rows->docs[rows->n] == docs_end &&
		rows->positions[rows->n] == positions_end;
}

/* Read the rows of the super-block that the table stands on. */
static void
load_rows(Cursor *c)
{
	Rows	   *rows = c->rows;
	const Super *s = &rows->super;
	uint64		head = Min(s->docs_len, SNII_VARINT32_MAX);
	const uint8 *start = get_table(c, s->docs, head);
	const uint8 *p = start;
	uint32		len;

	if (!snii_codec_get_varint32(&p, start + head, &len) || len == 0 ||
		len > SNII_INV_ROWS_MAX ||
		(uint64) (p - start) + len > s->docs_len)
		snii_storage_corrupted(c->seg->index, table_block(c),
							   "malformed super-block of a posting list");
	rows->docs[0] = s->docs + (p - start) + len;
	start = get_table(c, s->docs + (p - start), len);
	if (!parse_rows(c, rows, start, start + len))
		snii_storage_corrupted(c->seg->index, table_block(c),
							   "malformed rows of a posting list");
	rows->loaded = true;
	rows->current = 0;
}

/* Last document before the row looked at last, or -1. */
static inline int64
before_row(const Rows *rows)
{
	if (!rows->loaded || rows->current == 0)
		return rows->super.previous;
	return rows->last[rows->current - 1];
}

/*
 * Make the super-block that may hold the first document from target on the
 * current one; false if there is none.  The table has no way back, so what
 * went too far begins again at the decoded window, which is not beyond.
 */
static bool
locate_super(Cursor *c, uint32 target)
{
	Rows	   *rows = c->rows;

	if (rows == NULL)
		first_super(c);
	else if (before_row(rows) >= (int64) target)
	{
		if (c->state == CURSOR_FRESH)
			first_super(c);
		else
		{
			if (rows->super.number != c->here.number)
				rows->loaded = false;
			rows->super = c->here;
			rows->current = 0;
		}
	}
	while (c->rows->super.last < target)
	{
		if (!next_super(c))
			return false;
	}
	return true;
}

/* The same for the window: makes its row the current one. */
static bool
locate_row(Cursor *c, uint32 target)
{
	Rows	   *rows;

	if (!locate_super(c, target))
		return false;
	rows = c->rows;
	if (!rows->loaded)
		load_rows(c);
	while (rows->last[rows->current] < target)
		rows->current++;
	return true;
}

/* ---------------- windows ---------------- */

/*
 * Decode a window of n documents at p; previous is the last document before
 * it, last the last one that it must have, or -1 if that is not known.
 */
static void
decode_window(Cursor *c, const uint8 *p, uint64 len, int n, int64 previous,
			  int64 last)
{
	const uint8 *end = p + len;
	uint32	   *docs = c->pub.docs;

	p = snii_inv_decode_docs(p, end, n, previous, docs);
	if (p == NULL || docs[n - 1] >= c->seg->ndocs ||
		(last >= 0 && docs[n - 1] != last))
		snii_storage_corrupted(c->seg->index, windows_block(c),
							   "malformed window of a posting list");
	c->freq_bytes = p;
	c->freq_end = end;
	c->freqs_decoded = false;
	c->stream.doc = -1;
	c->out_doc = -1;
	if (c->positions != NULL)
		c->positions->total = 0;
	c->pub.pos = 0;
	c->pub.n = n;
	c->state = CURSOR_ON_WINDOW;
	snii_inv_counters.windows_decoded++;
}

/* Decode the window whose row is the current one. */
static void
decode_current_row(Cursor *c)
{
	Rows	   *rows = c->rows;
	int			i = rows->current;
	int64		previous = before_row(rows);
	uint64		number = (uint64) rows->super.number * SNII_INV_SUPER + i;
	uint64		len = rows->docs[i + 1] - rows->docs[i];
	int			n = SNII_INV_WINDOW;
	const uint8 *p;

	if (number + 1 == c->nwindows)
		n = c->term.df - number * SNII_INV_WINDOW;
	if (c->state == CURSOR_FRESH)
		snii_inv_counters.windows_skipped += number;
	else
		snii_inv_counters.windows_skipped += number - c->window - 1;
	c->window = number;
	c->here = rows->super;
	p = get_bytes(c, &c->windows, &c->open_windows, SNII_INV_STREAM_DOCS,
				  rows->docs[i], len);
	decode_window(c, p, len, n, previous, rows->last[i]);
	c->pos_offset = rows->positions[i];
	c->pos_len = rows->positions[i + 1] - rows->positions[i];
}

/* Decode the window of a list that is not windowed. */
static void
decode_only_window(Cursor *c)
{
	const uint8 *p = c->term.bytes;

	if (c->term.form == SNII_INV_SINGLE)
	{
		c->one = c->term.doc;
		c->pub.n = 1;
		c->pub.pos = 0;
		c->state = CURSOR_ON_WINDOW;
		return;
	}
	if (c->term.form == SNII_INV_SLIM)
		p = get_bytes(c, &c->windows, &c->open_windows,
					  SNII_INV_STREAM_DOCS, c->term.docs,
					  c->term.docs_len);
	c->pos_offset = c->term.positions;
	c->pos_len = c->term.positions_len;
	decode_window(c, p, c->term.docs_len, (int) c->term.df, -1, -1);
}

/*
 * Current document of a cursor that has no decoded window: decodes the first
 * one, unless the list is exhausted.
 */
uint32
snii_inv_cursor_start(SniiInvCursor *cursor)
{
	Cursor	   *c = (Cursor *) cursor;

	if (c->state == CURSOR_DONE)
		return SNII_INV_NO_DOC;
	if (c->state == CURSOR_FRESH)
	{
		if (c->term.form != SNII_INV_WINDOWED)
			decode_only_window(c);
		else if (locate_row(c, 0))
			decode_current_row(c);
	}
	return c->pub.docs[c->pub.pos];
}

/*
 * Next document of a cursor whose window is used up, or that is fresh.
 */
uint32
snii_inv_cursor_next_window(SniiInvCursor *cursor)
{
	Cursor	   *c = (Cursor *) cursor;

	if (snii_inv_cursor_start(cursor) == SNII_INV_NO_DOC)
		return SNII_INV_NO_DOC;
	if (c->pub.pos + 1 < c->pub.n)
		return c->pub.docs[++c->pub.pos];
	if (c->term.form != SNII_INV_WINDOWED ||
		!locate_row(c, c->pub.docs[c->pub.n - 1] + 1))
		return finish(c);
	decode_current_row(c);
	return c->pub.docs[0];
}

/*
 * First place from pos on in the window whose document is not before
 * target; the last one is not.
 */
static int
search_window(const uint32 *docs, int pos, int n, uint32 target)
{
	const uint32 *base = docs + pos;
	int			len = n - pos;

	while (len > 1)
	{
		int			half = len / 2;

		base += (base[half - 1] < target) ? half : 0;
		len -= half;
	}
	return base - docs;
}

/*
 * Seek of a cursor that is not yet at target or beyond.
 */
uint32
snii_inv_cursor_seek_far(SniiInvCursor *cursor, uint32 target)
{
	Cursor	   *c = (Cursor *) cursor;
	uint32	   *docs = c->pub.docs;

	if (c->state == CURSOR_DONE)
		return SNII_INV_NO_DOC;
	if (c->state == CURSOR_FRESH && c->term.form != SNII_INV_WINDOWED)
		decode_only_window(c);
	if (c->state == CURSOR_FRESH || docs[c->pub.n - 1] < target)
	{
		if (c->term.form != SNII_INV_WINDOWED || !locate_row(c, target))
			return finish(c);
		decode_current_row(c);
	}
	c->pub.pos = search_window(docs, c->pub.pos, c->pub.n, target);
	return docs[c->pub.pos];
}

/* ---------------- bounds ---------------- */

/* Bound of a list of one window: all of it, without impacts. */
static bool
bound_of_only_window(Cursor *c, uint32 target, SniiInvBound *bound)
{
	if (snii_inv_cursor_start(&c->pub) == SNII_INV_NO_DOC)
		return false;
	bound->last = c->pub.docs[c->pub.n - 1];
	bound->impacts = NULL;
	return bound->last >= target;
}

/*
 * Bound over the window that would hold the first document from target on;
 * false if there is no such document.  Does not move the cursor, decodes no
 * window of a windowed list, and may be asked ahead.
 */
bool
snii_inv_cursor_bound(SniiInvCursor *cursor, uint32 target,
					  SniiInvBound *bound)
{
	Cursor	   *c = (Cursor *) cursor;

	if (c->term.form != SNII_INV_WINDOWED)
		return bound_of_only_window(c, target, bound);
	if (c->state == CURSOR_DONE || !locate_row(c, target))
		return false;
	bound->last = c->rows->last[c->rows->current];
	bound->impacts = &c->rows->impacts[c->rows->current];
	return true;
}

/* The same over the super-block; reads only the table. */
bool
snii_inv_cursor_super_bound(SniiInvCursor *cursor, uint32 target,
							SniiInvBound *bound)
{
	Cursor	   *c = (Cursor *) cursor;

	if (c->term.form != SNII_INV_WINDOWED)
		return bound_of_only_window(c, target, bound);
	if (c->state == CURSOR_DONE || !locate_super(c, target))
		return false;
	bound->last = c->rows->super.last;
	bound->impacts = &c->rows->super.impacts;
	return true;
}

/* ---------------- frequencies ---------------- */

/* Decode the frequencies of the window, unless done. */
static const uint32 *
get_freqs(Cursor *c)
{
	int			n = c->pub.n;

	if (c->freqs_decoded)
		return c->freqs;
	if (c->freqs == NULL)
		c->freqs = MemoryContextAlloc(c->context,
									  Min(c->term.df, SNII_INV_WINDOW) *
									  sizeof(uint32));
	if (c->term.form == SNII_INV_SINGLE)
		c->freqs[0] = (uint32) c->term.ttf;
	else if (c->freq_bytes == c->freq_end)
	{
		for (int i = 0; i < n; i++)
			c->freqs[i] = 1;
	}
	else if (snii_inv_decode_freqs(c->freq_bytes, c->freq_end, n,
								   c->freqs) != c->freq_end)
		snii_storage_corrupted(c->seg->index, windows_block(c),
							   "malformed frequencies of a posting list");
	c->freqs_decoded = true;
	return c->freqs;
}

/* An error of the caller: the list is exhausted. */
static void
require_doc(Cursor *c)
{
	if (snii_inv_cursor_doc(&c->pub) == SNII_INV_NO_DOC)
		elog(ERROR, "cursor of postings has no current document");
}

/* Frequency of the term in the current document. */
uint32
snii_inv_cursor_freq(SniiInvCursor *cursor)
{
	Cursor	   *c = (Cursor *) cursor;

	Assert(c->flags & (SNII_INV_FREQS | SNII_INV_POSITIONS));
	if (!c->freqs_decoded)
	{
		require_doc(c);
		get_freqs(c);
	}
	return c->freqs[c->pub.pos];
}

/*
 * Frequencies of the documents that snii_inv_cursor_window() gives, from the
 * current one on; NULL after the last.  Valid until the cursor leaves the
 * window.
 */
const uint32 *
snii_inv_cursor_window_freqs(SniiInvCursor *cursor)
{
	Cursor	   *c = (Cursor *) cursor;

	Assert(c->flags & (SNII_INV_FREQS | SNII_INV_POSITIONS));
	if (snii_inv_cursor_doc(cursor) == SNII_INV_NO_DOC)
		return NULL;
	return get_freqs(c) + c->pub.pos;
}

/* ---------------- positions ---------------- */

static void
positions_corrupted(const Cursor *c)
{
	snii_storage_corrupted(c->seg->index,
						   c->open_posbytes ?
						   snii_inv_reader_block(&c->posbytes) :
						   c->term.block,
						   "malformed positions of a posting list");
}

/* Go to the beginning of the positions of the window. */
static void
rewind_positions(Positions *pos)
{
	pos->doc = 0;
	pos->start = 0;
	pos->consumed = 0;
	pos->next_block = 0;
	pos->nvalues = 0;
}

/* Get ready for the positions of the decoded window, unless it is done. */
static Positions *
get_positions(Cursor *c)
{
	Positions  *pos = c->positions;
	const uint32 *freqs = get_freqs(c);

	if (pos != NULL && pos->total > 0)
		return pos;
	if (pos == NULL)
		pos = c->positions = MemoryContextAlloc(c->context,
												sizeof(Positions));
	pos->total = 0;
	for (int i = 0; i < c->pub.n; i++)
		pos->total += freqs[i];
	rewind_positions(pos);
	pos->view_start = 0;
	pos->view_len = 0;
	if (c->term.form == SNII_INV_INLINE)
	{
		pos->view = c->term.bytes + c->term.docs_len;
		pos->view_len = c->pos_len;
	}
	return pos;
}

/* Bytes of the next block: *end is behind those that are at hand. */
static const uint8 *
position_bytes(Cursor *c, const uint8 **end)
{
	Positions  *pos = c->positions;
	uint64		rest = c->pos_len - pos->consumed;
	uint64		need = Min(rest, SNII_PFOR_MAX_BYTES);

	if (rest == 0)
		positions_corrupted(c);
	if (pos->consumed < pos->view_start ||
		pos->consumed + need > pos->view_start + pos->view_len)
	{
		pos->view_len = Min(rest, POSITION_CHUNK);
		pos->view_start = pos->consumed;
		pos->view = get_bytes(c, &c->posbytes, &c->open_posbytes,
							  SNII_INV_STREAM_POSITIONS,
							  c->pos_offset + pos->consumed, pos->view_len);
	}
	*end = pos->view + pos->view_len;
	return pos->view + (pos->consumed - pos->view_start);
}

/* Decode, or pass, the next block of positions of the window. */
static void
next_position_block(Cursor *c, bool decode)
{
	Positions  *pos = c->positions;
	uint64		before = pos->next_block * SNII_PFOR_BLOCK;
	const uint8 *end;
	const uint8 *start = position_bytes(c, &end);
	const uint8 *p;
	int			n = Min(SNII_PFOR_BLOCK, pos->total - before);

	if (decode)
	{
		p = snii_codec_pfor_decode(start, end, n, pos->values);
		snii_inv_counters.position_blocks++;
	}
	else
		p = snii_codec_pfor_skip(start, end, n);
	if (p == NULL)
		positions_corrupted(c);
	pos->consumed += p - start;
	pos->next_block++;
	pos->nvalues = decode ? n : 0;
	if (before + n == pos->total && pos->consumed != c->pos_len)
		positions_corrupted(c);
}

/* Have the block decoded that holds the i-th position of the window. */
static void
go_to_position(Cursor *c, uint64 i)
{
	Positions  *pos = c->positions;
	uint64		block = i / SNII_PFOR_BLOCK;

	if (block + 1 == pos->next_block && pos->nvalues > 0)
		return;
	if (block < pos->next_block)
	{
		pos->consumed = 0;
		pos->next_block = 0;
	}
	while (pos->next_block < block)
	{
		CHECK_FOR_INTERRUPTS();
		next_position_block(c, false);
	}
	next_position_block(c, true);
}

/* Begin with the positions of the current document. */
static void
begin_doc(Cursor *c, DocPositions *d)
{
	d->doc = c->pub.pos;
	d->done = 0;
	d->last = 0;
	if (c->term.form == SNII_INV_SINGLE)
	{
		d->p = c->term.bytes;
		if (!snii_inv_decode_single(&d->p,
									c->term.bytes + c->term.positions_len,
									&d->n))
			positions_corrupted(c);
	}
	else
	{
		Positions  *pos = get_positions(c);

		if (pos->doc > d->doc)
			pos->doc = pos->start = 0;
		while (pos->doc < d->doc)
			pos->start += c->freqs[pos->doc++];
		d->n = c->freqs[d->doc];
	}
}

/* Read the next positions of the document, at most max, into out. */
static int
read_some(Cursor *c, DocPositions *d, uint32 *out, uint32 max)
{
	uint32		n = Min(d->n - d->done, max);
	uint64		first;
	uint32		skip;

	if (c->term.form == SNII_INV_SINGLE)
	{
		for (uint32 i = 0; i < n; i++)
		{
			if (!snii_inv_decode_position(&d->p, c->term.bytes +
										  c->term.positions_len,
										  d->n, d->done + i, &d->last))
				positions_corrupted(c);
			out[i] = d->last;
		}
		d->done += n;
		return n;
	}
	first = c->positions->start + d->done;
	go_to_position(c, first);
	skip = first % SNII_PFOR_BLOCK;
	n = Min(n, c->positions->nvalues - skip);
	memcpy(out, c->positions->values + skip, n * sizeof(uint32));
	if (!snii_inv_decode_gaps(out, n, d->done == 0, &d->last))
		positions_corrupted(c);
	d->done += n;
	return n;
}

/* Have room for size positions in out; what is there stays. */
static void
grow_out(Cursor *c, size_t size)
{
	if (size <= c->out_size)
		return;
	if (c->out == NULL)
	{
		c->out_size = Max(size, POSITIONS_INITIAL);
		c->out = MemoryContextAllocHuge(c->context,
										c->out_size * sizeof(uint32));
		return;
	}
	c->out_size = Max(size, c->out_size * 2);
	c->out = repalloc_huge(c->out, c->out_size * sizeof(uint32));
}

/*
 * All positions of the term in the current document, ascending; *n is the
 * frequency.  Valid until the next call with this cursor.  Memory grows with
 * what is decoded, not with what a frequency claims.
 */
const uint32 *
snii_inv_cursor_positions(SniiInvCursor *cursor, uint32 *n)
{
	Cursor	   *c = (Cursor *) cursor;
	DocPositions d;

	Assert(c->flags & SNII_INV_POSITIONS);
	require_doc(c);
	if (c->out_doc == c->pub.pos)
	{
		*n = get_freqs(c)[c->pub.pos];
		return c->out;
	}
	begin_doc(c, &d);
	while (d.done < d.n)
	{
		CHECK_FOR_INTERRUPTS();
		grow_out(c, (size_t) d.done + SNII_PFOR_BLOCK);
		read_some(c, &d, c->out + d.done, SNII_PFOR_BLOCK);
	}
	c->out_doc = d.doc;
	c->stream.doc = -1;
	*n = d.n;
	return c->out;
}

/*
 * The next positions of the current document, in constant memory: returns
 * how many *run has (at most 128), 0 after the last.  Begins anew when the
 * cursor has moved.  Valid until the next call with this cursor.
 */
int
snii_inv_cursor_position_next(SniiInvCursor *cursor, const uint32 **run)
{
	Cursor	   *c = (Cursor *) cursor;

	Assert(c->flags & SNII_INV_POSITIONS);
	require_doc(c);
	if (c->stream.doc != c->pub.pos)
	{
		begin_doc(c, &c->stream);
		grow_out(c, SNII_PFOR_BLOCK);
	}
	if (c->stream.done >= c->stream.n)
		return 0;
	c->out_doc = -1;
	*run = c->out;
	return read_some(c, &c->stream, c->out, SNII_PFOR_BLOCK);
}
