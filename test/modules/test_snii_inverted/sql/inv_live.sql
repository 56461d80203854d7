--
-- Statistics of live documents: side lists, and segments and buffer together,
-- against a count of the rows.
--
CREATE EXTENSION IF NOT EXISTS snii;
CREATE EXTENSION IF NOT EXISTS test_snii_inverted;
SET snii.workers = off;
CREATE TABLE live (id int, body text, other text)
	WITH (autovacuum_enabled = off);

-- Text of random words: w0 is in most rows and often, w63 is rare; u<id> is in
-- one row only; every ninth body is NULL, every tenth is empty.
CREATE FUNCTION random_text(id int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN id % 9 = 0 THEN NULL WHEN id % 10 = 0 THEN '' ELSE
		'u' || id || (SELECT string_agg(' w' || floor(64 * power(random(), 3))::int, '')
			FROM generate_series(1, 1 + id % 23) g WHERE id = id) END $$;
SELECT setseed(0.25);
INSERT INTO live SELECT g, random_text(g), 'w' || g % 3 FROM generate_series(1, 6000) g;
CREATE INDEX live_i ON live USING snii (body, other);

-- What the index says and what the rows say, where they differ.
CREATE FUNCTION wrong(tolerance float8 DEFAULT 0)
RETURNS TABLE (attno int, term text, what text, got float8, want float8)
LANGUAGE sql AS $$
	WITH words AS (
		SELECT 1 AS attno, id, unnest(string_to_array(body, ' ')) AS word FROM live WHERE body <> ''
		UNION ALL SELECT 2, id, other FROM live WHERE other IS NOT NULL),
	asked AS (
		SELECT a AS attno, t FROM generate_series(1, 2) a,
			(SELECT 'w' || g AS t FROM generate_series(0, 64) g
			UNION ALL SELECT 'u' || g FROM generate_series(1, 12000, 97) g) t),
	truth AS (
		SELECT attno, word, count(DISTINCT id) AS df, count(*) AS ttf FROM words GROUP BY 1, 2),
	columns AS (
		SELECT 1 AS attno, (SELECT count(body) FROM live) AS documents, (SELECT count(*) FROM words WHERE attno = 1) AS tokens
		UNION ALL SELECT 2, (SELECT count(other) FROM live), (SELECT count(*) FROM words WHERE attno = 2)),
	both_of AS (
		SELECT a.attno, a.t, s.*, coalesce(truth.df, 0) AS df2, coalesce(truth.ttf, 0) AS ttf2, c.documents AS documents2, c.tokens AS tokens2
		FROM asked a JOIN columns c USING (attno)
			LEFT JOIN truth ON truth.attno = a.attno AND truth.word = a.t,
			LATERAL test_inv_live('live_i', a.attno, a.t) s)
	SELECT attno, t, k, g, w FROM both_of, LATERAL (VALUES ('df', df, df2), ('ttf', ttf, ttf2),
		('documents', documents, documents2), ('tokens', tokens, tokens2)) v(k, g, w)
	WHERE abs(g - w) > 0.001 + tolerance * w $$;

SELECT * FROM wrong();
SELECT * FROM test_inv_lists('live_i');

-- some dead, by no rule that terms know of
DELETE FROM live WHERE id % 7 = 1;
VACUUM (INDEX_CLEANUP on) live;
SELECT documents, dead, listed FROM test_inv_lists('live_i');
SELECT * FROM wrong();
SELECT snii_check('live_i', true);

-- whole terms: every row that has w1, and every third
DELETE FROM live WHERE id % 5 = 2 AND body ~ '\mw1\M';
DELETE FROM live WHERE other = 'w0' AND id % 2 = 0;
VACUUM (INDEX_CLEANUP on) live;
SELECT documents > dead AND dead = listed AS exact FROM test_inv_lists('live_i');
SELECT * FROM wrong();
DELETE FROM live WHERE other = 'w0';
VACUUM (INDEX_CLEANUP on) live;
SELECT * FROM wrong();
SELECT df, ttf FROM test_inv_live('live_i', 2, 'w0');
SELECT snii_check('live_i', true);

-- the write buffer, with dead records; then a second segment
INSERT INTO live SELECT g, random_text(g), 'w' || g % 3 FROM generate_series(6001, 8000) g;
SELECT * FROM wrong();
DELETE FROM live WHERE id > 6000 AND id % 2 = 0;
VACUUM (INDEX_CLEANUP on) live;
SELECT * FROM wrong();
SELECT snii_flush('live_i') > 0;
DELETE FROM live WHERE id % 11 = 3;
VACUUM (INDEX_CLEANUP on) live;
SELECT * FROM wrong();
SELECT snii_check('live_i', true);

-- estimates follow: no row has w0 in "other", of the others nearly all are there
CREATE FUNCTION estimate(cond text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT 1 FROM live WHERE ' || cond INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
ANALYZE live;
DELETE FROM live WHERE other = 'w1' AND id < 7000;
VACUUM (INDEX_CLEANUP on) live;
SELECT estimate($$other @@@ 'w1'$$) BETWEEN 0.8 * count(*) AND 1.2 * count(*) AS good FROM live WHERE other = 'w1';
SELECT estimate($$other @@@ 'w2'$$) BETWEEN 0.8 * count(*) AND 1.2 * count(*) AS good FROM live WHERE other = 'w2';

-- merged: no list is needed
SELECT snii_merge('live_i') > 0;
SELECT dead, listed, pages FROM test_inv_lists('live_i');
SELECT * FROM wrong();

-- everything dead, in the segment and in the buffer
INSERT INTO live SELECT g, random_text(g), 'w' || g % 3 FROM generate_series(8001, 8100) g;
DELETE FROM live;
VACUUM (INDEX_CLEANUP on) live;
SELECT * FROM wrong();
SELECT count(*) FROM test_inv_lists('live_i');
SELECT snii_check('live_i', true);
INSERT INTO live SELECT g, random_text(g), NULL FROM generate_series(9001, 9100) g;
SELECT * FROM wrong();
SELECT snii_check('live_i', true);
DROP TABLE live;
DROP FUNCTION wrong, estimate, random_text;
DROP EXTENSION test_snii_inverted;
