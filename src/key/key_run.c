/*-------------------------------------------------------------------------
 *
 * key_run.c
 *	  Reading a run.
 *
 * What every look-up needs is kept by each backend: the head, the groups of
 * the filter, the root of the index, and the extents of the streams
 * (SniiObject).  Ids of segments are never used twice in a file, so what is
 * kept is found by file and id and cannot be stale; a transaction's own file
 * may begin anew in place, then nothing is kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "key/key_run.h"
#include "storage/storage_page.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/* A group of the filter. */
typedef struct Group
{
	uint32		first_page;
	uint32		npages;
	const uint8 *sep;
	uint32		sep_len;
} Group;

struct SniiKeyRun
{
	SniiObject *object;
	SniiKeyHead head;
	const uint8 *first;
	const uint8 *last;
	Group	   *groups;
	uint8	   *root;			/* copy of the index page, if there is one */
	uint32		root_len;
};

static void
damaged(const SniiObject *object, const char *what)
{
	snii_storage_corrupted(snii_storage_object_relation(object),
						   InvalidBlockNumber, "run %llu: %s",
						   (unsigned long long) snii_storage_object_id(object),
						   what);
}

/* ----------------------------------------------------------------
 *		Loading
 * ----------------------------------------------------------------
 */

/* The counts of a head are those of its streams. */
static bool
head_is_valid(const SniiKeyHead *head, const SniiObject *object,
			  uint64 nentries)
{
	uint64		room = (uint64) snii_storage_stream_pages(object,
														  SNII_KEY_STREAM_HEAD) *
	SNII_PAGE_PAYLOAD;

	return head->magic == SNII_KEY_HEAD_MAGIC &&
		head->version == SNII_KEY_VERSION &&
		head->levels <= SNII_KEY_MAX_LEVELS &&
		head->nentries == nentries && nentries > 0 &&
		head->ndata == snii_storage_stream_pages(object,
												 SNII_KEY_STREAM_DATA) &&
		head->ndata > 0 &&
		head->nindex == snii_storage_stream_pages(object,
												  SNII_KEY_STREAM_INDEX) &&
		head->nfilter == snii_storage_stream_pages(object,
												   SNII_KEY_STREAM_FILTER) &&
		(head->levels > 0 ? head->root < head->nindex :
		 head->nindex == 0 && head->ndata == 1) &&
		head->ngroups > 0 && head->ngroups <= head->nfilter &&
		head->first_len >= SNII_KEY_TID_BYTES &&
		head->first_len <= SNII_KEY_MAX_ENTRY &&
		head->last_len >= SNII_KEY_TID_BYTES &&
		head->last_len <= SNII_KEY_MAX_ENTRY &&
		head->length >= sizeof(*head) + head->first_len + head->last_len &&
		head->length <= room;
}

/* Take the groups from the end of the head. */
static void
load_groups(SniiKeyRun *run, const uint8 *at, const uint8 *end)
{
	uint32		next_page = 0;

	run->groups = palloc(run->head.ngroups * sizeof(Group));
	for (uint32 i = 0; i < run->head.ngroups; i++)
	{
		Group	   *g = &run->groups[i];
		uint16		len;

		if (end - at < 10)
			damaged(run->object, "head is too short");
		memcpy(&g->first_page, at, 4);
		memcpy(&g->npages, at + 4, 4);
		memcpy(&len, at + 8, 2);
		at += 10;
		if (len > end - at || g->first_page != next_page || g->npages == 0 ||
			g->npages > run->head.nfilter - next_page)
			damaged(run->object, "table of filter groups");
		g->sep = at;
		g->sep_len = len;
		at += len;
		next_page += g->npages;
	}
	if (at != end || next_page != run->head.nfilter)
		damaged(run->object, "table of filter groups");
}

static void check_index_page(const SniiKeyRun *run, const uint8 *page,
							 uint32 len, int level);

/* Every look-up begins at the root. */
static void
load_root(SniiKeyRun *run)
{
	const uint8 *page;
	Buffer		buf;

	buf = snii_storage_pin(run->object, SNII_KEY_STREAM_INDEX,
						   run->head.root, InvalidBuffer, &page,
						   &run->root_len);
	check_index_page(run, page, run->root_len, run->head.levels);
	run->root = palloc(run->root_len);
	memcpy(run->root, page, run->root_len);
	ReleaseBuffer(buf);
}

