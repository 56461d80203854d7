\echo Use "CREATE EXTENSION test_snii_policy" to load this file. \quit

CREATE FUNCTION policy_tier(bytes bigint) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_tier(bigint) IS 'tier of a segment';

CREATE FUNCTION policy_merge(bytes bigint[], docs bigint[], dead bigint[],
	max_bytes bigint) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_merge(bigint[], bigint[], bigint[], bigint) IS
	'the merge to do next, as first..last, from 1; or none';

CREATE FUNCTION policy_debt(bytes bigint[], docs bigint[], dead bigint[],
	OUT debt bigint, OUT nleft integer) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_debt(bigint[], bigint[], bigint[]) IS
	'bytes that merges would read, segments that would be left';

CREATE FUNCTION policy_advice(sealed bigint, size bigint, nsegments integer,
	nsettled integer, nentries integer, has_worker boolean,
	OUT wake boolean, OUT help boolean, OUT help_merge boolean,
	OUT sleep_ms double precision, OUT reason integer, OUT urgent boolean) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_advice(bigint, bigint, integer, integer, integer,
	boolean) IS 'what an inserter is to do';

CREATE FUNCTION policy_urgent(bytes bigint, live bigint, size bigint)
	RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_urgent(bigint, bigint, bigint) IS
	'is so much dead that a worker is not throttled?';

CREATE FUNCTION policy_vacuum_flush(docs bigint, dead bigint, bytes bigint)
	RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_vacuum_flush(bigint, bigint, bigint) IS
	'does VACUUM flush a buffer of that size?';

CREATE FUNCTION policy_side(bytes bigint, docs bigint, dead bigint,
	listed bigint) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_side(bigint, bigint, bigint, bigint) IS
	'is the side list of a segment to be written?';

CREATE FUNCTION policy_simulate(seed bigint, stream text, flushes integer,
	deletes double precision, merges_per_flush integer, max_bytes bigint,
	OUT max_segments integer, OUT avg_segments double precision,
	OUT flushed bigint, OUT merged bigint, OUT most_writes double precision,
	OUT dead_share double precision) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_simulate(bigint, text, integer, double precision,
	integer, bigint) IS
	'flush a stream of segments, delete and merge; an error if a rule is broken';

CREATE FUNCTION policy_simulate_keys(seed bigint, stream text,
	flushes integer, deletes double precision, merges_per_flush integer,
	OUT max_depth integer, OUT max_segments integer, OUT flushed bigint,
	OUT merged bigint) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION policy_simulate_keys(bigint, text, integer,
	double precision, integer) IS
	'the same with the policy of key indexes; depth: runs that have a key';
