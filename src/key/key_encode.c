/*-------------------------------------------------------------------------
 *
 * key_encode.c
 *	  Values of columns as strings of bytes, and back.
 *
 * docs/key-index.md, section 1, has the form.  Whatever comes from disk is
 * measured by column_end() before it is looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "key/key_desc.h"
#include "storage/storage_page.h"

#include "access/detoast.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "port/pg_bswap.h"
#include "utils/date.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Bytes of an INCLUDE column: length + 1 (0: NULL), value. */
#define PAYLOAD_HEADER	2

/* ----------------------------------------------------------------
 *		Integers
 * ----------------------------------------------------------------
 */

static uint64
integer_of(const SniiKeyColumn *column, Datum value)
{
	switch (column->type)
	{
		case BOOLOID:
			return DatumGetBool(value) ? 1 : 0;
		case INT2OID:
			return (uint16) DatumGetInt16(value) ^ UINT64CONST(0x8000);
		case INT4OID:
		case DATEOID:
			return (uint32) DatumGetInt32(value) ^ UINT64CONST(0x80000000);
		case OIDOID:
			return DatumGetObjectId(value);
		default:
			return (uint64) DatumGetInt64(value) ^
				UINT64CONST(0x8000000000000000);
	}
}

static Datum
datum_of(const SniiKeyColumn *column, uint64 n)
{
	switch (column->type)
	{
		case BOOLOID:
			return BoolGetDatum(n != 0);
		case INT2OID:
			return Int16GetDatum((int16) (uint16) (n ^ 0x8000));
		case INT4OID:
		case DATEOID:
			return Int32GetDatum((int32) (uint32) (n ^ 0x80000000));
		case OIDOID:
			return ObjectIdGetDatum((Oid) n);
		default:
			return Int64GetDatum((int64) (n ^ UINT64CONST(0x8000000000000000)));
	}
}

static inline void
put_integer(uint8 *out, uint64 n, int width)
{
	for (int i = width - 1; i >= 0; i--)
	{
		out[i] = (uint8) n;
		n >>= 8;
	}
}

static inline uint64
get_integer(const uint8 *in, int width, uint8 flip)
{
	uint64		n = 0;

	for (int i = 0; i < width; i++)
		n = n << 8 | (uint8) (in[i] ^ flip);
	return n;
}

static inline uint8
null_byte(const SniiKeyColumn *column)
{
	return column->nulls_first ? SNII_KEY_NULL_FIRST : SNII_KEY_NULL_LAST;
}

bool
snii_key_column_is_integer(const SniiKeyColumn *column)
{
	return column->class == SNII_KEY_BYTES && column->width > 0 &&
		column->width <= 8;
}

Datum
snii_key_integer_datum(const SniiKeyColumn *column, uint64 n)
{
	return datum_of(column, n);
}

/* ----------------------------------------------------------------
 *		Encoding
 * ----------------------------------------------------------------
 */

void
snii_key_too_long(const SniiKeyDesc *desc, Size len)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index row size %zu exceeds maximum %d for index \"%s\"",
					len, SNII_KEY_MAX_ENTRY, desc->name),
			 errhint("Values larger than 1/3 of a buffer page cannot be indexed.\n"
					 "Consider a function index of an MD5 hash of the value, or use full text indexing.")));
}

static void
flip(SniiKeyBytes *out, uint32 from)
{
	for (uint32 i = from; i < out->len; i++)
		out->data[i] = ~out->data[i];
}

/* bytea: 0 as 0 255, and 0 0 at the end; text has no 0 but at the end. */
static void
put_string(const SniiKeyColumn *column, const uint8 *data, uint32 len,
		   SniiKeyBytes *out)
{
	snii_key_bytes_reserve(out, 2 * len + 2);
	if (column->type != BYTEAOID)
	{
		memcpy(out->data + out->len, data, len);
		out->len += len;
		out->data[out->len++] = 0;
		return;
	}
	for (uint32 i = 0; i < len; i++)
	{
		out->data[out->len++] = data[i];
		if (data[i] == 0)
			out->data[out->len++] = 255;
	}
	out->data[out->len++] = 0;
	out->data[out->len++] = 0;
}

/*
 * A value of class BYTES.  A bound is cut where no entry is as long: whatever
 * follows, entries are before or behind it by what is left of it.
 */
