/*-------------------------------------------------------------------------
 *
 * key_order.c
 *	  Order, equality and hash of encoded keys.
 *
 * Strings of an index whose columns are all of class BYTES are compared by
 * memcmp.  Others are compared column by column; values of class COMPARED are
 * then copied to where their type wants them, which allocates nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_desc.h"

#include "access/tupmacs.h"
#include "common/hashfn.h"

/*
 * A value as its functions want it.  On the stack: a function of a user may
 * look into another index of this kind.
 */
typedef struct Scratch
{
	union
	{
		double		align_double;
		int64		align_int64;
		char		bytes[VARHDRSZ + SNII_KEY_MAX_ENTRY + 1];
	}			room;
	char	   *more;			/* instead, of a bound that is longer */
} Scratch;

static void
malformed(const SniiKeyDesc *desc)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a malformed key", desc->name),
			 errhint("REINDEX the index.")));
}

static Datum
scratch_datum(const SniiKeyDesc *desc, const SniiKeyColumn *column,
			  const uint8 *data, uint32 len, Scratch *scratch)
{
	char	   *bytes = scratch->room.bytes;

	if (column->typlen > 0 && (uint32) column->typlen != len)
		malformed(desc);
	scratch->more = NULL;
	if (len > SNII_KEY_MAX_ENTRY)
		scratch->more = bytes = palloc(VARHDRSZ + len + 1);
	if (column->typlen == -1)
	{
		SET_VARSIZE(bytes, len + VARHDRSZ);
		memcpy(bytes + VARHDRSZ, data, len);
		return PointerGetDatum(bytes);
	}
	memcpy(bytes, data, len);
	bytes[len] = 0;
	if (column->typbyval)
		return fetch_att(bytes, true, column->typlen);
	return PointerGetDatum(bytes);
}

static inline void
scratch_release(Scratch *scratch)
{
	if (scratch->more != NULL)
		pfree(scratch->more);
}

/* Values of class COMPARED, with their u16 lengths in front. */
static int
compare_values(const SniiKeyDesc *desc, const SniiKeyColumn *column,
			   const uint8 *a, uint32 alen, const uint8 *b, uint32 blen)
{
	Scratch		left;
	Scratch		right;
	int			cmp;

	if (alen == blen && memcmp(a, b, alen) == 0)
		return 0;
	cmp = DatumGetInt32(FunctionCall2Coll(unconstify(FmgrInfo *,
													 &column->compare),
										  column->collation,
										  scratch_datum(desc, column, a + 2,
														alen - 2, &left),
										  scratch_datum(desc, column, b + 2,
														blen - 2, &right)));
	scratch_release(&left);
	scratch_release(&right);
	return column->desc ? (cmp < 0 ? 1 : cmp > 0 ? -1 : 0) : cmp;
}

/* Hash of such a value; all have one if there is no function. */
static uint64
hash_value(const SniiKeyDesc *desc, const SniiKeyColumn *column,
		   const uint8 *value, uint32 len)
{
	Scratch		scratch;
	Datum		hash;

	if (!OidIsValid(column->hash.fn_oid))
		return 0;
	hash = FunctionCall2Coll(unconstify(FmgrInfo *, &column->hash),
							 column->collation,
							 scratch_datum(desc, column, value + 2, len - 2,
										   &scratch),
							 UInt64GetDatum(0));
	scratch_release(&scratch);
	return DatumGetUInt64(hash);
}

static inline int
compare_bytes(const uint8 *a, uint32 alen, const uint8 *b, uint32 blen)
{
	int			cmp = memcmp(a, b, Min(alen, blen));

	if (cmp != 0)
		return cmp;
	return alen < blen ? -1 : alen > blen ? 1 : 0;
}

/* Two columns that are known to end where they should. */
static int
compare_ended(const SniiKeyDesc *desc, const SniiKeyColumn *column,
			  const uint8 *a, uint32 alen, const uint8 *b, uint32 blen)
{
	if (a[0] != b[0])
		return (int) a[0] - (int) b[0];
	if (a[0] != SNII_KEY_VALUE)
		return 0;
	if (column->class == SNII_KEY_BYTES)
		return compare_bytes(a + 1, alen - 1, b + 1, blen - 1);
	return compare_values(desc, column, a + 1, alen - 1, b + 1, blen - 1);
}

int
snii_key_compare_column(const SniiKeyDesc *desc, const SniiKeyColumn *column,
						const uint8 *a, uint32 alen, const uint8 *b,
						uint32 blen)
{
	if (snii_key_column_end(column, a, 0, alen) != alen ||
		snii_key_column_end(column, b, 0, blen) != blen)
		malformed(desc);
	return compare_ended(desc, column, a, alen, b, blen);
}

/*
 * Compare the column that begins at *aat and *bat, and move both behind it.
 */
static int
compare_column(const SniiKeyDesc *desc, const SniiKeyColumn *column,
			   const uint8 *a, uint32 alen, uint32 *aat,
			   const uint8 *b, uint32 blen, uint32 *bat)
{
	uint32		aend = snii_key_column_end(column, a, *aat, alen);
	uint32		bend = snii_key_column_end(column, b, *bat, blen);
	int			cmp;

	if (aend == 0 || bend == 0)
		malformed(desc);
	cmp = compare_ended(desc, column, a + *aat, aend - *aat, b + *bat,
						bend - *bat);
	*aat = aend;
	*bat = bend;
	return cmp;
}

