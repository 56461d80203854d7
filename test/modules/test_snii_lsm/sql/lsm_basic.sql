-- Insert, flush, merge: the same rows by index and by sequential scan.
CREATE EXTENSION test_snii_lsm;
CREATE TABLE b (id int, v text);
INSERT INTO b SELECT g, 'v' || g % 10 FROM generate_series(1, 200) g;
INSERT INTO b VALUES (201, NULL), (202, '');
CREATE INDEX b_v ON b USING snii_test (v);
SELECT kind, ndocs, ndead FROM test_lsm_entries('b_v');
SELECT test_lsm_check('b_v');

-- Compares the index with a sequential scan: rows of each value, and all rows.
CREATE FUNCTION differences(tab regclass) RETURNS SETOF text
LANGUAGE plpgsql SET enable_bitmapscan = off AS $$
DECLARE
	want text;
	have text;
	q text := format('SELECT md5(string_agg(id || coalesce(v, ''-''), '','' ORDER BY id)) FROM %s', tab);
	v text;
BEGIN
	FOR v IN EXECUTE format('SELECT DISTINCT v FROM %s WHERE v IS NOT NULL ORDER BY 1 LIMIT 20', tab)
	LOOP
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_bitmapscan = off;
		EXECUTE q || ' WHERE v = $1' INTO want USING v;
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_indexscan = on;
		EXECUTE q || ' WHERE v = $1' INTO have USING v;
		IF want IS DISTINCT FROM have THEN
			RETURN NEXT format('index scan for %s', left(v, 20));
		END IF;
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_bitmapscan = on;
		EXECUTE q || ' WHERE v = $1' INTO have USING v;
		IF want IS DISTINCT FROM have THEN
			RETURN NEXT format('bitmap scan for %s', left(v, 20));
		END IF;
	END LOOP;
END $$;
SELECT differences('b');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM b WHERE v = 'v3';
SELECT count(*) FROM b WHERE v = 'v3';
SELECT count(*) FROM b WHERE v = '';

-- The write buffer is seen at once, and by its own transaction.
BEGIN;
INSERT INTO b VALUES (203, 'buffered');
SELECT id FROM b WHERE v = 'buffered';
ROLLBACK;
SELECT id FROM b WHERE v = 'buffered';
INSERT INTO b VALUES (204, 'buffered');
SELECT id FROM b WHERE v = 'buffered';
SELECT kind, ndocs, ndead, sealed FROM test_lsm_entries('b_v');
SELECT test_lsm_flush('b_v');
SELECT kind, ndocs, ndead FROM test_lsm_entries('b_v');
SELECT id FROM b WHERE v = 'buffered';
SELECT test_lsm_check('b_v');
SELECT test_lsm_merge_all('b_v');
SELECT kind, ndocs, ndead FROM test_lsm_entries('b_v');
SELECT differences('b');
SELECT test_lsm_check('b_v');

-- Many small flushes: the policy merges eight neighbours.
DO $$ BEGIN
	FOR i IN 1..20 LOOP
		INSERT INTO b SELECT 1000 + i * 10 + g, 'm' || g FROM generate_series(0, 9) g;
		PERFORM test_lsm_flush('b_v');
	END LOOP;
END $$;
SELECT count(*), sum(ndocs) FROM test_lsm_entries('b_v');
SELECT test_lsm_merge('b_v');
SELECT count(*) < 8, sum(ndocs) FROM test_lsm_entries('b_v');
SELECT differences('b');
SELECT test_lsm_check('b_v');

-- Inserters flush and merge in bounds by themselves.
SET test_snii_lsm.buffer_limit_kb = 300;
INSERT INTO b SELECT g, 'w' || g % 7 || repeat('x', 1000) FROM generate_series(2000, 5000) g;
SELECT (test_lsm_info('b_v')).flushes > 5;
SELECT differences('b');
SELECT test_lsm_check('b_v') = count(id) + 1 FROM b;

-- Savepoints, prepared transactions.
BEGIN;
SAVEPOINT a;
INSERT INTO b VALUES (6000, 'sub');
ROLLBACK TO a;
INSERT INTO b VALUES (6001, 'sub');
SELECT test_lsm_flush('b_v') > 0;
PREPARE TRANSACTION 'p';
SELECT id FROM b WHERE v = 'sub';
SELECT test_lsm_merge_all('b_v') > 0;
COMMIT PREPARED 'p';
SELECT id FROM b WHERE v = 'sub';

REINDEX INDEX b_v;
SELECT differences('b');
SELECT test_lsm_check('b_v') = count(id) FROM b;
TRUNCATE b;
INSERT INTO b VALUES (1, 'again');
SELECT id FROM b WHERE v = 'again';
SELECT test_lsm_check('b_v');
BEGIN;
TRUNCATE b;
INSERT INTO b SELECT g, 'again' FROM generate_series(2, 1000) g;
SELECT test_lsm_flush('b_v');
TRUNCATE b;
INSERT INTO b VALUES (3, 'again');
SELECT id FROM b WHERE v = 'again';
ROLLBACK;
SELECT id FROM b WHERE v = 'again';
SELECT test_lsm_check('b_v');
CREATE INDEX CONCURRENTLY b_v2 ON b USING snii_test (v);
SELECT test_lsm_check('b_v2');
REINDEX INDEX CONCURRENTLY b_v;
SELECT test_lsm_check('b_v');
DROP INDEX b_v2;
