/*-------------------------------------------------------------------------
 *
 * key_record.h
 *	  Entries as records of the write buffer.
 *
 * The body of a record is the key and, if the index has INCLUDE columns, a
 * u16 with its length in front and the payload behind.  The TID is in the
 * record's header.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_RECORD_H
#define SNII_KEY_RECORD_H

#include "key/key_desc.h"
#include "storage/storage_ordered.h"

/* Body of the record of a row whose key is encoded already. */
extern void snii_key_record_make(const SniiKeyDesc *desc,
								 const SniiKeyBytes *key,
								 const Datum *values, const bool *isnull,
								 SniiKeyBytes *body);

/*
 * Take a record apart; entry->str and len are the key without TID.  With the
 * TID and the payload that is SNII_KEY_MAX_ENTRY bytes at most.  Malformed
 * bytes raise ERRCODE_INDEX_CORRUPTED.
 */
extern void snii_key_record_parse(const SniiKeyDesc *desc,
								  const SniiRecord *record,
								  SniiKeyEntry *entry);

/* The TID of a record as it stands behind the key of a string. */
static inline void
snii_key_record_tid(const SniiRecord *record, uint8 *out)
{
	snii_key_tid_bytes(&record->tid, out);
}

/*
 * Order of records; targets are positions (SniiKeyPos).  desc must live as
 * long.
 */
extern void snii_key_record_order(const SniiKeyDesc *desc, SniiOrder *order);

/* The same for finding what is before a position. */
extern void snii_key_record_order_back(const SniiKeyDesc *desc,
									   SniiOrder *order);

/* Bytes of a record's body before its key. */
static inline uint32
snii_key_record_skip(const SniiKeyDesc *desc)
{
	return desc->nattrs > desc->nkeys ? sizeof(uint16) : 0;
}

#endif							/* SNII_KEY_RECORD_H */
