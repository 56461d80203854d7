/*-------------------------------------------------------------------------
 *
 * inv_spimi.h
 *	  Term buffer of a build: tokens in, sorted terms with postings out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_SPIMI_H
#define SNII_INV_SPIMI_H

#include "inverted/inv_format.h"

/* Largest encoded token: document delta and flag (33 bits), position. */
#define SNII_SPIMI_TOKEN_MAX	10

/*
 * Told before memory is taken and after it is given back.  grow() may raise
 * an error; the buffer is then as it was.
 */
typedef struct SniiMemoryHook
{
	void	   *arg;
	void		(*grow) (void *arg, Size bytes);
	void		(*shrink) (void *arg, Size bytes);
	/* a spill and a trim would now free so many bytes; may be NULL */
	void		(*arena) (void *arg, Size bytes);
} SniiMemoryHook;

typedef struct SniiSpimi SniiSpimi;

/* A term in the order of keys, while it is read. */
typedef struct SniiSpimiTerm
{
	int			column;
	int			kind;
	const uint8 *bytes;
	uint32		len;
	int			slices;			/* that hold the postings, up to a bound */
	/* private */
	uint32		read;			/* next byte of the postings */
	uint32		left;			/* bytes left in its slice */
	uint32		end;			/* end of the postings */
	int			level;			/* of its slice */
} SniiSpimiTerm;

extern SniiSpimi *snii_inv_spimi_create(Size budget,
										const SniiMemoryHook *hook);
extern void snii_inv_spimi_reset(SniiSpimi *s, bool keep);
extern void snii_inv_spimi_trim(SniiSpimi *s);
extern void snii_inv_spimi_destroy(SniiSpimi *s);

extern void snii_inv_spimi_begin_doc(SniiSpimi *s, uint32 doc);
extern void snii_inv_spimi_token(SniiSpimi *s, int column, int kind,
								 const char *bytes, uint32 len,
								 uint32 position);
extern bool snii_inv_spimi_should_spill(const SniiSpimi *s);

extern Size snii_inv_spimi_used(const SniiSpimi *s);
extern Size snii_inv_spimi_arena(const SniiSpimi *s);
extern Size snii_inv_spimi_spillable(const SniiSpimi *s);
extern uint64 snii_inv_spimi_tokens(const SniiSpimi *s);
extern uint32 snii_inv_spimi_terms(const SniiSpimi *s);

extern void snii_inv_spimi_drain(SniiSpimi *s);
extern bool snii_inv_spimi_find(const SniiSpimi *s, int column, int kind,
								const char *bytes, uint32 len,
								SniiSpimiTerm *term);

extern void snii_inv_spimi_sort(SniiSpimi *s);
extern uint32 snii_inv_spimi_base(const SniiSpimi *s);
extern bool snii_inv_spimi_next(SniiSpimi *s, SniiSpimiTerm *term);
extern size_t snii_inv_spimi_read(const SniiSpimi *s, SniiSpimiTerm *term,
								  uint8 *buf, size_t size);

#endif							/* SNII_INV_SPIMI_H */
