/*-------------------------------------------------------------------------
 *
 * inv_cache.c
 *	  What a backend keeps of the write buffers that it searches.
 *
 * For each index that the backend scans there is an entry for each stretch
 * of the last view, and most entries have an index of the stretch's records
 * in memory (inv_stretch.c).
 *
 * Who pays: the first scan that meets a stretch leaves only a note of it and
 * is to match it record by record.  Later scans index what they meet again,
 * each at most SCAN_BYTES of records, until all is indexed; after that they
 * add what was appended.  So no scan costs much more than one without the
 * cache does, and a backend that makes one query builds nothing.  Indexing
 * takes as long as matching some eight times.  Where stretches are flushed only
 * after more scans than that, as those seen last were, new ones are indexed
 * when they are met: they will be searched often enough.
 *
 * Memory stays below snii.buffer_cache, but for what one scan adds.  When a
 * stretch finds no room, those leave that were not used by the last IDLE
 * scans of the backend, the least recently used first.  If there is none,
 * the stretch stays out: indexes that are used in turns would else push each
 * other out and be built again and again.
 *
 * What is cached stays true as long as the index has the file: a stretch
 * never comes back under its id, records only come to its end, and whether
 * they are alive is not cached.  The file's number tells of REINDEX, TRUNCATE
 * and the like.  It does not tell when a transaction truncates an index that
 * it made itself, or a temporary one, in place: after an invalidation of such
 * an index all of its entries are dropped, and whenever a directory is older
 * than the last one.
 *
 * Nobody outside keeps a pointer into the cache longer than until the next
 * call of a function here, or the next record is read: open scans copy what
 * they found.  The invalidation callback only sets flags.  An error while a
 * stretch catches up leaves its entry marked as busy, and the next one who
 * comes across it drops it.
 *
 * Everything is in a context below TopMemoryContext.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "inverted/inv_cache.h"

#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* Bytes of records that one scan may index: about a millisecond of work. */
#define SCAN_BYTES		(256 * 1024)

/* Scans that a stretch must be expected to live for, to be indexed at once. */
#define EAGER_LIFE		8.0

/* What the last stretch that left adds to the expectation. */
#define LIFE_WEIGHT		0.2

/* Scans after which an entry that none of them used may be evicted. */
#define IDLE			16

/* Memory that is expected for a byte of records, and for none. */
#define GROWTH			3
#define SMALLEST		(96 * 1024)

/* Bytes of records of a full stretch, about. */
#define FULL_STRETCH	(SNII_STRETCH_PAGES * SNII_BUFFER_CAPACITY)

typedef struct CacheEntry
{
	uint64		id;				/* of the stretch */
	BlockNumber list_head;
	bool		busy;			/* "stretch" is being changed */
	bool		stays;			/* used by follow_view() */
	int			refused;		/* limit, in kB, that it turned out to burst */
	uint64		last_use;		/* scan */
	uint64		first;			/* scan of the index that found it */
	Size		memory;
	SniiInvStretch *stretch;	/* NULL: not indexed */
} CacheEntry;

/* What is kept for an index. */
typedef struct CacheIndex
{
	Oid			relid;			/* key */
	Oid			file;
	bool		suspect;		/* was invalidated */
	bool		in_place;		/* may have been truncated in place since */
	uint64		generation;		/* of the view that the entries are from */
	uint64		scans;			/* of it, begun so far */
	double		life;			/* of a stretch, in scans of the index */
	int			nentries;
	int			hint;			/* entry to be looked at first */
	CacheEntry *entries;		/* in the order of the view */
} CacheIndex;

int			snii_inv_cache_limit_kb = 16 * 1024;

static MemoryContext cache_context = NULL;
static HTAB *cache = NULL;
static bool registered = false; /* the callback */
static bool any_suspect = false;
static uint64 scans = 0;		/* begun so far */
static uint64 full_scan = 0;	/* scan that found nothing to evict */
static Size budget = 0;			/* of the current scan */
static Size memory = 0;			/* of all stretches */
static SniiInvCacheStats counters;

/* ----------------
 *		Entries
 * ----------------
 */

/* Forget the contents of an entry. */
static void
drop_stretch(CacheEntry *e)
{
	if (e->stretch == NULL)
		return;
	snii_inv_stretch_destroy(e->stretch);
	e->stretch = NULL;
	e->busy = false;
	memory -= e->memory;
	e->memory = 0;
}

/* Forget all stretches of an index. */
static void
drop_entries(CacheIndex *ci)
{
	for (int i = 0; i < ci->nentries; i++)
	{
		counters.dropped += ci->entries[i].stretch != NULL;
		drop_stretch(&ci->entries[i]);
	}
	ci->nentries = 0;
	ci->hint = 0;
	ci->generation = 0;
	ci->in_place = false;
}

/* Forget an index. */
static void
drop_index(CacheIndex *ci)
{
	drop_entries(ci);
	if (ci->entries != NULL)
		pfree(ci->entries);
	(void) hash_search(cache, &ci->relid, HASH_REMOVE, NULL);
}

static void
drop_everything(void)
{
	if (cache == NULL)
		return;
	cache = NULL;
	memory = 0;
	MemoryContextReset(cache_context);
}

