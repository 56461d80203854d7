\echo Use "CREATE EXTENSION snii" to load this file. \quit

-- Text analysis

CREATE FUNCTION @extschema@.snii_analyze(
	analyzer text,
	document text,
	OUT token text,
	OUT "position" int8,
	OUT start_offset int8,
	OUT end_offset int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.snii_analyze(text, text) IS
'tokens that an analyzer finds in a document, with positions and byte offsets';

-- ---------------------------------------------------------------------
-- Queries
-- ---------------------------------------------------------------------

CREATE TYPE @extschema@.sniiquery;

CREATE FUNCTION @extschema@.snii_query_in(cstring) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_query_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_query_in(cstring) IS
	'input of sniiquery: the query language, strict';

CREATE FUNCTION @extschema@.snii_query_out(@extschema@.sniiquery) RETURNS cstring
	AS 'MODULE_PATHNAME', 'snii_query_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_query_out(@extschema@.sniiquery) IS
	'output of sniiquery';

CREATE FUNCTION @extschema@.snii_query_recv(internal) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_query_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_query_recv(internal) IS
	'binary input of sniiquery';

CREATE FUNCTION @extschema@.snii_query_send(@extschema@.sniiquery) RETURNS bytea
	AS 'MODULE_PATHNAME', 'snii_query_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_query_send(@extschema@.sniiquery) IS
	'binary output of sniiquery';

CREATE TYPE @extschema@.sniiquery (
	INPUT = @extschema@.snii_query_in,
	OUTPUT = @extschema@.snii_query_out,
	RECEIVE = @extschema@.snii_query_recv,
	SEND = @extschema@.snii_query_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = extended
);
COMMENT ON TYPE @extschema@.sniiquery IS
	'analysed search query that carries its analyzer';

CREATE FUNCTION @extschema@.snii_query_eq(@extschema@.sniiquery, @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_query_eq'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF;
COMMENT ON FUNCTION @extschema@.snii_query_eq(@extschema@.sniiquery, @extschema@.sniiquery) IS
	'are the queries the same?';

CREATE FUNCTION @extschema@.snii_query_ne(@extschema@.sniiquery, @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_query_ne'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF;
COMMENT ON FUNCTION @extschema@.snii_query_ne(@extschema@.sniiquery, @extschema@.sniiquery) IS
	'do the queries differ?';

CREATE OPERATOR @extschema@.= (
	LEFTARG = @extschema@.sniiquery, RIGHTARG = @extschema@.sniiquery,
	FUNCTION = @extschema@.snii_query_eq,
	COMMUTATOR = OPERATOR(@extschema@.=),
	NEGATOR = OPERATOR(@extschema@.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR @extschema@.= (@extschema@.sniiquery, @extschema@.sniiquery) IS
	'are the queries the same?';

CREATE OPERATOR @extschema@.<> (
	LEFTARG = @extschema@.sniiquery, RIGHTARG = @extschema@.sniiquery,
	FUNCTION = @extschema@.snii_query_ne,
	COMMUTATOR = OPERATOR(@extschema@.<>),
	NEGATOR = OPERATOR(@extschema@.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR @extschema@.<> (@extschema@.sniiquery, @extschema@.sniiquery) IS
	'do the queries differ?';

-- Constructors: the first argument names the analyzer.

CREATE FUNCTION @extschema@.snii_any(analyzer text, query text) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_any'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_any(analyzer text, query text) IS
	'query for any of the terms of a text';

CREATE FUNCTION @extschema@.snii_all(analyzer text, query text) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_all(analyzer text, query text) IS
	'query for all terms of a text';

CREATE FUNCTION @extschema@.snii_phrase(analyzer text, query text) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_phrase'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_phrase(analyzer text, query text) IS
	'query for a text as a phrase';

CREATE FUNCTION @extschema@.snii_query(analyzer text, query text) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_query'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_query(analyzer text, query text) IS
	'query of the query language; raises an error on bad syntax';

CREATE FUNCTION @extschema@.snii_websearch(analyzer text, query text) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_websearch'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_websearch(analyzer text, query text) IS
	'query of the lenient query language; accepts any text';

CREATE FUNCTION @extschema@.snii_websearch(query text) RETURNS @extschema@.sniiquery
	AS 'MODULE_PATHNAME', 'snii_websearch_standard'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_websearch(query text) IS
	'query of the lenient query language, by analyzer standard';

CREATE FUNCTION @extschema@.snii_matchsel(internal, oid, internal, integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'snii_matchsel'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_matchsel(internal, oid, internal, integer) IS
	'restriction selectivity of the search operators';

-- What a match costs is a question of the text's length.

CREATE FUNCTION @extschema@.snii_support_match(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'snii_support_match'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_support_match(internal) IS
	'planner support of snii_match';

-- The search operator. All other forms are reduced to it by the planner.

CREATE FUNCTION @extschema@.snii_match(text, @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_match;
COMMENT ON FUNCTION @extschema@.snii_match(text, @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE FUNCTION @extschema@.snii_match(bpchar, @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_bpchar'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_match;
COMMENT ON FUNCTION @extschema@.snii_match(bpchar, @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE FUNCTION @extschema@.snii_match(name, @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_name'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_match;
COMMENT ON FUNCTION @extschema@.snii_match(name, @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE OPERATOR @extschema@.@@@ (
	LEFTARG = text, RIGHTARG = @extschema@.sniiquery,
	FUNCTION = @extschema@.snii_match,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text, @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE OPERATOR @extschema@.@@@ (
	LEFTARG = bpchar, RIGHTARG = @extschema@.sniiquery,
	FUNCTION = @extschema@.snii_match,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (bpchar, @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE OPERATOR @extschema@.@@@ (
	LEFTARG = name, RIGHTARG = @extschema@.sniiquery,
	FUNCTION = @extschema@.snii_match,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (name, @extschema@.sniiquery) IS
	'does the value match the query?';

-- Planner support.

CREATE FUNCTION @extschema@.snii_support_any(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'snii_support_any'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_support_any(internal) IS
	'planner support of match_any';

CREATE FUNCTION @extschema@.snii_support_all(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'snii_support_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_support_all(internal) IS
	'planner support of match_all';

CREATE FUNCTION @extschema@.snii_support_phrase(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'snii_support_phrase'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_support_phrase(internal) IS
	'planner support of match_phrase';

CREATE FUNCTION @extschema@.snii_support_web(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'snii_support_web'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_support_web(internal) IS
	'planner support of match with text';

CREATE FUNCTION @extschema@.snii_support_query(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'snii_support_query'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_support_query(internal) IS
	'planner support of match with sniiquery';

-- Forms with text on the right: by the analyzer of the left side's index.

CREATE FUNCTION @extschema@.match_any(value text, query text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_any'
	LANGUAGE C STABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_any;
COMMENT ON FUNCTION @extschema@.match_any(value text, query text) IS
	'does the value have any of the terms of the text?';

CREATE FUNCTION @extschema@.match_all(value text, query text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_all'
	LANGUAGE C STABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_all;
COMMENT ON FUNCTION @extschema@.match_all(value text, query text) IS
	'does the value have all of the terms of the text?';

CREATE FUNCTION @extschema@.match_phrase(value text, query text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_phrase'
	LANGUAGE C STABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_phrase;
COMMENT ON FUNCTION @extschema@.match_phrase(value text, query text) IS
	'does the value have the phrase of the text?';

CREATE FUNCTION @extschema@.match(value text, query text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_web'
	LANGUAGE C STABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_web;
COMMENT ON FUNCTION @extschema@.match(value text, query text) IS
	'does the value match the query, in the lenient query language?';

CREATE FUNCTION @extschema@.match(value bpchar, query text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_web_bpchar'
	LANGUAGE C STABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_web;
COMMENT ON FUNCTION @extschema@.match(value bpchar, query text) IS
	'does the value match the query, in the lenient query language?';

CREATE FUNCTION @extschema@.match(value name, query text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_web_name'
	LANGUAGE C STABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_web;
COMMENT ON FUNCTION @extschema@.match(value name, query text) IS
	'does the value match the query, in the lenient query language?';

CREATE FUNCTION @extschema@.match(value text, query @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_query;
COMMENT ON FUNCTION @extschema@.match(value text, query @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE FUNCTION @extschema@.match(value bpchar, query @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_bpchar'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_query;
COMMENT ON FUNCTION @extschema@.match(value bpchar, query @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE FUNCTION @extschema@.match(value name, query @extschema@.sniiquery) RETURNS boolean
	AS 'MODULE_PATHNAME', 'snii_match_name'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF COST 50
	SUPPORT @extschema@.snii_support_query;
COMMENT ON FUNCTION @extschema@.match(value name, query @extschema@.sniiquery) IS
	'does the value match the query?';

CREATE OPERATOR @extschema@.||| (
	LEFTARG = text, RIGHTARG = text,
	FUNCTION = @extschema@.match_any,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.||| (text, text) IS
	'does the value have any of the terms of the text?';

CREATE OPERATOR @extschema@.&&& (
	LEFTARG = text, RIGHTARG = text,
	FUNCTION = @extschema@.match_all,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.&&& (text, text) IS
	'does the value have all of the terms of the text?';

CREATE OPERATOR @extschema@.### (
	LEFTARG = text, RIGHTARG = text,
	FUNCTION = @extschema@.match_phrase,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.### (text, text) IS
	'does the value have the phrase of the text?';

CREATE OPERATOR @extschema@.@@@ (
	LEFTARG = text, RIGHTARG = text,
	FUNCTION = @extschema@.match,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text, text) IS
	'does the value match the query, in the lenient query language?';

CREATE OPERATOR @extschema@.@@@ (
	LEFTARG = bpchar, RIGHTARG = text,
	FUNCTION = @extschema@.match,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (bpchar, text) IS
	'does the value match the query, in the lenient query language?';

CREATE OPERATOR @extschema@.@@@ (
	LEFTARG = name, RIGHTARG = text,
	FUNCTION = @extschema@.match,
	RESTRICT = @extschema@.snii_matchsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (name, text) IS
	'does the value match the query, in the lenient query language?';

-- ---------------------------------------------------------------------
-- Access method
-- ---------------------------------------------------------------------

CREATE FUNCTION @extschema@.snii_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME', 'snii_handler'
	LANGUAGE C;
COMMENT ON FUNCTION @extschema@.snii_handler(internal) IS
	'handler of access method snii';

CREATE ACCESS METHOD snii TYPE INDEX HANDLER @extschema@.snii_handler;
COMMENT ON ACCESS METHOD snii IS 'search index and key index';

CREATE FUNCTION @extschema@.snii_keyword_analyzer() RETURNS text
	AS 'MODULE_PATHNAME', 'snii_keyword_analyzer'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.snii_keyword_analyzer() IS
	'analyzer of operator class text_keyword_ops';

CREATE OPERATOR CLASS @extschema@.text_ops
	DEFAULT FOR TYPE text USING snii AS
	OPERATOR 10 @extschema@.@@@ (text, @extschema@.sniiquery),
	STORAGE text;
COMMENT ON OPERATOR CLASS @extschema@.text_ops USING snii IS
	'full text of text, varchar, citext and domains over them';

CREATE OPERATOR CLASS @extschema@.text_keyword_ops
	FOR TYPE text USING snii AS
	OPERATOR 10 @extschema@.@@@ (text, @extschema@.sniiquery),
	FUNCTION 8 (text, text) @extschema@.snii_keyword_analyzer(),
	STORAGE text;
COMMENT ON OPERATOR CLASS @extschema@.text_keyword_ops USING snii IS
	'each value as one term';

CREATE OPERATOR CLASS @extschema@.bpchar_ops
	DEFAULT FOR TYPE bpchar USING snii AS
	OPERATOR 10 @extschema@.@@@ (bpchar, @extschema@.sniiquery),
	STORAGE text;
COMMENT ON OPERATOR CLASS @extschema@.bpchar_ops USING snii IS
	'full text of character(n)';

CREATE OPERATOR CLASS @extschema@.name_ops
	DEFAULT FOR TYPE name USING snii AS
	OPERATOR 10 @extschema@.@@@ (name, @extschema@.sniiquery),
	STORAGE text;
COMMENT ON OPERATOR CLASS @extschema@.name_ops USING snii IS
	'full text of name';

-- ---------------------------------------------------------------------
-- Key indexes
-- ---------------------------------------------------------------------

CREATE OPERATOR FAMILY @extschema@.bool_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.bytea_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.datetime_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.enum_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.float_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.integer_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.interval_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.network_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.numeric_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.oid_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.text_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.time_key_ops USING snii;

CREATE OPERATOR FAMILY @extschema@.uuid_key_ops USING snii;

CREATE OPERATOR CLASS @extschema@.bool_key_ops
	DEFAULT FOR TYPE bool USING snii FAMILY @extschema@.bool_key_ops AS
	OPERATOR 1 pg_catalog.< (bool, bool),
	OPERATOR 2 pg_catalog.<= (bool, bool),
	OPERATOR 3 pg_catalog.= (bool, bool),
	OPERATOR 4 pg_catalog.>= (bool, bool),
	OPERATOR 5 pg_catalog.> (bool, bool),
	FUNCTION 1 (bool, bool) pg_catalog.btboolcmp(boolean, boolean);
COMMENT ON OPERATOR CLASS @extschema@.bool_key_ops USING snii IS
	'keys of boolean';

CREATE OPERATOR CLASS @extschema@.bytea_key_ops
	DEFAULT FOR TYPE bytea USING snii FAMILY @extschema@.bytea_key_ops AS
	OPERATOR 1 pg_catalog.< (bytea, bytea),
	OPERATOR 2 pg_catalog.<= (bytea, bytea),
	OPERATOR 3 pg_catalog.= (bytea, bytea),
	OPERATOR 4 pg_catalog.>= (bytea, bytea),
	OPERATOR 5 pg_catalog.> (bytea, bytea),
	FUNCTION 1 (bytea, bytea) pg_catalog.byteacmp(bytea, bytea);
COMMENT ON OPERATOR CLASS @extschema@.bytea_key_ops USING snii IS
	'keys of bytea';

CREATE OPERATOR CLASS @extschema@.date_key_ops
	DEFAULT FOR TYPE date USING snii FAMILY @extschema@.datetime_key_ops AS
	OPERATOR 1 pg_catalog.< (date, date),
	OPERATOR 2 pg_catalog.<= (date, date),
	OPERATOR 3 pg_catalog.= (date, date),
	OPERATOR 4 pg_catalog.>= (date, date),
	OPERATOR 5 pg_catalog.> (date, date),
	FUNCTION 1 (date, date) pg_catalog.date_cmp(date, date);
COMMENT ON OPERATOR CLASS @extschema@.date_key_ops USING snii IS
	'keys of date';

CREATE OPERATOR CLASS @extschema@.enum_key_ops
	DEFAULT FOR TYPE anyenum USING snii FAMILY @extschema@.enum_key_ops AS
	OPERATOR 1 pg_catalog.< (anyenum, anyenum),
	OPERATOR 2 pg_catalog.<= (anyenum, anyenum),
	OPERATOR 3 pg_catalog.= (anyenum, anyenum),
	OPERATOR 4 pg_catalog.>= (anyenum, anyenum),
	OPERATOR 5 pg_catalog.> (anyenum, anyenum),
	FUNCTION 1 (anyenum, anyenum) pg_catalog.enum_cmp(anyenum, anyenum),
	FUNCTION 7 (anyenum, anyenum) pg_catalog.hashenumextended(anyenum, bigint);
COMMENT ON OPERATOR CLASS @extschema@.enum_key_ops USING snii IS
	'keys of enums';

CREATE OPERATOR CLASS @extschema@.float4_key_ops
	DEFAULT FOR TYPE float4 USING snii FAMILY @extschema@.float_key_ops AS
	OPERATOR 1 pg_catalog.< (float4, float4),
	OPERATOR 2 pg_catalog.<= (float4, float4),
	OPERATOR 3 pg_catalog.= (float4, float4),
	OPERATOR 4 pg_catalog.>= (float4, float4),
	OPERATOR 5 pg_catalog.> (float4, float4),
	FUNCTION 1 (float4, float4) pg_catalog.btfloat4cmp(real, real),
	FUNCTION 7 (float4, float4) pg_catalog.hashfloat4extended(real, bigint);
COMMENT ON OPERATOR CLASS @extschema@.float4_key_ops USING snii IS
	'keys of real';

CREATE OPERATOR CLASS @extschema@.float8_key_ops
	DEFAULT FOR TYPE float8 USING snii FAMILY @extschema@.float_key_ops AS
	OPERATOR 1 pg_catalog.< (float8, float8),
	OPERATOR 2 pg_catalog.<= (float8, float8),
	OPERATOR 3 pg_catalog.= (float8, float8),
	OPERATOR 4 pg_catalog.>= (float8, float8),
	OPERATOR 5 pg_catalog.> (float8, float8),
	FUNCTION 1 (float8, float8) pg_catalog.btfloat8cmp(double precision, double precision),
	FUNCTION 7 (float8, float8) pg_catalog.hashfloat8extended(double precision, bigint);
COMMENT ON OPERATOR CLASS @extschema@.float8_key_ops USING snii IS
	'keys of double precision';

CREATE OPERATOR CLASS @extschema@.inet_key_ops
	DEFAULT FOR TYPE inet USING snii FAMILY @extschema@.network_key_ops AS
	OPERATOR 1 pg_catalog.< (inet, inet),
	OPERATOR 2 pg_catalog.<= (inet, inet),
	OPERATOR 3 pg_catalog.= (inet, inet),
	OPERATOR 4 pg_catalog.>= (inet, inet),
	OPERATOR 5 pg_catalog.> (inet, inet),
	FUNCTION 1 (inet, inet) pg_catalog.network_cmp(inet, inet),
	FUNCTION 7 (inet, inet) pg_catalog.hashinetextended(inet, bigint);
COMMENT ON OPERATOR CLASS @extschema@.inet_key_ops USING snii IS
	'keys of inet and cidr';

CREATE OPERATOR CLASS @extschema@.int2_key_ops
	DEFAULT FOR TYPE int2 USING snii FAMILY @extschema@.integer_key_ops AS
	OPERATOR 1 pg_catalog.< (int2, int2),
	OPERATOR 2 pg_catalog.<= (int2, int2),
	OPERATOR 3 pg_catalog.= (int2, int2),
	OPERATOR 4 pg_catalog.>= (int2, int2),
	OPERATOR 5 pg_catalog.> (int2, int2),
	FUNCTION 1 (int2, int2) pg_catalog.btint2cmp(smallint, smallint);
COMMENT ON OPERATOR CLASS @extschema@.int2_key_ops USING snii IS
	'keys of smallint';

CREATE OPERATOR CLASS @extschema@.int4_key_ops
	DEFAULT FOR TYPE int4 USING snii FAMILY @extschema@.integer_key_ops AS
	OPERATOR 1 pg_catalog.< (int4, int4),
	OPERATOR 2 pg_catalog.<= (int4, int4),
	OPERATOR 3 pg_catalog.= (int4, int4),
	OPERATOR 4 pg_catalog.>= (int4, int4),
	OPERATOR 5 pg_catalog.> (int4, int4),
	FUNCTION 1 (int4, int4) pg_catalog.btint4cmp(integer, integer);
COMMENT ON OPERATOR CLASS @extschema@.int4_key_ops USING snii IS
	'keys of integer';

CREATE OPERATOR CLASS @extschema@.int8_key_ops
	DEFAULT FOR TYPE int8 USING snii FAMILY @extschema@.integer_key_ops AS
	OPERATOR 1 pg_catalog.< (int8, int8),
	OPERATOR 2 pg_catalog.<= (int8, int8),
	OPERATOR 3 pg_catalog.= (int8, int8),
	OPERATOR 4 pg_catalog.>= (int8, int8),
	OPERATOR 5 pg_catalog.> (int8, int8),
	FUNCTION 1 (int8, int8) pg_catalog.btint8cmp(bigint, bigint);
COMMENT ON OPERATOR CLASS @extschema@.int8_key_ops USING snii IS
	'keys of bigint';

CREATE OPERATOR CLASS @extschema@.interval_key_ops
	DEFAULT FOR TYPE interval USING snii FAMILY @extschema@.interval_key_ops AS
	OPERATOR 1 pg_catalog.< (interval, interval),
	OPERATOR 2 pg_catalog.<= (interval, interval),
	OPERATOR 3 pg_catalog.= (interval, interval),
	OPERATOR 4 pg_catalog.>= (interval, interval),
	OPERATOR 5 pg_catalog.> (interval, interval),
	FUNCTION 1 (interval, interval) pg_catalog.interval_cmp(interval, interval),
	FUNCTION 7 (interval, interval) pg_catalog.interval_hash_extended(interval, bigint);
COMMENT ON OPERATOR CLASS @extschema@.interval_key_ops USING snii IS
	'keys of interval';

CREATE OPERATOR CLASS @extschema@.numeric_key_ops
	DEFAULT FOR TYPE numeric USING snii FAMILY @extschema@.numeric_key_ops AS
	OPERATOR 1 pg_catalog.< (numeric, numeric),
	OPERATOR 2 pg_catalog.<= (numeric, numeric),
	OPERATOR 3 pg_catalog.= (numeric, numeric),
	OPERATOR 4 pg_catalog.>= (numeric, numeric),
	OPERATOR 5 pg_catalog.> (numeric, numeric),
	FUNCTION 1 (numeric, numeric) pg_catalog.numeric_cmp(numeric, numeric),
	FUNCTION 7 (numeric, numeric) pg_catalog.hash_numeric_extended(numeric, bigint);
COMMENT ON OPERATOR CLASS @extschema@.numeric_key_ops USING snii IS
	'keys of numeric';

CREATE OPERATOR CLASS @extschema@.oid_key_ops
	DEFAULT FOR TYPE oid USING snii FAMILY @extschema@.oid_key_ops AS
	OPERATOR 1 pg_catalog.< (oid, oid),
	OPERATOR 2 pg_catalog.<= (oid, oid),
	OPERATOR 3 pg_catalog.= (oid, oid),
	OPERATOR 4 pg_catalog.>= (oid, oid),
	OPERATOR 5 pg_catalog.> (oid, oid),
	FUNCTION 1 (oid, oid) pg_catalog.btoidcmp(oid, oid);
COMMENT ON OPERATOR CLASS @extschema@.oid_key_ops USING snii IS
	'keys of oid';

CREATE OPERATOR CLASS @extschema@.text_key_ops
	FOR TYPE text USING snii FAMILY @extschema@.text_key_ops AS
	OPERATOR 1 pg_catalog.< (text, text),
	OPERATOR 2 pg_catalog.<= (text, text),
	OPERATOR 3 pg_catalog.= (text, text),
	OPERATOR 4 pg_catalog.>= (text, text),
	OPERATOR 5 pg_catalog.> (text, text),
	FUNCTION 1 (text, text) pg_catalog.bttextcmp(text, text),
	FUNCTION 7 (text, text) pg_catalog.hashtextextended(text, bigint);
COMMENT ON OPERATOR CLASS @extschema@.text_key_ops USING snii IS
	'keys of text and varchar: each value as a whole';

CREATE OPERATOR CLASS @extschema@.time_key_ops
	DEFAULT FOR TYPE time USING snii FAMILY @extschema@.time_key_ops AS
	OPERATOR 1 pg_catalog.< (time, time),
	OPERATOR 2 pg_catalog.<= (time, time),
	OPERATOR 3 pg_catalog.= (time, time),
	OPERATOR 4 pg_catalog.>= (time, time),
	OPERATOR 5 pg_catalog.> (time, time),
	FUNCTION 1 (time, time) pg_catalog.time_cmp(time without time zone, time without time zone);
COMMENT ON OPERATOR CLASS @extschema@.time_key_ops USING snii IS
	'keys of time';

CREATE OPERATOR CLASS @extschema@.timestamp_key_ops
	DEFAULT FOR TYPE timestamp USING snii FAMILY @extschema@.datetime_key_ops AS
	OPERATOR 1 pg_catalog.< (timestamp, timestamp),
	OPERATOR 2 pg_catalog.<= (timestamp, timestamp),
	OPERATOR 3 pg_catalog.= (timestamp, timestamp),
	OPERATOR 4 pg_catalog.>= (timestamp, timestamp),
	OPERATOR 5 pg_catalog.> (timestamp, timestamp),
	FUNCTION 1 (timestamp, timestamp) pg_catalog.timestamp_cmp(timestamp without time zone, timestamp without time zone);
COMMENT ON OPERATOR CLASS @extschema@.timestamp_key_ops USING snii IS
	'keys of timestamp';

CREATE OPERATOR CLASS @extschema@.timestamptz_key_ops
	DEFAULT FOR TYPE timestamptz USING snii FAMILY @extschema@.datetime_key_ops AS
	OPERATOR 1 pg_catalog.< (timestamptz, timestamptz),
	OPERATOR 2 pg_catalog.<= (timestamptz, timestamptz),
	OPERATOR 3 pg_catalog.= (timestamptz, timestamptz),
	OPERATOR 4 pg_catalog.>= (timestamptz, timestamptz),
	OPERATOR 5 pg_catalog.> (timestamptz, timestamptz),
	FUNCTION 1 (timestamptz, timestamptz) pg_catalog.timestamptz_cmp(timestamp with time zone, timestamp with time zone);
COMMENT ON OPERATOR CLASS @extschema@.timestamptz_key_ops USING snii IS
	'keys of timestamp with time zone';

CREATE OPERATOR CLASS @extschema@.uuid_key_ops
	DEFAULT FOR TYPE uuid USING snii FAMILY @extschema@.uuid_key_ops AS
	OPERATOR 1 pg_catalog.< (uuid, uuid),
	OPERATOR 2 pg_catalog.<= (uuid, uuid),
	OPERATOR 3 pg_catalog.= (uuid, uuid),
	OPERATOR 4 pg_catalog.>= (uuid, uuid),
	OPERATOR 5 pg_catalog.> (uuid, uuid),
	FUNCTION 1 (uuid, uuid) pg_catalog.uuid_cmp(uuid, uuid);
COMMENT ON OPERATOR CLASS @extschema@.uuid_key_ops USING snii IS
	'keys of uuid';

ALTER OPERATOR FAMILY @extschema@.datetime_key_ops USING snii ADD
	OPERATOR 1 pg_catalog.< (date, timestamp without time zone),
	OPERATOR 2 pg_catalog.<= (date, timestamp without time zone),
	OPERATOR 3 pg_catalog.= (date, timestamp without time zone),
	OPERATOR 4 pg_catalog.>= (date, timestamp without time zone),
	OPERATOR 5 pg_catalog.> (date, timestamp without time zone),
	OPERATOR 1 pg_catalog.< (date, timestamp with time zone),
	OPERATOR 2 pg_catalog.<= (date, timestamp with time zone),
	OPERATOR 3 pg_catalog.= (date, timestamp with time zone),
	OPERATOR 4 pg_catalog.>= (date, timestamp with time zone),
	OPERATOR 5 pg_catalog.> (date, timestamp with time zone),
	OPERATOR 1 pg_catalog.< (timestamp without time zone, date),
	OPERATOR 2 pg_catalog.<= (timestamp without time zone, date),
	OPERATOR 3 pg_catalog.= (timestamp without time zone, date),
	OPERATOR 4 pg_catalog.>= (timestamp without time zone, date),
	OPERATOR 5 pg_catalog.> (timestamp without time zone, date),
	OPERATOR 1 pg_catalog.< (timestamp without time zone, timestamp with time zone),
	OPERATOR 2 pg_catalog.<= (timestamp without time zone, timestamp with time zone),
	OPERATOR 3 pg_catalog.= (timestamp without time zone, timestamp with time zone),
	OPERATOR 4 pg_catalog.>= (timestamp without time zone, timestamp with time zone),
	OPERATOR 5 pg_catalog.> (timestamp without time zone, timestamp with time zone),
	OPERATOR 1 pg_catalog.< (timestamp with time zone, date),
	OPERATOR 2 pg_catalog.<= (timestamp with time zone, date),
	OPERATOR 3 pg_catalog.= (timestamp with time zone, date),
	OPERATOR 4 pg_catalog.>= (timestamp with time zone, date),
	OPERATOR 5 pg_catalog.> (timestamp with time zone, date),
	OPERATOR 1 pg_catalog.< (timestamp with time zone, timestamp without time zone),
	OPERATOR 2 pg_catalog.<= (timestamp with time zone, timestamp without time zone),
	OPERATOR 3 pg_catalog.= (timestamp with time zone, timestamp without time zone),
	OPERATOR 4 pg_catalog.>= (timestamp with time zone, timestamp without time zone),
	OPERATOR 5 pg_catalog.> (timestamp with time zone, timestamp without time zone),
	FUNCTION 1 (date, timestamp without time zone) pg_catalog.date_cmp_timestamp(date, timestamp without time zone),
	FUNCTION 1 (date, timestamp with time zone) pg_catalog.date_cmp_timestamptz(date, timestamp with time zone),
	FUNCTION 1 (timestamp without time zone, date) pg_catalog.timestamp_cmp_date(timestamp without time zone, date),
	FUNCTION 1 (timestamp without time zone, timestamp with time zone) pg_catalog.timestamp_cmp_timestamptz(timestamp without time zone, timestamp with time zone),
	FUNCTION 1 (timestamp with time zone, date) pg_catalog.timestamptz_cmp_date(timestamp with time zone, date),
	FUNCTION 1 (timestamp with time zone, timestamp without time zone) pg_catalog.timestamptz_cmp_timestamp(timestamp with time zone, timestamp without time zone);

ALTER OPERATOR FAMILY @extschema@.float_key_ops USING snii ADD
	OPERATOR 1 pg_catalog.< (real, double precision),
	OPERATOR 2 pg_catalog.<= (real, double precision),
	OPERATOR 3 pg_catalog.= (real, double precision),
	OPERATOR 4 pg_catalog.>= (real, double precision),
	OPERATOR 5 pg_catalog.> (real, double precision),
	OPERATOR 1 pg_catalog.< (double precision, real),
	OPERATOR 2 pg_catalog.<= (double precision, real),
	OPERATOR 3 pg_catalog.= (double precision, real),
	OPERATOR 4 pg_catalog.>= (double precision, real),
	OPERATOR 5 pg_catalog.> (double precision, real),
	FUNCTION 1 (real, double precision) pg_catalog.btfloat48cmp(real, double precision),
	FUNCTION 1 (double precision, real) pg_catalog.btfloat84cmp(double precision, real);

ALTER OPERATOR FAMILY @extschema@.integer_key_ops USING snii ADD
	OPERATOR 1 pg_catalog.< (bigint, smallint),
	OPERATOR 2 pg_catalog.<= (bigint, smallint),
	OPERATOR 3 pg_catalog.= (bigint, smallint),
	OPERATOR 4 pg_catalog.>= (bigint, smallint),
	OPERATOR 5 pg_catalog.> (bigint, smallint),
	OPERATOR 1 pg_catalog.< (bigint, integer),
	OPERATOR 2 pg_catalog.<= (bigint, integer),
	OPERATOR 3 pg_catalog.= (bigint, integer),
	OPERATOR 4 pg_catalog.>= (bigint, integer),
	OPERATOR 5 pg_catalog.> (bigint, integer),
	OPERATOR 1 pg_catalog.< (smallint, bigint),
	OPERATOR 2 pg_catalog.<= (smallint, bigint),
	OPERATOR 3 pg_catalog.= (smallint, bigint),
	OPERATOR 4 pg_catalog.>= (smallint, bigint),
	OPERATOR 5 pg_catalog.> (smallint, bigint),
	OPERATOR 1 pg_catalog.< (smallint, integer),
	OPERATOR 2 pg_catalog.<= (smallint, integer),
	OPERATOR 3 pg_catalog.= (smallint, integer),
	OPERATOR 4 pg_catalog.>= (smallint, integer),
	OPERATOR 5 pg_catalog.> (smallint, integer),
	OPERATOR 1 pg_catalog.< (integer, bigint),
	OPERATOR 2 pg_catalog.<= (integer, bigint),
	OPERATOR 3 pg_catalog.= (integer, bigint),
	OPERATOR 4 pg_catalog.>= (integer, bigint),
	OPERATOR 5 pg_catalog.> (integer, bigint),
	OPERATOR 1 pg_catalog.< (integer, smallint),
	OPERATOR 2 pg_catalog.<= (integer, smallint),
	OPERATOR 3 pg_catalog.= (integer, smallint),
	OPERATOR 4 pg_catalog.>= (integer, smallint),
	OPERATOR 5 pg_catalog.> (integer, smallint),
	FUNCTION 1 (bigint, smallint) pg_catalog.btint82cmp(bigint, smallint),
	FUNCTION 1 (bigint, integer) pg_catalog.btint84cmp(bigint, integer),
	FUNCTION 1 (smallint, bigint) pg_catalog.btint28cmp(smallint, bigint),
	FUNCTION 1 (smallint, integer) pg_catalog.btint24cmp(smallint, integer),
	FUNCTION 1 (integer, bigint) pg_catalog.btint48cmp(integer, bigint),
	FUNCTION 1 (integer, smallint) pg_catalog.btint42cmp(integer, smallint);

-- ---------------------------------------------------------------------
-- Maintenance and inspection
-- ---------------------------------------------------------------------

CREATE FUNCTION @extschema@.snii_flush(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'snii_flush'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_flush(regclass) IS
	'make a segment of the write buffer; returns the stretches flushed';

CREATE FUNCTION @extschema@.snii_merge(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'snii_merge'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_merge(regclass) IS
	'merge all segments into one; returns the segments merged';

CREATE FUNCTION @extschema@.snii_check(index regclass,
	heapallindexed boolean DEFAULT false) RETURNS void
	AS 'MODULE_PATHNAME', 'snii_check'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_check(regclass, boolean) IS
	'verify an index; silent when all is well';

CREATE FUNCTION @extschema@.snii_prewarm(index regclass,
	what text DEFAULT 'filters') RETURNS bigint
	AS 'MODULE_PATHNAME', 'snii_prewarm'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_prewarm(regclass, text) IS
	'read pages of an index into shared buffers: filters (what look-ups begin with) or all';

CREATE FUNCTION @extschema@.snii_segments(index regclass,
	OUT id bigint, OUT kind text, OUT tier integer, OUT documents bigint,
	OUT dead bigint, OUT pages bigint, OUT bytes bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'snii_segments'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_segments(regclass) IS
	'segments and stretches of the write buffer of an index';

CREATE FUNCTION @extschema@.snii_stats_of(index regclass,
	OUT buffer_open_bytes bigint, OUT buffer_sealed_bytes bigint,
	OUT buffer_documents bigint, OUT buffer_dead bigint,
	OUT segments integer, OUT documents bigint, OUT dead bigint,
	OUT tier_segments integer[], OUT tier_bytes bigint[],
	OUT flushes bigint, OUT merges bigint, OUT helps bigint,
	OUT documents_in bigint, OUT bytes_in bigint, OUT bytes_built bigint,
	OUT bytes_flushed bigint, OUT bytes_merged bigint,
	OUT write_amplification double precision, OUT merge_debt bigint,
	OUT sleeps bigint, OUT sleep_ms double precision,
	OUT sleep_reason text, OUT parked_pages bigint,
	OUT parked_bytes bigint, OUT parked_since xid8,
	OUT free_pages bigint, OUT file_pages bigint,
	OUT lookups bigint, OUT runs_probed bigint, OUT filter_probes bigint,
	OUT filter_negatives bigint, OUT filter_false_positives bigint,
	OUT lookup_blocks bigint, OUT lookup_misses bigint) RETURNS record
	AS 'MODULE_PATHNAME', 'snii_stats_of'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_stats_of(regclass) IS
	'snii_stats(), but for what holds back parked pages';

-- What stands for itself in the horizon: running transactions and snapshots
-- of this database but for those of VACUUM, and of every walsender;
-- replication slots; prepared transactions.
CREATE FUNCTION @extschema@.snii_horizon_holder(stamp xid8) RETURNS text
	LANGUAGE sql STABLE STRICT
	BEGIN ATOMIC
	SELECT h.holder
	FROM (SELECT format('%s %s', CASE backend_type
				WHEN 'client backend' THEN 'backend' ELSE backend_type END,
				pid), greatest(age(backend_xmin), age(backend_xid)),
			pid = pg_backend_pid()
		FROM pg_stat_activity
		WHERE (datname = current_database() OR backend_type = 'walsender')
			AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
		UNION ALL
		SELECT format('replication slot %I', slot_name), age(xmin), false
		FROM pg_replication_slots
		UNION ALL
		SELECT format('prepared transaction %L', gid), age(transaction),
			false
		FROM pg_prepared_xacts
		WHERE database = current_database()
	) h (holder, age, self)
	WHERE h.age >= age(stamp::xid) AND NOT pg_is_in_recovery()
	ORDER BY h.age DESC, h.self
	LIMIT 1;
	END;
COMMENT ON FUNCTION @extschema@.snii_horizon_holder(xid8) IS
	'the oldest of what may still need pages that were displaced at a time';

CREATE FUNCTION @extschema@.snii_stats(index regclass,
	OUT buffer_open_bytes bigint, OUT buffer_sealed_bytes bigint,
	OUT buffer_documents bigint, OUT buffer_dead bigint,
	OUT segments integer, OUT documents bigint, OUT dead bigint,
	OUT tier_segments integer[], OUT tier_bytes bigint[],
	OUT flushes bigint, OUT merges bigint, OUT helps bigint,
	OUT documents_in bigint, OUT bytes_in bigint, OUT bytes_built bigint,
	OUT bytes_flushed bigint, OUT bytes_merged bigint,
	OUT write_amplification double precision, OUT merge_debt bigint,
	OUT sleeps bigint, OUT sleep_ms double precision,
	OUT sleep_reason text, OUT parked_pages bigint,
	OUT parked_bytes bigint, OUT parked_since xid8,
	OUT free_pages bigint, OUT file_pages bigint,
	OUT lookups bigint, OUT runs_probed bigint, OUT filter_probes bigint,
	OUT filter_negatives bigint, OUT filter_false_positives bigint,
	OUT lookup_blocks bigint, OUT lookup_misses bigint,
	OUT parked_holder text) RETURNS record
	LANGUAGE sql VOLATILE STRICT
	BEGIN ATOMIC
	SELECT s.*, @extschema@.snii_horizon_holder(s.parked_since)
	FROM @extschema@.snii_stats_of(index) s;
	END;
COMMENT ON FUNCTION @extschema@.snii_stats(regclass) IS
	'what an index is made of, what was done to it and what is to be done';

CREATE FUNCTION @extschema@.snii_memory(OUT pid integer, OUT datid oid,
	OUT index oid, OUT used bigint, OUT arena bigint, OUT published bigint,
	OUT held_back bigint, OUT spills bigint, OUT forced_spills bigint,
	OUT flagged boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'snii_memory'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_memory() IS
	'memory of index builds, flushes and merges, and its sum';

CREATE VIEW @extschema@.snii_memory AS
	SELECT * FROM @extschema@.snii_memory();
COMMENT ON VIEW @extschema@.snii_memory IS
	'memory of index builds, flushes and merges, and its sum';
GRANT SELECT ON @extschema@.snii_memory TO PUBLIC;

CREATE VIEW @extschema@.snii_progress AS
	SELECT p.pid, p.datid, p.relid::pg_catalog.oid AS relid,
		p.param7::pg_catalog.oid AS index,
		pg_catalog.pg_indexam_progress_phasename(p.param9::pg_catalog.oid,
			p.param11) AS phase,
		p.param18 AS documents, p.param19 AS bytes, p.param20 AS runs,
		CASE WHEN p.param12 > 0 THEN p.param13 ELSE 0 END AS terms,
		p.param12 AS terms_total
	FROM pg_catalog.pg_stat_get_progress_info('CREATE INDEX') p
		JOIN pg_catalog.pg_am a ON a.oid = p.param9::pg_catalog.oid
	WHERE a.amname = 'snii';
COMMENT ON VIEW @extschema@.snii_progress IS
	'index builds that are running: documents and bytes of text read, runs spilled, terms written; of all participants';
GRANT SELECT ON @extschema@.snii_progress TO PUBLIC;

CREATE FUNCTION @extschema@.snii_last_build(OUT index oid,
	OUT workers_planned integer, OUT workers_launched integer,
	OUT documents bigint, OUT tokens bigint, OUT runs integer,
	OUT forced_spills integer, OUT spilled_bytes bigint,
	OUT buffer_peak bigint, OUT memory_peak bigint,
	OUT reporter_calls bigint, OUT limiter_calls bigint,
	OUT shared_writes bigint, OUT cpu_ms double precision,
	OUT cpu_max_ms double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'snii_last_build'
	LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.snii_last_build() IS
	'what the last index build of this session did';
