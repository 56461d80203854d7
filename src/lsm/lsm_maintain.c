/*-------------------------------------------------------------------------
 *
 * lsm_maintain.c
 *	  Flushing the write buffer and merging segments.
 *
 * Both write a new segment from inputs that nobody changes but for their dead
 * marks, and then swap the directory.  Marks that VACUUM set meanwhile are carried over
 * under the MARKS lock, which VACUUM takes to set them: after the swap the
 * new segment has every mark that its inputs had.
 *
 * The slot lock keeps others from displacing the inputs, so that they may be
 * read without a snapshot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_maintain.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_timing.h"
#include "lsm/lsm_pressure.h"
#include "lsm/lsm_view.h"
#include "storage/storage_alloc.h"
#include "storage/storage_buffer.h"
#include "storage/storage_counters.h"
#include "storage/storage_directory.h"
#include "storage/storage_meta.h"
#include "storage/storage_point.h"
#include "storage/storage_recycle.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

int			snii_lsm_buffer_limit_kb = 8192;

/* What an inserter merges on behalf of everybody, at a time. */
#define HELP_MERGE_BYTES	(UINT64CONST(64) << 20)

/* Stretches that it flushes: some 2 MB, a tenth of a second. */
#define HELP_STRETCHES		8

/* Bytes of marks between two looks at others. */
#define POLL_BYTES			65536

/* ----------------------------------------------------------------
 *		Publishing
 * ----------------------------------------------------------------
 */

/* A list of ordinals that grows. */
typedef struct Ordinals
{
	uint64	   *values;
	uint64		n;
	uint64		capacity;
} Ordinals;

static void
add_ordinal(Ordinals *list, uint64 value)
{
	if (list->n == list->capacity)
	{
		list->capacity = Max(list->capacity * 2, 64);
		if (list->values == NULL)
			list->values = palloc(list->capacity * sizeof(uint64));
		else
			list->values = repalloc_huge(list->values,
										 list->capacity * sizeof(uint64));
	}
	list->values[list->n++] = value;
}

static int
compare_ordinals(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y ? 1 : 0;
}

