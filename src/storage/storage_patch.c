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
	int			header_of[SNII_PATCH_PARTS];
	int			nheaders = 0;

	Assert(nparts > 0 && nparts <= SNII_PATCH_PARTS);
	for (int i = 0; i < nparts; i++)
	{
		PartHeader *last = nheaders > 0 ? &headers[nheaders - 1] : NULL;

		if (last != NULL && last->offset + last->len == parts[i].offset)
			last->len += parts[i].len;
		else
		{
			headers[nheaders].offset = parts[i].offset;
			headers[nheaders].len = parts[i].len;
			nheaders++;
		}
		header_of[i] = nheaders - 1;
	}
	START_CRIT_SECTION();
	for (int i = 0; i < nparts; i++)
		memcpy((char *) page + parts[i].offset, parts[i].data, parts[i].len);
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
		for (int i = 0; i < nparts; i++)
		{
			if (i == 0 || header_of[i] != header_of[i - 1])
				XLogRegisterBufData(0, (char *) &headers[header_of[i]],
									sizeof(PartHeader));
			XLogRegisterBufData(0, (char *) unconstify(void *, parts[i].data),
								parts[i].len);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
}
