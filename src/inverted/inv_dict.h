/*-------------------------------------------------------------------------
 *
 * inv_dict.h
 *	  Terms of a segment: look-up and ordered walk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_DICT_H
#define SNII_INV_DICT_H

#include "inverted/inv_decode.h"
#include "inverted/inv_segment.h"

typedef struct SniiInvDict SniiInvDict;

/* ---------------- look-up ---------------- */

extern bool snii_inv_lookup(SniiInvSegment *seg, int column, int kind,
							const char *bytes, uint32 len,
							SniiInvTerm *term);
extern void snii_inv_term_release(SniiInvTerm *term);

/* ---------------- ordered walk ---------------- */

extern SniiInvDict *snii_inv_dict_begin(SniiInvSegment *seg);
extern void snii_inv_dict_seek(SniiInvDict *dict, int column, int kind,
							   const char *bytes, uint32 len);
extern bool snii_inv_dict_next(SniiInvDict *dict, uint8 *key, uint32 *keylen,
							   SniiInvTerm *term);
extern const SniiInvTerm *snii_inv_dict_next_info(SniiInvDict *dict);
extern void snii_inv_dict_keep(SniiInvDict *dict, SniiInvTerm *term);
extern void snii_inv_dict_end(SniiInvDict *dict);

#endif							/* SNII_INV_DICT_H */
