/*-------------------------------------------------------------------------
 *
 * am_options.c
 *	  Options of CREATE INDEX ... WITH, and the analyzers of columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_options.h"
#include "key/key_desc.h"
#include "lsm/lsm_kind.h"
#include "query/query_column.h"
#include "storage/storage_page.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(snii_keyword_analyzer);

static relopt_kind options_kind;

/*
 * Support function 8 of text_keyword_ops: the analyzer of its columns.
 */
Datum
snii_keyword_analyzer(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text("keyword"));
}

static void
validate_analyzer(const char *value)
{
	if (value == NULL || snii_text_analyzer_by_name(value) != NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown analyzer \"%s\"", value),
			 errhint("Available analyzers: %s.",
					 snii_text_analyzer_names())));
}

void
snii_am_options_init(void)
{
	options_kind = add_reloption_kind();
	add_string_reloption(options_kind, "analyzer",
						 "How text is cut into terms", NULL,
						 validate_analyzer, AccessExclusiveLock);
}

bytea *
snii_am_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt tab[] = {
		{"analyzer", RELOPT_TYPE_STRING, offsetof(SniiOptions, analyzer)},
	};

	return build_reloptions(reloptions, validate, options_kind,
							sizeof(SniiOptions), tab, lengthof(tab));
}

bool
snii_am_is_key(Relation index)
{
	return OidIsValid(index->rd_support[SNII_KEY_COMPARE_PROC - 1]);
}

/*
 * An index is a key index if all its columns are of key operator classes.
 */
static bool
all_keys(Relation index, int ncolumns)
{
	int			nkeys = 0;

	for (int i = 0; i < ncolumns; i++)
		if (OidIsValid(index_getprocid(index, (AttrNumber) (i + 1),
									   SNII_KEY_COMPARE_PROC)))
			nkeys++;
	if (nkeys == 0 || nkeys == ncolumns)
		return nkeys > 0;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("filter columns are not supported yet"),
			 errdetail("Index \"%s\" has columns with full text and others.",
					   RelationGetRelationName(index)),
			 errhint("Make an index for each, or use text_key_ops for the text columns of a key index.")));
	return false;
}

/* What a full-text index cannot be, though key indexes can. */
static void
check_inverted(Relation index, int ncolumns)
{
	const char *problem = NULL;

	if (index->rd_index->indisunique)
		problem = "unique indexes";
	else if (index->rd_index->indnatts > ncolumns)
		problem = "included columns";
	for (int i = 0; i < ncolumns && problem == NULL; i++)
		if (index->rd_indoption[i] != 0)
			problem = "ASC, DESC and NULLS options";
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("full-text indexes do not support %s", problem),
				 errhint("A key index has operator classes such as text_key_ops.")));
}

void
snii_am_spec(Relation index, SniiMetaSpec *spec)
{
	int			ncolumns = IndexRelationGetNumberOfKeyAttributes(index);
	const SniiOptions *options = (const SniiOptions *) index->rd_options;

	memset(spec, 0, sizeof(*spec));
	if (ncolumns > SNII_MAX_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("a snii index can have at most %d columns",
						SNII_MAX_COLUMNS)));
	spec->ncolumns = (uint8) ncolumns;
	spec->unicode_version = snii_text_unicode_version();
	if (all_keys(index, ncolumns))
	{
		if (options != NULL && options->analyzer != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" is for full-text indexes",
							"analyzer")));
		spec->kind = SNII_KIND_KEY;
		return;
	}
	check_inverted(index, ncolumns);
	spec->kind = SNII_KIND_INVERTED;
	for (int i = 0; i < ncolumns; i++)
		spec->column_analyzer[i] = (uint8)
			snii_text_analyzer_id(snii_query_catalog_analyzer(index, i));
}

/*
 * Text that was cut with other Unicode data may have other terms.
 */
static void
check_unicode_version(Relation index, const SniiMetaPage *meta)
{
	static Oid *warned = NULL;
	static int	nwarned = 0;
	const char *version = snii_text_unicode_version();
	bool		keyword_only = true;

	for (int i = 0; i < meta->ncolumns; i++)
		keyword_only &= meta->column_analyzer[i] ==
			snii_text_analyzer_id(snii_text_analyzer_by_name("keyword"));
	if (keyword_only ||
		strncmp(meta->unicode_version, version,
				sizeof(meta->unicode_version) - 1) == 0)
		return;
	for (int i = 0; i < nwarned; i++)
		if (warned[i] == RelationGetRelid(index))
			return;
	if (warned == NULL)
		warned = MemoryContextAlloc(TopMemoryContext, sizeof(Oid));
	else
		warned = repalloc(warned, (nwarned + 1) * sizeof(Oid));
	warned[nwarned++] = RelationGetRelid(index);
	ereport(WARNING,
			(errmsg("index \"%s\" was built with other Unicode data",
					RelationGetRelationName(index)),
			 errdetail("The index has version %.*s, this server has %s.",
					   (int) sizeof(meta->unicode_version),
					   meta->unicode_version, version),
			 errhint("REINDEX the index.")));
}

int
snii_am_analyzers(Relation index, const SniiAnalyzer **analyzers)
{
	SniiMetaPage meta;

	snii_storage_meta_read(index, &meta);
	if (meta.kind != SNII_KIND_INVERTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" is of kind %u, which this version of snii does not know",
						RelationGetRelationName(index), meta.kind)));
	if (meta.ncolumns != IndexRelationGetNumberOfKeyAttributes(index))
		snii_storage_corrupted(index, SNII_META_BLOCK,
							   "meta page claims %u columns",
							   meta.ncolumns);
	for (int i = 0; i < meta.ncolumns; i++)
	{
		analyzers[i] = snii_text_analyzer_by_id(meta.column_analyzer[i]);
		if (analyzers[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index \"%s\" uses analyzer %u, which this version of snii does not know",
							RelationGetRelationName(index),
							meta.column_analyzer[i])));
	}
	check_unicode_version(index, &meta);
	return meta.ncolumns;
}
