/*-------------------------------------------------------------------------
 *
 * storage_ordered.c
 *	  Ordered stretches: the write buffer of a key index.
 *
 * The first data page of such a stretch is its fence page; the others are
 * leaves.  Whoever inserts holds the fence page in share mode and the leaf
 * exclusively; whoever changes fences, or seals the stretch, holds the fence
 * page exclusively, and before it the list page.  A leaf is handed out in the
 * record that makes it known to the fence page, and always as the last page
 * of the stretch: who reads pages in order meets a record that a split moves
 * at its old place or at its new one, or at both.
 *
 * The next stretch begins with the separators of the one before that led to
 * a leaf, so that keys like those before cause few splits.
 *
 * Lock order: directory, list page, fence page, leaves by their separators, new
 * page.  The meta page and the free list come between list page and fence page
 * (snii_storage_stretch_grow), when no fence is locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_alloc.h"
#include "storage/storage_buffer_page.h"
#include "storage/storage_list.h"
#include "storage/storage_meta.h"
#include "storage/storage_ordered.h"
#include "storage/storage_page.h"
#include "storage/storage_patch.h"
#include "storage/storage_point.h"
#include "storage/storage_stretch.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Leaves that are locked at once for a check.  A key that has more than these
 * ends the stretch.
 */
#define MAX_LOCKED		8

/* What the separators of a stretch take of the fence page of the next one. */
#define SEED_FENCES		(SNII_FENCE_CAPACITY / 2)
#define SEED_BYTES \
	((SNII_PAGE_PAYLOAD - offsetof(SniiFencePage, fences)) / 2)

/* A leaf is rewritten, not split, if so many of its bytes are dead. */
#define DEAD_BYTES		(SNII_BUFFER_CAPACITY / 4)

/* Of the records of a leaf one in so many counts as few. */
#define FEW				16

/* ----------------------------------------------------------------
 *		Pages
 * ----------------------------------------------------------------
 */

static inline SniiFencePage *
fence_of(Page page)
{
	return (SniiFencePage *) PageGetContents(page);
}

static inline const uint8 *
fence_at(const SniiFencePage *fence, int i, SniiFence *f)
{
	const uint8 *at = (const uint8 *) fence + fence->offsets[i];

	memcpy(&f->leaf, at, sizeof(f->leaf));
	memcpy(&f->len, at + sizeof(f->leaf), sizeof(f->len));
	return at + SNII_FENCE_BYTES;
}

/* A fence page with one range and no leaf. */
static void
begin_fence(Page page, uint64 id)
{
	SniiFencePage *fence;

	snii_storage_page_init(page, SNII_PAGE_BUFFER, id, SNII_STREAM_BUFFER);
	snii_storage_opaque(page)->flags = SNII_BUFFER_FENCE;
	fence = fence_of(page);
	fence->end = offsetof(SniiFencePage, fences);
	snii_storage_page_set_used(page, fence->end);
}

static inline bool
fence_has_room(const SniiFencePage *fence, uint32 len)
{
	return fence->nfences < SNII_FENCE_CAPACITY &&
		fence->end + SNII_FENCE_BYTES + len <= SNII_PAGE_PAYLOAD;
}

/* Add a fence at place i; there is room. */
static void
add_fence(Page page, int i, BlockNumber leaf, const uint8 *sep, uint32 len)
{
	SniiFencePage *fence = fence_of(page);
	uint8	   *at = (uint8 *) fence + fence->end;
	uint16		len16 = (uint16) len;

	memmove(&fence->offsets[i + 1], &fence->offsets[i],
			(fence->nfences - i) * sizeof(uint16));
	fence->offsets[i] = (uint16) fence->end;
	memcpy(at, &leaf, sizeof(leaf));
	memcpy(at + sizeof(leaf), &len16, sizeof(len16));
	memcpy(at + SNII_FENCE_BYTES, sep, len);
	fence->end += SNII_FENCE_BYTES + len;
	fence->nfences++;
	snii_storage_page_set_used(page, fence->end);
}

static void
set_leaf(Page page, int i, BlockNumber leaf)
{
	SniiFencePage *fence = fence_of(page);

	memcpy((uint8 *) fence + fence->offsets[i], &leaf, sizeof(leaf));
}

/* Verify a fence page: what is read from it stays within it. */
static void
verify_fence(Relation index, BlockNumber blk, Page page)
{
	const SniiFencePage *fence = fence_of(page);
	uint32		used = snii_storage_page_used(page);
	bool		good = fence->nfences > 0 &&
	fence->nfences <= SNII_FENCE_CAPACITY && fence->end == used &&
	used >= offsetof(SniiFencePage, fences);

	for (int i = 0; good && i < fence->nfences; i++)
	{
		SniiFence	f;

		good = fence->offsets[i] >= offsetof(SniiFencePage, fences) &&
			fence->offsets[i] + SNII_FENCE_BYTES <= used;
		if (good)
		{
			fence_at(fence, i, &f);
			good = f.len <= SNII_ORDERED_MAX_BODY &&
				fence->offsets[i] + SNII_FENCE_BYTES + f.len <= used &&
				(i > 0 || f.len == 0);
		}
	}
	if (!good)
		snii_storage_corrupted(index, blk, "fence page is damaged");
}

