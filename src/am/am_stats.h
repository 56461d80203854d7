/*-------------------------------------------------------------------------
 *
 * am_stats.h
 *	  SQL function snii_stats(): nothing for other files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_STATS_H
#define SNII_AM_STATS_H

#endif							/* SNII_AM_STATS_H */
