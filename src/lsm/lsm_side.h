/*-------------------------------------------------------------------------
 *
 * lsm_side.h
 *	  Side lists: what statistics need to know of dead documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_LSM_SIDE_H
#define SNII_LSM_SIDE_H

#include "lsm/lsm_view.h"

/*
 * Open the side list of a segment of a view, its head checked; NULL if there
 * is none.  What protects the view protects it.
 */
extern SniiObject *snii_lsm_side_open(Relation index,
									  const SniiDirEntry *entry,
									  SniiSideHead *head);

/*
 * Write the side lists that are behind, as the policy says.  For VACUUM: one
 * caller at a time.  heap may be NULL.  No lock may be held but those of the relations.
 */
extern void snii_lsm_side_update(Relation index, Relation heap);

#endif							/* SNII_LSM_SIDE_H */
