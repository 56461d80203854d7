/*-------------------------------------------------------------------------
 *
 * key_stream.c
 *	  Entries in order, from memory, a file or another process.
 *
 * A block has entries one behind the other: how many bytes a string shares
 * with the one before, also across blocks, how many follow, length of the
 * payload, tag, the bytes that follow, the payload.  Blocks do not outlive
 * the build, so numbers are as the machine has them; yet a file might be
 * damaged, so none is trusted.
 *
 * Streams are merged by a tree of losers over codes, as runs are
 * (key_merge.c has the explanation).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_page.h"
#include "key/key_stream.h"

#include "miscadmin.h"

/* ----------------------------------------------------------------
 *		Blocks
 * ----------------------------------------------------------------
 */

typedef struct Packed
{
	uint16		shared;
	uint16		len;			/* of the bytes that follow */
	uint16		payload_len;
	uint16		tag;
} Packed;

StaticAssertDecl(sizeof(Packed) + SNII_KEY_MAX_ENTRY <= SNII_KEY_BLOCK_BYTES,
				 "any entry fits into a block");

uint64
snii_key_stream_write(SniiKeyStream *s, SniiKeyBlockSink sink, void *arg)
{
	uint8	   *block = palloc(SNII_KEY_BLOCK_BYTES);
	uint32		at = 0;
	uint64		n = 0;

	while (snii_key_stream_next(s))
	{
		Packed		packed;

		packed.shared = (uint16) s->shared;
		packed.len = (uint16) (s->entry.len - s->shared);
		packed.payload_len = (uint16) s->entry.payload_len;
		packed.tag = s->tag;
		if (at + sizeof(packed) + packed.len + packed.payload_len >
			SNII_KEY_BLOCK_BYTES)
		{
			CHECK_FOR_INTERRUPTS();
			sink(arg, block, at);
			at = 0;
		}
		memcpy(block + at, &packed, sizeof(packed));
		at += sizeof(packed);
		memcpy(block + at, s->entry.str + s->shared, packed.len);
		at += packed.len;
		if (packed.payload_len > 0)
			memcpy(block + at, s->entry.payload, packed.payload_len);
		at += packed.payload_len;
		n++;
	}
	if (at > 0)
		sink(arg, block, at);
	pfree(block);
	return n;
}

typedef struct BlockStream
{
	SniiKeyStream s;
	SniiKeyBlockSource source;
	void	   *arg;
	const uint8 *at;
	const uint8 *end;
	uint8		str[SNII_KEY_MAX_ENTRY];
} BlockStream;

static bool
next_of_blocks(SniiKeyStream *s)
{
	BlockStream *b = (BlockStream *) s;
	Packed		packed;

	if (b->at == b->end)
	{
		uint32		len;

		CHECK_FOR_INTERRUPTS();
		b->at = b->source(b->arg, &len);
		if (b->at == NULL)
			return false;
		b->end = b->at + len;
	}
	if (b->end - b->at >= (ptrdiff_t) sizeof(packed))
	{
		memcpy(&packed, b->at, sizeof(packed));
		b->at += sizeof(packed);
		if (packed.shared <= s->entry.len &&
			packed.shared + packed.len <= SNII_KEY_MAX_ENTRY &&
			packed.len + packed.payload_len <= b->end - b->at)
		{
			memcpy(b->str + packed.shared, b->at, packed.len);
			s->shared = packed.shared;
			s->entry.len = packed.shared + packed.len;
			s->entry.payload = b->at + packed.len;
			s->entry.payload_len = packed.payload_len;
			s->tag = (uint8) packed.tag;
			b->at += packed.len + packed.payload_len;
			return true;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("sorted keys in a temporary file are damaged")));
}

SniiKeyStream *
snii_key_stream_read(SniiKeyBlockSource source, void *arg)
{
	BlockStream *b = palloc0(sizeof(BlockStream));

	b->s.next = next_of_blocks;
	b->s.entry.str = b->str;
	b->source = source;
	b->arg = arg;
	return &b->s;
}

/* ----------------------------------------------------------------
 *		Merging
 * ----------------------------------------------------------------
 */

/* Code: CODE_MOST - shared bytes, then 9 bits: next byte + 1, 0 at the end. */
#define CODE_MOST		4095
#define CODE_END		PG_UINT32_MAX	/* of an input without more entries */

StaticAssertDecl(SNII_KEY_MAX_ENTRY < CODE_MOST, "a code holds any length");

typedef struct MergeStream
{
	SniiKeyStream s;
	const SniiKeyDesc *desc;
	int			n;
	SniiKeyStream **inputs;
	uint32	   *codes;			/* class COMPARED: 0, or CODE_END */
	int		   *losers;			/* of the nodes 1 .. n - 1 */
	int			winner;			/* -1: not begun */
} MergeStream;

