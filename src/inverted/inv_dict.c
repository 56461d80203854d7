/*-------------------------------------------------------------------------
 *
 * inv_dict.c
 *	  Terms of a segment: look-up and ordered walk.
 *
 * A look-up asks the filter, walks down the inner nodes and compares with the
 * entries of one dictionary block, all of it on the pinned pages: no page and
 * no entry is copied.  For the forms whose postings are inside the entry the
 * pin goes to the term, so that they are read in place, too.
 *
 * A walk keeps one key, the current one, since entries hold only what differs
 * from the key before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "codec/codec_bloom.h"
#include "inverted/inv_dict.h"
#include "inverted/inv_key.h"
#include "inverted/inv_private.h"
#include "storage/storage_object.h"
#include "storage/storage_page.h"

/* Pages of a walk after which reading ahead begins, and how far it goes. */
#define WALK_PREFETCH_AFTER		4
#define WALK_PREFETCH_PAGES		16

struct SniiInvDict
{
	SniiInvSegment *seg;
	Buffer		buffer;			/* of the current block */
	BlockNumber block_number;
	uint32		pageno;			/* of the next block */
	uint32		walked;			/* blocks since the beginning or a seek */
	SniiInvBlock block;
	int			entry;			/* number of the next entry */
	const uint8 *p;				/* the next entry */
	bool		pending;		/* term and key are to be handed out again */
	SniiInvTerm term;
	uint32		keylen;			/* of the key before the next entry */
	uint8		key[SNII_INV_KEY_MAX];
};

/* Put a key together; returns its length. */
static uint32
make_key(uint8 *key, int column, int kind, const char *bytes, uint32 len)
{
	key[0] = (uint8) column;
	key[1] = (uint8) kind;
	memcpy(key + 2, bytes, len);
	return len + 2;
}

/* Can the segment have the term, as far as the filter knows? */
static bool
filter_passes(SniiInvSegment *seg, uint64 hash)
{
	uint64		block;

	if (seg->head.filter == SNII_INV_ABSENT)
		return true;
	snii_inv_counters.filter_probes++;
	block = snii_codec_bloom_block_of(hash, seg->head.filter_blocks);
	if (snii_codec_bloom_probe(snii_storage_reader_get(&seg->filter,
													   seg->head.filter +
													   block * SNII_BLOOM_BLOCK_BYTES,
													   SNII_BLOOM_BLOCK_BYTES),
							   hash))
		return true;
	snii_inv_counters.filter_misses++;
	return false;
}

/* Pin a page of the dictionary or of its inner nodes, releasing prev. */
static Buffer
pin_page(SniiInvSegment *seg, int stream, uint32 pageno, Buffer prev,
		 const uint8 **payload, uint32 *len)
{
	snii_inv_counters.dict_pages++;
	return snii_storage_pin(seg->object, stream, pageno, prev, payload, len);
}

/* Pin a dictionary block and check its header; releases prev. */
static Buffer
pin_block(SniiInvSegment *seg, uint32 pageno, Buffer prev,
		  SniiInvBlock *block)
{
	const uint8 *payload;
	uint32		len;
	Buffer		buffer;

	buffer = pin_page(seg, SNII_INV_STREAM_DICT, pageno, prev,
					  &payload, &len);
	if (!snii_inv_decode_block(payload, len, block))
		snii_storage_corrupted(seg->index, BufferGetBlockNumber(buffer),
							   "malformed dictionary block");
	return buffer;
}

/*
 * Number of the child of an inner node that may hold the key, checked: it is
 * in the stream that it must be in, and inner children come before their
 * parent.
 */
static uint32
choose_child(SniiInvSegment *seg, Buffer buffer, uint32 pageno, int level,
			 const uint8 *payload, uint32 len,
			 const uint8 *key, uint32 keylen)
{
	SniiInvNode node;
	int			i;
	uint64		child;

	if (!snii_inv_decode_node(payload, len, &node) || node.level != level ||
		(i = snii_inv_decode_child(&node, key, keylen)) < 0)
		snii_storage_corrupted(seg->index, BufferGetBlockNumber(buffer),
							   "malformed inner node of the dictionary");
	child = (uint64) node.first_child + i;
	if (child >= (level == 1 ? seg->head.dict_pages : pageno))
		snii_storage_corrupted(seg->index, BufferGetBlockNumber(buffer),
							   "inner node of the dictionary has a child "
							   UINT64_FORMAT " that is not there", child);
	return (uint32) child;
}

/* Page number of the dictionary block that may hold the key. */
static uint32
find_block(SniiInvSegment *seg, const uint8 *key, uint32 keylen,
		   Buffer *buffer)
{
	uint32		pageno = 0;

	if (seg->head.index_levels > 0)
		pageno = seg->head.index_pages - 1;
	for (int level = seg->head.index_levels; level > 0; level--)
	{
		const uint8 *payload;
		uint32		len;

		*buffer = pin_page(seg, SNII_INV_STREAM_INDEX, pageno, *buffer,
						   &payload, &len);
		pageno = choose_child(seg, *buffer, pageno, level, payload, len,
							  key, keylen);
	}
	return pageno;
}

