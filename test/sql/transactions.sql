-- Savepoints, aborts, two-phase commit, cursors, HOT, statistics and progress
-- of a snii index.
SET client_min_messages = warning;
SET enable_seqscan = off;

CREATE TABLE tx (id int, body text, n int DEFAULT 0);
CREATE INDEX tx_i ON tx USING snii (body);
CREATE FUNCTION ids(cond text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_index text;
	by_seq text;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'SELECT string_agg(id::text, '','' ORDER BY id) FROM tx WHERE ' || cond INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE 'SELECT string_agg(id::text, '','' ORDER BY id) FROM tx WHERE ' || cond INTO by_seq;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_seqscan = off;
	RETURN CASE WHEN by_index IS NOT DISTINCT FROM by_seq THEN coalesce(by_index, 'none')
		ELSE format('index: %s, seq: %s', by_index, by_seq) END;
END $$;

--
-- Savepoints and aborts, with a flush between
--
BEGIN;
INSERT INTO tx VALUES (1, 'word one');
SAVEPOINT a;
INSERT INTO tx VALUES (2, 'word two');
SAVEPOINT b;
INSERT INTO tx VALUES (3, 'word three');
SELECT ids($$body ||| 'word'$$);
ROLLBACK TO b;
SELECT ids($$body ||| 'word'$$);
SELECT snii_flush('tx_i');
SELECT ids($$body ||| 'word'$$);
INSERT INTO tx VALUES (4, 'word four');
ROLLBACK TO a;
INSERT INTO tx VALUES (5, 'word five');
SELECT snii_flush('tx_i'), snii_merge('tx_i');
SELECT ids($$body ||| 'word'$$);
COMMIT;
SELECT ids($$body ||| 'word'$$);
BEGIN;
INSERT INTO tx VALUES (6, 'word six');
SELECT snii_flush('tx_i');
ROLLBACK;
SELECT ids($$body ||| 'word'$$);
-- an error in the middle of a statement
INSERT INTO tx SELECT g, 'word ' || g, 1 / (20 - g) FROM generate_series(10, 30) g;
SELECT ids($$body ||| 'word'$$);
DO $$
BEGIN
	FOR i IN 40..45 LOOP
		BEGIN
			INSERT INTO tx VALUES (i, 'word ' || i);
			IF i % 2 = 0 THEN
				PERFORM 1 / (i - i);
			END IF;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END $$;
SELECT ids($$body ||| 'word'$$);
SELECT snii_check('tx_i', true);
VACUUM tx;
SELECT ids($$body ||| 'word'$$);
SELECT sum(documents - dead) AS live FROM snii_segments('tx_i');
SELECT snii_check('tx_i', true);

--
-- Two-phase commit
--
BEGIN;
INSERT INTO tx VALUES (50, 'word fifty');
DELETE FROM tx WHERE id = 1;
SELECT snii_flush('tx_i');
PREPARE TRANSACTION 'snii_one';
SELECT ids($$body ||| 'word'$$);
VACUUM tx;
SELECT ids($$body ||| 'word'$$);
COMMIT PREPARED 'snii_one';
SELECT ids($$body ||| 'word'$$);
BEGIN;
INSERT INTO tx VALUES (60, 'word sixty');
PREPARE TRANSACTION 'snii_two';
ROLLBACK PREPARED 'snii_two';
SELECT ids($$body ||| 'word'$$);
VACUUM tx;
SELECT snii_check('tx_i', true);
-- serializable, with the index's predicate lock in the prepared state
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM tx WHERE body ||| 'fifty';
INSERT INTO tx VALUES (61, 'nothing');
PREPARE TRANSACTION 'snii_three';
SELECT count(*) FROM pg_locks WHERE relation = 'tx_i'::regclass AND mode = 'SIReadLock';
COMMIT PREPARED 'snii_three';

--
-- Updates: an unindexed column is changed by HOT, the indexed one is not.
--
UPDATE tx SET n = n + 1 WHERE id = 5;
UPDATE tx SET n = n + 1 WHERE id = 5;
SELECT ids($$body ||| 'five' AND n = 2$$);
UPDATE tx SET body = 'changed five' WHERE id = 5;
SELECT ids($$body ||| 'changed'$$), ids($$body ||| 'word' AND id < 40$$);
UPDATE tx SET n = n + 1 WHERE body ||| 'word';
UPDATE tx SET body = body || ' again' WHERE body ||| 'word';
UPDATE tx SET body = body || ' again' WHERE body ||| 'word';
SELECT ids($$body ### 'again again'$$);
SELECT n_tup_upd = 0 OR n_tup_hot_upd > 0 AS hot FROM pg_stat_xact_user_tables WHERE relname = 'tx';
MERGE INTO tx USING (VALUES (41, 'merged'), (70, 'new row')) AS v (id, body) ON tx.id = v.id
	WHEN MATCHED THEN UPDATE SET body = tx.body || ' ' || v.body
	WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.body);
SELECT ids($$body ||| 'merged new'$$);
DELETE FROM tx WHERE body ||| 'merged' RETURNING id;
SELECT ids($$body ||| 'merged new'$$);
VACUUM tx;
SELECT ids($$body ||| 'merged new'$$);
VACUUM FREEZE tx;
SELECT snii_check('tx_i', true);

--
-- Cursors: one snapshot, whatever happens to the index
--
TRUNCATE tx;
INSERT INTO tx SELECT g, CASE WHEN g % 3 = 0 THEN 'fizz ' ELSE 'plain ' END || g FROM generate_series(1, 3000) g;
SET enable_bitmapscan = off;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM tx WHERE body ||| 'fizz';
DECLARE s SCROLL CURSOR FOR SELECT id FROM tx WHERE body ||| 'fizz';
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM tx WHERE body ||| 'fizz' AND id < 20;
FETCH 2 FROM c;
FETCH 2 FROM s;
DELETE FROM tx WHERE id % 6 = 0;
INSERT INTO tx SELECT g, 'fizz late ' || g FROM generate_series(5001, 6000) g;
SELECT snii_flush('tx_i'), snii_merge('tx_i');
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM s;
FETCH LAST FROM s;
FETCH FIRST FROM s;
MOVE ALL FROM c;
SELECT count(*) FROM tx WHERE body ||| 'fizz';
COMMIT;
FETCH ALL FROM h;
CLOSE h;
RESET enable_bitmapscan;
VACUUM tx;
SELECT snii_check('tx_i', true);
-- rescans: nested loops with the index inside
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT w, count(*) FROM (VALUES ('fizz'), ('plain'), ('late'), (NULL), ('')) v (w)
	JOIN tx ON tx.body @@@ snii_any('standard', v.w) GROUP BY w ORDER BY w;
SELECT w, (SELECT count(*) FROM tx WHERE body ||| w) FROM (VALUES ('fizz'), ('late'), (NULL)) v (w);
RESET enable_hashjoin;
RESET enable_mergejoin;

--
-- Statistics and progress
--
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('tx_i'::regclass);
SET enable_bitmapscan = off;
SELECT count(*) FROM tx WHERE body ||| '3000 2999 2998';
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT count(*) FROM tx WHERE body ||| '2999 2998';
RESET enable_indexscan;
SELECT pg_stat_force_next_flush();
SELECT idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_user_indexes WHERE indexrelname = 'tx_i';
SELECT pg_indexam_progress_phasename(a.oid, n) FROM pg_am a, generate_series(0, 4) n WHERE amname = 'snii' ORDER BY n;
ANALYZE tx;
SELECT reltuples FROM pg_class WHERE relname = 'tx_i';
-- the build tells its phase, as a function sees that the build calls
CREATE TABLE spied (body text);
INSERT INTO spied VALUES ('seen');
CREATE FUNCTION spy(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE WARNING '% in phase "%"', t, (SELECT phase FROM pg_stat_progress_create_index WHERE pid = pg_backend_pid());
	RETURN t;
END $$;
CREATE INDEX spied_i ON spied USING snii (spy(body));
DROP TABLE spied;
DROP FUNCTION spy;

--
-- No index-only scan: it would trust the visibility map without a barrier
-- against VACUUM.  Core considers one where no column is needed.
--
CREATE TABLE wide (id int, body text, pad text);
INSERT INTO wide SELECT g, 'word' || g % 2, repeat('pad', 500) FROM generate_series(1, 2000) g;
CREATE INDEX wide_i ON wide USING snii (body);
CREATE INDEX wide_p ON wide USING snii (body) WHERE id > 1000;
VACUUM ANALYZE wide;
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT count(*) FROM wide;
SET enable_seqscan = off;
-- from 18 on, a bitmap scan is preferred to a disabled sequential one
DO $$
DECLARE
	line text;
	found bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN SELECT count(*) FROM wide' LOOP
		found := found OR line ~ 'Index Only';
	END LOOP;
	RAISE WARNING 'index-only scan: %', found;
END $$;
SELECT count(*) FROM wide;
SELECT count(*) FROM wide WHERE id > 1000;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM wide;
RESET enable_indexscan;
RESET enable_bitmapscan;
-- with a condition on the index alone, and no column to return
SELECT count(*) FROM wide WHERE body ||| 'word1';
SELECT count(*) FROM wide WHERE body IS NOT NULL;
DROP TABLE wide;

--
-- Limits of memory and time are kept
--
SET maintenance_work_mem = '1MB';
INSERT INTO tx SELECT g, 'filler' || g || ' ' || md5(g::text) || ' common words in each row' FROM generate_series(10000, 40000) g;
REINDEX INDEX tx_i;
RESET maintenance_work_mem;
SELECT count(*) FROM tx WHERE body ### 'common words in each row';
SELECT snii_check('tx_i', true);
-- the text of the error has units from 16 on
\set VERBOSITY sqlstate
SET snii.buffer_limit = '1kB';
SET snii.buffer_limit = '1GB';
\set VERBOSITY default
SET snii.buffer_limit = 256;
SET snii.no_such_setting = 1;
INSERT INTO tx SELECT g, 'flushed' || g || ' ' || md5(g::text) || ' common words in each row' FROM generate_series(50000, 60000) g;
SELECT count(*) FROM tx WHERE body ### 'common words in each row';
-- by the insertion, or by a worker a moment later
DO $$
BEGIN
	FOR i IN 1..1000 LOOP
		EXIT WHEN EXISTS (SELECT FROM snii_segments('tx_i') WHERE kind = 'segment' AND id > 1);
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SELECT count(*) > 0 AS flushed FROM snii_segments('tx_i') WHERE kind = 'segment' AND id > 1;
SELECT snii_check('tx_i', true);
DELETE FROM tx WHERE id % 2 = 0;
VACUUM tx;
SELECT snii_check('tx_i', true);
SELECT count(*) FROM tx WHERE body ### 'common words in each row';
DELETE FROM tx;
VACUUM tx;
SELECT * FROM snii_segments('tx_i');
SELECT snii_check('tx_i', true);
RESET snii.buffer_limit;
DROP FUNCTION ids;
DROP TABLE tx;
