-- Records of several pages, and such as fit into no stretch.
CREATE TABLE large (id int, v text) WITH (autovacuum_enabled = off);
ALTER TABLE large ALTER v SET STORAGE EXTERNAL;
CREATE INDEX large_v ON large USING snii_test (v);
-- 8134 bytes fit into a page, 195446 into a stretch; one byte is a flag
INSERT INTO large SELECT n, repeat(chr(97 + n % 26), n)
FROM unnest(ARRAY[8132, 8133, 8134, 16276, 16277, 16278, 30000, 100000,
	195445, 195446, 195447, 200000, 1000000, 1, 8133]) n;
CREATE FUNCTION large_differences() RETURNS SETOF int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT n, count(*) AS want FROM large, LATERAL (SELECT id % 10000000 AS n) x GROUP BY 1 LOOP
		IF (SELECT count(id) FROM large WHERE v = repeat(chr(97 + r.n % 26), r.n)) <> r.want THEN
			RETURN NEXT r.n;
		END IF;
	END LOOP;
END $$;
SELECT large_differences();
SELECT test_lsm_check('large_v');
SELECT kind, ndocs FROM test_lsm_entries('large_v') WHERE ndocs > 0;
SELECT test_lsm_flush('large_v') > 0;
SELECT sum(ndocs) FROM test_lsm_entries('large_v');
SELECT large_differences();
SELECT test_lsm_check('large_v');
SELECT test_lsm_merge_all('large_v') > 1;
SELECT large_differences();
SELECT test_lsm_check('large_v');

-- Insertions that fail before and within their pages: pages of the stretch
-- that were handed out and never written, or without a beginning.
SET test_snii_lsm.fail = 'large_handed_out';
INSERT INTO large VALUES (40000, repeat(chr(97 + 40000 % 26), 40000));
SET test_snii_lsm.fail = 'large_half';
INSERT INTO large VALUES (40000, repeat(chr(97 + 40000 % 26), 40000));
RESET test_snii_lsm.fail;
INSERT INTO large VALUES (12, repeat(chr(97 + 12 % 26), 12));
SET test_snii_lsm.fail = 'large_handed_out';
INSERT INTO large VALUES (40000, repeat(chr(97 + 40000 % 26), 40000));
RESET test_snii_lsm.fail;
INSERT INTO large VALUES (40000, repeat(chr(97 + 40000 % 26), 40000));
INSERT INTO large VALUES (13, repeat(chr(97 + 13 % 26), 13));
SELECT large_differences();
SELECT test_lsm_check('large_v');
DELETE FROM large WHERE id IN (12, 30000, 8133);
VACUUM (INDEX_CLEANUP ON) large;
SELECT large_differences();
SELECT test_lsm_check('large_v') = (SELECT count(v) FROM large);

-- Many in a row: stretches are sealed before they are full.
INSERT INTO large SELECT 10000000 * g + n, repeat(chr(97 + n % 26), n)
FROM generate_series(1, 12) g, unnest(ARRAY[150000, 60000, 9000, 5]) n;
SELECT large_differences();
SELECT test_lsm_check('large_v') = (SELECT count(v) FROM large);
SELECT test_lsm_flush('large_v') >= 0;
SELECT large_differences();
SELECT test_lsm_check('large_v') = (SELECT count(v) FROM large);
REINDEX INDEX large_v;
SELECT large_differences();
SELECT test_lsm_check('large_v') = (SELECT count(v) FROM large);
DROP TABLE large;
