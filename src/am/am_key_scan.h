/*-------------------------------------------------------------------------
 *
 * am_key_scan.h
 *	  Scans of key indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_KEY_SCAN_H
#define SNII_AM_KEY_SCAN_H

#include "access/amapi.h"
#include "nodes/tidbitmap.h"

/* The functions of the access method, for key indexes. */
extern void snii_am_key_beginscan(IndexScanDesc scan);
extern void snii_am_key_rescan(IndexScanDesc scan, ScanKey keys);
extern bool snii_am_key_gettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 snii_am_key_getbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void snii_am_key_markpos(IndexScanDesc scan);
extern void snii_am_key_restrpos(IndexScanDesc scan);
extern void snii_am_key_endscan(IndexScanDesc scan);

#endif							/* SNII_AM_KEY_SCAN_H */
