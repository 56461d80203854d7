/*-------------------------------------------------------------------------
 *
 * key_merge.c
 *	  Runs into one run.
 *
 * A heap of cursors.  An entry goes from the pinned page of its input to the
 * page being built, by way of the cursor's copy of its string; nothing is
 * allocated on the way.  Marked entries are skipped, everything else is kept:
 * equal keys are different entries, and an equal string twice is damage, which
 * the writer reports.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_merge.h"

#include "miscadmin.h"

/* Pages that are read ahead of each input. */
#define AHEAD	32

typedef struct Input
{
	SniiKeyCursor cursor;
	const uint8 *marks;
	const SniiKeyRun *run;
	uint32		prefetched;		/* pages asked for */
} Input;

typedef struct Merge
{
	const SniiKeyDesc *desc;
	int			n;
	Input	  **heap;
} Merge;

static inline bool
before(const Merge *m, const Input *a, const Input *b)
{
	return snii_key_compare(m->desc, a->cursor.entry.str, a->cursor.entry.len,
							b->cursor.entry.str, b->cursor.entry.len) < 0;
}

static void
sift(Merge *m, int i)
{
	Input	   *input = m->heap[i];

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= m->n)
			break;
		if (child + 1 < m->n && before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m, m->heap[child], input))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = input;
}

static void
read_ahead(Input *input)
{
	uint32		npages = snii_key_run_data_pages(input->run);
	uint32		want = Min(input->cursor.page + AHEAD, npages);

	if (want < input->prefetched + AHEAD / 2 && want < npages)
		return;
	if (want > input->prefetched)
		snii_storage_prefetch(snii_key_run_object(input->run),
							  SNII_KEY_STREAM_DATA, input->prefetched,
							  want - input->prefetched);
	input->prefetched = want;
}

static inline bool
is_marked(const Input *input)
{
	uint64		ordinal = input->cursor.ordinal;

	return (input->marks[ordinal / 8] & (1 << (ordinal % 8))) != 0;
}

/* Move on, or begin, and skip what is marked; false at the end. */
static bool
settle(Input *input)
{
	while (input->cursor.valid && is_marked(input))
	{
		snii_key_cursor_next(&input->cursor);
		snii_storage_poll();
	}
	return input->cursor.valid;
}

static bool
advance(Input *input)
{
	uint32		page = input->cursor.page;

	snii_key_cursor_next(&input->cursor);
	if (input->cursor.valid && input->cursor.page != page)
	{
		read_ahead(input);
		snii_storage_poll();
	}
	return settle(input);
}

uint64
snii_key_merge(Relation index, SniiObjectWriter *w, SniiMergeInput *inputs,
			   int ninputs)
{
	SniiKeyDesc *desc = snii_key_desc(index);
	SniiKeyRunWriter *writer = snii_key_run_begin(desc, w);
	Merge		m = {desc, 0, palloc(ninputs * sizeof(Input *))};
	uint64		n;

	for (int i = 0; i < ninputs; i++)
	{
		Input	   *input = palloc0(sizeof(Input));

		input->run = snii_key_run_load(index, desc, inputs[i].object,
									   inputs[i].ndocs);
		input->marks = inputs[i].marks;
		snii_key_cursor_init(&input->cursor, desc, input->run);
		snii_key_cursor_first(&input->cursor);
		read_ahead(input);
		if (settle(input))
			m.heap[m.n++] = input;
		else
			snii_key_cursor_close(&input->cursor);
	}
	for (int i = m.n / 2 - 1; i >= 0; i--)
		sift(&m, i);
	while (m.n > 0)
	{
		Input	   *input = m.heap[0];

		snii_key_run_add(writer, &input->cursor.entry);
		if (!advance(input))
		{
			snii_key_cursor_close(&input->cursor);
			m.heap[0] = m.heap[--m.n];
		}
		if (m.n > 1)
			sift(&m, 0);
	}
	n = snii_key_run_finish(writer);
	return n;
}
