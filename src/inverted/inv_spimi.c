/*-------------------------------------------------------------------------
 *
 * inv_spimi.c
 *	  Term buffer of a build: tokens in, sorted terms with postings out.
 *
 * Single-pass in-memory indexing (S. Heinz, J. Zobel, "Efficient Single-Pass
 * Index Construction for Text Databases", 2003): every distinct term is kept
 * once, its postings are appended as bytes to a chain of slices, and when the
 * budget is used up everything is written out as a sorted run and dropped.
 *
 * Memory is blocks of 32 KiB of two kinds, and a table:
 *
 *	keys		one record a term: SpimiTerm, then its bytes.  A term's id is
 *				the place of its record in units of 8 bytes, so that 32 bits
 *				reach 32 GiB and no array of terms is needed.
 *	arena		slices of postings, at 32-bit offsets.  A slice never crosses
 *				a block; it ends with the offset of the next one.  Slices of a
 *				chain grow by about 1.5: a rare term wastes little, a frequent
 *				one is read nearly in sequence.
 *	table		open addressing: id, and the upper half of the hash, from
 *				which the slot follows too, so that growing reads no record.
 *
 * Postings of a term are the bytes of its tokens one after the other:
 *
 *	token	:= varint64 (doc - previous doc) << 1 | 1, varint32 position
 *			 | varint32 (position - previous position) << 1		same document
 *
 * The previous document of the first token is the base of the run: its first
 * document.  Spilling copies these bytes as they are.
 *
 * One token costs about three cache misses when its term is rare (slot,
 * record, slice).  To overlap them, tokens go through a short pipeline: the
 * hash is computed and the slot prefetched on arrival, the record prefetched
 * some tokens later, then the place in the slice, and only then is the token
 * added.  What arrives in one
 * order is added in the same order, so the pipeline is not seen from outside
 * but for copying the bytes.
 *
 * Blocks can be kept from one fill to the next: faulting them in anew costs
 * more than filling them.  They never take the place of anything else.
 *
 * Memory is counted by capacity when a block or the table is allocated; the
 * array for sorting is counted from the beginning, 16 bytes a term.
 *
 * Limits: 2^32 bytes of arena (a spill is asked for at 3.5 GiB), 32 GiB of
 * keys (asked for at 28 GiB).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "codec/codec_varint.h"
#include "inverted/inv_spimi.h"

/*
 * Functions that only prefetch must be inlined always: gcc takes them for pure
 * and drops calls of them otherwise.
 */
#if defined(__GNUC__) || defined(__clang__)
#define SNII_PREFETCH(p) __builtin_prefetch(p)
#else
#define SNII_PREFETCH(p) ((void) (p))
#endif

#define BLOCK_SHIFT		15
#define BLOCK_SIZE		(1 << BLOCK_SHIFT)
#define BLOCK_MASK		(BLOCK_SIZE - 1)

/* Records are placed at multiples of this. */
#define UNIT_SHIFT		3
#define UNIT_SIZE		(1 << UNIT_SHIFT)

/* Blocks at which a spill is asked for, and which are never passed. */
#define ARENA_SPILL		((uint32) (UINT64CONST(0xE0000000) >> BLOCK_SHIFT))
#define ARENA_LIMIT		((uint32) (UINT64CONST(0x100000000) >> BLOCK_SHIFT))
#define KEYS_SPILL		(7 * (KEYS_LIMIT / 8))
#define KEYS_LIMIT \
	((uint32) (UINT64CONST(0x100000000) >> (BLOCK_SHIFT - UNIT_SHIFT)))

/* Smaller budgets would make runs of a few tokens. */
#define BUDGET_MIN		((Size) 256 * 1024)

#define TABLE_MIN_BITS	10
#define TABLE_MAX_BITS	32

/* The table grows when more than this share of its slots is taken. */
#define TABLE_FULL(slots) ((slots) / 8 * 5)

/* ... but up to this if that would pass the budget. */
#define TABLE_FULLEST(slots) ((slots) / 8 * 7)

/* Bytes of a slice at each level; the last one repeats. */
static const uint16 slice_bytes[] = {
	5, 8, 12, 18, 27, 40, 60, 90, 135, 202, 303, 455, 683, 1024, 1536, 2304
};

#define LEVELS			lengthof(slice_bytes)
#define LINK_BYTES		sizeof(uint32)

/* Pipeline of tokens that wait for the cache. */
#define PIPE_SIZE		32
#define PIPE_MASK		(PIPE_SIZE - 1)
#define PIPE_RECORD		8		/* prefetch the record of a token that old */
#define PIPE_SLICE		16		/* prefetch the end of its postings */
#define PIPE_ADD		24		/* add it */
#define PIPE_PROBES		4		/* slots that are looked at for that */
#define PIPE_KEY		44		/* longer terms do not wait */

