/*-------------------------------------------------------------------------
 *
 * am_key_parallel.c
 *	  Scans of key indexes by several processes: who reads what.
 *
 * Shared memory says how far the scan has been given out: the number of a
 * combination of array elements, and a border in its interval.  Whoever has
 * nothing to do takes the next part from there.  Parts are given out in the
 * order of the index, so that what each participant returns is in order.
 *
 * A border is a key, not a place in a run: it means the same to participants
 * that read different versions of the directory (docs/locking.md).
 *
 * One participant at a time takes a part; it may read pages meanwhile, and
 * the others sleep, as in a parallel scan of a btree.  If it fails, the whole
 * query does, which wakes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_key_parallel.h"
#include "compat.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"

typedef struct SharedScan
{
	slock_t		mutex;			/* guards busy; the rest is the taker's */
	bool		busy;			/* someone is taking a part */
	ConditionVariable taken;
	uint64		combination;	/* next one to be given out */
	uint32		border_len;		/* 0: at the beginning of its interval */
	uint8		border[SNII_KEY_MAX_ENTRY];
} SharedScan;

Size
snii_am_key_parallel_size(void)
{
	return sizeof(SharedScan);
}

void
snii_am_key_parallel_reset(void *shared)
{
	SharedScan *s = shared;

	/* Nobody else is there. */
	s->busy = false;
	s->combination = 0;
	s->border_len = 0;
}

void
snii_am_key_parallel_init(void *shared)
{
	SharedScan *s = shared;

	SpinLockInit(&s->mutex);
	ConditionVariableInit(&s->taken);
	snii_am_key_parallel_reset(shared);
}

static SharedScan *
shared_of(IndexScanDesc scan)
{
	return snii_compat_parallel_area(scan->parallel_scan);
}

/* Wait until nobody else takes a part, and begin to do so. */
static void
seize(SharedScan *s)
{
	for (;;)
	{
		bool		busy;

		SpinLockAcquire(&s->mutex);
		busy = s->busy;
		s->busy = true;
		SpinLockRelease(&s->mutex);
		if (!busy)
			break;
		ConditionVariableSleep(&s->taken, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

static void
release(SharedScan *s)
{
	SpinLockAcquire(&s->mutex);
	s->busy = false;
	SpinLockRelease(&s->mutex);
	ConditionVariableSignal(&s->taken);
}

bool
snii_am_key_part_begin(IndexScanDesc scan, uint64 total, SniiKeyPart *part)
{
	SharedScan *s = shared_of(scan);

	seize(s);
	if (s->combination >= total)
	{
		release(s);
		return false;
	}
	part->begin = s->combination;
	part->end = part->begin + 1;
	part->from.len = part->to.len = 0;
	if (s->border_len > 0)
		snii_key_bytes_add(&part->from, s->border, s->border_len);
	return true;
}

void
snii_am_key_part_end(IndexScanDesc scan, const SniiKeyPart *part)
{
	SharedScan *s = shared_of(scan);

	s->combination = part->to.len > 0 ? part->begin : part->end;
	s->border_len = part->to.len;
	if (part->to.len > 0)
		memcpy(s->border, part->to.data, part->to.len);
	release(s);
}

void
snii_am_key_part_cut(const SniiKeyPart *part, ScanDirection dir,
					 SniiKeyInterval *interval)
{
	bool		forward = ScanDirectionIsForward(dir);
	const SniiKeyBytes *lower = forward ? &part->from : &part->to;
	const SniiKeyBytes *upper = forward ? &part->to : &part->from;

	if (lower->len > 0)
	{
		interval->lower.bytes = lower->data;
		interval->lower.len = lower->len;
		interval->lower.after = false;
	}
	if (upper->len > 0)
	{
		interval->upper.bytes = upper->data;
		interval->upper.len = upper->len;
		interval->upper.after = false;
	}
}
