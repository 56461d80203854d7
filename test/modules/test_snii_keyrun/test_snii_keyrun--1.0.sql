\echo Use "CREATE EXTENSION test_snii_keyrun" to load this file. \quit

-- The index is a key index, which is emptied; its columns say what keys are.
-- Everything raises at the first difference from a sorted array.

-- Write a run of random entries, read it in every way, check it.
CREATE FUNCTION test_krun_read(index regclass, seed bigint, n int,
	shape text, searches int) RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Make a run of records in any order, as a flush does.
CREATE FUNCTION test_krun_build(index regclass, seed bigint, n int,
	shape text) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Merge runs that share the entries, every dead-th of which is dead; returns
-- the number of those that are not.
CREATE FUNCTION test_krun_merge(index regclass, seed bigint, n int,
	shape text, inputs int, ranges bool, dead int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_krun_merge_twice(index regclass) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_krun_merge_allocations(index regclass, n int)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- False positives of the filter, by those that theory has.
CREATE FUNCTION test_krun_filter(index regclass, seed bigint, n int,
	shape text, probes int) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Misuse of the writer; raises what the writer does.
CREATE FUNCTION test_krun_misuse(index regclass, what text) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Damage pages of a run, one after the other, and read them.
CREATE FUNCTION test_krun_damage(index regclass, seed bigint, n int,
	shape text, rounds int) RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Nanoseconds of processor time an entry, a search, or an opening, and bytes
-- an entry.
CREATE FUNCTION test_krun_bench(index regclass, n int, shape text,
	inputs int, searches int, OUT write_ns float8, OUT merge_ns float8,
	OUT seek_ns float8, OUT filter_ns float8, OUT next_ns float8,
	OUT prev_ns float8, OUT open_ns float8, OUT data_bytes float8,
	OUT run_bytes float8)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
