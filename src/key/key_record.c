/*-------------------------------------------------------------------------
 *
 * key_record.c
 *	  Entries as records of the write buffer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_record.h"

static inline bool
has_payload(const SniiKeyDesc *desc)
{
	return desc->nattrs > desc->nkeys;
}

void
snii_key_record_make(const SniiKeyDesc *desc, const SniiKeyBytes *key,
					 const Datum *values, const bool *isnull,
					 SniiKeyBytes *body)
{
	uint16		len = (uint16) key->len;

	if (has_payload(desc))
		snii_key_bytes_add(body, &len, sizeof(len));
	snii_key_bytes_add(body, key->data, key->len);
	if (has_payload(desc))
		snii_key_encode_payload(desc, values, isnull, body);
	if (body->len > SNII_KEY_MAX_ENTRY)
		snii_key_too_long(desc, body->len);
}

static void
malformed(const SniiKeyDesc *desc)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a malformed record", desc->name),
			 errhint("REINDEX the index.")));
}

void
snii_key_record_parse(const SniiKeyDesc *desc, const SniiRecord *record,
					  SniiKeyEntry *entry)
{
	uint16		len = (uint16) record->len;
	size_t		front = has_payload(desc) ? sizeof(len) : 0;

	if (record->len < front ||
		record->len - front > SNII_KEY_MAX_ENTRY - SNII_KEY_TID_BYTES)
		malformed(desc);
	if (front > 0)
		memcpy(&len, record->data, sizeof(len));
	if (len == 0 || len > record->len - front)
		malformed(desc);
	entry->str = record->data + front;
	entry->len = len;
	entry->payload = front > 0 ? entry->str + len : NULL;
	entry->payload_len = (uint32) (record->len - front - len);
}

/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

/* Key and TID of a record as one string. */
static uint32
string_of(const SniiKeyDesc *desc, const SniiRecord *record, uint8 *out)
{
	SniiKeyEntry entry;

	snii_key_record_parse(desc, record, &entry);
	memcpy(out, entry.str, entry.len);
	snii_key_record_tid(record, out + entry.len);
	return entry.len + SNII_KEY_TID_BYTES;
}

static int
order_compare(void *arg, const SniiRecord *a, const SniiRecord *b)
{
	uint8		x[SNII_ORDERED_MAX_BODY];
	uint8		y[SNII_ORDERED_MAX_BODY];
	uint32		xlen = string_of(arg, a, x);
	uint32		ylen = string_of(arg, b, y);

	return snii_key_compare(arg, x, xlen, y, ylen);
}

static bool
order_same_key(void *arg, const SniiRecord *a, const SniiRecord *b)
{
	SniiKeyEntry x;
	SniiKeyEntry y;

	snii_key_record_parse(arg, a, &x);
	snii_key_record_parse(arg, b, &y);
	return snii_key_equal(arg, x.str, x.len, y.str, y.len);
}

static int
order_compare_separator(void *arg, const SniiRecord *a, const uint8 *sep,
						uint32 len)
{
	const SniiKeyDesc *desc = arg;
	uint8		x[SNII_ORDERED_MAX_BODY];
	uint32		xlen;

	if (len == 0)
		return 1;
	if (desc->all_bytes)
	{
		/* Most are told apart without the TID. */
		SniiKeyEntry entry;
		int			cmp;

		snii_key_record_parse(desc, a, &entry);
		cmp = memcmp(entry.str, sep, Min(entry.len, len));
		if (cmp != 0)
			return cmp;
		if (len <= entry.len)
			return 1;
	}
	xlen = string_of(desc, a, x);
	return snii_key_compare(desc, x, xlen, sep, len);
}

/*
 * The target is a position.  Where it is just at a separator, what is behind it
 * begins in the range of that, and what is before it ends in the one before.
 */
static int
order_compare_target(void *arg, const void *target, const uint8 *sep,
					 uint32 len)
{
	const SniiKeyPos *pos = target;

	if (!pos->after && pos->len == len && memcmp(pos->bytes, sep, len) == 0)
		return 0;
	return -snii_key_compare_pos(arg, sep, len, pos);
}

static int
order_compare_target_back(void *arg, const void *target, const uint8 *sep,
						  uint32 len)
{
	return -snii_key_compare_pos(arg, sep, len, target);
}

void
snii_key_record_order_back(const SniiKeyDesc *desc, SniiOrder *order)
{
	snii_key_record_order(desc, order);
	order->compare_target = order_compare_target_back;
}

static uint32
order_separate(void *arg, const SniiRecord *left, const SniiRecord *right,
			   uint8 *out)
{
	uint8		x[SNII_ORDERED_MAX_BODY];
	uint8		y[SNII_ORDERED_MAX_BODY];
	uint32		xlen = string_of(arg, left, x);
	uint32		ylen = string_of(arg, right, y);
	SniiKeyBytes result = {out, 0, SNII_ORDERED_MAX_BODY};

	/* Fits: a separator is never longer than the string on its right. */
	snii_key_separator(arg, x, xlen, y, ylen, &result);
	return result.len;
}

void
snii_key_record_order(const SniiKeyDesc *desc, SniiOrder *order)
{
	order->arg = unconstify(SniiKeyDesc *, desc);
	order->compare = order_compare;
	order->same_key = order_same_key;
	order->compare_separator = order_compare_separator;
	order->compare_target = order_compare_target;
	order->separate = order_separate;
}
