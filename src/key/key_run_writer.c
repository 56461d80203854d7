/*-------------------------------------------------------------------------
 *
 * key_run_writer.c
 *	  Writing a run: data, index, filter, head.
 *
 * Everything is written front to back.  An index page is written when it is
 * full, the ones above it when they are; the filter of a group of keys when
 * the group is complete.  Nothing is allocated for an entry but room for its
 * hash, of which there is enough for a group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_run.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* One level of the index, being filled. */
typedef struct Level
{
	uint32		nitems;
	uint32		nbytes;			/* of items */
	uint16		offsets[SNII_PAGE_PAYLOAD / 6];
	uint8		items[SNII_PAGE_PAYLOAD];
} Level;

struct SniiKeyRunWriter
{
	const SniiKeyDesc *desc;
	SniiObjectWriter *w;
	uint64		nentries;
	uint32		ndata;
	uint32		nindex;
	uint32		nfilter;
	SniiKeyPageBuilder page;
	SniiKeyBytes first;
	SniiKeyBytes last;			/* the entry before */
	SniiKeyBytes sep;			/* scratch */

	int			nlevels;
	Level	   *levels[SNII_KEY_MAX_LEVELS];

	uint32		nhashes;		/* of the group at hand */
	uint64	   *hashes;
	uint32		ngroups;
	SniiKeyBytes group_sep;		/* of the group at hand */
	SniiKeyBytes groups;		/* as they go to the head */
};

SniiKeyRunWriter *
snii_key_run_begin(const SniiKeyDesc *desc, SniiObjectWriter *w)
{
	SniiKeyRunWriter *r = palloc0(sizeof(SniiKeyRunWriter));

	r->desc = desc;
	r->w = w;
	snii_key_page_begin(&r->page, desc, 0);
	r->hashes = MemoryContextAllocHuge(CurrentMemoryContext,
									   SNII_KEY_GROUP_KEYS * sizeof(uint64));
	return r;
}

/* ----------------------------------------------------------------
 *		Index
 * ----------------------------------------------------------------
 */

static void add_child(SniiKeyRunWriter *r, int level, uint32 child,
					  const uint8 *sep, uint32 len);

static inline uint32
level_bytes(const Level *l, uint32 nitems, uint32 nbytes)
{
	return (uint32) (offsetof(SniiKeyIndexPage, offsets) +
					 nitems * sizeof(uint16) + nbytes);
}

/* Write the page of a level and begin the next one; returns its number. */
static uint32
write_level(SniiKeyRunWriter *r, int level)
{
	Level	   *l = r->levels[level];
	SniiKeyIndexPage header = {0};
	uint32		base = level_bytes(l, l->nitems, 0);
	uint32		number = r->nindex++;

	header.nitems = (uint16) l->nitems;
	header.level = (uint16) (level + 1);
	for (uint32 i = 0; i < l->nitems; i++)
		l->offsets[i] = (uint16) (l->offsets[i] + base);
	snii_storage_append(r->w, SNII_KEY_STREAM_INDEX, &header,
						offsetof(SniiKeyIndexPage, offsets));
	snii_storage_append(r->w, SNII_KEY_STREAM_INDEX, l->offsets,
						l->nitems * sizeof(uint16));
	snii_storage_append(r->w, SNII_KEY_STREAM_INDEX, l->items, l->nbytes);
	snii_storage_pad_to_page(r->w, SNII_KEY_STREAM_INDEX);
	l->nitems = l->nbytes = 0;
	return number;
}

/* The separator in front of a page's first item, kept while it is filled. */
static void
put_child(Level *l, uint32 child, const uint8 *sep, uint32 len)
{
	l->offsets[l->nitems++] = (uint16) l->nbytes;
	memcpy(l->items + l->nbytes, &child, SNII_KEY_CHILD_BYTES);
	memcpy(l->items + l->nbytes + SNII_KEY_CHILD_BYTES, sep, len);
	l->nbytes += SNII_KEY_CHILD_BYTES + len;
}

