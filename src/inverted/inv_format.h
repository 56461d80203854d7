/*-------------------------------------------------------------------------
 *
 * inv_format.h
 *	  On-disk structures of a segment of an inverted index, version 1.
 *
 * Streams of a segment (numbers are stored with its extents):
 *
 *	HEAD		one SniiInvHead, at page 0
 *	DICT		dictionary blocks, one page each
 *	INDEX		inner nodes over the dictionary blocks, one page each; absent
 *				if there is one block; levels bottom up, the root is last
 *	DOCS		doc ids and frequencies of postings that are not inline
 *	POSITIONS	positions of postings that are not inline
 *	COLUMNS		TIDs, lengths, NULL bitmaps, filter; offsets in the head
 *	VALUES		reserved: typed doc values (filter columns)
 *	PAYLOADS	reserved: payloads of terms
 *
 * A document is an ordinal, 0 .. ndocs - 1, of 32 bits; every heap tuple of
 * the segment is one, also with NULL or empty text.
 *
 * Key of a term: column (u8, 0-based), kind (u8), bytes.  Order: memcmp,
 * then length.
 *
 * Dictionary block (payload of one page):
 *
 *	block		:= SniiInvDictHeader entry* anchor*
 *	anchor		:= u16 offset in the payload of every 16th entry, the first
 *				   included; they end at the end of the used payload
 *	entry		:= lens [varint prefix - 15] [varint suffix - 15] suffix info
 *	lens		:= u8: prefix << 4 | suffix, each at most 15; 15 announces a
 *				   varint with the rest.  prefix counts the bytes shared with
 *				   the key before; it is 0 for anchored entries.
 *	info		:= varint64 n << 2 | form, then by form
 *	SINGLE (0)	   n = document.  varint32 p: even: one position p >> 1;
 *				   odd: p >> 1 positions follow (>= 2, varint32: first, then
 *				   gap - 1)
 *	INLINE (1)	   n = df (<= 128).  varint64 ttf - df, varint32 length of
 *				   window, varint32 length of positions, window, positions
 *	SLIM (2)	   n = df (<= 128).  varint64 ttf - df, varint64 DOCS offset -
 *				   docs_base, varint32 length of window, varint64 POSITIONS
 *				   offset - positions_base, varint64 length of positions
 *	WINDOWED (3)   n = df (> 128).  varint64 ttf - df, varint64 DOCS offset -
 *				   docs_base, varint64 length of the super-blocks, varint32
 *				   length of the table behind them, varint64 POSITIONS offset -
 *				   positions_base, varint64 length of positions
 *
 * Window, of 1 to 128 documents (128 but for the last of a posting list):
 *
 *	window		:= pfor(doc - previous doc - 1) [pfor(freq - 1)]
 *				   previous doc is the last one of the window before, -1 for
 *				   the first window; the second part is absent if every freq
 *				   of the window is 1, which the length of the window tells
 *	positions	:= pfor blocks of 128 values, the last one shorter, over all
 *				   positions of the window's documents one after the other:
 *				   first position of a document, then gap - 1
 *
 * Windowed posting list:
 *
 *	list		:= super* table
 *	super		:= varint32 length of rows, rows, windows		(32 windows, the
 *				   last super-block may have fewer)
 *	row			:= varint32 last doc - last doc of the window before (-1 at
 *				   the start of the list), varint32 length of window,
 *				   varint64 length of its positions, impacts
 *	table		:= row of every super-block: varint32 last doc delta, varint64
 *				   length of super (its own length varint included), varint64
 *				   length of its positions, impacts
 *	impacts		:= Pareto list of (freq, length code), see codec_impact.h
 *
 * Inner node (payload of one page): SniiInvIndexHeader, u16 offset[n], keys.
 * Key i is a separator: greater than every key in the children before i, not
 * greater than the first key of child i.  Key 0 is empty.  offset[i] is the
 * place of key i in the payload; it ends where key i + 1 begins, the last one
 * at the end of the used payload.  Children are neighbouring pages.
 *
 * COLUMNS: a column array of n u32 values is groups of 256, the last one
 * shorter, each encoded by codec_column.h, and a directory with one u64 a
 * group: COLUMNS offset << 12 | bytes of the encoded group.  Groups of
 * different arrays alternate, since they are written as documents come; the
 * directories follow all groups.  A TID group is two encoded groups one
 * after the other, block numbers then offset numbers.  The length of a NULL
 * document is 0.  A NULL bitmap has (ndocs + 7) / 8 bytes, document i being
 * bit i % 8 of byte i / 8, and is absent if the column has no NULL.
 *
 * Filter: blocks of codec_bloom.h with the hash of every key (inv_key.h), in
 * snii_codec_bloom_blocks(nterms, SNII_INV_FILTER_BITS) blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_FORMAT_H
#define SNII_INV_FORMAT_H

#include "storage/storage_format.h"

#define SNII_INV_HEAD_MAGIC		0x48564E49	/* "INVH" */
#define SNII_INV_VERSION		1

