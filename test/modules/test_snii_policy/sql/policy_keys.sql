-- The policy of key indexes at work: flushes of 190,000 keys of 16 bytes each,
-- up to a billion keys.  w: bytes written for each that was flushed.
CREATE TABLE key_runs AS
SELECT stream, n, deletes, merges, s.*,
	round(1 + merged::numeric / flushed, 2) AS w
FROM unnest('{random,sequential,window,vacuum}'::text[]) stream,
	unnest('{27,60,270,5300}'::int[]) n,
	(VALUES (0, 0), (0, 1), (0.01, 0)) v (deletes, merges),
	policy_simulate_keys(1, stream, n, deletes, merges) s
WHERE n < 5300 OR merges = 0;
-- a key may be in 12 runs at most, also while only one merge is done a flush
SELECT * FROM key_runs WHERE max_depth > 12;
-- five million keys, and a billion
SELECT stream, n, max_depth, max_segments, w FROM key_runs
WHERE deletes = 0 AND merges = 0 AND n IN (27, 5300) ORDER BY n, stream;
SELECT * FROM key_runs WHERE n <= 270 AND w > 5 OR w > 8;
-- keys in order are not merged at all up to the limit, and rarely beyond
SELECT * FROM key_runs
WHERE stream = 'sequential' AND (n <= 60 AND merged > 0 OR w > 4);
DROP TABLE key_runs;
