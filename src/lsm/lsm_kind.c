/*-------------------------------------------------------------------------
 *
 * lsm_kind.c
 *	  Registry of the kinds of index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_kind.h"
#include "lsm/lsm_policy.h"
#include "storage/storage_meta.h"

#define MAX_KINDS	16

static const SniiKind *kinds[MAX_KINDS];

void
snii_lsm_register_kind(const SniiKind *kind)
{
	if (kind->id >= MAX_KINDS)
		elog(ERROR, "kind %d of snii index is out of range", kind->id);
	kinds[kind->id] = kind;
}

const SniiKind *
snii_lsm_kind_by_id(int id)
{
	return id >= 0 && id < MAX_KINDS ? kinds[id] : NULL;
}

const SniiKind *
snii_lsm_kind(Relation index)
{
	SniiMetaPage meta;
	const SniiKind *kind;

	snii_storage_meta_read(index, &meta);
	kind = snii_lsm_kind_by_id(meta.kind);
	if (kind == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" is of kind %u, which this version of snii does not know",
						RelationGetRelationName(index), meta.kind)));
	return kind;
}

const SniiPolicy *
snii_lsm_policy(Relation index)
{
	const SniiKind *kind = snii_lsm_kind(index);

	return kind->policy != NULL ? kind->policy : &snii_lsm_policy_default;
}
