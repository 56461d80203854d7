\echo Use "CREATE EXTENSION test_snii_inverted" to load this file. \quit

-- Write a segment of random documents into a table's file, read it back and
-- compare with a list of its tokens.  Raises at the first difference.  With a
-- budget of 0 the segment is built as a flush does, without statistics.
CREATE FUNCTION test_inv_write(rel regclass, seed bigint, ndocs int,
	max_tokens int, vocabulary int, budget bigint, records bool,
	OUT documents bigint, OUT tokens bigint, OUT runs int, OUT terms bigint,
	OUT peak bigint, OUT forms int[], OUT checksum bigint)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Encode random records and decode them, whole, cut and with flipped bits;
-- returns the number of tokens.
CREATE FUNCTION test_inv_record(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Misuse of the writer; raises what the writer does.
CREATE FUNCTION test_inv_misuse(rel regclass, what text) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Build from a text column of a table; processor times in milliseconds.
CREATE FUNCTION test_inv_bench(rel regclass, source regclass, attno int,
	budget bigint, OUT tokens bigint, OUT terms bigint, OUT runs int,
	OUT spilled bigint, OUT peak bigint, OUT scan_ms float8,
	OUT analyze_ms float8, OUT buffer_ms float8, OUT write_ms float8,
	OUT megabytes float8)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Read a segment of random postings and compare; says what was in it.
CREATE FUNCTION test_inv_read(rel regclass, seed bigint, ndocs int,
	nterms int, filter bool) RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Merge pieces of random postings with dead documents and compare.
CREATE FUNCTION test_inv_merge(rel regclass, seed bigint, ndocs int,
	nterms int, npieces int) RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Damage pages of a segment, one after the other, and read them.
CREATE FUNCTION test_inv_corrupt(rel regclass, seed bigint, ndocs int,
	nterms int, rounds int) RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Sound and malformed buffer records.
CREATE FUNCTION test_inv_check_record(rel regclass) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- A term whose postings are these encoded bytes, given in pieces.
CREATE FUNCTION test_inv_pump(rel regclass, bytes bytea, piece int)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- What is alive of a term and of a column of a snii index.
CREATE FUNCTION test_inv_live(index regclass, attno int, term text,
	OUT df float8, OUT ttf float8, OUT documents float8, OUT tokens float8)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Documents of each segment, dead ones, those that its side list is of (-1:
-- there is none), pages of the list.
CREATE FUNCTION test_inv_lists(index regclass, OUT documents bigint,
	OUT dead bigint, OUT listed bigint, OUT pages bigint)
RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