/* Only the parts that one look needs, in constant time. */
static inline const uint8 *
checked_fence(Relation index, BlockNumber blk, Page page, int i,
			  SniiFence *f)
{
	const SniiFencePage *fence = fence_of(page);
	uint32		at = fence->offsets[i];

	if (at < offsetof(SniiFencePage, fences) ||
		at + SNII_FENCE_BYTES > SNII_PAGE_PAYLOAD)
		snii_storage_corrupted(index, blk, "fence page is damaged");
	fence_at(fence, i, f);
	if (f->len > SNII_ORDERED_MAX_BODY ||
		at + SNII_FENCE_BYTES + f->len > SNII_PAGE_PAYLOAD)
		snii_storage_corrupted(index, blk, "fence page is damaged");
	return (const uint8 *) fence + at + SNII_FENCE_BYTES;
}

/*
 * Pin and lock a fence page.  InvalidBuffer: it is not that of this stretch
 * any more.
 */
static Buffer
lock_fence(Relation index, BlockNumber blk, uint64 id, int lockmode)
{
	Buffer		buf = ReadBuffer(index, blk);
	Page		page = BufferGetPage(buf);

	snii_storage_lock_page(index, buf, lockmode);
	if (!snii_storage_page_is(page, SNII_PAGE_BUFFER, id) ||
		(snii_storage_opaque(page)->flags & SNII_BUFFER_FENCE) == 0)
	{
		UnlockReleaseBuffer(buf);
		return InvalidBuffer;
	}
	if (fence_of(page)->nfences == 0 ||
		fence_of(page)->nfences > SNII_FENCE_CAPACITY)
		snii_storage_corrupted(index, blk, "fence page is damaged");
	return buf;
}

static Buffer
lock_leaf(Relation index, BlockNumber blk, uint64 id, int lockmode)
{
	Buffer		buf;

	if (blk < SNII_FIRST_FREE_BLOCK || !snii_storage_block_exists(index, blk))
		snii_storage_corrupted(index, blk, "leaf does not exist");
	buf = ReadBuffer(index, blk);
	snii_storage_lock_page(index, buf, lockmode);
	if (!snii_storage_page_is(BufferGetPage(buf), SNII_PAGE_BUFFER, id) ||
		(snii_storage_opaque(BufferGetPage(buf))->flags &
		 SNII_BUFFER_NO_RECORD) != 0)
		snii_storage_corrupted(index, blk, "page is not the leaf that it should be");
	return buf;
}

/* ----------------------------------------------------------------
 *		Searching
 * ----------------------------------------------------------------
 */

/* The range that a record (or, if that is NULL, a target) is in. */
static int
find_range_in(Relation index, BlockNumber blk, Page page,
			  const SniiOrder *order, const SniiRecord *record,
			  const void *target)
{
	int			low = 0;		/* begins not behind it */
	int			high = fence_of(page)->nfences;

	while (high - low > 1)
	{
		int			middle = (low + high) / 2;
		SniiFence	f;
		const uint8 *sep = checked_fence(index, blk, page, middle, &f);
		int			cmp = record != NULL ?
		order->compare_separator(order->arg, record, sep, f.len) :
		order->compare_target(order->arg, target, sep, f.len);

		if (cmp < 0)
			high = middle;
		else
			low = middle;
	}
	return low;
}

static int
find_range(Relation index, Buffer buf, const SniiOrder *order,
		   const SniiRecord *record, const void *target)
{
	return find_range_in(index, BufferGetBlockNumber(buf), BufferGetPage(buf),
						 order, record, target);
}

/*
 * Next record of a leaf's data; false at the end.
 */
static bool
next_record(Relation index, const char *data, uint32 nbytes, uint32 *at,
			SniiRecord *record, bool *dead)
{
	SniiRecordHeader header;

	if (*at >= nbytes)
		return false;
	if (nbytes - *at < sizeof(header))
		snii_storage_corrupted(index, InvalidBlockNumber,
							   "leaf ends within a record header");
	memcpy(&header, data + *at, sizeof(header));
	*at += sizeof(header);
	if (header.len > nbytes - *at || header.len > SNII_ORDERED_MAX_BODY ||
		!snii_storage_tid_is_valid(&header.tid))
		snii_storage_corrupted(index, InvalidBlockNumber,
							   "leaf has a damaged record");
	record->tid = header.tid;
	record->data = (const uint8 *) data + *at;
	record->len = header.len;
	*dead = (header.flags & SNII_RECORD_DEAD) != 0;
	*at += header.len;
	return true;
}

bool
snii_storage_ordered_next(Relation index, const SniiLeafCopy *copy,
						  uint32 *at, SniiRecord *record, bool *dead)
{
	return next_record(index, copy->data, copy->nbytes, at, record, dead);
}

bool
snii_storage_ordered_find(Relation index, const SniiLeafCopy *copy,
						  uint32 *at, const uint8 *bytes, uint32 len,
						  uint32 skip, SniiRecord *record, bool *dead)
{
	uint64		first = 0;

	if (len >= sizeof(first))
		memcpy(&first, bytes, sizeof(first));
	while (copy->nbytes - *at >= sizeof(SniiRecordHeader) + skip + len)
	{
		const char *body = copy->data + *at + sizeof(SniiRecordHeader) + skip;
		SniiRecordHeader header;
		uint64		begin = 0;

		if (len >= sizeof(begin))
			memcpy(&begin, body, sizeof(begin));
		if (begin == first && memcmp(body, bytes, len) == 0)
			return next_record(index, copy->data, copy->nbytes, at, record,
							   dead);
		memcpy(&header, copy->data + *at, sizeof(header));
		*at += sizeof(header) + header.len;
		if (*at > copy->nbytes)
			snii_storage_corrupted(index, InvalidBlockNumber,
								   "leaf has a damaged record");
	}
	return false;
}

