/*-------------------------------------------------------------------------
 *
 * test_krun.c
 *	  What the tests of runs of key indexes share.
 *
 * Runs are written into a real index, empty before and after, whose columns
 * say what keys look like.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "key/key_kind.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_view.h"
#include "storage/storage_alloc.h"
#include "storage/storage_directory.h"
#include "test_krun.h"

PG_MODULE_MAGIC;

#define LONGEST_TEXT	2600

uint64		test_krun_allocations = 0;

void
test_krun_fail(const char *condition, const char *file, int line,
			   const char *details)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("property does not hold: %s", condition),
			 errdetail("%s, at %s:%d.", details, file, line)));
}

const SniiKind *
test_krun_kind(void)
{
	/* The registry is that of this library. */
	if (snii_lsm_kind_by_id(SNII_KIND_KEY) == NULL)
		snii_key_kind_register();
	return snii_lsm_kind_by_id(SNII_KIND_KEY);
}

/* ---------------- values ---------------- */
Shape
test_krun_shape(const char *name)
{
	static const char *const names[] = {
		"random", "sequential", "duplicates", "prefix", "long", "longest"
	};

	for (int i = 0; i < lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (Shape) i;
	elog(ERROR, "unknown shape %s", name);
}

/* Bytes of a number: some hexadecimal digits, or very many. */
static int
make_bytes(Shape shape, uint64 number, int longest, char *out)
{
	int			n = 0;

	if (shape == SHAPE_PREFIX)
		for (int i = 0; i < 280; i++)
			out[n++] = (char) ('a' + i % 23);
	n += sprintf(out + n, UINT64_FORMAT, number);
	if (shape == SHAPE_LONG || shape == SHAPE_LONGEST)
		for (int len = shape == SHAPE_LONG ? (int) (number % longest) :
			 longest; n < len; n++)
			out[n] = (char) ('a' + (number >> (n % 11)) % 26);
	if (shape == SHAPE_PREFIX && number % 3 == 0)
		out[n++] = 'x';
	return n;
}

static Datum
make_value(Oid type, Shape shape, uint64 number)
{
	char		buf[LONGEST_TEXT + 320];

	switch (type)
	{
		case INT4OID:
			return Int32GetDatum((int32) number);
		case INT8OID:
			return Int64GetDatum((int64) number);
		case BOOLOID:
			return BoolGetDatum(number % 2);
		case UUIDOID:
			{
				pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
				uint64		parts[2];

				parts[0] = shape == SHAPE_RANDOM ? number : 0;
				parts[1] = shape == SHAPE_RANDOM ? test_krun_mix(number) :
					pg_hton64(number);
				memcpy(uuid->data, parts, sizeof(parts));
				return UUIDPGetDatum(uuid);
			}
		case TEXTOID:
			return PointerGetDatum(cstring_to_text_with_len(buf,
															make_bytes(shape,
																	   number,
																	   LONGEST_TEXT,
																	   buf)));
		case BYTEAOID:
			{
				int			n = make_bytes(shape, number, LONGEST_TEXT / 2,
										   buf);

				/* Zeroes and 255 are special; a zero takes two bytes. */
				for (int i = 0; i < n; i++)
					if (buf[i] % 5 == 0)
						buf[i] = buf[i] % 2 ? 0 : (char) 255;
				return PointerGetDatum(cstring_to_text_with_len(buf, n));
			}
		case NUMERICOID:
			sprintf(buf, INT64_FORMAT ".%d%s", (int64) number % 100000000,
					(int) (number % 7), number % 3 ? "" : "00");
			return DirectFunctionCall3(numeric_in, CStringGetDatum(buf),
									   ObjectIdGetDatum(InvalidOid),
									   Int32GetDatum(-1));
		default:
			elog(ERROR, "no values of type %u", type);
	}
}

void
test_krun_key(const Corpus *c, uint64 number, SniiKeyBytes *key,
			  SniiKeyBytes *payload)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	for (int i = 0; i < c->desc->nattrs; i++)
	{
		/* Further columns have few values, and some are NULL. */
		uint64		v = i == 0 ? number : test_krun_mix(number + i) % 50;

		nulls[i] = c->shape != SHAPE_SEQUENTIAL &&
			v % 50 == TEST_KRUN_NULL;
		values[i] = nulls[i] ? (Datum) 0 :
			make_value(TupleDescAttr(c->desc->tupdesc, i)->atttypid,
					   i == 0 || v % 10 == 0 ? c->shape : SHAPE_RANDOM, v);
	}
	snii_key_encode(c->desc, values, nulls, key);
	if (payload != NULL && c->desc->nattrs > c->desc->nkeys)
		snii_key_encode_payload(c->desc, values, nulls, payload);
}

/* ---------------- entries ---------------- */
static int
compare_entries(const void *a, const void *b, void *arg)
{
	const SniiKeyEntry *x = a;
	const SniiKeyEntry *y = b;

	return snii_key_compare(arg, x->str, x->len, y->str, y->len);
}

static uint64
make_number(Corpus *c, uint64 i)
{
	switch (c->shape)
	{
		case SHAPE_SEQUENTIAL:
			return i;
		case SHAPE_DUPLICATES:
			return test_krun_range(&c->prng, 0, 9) < 8 ? 4 :
				test_krun_range(&c->prng, 0, 6);
		default:
			return test_krun_random(&c->prng);
	}
}