static void
put_bytes_value(const SniiKeyDesc *desc, const SniiKeyColumn *column,
				Datum value, bool bound, SniiKeyBytes *out)
{
	if (column->width == 0)
	{
		struct varlena *v = pg_detoast_datum_packed((struct varlena *)
													DatumGetPointer(value));
		Size		len = VARSIZE_ANY_EXHDR(v);

		if (len > SNII_KEY_MAX_ENTRY && !bound)
			snii_key_too_long(desc, len);
		put_string(column, (const uint8 *) VARDATA_ANY(v),
				   (uint32) Min(len, SNII_KEY_MAX_ENTRY), out);
		return;
	}
	snii_key_bytes_reserve(out, column->width);
	if (column->type == UUIDOID)
		memcpy(out->data + out->len, DatumGetUUIDP(value)->data, UUID_LEN);
	else
		put_integer(out->data + out->len, integer_of(column, value),
					column->width);
	out->len += column->width;
}

/*
 * Bytes of a value as they are stored in COMPARED columns and payloads.  If
 * they are more than limit, nothing is added and their number returned, else 0.
 */
static Size
put_raw(int16 typlen, bool typbyval, Datum value, uint32 extra, Size limit,
		SniiKeyBytes *out)
{
	const void *data;
	Size		len;
	uint16		header;
	char		byval[sizeof(Datum)];

	if (typbyval)
	{
		store_att_byval(byval, value, typlen);
		data = byval;
		len = typlen;
	}
	else if (typlen > 0)
	{
		data = DatumGetPointer(value);
		len = typlen;
	}
	else if (typlen == -1)
	{
		struct varlena *v = pg_detoast_datum_packed((struct varlena *)
													DatumGetPointer(value));

		data = VARDATA_ANY(v);
		len = VARSIZE_ANY_EXHDR(v);
	}
	else
	{
		data = DatumGetCString(value);
		len = strlen(data);
	}
	if (len > limit)
		return len;
	header = pg_hton16((uint16) (len + extra));
	snii_key_bytes_add(out, &header, sizeof(header));
	snii_key_bytes_add(out, data, (uint32) len);
	return 0;
}

static void
put_null(const SniiKeyColumn *column, SniiKeyBytes *out)
{
	snii_key_bytes_reserve(out, 1 + column->width);
	out->data[out->len++] = null_byte(column);
	memset(out->data + out->len, 0, column->width);
	out->len += column->width;
}

/* A value; the length if it is too long, and then nothing is added, else 0. */
static Size
put_value(const SniiKeyDesc *desc, const SniiKeyColumn *column, Datum value,
		  bool bound, SniiKeyBytes *out)
{
	uint32		from = out->len;
	Size		too_long = 0;

	snii_key_bytes_reserve(out, 1 + column->width);
	out->data[out->len++] = SNII_KEY_VALUE;
	if (column->class == SNII_KEY_COMPARED)
	{
		too_long = put_raw(column->typlen, column->typbyval, value, 0,
						   bound ? PG_UINT16_MAX : SNII_KEY_MAX_ENTRY, out);
		if (too_long > 0)
			out->len = from;
		return too_long;
	}
	put_bytes_value(desc, column, value, bound, out);
	if (column->desc)
		flip(out, from + 1);
	return 0;
}

bool
snii_key_encode_bound(const SniiKeyDesc *desc, int i, Datum value,
					  SniiKeyBytes *out)
{
	return put_value(desc, &desc->columns[i], value, true, out) == 0;
}

void
snii_key_encode_column(const SniiKeyDesc *desc, int i, Datum value,
					   bool isnull, SniiKeyBytes *out)
{
	Size		too_long = 0;

	if (isnull)
		put_null(&desc->columns[i], out);
	else
		too_long = put_value(desc, &desc->columns[i], value, false, out);
	if (too_long > 0)
		snii_key_too_long(desc, too_long);
}

void
snii_key_encode(const SniiKeyDesc *desc, const Datum *values,
				const bool *isnull, SniiKeyBytes *out)
{
	uint32		from = out->len;

	for (int i = 0; i < desc->nkeys; i++)
		snii_key_encode_column(desc, i, values[i], isnull[i], out);
	if (out->len - from + SNII_KEY_TID_BYTES > SNII_KEY_MAX_ENTRY)
		snii_key_too_long(desc, out->len - from + SNII_KEY_TID_BYTES);
}

