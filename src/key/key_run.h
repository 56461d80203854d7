/*-------------------------------------------------------------------------
 *
 * key_run.h
 *	  Runs: sorted entries in the pages of a segment.
 *
 * docs/key-index.md, section 3.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_RUN_H
#define SNII_KEY_RUN_H

#include "key/key_desc.h"
#include "storage/storage_object.h"

/* Streams of a run (1 is the marks of every segment). */
#define SNII_KEY_STREAM_HEAD	2
#define SNII_KEY_STREAM_DATA	3
#define SNII_KEY_STREAM_INDEX	4
#define SNII_KEY_STREAM_FILTER	5

/* ---------------- writing ---------------- */

typedef struct SniiKeyRunWriter SniiKeyRunWriter;

extern SniiKeyRunWriter *snii_key_run_begin(const SniiKeyDesc *desc,
											SniiObjectWriter *w);

/*
 * Add an entry, greater than all before (an error otherwise).  Copies what it
 * needs; allocates nothing per entry.
 */
extern void snii_key_run_add(SniiKeyRunWriter *r, const SniiKeyEntry *entry);

/* Write what is pending; returns the number of entries. */
extern uint64 snii_key_run_finish(SniiKeyRunWriter *r);

/* ---------------- reading ---------------- */

/*
 * What a backend knows of a run: head, filter groups, root.  Kept by file and
 * segment id, const, until the cache is full or the relation is closed for
 * good.  The caller's view keeps the pages.
 */
typedef struct SniiKeyRun SniiKeyRun;

extern const SniiKeyRun *snii_key_run_open(Relation index,
										   const SniiKeyDesc *desc,
										   const SniiDirEntry *entry);
extern uint64 snii_key_run_entries(const SniiKeyRun *run);
extern uint32 snii_key_run_data_pages(const SniiKeyRun *run);

/* First and last string, with TID. */
extern void snii_key_run_range(const SniiKeyRun *run, SniiKeyEntry *first,
							   SniiKeyEntry *last);

/* May there be an entry of this key?  Reads one filter page at most. */
extern bool snii_key_run_may_have(const SniiKeyRun *run, const uint8 *key,
								  uint32 len, uint64 hash);

/* Data page that has the first entry behind pos, if any entry is. */
extern uint32 snii_key_run_page_of(const SniiKeyRun *run,
								   const SniiKeyPos *pos);
extern void snii_key_run_prefetch(const SniiKeyRun *run, uint32 page,
								  uint32 npages);

/* Entry at hand; str and payload are valid until the cursor moves. */
typedef struct SniiKeyCursor
{
	const SniiKeyRun *run;
	bool		valid;
	SniiKeyEntry entry;
	uint64		ordinal;
	uint64		pages_read;		/* count of pins of data and index pages */
	/* private */
	Buffer		buffer;
	uint32		page;
	const uint8 *payload;
	uint32		payload_used;
	int			item;			/* on the page */
	uint32		at;				/* offset of the item behind */
	uint8		str[SNII_KEY_MAX_ENTRY];
} SniiKeyCursor;

extern void snii_key_cursor_init(SniiKeyCursor *c, const SniiKeyRun *run);

/* To the first entry behind pos, or the last one before it. */
extern bool snii_key_cursor_seek(SniiKeyCursor *c, const SniiKeyPos *pos);
extern bool snii_key_cursor_seek_before(SniiKeyCursor *c,
										const SniiKeyPos *pos);
extern bool snii_key_cursor_first(SniiKeyCursor *c);
extern bool snii_key_cursor_last(SniiKeyCursor *c);
extern bool snii_key_cursor_next(SniiKeyCursor *c);
extern bool snii_key_cursor_prev(SniiKeyCursor *c);

/* To the entry with this ordinal. */
extern bool snii_key_cursor_goto(SniiKeyCursor *c, uint64 ordinal);

/* Let go of the pin. */
extern void snii_key_cursor_close(SniiKeyCursor *c);

#endif							/* SNII_KEY_RUN_H */
