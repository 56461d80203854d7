/*-------------------------------------------------------------------------
 *
 * storage_page.c
 *	  One page: how it is begun, and the one gate through which it is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_page.h"

#include "storage/buf_internals.h"
#include "utils/builtins.h"

void
snii_storage_page_init(Page page, SniiPageKind kind, uint64 owner, int stream)
{
	SniiPageOpaque *opaque;

	PageInit(page, BLCKSZ, sizeof(SniiPageOpaque));
	opaque = snii_storage_opaque(page);
	opaque->owner = owner;
	opaque->magic = SNII_PAGE_MAGIC;
	opaque->kind = (uint8) kind;
	opaque->version = SNII_PAGE_VERSION;
	opaque->stream = (uint8) stream;
	opaque->flags = 0;
	opaque->page_id = SNII_PAGE_ID;
}

/*
 * What is wrong with the header or special space, NULL if nothing.
 */
static const char *
page_fault(Page page, SniiPageKind kind, uint64 owner)
{
	PageHeader	header = (PageHeader) page;
	SniiPageOpaque *opaque;

	if (PageIsNew(page))
		return "page is empty";
	if (header->pd_special != BLCKSZ - MAXALIGN(sizeof(SniiPageOpaque)) ||
		header->pd_lower < MAXALIGN(SizeOfPageHeaderData) ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special)
		return "page header is damaged";
	opaque = snii_storage_opaque(page);
	if (opaque->page_id != SNII_PAGE_ID || opaque->magic != SNII_PAGE_MAGIC)
		return "not a snii page";
	if (opaque->version != SNII_PAGE_VERSION)
		return "unknown page version";
	if (opaque->kind != (uint8) kind)
		return "wrong kind of page";
	if (owner != SNII_ANY_OWNER && opaque->owner != owner)
		return "page belongs to another object";
	return NULL;
}

bool
snii_storage_page_is(Page page, SniiPageKind kind, uint64 owner)
{
	return page_fault(page, kind, owner) == NULL;
}

void
snii_storage_lock_page(Relation index, Buffer buf, int lockmode)
{
	/* A wait for oneself would never end, nor be interruptible. */
	if (!BufferIsLocal(buf) &&
		LWLockHeldByMe(BufferDescriptorGetContentLock(GetBufferDescriptor(buf - 1))))
		snii_storage_corrupted(index, BufferGetBlockNumber(buf),
							   "page is referred to twice");
	LockBuffer(buf, lockmode);
}

/*
 * The cleanup lock of a page that this process has pinned already, since a
 * list names a page that is in use, is refused by core with an internal
 * error.  Nothing tells of own pins beforehand.
 */
static Buffer
pin_for_cleanup(Relation index, BlockNumber blk)
{
	MemoryContext context = CurrentMemoryContext;
	volatile Buffer buf = InvalidBuffer;

	PG_TRY();
	{
		buf = ReadBufferExtended(index, MAIN_FORKNUM, blk,
								 RBM_ZERO_AND_CLEANUP_LOCK, NULL);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_INTERNAL_ERROR)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		snii_storage_corrupted(index, blk,
							   "page in use is referred to as a free one");
	}
	PG_END_TRY();
	return buf;
}

Buffer
snii_storage_fresh_page(Relation index, BlockNumber blk)
{
	if (blk < SNII_FIRST_FREE_BLOCK || !BlockNumberIsValid(blk))
		snii_storage_corrupted(index, blk,
							   "reference to a block that is no free page");
	if (blk >= SNII_LOST_PAGES_MAX &&
		blk - SNII_LOST_PAGES_MAX >= RelationGetNumberOfBlocks(index))
		snii_storage_corrupted(index, blk,
							   "reference to a block far beyond the end of the file");
	return pin_for_cleanup(index, blk);
}

Buffer
snii_storage_read_page(Relation index, BlockNumber blk, int lockmode,
					   SniiPageKind kind, uint64 owner)
{
	Buffer		buf;
	const char *fault;

	/* The fixed blocks are there. */
	if (blk >= SNII_FIRST_FREE_BLOCK &&
		!snii_storage_block_exists(index, blk))
		snii_storage_corrupted(index, blk,
							   "reference to a block beyond the end");
	buf = ReadBuffer(index, blk);
	if (lockmode != BUFFER_LOCK_UNLOCK)
		snii_storage_lock_page(index, buf, lockmode);
	fault = page_fault(BufferGetPage(buf), kind, owner);
	if (fault != NULL)
		snii_storage_corrupted(index, blk, "%s (expected kind %d)", fault,
							   (int) kind);
	return buf;
}

void
snii_storage_corrupted(Relation index, BlockNumber blk, const char *fmt,...)
{
	StringInfoData detail;

	initStringInfo(&detail);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&detail, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&detail, needed);
	}
	if (BlockNumberIsValid(blk))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is corrupted at block %u: %s",
						RelationGetRelationName(index), blk, detail.data),
				 errhint("Please REINDEX it.")));
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is corrupted: %s",
					RelationGetRelationName(index), detail.data),
			 errhint("Please REINDEX it.")));
	pg_unreachable();
}
