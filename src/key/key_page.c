/*-------------------------------------------------------------------------
 *
 * key_page.c
 *	  Data pages of a run: building and reading.
 *
 * Strings share their beginnings with the ones before (LevelDB's block format,
 * with restart offsets of two bytes and, for strings of one length, one byte of
 * header).  A search in a page of class BYTES compares each byte of the
 * position once: what an entry shares with the one before it need not be
 * looked at again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_page.h"

static inline bool
has_payload(const SniiKeyDesc *desc)
{
	return desc->nattrs > desc->nkeys;
}

static inline uint32
fixed_len(const SniiKeyDesc *desc)
{
	return has_payload(desc) ? 0 : desc->fixed_len;
}

/* ----------------------------------------------------------------
 *		Building
 * ----------------------------------------------------------------
 */

void
snii_key_page_begin(SniiKeyPageBuilder *b, const SniiKeyDesc *desc,
					uint64 first_ordinal)
{
	b->desc = desc;
	b->at = sizeof(SniiKeyPage);
	b->nentries = b->nrestarts = 0;
	b->first_ordinal = first_ordinal;
}

static inline uint32
length_bytes(uint32 n)
{
	return n < 255 ? 1 : 3;
}

static inline uint8 *
put_length(uint8 *to, uint32 n)
{
	if (n < 255)
	{
		*to = (uint8) n;
		return to + 1;
	}
	to[0] = 255;
	to[1] = (uint8) n;
	to[2] = (uint8) (n >> 8);
	return to + 3;
}

bool
snii_key_page_add(SniiKeyPageBuilder *b, const SniiKeyEntry *entry,
				  uint32 shared)
{
	bool		restart = b->nentries % SNII_KEY_RESTART == 0;
	bool		fixed = fixed_len(b->desc) > 0;
	uint32		rest;
	uint32		need;
	uint8	   *to = b->page.bytes + b->at;

	if (restart)
		shared = 0;
	else if (fixed)
		shared = Min(shared, 255);
	rest = entry->len - shared;
	need = fixed ? 1 + rest : length_bytes(shared) + length_bytes(rest) +
		rest;
	if (has_payload(b->desc))
		need += length_bytes(entry->payload_len) + entry->payload_len;
	if (b->at + need + 2 * (b->nrestarts + (restart ? 1 : 0)) >
		SNII_PAGE_PAYLOAD)
		return false;
	if (restart)
		b->restarts[b->nrestarts++] = (uint16) b->at;
	if (fixed)
		*to++ = (uint8) shared;
	else
	{
		to = put_length(to, shared);
		to = put_length(to, rest);
		if (has_payload(b->desc))
			to = put_length(to, entry->payload_len);
	}
	memcpy(to, entry->str + shared, rest);
	if (entry->payload_len > 0)
		memcpy(to + rest, entry->payload, entry->payload_len);
	b->at += need;
	b->nentries++;
	return true;
}

uint32
snii_key_page_finish(SniiKeyPageBuilder *b)
{
	b->page.header.nentries = (uint16) b->nentries;
	b->page.header.restarts = (uint16) b->at;
	b->page.header.fixed_len = (uint16) fixed_len(b->desc);
	b->page.header.reserved = 0;
	b->page.header.first_ordinal = b->first_ordinal;
	memcpy(b->page.bytes + b->at, b->restarts,
		   b->nrestarts * sizeof(uint16));
	return b->at + b->nrestarts * (uint32) sizeof(uint16);
}

/* ----------------------------------------------------------------
 *		Reading
 * ----------------------------------------------------------------
 */

bool
snii_key_page_open(SniiKeyPageReader *r, const SniiKeyDesc *desc,
				   const uint8 *page, uint32 len)
{
	const SniiKeyPage *header = (const SniiKeyPage *) page;

	if (len < sizeof(SniiKeyPage) || len > SNII_PAGE_PAYLOAD)
		return false;
	r->desc = desc;
	r->page = page;
	r->end = header->restarts;
	r->nentries = header->nentries;
	r->nrestarts = (r->nentries + SNII_KEY_RESTART - 1) / SNII_KEY_RESTART;
	r->fixed_len = header->fixed_len;
	r->first_ordinal = header->first_ordinal;
	r->item = 0;
	r->len = 0;
	return r->nentries > 0 && r->fixed_len == fixed_len(desc) &&
		r->end >= sizeof(SniiKeyPage) &&
		r->end + r->nrestarts * sizeof(uint16) == len;
}

static pg_attribute_always_inline bool
get_length(const uint8 *page, uint32 end, uint32 *at, uint32 *n)
{
	if (*at >= end)
		return false;
	*n = page[(*at)++];
	if (*n < 255)
		return true;
	if (end - *at < 2)
		return false;
	*n = page[*at] | (uint32) page[*at + 1] << 8;
	*at += 2;
	return true;
}

/*
 * The lengths of the entry at offset *at, which is moved to its bytes.
 */
static pg_attribute_always_inline bool
get_header(const SniiKeyPageReader *r, uint32 *at, uint32 *shared,
		   uint32 *rest, uint32 *payload)
{
	*payload = 0;
	if (r->fixed_len > 0)
	{
		if (*at >= r->end)
			return false;
		*shared = r->page[(*at)++];
		if (*shared > r->fixed_len)
			return false;
		*rest = r->fixed_len - *shared;
	}
	else if (!get_length(r->page, r->end, at, shared) ||
			 !get_length(r->page, r->end, at, rest) ||
			 (has_payload(r->desc) &&
			  !get_length(r->page, r->end, at, payload)))
		return false;
	return *shared + *rest + *payload <= SNII_KEY_MAX_ENTRY &&
		*shared + *rest > SNII_KEY_TID_BYTES &&
		*rest + *payload <= r->end - *at;
}

