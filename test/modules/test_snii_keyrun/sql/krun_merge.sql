-- Merges against sorted arrays, and against runs that are written at once.
SELECT k, count(*) AS shapes, min(n) > 2600 AND max(n) < 2800 AS live
  FROM unnest('{krun_u,krun_b,krun_s,krun_yi,krun_n,krun_xb,krun_ui}'::regclass[]) k,
       unnest('{random,sequential,duplicates,prefix,long}'::text[]) s,
       test_krun_merge(k, 2, 3000, s, 5, false, 10) n
 GROUP BY k ORDER BY k::text COLLATE "C";
-- numbers of inputs; ranges that follow each other; shares of dead entries
SELECT inputs, count(*), array_agg(n ORDER BY n)
  FROM unnest('{1,2,3,7,16}'::int[]) inputs, unnest('{f,t}'::bool[]) ranges,
       unnest('{0,1,2,50}'::int[]) dead,
       test_krun_merge('krun_u', 2, 3000, 'random', inputs, ranges, dead) n
 GROUP BY inputs ORDER BY inputs;
-- inputs of one entry, or none that is alive
SELECT n, test_krun_merge('krun_s', n, n, 'duplicates', 5, false, 2)
  FROM generate_series(5, 20) n;
-- an entry that is in two runs
DO $$
BEGIN
	PERFORM test_krun_merge_twice('krun_u');
	RAISE 'not noticed';
EXCEPTION WHEN index_corrupted THEN
	RAISE NOTICE '%', regexp_replace(sqlerrm, '[0-9]+', 'N', 'g');
END $$;
-- memory is allocated for runs and pages, not for entries
SELECT test_krun_merge_allocations('krun_u', 1000000) < 200 AS few;
DROP TABLE krun;
