/*-------------------------------------------------------------------------
 *
 * inv_dict_writer.c
 *	  Writer of the dictionary of a segment: blocks, inner nodes, filter.
 *
 * One block is put together in memory; an entry that does not fit goes to the
 * next one.  The offsets of an entry count from the bases of its block, which
 * are those of the first entry.
 *
 * Inner nodes of level 1 are written as blocks are begun; of every finished
 * node only its first separator is kept, which is one key in some 60,000
 * terms.  The higher levels are made from these at the end.
 *
 * The filter has the size that fits the exact number of terms, so that a
 * segment does not depend on how its terms were gathered.  The hashes are
 * kept until then: in memory, and beyond HASHES_IN_MEMORY in a temporary
 * file, which is read once for each part of the filter of PART_BLOCKS.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "codec/codec_bloom.h"
#include "codec/codec_bytes.h"
#include "codec/codec_varint.h"
#include "inverted/inv_dict_writer.h"
#include "inverted/inv_key.h"
#include "memory/mem_shared.h"
#include "storage/storage_object.h"

/* Hashes that are kept before they go to the file (1 MiB). */
#define HASHES_IN_MEMORY	(128 * 1024)

/* Blocks of the filter that are made at a time. */
#define PART_BLOCKS \
	((uint64) snii_mem_merge_workspace_kb * 1024 / SNII_BLOOM_BLOCK_BYTES)

/* Largest entry: lengths, key, fields, body. */
#define ENTRY_MAX \
	(1 + 2 * SNII_VARINT32_MAX + SNII_INV_KEY_MAX + \
	 8 * SNII_VARINT64_MAX + SNII_INV_INLINE_MAX)

StaticAssertDecl(ENTRY_MAX + sizeof(SniiInvDictHeader) + sizeof(uint16) <=
				 SNII_PAGE_PAYLOAD, "an entry fits in a block");
StaticAssertDecl(2 * (SNII_INV_KEY_MAX + sizeof(uint16)) +
				 sizeof(SniiInvIndexHeader) <= SNII_PAGE_PAYLOAD,
				 "an inner node has two children");

typedef struct DictKey
{
	uint32		len;
	uint8		bytes[SNII_INV_KEY_MAX];
} DictKey;

/* A node that is being filled. */
typedef struct IndexNode
{
	uint16		level;
	uint32		first_child;
	uint32		nchildren;
	uint32		keybytes;
	uint16		offsets[SNII_PAGE_PAYLOAD / sizeof(uint16)];	/* in keys */
	uint8		keys[SNII_PAGE_PAYLOAD];
} IndexNode;

struct SniiInvDictWriter
{
	SniiObjectWriter *w;
	uint64		nterms;

	/* block under way */
	uint32		dict_pages;		/* written */
	uint32		nentries;
	uint32		nanchors;
	uint32		used;			/* bytes of block */
	uint64		docs_base;
	uint64		positions_base;
	uint16		anchors[SNII_PAGE_PAYLOAD / SNII_INV_ANCHOR];
	uint8		block[SNII_PAGE_PAYLOAD];
	DictKey		last;			/* of the entry before */
	DictKey		key;			/* of the entry to come */

	/* inner nodes */
	uint32		index_pages;	/* written */
	IndexNode	node;
	StringInfoData firsts;		/* first separators of the nodes of a level:
								 * u16 length, bytes */

	/* filter */
	bool		filter;
	SniiMemReporter *mem;		/* or NULL */
	uint64	   *hashes;
	uint32		nhashes;
	BufFile    *file;
};

/* Everything is allocated in the current memory context. */
SniiInvDictWriter *
snii_inv_dict_writer_begin(SniiObjectWriter *w, bool filter)
{
	SniiInvDictWriter *dw = palloc0(sizeof(SniiInvDictWriter));

	dw->w = w;
	dw->filter = filter;
	dw->node.level = 1;
	initStringInfo(&dw->firsts);
	if (filter)
		dw->hashes = palloc(HASHES_IN_MEMORY * sizeof(uint64));
	return dw;
}

/* Count there what is allocated from now on. */
void
snii_inv_dict_writer_account(SniiInvDictWriter *dw, SniiMemReporter *mem)
{
	dw->mem = mem;
}

/* ---------------- inner nodes ---------------- */

