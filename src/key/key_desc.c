/*-------------------------------------------------------------------------
 *
 * key_desc.c
 *	  What the columns of a key index are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "key/key_desc.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/*
 * The function that gives a type the order that its form or the arithmetic of
 * key_interval.c is made for; an operator class of a user may have another.
 */
static Oid
standard_order(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return F_BTBOOLCMP;
		case INT2OID:
			return F_BTINT2CMP;
		case INT4OID:
			return F_BTINT4CMP;
		case INT8OID:
			return F_BTINT8CMP;
		case OIDOID:
			return F_BTOIDCMP;
		case DATEOID:
			return F_DATE_CMP;
		case TIMESTAMPOID:
			return F_TIMESTAMP_CMP;
		case TIMESTAMPTZOID:
			return F_TIMESTAMPTZ_CMP;
		case TIMEOID:
			return F_TIME_CMP;
		case UUIDOID:
			return F_UUID_CMP;
		case BYTEAOID:
			return F_BYTEACMP;
		case TEXTOID:
			return F_BTTEXTCMP;
		case FLOAT4OID:
			return F_BTFLOAT4CMP;
		case FLOAT8OID:
			return F_BTFLOAT8CMP;
		default:
			return InvalidOid;
	}
}

/*
 * Encoded size of a column whose bytes give its order; 0: varies, -1: they do
 * not.
 */
static int
bytes_width(const SniiKeyColumn *column)
{
	if (!column->standard)
		return -1;
	switch (column->type)
	{
		case FLOAT4OID:
		case FLOAT8OID:
			return -1;
		case BYTEAOID:
			return 0;
		case TEXTOID:
			return OidIsValid(column->collation) &&
				snii_compat_collation_is_c(column->collation) ? 0 : -1;
		default:
			return column->typlen;
	}
}

static void
describe_column(Relation index, int i, SniiKeyColumn *column)
{
	int16		option = index->rd_indoption[i];
	int			width;

	column->type = column->input_type = index->rd_opcintype[i];
	column->family = index->rd_opfamily[i];
	/* A polymorphic class (anyenum) is as good as the column's own type. */
	if (IsPolymorphicType(column->type))
		column->type = TupleDescAttr(RelationGetDescr(index), i)->atttypid;
	column->collation = index->rd_indcollation[i];
	get_typlenbyvalalign(column->type, &column->typlen, &column->typbyval,
						 &column->typalign);
	column->desc = (option & INDOPTION_DESC) != 0;
	column->nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	column->standard =
		index_getprocid(index, (AttrNumber) (i + 1),
						SNII_KEY_COMPARE_PROC) == standard_order(column->type);
	width = bytes_width(column);
	column->class = width < 0 ? SNII_KEY_COMPARED : SNII_KEY_BYTES;
	column->width = (uint16) Max(width, 0);
	if (column->class == SNII_KEY_COMPARED)
	{
		fmgr_info_copy(&column->compare,
					   index_getprocinfo(index, (AttrNumber) (i + 1),
										 SNII_KEY_COMPARE_PROC),
					   CurrentMemoryContext);
		if (!OidIsValid(index_getprocid(index, (AttrNumber) (i + 1),
										SNII_KEY_HASH_PROC)))
			return;
		fmgr_info_copy(&column->hash,
					   index_getprocinfo(index, (AttrNumber) (i + 1),
										 SNII_KEY_HASH_PROC),
					   CurrentMemoryContext);
	}
}

SniiKeyDesc *
snii_key_desc(Relation index)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	SniiKeyDesc *desc = palloc0(offsetof(SniiKeyDesc, columns) +
								nkeys * sizeof(SniiKeyColumn));
	uint32		len = SNII_KEY_TID_BYTES;

	desc->nkeys = nkeys;
	desc->nattrs = IndexRelationGetNumberOfAttributes(index);
	desc->name = RelationGetRelationName(index);
	desc->tupdesc = RelationGetDescr(index);
	desc->all_bytes = true;
	for (int i = 0; i < nkeys; i++)
	{
		SniiKeyColumn *column = &desc->columns[i];

		describe_column(index, i, column);
		if (column->class != SNII_KEY_BYTES)
			desc->all_bytes = false;
		if (column->width == 0)
			len = 0;
		else if (len > 0)
			len += 1 + column->width;
	}
	/* The page format has one byte for what follows of a string. */
	if (len > 0 && len <= SNII_KEY_MAX_FIXED)
		desc->fixed_len = (uint16) len;
	return desc;
}

void
snii_key_bytes_reserve(SniiKeyBytes *b, uint32 more)
{
	uint32		need = b->len + more;

	if (need <= b->capacity)
		return;
	need = Max(need, Max(2 * b->capacity, 128));
	if (b->data == NULL)
		b->data = palloc(need);
	else
		b->data = repalloc(b->data, need);
	b->capacity = need;
}

void
snii_key_bytes_add(SniiKeyBytes *b, const void *data, uint32 len)
{
	snii_key_bytes_reserve(b, len);
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}
