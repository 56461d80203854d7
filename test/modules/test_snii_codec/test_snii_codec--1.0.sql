\echo Use "CREATE EXTENSION test_snii_codec" to load this file. \quit

-- Property tests: run with a seed, return the number of cases checked and
-- raise an error at the first mismatch.
CREATE FUNCTION test_codec_varint(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_codec_pfor(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_codec_column(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_codec_garbage(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_codec_bloom(seed bigint, bits_per_key float8)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_codec_length(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION test_codec_impact(seed bigint, rounds int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The codecs themselves.  Decoders return NULL for malformed bytes.
CREATE FUNCTION codec_varint_put(bigint) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_pfor_encode(bigint[]) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_pfor_decode(bytea, n int) RETURNS bigint[]
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_column_encode(bigint[]) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_column_decode(bytea, n int) RETURNS bigint[]
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_bloom_block(hashes bigint[]) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_length_code(bigint) RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_length_decode(int) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_impact_put(freq bigint[], len_code bigint[])
RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION codec_impact_get(bytea) RETURNS bigint[]
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