/* Terms whose slices are fetched before they are read. */
#define WALK_AHEAD		8

/* Record of a term; its bytes follow. */
typedef struct SpimiTerm
{
	uint32		ident;			/* length | column << 16 | kind << 24 */
	uint32		head;			/* first slice */
	uint32		write;			/* where the next byte goes */
	uint16		left;			/* bytes left in the slice */
	uint8		level;			/* of the slice */
	uint8		unused;
	uint32		doc;			/* of the last token */
	uint32		position;		/* of the last token */
	uint8		bytes[FLEXIBLE_ARRAY_MEMBER];
} SpimiTerm;

#define TERM_HEADER		offsetof(SpimiTerm, bytes)
#define IDENT_LEN(ident)	((ident) & 0xFFFF)
#define IDENT_COLUMN(ident) (((ident) >> 16) & 0xFF)
#define IDENT_KIND(ident)	((ident) >> 24)

typedef struct SpimiSlot
{
	uint32		tag;			/* upper half of the hash */
	uint32		id;				/* 0: free */
} SpimiSlot;

/* A token in the pipeline. */
typedef struct SpimiPending
{
	uint32		tag;
	uint32		ident;
	uint32		doc;
	uint32		position;
	uint32		id;				/* of the term, most likely; 0: unknown */
	uint8		bytes[PIPE_KEY];
} SpimiPending;

/* Term in the array for sorting. */
typedef struct SpimiSorted
{
	uint64		prefix;			/* first 8 bytes, big-endian, zero-padded */
	uint32		id;
	uint32		group;			/* column << 8 | kind */
} SpimiSorted;

/* Walk along the slices of a term that will be read soon. */
typedef struct SpimiWalk
{
	uint32		offset;			/* of the slice */
	uint32		end;			/* of the postings */
	int			level;
} SpimiWalk;

/* Blocks of one kind. */
typedef struct SpimiBlocks
{
	uint8	  **blocks;
	uint32		nblocks;
	uint32		capacity;		/* of the array */
	uint32		free;			/* next free byte of the last block */
} SpimiBlocks;

struct SniiSpimi
{
	/* hot */
	SpimiSlot  *table;
	int			table_shift;	/* 32 - bits */
	uint32		doc;
	SpimiBlocks keys;
	SpimiBlocks arena;
	uint32		nterms;
	uint32		base;			/* first document */
	uint64		narrived;		/* tokens that entered the pipeline */
	uint64		nadded;			/* tokens that left it */
	bool		any;			/* a document was begun */
	bool		spill;

	Size		budget;
	Size		used;			/* without the array for sorting */
	uint8	  **kept;			/* blocks for the next fill */
	uint32		nkept;
	uint32		kept_capacity;
	SniiMemoryHook hook;
	MemoryContext own;			/* the struct */
	MemoryContext context;		/* blocks and table: reset by a spill */

	/* sorted iteration */
	SpimiSorted *sorted;
	uint32		nread;
	SpimiWalk	walks[WALK_AHEAD];

	SpimiPending pipe[PIPE_SIZE];
};

static int	compare_sorted(const SpimiSorted *a, const SpimiSorted *b,
						   SniiSpimi *s);

#define ST_SORT sort_terms
#define ST_ELEMENT_TYPE SpimiSorted
#define ST_COMPARE(a, b, s) compare_sorted(a, b, s)
#define ST_COMPARE_ARG_TYPE SniiSpimi
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* ---------------- memory ---------------- */

/*
 * Would a spill help?  Only what it frees counts for the floor: with a table
 * alone above the budget, each block would else become a run of its own.
 */
static void
consider_spill(SniiSpimi *s)
{
	Size		freed = snii_inv_spimi_spillable(s);

	s->spill = (snii_inv_spimi_used(s) >= s->budget &&
				freed >= s->budget / 4) ||
		s->arena.nblocks >= ARENA_SPILL || s->keys.nblocks >= KEYS_SPILL;
}

/* Tell what could be freed: terms, and blocks that wait for use. */
static inline void
tell_arena(SniiSpimi *s)
{
	if (s->hook.arena != NULL)
		s->hook.arena(s->hook.arg, snii_inv_spimi_spillable(s) +
					  (Size) s->nkept * BLOCK_SIZE);
}

static void
give_back(SniiSpimi *s, void *p, Size bytes)
{
	pfree(p);
	s->used -= bytes;
	if (s->hook.shrink != NULL)
		s->hook.shrink(s->hook.arg, bytes);
}

/* Give back blocks that wait for use until that much is in use, or none is. */
static void
trim_to(SniiSpimi *s, Size bytes)
{
	if (s->nkept == 0 || s->used <= bytes)
		return;
	while (s->nkept > 0 && s->used > bytes)
		give_back(s, s->kept[--s->nkept], BLOCK_SIZE);
	tell_arena(s);
}

