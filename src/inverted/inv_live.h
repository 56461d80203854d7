/*-------------------------------------------------------------------------
 *
 * inv_live.h
 *	  Statistics of the live documents of a whole index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_LIVE_H
#define SNII_INV_LIVE_H

#include "inverted/inv_dead.h"
#include "lsm/lsm_view.h"

/* A term to be counted; bytes are the caller's. */
typedef struct SniiInvTermRef
{
	int			kind;
	const char *bytes;
	uint32		len;
} SniiInvTermRef;

extern void snii_inv_live(Relation index, const SniiView *view, int column,
						  const SniiInvTermRef *terms, int nterms,
						  SniiInvAlive *of_terms, SniiInvAlive *of_column);

#endif							/* SNII_INV_LIVE_H */