/* Write the node as a page and begin an empty one after it. */
static void
flush_node(SniiInvDictWriter *dw)
{
	IndexNode  *node = &dw->node;
	uint32		head = sizeof(SniiInvIndexHeader) +
	node->nchildren * sizeof(uint16);
	uint8		page[SNII_PAGE_PAYLOAD];
	SniiInvIndexHeader header;

	header.nchildren = node->nchildren;
	header.level = node->level;
	header.first_child = node->first_child;
	memcpy(page, &header, sizeof(header));
	for (uint32 i = 0; i < node->nchildren; i++)
	{
		uint16		offset = head + node->offsets[i];

		memcpy(page + sizeof(header) + i * sizeof(uint16), &offset,
			   sizeof(offset));
	}
	memcpy(page + head, node->keys, node->keybytes);
	snii_storage_append(dw->w, SNII_INV_STREAM_INDEX, page,
						head + node->keybytes);
	snii_storage_pad_to_page(dw->w, SNII_INV_STREAM_INDEX);
	dw->index_pages++;
	node->first_child += node->nchildren;
	node->nchildren = 0;
	node->keybytes = 0;
}

/*
 * Add the next child of the level under way, whose separator is key; firsts
 * gets the separators of the nodes.
 */
static void
add_child(SniiInvDictWriter *dw, StringInfo firsts, const uint8 *key,
		  uint32 len)
{
	IndexNode  *node = &dw->node;

	if (sizeof(SniiInvIndexHeader) + (node->nchildren + 1) * sizeof(uint16) +
		node->keybytes + len > SNII_PAGE_PAYLOAD)
		flush_node(dw);
	if (node->nchildren == 0)
	{
		uint16		stored = len;

		appendBinaryStringInfo(firsts, (char *) &stored, sizeof(stored));
		appendBinaryStringInfo(firsts, (const char *) key, len);
		len = 0;				/* key 0 is empty */
	}
	node->offsets[node->nchildren++] = node->keybytes;
	memcpy(node->keys + node->keybytes, key, len);
	node->keybytes += len;
}

/* Make the level above the nodes with these first separators. */
static void
build_level(SniiInvDictWriter *dw, const StringInfoData *children,
			StringInfo firsts)
{
	int			at = 0;

	while (at < children->len)
	{
		uint16		len;

		memcpy(&len, children->data + at, sizeof(len));
		at += sizeof(len);
		add_child(dw, firsts, (const uint8 *) children->data + at, len);
		at += len;
	}
	flush_node(dw);
}

/* Finish the inner nodes; returns the number of levels. */
static int
finish_nodes(SniiInvDictWriter *dw)
{
	StringInfoData level = dw->firsts;
	int			nlevels = 1;
	uint32		first = 0;		/* page of the first node of the level */

	if (dw->dict_pages <= 1)
		return 0;
	flush_node(dw);
	while (dw->index_pages - first > 1)
	{
		StringInfoData above;

		initStringInfo(&above);
		dw->node.level = ++nlevels;
		dw->node.first_child = first;
		first = dw->index_pages;
		build_level(dw, &level, &above);
		level = above;
	}
	return nlevels;
}

/* ---------------- blocks ---------------- */

static uint32
shared_prefix(const DictKey *a, const DictKey *b)
{
	uint32		max = Min(a->len, b->len);
	uint32		n = 0;

	while (n < max && a->bytes[n] == b->bytes[n])
		n++;
	return n;
}

static void
flush_block(SniiInvDictWriter *dw)
{
	SniiInvDictHeader header = {0};

	header.docs_base = dw->docs_base;
	header.positions_base = dw->positions_base;
	header.nentries = dw->nentries;
	header.nanchors = dw->nanchors;
	memcpy(dw->block, &header, sizeof(header));
	memcpy(dw->block + dw->used, dw->anchors, dw->nanchors * sizeof(uint16));
	snii_storage_append(dw->w, SNII_INV_STREAM_DICT, dw->block,
						dw->used + dw->nanchors * sizeof(uint16));
	snii_storage_pad_to_page(dw->w, SNII_INV_STREAM_DICT);
	dw->dict_pages++;
	dw->nentries = 0;
}

