\echo Use "CREATE EXTENSION test_snii_query" to load this file. \quit

-- Random trees over a random segment, against a naive evaluation; returns the
-- number of comparisons and raises an error at the first difference.
CREATE FUNCTION test_query_random(seed bigint, ndocs int, nwords int,
                                  rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Look-ups that a conjunction makes whose terms are present or not.
CREATE FUNCTION test_query_lookups(present boolean[]) RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Matches of a tree that is nested so deep.
CREATE FUNCTION test_query_nested(depth int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- What this session did with write buffers in memory, so far, and holds now.
CREATE FUNCTION test_query_buffer_stats(OUT missed bigint, OUT used bigint,
	OUT partial bigint, OUT created bigint, OUT bytes bigint,
	OUT evicted bigint, OUT dropped bigint, OUT indexes bigint,
	OUT stretches bigint, OUT memory bigint)
AS 'MODULE_PATHNAME' LANGUAGE C;
