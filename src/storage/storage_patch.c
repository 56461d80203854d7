/*-------------------------------------------------------------------------
 *
 * storage_patch.c
 *	  Changing a few bytes of a page, logged as just these bytes.
 *
 * GenericXLogFinish() finds out what changed by comparing copies of whole
 * pages, which costs several microseconds for each of them; an append to the
 * write buffer, and whoever begins a page of it, know it.  The record written
 * here is the one that GenericXLogFinish() would write (resource manager
 * Generic, for a block an image, or a sequence of offset, length, bytes, as in
 * src/backend/access/transam/generic_xlog.c from 9.6 on), so every server
 * replays it without this library.
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

/* Where the parts of a page go; a header for each run of adjacent parts. */
typedef struct Headers
{
	PartHeader	headers[SNII_PATCH_PARTS];
	int			header_of[SNII_PATCH_PARTS];
} Headers;

static void
make_headers(const SniiPatchPage *page, Headers *h)
{
	int			n = 0;

	for (int i = 0; i < page->nparts; i++)
	{
		const SniiPatchPart *part = &page->parts[i];

		if (n > 0 && h->headers[n - 1].offset + h->headers[n - 1].len ==
			part->offset)
			h->headers[n - 1].len += part->len;
		else
		{
			h->headers[n].offset = part->offset;
			h->headers[n].len = part->len;
			n++;
		}
		h->header_of[i] = n - 1;
	}
}

/* Change a page, in a critical section. */
static void
apply(const SniiPatchPage *page)
{
	char	   *to = (char *) BufferGetPage(page->buf);

	if (page->image != NULL)
		memcpy(to, page->image, BLCKSZ);
	for (int i = 0; i < page->nparts; i++)
		memcpy(to + page->parts[i].offset, page->parts[i].data,
			   page->parts[i].len);
	MarkBufferDirty(page->buf);
}

static void
register_page(uint8 id, const SniiPatchPage *page, Headers *h)
{
	if (page->image != NULL)
	{
		XLogRegisterBuffer(id, page->buf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		return;
	}
	XLogRegisterBuffer(id, page->buf, REGBUF_STANDARD);
	for (int i = 0; i < page->nparts; i++)
	{
		if (i == 0 || h->header_of[i] != h->header_of[i - 1])
			XLogRegisterBufData(id, (char *) &h->headers[h->header_of[i]],
								sizeof(PartHeader));
		XLogRegisterBufData(id, (char *) unconstify(void *,
													page->parts[i].data),
							page->parts[i].len);
	}
}

void
snii_storage_patch(Relation index, const SniiPatchPage *pages, int npages)
{
	Headers		headers[SNII_PATCH_PAGES];

	Assert(npages > 0 && npages <= SNII_PATCH_PAGES);
	for (int i = 0; i < npages; i++)
	{
		Assert(pages[i].nparts <= SNII_PATCH_PARTS);
		Assert((pages[i].image != NULL) != (pages[i].nparts > 0));
		make_headers(&pages[i], &headers[i]);
	}
	START_CRIT_SECTION();
	for (int i = 0; i < npages; i++)
		apply(&pages[i]);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < npages; i++)
			register_page((uint8) i, &pages[i], &headers[i]);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < npages; i++)
			PageSetLSN(BufferGetPage(pages[i].buf), lsn);
	}
	END_CRIT_SECTION();
}
