/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The only place with conditionals on the server's version (15 to 18).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_COMPAT_H
#define SNII_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtxlog.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/catalog.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_class.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#endif
#include "nodes/pathnodes.h"
#include "storage/bufmgr.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/spccache.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000
#error "snii needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 180000
#define SNII_NORETURN_PRE	pg_noreturn
#define SNII_NORETURN_POST
#else
#define SNII_NORETURN_PRE
#define SNII_NORETURN_POST	pg_attribute_noreturn()
#endif

/* What a check hook hands to guc.c, which frees it. */
#if PG_VERSION_NUM >= 160000
#define SniiGucMalloc(size)	guc_malloc(LOG, size)
#else
#define SniiGucMalloc(size)	malloc(size)
#endif

/* 15 has no I/O-aligned block type; alignment matters from 16 on only. */
#if PG_VERSION_NUM < 160000
typedef PGAlignedBlock SniiPageImage;
#else
typedef PGIOAlignedBlock SniiPageImage;
#endif

/*
 * Make the main fork at least "upto" blocks long, with zeroed pages.  No
 * buffer is touched, no buffer lock may be held.
 */
static inline void
snii_compat_extend(Relation rel, BlockNumber upto)
{
	BlockNumber nblocks;

	LockRelationForExtension(rel, ExclusiveLock);
	nblocks = RelationGetNumberOfBlocks(rel);
#if PG_VERSION_NUM >= 160000
	while (nblocks < upto)
	{
		BlockNumber n = Min(upto - nblocks, (BlockNumber) 8192);

		smgrzeroextend(RelationGetSmgr(rel), MAIN_FORKNUM, nblocks, (int) n,
					   false);
		nblocks += n;
	}
#else
	{
		SniiPageImage zero;

		memset(zero.data, 0, BLCKSZ);
		for (; nblocks < upto; nblocks++)
			smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, nblocks,
					   zero.data, false);
	}
#endif
	UnlockRelationForExtension(rel, ExclusiveLock);
}

/* The relation's file, for caches that must not outlive it. */
#if PG_VERSION_NUM >= 160000
#define SniiRelFileNumber(rel)	((rel)->rd_locator.relNumber)
#else
#define SniiRelFileNumber(rel)	((rel)->rd_node.relNode)
#endif

/*
 * May the relation's file be emptied without becoming another one?  So
 * transactions do it with what they made, and temporary tables at commit.
 */
static inline bool
snii_compat_truncated_in_place(Relation rel)
{
	return rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		rel->rd_createSubid != InvalidSubTransactionId ||
#if PG_VERSION_NUM >= 160000
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
		rel->rd_newRelfilenodeSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

/* Does the current user own a relation? */
static inline bool
snii_compat_owns_relation(Oid relid)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, GetUserId());
#else
	return pg_class_ownercheck(relid, GetUserId());
#endif
}

/* Table of an index that VACUUM works on; NULL where it does not tell. */
static inline Relation
snii_compat_vacuum_heap(IndexVacuumInfo *info)
{
#if PG_VERSION_NUM >= 160000
	return info->heaprel;
#else
	(void) info;
	return NULL;
#endif
}

/* Make the planner prefer whatever else there is, even what is disabled. */
static inline void
snii_compat_disable_path(Path *path, Cost *startup_cost, Cost *total_cost)
{
	*startup_cost += 1.0e20;
	*total_cost += 1.0e20;
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes += 10;
#else
	(void) path;
#endif
}

#if PG_VERSION_NUM >= 180000
/* Is there any operator of that strategy in an operator family? */
static inline bool
snii_compat_has_strategy(Oid family, StrategyNumber strategy)
{
	CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY,
										   ObjectIdGetDatum(family));
	bool		found = false;

	for (int i = 0; i < list->n_members && !found; i++)
		found = ((Form_pg_amop) GETSTRUCT(&list->members[i]->tuple))->amopstrategy == strategy;
	ReleaseCatCacheList(list);
	return found;
}

/*
 * Strategies 1 to 5 are btree's, in families of keys.  Those of full text have
 * none of them: core must not take such an index for one that finds equal
 * rows.
 */
static inline CompareType
snii_compat_translate_strategy(StrategyNumber strategy, Oid family)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return COMPARE_LT;
		case BTLessEqualStrategyNumber:
			return COMPARE_LE;
		case BTEqualStrategyNumber:
			return COMPARE_EQ;
		case BTGreaterEqualStrategyNumber:
			return COMPARE_GE;
		case BTGreaterStrategyNumber:
			return COMPARE_GT;
		default:
			return COMPARE_INVALID;
	}
}

static inline StrategyNumber
snii_compat_translate_cmptype(CompareType cmptype, Oid family)
{
	StrategyNumber strategy;

	switch (cmptype)
	{
		case COMPARE_LT:
			strategy = BTLessStrategyNumber;
			break;
		case COMPARE_LE:
			strategy = BTLessEqualStrategyNumber;
			break;
		case COMPARE_EQ:
			strategy = BTEqualStrategyNumber;
			break;
		case COMPARE_GE:
			strategy = BTGreaterEqualStrategyNumber;
			break;
		case COMPARE_GT:
			strategy = BTGreaterStrategyNumber;
			break;
		default:
			return InvalidStrategy;
	}
	return snii_compat_has_strategy(family, strategy) ? strategy :
		InvalidStrategy;
}
#endif

