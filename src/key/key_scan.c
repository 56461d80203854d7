/*-------------------------------------------------------------------------
 *
 * key_scan.c
 *	  Entries of a key index in order: runs and write buffer together.
 *
 * Each run and each stretch of a view is a source of entries in order; a
 * heap gives the least (backward: the greatest) of their current ones.
 * Sources are opened when an interval needs them and kept, so that sorted
 * look-ups find the page at hand.  A change of direction positions all of
 * them anew around the current entry.
 *
 * A leaf of a stretch is copied and its records in the interval are sorted by
 * a heap of their own, since most scans want few of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_record.h"
#include "key/key_run.h"
#include "key/key_scan.h"
#include "lsm/lsm_lookups.h"
#include "storage/storage_ordered.h"

#include "miscadmin.h"

/* Copies of the strings of one leaf: no longer than the leaf itself. */
#define LEAF_STRINGS	BLCKSZ

/* An entry of a leaf copy. */
typedef struct LeafItem
{
	const uint8 *str;
	uint32		len;
	const uint8 *payload;
	uint32		payload_len;
} LeafItem;

typedef struct Stretch
{
	SniiOrder	order;
	SniiOrder	order_back;
	SniiLeafCopy copy;
	uint8		strings[LEAF_STRINGS];
	int			nitems;			/* a heap */
	int			capacity;
	LeafItem   *items;
	bool		more;			/* is there a leaf beyond the copy? */
} Stretch;

typedef struct Source
{
	const SniiDirEntry *entry;
	/* One of these, opened at first use. */
	const SniiKeyRun *run;
	SniiKeyCursor *cursor;
	Stretch    *stretch;
	SniiKeyEntry current;
} Source;

struct SniiKeyScan
{
	Relation	index;
	const SniiKeyDesc *desc;
	const SniiView *view;
	MemoryContext context;
	int			nsources;
	Source	   *sources;

	/* The interval. */
	SniiKeyPos	lower;
	SniiKeyPos	upper;
	bool		point;
	SniiKeySources which;

	/* Where it stands. */
	ScanDirection dir;			/* of the heap; NoMovement: not positioned */
	bool		has_from;		/* begin at from, not at an end */
	SniiKeyPos	from_lower;		/* behind the string of restore() */
	SniiKeyPos	from_upper;		/* before it */
	SniiKeyBytes from;
	int			nheap;
	Source	  **heap;
	Source	   *last;			/* whose current entry was returned */

	SniiLookupCounts counts;	/* of points */
};

/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

static inline int
compare_items(const SniiKeyScan *scan, const uint8 *a, uint32 alen,
			  const uint8 *b, uint32 blen)
{
	int			cmp = snii_key_compare(scan->desc, a, alen, b, blen);

	return ScanDirectionIsForward(scan->dir) ? cmp : -cmp;
}

static inline bool
source_before(const SniiKeyScan *scan, const Source *a, const Source *b)
{
	return compare_items(scan, a->current.str, a->current.len,
						 b->current.str, b->current.len) < 0;
}

/* Let the source at i of the heap sink to its place. */
static void
sift_source(SniiKeyScan *scan, int i)
{
	Source	   *source = scan->heap[i];

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= scan->nheap)
			break;
		if (child + 1 < scan->nheap &&
			source_before(scan, scan->heap[child + 1], scan->heap[child]))
			child++;
		if (!source_before(scan, scan->heap[child], source))
			break;
		scan->heap[i] = scan->heap[child];
		i = child;
	}
	scan->heap[i] = source;
}

/* ----------------------------------------------------------------
 *		Stretches
 * ----------------------------------------------------------------
 */

static void
sift_item(const SniiKeyScan *scan, Stretch *s, int i)
{
	LeafItem	item = s->items[i];

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= s->nitems)
			break;
		if (child + 1 < s->nitems &&
			compare_items(scan, s->items[child + 1].str,
						  s->items[child + 1].len, s->items[child].str,
						  s->items[child].len) < 0)
			child++;
		if (compare_items(scan, s->items[child].str, s->items[child].len,
						  item.str, item.len) >= 0)
			break;
		s->items[i] = s->items[child];
		i = child;
	}
	s->items[i] = item;
}

/*
 * The byte in which keys of an interval that is a point most likely differ
 * from the others: the last one.  NULL if it is no point, or bytes say nothing.
 */