SniiKeyRun *
snii_key_run_load(Relation index, const SniiKeyDesc *desc, SniiObject *object,
				  uint64 nentries)
{
	SniiKeyRun *run = palloc0(sizeof(SniiKeyRun));
	uint8	   *bytes;

	run->object = object;
	snii_storage_read(object, SNII_KEY_STREAM_HEAD, 0, &run->head,
					  sizeof(run->head));
	if (!head_is_valid(&run->head, object, nentries))
		damaged(object, "head");
	bytes = palloc(run->head.length);
	snii_storage_read(object, SNII_KEY_STREAM_HEAD, 0, bytes,
					  run->head.length);
	run->first = bytes + sizeof(SniiKeyHead);
	run->last = run->first + run->head.first_len;
	if (!snii_key_valid(desc, run->first, run->head.first_len) ||
		!snii_key_valid(desc, run->last, run->head.last_len))
		damaged(object, "range");
	load_groups(run, run->last + run->head.last_len,
				bytes + run->head.length);
	if (run->head.levels > 0)
		load_root(run);
	return run;
}

/* ----------------------------------------------------------------
 *		The cache
 * ----------------------------------------------------------------
 */

typedef struct CacheKey
{
	Oid			database;		/* InvalidOid: shared */
	Oid			tablespace;
	Oid			file;
	uint64		id;
} CacheKey;

typedef struct CacheEntry
{
	CacheKey	key;
	MemoryContext context;
	SniiKeyRun *run;			/* NULL: being loaded, or failed */
	uint64		transaction;	/* that used it last */
} CacheEntry;

/* Runs beyond which those go that no scan can hold; each has some kB. */
#define CACHE_RUNS	512

static HTAB *cache = NULL;
static uint64 transaction = 0;
static long room = CACHE_RUNS;	/* entries at which to look for old ones */

static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		transaction++;
}

static void
make_cache(void)
{
	HASHCTL		ctl = {0};

	ctl.keysize = sizeof(CacheKey);
	ctl.entrysize = sizeof(CacheEntry);
	ctl.hcxt = CacheMemoryContext;
	cache = hash_create("snii runs", CACHE_RUNS, &ctl,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	RegisterXactCallback(transaction_ends, NULL);
}

/* Scans end with their transaction: what this one has not used can go. */
static void
make_room(void)
{
	HASH_SEQ_STATUS status;
	CacheEntry *entry;

	if (hash_get_num_entries(cache) < room)
		return;
	hash_seq_init(&status, cache);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->transaction == transaction)
			continue;
		if (entry->context != NULL)
			MemoryContextDelete(entry->context);
		hash_search(cache, &entry->key, HASH_REMOVE, NULL);
	}
	/* A transaction that uses so many does not look for them each time. */
	room = Max(CACHE_RUNS, 2 * hash_get_num_entries(cache));
}

