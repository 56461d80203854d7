-- Runs against sorted arrays: written, read in every way, checked.
CREATE EXTENSION IF NOT EXISTS snii;
CREATE EXTENSION test_snii_keyrun;
CREATE TABLE krun (u uuid, b int8, i int4, s text COLLATE "C", y bytea,
	n numeric, x text COLLATE "und-x-icu") WITH (autovacuum_enabled = off);
CREATE INDEX krun_u ON krun USING snii (u);
CREATE INDEX krun_b ON krun USING snii (b);
CREATE INDEX krun_s ON krun USING snii (s text_key_ops);
CREATE INDEX krun_yi ON krun USING snii (y, i DESC);
CREATE INDEX krun_n ON krun USING snii (n);
CREATE INDEX krun_xb ON krun USING snii (x text_key_ops DESC, b);
CREATE INDEX krun_ui ON krun USING snii (u) INCLUDE (s, i);

-- every class of column in every shape
SELECT k, count(test_krun_read(k, 2, 3000, s, 300)) AS shapes
  FROM unnest('{krun_u,krun_b,krun_s,krun_yi,krun_n,krun_xb,krun_ui}'::regclass[]) k,
       unnest('{random,sequential,duplicates,prefix,long}'::text[]) s
 GROUP BY k ORDER BY k::text COLLATE "C";
-- borders of restarts and pages
SELECT n, test_krun_read('krun_u', n, n, 'random', 200)
  FROM unnest('{1,2,15,16,17,31,32,33}'::int[]) n;
SELECT count(test_krun_read('krun_u', 3, n, 'sequential', 30))
  FROM generate_series(1110, 1140) n;
SELECT count(test_krun_read('krun_xb', 3, n, 'longest', 30))
  FROM generate_series(1, 20) n;
-- many pages and levels: strings that leave room for three on an index page
SELECT test_krun_read('krun_u', 1, 100000, 'random', 1000);
SELECT test_krun_read('krun_xb', 1, 33000, 'longest', 100);
-- more keys than a group of filter pages
SELECT test_krun_read('krun_b', 1, 450000, 'sequential', 100);

-- a flush makes the same bytes
SELECT k, count(*) AS shapes
  FROM unnest('{krun_u,krun_b,krun_s,krun_yi,krun_n,krun_xb,krun_ui}'::regclass[]) k,
       unnest('{random,sequential,duplicates,prefix,long}'::text[]) s,
       test_krun_build(k, 2, 3000, s)
 GROUP BY k ORDER BY k::text COLLATE "C";

-- the filter lets through what its bits do, within 1.3 of it
SELECT s, test_krun_filter('krun_u', 1, 100000, s, 200000)
		  BETWEEN 0.77 AND 1.3 AS ok
  FROM unnest('{random,sequential}'::text[]) s;
SELECT test_krun_filter('krun_u', 1, 500000, 'random', 200000)
	   BETWEEN 0.77 AND 1.3 AS ok;

-- bytes an entry: a run of random 16-byte keys
SELECT data_bytes < 22 AS data, run_bytes < 24 AS run
  FROM test_krun_bench('krun_u', 300000, 'random', 2, 1000);

-- what the writer refuses
SELECT test_krun_misuse('krun_u', 'twice');
SELECT test_krun_misuse('krun_u', 'order');
SELECT test_krun_misuse('krun_u', 'long');
