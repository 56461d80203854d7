--
-- Parallel scans of key indexes: the rows of a sequential scan, in order, in
-- all runs and the write buffer, forward and backward.
--
SET client_min_messages = warning;
CREATE SCHEMA key_parallel;
SET search_path = key_parallel, public;

CREATE TABLE p (id int, a int, u uuid, t text COLLATE "C", d text COLLATE "default", n numeric, body text)
	WITH (autovacuum_enabled = false);
CREATE INDEX p_u ON p USING snii (u);
CREATE INDEX p_a ON p USING snii (a, id DESC) INCLUDE (n);
CREATE INDEX p_t ON p USING snii (t text_key_ops DESC NULLS LAST, a);
CREATE INDEX p_n ON p USING snii (n, d text_key_ops);
CREATE INDEX p_body ON p USING snii (body);

CREATE FUNCTION add_rows(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO p SELECT g, g % 13, md5(g::text)::uuid, CASE WHEN g % 17 > 0 THEN 'k' || g % 301 END, 'd' || g % 7,
	CASE WHEN g % 19 > 0 THEN (g * 7919 % 10007) / 4.0 END, 'word' || g % 3 || ' other'
	FROM generate_series(first, last) g $$;
CREATE FUNCTION flush() RETURNS void LANGUAGE sql AS
	$$ SELECT snii_flush(i) FROM unnest('{p_u,p_a,p_t,p_n,p_body}'::regclass[]) i $$;

-- A large run and smaller ones, one of which begins where the others end, rows
-- that are dead and marked, rows that are dead and not, and a write buffer.
SELECT add_rows(1, 20000);
SELECT flush();
SELECT add_rows(20001, 24000);
SELECT flush();
INSERT INTO p SELECT g, 20 + g % 2, NULL, 'z' || g, 'z', g FROM generate_series(24001, 26000) g;
SELECT flush();
DELETE FROM p WHERE id % 10 = 3;
VACUUM p;
SELECT add_rows(26001, 28000);
DELETE FROM p WHERE id % 10 = 4;
ANALYZE p;
SELECT c::regclass AS index, (SELECT count(*) FILTER (WHERE kind = 'segment') > 1 AND count(*) FILTER (WHERE kind <> 'segment') > 0
	FROM snii_segments(c)) AS "runs and buffer" FROM unnest('{p_u,p_a,p_t,p_n}'::regclass[]) c;

-- Makes it worth it to have workers; true.
CREATE FUNCTION costly(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 AS 'BEGIN RETURN $1 IS NOT NULL; END';

CREATE FUNCTION set_all(settings text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
	FOREACH s IN ARRAY string_to_array(settings, ' ') LOOP
		PERFORM set_config(split_part(s, '=', 1), split_part(s, '=', 2), false);
	END LOOP;
END $$;

CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Gather|Scan' THEN
			result := result || substring(line FROM '(Gather Merge|Gather|Parallel .* using \w+|Parallel \w+ \w+ \w+|\w+ Scan.*)') || '; ';
		END IF;
	END LOOP;
	RETURN result;
END $$;

SELECT set_all('parallel_setup_cost=0 parallel_tuple_cost=0 min_parallel_index_scan_size=0 min_parallel_table_scan_size=0 enable_material=off');

-- By index and workers, by index alone, and without: the same?
CREATE FUNCTION compare(query text, OUT same bool, OUT plan text) LANGUAGE plpgsql AS $$
DECLARE truth text; serial text; parallel text;
BEGIN
	PERFORM set_all('max_parallel_workers_per_gather=0 enable_seqscan=on enable_indexscan=off enable_bitmapscan=off enable_sort=on');
	EXECUTE query INTO truth;
	PERFORM set_all('enable_seqscan=off enable_indexscan=on enable_sort=off');
	EXECUTE query INTO serial;
	PERFORM set_all('max_parallel_workers_per_gather=3');
	plan := plan_of(query);
	EXECUTE query INTO parallel;
	same := truth IS NOT DISTINCT FROM serial AND truth IS NOT DISTINCT FROM parallel;
	IF NOT same THEN
		RAISE WARNING '% serial % parallel %', truth, serial, parallel;
	END IF;
END $$;

-- in order, forward and backward
SELECT w AS "where", o AS "order by", c.* FROM (VALUES
	('u IS NOT NULL', 'u'), ('u IS NOT NULL', 'u DESC'), ('u > ''a0000000-0000-0000-0000-000000000000''', 'u'),
	('u BETWEEN ''30000000-0000-0000-0000-000000000000'' AND ''70000000-0000-0000-0000-000000000000''', 'u DESC'),
	('u < ''00050000-0000-0000-0000-000000000000''', 'u'), ('u IS NULL', 'u'),
	('a = 5', 'a, id DESC'), ('a = 5', 'a DESC, id'), ('a > 3 AND id < 12000', 'a, id DESC'), ('a >= 12', 'a DESC, id'),
	('t > ''k2''', 't, a'), ('t IS NOT NULL', 't DESC NULLS LAST, a'), ('t IS NULL AND a > 2', 't DESC NULLS LAST, a'),
	('n > 100', 'n, d'), ('n > 100', 'n DESC, d DESC'), ('n IS NULL', 'n, d'), ('n IS NULL AND d > ''d2''', 'n, d')) q(w, o),
	compare(format('SELECT count(*) || '' '' || md5(string_agg(concat_ws('','', %s), '';'')) || sum(id) FROM (SELECT * FROM p WHERE %s AND costly(id) ORDER BY %s) s',
		replace(regexp_replace(o, ' (DESC|NULLS LAST)', '', 'g'), 'NULLS LAST', ''), w, o)) c;

-- arrays: keys, intervals, both; duplicates; many combinations
SELECT w AS "where", o AS "order by", c.* FROM (VALUES
	('u = ANY (ARRAY(SELECT md5(g::text)::uuid FROM generate_series(1, 30000, 3) g))', 'u'),
	('u = ANY (ARRAY(SELECT md5(g::text)::uuid FROM generate_series(1, 30000, 3) g))', 'u DESC'),
	('a = ANY (''{1,4,4,21,99,NULL}'')', 'a, id DESC'), ('a = ANY (''{1,4,4,21,99,NULL}'')', 'a DESC, id'),
	('a = ANY (''{1,4}'') AND id < ANY (''{100,9000}'')', 'a, id DESC'),
	('a = ANY (''{0,1,2,3,4,5}'') AND id = ANY (ARRAY(SELECT generate_series(1, 2000)))', 'a, id DESC'),
	('a = ANY (''{0,1,2,3,4,5}'') AND id = ANY (ARRAY(SELECT generate_series(1, 2000)))', 'a DESC, id'),
	('t = ANY (ARRAY(SELECT ''k'' || g FROM generate_series(1, 400) g))', 't DESC NULLS LAST, a'),
	('t = ANY (ARRAY(SELECT ''k'' || g FROM generate_series(1, 40) g))', 't, a DESC'),
	('n = ANY (ARRAY(SELECT g / 4.0 FROM generate_series(1, 200) g))', 'n, d'),
	('a > 3 AND id = ANY (''{1,2,3,1000,20000,27001}'')', 'a, id DESC'),
	('u = ANY (''{}'')', 'u')) q(w, o),
	compare(format('SELECT count(*) || '' '' || md5(string_agg(concat_ws('','', %s), '';'')) || sum(id) FROM (SELECT * FROM p WHERE %s AND costly(id) ORDER BY %s) s',
		replace(regexp_replace(o, ' (DESC|NULLS LAST)', '', 'g'), 'NULLS LAST', ''), w, o)) c;

-- index-only scans, limits, without an order, joins
VACUUM p;
SELECT q AS query, c.* FROM (VALUES
	('SELECT count(*) FROM p WHERE u > ''10000000-0000-0000-0000-000000000000'''),
	('SELECT sum(id) + count(n) + sum(a) FROM p WHERE a < 9 AND costly(id)'),
	('SELECT string_agg(id::text, '','') FROM (SELECT id FROM p WHERE a > 6 AND costly(id) ORDER BY a DESC, id LIMIT 100) s'),
	('SELECT string_agg(t, '','') FROM (SELECT t FROM p WHERE costly(a) ORDER BY t DESC NULLS LAST, a OFFSET 5000 LIMIT 20) s'),
	('SELECT min(n) || '' '' || max(n) FROM p WHERE costly(id)'),
	('SELECT count(*) || '' '' || sum(x.id - y.id) FROM p x JOIN p y ON x.u = y.u WHERE costly(x.id)'),
	-- the scan is done again for each row
	('SELECT string_agg(x || '':'' || c, '','') FROM (SELECT count(*) AS c FROM p WHERE a > 5 AND costly(id)) s RIGHT JOIN (VALUES (1), (2), (3)) v(x) ON true')
	) v(q), compare(q) c;

-- one bitmap for all
SELECT set_all('enable_indexscan=off enable_indexonlyscan=off enable_bitmapscan=on');
SELECT plan_of('SELECT count(*) FROM p WHERE a = 7 AND costly(id)');
SELECT (SELECT count(*) FROM p WHERE a = 7 AND costly(id)) = (SELECT count(*) FROM p WHERE a + 0 = 7) AS same;
SELECT set_all('enable_indexscan=on enable_indexonlyscan=on enable_bitmapscan=off');

-- generic and custom plans
SET plan_cache_mode = force_generic_plan;
PREPARE few(int) AS SELECT count(*), sum(id) FROM p WHERE a = ANY (ARRAY[$1, $1 + 3]) AND costly(id);
SELECT plan_of('EXECUTE few(4)');
EXECUTE few(4);
EXECUTE few(9);
EXECUTE few(NULL);
SET plan_cache_mode = force_custom_plan;
EXECUTE few(4);
EXECUTE few(9);
EXECUTE few(NULL);
RESET plan_cache_mode;
SET enable_indexscan = off;
SET enable_seqscan = on;
SET max_parallel_workers_per_gather = 0;
EXECUTE few(4);
EXECUTE few(9);

-- a cursor, forward and backward, has no workers
SET enable_indexscan = on;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 3;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM p WHERE a = 6 AND costly(id) ORDER BY a, id DESC;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;

-- inverted indexes have no parallel scan, nor do tables that ask for workers
ALTER TABLE p SET (parallel_workers = 3);
SELECT plan_of('SELECT count(*) FROM p WHERE body ||| ''word1'' AND costly(id)');
SELECT (SELECT count(*) FROM p WHERE body ||| 'word1' AND costly(id)) = (SELECT count(*) FROM p WHERE body LIKE '%word1%') AS same;
SELECT plan_of('SELECT count(*) FROM p WHERE a = 7 AND costly(id)');

-- in a worker
DO $$ BEGIN
	IF current_setting('server_version_num')::int >= 160000 THEN SET debug_parallel_query = on;
	ELSE SET force_parallel_mode = on; END IF;
END $$;
SET max_parallel_workers_per_gather = 1;
SELECT count(*), sum(id) FROM p WHERE u BETWEEN '30000000-0000-0000-0000-000000000000' AND '70000000-0000-0000-0000-000000000000';
SELECT id FROM p WHERE a = ANY ('{3,5}') ORDER BY a DESC, id LIMIT 4;
DO $$ BEGIN
	IF current_setting('server_version_num')::int >= 160000 THEN RESET debug_parallel_query;
	ELSE RESET force_parallel_mode; END IF;
END $$;

-- an empty index, one of one row, one with nothing but a write buffer
CREATE TABLE e (k int, v int) WITH (parallel_workers = 2);
CREATE INDEX e_k ON e USING snii (k);
SET max_parallel_workers_per_gather = 2;
SELECT count(*), sum(k) FROM e WHERE k > 0 AND costly(v);
INSERT INTO e VALUES (1, 1);
SELECT plan_of('SELECT count(*), sum(k) FROM e WHERE k > 0 AND costly(v)');
SELECT count(*), sum(k) FROM e WHERE k > 0 AND costly(v);
INSERT INTO e SELECT g, g FROM generate_series(2, 5000) g;
SELECT count(*), sum(k) FROM e WHERE k > 0 AND costly(v);

SELECT snii_check(i, true) FROM unnest('{p_u,p_a,p_t,p_n,e_k}'::regclass[]) i;
SELECT snii_check('p_body');
DROP SCHEMA key_parallel CASCADE;
