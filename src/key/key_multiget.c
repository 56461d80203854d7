/*-------------------------------------------------------------------------
 *
 * key_multiget.c
 *	  Look-ups of many whole keys at a time.
 *
 * A batch of keys in order is looked up in steps, each for all keys and all
 * runs before the next one begins:
 *
 * - filters: which keys a run may have; their pages are asked for first;
 * - fences: the data page of each such key, a descent over pinned pages;
 * - the leaves of the write buffer that the keys are in;
 * - data pages: all are asked for, then read, one pass over each run.
 *
 * So the reads of a batch that is not in shared buffers overlap.  Where pages
 * are in shared buffers already, asking costs more than it is worth: every
 * 16th page is asked for, until one of them has to be read.
 *
 * A filter that lets nearly every key through, as that of the largest run
 * does if the keys are there, saves nothing: from then on it is read for one
 * key in 16, to see whether that is still so.
 *
 * What is found is bounded.  If a key has many entries the batch ends before
 * it, and the caller looks at it by a scan (key_scan.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_multiget.h"
#include "key/key_record.h"
#include "key/key_run.h"
#include "lsm/lsm_lookups.h"
#include "lsm/lsm_timing.h"
#include "storage/storage_ordered.h"

#include "executor/instrument.h"
#include "miscadmin.h"

/* Entries that a batch may have for each key, on average, and more. */
#define FOUND_PER_KEY	8
#define FOUND_MORE		64

/* Bytes of entries that it may have. */
#define FOUND_BYTES		(256 * 1024)

/* Where things are as they were, one page or key of so many is looked at. */
#define SAMPLE			16

/* Probes of a filter after which it can be told whether it is of use. */
#define FILTER_PROBES	32
#define FILTER_PERIOD	256

typedef struct Key
{
	uint32		at;				/* in bytes */
	uint32		len;
	uint64		hash;
} Key;

/* A key that a run may have, and where. */
typedef struct Candidate
{
	uint32		page;
	uint16		key;
	uint8		source;			/* of SNII_DIR_CAPACITY at most */
	bool		passed;			/* the filter */
} Candidate;

/* An entry, by key and TID in the order of the direction. */
typedef struct Found
{
	uint64		order;
	uint32		at;				/* of its string in entries */
	uint32		len;
	uint32		payload_len;
} Found;

/* An entry of the view. */
typedef struct Source
{
	const SniiKeyRun *run;		/* of a segment, when it was needed */
	/* What its filter was asked, and said yes to, of late. */
	uint32		probes;
	uint32		passed;
} Source;

/* For the log of what was slow: all batches together. */
typedef struct SniiKeyTimes
{
	uint64		nkeys;
	uint64		nfound;
	uint64		blocks;
	uint64		misses;
	int			nbatches;
	double		total;			/* ms */
	double		waited;
	double		read;
	double		filter;			/* without reading pages */
} SniiKeyTimes;

struct SniiKeyMultiget
{
	Relation	index;
	const SniiKeyDesc *desc;
	const SniiView *view;
	MemoryContext context;
	bool		want_entries;
	bool		may_prefetch;
	bool		cold;			/* pages had to be read */
	ScanDirection dir;
	Source	   *sources;		/* as in the view */
	SniiLeafCopy *leaf;
	SniiOrder	order;

	/* The batch. */
	SniiKeyBytes bytes;
	int			nkeys;
	int			answered;		/* keys that count */
	bool		hashed;
	Key		   *keys;			/* SNII_KEY_BATCH at most */
	int			capacity;
	int			ncandidates;
	int			candidate_room;
	Candidate  *candidates;
	int			nfound;
	int			found_room;
	Found	   *found;
	SniiKeyBytes entries;

	SniiLookupCounts counts;	/* of the batch */
	SniiKeyTimes times;			/* of all batches */

	SniiKeyCursor cursor;		/* last: it is large */
};