/*
 * Lock the fence page of a stretch of a view in share mode; InvalidBuffer if
 * there is none, since nothing had been inserted.
 */
static Buffer
read_fence(Relation index, const SniiDirEntry *stretch)
{
	Buffer		buf;

	if (!BlockNumberIsValid(stretch->side_head))
		return InvalidBuffer;
	if (!snii_storage_block_exists(index, stretch->side_head))
		snii_storage_corrupted(index, stretch->side_head,
							   "fence page does not exist");
	buf = lock_fence(index, stretch->side_head, stretch->id,
					 BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		snii_storage_corrupted(index, stretch->side_head,
							   "page is not the fence page that it should be");
	return buf;
}

void
snii_storage_ordered_leaf(Relation index, const SniiDirEntry *stretch,
						  const SniiOrder *order, const void *target,
						  SniiLeafCopy *copy)
{
	Buffer		buf;
	Page		page;
	SniiFence	f;
	const uint8 *sep;
	int			i;

	copy->first = copy->last = true;
	copy->lower_len = copy->upper_len = 0;
	copy->nbytes = 0;
	buf = read_fence(index, stretch);
	if (!BufferIsValid(buf))
		return;
	page = BufferGetPage(buf);
	i = find_range(index, buf, order, NULL, target);
	copy->first = i == 0;
	copy->last = i + 1 == fence_of(page)->nfences;
	if (!copy->last)
	{
		sep = checked_fence(index, stretch->side_head, page, i + 1, &f);
		memcpy(copy->upper, sep, copy->upper_len = f.len);
	}
	sep = checked_fence(index, stretch->side_head, page, i, &f);
	memcpy(copy->lower, sep, copy->lower_len = f.len);
	if (BlockNumberIsValid(f.leaf))
	{
		Buffer		leaf = lock_leaf(index, f.leaf, stretch->id,
									 BUFFER_LOCK_SHARE);

		copy->nbytes = Min(snii_storage_record_bytes(BufferGetPage(leaf)),
						   (uint32) SNII_BUFFER_CAPACITY);
		memcpy(copy->data, snii_storage_records(BufferGetPage(leaf))->data, copy->nbytes);
		UnlockReleaseBuffer(leaf);
	}
	UnlockReleaseBuffer(buf);
}

void
snii_storage_ordered_prefetch(Relation index, const SniiDirEntry *stretch,
							  const SniiOrder *order,
							  const void *const *targets, int n)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BlockNumber last = InvalidBlockNumber;
	Buffer		buf = read_fence(index, stretch);
	Page		copy;

	if (!BufferIsValid(buf))
		return;
	copy = palloc(BLCKSZ);
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
	for (int i = 0; i < n; i++)
	{
		int			range = find_range_in(index, stretch->side_head, copy,
										  order, NULL, targets[i]);
		SniiFence	f;

		(void) checked_fence(index, stretch->side_head, copy, range, &f);
		if (f.leaf >= nblocks || f.leaf == last)
			continue;
		last = f.leaf;
		(void) PrefetchBuffer(index, MAIN_FORKNUM, last);
	}
	pfree(copy);
}

/* ----------------------------------------------------------------
 *		Separators for the next stretch
 * ----------------------------------------------------------------
 */

/*
 * What is known of the stretch before.
 */
typedef struct Seeds
{
	SniiFencePage *fence;		/* copy of its fence page, or NULL */
} Seeds;

static void
gather_seeds(Page page, Seeds *seeds)
{
	if (seeds->fence == NULL)
		seeds->fence = palloc(BLCKSZ);
	memcpy(seeds->fence, fence_of(page), SNII_PAGE_PAYLOAD);
}

/* The next separator that led to a leaf, from i on; NULL at the end. */
static const uint8 *
next_seed(const Seeds *seeds, int *i, SniiFence *f)
{
	while (*i < seeds->fence->nfences)
	{
		const uint8 *sep = fence_at(seeds->fence, (*i)++, f);

		if (BlockNumberIsValid(f->leaf) && f->len > 0)
			return sep;
	}
	return NULL;
}

/*
 * Fences that led to a leaf, so many that they take half of a page at most.
 * None if most leaves began where the keys ended: those to come are beyond
 * all of these.
 */
static void
plant_seeds(Page page, const Seeds *seeds)
{
	uint32		nbytes = 0;
	int			n = 0;
	int			step;
	int			i = 0;
	SniiFence	f;
	const uint8 *sep;

	if (seeds == NULL || seeds->fence == NULL)
		return;
	while (next_seed(seeds, &i, &f) != NULL)
	{
		nbytes += SNII_FENCE_BYTES + f.len;
		n++;
	}
	if (2 * seeds->fence->nappended > n)
		return;
	step = Max((n - 1) / SEED_FENCES, (int) ((nbytes - 1) / SEED_BYTES)) + 1;
	i = 0;
	n = 0;
	while ((sep = next_seed(seeds, &i, &f)) != NULL)
		if (n++ % step == 0 && fence_has_room(fence_of(page), f.len))
			add_fence(page, fence_of(page)->nfences, InvalidBlockNumber, sep,
					  f.len);
}

