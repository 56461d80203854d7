\echo Use "CREATE EXTENSION test_snii_memory" to load this file. \quit

CREATE FUNCTION test_mem_terms_stay_off_limiter() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_pressure_at_growth() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_small_swings() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_step() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_end() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_concurrent() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_victims() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_slots() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_limit_setting() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_kept_blocks() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_view() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_machine() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_mem_machine_files() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- leaves a writer of that many bytes behind, for the transaction to end
CREATE FUNCTION test_mem_leave(bytes bigint) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
-- published bytes, and writers that are registered
CREATE FUNCTION test_mem_left(OUT published bigint, OUT writers integer)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- work for so many new terms, by what is published
CREATE FUNCTION test_mem_counts(terms integer, step_kb integer,
	OUT reporter_calls bigint, OUT limiter_calls bigint,
	OUT shared_writes bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
