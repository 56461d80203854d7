/*-------------------------------------------------------------------------
 *
 * storage_meta.c
 *	  The meta page and the first blocks of an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_meta.h"
#include "storage/storage_page.h"

#include "access/xloginsert.h"
#include "miscadmin.h"

/* Feature bits that this library knows. */
#define SNII_KNOWN_FEATURES_READ	UINT64CONST(0)
#define SNII_KNOWN_FEATURES_WRITE	UINT64CONST(0)

static void
fill_meta(Page page, const SniiMetaSpec *spec)
{
	SniiMetaPage *meta = snii_storage_meta(page);

	snii_storage_page_init(page, SNII_PAGE_META, 0, 0);
	meta->magic = SNII_META_MAGIC;
	meta->version = SNII_FORMAT_VERSION;
	meta->min_reader = SNII_FORMAT_MIN_READER;
	meta->next_id = 1;
	meta->kind = spec->kind;
	meta->ncolumns = spec->ncolumns;
	meta->nblocks = SNII_FIRST_FREE_BLOCK;
	meta->free_head = InvalidBlockNumber;
	for (int i = 0; i < SNII_SLOTS; i++)
	{
		meta->slots[i].head = InvalidBlockNumber;
		meta->slots[i].tail = InvalidBlockNumber;
	}
	for (int i = 0; i < SNII_LANES; i++)
		meta->lanes[i] = InvalidBlockNumber;
	memcpy(meta->column_analyzer, spec->column_analyzer,
		   sizeof(meta->column_analyzer));
	if (spec->unicode_version != NULL)
		strlcpy(meta->unicode_version, spec->unicode_version,
				sizeof(meta->unicode_version));
	snii_storage_page_set_used(page, sizeof(SniiMetaPage));
}

static void
fill_dir(Page page)
{
	snii_storage_page_init(page, SNII_PAGE_DIR, 0, 0);
	snii_storage_page_set_used(page, offsetof(SniiDirPage, entries));
}

static void
fill_park(Page page)
{
	SniiParkPage *park = (SniiParkPage *) PageGetContents(page);

	snii_storage_page_init(page, SNII_PAGE_PARK, 0, 0);
	park->next = InvalidBlockNumber;
	snii_storage_page_set_used(page, offsetof(SniiParkPage, entries));
}

void
snii_storage_create(Relation index, ForkNumber fork, const SniiMetaSpec *spec)
{
	for (BlockNumber blk = 0; blk < SNII_FIRST_FREE_BLOCK; blk++)
	{
		Buffer		buf = ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL,
											 NULL);
		Page		page = BufferGetPage(buf);

		if (BufferGetBlockNumber(buf) != blk)
			elog(ERROR, "index \"%s\" is not empty",
				 RelationGetRelationName(index));
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
		START_CRIT_SECTION();
		if (blk == SNII_META_BLOCK)
			fill_meta(page, spec);
		else if (blk == SNII_DIR_BLOCK)
			fill_dir(page);
		else if (blk == SNII_PARK_BLOCK)
			fill_park(page);
		else
			snii_storage_page_init(page, SNII_PAGE_BARRIER, 0, 0);
		MarkBufferDirty(buf);
		if (RelationNeedsWAL(index) || fork == INIT_FORKNUM)
			log_newpage_buffer(buf, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(buf);
	}
}

static void
check_versions(Relation index, const SniiMetaPage *meta, bool for_write)
{
	if (meta->magic != SNII_META_MAGIC)
		snii_storage_corrupted(index, SNII_META_BLOCK,
							   "meta page has the wrong magic number");
	if (meta->min_reader > SNII_FORMAT_VERSION ||
		(meta->features_read & ~SNII_KNOWN_FEATURES_READ) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has a format that this version of snii cannot read",
						RelationGetRelationName(index)),
				 errdetail("The index has format %u and needs a reader of format %u (features %llx); this library knows format %d.",
						   meta->version, meta->min_reader,
						   (unsigned long long) meta->features_read,
						   SNII_FORMAT_VERSION),
				 errhint("Update the library, or REINDEX the index.")));
	if (for_write &&
		(meta->features_write & ~SNII_KNOWN_FEATURES_WRITE) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has features that this version of snii cannot maintain",
						RelationGetRelationName(index)),
				 errhint("Update the library, or REINDEX the index.")));
	if (meta->ncolumns < 1 || meta->ncolumns > SNII_MAX_COLUMNS)
		snii_storage_corrupted(index, SNII_META_BLOCK,
							   "meta page claims %u columns", meta->ncolumns);
}

Buffer
snii_storage_meta_lock(Relation index, int lockmode)
{
	Buffer		buf = snii_storage_read_page(index, SNII_META_BLOCK, lockmode,
											 SNII_PAGE_META, 0);

	check_versions(index, snii_storage_meta(BufferGetPage(buf)),
				   lockmode == BUFFER_LOCK_EXCLUSIVE);
	return buf;
}

void
snii_storage_check_writable(Relation index)
{
	Buffer		buf = snii_storage_meta_lock(index, BUFFER_LOCK_SHARE);

	check_versions(index, snii_storage_meta(BufferGetPage(buf)), true);
	UnlockReleaseBuffer(buf);
}

void
snii_storage_meta_read(Relation index, SniiMetaPage *meta)
{
	Buffer		buf = snii_storage_meta_lock(index, BUFFER_LOCK_SHARE);

	memcpy(meta, snii_storage_meta(BufferGetPage(buf)), sizeof(*meta));
	UnlockReleaseBuffer(buf);
}
