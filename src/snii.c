/*-------------------------------------------------------------------------
 *
 * snii.c
 *	  Module entry point: settings and one-time initialisation.
 *
 * Nothing here needs shared memory or a restart: the library may be loaded
 * by the first statement that uses it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_options.h"
#include "inverted/inv_cache.h"
#include "inverted/inv_kind.h"
#include "lsm/lsm_maintain.h"
#include "lsm/lsm_worker.h"

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

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
	MarkGUCPrefixReserved("snii");

	snii_am_options_init();
	snii_inv_kind_register();
}
