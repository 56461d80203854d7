/*-------------------------------------------------------------------------
 *
 * inv_dict.h
 *	  Terms of a segment: look-up and ordered walk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_DICT_H
#define SNII_INV_DICT_H

#include "inverted/inv_segment.h"

/*
 * What the dictionary says of a term.  The public part is df and ttf; the
 * rest is for the cursor of postings.
 */
typedef struct SniiInvTerm
{
	uint64		df;				/* documents */
	uint64		ttf;			/* occurrences, all documents */
	int			column;
	SniiInvForm form;
	uint32		doc;			/* SINGLE */
	uint32		table_len;		/* WINDOWED */
	uint64		docs;			/* SLIM, WINDOWED: offset in DOCS */
	uint64		docs_len;		/* length of window, or of super-blocks */
	uint64		positions;		/* SLIM, WINDOWED: offset in POSITIONS */
	uint64		positions_len;	/* also INLINE */
	const uint8 *bytes;			/* SINGLE: positions; INLINE: window, then
								 * positions; on the dictionary page */
	Buffer		buffer;			/* pin that keeps bytes valid, if any */
	BlockNumber block;			/* of the entry, for messages */
} SniiInvTerm;

typedef struct SniiInvDict SniiInvDict;

/* ---------------- look-up ---------------- */

extern bool snii_inv_lookup(SniiInvSegment *seg, int column, int kind,
							const char *bytes, uint32 len,
							SniiInvTerm *term);
extern void snii_inv_term_release(SniiInvTerm *term);

/* ---------------- ordered walk ---------------- */

extern SniiInvDict *snii_inv_dict_begin(SniiInvSegment *seg);
extern void snii_inv_dict_seek(SniiInvDict *dict, int column, int kind,
							   const char *bytes, uint32 len);
extern bool snii_inv_dict_next(SniiInvDict *dict, uint8 *key, uint32 *keylen,
							   SniiInvTerm *term);
extern void snii_inv_dict_keep(SniiInvDict *dict, SniiInvTerm *term);
extern void snii_inv_dict_end(SniiInvDict *dict);

#endif							/* SNII_INV_DICT_H */