static const uint8 *
point_byte(const SniiKeyDesc *desc, const SniiKeyPos *lower,
		   const SniiKeyPos *upper)
{
	return desc->all_bytes && lower->len > 0 && lower->len == upper->len &&
		memcmp(lower->bytes, upper->bytes, lower->len) == 0 ?
		&lower->bytes[lower->len - 1] : NULL;
}

/*
 * Is a key, without its TID, before lower or behind upper by its first bytes
 * already?  Most of a leaf is, in a point look-up, and point, from
 * point_byte(), tells without a call.
 */
static inline bool
is_far(const SniiKeyDesc *desc, const SniiKeyEntry *key,
	   const SniiKeyPos *lower, const SniiKeyPos *upper, const uint8 *point)
{
	if (point != NULL && key->len >= lower->len &&
		key->str[lower->len - 1] != *point)
		return true;
	return desc->all_bytes &&
		(memcmp(key->str, lower->bytes, Min(key->len, lower->len)) < 0 ||
		 memcmp(key->str, upper->bytes, Min(key->len, upper->len)) > 0);
}

/*
 * Copy the leaf at a position and take those of its records that are in the
 * interval and on the far side of the position.
 */
static void
fill_leaf(SniiKeyScan *scan, Source *source, const SniiKeyPos *from)
{
	Stretch    *s = source->stretch;
	bool		forward = ScanDirectionIsForward(scan->dir);
	const SniiKeyPos *lower = forward ? from : &scan->lower;
	const SniiKeyPos *upper = forward ? &scan->upper : from;
	const uint8 *point = point_byte(scan->desc, lower, upper);
	SniiRecord	record;
	uint32		at = 0;
	uint32		used = 0;
	bool		dead;

	snii_storage_ordered_leaf(scan->index, source->entry,
							  forward ? &s->order : &s->order_back, from,
							  &s->copy);
	s->nitems = 0;
	while (snii_storage_ordered_next(scan->index, &s->copy, &at, &record,
									 &dead))
	{
		SniiKeyEntry entry;
		uint8	   *str = s->strings + used;

		if (dead)
			continue;
		snii_key_record_parse(scan->desc, &record, &entry);
		if (is_far(scan->desc, &entry, lower, upper, point))
			continue;
		if (used + entry.len + SNII_KEY_TID_BYTES > LEAF_STRINGS)
			elog(ERROR, "leaf of index \"%s\" holds too much",
				 RelationGetRelationName(scan->index));
		memcpy(str, entry.str, entry.len);
		snii_key_record_tid(&record, str + entry.len);
		entry.len += SNII_KEY_TID_BYTES;
		if (snii_key_compare_pos(scan->desc, str, entry.len, lower) < 0 ||
			snii_key_compare_pos(scan->desc, str, entry.len, upper) > 0)
			continue;
		used += entry.len;
		if (s->nitems == s->capacity)
		{
			s->capacity = Max(2 * s->capacity, 64);
			s->items = repalloc(s->items, s->capacity * sizeof(LeafItem));
		}
		s->items[s->nitems].str = str;
		s->items[s->nitems].len = entry.len;
		s->items[s->nitems].payload = entry.payload;
		s->items[s->nitems++].payload_len = entry.payload_len;
	}
	for (int i = s->nitems / 2 - 1; i >= 0; i--)
		sift_item(scan, s, i);

	/* Does the interval go on beyond the range of this leaf? */
	if (forward)
		s->more = !s->copy.last &&
			snii_key_compare_pos(scan->desc, s->copy.upper,
								 s->copy.upper_len, &scan->upper) < 0;
	else
		s->more = !s->copy.first &&
			snii_key_compare_pos(scan->desc, s->copy.lower,
								 s->copy.lower_len, &scan->lower) > 0;
}

/* Take the first item as the current entry, from further leaves if need be. */
static bool
settle_stretch(SniiKeyScan *scan, Source *source)
{
	Stretch    *s = source->stretch;

	while (s->nitems == 0)
	{
		uint8		border[SNII_ORDERED_MAX_BODY];
		SniiKeyPos	from;

		if (!s->more)
			return false;
		CHECK_FOR_INTERRUPTS();
		from.bytes = border;
		from.after = false;
		if (ScanDirectionIsForward(scan->dir))
			memcpy(border, s->copy.upper, from.len = s->copy.upper_len);
		else
			memcpy(border, s->copy.lower, from.len = s->copy.lower_len);
		fill_leaf(scan, source, &from);
	}
	source->current.str = s->items[0].str;
	source->current.len = s->items[0].len;
	source->current.payload = s->items[0].payload;
	source->current.payload_len = s->items[0].payload_len;
	return true;
}

