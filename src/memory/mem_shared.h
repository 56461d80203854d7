/*-------------------------------------------------------------------------
 *
 * mem_shared.h
 *	  The server's limiter and the limit of all builds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_MEM_SHARED_H
#define SNII_MEM_SHARED_H

#include "memory/mem_limiter.h"

#include "utils/guc.h"

/* snii.merge_workspace: between term buffer and disk. */
extern int	snii_mem_merge_workspace_kb;

/* snii.recycle_blocks: keep memory from one run to the next. */
extern bool snii_mem_recycle_blocks;

/* snii.build_memory_limit and snii.min_available_memory, as they were written. */
extern char *snii_mem_build_limit_text;
extern char *snii_mem_min_available_text;

/* Check hook of both: an amount, or a share of the machine's memory. */
extern bool snii_mem_check_amount(char **value, void **extra,
								  GucSource source);
extern void snii_mem_assign_build_limit(const char *value, void *extra);
extern void snii_mem_assign_min_available(const char *value, void *extra);

/* Bytes that the machine should have left; 0: do not ask. */
extern uint64 snii_mem_min_available(void);

/*
 * Limit in bytes for all builds that share a limiter, of which one has that
 * budget; 0: none.
 */
extern uint64 snii_mem_build_limit(Size budget);

/* Ask for shared memory; called while the library is preloaded. */
extern void snii_mem_shared_init(void);

/* The limiter of the server; NULL if the library was not preloaded. */
extern SniiMemLimiter *snii_mem_shared_limiter(void);

#endif							/* SNII_MEM_SHARED_H */