#define ST_SORT sort_values
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) compare_ordinals(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static void
sort_ordinals(Ordinals *list)
{
	sort_values(list->values, list->n);
}

static void
fill_entry(SniiDirEntry *entry, const SniiPolicy *policy,
		   const SniiObjectRef *ref, uint64 ndocs, uint64 ndead)
{
	memset(entry, 0, sizeof(*entry));
	entry->id = ref->id;
	entry->kind = SNII_ENTRY_SEGMENT;
	entry->list_head = ref->list_head;
	entry->list_tail = ref->list_tail;
	entry->npages = ref->npages;
	entry->ndocs = ndocs;
	entry->ndead = ndead;
	entry->nbytes = (uint64) ref->npages * BLCKSZ;
	entry->level = (uint8) snii_lsm_policy_tier(policy, entry->nbytes);
	entry->side_head = InvalidBlockNumber;
}

/*
 * Swap a finished segment (ndocs 0: none) for its inputs.  "late" are its
 * documents that died since they were read.  The caller holds the slot and,
 * if there are inputs, the MARKS lock.
 */
static void
publish(Relation index, int slot, const SniiObjectRef *ref, uint64 ndocs,
		const Ordinals *late, const uint64 *remove, int nremove,
		const uint64 *counts)
{
	SniiDirEntry entry;
	SniiSwap	swap = {0};

	if (ndocs > 0 && late->n > 0)
	{
		SniiObject *object = snii_storage_object_open(index, ref->id,
													  ref->list_head);

		snii_storage_marks_set(object, ndocs, late->values, late->n);
	}
	SNII_TEST_POINT("publish");
	swap.slot = -1;
	if (ndocs > 0)
	{
		fill_entry(&entry, snii_lsm_policy(index), ref, ndocs, late->n);
		swap.add = &entry;
		swap.slot = slot;
	}
	swap.remove = remove;
	swap.nremove = nremove;
	swap.counts = counts;
	if (ndocs > 0 || nremove > 0)
		snii_storage_swap(index, &swap);
	SNII_TEST_POINT("published");
}

/*
 * Publish a segment that comes from outside of the index; its bytes go to a
 * counter.
 */
static void
publish_new(Relation index, SniiObjectWriter *w, int slot, uint64 ndocs,
			uint64 *counts, int byte_counter)
{
	SniiObjectRef ref;
	Ordinals	none = {0};

	snii_storage_append_marks(w, ndocs, NULL);
	snii_storage_writer_finish(w, &ref);
	counts[byte_counter] = (uint64) ref.npages * BLCKSZ;
	publish(index, slot, &ref, ndocs, &none, NULL, 0, counts);
}

void
snii_lsm_publish(Relation index, SniiObjectWriter *w, int slot, uint64 ndocs)
{
	uint64		counts[SNII_COUNTERS] = {0};

	publish_new(index, w, slot, ndocs, counts, SNII_COUNTER_BYTES_BUILT);
}

/* ----------------------------------------------------------------
 *		Flush
 * ----------------------------------------------------------------
 */

/* Source of the records of several stretches. */
typedef struct BufferSource
{
	SniiRecordSource base;
	Relation	index;
	MemoryContext context;		/* outlives the build, unlike the caller's */
	const SniiDirEntry *stretches;
	int			nstretches;
	int			current;
	SniiBufferReader *reader;
	/* Bit per record: was it dead when it was read? */
	uint8	   *was_dead;
	uint64		nrecords;
	uint64		nlive;			/* of these, handed to the kind */
	uint64		nbytes;			/* of all records */
	uint64		capacity;		/* bits */
} BufferSource;

/* Next record of all stretches, dead or not. */
static bool
next_any(BufferSource *s, SniiRecord *record, bool *dead)
{
	while (s->current < s->nstretches)
	{
		if (s->reader == NULL)
			s->reader = snii_storage_buffer_open(s->index,
												 &s->stretches[s->current]);
		if (snii_storage_buffer_next(s->reader, &record->tid, &record->data,
									 &record->len, dead))
			return true;
		snii_storage_buffer_close(s->reader);
		s->reader = NULL;
		s->current++;
	}
	return false;
}

static bool
buffer_source_next(SniiRecordSource *self, SniiRecord *record)
{
	BufferSource *s = (BufferSource *) self;
	MemoryContext old = MemoryContextSwitchTo(s->context);
	bool		dead = true;

	while (dead && next_any(s, record, &dead))
	{
		if (s->nrecords == s->capacity)
		{
			uint64		bytes = Max(s->capacity / 4, 1024);

			if (s->was_dead == NULL)
				s->was_dead = palloc0(bytes);
			else
			{
				s->was_dead = repalloc_huge(s->was_dead, bytes);
				memset(s->was_dead + s->capacity / 8, 0,
					   bytes - s->capacity / 8);
			}
			s->capacity = bytes * 8;
		}
		if (dead)
			s->was_dead[s->nrecords / 8] |= (uint8) (1 << (s->nrecords % 8));
		s->nrecords++;
		s->nbytes += record->len;
		if (!dead)
			s->nlive++;
	}
	MemoryContextSwitchTo(old);
	return !dead;
}

/*
 * Ordinals of the documents that were alive when they were read and are
 * marked dead now.  A kind with an order of its own finds them in what was
 * written.
 */
static void
find_late_records(BufferSource *s, const SniiKind *kind,
				  const SniiObjectRef *ref, uint64 ndocs, Ordinals *late)
{
	SniiObject *output = NULL;
	SniiRecord	record;
	bool		dead;
	uint64		n = 0;
	uint64		ordinal = 0;

	s->current = 0;
	s->reader = NULL;
	while (n < s->nrecords && next_any(s, &record, &dead))
	{
		bool		was_dead = (s->was_dead[n / 8] & (1 << (n % 8))) != 0;

		if (dead && !was_dead && kind->find_record != NULL)
		{
			if (output == NULL)
				output = snii_storage_object_open(s->index, ref->id,
												  ref->list_head);
			add_ordinal(late, kind->find_record(s->index, output, ndocs,
												&record));
		}
		else if (dead && !was_dead)
			add_ordinal(late, ordinal);
		if (!was_dead)
			ordinal++;
		n++;
	}
	if (kind->find_record != NULL)
		sort_ordinals(late);
	if (s->reader != NULL)
		snii_storage_buffer_close(s->reader);
	s->reader = NULL;
}

/*
 * The first stretches that can be flushed: sealed, and nobody is writing into
 * them.
 */
static int
choose_stretches(Relation index, SniiDirEntry *stretches, int max)
{
	SniiView   *view = snii_lsm_view(index, true);
	int			n = 0;

	for (int i = 0; i < view->nentries && n < max; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];

		if (entry->kind == SNII_ENTRY_STRETCH &&
			(entry->flags & SNII_ENTRY_SEALED) != 0 &&
			snii_storage_stretch_quiet(index, entry))
			stretches[n++] = *entry;
	}
	pfree(view);
	return n;
}