/* Entry of a stretch, or NULL. */
static CacheEntry *
find_entry(CacheIndex *ci, uint64 id)
{
	for (int i = 0; i < ci->nentries; i++)
	{
		int			at = (ci->hint + i) % ci->nentries;

		if (ci->entries[at].id == id)
		{
			ci->hint = (at + 1) % ci->nentries;
			return &ci->entries[at];
		}
	}
	return NULL;
}

static CacheIndex *
find_index(Relation index)
{
	CacheIndex *ci;
	Oid			relid = RelationGetRelid(index);

	if (cache == NULL)
		return NULL;
	ci = hash_search(cache, &relid, HASH_FIND, NULL);
	if (ci == NULL || ci->file != SniiRelFileNumber(index))
		return NULL;
	return ci;
}

/* ----------------
 *		Eviction
 * ----------------
 */

/* The least recently used stretch, of an earlier scan than "before". */
static CacheEntry *
find_oldest(uint64 before)
{
	HASH_SEQ_STATUS status;
	CacheIndex *ci;
	CacheEntry *oldest = NULL;

	hash_seq_init(&status, cache);
	while ((ci = hash_seq_search(&status)) != NULL)
	{
		for (int i = 0; i < ci->nentries; i++)
		{
			CacheEntry *e = &ci->entries[i];

			if (e->stretch != NULL && e->last_use < before &&
				(oldest == NULL || e->last_use < oldest->last_use))
				oldest = e;
		}
	}
	return oldest;
}

/*
 * Evict until the limit is kept.  It was passed by what the last scan added,
 * or has been lowered: do not index the same again under this limit.
 */
static void
trim(void)
{
	while (memory > (Size) snii_inv_cache_limit_kb * 1024)
	{
		CacheEntry *e = find_oldest(PG_UINT64_MAX);

		if (e == NULL)
			break;
		drop_stretch(e);
		e->refused = snii_inv_cache_limit_kb;
		counters.evicted++;
	}
}

/* ----------------
 *		Invalidation
 * ----------------
 */

/* Callback of the relation cache: may come at almost any time. */
static void
invalidate(Datum arg, Oid relid)
{
	CacheIndex *ci;

	if (cache == NULL)
		return;
	if (OidIsValid(relid))
	{
		ci = hash_search(cache, &relid, HASH_FIND, NULL);
		if (ci == NULL)
			return;
		ci->suspect = true;
	}
	else
	{
		HASH_SEQ_STATUS status;

		hash_seq_init(&status, cache);
		while ((ci = hash_seq_search(&status)) != NULL)
			ci->suspect = true;
	}
	any_suspect = true;
}

/* Forget indexes that are gone. */
static void
sweep(void)
{
	HASH_SEQ_STATUS status;
	CacheIndex *ci;

	any_suspect = false;
	hash_seq_init(&status, cache);
	while ((ci = hash_seq_search(&status)) != NULL)
	{
		if (ci->suspect &&
			!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(ci->relid)))
			drop_index(ci);
	}
}

/* ----------------
 *		Beginning of a scan
 * ----------------
 */
