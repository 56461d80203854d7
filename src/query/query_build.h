/*-------------------------------------------------------------------------
 *
 * query_build.h
 *	  Text to query: parse, analyse, normalise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_BUILD_H
#define SNII_QUERY_BUILD_H

#include "nodes/nodes.h"
#include "query/query_type.h"

/* How the text of a query is read. */
typedef enum SniiQueryForm
{
	SNII_FORM_ANY,				/* any of its terms */
	SNII_FORM_ALL,				/* all of its terms */
	SNII_FORM_PHRASE,			/* its terms as one phrase */
	SNII_FORM_WEB,				/* the query language, lenient */
	SNII_FORM_STRICT			/* the query language, strict */
} SniiQueryForm;

extern SniiQuery *snii_query_build(SniiQueryForm form,
								   const SniiAnalyzer *analyzer,
								   const char *text, size_t len);
extern SniiQuery *snii_query_build_strict(const SniiAnalyzer *analyzer,
										  const char *text, size_t len,
										  Node *escontext);
extern const SniiAnalyzer *snii_query_analyzer_named(const char *name,
													 size_t len);

#endif							/* SNII_QUERY_BUILD_H */