SniiKeyMultiget *
snii_key_multiget_begin(Relation index, const SniiKeyDesc *desc,
						const SniiView *view, bool entries)
{
	SniiKeyMultiget *m = palloc(sizeof(SniiKeyMultiget));

	memset(m, 0, offsetof(SniiKeyMultiget, cursor));
	m->index = index;
	m->desc = desc;
	m->view = view;
	m->context = CurrentMemoryContext;
	m->want_entries = entries;
	m->may_prefetch = snii_compat_may_prefetch(index);
	m->cold = true;
	m->sources = palloc0((view->nentries + 1) * sizeof(Source));
	m->capacity = m->candidate_room = m->found_room = 8;
	m->keys = palloc(m->capacity * sizeof(Key));
	m->candidates = palloc(m->candidate_room * sizeof(Candidate));
	m->found = palloc(m->found_room * sizeof(Found));
	snii_key_bytes_reserve(&m->bytes, 1);
	if (entries)
		snii_key_bytes_reserve(&m->entries, 1);
	snii_key_record_order(desc, &m->order);
	return m;
}

void
snii_key_multiget_reset(SniiKeyMultiget *m, ScanDirection dir)
{
	m->dir = dir;
	m->nkeys = m->nfound = m->answered = 0;
	m->bytes.len = m->entries.len = 0;
	m->hashed = false;
}

SniiKeyBytes *
snii_key_multiget_bytes(SniiKeyMultiget *m)
{
	return &m->bytes;
}

void
snii_key_multiget_add(SniiKeyMultiget *m)
{
	Key		   *key;

	Assert(m->nkeys < SNII_KEY_BATCH);
	if (m->nkeys == m->capacity)
	{
		m->capacity *= 2;
		m->keys = repalloc(m->keys, m->capacity * sizeof(Key));
	}
	key = &m->keys[m->nkeys];
	key->at = m->nkeys > 0 ? key[-1].at + key[-1].len : 0;
	key->len = m->bytes.len - key->at;
	m->nkeys++;
}

int
snii_key_multiget_count(const SniiKeyMultiget *m)
{
	return m->nfound;
}

bool
snii_key_multiget_cold(const SniiKeyMultiget *m)
{
	return m->cold;
}

static inline SniiKeyPos
key_pos(const SniiKeyMultiget *m, int i, bool after)
{
	SniiKeyPos	pos = {m->bytes.data + m->keys[i].at, m->keys[i].len, after};

	return pos;
}

/* ----------------------------------------------------------------
 *		What is found
 * ----------------------------------------------------------------
 */

#define TID_BITS	48
#define TID_MASK	((UINT64CONST(1) << TID_BITS) - 1)

static inline int
key_of(const Found *found)
{
	return (int) (found->order >> TID_BITS);
}

void
snii_key_multiget_found(const SniiKeyMultiget *m, int i, SniiKeyFound *found)
{
	const Found *f = &m->found[i];
	uint64		tid = f->order & TID_MASK;

	if (!ScanDirectionIsForward(m->dir))
		tid ^= TID_MASK;
	found->key = key_of(f);
	ItemPointerSet(&found->tid, (BlockNumber) (tid >> 16),
				   (OffsetNumber) (tid & 0xFFFF));
	memset(&found->entry, 0, sizeof(found->entry));
	if (!m->want_entries)
		return;
	found->entry.str = m->entries.data + f->at;
	found->entry.len = f->len;
	found->entry.payload = found->entry.str + f->len;
	found->entry.payload_len = f->payload_len;
}

void
snii_key_multiget_string(const SniiKeyMultiget *m, int key,
						 const ItemPointerData *tid, SniiKeyBytes *out)
{
	snii_key_bytes_add(out, m->bytes.data + m->keys[key].at,
					   m->keys[key].len);
	snii_key_put_tid(out, tid);
}