const SniiKeyRun *
snii_key_run_open(Relation index, const SniiKeyDesc *desc,
				  const SniiDirEntry *dir)
{
	CacheKey	key;
	CacheEntry *entry;
	MemoryContext old;
	bool		found;

	if (snii_compat_truncated_in_place(index))
		return snii_key_run_load(index, desc,
								 snii_storage_object_open(index, dir->id,
														  dir->list_head),
								 dir->ndocs);
	if (cache == NULL)
		make_cache();
	memset(&key, 0, sizeof(key));
	snii_compat_file(index, &key.database, &key.tablespace, &key.file);
	key.id = dir->id;
	entry = hash_search(cache, &key, HASH_FIND, NULL);
	if (entry == NULL)
	{
		make_room();
		entry = hash_search(cache, &key, HASH_ENTER, &found);
		entry->context = NULL;
		entry->run = NULL;
	}
	entry->transaction = transaction;
	if (entry->run != NULL)
	{
		snii_storage_object_bind(entry->run->object, index);
		return entry->run;
	}

	/* Not there, or an error was raised when it was loaded. */
	if (entry->context != NULL)
		MemoryContextDelete(entry->context);
	entry->context = NULL;
	entry->context = AllocSetContextCreate(CacheMemoryContext, "snii run",
										   ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(entry->context);
	entry->run = snii_key_run_load(index, desc,
								   snii_storage_object_open(index, dir->id,
															dir->list_head),
								   dir->ndocs);
	MemoryContextSwitchTo(old);
	return entry->run;
}

/* ----------------------------------------------------------------
 *		What a run is
 * ----------------------------------------------------------------
 */

const SniiObject *
snii_key_run_object(const SniiKeyRun *run)
{
	return run->object;
}

uint64
snii_key_run_entries(const SniiKeyRun *run)
{
	return run->head.nentries;
}

uint32
snii_key_run_filter_pages(const SniiKeyRun *run)
{
	return run->head.nfilter;
}

void
snii_key_run_range(const SniiKeyRun *run, SniiKeyEntry *first,
				   SniiKeyEntry *last)
{
	memset(first, 0, sizeof(*first));
	memset(last, 0, sizeof(*last));
	first->str = run->first;
	first->len = run->head.first_len;
	last->str = run->last;
	last->len = run->head.last_len;
}

/* ----------------------------------------------------------------
 *		Filter
 * ----------------------------------------------------------------
 */

bool
snii_key_filter_has(const SniiObject *object, uint32 first_page,
					uint32 npages, uint64 hash, Buffer *buf,
					uint32 *buf_page)
{
	uint64		block = snii_codec_bloom_block_of(hash, (uint64) npages *
												  SNII_KEY_PAGE_BLOCKS);
	uint32		page = first_page + (uint32) (block / SNII_KEY_PAGE_BLOCKS);
	const uint8 *payload;
	uint32		len;

	if (!BufferIsValid(*buf) || *buf_page != page)
	{
		*buf = snii_storage_pin(object, SNII_KEY_STREAM_FILTER, page, *buf,
								&payload, &len);
		*buf_page = page;
		if (len < SNII_KEY_PAGE_BLOCKS * SNII_BLOOM_BLOCK_BYTES)
			damaged(object, "filter page is too short");
	}
	payload = (const uint8 *) PageGetContents(BufferGetPage(*buf));
	return snii_codec_bloom_probe(payload + block % SNII_KEY_PAGE_BLOCKS *
								  SNII_BLOOM_BLOCK_BYTES, hash);
}

/* The last group that may have a key. */
static const Group *
find_group(const SniiKeyDesc *desc, const SniiKeyRun *run, const uint8 *key,
		   uint32 len)
{
	SniiKeyPos	pos = {key, len, true};
	uint32		low = 0;
	uint32		high = run->head.ngroups;

	while (high - low > 1)
	{
		uint32		middle = (low + high) / 2;
		const Group *g = &run->groups[middle];

		if (snii_key_compare_pos(desc, g->sep, g->sep_len, &pos) < 0)
			low = middle;
		else
			high = middle;
	}
	return &run->groups[low];
}

uint32
snii_key_run_filter_page(const SniiKeyDesc *desc, const SniiKeyRun *run,
						 const uint8 *key, uint32 len, uint64 hash)
{
	const Group *g = find_group(desc, run, key, len);

	return g->first_page +
		(uint32) (snii_codec_bloom_block_of(hash, (uint64) g->npages *
											SNII_KEY_PAGE_BLOCKS) /
				  SNII_KEY_PAGE_BLOCKS);
}

bool
snii_key_run_probe(const SniiKeyDesc *desc, const SniiKeyRun *run,
				   const uint8 *key, uint32 len, uint64 hash, Buffer *buf,
				   uint32 *page)
{
	const Group *g = find_group(desc, run, key, len);

	return snii_key_filter_has(run->object, g->first_page, g->npages, hash,
							   buf, page);
}

bool
snii_key_run_may_have(const SniiKeyDesc *desc, const SniiKeyRun *run,
					  const uint8 *key, uint32 len, uint64 hash)
{
	Buffer		buf = InvalidBuffer;
	uint32		page = 0;
	bool		result = snii_key_run_probe(desc, run, key, len, hash, &buf,
											&page);

	ReleaseBuffer(buf);
	return result;
}

/* ----------------------------------------------------------------
 *		Index
 * ----------------------------------------------------------------
 */

/* Item i of an index page; its bytes were verified to be in the page. */
static bool
index_item(const uint8 *page, uint32 len, uint32 i, uint32 *child,
		   const uint8 **sep, uint32 *sep_len)
{
	const SniiKeyIndexPage *header = (const SniiKeyIndexPage *) page;
	uint32		begin;
	uint32		end;

	begin = header->offsets[i];
	end = i + 1 < header->nitems ? header->offsets[i + 1] : len;
	if (begin > end || end > len || end - begin < SNII_KEY_CHILD_BYTES ||
		begin < offsetof(SniiKeyIndexPage, offsets))
		return false;
	memcpy(child, page + begin, SNII_KEY_CHILD_BYTES);
	*sep = page + begin + SNII_KEY_CHILD_BYTES;
	*sep_len = end - begin - SNII_KEY_CHILD_BYTES;
	return true;
}

static void
check_index_page(const SniiKeyRun *run, const uint8 *page, uint32 len,
				 int level)
{
	const SniiKeyIndexPage *header = (const SniiKeyIndexPage *) page;

	if (len < offsetof(SniiKeyIndexPage, offsets) || header->nitems == 0 ||
		header->level != level ||
		offsetof(SniiKeyIndexPage, offsets) +
		header->nitems * (sizeof(uint16) + SNII_KEY_CHILD_BYTES) > len)
		damaged(run->object, "index page");
}

/* The last child whose separator is before the position, or the first. */
static uint32
find_child(const SniiKeyDesc *desc, const SniiKeyRun *run,
		   const uint8 *page, uint32 len, const SniiKeyPos *pos)
{
	uint32		low = 0;
	uint32		high = ((const SniiKeyIndexPage *) page)->nitems;
	uint32		child;
	const uint8 *sep;
	uint32		sep_len;

	while (high - low > 1)
	{
		uint32		middle = (low + high) / 2;

		if (!index_item(page, len, middle, &child, &sep, &sep_len))
			damaged(run->object, "index page");
		if (snii_key_before(desc, sep, sep_len, pos))
			low = middle;
		else
			high = middle;
	}
	if (!index_item(page, len, low, &child, &sep, &sep_len))
		damaged(run->object, "index page");
	return child;
}

void
snii_key_descent_begin(SniiKeyDescent *d, const SniiKeyDesc *desc,
					   const SniiKeyRun *run)
{
	d->desc = desc;
	d->run = run;
	for (int level = 0; level < run->head.levels; level++)
		d->buffers[level] = InvalidBuffer;
}

uint32
snii_key_descent_page(SniiKeyDescent *d, const SniiKeyPos *pos)
{
	const SniiKeyRun *run = d->run;
	uint32		child;

	if (run->head.levels == 0)
		return 0;
	child = find_child(d->desc, run, run->root, run->root_len, pos);
	for (int level = run->head.levels - 1; level > 0; level--)
	{
		const uint8 *page;
		uint32		len;

		if (child >= run->head.nindex)
			damaged(run->object, "index page does not exist");
		d->buffers[level] = snii_storage_pin(run->object,
											 SNII_KEY_STREAM_INDEX, child,
											 d->buffers[level], &page, &len);
		check_index_page(run, page, len, level);
		child = find_child(d->desc, run, page, len, pos);
	}
	if (child >= run->head.ndata)
		damaged(run->object, "data page does not exist");
	return child;
}

void
snii_key_descent_end(SniiKeyDescent *d)
{
	for (int level = 0; level < d->run->head.levels; level++)
		if (BufferIsValid(d->buffers[level]))
			ReleaseBuffer(d->buffers[level]);
}

uint32
snii_key_run_page_of(const SniiKeyDesc *desc, const SniiKeyRun *run,
					 const SniiKeyPos *pos)
{
	SniiKeyDescent d;
	uint32		page;

	snii_key_descent_begin(&d, desc, run);
	page = snii_key_descent_page(&d, pos);
	snii_key_descent_end(&d);
	return page;
}

/* ----------------------------------------------------------------
 *		Cursors
 * ----------------------------------------------------------------
 */

void
snii_key_cursor_init(SniiKeyCursor *c, const SniiKeyDesc *desc,
					 const SniiKeyRun *run)
{
	c->run = run;
	c->desc = desc;
	c->valid = false;
	c->buffer = InvalidBuffer;
	c->pages_read = 0;
}

static void
damaged_page(const SniiKeyCursor *c)
{
	snii_storage_corrupted(snii_storage_object_relation(c->run->object),
						   BufferGetBlockNumber(c->buffer),
						   "data page of a run is damaged");
}

/* Pin a page, unless it is the one at hand. */
static void
load_page(SniiKeyCursor *c, uint32 page)
{
	const uint8 *payload;
	uint32		len;

	if (BufferIsValid(c->buffer) && c->page == page)
		return;
	c->valid = false;
	c->buffer = snii_storage_pin(c->run->object, SNII_KEY_STREAM_DATA, page,
								 c->buffer, &payload, &len);
	c->page = page;
	c->pages_read++;
	if (!snii_key_page_open(&c->reader, c->desc, payload, len))
		damaged_page(c);
}

/* The reader stands on an entry: show it. */
static bool
show(SniiKeyCursor *c)
{
	c->entry.str = c->reader.str;
	c->entry.len = c->reader.len;
	c->entry.payload = c->reader.payload;
	c->entry.payload_len = c->reader.payload_len;
	c->ordinal = c->reader.first_ordinal + c->reader.item;
	c->valid = true;
	return true;
}

static bool
at_end(SniiKeyCursor *c)
{
	c->valid = false;
	return false;
}

bool
snii_key_cursor_page(SniiKeyCursor *c, uint32 page)
{
	load_page(c, page);
	if (!snii_key_page_goto(&c->reader, 0))
		damaged_page(c);
	return show(c);
}

bool
snii_key_cursor_first(SniiKeyCursor *c)
{
	return snii_key_cursor_page(c, 0);
}

bool
snii_key_cursor_last(SniiKeyCursor *c)
{
	load_page(c, c->run->head.ndata - 1);
	if (!snii_key_page_goto(&c->reader, c->reader.nentries - 1))
		damaged_page(c);
	return show(c);
}

bool
snii_key_cursor_seek(SniiKeyCursor *c, const SniiKeyPos *pos)
{
	return snii_key_cursor_seek_from(c, snii_key_run_page_of(c->desc, c->run,
															 pos), pos);
}

bool
snii_key_cursor_seek_from(SniiKeyCursor *c, uint32 page,
						  const SniiKeyPos *pos)
{
	bool		found;

	load_page(c, page);
	for (;;)
	{
		if (!snii_key_page_seek(&c->reader, pos, &found))
			damaged_page(c);
		if (found)
			return show(c);
		if (c->page + 1 >= c->run->head.ndata)
			return at_end(c);
		load_page(c, c->page + 1);
	}
}

bool
snii_key_cursor_seek_before(SniiKeyCursor *c, const SniiKeyPos *pos)
{
	if (!snii_key_cursor_seek(c, pos))
		return snii_key_cursor_last(c);
	return snii_key_cursor_prev(c);
}

bool
snii_key_cursor_next(SniiKeyCursor *c)
{
	Assert(c->valid);
	if (c->reader.item + 1 < c->reader.nentries)
	{
		if (!snii_key_page_next(&c->reader))
			damaged_page(c);
		return show(c);
	}
	if (c->page + 1 >= c->run->head.ndata)
		return at_end(c);
	return snii_key_cursor_page(c, c->page + 1);
}

bool
snii_key_cursor_prev(SniiKeyCursor *c)
{
	Assert(c->valid);
	if (c->reader.item > 0)
	{
		if (!snii_key_page_goto(&c->reader, c->reader.item - 1))
			damaged_page(c);
		return show(c);
	}
	if (c->page == 0)
		return at_end(c);
	load_page(c, c->page - 1);
	if (!snii_key_page_goto(&c->reader, c->reader.nentries - 1))
		damaged_page(c);
	return show(c);
}

/* Guesses of the page of an ordinal, after which the range is halved. */
#define GUESSES		4

/*
 * To the page of an ordinal: the one at hand or the next one, or it is guessed,
 * since pages have about as many entries each.
 */
static void
load_page_of(SniiKeyCursor *c, uint64 ordinal)
{
	uint32		low = 0;
	uint32		high = c->run->head.ndata;	/* pages from here on are behind */
	uint64		low_first = 0;
	uint64		high_first = c->run->head.nentries;
	uint32		page = c->page;

	if (!BufferIsValid(c->buffer))
		page = (uint32) ((double) ordinal / high_first * high);
	for (int guess = 0; low < high && low_first <= ordinal &&
		 ordinal < high_first; guess++)
	{
		load_page(c, Min(Max(page, low), high - 1));
		page = c->page;
		if (ordinal < c->reader.first_ordinal)
		{
			high = page;
			high_first = c->reader.first_ordinal;
		}
		else if (ordinal - c->reader.first_ordinal >= c->reader.nentries)
		{
			low = page + 1;
			low_first = c->reader.first_ordinal + c->reader.nentries;
		}
		else
			return;
		if (guess == 0 && low > 0 && ordinal - low_first <
			c->reader.nentries)
			page = low;
		else if (guess < GUESSES)
			page = low + (uint32) ((double) (ordinal - low_first) /
								   (double) (high_first - low_first) *
								   (high - low));
		else
			page = low + (high - low) / 2;
	}
	damaged(c->run->object, "entries are not numbered in order");
}

void
snii_key_cursor_goto(SniiKeyCursor *c, uint64 ordinal)
{
	load_page_of(c, ordinal);
	if (!snii_key_page_goto(&c->reader,
							(uint32) (ordinal - c->reader.first_ordinal)))
		damaged_page(c);
	(void) show(c);
}

void
snii_key_cursor_close(SniiKeyCursor *c)
{
	if (BufferIsValid(c->buffer))
		ReleaseBuffer(c->buffer);
	c->buffer = InvalidBuffer;
	c->valid = false;
}
