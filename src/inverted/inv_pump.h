/*-------------------------------------------------------------------------
 *
 * inv_pump.h
 *	  Encoded postings of the term buffer into a segment writer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_PUMP_H
#define SNII_INV_PUMP_H

#include "inverted/inv_spimi.h"
#include "inverted/inv_writer.h"

/* Positions that are handed on at a time. */
#define SNII_PUMP_POSITIONS		64

typedef struct SniiInvPump
{
	SniiInvWriter *writer;
	uint32		doc;			/* last one of the fragment, or its base */
	uint32		position;		/* last one of the document */
	bool		begun;			/* the fragment had a token */
	int64		posting;		/* document of the posting under way, or -1 */
	int			npositions;		/* not handed on yet */
	int			ncarry;
	uint8		carry[SNII_SPIMI_TOKEN_MAX];	/* begin of a cut token */
	uint32		positions[SNII_PUMP_POSITIONS];
} SniiInvPump;

extern void snii_inv_pump_init(SniiInvPump *p, SniiInvWriter *writer);
extern void snii_inv_pump_term(SniiInvPump *p, int column, int kind,
							   const uint8 *bytes, uint32 len);
extern void snii_inv_pump_fragment(SniiInvPump *p, uint32 base);
extern bool snii_inv_pump_bytes(SniiInvPump *p, const uint8 *bytes, size_t n);
extern bool snii_inv_pump_end_fragment(SniiInvPump *p);
extern void snii_inv_pump_end_term(SniiInvPump *p);

#endif							/* SNII_INV_PUMP_H */
