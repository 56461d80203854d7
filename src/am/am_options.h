/*-------------------------------------------------------------------------
 *
 * am_options.h
 *	  Options of CREATE INDEX ... WITH, and the analyzers of columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_AM_OPTIONS_H
#define SNII_AM_OPTIONS_H

#include "access/reloptions.h"
#include "storage/storage_meta.h"
#include "text/text_analyzer.h"

/* rd_options of an index. */
typedef struct SniiOptions
{
	int32		vl_len_;		/* varlena header */
	int			analyzer;		/* offset of the name, 0: not given */
} SniiOptions;

/* Register the options; once, when the library is loaded. */
extern void snii_am_options_init(void);

/* amoptions. */
extern bytea *snii_am_options(Datum reloptions, bool validate);

/* Is an open index one of keys?  Looks at its operator classes alone. */
extern bool snii_am_is_key(Relation index);

/*
 * What the catalogs say that a new index should be: its analyzers are taken
 * from its options and operator classes.
 */
extern void snii_am_spec(Relation index, SniiMetaSpec *spec);

/*
 * Analyzers of the columns as the meta page, which is the truth, has them;
 * warns once per session and index if the Unicode data has changed since.
 * Returns the number of columns.
 */
extern int	snii_am_analyzers(Relation index,
							  const SniiAnalyzer **analyzers);

#endif							/* SNII_AM_OPTIONS_H */
