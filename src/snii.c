/*-------------------------------------------------------------------------
 *
 * snii.c
 *	  Module entry point: settings and one-time initialisation.
 *
 * Nothing here needs shared memory or a restart: the library may be loaded
 * by the first statement that uses it.  If it is preloaded, a launcher and a
 * pool serve the indexes of all databases.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_conflict.h"
#include "am/am_options.h"
#include "inverted/inv_cache.h"
#include "inverted/inv_kind.h"
#include "key/key_kind.h"
#include "lsm/lsm_barrier.h"
#include "lsm/lsm_launcher.h"
#include "lsm/lsm_lookups.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_timing.h"
#include "lsm/lsm_worker.h"
#include "memory/mem_reporter.h"
#include "memory/mem_shared.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static void
define_memory_settings(void)
{
	DefineCustomIntVariable("snii.memory_step",
							"Memory that an index writer may use or free before others are told.",
							"0 tells them of every change.",
							&snii_mem_step_kb, 1024, 0, 64 * 1024,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomStringVariable("snii.build_memory_limit",
							   "Memory of all index builds together from which on the largest are asked to spill.",
							   "An amount, or a share of the machine's memory; at least four times what a build may use; 0 is no limit.",
							   &snii_mem_build_limit_text, "25%",
							   PGC_SIGHUP, 0, snii_mem_check_amount,
							   snii_mem_assign_build_limit, NULL);
	DefineCustomStringVariable("snii.min_available_memory",
							   "Available memory of the machine below which the largest index builds are asked to spill.",
							   "An amount, or a share of the machine's memory; 0 does not ask.",
							   &snii_mem_min_available_text, "5%",
							   PGC_SIGHUP, 0, snii_mem_check_amount,
							   snii_mem_assign_min_available, NULL);
	DefineCustomIntVariable("snii.forced_spill_min_arena",
							"Size of the postings in memory below which no build is asked to spill.",
							NULL, &snii_mem_forced_spill_min_arena_kb,
							64 * 1024, 64, MAX_KILOBYTES, PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("snii.recycle_blocks",
							 "Keep the memory of a run of an index build for the next one.",
							 NULL, &snii_mem_recycle_blocks, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("snii.merge_workspace",
							"Memory for merging the runs of an index build.",
							NULL, &snii_mem_merge_workspace_kb, 32 * 1024,
							2048, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

void
_PG_init(void)
{
	DefineCustomIntVariable("snii.buffer_limit",
							"Size of the write buffer of an index at which an insertion flushes it.",
							NULL, &snii_lsm_buffer_limit_kb, 8192, 256,
							16384, PGC_USERSET, GUC_UNIT_KB, NULL, NULL,
							NULL);
	DefineCustomIntVariable("snii.buffer_cache",
							"Memory in which a session keeps indexes of the write buffers that it searches; 0 keeps none.",
							NULL, &snii_inv_cache_limit_kb, 16384, 0,
							1024 * 1024, PGC_USERSET, GUC_UNIT_KB, NULL, NULL,
							NULL);
	DefineCustomBoolVariable("snii.workers",
							 "Let background workers flush and merge.",
							 "Otherwise inserters do it, in bounds, and VACUUM.",
							 &snii_lsm_workers, true, PGC_USERSET, 0, NULL,
							 NULL, NULL);
	DefineCustomRealVariable("snii.maintenance_cost_delay",
							 "Cost delay of background workers that are not in a hurry, as vacuum_cost_delay.",
							 NULL, &snii_lsm_cost_delay, 2, 0, 100,
							 PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	define_memory_settings();
	DefineCustomIntVariable("snii.log_min_duration",
							"Time from which on a flush, a merge, VACUUM's work on an index or a look-up of many keys is logged.",
							"With what the time went to. -1: never.",
							&snii_lsm_log_min_duration, 60000, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("snii.max_workers",
							"Background workers that serve all indexes of the server.",
							"At most so many at a time; 0: none.",
							&snii_lsm_max_workers, 2, 0, 64, PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("snii");

	if (process_shared_preload_libraries_in_progress)
		snii_mem_shared_init();
	snii_lsm_barrier_init();
	snii_am_options_init();
	snii_inv_kind_register();
	snii_key_kind_register();
	snii_am_key_conflict_init();
	snii_lsm_lookups_init();
	snii_lsm_launcher_init();
}
