/*-------------------------------------------------------------------------
 *
 * inv_decode.h
 *	  Parsers of the bytes of an inverted segment.
 *
 * Nothing here reads pages, allocates or raises errors, so that the parsers
 * can be compiled and fuzzed outside a server.  Every function bounds what it
 * reads by an end pointer and returns false or NULL for malformed bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_DECODE_H
#define SNII_INV_DECODE_H

#include "codec/codec_impact.h"
#include "inverted/inv_format.h"
#include "storage/buf.h"

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
	uint64		positions_len;	/* also INLINE and SINGLE: in bytes */
	const uint8 *bytes;			/* SINGLE: varints of the positions; INLINE:
								 * window, then positions; on the dictionary
								 * page */
	Buffer		buffer;			/* pin that keeps bytes valid, if any */
	BlockNumber block;			/* of the entry, for messages */
	uint32		page;			/* dictionary block, by number */
	uint32		offset;			/* of what this was read from, in the block */
} SniiInvTerm;

/* A dictionary block, its header checked. */
typedef struct SniiInvBlock
{
	const uint8 *payload;
	const uint8 *entries_end;	/* where the anchors begin */
	uint64		docs_base;
	uint64		positions_base;
	int			nentries;
	int			nanchors;
} SniiInvBlock;

/* The key part of an entry. */
typedef struct SniiInvEntryKey
{
	uint32		prefix;
	uint32		suffix_len;
	const uint8 *suffix;
} SniiInvEntryKey;

/* An inner node, its header checked. */
typedef struct SniiInvNode
{
	const uint8 *payload;
	uint32		len;
	int			nchildren;
	int			level;
	uint32		first_child;
} SniiInvNode;

/* Row of a window or of a super-block. */
typedef struct SniiInvRow
{
	uint32		last_delta;
	uint64		docs_len;
	uint64		positions_len;
	SniiImpacts impacts;
} SniiInvRow;

/* Largest row of either kind. */
#define SNII_INV_ROW_MAX		(5 + 10 + 10 + SNII_IMPACT_MAX_BYTES)

/* Largest area of rows of a super-block. */
#define SNII_INV_ROWS_MAX		(SNII_INV_SUPER * SNII_INV_ROW_MAX)

/* Largest window. */
#define SNII_INV_WINDOW_MAX_BYTES	(2 * (1 + SNII_INV_WINDOW * 4))

extern bool snii_inv_decode_block(const uint8 *payload, uint32 len,
								  SniiInvBlock *block);
extern const uint8 *snii_inv_decode_anchor(const SniiInvBlock *block, int i);
extern const uint8 *snii_inv_decode_key(const uint8 *p, const uint8 *end,
										SniiInvEntryKey *key);
extern const uint8 *snii_inv_decode_info(const SniiInvBlock *block,
										 const uint8 *p, SniiInvTerm *term);
extern int	snii_inv_decode_find(const SniiInvBlock *block,
								 const uint8 *key, uint32 keylen,
								 const uint8 **info);
extern int	snii_inv_decode_anchor_of(const SniiInvBlock *block,
									  const uint8 *key, uint32 keylen);
extern bool snii_inv_decode_node(const uint8 *payload, uint32 len,
								 SniiInvNode *node);
extern bool snii_inv_decode_node_key(const SniiInvNode *node, int i,
									 const uint8 **key, uint32 *keylen);
extern int	snii_inv_decode_child(const SniiInvNode *node,
								  const uint8 *key, uint32 keylen);
extern const uint8 *snii_inv_decode_row(const uint8 *p, const uint8 *end,
										SniiInvRow *row);
extern const uint8 *snii_inv_decode_docs(const uint8 *p, const uint8 *end,
										 int n, int64 previous,
										 uint32 *docs);
extern const uint8 *snii_inv_decode_freqs(const uint8 *p, const uint8 *end,
										  int n, uint32 *freqs);
extern bool snii_inv_decode_gaps(uint32 *values, int n, bool first,
								 uint32 *last);
extern bool snii_inv_decode_single(const uint8 **p, const uint8 *end,
								   uint32 *n);
extern bool snii_inv_decode_position(const uint8 **p, const uint8 *end,
									 uint32 n, uint32 i, uint32 *position);

#endif							/* SNII_INV_DECODE_H */
