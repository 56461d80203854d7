/*-------------------------------------------------------------------------
 *
 * inv_dead.h
 *	  Side list of an inverted segment: dead documents of each term.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_DEAD_H
#define SNII_INV_DEAD_H

#include "inverted/inv_dict.h"
#include "lsm/lsm_kind.h"

/*
 * What is alive.  Exact if the side list is of all dead documents; those that
 * it is not of are taken to be like the rest.
 */
typedef struct SniiInvAlive
{
	double		ndocs;			/* of a term: that have it; of a column: that
								 * are not NULL */
	double		ntokens;		/* of a term: ttf; of a column: sum of lengths */
} SniiInvAlive;

typedef struct SniiInvDead SniiInvDead;

extern SniiInvDead *snii_inv_dead_open(SniiInvSegment *seg,
									   const SniiDirEntry *entry);
extern void snii_inv_dead_close(SniiInvDead *dead);
extern SniiInvAlive snii_inv_dead_term(SniiInvDead *dead,
									   const SniiInvTerm *term);
extern SniiInvAlive snii_inv_dead_column(const SniiInvDead *dead,
										 int column);

/* See SniiKind. */
extern bool snii_inv_kind_side(Relation index, SniiObject *object,
							   uint64 ndocs, const uint8 *marks,
							   SniiObjectWriter *w, SniiGoOn go_on,
							   void *arg);
extern void snii_inv_kind_check_side(Relation index, SniiObject *object,
									 uint64 ndocs, const uint8 *marks,
									 SniiObject *side, bool complete);

#endif							/* SNII_INV_DEAD_H */
