/*-------------------------------------------------------------------------
 *
 * storage_directory.c
 *	  The directory of segments and stretches, and its swap.
 *
 * The directory is one page, so that a share lock on it gives a consistent
 * view, and one WAL record can replace any number of entries.  Its capacity
 * bounds the number of segments and stretches; lsm/ keeps well below it.
 *
 * Lock order: directory, meta, park pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_counters.h"
#include "storage/storage_directory.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_page.h"
#include "storage/storage_recycle.h"

#include "access/generic_xlog.h"

static inline SniiDirPage *
dir_of(Page page)
{
	return (SniiDirPage *) PageGetContents(page);
}

static void
dir_set(Page page, uint32 nentries)
{
	dir_of(page)->nentries = nentries;
	snii_storage_page_set_used(page, offsetof(SniiDirPage, entries) +
							   nentries * sizeof(SniiDirEntry));
}

/* Read and lock the directory page; its count is in bounds. */
static Buffer
dir_lock(Relation index, int lockmode)
{
	Buffer		buf = snii_storage_read_page(index, SNII_DIR_BLOCK, lockmode,
											 SNII_PAGE_DIR, 0);

	if (dir_of(BufferGetPage(buf))->nentries > SNII_DIR_CAPACITY)
		snii_storage_corrupted(index, SNII_DIR_BLOCK,
							   "directory claims %u entries",
							   dir_of(BufferGetPage(buf))->nentries);
	return buf;
}

/* Directories that were verified last, each in a place of its own. */
#define VERIFIED	16

static struct
{
	Oid			file;
	uint64		generation;
}			verified[VERIFIED];

/*
 * Memory is allocated by what the entries say, so it must be possible: a
 * segment has a bit for each document in its pages, which are in the file.
 * Once for each generation: asking for the size of the file is a system call.
 */
static void
verify_entries(Relation index, const SniiDirCopy *copy)
{
	int			place = SniiRelFileNumber(index) % VERIFIED;
	BlockNumber nblocks;

	if (verified[place].file == SniiRelFileNumber(index) &&
		verified[place].generation == copy->generation)
		return;
	nblocks = RelationGetNumberOfBlocks(index);
	for (int i = 0; i < copy->nentries; i++)
	{
		const SniiDirEntry *entry = &copy->entries[i];

		if (entry->kind == SNII_ENTRY_SEGMENT &&
			(entry->npages > nblocks ||
			 entry->ndocs > (uint64) entry->npages * SNII_PAGE_PAYLOAD * 8))
			snii_storage_corrupted(index, SNII_DIR_BLOCK,
								   "segment claims %llu documents in %u pages",
								   (unsigned long long) entry->ndocs,
								   entry->npages);
	}
	verified[place].file = SniiRelFileNumber(index);
	verified[place].generation = copy->generation;
}

void
snii_storage_dir_read(Relation index, SniiDirCopy *copy, Buffer *barrier)
{
	Buffer		buf = dir_lock(index, BUFFER_LOCK_SHARE);
	SniiDirPage *dir = dir_of(BufferGetPage(buf));

	copy->generation = dir->generation;
	copy->nentries = (int) dir->nentries;
	memcpy(copy->entries, dir->entries,
		   dir->nentries * sizeof(SniiDirEntry));
	if (barrier != NULL)
		*barrier = snii_storage_read_page(index,
										  SNII_BARRIER_BLOCK(dir->epoch),
										  BUFFER_LOCK_UNLOCK,
										  SNII_PAGE_BARRIER, 0);
	UnlockReleaseBuffer(buf);
	verify_entries(index, copy);
}

/* Does nobody pin a barrier page? */
static bool
barrier_is_free(Relation index, uint32 epoch)
{
	Buffer		buf = snii_storage_read_page(index, SNII_BARRIER_BLOCK(epoch),
											 BUFFER_LOCK_UNLOCK,
											 SNII_PAGE_BARRIER, 0);
	bool		result = ConditionalLockBufferForCleanup(buf);

	if (result)
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buf);
	return result;
}

/*
 * Epoch e and e + 2 share a barrier page, so e + 2 begins only when no scan
 * of e is left: at any time only scans of the current epoch and the one
 * before it can be under way.
 */
uint32
snii_storage_epoch_floor(Relation index)
{
	Buffer		buf = dir_lock(index, BUFFER_LOCK_EXCLUSIVE);
	uint32		epoch = dir_of(BufferGetPage(buf))->epoch;
	uint32		floor = epoch - 1;

	if (barrier_is_free(index, epoch + 1))
	{
		GenericXLogState *state = GenericXLogStart(index);

		dir_of(GenericXLogRegisterBuffer(state, buf, 0))->epoch = epoch + 1;
		GenericXLogFinish(state);

		/* Scans that begin from now on pin the other page. */
		floor = barrier_is_free(index, epoch) ? epoch + 1 : epoch;
	}
	UnlockReleaseBuffer(buf);
	return floor;
}

