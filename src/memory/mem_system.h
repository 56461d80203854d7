/*-------------------------------------------------------------------------
 *
 * mem_system.h
 *	  What memory the machine, or the control group, has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_MEM_SYSTEM_H
#define SNII_MEM_SYSTEM_H

#define SNII_MEM_UNKNOWN	PG_UINT64_MAX

/*
 * In front of /proc and /sys, for tests; at most SNII_MEM_ROOT_MAX bytes are
 * used.
 */
extern const char *snii_mem_system_root;
#define SNII_MEM_ROOT_MAX	512

/*
 * Bytes that this process and others could use in all, and those that are
 * left: the least of what the machine and each control group around this
 * process say.  SNII_MEM_UNKNOWN if nothing tells.  They read a few files of
 * the kernel (some 50 microseconds), and raise no error.
 */
extern uint64 snii_mem_system_total(void);
extern uint64 snii_mem_system_available(void);

#endif							/* SNII_MEM_SYSTEM_H */
