/*-------------------------------------------------------------------------
 *
 * am_validate.c
 *	  Is an operator class of snii complete and sound?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_handler.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
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

/* Verify one operator of the family; false and a message if it is wrong. */
static bool
validate_operator(const char *family, Form_pg_amop op)
{
	const char *problem = NULL;

	if (op->amopstrategy != SNII_STRATEGY_MATCH)
		problem = "has an invalid strategy number";
	else if (op->amoppurpose != AMOP_SEARCH ||
			 OidIsValid(op->amopsortfamily))
		problem = "is not a search operator";
	else if (get_op_rettype(op->amopopr) != BOOLOID)
		problem = "does not return boolean";
	if (problem == NULL)
		return true;
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator family \"%s\" of access method %s: operator %s %s",
					family, "snii", format_operator(op->amopopr), problem)));
	return false;
}

bool
snii_am_validate(Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	const char *family;
	CatCList   *operators;
	CatCList   *procs;
	bool		result = true;
	bool		found = false;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	family = family_name(form->opcfamily);
	operators = SearchSysCacheList1(AMOPSTRATEGY,
									ObjectIdGetDatum(form->opcfamily));
	procs = SearchSysCacheList1(AMPROCNUM,
								ObjectIdGetDatum(form->opcfamily));
	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop op = (Form_pg_amop)
		GETSTRUCT(&operators->members[i]->tuple);

		result &= validate_operator(family, op);
		found |= op->amoplefttype == form->opcintype &&
			op->amopstrategy == SNII_STRATEGY_MATCH;
	}
	if (!found)
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s is missing operator(s)",
						NameStr(form->opcname), "snii")));
		result = false;
	}
	for (int i = 0; i < procs->n_members; i++)
	{
		Form_pg_amproc proc = (Form_pg_amproc)
		GETSTRUCT(&procs->members[i]->tuple);

		if (proc->amprocnum == SNII_ANALYZER_PROC &&
			check_amproc_signature(proc->amproc, TEXTOID, true, 0, 0))
			continue;
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator family \"%s\" of access method %s contains function %s with wrong number or signature",
						family, "snii", format_procedure(proc->amproc))));
		result = false;
	}
	ReleaseCatCacheList(procs);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(tuple);
	return result;
}
