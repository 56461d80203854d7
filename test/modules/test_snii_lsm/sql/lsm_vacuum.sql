-- VACUUM: marks in buffer and segments, TIDs that are used again.
CREATE TABLE vac (id int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX vac_v ON vac USING snii_test (v);
SET enable_seqscan = off;

-- In the write buffer: marked by VACUUM, dropped by its flush.
INSERT INTO vac SELECT g, 'keep' FROM generate_series(1, 100) g;
INSERT INTO vac SELECT g, 'doomed' FROM generate_series(101, 600) g;
DELETE FROM vac WHERE v = 'doomed';
SELECT test_lsm_check('vac_v');
VACUUM (INDEX_CLEANUP ON) vac;
SELECT kind, ndocs, ndead FROM test_lsm_entries('vac_v');
SELECT count(id) FROM vac WHERE v = 'doomed';
SELECT max(ctid) AS last_keep FROM vac \gset
INSERT INTO vac SELECT g, 'fresh' FROM generate_series(601, 1100) g;
SELECT min(ctid) < '(6,0)' AS reused FROM vac WHERE id > 600;
SELECT v, count(id) FROM vac WHERE v = ANY ('{doomed,fresh,keep}') GROUP BY 1 ORDER BY 1;
SELECT count(id) FROM vac WHERE v = 'doomed';
SELECT count(id) FROM vac WHERE v = 'fresh';
SELECT count(id) FROM vac WHERE v = 'keep';

-- In a segment.
SELECT test_lsm_flush('vac_v');
DELETE FROM vac WHERE v = 'fresh' AND id % 4 = 0;
VACUUM (INDEX_CLEANUP ON) vac;
SELECT kind, ndocs, ndead FROM test_lsm_entries('vac_v');
INSERT INTO vac SELECT g, 'newest' FROM generate_series(1101, 1225) g;
SELECT count(id) FROM vac WHERE v = 'fresh';
SELECT count(id) FROM vac WHERE v = 'newest';
SELECT test_lsm_check('vac_v') = (SELECT count(id) FROM vac);
-- more than half dead: rewritten without them
DELETE FROM vac WHERE v = 'fresh' AND id % 4 < 3;
VACUUM (INDEX_CLEANUP ON) vac;
SELECT kind, ndocs, ndead FROM test_lsm_entries('vac_v');
SELECT test_lsm_check('vac_v') = (SELECT count(id) FROM vac);
SELECT differences('vac');
-- everything dead: the segments go
DELETE FROM vac;
VACUUM (INDEX_CLEANUP ON) vac;
SELECT count(*) FROM test_lsm_entries('vac_v');
SELECT test_lsm_check('vac_v');

-- The statistics of VACUUM.
INSERT INTO vac SELECT g, 'v' || g FROM generate_series(1, 1000) g;
DELETE FROM vac WHERE id % 10 = 0;
VACUUM (INDEX_CLEANUP ON) vac;
SELECT reltuples FROM pg_class WHERE relname = 'vac_v';

-- Parallel VACUUM.
CREATE INDEX vac_v2 ON vac USING snii_test ((v || 'x'));
CREATE INDEX vac_v3 ON vac USING snii_test ((v || 'y'));
SET min_parallel_index_scan_size = 0;
INSERT INTO vac SELECT g, 'w' || g FROM generate_series(1, 1000) g;
DELETE FROM vac WHERE id % 10 = 1;
VACUUM (INDEX_CLEANUP ON, PARALLEL 2) vac;
SELECT test_lsm_check('vac_v') = n, test_lsm_check('vac_v2') = n,
	test_lsm_check('vac_v3') = n
FROM (SELECT count(id) AS n FROM vac) c;
SELECT differences('vac');
DROP TABLE vac;
