/*-------------------------------------------------------------------------
 *
 * am_key_conflict.c
 *	  INSERT ... ON CONFLICT on servers that know unique btrees only.
 *
 * Up to 17, the executor prepares every unique index of the target of an ON
 * CONFLICT for a check before the insertion, and raises an internal error
 * for any that is not a btree.  All that it prepares are three arrays that
 * any access method with an equality operator can fill.
 *
 * A plain table: its indexes are opened here, at the start of the executor,
 * without that preparation, which is made afterwards; core finds them open and
 * leaves them as they are.
 *
 * A partition that rows are routed to is opened by core when its first row
 * comes, and nothing can be done before or after.  So the rows that come from
 * below are routed once more, by ourselves, before the executor does it; and
 * while that lasts (and nothing else: no plan is made, no trigger runs), the
 * relation cache entries of our unique indexes say that they are btrees.
 * Their locks are held, an invalidation that reads such an entry anew is
 * followed by a callback that changes it again, and the end of it, or an error,
 * restores them.
 *
 * All this needs the library to be loaded when the executor starts.  Planning
 * loads it, if it looks at the index; without a conflict target it does not,
 * and then the first such statement of a session fails (but loads the
 * library), unless session_preload_libraries has it.  A hint says so.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_build.h"
#include "am/am_key_conflict.h"
#include "compat.h"

#ifdef SNII_COMPAT_SPECULATIVE_BTREE

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static ExecutorStart_hook_type prev_executor_start = NULL;

/* A partitioned target, from the start of its statement to the end. */
typedef struct Routed
{
	struct Routed *next;
	ModifyTableState *node;
	PlanState  *child;			/* whose rows are routed */
	ExecProcNodeMtd real;		/* what gives them */
	int			nindexes;
	Relation   *indexes;		/* our unique ones, of all partitions */
	MemoryContextCallback callback;
} Routed;

static Routed *routed_list = NULL;

/* The one whose indexes pass for btrees at the moment, or NULL. */
static Routed *disguised = NULL;

/* Has any partition of a table a unique index of ours?  (by OID) */
typedef struct TreeInfo
{
	Oid			relid;			/* key */
	bool		has_unique;
} TreeInfo;

static HTAB *trees = NULL;

static bool
is_ours(Relation index)
{
	return index->rd_indam != NULL && index->rd_indam->ambuild == snii_am_build;
}

/* What BuildSpeculativeIndexInfo() does for a btree. */
static void
prepare_index(Relation index, IndexInfo *info)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);

	info->ii_UniqueOps = palloc(n * sizeof(Oid));
	info->ii_UniqueProcs = palloc(n * sizeof(Oid));
	info->ii_UniqueStrats = palloc(n * sizeof(uint16));
	for (int i = 0; i < n; i++)
	{
		Oid			opr = get_opfamily_member(index->rd_opfamily[i],
											  index->rd_opcintype[i],
											  index->rd_opcintype[i],
											  BTEqualStrategyNumber);

		if (!OidIsValid(opr))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u",
				 BTEqualStrategyNumber, index->rd_opcintype[i],
				 index->rd_opcintype[i], index->rd_opfamily[i]);
		info->ii_UniqueStrats[i] = BTEqualStrategyNumber;
		info->ii_UniqueOps[i] = opr;
		info->ii_UniqueProcs[i] = get_opcode(opr);
	}
}

/* ----------------------------------------------------------------
 *		Plain tables
 * ----------------------------------------------------------------
 */

/*
 * Has a table a unique index of ours?  The indexes are locked as the executor
 * will lock them.
 */
static bool
has_our_unique(Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	bool		found = false;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		found |= is_ours(index) && index->rd_index->indisunique;
		index_close(index, NoLock);
	}
	list_free(indexes);
	return found;
}

static void
open_table(EState *estate, ResultRelInfo *target)
{
	MemoryContext old;

	if (target->ri_IndexRelationDescs != NULL ||
		!target->ri_RelationDesc->rd_rel->relhasindex ||
		!has_our_unique(target->ri_RelationDesc))
		return;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	ExecOpenIndices(target, false);
	for (int i = 0; i < target->ri_NumIndices; i++)
	{
		Relation	index = target->ri_IndexRelationDescs[i];
		IndexInfo  *info = target->ri_IndexRelationInfo[i];

		if (!info->ii_Unique)
			continue;
		if (is_ours(index))
			prepare_index(index, info);
		else
			BuildSpeculativeIndexInfo(index, info);
	}
	MemoryContextSwitchTo(old);
}

