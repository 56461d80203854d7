/*-------------------------------------------------------------------------
 *
 * fuzz_inverted.c
 *	  Arbitrary bytes for the parsers of inverted segments.
 *
 * The first byte of an input chooses the structure, the next ones its
 * parameters.  Each parser must stay inside its input; what the parsers
 * accept must keep the promises that their callers rely on, and a key that a
 * walk finds in a block whose keys are in order must be found by a look-up.
 *
 *-------------------------------------------------------------------------
 */
/* sources: src/inverted/inv_decode.c src/codec/codec_pfor.c */
/* sources: src/codec/codec_bitpack.c src/codec/codec_impact.c */
#include "postgres.h"

#include "inverted/inv_decode.h"
#include "inverted/inv_key.h"

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
			__builtin_trap(); \
	} while (0)

int			LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

/* The places inside an entry lie inside the block. */
static void
require_info(const SniiInvBlock *block, const SniiInvTerm *term,
			 const uint8 *p)
{
	REQUIRE(p > block->payload && p <= block->entries_end);
	REQUIRE(term->df >= 1 && term->ttf >= term->df);
	if (term->form == SNII_INV_SINGLE)
		REQUIRE(term->bytes != NULL &&
				term->bytes + term->positions_len <= block->entries_end);
	else if (term->form == SNII_INV_INLINE)
		REQUIRE(term->bytes + term->docs_len + term->positions_len <=
				block->entries_end);
	else
		REQUIRE(term->bytes == NULL);
}

/* Postings of an entry, as the cursor reads them. */
static void
read_inline(const SniiInvTerm *term)
{
	uint32		docs[SNII_INV_WINDOW];
	uint32		freqs[SNII_INV_WINDOW];
	const uint8 *end;
	const uint8 *p;

	if (term->form == SNII_INV_SINGLE)
	{
		uint32		n;
		uint32		position = 0;
		uint32		before;

		p = term->bytes;
		end = p + term->positions_len;
		REQUIRE(snii_inv_decode_single(&p, end, &n) && n == term->ttf);
		for (uint32 i = 0; i < n; i++)
		{
			before = position;
			REQUIRE(snii_inv_decode_position(&p, end, n, i, &position));
			REQUIRE(i == 0 || position > before);
		}
		REQUIRE(p == end);
		return;
	}
	end = term->bytes + term->docs_len;
	p = snii_inv_decode_docs(term->bytes, end, (int) term->df, -1, docs);
	if (p == NULL)
		return;
	for (uint64 i = 1; i < term->df; i++)
		REQUIRE(docs[i] > docs[i - 1]);
	REQUIRE(docs[term->df - 1] <= SNII_INV_DOC_MAX);
	if (p < end &&
		snii_inv_decode_freqs(p, end, (int) term->df, freqs) != NULL)
	{
		for (uint64 i = 0; i < term->df; i++)
			REQUIRE(freqs[i] >= 1);
	}
}

/*
 * Walk over the entries of a block.  While keys are as the writer makes them
 * each is found by a look-up, at the same place.
 */
