/*-------------------------------------------------------------------------
 *
 * am_validate.c
 *	  Is an operator class of snii complete and sound?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_handler.h"
#include "key/key_desc.h"
#include "query/query_column.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

/* Name of an operator family, in memory of its own. */
static const char *
family_name(Oid family)
{
	HeapTuple	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	const char *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return name;
}

static void
complain(const char *family, const char *what, const char *object,
		 const char *problem)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator family \"%s\" of access method %s: %s %s %s",
					family, "snii", what, object, problem)));
}

/* Verify one operator of the family; false and a message if it is wrong. */
static bool
validate_operator(const char *family, Form_pg_amop op, bool is_key)
{
	const char *problem = NULL;

	if (is_key ? op->amopstrategy < BTLessStrategyNumber ||
		op->amopstrategy > BTGreaterStrategyNumber :
		op->amopstrategy != SNII_STRATEGY_MATCH)
		problem = "has an invalid strategy number";
	else if (op->amoppurpose != AMOP_SEARCH ||
			 OidIsValid(op->amopsortfamily))
		problem = "is not a search operator";
	else if (get_op_rettype(op->amopopr) != BOOLOID)
		problem = "does not return boolean";
	else if (is_key &&
			 !check_amop_signature(op->amopopr, BOOLOID, op->amoplefttype,
								   op->amoprighttype))
		problem = "has the wrong signature";
	if (problem == NULL)
		return true;
	complain(family, "operator", format_operator(op->amopopr), problem);
	return false;
}

static bool
validate_proc(const char *family, Form_pg_amproc proc, bool is_key)
{
	bool		good;

	switch (proc->amprocnum)
	{
		case SNII_ANALYZER_PROC:
			good = !is_key && check_amproc_signature(proc->amproc, TEXTOID,
													 true, 0, 0);
			break;
		case SNII_KEY_COMPARE_PROC:
			good = is_key && check_amproc_signature(proc->amproc, INT4OID,
													true, 2, 2,
													proc->amproclefttype,
													proc->amprocrighttype);
			break;
		case SNII_KEY_HASH_PROC:
			good = is_key && proc->amproclefttype == proc->amprocrighttype &&
				check_amproc_signature(proc->amproc, INT8OID, true, 2, 2,
									   proc->amproclefttype, INT8OID);
			break;
		default:
			good = false;
			break;
	}
	if (good)
		return true;
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator family \"%s\" of access method %s contains function %s with wrong number or signature",
					family, "snii", format_procedure(proc->amproc))));
	return false;
}

/* What an operator class needs for its own type is there. */
static bool
validate_class(Form_pg_opclass form, const CatCList *operators, bool is_key)
{
	Oid			type = form->opcintype;
	bool		good = true;

	if (!is_key)
	{
		good = false;
		for (int i = 0; i < operators->n_members; i++)
		{
			Form_pg_amop op = (Form_pg_amop)
			GETSTRUCT(&operators->members[i]->tuple);

			good |= op->amoplefttype == type &&
				op->amopstrategy == SNII_STRATEGY_MATCH;
		}
	}
	else
	{
		for (int16 s = BTLessStrategyNumber; s <= BTGreaterStrategyNumber; s++)
			good &= OidIsValid(get_opfamily_member(form->opcfamily, type,
												   type, s));
		/* Without a hash function it works, but filters keep nothing away. */
		if (!OidIsValid(get_opfamily_proc(form->opcfamily, type, type,
										  SNII_KEY_COMPARE_PROC)))
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator class \"%s\" of access method %s is missing support function(s)",
							NameStr(form->opcname), "snii")));
			return false;
		}
	}
	if (!good)
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s is missing operator(s)",
						NameStr(form->opcname), "snii")));
	return good;
}

/* A key family has order; others search. */
static bool
is_key_family(const CatCList *operators)
{
	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop op = (Form_pg_amop)
		GETSTRUCT(&operators->members[i]->tuple);

		if (op->amopstrategy == SNII_STRATEGY_MATCH)
			return false;
	}
	return true;
}

static bool
complain_of_group(const char *family, const char *what,
				  const OpFamilyOpFuncGroup *group)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator family \"%s\" of access method %s is missing %s for types %s and %s",
					family, "snii", what, format_type_be(group->lefttype),
					format_type_be(group->righttype))));
	return false;
}

/*
 * A key family compares each pair of types in all ways or in none, and, as
 * btree's do, every pair of those that it has classes for.
 */
static bool
validate_groups(const char *family, const List *groups)
{
	uint64		all = 0;
	int			complete = 0;
	List	   *types = NIL;
	bool		good = true;
	ListCell   *cell;

	for (int s = BTLessStrategyNumber; s <= BTGreaterStrategyNumber; s++)
		all |= UINT64CONST(1) << s;
	foreach(cell, groups)
	{
		const OpFamilyOpFuncGroup *group = lfirst(cell);
		bool		has_order = (group->functionset &
								 UINT64CONST(1) << SNII_KEY_COMPARE_PROC) != 0;

		types = list_append_unique_oid(types, group->lefttype);
		types = list_append_unique_oid(types, group->righttype);
		if (group->operatorset != all)
			good = complain_of_group(family, "operator(s)", group);
		if (!has_order)
			good = complain_of_group(family, "a support function", group);
		complete += group->operatorset == all && has_order;
	}
	if (good && complete != list_length(types) * list_length(types))
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator family \"%s\" of access method %s is missing cross-type operator(s)",
						family, "snii")));
		good = false;
	}
	return good;
}

bool
snii_am_validate(Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	const char *family;
	CatCList   *operators;
	CatCList   *procs;
	bool		is_key;
	bool		result = true;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	family = family_name(form->opcfamily);
	operators = SearchSysCacheList1(AMOPSTRATEGY,
									ObjectIdGetDatum(form->opcfamily));
	procs = SearchSysCacheList1(AMPROCNUM,
								ObjectIdGetDatum(form->opcfamily));
	is_key = is_key_family(operators);
	for (int i = 0; i < operators->n_members; i++)
		result &= validate_operator(family, (Form_pg_amop)
									GETSTRUCT(&operators->members[i]->tuple),
									is_key);
	for (int i = 0; i < procs->n_members; i++)
		result &= validate_proc(family, (Form_pg_amproc)
								GETSTRUCT(&procs->members[i]->tuple),
								is_key);
	result &= validate_class(form, operators, is_key);
	if (is_key && operators->n_members > 0)
		result &= validate_groups(family,
								  identify_opfamily_groups(operators, procs));
	ReleaseCatCacheList(procs);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(tuple);
	return result;
}
