/*-------------------------------------------------------------------------
 *
 * lsm_turn.c
 *	  The RECYCLE lock of who reads a segment for long without a snapshot.
 *
 * While VACUUM holds RECYCLE in share mode nobody frees parked pages, and a
 * large segment takes it hours at autovacuum's pace.  So it lets go of the
 * lock after each TURN_MS, and before it reads on, under the lock again, it
 * looks whether the segment is still in the directory: ids never come back, so
 * then it was there all the time and none of its pages was freed.
 *
 * Nobody waits for the lock in exclusive mode, so that the gap alone would
 * not help: VACUUM frees what may be freed itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "lsm/lsm_timing.h"
#include "lsm/lsm_turn.h"
#include "storage/storage_alloc.h"
#include "storage/storage_point.h"
#include "storage/storage_recycle.h"

#include "storage/lmgr.h"

#ifdef SNII_SMALL_PAGES
#define TURN_MS		0.0
#else
#define TURN_MS		50.0
#endif

void
snii_lsm_turn_begin(SniiTurn *turn, Relation index, Relation heap)
{
	turn->index = index;
	turn->heap = heap;
	snii_lsm_lock_page(index, SNII_LOCK_RECYCLE, ShareLock);
	INSTR_TIME_SET_CURRENT(turn->start);
}

bool
snii_lsm_turn_is_over(const SniiTurn *turn)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, turn->start);
	return INSTR_TIME_GET_MILLISEC(now) >= TURN_MS;
}

bool
snii_lsm_turn_next(SniiTurn *turn, uint64 id)
{
	instr_time	start;

	snii_lsm_turn_end(turn);
	SNII_TEST_POINT("vacuum_turn");
	snii_storage_recycle(turn->index, turn->heap);
	snii_storage_time_begin(&start);
	snii_compat_vacuum_delay();
	snii_storage_time_end(SNII_TIME_WAITED, &start);
	snii_lsm_turn_begin(turn, turn->index, turn->heap);
	return snii_lsm_entry_exists(turn->index, id);
}

void
snii_lsm_turn_end(SniiTurn *turn)
{
	UnlockPage(turn->index, SNII_LOCK_RECYCLE, ShareLock);
}
