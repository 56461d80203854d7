/*-------------------------------------------------------------------------
 *
 * codec_length.h
 *	  One-byte code of a document length, rounded down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_LENGTH_H
#define SNII_CODEC_LENGTH_H

/* Largest code that snii_codec_length_code() returns; larger are unused. */
#define SNII_LENGTH_CODE_MAX	253

extern uint8 snii_codec_length_code(uint32 len);
extern uint32 snii_codec_length_decode(uint8 code);

#endif							/* SNII_CODEC_LENGTH_H */
