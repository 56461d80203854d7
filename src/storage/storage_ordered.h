/*-------------------------------------------------------------------------
 *
 * storage_ordered.h
 *	  Ordered stretches: the write buffer of a key index.
 *
 * docs/key-index.md, section 2.  Records are those of storage_buffer.h; where
 * one is put depends on its key.  What a key is and how keys are ordered,
 * the caller says by SniiOrder.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_ORDERED_H
#define SNII_STORAGE_ORDERED_H

#include "storage/storage_buffer.h"

/* Longest body of a record of an ordered stretch. */
#define SNII_ORDERED_MAX_BODY	2710

/*
 * Order of records and places.  "target" is what the caller of a function here
 * passes through; the empty separator is before everything.
 */
typedef struct SniiOrder
{
	void	   *arg;

	/* Sign of record a - record b, TIDs included. */
	int			(*compare) (void *arg, const SniiRecord *a,
							const SniiRecord *b);

	/* Is the record before (< 0) a separator, or not (>= 0)? */
	int			(*compare_separator) (void *arg, const SniiRecord *a,
									  const uint8 *sep, uint32 len);

	/* Is the target before a separator (< 0), or not (>= 0)? */
	int			(*compare_target) (void *arg, const void *target,
								   const uint8 *sep, uint32 len);

	/*
	 * Write a separator s, left < s <= right, to out (SNII_ORDERED_MAX_BODY
	 * bytes); returns its length.
	 */
	uint32		(*separate) (void *arg, const SniiRecord *left,
							 const SniiRecord *right, uint8 *out);
} SniiOrder;

typedef enum SniiOrderedResult
{
	SNII_ORDERED_DONE,
	SNII_ORDERED_SEALED,		/* done, and a stretch was sealed before */
	SNII_ORDERED_MOVED,			/* not done: "expected" is not the open stretch */
	SNII_ORDERED_REFUSED,		/* not done: check() said no */
	SNII_ORDERED_NO_ROOM		/* not done: the directory has "limit" entries */
} SniiOrderedResult;

/*
 * Called with the leaf locked exclusively, once for each live record of it;
 * false refuses the insertion.
 */
typedef bool (*SniiOrderedCheck) (void *arg, const SniiRecord *record);

/*
 * Insert a record.  expected: id of the stretch that must be open, 0 for any
 * (also none yet).  check may be NULL.  No buffer lock may be held.
 */
extern SniiOrderedResult snii_storage_ordered_insert(Relation index,
													 const SniiOrder *order,
													 uint64 expected,
													 const SniiRecord *record,
													 SniiOrderedCheck check,
													 void *check_arg,
													 int limit);

/* Copy of a leaf, and the range that it is responsible for. */
typedef struct SniiLeafCopy
{
	bool		first;			/* no range before this one */
	bool		last;			/* no range behind this one */
	uint32		lower_len;
	uint32		upper_len;
	uint8		lower[SNII_ORDERED_MAX_BODY];
	uint8		upper[SNII_ORDERED_MAX_BODY];
	uint32		nbytes;			/* of records, 0 if there is no leaf */
	char		data[BLCKSZ];
} SniiLeafCopy;

/*
 * Copy the leaf of the range that target is in; with "before" set, of the
 * range that ends at it (target is a separator then, by compare_target).  The
 * stretch is one of the caller's view.
 */
extern void snii_storage_ordered_leaf(Relation index,
									  const SniiDirEntry *stretch,
									  const SniiOrder *order,
									  const void *target, bool before,
									  SniiLeafCopy *copy);

/*
 * Next record of a copy, dead ones included; *at begins at 0.  False at the
 * end.  record->data points into the copy.
 */
extern bool snii_storage_ordered_next(const SniiLeafCopy *copy, uint32 *at,
									  SniiRecord *record, bool *dead);

#endif							/* SNII_STORAGE_ORDERED_H */