static void
seal_open_stretches(Relation index)
{
	SniiView   *view = snii_lsm_view(index, true);

	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_STRETCH &&
			(view->entries[i].flags & SNII_ENTRY_SEALED) == 0)
			snii_storage_stretch_seal(index, view->entries[i].id);
	pfree(view);
}

static const SniiTimingNames flush_names = {"flush", "built", "published"};

/*
 * Flush the given stretches.  The caller holds the slot and a memory context
 * that it will drop.
 */
static void
flush_stretches(Relation index, const SniiDirEntry *stretches, int n,
				SniiTiming *timing)
{
	const SniiKind *kind = snii_lsm_kind(index);
	SniiObjectWriter *w = snii_storage_writer_begin(index, SNII_SLOT_FLUSH);
	BufferSource source = {{buffer_source_next}};
	SniiObjectRef ref = {0};
	Ordinals	late = {0};
	uint64	   *remove = palloc(n * sizeof(uint64));
	uint64		counts[SNII_COUNTERS] = {0};
	uint64		ndocs;

	source.index = index;
	source.context = CurrentMemoryContext;
	source.stretches = stretches;
	source.nstretches = n;
	for (int i = 0; i < n; i++)
		remove[i] = stretches[i].id;

	ndocs = kind->build(index, w, &source.base);
	if (source.current < n || ndocs != source.nlive)
		elog(ERROR, "flush in index \"%s\" wrote %llu of %llu documents",
			 RelationGetRelationName(index), (unsigned long long) ndocs,
			 (unsigned long long) source.nlive);
	if (ndocs > 0)
	{
		snii_storage_append_marks(w, ndocs, NULL);
		snii_storage_writer_finish(w, &ref);
	}
	SNII_TEST_POINT("flush_written");
	snii_lsm_lock_page(index, SNII_LOCK_MARKS, ExclusiveLock);
	snii_lsm_timing_last(timing);
	if (ndocs > 0)
		find_late_records(&source, kind, &ref, ndocs, &late);
	counts[SNII_COUNTER_FLUSHES] = 1;
	counts[SNII_COUNTER_DOCS_IN] = source.nrecords;
	counts[SNII_COUNTER_BYTES_IN] = source.nbytes;
	counts[SNII_COUNTER_BYTES_FLUSHED] = (uint64) ref.npages * BLCKSZ;
	publish(index, SNII_SLOT_FLUSH, &ref, ndocs, &late, remove, n, counts);
	UnlockPage(index, SNII_LOCK_MARKS, ExclusiveLock);
	snii_lsm_timing_end(timing, index, &flush_names, n, ndocs,
						counts[SNII_COUNTER_BYTES_FLUSHED]);
}

/* Take the lock of a slot; counted as waiting. */
static bool
acquire_slot(Relation index, int slot, bool wait)
{
	instr_time	start;
	bool		result;

	snii_storage_time_begin(&start);
	result = snii_storage_slot_acquire(index, slot, wait);
	snii_storage_time_end(SNII_TIME_WAITED, &start);
	return result;
}

/*
 * The flush of snii_lsm_flush(), of up to max stretches.
 */