static void
make_entries(Corpus *c)
{
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext, "row",
											  ALLOCSET_DEFAULT_SIZES);
	SniiKeyEntry *result =
	MemoryContextAllocHuge(CurrentMemoryContext,
						   (c->n + 1) * sizeof(SniiKeyEntry));

	for (uint64 i = 0; i < c->n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row);
		uint64		number = make_number(c, i);
		uint32		place = (uint32) i * 2654435761U;
		SniiKeyBytes key = {0};
		SniiKeyBytes payload = {0};
		ItemPointerData tid;
		uint8	   *copy;

		CHECK_FOR_INTERRUPTS();
		/* Each TID once; equal keys have them in no order. */
		ItemPointerSet(&tid, place >> 7, (place & 127) + 1);
		test_krun_key(c, number, &key, &payload);
		snii_key_put_tid(&key, &tid);
		MemoryContextSwitchTo(old);
		copy = palloc(key.len + payload.len);
		memcpy(copy, key.data, key.len);
		if (payload.len > 0)
			memcpy(copy + key.len, payload.data, payload.len);
		result[i].str = copy;
		result[i].len = key.len;
		result[i].payload = copy + key.len;
		result[i].payload_len = payload.len;
		MemoryContextReset(row);
	}
	MemoryContextDelete(row);
	qsort_arg(result, c->n, sizeof(SniiKeyEntry), compare_entries, c->desc);

	/* Neighbours beside each other, as far as measurements are concerned. */
	for (uint64 i = 0; i < c->n; i++)
	{
		uint8	   *copy = palloc(result[i].len + result[i].payload_len);

		memcpy(copy, result[i].str, result[i].len + result[i].payload_len);
		result[i].str = copy;
		result[i].payload = copy + result[i].len;
	}
	c->entries = result;
}

/* ---------------- the index ---------------- */

/* Take everything out of the directory. */
static void
empty_index(Relation index)
{
	SniiView   *view = snii_lsm_view(index, true);
	uint64	   *ids = palloc((view->nentries + 1) * sizeof(uint64));
	SniiSwap	swap = {.slot = -1};

	for (int i = 0; i < view->nentries; i++)
		ids[i] = view->entries[i].id;
	swap.remove = ids;
	swap.nremove = view->nentries;
	if (swap.nremove > 0)
		snii_storage_swap(index, &swap);
	pfree(view);
	pfree(ids);
}

Corpus *
test_krun_open(Oid indexid, uint64 seed, uint64 n, const char *shape)
{
	Corpus	   *c = palloc0(sizeof(Corpus));

	(void) test_krun_kind();
	c->index = relation_open(indexid, AccessExclusiveLock);
	c->desc = snii_key_desc(c->index);
	c->shape = test_krun_shape(shape);
	c->prng.state = seed;
	c->n = n;
	snii_storage_slot_acquire(c->index, SNII_SLOT_FLUSH, true);
	empty_index(c->index);
	make_entries(c);
	return c;
}

void
test_krun_close(Corpus *c)
{
	empty_index(c->index);
	snii_storage_slot_release(c->index, SNII_SLOT_FLUSH);
	relation_close(c->index, NoLock);
}

SniiDirEntry
test_krun_publish(Corpus *c, SniiObjectWriter *w, uint64 n)
{
	uint64		id = snii_storage_writer_id(w);
	SniiDirCopy *dir = palloc(sizeof(SniiDirCopy));

	snii_lsm_publish(c->index, w, SNII_SLOT_FLUSH, n);
	snii_storage_dir_read(c->index, dir, NULL);
	for (int i = 0; i < dir->nentries; i++)
		if (dir->entries[i].id == id)
			return dir->entries[i];
	elog(ERROR, "run " UINT64_FORMAT " is not in the directory", id);
}

SniiDirEntry
test_krun_write(Corpus *c, const SniiKeyEntry *entries, uint64 n)
{
	SniiObjectWriter *w = snii_storage_writer_begin(c->index,
													SNII_SLOT_FLUSH);
	SniiKeyRunWriter *r = snii_key_run_begin(c->desc, w);

	for (uint64 i = 0; i < n; i++)
		snii_key_run_add(r, &entries[i]);
	CHECK(snii_key_run_finish(r) == n, "entries");
	return test_krun_publish(c, w, n);
}

SniiObject *
test_krun_object(Corpus *c, const SniiDirEntry *entry)
{
	return snii_storage_object_open(c->index, entry->id, entry->list_head);
}

uint64
test_krun_checksum(const SniiObject *object)
{
	uint64		sum = 0;

	for (int stream = SNII_KEY_STREAM_HEAD; stream < SNII_STREAMS; stream++)
	{
		uint32		npages = snii_storage_stream_pages(object, stream);
		Buffer		buffer = InvalidBuffer;
		const uint8 *payload;
		uint32		len;

		for (uint32 i = 0; i < npages; i++)
		{
			buffer = snii_storage_pin(object, stream, i, buffer, &payload,
									  &len);
			sum = hash_combine64(sum, hash_bytes_extended(payload, len,
														  stream));
		}
		if (BufferIsValid(buffer))
			ReleaseBuffer(buffer);
	}
	return sum;
}
