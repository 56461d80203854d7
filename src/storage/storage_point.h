/*-------------------------------------------------------------------------
 *
 * storage_point.h
 *	  Places at which a test can stop, fail or kill the process.
 *
 * Nothing in the product.  A test module that compiles these layers in with
 * SNII_TEST_POINTS supplies snii_test_point(); a point stands where no buffer
 * is locked, between two steps each of which leaves a valid state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_STORAGE_POINT_H
#define SNII_STORAGE_POINT_H

#ifdef SNII_TEST_POINTS
extern void snii_test_point(const char *name);

#define SNII_TEST_POINT(name)	snii_test_point(name)
#else
#define SNII_TEST_POINT(name)	((void) 0)
#endif

#endif							/* SNII_STORAGE_POINT_H */