Buffer
snii_storage_gate_pin(Relation index)
{
	Buffer		dir_buf = dir_lock(index, BUFFER_LOCK_SHARE);
	uint32		gate = dir_of(BufferGetPage(dir_buf))->gate;
	Buffer		result = snii_storage_read_page(index, SNII_GATE_BLOCK(gate),
												BUFFER_LOCK_UNLOCK,
												SNII_PAGE_BARRIER, 0);

	UnlockReleaseBuffer(dir_buf);
	return result;
}

/* Wait until nobody else has a gate page pinned. */
static void
gate_wait(Relation index, uint32 gate)
{
	Buffer		buf = snii_storage_read_page(index, SNII_GATE_BLOCK(gate),
											 BUFFER_LOCK_UNLOCK,
											 SNII_PAGE_BARRIER, 0);

	LockBufferForCleanup(buf);
	UnlockReleaseBuffer(buf);
}

void
snii_storage_gate_switch(Relation index)
{
	Buffer		dir_buf = dir_lock(index, BUFFER_LOCK_SHARE);
	uint32		old = dir_of(BufferGetPage(dir_buf))->gate;
	GenericXLogState *state;

	UnlockReleaseBuffer(dir_buf);

	/* Pins that a switch left behind whose waiting was cancelled. */
	gate_wait(index, old + 1);
	dir_buf = dir_lock(index, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	dir_of(GenericXLogRegisterBuffer(state, dir_buf, 0))->gate = old + 1;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(dir_buf);
	gate_wait(index, old);
}

static int
find_entry(const SniiDirPage *dir, uint64 id)
{
	for (uint32 i = 0; i < dir->nentries; i++)
		if (dir->entries[i].id == id)
			return (int) i;
	return -1;
}

/* Park a displaced list; the park page has room. */
static void
park_list(const SniiDirPage *dir, Page park_page, BlockNumber head,
		  BlockNumber tail, uint32 npages)
{
	SniiParkPage *park = (SniiParkPage *) PageGetContents(park_page);
	SniiParkEntry *entry = &park->entries[park->nentries++];

	entry->stamp = SNII_PARK_UNSTAMPED;
	entry->head = head;
	entry->tail = tail;
	entry->npages = npages;
	entry->epoch = dir->epoch;
	snii_storage_page_set_used(park_page, offsetof(SniiParkPage, entries) +
							   park->nentries * sizeof(SniiParkEntry));
}

/* Park the side list of an entry, if it has one. */
static void
park_side(const SniiDirPage *dir, Page park_page, const SniiDirEntry *entry)
{
	if (entry->kind == SNII_ENTRY_SEGMENT &&
		BlockNumberIsValid(entry->side_head))
		park_list(dir, park_page, entry->side_head, entry->side_tail,
				  entry->side_pages);
}

/*
 * Replace the entries in an image of the directory; their lists go to the
 * image of the park page, which has room.  A lane whose stretch leaves has no
 * open stretch any more.
 */
static void
swap_entries(Relation index, Page dir_page, Page park_page,
			 SniiMetaPage *meta, const SniiSwap *swap)
{
	SniiDirPage *dir = dir_of(dir_page);
	int			at = (int) dir->nentries;

	for (int i = 0; i < swap->nremove; i++)
	{
		int			pos = find_entry(dir, swap->remove[i]);
		SniiDirEntry *gone = &dir->entries[Max(pos, 0)];

		if (pos < 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("segment %llu of index \"%s\" is gone",
							(unsigned long long) swap->remove[i],
							RelationGetRelationName(index))));
		park_list(dir, park_page, gone->list_head, gone->list_tail,
				  gone->npages);
		park_side(dir, park_page, gone);
		for (int lane = 0; lane < SNII_LANES; lane++)
			if (meta->lanes[lane] == gone->list_head)
				meta->lanes[lane] = InvalidBlockNumber;
		memmove(gone, gone + 1,
				(dir->nentries - pos - 1) * sizeof(SniiDirEntry));
		dir->nentries--;
		at = (i == 0) ? pos : Min(at, pos);
	}
	if (swap->add != NULL)
	{
		if (dir->nentries >= SNII_DIR_CAPACITY)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("index \"%s\" has too many segments",
							RelationGetRelationName(index)),
					 errhint("VACUUM the table to merge them.")));
		at = Min(at, (int) dir->nentries);
		memmove(&dir->entries[at + 1], &dir->entries[at],
				(dir->nentries - at) * sizeof(SniiDirEntry));
		dir->entries[at] = *swap->add;
		dir->nentries++;
	}
	dir->generation++;
	dir_set(dir_page, dir->nentries);
}

