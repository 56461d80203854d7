/*-------------------------------------------------------------------------
 *
 * storage_buffer_page.h
 *	  A page of records, in a stretch of either form.
 *
 * For the files of this folder only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_BUFFER_PAGE_H
#define SNII_STORAGE_BUFFER_PAGE_H

#include "storage/storage_page.h"

static inline SniiBufferPage *
snii_storage_records(Page page)
{
	return (SniiBufferPage *) PageGetContents(page);
}

/* Bytes of records on a page. */
static inline uint32
snii_storage_record_bytes(Page page)
{
	uint32		used = snii_storage_page_used(page);

	return used < offsetof(SniiBufferPage, data) ? 0 :
		used - offsetof(SniiBufferPage, data);
}

/* Is there room for one more, with a body of len bytes? */
static inline bool
snii_storage_record_fits(Page page, uint32 len)
{
	return snii_storage_record_bytes(page) + sizeof(SniiRecordHeader) + len <=
		SNII_BUFFER_CAPACITY;
}

/* Begin an empty page of records. */
static inline void
snii_storage_records_begin(Page page, uint64 id, uint8 flags)
{
	snii_storage_page_init(page, SNII_PAGE_BUFFER, id, SNII_STREAM_BUFFER);
	snii_storage_opaque(page)->flags = flags;
	snii_storage_page_set_used(page, offsetof(SniiBufferPage, data));
}

#endif							/* SNII_STORAGE_BUFFER_PAGE_H */
