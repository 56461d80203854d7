/*-------------------------------------------------------------------------
 *
 * am_scan.h
 *	  Index scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_SCAN_H
#define SNII_AM_SCAN_H

#include "access/genam.h"
#include "nodes/tidbitmap.h"

/* The functions of the access method, for inverted indexes. */
extern void snii_am_beginscan(IndexScanDesc scan);
extern void snii_am_rescan(IndexScanDesc scan, ScanKey keys);
extern bool snii_am_gettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 snii_am_getbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void snii_am_endscan(IndexScanDesc scan);

#endif							/* SNII_AM_SCAN_H */
