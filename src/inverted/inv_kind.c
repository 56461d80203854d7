/*-------------------------------------------------------------------------
 *
 * inv_kind.c
 *	  The inverted index as a kind of the LSM machinery.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "inverted/inv_build.h"
#include "inverted/inv_check.h"
#include "inverted/inv_columns.h"
#include "inverted/inv_dead.h"
#include "inverted/inv_format.h"
#include "inverted/inv_kind.h"
#include "inverted/inv_merge.h"

/* TIDs that a sink gets at a time. */
#define TIDS_PER_CALL	SNII_INV_GROUP

static const SniiKind inverted_kind = {
	.id = SNII_KIND_INVERTED,
	.name = "inverted",
	.warm = 1 << SNII_INV_STREAM_HEAD | 1 << SNII_INV_STREAM_DICT |
	1 << SNII_INV_STREAM_INDEX,
	.build = snii_inv_kind_build,
	.merge = snii_inv_kind_merge,
	.tids = snii_inv_kind_tids,
	.check_segment = snii_inv_kind_check_segment,
	.check_record = snii_inv_kind_check_record,
	.side = snii_inv_kind_side,
	.check_side = snii_inv_kind_check_side
};

/*
 * Report the TID of every document of a segment, until the sink has enough.
 * See SniiKind.tids.
 */
void
snii_inv_kind_tids(Relation index, SniiObject *object, uint64 ndocs,
				   SniiTidSink sink, void *arg)
{
	SniiInvSegment *seg = snii_inv_open(object, ndocs);
	ItemPointerData tids[TIDS_PER_CALL];

	for (uint64 first = 0; first < ndocs; first += TIDS_PER_CALL)
	{
		int			n = Min(TIDS_PER_CALL, ndocs - first);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
			snii_inv_tid(seg, (uint32) (first + i), &tids[i]);
		if (!sink(arg, first, tids, n))
			break;
	}
	snii_inv_close(seg);
}

/* Make the kind known; called when the library is loaded. */
void
snii_inv_kind_register(void)
{
	snii_lsm_register_kind(&inverted_kind);
}
