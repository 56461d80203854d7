/*-------------------------------------------------------------------------
 *
 * snii.c
 *	  Module entry point: settings and one-time initialisation.
 *
 * Nothing here needs shared memory or a restart: the library may be loaded
 * by the first statement that uses it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
}