/* Make the entry whose bytes are at "at" the one at hand. */
static pg_attribute_always_inline void
take_entry(SniiKeyPageReader *r, uint32 at, uint32 rest, uint32 payload)
{
	/* What is copied too much is of the page, and falls behind the string. */
	if (likely(rest <= SNII_KEY_SLACK &&
			   at + SNII_KEY_SLACK <= SNII_PAGE_PAYLOAD))
		memcpy(r->str + r->shared, r->page + at, SNII_KEY_SLACK);
	else
		memcpy(r->str + r->shared, r->page + at, rest);
	r->len = r->shared + rest;
	r->payload = r->page + at + rest;
	r->payload_len = payload;
	r->next = at + rest + payload;
}

/* Read the entry at r->next, behind the one at hand. */
static pg_attribute_always_inline bool
read_entry(SniiKeyPageReader *r)
{
	uint32		at = r->next;
	uint32		rest;
	uint32		payload;

	if (unlikely(!get_header(r, &at, &r->shared, &rest, &payload) ||
				 r->shared > r->len))
		return false;
	take_entry(r, at, rest, payload);
	return true;
}

static inline bool
restart_offset(const SniiKeyPageReader *r, uint32 i, uint32 *at)
{
	uint16		offset;

	memcpy(&offset, r->page + r->end + i * sizeof(uint16), sizeof(offset));
	*at = offset;
	return offset >= sizeof(SniiKeyPage) && offset < r->end;
}

/* Read the first entry of restart i. */
static bool
read_restart(SniiKeyPageReader *r, uint32 i)
{
	if (!restart_offset(r, i, &r->next))
		return false;
	r->item = i * SNII_KEY_RESTART;
	r->len = 0;
	return read_entry(r);
}

bool
snii_key_page_goto(SniiKeyPageReader *r, uint32 item)
{
	Assert(item < r->nentries);
	if (!read_restart(r, item / SNII_KEY_RESTART))
		return false;
	while (r->item < item)
		if (!snii_key_page_next(r))
			return false;
	return true;
}

bool
snii_key_page_next(SniiKeyPageReader *r)
{
	r->item++;
	return read_entry(r);
}

void
snii_key_page_rewind(SniiKeyPageReader *r)
{
	r->item = PG_UINT32_MAX;
	r->next = sizeof(SniiKeyPage);
}

bool
snii_key_page_next_ordered(SniiKeyPageReader *r, uint32 *shared,
						   bool *greater)
{
	uint32		at = r->next;
	uint32		rest;
	uint32		payload;
	uint32		known;

	r->item++;
	if (unlikely(!get_header(r, &at, &r->shared, &rest, &payload) ||
				 r->shared > r->len))
		return false;
	known = r->shared;
	if (r->item % SNII_KEY_RESTART == 0)
	{
		uint32		place;

		if (r->shared != 0 ||
			!restart_offset(r, r->item / SNII_KEY_RESTART, &place) ||
			place != r->next)
			return false;
		known = snii_key_common(r->str, r->page + at, Min(r->len, rest));
	}
	*shared = known;
	*greater = known < r->shared + rest &&
		(known == r->len || r->page[at + known - r->shared] > r->str[known]);
	take_entry(r, at, rest, payload);
	return r->item + 1 < r->nentries || r->next == r->end;
}

/*
 * The last restart whose string is before the position, 0 if none is.
 * *before: that of restart 0 is.
 */
static bool
find_restart(SniiKeyPageReader *r, const SniiKeyPos *pos, uint32 *restart,
			 bool *before)
{
	uint32		low = 0;		/* restarts below are before pos */
	uint32		high = r->nrestarts;

	while (low < high)
	{
		uint32		middle = (low + high) / 2;
		uint32		at;
		uint32		shared;
		uint32		rest;
		uint32		payload;

		if (!restart_offset(r, middle, &at) ||
			!get_header(r, &at, &shared, &rest, &payload) || shared != 0)
			return false;
		if (snii_key_before(r->desc, r->page + at, rest, pos))
			low = middle + 1;
		else
			high = middle;
	}
	*before = low > 0;
	*restart = low > 0 ? low - 1 : 0;
	return true;
}

/*
 * Entries of class BYTES, of which the one at hand is before the position:
 * go on to the first that is not.
 */
static bool
seek_bytes(SniiKeyPageReader *r, const SniiKeyPos *pos, bool *found)
{
	uint32		matched = snii_key_common(r->str, pos->bytes,
										  Min(r->len, pos->len));

	while (r->item + 1 < r->nentries)
	{
		if (!snii_key_page_next(r))
			return false;
		if (r->shared > matched)
			continue;			/* as the one before */
		if (r->shared < matched)
		{
			/* Greater than that where the position is like it; a restart. */
			*found = true;
			return true;
		}
		matched += snii_key_common(r->str + matched, pos->bytes + matched,
								   Min(r->len, pos->len) - matched);
		if (matched == pos->len ? !pos->after :
			matched < r->len && r->str[matched] > pos->bytes[matched])
		{
			*found = true;
			return true;
		}
	}
	return true;
}

bool
snii_key_page_seek(SniiKeyPageReader *r, const SniiKeyPos *pos, bool *found)
{
	uint32		restart;
	bool		before;

	*found = false;
	if (!find_restart(r, pos, &restart, &before) || !read_restart(r, restart))
		return false;
	if (!before)
	{
		*found = true;
		return true;
	}
	if (r->desc->all_bytes)
		return seek_bytes(r, pos, found);
	while (r->item + 1 < r->nentries)
	{
		if (!snii_key_page_next(r))
			return false;
		if (snii_key_compare_pos(r->desc, r->str, r->len, pos) > 0)
		{
			*found = true;
			break;
		}
	}
	return true;
}