/* ----------------------------------------------------------------
 *		Insertion into a leaf that has room
 * ----------------------------------------------------------------
 */

typedef enum Attempt
{
	ATTEMPT_DONE,
	ATTEMPT_REFUSED,
	ATTEMPT_STALE,				/* the stretch is sealed, or another one */
	ATTEMPT_PAGE,				/* the leaf is full, or there is none */
	ATTEMPT_CROWDED				/* too many leaves to check */
} Attempt;

static void
append_record(Relation index, Buffer buf, const SniiRecord *record)
{
	Page		page = BufferGetPage(buf);
	uint16		end = ((PageHeader) page)->pd_lower;
	SniiRecordHeader header = {0};
	uint16		lower = (uint16) (end + sizeof(header) + record->len);
	SniiPatchPage patch = {.buf = buf};

	header.len = (uint16) record->len;
	header.tid = record->tid;
	snii_storage_patch_add(&patch, offsetof(PageHeaderData, pd_lower), &lower,
						   sizeof(lower));
	snii_storage_patch_add(&patch, end, &header, sizeof(header));
	snii_storage_patch_add(&patch, end + sizeof(header), record->data,
						   record->len);
	snii_storage_patch(index, &patch, 1);
}

/* Show the live records of a locked leaf to the check; false: refused. */
static bool
check_leaf(Relation index, Buffer buf, const SniiOrderedCheck *check)
{
	Page		page = BufferGetPage(buf);
	SniiRecord	record;
	uint32		at = 0;
	bool		dead;
	bool		good = true;

	while (next_record(index, snii_storage_records(page)->data,
					   snii_storage_record_bytes(page), &at,
					   &record, &dead))
		if (!dead && !check->test(check->arg, &record))
			good = false;
	return good;
}

/*
 * Lock the leaves of ranges first to last exclusively; those that are not
 * there are InvalidBuffer.
 */
static void
lock_leaves(Relation index, Buffer fence, uint64 id, int first, int last,
			Buffer *leaves)
{
	for (int i = first; i <= last; i++)
	{
		SniiFence	f;

		checked_fence(index, BufferGetBlockNumber(fence),
					  BufferGetPage(fence), i, &f);
		leaves[i - first] = BlockNumberIsValid(f.leaf) ?
			lock_leaf(index, f.leaf, id, BUFFER_LOCK_EXCLUSIVE) :
			InvalidBuffer;
	}
}

static void
unlock_leaves(Buffer *leaves, int n)
{
	for (int i = 0; i < n; i++)
		if (BufferIsValid(leaves[i]))
			UnlockReleaseBuffer(leaves[i]);
}

/*
 * The ranges that a check has to look at, with the one of the record; false if
 * they are too many.
 */
static bool
check_ranges(Relation index, Buffer fence, const SniiOrder *order,
			 const SniiOrderedCheck *check, int range, int *first, int *last)
{
	*first = *last = range;
	if (check == NULL)
		return true;
	*first = Min(range, find_range(index, fence, order, NULL, check->low));
	*last = Max(range, find_range(index, fence, order, NULL, check->high));
	return *last - *first < MAX_LOCKED;
}

static Attempt
try_insert(Relation index, const SniiOrder *order,
		   const SniiOrderedTail *tail, const SniiOrderedCheck *check,
		   const SniiRecord *record, Seeds *seeds)
{
	Buffer		leaves[MAX_LOCKED];
	Buffer		fence;
	Attempt		result = ATTEMPT_DONE;
	int			range;
	int			first;
	int			last;

	fence = lock_fence(index, tail->fence, tail->id, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(fence))
		return ATTEMPT_STALE;
	if (snii_storage_opaque(BufferGetPage(fence))->flags & SNII_BUFFER_CLOSED)
	{
		verify_fence(index, tail->fence, BufferGetPage(fence));
		gather_seeds(BufferGetPage(fence), seeds);
		UnlockReleaseBuffer(fence);
		return ATTEMPT_STALE;
	}
	range = find_range(index, fence, order, record, NULL);
	if (!check_ranges(index, fence, order, check, range, &first, &last))
	{
		UnlockReleaseBuffer(fence);
		return ATTEMPT_CROWDED;
	}
	lock_leaves(index, fence, tail->id, first, last, leaves);
	for (int i = first; check != NULL && i <= last; i++)
		if (BufferIsValid(leaves[i - first]) &&
			!check_leaf(index, leaves[i - first], check))
			result = ATTEMPT_REFUSED;
	if (result == ATTEMPT_DONE)
	{
		Buffer		leaf = leaves[range - first];

		if (BufferIsValid(leaf) &&
			snii_storage_record_fits(BufferGetPage(leaf), (uint32) record->len))
			append_record(index, leaf, record);
		else
			result = ATTEMPT_PAGE;
	}
	unlock_leaves(leaves, last - first + 1);
	UnlockReleaseBuffer(fence);
	return result;
}

/* ----------------------------------------------------------------
 *		The stretch
 * ----------------------------------------------------------------
 */

