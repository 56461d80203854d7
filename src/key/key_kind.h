/*-------------------------------------------------------------------------
 *
 * key_kind.h
 *	  The key index as a kind of LSM index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_KIND_H
#define SNII_KEY_KIND_H

extern void snii_key_kind_register(void);

#endif							/* SNII_KEY_KIND_H */
