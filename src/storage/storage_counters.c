/*-------------------------------------------------------------------------
 *
 * storage_counters.c
 *	  Counters of an index: kept in the meta page, added up in the process.
 *
 * Counting costs no WAL record and no lock.  A process remembers counts for
 * a few indexes; if it writes into more than these at the same time, the
 * counts of the one that it has not counted for the longest time are lost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_counters.h"

#define NPENDING	16

typedef struct Pending
{
	Oid			index;
	Oid			file;			/* counts belong to a file, not to an index */
	uint64		last_used;
	bool		any;
	uint64		counts[SNII_COUNTERS];
} Pending;

static Pending pending[NPENDING];
static uint64 now = 0;

static Pending *
find(Relation index)
{
	for (int i = 0; i < NPENDING; i++)
		if (pending[i].index == RelationGetRelid(index) &&
			pending[i].file == SniiRelFileNumber(index))
			return &pending[i];
	return NULL;
}

void
snii_storage_count(Relation index, int counter, uint64 n)
{
	Pending    *p = find(index);

	if (p == NULL)
	{
		p = &pending[0];
		for (int i = 1; i < NPENDING; i++)
			if (pending[i].last_used < p->last_used)
				p = &pending[i];
		memset(p, 0, sizeof(*p));
		p->index = RelationGetRelid(index);
		p->file = SniiRelFileNumber(index);
	}
	p->last_used = ++now;
	p->any = true;
	if (counter == SNII_COUNTER_SLEEP_REASON)
		p->counts[counter] = n;
	else
		p->counts[counter] += n;
}

void
snii_storage_counters_publish(Relation index, SniiMetaPage *meta)
{
	Pending    *p = find(index);

	if (p == NULL || !p->any)
		return;
	for (int i = 0; i < SNII_COUNTERS; i++)
	{
		if (i != SNII_COUNTER_SLEEP_REASON)
			meta->counters[i] += p->counts[i];
		else if (p->counts[i] != 0)
			meta->counters[i] = p->counts[i];
	}
	memset(p->counts, 0, sizeof(p->counts));
	p->any = false;
}