static int
compare_columns(const SniiKeyDesc *desc, const uint8 *a, uint32 alen,
				const uint8 *b, uint32 blen, bool tid)
{
	uint32		aat = 0;
	uint32		bat = 0;

	for (int i = 0; i < desc->nkeys; i++)
	{
		int			cmp = compare_column(desc, &desc->columns[i], a, alen,
										 &aat, b, blen, &bat);

		if (cmp != 0)
			return cmp;
	}
	return tid ? compare_bytes(a + aat, alen - aat, b + bat, blen - bat) : 0;
}

int
snii_key_compare(const SniiKeyDesc *desc, const uint8 *a, uint32 alen,
				 const uint8 *b, uint32 blen)
{
	if (desc->all_bytes)
		return compare_bytes(a, alen, b, blen);
	return compare_columns(desc, a, alen, b, blen, true);
}

int
snii_key_compare_keys(const SniiKeyDesc *desc, const uint8 *a, uint32 alen,
					  const uint8 *b, uint32 blen)
{
	if (alen < SNII_KEY_TID_BYTES || blen < SNII_KEY_TID_BYTES)
		malformed(desc);
	if (desc->all_bytes)
		return compare_bytes(a, alen - SNII_KEY_TID_BYTES, b,
							 blen - SNII_KEY_TID_BYTES);
	return compare_columns(desc, a, alen, b, blen, false);
}

bool
snii_key_equal(const SniiKeyDesc *desc, const uint8 *a, uint32 alen,
			   const uint8 *b, uint32 blen)
{
	/* Keys that are neighbours differ at their ends, if they do. */
	if (desc->all_bytes)
		return alen == blen &&
			(alen == 0 || (a[alen - 1] == b[alen - 1] &&
						   memcmp(a, b, alen) == 0));
	return compare_columns(desc, a, alen, b, blen, false) == 0;
}

int
snii_key_compare_pos(const SniiKeyDesc *desc, const uint8 *str, uint32 len,
					 const SniiKeyPos *pos)
{
	int			side = pos->after ? -1 : 1;
	uint32		at = 0;
	uint32		pos_at = 0;
	int			cmp;

	if (desc->all_bytes)
	{
		cmp = memcmp(str, pos->bytes, Min(len, pos->len));
		if (cmp != 0)
			return cmp;
		return len < pos->len ? -1 : side;
	}
	for (int i = 0; i < desc->nkeys; i++)
	{
		if (pos_at >= pos->len)
			return side;
		if (at >= len)
			return -1;
		/* A position may end behind the first byte of a column. */
		if (str[at] != pos->bytes[pos_at])
			return (int) str[at] - (int) pos->bytes[pos_at];
		if (pos_at + 1 >= pos->len)
			return side;
		if (at + 1 >= len)
			return -1;
		cmp = compare_column(desc, &desc->columns[i], str, len, &at,
							 pos->bytes, pos->len, &pos_at);
		if (cmp != 0)
			return cmp;
	}
	if (pos_at >= pos->len)
		return side;
	cmp = compare_bytes(str + at, Min(len - at, pos->len - pos_at),
						pos->bytes + pos_at, pos->len - pos_at);
	return cmp != 0 ? cmp : side;
}

/*
 * Filters take bits from all parts of a hash, which not every function of a
 * user spreads well: the finaliser of MurmurHash3.
 */
static inline uint64
mix(uint64 h)
{
	h ^= h >> 33;
	h *= UINT64CONST(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return h ^ (h >> 33);
}

uint64
snii_key_hash(const SniiKeyDesc *desc, const uint8 *key, uint32 len)
{
	uint64		hash = 0;
	uint32		at = 0;

	if (desc->all_bytes)
		return hash_bytes_extended(key, (int) len, 0);
	for (int i = 0; i < desc->nkeys; i++)
	{
		const SniiKeyColumn *column = &desc->columns[i];
		uint32		end = snii_key_column_end(column, key, at, len);
		uint64		h;

		if (end == 0)
			malformed(desc);
		if (column->class == SNII_KEY_BYTES || key[at] != SNII_KEY_VALUE)
			h = hash_bytes_extended(key + at, (int) (end - at), 0);
		else
			h = hash_value(desc, column, key + at + 1, end - at - 1);
		hash = hash_combine64(hash, h);
		at = end;
	}
	return mix(hash);
}

void
snii_key_separator(const SniiKeyDesc *desc, const uint8 *left, uint32 llen,
				   const uint8 *right, uint32 rlen, SniiKeyBytes *out)
{
	uint32		n = 0;

	if (!desc->all_bytes)
	{
		snii_key_bytes_add(out, right, rlen);
		return;
	}
	while (n < llen && n < rlen && left[n] == right[n])
		n++;
	snii_key_bytes_add(out, right, Min(n + 1, rlen));
}
