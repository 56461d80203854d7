/*-------------------------------------------------------------------------
 *
 * test_lsm_ordered.c
 *	  The trivial kind with an order: access method snii_test_ordered.
 *
 * Records are in the order of their bytes, then of their TIDs.  A separator
 * is the bytes of a record and its TID.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_ordered.h"
#include "storage/storage_page.h"
#include "storage/storage_point.h"
#include "test_lsm.h"

#include "access/amapi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define TID_BYTES	sizeof(ItemPointerData)
#define MAX_BODY	(SNII_ORDERED_MAX_BODY - TID_BYTES)

/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

static int
compare_bytes(const uint8 *a, size_t alen, const uint8 *b, size_t blen)
{
	int			cmp = memcmp(a, b, Min(alen, blen));

	if (cmp != 0)
		return cmp;
	return alen < blen ? -1 : alen > blen ? 1 : 0;
}

static int
order_compare(void *arg, const SniiRecord *a, const SniiRecord *b)
{
	int			cmp = compare_bytes(a->data, a->len, b->data, b->len);

	return cmp != 0 ? cmp :
		ItemPointerCompare(unconstify(ItemPointerData *, &a->tid),
						   unconstify(ItemPointerData *, &b->tid));
}

static bool
order_same_key(void *arg, const SniiRecord *a, const SniiRecord *b)
{
	return compare_bytes(a->data, a->len, b->data, b->len) == 0;
}

/* What a separator (len > 0) was made of. */
static void
parse_separator(const uint8 *sep, uint32 len, SniiRecord *record)
{
	record->data = sep;
	record->len = len - TID_BYTES;
	memcpy(&record->tid, sep + record->len, TID_BYTES);
}

static int
order_compare_separator(void *arg, const SniiRecord *a, const uint8 *sep,
						uint32 len)
{
	SniiRecord	b;

	if (len == 0)
		return 1;
	parse_separator(sep, len, &b);
	return order_compare(arg, a, &b);
}

static int
order_compare_target(void *arg, const void *target, const uint8 *sep,
					 uint32 len)
{
	return order_compare_separator(arg, target, sep, len);
}

static uint32
order_separate(void *arg, const SniiRecord *left, const SniiRecord *right,
			   uint8 *out)
{
	if (order_compare(arg, left, right) >= 0)
		elog(ERROR, "separator is wanted of records out of order");
	memcpy(out, right->data, right->len);
	memcpy(out + right->len, &right->tid, TID_BYTES);
	return (uint32) (right->len + TID_BYTES);
}

static const SniiOrder test_order = {
	.compare = order_compare,
	.same_key = order_same_key,
	.compare_separator = order_compare_separator,
	.compare_target = order_compare_target,
	.separate = order_separate
};

static SniiOrder *
get_order(Relation index)
{
	return unconstify(SniiOrder *, &test_order);
}

/* ----------------------------------------------------------------
 *		Flush and merge
 * ----------------------------------------------------------------
 */

/* Records, copied, in memory. */
typedef struct Records
{
	SniiRecord *values;
	uint64		n;
	uint64		capacity;
} Records;

static void
add_record(Records *list, const SniiRecord *record)
{
	uint8	   *data = palloc(record->len);

	memcpy(data, record->data, record->len);
	if (list->n == list->capacity)
	{
		list->capacity = Max(2 * list->capacity, 1024);
		list->values = list->values == NULL ?
			palloc(list->capacity * sizeof(SniiRecord)) :
			repalloc_huge(list->values, list->capacity * sizeof(SniiRecord));
	}
	list->values[list->n] = *record;
	list->values[list->n++].data = data;
}

static int
compare_records(const void *a, const void *b)
{
	return order_compare(NULL, a, b);
}

static uint64
write_records(SniiObjectWriter *w, Records *list)
{
	qsort(list->values, list->n, sizeof(SniiRecord), compare_records);
	for (uint64 i = 0; i < list->n; i++)
		test_lsm_add(w, &list->values[i]);
	return list->n;
}

static uint64
ordered_build(Relation index, SniiObjectWriter *w, SniiRecordSource *source)
{
	Records		list = {0};
	SniiRecord	record;

	snii_test_point("build_start");
	while (source->next(source, &record))
	{
		CHECK_FOR_INTERRUPTS();
		add_record(&list, &record);
	}
	snii_test_point("build_end");
	return write_records(w, &list);
}