/* Give back all blocks that wait for use. */
void
snii_inv_spimi_trim(SniiSpimi *s)
{
	trim_to(s, 0);
}

/*
 * Allocate, after telling the hook.  Blocks that wait for use make room for
 * it.
 */
static void *
take(SniiSpimi *s, Size bytes, bool zero)
{
	void	   *p;

	trim_to(s, s->budget > bytes ? s->budget - bytes : 0);
	if (s->hook.grow != NULL)
		s->hook.grow(s->hook.arg, bytes);
	s->used += bytes;
	p = MemoryContextAllocExtended(s->context, bytes,
								   MCXT_ALLOC_HUGE |
								   (zero ? MCXT_ALLOC_ZERO : 0));
	return p;
}

static pg_noinline void
add_block(SniiSpimi *s, SpimiBlocks *b, uint32 limit)
{
	CHECK_FOR_INTERRUPTS();
	if (b->nblocks >= limit)
		elog(ERROR, "snii term buffer is full");
	if (b->nblocks == b->capacity)
	{
		uint32		capacity = Max(64, b->capacity * 2);
		uint8	  **blocks = take(s, capacity * sizeof(uint8 *), false);

		if (b->blocks != NULL)
		{
			memcpy(blocks, b->blocks, b->nblocks * sizeof(uint8 *));
			give_back(s, b->blocks, b->capacity * sizeof(uint8 *));
		}
		b->blocks = blocks;
		b->capacity = capacity;
	}
	b->blocks[b->nblocks] = s->nkept > 0 ? s->kept[--s->nkept] :
		take(s, BLOCK_SIZE, false);
	b->nblocks++;
	b->free = 0;
	if (b == &s->arena)
		tell_arena(s);
	consider_spill(s);
}

#ifdef SNII_MEM_EVERY_CHANGE
/*
 * For the benchmark of the accounting alone: tell of every term and slice, as
 * if each were taken and given back by itself, and ask the limiter.
 */
static pg_noinline void
tell_change(SniiSpimi *s, uint32 bytes)
{
	if (s->hook.grow == NULL)
		return;
	s->hook.grow(s->hook.arg, bytes);
	s->hook.arena(s->hook.arg, snii_inv_spimi_spillable(s) +
				  (Size) s->nkept * BLOCK_SIZE + s->keys.free +
				  s->arena.free);
	s->hook.shrink(s->hook.arg, bytes);
}
#endif

/*
 * Room for that many bytes in one block: the global offset of the first one.
 */
static inline uint64
bump(SniiSpimi *s, SpimiBlocks *b, uint32 bytes, uint32 limit)
{
	uint64		offset;

	if (unlikely(b->free + bytes > BLOCK_SIZE))
		add_block(s, b, limit);
	offset = ((uint64) (b->nblocks - 1) << BLOCK_SHIFT) + b->free;
	b->free += bytes;
#ifdef SNII_MEM_EVERY_CHANGE
	tell_change(s, bytes);
#endif
	return offset;
}

static inline uint8 *
arena_at(const SniiSpimi *s, uint32 offset)
{
	return s->arena.blocks[offset >> BLOCK_SHIFT] + (offset & BLOCK_MASK);
}

static inline SpimiTerm *
term_at(const SniiSpimi *s, uint32 id)
{
	return (SpimiTerm *)
		(s->keys.blocks[id >> (BLOCK_SHIFT - UNIT_SHIFT)] +
		 ((id << UNIT_SHIFT) & BLOCK_MASK));
}

/* Begin empty: without blocks, with an empty table or none. */
static void
begin_empty(SniiSpimi *s)
{
	memset(&s->keys, 0, sizeof(SpimiBlocks));
	memset(&s->arena, 0, sizeof(SpimiBlocks));
	s->keys.free = s->arena.free = BLOCK_SIZE;
	if (s->table == NULL)
	{
		s->table_shift = 32 - TABLE_MIN_BITS;
		s->table = take(s, sizeof(SpimiSlot) << TABLE_MIN_BITS, true);
	}
	s->nterms = 0;
	s->narrived = s->nadded = 0;
	s->any = false;
	s->spill = false;
	s->sorted = NULL;
	s->nread = 0;
	/* id 0 says "free slot" */
	(void) bump(s, &s->keys, UNIT_SIZE, KEYS_LIMIT);
}

/*
 * Create a buffer, in a context of its own under the current one, that asks
 * for a spill at that many bytes, or at BUDGET_MIN.  hook may be NULL.
 */
