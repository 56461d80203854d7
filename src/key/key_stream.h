/*-------------------------------------------------------------------------
 *
 * key_stream.h
 *	  Entries in order, from memory, a file or another process.
 *
 * What a build passes on from sorting to writing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_KEY_STREAM_H
#define SNII_KEY_STREAM_H

#include "key/key_desc.h"

/*
 * The maker of a stream sets next(), which goes to the next entry and returns
 * false at the end; it is not called again then.  What it shows is valid until
 * the next call.
 */
typedef struct SniiKeyStream SniiKeyStream;
struct SniiKeyStream
{
	bool		(*next) (SniiKeyStream *s);
	SniiKeyEntry entry;
	uint8		tag;			/* a byte of whoever put the entry in */

	/*
	 * If all columns are of class BYTES: how many bytes exactly the string
	 * has in common with the one before, 0 for the first; else 0.
	 */
	uint32		shared;
};

static inline bool
snii_key_stream_next(SniiKeyStream *s)
{
	return s->next(s);
}

/* ---------------- blocks ---------------- */

/* Longest block.  Entries do not go beyond the end of one. */
#define SNII_KEY_BLOCK_BYTES	(32 * 1024)

/*
 * Read a stream to its end and give its entries away in blocks, which are the
 * caller's until the sink returns.  Returns the number of entries.
 */
typedef void (*SniiKeyBlockSink) (void *arg, uint8 *block, uint32 len);
extern uint64 snii_key_stream_write(SniiKeyStream *s, SniiKeyBlockSink sink,
									void *arg);

/*
 * The stream, in the current memory context, of entries in such blocks.  The
 * source returns the next one, which stays where it is until the next call,
 * or NULL at the end.
 */
typedef const uint8 *(*SniiKeyBlockSource) (void *arg, uint32 *len);
extern SniiKeyStream *snii_key_stream_read(SniiKeyBlockSource source,
										   void *arg);

/* ---------------- merging ---------------- */

/*
 * All entries of n > 0 streams in order, a stream in the current memory
 * context.  An entry that is there twice raises an error.
 */
extern SniiKeyStream *snii_key_stream_merge(const SniiKeyDesc *desc,
											SniiKeyStream **inputs, int n);

#endif							/* SNII_KEY_STREAM_H */
