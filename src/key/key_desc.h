/*-------------------------------------------------------------------------
 *
 * key_desc.h
 *	  Keys as strings of bytes: encoding, order, hash, bounds.
 *
 * docs/key-index.md, section 1.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_DESC_H
#define SNII_KEY_DESC_H

#include "compat.h"

#include "access/skey.h"
#include "fmgr.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

/* Longest string with its payload. */
#define SNII_KEY_MAX_ENTRY		2700
#define SNII_KEY_TID_BYTES		6
#define SNII_KEY_MAX_FIXED		255 /* of SniiKeyDesc.fixed_len */

/* First byte of a column. */
#define SNII_KEY_NULL_FIRST		0
#define SNII_KEY_VALUE			1
#define SNII_KEY_NULL_LAST		2

/* Support functions of key operator classes. */
#define SNII_KEY_COMPARE_PROC	1
#define SNII_KEY_HASH_PROC		7	/* extended, 64 bits */

typedef enum SniiKeyClass
{
	SNII_KEY_BYTES,				/* memcmp of encoded values */
	SNII_KEY_COMPARED			/* by support function */
} SniiKeyClass;

typedef struct SniiKeyColumn
{
	Oid			type;			/* of the values */
	Oid			input_type;		/* of the operator class, for look-ups in */
	Oid			family;			/* its operator family */
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	SniiKeyClass class;
	bool		standard;		/* has its type's own order; see key_desc.c */
	uint16		width;			/* encoded bytes behind the first, 0: varies */
	bool		desc;
	bool		nulls_first;
	FmgrInfo	compare;		/* class COMPARED */
	FmgrInfo	hash;			/* class COMPARED; fn_oid 0: there is none */
} SniiKeyColumn;

typedef struct SniiKeyDesc
{
	int			nkeys;
	int			nattrs;			/* with INCLUDE columns */
	bool		all_bytes;		/* no column of class COMPARED */
	uint16		fixed_len;		/* of every string with TID, 0: varies */
	TupleDesc	tupdesc;		/* of the index */
	const char *name;			/* of the index */
	SniiKeyColumn columns[FLEXIBLE_ARRAY_MEMBER];
} SniiKeyDesc;

/* An entry, or a part of one; str is the key and, behind it, the TID. */
typedef struct SniiKeyEntry
{
	const uint8 *str;
	uint32		len;			/* with the TID */
	const uint8 *payload;		/* INCLUDE columns */
	uint32		payload_len;
} SniiKeyEntry;

/* A place between entries: before or after all that begin with bytes. */
typedef struct SniiKeyPos
{
	const uint8 *bytes;
	uint32		len;
	bool		after;
} SniiKeyPos;

/* Growing array of bytes in a memory context. */
typedef struct SniiKeyBytes
{
	uint8	   *data;
	uint32		len;
	uint32		capacity;
} SniiKeyBytes;

/*
 * Make the descriptor of an open index, in the current memory context; it is
 * good as long as the index is open.
 */
extern SniiKeyDesc *snii_key_desc(Relation index);

/*
 * Encode the key columns of a row, without TID.  Detoasts.  Appends to out.
 */
extern void snii_key_encode(const SniiKeyDesc *desc, const Datum *values,
							const bool *isnull, SniiKeyBytes *out);
extern void snii_key_encode_column(const SniiKeyDesc *desc, int column,
								   Datum value, bool isnull,
								   SniiKeyBytes *out);

/*
 * Encode a value that entries are compared with and that may be longer than
 * any of them.  It is cut where no entry is as long.  False, and nothing is
 * appended, if it is too long for its class.
 */
extern bool snii_key_encode_bound(const SniiKeyDesc *desc, int column,
								  Datum value, SniiKeyBytes *out);
extern void snii_key_put_tid(SniiKeyBytes *out, const ItemPointerData *tid);
extern void snii_key_tid_bytes(const ItemPointerData *tid, uint8 *out);

/* Raise that a row is too long. */
extern SNII_NORETURN_PRE void snii_key_too_long(const SniiKeyDesc *desc,
												Size len) SNII_NORETURN_POST;

/* INCLUDE columns of a row; nothing if there are none. */
extern void snii_key_encode_payload(const SniiKeyDesc *desc,
									const Datum *values, const bool *isnull,
									SniiKeyBytes *out);

/*
 * Give back the values of an entry, all nattrs of them; by-reference values
 * are allocated in the current memory context.  Malformed bytes raise
 * ERRCODE_INDEX_CORRUPTED.
 */
extern void snii_key_decode(Relation index, const SniiKeyDesc *desc,
							const SniiKeyEntry *entry, Datum *values,
							bool *isnull);
