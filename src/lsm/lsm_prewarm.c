/*-------------------------------------------------------------------------
 *
 * lsm_prewarm.c
 *	  Reading pages of an index into shared buffers.
 *
 * For after a restart, when each look-up would wait for pages of its own:
 * here they are read in the order of the file's extents, and ahead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_prewarm.h"
#include "lsm/lsm_stats.h"
#include "lsm/lsm_view.h"
#include "storage/storage_page.h"

#include "executor/instrument.h"

/* Pages that are asked for before they are read. */
#define READ_AHEAD	64

static uint64
warm_stream(const SniiObject *object, int stream)
{
	uint32		npages = snii_storage_stream_pages(object, stream);
	Buffer		buf = InvalidBuffer;

	for (uint32 i = 0; i < npages; i++)
	{
		const uint8 *payload;
		uint32		len;

		snii_storage_poll();
		if (i % READ_AHEAD == 0)
			snii_storage_prefetch(object, stream, i, READ_AHEAD);
		/* Delete marks change, but are not looked at here. */
		buf = snii_storage_pin(object, stream, i, buf, &payload, &len);
	}
	if (BufferIsValid(buf))
		ReleaseBuffer(buf);
	return npages;
}

/* Pages that this process has looked at. */
static inline int64
blocks(void)
{
	return pgBufferUsage.shared_blks_hit + pgBufferUsage.shared_blks_read +
		pgBufferUsage.local_blks_hit + pgBufferUsage.local_blks_read;
}

/*
 * The fence page of a stretch in order, or all pages that lead to its records,
 * as a search of it would read them.
 */
static uint64
warm_stretch(Relation index, const SniiDirEntry *entry, bool all)
{
	if (all)
	{
		SniiStretchStats stats;
		int64		before = blocks();

		snii_lsm_stretch_stats(index, entry, &stats);
		return blocks() - before;
	}
	if (!BlockNumberIsValid(entry->side_head))
		return 0;
	ReleaseBuffer(snii_storage_read_page(index, entry->side_head,
										 BUFFER_LOCK_UNLOCK,
										 SNII_PAGE_BUFFER, entry->id));
	return 1;
}

uint64
snii_lsm_prewarm(Relation index, bool all)
{
	const SniiKind *kind = snii_lsm_kind(index);
	SniiView   *view = snii_lsm_view(index, false);
	uint64		n = 0;

	for (int i = 0; i < view->nentries; i++)
	{
		const SniiDirEntry *entry = &view->entries[i];
		SniiObject *object;

		if (entry->kind != SNII_ENTRY_SEGMENT)
		{
			n += warm_stretch(index, entry, all);
			continue;
		}
		object = snii_lsm_open_segment(index, entry);
		for (int stream = 0; stream < SNII_STREAMS; stream++)
			if (all || (kind->warm & (1 << stream)) != 0)
				n += warm_stream(object, stream);
	}
	snii_lsm_view_release(view);
	return n;
}
