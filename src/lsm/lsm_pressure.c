/*-------------------------------------------------------------------------
 *
 * lsm_pressure.c
 *	  Back-pressure: inserters that are ahead of the workers slow down.
 *
 * Whoever seals a stretch looks at how much is waiting and does what the
 * policy says.  A sleep is not taken at once but owed, and paid in shares of
 * SHARE_MS at the beginning of later insertions of the same backend, before any
 * lock of the index: so one row never waits for long, and who inserts most pays
 * most.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_maintain.h"
#include "lsm/lsm_policy.h"
#include "lsm/lsm_pressure.h"
#include "lsm/lsm_worker.h"
#include "storage/storage_counters.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/latch.h"

#define SHARE_MS		1
#define MAX_OWED_MS		1000

static double owed_ms = 0;
static SniiSleepReason owed_reason = SNII_SLEEP_NONE;

void
snii_lsm_pressure_pay(Relation index)
{
	instr_time	start;
	instr_time	end;

	if (owed_ms < SHARE_MS)
		return;
	owed_ms -= SHARE_MS;
	INSTR_TIME_SET_CURRENT(start);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 SHARE_MS, snii_compat_pressure_event());
	ResetLatch(MyLatch);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	snii_storage_count(index, SNII_COUNTER_SLEEPS, 1);
	snii_storage_count(index, SNII_COUNTER_SLEEP_US,
					   INSTR_TIME_GET_MICROSEC(end));
	snii_storage_count(index, SNII_COUNTER_SLEEP_REASON, owed_reason);
	CHECK_FOR_INTERRUPTS();
}

void
snii_lsm_pressure_sealed(Relation index, Relation heap)
{
	const SniiPolicy *policy = snii_lsm_policy(index);
	SniiPolicyLoad load;
	SniiPolicyAdvice advice;
	uint64		limit = (uint64) snii_lsm_buffer_limit_kb * 1024;

	snii_lsm_load(index, &load);
	advice = snii_lsm_policy_advice(policy, &load, limit, true);
	if (advice.wake && !snii_lsm_worker_request(index))
		advice = snii_lsm_policy_advice(policy, &load, limit, false);
	if (advice.reason != SNII_SLEEP_NONE)
		owed_reason = advice.reason;
	owed_ms = Min(owed_ms + advice.sleep_ms, MAX_OWED_MS);
	if (advice.help)
		snii_lsm_help(index, heap, advice.help_merge);
}