/* Begin a block with the pending key, and tell the node above. */
static void
begin_block(SniiInvDictWriter *dw, const SniiInvEntry *e)
{
	bool		refers = e->form == SNII_INV_SLIM ||
	e->form == SNII_INV_WINDOWED;
	uint32		len = 0;

	if (dw->dict_pages > 0)
		len = shared_prefix(&dw->last, &dw->key) + 1;
	add_child(dw, &dw->firsts, dw->key.bytes, len);
	dw->used = sizeof(SniiInvDictHeader);
	dw->nanchors = 0;
	dw->docs_base = refers ? e->docs : snii_storage_tell(dw->w,
														 SNII_INV_STREAM_DOCS);
	dw->positions_base = refers ? e->positions :
		snii_storage_tell(dw->w, SNII_INV_STREAM_POSITIONS);
}

/* Prefix and suffix of the key. */
static uint8 *
put_key(SniiInvDictWriter *dw, uint8 *p, uint32 prefix)
{
	uint32		suffix = dw->key.len - prefix;

	*p++ = Min(prefix, 15) << 4 | Min(suffix, 15);
	if (prefix >= 15)
		p = snii_codec_put_varint32(p, prefix - 15);
	if (suffix >= 15)
		p = snii_codec_put_varint32(p, suffix - 15);
	memcpy(p, dw->key.bytes + prefix, suffix);
	return p + suffix;
}

static uint8 *
put_info(const SniiInvDictWriter *dw, uint8 *p, const SniiInvEntry *e)
{
	p = snii_codec_put_varint64(p, e->n << 2 | e->form);
	if (e->form != SNII_INV_SINGLE)
		p = snii_codec_put_varint64(p, e->extra);
	if (e->form == SNII_INV_SLIM || e->form == SNII_INV_WINDOWED)
	{
		p = snii_codec_put_varint64(p, e->docs - dw->docs_base);
		p = snii_codec_put_varint64(p, e->docs_len);
		if (e->form == SNII_INV_WINDOWED)
			p = snii_codec_put_varint32(p, e->table_len);
		p = snii_codec_put_varint64(p, e->positions - dw->positions_base);
		p = snii_codec_put_varint64(p, e->positions_len);
	}
	else if (e->form == SNII_INV_INLINE)
	{
		p = snii_codec_put_varint32(p, (uint32) e->docs_len);
		p = snii_codec_put_varint32(p, (uint32) e->positions_len);
	}
	if (e->body_len > 0)
		memcpy(p, e->body, e->body_len);
	return p + e->body_len;
}

/* The whole entry as it would stand next in the block. */
static uint32
put_entry(SniiInvDictWriter *dw, uint8 *buf, const SniiInvEntry *e)
{
	bool		anchored = dw->nentries % SNII_INV_ANCHOR == 0;
	uint8	   *p;

	p = put_key(dw, buf, anchored ? 0 : shared_prefix(&dw->last, &dw->key));
	return put_info(dw, p, e) - buf;
}

/* Add a hash for the filter. */
static void
add_hash(SniiInvDictWriter *dw, uint64 hash)
{
	dw->hashes[dw->nhashes++] = hash;
	if (dw->nhashes < HASHES_IN_MEMORY)
		return;
	if (dw->file == NULL)
		dw->file = BufFileCreateTemp(false);
	BufFileWrite(dw->file, dw->hashes, dw->nhashes * sizeof(uint64));
	dw->nhashes = 0;
}

/*
 * Announce the key of the next entry.  Raises if it is not greater than the
 * one before.
 */
void
snii_inv_dict_writer_key(SniiInvDictWriter *dw, int column, int kind,
						 const uint8 *bytes, uint32 len)
{
	if (len + 2 > SNII_INV_KEY_MAX)
		elog(ERROR, "snii term of %u bytes", len);
	dw->key.bytes[0] = column;
	dw->key.bytes[1] = kind;
	memcpy(dw->key.bytes + 2, bytes, len);
	dw->key.len = len + 2;
	if (dw->nterms > 0 &&
		snii_inv_key_compare(dw->last.bytes, dw->last.len,
							 dw->key.bytes, dw->key.len) >= 0)
		elog(ERROR, "snii terms are not in order");
	if (dw->filter)
		add_hash(dw, snii_inv_key_hash(column, kind, (const char *) bytes,
									   len));
}

