/*-------------------------------------------------------------------------
 *
 * codec_column.h
 *	  Groups of up to 256 integers with access to any one of them.
 *
 * The number of values is not stored: the caller knows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_CODEC_COLUMN_H
#define SNII_CODEC_COLUMN_H

/* Largest number of values in a group. */
#define SNII_COLUMN_GROUP		256

/* Largest encoded group: header, minimum, 32 bits a value. */
#define SNII_COLUMN_MAX_BYTES	(1 + 4 + SNII_COLUMN_GROUP * 4)

extern size_t snii_codec_column_encode(const uint32 *v, int n, uint8 *out);
extern bool snii_codec_column_get(const uint8 *p, const uint8 *end, int n,
								  int i, uint32 *v);
extern const uint8 *snii_codec_column_decode(const uint8 *p,
											 const uint8 *end, int n,
											 uint32 *out);
extern const uint8 *snii_codec_column_skip(const uint8 *p, const uint8 *end,
										   int n);

#endif							/* SNII_CODEC_COLUMN_H */