/* Fields of IndexAmRoutine that came after 15. */
static inline void
snii_compat_am_flags(IndexAmRoutine *am)
{
#if PG_VERSION_NUM >= 160000
	/* Every row is indexed and none is summarised: no HOT update is allowed. */
	am->amsummarizing = false;
#endif
#if PG_VERSION_NUM >= 170000
	am->amcanbuildparallel = true;
	am->aminsertcleanup = NULL;
#endif
#if PG_VERSION_NUM >= 180000
	am->amcanhash = false;
	am->amconsistentequality = false;
	am->amconsistentordering = false;
	am->amgettreeheight = NULL;
	am->amtranslatestrategy = snii_compat_translate_strategy;
	am->amtranslatecmptype = snii_compat_translate_cmptype;
#endif
	(void) am;
}

/*
 * How many workers should help to build an index?  17 has asked the planner
 * already; earlier ones ask it for btree only.  (Needs nodes/execnodes.h and
 * optimizer/optimizer.h.)
 */
#if PG_VERSION_NUM >= 170000
#define SniiBuildWorkers(heap, index, info) ((info)->ii_ParallelWorkers)
#else
#define SniiBuildWorkers(heap, index, info) \
	plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index))
#endif

/* Was the relation, or its file, made by this transaction? */
static inline bool
snii_compat_is_new_in_transaction(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

/* Make a change of vacuum_cost_delay effective in this process. */
static inline void
snii_compat_update_vacuum_costs(void)
{
#if PG_VERSION_NUM >= 160000
	VacuumUpdateCosts();
#else
	VacuumCostActive = (VacuumCostDelay > 0);
	VacuumCostBalance = 0;
#endif
}

/* Does this backend hold a lock in exactly that mode? */
static inline bool
snii_compat_lock_held(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, false);
#else
	return LockHeldByMe(tag, mode);
#endif
}