/*
 * Lock the list page of a stretch exclusively; InvalidBuffer if it is sealed
 * or gone.
 */
static Buffer
lock_header(Relation index, BlockNumber blk, uint64 id)
{
	Buffer		buf;
	Page		page;

	if (blk >= RelationGetNumberOfBlocks(index))
		return InvalidBuffer;
	buf = ReadBuffer(index, blk);
	snii_storage_lock_page(index, buf, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buf);
	if (!snii_storage_page_is(page, SNII_PAGE_LIST, id) ||
		snii_storage_list(page)->lane != SNII_ORDERED_LANE ||
		snii_storage_list(page)->sealed)
	{
		UnlockReleaseBuffer(buf);
		return InvalidBuffer;
	}
	snii_storage_stretch_verify(index, blk, snii_storage_list(page));
	return buf;
}

/*
 * Make sure that the next page of the stretch exists, whose list page is
 * locked.  False: the lock is gone, and the caller starts over.
 */
static bool
reserve_page(Relation index, Buffer header)
{
	SniiListPage *list = snii_storage_list(BufferGetPage(header));
	uint32		want;

	if (list->used < list->total)
	{
		BlockNumber blk = snii_storage_stretch_block(list, list->used);

		if (blk < RelationGetNumberOfBlocks(index))
			return true;
		/* Taken before a crash, or by another server. */
		UnlockReleaseBuffer(header);
		snii_storage_reserve(index, 0);
		return false;
	}
	want = Min(Max(list->total, 16), SNII_ORDERED_PAGES - list->total);
	if (!snii_storage_stretch_grow(index, header, want))
	{
		UnlockReleaseBuffer(header);
		snii_storage_reserve(index, want);
		return false;
	}
	UnlockReleaseBuffer(header);
	return false;
}

/*
 * Give a new stretch its fence page: one record of directory, list page and
 * fence page.
 */
static void
make_fence(Relation index, uint64 id, BlockNumber header_blk,
		   const Seeds *seeds)
{
	Buffer		dir_buf = snii_storage_read_page(index, SNII_DIR_BLOCK,
												 BUFFER_LOCK_EXCLUSIVE,
												 SNII_PAGE_DIR, 0);
	Buffer		header = lock_header(index, header_blk, id);

	if (BufferIsValid(header) &&
		snii_storage_list(BufferGetPage(header))->used == 0)
	{
		SniiListPage *list = snii_storage_list(BufferGetPage(header));
		BlockNumber blk = snii_storage_stretch_block(list, 0);
		Buffer		buf = snii_storage_fresh_page(index, blk);
		GenericXLogState *state = GenericXLogStart(index);
		SniiDirPage *dir = (SniiDirPage *)
		PageGetContents(GenericXLogRegisterBuffer(state, dir_buf, 0));
		Page		page;

		snii_storage_list(GenericXLogRegisterBuffer(state, header,
													0))->used = 1;
		page = GenericXLogRegisterBuffer(state, buf, GENERIC_XLOG_FULL_IMAGE);
		begin_fence(page, id);
		add_fence(page, 0, InvalidBlockNumber, NULL, 0);
		plant_seeds(page, seeds);
		for (uint32 i = 0; i < Min(dir->nentries, SNII_DIR_CAPACITY); i++)
			if (dir->entries[i].id == id)
				dir->entries[i].side_head = blk;
		dir->generation++;
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buf);
	}
	if (BufferIsValid(header))
		UnlockReleaseBuffer(header);
	UnlockReleaseBuffer(dir_buf);
}

/*
 * Find the open stretch by the meta page, or begin one.
 */
static SniiOrderedResult
find_tail(Relation index, SniiOrderedTail *tail, const Seeds *seeds,
		  int limit)
{
	BlockNumber last = InvalidBlockNumber;
	int			tries = 0;

	for (;;)
	{
		SniiMetaPage meta;
		BlockNumber blk;
		Buffer		buf;
		Page		page;
		SniiListPage *list;

		CHECK_FOR_INTERRUPTS();
		snii_storage_meta_read(index, &meta);
		blk = meta.lanes[SNII_ORDERED_LANE];
		if (!BlockNumberIsValid(blk))
			blk = snii_storage_stretch_begin(index, SNII_ORDERED_LANE, blk,
											 limit);
		if (!BlockNumberIsValid(blk))
			return SNII_ORDERED_NO_ROOM;
		if (blk >= RelationGetNumberOfBlocks(index))
			snii_storage_corrupted(index, SNII_META_BLOCK,
								   "write buffer begins at block %u, beyond the end",
								   blk);
		buf = ReadBuffer(index, blk);
		snii_storage_lock_page(index, buf, BUFFER_LOCK_EXCLUSIVE);
		page = BufferGetPage(buf);
		if (!snii_storage_page_is(page, SNII_PAGE_LIST, SNII_ANY_OWNER) ||
			snii_storage_opaque(page)->owner == 0 ||
			snii_storage_list(page)->lane != SNII_ORDERED_LANE ||
			snii_storage_list(page)->sealed)
		{
			/* Sealed, or even recycled, since we read the meta page. */
			UnlockReleaseBuffer(buf);
			tries = (blk == last) ? tries + 1 : 0;
			last = blk;
			if (tries > 1000)
				snii_storage_corrupted(index, blk,
									   "write buffer has no valid open stretch");
			continue;
		}
		list = snii_storage_list(page);
		snii_storage_stretch_verify(index, blk, list);
		tail->id = snii_storage_opaque(page)->owner;
		tail->header = blk;
		if (list->used > 0)
		{
			tail->fence = snii_storage_stretch_block(list, 0);
			UnlockReleaseBuffer(buf);
			return SNII_ORDERED_DONE;
		}
		if (reserve_page(index, buf))
		{
			UnlockReleaseBuffer(buf);
			SNII_TEST_POINT("stretch_begun");
			make_fence(index, tail->id, blk, seeds);
			SNII_TEST_POINT("fence_made");
		}
	}
}