/* The pages that a swap changes, locked in this order. */
typedef struct SwapPages
{
	Buffer		dir;
	Buffer		meta;
	Buffer		park;
} SwapPages;

/* Lock them, with room for "nparked" lists on the park page. */
static void
swap_lock(Relation index, SwapPages *pages, int nparked)
{
	for (;;)
	{
		/* From here on nobody but us adds to the first park page. */
		pages->dir = dir_lock(index, BUFFER_LOCK_EXCLUSIVE);
		pages->meta = snii_storage_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
		pages->park = snii_storage_read_page(index, SNII_PARK_BLOCK,
											 BUFFER_LOCK_EXCLUSIVE,
											 SNII_PAGE_PARK, 0);
		if (((SniiParkPage *)
			 PageGetContents(BufferGetPage(pages->park)))->nentries +
			nparked <= SNII_PARK_CAPACITY)
			break;
		UnlockReleaseBuffer(pages->park);
		UnlockReleaseBuffer(pages->meta);
		UnlockReleaseBuffer(pages->dir);
		snii_storage_park_make_room(index);
	}
}

static void
swap_unlock(const SwapPages *pages)
{
	UnlockReleaseBuffer(pages->park);
	UnlockReleaseBuffer(pages->meta);
	UnlockReleaseBuffer(pages->dir);
}

static void
empty_slot(SniiSlot *slot)
{
	slot->head = InvalidBlockNumber;
	slot->tail = InvalidBlockNumber;
	slot->npages = 0;
}

uint64
snii_storage_swap(Relation index, const SniiSwap *swap)
{
	SwapPages	pages;
	GenericXLogState *state;
	SniiMetaPage *meta;
	Page		dir_page;
	Page		park_page;
	uint64		generation;

	swap_lock(index, &pages, 2 * swap->nremove);
	state = GenericXLogStart(index);
	dir_page = GenericXLogRegisterBuffer(state, pages.dir, 0);
	meta = snii_storage_meta(GenericXLogRegisterBuffer(state, pages.meta, 0));
	park_page = GenericXLogRegisterBuffer(state, pages.park, 0);

	swap_entries(index, dir_page, park_page, meta, swap);
	generation = dir_of(dir_page)->generation;
	if (swap->slot >= 0)
		empty_slot(&meta->slots[swap->slot]);
	for (int i = 0; i < SNII_COUNTERS && swap->counts != NULL; i++)
		meta->counters[i] += swap->counts[i];
	snii_storage_counters_publish(index, meta);
	GenericXLogFinish(state);
	swap_unlock(&pages);
	return generation;
}

bool
snii_storage_swap_side(Relation index, int slot, uint64 id)
{
	SwapPages	pages;
	int			pos;

	swap_lock(index, &pages, 1);
	pos = find_entry(dir_of(BufferGetPage(pages.dir)), id);
	if (pos >= 0)
	{
		GenericXLogState *state = GenericXLogStart(index);
		Page		dir_page = GenericXLogRegisterBuffer(state, pages.dir, 0);
		Page		meta_page = GenericXLogRegisterBuffer(state, pages.meta, 0);
		Page		park_page = GenericXLogRegisterBuffer(state, pages.park, 0);
		SniiSlot   *s = &snii_storage_meta(meta_page)->slots[slot];
		SniiDirEntry *entry = &dir_of(dir_page)->entries[pos];

		park_side(dir_of(dir_page), park_page, entry);
		entry->side_head = s->head;
		entry->side_tail = s->tail;
		entry->side_pages = s->npages;
		empty_slot(s);
		dir_of(dir_page)->generation++;
		GenericXLogFinish(state);
	}
	swap_unlock(&pages);
	return pos >= 0;
}

void
snii_storage_dir_set_dead(Relation index, uint64 id, uint64 ndead)
{
	Buffer		buf = dir_lock(index, BUFFER_LOCK_EXCLUSIVE);
	int			pos = find_entry(dir_of(BufferGetPage(buf)), id);

	if (pos >= 0 && dir_of(BufferGetPage(buf))->entries[pos].ndead != ndead)
	{
		GenericXLogState *state = GenericXLogStart(index);
		Page		page = GenericXLogRegisterBuffer(state, buf, 0);

		dir_of(page)->entries[pos].ndead = ndead;
		GenericXLogFinish(state);
	}
	UnlockReleaseBuffer(buf);
}
