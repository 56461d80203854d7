-- Displaced pages: parked, freed, used again; chains of every kind of page.
CREATE TABLE rec (id int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX rec_v ON rec USING snii_test (v);
SET test_snii_lsm.buffer_limit_kb = 100000;
INSERT INTO rec SELECT g, 'r' || g % 5 || repeat('x', 500) FROM generate_series(1, 5000) g;
-- a scan that is under way sees what is displaced
BEGIN;
SET LOCAL enable_seqscan = off;
DECLARE c CURSOR FOR SELECT v FROM rec WHERE v = 'r0';
FETCH c;
SELECT test_lsm_flush('rec_v') > 5;
SELECT parked_pages > 300 AS parked FROM test_lsm_info('rec_v');
SELECT test_lsm_check('rec_v');
SELECT test_lsm_recycle('rec_v');
COMMIT;
SELECT txid_current() > 0;
SELECT test_lsm_recycle('rec_v') > 300;
SELECT parked_pages, free_pages > 300 AS freed FROM test_lsm_info('rec_v');
SELECT test_lsm_check('rec_v');
-- Free pages are taken before the file grows.
SELECT nblocks FROM test_lsm_info('rec_v') \gset
DO $$ BEGIN
	FOR i IN 1..5 LOOP
		PERFORM test_lsm_merge_all('rec_v');
		UPDATE rec SET v = 'r' || (id + i) % 5 || repeat('x', 500) WHERE id % 500 = i;
	END LOOP;
END $$;
VACUUM (INDEX_CLEANUP ON) rec;
SELECT test_lsm_check('rec_v');
DO $$ BEGIN
	FOR i IN 1..10 LOOP
		UPDATE rec SET v = 'r' || (id + i) % 5 || repeat('x', 500) WHERE id % 100 = i;
		PERFORM test_lsm_flush('rec_v');
		PERFORM test_lsm_merge_all('rec_v');
		COMMIT;
		PERFORM test_lsm_recycle('rec_v');
		COMMIT;
	END LOOP;
END $$;
VACUUM (INDEX_CLEANUP ON) rec;
SELECT nblocks < 6 * :nblocks AS bounded FROM test_lsm_info('rec_v');
SELECT nblocks FROM test_lsm_info('rec_v') \gset
DO $$ BEGIN
	FOR i IN 1..30 LOOP
		UPDATE rec SET v = 'r' || (id + i) % 5 || repeat('x', 500) WHERE id % 100 = i;
		PERFORM test_lsm_flush('rec_v');
		PERFORM test_lsm_merge_all('rec_v');
		COMMIT;
		PERFORM test_lsm_recycle('rec_v');
		COMMIT;
	END LOOP;
END $$;
SELECT nblocks <= :nblocks * 1.5 AS no_growth FROM test_lsm_info('rec_v');
SELECT test_lsm_check('rec_v') >= count(id) FROM rec;
SELECT differences('rec');

-- A transaction that holds the horizon: the parked lists fill more than one
-- page, and are all freed once it is gone.
CREATE TABLE few (id int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX few_v ON few USING snii_test (v);
BEGIN;
SET LOCAL enable_seqscan = off;
DECLARE c CURSOR FOR SELECT v FROM few WHERE v = 'none';
FETCH c;
DO $$ BEGIN
	FOR i IN 1..400 LOOP
		INSERT INTO few VALUES (i, 'f' || i % 3);
		PERFORM test_lsm_flush('few_v');
		IF i % 8 = 0 THEN
			PERFORM test_lsm_merge('few_v');
			PERFORM test_lsm_recycle('few_v');
		END IF;
	END LOOP;
END $$;
SELECT parked_pages > 800 AS parked, free_pages < 50 AS not_free FROM test_lsm_info('few_v');
SELECT test_lsm_check('few_v');
COMMIT;
SELECT txid_current() > 0;
SELECT test_lsm_recycle('few_v') > 800;
SELECT parked_pages FROM test_lsm_info('few_v');
SELECT test_lsm_check('few_v');
SELECT differences('few');

-- A full directory: an insertion makes room, whatever its size.
DO $$ BEGIN
	FOR i IN 1..70 LOOP
		INSERT INTO few VALUES (i, 'f' || i % 3);
		PERFORM test_lsm_flush('few_v');
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RAISE NOTICE '%', sqlerrm;
END $$;
SELECT count(*) <= 25 AS bounded FROM test_lsm_entries('few_v');
DO $$ BEGIN
	FOR i IN 1..60 LOOP
		INSERT INTO few VALUES (i, repeat(chr(97 + i % 3), 200000));
	END LOOP;
END $$;
SELECT count(*) <= 25 AS bounded FROM test_lsm_entries('few_v');
SELECT test_lsm_check('few_v') = count(id) FROM few;
SELECT differences('few');

-- What a failed flush or merge had taken is given back.
SELECT test_lsm_recycle('few_v') >= 0;
SELECT nblocks FROM test_lsm_info('few_v') \gset
DO $$ BEGIN
	FOR i IN 1..20 LOOP
		BEGIN
			SET LOCAL test_snii_lsm.fail = 'merge_end';
			PERFORM test_lsm_merge_all('few_v');
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
	END LOOP;
END $$;
SELECT nblocks < 3 * :nblocks AS bounded FROM test_lsm_info('few_v');
SELECT test_lsm_check('few_v') = count(id) FROM few;
SELECT differences('few');
DROP TABLE few, rec;