static void
add_child(SniiKeyRunWriter *r, int level, uint32 child, const uint8 *sep,
		  uint32 len)
{
	Level	   *l;

	if (level >= SNII_KEY_MAX_LEVELS)
		elog(ERROR, "index of a run is too high");
	if (level == r->nlevels)
	{
		r->levels[level] = palloc(sizeof(Level));
		r->levels[level]->nitems = r->levels[level]->nbytes = 0;
		r->nlevels++;
	}
	l = r->levels[level];
	if (level_bytes(l, l->nitems + 1,
					l->nbytes + SNII_KEY_CHILD_BYTES + len) >
		SNII_PAGE_PAYLOAD)
	{
		uint8		first_sep[SNII_KEY_MAX_ENTRY];
		uint32		first_len;

		/* The page goes up under the separator of its first item. */
		first_len = (l->nitems > 1 ? l->offsets[1] : l->nbytes) -
			SNII_KEY_CHILD_BYTES;
		memcpy(first_sep, l->items + SNII_KEY_CHILD_BYTES, first_len);
		add_child(r, level + 1, write_level(r, level), first_sep, first_len);
	}
	put_child(l, child, sep, len);
}

/* Write the open pages of all levels; the last one is the root. */
static void
finish_index(SniiKeyRunWriter *r, SniiKeyHead *head)
{
	head->levels = 0;
	if (r->ndata <= 1)
		return;
	for (int level = 0; level < r->nlevels; level++)
	{
		Level	   *l = r->levels[level];
		uint8		first_sep[SNII_KEY_MAX_ENTRY];
		uint32		first_len;
		uint32		number;

		first_len = (l->nitems > 1 ? l->offsets[1] : l->nbytes) -
			SNII_KEY_CHILD_BYTES;
		memcpy(first_sep, l->items + SNII_KEY_CHILD_BYTES, first_len);
		number = write_level(r, level);
		head->root = number;
		head->levels = (uint16) (level + 1);
		if (level + 1 < r->nlevels)
			add_child(r, level + 1, number, first_sep, first_len);
	}
}

/* ----------------------------------------------------------------
 *		Filter
 * ----------------------------------------------------------------
 */

/* Write the filter of the group at hand. */
static void
finish_group(SniiKeyRunWriter *r)
{
	uint64		blocks = snii_codec_bloom_blocks(r->nhashes,
												 SNII_KEY_FILTER_BITS);
	uint32		npages = (uint32) ((blocks + SNII_KEY_PAGE_BLOCKS - 1) /
								   SNII_KEY_PAGE_BLOCKS);
	uint8	   *pages;
	uint32		fields[2];
	uint16		len = (uint16) r->group_sep.len;

	if (r->nhashes == 0)
		return;
	npages = Min(npages, SNII_KEY_GROUP_PAGES);
	blocks = (uint64) npages * SNII_KEY_PAGE_BLOCKS;
	pages = palloc0((Size) blocks * SNII_BLOOM_BLOCK_BYTES);
	for (uint32 i = 0; i < r->nhashes; i++)
		snii_codec_bloom_add(pages +
							 snii_codec_bloom_block_of(r->hashes[i], blocks) *
							 SNII_BLOOM_BLOCK_BYTES, r->hashes[i]);
	for (uint32 i = 0; i < npages; i++)
	{
		snii_storage_append(r->w, SNII_KEY_STREAM_FILTER,
							pages + (Size) i * SNII_KEY_PAGE_BLOCKS *
							SNII_BLOOM_BLOCK_BYTES,
							SNII_KEY_PAGE_BLOCKS * SNII_BLOOM_BLOCK_BYTES);
		snii_storage_pad_to_page(r->w, SNII_KEY_STREAM_FILTER);
	}
	pfree(pages);
	fields[0] = r->nfilter;
	fields[1] = npages;
	snii_key_bytes_add(&r->groups, fields, sizeof(fields));
	snii_key_bytes_add(&r->groups, &len, sizeof(len));
	snii_key_bytes_add(&r->groups, r->group_sep.data, len);
	r->ngroups++;
	r->nfilter += npages;
	r->nhashes = 0;
}

/*
 * A key that is not that of the entry before.  A group ends only between keys.
 */
static void
add_key(SniiKeyRunWriter *r, const SniiKeyEntry *entry)
{
	if (r->nhashes == SNII_KEY_GROUP_KEYS)
	{
		finish_group(r);
		r->group_sep.len = 0;
		snii_key_separator(r->desc, r->last.data, r->last.len, entry->str,
						   entry->len, &r->group_sep);
	}
	r->hashes[r->nhashes++] = snii_key_hash(r->desc, entry->str,
											entry->len - SNII_KEY_TID_BYTES);
}

