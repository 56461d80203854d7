--
-- snii_stats(): what an index is made of and what was done to it
--
SET snii.workers = off;
CREATE TABLE st (id int, body text);
INSERT INTO st SELECT i, 'built ' || i FROM generate_series(1, 1000) i;
CREATE INDEX st_i ON st USING snii (body);

-- what does not depend on the size of pages and records
CREATE VIEW made AS SELECT buffer_documents, buffer_dead, segments, documents,
	dead, cardinality(tier_segments) = cardinality(tier_bytes)
		AND (SELECT sum(n) FROM unnest(tier_segments) n) = segments
		AND (SELECT sum(n) FROM unnest(tier_bytes) n) =
			(SELECT sum(bytes) FROM snii_segments('st_i') WHERE kind = 'segment')
		AS tiers
FROM snii_stats('st_i');
CREATE VIEW done AS SELECT flushes, merges, helps, documents_in,
	bytes_built > 0 AS built, bytes_flushed > 0 AS flushed,
	bytes_merged > 0 AS merged, round(write_amplification::numeric, 1) AS amplification,
	merge_debt > 0 AS debt, sleeps, sleep_ms, sleep_reason
FROM snii_stats('st_i');

-- a build
TABLE made;
TABLE done;
-- records in the buffer
INSERT INTO st SELECT i, 'word ' || i FROM generate_series(1001, 1100) i;
TABLE made;
TABLE done;
SELECT buffer_open_bytes, buffer_sealed_bytes, bytes_in FROM snii_stats('st_i');
-- a flush takes the documents, not the sums
SELECT snii_flush('st_i');
TABLE made;
TABLE done;
SELECT buffer_open_bytes, buffer_sealed_bytes, bytes_in FROM snii_stats('st_i');
-- dead ones: in segments, and in the buffer
INSERT INTO st SELECT i, 'more ' || i FROM generate_series(1101, 1110) i;
DELETE FROM st WHERE id % 2 = 0 AND id > 1000;
VACUUM st;
TABLE made;
-- VACUUM counts both, and flushes no trickle
SELECT reltuples, (SELECT count(*) FROM st) AS rows FROM pg_class
WHERE oid = 'st_i'::regclass;
SELECT snii_flush('st_i');
TABLE made;
TABLE done;

-- eight neighbours of a size are due for a merge; nobody does it

DO $$ BEGIN
FOR i IN 1 .. 7 LOOP
	INSERT INTO st VALUES (2000 + i, 'debt');
	PERFORM snii_flush('st_i');
END LOOP;
END $$;
SELECT segments, tier_segments, merge_debt > 0 AS debt FROM snii_stats('st_i');
SELECT snii_merge('st_i');
SELECT segments, merges, merge_debt, bytes_merged > 0 AS merged,
	write_amplification > 1 AS amplified FROM snii_stats('st_i');

-- inserters that flush on behalf of everybody
SET snii.buffer_limit = '256kB';
INSERT INTO st SELECT i, 'helping hand ' || i FROM generate_series(3001, 30000) i;
SELECT helps > 0 AS helps, flushes >= 9 + helps AS flushes FROM snii_stats('st_i');
RESET snii.buffer_limit;

-- displaced pages, held by a cursor and by the transaction that it is in
BEGIN;
INSERT INTO st VALUES (0, 'held');
SET LOCAL enable_seqscan = off;
DECLARE c CURSOR FOR SELECT id FROM st WHERE body @@@ 'hand';
FETCH 1 FROM c;
SELECT snii_flush('st_i') > 0 AS flushed, snii_merge('st_i') > 0 AS merged;
SELECT parked_pages > 0 AS parked,
	parked_bytes = parked_pages * current_setting('block_size')::int AS bytes,
	parked_since IS NOT NULL AS since,
	parked_holder = 'backend ' || pg_backend_pid() AS holder
FROM snii_stats('st_i');
COMMIT;
-- recycles, too
SELECT snii_flush('st_i');
SELECT parked_pages, parked_since, parked_holder, free_pages > 0 AS free,
	file_pages * current_setting('block_size')::int = pg_relation_size('st_i') AS file
FROM snii_stats('st_i');
SELECT snii_horizon_holder('3'::xid8) IS NULL AS long_ago;

-- a new file begins anew
REINDEX INDEX st_i;
TABLE done;

-- look-ups of keys: two runs with keys that lie within each other
CREATE TABLE lk (i int);
INSERT INTO lk SELECT i * 10 FROM generate_series(1, 2000) i;
CREATE INDEX lk_i ON lk USING snii (i);
INSERT INTO lk SELECT i * 10 + 5 FROM generate_series(1, 2000) i;
SELECT snii_flush('lk_i');
CREATE VIEW lookups AS SELECT segments, lookups, runs_probed, filter_probes,
	filter_negatives, filter_false_positives, lookup_blocks > 0 AS blocks,
	lookup_misses BETWEEN 0 AND lookup_blocks AS misses
FROM snii_stats('lk_i');
TABLE lookups;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- one run has it
SELECT count(*) FROM lk WHERE i = 500;
TABLE lookups;
-- beyond the ranges of both
SELECT count(*) FROM lk WHERE i = -1;
TABLE lookups;
-- many: half of them are in each run
SELECT count(*) FROM lk WHERE i = ANY (ARRAY(SELECT i FROM generate_series(1000, 2000, 5) i));
SELECT lookups, runs_probed, filter_probes = runs_probed AS all_probed,
	filter_negatives + filter_false_positives AS in_vain FROM lookups;
-- all are in the one run: its filter is not asked about each
SELECT count(*) FROM lk WHERE i = ANY (ARRAY(SELECT i FROM generate_series(1000, 19000, 10) i));
SELECT lookups, runs_probed, filter_probes < 2400 AS few, filter_false_positives < 60 AS useful FROM lookups;
-- an interval is no look-up, nor is a new file the old one
SELECT count(*) FROM lk WHERE i BETWEEN 500 AND 600;
SELECT lookups FROM lookups;
REINDEX INDEX lk_i;
SELECT lookups FROM lookups;
-- those of insertions that look for equal keys
CREATE UNIQUE INDEX lk_u ON lk USING snii (i);
INSERT INTO lk VALUES (12);
SELECT lookups, runs_probed FROM snii_stats('lk_u');
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE lk CASCADE;

-- arguments and privileges
SELECT snii_stats(NULL);
SELECT * FROM snii_stats('st');
CREATE ROLE regress_snii_stats;
SET ROLE regress_snii_stats;
SELECT * FROM snii_stats('st_i');
RESET ROLE;
GRANT SELECT ON st TO regress_snii_stats;
SET ROLE regress_snii_stats;
SELECT segments FROM snii_stats('st_i');
RESET ROLE;
DROP TABLE st CASCADE;
DROP ROLE regress_snii_stats;
