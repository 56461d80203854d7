/*-------------------------------------------------------------------------
 *
 * am_key_build.h
 *	  CREATE INDEX of a key index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_BUILD_H
#define SNII_AM_KEY_BUILD_H

#include "am/am_build.h"

#include "access/parallel.h"
#include "storage/shm_mq.h"

/* Of the queue from a worker to the leader. */
#define SNII_AM_KEY_QUEUE_BYTES		(256 * 1024)

/*
 * Build a key index, whose meta page is there, from what part tells to scan; if
 * that is not all, the entries of the rest come from the launched workers, a
 * queue each (else workers is NULL).  *share gets this process's own part of the
 * work.
 */
extern void snii_am_key_build(Relation heap, Relation index, IndexInfo *info,
							  const SniiAmPart *part,
							  ParallelContext *workers,
							  shm_mq_handle **queues, SniiAmShare *share);

/* A worker's part: its entries go into the queue. */
extern void snii_am_key_build_worker(Relation heap, Relation index,
									 IndexInfo *info, const SniiAmPart *part,
									 shm_mq_handle *queue,
									 SniiAmShare *share);

#endif							/* SNII_AM_KEY_BUILD_H */