/* Add the entry of the announced key. */
void
snii_inv_dict_writer_entry(SniiInvDictWriter *dw, const SniiInvEntry *e)
{
	uint8		buf[ENTRY_MAX];
	uint32		len = 0;
	bool		fits = dw->nentries > 0;

	Assert(e->body_len <= SNII_INV_INLINE_MAX);
	if (fits)
	{
		uint32		anchors = dw->nanchors +
		(dw->nentries % SNII_INV_ANCHOR == 0 ? 1 : 0);

		len = put_entry(dw, buf, e);
		fits = dw->used + len + anchors * sizeof(uint16) <=
			SNII_PAGE_PAYLOAD;
		if (!fits)
			flush_block(dw);
	}
	if (!fits)
	{
		begin_block(dw, e);
		len = put_entry(dw, buf, e);
	}
	if (dw->nentries % SNII_INV_ANCHOR == 0)
		dw->anchors[dw->nanchors++] = dw->used;
	memcpy(dw->block + dw->used, buf, len);
	dw->used += len;
	dw->nentries++;
	dw->nterms++;
	memcpy(&dw->last, &dw->key, offsetof(DictKey, bytes) + dw->key.len);
}

/* ---------------- filter ---------------- */

/* Add hashes to the part of the filter that begins at block "first". */
static void
add_to_part(uint8 *part, uint64 first, uint64 n, uint64 nblocks,
			const uint64 *hashes, uint32 nhashes)
{
	for (uint32 i = 0; i < nhashes; i++)
	{
		uint64		block = snii_codec_bloom_block_of(hashes[i], nblocks);

		if (block >= first && block - first < n)
			snii_codec_bloom_add(part + (block - first) *
								 SNII_BLOOM_BLOCK_BYTES, hashes[i]);
	}
}

/* Add the hashes of the file, using the array of hashes as a buffer. */
static void
add_file_to_part(SniiInvDictWriter *dw, uint8 *part, uint64 first, uint64 n,
				 uint64 nblocks)
{
	size_t		got;

	if (BufFileSeek(dw->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind a temporary file: %m")));
	do
	{
		snii_storage_poll();
		got = BufFileRead(dw->file, dw->hashes,
						  HASHES_IN_MEMORY * sizeof(uint64));
		add_to_part(part, first, n, nblocks, dw->hashes,
					got / sizeof(uint64));
	} while (got > 0);
}

/* Write the filter, part by part; returns its COLUMNS offset. */
static uint64
write_filter(SniiInvDictWriter *dw, uint64 nblocks)
{
	uint64		partblocks = Min(nblocks, PART_BLOCKS);
	Size		bytes = partblocks * SNII_BLOOM_BLOCK_BYTES;
	uint8	   *part;
	uint64		offset = snii_storage_tell(dw->w, SNII_INV_STREAM_COLUMNS);

	snii_mem_reserve(dw->mem, bytes);
	part = palloc(bytes);
	/* the array of hashes must be free for reading the file */
	if (dw->file != NULL)
	{
		BufFileWrite(dw->file, dw->hashes, dw->nhashes * sizeof(uint64));
		dw->nhashes = 0;
	}
	for (uint64 first = 0; first < nblocks; first += partblocks)
	{
		uint64		n = Min(partblocks, nblocks - first);

		memset(part, 0, n * SNII_BLOOM_BLOCK_BYTES);
		add_to_part(part, first, n, nblocks, dw->hashes, dw->nhashes);
		if (dw->file != NULL)
			add_file_to_part(dw, part, first, n, nblocks);
		snii_storage_append(dw->w, SNII_INV_STREAM_COLUMNS, part,
							n * SNII_BLOOM_BLOCK_BYTES);
	}
	pfree(part);
	snii_mem_release(dw->mem, bytes);
	if (dw->file != NULL)
		BufFileClose(dw->file);
	return offset;
}

/*
 * Write what is pending, inner nodes and filter; fill in the parts of the
 * head that tell of the dictionary.
 */
void
snii_inv_dict_writer_finish(SniiInvDictWriter *dw, SniiInvHead *head)
{
	if (dw->nentries > 0)
		flush_block(dw);
	head->nterms = dw->nterms;
	head->index_levels = finish_nodes(dw);
	head->dict_pages = dw->dict_pages;
	head->index_pages = dw->index_pages;
	head->filter = SNII_INV_ABSENT;
	head->filter_blocks = 0;
	if (dw->filter && dw->nterms > 0)
	{
		head->filter_blocks = snii_codec_bloom_blocks(dw->nterms,
													  SNII_INV_FILTER_BITS);
		head->filter = write_filter(dw, head->filter_blocks);
	}
}