SniiOrderedResult
snii_storage_ordered_begin(Relation index, SniiOrderedTail *tail, int limit)
{
	tail->id = 0;
	return find_tail(index, tail, NULL, limit);
}

/* ----------------------------------------------------------------
 *		New leaves and splits
 * ----------------------------------------------------------------
 */

/* A record of a full leaf. */
typedef struct SplitItem
{
	SniiRecord	record;
	uint32		at;				/* of its header, in the leaf's data */
} SplitItem;

static int
compare_items(const void *a, const void *b, void *arg)
{
	const SniiOrder *order = arg;

	return order->compare(order->arg, &((const SplitItem *) a)->record,
						  &((const SplitItem *) b)->record);
}

/* Put some records of a copy of a leaf's data into a leaf. */
static void
fill_leaf(Page page, const char *data, const SplitItem *items, int n)
{
	char	   *to = snii_storage_records(page)->data;

	for (int i = 0; i < n; i++)
	{
		uint32		len = sizeof(SniiRecordHeader) +
		(uint32) items[i].record.len;

		memcpy(to, data + items[i].at, len);
		to += len;
	}
	snii_storage_page_set_used(page, (uint32) (to - (char *) snii_storage_records(page)));
}

/* How a full leaf is to be split. */
typedef struct Split
{
	int			keep;			/* records that stay */
	int			n;				/* live records */
	SplitItem  *items;			/* in order */
	char	   *data;			/* copy of the leaf's data */
	bool		swap;			/* the old leaf gets the upper range */
	bool		append;			/* keys come in ascending order, it seems */
	uint32		sep_len;
	uint8		sep[SNII_ORDERED_MAX_BODY];
} Split;

/* The place nearest to the middle where the key changes, else the middle. */
static int
choose_middle(const SniiOrder *order, const SplitItem *items, int n)
{
	int			middle = n / 2;

	for (int d = 0; d < n / 2; d++)
	{
		if (middle + d < n &&
			!order->same_key(order->arg, &items[middle + d - 1].record,
							 &items[middle + d].record))
			return middle + d;
		if (middle - d >= 1 &&
			!order->same_key(order->arg, &items[middle - d - 1].record,
							 &items[middle - d].record))
			return middle - d;
	}
	return middle;
}

/*
 * How many items come before a record, if few come behind it, else "n": those
 * who insert ascending keys at once do so a little out of order.
 */
static int
near_the_end(const SniiOrder *order, const SplitItem *items, int n,
			 const SniiRecord *new)
{
	int			least = n - n / FEW;

	for (int i = n; i >= least && i > 0; i--)
		if (order->compare(order->arg, new, &items[i - 1].record) > 0)
			return i;
	return n;
}

/*
 * Decide what to do with a full leaf, locked, to which a record is to be
 * added.  Allocates in the current context.  Dead records are not moved: if
 * the leaf is rewritten they are gone, else they may be out of its range.
 */
static void
plan_split(Relation index, const SniiOrder *order, Buffer buf,
		   const SniiRecord *new, bool last_range, Split *split)
{
	Page		page = BufferGetPage(buf);
	uint32		nbytes = snii_storage_record_bytes(page);
	uint32		dead_bytes = 0;
	uint32		at = 0;
	SniiRecord	record;
	bool		dead;

	split->n = 0;
	split->sep_len = 0;
	split->swap = split->append = false;
	split->data = palloc(BLCKSZ);
	memcpy(split->data, snii_storage_records(page)->data, nbytes);
	split->items = palloc((nbytes / sizeof(SniiRecordHeader) + 1) *
						  sizeof(SplitItem));
	for (uint32 from = 0;
		 next_record(index, split->data, nbytes, &at, &record, &dead);
		 from = at)
	{
		if (dead)
		{
			dead_bytes += at - from;
			continue;
		}
		split->items[split->n].record = record;
		split->items[split->n++].at = from;
	}
	qsort_arg(split->items, split->n, sizeof(SplitItem), compare_items,
			  unconstify(SniiOrder *, order));
	split->keep = split->n;
	if (split->n == 0 || dead_bytes >= DEAD_BYTES)
		return;
	if (order->compare(order->arg, new,
					   &split->items[split->n - 1].record) > 0)
	{
		split->append = true;
		split->sep_len = order->separate(order->arg,
										 &split->items[split->n - 1].record,
										 new, split->sep);
	}
	else if (order->compare(order->arg, new, &split->items[0].record) < 0)
	{
		split->swap = true;
		split->sep_len = order->separate(order->arg, new,
										 &split->items[0].record, split->sep);
	}
	else
	{
		if (last_range)
			split->keep = near_the_end(order, split->items, split->n, new);
		split->append = split->keep < split->n;
		if (!split->append)
			split->keep = choose_middle(order, split->items, split->n);
		split->sep_len = order->separate(order->arg,
										 &split->items[split->keep - 1].record,
										 split->append ? new :
										 &split->items[split->keep].record,
										 split->sep);
	}
}