/* The batch ends before a key. */
static void
cut(SniiKeyMultiget *m, int key)
{
	int			n = 0;

	m->answered = key;
	for (int i = 0; i < m->nfound; i++)
		if (key_of(&m->found[i]) < key)
			m->found[n++] = m->found[i];
	m->nfound = n;
}

/*
 * Note an entry of a key, whose string ends with this TID; false if there is
 * no room, and the key does not count any more.
 */
static bool
note(SniiKeyMultiget *m, int key, const ItemPointerData *tid,
	 const SniiKeyEntry *entry)
{
	Found	   *found;
	uint64		tid_bits =
	(uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
	ItemPointerGetOffsetNumberNoCheck(tid);

	if (m->nfound >= FOUND_MORE + FOUND_PER_KEY * m->nkeys ||
		m->entries.len > FOUND_BYTES)
	{
		cut(m, key);
		return false;
	}
	if (m->nfound == m->found_room)
	{
		m->found_room *= 2;
		m->found = repalloc(m->found, m->found_room * sizeof(Found));
	}
	found = &m->found[m->nfound++];
	found->order = (uint64) key << TID_BITS |
		(ScanDirectionIsForward(m->dir) ? tid_bits : tid_bits ^ TID_MASK);
	if (!m->want_entries)
		return true;
	found->at = m->entries.len;
	found->len = entry->len + SNII_KEY_TID_BYTES;
	found->payload_len = entry->payload_len;
	snii_key_bytes_add(&m->entries, entry->str, entry->len);
	snii_key_put_tid(&m->entries, tid);
	snii_key_bytes_add(&m->entries, entry->payload, entry->payload_len);
	return true;
}

#define ST_SORT sort_found
#define ST_ELEMENT_TYPE Found
#define ST_COMPARE(a, b) \
	((a)->order < (b)->order ? -1 : (a)->order > (b)->order ? 1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* ----------------------------------------------------------------
 *		Asking for pages
 * ----------------------------------------------------------------
 */

/*
 * Should page number n of those that a step reads be asked for?  The first
 * batch has to find out.
 */
static inline bool
ask_for(const SniiKeyMultiget *m, int n)
{
	return m->may_prefetch && m->nkeys > 1 && (m->cold || n % SAMPLE == 0);
}

/* Ask for the data pages of all candidates. */
static void
ask_for_data(SniiKeyMultiget *m)
{
	bool		was_cold = m->cold;

	for (int round = 0; round < 2; round++)
	{
		const Candidate *before = NULL;

		for (int i = 0; i < m->ncandidates; i++)
		{
			const Candidate *c = &m->candidates[i];
			bool		same = before != NULL && before->page == c->page &&
			before->source == c->source;

			before = c;
			if (same || !ask_for(m, i))
				continue;
			m->cold |= snii_storage_prefetch_page(snii_key_run_object(m->sources[c->source].run),
												  SNII_KEY_STREAM_DATA,
												  c->page);
		}
		/* Again if this is where it was found out. */
		if (m->cold == was_cold)
			break;
	}
}

/* ----------------------------------------------------------------
 *		Filters and fences
 * ----------------------------------------------------------------
 */

/* Does a filter say yes to nearly all keys? */
static inline bool
is_useless(const Source *source)
{
	return source->probes >= FILTER_PROBES &&
		source->passed >= source->probes - source->probes / 8;
}

static inline bool
is_probed(const Source *source, int key)
{
	return !is_useless(source) || key % SAMPLE == 0;
}

/* Is a key between the first and the last one of a run? */
static inline bool
in_range(const SniiKeyMultiget *m, const SniiKeyEntry *first,
		 const SniiKeyEntry *last, int key)
{
	SniiKeyPos	before = key_pos(m, key, false);
	SniiKeyPos	after = key_pos(m, key, true);

	return snii_key_compare_pos(m->desc, last->str, last->len, &before) > 0 &&
		snii_key_compare_pos(m->desc, first->str, first->len, &after) < 0;
}

static void
hash_keys(SniiKeyMultiget *m)
{
	if (m->hashed)
		return;
	for (int i = 0; i < m->nkeys; i++)
		m->keys[i].hash = snii_key_hash(m->desc,
										m->bytes.data + m->keys[i].at,
										m->keys[i].len);
	m->hashed = true;
}

/* Keys in the range of a run, from *first on; returns how many. */
static int
keys_in_range(SniiKeyMultiget *m, const SniiKeyRun *run, int *first)
{
	SniiKeyEntry least;
	SniiKeyEntry greatest;
	int			end = m->nkeys;

	*first = 0;
	snii_key_run_range(run, &least, &greatest);
	while (*first < end && !in_range(m, &least, &greatest, *first))
		(*first)++;
	while (*first < end && !in_range(m, &least, &greatest, end - 1))
		end--;
	return end - *first;
}

static void
ask_for_filter(SniiKeyMultiget *m, const Source *source, int first, int n)
{
	for (int i = first; i < first + n; i++)
	{
		const Key  *key = &m->keys[i];

		if (is_probed(source, i) && ask_for(m, i))
			m->cold |=
				snii_storage_prefetch_page(snii_key_run_object(source->run),
										   SNII_KEY_STREAM_FILTER,
										   snii_key_run_filter_page(m->desc, source->run,
																	m->bytes.data + key->at,
																	key->len, key->hash));
	}
}

static inline void
add_candidate(SniiKeyMultiget *m, int source, int key, uint32 page,
			  bool passed)
{
	Candidate  *c;

	if (m->ncandidates == m->candidate_room)
	{
		m->candidate_room *= 2;
		m->candidates = repalloc(m->candidates,
								 m->candidate_room * sizeof(Candidate));
	}
	c = &m->candidates[m->ncandidates++];
	c->page = page;
	c->key = (uint16) key;
	c->source = (uint8) source;
	c->passed = passed;
}

/* Find the keys that a run may have, and the data page of each. */
static void
choose_of_run(SniiKeyMultiget *m, int i, int first, int n)
{
	Source	   *source = &m->sources[i];
	bool		useless = is_useless(source);
	Buffer		buf = InvalidBuffer;
	uint32		page = 0;
	SniiKeyDescent descent;
	uint64	   *counts = m->counts.counts;

	counts[SNII_LOOKUP_RUNS] += n;
	snii_key_descent_begin(&descent, m->desc, source->run);
	for (int k = first; k < first + n; k++)
	{
		const Key  *key = &m->keys[k];
		SniiKeyPos	pos = key_pos(m, k, false);
		bool		pass = false;

		CHECK_FOR_INTERRUPTS();
		if (!useless || k % SAMPLE == 0)
		{
			pass = snii_key_run_probe(m->desc, source->run, pos.bytes,
									  pos.len, key->hash, &buf, &page);
			source->probes++;
			source->passed += pass;
			counts[SNII_LOOKUP_PROBES]++;
			if (!pass)
			{
				counts[SNII_LOOKUP_NEGATIVES]++;
				continue;
			}
		}
		add_candidate(m, i, k, snii_key_descent_page(&descent, &pos), pass);
	}
	snii_key_descent_end(&descent);
	if (BufferIsValid(buf))
		ReleaseBuffer(buf);
	if (source->probes >= FILTER_PERIOD)
	{
		source->probes /= 2;
		source->passed /= 2;
	}
}

static void
open_run(SniiKeyMultiget *m, int i)
{
	MemoryContext old = MemoryContextSwitchTo(m->context);

	m->sources[i].run = snii_key_run_open(m->index, m->desc,
										  &m->view->entries[i]);
	MemoryContextSwitchTo(old);
}

/* The same for all runs: filter pages are asked for before one is read. */
static void
choose(SniiKeyMultiget *m)
{
	m->ncandidates = 0;
	for (int step = 0; step < 2; step++)
		for (int i = 0; i < m->view->nentries; i++)
		{
			Source	   *source = &m->sources[i];
			int			first;
			int			n;

			if (m->view->entries[i].kind != SNII_ENTRY_SEGMENT ||
				(step == 0 && m->nkeys == 1))
				continue;
			if (source->run == NULL)
				open_run(m, i);
			n = keys_in_range(m, source->run, &first);
			if (n == 0)
				continue;
			hash_keys(m);
			if (step == 0)
				ask_for_filter(m, source, first, n);
			else
				choose_of_run(m, i, first, n);
		}
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

/* Has an entry that is behind the beginning of the key this key? */
static inline bool
has_key(const SniiKeyMultiget *m, const SniiKeyEntry *entry, int key)
{
	SniiKeyPos	after = key_pos(m, key, true);

	if (m->desc->all_bytes)
		return entry->len >= after.len &&
			memcmp(entry->str, after.bytes, after.len) == 0;
	return snii_key_compare_pos(m->desc, entry->str, entry->len, &after) < 0;
}

/* Note the entries of a key, which begin on a page or behind it. */
static void
read_candidate(SniiKeyMultiget *m, const Candidate *candidate)
{
	const SniiDirEntry *dir = &m->view->entries[candidate->source];
	SniiKeyCursor *c = &m->cursor;
	SniiKeyPos	pos = key_pos(m, candidate->key, false);

	if (!snii_key_cursor_seek_from(c, candidate->page, &pos) ||
		!has_key(m, &c->entry, candidate->key))
	{
		m->counts.counts[SNII_LOOKUP_FALSE_POSITIVES] += candidate->passed;
		return;
	}
	while (has_key(m, &c->entry, candidate->key))
	{
		if (dir->ndead == 0 ||
			!snii_storage_marks_test(snii_key_run_object(c->run),
									 c->ordinal))
		{
			ItemPointerData tid;
			SniiKeyEntry entry = c->entry;

			snii_key_get_tid(&entry, &tid);
			entry.len -= SNII_KEY_TID_BYTES;
			if (!note(m, candidate->key, &tid, &entry))
				return;
		}
		CHECK_FOR_INTERRUPTS();
		if (!snii_key_cursor_next(c))
			return;
	}
}

static void
read_candidates(SniiKeyMultiget *m)
{
	SniiKeyCursor *c = &m->cursor;

	for (int i = 0; i < m->ncandidates; i++)
	{
		const Candidate *candidate = &m->candidates[i];

		if (i == 0 || candidate->source != candidate[-1].source)
		{
			if (i > 0)
				snii_key_cursor_close(c);
			snii_key_cursor_init(c, m->desc,
								 m->sources[candidate->source].run);
		}
		CHECK_FOR_INTERRUPTS();
		if (candidate->key < m->answered)
			read_candidate(m, candidate);
	}
	if (m->ncandidates > 0)
		snii_key_cursor_close(c);
}

/* ----------------------------------------------------------------
 *		The write buffer
 * ----------------------------------------------------------------
 */

/* Key number i in ascending order. */
static inline int
ascending(const SniiKeyMultiget *m, int i)
{
	return ScanDirectionIsForward(m->dir) ? i : m->nkeys - 1 - i;
}

/* Order of the key of a record and key number i in ascending order. */
static inline int
compare_record(const SniiKeyMultiget *m, const SniiKeyEntry *record, int i)
{
	SniiKeyPos	pos = key_pos(m, ascending(m, i), false);

	if (m->desc->all_bytes)
	{
		int			cmp = memcmp(record->str, pos.bytes,
								 Min(record->len, pos.len));

		return cmp != 0 ? cmp : (int) record->len - (int) pos.len;
	}
	if (snii_key_compare_pos(m->desc, record->str, record->len, &pos) < 0)
		return -1;
	pos.after = true;
	return snii_key_compare_pos(m->desc, record->str, record->len,
								&pos) < 0 ? 0 : 1;
}

/*
 * Next record of the leaf at hand that may have the one key (number in
 * ascending order), or, if that is -1, next one at all.
 */
static inline bool
next_record(const SniiKeyMultiget *m, int only, uint32 *at,
			SniiRecord *record, bool *dead)
{
	SniiKeyPos	pos;

	if (only < 0 || !m->desc->all_bytes)
		return snii_storage_ordered_next(m->index, m->leaf, at, record, dead);
	pos = key_pos(m, ascending(m, only), false);
	return snii_storage_ordered_find(m->index, m->leaf, at, pos.bytes,
									 pos.len, snii_key_record_skip(m->desc),
									 record, dead);
}

/*
 * Note the records of the leaf at hand that have one of the keys from first
 * to last, which are numbers in ascending order.
 */
static void
read_leaf(SniiKeyMultiget *m, int first, int last)
{
	SniiRecord	record;
	uint32		at = 0;
	bool		dead;

	while (next_record(m, first == last ? first : -1, &at, &record, &dead))
	{
		SniiKeyEntry entry;
		int			low = first;
		int			high = last;
		int			cmp = 1;

		if (dead)
			continue;
		snii_key_record_parse(m->desc, &record, &entry);
		while (low <= high)
		{
			int			middle = (low + high) / 2;

			cmp = compare_record(m, &entry, middle);
			if (cmp == 0)
			{
				low = middle;
				break;
			}
			if (cmp < 0)
				high = middle - 1;
			else
				low = middle + 1;
		}
		if (cmp == 0 && ascending(m, low) < m->answered)
			(void) note(m, ascending(m, low), &record.tid, &entry);
	}
}

/*
 * Look for all keys in a stretch: one copy of each leaf that they are in.  A
 * key whose entries reach beyond a leaf is looked for in the next one, too.
 */
static void
read_stretch(SniiKeyMultiget *m, const SniiDirEntry *stretch)
{
	uint8		border[SNII_ORDERED_MAX_BODY];
	SniiKeyPos	from;
	int			i = 0;

	if (m->leaf == NULL)
		m->leaf = MemoryContextAlloc(m->context, sizeof(SniiLeafCopy));
	from = key_pos(m, ascending(m, 0), false);
	while (i < m->nkeys)
	{
		SniiKeyPos	last;
		int			end = i + 1;

		CHECK_FOR_INTERRUPTS();
		snii_storage_ordered_leaf(m->index, stretch, &m->order, &from,
								  m->leaf);
		for (; end < m->nkeys; end++)
		{
			SniiKeyPos	pos = key_pos(m, ascending(m, end), false);

			if (!m->leaf->last &&
				m->order.compare_target(m->order.arg, &pos, m->leaf->upper,
										m->leaf->upper_len) >= 0)
				break;
		}
		if (m->leaf->nbytes > 0)
			read_leaf(m, i, end - 1);
		last = key_pos(m, ascending(m, end - 1), true);
		if (!m->leaf->last &&
			snii_key_compare_pos(m->desc, m->leaf->upper, m->leaf->upper_len,
								 &last) < 0)
		{
			memcpy(border, m->leaf->upper, m->leaf->upper_len);
			from.bytes = border;
			from.len = m->leaf->upper_len;
			from.after = false;
			i = end - 1;
			continue;
		}
		i = end;
		if (i < m->nkeys)
			from = key_pos(m, ascending(m, i), false);
	}
}

/* Ask for the leaves of a stretch that the keys are in. */
static void
ask_for_leaves(SniiKeyMultiget *m, const SniiDirEntry *stretch)
{
	SniiKeyPos *pos;
	const void **targets;

	if (!m->may_prefetch || !m->cold || m->nkeys == 1)
		return;
	pos = palloc(m->nkeys * sizeof(SniiKeyPos));
	targets = palloc(m->nkeys * sizeof(void *));
	for (int i = 0; i < m->nkeys; i++)
	{
		pos[i] = key_pos(m, ascending(m, i), false);
		targets[i] = &pos[i];
	}
	snii_storage_ordered_prefetch(m->index, stretch, &m->order, targets,
								  m->nkeys);
	pfree(targets);
	pfree(pos);
}

/* ----------------------------------------------------------------
 *		All of it
 * ----------------------------------------------------------------
 */

/* Pages of all kinds that this process found in buffers, or read. */
static inline uint64
blocks_hit(void)
{
	return pgBufferUsage.shared_blks_hit + pgBufferUsage.local_blks_hit;
}

static inline uint64
blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

static double
time_of(SniiTime what)
{
	return INSTR_TIME_GET_MILLISEC(snii_storage_times[what]);
}

/* The steps of a look-up; returns the time of the first, if it is measured. */
static double
look_up(SniiKeyMultiget *m, const SniiTiming *timing)
{
	double		filter;

	choose(m);
	filter = snii_lsm_timing_so_far(timing);
	ask_for_data(m);
	for (int i = 0; i < m->view->nentries; i++)
		if (m->view->entries[i].kind == SNII_ENTRY_STRETCH)
			ask_for_leaves(m, &m->view->entries[i]);
	for (int i = 0; i < m->view->nentries; i++)
		if (m->view->entries[i].kind == SNII_ENTRY_STRETCH)
			read_stretch(m, &m->view->entries[i]);
	read_candidates(m);
	if (m->nfound > 1)
		sort_found(m->found, m->nfound);
	return filter;
}

int
snii_key_multiget_run(SniiKeyMultiget *m)
{
	uint64		hit = blocks_hit();
	uint64		read = blocks_read();
	SniiKeyTimes *t = &m->times;
	SniiTiming	timing;
	double		filter;

	m->answered = m->nkeys;
	memset(&m->counts, 0, sizeof(m->counts));
	/* Of pages that are there, reading takes no time, and clocks would. */
	if (m->nkeys > 1)
		snii_lsm_timing_begin(&timing);
	else
		timing.on = false;
	if (timing.on)
		snii_storage_timing = m->cold;
	filter = look_up(m, &timing);
	if (timing.on)
	{
		t->waited += time_of(SNII_TIME_WAITED);
		t->read += time_of(SNII_TIME_READ);
		t->filter += filter;
	}
	if (m->nkeys > 1)
		t->total += snii_lsm_timing_stop(&timing);
	read = blocks_read() - read;
	m->cold = read > 0;
	t->nkeys += m->answered;
	t->nfound += m->nfound;
	t->blocks += blocks_hit() - hit + read;
	t->misses += read;
	t->nbatches++;
	m->counts.counts[SNII_LOOKUPS] = m->nkeys;
	m->counts.counts[SNII_LOOKUP_BLOCKS] = blocks_hit() - hit + read;
	m->counts.counts[SNII_LOOKUP_MISSES] = read;
	snii_lsm_lookups_add(m->index, &m->counts);
	return m->answered;
}

void
snii_key_multiget_end(SniiKeyMultiget *m)
{
	const SniiKeyTimes *t = &m->times;

	if (!snii_lsm_timing_is_slow(t->total) || t->nkeys < 2)
		return;
	ereport(LOG,
			(errmsg("snii multi-get of index \"%s\" took %.3f ms: %llu keys, %d batches, %llu entries, %llu pages, %llu misses; waited %.3f, read %.3f, filtered %.3f, searched %.3f ms",
					RelationGetRelationName(m->index), t->total,
					(unsigned long long) t->nkeys, t->nbatches,
					(unsigned long long) t->nfound,
					(unsigned long long) t->blocks,
					(unsigned long long) t->misses, t->waited, t->read,
					t->filter,
					Max(t->total - t->waited - t->read - t->filter, 0)),
			 errhidestmt(true), errhidecontext(true)));
}
