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
#include "key/key_format.h"
#include "key/key_page.h"
#include "storage/storage_object.h"

/* ---------------- writing ---------------- */

typedef struct SniiKeyRunWriter SniiKeyRunWriter;

extern SniiKeyRunWriter *snii_key_run_begin(const SniiKeyDesc *desc,
											SniiObjectWriter *w);

/*
 * Add an entry, greater than all before (an error otherwise).  Copies what it
 * needs; allocates nothing per entry.
 */
extern void snii_key_run_add(SniiKeyRunWriter *r, const SniiKeyEntry *entry);

/*
 * The same, of an entry that shares exactly "shared" bytes with the one
 * before; that it is greater the caller vouches for.
 */
extern void snii_key_run_add_shared(SniiKeyRunWriter *r,
									const SniiKeyEntry *entry,
									uint32 shared);

/* Write what is pending; returns the number of entries. */
extern uint64 snii_key_run_finish(SniiKeyRunWriter *r);

/* ---------------- reading ---------------- */

/*
 * What a backend knows of a run: head, filter groups, root.  Kept by file and
 * segment id, const.  The caller's view, or a lock, keeps the pages.
 */
typedef struct SniiKeyRun SniiKeyRun;

/* Valid until the end of the transaction. */
extern const SniiKeyRun *snii_key_run_open(Relation index,
										   const SniiKeyDesc *desc,
										   const SniiDirEntry *entry);

/*
 * The same for a run that is not in the directory (yet), or whose directory
 * entry is not at hand; not kept: it is in the current memory context.
 */
extern SniiKeyRun *snii_key_run_load(Relation index, const SniiKeyDesc *desc,
									 SniiObject *object, uint64 nentries);

extern const SniiObject *snii_key_run_object(const SniiKeyRun *run);
extern uint64 snii_key_run_entries(const SniiKeyRun *run);
extern uint32 snii_key_run_filter_pages(const SniiKeyRun *run);

/* First and last string, with TID; without payload. */
extern void snii_key_run_range(const SniiKeyRun *run, SniiKeyEntry *first,
							   SniiKeyEntry *last);

/* May there be an entry of this key?  Reads one filter page. */
extern bool snii_key_run_may_have(const SniiKeyDesc *desc,
								  const SniiKeyRun *run, const uint8 *key,
								  uint32 len, uint64 hash);

/*
 * The same with a pin that is kept from one key to the next: *buf, at first
 * InvalidBuffer, holds filter page *page.  The caller releases it.
 */
extern bool snii_key_run_probe(const SniiKeyDesc *desc, const SniiKeyRun *run,
							   const uint8 *key, uint32 len, uint64 hash,
							   Buffer *buf, uint32 *page);

/* The filter page that would be read. */
extern uint32 snii_key_run_filter_page(const SniiKeyDesc *desc,
									   const SniiKeyRun *run,
									   const uint8 *key, uint32 len,
									   uint64 hash);

/* Data page that has the first entry behind pos, or is just before it. */
extern uint32 snii_key_run_page_of(const SniiKeyDesc *desc,
								   const SniiKeyRun *run,
								   const SniiKeyPos *pos);

/*
 * The same for many positions, best in order: keeps a pin on the index page
 * at hand of each level, until snii_key_descent_end().
 */
typedef struct SniiKeyDescent
{
	const SniiKeyDesc *desc;
	const SniiKeyRun *run;
	Buffer		buffers[SNII_KEY_MAX_LEVELS];
} SniiKeyDescent;

extern void snii_key_descent_begin(SniiKeyDescent *d, const SniiKeyDesc *desc,
								   const SniiKeyRun *run);
extern uint32 snii_key_descent_page(SniiKeyDescent *d, const SniiKeyPos *pos);
extern void snii_key_descent_end(SniiKeyDescent *d);

/*
 * A place in a run.  entry is valid until the cursor moves; the cursor holds
 * a pin while it is valid.
 */
typedef struct SniiKeyCursor
{
	const SniiKeyRun *run;
	const SniiKeyDesc *desc;
	bool		valid;
	SniiKeyEntry entry;
	uint64		ordinal;
	uint64		pages_read;		/* count of pins of data pages */
	/* private */
	Buffer		buffer;
	uint32		page;
	SniiKeyPageReader reader;
} SniiKeyCursor;

extern void snii_key_cursor_init(SniiKeyCursor *c, const SniiKeyDesc *desc,
								 const SniiKeyRun *run);

/* To the first entry behind pos, or the last one before it. */
extern bool snii_key_cursor_seek(SniiKeyCursor *c, const SniiKeyPos *pos);
extern bool snii_key_cursor_seek_from(SniiKeyCursor *c, uint32 page,
									  const SniiKeyPos *pos);	/* page is that of pos */
extern bool snii_key_cursor_seek_before(SniiKeyCursor *c,
										const SniiKeyPos *pos);
extern bool snii_key_cursor_first(SniiKeyCursor *c);
extern bool snii_key_cursor_last(SniiKeyCursor *c);
extern bool snii_key_cursor_next(SniiKeyCursor *c);
extern bool snii_key_cursor_prev(SniiKeyCursor *c);

/* To the first entry of a data page. */
extern bool snii_key_cursor_page(SniiKeyCursor *c, uint32 page);

/* To the entry of an ordinal; an error if there is none. */
extern void snii_key_cursor_goto(SniiKeyCursor *c, uint64 ordinal);

/* Let go of the pin. */
extern void snii_key_cursor_close(SniiKeyCursor *c);

/* For checks: every block of the filter that a hash asks for has it. */
extern bool snii_key_filter_has(const SniiObject *object, uint32 first_page,
								uint32 npages, uint64 hash, Buffer *buf,
								uint32 *buf_page);

#endif							/* SNII_KEY_RUN_H */
