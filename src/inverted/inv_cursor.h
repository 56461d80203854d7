/*-------------------------------------------------------------------------
 *
 * inv_cursor.h
 *	  Postings of one term of a segment, in the order of documents.
 *
 * A cursor stands on its first document when opened, though nothing is read
 * before it is asked.  It never goes backwards.  Its memory is from the
 * context current at opening and grows only with the frequency of a document
 * whose positions are asked for as one array.
 *
 * For the forms SINGLE and INLINE the cursor reads the dictionary page that
 * the term has pinned: release the term after the cursor is closed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_CURSOR_H
#define SNII_INV_CURSOR_H

#include "codec/codec_impact.h"
#include "inverted/inv_dict.h"

/* Flags: what the caller will ask for. */
#define SNII_INV_FREQS		0x01
#define SNII_INV_POSITIONS	0x02

#define SNII_INV_NO_DOC		PG_UINT32_MAX

/*
 * Bound over a run of documents of a windowed list: no posting up to "last"
 * has a score above the best one of the impacts.
 */
typedef struct SniiInvBound
{
	uint32		last;			/* last document that it covers */
	const SniiImpacts *impacts; /* NULL: not stored (one window, df <= 128);
								 * valid until the next call */
} SniiInvBound;

/*
 * The part that the inline functions need; the rest is private to
 * inv_cursor.c.
 */
typedef struct SniiInvCursor
{
	int			pos;			/* in docs; n at the end of the window */
	int			n;				/* documents of the decoded window; 0: none is
								 * decoded yet, or the list is exhausted */
	uint32	   *docs;
} SniiInvCursor;

extern SniiInvCursor *snii_inv_cursor_open(SniiInvSegment *seg,
										   const SniiInvTerm *term,
										   int flags);
extern void snii_inv_cursor_close(SniiInvCursor *c);
extern uint32 snii_inv_cursor_start(SniiInvCursor *c);
extern uint32 snii_inv_cursor_next_window(SniiInvCursor *c);
extern uint32 snii_inv_cursor_seek_far(SniiInvCursor *c, uint32 target);

extern uint32 snii_inv_cursor_freq(SniiInvCursor *c);
extern const uint32 *snii_inv_cursor_window_freqs(SniiInvCursor *c);
extern const uint32 *snii_inv_cursor_positions(SniiInvCursor *c, uint32 *n);
extern int	snii_inv_cursor_position_next(SniiInvCursor *c,
										  const uint32 **run);

extern bool snii_inv_cursor_bound(SniiInvCursor *c, uint32 target,
								  SniiInvBound *bound);
extern bool snii_inv_cursor_super_bound(SniiInvCursor *c, uint32 target,
										SniiInvBound *bound);

/* Current document, or SNII_INV_NO_DOC after the last. */
static inline uint32
snii_inv_cursor_doc(SniiInvCursor *c)
{
	if (likely(c->pos < c->n))
		return c->docs[c->pos];
	return snii_inv_cursor_start(c);
}

/* Move on by one document and return it. */
static inline uint32
snii_inv_cursor_next(SniiInvCursor *c)
{
	if (likely(c->pos + 1 < c->n))
		return c->docs[++c->pos];
	return snii_inv_cursor_next_window(c);
}

/*
 * Move to the first document that is not before target, and return it.
 * Stays where it is if that is not before target already.
 */
static inline uint32
snii_inv_cursor_seek(SniiInvCursor *c, uint32 target)
{
	if (likely(c->pos < c->n) && c->docs[c->pos] >= target)
		return c->docs[c->pos];
	return snii_inv_cursor_seek_far(c, target);
}

/*
 * Documents of the current window from the current one on; 0 after the
 * last.  Valid until the cursor leaves the window.
 */
static inline int
snii_inv_cursor_window(SniiInvCursor *c, const uint32 **docs)
{
	if (snii_inv_cursor_doc(c) == SNII_INV_NO_DOC)
		return 0;
	*docs = c->docs + c->pos;
	return c->n - c->pos;
}

/* Move to the first document of the next window and return it. */
static inline uint32
snii_inv_cursor_skip_window(SniiInvCursor *c)
{
	if (snii_inv_cursor_doc(c) == SNII_INV_NO_DOC)
		return SNII_INV_NO_DOC;
	c->pos = c->n - 1;
	return snii_inv_cursor_next_window(c);
}

#endif							/* SNII_INV_CURSOR_H */
