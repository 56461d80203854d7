/*-------------------------------------------------------------------------
 *
 * storage_page.h
 *	  One page: how it is begun, and the one gate through which it is read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_PAGE_H
#define SNII_STORAGE_PAGE_H

#include "compat.h"
#include "storage/storage_format.h"

#include "access/htup_details.h"

/*
 * The file may be shorter than the meta page says: a crash loses pages that
 * were reserved and never written.  Not by more than this.
 */
#define SNII_LOST_PAGES_MAX		((BlockNumber) 32768)

#define SNII_ANY_OWNER			PG_UINT64_MAX

static inline SniiPageOpaque *
snii_storage_opaque(Page page)
{
	return (SniiPageOpaque *) PageGetSpecialPointer(page);
}

/* Bytes of payload in use, from pd_lower. */
static inline uint32
snii_storage_page_used(Page page)
{
	return ((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData);
}

static inline void
snii_storage_page_set_used(Page page, uint32 used)
{
	((PageHeader) page)->pd_lower =
		(LocationIndex) (MAXALIGN(SizeOfPageHeaderData) + used);
}

/* Can a TID that was read be that of a row?  Core asserts that it can. */
static inline bool
snii_storage_tid_is_valid(const ItemPointerData *tid)
{
	return BlockNumberIsValid(ItemPointerGetBlockNumberNoCheck(tid)) &&
		ItemPointerGetOffsetNumberNoCheck(tid) >= FirstOffsetNumber &&
		ItemPointerGetOffsetNumberNoCheck(tid) <= MaxHeapTuplesPerPage;
}

/*
 * Is a block in the file?  Asks the system only about blocks beyond those that
 * were there when it was asked last: the file does not shrink under us.
 */
static inline bool
snii_storage_block_exists(Relation index, BlockNumber blk)
{
	BlockNumber known =
	RelationGetSmgr(index)->smgr_cached_nblocks[MAIN_FORKNUM];

	if (BlockNumberIsValid(known) && blk < known)
		return true;
	return BlockNumberIsValid(blk) && blk < RelationGetNumberOfBlocks(index);
}

/* Begin an empty page; the payload is zeroed. */
extern void snii_storage_page_init(Page page, SniiPageKind kind, uint64 owner,
								   int stream);

/* Is this page well-formed, of this kind and owner?  Never raises. */
extern bool snii_storage_page_is(Page page, SniiPageKind kind, uint64 owner);

/*
 * Read a block through the gate.  lockmode is one of the BUFFER_LOCK_*; the
 * buffer is returned pinned and so locked.  A page that is not of this kind,
 * version and owner (SNII_ANY_OWNER: any) raises ERRCODE_INDEX_CORRUPTED.
 */
extern Buffer snii_storage_read_page(Relation index, BlockNumber blk,
									 int lockmode, SniiPageKind kind,
									 uint64 owner);

/*
 * Lock a pinned page.  Raises ERRCODE_INDEX_CORRUPTED if this process has
 * locked it already, as references that were damaged may make it try.
 */
extern void snii_storage_lock_page(Relation index, Buffer buf, int lockmode);

/*
 * Pin and lock, for cleanup, a zeroed page that is to be written anew.  A
 * block that cannot be meant (one of the fixed blocks, or far beyond the end
 * of the file) raises ERRCODE_INDEX_CORRUPTED.
 */
extern Buffer snii_storage_fresh_page(Relation index, BlockNumber blk);

/*
 * The one way to report damaged bytes: ERRCODE_INDEX_CORRUPTED with the index, the
 * block (InvalidBlockNumber: unknown) and what is wrong, and a REINDEX hint.
 */
extern SNII_NORETURN_PRE void snii_storage_corrupted(Relation index,
													 BlockNumber blk,
													 const char *fmt,...)
			pg_attribute_printf(3, 4) SNII_NORETURN_POST;

#endif							/* SNII_STORAGE_PAGE_H */
