/*-------------------------------------------------------------------------
 *
 * key_page.h
 *	  Data pages of a run: building and reading.
 *
 * Nothing here touches buffers; what is read was not trusted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_PAGE_H
#define SNII_KEY_PAGE_H

#include "codec/codec_bytes.h"
#include "key/key_desc.h"
#include "key/key_format.h"

#include "port/pg_bitutils.h"

/* Room behind a string, so that short copies have one size. */
#define SNII_KEY_SLACK			32
#define SNII_KEY_STR_BYTES		(SNII_KEY_MAX_ENTRY + SNII_KEY_SLACK)

/* Number of equal bytes that two strings of n bytes begin with. */
static inline uint32
snii_key_common(const uint8 *a, const uint8 *b, uint32 n)
{
	uint32		i = 0;

	for (; i + 8 <= n; i += 8)
	{
		uint64		x = snii_codec_load64(a + i) ^ snii_codec_load64(b + i);

		if (x != 0)
			return i + pg_rightmost_one_pos64(x) / 8;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/*
 * Is a string, or a separator, before a position?  As snii_key_compare_pos(),
 * without a call if all columns are of class BYTES.
 */
static inline bool
snii_key_before(const SniiKeyDesc *desc, const uint8 *str, uint32 len,
				const SniiKeyPos *pos)
{
	uint32		n = Min(len, pos->len);
	uint32		common;

	if (!desc->all_bytes)
		return snii_key_compare_pos(desc, str, len, pos) < 0;
	common = snii_key_common(str, pos->bytes, n);
	if (common == pos->len)
		return pos->after;
	return common == len || str[common] < pos->bytes[common];
}

/* ---------------- building ---------------- */

typedef struct SniiKeyPageBuilder
{
	const SniiKeyDesc *desc;
	uint32		at;				/* bytes so far */
	uint32		nentries;
	uint32		nrestarts;
	uint64		first_ordinal;
	union
	{
		SniiKeyPage header;
		uint8		bytes[SNII_PAGE_PAYLOAD];
	}			page;
	uint16		restarts[SNII_PAGE_PAYLOAD / (2 * SNII_KEY_RESTART)];
} SniiKeyPageBuilder;

extern void snii_key_page_begin(SniiKeyPageBuilder *b, const SniiKeyDesc *desc,
								uint64 first_ordinal);

/*
 * Add an entry, the first "shared" bytes of whose string are those of the
 * entry before.  False if it does not fit.
 */
extern bool snii_key_page_add(SniiKeyPageBuilder *b, const SniiKeyEntry *entry,
							  uint32 shared);

/* Write the restarts; returns the length of the page. */
extern uint32 snii_key_page_finish(SniiKeyPageBuilder *b);

/* ---------------- reading ---------------- */

/*
 * A page, and an entry of it whose whole string is in str.  The caller keeps
 * the page where it is.
 */
typedef struct SniiKeyPageReader
{
	const SniiKeyDesc *desc;
	const uint8 *page;
	uint32		end;			/* of the entries */
	uint32		nentries;
	uint32		nrestarts;
	uint32		fixed_len;
	uint64		first_ordinal;
	uint32		item;			/* number of the entry at hand */
	uint32		next;			/* offset of the one behind it */
	uint32		shared;			/* with the one before, as stored */
	uint32		len;
	const uint8 *payload;
	uint32		payload_len;
	uint8		str[SNII_KEY_STR_BYTES];
} SniiKeyPageReader;

/* False: the page is malformed. */
extern bool snii_key_page_open(SniiKeyPageReader *r, const SniiKeyDesc *desc,
							   const uint8 *page, uint32 len);

/* To entry number item (< nentries); false: the page is malformed. */
extern bool snii_key_page_goto(SniiKeyPageReader *r, uint32 item);

/* To the next entry; the caller knows that there is one. */
extern bool snii_key_page_next(SniiKeyPageReader *r);

/*
 * The same; *shared: bytes that the two strings have in common, exactly.
 * *greater: by its bytes, the new one is.  Restarts must be where they
 * belong, and the entries end where those begin.
 */
extern bool snii_key_page_next_ordered(SniiKeyPageReader *r, uint32 *shared,
									   bool *greater);

/* Before the first entry, for snii_key_page_next_ordered(). */
extern void snii_key_page_rewind(SniiKeyPageReader *r);

/*
 * To the first entry behind a position.  *found false: there is none.
 */
extern bool snii_key_page_seek(SniiKeyPageReader *r, const SniiKeyPos *pos,
							   bool *found);

#endif							/* SNII_KEY_PAGE_H */