void
snii_key_put_tid(SniiKeyBytes *out, const ItemPointerData *tid)
{
	snii_key_bytes_reserve(out, SNII_KEY_TID_BYTES);
	snii_key_tid_bytes(tid, out->data + out->len);
	out->len += SNII_KEY_TID_BYTES;
}

void
snii_key_tid_bytes(const ItemPointerData *tid, uint8 *out)
{
	put_integer(out, ItemPointerGetBlockNumberNoCheck(tid), 4);
	put_integer(out + 4, ItemPointerGetOffsetNumberNoCheck(tid), 2);
}

void
snii_key_encode_payload(const SniiKeyDesc *desc, const Datum *values,
						const bool *isnull, SniiKeyBytes *out)
{
	uint32		from = out->len;

	for (int i = desc->nkeys; i < desc->nattrs; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc->tupdesc, i);
		Size		too_long = 0;

		if (isnull[i])
		{
			uint16		zero = 0;

			snii_key_bytes_add(out, &zero, sizeof(zero));
		}
		else
			too_long = put_raw(att->attlen, att->attbyval, values[i], 1,
							   SNII_KEY_MAX_ENTRY, out);
		if (too_long > 0)
			snii_key_too_long(desc, too_long);
	}
	if (out->len - from > SNII_KEY_MAX_ENTRY)
		snii_key_too_long(desc, out->len - from);
}

/* ----------------------------------------------------------------
 *		Decoding
 * ----------------------------------------------------------------
 */

/*
 * Where a column that begins at "at" ends; 0 if it does not end within len
 * bytes or is malformed.
 */
uint32
snii_key_column_end(const SniiKeyColumn *column, const uint8 *str, uint32 at,
					uint32 len)
{
	uint8		flip_mask = column->desc ? 255 : 0;
	const uint8 *zero;
	uint32		end;

	if (at >= len)
		return 0;
	if (str[at] == null_byte(column))
	{
		end = at + 1 + column->width;
		return end <= len ? end : 0;
	}
	if (str[at++] != SNII_KEY_VALUE)
		return 0;
	if (column->class == SNII_KEY_COMPARED)
	{
		if (len - at < 2 ||
			(column->typlen > 0 &&
			 (str[at] << 8 | str[at + 1]) != column->typlen))
			return 0;
		end = at + 2 + ((uint32) str[at] << 8 | str[at + 1]);
		return end <= len ? end : 0;
	}
	if (column->width > 0)
		return at + column->width <= len ? at + column->width : 0;
	while ((zero = memchr(str + at, flip_mask, len - at)) != NULL)
	{
		at = zero - str + 1;
		if (column->type != BYTEAOID)
			return at;
		if (at >= len)
			return 0;
		if ((str[at] ^ flip_mask) == 0)
			return at + 1;
		if ((str[at] ^ flip_mask) != 255)
			return 0;
		at++;
	}
	return 0;
}

static void
corrupted(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a malformed key",
					RelationGetRelationName(index)),
			 errhint("REINDEX the index.")));
}

/* A by-reference or by-value datum of raw bytes; false: wrong length. */
static bool
raw_datum(int16 typlen, bool typbyval, const uint8 *data, uint32 len,
		  Datum *value)
{
	char	   *copy;

	if (typlen > 0 && (uint32) typlen != len)
		return false;
	if (typbyval)
	{
		union
		{
			char		bytes[sizeof(Datum)];
			int64		align;
		}			aligned;

		memcpy(aligned.bytes, data, len);
		*value = fetch_att(aligned.bytes, true, typlen);
		return true;
	}
	if (typlen == -1)
	{
		copy = palloc(len + VARHDRSZ);
		SET_VARSIZE(copy, len + VARHDRSZ);
		memcpy(VARDATA(copy), data, len);
	}
	else
	{
		copy = palloc(len + 1);
		memcpy(copy, data, len);
		copy[len] = 0;
	}
	*value = PointerGetDatum(copy);
	return true;
}

