/*-------------------------------------------------------------------------
 *
 * key_sort.c
 *	  Sorting entries in memory.
 *
 * Entries stand one behind the other in chunks; what is sorted are their
 * places with the first bytes of their strings.  These are first spread over
 * buckets by their leading bits that differ, which for keys that are spread
 * evenly leaves a few entries a bucket; each bucket is sorted by comparisons.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_page.h"
#include "key/key_sort.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

/* In front of an entry's bytes. */
typedef struct StoredEntry
{
	uint16		len;
	uint16		payload_len;
	uint8		tag;
	uint8		bytes[FLEXIBLE_ARRAY_MEMBER];
} StoredEntry;

typedef struct SortItem
{
	uint64		prefix;
	const StoredEntry *entry;
} SortItem;

struct SniiKeySort
{
	const SniiKeyDesc *desc;
	MemoryContext context;
	Size		budget;
	Size		used;			/* bytes of chunks */
	char	   *at;
	Size		left;
	uint64		n;
	uint64		capacity;
	SortItem   *items;
	SniiMemReporter *mem;
	Size		counted;		/* there */
};

#define CHUNK_BYTES		(512 * 1024)
#define FIRST_ITEMS		4096
#define BUCKET_BITS		16

/* Entries that are asked for ahead of their turn. */
#define AHEAD			16

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(p)		__builtin_prefetch(p)
#else
#define PREFETCH(p)		((void) (p))
#endif

/* Fewer entries are not spread. */
#define FEW_ITEMS		1024

/* Count that many bytes in all, before they are taken or after. */
static void
count(SniiKeySort *sort, Size bytes)
{
	if (bytes > sort->counted)
		snii_mem_reserve(sort->mem, bytes - sort->counted);
	else
		snii_mem_release(sort->mem, sort->counted - bytes);
	sort->counted = bytes;
}

/* The array of items is there twice, while it is sorted or grows. */
static inline Size
memory_of(const SniiKeySort *sort, uint64 capacity)
{
	return sort->used + 2 * capacity * sizeof(SortItem);
}

SniiKeySort *
snii_key_sort_begin(const SniiKeyDesc *desc, Size budget, SniiMemReporter *mem)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii key sort",
												  ALLOCSET_DEFAULT_SIZES);
	SniiKeySort *sort = MemoryContextAllocZero(context, sizeof(SniiKeySort));

	sort->desc = desc;
	sort->context = context;
	sort->budget = budget;
	sort->mem = mem;
	sort->capacity = FIRST_ITEMS;
	count(sort, memory_of(sort, FIRST_ITEMS));
	sort->items = MemoryContextAlloc(context, FIRST_ITEMS * sizeof(SortItem));
	return sort;
}

/* The first bytes of a string as a number; 0 where bytes give no order. */
static inline uint64
prefix_of(const SniiKeyDesc *desc, const uint8 *str, uint32 len)
{
	uint64		prefix = 0;

	if (!desc->all_bytes)
		return 0;
	memcpy(&prefix, str, Min(len, sizeof(prefix)));
	return pg_ntoh64(prefix);
}

static bool
make_room(SniiKeySort *sort, Size size)
{
	if (sort->n == sort->capacity)
	{
		if (memory_of(sort, 2 * sort->capacity) > sort->budget)
			return false;
		count(sort, memory_of(sort, 2 * sort->capacity));
		sort->capacity *= 2;
		sort->items = repalloc_huge(sort->items,
									sort->capacity * sizeof(SortItem));
	}
	if (size > sort->left)
	{
		if (sort->n > 0 &&
			memory_of(sort, sort->capacity) + CHUNK_BYTES > sort->budget)
			return false;
		count(sort, memory_of(sort, sort->capacity) + CHUNK_BYTES);
		sort->at = MemoryContextAlloc(sort->context, CHUNK_BYTES);
		sort->left = CHUNK_BYTES;
		sort->used += CHUNK_BYTES;
	}
	return true;
}

bool
snii_key_sort_add(SniiKeySort *sort, const SniiKeyEntry *entry, uint8 tag)
{
	Size		size = offsetof(StoredEntry, bytes) + entry->len +
	entry->payload_len;
	StoredEntry *stored;
	SortItem   *item;

	/* Lengths are read where they are. */
	size = TYPEALIGN(2, size);
	if ((size > sort->left || sort->n == sort->capacity) &&
		!make_room(sort, size))
		return false;
	stored = (StoredEntry *) sort->at;
	sort->at += size;
	sort->left -= size;
	stored->len = (uint16) entry->len;
	stored->payload_len = (uint16) entry->payload_len;
	stored->tag = tag;
	memcpy(stored->bytes, entry->str, entry->len);
	if (entry->payload_len > 0)
		memcpy(stored->bytes + entry->len, entry->payload,
			   entry->payload_len);
	item = &sort->items[sort->n++];
	item->prefix = prefix_of(sort->desc, stored->bytes, stored->len);
	item->entry = stored;
	return true;
}