SniiSpimi *
snii_inv_spimi_create(Size budget, const SniiMemoryHook *hook)
{
	MemoryContext own = AllocSetContextCreate(CurrentMemoryContext,
											  "snii term buffer",
											  ALLOCSET_SMALL_SIZES);
	SniiSpimi  *s = MemoryContextAllocZero(own, sizeof(SniiSpimi));

	s->own = own;
	s->context = AllocSetContextCreate(own, "snii term buffer blocks",
									   ALLOCSET_DEFAULT_SIZES);
	s->budget = Max(budget, BUDGET_MIN);
	if (hook != NULL)
		s->hook = *hook;
	begin_empty(s);
	return s;
}

static void
drop_all(SniiSpimi *s)
{
	Size		used = s->used;

	MemoryContextReset(s->context);
	s->used = 0;
	s->table = NULL;
	s->kept = NULL;
	s->nkept = s->kept_capacity = 0;
	if (s->hook.shrink != NULL)
		s->hook.shrink(s->hook.arg, used);
	if (s->hook.arena != NULL)
		s->hook.arena(s->hook.arg, 0);
}

/* Put the blocks of one kind with those that wait for use. */
static void
keep_blocks(SniiSpimi *s, SpimiBlocks *b)
{
	for (uint32 i = 0; i < b->nblocks; i++)
	{
#ifdef CLOBBER_FREED_MEMORY
		memset(b->blocks[i], 0x7F, BLOCK_SIZE);
#endif
		s->kept[s->nkept++] = b->blocks[i];
	}
	if (b->blocks != NULL)
		give_back(s, b->blocks, b->capacity * sizeof(uint8 *));
}

/*
 * Drop all terms, but keep what the next ones will need: the blocks, and the
 * table unless it is large.
 */
static void
drop_terms(SniiSpimi *s)
{
	uint32		n = s->nkept + s->keys.nblocks + s->arena.nblocks;
	Size		table = sizeof(SpimiSlot) << (32 - s->table_shift);

	if (s->sorted != NULL)
		give_back(s, s->sorted, Max((Size) s->nterms, 1) * sizeof(SpimiSorted));
	if (table <= s->budget / 4)
		memset(s->table, 0, table);
	else
	{
		give_back(s, s->table, table);
		s->table = NULL;
	}
	if (n > s->kept_capacity)
	{
		uint8	  **kept = take(s, n * sizeof(uint8 *), false);

		if (s->nkept > 0)
			memcpy(kept, s->kept, s->nkept * sizeof(uint8 *));
		if (s->kept != NULL)
			give_back(s, s->kept, s->kept_capacity * sizeof(uint8 *));
		s->kept = kept;
		s->kept_capacity = n;
	}
	keep_blocks(s, &s->keys);
	keep_blocks(s, &s->arena);
	s->keys.nblocks = s->arena.nblocks = 0;
	tell_arena(s);
}

/*
 * Drop all terms.  keep: their memory will be needed again at once; otherwise
 * it is given back.
 */
void
snii_inv_spimi_reset(SniiSpimi *s, bool keep)
{
	if (keep)
		drop_terms(s);
	else
		drop_all(s);
	begin_empty(s);
}

void
snii_inv_spimi_destroy(SniiSpimi *s)
{
	drop_all(s);
	MemoryContextDelete(s->own);
}

/*
 * Bytes in use, by capacity, with what sorting will need.  Blocks that wait
 * for use do not count: they make room when it is needed.
 */
Size
snii_inv_spimi_used(const SniiSpimi *s)
{
	return s->used - (Size) s->nkept * BLOCK_SIZE + (s->sorted != NULL ? 0 :
													 (Size) s->nterms * sizeof(SpimiSorted));
}

/* Bytes of the blocks of postings alone. */
Size
snii_inv_spimi_arena(const SniiSpimi *s)
{
	return (Size) s->arena.nblocks * BLOCK_SIZE;
}

/* Bytes that a spill frees for good: postings and terms, not the table. */
Size
snii_inv_spimi_spillable(const SniiSpimi *s)
{
	return (Size) (s->arena.nblocks + s->keys.nblocks) * BLOCK_SIZE;
}

/* Has the budget, or a limit of the addresses, been reached? */
bool
snii_inv_spimi_should_spill(const SniiSpimi *s)
{
	return s->spill;
}

/* Tokens since the last reset. */
uint64
snii_inv_spimi_tokens(const SniiSpimi *s)
{
	return s->narrived;
}

/* ---------------- postings ---------------- */

/*
 * Append bytes that do not fit in the slice: fill it, then go on in new ones.
 */
