-- The policy at work.  policy_simulate() verifies each choice: neighbours, no
-- more documents than a segment can have, no more bytes than asked for, empty
-- segments first, no segment rewritten alone that is not half dead.

-- Merges keep up: the number of segments is a small multiple of the number of
-- tiers, and a byte is written about once per tier.
CREATE TABLE runs AS
SELECT stream, seed, deletes, n, log(8, n) AS tiers, s.*,
	1 + merged::numeric / flushed AS amplification
FROM unnest(ARRAY['even', 'tiny', 'mixed', 'vacuum', 'saw', 'bulk', 'copies'])
		stream,
	generate_series(1, 3) seed,
	unnest(ARRAY[0, 0.01, 0.1]) deletes,
	unnest(ARRAY[64, 512, 4096]) n,
	policy_simulate(seed, stream, n, deletes, 0, 9223372036854775807) s;
SELECT * FROM runs WHERE max_segments > 24 AND deletes = 0
	OR max_segments > 48 OR avg_segments > 16;
SELECT * FROM runs WHERE amplification > tiers + 4;
-- without deletes no byte is written much more often than others
SELECT * FROM runs WHERE deletes = 0 AND most_writes > tiers + 4;
-- log-like: eight times as much data, a few more segments
SELECT a.stream, a.seed, a.n, a.avg_segments, b.avg_segments
FROM runs a JOIN runs b USING (stream, seed, deletes)
WHERE b.n = a.n * 8 AND b.avg_segments > a.avg_segments + 8;
-- dead documents do not pile up
SELECT stream, seed, deletes, n, dead_share FROM runs WHERE dead_share > 0.5;
-- what was built is not rewritten for what trickles in
SELECT seed, max(merged) < 100 * 2 ^ 30 AS spared FROM runs
WHERE stream = 'bulk' AND n = 512 AND deletes = 0 GROUP BY seed ORDER BY seed;

-- Nothing starves: one merge for each flush is enough, or two while a tenth of
-- all documents dies from flush to flush.
SELECT stream, seed, deletes, s.max_segments
FROM unnest(ARRAY['even', 'tiny', 'mixed', 'vacuum', 'saw', 'bulk', 'copies'])
		stream, generate_series(1, 3) seed,
	(VALUES (0, 1), (0.01, 1), (0.1, 2)) v (deletes, merges),
	policy_simulate(seed, stream, 4096, deletes, merges, 9223372036854775807) s
WHERE max_segments > 56;

-- Large merges that are left out do not let the number of segments grow
-- without bound, nor are they paid for again and again.
SELECT stream, seed, s.max_segments, 1 + merged::numeric / flushed AS amplification
FROM unnest(ARRAY['even', 'tiny', 'mixed', 'vacuum', 'saw', 'bulk', 'copies'])
		stream, generate_series(1, 3) seed,
	unnest(ARRAY[0, 0.01]) deletes,
	policy_simulate(seed, stream, 4096, deletes, 0, 64 << 20) s
WHERE max_segments > 64 OR merged > 6 * flushed;

-- Segments of so many documents that their numbers limit the merges: 60
-- billion documents need 14 segments.
SELECT seed, max_segments <= 64 AS few
FROM generate_series(1, 3) seed,
	policy_simulate(seed, 'documents', 300, 0, 0, 9223372036854775807);