uint64
snii_key_sort_count(const SniiKeySort *sort)
{
	return sort->n;
}

Size
snii_key_sort_memory(const SniiKeySort *sort)
{
	return memory_of(sort, sort->capacity);
}

static inline int
compare_items(const SortItem *a, const SortItem *b, const SniiKeyDesc *desc)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return snii_key_compare(desc, a->entry->bytes, a->entry->len,
							b->entry->bytes, b->entry->len);
}

#define ST_SORT sort_items
#define ST_ELEMENT_TYPE SortItem
#define ST_COMPARE(a, b, desc) compare_items(a, b, desc)
#define ST_COMPARE_ARG_TYPE const SniiKeyDesc
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Spread the items over buckets; false if there is nothing to tell them apart
 * by.  *shift: the bucket of a prefix is (prefix - min) >> shift.
 */
static bool
find_shift(const SniiKeySort *sort, uint64 *min, int *shift)
{
	uint64		max = sort->items[0].prefix;

	*min = max;
	for (uint64 i = 1; i < sort->n; i++)
	{
		*min = Min(*min, sort->items[i].prefix);
		max = Max(max, sort->items[i].prefix);
	}
	if (max == *min)
		return false;
	*shift = Max(0, pg_leftmost_one_pos64(max - *min) + 1 - BUCKET_BITS);
	return true;
}

static void
spread_and_sort(SniiKeySort *sort, uint64 min, int shift)
{
	uint64		nbuckets = (UINT64CONST(1) << BUCKET_BITS) + 1;
	uint64	   *ends = MemoryContextAllocZero(sort->context,
											  (nbuckets + 1) * sizeof(uint64));
	SortItem   *to = MemoryContextAllocHuge(sort->context,
											sort->n * sizeof(SortItem));
	uint64		from = 0;

	for (uint64 i = 0; i < sort->n; i++)
		ends[((sort->items[i].prefix - min) >> shift) + 1]++;
	for (uint64 b = 1; b <= nbuckets; b++)
		ends[b] += ends[b - 1];
	/* ends[b] is where bucket b begins, and moves to its end. */
	for (uint64 i = 0; i < sort->n; i++)
		to[ends[(sort->items[i].prefix - min) >> shift]++] = sort->items[i];
	pfree(sort->items);
	sort->items = to;
	sort->capacity = sort->n;
	for (uint64 b = 0; b < nbuckets; b++)
	{
		if (ends[b] > from + 1)
			sort_items(to + from, ends[b] - from, sort->desc);
		from = Max(from, ends[b]);
		if (b % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(ends);
}

void
snii_key_sort_perform(SniiKeySort *sort)
{
	uint64		min;
	int			shift;

	if (sort->n < FEW_ITEMS || !find_shift(sort, &min, &shift))
		sort_items(sort->items, sort->n, sort->desc);
	else
		spread_and_sort(sort, min, shift);
}

void
snii_key_sort_get(const SniiKeySort *sort, uint64 i, SniiKeyEntry *entry,
				  uint8 *tag)
{
	const StoredEntry *stored = sort->items[i].entry;

	/* Each is somewhere else in memory: ask for it some time before. */
	if (i + AHEAD < sort->n)
		PREFETCH(sort->items[i + AHEAD].entry);
	entry->str = stored->bytes;
	entry->len = stored->len;
	entry->payload = stored->bytes + stored->len;
	entry->payload_len = stored->payload_len;
	*tag = stored->tag;
}

typedef struct SortStream
{
	SniiKeyStream s;
	const SniiKeySort *sort;
	uint64		i;
} SortStream;

static bool
next_of_sort(SniiKeyStream *s)
{
	SortStream *stream = (SortStream *) s;
	const SniiKeySort *sort = stream->sort;
	const uint8 *before = s->entry.str;
	uint32		len = s->entry.len;

	if (stream->i == sort->n)
		return false;
	snii_key_sort_get(sort, stream->i++, &s->entry, &s->tag);
	if (sort->desc->all_bytes && before != NULL)
		s->shared = snii_key_common(before, s->entry.str,
									Min(len, s->entry.len));
	return true;
}

SniiKeyStream *
snii_key_sort_stream(const SniiKeySort *sort)
{
	SortStream *stream = MemoryContextAllocZero(sort->context,
												sizeof(SortStream));

	stream->s.next = next_of_sort;
	stream->sort = sort;
	return &stream->s;
}

void
snii_key_sort_end(SniiKeySort *sort)
{
	SniiKeySort freed = *sort;

	MemoryContextDelete(sort->context);
	count(&freed, 0);
}