/* ----------------------------------------------------------------
 *		Partitioned tables
 * ----------------------------------------------------------------
 */

/* Unique indexes of our access method on a table that may not be locked. */
static bool
catalog_has_unique(Relation pg_index, Oid relid, Oid am)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_index, IndexIndrelidIndexId, true, NULL, 1,
							  &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);
		HeapTuple	class;

		if (!form->indisunique)
			continue;
		class = SearchSysCache1(RELOID, ObjectIdGetDatum(form->indexrelid));
		if (!HeapTupleIsValid(class))
			continue;
		found = ((Form_pg_class) GETSTRUCT(class))->relam == am &&
			((Form_pg_class) GETSTRUCT(class))->relkind == RELKIND_INDEX;
		ReleaseSysCache(class);
	}
	systable_endscan(scan);
	return found;
}

/*
 * The tables under relid (none of them locked) that have a unique index of
 * ours.
 */
static List *
find_tables(Oid relid, Oid am)
{
	List	   *tables = find_all_inheritors(relid, NoLock, NULL);
	Relation	pg_index = table_open(IndexRelationId, AccessShareLock);
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, tables)
		if (catalog_has_unique(pg_index, lfirst_oid(lc), am))
		result = lappend_oid(result, lfirst_oid(lc));
	table_close(pg_index, AccessShareLock);
	list_free(tables);
	return result;
}

/* The same, remembering which trees have none. */
static List *
find_tables_cached(Oid relid)
{
	TreeInfo   *info;
	bool		found;
	List	   *result;

	if (trees == NULL)
	{
		HASHCTL		ctl = {0};

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(TreeInfo);
		ctl.hcxt = CacheMemoryContext;
		trees = hash_create("snii partitioned targets", 16, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	info = hash_search(trees, &relid, HASH_FIND, NULL);
	if (info != NULL && !info->has_unique)
		return NIL;
	result = find_tables(relid, get_index_am_oid("snii", true));
	/* An invalidation while we looked may have emptied the table: enter last. */
	info = hash_search(trees, &relid, HASH_ENTER, &found);
	info->has_unique = result != NIL;
	return result;
}

static void
set_disguise(const Routed *r, Oid am)
{
	for (int i = 0; i < r->nindexes; i++)
		r->indexes[i]->rd_rel->relam = am;
}

/*
 * Relation cache callback: entries that were read anew look like themselves
 * again.
 */
static void
relcache_changed(Datum arg, Oid relid)
{
	if (disguised != NULL)
		set_disguise(disguised, BTREE_AM_OID);
	if (trees != NULL)
	{
		HASH_SEQ_STATUS status;
		TreeInfo   *info;

		hash_seq_init(&status, trees);
		while ((info = hash_seq_search(&status)) != NULL)
			info->has_unique = true;	/* look again */
	}
}

/* ExecProcNode of what feeds a partitioned target. */
static TupleTableSlot *
route_row(PlanState *child)
{
	Routed	   *volatile r = routed_list;
	TupleTableSlot *slot;
	Oid			am;

	while (r->child != child)
		r = r->next;
	slot = r->real(child);
	if (TupIsNull(slot))
		return slot;
	am = r->indexes[0]->rd_rel->relam;
	Assert(disguised == NULL);
	PG_TRY();
	{
		disguised = r;
		set_disguise(r, BTREE_AM_OID);
		ExecFindPartition(r->node, r->node->rootResultRelInfo,
						  r->node->mt_partition_tuple_routing, slot,
						  r->node->ps.state);
	}
	PG_FINALLY();
	{
		disguised = NULL;
		set_disguise(r, am);
	}
	PG_END_TRY();
	return slot;
}

static void
forget_routed(void *arg)
{
	Routed	   *r = arg;

	for (Routed **p = &routed_list; *p != NULL; p = &(*p)->next)
		if (*p == r)
		{
			*p = r->next;
			break;
		}
}

/* Open our unique indexes of a table, which is locked as a target. */
static void
add_indexes(Routed *r, Oid relid)
{
	Relation	rel = try_table_open(relid, RowExclusiveLock);
	List	   *indexes;
	ListCell   *lc;

	if (rel == NULL)
		return;					/* dropped meanwhile */
	indexes = RelationGetIndexList(rel);
	r->indexes = repalloc(r->indexes, (r->nindexes + list_length(indexes) + 1)
						  * sizeof(Relation));
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		if (is_ours(index) && index->rd_index->indisunique)
			r->indexes[r->nindexes++] = index;
		else
			index_close(index, NoLock);
	}
	list_free(indexes);
	table_close(rel, NoLock);
}

static void
open_partitions(EState *estate, ModifyTableState *node)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Relation	root = node->rootResultRelInfo->ri_RelationDesc;
	List	   *tables = find_tables_cached(RelationGetRelid(root));
	Routed	   *r;
	ListCell   *lc;

	if (tables != NIL)
	{
		r = palloc0(sizeof(Routed));
		r->indexes = palloc(sizeof(Relation));
		foreach(lc, tables)
			add_indexes(r, lfirst_oid(lc));
		if (r->nindexes > 0)
		{
			r->node = node;
			r->child = outerPlanState(node);
			r->real = r->child->ExecProcNodeReal;
			r->next = routed_list;
			routed_list = r;
			r->callback.func = forget_routed;
			r->callback.arg = r;
			MemoryContextRegisterResetCallback(estate->es_query_cxt,
											   &r->callback);
			ExecSetExecProcNode(r->child, route_row);
		}
	}
	MemoryContextSwitchTo(old);
}

