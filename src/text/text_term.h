/*-------------------------------------------------------------------------
 *
 * text_term.h
 *	  The dictionary key of a token: its bytes, or prefix and hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_TERM_H
#define SNII_TEXT_TERM_H

/* Longest term; a longer token is stored as prefix and hash. */
#define SNII_TERM_MAX			512

/* Bytes of a long token that its term keeps, and the hash behind them. */
#define SNII_TERM_LONG_PREFIX	256
#define SNII_TERM_LONG_HASH		16
#define SNII_TERM_LONG_SIZE		(SNII_TERM_LONG_PREFIX + SNII_TERM_LONG_HASH)

/* Kinds of terms as stored on disk: never renumber. */
#define SNII_TERM_PLAIN			0
#define SNII_TERM_LONG			1

extern int	snii_text_term(const char *bytes, uint32 len, uint8 *buf,
						   const char **term, uint32 *term_len);

#endif							/* SNII_TEXT_TERM_H */
