/*-------------------------------------------------------------------------
 *
 * test_inv.c
 *	  What the tests of inverted segments share.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "storage/bufmgr.h"

#include "inverted/inv_format.h"
#include "lsm/lsm_kind.h"
#include "storage/storage_alloc.h"
#include "storage/storage_meta.h"
#include "test_inv.h"

PG_MODULE_MAGIC;

void
test_inv_fail(const char *condition, const char *file, int line,
			  const char *details)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("property does not hold: %s", condition),
			 errdetail("%s, at %s:%d.", details, file, line)));
}

Relation
test_inv_open(Oid relid, int ncolumns, const uint8 *analyzers)
{
	Relation	rel = relation_open(relid, AccessExclusiveLock);
	SniiMetaSpec spec = {0};

	spec.kind = SNII_KIND_INVERTED;
	spec.ncolumns = ncolumns;
	memcpy(spec.column_analyzer, analyzers, ncolumns);
	if (RelationGetNumberOfBlocks(rel) == 0)
		snii_storage_create(rel, MAIN_FORKNUM, &spec);
	snii_storage_slot_acquire(rel, SNII_SLOT_FLUSH, true);
	return rel;
}

void
test_inv_close(Relation rel)
{
	snii_storage_slot_release(rel, SNII_SLOT_FLUSH);
	relation_close(rel, NoLock);
}

uint64
test_inv_checksum(const SniiObject *object)
{
	uint64		sum = 0;

	for (int stream = SNII_STREAM_KIND; stream < SNII_STREAMS; stream++)
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
