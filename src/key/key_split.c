/*-------------------------------------------------------------------------
 *
 * key_split.c
 *	  Intervals in parts, for scans by several processes.
 *
 * The run that has most pages in the interval says where the borders are:
 * between two of its pages.  The others have about as much of their entries on
 * one side as it has, since keys come to runs by chance or in order; where that
 * is not so, parts differ in size, and who has a small one takes another.
 *
 * The write buffer alone is not split: it is small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_run.h"
#include "key/key_split.h"

/* A part is that share of what is left, but no more than so many pages. */
#define SHARE			32
#define MOST_PAGES		64

struct SniiKeySplitter
{
	const SniiKeyDesc *desc;
	SniiKeyCursor *cursor;
	int			nruns;
	const SniiKeyRun *runs[FLEXIBLE_ARRAY_MEMBER];
};

SniiKeySplitter *
snii_key_splitter_begin(Relation index, const SniiKeyDesc *desc,
						const SniiView *view)
{
	SniiKeySplitter *s = palloc(offsetof(SniiKeySplitter, runs) +
								view->nentries * sizeof(SniiKeyRun *));

	s->desc = desc;
	s->cursor = palloc0(sizeof(SniiKeyCursor));
	s->nruns = 0;
	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_SEGMENT)
			s->runs[s->nruns++] = snii_key_run_open(index, desc,
													&view->entries[i]);
	return s;
}

/* The pages of a run that may have something in the interval; false: none. */
static bool
pages_of(const SniiKeySplitter *s, const SniiKeyRun *run,
		 const SniiKeyPos *lower, const SniiKeyPos *upper, uint32 *first,
		 uint32 *last)
{
	SniiKeyEntry begin;
	SniiKeyEntry end;

	snii_key_run_range(run, &begin, &end);
	if (snii_key_compare_pos(s->desc, end.str, end.len, lower) < 0 ||
		snii_key_compare_pos(s->desc, begin.str, begin.len, upper) > 0)
		return false;
	*first = snii_key_run_page_of(s->desc, run, lower);
	*last = snii_key_run_page_of(s->desc, run, upper);
	return *last >= *first;
}

/* Is the position before an entry strictly between the two? */
static bool
is_inside(const SniiKeyDesc *desc, const SniiKeyEntry *entry,
		  const SniiKeyPos *lower, const SniiKeyPos *upper)
{
	if (snii_key_compare_pos(desc, entry->str, entry->len, lower) < 0 ||
		snii_key_compare_pos(desc, entry->str, entry->len, upper) > 0)
		return false;
	/* An entry is behind the position before it. */
	return lower->after || entry->len != lower->len ||
		memcmp(entry->str, lower->bytes, lower->len) != 0;
}

bool
snii_key_split(SniiKeySplitter *s, const SniiKeyPos *lower,
			   const SniiKeyPos *upper, ScanDirection dir,
			   SniiKeyBytes *border)
{
	bool		forward = ScanDirectionIsForward(dir);
	const SniiKeyRun *run = NULL;
	uint32		first = 0;
	uint32		last = 0;
	uint32		n;
	uint32		page;
	bool		found = false;

	for (int i = 0; i < s->nruns; i++)
	{
		uint32		a;
		uint32		b;

		if (pages_of(s, s->runs[i], lower, upper, &a, &b) &&
			(run == NULL || b - a > last - first))
		{
			run = s->runs[i];
			first = a;
			last = b;
		}
	}
	if (run == NULL || last == first)
		return false;
	n = Min(Max((last - first) / SHARE, 1), MOST_PAGES);
	page = forward ? first + n : last + 1 - n;

	/* The first entry of a page may be the border before, or beyond the end. */
	snii_key_cursor_init(s->cursor, s->desc, run);
	while (!found && page > first && page <= last)
	{
		snii_key_cursor_page(s->cursor, page);
		found = is_inside(s->desc, &s->cursor->entry, lower, upper);
		if (found)
			snii_key_bytes_add(border, s->cursor->entry.str,
							   s->cursor->entry.len);
		page += forward ? 1 : -1;
	}
	snii_key_cursor_close(s->cursor);
	return found;
}