static void
create_cache(void)
{
	HASHCTL		ctl;

	if (cache_context == NULL)
		cache_context = AllocSetContextCreate(TopMemoryContext,
											  "snii write buffers",
											  ALLOCSET_SMALL_SIZES);
	if (!registered)
	{
		CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
		registered = true;
	}
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(CacheIndex);
	ctl.hcxt = cache_context;
	cache = hash_create("snii write buffers", 8, &ctl,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* What is kept for an index, made if there is nothing. */
static CacheIndex *
enter_index(Relation index)
{
	Oid			relid = RelationGetRelid(index);
	bool		found;
	CacheIndex *ci = hash_search(cache, &relid, HASH_ENTER, &found);

	if (!found)
	{
		ci->nentries = 0;
		ci->hint = 0;
		ci->generation = 0;
		ci->scans = 0;
		ci->life = 0;
		ci->entries = NULL;
		ci->suspect = false;
		ci->in_place = false;
	}
	ci->in_place |= snii_compat_truncated_in_place(index);
	if (found && (ci->file != SniiRelFileNumber(index) ||
				  (ci->suspect && ci->in_place)))
	{
		drop_entries(ci);
		ci->in_place = snii_compat_truncated_in_place(index);
	}
	ci->file = SniiRelFileNumber(index);
	ci->suspect = false;
	return ci;
}

/*
 * Make the entries of an index those of the stretches of a view; what was
 * known of them is kept.
 */
static void
follow_view(CacheIndex *ci, const SniiView *view)
{
	CacheEntry *entries = MemoryContextAllocZero(cache_context,
												 (view->nentries + 1) *
												 sizeof(CacheEntry));
	bool		in_place;
	int			n = 0;

	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		CacheEntry *known;

		if (entry->kind != SNII_ENTRY_STRETCH)
			continue;
		known = find_entry(ci, entry->id);
		if (known != NULL && known->list_head == entry->list_head)
		{
			entries[n] = *known;
			entries[n].stays = false;
			known->stretch = NULL;
			known->stays = true;
		}
		else
			entries[n].first = ci->scans;
		entries[n].id = entry->id;
		entries[n].list_head = entry->list_head;
		n++;
	}
	for (int i = 0; i < ci->nentries; i++)
		if (!ci->entries[i].stays)
			ci->life += LIFE_WEIGHT *
				((double) (ci->scans - ci->entries[i].first) - ci->life);
	in_place = ci->in_place;
	drop_entries(ci);
	if (ci->entries != NULL)
		pfree(ci->entries);
	ci->entries = entries;
	ci->nentries = n;
	ci->generation = view->generation;
	ci->in_place = in_place;
}

/*
 * A scan of the index begins, with this view.
 */
void
snii_inv_cache_begin(Relation index, const SniiView *view)
{
	CacheIndex *ci;

	if (snii_inv_cache_limit_kb == 0)
	{
		drop_everything();
		return;
	}
	scans++;
	budget = SCAN_BYTES;
	if (cache == NULL)
		create_cache();
	else if (any_suspect)
		sweep();
	ci = enter_index(index);
	if (view->generation < ci->generation)
		drop_entries(ci);
	if (view->generation != ci->generation)
		follow_view(ci, view);
	ci->scans++;
	trim();
}

/* ----------------
 *		Stretches
 * ----------------
 */

/* Is there room for so much, or can it be made? */
static bool
make_room(Size bytes)
{
	Size		limit = (Size) snii_inv_cache_limit_kb * 1024;

	while (memory + bytes > limit)
	{
		CacheEntry *idle = NULL;

		if (full_scan != scans && scans >= IDLE)
			idle = find_oldest(scans - IDLE);
		if (idle == NULL)
		{
			full_scan = scans;
			return false;
		}
		drop_stretch(idle);
		counters.evicted++;
	}
	return true;
}

/* Begin to index a stretch; false if there is no room. */
static bool
create_stretch(Relation index, const SniiDirEntry *entry, CacheEntry *e)
{
	Size		bytes = Min(entry->nbytes, FULL_STRETCH);
	MemoryContext old;

	if (snii_inv_cache_limit_kb <= e->refused || budget == 0 ||
		!make_room(SMALLEST + GROWTH * bytes))
		return false;
	old = MemoryContextSwitchTo(cache_context);
	e->stretch =
		snii_inv_stretch_create(IndexRelationGetNumberOfAttributes(index));
	MemoryContextSwitchTo(old);
	e->busy = false;
	e->memory = 0;
	counters.created++;
	return true;
}

/*
 * Add what was appended, as far as the budget and the room allow; true if
 * nothing is left.
 */
static bool
catch_up(Relation index, const SniiDirEntry *entry, CacheEntry *e)
{
	Size		before = budget;
	Size		none = 0;
	bool		all;

	e->busy = true;
	all = snii_inv_stretch_catch_up(e->stretch, index, entry,
									make_room(SMALLEST) ? &budget : &none);
	e->busy = false;
	memory -= e->memory;
	e->memory = snii_inv_stretch_memory(e->stretch);
	memory += e->memory;
	counters.bytes += before - budget;
	return all;
}

/*
 * Index of the records of a stretch of the view that a scan has begun with;
 * NULL if there is none.  *rest: some records are not in it, and are to be
 * read from behind its mark.  Valid until the next call of a function here.
 */
const SniiInvStretch *
snii_inv_cache_stretch(Relation index, const SniiDirEntry *entry, bool *rest)
{
	CacheIndex *ci = find_index(index);
	CacheEntry *e = ci == NULL ? NULL : find_entry(ci, entry->id);
	bool		met;

	*rest = false;
	if (e == NULL)
	{
		counters.missed++;
		return NULL;
	}
	if (e->busy)
	{
		counters.dropped++;
		drop_stretch(e);
	}
	met = e->last_use > 0 || ci->life >= EAGER_LIFE;
	e->last_use = scans;
	if (e->stretch == NULL && (!met || !create_stretch(index, entry, e)))
	{
		counters.missed++;
		return NULL;
	}
	*rest = !catch_up(index, entry, e);
	counters.used++;
	counters.partial += *rest;
	return e->stretch;
}

/*
 * Index of a stretch as it is now, NULL if there is none: a look that changes
 * nothing.
 */
const SniiInvStretch *
snii_inv_cache_peek(Relation index, uint64 id)
{
	CacheIndex *ci = find_index(index);
	CacheEntry *e = ci == NULL ? NULL : find_entry(ci, id);

	return e == NULL || e->busy ? NULL : e->stretch;
}

void
snii_inv_cache_stats(SniiInvCacheStats *stats)
{
	*stats = counters;
	stats->indexes = stats->stretches = 0;
	stats->memory = memory;
	if (cache != NULL)
	{
		HASH_SEQ_STATUS status;
		CacheIndex *ci;

		hash_seq_init(&status, cache);
		while ((ci = hash_seq_search(&status)) != NULL)
		{
			stats->indexes++;
			for (int i = 0; i < ci->nentries; i++)
				stats->stretches += ci->entries[i].stretch != NULL;
		}
	}
}
