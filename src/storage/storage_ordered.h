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

/* Longest body of a record of an ordered stretch, and longest separator. */
#define SNII_ORDERED_MAX_BODY	2710

/*
 * Order of records and places.  "target" is what the caller of a function here
 * passes through; the empty separator is before everything.  None of these is
 * called with more than buffer locks held, and all may raise.
 */
typedef struct SniiOrder
{
	void	   *arg;

	/* Sign of record a - record b, TIDs included. */
	int			(*compare) (void *arg, const SniiRecord *a,
							const SniiRecord *b);

	/* Have two records the same key? */
	bool		(*same_key) (void *arg, const SniiRecord *a,
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
	SNII_ORDERED_SEALED,		/* not done: a stretch was sealed */
	SNII_ORDERED_MOVED,			/* not done: "expected" is not the open
								 * stretch */
	SNII_ORDERED_REFUSED,		/* not done: the check said no */
	SNII_ORDERED_NO_ROOM		/* not done: the directory has "limit" entries */
} SniiOrderedResult;

/*
 * A look at all live records between two targets, in the order of the pages,
 * while nobody else can insert any there.  test() is called for each of
 * them; one that returns false refuses the insertion.  No I/O may be done.
 */
typedef struct SniiOrderedCheck
{
	bool		(*test) (void *arg, const SniiRecord *record);
	void	   *arg;
	const void *low;			/* targets: before the first, */
	const void *high;			/* behind the last record to test */
} SniiOrderedCheck;

/* Where the open stretch is: a hint, verified before use. */
typedef struct SniiOrderedTail
{
	uint64		id;				/* 0: not known */
	BlockNumber header;			/* its list page */
	BlockNumber fence;			/* its fence page */
} SniiOrderedTail;

/* What an insertion wants of the stretch. */
typedef struct SniiOrderedWish
{
	uint64		expected;		/* id that must be open; 0: any */
	const SniiOrderedCheck *check;	/* NULL: none */
	uint32		max_pages;		/* of a stretch: it is sealed beyond */
	int			limit;			/* of entries of the directory */
} SniiOrderedWish;

/*
 * Insert a record, visible to everybody when this returns DONE.  "tail" is
 * used and kept up to date.  No buffer lock may be held.
 */
extern SniiOrderedResult snii_storage_ordered_insert(Relation index,
													 const SniiOrder *order,
													 SniiOrderedTail *tail,
													 const SniiOrderedWish *wish,
													 const SniiRecord *record);

/*
 * Make sure that there is an open stretch, with a fence page; *tail tells.
 * DONE, or NO_ROOM.
 */
extern SniiOrderedResult snii_storage_ordered_begin(Relation index,
													SniiOrderedTail *tail,
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
 * Copy the leaf of the range that target is in.  The stretch is one of the
 * caller's view.
 */
extern void snii_storage_ordered_leaf(Relation index,
									  const SniiDirEntry *stretch,
									  const SniiOrder *order,
									  const void *target,
									  SniiLeafCopy *copy);

/*
 * Start reading the leaves of the ranges that targets, which are in order,
 * are in.
 */
extern void snii_storage_ordered_prefetch(Relation index,
										  const SniiDirEntry *stretch,
										  const SniiOrder *order,
										  const void *const *targets, int n);

/*
 * Next record of a copy, dead ones included; *at begins at 0.  False at the
 * end.  record->data points into the copy.
 */
extern bool snii_storage_ordered_next(Relation index,
									  const SniiLeafCopy *copy, uint32 *at,
									  SniiRecord *record, bool *dead);

/*
 * The same, of the records whose body has these bytes behind its first "skip",
 * and perhaps of a few others: the caller tests what it gets.
 */
extern bool snii_storage_ordered_find(Relation index,
									  const SniiLeafCopy *copy, uint32 *at,
									  const uint8 *bytes, uint32 len,
									  uint32 skip, SniiRecord *record,
									  bool *dead);

/*
 * Verify the fence page of a stretch, and that each record is in its range.
 * Raises ERRCODE_INDEX_CORRUPTED.
 */
extern void snii_storage_ordered_check(Relation index,
									   const SniiDirEntry *stretch,
									   const SniiOrder *order);

#endif							/* SNII_STORAGE_ORDERED_H */
