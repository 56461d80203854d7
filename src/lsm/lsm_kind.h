/*-------------------------------------------------------------------------
 *
 * lsm_kind.h
 *	  What the LSM machinery knows of a kind of index: a table of functions.
 *
 * Buffer, flush, merge, VACUUM, recycling and the checker are written once,
 * in lsm/.  A kind says how records become a segment, how segments become
 * one, and what the TIDs of a segment are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_KIND_H
#define SNII_LSM_KIND_H

#include "lsm/lsm_policy.h"
#include "storage/storage_ordered.h"
#include "storage/storage_object.h"

#include "storage/itemptr.h"

/* Stored in the meta page; never renumber. */
typedef enum SniiKindId
{
	SNII_KIND_INVERTED = 1,
	SNII_KIND_KEY = 2,
	SNII_KIND_TEST_ORDERED = 14,	/* test/modules only */
	SNII_KIND_TEST = 15			/* the same */
} SniiKindId;

/* Records to make a segment of, in the order of their ordinals. */
typedef struct SniiRecordSource SniiRecordSource;
struct SniiRecordSource
{
	bool		(*next) (SniiRecordSource *self, SniiRecord *record);
};

/* One input of a merge. */
typedef struct SniiMergeInput
{
	SniiObject *object;
	uint64		ndocs;			/* documents, dead ones included */
	uint64		ndead;			/* bits set in marks */
	const uint8 *marks;			/* dead documents, to be left out */
} SniiMergeInput;

/*
 * Called with TIDs in ordinal order, n at a time.  False: the segment may be
 * gone; whoever called reads nothing more of it and returns.
 */
typedef bool (*SniiTidSink) (void *arg, uint64 first_ordinal,
							 const ItemPointerData *tids, int n);

/*
 * Called at least every few milliseconds by whoever reads a segment for long,
 * with nothing locked; pins may be held.  False as of SniiTidSink.
 */
typedef bool (*SniiGoOn) (void *arg);

typedef struct SniiKind
{
	uint8		id;				/* SniiKindId */
	const char *name;
	uint32		warm;			/* bits of the streams that look-ups begin
								 * with */

	/*
	 * Write a segment of all records of source, without delete marks.
	 * Document n is the n-th record.  Returns the number of documents.
	 * Memory: maintenance_work_mem beyond the largest record.
	 */
	uint64		(*build) (Relation index, SniiObjectWriter *w,
						  SniiRecordSource *source);

	/*
	 * Write one segment of the live documents of the inputs, in the order
	 * input, ordinal.  Returns the number of documents.
	 */
	uint64		(*merge) (Relation index, SniiObjectWriter *w,
						  SniiMergeInput *inputs, int ninputs);

	/*
	 * Report the TID of every document of a segment, dead or not, until the
	 * sink has enough.
	 */
	void		(*tids) (Relation index, SniiObject *object, uint64 ndocs,
						 SniiTidSink sink, void *arg);

	/*
	 * Verify a segment; ERRCODE_INDEX_CORRUPTED at the first fault.
	 */
	void		(*check_segment) (Relation index, SniiObject *object,
								  uint64 ndocs, const uint8 *marks);

	/* Verify one buffer record. */
	void		(*check_record) (Relation index, const SniiRecord *record);

	/*
	 * Write what the side list of a segment says of the documents in marks,
	 * behind its SniiSideHead.  False if go_on() said so.  NULL: the kind has
	 * no side lists.
	 */
	bool		(*side) (Relation index, SniiObject *object, uint64 ndocs,
						 const uint8 *marks, SniiObjectWriter *w,
						 SniiGoOn go_on, void *arg);

	/*
	 * Verify a side list against its segment; complete: no document has been
	 * marked since it was written.
	 */
	void		(*check_side) (Relation index, SniiObject *object,
							   uint64 ndocs, const uint8 *marks,
							   SniiObject *side, bool complete);

	/*
	 * The rest is for kinds whose documents stand in an order of their own;
	 * NULL for others.
	 *
	 * Order of records in the write buffer; allocated in the current context.
	 */
	SniiOrder  *(*order) (Relation index);

	/*
	 * Ordinals, in a segment that was just written by build, of some of its
	 * records.
	 */
	uint64		(*find_record) (Relation index, SniiObject *output,
								uint64 ndocs, const SniiRecord *record);

	/*
	 * Call sink with the ordinal, in a segment that was just written by
	 * merge, of each document of an input whose bit is set in late.
	 */
	void		(*find_marked) (Relation index, SniiObject *output,
								uint64 ndocs, SniiObject *input,
								uint64 input_ndocs, const uint8 *late,
								void (*sink) (void *arg, uint64 ordinal),
								void *arg);

	/*
	 * Fill in where the documents of n segments are in the order: ranks, from
	 * 1, of their first and last ones among all of these.  The caller keeps
	 * their pages from being recycled.
	 */
	void		(*ranges) (Relation index, const SniiDirEntry *segments,
						   int n, SniiPolicySegment *result);
	const SniiPolicy *policy;	/* NULL: the default one */
} SniiKind;

/* Register a kind; called from _PG_init of the library that holds it. */
extern void snii_lsm_register_kind(const SniiKind *kind);

/* Kind of an open index, from its meta page; an error if not registered. */
extern const SniiKind *snii_lsm_kind(Relation index);
extern const SniiKind *snii_lsm_kind_by_id(int id);

/* What merges a kind wants. */
extern const SniiPolicy *snii_lsm_policy(Relation index);

#endif							/* SNII_LSM_KIND_H */
