-- Joining neighbours in the free list.
CREATE TABLE comp (id int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX comp_v ON comp USING snii_test (v);
SET test_snii_lsm.buffer_limit_kb = 100000;
-- many small lists come free
DO $$ BEGIN
	FOR i IN 1..40 LOOP
		INSERT INTO comp SELECT g, 'c' || g % 7 || repeat('x', 300)
			FROM generate_series(1, 200) g;
		PERFORM test_lsm_flush('comp_v');
		COMMIT;
		PERFORM test_lsm_recycle('comp_v');
		COMMIT;
	END LOOP;
	PERFORM test_lsm_merge_all('comp_v');
	COMMIT;
	PERFORM txid_current();
	COMMIT;
	PERFORM test_lsm_recycle('comp_v');
END $$;
SELECT test_lsm_check('comp_v') = count(*) FROM comp;
SELECT free_pages, nblocks FROM test_lsm_info('comp_v') \gset
-- a failure at each step loses no page and leaves the list usable
DO $$
DECLARE point text;
BEGIN
	FOREACH point IN ARRAY ARRAY['compact_detached', 'compact_written'] LOOP
		BEGIN
			PERFORM set_config('test_snii_lsm.fail', point, true);
			PERFORM test_lsm_compact('comp_v');
			RAISE NOTICE '% was not reached', point;
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
		PERFORM set_config('test_snii_lsm.fail', '', true);
		PERFORM test_lsm_check('comp_v');
	END LOOP;
END $$;
SELECT test_lsm_compact('comp_v');
SELECT test_lsm_check('comp_v') = count(*) FROM comp;
SELECT free_pages = :free_pages AND nblocks = :nblocks AS same FROM test_lsm_info('comp_v');
-- there is nothing to join any more
SELECT test_lsm_compact('comp_v');
-- what is taken now comes from the list
INSERT INTO comp SELECT g, 'd' || g % 7 || repeat('x', 300) FROM generate_series(1, 2000) g;
SELECT test_lsm_flush('comp_v') > 0;
SELECT free_pages < :free_pages AND nblocks = :nblocks AS reused FROM test_lsm_info('comp_v');
SELECT test_lsm_check('comp_v') = count(*) FROM comp;
DROP TABLE comp;
