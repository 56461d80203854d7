\echo Use "CREATE EXTENSION test_snii_text" to load this file. \quit

CREATE FUNCTION test_text_tables_used() RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_document(document text) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_random(kind text, seed int8, rounds int) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_every_character() RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_repeat(pattern text, times int) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_tokens(analyzer text, document bytea)
RETURNS TABLE (token bytea, start_offset int8, end_offset int8)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_shown(token bytea) RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_term(token bytea, OUT kind int, OUT term bytea)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_abort(document text, at_token int) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_text_count(analyzer text, document text, loops int)
RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