/* Rewrite a leaf without its dead records. */
static void
clean_leaf(Relation index, Buffer buf, const Split *split)
{
	GenericXLogState *state = GenericXLogStart(index);

	fill_leaf(GenericXLogRegisterBuffer(state, buf, 0), split->data,
			  split->items, split->n);
	GenericXLogFinish(state);
}

/*
 * Hand out a leaf, and write it down at range i of the fences: for that range
 * if it has none, else for a part of it.  All locks are held.
 */
static void
write_split(Relation index, Buffer header, Buffer fence_buf, int i,
			Buffer leaf_buf, uint64 id, const Split *split)
{
	SniiListPage *list = snii_storage_list(BufferGetPage(header));
	BlockNumber blk = snii_storage_stretch_block(list, list->used);
	Buffer		new_buf = snii_storage_fresh_page(index, blk);
	GenericXLogState *state = GenericXLogStart(index);
	Page		fence;
	Page		page;

	snii_storage_list(GenericXLogRegisterBuffer(state, header, 0))->used++;
	fence = GenericXLogRegisterBuffer(state, fence_buf, 0);
	page = GenericXLogRegisterBuffer(state, new_buf, GENERIC_XLOG_FULL_IMAGE);
	snii_storage_records_begin(page, id, 0);
	if (split != NULL && split->append)
		fence_of(fence)->nappended++;
	if (split == NULL)
		set_leaf(fence, i, blk);
	else if (split->swap)
	{
		add_fence(fence, i + 1, BufferGetBlockNumber(leaf_buf), split->sep,
				  split->sep_len);
		set_leaf(fence, i, blk);
	}
	else
	{
		add_fence(fence, i + 1, blk, split->sep, split->sep_len);
		if (split->keep < split->n)
		{
			fill_leaf(page, split->data, split->items + split->keep,
					  split->n - split->keep);
			fill_leaf(GenericXLogRegisterBuffer(state, leaf_buf, 0),
					  split->data, split->items, split->keep);
		}
	}
	GenericXLogFinish(state);
	UnlockReleaseBuffer(new_buf);
}

/*
 * Split the leaf of the record, or make one.  list page and fence page are
 * locked.  False: the fence page has no room for another separator.
 */
static bool
add_leaf(Relation index, const SniiOrder *order, uint64 id, Buffer header,
		 Buffer fence, const SniiRecord *record)
{
	int			i = find_range(index, fence, order, record, NULL);
	Split	   *split;
	Buffer		leaf;
	SniiFence	f;
	bool		result = true;

	checked_fence(index, BufferGetBlockNumber(fence), BufferGetPage(fence), i,
				  &f);
	if (!BlockNumberIsValid(f.leaf))
	{
		write_split(index, header, fence, i, InvalidBuffer, id, NULL);
		return true;
	}
	leaf = lock_leaf(index, f.leaf, id, BUFFER_LOCK_EXCLUSIVE);
	if (!snii_storage_record_fits(BufferGetPage(leaf), (uint32) record->len))
	{
		split = palloc(sizeof(Split));
		plan_split(index, order, leaf, record,
				   i + 1 == fence_of(BufferGetPage(fence))->nfences, split);
		if (split->sep_len == 0)
			clean_leaf(index, leaf, split);
		else if (fence_has_room(fence_of(BufferGetPage(fence)),
								split->sep_len))
			write_split(index, header, fence, i, leaf, id, split);
		else
			result = false;
		pfree(split->items);
		pfree(split->data);
		pfree(split);
	}
	UnlockReleaseBuffer(leaf);
	return result;
}

/*
 * Make room for the record.  False: the stretch was full; it is sealed, and
 * its separators are in seeds.
 */
static bool
make_room(Relation index, const SniiOrder *order,
		  const SniiOrderedTail *tail, const SniiOrderedWish *wish,
		  const SniiRecord *record, Seeds *seeds)
{
	Buffer		header = lock_header(index, tail->header, tail->id);
	Buffer		fence;
	SniiListPage *list;
	bool		full;

	if (!BufferIsValid(header))
		return true;
	list = snii_storage_list(BufferGetPage(header));
	full = list->used >= Min(wish->max_pages, SNII_ORDERED_PAGES) ||
		list->nextents >= SNII_LIST_CAPACITY;
	if (!full && !reserve_page(index, header))
		return true;
	fence = lock_fence(index, tail->fence, tail->id, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(fence))
		snii_storage_corrupted(index, tail->fence,
							   "page is not the fence page that it should be");
	verify_fence(index, tail->fence, BufferGetPage(fence));
	if (!full)
		full = !add_leaf(index, order, tail->id, header, fence, record);
	if (full)
		gather_seeds(BufferGetPage(fence), seeds);
	UnlockReleaseBuffer(fence);
	UnlockReleaseBuffer(header);
	SNII_TEST_POINT("leaf_added");
	if (full)
	{
		snii_storage_stretch_seal(index, tail->id);
		SNII_TEST_POINT("ordered_sealed");
	}
	return !full;
}