/* Let go of the indexes of a statement that ends well. */
static void
close_partitions(const EState *estate)
{
	for (Routed *r = routed_list; r != NULL; r = r->next)
		if (r->node->ps.state == estate)
		{
			for (int i = 0; i < r->nindexes; i++)
				index_close(r->indexes[i], NoLock);
			r->nindexes = 0;
		}
}

/* ----------------------------------------------------------------
 *		Hooks
 * ----------------------------------------------------------------
 */

static void
prepare_node(EState *estate, PlanState *ps)
{
	ModifyTableState *node;

	if (ps == NULL || !IsA(ps, ModifyTableState))
		return;
	node = (ModifyTableState *) ps;
	if (node->operation != CMD_INSERT ||
		((ModifyTable *) ps->plan)->onConflictAction == ONCONFLICT_NONE)
		return;
	if (node->mt_partition_tuple_routing != NULL)
		open_partitions(estate, node);
	else if (node->resultRelInfo->ri_RelationDesc->rd_rel->relkind ==
			 RELKIND_RELATION)
		open_table(estate, node->resultRelInfo);
}

static void
executor_start(QueryDesc *query, int eflags)
{
	ListCell   *lc;

	if (prev_executor_start)
		prev_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 ||
		(query->operation != CMD_INSERT &&
		 !query->plannedstmt->hasModifyingCTE))
		return;
	prepare_node(query->estate, query->planstate);
	foreach(lc, query->estate->es_auxmodifytables)
		prepare_node(query->estate, lfirst(lc));
}

static ExecutorEnd_hook_type prev_executor_end = NULL;

static void
executor_end(QueryDesc *query)
{
	if (routed_list != NULL)
		close_partitions(query->estate);
	if (prev_executor_end)
		prev_executor_end(query);
	else
		standard_ExecutorEnd(query);
}

static emit_log_hook_type prev_emit_log = NULL;

/* Core's internal error, of a session that had not loaded us. */
static void
add_hint(ErrorData *edata)
{
	if (edata->elevel == ERROR && edata->hint == NULL &&
		edata->sqlerrcode == ERRCODE_INTERNAL_ERROR &&
		edata->message != NULL &&
		strcmp(edata->message,
			   "unexpected non-btree speculative unique index") == 0)
		edata->hint = pstrdup("Set session_preload_libraries = 'snii' for the database, or repeat the statement in this session.");
	if (prev_emit_log)
		prev_emit_log(edata);
}

void
snii_am_key_conflict_init(void)
{
	prev_emit_log = emit_log_hook;
	emit_log_hook = add_hint;
	prev_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	prev_executor_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
	CacheRegisterRelcacheCallback(relcache_changed, (Datum) 0);
}

#else							/* core asks the access method */

void
snii_am_key_conflict_init(void)
{
}

#endif
