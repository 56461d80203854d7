/*-------------------------------------------------------------------------
 *
 * query_support.h
 *	  Planner support: every form of a search becomes @@@ with a sniiquery.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_SUPPORT_H
#define SNII_QUERY_SUPPORT_H

#include "query/query_build.h"

extern const char *snii_query_form_function(SniiQueryForm form);

#endif							/* SNII_QUERY_SUPPORT_H */