static Datum
string_datum(const SniiKeyColumn *column, const uint8 *data, uint32 len)
{
	uint8		flip_mask = column->desc ? 255 : 0;
	bool		escaped = column->type == BYTEAOID;
	struct varlena *v = palloc(len + VARHDRSZ);
	uint8	   *to = (uint8 *) VARDATA(v);

	len -= escaped ? 2 : 1;
	for (uint32 i = 0; i < len; i++)
	{
		*to = data[i] ^ flip_mask;
		if (escaped && *to == 0)
			i++;
		to++;
	}
	SET_VARSIZE(v, (char *) to - (char *) v);
	return PointerGetDatum(v);
}

static Datum
bytes_datum(const SniiKeyColumn *column, const uint8 *data, uint32 len)
{
	uint8		flip_mask = column->desc ? 255 : 0;

	if (column->width == 0)
		return string_datum(column, data, len);
	if (column->type == UUIDOID)
	{
		pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

		for (int i = 0; i < UUID_LEN; i++)
			uuid->data[i] = data[i] ^ flip_mask;
		return UUIDPGetDatum(uuid);
	}
	return datum_of(column, get_integer(data, column->width, flip_mask));
}

static void
decode_payload(Relation index, const SniiKeyDesc *desc,
			   const SniiKeyEntry *entry, Datum *values, bool *isnull)
{
	uint32		at = 0;

	for (int i = desc->nkeys; i < desc->nattrs; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc->tupdesc, i);
		uint32		len;

		if (at + PAYLOAD_HEADER > entry->payload_len)
			corrupted(index);
		len = (uint32) entry->payload[at] << 8 | entry->payload[at + 1];
		at += PAYLOAD_HEADER;
		isnull[i] = len == 0;
		values[i] = (Datum) 0;
		if (len == 0)
			continue;
		len--;
		if (len > entry->payload_len - at ||
			!raw_datum(att->attlen, att->attbyval, entry->payload + at, len,
					   &values[i]))
			corrupted(index);
		at += len;
	}
	if (at != entry->payload_len)
		corrupted(index);
}

void
snii_key_decode(Relation index, const SniiKeyDesc *desc,
				const SniiKeyEntry *entry, Datum *values, bool *isnull)
{
	uint32		at = 0;

	for (int i = 0; i < desc->nkeys; i++)
	{
		const SniiKeyColumn *column = &desc->columns[i];
		uint32		end = snii_key_column_end(column, entry->str, at,
											  entry->len);

		if (end == 0)
			corrupted(index);
		isnull[i] = entry->str[at] != SNII_KEY_VALUE;
		values[i] = (Datum) 0;
		if (!isnull[i] && column->class == SNII_KEY_BYTES)
			values[i] = bytes_datum(column, entry->str + at + 1,
									end - at - 1);
		else if (!isnull[i] &&
				 !raw_datum(column->typlen, column->typbyval,
							entry->str + at + 3, end - at - 3, &values[i]))
			corrupted(index);
		at = end;
	}
	if (at + SNII_KEY_TID_BYTES != entry->len)
		corrupted(index);
	decode_payload(index, desc, entry, values, isnull);
}

void
snii_key_get_tid(const SniiKeyEntry *entry, ItemPointer tid)
{
	const uint8 *bytes = entry->str + entry->len - SNII_KEY_TID_BYTES;

	Assert(entry->len >= SNII_KEY_TID_BYTES);
	ItemPointerSet(tid, (BlockNumber) get_integer(bytes, 4, 0),
				   (OffsetNumber) get_integer(bytes + 4, 2, 0));
}

bool
snii_key_valid(const SniiKeyDesc *desc, const uint8 *str, uint32 len)
{
	SniiKeyEntry entry = {str, len, NULL, 0};
	ItemPointerData tid;
	uint32		at = 0;

	for (int i = 0; i < desc->nkeys; i++)
		if ((at = snii_key_column_end(&desc->columns[i], str, at, len)) == 0)
			return false;
	if (at + SNII_KEY_TID_BYTES != len)
		return false;
	snii_key_get_tid(&entry, &tid);
	return snii_storage_tid_is_valid(&tid);
}

bool
snii_key_has_null(const SniiKeyDesc *desc, const uint8 *str, uint32 len)
{
	uint32		at = 0;

	for (int i = 0; i < desc->nkeys; i++)
	{
		if (at >= len || str[at] != SNII_KEY_VALUE)
			return at < len;
		at = snii_key_column_end(&desc->columns[i], str, at, len);
		if (at == 0)
			return false;
	}
	return false;
}