/* Check what the entry alone cannot tell. */
static void
check_term(const SniiInvSegment *seg, const SniiInvTerm *term)
{
	const SniiInvHead *head = &seg->head;
	bool		good = term->df <= head->ndocs;

	if (term->form == SNII_INV_SINGLE)
		good = good && term->doc < head->ndocs;
	else if (term->form != SNII_INV_INLINE)
		good = good && term->docs <= head->docs_bytes &&
			term->docs_len <= head->docs_bytes - term->docs &&
			term->table_len <= head->docs_bytes - term->docs - term->docs_len &&
			term->positions <= head->positions_bytes &&
			term->positions_len <= head->positions_bytes - term->positions;
	if (!good)
		snii_storage_corrupted(seg->index, term->block,
							   "dictionary entry points outside its segment");
}

/*
 * Look a term up.  True, with *term set, if the segment has it; the term may
 * then hold a pin, so pass it to snii_inv_term_release() in the end.  False
 * also for columns and lengths that no term can have.
 */
bool
snii_inv_lookup(SniiInvSegment *seg, int column, int kind,
				const char *bytes, uint32 len, SniiInvTerm *term)
{
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen;
	uint32		pageno;
	Buffer		buffer = InvalidBuffer;
	SniiInvBlock block;
	const uint8 *info;
	int			found;

	term->buffer = InvalidBuffer;
	if (column < 0 || column >= seg->head.ncolumns ||
		len > SNII_INV_KEY_MAX - 2 || seg->head.dict_pages == 0 ||
		!filter_passes(seg, snii_inv_key_hash(column, kind, bytes, len)))
		return false;
	keylen = make_key(key, column, kind, bytes, len);
	pageno = find_block(seg, key, keylen, &buffer);
	buffer = pin_block(seg, pageno, buffer, &block);
	found = snii_inv_decode_find(&block, key, keylen, &info);
	term->block = BufferGetBlockNumber(buffer);
	if (found < 0 ||
		(found > 0 && snii_inv_decode_info(&block, info, term) == NULL))
		snii_storage_corrupted(seg->index, term->block,
							   "malformed dictionary entry");
	if (found > 0)
	{
		term->column = column;
		term->page = pageno;
		term->offset = (uint32) (info - block.payload);
		check_term(seg, term);
	}
	if (found > 0 && term->bytes != NULL)
		term->buffer = buffer;
	else
		ReleaseBuffer(buffer);
	return found > 0;
}

/* Release the pin of a term, if it has one. */
void
snii_inv_term_release(SniiInvTerm *term)
{
	if (BufferIsValid(term->buffer))
		ReleaseBuffer(term->buffer);
	term->buffer = InvalidBuffer;
	term->bytes = NULL;
}

/* ---------------- ordered walk ---------------- */

/*
 * Begin a walk over all terms, before the first one.  Allocated in the
 * current memory context; holds a pin from the first step on.
 */
SniiInvDict *
snii_inv_dict_begin(SniiInvSegment *seg)
{
	SniiInvDict *dict = palloc0(sizeof(SniiInvDict));

	dict->seg = seg;
	return dict;
}

/* Step to the next block; false after the last. */
static bool
next_block(SniiInvDict *dict)
{
	SniiInvSegment *seg = dict->seg;
	uint32		npages = seg->head.dict_pages;

	if (dict->pageno >= npages)
		return false;
	snii_storage_poll();
	if (++dict->walked >= WALK_PREFETCH_AFTER &&
		dict->walked % WALK_PREFETCH_PAGES == WALK_PREFETCH_AFTER)
		snii_storage_prefetch(seg->object, SNII_INV_STREAM_DICT,
							  dict->pageno,
							  Min(WALK_PREFETCH_PAGES,
								  npages - dict->pageno));
	dict->buffer = pin_block(seg, dict->pageno, dict->buffer, &dict->block);
	dict->block_number = BufferGetBlockNumber(dict->buffer);
	dict->pageno++;
	dict->entry = 0;
	dict->p = snii_inv_decode_anchor(&dict->block, 0);
	if (dict->p == NULL)
		snii_storage_corrupted(seg->index,
							   BufferGetBlockNumber(dict->buffer),
							   "malformed anchor of a dictionary block");
	return true;
}

/*
 * Make the key of the next entry out of the current one.  An error unless it
 * is greater and has a column of the index.
 */
