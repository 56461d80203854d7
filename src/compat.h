/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The only place with conditionals on the server's version (15 to 18).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_COMPAT_H
#define SNII_COMPAT_H

#include "postgres.h"

#endif							/* SNII_COMPAT_H */
