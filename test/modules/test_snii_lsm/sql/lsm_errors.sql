-- An error at any step leaves the index as it was.
CREATE TABLE err (id int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX err_v ON err USING snii_test (v);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
INSERT INTO err SELECT g, 'e' || g % 7 || repeat('x', 300) FROM generate_series(1, 2000) g;
SELECT test_lsm_flush('err_v') > 0;
INSERT INTO err SELECT g, 'e' || g % 7 || repeat('x', 300) FROM generate_series(2001, 4000) g;

-- Runs a command that must fail, and verifies the index.
CREATE FUNCTION fails(point text, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('test_snii_lsm.fail', point, true);
	BEGIN
		EXECUTE command;
		RETURN point || ': no error';
	EXCEPTION WHEN raise_exception THEN NULL;
	END;
	PERFORM set_config('test_snii_lsm.fail', '', true);
	IF test_lsm_check('err_v') < (SELECT count(id) FROM err ) THEN
		RETURN point || ': entries are missing';
	END IF;
	RETURN point || ': ' || coalesce((SELECT string_agg(d, ', ') FROM differences('err') d), 'ok');
END $$;
SELECT fails(point, $$SELECT test_lsm_flush('err_v')$$)
FROM unnest('{build_start,build_end,batch_written,flush_written,publish}'::text[]) point;
-- the swap was done: only what comes after it failed
SELECT fails('published', $$SELECT test_lsm_flush('err_v')$$);
SELECT fails(point, $$SELECT test_lsm_merge_all('err_v')$$)
FROM unnest('{merge_start,merge_end,batch_written,merge_written,publish}'::text[]) point;
SELECT fails('published', $$SELECT test_lsm_merge_all('err_v')$$);
SELECT test_lsm_flush('err_v') >= 0;
SELECT test_lsm_merge_all('err_v') >= 0;
SELECT fails('recycle_logged', $$SELECT test_lsm_recycle('err_v')$$);
SELECT fails('recycle_one', $$SELECT test_lsm_recycle('err_v')$$);
SELECT test_lsm_recycle('err_v') > 0;
SELECT test_lsm_check('err_v');

-- An insertion that helps, and whose help fails, is undone by its transaction.
SET test_snii_lsm.buffer_limit_kb = 1;
SELECT fails('publish', $$INSERT INTO err SELECT g, 'z' || repeat('x', 3000) FROM generate_series(1, 200) g$$);
SELECT fails('published', $$INSERT INTO err SELECT g, 'z' || repeat('x', 3000) FROM generate_series(1, 200) g$$);
RESET test_snii_lsm.buffer_limit_kb;

-- VACUUM.
DELETE FROM err WHERE id % 3 = 0;
SET test_snii_lsm.fail = 'tids';
VACUUM (INDEX_CLEANUP ON) err;
SET test_snii_lsm.fail = 'vacuum_read';
VACUUM (INDEX_CLEANUP ON) err;
SET test_snii_lsm.fail = 'vacuum_marked';
VACUUM (INDEX_CLEANUP ON) err;
RESET test_snii_lsm.fail;
SELECT test_lsm_check('err_v') > 0;
SELECT differences('err');
SET test_snii_lsm.fail = 'vacuum_between';
VACUUM (INDEX_CLEANUP ON) err;
RESET test_snii_lsm.fail;
SELECT differences('err');
VACUUM (INDEX_CLEANUP ON) err;
SELECT test_lsm_check('err_v') = (SELECT count(id) FROM err);
SELECT differences('err');
-- Builds.
SET test_snii_lsm.fail = 'batch_written';
REINDEX INDEX err_v;
CREATE INDEX err_2 ON err USING snii_test (v);
CREATE INDEX CONCURRENTLY err_2 ON err USING snii_test (v);
RESET test_snii_lsm.fail;
DROP INDEX err_2;
SELECT test_lsm_check('err_v') = (SELECT count(id) FROM err);
SELECT differences('err');

DROP TABLE err;
