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

#include "key/key_desc.h"
#include "key/key_format.h"

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
	uint32		shared;			/* of the entry at hand */
	uint32		len;
	const uint8 *payload;
	uint32		payload_len;
	uint8		str[SNII_KEY_MAX_ENTRY];
} SniiKeyPageReader;

/* False: the page is malformed. */
extern bool snii_key_page_open(SniiKeyPageReader *r, const SniiKeyDesc *desc,
							   const uint8 *page, uint32 len);

/* To entry number item (< nentries); false: the page is malformed. */
extern bool snii_key_page_goto(SniiKeyPageReader *r, uint32 item);

/* To the next entry; the caller knows that there is one. */
extern bool snii_key_page_next(SniiKeyPageReader *r);

/*
 * To the first entry behind a position.  *found false: there is none.
 */
extern bool snii_key_page_seek(SniiKeyPageReader *r, const SniiKeyPos *pos,
							   bool *found);

#endif							/* SNII_KEY_PAGE_H */