extern void snii_key_get_tid(const SniiKeyEntry *entry, ItemPointer tid);

/*
 * Columns of class BYTES of up to 8 bytes are integers in order; the value of
 * one, and the end of a column that begins at "at", 0 if it is malformed.
 */
extern bool snii_key_column_is_integer(const SniiKeyColumn *column);
extern Datum snii_key_integer_datum(const SniiKeyColumn *column, uint64 n);
extern uint32 snii_key_column_end(const SniiKeyColumn *column,
								  const uint8 *str, uint32 at, uint32 len);

/*
 * Check the form of a string: every column ends where it should, and the TID
 * can be one.
 */
extern bool snii_key_valid(const SniiKeyDesc *desc, const uint8 *str,
						   uint32 len);

/* Any column NULL?  (str without or with TID) */
extern bool snii_key_has_null(const SniiKeyDesc *desc, const uint8 *str,
							  uint32 len);

/*
 * Order of two columns of one kind, each from its first byte to its end, as
 * entries have it.
 */
extern int	snii_key_compare_column(const SniiKeyDesc *desc,
									const SniiKeyColumn *column,
									const uint8 *a, uint32 alen,
									const uint8 *b, uint32 blen);

/* Order of two strings with TID; never 0 for different entries. */
extern int	snii_key_compare(const SniiKeyDesc *desc, const uint8 *a,
							 uint32 alen, const uint8 *b, uint32 blen);

/* Order of the keys alone; both strings with TID. */
extern int	snii_key_compare_keys(const SniiKeyDesc *desc, const uint8 *a,
								  uint32 alen, const uint8 *b, uint32 blen);

/* Are two keys, both without TID, equal? */
extern bool snii_key_equal(const SniiKeyDesc *desc, const uint8 *a,
						   uint32 alen, const uint8 *b, uint32 blen);

/*
 * Is the entry before (< 0) or behind (> 0) a position?  Never 0.  str may be a
 * separator, cut off anywhere.
 */
extern int	snii_key_compare_pos(const SniiKeyDesc *desc, const uint8 *str,
								 uint32 len, const SniiKeyPos *pos);

/* Hash of a key without TID: equal keys have equal hashes. */
extern uint64 snii_key_hash(const SniiKeyDesc *desc, const uint8 *key,
							uint32 len);

/*
 * Separator of two neighbouring strings, left < right: appends a string s with
 * left < s <= right to out, the shortest if the index is of class BYTES alone.
 */
extern void snii_key_separator(const SniiKeyDesc *desc, const uint8 *left,
							   uint32 llen, const uint8 *right, uint32 rlen,
							   SniiKeyBytes *out);

/*
 * Interval of scan keys.  Conditions that it does not express are returned in
 * residual (indexes into keys), to be tested with snii_key_test().  Of a
 * SK_SEARCHARRAY key the caller gives elements one by one, without that flag;
 * one that has it is residual, for the caller to test.  *empty: nothing can
 * match.  The bytes of lower and upper, and residual, are allocated in the
 * current memory context.
 */
typedef struct SniiKeyInterval
{
	bool		empty;
	bool		point;			/* = on every key column (NULLs not allowed) */
	SniiKeyPos	lower;
	SniiKeyPos	upper;
	int			nresidual;
	int		   *residual;
} SniiKeyInterval;

extern void snii_key_interval(const SniiKeyDesc *desc, ScanKey keys,
							  int nkeys, SniiKeyInterval *interval);

/*
 * The short way for the most frequent scan keys, = on each key column and
 * nothing else: appends the key to out.  False, and nothing is appended, if
 * the scan keys are others; they may be a point nevertheless.
 */
extern bool snii_key_point(const SniiKeyDesc *desc, const ScanKeyData *keys,
						   int nkeys, SniiKeyBytes *out);

/*
 * The beginning of a value of type (InvalidOid: the column's) as an integer:
 * where these differ, they are in the order of the index.  False if a column
 * or type has none.  scratch is used.
 */
extern bool snii_key_prefix(const SniiKeyDesc *desc, int column, Oid type,
							Datum value, SniiKeyBytes *scratch,
							uint64 *prefix);

extern bool snii_key_test(const SniiKeyDesc *desc, ScanKey key,
						  const Datum *values, const bool *isnull);

/* Bytes helpers. */
extern void snii_key_bytes_reserve(SniiKeyBytes *b, uint32 more);
extern void snii_key_bytes_add(SniiKeyBytes *b, const void *data, uint32 len);

#endif							/* SNII_KEY_DESC_H */
