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
#include "am/am_key_parallel.h"
#include "am/am_key_scan.h"
#include "am/am_options.h"
#include "am/am_scan.h"
#include "compat.h"
#include "lsm/lsm_barrier.h"
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

/* ----------------------------------------------------------------
 *		Scans: of either kind
 * ----------------------------------------------------------------
 */

static IndexScanDesc
beginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);

	if (snii_am_is_key(index))
		snii_am_key_beginscan(scan);
	else
		snii_am_beginscan(scan);
	return scan;
}

static void
rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys,
	   int norderbys)
{
	if (snii_am_is_key(scan->indexRelation))
		snii_am_key_rescan(scan, keys);
	else
		snii_am_rescan(scan, keys);
}

static bool
gettuple(IndexScanDesc scan, ScanDirection dir)
{
	return snii_am_is_key(scan->indexRelation) ?
		snii_am_key_gettuple(scan, dir) : snii_am_gettuple(scan, dir);
}

static int64
getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	return snii_am_is_key(scan->indexRelation) ?
		snii_am_key_getbitmap(scan, tbm) : snii_am_getbitmap(scan, tbm);
}

static void
endscan(IndexScanDesc scan)
{
	if (snii_am_is_key(scan->indexRelation))
		snii_am_key_endscan(scan);
	else
		snii_am_endscan(scan);
}

/* ----------------------------------------------------------------
 *		Parallel scans: of key indexes (am_cost.c keeps others from it)
 * ----------------------------------------------------------------
 */

static Size
estimateparallelscan(SNII_ESTIMATE_PARALLEL_PARAMETERS)
{
	return snii_am_key_parallel_size();
}

static void
parallelrescan(IndexScanDesc scan)
{
	snii_am_key_parallel_reset(snii_compat_parallel_area(scan->parallel_scan));
}

/*
 * Keys are in the index as they were stored.  Plans that return them trust the
 * visibility map, which needs the barrier.
 */
static bool
canreturn(Relation index, int column)
{
	return snii_am_is_key(index) && snii_lsm_barrier_works();
}

Datum
snii_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = SNII_STRATEGIES;
	am->amsupport = SNII_PROCS;
	am->amoptsprocnum = 0;
	am->amcanorder = true;
	am->amcanorderbyop = false;
	am->amcanbackward = false;
	am->amcanunique = true;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = true;
	am->amsearchnulls = true;
	am->amstorage = true;
	am->amclusterable = false;
	am->ampredlocks = true;
	am->amcanparallel = true;
	am->amcaninclude = true;
	am->amusemaintenanceworkmem = true;
	am->amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL;
	am->amkeytype = InvalidOid;
	snii_compat_am_flags(am);

	am->ambuild = snii_am_build;
	am->ambuildempty = snii_am_buildempty;
	am->aminsert = snii_am_insert;
	am->ambulkdelete = bulkdelete;
	am->amvacuumcleanup = vacuumcleanup;
	am->amcanreturn = canreturn;
	am->amcostestimate = snii_am_costestimate;
	am->amoptions = snii_am_options;
	am->amproperty = NULL;
	am->ambuildphasename = snii_am_build_phase;
	am->amvalidate = snii_am_validate;
	am->amadjustmembers = NULL;
	am->ambeginscan = beginscan;
	am->amrescan = rescan;
	am->amgettuple = gettuple;
	am->amgetbitmap = getbitmap;
	am->amendscan = endscan;
	am->ammarkpos = snii_am_key_markpos;
	am->amrestrpos = snii_am_key_restrpos;
	am->amestimateparallelscan = estimateparallelscan;
	am->aminitparallelscan = snii_am_key_parallel_init;
	am->amparallelrescan = parallelrescan;

	PG_RETURN_POINTER(am);
}
