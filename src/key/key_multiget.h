/*-------------------------------------------------------------------------
 *
 * key_multiget.h
 *	  Look-ups of many whole keys at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_MULTIGET_H
#define SNII_KEY_MULTIGET_H

#include "key/key_desc.h"
#include "lsm/lsm_view.h"

#include "access/sdir.h"

typedef struct SniiKeyMultiget SniiKeyMultiget;

/* Keys of a batch at most. */
#define SNII_KEY_BATCH		512

/*
 * Begin to look keys up in a view, which must outlive it.  Everything is in
 * the current memory context; no pin is held between calls.  entries: the
 * caller wants strings and payloads, not TIDs alone.
 */
extern SniiKeyMultiget *snii_key_multiget_begin(Relation index,
												const SniiKeyDesc *desc,
												const SniiView *view,
												bool entries);

/* An empty batch, for keys that come in this order. */
extern void snii_key_multiget_reset(SniiKeyMultiget *m, ScanDirection dir);

/*
 * Where the next key of the batch is to be appended, as by snii_key_point();
 * then snii_key_multiget_add() makes what was appended a key, each once.
 */
extern SniiKeyBytes *snii_key_multiget_bytes(SniiKeyMultiget *m);
extern void snii_key_multiget_add(SniiKeyMultiget *m);

/*
 * Look the batch up.  Returns how many keys, from the first, were answered:
 * fewer than there are if they have many entries, 0 if the first alone has.
 */
extern int	snii_key_multiget_run(SniiKeyMultiget *m);

/* An entry that is not marked dead. */
typedef struct SniiKeyFound
{
	int			key;			/* number in the batch */
	ItemPointerData tid;
	SniiKeyEntry entry;			/* if entries are wanted */
} SniiKeyFound;

/* Number of entries found, and each of them, in order of the direction. */
extern int	snii_key_multiget_count(const SniiKeyMultiget *m);
extern void snii_key_multiget_found(const SniiKeyMultiget *m, int i,
									SniiKeyFound *found);

/*
 * The string, with TID, at which a scan of key i has found that TID: in order
 * equal to the entry's.  Appended to out.
 */
extern void snii_key_multiget_string(const SniiKeyMultiget *m, int key,
									 const ItemPointerData *tid,
									 SniiKeyBytes *out);

/*
 * The end, of what is to be said in the log if it was slow; memory and pins
 * are not concerned.
 */
extern void snii_key_multiget_end(SniiKeyMultiget *m);

/* Was anything of the last batch read from outside of shared buffers? */
extern bool snii_key_multiget_cold(const SniiKeyMultiget *m);

#endif							/* SNII_KEY_MULTIGET_H */