static void
apply_key(SniiInvDict *dict, const SniiInvEntryKey *entry)
{
	uint8	   *key = dict->key;
	bool		good;

	if (dict->entry % SNII_INV_ANCHOR == 0)
		good = entry->prefix == 0 &&
			(dict->keylen == 0 ||
			 snii_inv_key_compare(entry->suffix, entry->suffix_len,
								  key, dict->keylen) > 0);
	else
		good = entry->prefix <= dict->keylen && entry->suffix_len > 0 &&
			(entry->prefix == dict->keylen ||
			 entry->suffix[0] > key[entry->prefix]);
	if (good)
	{
		memcpy(key + entry->prefix, entry->suffix, entry->suffix_len);
		snii_inv_counters.dict_bytes_copied += entry->suffix_len;
		dict->keylen = entry->prefix + entry->suffix_len;
		good = key[0] < dict->seg->head.ncolumns;
	}
	if (!good)
		snii_storage_corrupted(dict->seg->index,
							   BufferGetBlockNumber(dict->buffer),
							   "dictionary entries are not in order");
}

/* Step to the next entry; false after the last. */
static inline bool
step(SniiInvDict *dict, bool with_key)
{
	SniiInvEntryKey entry;
	const uint8 *info;

	if (BufferIsValid(dict->buffer) && dict->entry < dict->block.nentries)
		 /* more in this block */ ;
	else if (!next_block(dict))
		return false;
	info = snii_inv_decode_key(dict->p, dict->block.entries_end, &entry);
	if (info != NULL)
	{
		if (with_key)
			apply_key(dict, &entry);
		dict->p = snii_inv_decode_info(&dict->block, info, &dict->term);
	}
	if (info == NULL || dict->p == NULL)
		snii_storage_corrupted(dict->seg->index,
							   BufferGetBlockNumber(dict->buffer),
							   "malformed dictionary entry");
	dict->entry++;
	dict->term.column = dict->key[0];
	dict->term.buffer = InvalidBuffer;
	dict->term.block = dict->block_number;
	dict->term.page = dict->pageno - 1;
	dict->term.offset = (uint32) (info - dict->block.payload);
	check_term(dict->seg, &dict->term);
	return true;
}

/*
 * Move a walk before the first term that is not smaller than the key; bytes
 * may be empty.  Any direction.
 */
void
snii_inv_dict_seek(SniiInvDict *dict, int column, int kind,
				   const char *bytes, uint32 len)
{
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen;
	int			anchor;

	dict->pending = false;
	dict->walked = 0;
	dict->keylen = 0;
	if (dict->seg->head.dict_pages == 0)
		return;
	/* a prefix of the largest length is enough: no key is longer */
	keylen = make_key(key, column, kind, bytes,
					  Min(len, SNII_INV_KEY_MAX - 2));
	dict->pageno = find_block(dict->seg, key, keylen, &dict->buffer);
	if (!next_block(dict))
		return;
	anchor = snii_inv_decode_anchor_of(&dict->block, key, keylen);
	dict->p = snii_inv_decode_anchor(&dict->block, anchor);
	if (dict->p == NULL)
		snii_storage_corrupted(dict->seg->index,
							   BufferGetBlockNumber(dict->buffer),
							   "malformed anchor of a dictionary block");
	dict->entry = anchor * SNII_INV_ANCHOR;
	while (step(dict, true))
	{
		int			cmp = snii_inv_key_compare(dict->key, dict->keylen,
											   key, keylen);

		if (cmp > 0 || (cmp == 0 && len <= SNII_INV_KEY_MAX - 2))
		{
			dict->pending = true;
			return;
		}
	}
}

/*
 * Step to the next term.  True with its key in key, which has room for
 * SNII_INV_KEY_MAX bytes, and *term; false after the last one.  The term
 * holds no pin: it is valid until the walk moves, unless kept.
 */
bool
snii_inv_dict_next(SniiInvDict *dict, uint8 *key, uint32 *keylen,
				   SniiInvTerm *term)
{
	if (!dict->pending && !step(dict, true))
		return false;
	dict->pending = false;
	memcpy(key, dict->key, dict->keylen);
	*keylen = dict->keylen;
	*term = dict->term;
	return true;
}

/*
 * The same without the key, for a walk that asks for no key at all: the
 * term, but for its column, or NULL after the last one.  Valid until the walk
 * moves.
 */
const SniiInvTerm *
snii_inv_dict_next_info(SniiInvDict *dict)
{
	return step(dict, false) ? &dict->term : NULL;
}

/*
 * Give the term handed out last a pin of its own, so that it outlives the
 * walk; it must be released.
 */
void
snii_inv_dict_keep(SniiInvDict *dict, SniiInvTerm *term)
{
	if (term->bytes == NULL || BufferIsValid(term->buffer))
		return;
	IncrBufferRefCount(dict->buffer);
	term->buffer = dict->buffer;
}

/* End a walk: releases its pin and its memory. */
void
snii_inv_dict_end(SniiInvDict *dict)
{
	if (BufferIsValid(dict->buffer))
		ReleaseBuffer(dict->buffer);
	pfree(dict);
}
