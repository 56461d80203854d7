-- Temporary and unlogged tables.
SET enable_seqscan = off;
CREATE TEMP TABLE tmp (id int, v text);
CREATE INDEX tmp_v ON tmp USING snii_test (v);
INSERT INTO tmp SELECT g, 't' || g % 3 || repeat('x', 300) FROM generate_series(1, 3000) g;
SELECT test_lsm_flush('tmp_v') > 0;
DELETE FROM tmp WHERE id % 2 = 0;
VACUUM (INDEX_CLEANUP ON) tmp;
SELECT test_lsm_check('tmp_v') = (SELECT count(id) FROM tmp);
SELECT differences('tmp');

-- An open cursor keeps its pages, in its own session too.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM tmp WHERE v = 't1' || repeat('x', 300);
FETCH 2 FROM c;
SELECT test_lsm_merge_all('tmp_v') >= 0;
UPDATE tmp SET v = 'n' || v WHERE id % 5 = 1;
SELECT test_lsm_flush('tmp_v') > 0;
SELECT test_lsm_merge_all('tmp_v') > 0;
SELECT test_lsm_recycle('tmp_v') >= 0;
MOVE FORWARD ALL IN c;
COMMIT;
SELECT differences('tmp');
SELECT test_lsm_recycle('tmp_v') >= 0;
SELECT test_lsm_check('tmp_v') >= (SELECT count(id) FROM tmp);

CREATE TEMP TABLE tmp2 (id int, v text) ON COMMIT DELETE ROWS;
CREATE INDEX tmp2_v ON tmp2 USING snii_test (v);
BEGIN;
INSERT INTO tmp2 SELECT g, 't' || g % 3 || repeat('x', 2000) FROM generate_series(1, 300) g;
SELECT test_lsm_check('tmp2_v');
COMMIT;
BEGIN;
INSERT INTO tmp2 VALUES (1, 'a'), (2, 'b');
SELECT id FROM tmp2 WHERE v = 'b';
SELECT test_lsm_check('tmp2_v');
COMMIT;
SELECT test_lsm_check('tmp2_v');

CREATE UNLOGGED TABLE unl (id int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX unl_v ON unl USING snii_test (v);
INSERT INTO unl SELECT g, 'u' || g % 3 || repeat('x', 300) FROM generate_series(1, 3000) g;
SELECT test_lsm_flush('unl_v') > 0;
DELETE FROM unl WHERE id % 2 = 0;
VACUUM (INDEX_CLEANUP ON) unl;
SELECT test_lsm_check('unl_v') = (SELECT count(id) FROM unl);
SELECT differences('unl');
ALTER TABLE unl SET LOGGED;
INSERT INTO unl VALUES (1, 'logged');
SELECT id FROM unl WHERE v = 'logged';
SELECT differences('unl');
ALTER TABLE unl SET UNLOGGED;
SELECT differences('unl');
SELECT test_lsm_check('unl_v') = (SELECT count(id) FROM unl);
DROP TABLE unl;
