/*-------------------------------------------------------------------------
 *
 * key_merge.c
 *	  Runs into one run.
 *
 * A tree of losers over the inputs.  If all columns are of class BYTES, each
 * input has a code that says how its entry differs from the last one that was
 * written: how many bytes they share, and the byte that comes then.  Of two
 * entries that are both greater than a third, the greater one is that which
 * shares less with it, or has the greater byte there.  So nearly every
 * comparison is one of integers; where codes are equal, strings are compared
 * from there on.  Within an input the page says what an entry shares with the
 * one before, and the writer is told, so that no byte of a prefix is looked at
 * twice.  (Offset-value coding: G. Graefe, "Implementing Sorting in Database
 * Systems", 2006.)
 *
 * Marked entries are skipped, everything else is kept: equal keys are
 * different entries, and an equal string in two inputs is damage.
 *
 * Nothing is allocated for an entry.  Copied is what it does not share with
 * the one before it: to where it is put together, to the page being built,
 * and to the writer's copy of the last one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_merge.h"
#include "key/key_reader.h"
#include "key/key_run.h"
#include "storage/storage_page.h"

/* Code: CODE_MOST - shared bytes, then 9 bits: next byte + 1, 0 at the end. */
#define CODE_MOST		4095
#define CODE_END		PG_UINT32_MAX	/* of an input without more entries */

StaticAssertDecl(SNII_KEY_MAX_ENTRY < CODE_MOST, "a code holds any length");

typedef struct Merge
{
	const SniiKeyDesc *desc;
	bool		all_bytes;
	int			n;
	SniiKeyReader *readers;
	const uint8 **marks;		/* NULL: none is dead */
	uint32	   *codes;			/* class COMPARED: 0, or CODE_END */
	int		   *losers;			/* of the nodes 1 .. n - 1 */
} Merge;

static inline uint32
make_code(const SniiKeyReader *r, uint32 shared)
{
	return ((uint32) (CODE_MOST - shared) << 9) |
		(shared < r->page.len ? (uint32) r->page.str[shared] + 1 : 0);
}

static inline uint32
code_shared(uint32 code)
{
	return CODE_MOST - (code >> 9);
}

static pg_noinline void
equal_strings(const SniiKeyReader *r)
{
	snii_storage_corrupted(snii_storage_object_relation(r->object),
						   BufferGetBlockNumber(r->buffer),
						   "entry " UINT64_FORMAT " of run " UINT64_FORMAT
						   " is in another run, too",
						   snii_key_reader_ordinal(r),
						   snii_storage_object_id(r->object));
}

/*
 * To the next live entry of an input; its code relates to the entry that the
 * input had.
 */
static inline void
advance(Merge *m, int i)
{
	SniiKeyReader *r = &m->readers[i];
	const uint8 *marks = m->marks[i];
	uint32		shared = SNII_KEY_MAX_ENTRY;

	for (;;)
	{
		uint64		ordinal;

		if (!snii_key_reader_next(r))
		{
			m->codes[i] = CODE_END;
			return;
		}
		/* What each shares with the one before, the last does with the first. */
		shared = Min(shared, r->shared);
		if (marks == NULL)
			break;
		ordinal = snii_key_reader_ordinal(r);
		if ((marks[ordinal / 8] & (1 << (ordinal % 8))) == 0)
			break;
	}
	if (m->all_bytes)
		m->codes[i] = make_code(r, shared);
}

/*
 * Two entries whose codes are equal: is b less than a?  The code of the
 * greater one is made to relate to the other.
 */
static bool
less_behind(Merge *m, int b, int a)
{
	const SniiKeyReader *ra = &m->readers[a];
	const SniiKeyReader *rb = &m->readers[b];
	uint32		n = Min(ra->page.len, rb->page.len);
	uint32		shared = Min(code_shared(m->codes[a]) + 1, n);

	shared += snii_key_common(ra->page.str + shared, rb->page.str + shared,
							  n - shared);
	if (shared == n && ra->page.len == rb->page.len)
		equal_strings(ra);
	if (shared == n ? rb->page.len < ra->page.len :
		rb->page.str[shared] < ra->page.str[shared])
	{
		m->codes[a] = make_code(ra, shared);
		return true;
	}
	m->codes[b] = make_code(rb, shared);
	return false;
}

/* Is the entry of b less than that of a? */
static inline bool
less(Merge *m, int b, int a)
{
	int			order;

	if (m->codes[a] != m->codes[b])
		return m->codes[b] < m->codes[a];
	if (m->codes[a] == CODE_END)
		return false;
	if (m->all_bytes)
		return less_behind(m, b, a);
	order = snii_key_compare(m->desc, m->readers[b].page.str,
							 m->readers[b].page.len, m->readers[a].page.str,
							 m->readers[a].page.len);
	if (order == 0)
		equal_strings(&m->readers[a]);
	return order < 0;
}

/*
 * Play the matches of a subtree; returns the winner.  Node n + i is input i.
 */
static int
play(Merge *m, int node)
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
replay(Merge *m, int winner)
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

static inline void
emit(Merge *m, SniiKeyRunWriter *writer, int i)
{
	const SniiKeyPageReader *page = &m->readers[i].page;
	SniiKeyEntry entry;

	entry.str = page->str;
	entry.len = page->len;
	entry.payload = page->payload;
	entry.payload_len = page->payload_len;
	if (m->all_bytes)
		snii_key_run_add_shared(writer, &entry, code_shared(m->codes[i]));
	else
		snii_key_run_add(writer, &entry);
}

static void
begin(Merge *m, const SniiKeyDesc *desc, const SniiMergeInput *inputs, int n)
{
	m->desc = desc;
	m->all_bytes = desc->all_bytes;
	m->n = n;
	m->readers = palloc(n * sizeof(SniiKeyReader));
	m->marks = palloc(n * sizeof(uint8 *));
	m->codes = palloc0(n * sizeof(uint32));
	m->losers = palloc(n * sizeof(int));
	for (int i = 0; i < n; i++)
	{
		m->marks[i] = inputs[i].ndead > 0 ? inputs[i].marks : NULL;
		snii_key_reader_init(&m->readers[i], desc, inputs[i].object,
							 inputs[i].ndocs);
		advance(m, i);
	}
}

uint64
snii_key_merge(Relation index, SniiObjectWriter *w, SniiMergeInput *inputs,
			   int ninputs)
{
	SniiKeyDesc *desc = snii_key_desc(index);
	SniiKeyRunWriter *writer = snii_key_run_begin(desc, w);
	Merge		m;
	int			winner;

	begin(&m, desc, inputs, ninputs);
	winner = play(&m, 1);
	while (m.codes[winner] != CODE_END)
	{
		emit(&m, writer, winner);
		advance(&m, winner);
		winner = replay(&m, winner);
	}
	pfree(m.readers);
	pfree(m.marks);
	pfree(m.codes);
	pfree(m.losers);
	return snii_key_run_finish(writer);
}