static bool
next_of_stretch(SniiKeyScan *scan, Source *source)
{
	Stretch    *s = source->stretch;

	s->items[0] = s->items[--s->nitems];
	if (s->nitems > 0)
		sift_item(scan, s, 0);
	return settle_stretch(scan, source);
}

static bool
begin_stretch(SniiKeyScan *scan, Source *source, const SniiKeyPos *from)
{
	if (source->stretch == NULL)
	{
		Stretch    *s = MemoryContextAlloc(scan->context, sizeof(Stretch));

		snii_key_record_order(scan->desc, &s->order);
		snii_key_record_order_back(scan->desc, &s->order_back);
		s->nitems = 0;
		s->capacity = 64;
		s->items = MemoryContextAlloc(scan->context,
									  s->capacity * sizeof(LeafItem));
		source->stretch = s;
	}
	fill_leaf(scan, source, from);
	return settle_stretch(scan, source);
}

/* ----------------------------------------------------------------
 *		Runs
 * ----------------------------------------------------------------
 */

/* Skip entries that are marked dead, and see whether the interval ends. */
static bool
settle_run(SniiKeyScan *scan, Source *source)
{
	SniiKeyCursor *c = source->cursor;
	bool		forward = ScanDirectionIsForward(scan->dir);

	while (c->valid)
	{
		if (forward ?
			snii_key_compare_pos(scan->desc, c->entry.str, c->entry.len,
								 &scan->upper) > 0 :
			snii_key_compare_pos(scan->desc, c->entry.str, c->entry.len,
								 &scan->lower) < 0)
			return false;
		if (source->entry->ndead == 0 ||
			!snii_storage_marks_test(snii_key_run_object(source->run),
									 c->ordinal))
		{
			source->current = c->entry;
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		if (forward)
			snii_key_cursor_next(c);
		else
			snii_key_cursor_prev(c);
	}
	return false;
}

static bool
next_of_run(SniiKeyScan *scan, Source *source)
{
	if (ScanDirectionIsForward(scan->dir))
		snii_key_cursor_next(source->cursor);
	else
		snii_key_cursor_prev(source->cursor);
	return settle_run(scan, source);
}

/* Can the run have something in the interval? */
static bool
run_in_range(SniiKeyScan *scan, const SniiKeyRun *run)
{
	SniiKeyEntry first;
	SniiKeyEntry last;

	snii_key_run_range(run, &first, &last);
	return snii_key_compare_pos(scan->desc, last.str, last.len,
								&scan->lower) > 0 &&
		snii_key_compare_pos(scan->desc, first.str, first.len,
							 &scan->upper) < 0;
}

static bool
begin_run(SniiKeyScan *scan, Source *source, const SniiKeyPos *from,
		  uint64 hash)
{
	if (source->run == NULL)
	{
		/* What is not kept by the backend is to live as long as the scan. */
		MemoryContext old = MemoryContextSwitchTo(scan->context);

		source->run = snii_key_run_open(scan->index, scan->desc,
										source->entry);
		MemoryContextSwitchTo(old);
	}
	if (!run_in_range(scan, source->run))
		return false;
	if (scan->point)
	{
		scan->counts.counts[SNII_LOOKUP_RUNS]++;
		scan->counts.counts[SNII_LOOKUP_PROBES]++;
		if (!snii_key_run_may_have(scan->desc, source->run,
								   scan->lower.bytes, scan->lower.len, hash))
		{
			scan->counts.counts[SNII_LOOKUP_NEGATIVES]++;
			return false;
		}
	}
	if (source->cursor == NULL)
	{
		source->cursor = MemoryContextAlloc(scan->context,
											sizeof(SniiKeyCursor));
		snii_key_cursor_init(source->cursor, scan->desc, source->run);
	}
	if (ScanDirectionIsForward(scan->dir))
		snii_key_cursor_seek(source->cursor, from);
	else
		snii_key_cursor_seek_before(source->cursor, from);
	if (settle_run(scan, source))
		return true;
	scan->counts.counts[SNII_LOOKUP_FALSE_POSITIVES] += scan->point;
	return false;
}

/* ----------------------------------------------------------------
 *		The scan
 * ----------------------------------------------------------------
 */

SniiKeyScan *
snii_key_scan_begin(Relation index, const SniiKeyDesc *desc,
					const SniiView *view)
{
	SniiKeyScan *scan = palloc0(sizeof(SniiKeyScan));

	scan->index = index;
	scan->desc = desc;
	scan->view = view;
	scan->context = CurrentMemoryContext;
	scan->nsources = view->nentries;
	scan->sources = palloc0((view->nentries + 1) * sizeof(Source));
	scan->heap = palloc((view->nentries + 1) * sizeof(Source *));
	for (int i = 0; i < view->nentries; i++)
		scan->sources[i].entry = &view->entries[i];
	return scan;
}

void
snii_key_scan_set(SniiKeyScan *scan, const SniiKeyPos *lower,
				  const SniiKeyPos *upper, bool point, SniiKeySources sources)
{
	scan->lower = *lower;
	scan->upper = *upper;
	scan->point = point;
	scan->which = sources;
	scan->dir = NoMovementScanDirection;
	scan->has_from = false;
	scan->last = NULL;
}

static inline bool
is_open_stretch(const SniiDirEntry *entry)
{
	return entry->kind == SNII_ENTRY_STRETCH &&
		(entry->flags & SNII_ENTRY_SEALED) == 0;
}

/* Bring every source to its first entry in the direction. */
static void
position(SniiKeyScan *scan, ScanDirection dir)
{
	bool		forward = ScanDirectionIsForward(dir);
	const SniiKeyPos *from = forward ? &scan->lower : &scan->upper;
	uint64		hash = 0;

	if (scan->has_from)
		from = forward ? &scan->from_lower : &scan->from_upper;
	if (scan->point)
	{
		hash = snii_key_hash(scan->desc, scan->lower.bytes, scan->lower.len);
		scan->counts.counts[SNII_LOOKUPS]++;
	}
	scan->dir = dir;
	scan->nheap = 0;
	scan->last = NULL;
	for (int i = 0; i < scan->nsources; i++)
	{
		Source	   *source = &scan->sources[i];
		bool		found;

		if (source->entry->kind == SNII_ENTRY_SEGMENT)
			found = begin_run(scan, source, from, hash);
		else if (scan->which == SNII_KEY_CLOSED &&
				 is_open_stretch(source->entry))
			found = false;
		else
			found = begin_stretch(scan, source, from);
		if (found)
			scan->heap[scan->nheap++] = source;
	}
	for (int i = scan->nheap / 2 - 1; i >= 0; i--)
		sift_source(scan, i);
}

/* Move the source whose entry was returned, and the heap with it. */
static void
advance(SniiKeyScan *scan)
{
	Source	   *source = scan->last;
	bool		found;

	if (source->entry->kind == SNII_ENTRY_SEGMENT)
		found = next_of_run(scan, source);
	else
		found = next_of_stretch(scan, source);
	if (!found)
		scan->heap[0] = scan->heap[--scan->nheap];
	if (scan->nheap > 0)
		sift_source(scan, 0);
}

void
snii_key_scan_restore(SniiKeyScan *scan, const uint8 *str, uint32 len)
{
	MemoryContext old = MemoryContextSwitchTo(scan->context);

	/* str may be what is overwritten. */
	if (str != scan->from.data)
	{
		scan->from.len = 0;
		snii_key_bytes_add(&scan->from, str, len);
	}
	MemoryContextSwitchTo(old);
	scan->from_lower.bytes = scan->from_upper.bytes = scan->from.data;
	scan->from_lower.len = scan->from_upper.len = len;
	scan->from_lower.after = true;
	scan->from_upper.after = false;
	scan->has_from = true;
	scan->dir = NoMovementScanDirection;
	scan->last = NULL;
}

const SniiKeyEntry *
snii_key_scan_next(SniiKeyScan *scan, ScanDirection dir)
{
	Assert(dir != NoMovementScanDirection);
	if (scan->dir != dir)
	{
		if (scan->last != NULL)
			snii_key_scan_restore(scan, scan->last->current.str,
								  scan->last->current.len);
		position(scan, dir);
	}
	else if (scan->last != NULL)
		advance(scan);
	if (scan->nheap == 0)
	{
		/* The other direction begins at the end that was reached. */
		scan->dir = NoMovementScanDirection;
		scan->has_from = false;
		scan->last = NULL;
		return NULL;
	}
	scan->last = scan->heap[0];
	return &scan->last->current;
}

void
snii_key_scan_end(SniiKeyScan *scan)
{
	for (int i = 0; i < scan->nsources; i++)
		if (scan->sources[i].cursor != NULL)
			snii_key_cursor_close(scan->sources[i].cursor);
	if (scan->counts.counts[SNII_LOOKUPS] > 0)
		snii_lsm_lookups_add(scan->index, &scan->counts);
}