static uint64
ordered_merge(Relation index, SniiObjectWriter *w, SniiMergeInput *inputs,
			  int ninputs)
{
	Records		list = {0};

	snii_test_point("merge_start");
	for (int i = 0; i < ninputs; i++)
	{
		TestSegment s;
		SniiRecord	record;

		test_lsm_open(&s, inputs[i].object, inputs[i].ndocs);
		for (uint64 ordinal = 0; test_lsm_next(&s, &record); ordinal++)
		{
			CHECK_FOR_INTERRUPTS();
			if ((inputs[i].marks[ordinal / 8] & (1 << (ordinal % 8))) == 0)
				add_record(&list, &record);
		}
		test_lsm_close(&s);
	}
	snii_test_point("merge_end");
	return write_records(w, &list);
}

static uint64
find_record(Relation index, SniiObject *output, uint64 ndocs,
			const SniiRecord *record)
{
	TestSegment s;
	SniiRecord	other;
	bool		found = false;

	test_lsm_open(&s, output, ndocs);
	while (!found && test_lsm_next(&s, &other))
		found = order_compare(NULL, record, &other) == 0;
	test_lsm_close(&s);
	if (!found)
		elog(ERROR, "record is missing in the output");
	return s.next - 1;
}

static void
find_marked(Relation index, SniiObject *output, uint64 ndocs,
			SniiObject *input, uint64 input_ndocs, const uint8 *late,
			void (*sink) (void *arg, uint64 ordinal), void *arg)
{
	TestSegment s;
	SniiRecord	record;

	test_lsm_open(&s, input, input_ndocs);
	for (uint64 i = 0; test_lsm_next(&s, &record); i++)
		if (late[i / 8] & (1 << (i % 8)))
			sink(arg, find_record(index, output, ndocs, &record));
	test_lsm_close(&s);
}

const SniiKind *
test_lsm_ordered_kind(void)
{
	static SniiKind kind;

	kind = test_lsm_kind;
	kind.id = SNII_KIND_TEST_ORDERED;
	kind.name = "test_ordered";
	kind.build = ordered_build;
	kind.merge = ordered_merge;
	kind.order = get_order;
	kind.find_record = find_record;
	kind.find_marked = find_marked;
	return &kind;
}

/* ----------------------------------------------------------------
 *		Insertion and reading
 * ----------------------------------------------------------------
 */

void
test_lsm_ordered_insert(Relation index, Relation heap,
						const SniiRecord *record)
{
	if (record->len > MAX_BODY)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value has more than %d bytes", (int) MAX_BODY)));
	if (snii_lsm_insert_ordered(index, heap, &test_order, 0, record,
								NULL) != SNII_ORDERED_DONE)
		elog(ERROR, "record was not inserted");
}

struct TestLeaves
{
	const SniiDirEntry *stretch;
	bool		open;			/* copy is one that is being read */
	bool		has_key;		/* only records of this key are wanted */
	SniiRecord	key;
	SniiRecord	target;			/* of the next leaf */
	uint32		at;
	SniiLeafCopy copy;
	SniiLeafCopy before;		/* owns what target points to */
};

TestLeaves *
test_lsm_leaves(const SniiDirEntry *stretch, const uint8 *key, size_t len)
{
	TestLeaves *leaves = palloc0(sizeof(TestLeaves));

	leaves->stretch = stretch;
	leaves->has_key = key != NULL;
	if (key != NULL)
	{
		leaves->key.data = key;
		leaves->key.len = len;
	}
	else
		leaves->key.data = (const uint8 *) "";
	leaves->target = leaves->key;
	return leaves;
}

/* Copy the next leaf; false at the end. */
static bool
next_leaf(Relation index, TestLeaves *leaves)
{
	if (leaves->open)
	{
		if (leaves->copy.last)
			return false;
		memcpy(&leaves->before, &leaves->copy, sizeof(SniiLeafCopy));
		parse_separator(leaves->before.upper, leaves->before.upper_len,
						&leaves->target);
		if (leaves->has_key &&
			compare_bytes(leaves->key.data, leaves->key.len,
						  leaves->target.data, leaves->target.len) < 0)
			return false;
	}
	snii_storage_ordered_leaf(index, leaves->stretch, &test_order,
							  &leaves->target, &leaves->copy);
	if (leaves->open &&
		(leaves->copy.lower_len != leaves->before.upper_len ||
		 memcmp(leaves->copy.lower, leaves->before.upper,
				leaves->before.upper_len) != 0))
		elog(ERROR, "leaves do not follow each other");
	leaves->open = true;
	leaves->at = 0;
	return true;
}

bool
test_lsm_leaves_next(Relation index, TestLeaves *leaves, SniiRecord *record)
{
	bool		dead;

	for (;;)
	{
		while (leaves->open &&
			   snii_storage_ordered_next(index, &leaves->copy, &leaves->at,
										 record, &dead))
			if (!dead)
				return true;
		if (!next_leaf(index, leaves))
			return false;
	}
}
