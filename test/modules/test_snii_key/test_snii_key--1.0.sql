\echo Use "CREATE EXTENSION test_snii_key" to load this file. \quit

-- Encode the rows of an index's table: order, hash, values, separators and
-- positions against the comparison functions of the types' btree classes, or
-- of the index's own class.  Returns the rows; an error at the first fault.
CREATE FUNCTION test_key_rows(index regclass, seed bigint,
	own_order boolean DEFAULT false) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Intervals of random scan keys with arguments from another table, against the
-- operators.  tight: rounds whose interval is empty or has no row that is not
-- wanted; residual: rounds in which conditions were left over.
CREATE FUNCTION test_key_intervals(index regclass, arguments regclass,
	seed bigint, rounds integer, OUT rows_checked bigint, OUT wanted bigint,
	OUT tight integer, OUT residual integer, OUT points integer)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Malformed bytes: keys cut off and changed at random. Returns how many were
-- found to be malformed.
CREATE FUNCTION test_key_damage(index regclass, seed bigint, rounds integer)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- What the descriptor says: class and width of each column, length.
CREATE FUNCTION test_key_desc(index regclass) RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
