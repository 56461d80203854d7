/*-------------------------------------------------------------------------
 *
 * key_format.h
 *	  Bytes of a run.  docs/key-index.md, section 3.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_FORMAT_H
#define SNII_KEY_FORMAT_H

#include "postgres.h"

#include "codec/codec_bloom.h"
#include "storage/storage_format.h"

/* Streams (1 is the marks of every segment). */
#define SNII_KEY_STREAM_HEAD	2
#define SNII_KEY_STREAM_DATA	3
#define SNII_KEY_STREAM_INDEX	4
#define SNII_KEY_STREAM_FILTER	5

/* Entries between two whole strings of a data page. */
#define SNII_KEY_RESTART		16

/*
 * Data page: this, entries, then restarts[] (u16, offsets of every 16th
 * entry).  An entry is, with fixed_len: shared (u8), string from there on;
 * else: shared, rest, and with INCLUDE columns payload (lengths as u8, or 255
 * and u16), rest of the string, payload.
 */
typedef struct SniiKeyPage
{
	uint16		nentries;
	uint16		restarts;		/* where they begin */
	uint16		fixed_len;		/* of every string, or 0 */
	uint16		reserved;
	uint64		first_ordinal;
} SniiKeyPage;

StaticAssertDecl(sizeof(SniiKeyPage) == 16, "snii key page header");

/*
 * Index page: this, offsets[] (u16) of the items, then items: child (u32),
 * separator.  The first separator of a level is empty.  Children of level 1
 * are data pages, of higher levels index pages.
 */
typedef struct SniiKeyIndexPage
{
	uint16		nitems;
	uint16		level;
	uint32		reserved;
	uint16		offsets[FLEXIBLE_ARRAY_MEMBER];
} SniiKeyIndexPage;

#define SNII_KEY_CHILD_BYTES	4

/* Filter: pages of blocks; groups of pages. */
#define SNII_KEY_FILTER_BITS	10.0
#define SNII_KEY_PAGE_BLOCKS	(SNII_PAGE_PAYLOAD / SNII_BLOOM_BLOCK_BYTES)
#define SNII_KEY_GROUP_PAGES	64
#define SNII_KEY_GROUP_KEYS \
	((uint32) (SNII_KEY_GROUP_PAGES * SNII_KEY_PAGE_BLOCKS * \
			   SNII_BLOOM_BLOCK_BYTES * 8 / SNII_KEY_FILTER_BITS))

/*
 * Head: this, first string, last string, then for each group: first page
 * (u32), pages (u32), length of its separator (u16), separator.
 */
typedef struct SniiKeyHead
{
	uint32		magic;
	uint16		version;
	uint16		levels;			/* of the index; 0: one data page, no index */
	uint64		nentries;
	uint32		ndata;			/* pages */
	uint32		nindex;
	uint32		nfilter;
	uint32		root;			/* page of the index */
	uint32		ngroups;
	uint16		first_len;
	uint16		last_len;
	uint32		length;			/* of the head with all that follows */
	uint32		reserved;
} SniiKeyHead;

#define SNII_KEY_HEAD_MAGIC		0x534E4B48	/* "SNKH" */
#define SNII_KEY_VERSION		1
/* Strings of the greatest length make pages of three children. */
#define SNII_KEY_MAX_LEVELS		24

StaticAssertDecl(sizeof(SniiKeyHead) == 48, "snii key head");

#endif							/* SNII_KEY_FORMAT_H */
