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
