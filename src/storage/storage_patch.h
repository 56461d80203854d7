/*-------------------------------------------------------------------------
 *
 * storage_patch.h
 *	  Changing a few bytes of a page, logged as just these bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_PATCH_H
#define SNII_STORAGE_PATCH_H

#include "compat.h"
#include "storage/storage_format.h"

#define SNII_PATCH_PARTS	3
#define SNII_PATCH_PAGES	3

/*
 * Bytes to put at an offset of the page (not of its payload).  A part that
 * begins where the one before ends is logged with it.
 */
typedef struct SniiPatchPart
{
	uint16		offset;
	uint16		len;
	const void *data;
} SniiPatchPart;

/* A page, exclusively locked: either parts are changed, or all of it. */
typedef struct SniiPatchPage
{
	Buffer		buf;
	const char *image;			/* BLCKSZ bytes, or NULL: parts */
	int			nparts;
	SniiPatchPart parts[SNII_PATCH_PARTS];
} SniiPatchPage;

/* Add a part; the bytes stay with the caller. */
static inline void
snii_storage_patch_add(SniiPatchPage *page, size_t offset, const void *data,
					   size_t len)
{
	SniiPatchPart *part;

	if (len == 0)
		return;
	part = &page->parts[page->nparts++];
	part->offset = (uint16) offset;
	part->len = (uint16) len;
	part->data = data;
}

/*
 * Change up to SNII_PATCH_PAGES pages and log that, as one record.  The buffers
 * stay locked; the parts lie within the pages and were verified.  Nothing
 * here can fail but running out of memory, before anything was changed.
 */
extern void snii_storage_patch(Relation index, const SniiPatchPage *pages,
							   int npages);

#endif							/* SNII_STORAGE_PATCH_H */