static inline uint32
make_code(const SniiKeyStream *s, uint32 shared)
{
	return ((uint32) (CODE_MOST - shared) << 9) |
		(shared < s->entry.len ? (uint32) s->entry.str[shared] + 1 : 0);
}

static inline uint32
code_shared(uint32 code)
{
	return CODE_MOST - (code >> 9);
}

static inline void
advance(MergeStream *m, int i)
{
	SniiKeyStream *s = m->inputs[i];

	if (!snii_key_stream_next(s))
		m->codes[i] = CODE_END;
	else if (m->desc->all_bytes)
		m->codes[i] = make_code(s, s->shared);
}

static pg_noinline void
equal_strings(const MergeStream *m)
{
	elog(ERROR, "a row of index \"%s\" was sorted twice", m->desc->name);
}

/*
 * Two entries whose codes are equal: is b less than a?  The code of the
 * greater one is made to relate to the other.
 */
static bool
less_behind(MergeStream *m, int b, int a)
{
	const SniiKeyStream *sa = m->inputs[a];
	const SniiKeyStream *sb = m->inputs[b];
	uint32		n = Min(sa->entry.len, sb->entry.len);
	uint32		shared = Min(code_shared(m->codes[a]) + 1, n);

	shared += snii_key_common(sa->entry.str + shared, sb->entry.str + shared,
							  n - shared);
	if (shared == n && sa->entry.len == sb->entry.len)
		equal_strings(m);
	if (shared == n ? sb->entry.len < sa->entry.len :
		sb->entry.str[shared] < sa->entry.str[shared])
	{
		m->codes[a] = make_code(sa, shared);
		return true;
	}
	m->codes[b] = make_code(sb, shared);
	return false;
}

/* Is the entry of b less than that of a? */
static inline bool
less(MergeStream *m, int b, int a)
{
	int			order;

	if (m->codes[a] != m->codes[b])
		return m->codes[b] < m->codes[a];
	if (m->codes[a] == CODE_END)
		return false;
	if (m->desc->all_bytes)
		return less_behind(m, b, a);
	order = snii_key_compare(m->desc, m->inputs[b]->entry.str,
							 m->inputs[b]->entry.len,
							 m->inputs[a]->entry.str,
							 m->inputs[a]->entry.len);
	if (order == 0)
		equal_strings(m);
	return order < 0;
}

/* Play the matches of a subtree; returns the winner.  Node n + i is input i. */
static int
play(MergeStream *m, int node)
{
	int			left;
	int			right;

	if (node >= m->n)
		return node - m->n;
	left = play(m, 2 * node);
	right = play(m, 2 * node + 1);
	if (less(m, right, left))
	{
		m->losers[node] = left;
		return right;
	}
	m->losers[node] = right;
	return left;
}

/* The last winner has another entry: play its matches again. */
static inline int
replay(MergeStream *m, int winner)
{
	for (int node = (m->n + winner) / 2; node > 0; node /= 2)
	{
		int			other = m->losers[node];

		if (less(m, other, winner))
		{
			m->losers[node] = winner;
			winner = other;
		}
	}
	return winner;
}

static bool
next_of_merge(SniiKeyStream *s)
{
	MergeStream *m = (MergeStream *) s;
	const SniiKeyStream *from;

	if (m->winner < 0)
	{
		for (int i = 0; i < m->n; i++)
			advance(m, i);
		m->winner = play(m, 1);
	}
	else
	{
		advance(m, m->winner);
		m->winner = replay(m, m->winner);
	}
	if (m->codes[m->winner] == CODE_END)
		return false;
	from = m->inputs[m->winner];
	s->entry = from->entry;
	s->tag = from->tag;
	s->shared = m->desc->all_bytes ? code_shared(m->codes[m->winner]) : 0;
	return true;
}

SniiKeyStream *
snii_key_stream_merge(const SniiKeyDesc *desc, SniiKeyStream **inputs, int n)
{
	MergeStream *m;

	Assert(n > 0);
	if (n == 1)
		return inputs[0];
	m = palloc0(sizeof(MergeStream));
	m->s.next = next_of_merge;
	m->desc = desc;
	m->n = n;
	m->inputs = palloc(n * sizeof(SniiKeyStream *));
	memcpy(m->inputs, inputs, n * sizeof(SniiKeyStream *));
	m->codes = palloc0(n * sizeof(uint32));
	m->losers = palloc0(n * sizeof(int));
	m->winner = -1;
	return &m->s;
}
