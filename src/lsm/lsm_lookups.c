/*-------------------------------------------------------------------------
 *
 * lsm_lookups.c
 *	  Counters of look-ups in an index.
 *
 * Who looks up writes nothing, so these counters cannot travel with the
 * records of an index, as those of flushes do.  A process adds up what it
 * does to a few indexes, and publishes it in steps: shared counters are
 * touched once in some thousand look-ups.
 *
 * The shared table, which is there if the library is preloaded, has room for
 * TABLE indexes; one more takes the place of the one that was published least
 * recently.  A crash forgets it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "lsm/lsm_lookups.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

/* Indexes whose look-ups a process counts, and the server. */
#define PENDING			16
#define TABLE			512

/* Pages of look-ups after which they are published. */
#define STEP			4096

typedef struct Counters
{
	Oid			database;
	Oid			index;
	Oid			file;			/* counts belong to a file, not to an index */
	uint64		last_used;		/* 0: free */
	SniiLookupCounts counts;
} Counters;

typedef struct Shared
{
	LWLock	   *lock;
	uint64		clock;
	Counters	table[TABLE];
} Shared;

static Counters pending[PENDING];
static Counters *latest = pending;
static uint64 now = 0;
static Shared *shared = NULL;
static bool at_exit = false;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static inline bool
is_of(const Counters *c, const Counters *other)
{
	return c->last_used != 0 && c->index == other->index &&
		c->file == other->file && c->database == other->database;
}

/* The counters of an index in an array, or the place for them. */
static Counters *
find(Counters *array, int n, const Counters *wanted)
{
	Counters   *oldest = &array[0];

	for (int i = 0; i < n; i++)
	{
		if (is_of(&array[i], wanted))
			return &array[i];
		if (array[i].last_used < oldest->last_used)
			oldest = &array[i];
	}
	return oldest;
}

static void
add(SniiLookupCounts *to, const SniiLookupCounts *counts)
{
	for (int i = 0; i < SNII_LOOKUP_COUNTERS; i++)
		to->counts[i] += counts->counts[i];
}

/* Begin to count for what "wanted" names in a place of another one. */
static void
take_over(Counters *c, const Counters *wanted)
{
	memset(c, 0, sizeof(*c));
	c->database = wanted->database;
	c->index = wanted->index;
	c->file = wanted->file;
}

static void
publish(Counters *c)
{
	Counters   *to;

	if (shared == NULL || c->last_used == 0)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	to = find(shared->table, TABLE, c);
	if (!is_of(to, c))
		take_over(to, c);
	to->last_used = ++shared->clock;
	add(&to->counts, &c->counts);
	LWLockRelease(shared->lock);
	memset(&c->counts, 0, sizeof(c->counts));
}

static void
publish_all(int code, Datum arg)
{
	for (int i = 0; i < PENDING; i++)
		publish(&pending[i]);
}

static void
name(Relation index, Counters *c)
{
	c->database = MyDatabaseId;
	c->index = RelationGetRelid(index);
	c->file = SniiRelFileNumber(index);
}

void
snii_lsm_lookups_add(Relation index, const SniiLookupCounts *counts)
{
	Counters   *c = latest;
	Counters	wanted;

	name(index, &wanted);
	if (!is_of(c, &wanted))
	{
		c = find(pending, PENDING, &wanted);
		if (!is_of(c, &wanted))
		{
			publish(c);
			take_over(c, &wanted);
		}
		latest = c;
	}
	c->last_used = ++now;
	add(&c->counts, counts);
	if (shared == NULL)
		return;
	if (!at_exit)
	{
		at_exit = true;
		before_shmem_exit(publish_all, (Datum) 0);
	}
	if (c->counts.counts[SNII_LOOKUPS] +
		c->counts.counts[SNII_LOOKUP_BLOCKS] >= STEP)
		publish(c);
}

void
snii_lsm_lookups_get(Relation index, SniiLookupCounts *counts)
{
	Counters	wanted;
	Counters   *c;

	memset(counts, 0, sizeof(*counts));
	name(index, &wanted);
	c = find(pending, PENDING, &wanted);
	if (shared == NULL)
	{
		if (is_of(c, &wanted))
			*counts = c->counts;
		return;
	}
	if (is_of(c, &wanted))
		publish(c);
	LWLockAcquire(shared->lock, LW_SHARED);
	c = find(shared->table, TABLE, &wanted);
	if (is_of(c, &wanted))
		*counts = c->counts;
	LWLockRelease(shared->lock);
}

static void
request(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
	RequestNamedLWLockTranche("snii look-ups", 1);
}

static void
startup(void)
{
	bool		found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("snii look-ups", sizeof(Shared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(*shared));
		shared->lock = &GetNamedLWLockTranche("snii look-ups")->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

void
snii_lsm_lookups_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}
