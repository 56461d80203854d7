/*-------------------------------------------------------------------------
 *
 * storage_timing.c
 *	  Where the time of a flush, a merge or VACUUM goes, below lsm/.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/storage_timing.h"

bool		snii_storage_timing = false;
instr_time	snii_storage_times[SNII_TIMES];
