/*-------------------------------------------------------------------------
 *
 * mem_shared.c
 *	  The server's limiter and the limit of all builds.
 *
 * When the library is preloaded, all builds of the server share one limiter
 * in the main shared memory, which a crash makes anew.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "memory/mem_shared.h"
#include "memory/mem_system.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

/* A limit leaves room for so many writers, however small it is. */
#define WRITERS_MIN		4

int			snii_mem_merge_workspace_kb = 32 * 1024;
bool		snii_mem_recycle_blocks = true;
char	   *snii_mem_build_limit_text = NULL;

char	   *snii_mem_min_available_text = NULL;

/* Bytes of the settings; 0: no limit. */
static uint64 build_limit = 0;
static uint64 min_available = 0;

static SniiMemLimiter *limiter = NULL;
static shmem_request_hook_type prev_request_hook = NULL;
static shmem_startup_hook_type prev_startup_hook = NULL;

/* ---------------- the limit ---------------- */

/*
 * A share of the machine's memory, "25%", or none if that is not known; false
 * if it is no share.
 */
static bool
parse_share(const char *value, uint64 *bytes)
{
	char	   *end;
	double		share = strtod(value, &end);
	uint64		total;

	if (end == value)
		return false;
	while (*end == ' ')
		end++;
	if (end[0] != '%' || end[1] != '\0' || !(share >= 0 && share <= 100))
		return false;
	total = snii_mem_system_total();
	*bytes = total == SNII_MEM_UNKNOWN ? 0 :
		(uint64) (share / 100 * (double) total);
	return true;
}

bool
snii_mem_check_amount(char **value, void **extra, GucSource source)
{
	uint64		bytes;
	int			kb;
	const char *hint = NULL;
	uint64	   *result;

	if (!parse_share(*value, &bytes))
	{
		if (!parse_int(*value, &kb, GUC_UNIT_KB, &hint) || kb < 0)
		{
			GUC_check_errdetail("It must be a share of the machine's memory, such as \"25%%\", or an amount of memory, such as \"2GB\".");
			if (hint != NULL)
				GUC_check_errhint("%s", hint);
			return false;
		}
		bytes = (uint64) kb * 1024;
	}
	/* freed by guc.c, with free() before 16 */
	result = SniiGucMalloc(sizeof(uint64));
	if (result == NULL)
		return false;
	*result = bytes;
	*extra = result;
	return true;
}

void
snii_mem_assign_build_limit(const char *value, void *extra)
{
	build_limit = *(uint64 *) extra;
}

void
snii_mem_assign_min_available(const char *value, void *extra)
{
	min_available = *(uint64 *) extra;
}

uint64
snii_mem_min_available(void)
{
	return min_available;
}

uint64
snii_mem_build_limit(Size budget)
{
	return build_limit == 0 ? 0 :
		Max(build_limit, (uint64) budget * WRITERS_MIN);
}

/* ---------------- shared memory ---------------- */

/* Every backend, worker and autovacuum process may write one index. */
static void
request(void)
{
	if (prev_request_hook != NULL)
		prev_request_hook();
	RequestAddinShmemSpace(snii_mem_limiter_size(MaxBackends));
}

static void
startup(void)
{
	bool		found;

	if (prev_startup_hook != NULL)
		prev_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	limiter = ShmemInitStruct("snii build memory",
							  snii_mem_limiter_size(MaxBackends), &found);
	if (!found)
		snii_mem_limiter_init(limiter, MaxBackends);
	LWLockRelease(AddinShmemInitLock);
}

void
snii_mem_shared_init(void)
{
	prev_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	prev_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}

SniiMemLimiter *
snii_mem_shared_limiter(void)
{
	return limiter;
}
