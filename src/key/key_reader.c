/*-------------------------------------------------------------------------
 *
 * key_reader.c
 *	  The entries of a run from the first to the last, each page once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_reader.h"
#include "storage/storage_page.h"

/* Pages that are asked for before they are read. */
#define READ_AHEAD		32

/* Pages between two looks at others: well below a millisecond. */
#define POLL_PAGES		8

void
snii_key_reader_init(SniiKeyReader *r, const SniiKeyDesc *desc,
					 SniiObject *object, uint64 nentries)
{
	memset(r, 0, offsetof(SniiKeyReader, page));
	memset(&r->page, 0, offsetof(SniiKeyPageReader, str));
	r->object = object;
	r->nentries = nentries;
	r->npages = snii_storage_stream_pages(object, SNII_KEY_STREAM_DATA);
	r->buffer = InvalidBuffer;
	r->page.desc = desc;
}

static SNII_NORETURN_PRE void damaged(const SniiKeyReader *r,
									  const char *what) SNII_NORETURN_POST;

static void
damaged(const SniiKeyReader *r, const char *what)
{
	snii_storage_corrupted(snii_storage_object_relation(r->object),
						   BufferIsValid(r->buffer) ?
						   BufferGetBlockNumber(r->buffer) :
						   InvalidBlockNumber,
						   "run " UINT64_FORMAT ", entry " UINT64_FORMAT
						   ": %s", snii_storage_object_id(r->object), r->next,
						   what);
}

static void
read_ahead(SniiKeyReader *r)
{
	uint32		upto = Min(r->pageno + READ_AHEAD, r->npages);

	if (r->ahead >= r->pageno + READ_AHEAD / 2 || r->ahead == upto)
		return;
	snii_storage_prefetch(r->object, SNII_KEY_STREAM_DATA, r->ahead,
						  upto - r->ahead);
	r->ahead = upto;
}

/* Pin the next page; false at the end. */
static pg_noinline bool
next_page(SniiKeyReader *r)
{
	const uint8 *payload;
	uint32		used;
	uint32		len = r->page.len;

	if (r->pageno == r->npages)
	{
		if (r->next != r->nentries)
			damaged(r, "there is none");
		snii_key_reader_close(r);
		return false;
	}
	if (r->pageno % POLL_PAGES == 0)
		snii_storage_poll();
	read_ahead(r);
	r->buffer = snii_storage_pin(r->object, SNII_KEY_STREAM_DATA, r->pageno,
								 r->buffer, &payload, &used);
	if (!snii_key_page_open(&r->page, r->page.desc, payload, used))
		damaged(r, "malformed page");
	if (r->page.first_ordinal != r->next ||
		r->page.nentries > r->nentries - r->next)
		damaged(r, "page has the wrong entries");
	r->pageno++;
	/* The string at hand is that of the page before. */
	r->page.len = len;
	snii_key_page_rewind(&r->page);
	return true;
}

bool
snii_key_reader_next(SniiKeyReader *r)
{
	bool		greater;

	if (unlikely(r->page.item + 1 >= r->page.nentries) && !next_page(r))
		return false;
	if (unlikely(!snii_key_page_next_ordered(&r->page, &r->shared,
											 &greater)))
		damaged(r, "malformed");
	if (unlikely(!greater) &&
		(r->page.desc->all_bytes || r->shared == r->page.len))
		damaged(r, "out of order");
	r->next++;
	return true;
}

void
snii_key_reader_close(SniiKeyReader *r)
{
	if (BufferIsValid(r->buffer))
		ReleaseBuffer(r->buffer);
	r->buffer = InvalidBuffer;
}
