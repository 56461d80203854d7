/*-------------------------------------------------------------------------
 *
 * am_key_array.h
 *	  Arrays in the conditions of a scan of a key index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_ARRAY_H
#define SNII_AM_KEY_ARRAY_H

#include "key/key_desc.h"

#include "access/sdir.h"

/* A scan key that stands for every element of an array. */
typedef struct SniiArrayKey
{
	int			key;			/* number of the scan key */
	Oid			type;			/* of the elements, as the family knows it */
	int			nelements;
	int			current;
	Datum	   *elements;		/* in the order of the index, each once */
	bool		tested;			/* on entries; has no element at hand */
	FmgrInfo	compare;		/* tested: of a value and an element */
} SniiArrayKey;

/*
 * Take the array of a scan key apart, in the current memory context; false if
 * it has no element that can match.  Of an inequality the one element is left
 * that says what all say.
 */
extern bool snii_am_key_array(Relation index, const SniiKeyDesc *desc,
							  const ScanKeyData *key, SniiArrayKey *array);

/*
 * Have arrays tested on entries where an interval for each element would give
 * the rows out of order, and read the same entries again and again; their
 * scan keys get the flag SK_SEARCHARRAY.
 */
extern void snii_am_key_choose_tested(const SniiKeyDesc *desc, ScanKey keys,
									  int nkeys, SniiArrayKey *arrays,
									  int narrays);

/* Does an entry with these values pass scan key number key, which is tested? */
extern bool snii_am_key_test_array(const SniiKeyDesc *desc,
								   const ScanKeyData *keys, int key,
								   const SniiArrayKey *arrays, int narrays,
								   const Datum *values, const bool *isnull);

/* All arrays at the element that is first in a direction. */
extern void snii_am_key_first_elements(SniiArrayKey *arrays, int narrays,
									   ScanDirection dir);

/*
 * The next combination of elements in the order of the index; false if there
 * is none, and they are at the first one again.
 */
extern bool snii_am_key_next_elements(SniiArrayKey *arrays, int narrays,
									  ScanDirection dir);

/*
 * Combinations by number, in the order of a direction from 0 on.  Their count
 * is at most PG_UINT64_MAX.
 */
extern uint64 snii_am_key_combinations(const SniiArrayKey *arrays,
									   int narrays);
extern uint64 snii_am_key_get_combination(const SniiArrayKey *arrays,
										  int narrays, ScanDirection dir);
extern void snii_am_key_set_combination(SniiArrayKey *arrays, int narrays,
										ScanDirection dir, uint64 number);

#endif							/* SNII_AM_KEY_ARRAY_H */