static pg_noinline void
append_across(SniiSpimi *s, SpimiTerm *t, const uint8 *bytes, int n)
{
	for (;;)
	{
		int			part = Min(n, t->left);
		uint32		next;

		memcpy(arena_at(s, t->write), bytes, part);
		t->write += part;
		t->left -= part;
		bytes += part;
		n -= part;
		if (n == 0)
			return;
		if (t->level < LEVELS - 1)
			t->level++;
		next = (uint32) bump(s, &s->arena,
							 slice_bytes[t->level] + LINK_BYTES, ARENA_LIMIT);
		memcpy(arena_at(s, t->write), &next, LINK_BYTES);
		t->write = next;
		t->left = slice_bytes[t->level];
	}
}

static inline void
append(SniiSpimi *s, SpimiTerm *t, const uint8 *bytes, int n)
{
	if (likely(n <= t->left))
	{
		uint8	   *p = arena_at(s, t->write);

		t->write += n;
		t->left -= n;
		do
		{
			*p++ = *bytes++;
		} while (--n > 0);
		return;
	}
	append_across(s, t, bytes, n);
}

static inline int
put_first(uint8 *buf, uint32 delta, uint32 position)
{
	uint8	   *p = snii_codec_put_varint64(buf, (uint64) delta << 1 | 1);

	return snii_codec_put_varint32(p, position) - buf;
}

/* Append a token to a term that has one. */
static inline void
append_token(SniiSpimi *s, SpimiTerm *t, uint32 doc, uint32 position)
{
	uint8		buf[SNII_SPIMI_TOKEN_MAX];
	int			n;

	if (t->doc == doc)
	{
		if (unlikely(position <= t->position))
			elog(ERROR, "snii token at position %u after %u",
				 position, t->position);
		n = snii_codec_put_varint32(buf, (position - t->position) << 1) - buf;
	}
	else
	{
		n = put_first(buf, doc - t->doc, position);
		t->doc = doc;
	}
	t->position = position;
	append(s, t, buf, n);
}

/* ---------------- terms ---------------- */