/* ----------------------------------------------------------------
 *		Entries
 * ----------------------------------------------------------------
 */

static void
finish_page(SniiKeyRunWriter *r)
{
	uint32		len = snii_key_page_finish(&r->page);

	snii_storage_append(r->w, SNII_KEY_STREAM_DATA, r->page.page.bytes, len);
	snii_storage_pad_to_page(r->w, SNII_KEY_STREAM_DATA);
	r->ndata++;
	snii_storage_poll();
}

static void
not_in_order(const SniiKeyRunWriter *r)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("entries of index \"%s\" are out of order, or one is there twice",
					r->desc->name),
			 errhint("REINDEX the index.")));
}

/* The page is full: go on on the next one, with this entry. */
static pg_noinline void
next_page(SniiKeyRunWriter *r, const SniiKeyEntry *entry)
{
	uint32		number = r->ndata;

	finish_page(r);
	if (number == 0)
		add_child(r, 0, 0, NULL, 0);
	r->sep.len = 0;
	snii_key_separator(r->desc, r->last.data, r->last.len, entry->str,
					   entry->len, &r->sep);
	add_child(r, 0, number + 1, r->sep.data, r->sep.len);
	snii_key_page_begin(&r->page, r->desc, r->nentries);
	if (!snii_key_page_add(&r->page, entry, 0))
		elog(ERROR, "entry of %u and %u bytes does not fit into a page",
			 entry->len, entry->payload_len);
}

void
snii_key_run_add_shared(SniiKeyRunWriter *r, const SniiKeyEntry *entry,
						uint32 shared)
{
	if (unlikely(entry->len <= SNII_KEY_TID_BYTES ||
				 entry->len + entry->payload_len > SNII_KEY_MAX_ENTRY))
		elog(ERROR, "entry of %u and %u bytes cannot be written",
			 entry->len, entry->payload_len);
	if (r->nentries == 0 || entry->len != r->last.len ||
		shared < entry->len - SNII_KEY_TID_BYTES)
		add_key(r, entry);
	if (unlikely(!snii_key_page_add(&r->page, entry, shared)))
		next_page(r, entry);
	if (unlikely(r->nentries == 0))
		snii_key_bytes_add(&r->first, entry->str, entry->len);
	r->last.len = shared;
	snii_key_bytes_add(&r->last, entry->str + shared, entry->len - shared);
	r->nentries++;
}

void
snii_key_run_add(SniiKeyRunWriter *r, const SniiKeyEntry *entry)
{
	uint32		n = Min(entry->len, r->last.len);
	uint32		shared = snii_key_common(r->last.data, entry->str, n);

	if (r->nentries > 0 &&
		(r->desc->all_bytes ?
		 shared == n || r->last.data[shared] > entry->str[shared] :
		 snii_key_compare(r->desc, r->last.data, r->last.len, entry->str,
						  entry->len) >= 0))
		not_in_order(r);
	snii_key_run_add_shared(r, entry, shared);
}

uint64
snii_key_run_finish(SniiKeyRunWriter *r)
{
	SniiKeyHead head = {0};

	if (r->nentries == 0)
		return 0;
	finish_page(r);
	finish_index(r, &head);
	finish_group(r);
	head.magic = SNII_KEY_HEAD_MAGIC;
	head.version = SNII_KEY_VERSION;
	head.nentries = r->nentries;
	head.ndata = r->ndata;
	head.nindex = r->nindex;
	head.nfilter = r->nfilter;
	head.ngroups = r->ngroups;
	head.first_len = (uint16) r->first.len;
	head.last_len = (uint16) r->last.len;
	head.length = (uint32) sizeof(head) + r->first.len + r->last.len +
		r->groups.len;
	snii_storage_append(r->w, SNII_KEY_STREAM_HEAD, &head, sizeof(head));
	snii_storage_append(r->w, SNII_KEY_STREAM_HEAD, r->first.data,
						r->first.len);
	snii_storage_append(r->w, SNII_KEY_STREAM_HEAD, r->last.data,
						r->last.len);
	snii_storage_append(r->w, SNII_KEY_STREAM_HEAD, r->groups.data,
						r->groups.len);
	pfree(r->hashes);
	return r->nentries;
}
