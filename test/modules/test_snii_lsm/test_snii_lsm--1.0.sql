\echo Use "CREATE EXTENSION test_snii_lsm" to load this file. \quit

CREATE FUNCTION test_lsm_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;
CREATE ACCESS METHOD snii_test TYPE INDEX HANDLER test_lsm_handler;
CREATE OPERATOR CLASS test_lsm_text_ops DEFAULT FOR TYPE text
	USING snii_test AS OPERATOR 1 = (text, text);

CREATE FUNCTION test_lsm_ordered_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;
CREATE ACCESS METHOD snii_test_ordered TYPE INDEX
	HANDLER test_lsm_ordered_handler;
CREATE OPERATOR CLASS test_lsm_ordered_text_ops DEFAULT FOR TYPE text
	USING snii_test_ordered AS OPERATOR 1 = (text, text);

CREATE FUNCTION test_lsm_flush(index regclass, seal_open boolean DEFAULT true,
	wait boolean DEFAULT true) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_lsm_merge(index regclass, max_bytes bigint
	DEFAULT 9223372036854775807, wait boolean DEFAULT true) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_lsm_merge_all(index regclass) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_lsm_recycle(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_lsm_compact(index regclass) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Verifies the index; returns the number of its live entries. strict locks
-- the table against writers and looks at every block.
CREATE FUNCTION test_lsm_check(index regclass, strict boolean DEFAULT true)
	RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION test_lsm_entries(index regclass, OUT kind text, OUT id bigint,
	OUT npages bigint, OUT ndocs bigint, OUT ndead bigint, OUT sealed boolean)
	RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_lsm_info(index regclass, OUT generation bigint,
	OUT nblocks bigint, OUT free_pages bigint, OUT parked_pages bigint,
	OUT flushes bigint, OUT merges bigint)
	RETURNS record AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
-- Damages a page of an index.
CREATE FUNCTION test_lsm_poke(index regclass, block integer,
	offset_in_page integer, bytes bytea) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Reads the write buffer on from where the session left it, by at most so many
-- records of each stretch (0: all); says what it has not read, ever.
CREATE FUNCTION test_lsm_resume(index regclass, step integer DEFAULT 0)
	RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Appends records of rows that do not exist, so many in each lane.
CREATE FUNCTION test_lsm_append(index regclass, n integer) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Reads a table (id int, v text) by an index of any kind with a snapshot that
-- is "dirty", "self" or "any"; holds at the point "fetched" between index and
-- heap.  Returns how many rows of each v there are.
CREATE FUNCTION test_lsm_unsafe(index regclass, snapshot text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- How many side lists there are, and of how many dead documents.
CREATE FUNCTION test_lsm_sides(index regclass, OUT lists integer,
	OUT listed bigint, OUT pages bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Takes a lock of an index of any kind (marks, recycle, flush, merge) until the
-- end of the transaction: who flushes or merges stops before the one that it
-- takes to publish (marks), VACUUM before it sets marks (marks) or reads on
-- (recycle).
CREATE FUNCTION test_lsm_lock(index regclass, lock text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
