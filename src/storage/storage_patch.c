/*-------------------------------------------------------------------------
 *
 * storage_patch.c
 *	  Changing a few bytes of a page, logged as just these bytes.
 *
 * GenericXLogFinish() finds out what changed by comparing copies of whole
 * pages, which costs several microseconds; an append to the write buffer
 * knows it.  The record written here is the one that GenericXLogFinish()
 * would write (resource manager Generic, for block 0 a sequence of offset,
 * length, bytes, as in src/backend/access/transam/generic_xlog.c from 9.6
 * on), so every server replays it without this library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_patch.h"

#include "access/rmgr.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

/* Header of a part in the record. */
typedef struct PartHeader
{
	OffsetNumber offset;
	OffsetNumber len;
} PartHeader;

StaticAssertDecl(sizeof(PartHeader) == 4, "fragment header of generic WAL");

void
snii_storage_patch(Relation index, Buffer buf, const SniiPatchPart *parts,
				   int nparts)
{
	Page		page = BufferGetPage(buf);
	PartHeader	headers[SNII_PATCH_PARTS];

	Assert(nparts > 0 && nparts <= SNII_PATCH_PARTS);
	START_CRIT_SECTION();
	for (int i = 0; i < nparts; i++)
	{
		headers[i].offset = parts[i].offset;
		headers[i].len = parts[i].len;
		memcpy((char *) page + parts[i].offset, parts[i].data, parts[i].len);
	}
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
		for (int i = 0; i < nparts; i++)
		{
			XLogRegisterBufData(0, (char *) &headers[i], sizeof(PartHeader));
			XLogRegisterBufData(0, (char *) unconstify(void *, parts[i].data),
								parts[i].len);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
}
