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
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Encoded size of a type whose bytes give its order; 0: varies, -1: none. */
static int
bytes_width(Oid type, Oid collation)
{
	switch (type)
	{
		case BOOLOID:
			return 1;
		case INT2OID:
			return 2;
		case INT4OID:
		case OIDOID:
		case DATEOID:
			return 4;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case TIMEOID:
			return 8;
		case UUIDOID:
			return 16;
		case BYTEAOID:
			return 0;
		case TEXTOID:
		case VARCHAROID:
			return OidIsValid(collation) &&
				snii_compat_collation_is_c(collation) ? 0 : -1;
		default:
			return -1;
	}
}

bool
snii_key_type_is_bytes(Oid type)
{
	return bytes_width(type, InvalidOid) >= 0;
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
	width = bytes_width(column->type, column->collation);
	column->class = width < 0 ? SNII_KEY_COMPARED : SNII_KEY_BYTES;
	column->width = (uint16) Max(width, 0);
	if (column->class == SNII_KEY_COMPARED)
	{
		fmgr_info_copy(&column->compare,
					   index_getprocinfo(index, (AttrNumber) (i + 1),
										 SNII_KEY_COMPARE_PROC),
					   CurrentMemoryContext);
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
	b->capacity = Max(need, Max(2 * b->capacity, 128));
	if (b->data == NULL)
		b->data = palloc(b->capacity);
	else
		b->data = repalloc(b->data, b->capacity);
}

void
snii_key_bytes_add(SniiKeyBytes *b, const void *data, uint32 len)
{
	snii_key_bytes_reserve(b, len);
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}
