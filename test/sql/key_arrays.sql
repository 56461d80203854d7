--
-- = ANY over key indexes: batches of keys.  The rows, and their order where
-- the planner relies on it, are those of a sequential scan and of a btree.
--
SET client_min_messages = warning;
CREATE SCHEMA key_arrays;
SET search_path = key_arrays, public;
\if :{?seed}
\else
\set seed 0.37
\endif
SELECT setseed(:seed) IS NOT NULL AS seeded;

CREATE TABLE s (row_id int, i int, g smallint, u uuid, n numeric, t text, c text COLLATE "C", f float4, z timestamptz);
CREATE TABLE b (LIKE s);

-- Keys are few: each has several rows, one of them very many.
CREATE FUNCTION add_rows(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO s SELECT r, CASE WHEN x < 0.02 THEN NULL WHEN x < 0.3 THEN 500 ELSE y END,
		CASE WHEN x < 0.1 THEN NULL ELSE y % 7 END,
		CASE WHEN x BETWEEN 0.1 AND 0.12 THEN NULL ELSE md5(y::text)::uuid END,
		round(y / 10.0, y % 3), 'T' || y, 't' || y % 300, y / 4.0,
		'2024-01-01'::timestamptz + y * interval '1 hour'
		FROM (SELECT r, random() AS x, floor(random() * 1000)::int AS y
			FROM generate_series(first, last) r) q;
	INSERT INTO b SELECT * FROM s WHERE row_id BETWEEN first AND last;
END $$;

CREATE FUNCTION all_indexes(f text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE i regclass;
BEGIN
	FOR i IN SELECT indexrelid FROM pg_index WHERE indrelid = 's'::regclass ORDER BY 1 LOOP
		EXECUTE format(f, i);
	END LOOP;
END $$;

SELECT add_rows(1, 6000);
CREATE INDEX s_i ON s USING snii (i) INCLUDE (g);
CREATE INDEX s_u ON s USING snii (u DESC);
CREATE INDEX s_n ON s USING snii (n);
CREATE INDEX s_t ON s USING snii (t text_key_ops);
CREATE INDEX s_f ON s USING snii (f);
CREATE INDEX s_z ON s USING snii (z);
CREATE INDEX s_gic ON s USING snii (g, i DESC, c text_key_ops);
CREATE INDEX b_i ON b (i) INCLUDE (g);
CREATE INDEX b_u ON b (u DESC);
CREATE INDEX b_n ON b (n);
CREATE INDEX b_t ON b (t);
CREATE INDEX b_f ON b (f);
CREATE INDEX b_z ON b (z);
CREATE INDEX b_gic ON b (g, i DESC, c);
ANALYZE s, b;

-- An array of so many: some twice, some NULL, some that are nowhere.
CREATE FUNCTION arr(n int, item text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
	EXECUTE format('SELECT quote_literal(array_agg(CASE WHEN random() < 0.05 THEN NULL ELSE %s END)::text) || ''::%s[]''
		FROM (SELECT floor(random() * 1200)::int - 50 AS y FROM generate_series(1, %s)) q', item, type, n) INTO r;
	RETURN coalesce(r, quote_literal('{}') || '::' || type || '[]');
END $$;

-- The answer of a query with a placeholder for the table, in one way.
CREATE FUNCTION answer(query text, rel text, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
	plan json;
	way text;
BEGIN
	FOREACH way IN ARRAY '{seqscan,bitmapscan,indexscan,indexonlyscan}'::text[] LOOP
		PERFORM set_config('enable_' || way, (way = setting)::text, true);
	END LOOP;
	PERFORM set_config('enable_indexscan', (setting IN ('indexscan', 'indexonlyscan'))::text, true);
	PERFORM set_config('enable_sort', (setting IN ('seqscan', 'bitmapscan'))::text, true);
	query := replace(query, '@', rel);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	IF (plan::text LIKE '%"Seq Scan"%') <> (setting = 'seqscan') THEN
		RETURN 'another plan: ' || plan::text;
	END IF;
	EXECUTE query INTO r;
	RETURN r;
END $$;

CREATE FUNCTION differs(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE truth text := answer(query, 's', 'seqscan');
DECLARE way text;
BEGIN
	FOREACH way IN ARRAY '{indexscan,indexonlyscan,bitmapscan}'::text[] LOOP
		IF answer(query, 's', way) IS DISTINCT FROM truth THEN
			RETURN format('%s: %s: %s, not %s', way, query, answer(query, 's', way), truth);
		END IF;
	END LOOP;
	IF answer(query, 'b', 'indexscan') IS DISTINCT FROM truth THEN
		RETURN 'btree: ' || query;
	END IF;
	RETURN NULL;
END $$;

CREATE FUNCTION compare(rounds int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE q text;
DECLARE size int;
BEGIN
	FOR r IN 1 .. rounds LOOP
		size := (ARRAY[0, 1, 2, 10, 100, 700])[1 + floor(random() * 6)::int];
		FOREACH q IN ARRAY ARRAY[
			-- all rows, in whatever order
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE i = ANY (%s)', arr(size, 'y', 'int')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE i = ANY (%s)', arr(size, 'y', 'bigint')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE u = ANY (%s)', arr(size, 'md5(y::text)::uuid', 'uuid')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE n = ANY (%s)', arr(size, 'round(y / 10.0, 2)', 'numeric')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE t = ANY (%s)', arr(size, '''T'' || y', 'text')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE f = ANY (%s)', arr(size, 'y / 5.0', 'float8')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE z = ANY (%s)', arr(size, '''2024-01-01''::date + y / 20', 'date')),
			-- with other conditions beside it
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE i = ANY (%s) AND i > %s AND (i, g) > (%s, 3)',
				arr(size, 'y', 'int'), floor(random() * 900), floor(random() * 900)),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE i = ANY (%s) AND i = ANY (%s)', arr(size, 'y', 'int'), arr(700, 'y', 'int')),
			-- several columns
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE g = ANY (%s) AND i = ANY (%s)', arr(5, 'y % 7', 'smallint'), arr(size, 'y', 'int')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE g = ANY (%s) AND i = ANY (%s) AND c = ANY (%s)',
				arr(4, 'y % 7', 'smallint'), arr(size / 5, 'y', 'int'), arr(30, '''t'' || y % 300', 'text')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE g = 3 AND i = ANY (%s) AND c > ''t2''', arr(size, 'y', 'int')),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE g IS NULL AND i = ANY (%s)', arr(size, 'y', 'int')),
			-- in order, forward and backward, all or some
			format('SELECT string_agg(i::text, '' '') FROM (SELECT i FROM @ WHERE i = ANY (%s) ORDER BY i) q', arr(size, 'y', 'int')),
			format('SELECT string_agg(i::text, '' '') FROM (SELECT i FROM @ WHERE i = ANY (%s) ORDER BY i DESC) q', arr(size, 'y', 'int')),
			format('SELECT string_agg(u::text, '' '') FROM (SELECT u FROM @ WHERE u = ANY (%s) ORDER BY u LIMIT %s) q', arr(size, 'md5(y::text)::uuid', 'uuid'), floor(random() * 50)),
			format('SELECT string_agg(u::text, '' '') FROM (SELECT u FROM @ WHERE u = ANY (%s) ORDER BY u DESC LIMIT %s) q', arr(size, 'md5(y::text)::uuid', 'uuid'), floor(random() * 50)),
			format('SELECT string_agg(i::text, '' '') FROM (SELECT i FROM @ WHERE i = ANY (%s) ORDER BY i OFFSET %s) q', arr(size, 'y', 'int'), floor(random() * 50)),
			-- index-only, where a plan may be
			format('SELECT string_agg(i || ''/'' || coalesce(g::text, ''-''), '' '' ORDER BY i, g) FROM @ WHERE i = ANY (%s)', arr(size, 'y', 'int')),
			-- one key
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE i = %s', floor(random() * 1200) - 50),
			'SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE i = 500',
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE u = %L', md5(floor(random() * 1000)::text)::uuid),
			format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM @ WHERE g = %s AND i = %s AND c = %L',
				floor(random() * 7), floor(random() * 1000), 't' || floor(random() * 300))
		] LOOP
			q := differs(q);
			IF q IS NOT NULL THEN RETURN NEXT q; END IF;
		END LOOP;
	END LOOP;
END $$;

\echo == built
SELECT * FROM compare(3);
\echo == in the write buffer, too
SELECT add_rows(6001, 7500);
SELECT * FROM compare(3);
\echo == several runs
SELECT all_indexes('SELECT snii_flush(%L)');
SELECT add_rows(7501, 8000);
SELECT all_indexes('SELECT snii_flush(%L)');
SELECT add_rows(8001, 9000);
SELECT * FROM compare(3);
\echo == rows deleted, then vacuumed
DELETE FROM s WHERE row_id % 3 = 0;
DELETE FROM b WHERE row_id % 3 = 0;
SELECT * FROM compare(2);
VACUUM s, b;
SELECT * FROM compare(3);
\echo == merged
SELECT all_indexes('SELECT snii_merge(%L)');
SELECT * FROM compare(3);
SELECT all_indexes('SELECT snii_check(%L, true)');

SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;

-- each page of a run once for many keys; who wants one row looks up few keys
CREATE TABLE dense AS SELECT i FROM generate_series(1, 50000) i;
CREATE UNIQUE INDEX dense_i ON dense USING snii (i);
VACUUM ANALYZE dense;
CREATE FUNCTION blocks(query text, OUT rows bigint, OUT blocks bigint) LANGUAGE plpgsql AS $$
DECLARE before bigint := pg_stat_get_xact_blocks_fetched('dense_i'::regclass);
BEGIN
	EXECUTE format('SELECT count(i) FROM (%s) q', query) INTO rows;
	blocks := pg_stat_get_xact_blocks_fetched('dense_i'::regclass) - before;
END $$;
SELECT rows, blocks BETWEEN 100 AND 1500 AS each_page_once
	FROM blocks('SELECT i FROM dense WHERE i = ANY (ARRAY(SELECT generate_series(1, 50000, 5)))');
SELECT rows, blocks < 40 AS few FROM blocks('SELECT i FROM dense WHERE i = ANY (ARRAY(SELECT generate_series(1, 50000, 5))) LIMIT 1');
SELECT rows, blocks < 40 AS few FROM blocks('SELECT i FROM dense WHERE i = ANY (ARRAY(SELECT generate_series(1, 50000, 5))) ORDER BY i DESC LIMIT 1');

-- cursors, also backward
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i FROM s WHERE i = ANY ('{7,3,NULL,3,900,5000,-1,500}') AND g < 3 ORDER BY i;
MOVE 20 c;
FETCH 2 c;
FETCH BACKWARD 2 c;
FETCH LAST c;
FETCH FIRST c;
COMMIT;

-- merge joins: mark and restore, within a batch and within a key of many rows
CREATE TABLE o AS SELECT (i % 30) * 20 AS i FROM generate_series(1, 90) i;
CREATE INDEX o_i ON o USING snii (i);
ANALYZE o;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM o JOIN s ON o.i = s.i WHERE s.i = ANY ('{0,20,40,60,500,520,33,580}');
SELECT count(*), sum(row_id) FROM o JOIN s ON o.i = s.i WHERE s.i = ANY ('{0,20,40,60,500,520,33,580}');
-- the same with a cursor that is left alone at each row: index-only scans begin anew
CREATE FUNCTION step_by_step(query text, OUT n int, OUT sum bigint) LANGUAGE plpgsql AS $$
DECLARE r record;
DECLARE c refcursor;
BEGIN
	n := 0;
	sum := 0;
	OPEN c FOR EXECUTE query;
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		n := n + 1;
		sum := sum + r.i;
	END LOOP;
END $$;
SELECT * FROM step_by_step('SELECT s.i FROM o JOIN s ON o.i = s.i WHERE s.i = ANY (''{0,20,40,60,500,520,33,580}'')');
SELECT * FROM step_by_step('SELECT i FROM s WHERE i = ANY (''{0,20,40,60,500,520,33,580}'')');
SELECT * FROM step_by_step('SELECT i FROM s WHERE i = ANY (''{0,20,40,60,500,520,33,580}'') ORDER BY i DESC');
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_sort;
SET enable_indexscan = off;
SET enable_seqscan = on;
SELECT count(*), sum(row_id), sum(s.i) FROM o JOIN s ON o.i = s.i WHERE s.i = ANY ('{0,20,40,60,500,520,33,580}');
SELECT count(*), sum(i) FROM s WHERE i = ANY ('{0,20,40,60,500,520,33,580}');

-- rescans
CREATE TABLE a AS SELECT k, ARRAY(SELECT (k * 37 + j * 11) % 1100 FROM generate_series(1, k % 12) j) AS items FROM generate_series(1, 60) k;
SET enable_indexscan = on;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*), sum(row_id) FROM a JOIN LATERAL (SELECT row_id FROM s WHERE i = ANY (a.items)) q ON true;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT count(*), sum(row_id) FROM a JOIN LATERAL (SELECT row_id FROM s WHERE i = ANY (a.items)) q ON true;
RESET ALL;
SET search_path = key_arrays, public;

-- a table of this transaction, and a temporary one
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
CREATE TABLE fresh (i int);
CREATE INDEX fresh_i ON fresh USING snii (i);
INSERT INTO fresh SELECT i % 500 FROM generate_series(1, 3000) i;
SELECT snii_flush('fresh_i');
SELECT count(*), sum(i) FROM fresh WHERE i = ANY (ARRAY(SELECT generate_series(1, 900)));
SELECT count(*), sum(i) FROM fresh WHERE i BETWEEN 100 AND 300;
COMMIT;
CREATE TEMP TABLE temporary (i int);
CREATE INDEX temporary_i ON temporary USING snii (i);
INSERT INTO temporary SELECT i % 500 FROM generate_series(1, 3000) i;
SELECT snii_flush('temporary_i');
SELECT count(*), sum(i) FROM temporary WHERE i = ANY (ARRAY(SELECT generate_series(1, 900)));
SELECT count(*), sum(i) FROM temporary WHERE i BETWEEN 100 AND 300;
RESET ALL;
SET search_path = key_arrays, public;

SELECT snii_check('fresh_i', true);
DROP SCHEMA key_arrays CASCADE;
