-- Postings of runs come from a file: any bytes give postings, "malformed" or
-- an error of the writer's checks, and pieces of any size the same.
CREATE EXTENSION test_snii_inverted;
CREATE UNLOGGED TABLE pumped (a int) WITH (autovacuum_enabled = off);
CREATE FUNCTION pump(bytes bytea, piece int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN test_inv_pump('pumped', bytes, piece);
EXCEPTION WHEN internal_error THEN
  RETURN sqlerrm;
END $$;

SELECT what, pump(bytes, 100) AS whole,
       pump(bytes, 100) IS NOT DISTINCT FROM pump(bytes, 1) AS same
  FROM (VALUES
    ('one token', '\x0105'::bytea),
    ('more of the document', '\x01050204'),
    ('next document', '\x01050300'),
    ('nothing', '\x'),
    ('cut in the position', '\x01'),
    ('cut in the delta', '\x0105ff'),
    ('no document first', '\x0205'),
    ('same position', '\x010500'),
    ('document out of range', '\xff0105'),
    ('document beyond 32 bits', '\xffffffffff0105'),
    ('overlong delta', '\xffffffffffffffffffffff'),
    ('overlong position', '\x01ffffffffffff'),
    ('position beyond the limit', '\x01ffffffff0f'),
    ('positions beyond the limit', '\x01feffffff0704')) v (what, bytes);

-- random bytes, mostly small
SELECT bool_and(result = pieces) AS same, count(DISTINCT result) > 20 AS diverse,
       bool_or(result = 'malformed') AS malformed,
       bool_or(result LIKE '%tokens') AS accepted
  FROM (SELECT pump(bytes, 100) AS result, pump(bytes, 1 + i % 7) AS pieces
          FROM (SELECT i, decode(string_agg(lpad(to_hex(
                         CASE WHEN hashint4(i * 100 + k) % 10 = 0
                              THEN hashint4(k * 10000 + i) & 255
                              ELSE hashint4(i * 100 + k) & 7 END), 2, '0'),
                         '' ORDER BY k), 'hex') AS bytes
                  FROM generate_series(1, 400) i,
                       generate_series(1, 1 + i % 12) k GROUP BY i) b) r;
DROP TABLE pumped;
DROP FUNCTION pump(bytea, int);
DROP EXTENSION test_snii_inverted;
