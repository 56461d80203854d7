/*-------------------------------------------------------------------------
 *
 * lsm_place.c
 *	  How many workers there are without a pool.
 *
 * Without shared memory of our own, what bounds the workers of all databases
 * are snii.max_workers locks, one of which each worker holds as long as it
 * works.  They are locks of the lock manager on objects that do not exist, so
 * that a place is free again however its owner ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_launcher.h"
#include "lsm/lsm_place.h"

#include "catalog/pg_am.h"
#include "storage/lock.h"

static LOCKTAG my_place;
static bool have_place = false;

/* No access method has the OID 0, and none belongs to no database. */
static void
place_tag(LOCKTAG *tag, int i)
{
	SET_LOCKTAG_OBJECT(*tag, InvalidOid, AccessMethodRelationId, InvalidOid,
					   i);
}

bool
snii_lsm_place_is_free(void)
{
	bool		result = false;

	for (int i = 0; i < snii_lsm_max_workers && !result; i++)
	{
		LOCKTAG		tag;

		place_tag(&tag, i);
		result = LockAcquire(&tag, ShareLock, false, true) !=
			LOCKACQUIRE_NOT_AVAIL;
		if (result)
			LockRelease(&tag, ShareLock, false);
	}
	return result;
}

bool
snii_lsm_place_take(void)
{
	for (int i = 0; i < snii_lsm_max_workers && !have_place; i++)
	{
		place_tag(&my_place, i);
		have_place = LockAcquire(&my_place, ExclusiveLock, true, true) !=
			LOCKACQUIRE_NOT_AVAIL;
	}
	return have_place;
}

void
snii_lsm_place_drop(void)
{
	if (have_place)
		LockRelease(&my_place, ExclusiveLock, true);
	have_place = false;
}

void
snii_lsm_place_forget(void)
{
	have_place = false;
}
