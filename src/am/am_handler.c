/*-------------------------------------------------------------------------
 *
 * am_handler.c
 *	  The access method: its flags and functions.
 *
 * docs/architecture.md has the table of flags by kind of index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_build.h"
#include "am/am_cost.h"
#include "am/am_handler.h"
#include "am/am_options.h"
#include "am/am_scan.h"
#include "compat.h"
#include "lsm/lsm_vacuum.h"

#include "commands/vacuum.h"

PG_FUNCTION_INFO_V1(snii_handler);

static IndexBulkDeleteResult *
bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
		   IndexBulkDeleteCallback callback, void *callback_state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	snii_lsm_bulkdelete(info, stats, callback, callback_state);
	return stats;
}

static IndexBulkDeleteResult *
vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	snii_lsm_cleanup(info, snii_compat_vacuum_heap(info), stats);
	return stats;
}

Datum
snii_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = SNII_STRATEGIES;
	am->amsupport = SNII_PROCS;
	am->amoptsprocnum = 0;
	am->amcanorder = false;
	am->amcanorderbyop = false;
	am->amcanbackward = false;
	am->amcanunique = false;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = false;
	am->amsearchnulls = true;
	am->amstorage = true;
	am->amclusterable = false;
	am->ampredlocks = true;
	am->amcanparallel = false;
	am->amcaninclude = false;
	am->amusemaintenanceworkmem = true;
	am->amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL;
	am->amkeytype = InvalidOid;
	snii_compat_am_flags(am);

	am->ambuild = snii_am_build;
	am->ambuildempty = snii_am_buildempty;
	am->aminsert = snii_am_insert;
	am->ambulkdelete = bulkdelete;
	am->amvacuumcleanup = vacuumcleanup;
	am->amcanreturn = NULL;
	am->amcostestimate = snii_am_costestimate;
	am->amoptions = snii_am_options;
	am->amproperty = NULL;
	am->ambuildphasename = snii_am_build_phase;
	am->amvalidate = snii_am_validate;
	am->amadjustmembers = NULL;
	am->ambeginscan = snii_am_beginscan;
	am->amrescan = snii_am_rescan;
	am->amgettuple = snii_am_gettuple;
	am->amgetbitmap = snii_am_getbitmap;
	am->amendscan = snii_am_endscan;
	am->ammarkpos = NULL;
	am->amrestrpos = NULL;
	am->amestimateparallelscan = NULL;
	am->aminitparallelscan = NULL;
	am->amparallelrescan = NULL;

	PG_RETURN_POINTER(am);
}