/* Wait event of an insertion that is slowed down. */
static inline uint32
snii_compat_pressure_event(void)
{
#if PG_VERSION_NUM >= 170000
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("SniiBackPressure");
	return event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* Begin an index scan; 18 asks for instrumentation. */
#if PG_VERSION_NUM >= 180000
#define SniiIndexBeginScan(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, 0)
#else
#define SniiIndexBeginScan(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, nkeys, 0)
#endif

/* Where the access method's part of a parallel scan's shared memory is. */
#if PG_VERSION_NUM >= 180000
#define snii_compat_parallel_area(parallel) \
	((void *) ((char *) (parallel) + (parallel)->ps_offset_am))
#else
#define snii_compat_parallel_area(parallel) \
	((void *) ((char *) (parallel) + (parallel)->ps_offset))
#endif

/* Parameters of amestimateparallelscan. */
#if PG_VERSION_NUM >= 180000
#define SNII_ESTIMATE_PARALLEL_PARAMETERS \
	Relation index, int nkeys, int norderbys
#elif PG_VERSION_NUM >= 170000
#define SNII_ESTIMATE_PARALLEL_PARAMETERS	int nkeys, int norderbys
#else
#define SNII_ESTIMATE_PARALLEL_PARAMETERS	void
#endif

/* ExecutorRun_hook has one argument less in 18. */
#if PG_VERSION_NUM >= 180000
#define SNII_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count
#define SNII_EXECUTOR_RUN_ARGUMENTS	query, direction, count
#else
#define SNII_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count, bool once
#define SNII_EXECUTOR_RUN_ARGUMENTS	query, direction, count, once
#endif

/* 18 asks who is delayed. */
static inline void
snii_compat_vacuum_delay(void)
{
#if PG_VERSION_NUM >= 180000
	vacuum_delay_point(false);
#else
	vacuum_delay_point();
#endif
}

/*
 * Oldest xmin that a standby has reported by hot_standby_feedback, through a
 * replication slot or without one; invalid if there is none.
 */
static inline TransactionId
snii_compat_feedback_xmin(void)
{
	TransactionId result;
	TransactionId catalog_xmin;

	ProcArrayGetReplicationSlotXmin(&result, &catalog_xmin);
	for (int i = 0; WalSndCtl != NULL && i < max_wal_senders; i++)
	{
		PGPROC	   *proc;
		TransactionId xmin;
		pid_t		pid;

		SpinLockAcquire(&WalSndCtl->walsnds[i].mutex);
		pid = WalSndCtl->walsnds[i].pid;
		SpinLockRelease(&WalSndCtl->walsnds[i].mutex);
		proc = pid != 0 ? BackendPidGetProc(pid) : NULL;
		if (proc == NULL)
			continue;
		xmin = *(volatile TransactionId *) &proc->xmin;
		if (TransactionIdIsNormal(xmin) &&
			(!TransactionIdIsValid(result) ||
			 TransactionIdPrecedes(xmin, result)))
			result = xmin;
	}
	return result;
}

/*
 * Log that pages displaced before "horizon" are about to be used again: a
 * standby replays nbtree's record of this meaning, which cancels (or waits
 * for) snapshots that may still look at them.
 */
static inline void
snii_compat_log_page_reuse(Relation rel, bool is_catalog_rel, BlockNumber blk,
						   FullTransactionId horizon)
{
	xl_btree_reuse_page xlrec;

	memset(&xlrec, 0, sizeof(xlrec));
	xlrec.block = blk;
#if PG_VERSION_NUM >= 160000
	xlrec.locator = rel->rd_locator;
	xlrec.snapshotConflictHorizon = horizon;
	xlrec.isCatalogRel = is_catalog_rel;
#else
	xlrec.node = rel->rd_node;
	xlrec.latestRemovedFullXid = horizon;
	(void) is_catalog_rel;
#endif
	XLogBeginInsert();
	XLogRegisterData((char *) &xlrec, SizeOfBtreeReusePage);
	XLogInsert(RM_BTREE_ID, XLOG_BTREE_REUSE_PAGE);
}

/*
 * Errors of input functions: soft if the caller asked for it, from 16 on.
 * SNII_SOFT_ERROR ends the calling function, whose result it is given.
 */
#if PG_VERSION_NUM >= 160000
#define SNII_ERROR_CONTEXT(fcinfo)	((fcinfo)->context)
#define SNII_SOFT_ERROR(escontext, result, ...) \
	ereturn(escontext, result, __VA_ARGS__)
#else
#define SNII_ERROR_CONTEXT(fcinfo)	NULL
#define SNII_SOFT_ERROR(escontext, result, ...) \
	do { \
		(void) (escontext); \
		ereport(ERROR, __VA_ARGS__); \
		return (result); \
	} while (0)
#endif

/* Make a Var comparable with that of an index expression. */
#if PG_VERSION_NUM >= 180000
#define SNII_CLEAR_VAR(var) \
	((var)->varnullingrels = NULL, \
	 (var)->varreturningtype = VAR_RETURNING_DEFAULT)
#elif PG_VERSION_NUM >= 160000
#define SNII_CLEAR_VAR(var)	((var)->varnullingrels = NULL)
#else
#define SNII_CLEAR_VAR(var)	((void) 0)
#endif

/* The expressions of an RTE_GROUP, which exists from 18 on, or NULL. */
#if PG_VERSION_NUM >= 180000
#define SNII_GROUP_EXPRESSIONS(rte) \
	((rte)->rtekind == RTE_GROUP ? (rte)->groupexprs : NULL)
#else
#define SNII_GROUP_EXPRESSIONS(rte)	((List *) NULL)
#endif

/* Elements that an array expression is expected to have. */
#if PG_VERSION_NUM >= 170000
#define snii_compat_array_length(root, node) \
	estimate_array_length(root, node)
#else
#define snii_compat_array_length(root, node) \
	((double) estimate_array_length(node))
#endif

/* Next datum of a sort; valid until the next call at least. */
#if PG_VERSION_NUM >= 160000
#define snii_compat_getdatum(sort, value, isnull) \
	tuplesort_getdatum(sort, true, false, value, isnull, NULL)
#else
#define snii_compat_getdatum(sort, value, isnull) \
	tuplesort_getdatum(sort, true, value, isnull, NULL)
#endif

/* Where a relation's file is. */
static inline void
snii_compat_file(Relation rel, Oid *database, Oid *tablespace, Oid *file)
{
#if PG_VERSION_NUM >= 160000
	*database = rel->rd_locator.dbOid;
	*tablespace = rel->rd_locator.spcOid;
	*file = rel->rd_locator.relNumber;
#else
	*database = rel->rd_node.dbNode;
	*tablespace = rel->rd_node.spcNode;
	*file = rel->rd_node.relNode;
#endif
}

/* Does core prepare unique indexes for ON CONFLICT as if all were btrees? */
#if PG_VERSION_NUM < 180000
#define SNII_COMPAT_SPECULATIVE_BTREE
#endif

/* Does a sort know an operator as < or > of some type? */
static inline bool
snii_compat_is_ordering_operator(Oid opr)
{
	Oid			family;
	Oid			type;
#if PG_VERSION_NUM >= 180000
	CompareType strategy;
#else
	int16		strategy;
#endif

	return get_ordering_op_properties(opr, &family, &type, &strategy);
}

/* Do the settings allow to read ahead for a relation? */
static inline bool
snii_compat_may_prefetch(Relation rel)
{
	return get_tablespace_io_concurrency(rel->rd_rel->reltablespace) > 0;
}

/*
 * The same for the rows of a table; not if NULL, or if a TID may not be a
 * place in its file.
 */
static inline bool
snii_compat_may_prefetch_rows(Relation heap)
{
	return heap != NULL && heap->rd_tableam == GetHeapamTableAmRoutine() &&
		snii_compat_may_prefetch(heap);
}

/* Is the order of a collation that of the bytes? */
static inline bool
snii_compat_collation_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

#endif							/* SNII_COMPAT_H */
