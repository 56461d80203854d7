/*-------------------------------------------------------------------------
 *
 * lsm_timing.c
 *	  The log of slow flushes, merges and VACUUMs: snii.log_min_duration.
 *
 * The time of an operation is split into waiting, reading and writing, which
 * storage/ measures page by page; its last phase (publishing, marking),
 * without these; and the rest, which is the work proper.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lsm/lsm_timing.h"

#include "storage/lmgr.h"
#include "utils/rel.h"

int			snii_lsm_log_min_duration = 60000;

void
snii_lsm_timing_begin(SniiTiming *t)
{
	t->on = snii_lsm_log_min_duration >= 0;
	t->outer_on = snii_storage_timing;
	memcpy(t->outer, snii_storage_times, sizeof(t->outer));
	memset(snii_storage_times, 0, sizeof(snii_storage_times));
	snii_storage_timing = t->on;
	t->work_ms = -1;
	if (t->on)
		INSTR_TIME_SET_CURRENT(t->start);
}

static double
since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Waiting, reading and writing so far. */
static double
measured(void)
{
	double		sum = 0;

	for (int i = 0; i < SNII_TIMES; i++)
		sum += INSTR_TIME_GET_MILLISEC(snii_storage_times[i]);
	return sum;
}

void
snii_lsm_timing_last(SniiTiming *t)
{
	if (!t->on)
		return;
	t->work_ms = since(t->start) - measured();
}

double
snii_lsm_timing_so_far(const SniiTiming *t)
{
	return t->on ? Max(since(t->start) - measured(), 0) : 0;
}

/*
 * Stop; returns the whole time in ms and that of each kind in times, or -1 if
 * it is not to be logged.
 */
static double
stop(SniiTiming *t, double *times)
{
	double		total = t->on ? since(t->start) : -1;

	for (int i = 0; i < SNII_TIMES; i++)
		times[i] = INSTR_TIME_GET_MILLISEC(snii_storage_times[i]);
	memcpy(snii_storage_times, t->outer, sizeof(t->outer));
	snii_storage_timing = t->outer_on;
	if (t->on && t->outer_on)
		snii_storage_time_end(SNII_TIME_WAITED, &t->start);
	return total >= snii_lsm_log_min_duration ? total : -1;
}

double
snii_lsm_timing_stop(SniiTiming *t)
{
	double		total = t->on ? since(t->start) : 0;
	double		times[SNII_TIMES];

	(void) stop(t, times);
	return total;
}

bool
snii_lsm_timing_is_slow(double total)
{
	return snii_lsm_log_min_duration >= 0 &&
		total >= snii_lsm_log_min_duration;
}

void
snii_lsm_timing_cancel(SniiTiming *t)
{
	double		times[SNII_TIMES];

	(void) stop(t, times);
}

void
snii_lsm_timing_end(SniiTiming *t, Relation index,
					const SniiTimingNames *names, int ninputs, uint64 ndocs,
					uint64 nbytes)
{
	double		times[SNII_TIMES];
	double		total = stop(t, times);
	double		rest;
	char		last[64] = "";

	if (total < 0)
		return;
	rest = total - times[SNII_TIME_WAITED] - times[SNII_TIME_READ] -
		times[SNII_TIME_WRITTEN];
	if (t->work_ms < 0)
		t->work_ms = rest;
	if (names->last != NULL)
		snprintf(last, sizeof(last), ", %s %.3f", names->last,
				 Max(rest - t->work_ms, 0));
	ereport(LOG,
			(errmsg("snii %s of index \"%s\" took %.3f ms: %d inputs, %llu documents, %llu bytes; waited %.3f, read %.3f, %s %.3f, written %.3f%s ms",
					names->what, RelationGetRelationName(index), total,
					ninputs, (unsigned long long) ndocs,
					(unsigned long long) nbytes, times[SNII_TIME_WAITED],
					times[SNII_TIME_READ], names->work, t->work_ms,
					times[SNII_TIME_WRITTEN], last),
			 errhidestmt(true), errhidecontext(true)));
}

void
snii_lsm_timing_end_recycle(SniiTiming *t, Relation index, uint64 npages)
{
	double		times[SNII_TIMES];
	double		total = stop(t, times);

	if (total < 0 || npages == 0)
		return;
	ereport(LOG,
			(errmsg("snii recycling of index \"%s\" took %.3f ms: %llu pages",
					RelationGetRelationName(index), total,
					(unsigned long long) npages),
			 errhidestmt(true), errhidecontext(true)));
}

void
snii_lsm_lock_page(Relation index, BlockNumber blk, LOCKMODE mode)
{
	instr_time	start;

	snii_storage_time_begin(&start);
	LockPage(index, blk, mode);
	snii_storage_time_end(SNII_TIME_WAITED, &start);
}
