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

/*
 * Apply up to SNII_PATCH_PARTS parts to a page and log them.  The buffer is
 * exclusively locked before and after; the parts lie within the page and were
 * verified.  Nothing here can fail but running out of memory, before
 * anything was changed.
 */
extern void snii_storage_patch(Relation index, Buffer buf,
							   const SniiPatchPart *parts, int nparts);

#endif							/* SNII_STORAGE_PATCH_H */
