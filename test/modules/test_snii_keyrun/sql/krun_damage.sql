-- Damaged pages: an error or an answer, whatever is read.  Not of columns whose
-- values go to functions of core that trust them (numeric).
SELECT k, bool_and(test_krun_damage(k, 2, 1500, s, 60)) AS most_found
  FROM unnest('{krun_u,krun_s,krun_yi,krun_xb,krun_ui}'::regclass[]) k,
       unnest('{random,duplicates,prefix,long}'::text[]) s
 GROUP BY k ORDER BY k::text COLLATE "C";
-- more, where most lengths are
SELECT test_krun_damage('krun_ui', 4, 1500, 'prefix', 300) AS most_found;
