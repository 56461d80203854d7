/*-------------------------------------------------------------------------
 *
 * am_key_conflict.h
 *	  INSERT ... ON CONFLICT on servers that know unique btrees only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_CONFLICT_H
#define SNII_AM_KEY_CONFLICT_H

/* Install the hooks, where the server needs them; from _PG_init. */
extern void snii_am_key_conflict_init(void);

#endif							/* SNII_AM_KEY_CONFLICT_H */