static void
fuzz_block(const uint8 *p, const uint8 *end)
{
	SniiInvBlock block;
	SniiInvTerm term;
	uint8		key[SNII_INV_KEY_MAX];
	uint32		keylen = 0;
	bool		exact = true;
	const uint8 *found;

	if (!snii_inv_decode_block(p, end - p, &block))
		return;
	/* look-ups on whatever it is: some key, then each one found */
	snii_inv_decode_find(&block, (const uint8 *) "\0\0abc", 5, &found);
	for (int i = 0; i < block.nanchors; i++)
		exact = exact && snii_inv_decode_anchor(&block, i) != NULL;
	p = snii_inv_decode_anchor(&block, 0);
	for (int i = 0; p != NULL && i < block.nentries; i++)
	{
		SniiInvEntryKey entry;
		const uint8 *info;

		if (i % SNII_INV_ANCHOR == 0)
			exact = exact &&
				snii_inv_decode_anchor(&block, i / SNII_INV_ANCHOR) == p;
		info = snii_inv_decode_key(p, block.entries_end, &entry);
		if (info == NULL || entry.prefix > keylen)
			return;
		if (i % SNII_INV_ANCHOR == 0)
			exact = exact && entry.prefix == 0 &&
				snii_inv_key_compare(key, keylen, entry.suffix,
									 entry.suffix_len) < 0;
		else
			exact = exact && entry.suffix_len > 0 &&
				(entry.prefix == keylen ||
				 key[entry.prefix] < entry.suffix[0]);
		REQUIRE(entry.prefix + entry.suffix_len <= SNII_INV_KEY_MAX);
		memcpy(key + entry.prefix, entry.suffix, entry.suffix_len);
		keylen = entry.prefix + entry.suffix_len;
		p = snii_inv_decode_info(&block, info, &term);
		if (p == NULL)
			return;
		require_info(&block, &term, p);
		if (term.bytes != NULL)
			read_inline(&term);
		/* an anchor further on may be anything; then the answer may be, too */
		if (exact && block.nanchors == 1)
			REQUIRE(snii_inv_decode_find(&block, key, keylen, &found) == 1 &&
					found == info);
	}
}

static void
fuzz_node(const uint8 *p, const uint8 *end)
{
	SniiInvNode node;
	const uint8 *key;
	uint32		keylen;
	uint8		target[8] = {0};

	if (!snii_inv_decode_node(p, end - p, &node))
		return;
	memcpy(target, end - Min(end - p, 8), Min(end - p, 8));
	for (int i = 0; i < node.nchildren; i++)
	{
		if (!snii_inv_decode_node_key(&node, i, &key, &keylen))
			return;
		REQUIRE(key >= p && key + keylen <= end);
	}
	for (uint32 len = 0; len <= 8; len++)
	{
		int			child = snii_inv_decode_child(&node, target, len);

		REQUIRE(child >= 0 && child < node.nchildren);
	}
}

static void
fuzz_rows(const uint8 *p, const uint8 *end)
{
	SniiInvRow	row;

	while (p != NULL && p < end)
	{
		const uint8 *start = p;

		p = snii_inv_decode_row(p, end, &row);
		REQUIRE(p == NULL || (p > start && p <= end));
		REQUIRE(p == NULL || (row.last_delta > 0 && row.docs_len > 0));
	}
}

/* Windows and positions; n and the document before come from the input. */
static void
fuzz_window(const uint8 *p, const uint8 *end)
{
	uint32		docs[SNII_INV_WINDOW];
	uint32		values[SNII_INV_WINDOW];
	uint32		last = 0;
	int64		previous;
	int			n;

	if (end - p < 5)
		return;
	n = 1 + *p++ % SNII_INV_WINDOW;
	memcpy(&last, p, sizeof(last));
	previous = (int64) last - 1;
	p += sizeof(last);
	p = snii_inv_decode_docs(p, end, n, previous, docs);
	if (p == NULL)
		return;
	for (int i = 0; i < n; i++)
	{
		REQUIRE((int64) docs[i] > previous);
		previous = docs[i];
	}
	memcpy(values, docs, n * sizeof(uint32));
	if (snii_inv_decode_gaps(values, n, n % 2 == 0, &last))
	{
		for (int i = 1; i < n; i++)
			REQUIRE(values[i] > values[i - 1]);
		REQUIRE(values[n - 1] <= SNII_INV_POSITION_MAX &&
				last == values[n - 1]);
	}
	snii_inv_decode_freqs(p, end, n, values);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	const uint8 *end = data + size;

	if (size < 1 || size > SNII_PAGE_PAYLOAD)
		return 0;
	switch (data[0] % 4)
	{
		case 0:
			fuzz_block(data + 1, end);
			break;
		case 1:
			fuzz_node(data + 1, end);
			break;
		case 2:
			fuzz_rows(data + 1, end);
			break;
		default:
			fuzz_window(data + 1, end);
			break;
	}
	return 0;
}
