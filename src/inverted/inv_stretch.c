/*-------------------------------------------------------------------------
 *
 * inv_stretch.c
 *	  Index, in memory, of the records of one stretch of the write buffer.
 *
 * The terms and their positions are in a term buffer (inv_spimi.c) whose
 * documents are the stretch's records, numbered as they are read.  A mark
 * (storage_buffer.h) says which ones those are, so that the index can be
 * partial, and catch up with what is appended, in steps of any size.  Pages
 * that had been handed out but not written are visited again each time:
 * record numbers need not follow the order of the pages.
 *
 * Of a record the index keeps where it is, not whether it is alive: VACUUM
 * may mark it dead at any time.  Whoever uses a record reads its mark, and
 * its TID, from its page (snii_storage_buffer_live()).  What was dead when
 * it was read stays dead and is left out.
 *
 * Memory: about 2.5 to 4 bytes for a byte of records; a stretch has at most
 * 250 kB of them.
 *
 * An error in snii_inv_stretch_catch_up() may leave an index that must not
 * be used any more but for destroying it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec/codec_varint.h"
#include "inverted/inv_record.h"
#include "inverted/inv_stretch.h"
#include "storage/storage_page.h"
#include "utils/memutils.h"

StaticAssertDecl(SNII_MAX_COLUMNS <= 32, "NULLs of a record");

/* Bytes that a record costs beside its tokens, for the budget. */
#define RECORD_COST		32

struct SniiInvStretch
{
	MemoryContext context;		/* owns all of it */
	int			ncolumns;
	SniiSpimi  *terms;
	SniiBufferMark mark;
	SniiInvStretchRecord *records;
	uint32		nrecords;
	uint32		capacity;
};

/*
 * Create an empty index in a context of its own under the current one.
 */
SniiInvStretch *
snii_inv_stretch_create(int ncolumns)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "snii stretch",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SniiInvStretch *s = palloc0(sizeof(SniiInvStretch));

	s->context = context;
	s->ncolumns = ncolumns;
	s->terms = snii_inv_spimi_create(MaxAllocHugeSize, NULL);
	MemoryContextSwitchTo(old);
	return s;
}

void
snii_inv_stretch_destroy(SniiInvStretch *s)
{
	MemoryContextDelete(s->context);
}

/* Bytes that it takes. */
Size
snii_inv_stretch_memory(const SniiInvStretch *s)
{
	return MemoryContextMemAllocated(s->context, true);
}

/* Which records are in it. */
const SniiBufferMark *
snii_inv_stretch_mark(const SniiInvStretch *s)
{
	return &s->mark;
}

/* The records in it; valid until it catches up. */
const SniiInvStretchRecord *
snii_inv_stretch_records(const SniiInvStretch *s, uint32 *n)
{
	*n = s->nrecords;
	return s->records;
}

/* ----------------
 *		Catching up
 * ----------------
 */
static void
sink_column(void *arg, int column, bool isnull, uint32 ntokens)
{
	SniiInvStretch *s = arg;

	if (isnull)
		s->records[s->nrecords].nulls |= (uint32) 1 << column;
}

static void
sink_token(void *arg, int column, int kind, const char *bytes, uint32 len,
		   uint32 position)
{
	SniiInvStretch *s = arg;

	snii_inv_spimi_token(s->terms, column, kind, bytes, len, position);
}

/* Make room for one more record. */
static void
enlarge(SniiInvStretch *s)
{
	uint32		capacity = Max(64, s->capacity * 2);
	Size		size = capacity * sizeof(SniiInvStretchRecord);

	if (s->records == NULL)
		s->records = MemoryContextAlloc(s->context, size);
	else
		s->records = repalloc(s->records, size);
	s->capacity = capacity;
}

/* Add a record; false if it is malformed. */
static bool
add_record(SniiInvStretch *s, const uint8 *data, size_t len,
		   SniiBufferPlace place)
{
	SniiInvRecordSink sink = {
		.arg = s,
		.begin_column = sink_column,
		.token = sink_token
	};

	if (s->nrecords == s->capacity)
		enlarge(s);
	s->records[s->nrecords].place = place;
	s->records[s->nrecords].nulls = 0;
	snii_inv_spimi_begin_doc(s->terms, s->nrecords);
	if (!snii_inv_record_decode(data, data + len, s->ncolumns, &sink))
		return false;
	s->nrecords++;
	return true;
}

/*
 * Add records that are not in the index, until *budget bytes are spent, which
 * are taken from it.  True if none is left.  Uses the current memory context
 * for what it reads; see above for errors.
 */
bool
snii_inv_stretch_catch_up(SniiInvStretch *s, Relation index,
						  const SniiDirEntry *entry, Size *budget)
{
	SniiBufferReader *reader;
	ItemPointerData tid;
	const uint8 *data;
	size_t		len;
	bool		dead;
	bool		more = true;

	if (snii_storage_buffer_unchanged(index, entry->id, &s->mark))
		return true;
	if (*budget == 0)
		return false;
	reader = snii_storage_buffer_resume(index, entry, &s->mark);
	while (*budget > 0 &&
		   (more = snii_storage_buffer_next(reader, &tid, &data, &len, &dead)))
	{
		if (!dead && !add_record(s, data, len,
								 snii_storage_buffer_place(reader)))
			snii_storage_corrupted(index, InvalidBlockNumber,
								   "record of the write buffer for row (%u,%u) is malformed",
								   ItemPointerGetBlockNumberNoCheck(&tid),
								   ItemPointerGetOffsetNumberNoCheck(&tid));
		*budget -= Min(*budget, len + RECORD_COST);
	}
	snii_inv_spimi_drain(s->terms);
	snii_storage_buffer_close(reader);
	return !more;
}

/* ----------------
 *		Looking up
 * ----------------
 */

/*
 * Stand before the first occurrence of a term; false if it has none.  Valid
 * until the index catches up.
 */
bool
snii_inv_stretch_find(const SniiInvStretch *s, int column, int kind,
					  const char *bytes, uint32 len, SniiInvStretchTerm *term)
{
	if (!snii_inv_spimi_find(s->terms, column, kind, bytes, len, &term->term))
		return false;
	term->terms = s->terms;
	term->record = snii_inv_spimi_base(s->terms);
	term->position = 0;
	term->at = term->have = 0;
	return true;
}

/* Have a whole token in the bytes; false at the end. */
static inline bool
fill(SniiInvStretchTerm *term)
{
	int			left = term->have - term->at;

	if (likely(left >= SNII_SPIMI_TOKEN_MAX))
		return true;
	memmove(term->bytes, term->bytes + term->at, left);
	term->at = 0;
	term->have = left + (int) snii_inv_spimi_read(term->terms, &term->term,
												  term->bytes + left,
												  sizeof(term->bytes) - left);
	return term->have > 0;
}

/* Go to the next occurrence; false at the end. */
bool
snii_inv_stretch_next(SniiInvStretchTerm *term)
{
	const uint8 *p;
	const uint8 *end;
	uint64		v = 0;
	bool		ok;

	if (!fill(term))
		return false;
	p = term->bytes + term->at;
	end = term->bytes + term->have;
	ok = snii_codec_get_varint64(&p, end, &v);
	if (v & 1)
	{
		term->record += (uint32) (v >> 1);
		ok = ok && snii_codec_get_varint32(&p, end, &term->position);
	}
	else
		term->position += (uint32) (v >> 1);
	if (!ok)
		elog(ERROR, "postings of a stretch end within a token");
	term->at = (int) (p - term->bytes);
	return true;
}