static int
flush_some(Relation index, bool seal_open, bool wait, int max)
{
	SniiDirEntry *stretches;
	MemoryContext context;
	MemoryContext old;
	SniiTiming	timing;
	int			n;

	snii_lsm_timing_begin(&timing);
	if (!acquire_slot(index, SNII_SLOT_FLUSH, wait))
	{
		snii_lsm_timing_cancel(&timing);
		return -1;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "snii flush",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	if (seal_open)
		seal_open_stretches(index);
	stretches = palloc(SNII_DIR_CAPACITY * sizeof(SniiDirEntry));
	n = choose_stretches(index, stretches, max);
	if (n > 0)
		flush_stretches(index, stretches, n, &timing);
	else
		snii_lsm_timing_cancel(&timing);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	snii_storage_slot_release(index, SNII_SLOT_FLUSH);
	return n;
}

int
snii_lsm_flush(Relation index, bool seal_open, bool wait)
{
	return flush_some(index, seal_open, wait, SNII_DIR_CAPACITY);
}

static const SniiTimingNames large_names = {
	"large insertion", "built", NULL
};

/* Source of one record in memory. */
typedef struct OneSource
{
	SniiRecordSource base;
	SniiRecord	record;
	bool		done;
} OneSource;

static bool
one_source_next(SniiRecordSource *self, SniiRecord *record)
{
	OneSource  *s = (OneSource *) self;

	if (s->done)
		return false;
	s->done = true;
	*record = s->record;
	return true;
}

void
snii_lsm_insert_segment(Relation index, Relation heap,
						const ItemPointerData *tid, const uint8 *data,
						size_t len)
{
	OneSource	source = {{one_source_next}};
	MemoryContext context;
	MemoryContext old;
	SniiTiming	timing;
	SniiObjectWriter *w;
	uint64		counts[SNII_COUNTERS] = {0};
	uint64		ndocs;

	source.record.tid = *tid;
	source.record.data = data;
	source.record.len = len;
	snii_lsm_timing_begin(&timing);
	for (;;)
	{
		SniiView   *view;
		int			nentries;

		/* Nobody else with such a record adds an entry while we have this. */
		acquire_slot(index, SNII_SLOT_FLUSH, true);
		view = snii_lsm_view(index, true);
		nentries = view->nentries;
		pfree(view);
		if (nentries < SNII_POLICY_STRETCH_LIMIT)
			break;
		snii_storage_slot_release(index, SNII_SLOT_FLUSH);
		snii_lsm_make_room(index, heap);
		CHECK_FOR_INTERRUPTS();
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "snii segment",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	w = snii_storage_writer_begin(index, SNII_SLOT_FLUSH);
	ndocs = snii_lsm_kind(index)->build(index, w, &source.base);
	if (ndocs != 1)
		elog(ERROR, "segment of one record in index \"%s\" has %llu documents",
			 RelationGetRelationName(index), (unsigned long long) ndocs);
	counts[SNII_COUNTER_FLUSHES] = 1;
	counts[SNII_COUNTER_DOCS_IN] = 1;
	counts[SNII_COUNTER_BYTES_IN] = len;
	publish_new(index, w, SNII_SLOT_FLUSH, ndocs, counts,
				SNII_COUNTER_BYTES_FLUSHED);
	snii_lsm_timing_end(&timing, index, &large_names, 1, ndocs,
						counts[SNII_COUNTER_BYTES_FLUSHED]);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	snii_storage_slot_release(index, SNII_SLOT_FLUSH);
	snii_lsm_pressure_sealed(index, heap);
}

/* ----------------------------------------------------------------
 *		Merge
 * ----------------------------------------------------------------
 */

static uint64
count_bits(const uint8 *bits, uint64 ndocs)
{
	return pg_popcount((const char *) bits, (int) ((ndocs + 7) / 8));
}

/* Sink of SniiKind.find_marked. */
static void
late_sink(void *arg, uint64 ordinal)
{
	add_ordinal(arg, ordinal);
}

/*
 * The same as find_late_marks() for a kind that has an order of its own: what
 * was marked since is found in the output.
 */
static void
find_late_in_order(Relation index, const SniiKind *kind,
				   const SniiMergeInput *inputs, int n,
				   const SniiObjectRef *ref, uint64 ndocs, Ordinals *late)
{
	SniiObject *output = snii_storage_object_open(index, ref->id,
												  ref->list_head);

	for (int i = 0; i < n; i++)
	{
		uint64		len = (inputs[i].ndocs + 7) / 8;
		uint8	   *now = MemoryContextAllocHuge(CurrentMemoryContext, len);
		bool		any = false;

		snii_storage_marks_load(inputs[i].object, inputs[i].ndocs, now);
		for (uint64 byte = 0; byte < len; byte++)
		{
			if (byte % POLL_BYTES == 0)
				snii_storage_poll();
			now[byte] &= ~inputs[i].marks[byte];
			any |= now[byte] != 0;
		}
		if (any)
			kind->find_marked(index, output, ndocs, inputs[i].object,
							  inputs[i].ndocs, now, late_sink, late);
		pfree(now);
	}
	sort_ordinals(late);
}

/*
 * Documents of the output that were alive in the inputs when these were read
 * and are marked dead now.
 */
static void
find_late_marks(const SniiMergeInput *inputs, int n, Ordinals *late)
{
	uint64		ordinal = 0;

	for (int i = 0; i < n; i++)
	{
		uint64		len = (inputs[i].ndocs + 7) / 8;
		uint8	   *now = MemoryContextAllocHuge(CurrentMemoryContext, len);

		snii_storage_marks_load(inputs[i].object, inputs[i].ndocs, now);
		for (uint64 byte = 0; byte < len; byte++)
		{
			uint64		nbits = Min(inputs[i].ndocs - byte * 8, 8);

			if (byte % POLL_BYTES == 0)
				snii_storage_poll();
			if (inputs[i].marks[byte] == now[byte] && nbits == 8)
			{
				ordinal += 8 - pg_popcount32(now[byte]);
				continue;
			}
			for (uint64 bit = 0; bit < nbits; bit++)
			{
				uint8		mask = (uint8) (1 << bit);

				if (inputs[i].marks[byte] & mask)
					continue;
				if (now[byte] & mask)
					add_ordinal(late, ordinal);
				ordinal++;
			}
		}
		pfree(now);
	}
}

static const SniiTimingNames merge_names = {"merge", "merged", "published"};

/*
 * The merge that this process is about: its newest input, 0 if there is none
 * (one within it begins behind that), and what it is to copy.
 */
static uint64 outer_first_id = 0;
static uint64 outer_last_id = 0;
static uint64 outer_live = 0;

/* Documents of n entries that are alive. */
static uint64
live_docs(const SniiDirEntry *entries, int n)
{
	uint64		live = 0;

	for (int i = 0; i < n; i++)
		live += entries[i].ndocs - Min(entries[i].ndead, entries[i].ndocs);
	return live;
}

/*
 * Merge the given segments, neighbours in the directory.  The caller holds
 * the lock of the slot and a memory context that it will drop.
 */
static void
merge_segments(Relation index, int slot, const SniiDirEntry *entries, int n)
{
	const SniiKind *kind = snii_lsm_kind(index);
	SniiMergeInput *inputs = palloc0(n * sizeof(SniiMergeInput));
	uint64	   *remove = palloc(n * sizeof(uint64));
	SniiObjectRef ref = {0};
	Ordinals	late = {0};
	uint64		live = 0;
	uint64		ndocs = 0;
	uint64		counts[SNII_COUNTERS] = {0};
	SniiTiming	timing;

	snii_lsm_timing_begin(&timing);
	for (int i = 0; i < n; i++)
	{
		uint8	   *marks;

		inputs[i].object = snii_lsm_open_segment(index, &entries[i]);
		marks = MemoryContextAllocHuge(CurrentMemoryContext,
									   (entries[i].ndocs + 7) / 8 + 1);
		inputs[i].ndocs = entries[i].ndocs;
		snii_storage_marks_load(inputs[i].object, inputs[i].ndocs, marks);
		inputs[i].marks = marks;
		inputs[i].ndead = count_bits(marks, inputs[i].ndocs);
		live += inputs[i].ndocs - inputs[i].ndead;
		remove[i] = entries[i].id;
	}
	if (live > 0)
	{
		SniiObjectWriter *w = snii_storage_writer_begin(index, slot);

		ndocs = kind->merge(index, w, inputs, n);
		if (ndocs != live)
			elog(ERROR, "merge in index \"%s\" wrote %llu of %llu documents",
				 RelationGetRelationName(index), (unsigned long long) ndocs,
				 (unsigned long long) live);
		snii_storage_append_marks(w, ndocs, NULL);
		snii_storage_writer_finish(w, &ref);
	}
	SNII_TEST_POINT("merge_written");
	snii_lsm_lock_page(index, SNII_LOCK_MARKS, ExclusiveLock);
	snii_lsm_timing_last(&timing);
	if (ndocs > 0 && kind->find_marked != NULL)
		find_late_in_order(index, kind, inputs, n, &ref, ndocs, &late);
	else if (ndocs > 0)
		find_late_marks(inputs, n, &late);
	counts[SNII_COUNTER_MERGES] = 1;
	counts[SNII_COUNTER_BYTES_MERGED] = (uint64) ref.npages * BLCKSZ;
	publish(index, slot, &ref, ndocs, &late, remove, n, counts);
	UnlockPage(index, SNII_LOCK_MARKS, ExclusiveLock);
	snii_lsm_timing_end(&timing, index, &merge_names, n, ndocs,
						counts[SNII_COUNTER_BYTES_MERGED]);
}

/* The segments of a view. */
static int
segments_of(const SniiView *view, SniiDirEntry *entries)
{
	int			n = 0;

	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_SEGMENT)
			entries[n++] = view->entries[i];
	return n;
}

int
snii_lsm_measure(Relation index, const SniiDirEntry *entries, int n,
				 SniiPolicySegment *segments)
{
	const SniiKind *kind = snii_lsm_kind(index);
	int			nsegments = snii_lsm_policy_segments(entries, n, segments);

	if (kind->ranges != NULL && nsegments > 1)
	{
		SniiDirEntry *only = palloc(n * sizeof(SniiDirEntry));
		int			k = 0;

		for (int i = 0; i < n; i++)
			if (entries[i].kind == SNII_ENTRY_SEGMENT)
				only[k++] = entries[i];
		kind->ranges(index, only, nsegments, segments);
		pfree(only);
	}
	return nsegments;
}

/*
 * What to merge of the segments entries[0 .. n - 1].
 */
static SniiPolicyMerge
choose(Relation index, const SniiDirEntry *entries, int n, uint64 max_bytes,
	   bool all)
{
	SniiPolicyMerge what = {0, 0};

	if (!all)
	{
		SniiPolicySegment *segments = palloc((n + 1) *
											 sizeof(SniiPolicySegment));

		snii_lsm_measure(index, entries, n, segments);
		return snii_lsm_policy_merge(snii_lsm_policy(index), segments, n,
									 max_bytes);
	}
	/* A single segment without dead documents is merged already. */
	if (n > 1 || (n == 1 && entries[0].ndead > 0))
		for (uint64 docs = 0; what.n < n; what.n++)
		{
			docs += entries[what.n].ndocs;
			if (docs > SNII_POLICY_MAX_DOCS && what.n > 0)
				break;
		}
	return what;
}

/*
 * One merge: the policy's, or of everything.  Returns the number of inputs.
 * The caller holds the lock of SLOT_MERGE, whatever the slot is.
 */
static int
merge_once(Relation index, int slot, uint64 max_bytes, bool all)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii merge",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiView   *view = snii_lsm_view(index, true);
	SniiDirEntry *entries = palloc((view->nentries + 1) *
								   sizeof(SniiDirEntry));
	int			n = segments_of(view, entries);
	int			first = 0;
	SniiPolicyMerge what;

	if (slot == SNII_SLOT_NESTED)
	{
		while (first < n && entries[first].id != outer_last_id)
			first++;
		first = Min(first + 1, n);
	}
	what = choose(index, entries + first, n - first, max_bytes, all);
	if (what.n > 0)
	{
		first += what.first;
		if (slot == SNII_SLOT_MERGE)
		{
			outer_first_id = entries[first].id;
			outer_last_id = entries[first + what.n - 1].id;
			outer_live = live_docs(entries + first, what.n);
		}
		merge_segments(index, slot, entries + first, what.n);
		if (slot == SNII_SLOT_MERGE)
			outer_last_id = 0;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return what.n;
}

/* Give back what an abort left in a slot, if nobody is using it. */
static void
give_back(Relation index, int slot)
{
	if (snii_storage_slot_acquire(index, slot, false))
		snii_storage_slot_release(index, slot);
}

/*
 * Take the lock that lets one merge, and give back what an aborted merge
 * within another one left, or VACUUM.
 */
static bool
acquire_merge(Relation index, bool wait)
{
	if (!snii_storage_slot_acquire(index, SNII_SLOT_MERGE, wait))
		return false;
	outer_last_id = 0;
	give_back(index, SNII_SLOT_NESTED);
	give_back(index, SNII_SLOT_SIDE);
	return true;
}

int
snii_lsm_merge(Relation index, uint64 max_bytes, bool wait)
{
	int			merges = 0;

	if (!acquire_merge(index, wait))
		return 0;
	while (merge_once(index, SNII_SLOT_MERGE, max_bytes, false) > 0)
	{
		merges++;
		CHECK_FOR_INTERRUPTS();
	}
	snii_storage_slot_release(index, SNII_SLOT_MERGE);
	return merges;
}

bool
snii_lsm_merge_one(Relation index, uint64 max_bytes, bool wait)
{
	int			n;

	if (!acquire_merge(index, wait))
		return false;
	n = merge_once(index, SNII_SLOT_MERGE, max_bytes, false);
	snii_storage_slot_release(index, SNII_SLOT_MERGE);
	return n > 0;
}

bool
snii_lsm_merge_nested(Relation index, uint64 max_bytes)
{
	int			n;

	if (outer_last_id == 0 ||
		!snii_storage_slot_acquire(index, SNII_SLOT_NESTED, false))
		return false;
	n = merge_once(index, SNII_SLOT_NESTED, max_bytes, false);
	snii_storage_slot_release(index, SNII_SLOT_NESTED);
	return n > 0;
}

bool
snii_lsm_merge_is_vain(Relation index)
{
	SniiView   *view;
	SniiDirEntry *entries;
	int			first = 0;
	int			n;
	bool		vain;

	if (outer_last_id == 0)
		return false;
	view = snii_lsm_view(index, true);
	entries = palloc((view->nentries + 1) * sizeof(SniiDirEntry));
	n = segments_of(view, entries);
	while (first < n && entries[first].id != outer_first_id)
		first++;
	while (n > first && entries[n - 1].id != outer_last_id)
		n--;
	vain = live_docs(entries + first, n - first) < outer_live / 2;
	pfree(entries);
	pfree(view);
	return vain;
}

int
snii_lsm_merge_all(Relation index)
{
	int			n;

	(void) acquire_merge(index, true);
	n = merge_once(index, SNII_SLOT_MERGE, 0, true);
	snii_storage_slot_release(index, SNII_SLOT_MERGE);
	return n;
}

uint64
snii_lsm_recycle(Relation index, Relation heap)
{
	SniiTiming	timing;
	uint64		freed;

	snii_lsm_timing_begin(&timing);
	freed = snii_storage_recycle(index, heap);
	snii_lsm_timing_end_recycle(&timing, index, freed);
	return freed;
}

/* ----------------------------------------------------------------
 *		Help by inserters
 * ----------------------------------------------------------------
 */

void
snii_lsm_load(Relation index, SniiPolicyLoad *load)
{
	const SniiKind *kind = snii_lsm_kind(index);
	SniiView   *view;
	SniiPolicySegment *segments;

	/* Segments are looked into, if their ranges count. */
	if (kind->ranges != NULL)
		LockPage(index, SNII_LOCK_RECYCLE, ShareLock);
	view = snii_lsm_view(index, true);
	segments = palloc((view->nentries + 1) * sizeof(SniiPolicySegment));
	memset(load, 0, sizeof(*load));
	load->ordered = kind->order != NULL;
	load->nentries = view->nentries;
	load->nsegments = snii_lsm_measure(index, view->entries, view->nentries,
									   segments);
	if (kind->ranges != NULL)
		UnlockPage(index, SNII_LOCK_RECYCLE, ShareLock);
	for (int i = 0; i < load->nsegments; i++)
	{
		load->segment_bytes += segments[i].nbytes;
		load->live_bytes += snii_lsm_policy_live(&segments[i]);
	}
	load->depth = snii_lsm_policy_depth(segments, load->nsegments);
	(void) snii_lsm_policy_debt(snii_lsm_policy(index), segments,
								load->nsegments, &load->nsettled);
	for (int i = 0; i < view->nentries; i++)
		if (view->entries[i].kind == SNII_ENTRY_STRETCH &&
			(view->entries[i].flags & SNII_ENTRY_SEALED) != 0)
			load->sealed_bytes += view->entries[i].nbytes;
	pfree(segments);
	pfree(view);
}

void
snii_lsm_help(Relation index, Relation heap, bool merge)
{
	if (flush_some(index, false, false, HELP_STRETCHES) > 0)
	{
		snii_storage_count(index, SNII_COUNTER_HELPS, 1);
		if (merge)
			snii_lsm_merge_one(index, HELP_MERGE_BYTES, false);
		snii_lsm_recycle(index, heap);
	}
}

static const SniiTimingNames room_names = {
	"making of room", "worked", NULL
};

void
snii_lsm_make_room(Relation index, Relation heap)
{
	SniiTiming	timing;

	snii_lsm_timing_begin(&timing);
	snii_lsm_flush(index, true, true);
	snii_lsm_merge(index, PG_UINT64_MAX, true);
	snii_lsm_recycle(index, heap);
	snii_lsm_timing_end(&timing, index, &room_names, 0, 0, 0);
}