#define SNII_INV_STREAM_HEAD		(SNII_STREAM_KIND + 0)
#define SNII_INV_STREAM_DICT		(SNII_STREAM_KIND + 1)
#define SNII_INV_STREAM_INDEX		(SNII_STREAM_KIND + 2)
#define SNII_INV_STREAM_DOCS		(SNII_STREAM_KIND + 3)
#define SNII_INV_STREAM_POSITIONS	(SNII_STREAM_KIND + 4)
#define SNII_INV_STREAM_COLUMNS		(SNII_STREAM_KIND + 5)
#define SNII_INV_STREAM_VALUES		(SNII_STREAM_KIND + 6)	/* reserved */
#define SNII_INV_STREAM_PAYLOADS	(SNII_STREAM_KIND + 7)	/* reserved */

#define SNII_INV_WINDOW			128 /* documents of a window */
#define SNII_INV_SUPER			32	/* windows of a super-block */
#define SNII_INV_ANCHOR			16	/* entries from anchor to anchor */
#define SNII_INV_INLINE_MAX		128 /* bytes of an inline posting (writer's
									 * choice) */
#define SNII_INV_GROUP			256 /* values of a column group */
#define SNII_INV_GROUP_BITS		12	/* directory: low bits with the length */
#define SNII_INV_KEY_MAX		(2 + 512)	/* column, kind, bytes */
#define SNII_INV_FILTER_BITS	10.0	/* bits of the filter a term */
#define SNII_INV_POSITION_MAX	0x7FFFFFFF	/* largest position */
#define SNII_INV_DOC_MAX		0xFFFFFFFE	/* largest document */

typedef enum SniiInvForm
{
	SNII_INV_SINGLE = 0,
	SNII_INV_INLINE = 1,
	SNII_INV_SLIM = 2,
	SNII_INV_WINDOWED = 3
} SniiInvForm;

typedef struct SniiInvDictHeader
{
	uint64		docs_base;
	uint64		positions_base;
	uint16		nentries;
	uint16		nanchors;
	uint32		reserved;
} SniiInvDictHeader;

typedef struct SniiInvIndexHeader
{
	uint16		nchildren;
	uint16		level;			/* 1: children are dictionary blocks */
	uint32		first_child;	/* page number in DICT or INDEX */
} SniiInvIndexHeader;

#define SNII_INV_ABSENT			PG_UINT64_MAX

/* Statistics and places of one indexed column. */
typedef struct SniiInvColumn
{
	uint64		ndocs;			/* documents that are not NULL */
	uint64		nnulls;
	uint64		sum_length;		/* tokens, all documents */
	uint64		nterms;			/* distinct terms */
	uint64		sum_df;			/* postings */
	uint64		reserved1;		/* 0 */
	uint64		lengths_dir;	/* COLUMNS offset of the directory */
	uint64		nulls;			/* COLUMNS offset of the bitmap, or ABSENT */
	uint8		analyzer;
	uint8		flags;
	uint8		reserved[6];
} SniiInvColumn;

typedef struct SniiInvHead
{
	uint32		magic;
	uint16		version;
	uint8		ncolumns;
	uint8		index_levels;	/* 0: one dictionary block at most */
	uint64		ndocs;
	uint64		nterms;
	uint32		dict_pages;
	uint32		index_pages;
	uint64		docs_bytes;		/* length of each stream */
	uint64		positions_bytes;
	uint64		columns_bytes;
	uint64		reserved1;		/* 0 */
	uint64		tids_dir;
	uint64		filter;			/* COLUMNS offset, or ABSENT */
	uint64		filter_blocks;	/* of 32 bytes */
	uint64		features;		/* bits a reader must know */
	uint64		reserved[4];
	SniiInvColumn columns[SNII_MAX_COLUMNS];	/* ncolumns are stored */
} SniiInvHead;

StaticAssertDecl(sizeof(SniiInvDictHeader) == 24, "dictionary header size");
StaticAssertDecl(sizeof(SniiInvIndexHeader) == 8, "inner node header size");
StaticAssertDecl(sizeof(SniiInvColumn) == 72, "inverted column size");
StaticAssertDecl(offsetof(SniiInvHead, ndocs) == 8, "inverted head");
StaticAssertDecl(offsetof(SniiInvHead, columns) == 128, "inverted head");

/*
 * Record of an inverted index in the write buffer (body of a buffer record):
 *
 *	record	:= column*			one for each column of the index
 *	column	:= varint32 0						NULL
 *			 | varint32 n + 1, token*			n tokens
 *	token	:= varint32 len << 2 | gap << 1 | long, [varint32 gap], bytes
 *			   long: kind of term (text_term.h); gap: the position is that of
 *			   the token before + 1 + gap, else + 1; the first is 0 + gap
 */

#endif							/* SNII_INV_FORMAT_H */