SniiOrderedResult
snii_storage_ordered_insert(Relation index, const SniiOrder *order,
							SniiOrderedTail *tail,
							const SniiOrderedWish *wish,
							const SniiRecord *record)
{
	Seeds		seeds = {NULL};
	SniiOrderedResult result;

	Assert(record->len <= SNII_ORDERED_MAX_BODY);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (tail->id == 0 ||
			(wish->expected != 0 && wish->expected != tail->id))
		{
			result = find_tail(index, tail, &seeds, wish->limit);
			if (result != SNII_ORDERED_DONE)
				return result;
			if (wish->expected != 0 && wish->expected != tail->id)
				return SNII_ORDERED_MOVED;
		}
		switch (try_insert(index, order, tail, wish->check, record, &seeds))
		{
			case ATTEMPT_DONE:
				return SNII_ORDERED_DONE;
			case ATTEMPT_REFUSED:
				return SNII_ORDERED_REFUSED;
			case ATTEMPT_STALE:
				tail->id = 0;
				break;
			case ATTEMPT_PAGE:
				if (make_room(index, order, tail, wish, record, &seeds))
					break;

				/* Go on with the next one at once, while we know its fences. */
				tail->id = 0;
				(void) find_tail(index, tail, &seeds, wish->limit);
				return SNII_ORDERED_SEALED;
			case ATTEMPT_CROWDED:
				/* Without seeds: among these may be those of this key. */
				snii_storage_stretch_seal(index, tail->id);
				tail->id = 0;
				return SNII_ORDERED_SEALED;
		}
	}
}

/* ----------------------------------------------------------------
 *		Checking
 * ----------------------------------------------------------------
 */

/* Records of a leaf, locked, are between its fences. */
static void
check_records(Relation index, const SniiOrder *order, Buffer leaf,
			  const uint8 *lower, uint32 lower_len, const uint8 *upper,
			  uint32 upper_len)
{
	Page		page = BufferGetPage(leaf);
	SniiRecord	record;
	uint32		at = 0;
	bool		dead;

	while (next_record(index, snii_storage_records(page)->data,
					   snii_storage_record_bytes(page), &at,
					   &record, &dead))
		/* What is dead stays where it is when others move. */
		if (!dead &&
			(order->compare_separator(order->arg, &record, lower,
									  lower_len) < 0 ||
			 (upper != NULL &&
			  order->compare_separator(order->arg, &record, upper,
									   upper_len) >= 0)))
			snii_storage_corrupted(index, BufferGetBlockNumber(leaf),
								   "record is on the wrong leaf");
}

/*
 * Check range i, if there is one, and its leaf; *nleaves counts.  The fence
 * page is locked for one range at a time.  Ranges only become more: i
 * goes on from one that was checked, so none is left out.
 */
static bool
check_range(Relation index, const SniiDirEntry *stretch,
			const SniiOrder *order, int i, uint32 *nleaves)
{
	Buffer		buf = lock_fence(index, stretch->side_head, stretch->id,
								 BUFFER_LOCK_SHARE);
	Page		page;
	SniiFence	f;
	SniiFence	next = {0};
	const uint8 *lower;
	const uint8 *upper = NULL;

	if (!BufferIsValid(buf))
		snii_storage_corrupted(index, stretch->side_head,
							   "page is not the fence page that it should be");
	page = BufferGetPage(buf);
	verify_fence(index, stretch->side_head, page);
	if (i >= fence_of(page)->nfences)
	{
		UnlockReleaseBuffer(buf);
		return false;
	}
	lower = fence_at(fence_of(page), i, &f);
	if (i + 1 < fence_of(page)->nfences)
		upper = fence_at(fence_of(page), i + 1, &next);
	if (BlockNumberIsValid(f.leaf))
	{
		Buffer		leaf = lock_leaf(index, f.leaf, stretch->id,
									 BUFFER_LOCK_SHARE);

		check_records(index, order, leaf, lower, f.len, upper, next.len);
		UnlockReleaseBuffer(leaf);
		(*nleaves)++;
	}
	UnlockReleaseBuffer(buf);
	return true;
}

void
snii_storage_ordered_check(Relation index, const SniiDirEntry *stretch,
						   const SniiOrder *order)
{
	uint32		nleaves = 0;
	Buffer		buf;
	uint32		used;

	if (!BlockNumberIsValid(stretch->side_head))
		return;
	if (stretch->side_head >= RelationGetNumberOfBlocks(index))
		snii_storage_corrupted(index, stretch->side_head,
							   "fence page does not exist");
	for (int i = 0; check_range(index, stretch, order, i, &nleaves); i++)
		CHECK_FOR_INTERRUPTS();
	if ((stretch->flags & SNII_ENTRY_SEALED) == 0)
		return;
	buf = snii_storage_read_page(index, stretch->list_head,
								 BUFFER_LOCK_SHARE, SNII_PAGE_LIST,
								 stretch->id);
	used = snii_storage_list(BufferGetPage(buf))->used;
	UnlockReleaseBuffer(buf);
	if (nleaves + 1 != used)
		snii_storage_corrupted(index, stretch->side_head,
							   "fence page names %u leaves of a stretch of %u pages",
							   nleaves, used);
}
