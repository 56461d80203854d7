/*-------------------------------------------------------------------------
 *
 * stub_server.c
 *	  What a fuzz target needs of the server: a failed assertion stops it.
 *
 * The headers are left out on purpose: the arguments differ by version, and
 * none is looked at.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

void		ExceptionalCondition(void);

void
ExceptionalCondition(void)
{
	abort();
}
