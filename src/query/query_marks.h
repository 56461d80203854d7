/*-------------------------------------------------------------------------
 *
 * query_marks.h
 *	  Iterator over the documents of a segment that are marked dead.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_MARKS_H
#define SNII_QUERY_MARKS_H

#include "query/query_iter.h"

extern SniiIter *snii_query_marks(const SniiObject *object, uint32 ndocs,
								  double ndead);

#endif							/* SNII_QUERY_MARKS_H */