static inline uint64
load64(const uint8 *p)
{
	uint64		v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32
load32(const uint8 *p)
{
	uint32		v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Mix two words: the halves of their product, folded. */
static inline uint64
mix(uint64 a, uint64 b)
{
#ifdef HAVE_INT128
	uint128		r = (uint128) a * b;

	return (uint64) r ^ (uint64) (r >> 64);
#else
	a ^= b << 29 | b >> 35;
	a *= UINT64CONST(0x9FB21C651E98DF25);
	a ^= a >> 35;
	b *= UINT64CONST(0xD6E8FEB86659FD93);
	return a ^ b ^ (b >> 32);
#endif
}

/*
 * Hash of a key, for this table only.  The mixing step is that of wyhash
 * (Wang Yi); short keys are read as two words that may overlap.
 */
static inline uint32
hash_key(uint32 ident, const uint8 *p, uint32 len)
{
	uint64		seed = ident * UINT64CONST(0x9E3779B97F4A7C15);
	uint64		a;
	uint64		b;

	while (unlikely(len > 16))
	{
		seed = mix(load64(p) ^ UINT64CONST(0xA0761D6478BD642F),
				   load64(p + 8) ^ seed);
		p += 16;
		len -= 16;
	}
	if (len >= 8)
	{
		a = load64(p);
		b = load64(p + len - 8);
	}
	else if (len >= 4)
	{
		a = load32(p);
		b = load32(p + len - 4);
	}
	else if (len > 0)
	{
		a = p[0] | (uint32) p[len >> 1] << 8 | (uint32) p[len - 1] << 16;
		b = 0;
	}
	else
		a = b = 0;
	return (uint32) (mix(a ^ UINT64CONST(0xE7037ED1A0B428DB),
						 b ^ seed) >> 32);
}

static inline bool
same_bytes(const uint8 *a, const uint8 *b, uint32 len)
{
	if (len >= 8)
	{
		uint32		i;

		for (i = 0; i + 8 < len; i += 8)
		{
			if (load64(a + i) != load64(b + i))
				return false;
		}
		return load64(a + len - 8) == load64(b + len - 8);
	}
	if (len >= 4)
		return load32(a) == load32(b) &&
			load32(a + len - 4) == load32(b + len - 4);
	for (uint32 i = 0; i < len; i++)
	{
		if (a[i] != b[i])
			return false;
	}
	return true;
}

/* Double the table, or ask for a spill. */
static pg_noinline void
grow_table(SniiSpimi *s)
{
	uint64		nslots = UINT64CONST(1) << (32 - s->table_shift);
	SpimiSlot  *old = s->table;
	SpimiSlot  *table;
	int			shift = s->table_shift - 1;
	uint64		mask = nslots * 2 - 1;

	if (shift < 0)
		elog(ERROR, "snii term buffer is full");
	/* Rather than to pass the budget, spill: the slots last a little longer. */
	if (s->used - (Size) s->nkept * BLOCK_SIZE +
		nslots * 2 * sizeof(SpimiSlot) > s->budget &&
		snii_inv_spimi_spillable(s) >= s->budget / 4 &&
		s->nterms < TABLE_FULLEST(nslots))
	{
		s->spill = true;
		return;
	}
	table = take(s, nslots * 2 * sizeof(SpimiSlot), true);
	for (uint64 i = 0; i < nslots; i++)
	{
		uint64		at;

		if (old[i].id == 0)
			continue;
		at = old[i].tag >> shift;
		while (table[at].id != 0)
			at = (at + 1) & mask;
		table[at] = old[i];
	}
	s->table = table;
	s->table_shift = shift;
	give_back(s, old, nslots * sizeof(SpimiSlot));
	consider_spill(s);
}

/* Make a record for a new term, with its first token; returns its id. */
static uint32
new_term(SniiSpimi *s, uint32 ident, const uint8 *bytes,
		 uint32 doc, uint32 position)
{
	uint32		len = IDENT_LEN(ident);
	uint64		offset;
	uint8		buf[SNII_SPIMI_TOKEN_MAX];
	SpimiTerm  *t;
	uint32		id;

	offset = bump(s, &s->keys, TYPEALIGN(UNIT_SIZE, TERM_HEADER + len),
				  KEYS_LIMIT);
	id = (uint32) (offset >> UNIT_SHIFT);
	t = term_at(s, id);
	t->ident = ident;
	t->level = 0;
	t->unused = 0;
	t->doc = doc;
	t->position = position;
	memcpy(t->bytes, bytes, len);
	t->head = t->write = (uint32) bump(s, &s->arena,
									   slice_bytes[0] + LINK_BYTES,
									   ARENA_LIMIT);
	t->left = slice_bytes[0];
	append(s, t, buf, put_first(buf, doc - s->base, position));
	return id;
}

/* Find the term of a token, or make it, and append the token. */
static inline void
add_token(SniiSpimi *s, uint32 tag, uint32 ident, const uint8 *bytes,
		  uint32 doc, uint32 position)
{
	uint64		mask = (UINT64CONST(1) << (32 - s->table_shift)) - 1;
	uint64		at = tag >> s->table_shift;

	for (;;)
	{
		SpimiSlot  *slot = &s->table[at];

		if (slot->id == 0)
			break;
		if (slot->tag == tag)
		{
			SpimiTerm  *t = term_at(s, slot->id);

			if (t->ident == ident &&
				same_bytes(t->bytes, bytes, IDENT_LEN(ident)))
			{
				append_token(s, t, doc, position);
				return;
			}
		}
		at = (at + 1) & mask;
	}
	s->table[at].id = new_term(s, ident, bytes, doc, position);
	s->table[at].tag = tag;
	if (++s->nterms > TABLE_FULL(mask + 1))
		grow_table(s);
}

/* ---------------- pipeline ---------------- */

/*
 * Bring the record of a token into the cache, if one of the first slots has
 * it; a record may lie across the border of two cache lines.
 */
static pg_attribute_always_inline void
prefetch_record(SniiSpimi *s, SpimiPending *p)
{
	uint64		mask = (UINT64CONST(1) << (32 - s->table_shift)) - 1;
	uint64		at = p->tag >> s->table_shift;

	for (int i = 0; i < PIPE_PROBES; i++)
	{
		const SpimiSlot *slot = &s->table[(at + i) & mask];

		if (slot->id == 0)
			return;
		if (slot->tag == p->tag)
		{
			const uint8 *t = (const uint8 *) term_at(s, slot->id);

			p->id = slot->id;
			SNII_PREFETCH(t);
			SNII_PREFETCH(t + TERM_HEADER + IDENT_LEN(p->ident) - 1);
			return;
		}
	}
}

/* Bring the end of its postings into the cache. */
static pg_attribute_always_inline void
prefetch_slice(SniiSpimi *s, const SpimiPending *p)
{
	if (p->id != 0)
		SNII_PREFETCH(arena_at(s, term_at(s, p->id)->write));
}

/* The token that arrived so many tokens ago; it is still in the pipeline. */
static inline SpimiPending *
pending(SniiSpimi *s, int age)
{
	return &s->pipe[(s->narrived - age) & PIPE_MASK];
}

/* Add all tokens that wait: those so far can be looked up then. */
void
snii_inv_spimi_drain(SniiSpimi *s)
{
	while (s->nadded < s->narrived)
	{
		SpimiPending *p = &s->pipe[s->nadded & PIPE_MASK];

		s->nadded++;
		add_token(s, p->tag, p->ident, p->bytes, p->doc, p->position);
	}
}

/* Begin a document; documents come in increasing order. */
void
snii_inv_spimi_begin_doc(SniiSpimi *s, uint32 doc)
{
	if (!s->any)
		s->base = doc;
	else if (doc <= s->doc)
		elog(ERROR, "snii document %u after %u", doc, s->doc);
	s->any = true;
	s->doc = doc;
}

/*
 * Add a token of the current document.  Positions of one term in one document
 * are strictly increasing; len is SNII_TERM_MAX at most.
 */
void
snii_inv_spimi_token(SniiSpimi *s, int column, int kind,
					 const char *bytes, uint32 len, uint32 position)
{
	const uint8 *key = (const uint8 *) bytes;
	uint32		ident = len | (uint32) column << 16 | (uint32) kind << 24;
	uint32		tag = hash_key(ident, key, len);
	SpimiPending *p;

	Assert(s->any && len + 2 <= SNII_INV_KEY_MAX);
	if (unlikely(len > PIPE_KEY))
	{
		snii_inv_spimi_drain(s);
		s->narrived++;
		s->nadded++;
		add_token(s, tag, ident, key, s->doc, position);
		return;
	}
	SNII_PREFETCH(&s->table[tag >> s->table_shift]);
	p = &s->pipe[s->narrived & PIPE_MASK];
	p->tag = tag;
	p->ident = ident;
	p->doc = s->doc;
	p->id = 0;
	p->position = position;
	memcpy(p->bytes, key, len);
	s->narrived++;
	if (likely(s->narrived - s->nadded > PIPE_ADD))
	{
		prefetch_record(s, pending(s, PIPE_RECORD));
		prefetch_slice(s, pending(s, PIPE_SLICE));
		p = &s->pipe[s->nadded & PIPE_MASK];
		s->nadded++;
		add_token(s, p->tag, p->ident, p->bytes, p->doc, p->position);
	}
	else if (s->narrived - s->nadded > PIPE_RECORD)
		prefetch_record(s, pending(s, PIPE_RECORD));
}

/* ---------------- sorted iteration ---------------- */

static uint64
prefix_of(const SpimiTerm *t)
{
	uint32		len = IDENT_LEN(t->ident);
	uint64		prefix = 0;

	memcpy(&prefix, t->bytes, Min(len, sizeof(prefix)));
	return pg_ntoh64(prefix);
}

/* Order of two terms whose first 8 bytes are equal, as padded with zeroes. */
static pg_noinline int
compare_rest(SniiSpimi *s, uint32 ida, uint32 idb)
{
	const SpimiTerm *a = term_at(s, ida);
	const SpimiTerm *b = term_at(s, idb);
	uint32		alen = IDENT_LEN(a->ident);
	uint32		blen = IDENT_LEN(b->ident);
	int			cmp = memcmp(a->bytes, b->bytes, Min(alen, blen));

	if (cmp != 0)
		return cmp;
	return (alen > blen) - (alen < blen);
}

static inline int
compare_sorted(const SpimiSorted *a, const SpimiSorted *b, SniiSpimi *s)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return compare_rest(s, a->id, b->id);
}

/* Number of distinct terms. */
uint32
snii_inv_spimi_terms(const SniiSpimi *s)
{
	Assert(s->nadded == s->narrived);
	return s->nterms;
}

/* First document: the base of the document deltas. */
uint32
snii_inv_spimi_base(const SniiSpimi *s)
{
	return s->base;
}

/*
 * Sort the terms and stand before the first.  After this only reading, reset
 * and destroy are allowed.
 */
void
snii_inv_spimi_sort(SniiSpimi *s)
{
	uint64		nslots;
	uint32		n = 0;
	SpimiSorted *sorted;

	snii_inv_spimi_drain(s);
	nslots = UINT64CONST(1) << (32 - s->table_shift);
	sorted = take(s, Max((Size) s->nterms, 1) * sizeof(SpimiSorted), false);
	for (uint64 i = 0; i < nslots; i++)
	{
		if (s->table[i].id != 0)
			sorted[n++].id = s->table[i].id;
	}
	if (n != s->nterms)
		elog(ERROR, "snii term buffer has %u terms, not %u", n, s->nterms);
	for (uint32 i = 0; i < n; i++)
	{
		const SpimiTerm *t = term_at(s, sorted[i].id);

		if (i + 16 < n)
			SNII_PREFETCH(term_at(s, sorted[i + 16].id));
		sorted[i].prefix = prefix_of(t);
		sorted[i].group = IDENT_COLUMN(t->ident) << 8 | IDENT_KIND(t->ident);
	}
	sort_terms(sorted, n, s);
	s->sorted = sorted;
	s->nread = 0;
	/* no walks yet: all at their end */
	memset(s->walks, 0, sizeof(s->walks));
}

/* Bring a slice, both ends of it, into the cache. */
static pg_attribute_always_inline void
prefetch_whole(SniiSpimi *s, const SpimiWalk *walk)
{
	const uint8 *p = arena_at(s, walk->offset);

	SNII_PREFETCH(p);
	SNII_PREFETCH(p + slice_bytes[walk->level] + LINK_BYTES - 1);
}

/* Go to the next slice of a coming term, unless it was its last one. */
static pg_attribute_always_inline void
walk_on(SniiSpimi *s, SpimiWalk *walk)
{
	uint32		link;

	if (walk->end - walk->offset <= slice_bytes[walk->level])
		return;
	memcpy(&link, arena_at(s, walk->offset + slice_bytes[walk->level]),
		   LINK_BYTES);
	walk->offset = link;
	if (walk->level < LEVELS - 1)
		walk->level++;
	prefetch_whole(s, walk);
}

/*
 * Bring records and slices of coming terms into the cache.  A chain can only
 * be followed link by link, so for each of the next WALK_AHEAD terms one more
 * slice is fetched at every call.
 */
static pg_attribute_always_inline void
prefetch_sorted(SniiSpimi *s)
{
	uint32		i = s->nread;

	if (i + 2 * WALK_AHEAD < s->nterms)
	{
		const uint8 *t = (const uint8 *)
		term_at(s, s->sorted[i + 2 * WALK_AHEAD].id);

		SNII_PREFETCH(t);
		SNII_PREFETCH(t + TERM_HEADER);
	}
	for (uint32 k = 1; k < WALK_AHEAD; k++)
		walk_on(s, &s->walks[(i + k) % WALK_AHEAD]);
	if (i + WALK_AHEAD < s->nterms)
	{
		const SpimiTerm *t = term_at(s, s->sorted[i + WALK_AHEAD].id);
		SpimiWalk  *walk = &s->walks[i % WALK_AHEAD];

		walk->offset = t->head;
		walk->end = t->write;
		walk->level = 0;
		prefetch_whole(s, walk);
	}
}

/* Stand before the postings of a term. */
static inline void
begin_term(const SpimiTerm *t, SniiSpimiTerm *term)
{
	term->column = IDENT_COLUMN(t->ident);
	term->kind = IDENT_KIND(t->ident);
	term->bytes = t->bytes;
	term->len = IDENT_LEN(t->ident);
	term->slices = t->level + 1;
	term->read = t->head;
	term->end = t->write;
	term->level = 0;
	term->left = slice_bytes[0];
}

/*
 * The next term in the order of keys; false after the last one.  Its bytes
 * are valid until the buffer is reset.
 */
bool
snii_inv_spimi_next(SniiSpimi *s, SniiSpimiTerm *term)
{
	const SpimiTerm *t;

	Assert(s->sorted != NULL);
	if (s->nread >= s->nterms)
		return false;
	prefetch_sorted(s);
	t = term_at(s, s->sorted[s->nread++].id);
	begin_term(t, term);
	return true;
}

/*
 * Look a term up, at any time after snii_inv_spimi_drain() and before the
 * next token: false if it is not there.  What was found is valid until then.
 */
bool
snii_inv_spimi_find(const SniiSpimi *s, int column, int kind,
					const char *bytes, uint32 len, SniiSpimiTerm *term)
{
	const uint8 *key = (const uint8 *) bytes;
	uint32		ident = len | (uint32) column << 16 | (uint32) kind << 24;
	uint32		tag = hash_key(ident, key, len);
	uint64		mask = (UINT64CONST(1) << (32 - s->table_shift)) - 1;

	Assert(s->nadded == s->narrived);
	for (uint64 at = tag >> s->table_shift; s->table[at].id != 0;
		 at = (at + 1) & mask)
	{
		const SpimiTerm *t;

		if (s->table[at].tag != tag)
			continue;
		t = term_at(s, s->table[at].id);
		if (t->ident == ident && same_bytes(t->bytes, key, len))
		{
			begin_term(t, term);
			return true;
		}
	}
	return false;
}

/*
 * Copy the next bytes of the term's postings, at most size; returns how many,
 * 0 at the end.
 */
size_t
snii_inv_spimi_read(const SniiSpimi *s, SniiSpimiTerm *term,
					uint8 *buf, size_t size)
{
	size_t		n = 0;

	while (n < size)
	{
		uint32		avail = term->left;
		uint32		part;

		/* the tail slice ends early; no other one contains the end */
		if (term->end - term->read <= term->left)
			avail = term->end - term->read;
		part = Min(avail, size - n);
		memcpy(buf + n, arena_at(s, term->read), part);
		n += part;
		term->read += part;
		term->left -= part;
		if (term->read == term->end)
			break;
		if (term->left == 0)
		{
			memcpy(&term->read, arena_at(s, term->read), LINK_BYTES);
			if (term->level < LEVELS - 1)
				term->level++;
			term->left = slice_bytes[term->level];
		}
	}
	return n;
}
