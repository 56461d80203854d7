-- Round trips of segments.  The checksum covers every byte of every stream:
-- it must not depend on how a segment was gathered.
CREATE EXTENSION test_snii_inverted;
CREATE UNLOGGED TABLE seg (a int) WITH (autovacuum_enabled = off);

SELECT test_inv_record(1, 500) > 0 AS ok;

-- no documents; one; a few
SELECT documents, tokens, terms, runs, forms
  FROM test_inv_write('seg', 1, 0, 10, 10, 10000000, false);
SELECT documents, tokens, terms, runs, forms
  FROM test_inv_write('seg', 1, 1, 10, 10, 10000000, false);
SELECT documents, terms, runs
  FROM test_inv_write('seg', 2, 300, 50, 1000, 10000000, false);

-- borders of windows and column groups
SELECT n, documents
  FROM unnest(ARRAY[127, 128, 129, 255, 256, 257, 512, 4096, 4097, 4225]) n,
       test_inv_write('seg', n, n, 4, 2, 10000000, false);

-- one document has nearly everything, and spills come within it
SELECT documents, runs > 20 AS spilled
  FROM test_inv_write('seg', 3, 2, 60000, 100000, 262144, false);

-- in memory, in a few runs, in several passes; from text and from records
CREATE TEMP TABLE built AS
SELECT budget, records, b.*
  FROM unnest(ARRAY[100000000, 3000000, 262144]) budget,
       unnest(ARRAY[false, true]) records,
       test_inv_write('seg', 4, 20000, 70, 30000, budget, records) b;
SELECT budget, records, runs = 0 AS memory, runs > 30 AS passes,
       peak < greatest(budget, 262144) + 200000 OR runs = 0 AS in_budget
  FROM built ORDER BY budget, records;
-- and as a flush does
SET maintenance_work_mem = '1MB';
INSERT INTO built
SELECT 0, true, b.* FROM test_inv_write('seg', 4, 20000, 70, 30000, 0, true) b;
RESET maintenance_work_mem;
SELECT count(DISTINCT checksum) AS checksums, count(DISTINCT terms) AS terms
  FROM built;
-- all four forms of postings have occurred
SELECT bool_and(0 < ALL (forms)) AS all_forms FROM built;

-- more seeds
SELECT count(*), count(DISTINCT checksum)
  FROM generate_series(10, 29) seed,
       test_inv_write('seg', seed, (seed * 37 % 700)::int, 40, 500,
                      1000000, seed % 2 = 0);

-- the table of terms grows while the last tokens leave the pipeline
SELECT count(*) FROM generate_series(20, 140) n,
       test_inv_write('seg', n, n, 30, 100000, 10000000, false);

-- what the writer refuses
CREATE FUNCTION refused(what text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM test_inv_misuse('seg', what);
  RETURN 'accepted';
EXCEPTION WHEN internal_error THEN
  RETURN sqlerrm;
END $$;
SELECT what, refused(what)
  FROM unnest(ARRAY['nothing', 'document', 'unknown document', 'position',
                    'large position', 'no position', 'late document',
                    'equal term', 'smaller term', 'empty term']) what;

DROP TABLE seg;
DROP TABLE built;
DROP FUNCTION refused(text);
DROP EXTENSION test_snii_inverted;
