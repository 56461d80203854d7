/*-------------------------------------------------------------------------
 *
 * lsm_view.c
 *	  What an index consists of at one moment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_view.h"
#include "storage/storage_directory.h"
#include "storage/storage_page.h"

#include "access/transam.h"
#include "storage/proc.h"

SniiView *
snii_lsm_view(Relation index, bool has_lock)
{
	SniiDirCopy copy;
	Buffer		barrier = InvalidBuffer;
	SniiView   *view;

	/* Without this, pages could be recycled under the reader. */
	if (!has_lock && !TransactionIdIsValid(MyProc->xmin))
		elog(ERROR, "index \"%s\" is read without a snapshot",
			 RelationGetRelationName(index));

	snii_storage_dir_read(index, &copy, has_lock ? NULL : &barrier);
	view = palloc(offsetof(SniiView, entries) +
				  copy.nentries * sizeof(SniiDirEntry));
	view->generation = copy.generation;
	view->barrier = barrier;
	view->nentries = copy.nentries;
	memcpy(view->entries, copy.entries,
		   copy.nentries * sizeof(SniiDirEntry));
	return view;
}

void
snii_lsm_view_release(SniiView *view)
{
	if (BufferIsValid(view->barrier))
		ReleaseBuffer(view->barrier);
	pfree(view);
}

SniiObject *
snii_lsm_open_segment(Relation index, const SniiDirEntry *entry)
{
	SniiObject *object = snii_storage_object_open(index, entry->id,
												  entry->list_head);
	uint32		pages = snii_storage_stream_pages(object, SNII_STREAM_MARKS);

	/* Every document has its mark, so nobody allocates for others. */
	if (entry->ndocs == 0 ||
		entry->ndocs > (uint64) pages * SNII_PAGE_PAYLOAD * 8)
		snii_storage_corrupted(index, SNII_DIR_BLOCK,
							   "segment %llu claims %llu documents but has %u pages of marks",
							   (unsigned long long) entry->id,
							   (unsigned long long) entry->ndocs, pages);
	return object;
}

bool
snii_lsm_entry_exists(Relation index, uint64 id)
{
	SniiView   *view = snii_lsm_view(index, true);
	bool		found = false;

	for (int i = 0; i < view->nentries && !found; i++)
		found = view->entries[i].id == id;
	pfree(view);
	return found;
}
