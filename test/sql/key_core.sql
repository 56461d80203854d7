--
-- What a btree does, a key index does, too: a list of statements is played once
-- in a schema whose indexes are btrees and once in one whose indexes are snii's,
-- with the same rows, row counts and errors.  Queries are run by a sequential
-- scan of the btree's schema, which is the truth, and by index and bitmap scans
-- of both.  What differs is printed; the rest is counted.
--
-- In a statement @am is the access method and @key the operator class of text
-- (empty for btree).  A query that begins with /*any*/ is free to be planned
-- otherwise than with a btree.
--
\set ECHO none
SET client_min_messages = warning;
SET jit = off;
\set VERBOSITY terse
CREATE SCHEMA key_core;
SET search_path = key_core, public;

CREATE TABLE script (n serial, section text, sql text);

CREATE FUNCTION play(section text, VARIADIC statements text[]) RETURNS void
LANGUAGE sql AS $$
	INSERT INTO key_core.script (section, sql)
	SELECT section, s FROM unnest(statements) WITH ORDINALITY u (s, o) ORDER BY o $$;

CREATE FUNCTION use_plan(plan text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (plan = 'seq')::text, true),
		set_config('enable_indexscan', (plan = 'index')::text, true),
		set_config('enable_indexonlyscan', (plan = 'index')::text, true),
		set_config('enable_bitmapscan', (plan = 'bitmap')::text, true),
		set_config('enable_sort', (plan <> 'index')::text, true),
		set_config('enable_incremental_sort', 'off', true);
END $$;

-- The access method is in the path, so that functions see the same tables.
CREATE FUNCTION for_arm(arm text, sql text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', 'core_' || arm || ', key_core, public', true);
	RETURN replace(replace(sql, '@am', arm), '@key',
		CASE WHEN arm = 'snii' THEN 'text_key_ops' ELSE '' END);
END $$;

CREATE FUNCTION is_query(sql text) RETURNS bool LANGUAGE sql AS
	$$ SELECT sql ~* '^\s*(/\*any\*/)?\s*(select|with|values|table)\y' $$;

-- Rows, count or error of a statement.
CREATE FUNCTION outcome(arm text, sql text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	result text[] := '{}'; r record; n bigint; s text; m text; d text; c text;
	command text := key_core.for_arm(arm, sql);
BEGIN
	BEGIN
		IF key_core.is_query(sql) OR sql ~* 'returning' THEN
			FOR r IN EXECUTE command LOOP
				result := result || coalesce(r::text, '');
			END LOOP;
			IF sql !~* 'order by' THEN
				result := ARRAY(SELECT x FROM unnest(result) x ORDER BY x COLLATE "C");
			END IF;
		ELSE
			EXECUTE command;
			GET DIAGNOSTICS n = ROW_COUNT;
			result := ARRAY[n::text];
		END IF;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT,
			d = PG_EXCEPTION_DETAIL, c = CONSTRAINT_NAME;
		-- which of many duplicates a build finds is its own affair
		IF m ~ 'could not create unique index' THEN d := ''; END IF;
		result := ARRAY[s, replace(m, arm, '@am'), replace(d, arm, '@am'), replace(c, arm, '@am')];
	END;
	RETURN result;
END $$;

-- Does a scan of that kind of an index stand in the plan?
CREATE FUNCTION uses_index(arm text, sql text, plan text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; found bool := false;
BEGIN
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || key_core.for_arm(arm, sql) LOOP
			found := found OR line ~ CASE plan WHEN 'bitmap' THEN 'Bitmap Index Scan'
				ELSE '(->  |^ *)Index (Only )?Scan' END;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN NULL;
	END;
	RETURN found;
END $$;

CREATE FUNCTION shortly(rows text[]) RETURNS text LANGUAGE sql AS
	$$ SELECT cardinality(rows) || ' ' || left(rows::text, 300) $$;

CREATE FUNCTION compare(sql text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	truth text[]; got text[]; plan text;
	by_btree bool; by_snii bool;
BEGIN
	IF NOT key_core.is_query(sql) OR sql ~* '\y(insert|update|delete|merge)\y' THEN
		PERFORM key_core.use_plan('index');
		truth := key_core.outcome('btree', sql);
		got := key_core.outcome('snii', sql);
		IF truth IS DISTINCT FROM got THEN
			RETURN NEXT format('DIFFERENT: %s: %s instead of %s', sql, key_core.shortly(got), key_core.shortly(truth));
		END IF;
		RETURN;
	END IF;
	PERFORM key_core.use_plan('seq');
	truth := key_core.outcome('btree', sql);
	FOREACH plan IN ARRAY ARRAY['index', 'bitmap'] LOOP
		PERFORM key_core.use_plan(plan);
		by_btree := key_core.uses_index('btree', sql, plan);
		by_snii := key_core.uses_index('snii', sql, plan);
		IF by_btree <> by_snii AND sql !~ '^\s*/\*any\*/' THEN
			RETURN NEXT format('PLAN (%s): %s: by index of btree %s, of snii %s', plan, sql, by_btree, by_snii);
		END IF;
		got := key_core.outcome('snii', sql);
		IF truth IS DISTINCT FROM got THEN
			RETURN NEXT format('DIFFERENT (%s): %s: %s instead of %s', plan, sql, key_core.shortly(got), key_core.shortly(truth));
		END IF;
	END LOOP;
END $$;

-- Tables of both schemas that have not the same rows.
CREATE FUNCTION compare_tables() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE t text; n bigint; here text := current_setting('search_path');
BEGIN
	PERFORM key_core.use_plan('seq');
	PERFORM set_config('search_path', 'pg_catalog', true);
	FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'core_btree'::regnamespace
		AND relkind IN ('r', 'p', 'm') AND NOT relispartition ORDER BY 1
	LOOP
		EXECUTE format('SELECT count(*) FROM ((SELECT x::text FROM core_btree.%1$I x EXCEPT ALL SELECT x::text FROM core_snii.%1$I x)
			UNION ALL (SELECT x::text FROM core_snii.%1$I x EXCEPT ALL SELECT x::text FROM core_btree.%1$I x)) y', t) INTO n;
		IF n > 0 THEN RETURN NEXT format('ROWS DIFFER: %s: %s', t, n); END IF;
	END LOOP;
	PERFORM set_config('search_path', here, true);
END $$;

-- Bring the indexes to another state, or check them.
CREATE FUNCTION settle(what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE i regclass;
BEGIN
	FOR i IN SELECT c.oid FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid
		JOIN pg_am a ON a.oid = c.relam
		WHERE a.amname = 'snii' AND c.relkind = 'i' AND x.indisvalid
		  AND (c.relnamespace = 'core_snii'::regnamespace OR pg_is_other_temp_schema(c.relnamespace) = false AND c.relpersistence = 't')
		ORDER BY 1
	LOOP
		IF what IN ('flush', 'merge') THEN PERFORM public.snii_flush(i); END IF;
		IF what = 'merge' THEN PERFORM public.snii_merge(i); END IF;
		IF what = 'check' THEN PERFORM public.snii_check(i, true); END IF;
	END LOOP;
END $$;

-- state: what is done with the indexes after each statement that is no query.
-- Either a section is one transaction, whose own files are read otherwise than
-- those of others, or every statement is one.
CREATE PROCEDURE play_all(state text, one_transaction bool) LANGUAGE plpgsql AS $$
DECLARE s record; d text; last text := '';
BEGIN
	FOR s IN SELECT * FROM key_core.script ORDER BY n LOOP
		IF s.section <> last THEN
			last := s.section;
			DROP SCHEMA IF EXISTS core_btree, core_snii CASCADE;
			CREATE SCHEMA core_btree;
			CREATE SCHEMA core_snii;
			COMMIT;
		END IF;
		FOR d IN SELECT * FROM key_core.compare(s.sql) LOOP
			RAISE WARNING '%: %', state, d;
		END LOOP;
		IF NOT key_core.is_query(s.sql) THEN
			PERFORM key_core.settle(state);
		END IF;
		IF NOT one_transaction THEN
			COMMIT;
		END IF;
		IF s.n = (SELECT max(n) FROM key_core.script x WHERE x.section = s.section) THEN
			FOR d IN SELECT * FROM key_core.compare_tables() LOOP
				RAISE WARNING '%: %', state, d;
			END LOOP;
			PERFORM key_core.settle('check');
			COMMIT;
		END IF;
	END LOOP;
END $$;

-- ---------------------------------------------------------------------
-- The script
-- ---------------------------------------------------------------------

\o /dev/null
SELECT play('scans', VARIADIC ARRAY[
'CREATE TABLE w (id int, a int2, b int8, c text, d date, e numeric, f bool, g float8)',
$$INSERT INTO w SELECT i, (i * 7) % 23 - 11, (i * 31) % 401, chr(97 + i % 26) || (i * 17) % 50,
	date '2020-02-25' + (i * 13) % 90, ((i * 11) % 97) / 4.0, i % 3 = 0, ((i * 5) % 61) / 8.0 FROM generate_series(1, 1200) i$$,
$$INSERT INTO w SELECT 2000 + i, CASE WHEN i % 2 = 0 THEN i END, CASE WHEN i % 3 = 0 THEN i END, CASE WHEN i % 5 = 0 THEN 'n' END FROM generate_series(1, 60) i$$,
'CREATE UNIQUE INDEX w_id ON w USING @am (id)',
'CREATE INDEX w_ab ON w USING @am (a, b)',
'CREATE INDEX w_ba ON w USING @am (b DESC, a NULLS FIRST)',
'CREATE INDEX w_c ON w USING @am (c @key)',
'CREATE INDEX w_de ON w USING @am (d, e DESC NULLS LAST) INCLUDE (id)',
'CREATE INDEX w_f ON w USING @am (f, g)',
'DELETE FROM w WHERE id % 41 = 7',
'UPDATE w SET b = b + 1000 WHERE id % 43 = 9',
'ANALYZE w',
-- points and lists
'SELECT * FROM w WHERE id = 77',
'SELECT * FROM w WHERE id = 77::int8',
'SELECT * FROM w WHERE id = 99999999999',
'SELECT * FROM w WHERE a = 100000',
'SELECT * FROM w WHERE a = -3::int8 AND b = 5::int2',
'SELECT * FROM w WHERE id IN (1, 5, 5, 3, 1199, -4, 2147483647)',
'SELECT * FROM w WHERE id = ANY (ARRAY[1, 99999999999, -99999999999, 12, NULL]::int8[])',
'SELECT * FROM w WHERE id = ANY (''{}''::int[])',
'SELECT * FROM w WHERE id = ANY (''{NULL}''::int[])',
'SELECT * FROM w WHERE id = ANY (''{{1,2},{3,4}}''::int[])',
'SELECT * FROM w WHERE id = ANY (NULL::int[])',
'SELECT * FROM w WHERE id > ANY (''{1100,1150}''::int[])',
'SELECT * FROM w WHERE id < ANY (''{10,NULL,15}''::int[])',
'SELECT * FROM w WHERE id <= ALL (''{10,15}''::int[]) ',
'SELECT * FROM w WHERE id = ANY (''{1,2,3,4}''::int[]) AND id = ANY (''{3,4,5}''::int[])',
'SELECT * FROM w WHERE id = ANY (''{1,2,3,4}''::int[]) AND id > 2',
'SELECT id FROM w WHERE id = ANY (ARRAY(SELECT (x * x) % 1300 FROM generate_series(1, 400) x)) ORDER BY id',
'SELECT id FROM w WHERE id = ANY (ARRAY(SELECT (x * x) % 1300 FROM generate_series(1, 400) x)) ORDER BY id DESC',
'SELECT * FROM w WHERE a IN (1, 3, 5) AND b IN (10, 20, 30, 40, 102, 205)',
'SELECT a, b FROM w WHERE a IN (5, 1, 3) AND b IN (10, 20, 30, 40, 102, 205) ORDER BY a, b',
'SELECT a, b FROM w WHERE a IN (5, 1, 3) AND b IN (10, 20, 30, 40, 102, 205) ORDER BY a DESC, b DESC',
'SELECT a, b FROM w WHERE a > 4 AND b IN (10, 20, 30, 40, 102, 205) ORDER BY a, b',
'SELECT a, b FROM w WHERE a > 4 AND b IN (10, 20, 30, 40, 102, 205) ORDER BY a DESC, b DESC',
'SELECT a, b FROM w WHERE b = ANY (''{10,20,30,40,NULL,102}'') ORDER BY a, b',
'SELECT DISTINCT a FROM w WHERE b IN (10, 20, 30, 40, 102, 205, 1004) ORDER BY a',
'SELECT a, b FROM w WHERE b >= 100 AND a = ANY (''{7,3,-5}''::int8[]) ORDER BY b DESC, a NULLS FIRST',
'SELECT b, a FROM w WHERE a = ANY (''{7,3,-5}'') AND b BETWEEN 17 AND 300 ORDER BY b DESC, a NULLS FIRST LIMIT 9',
'SELECT count(*) FROM w WHERE a >= 5 AND a <= 5 AND b = ANY (''{1,2,3,4,5,100,200,300}'')',
'SELECT d, e FROM w WHERE d >= ''2020-04-01'' AND e IN (1, 1.5, 2.25, 3.0, 21.75) ORDER BY d, e DESC NULLS LAST',
'SELECT d, e FROM w WHERE d > ''2020-04-01'' AND e = ANY (''{NaN,1,1.50}'') ORDER BY d DESC, e',
-- ranges
'SELECT * FROM w WHERE id BETWEEN 100 AND 130',
'SELECT * FROM w WHERE id BETWEEN 130 AND 100',
'SELECT * FROM w WHERE id BETWEEN SYMMETRIC 130 AND 100',
'SELECT * FROM w WHERE id > 1190 AND id >= 1193 AND id < 2010 AND id <= 2003',
'SELECT * FROM w WHERE id > 5 AND id < 5',
'SELECT * FROM w WHERE id > NULL',
'SELECT * FROM w WHERE a = 3 AND b > 100 AND b < 200',
'SELECT * FROM w WHERE a = 3 AND b IS NULL',
'SELECT * FROM w WHERE a IS NULL AND b < 30',
'SELECT * FROM w WHERE a IS NULL AND b IS NULL',
'SELECT * FROM w WHERE a IS NULL AND a = 3',
'SELECT * FROM w WHERE a IS NOT NULL AND b = 300',
'SELECT * FROM w WHERE b = 300 AND a > 2',
'SELECT * FROM w WHERE b > 390 AND a > 2 AND a < 40000',
'SELECT * FROM w WHERE a < 70000 AND b = -1',
'SELECT * FROM w WHERE d > ''2020-05-01'' AND e >= 20.5 AND e < 22',
'SELECT * FROM w WHERE d = ''2020-02-29''',
'SELECT * FROM w WHERE d = timestamp ''2020-02-29 00:00''',
'SELECT * FROM w WHERE d = timestamp ''2020-02-29 00:01''',
'SELECT * FROM w WHERE d < timestamp ''2020-02-29 00:01'' AND e > 5',
'SELECT * FROM w WHERE d <= timestamptz ''2020-02-29 00:01''',
'SELECT * FROM w WHERE f AND g > 7',
'SELECT * FROM w WHERE NOT f AND g = 2.5',
'SELECT * FROM w WHERE f = true AND g = 2.5::float4',
'SELECT * FROM w WHERE f IS TRUE AND g BETWEEN 1 AND 1.5',
'SELECT * FROM w WHERE f IS NULL',
'SELECT * FROM w WHERE c = ''a5''',
'SELECT * FROM w WHERE c >= ''y'' AND c < ''z2''',
'SELECT * FROM w WHERE c IN (''b10'', ''n'', '''', ''zzz'', NULL)',
'SELECT * FROM w WHERE c = ''n''::varchar',
-- row comparisons
'/*any*/ SELECT * FROM w WHERE (a, b) > (8, 100)',
'/*any*/ SELECT * FROM w WHERE (a, b) >= (8, 100) AND (a, b) <= (9, 50)',
'/*any*/ SELECT a, b FROM w WHERE (a, b) > (8, 100) ORDER BY a, b LIMIT 20',
'/*any*/ SELECT a, b FROM w WHERE (a, b) < (-3, NULL) ORDER BY a DESC, b DESC LIMIT 20',
'SELECT * FROM w WHERE (a, b) = (8, 100)',
'SELECT * FROM w WHERE (a, b) IN ((1, 2), (3, 310), (8, 100), (NULL, 3))',
'SELECT * FROM w WHERE ROW(a, b) IS NULL AND id < 2040',
-- OR, NOT, several indexes
'SELECT * FROM w WHERE id = 3 OR id = 700 OR a = 11',
'/*any*/ SELECT * FROM w WHERE (a = 3 OR b = 17) AND id < 600',
'/*any*/ SELECT * FROM w WHERE a = 4 AND c = ''b10''',
'/*any*/ SELECT * FROM w WHERE a <> 4 AND b = 99',
'/*any*/ SELECT * FROM w WHERE NOT (a < 11)',
'/*any*/ SELECT * FROM w WHERE a IS DISTINCT FROM 4 AND b = 99',
'/*any*/ SELECT * FROM w WHERE b IS NOT DISTINCT FROM 99',
'/*any*/ SELECT * FROM w WHERE id NOT IN (SELECT x FROM generate_series(5, 3000) x)',
-- order
'SELECT id FROM w ORDER BY id',
'SELECT id FROM w ORDER BY id DESC LIMIT 10',
'SELECT id FROM w ORDER BY id OFFSET 1100',
'SELECT a, b FROM w ORDER BY a, b',
'SELECT a, b FROM w ORDER BY a DESC, b DESC',
'SELECT a, b FROM w ORDER BY b DESC, a NULLS FIRST',
'SELECT a, b FROM w ORDER BY b ASC NULLS LAST, a DESC NULLS LAST LIMIT 100',
'/*any*/ SELECT a, b FROM w ORDER BY a NULLS FIRST, b LIMIT 30',
'SELECT a, b FROM w WHERE a = 5 ORDER BY b LIMIT 10',
'SELECT a, b FROM w WHERE a = 5 ORDER BY b DESC',
'SELECT a, b FROM w WHERE a IS NULL ORDER BY b DESC NULLS FIRST',
'SELECT a, b FROM w WHERE b BETWEEN 100 AND 120 ORDER BY b DESC, a NULLS FIRST',
'SELECT d, e FROM w WHERE d < ''2020-03-03'' ORDER BY d, e DESC NULLS LAST',
'SELECT c FROM w ORDER BY c LIMIT 60',
'SELECT c FROM w ORDER BY c DESC LIMIT 60',
'SELECT c FROM w WHERE c > ''k'' ORDER BY c LIMIT 40',
'SELECT f, g FROM w ORDER BY f, g',
-- aggregates
'SELECT min(id), max(id) FROM w',
'SELECT min(a), max(a) FROM w WHERE a < 3',
'SELECT max(b) FROM w WHERE b < 100',
'SELECT min(b) FROM w WHERE a = 5',
'SELECT min(c), max(c) FROM w',
'SELECT max(d) FROM w WHERE d < ''1999-01-01''',
'SELECT a, min(b), max(b), count(*) FROM w GROUP BY a ORDER BY a',
'SELECT DISTINCT a FROM w ORDER BY a',
'SELECT DISTINCT a, b FROM w WHERE a > 8 ORDER BY a, b',
'SELECT DISTINCT ON (a) a, b FROM w ORDER BY a, b',
'SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b), rank() OVER (PARTITION BY a ORDER BY b) FROM w WHERE a > 9 ORDER BY a, b, 3',
'SELECT count(*) FROM w WHERE a = 3',
'SELECT count(*), count(a), sum(a) FROM w WHERE a >= 0',
-- joins
'SELECT x.id, y.id FROM w x JOIN w y ON y.id = x.b WHERE x.a = 4',
'SELECT count(*), sum(x.id + y.id) FROM w x JOIN w y USING (a, b)',
'SELECT x.id, y.id FROM w x LEFT JOIN w y ON y.id = x.b AND y.a > 0 WHERE x.a = 4',
'SELECT x.id FROM w x WHERE x.a = 2 AND NOT EXISTS (SELECT FROM w y WHERE y.id = x.b)',
'SELECT x.id FROM w x WHERE x.a = 2 AND EXISTS (SELECT FROM w y WHERE y.b = x.id)',
'SELECT x.id, l.b FROM (VALUES (3), (4), (NULL), (700)) x (id) LEFT JOIN LATERAL (SELECT b FROM w WHERE a = x.id ORDER BY b LIMIT 2) l ON true',
'SELECT s.x, w.id FROM generate_series(1, 2000, 400) s (x) JOIN w ON w.b < s.x / 200 AND w.b > s.x / 400',
'SELECT x.id FROM w x JOIN w y ON x.a = y.b AND x.b = y.a WHERE y.id < 40',
'SELECT x.id FROM w x JOIN (VALUES (1::int8), (9999999999), (12)) v (i) ON x.id = v.i',
'SELECT count(*) FROM w x FULL JOIN w y ON x.id = y.b',
'(SELECT id FROM w WHERE a = 3) INTERSECT (SELECT id FROM w WHERE b > 200)',
'WITH RECURSIVE r (id) AS (VALUES (1) UNION SELECT w.b::int FROM r JOIN w ON w.id = r.id WHERE w.b IS NOT NULL) SELECT id FROM r',
-- a loose scan of distinct values by recursion
'WITH RECURSIVE r (a) AS ((SELECT a FROM w ORDER BY a LIMIT 1) UNION ALL SELECT (SELECT w.a FROM w WHERE w.a > r.a ORDER BY w.a LIMIT 1) FROM r WHERE r.a IS NOT NULL) SELECT a FROM r']);

-- Conditions without end on one column, and behind an open one
SELECT play('many conditions',
'CREATE TABLE w (a int, b int, c int)',
'INSERT INTO w SELECT i % 17, i % 29, i FROM generate_series(1, 2000) i',
'CREATE INDEX w_ab ON w USING @am (a, b, c)',
'SELECT count(*) FROM w WHERE a >= 3' || (SELECT string_agg(' AND b > ' || 3 - i, '') FROM generate_series(1, 300) i),
'SELECT count(*) FROM w WHERE a >= 3' || (SELECT string_agg(' AND b <= ' || 3 + i || ' AND c > ' || -i, '') FROM generate_series(1, 200) i),
'SELECT count(*) FROM w WHERE a > 1 AND b = ANY (''{' || (SELECT string_agg(((i * 7) % 1000)::text, ',') FROM generate_series(1, 3000) i) || '}'')',
'SELECT count(*) FROM w WHERE a = ANY (''{1,2,3,4,5,6,7}'') AND b = ANY (''{1,2,3,4,5,6,7,8,9,10,11,12,13,14}'') AND c = ANY (''{' || (SELECT string_agg((i * 3)::text, ',') FROM generate_series(1, 500) i) || '}'')',
'SELECT a, b, c FROM w WHERE a IN (3, 1, 9) AND b > 20 AND c IN (1, 88, 105, 1800, 1919, 53, 22, 1000) ORDER BY a, b, c',
'SELECT a, b, c FROM w WHERE a IN (3, 1, 9) AND b > 20 AND c IN (1, 88, 105, 1800, 1919, 53, 22, 1000) ORDER BY a DESC, b DESC, c DESC',
'SELECT a, b, c FROM w WHERE a IN (3, 1, 9) AND c < 200 ORDER BY a, b, c');

SELECT play('places of NULLs',
'CREATE TABLE n (i int, a int, b text)',
'INSERT INTO n SELECT i, CASE WHEN i % 4 > 0 THEN i % 7 END, CASE WHEN i % 5 > 0 THEN chr(97 + i % 6) END FROM generate_series(1, 200) i',
'CREATE INDEX n_0 ON n USING @am (a, b @key)',
'CREATE INDEX n_1 ON n USING @am (a DESC, b @key DESC NULLS LAST)',
'CREATE INDEX n_2 ON n USING @am (a NULLS FIRST, b @key)',
'CREATE INDEX n_3 ON n USING @am (b @key DESC, a DESC NULLS LAST)');
SELECT play('places of NULLs',
	format('SELECT a, b FROM n %s ORDER BY a %s, b %s', w, o1, o2))
FROM unnest(ARRAY['', 'WHERE a IS NULL', 'WHERE a = 3', 'WHERE a IN (1, 2, NULL)', 'WHERE a > 4 AND b IS NULL', 'WHERE a IS NOT NULL AND b > ''c''']) w,
	(VALUES ('', ''), ('DESC', 'DESC'), ('DESC', 'DESC NULLS LAST'), ('', 'NULLS FIRST'), ('NULLS FIRST', ''), ('DESC NULLS LAST', 'DESC')) o (o1, o2);
SELECT play('places of NULLs',
	format('SELECT b, a FROM n %s ORDER BY b DESC, a DESC NULLS LAST', w))
FROM unnest(ARRAY['', 'WHERE b IS NULL', 'WHERE b < ''d''', 'WHERE b IN (''a'', ''f'') AND a IS NULL']) w;
SELECT play('places of NULLs',
'SELECT min(a), max(a), min(b), max(b) FROM n',
'SELECT min(a) FROM n WHERE b IS NULL',
'/*any*/ SELECT count(*) FROM n WHERE a IS NOT DISTINCT FROM NULL');

SELECT play('collations',
$$CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)$$,
$$CREATE COLLATION german (provider = icu, locale = 'de-u-co-phonebk')$$,
'CREATE TABLE s (i int, c text COLLATE "C", d text, p text COLLATE "POSIX", u text COLLATE "und-x-icu", g text COLLATE german, n text COLLATE nocase, v varchar(30) COLLATE german)',
$$INSERT INTO s SELECT i, x, x, x, x, x, x, x FROM unnest(ARRAY['a', 'A', 'b', 'B', 'ä', 'Ä', 'ae', 'af', 'ad', 'z', 'ß', 'ss', 'SS', 'é', 'e', 'E', 'f', '', ' ', 'a b', 'ab', 'a-b', 'a' || chr(1), chr(1), 'ø', 'o', 'ö', 'oe', 'of', chr(65533), chr(128512), 'zz', 'Zz', NULL]) WITH ORDINALITY y (x, i)$$,
'CREATE INDEX s_c ON s USING @am (c @key)',
'CREATE INDEX s_d ON s USING @am (d @key)',
'CREATE INDEX s_p ON s USING @am (p @key DESC)',
'CREATE INDEX s_u ON s USING @am (u @key)',
'CREATE INDEX s_g ON s USING @am (g @key DESC NULLS LAST)',
'CREATE INDEX s_n ON s USING @am (n @key)',
'CREATE INDEX s_v ON s USING @am (v @key)',
'CREATE INDEX s_cu ON s USING @am (c COLLATE "und-x-icu" @key)',
'CREATE INDEX s_n2 ON s USING @am (n @key, i) INCLUDE (c)');
SELECT play('collations', format('SELECT i, %1$s FROM s WHERE %1$s %2$s', c, w))
FROM unnest(ARRAY['c', 'd', 'p', 'u', 'g', 'n', 'v']) c,
	unnest(ARRAY['= ''a''', '= ''SS''', 'IN (''A'', ''b'', ''ss'', ''Ö'', '''')', '> ''a''', '>= ''ä'' AND %1$s < ''f''', '< ''b''', '<= ''''', 'IS NULL', '= ''Zz''::varchar', 'BETWEEN ''A'' AND ''b''']) t,
	format(t, c) w;
SELECT play('collations', format('SELECT %s FROM s ORDER BY %1$s %s', c, o))
FROM (VALUES ('c', ''), ('c', 'DESC'), ('d', ''), ('p', 'DESC'), ('p', ''), ('u', ''), ('u', 'DESC'), ('g', 'DESC NULLS LAST'), ('g', 'NULLS FIRST'), ('v', '')) x (c, o);
SELECT play('collations',
'SELECT count(DISTINCT n), min(lower(n)), max(lower(n)) FROM s',
'SELECT lower(n) FROM s ORDER BY n, 1',
'SELECT lower(min(n)), lower(max(n)) FROM s WHERE n > ''a''',
'SELECT i FROM s WHERE c COLLATE "und-x-icu" > ''ä''',
'SELECT i FROM s WHERE c > ''A'' COLLATE "und-x-icu" AND c < ''b'' COLLATE "und-x-icu"',
'/*any*/ SELECT i FROM s WHERE u = ''a'' COLLATE "C"',
'/*any*/ SELECT i FROM s WHERE c LIKE ''a%''',
'/*any*/ SELECT i FROM s WHERE starts_with(c, ''a'')',
'SELECT x.i, y.i FROM s x JOIN s y ON x.n = y.n WHERE x.i < 10',
'CREATE UNIQUE INDEX s_un ON s USING @am (n @key)',
'CREATE TABLE su (n text COLLATE nocase, v int)',
'CREATE UNIQUE INDEX su_n ON su USING @am (n @key)',
'INSERT INTO su VALUES (''Straße'', 1), (''x'', 2)',
'INSERT INTO su VALUES (''STRASSE'', 3)',
'INSERT INTO su VALUES (''X'', 3)',
'INSERT INTO su VALUES (''X'', 3), (''y'', 4), (''Y'', 5) ON CONFLICT DO NOTHING',
'INSERT INTO su VALUES (''sTRASSE'', 3), (''strasze'', 4) ON CONFLICT (n) DO UPDATE SET v = su.v * 10, n = excluded.n',
'INSERT INTO su VALUES (''x'', 3) ON CONFLICT (n COLLATE "C") DO NOTHING',
'INSERT INTO su VALUES (''x'', 3) ON CONFLICT (n COLLATE nocase) DO NOTHING',
'DELETE FROM su WHERE n = ''X''',
'INSERT INTO su VALUES (''x'', 3)',
'UPDATE su SET n = upper(n)',
'UPDATE su SET n = ''x'' WHERE n = ''Y''',
'SELECT n, v FROM su WHERE n IN (''X'', ''y'')',
'SELECT v FROM su WHERE n >= ''straße'' AND n < ''Y'' ORDER BY n');

-- Statements such as those that are tried on a btree's uniqueness
SELECT play('conflicts',
'CREATE TABLE t (k int, fruit text, v int DEFAULT 0, note text)',
'CREATE UNIQUE INDEX t_k ON t USING @am (k)',
'CREATE UNIQUE INDEX t_fruit ON t USING @am (lower(fruit) @key, k)',
'CREATE UNIQUE INDEX t_big ON t USING @am (v) WHERE v > 100',
'INSERT INTO t VALUES (1, ''Apple''), (2, ''Pear''), (3, NULL), (NULL, ''None''), (NULL, ''none'')',
'INSERT INTO t VALUES (1, ''Fig'')',
'INSERT INTO t VALUES (4, ''Fig''), (5, ''Plum''), (4, ''Lime'')',
'INSERT INTO t VALUES (1, ''Fig'') ON CONFLICT (k) DO UPDATE SET fruit = excluded.fruit RETURNING *',
'INSERT INTO t VALUES (1, ''Fig'') ON CONFLICT (k) DO UPDATE SET fruit = t.fruit || excluded.fruit, note = ''twice'' RETURNING k, fruit, note',
'INSERT INTO t AS x VALUES (2, ''Nut'') ON CONFLICT (k) DO UPDATE SET (fruit, v) = (excluded.fruit, x.v + 1) WHERE x.fruit <> excluded.fruit RETURNING x.*',
'INSERT INTO t AS x VALUES (2, ''Nut'') ON CONFLICT (k) DO UPDATE SET v = x.v + 1 WHERE x.fruit <> excluded.fruit RETURNING x.*',
'INSERT INTO t VALUES (2, ''Nut'') ON CONFLICT (k) DO UPDATE SET v = (SELECT count(*) FROM t), note = (SELECT excluded.fruit) RETURNING *',
'INSERT INTO t VALUES (1, ''kiwi'') ON CONFLICT (k, lower(fruit)) DO NOTHING',
'INSERT INTO t VALUES (8, ''Kiwi'') ON CONFLICT (lower(fruit), k) DO NOTHING',
'INSERT INTO t VALUES (8, ''kiwI'') ON CONFLICT (lower(fruit), k) DO UPDATE SET note = ''by both''',
'INSERT INTO t VALUES (9, ''a'') ON CONFLICT (fruit) DO NOTHING',
'INSERT INTO t VALUES (9, ''a'') ON CONFLICT (k, v) DO NOTHING',
'INSERT INTO t VALUES (9, ''a'') ON CONFLICT (lower(fruit COLLATE "C"), k) DO NOTHING',
'INSERT INTO t VALUES (9, ''a'') ON CONFLICT (upper(fruit), k) DO NOTHING',
'INSERT INTO t VALUES (10, ''b'', 200)',
'INSERT INTO t VALUES (11, ''c'', 200)',
'INSERT INTO t VALUES (11, ''c'', 200) ON CONFLICT (v) DO NOTHING',
'INSERT INTO t VALUES (11, ''c'', 200) ON CONFLICT (v) WHERE v > 100 DO NOTHING',
'INSERT INTO t VALUES (11, ''c'', 200) ON CONFLICT (v) WHERE v > 150 DO UPDATE SET note = ''implied'' RETURNING *',
'INSERT INTO t VALUES (11, ''c'', 50) ON CONFLICT (v) WHERE v > 100 DO UPDATE SET note = ''no conflict'' RETURNING *',
'INSERT INTO t VALUES (12, ''d'', 60), (13, ''e'', 60)',
'UPDATE t SET v = 200 WHERE k = 12',
'UPDATE t SET v = 300 WHERE k IN (12, 13)',
'INSERT INTO t SELECT 100 + i % 5, ''dup '' || i FROM generate_series(1, 20) i ON CONFLICT DO NOTHING',
'INSERT INTO t SELECT 100 + i % 5, ''dup '' || i FROM generate_series(1, 20) i ON CONFLICT (k) DO UPDATE SET note = excluded.fruit',
'INSERT INTO t SELECT 200 + i % 5, ''dup '' || i FROM generate_series(1, 20) i ON CONFLICT (k) DO UPDATE SET note = excluded.fruit',
'INSERT INTO t SELECT k, fruit, v FROM t ON CONFLICT (k) DO UPDATE SET note = ''all''',
'INSERT INTO t VALUES (1, ''x'') ON CONFLICT (k) DO UPDATE SET k = 2',
'INSERT INTO t VALUES (1, ''x'') ON CONFLICT (k) DO UPDATE SET k = 1000 RETURNING *',
'INSERT INTO t VALUES (1, ''x'') ON CONFLICT (k) DO UPDATE SET k = -1 RETURNING *',
'INSERT INTO t VALUES (NULL, ''x''), (NULL, ''x'') ON CONFLICT (k) DO UPDATE SET note = ''never'' RETURNING *',
'WITH up AS (UPDATE t SET v = v + 1 WHERE k < 3 RETURNING k), ins AS (INSERT INTO t SELECT k + 500, ''cte'' FROM up ON CONFLICT (k) DO UPDATE SET note = ''cte'' RETURNING *) SELECT k, fruit FROM ins',
'WITH ins AS (INSERT INTO t VALUES (2, ''again'') ON CONFLICT (k) DO UPDATE SET note = ''1'' RETURNING *), ins2 AS (INSERT INTO t VALUES (2, ''again'') ON CONFLICT (k) DO UPDATE SET note = ''2'' RETURNING *) SELECT count(*) FROM ins, ins2',
'UPDATE t SET k = k + 1 WHERE k BETWEEN 100 AND 104',
'UPDATE t SET k = k - 1 WHERE k BETWEEN 100 AND 104',
'UPDATE t SET k = k * -1 WHERE k BETWEEN 100 AND 104',
'UPDATE t SET k = 7',
'DELETE FROM t WHERE k = 2',
'INSERT INTO t VALUES (2, ''back'')',
-- a rule, a view, inheritance
'CREATE VIEW tv AS SELECT k, fruit FROM t WHERE k > 0',
'INSERT INTO tv VALUES (2, ''by view'') ON CONFLICT (k) DO UPDATE SET fruit = excluded.fruit RETURNING *',
'CREATE TABLE source (k int, fruit text)',
'CREATE RULE r AS ON INSERT TO source DO INSTEAD INSERT INTO t VALUES (new.k, new.fruit) ON CONFLICT (k) DO UPDATE SET note = ''by rule''',
'INSERT INTO source VALUES (2, ''a''), (77, ''b''), (77, ''c'')',
'INSERT INTO source VALUES (2, ''a''), (77, ''b'')',
'CREATE TABLE child () INHERITS (t)',
'CREATE UNIQUE INDEX child_k ON child USING @am (k)',
'INSERT INTO child VALUES (2, ''child'')',
'INSERT INTO child VALUES (2, ''child'') ON CONFLICT (k) DO UPDATE SET note = ''child'' RETURNING *',
'INSERT INTO t VALUES (2, ''parent'') ON CONFLICT (k) DO UPDATE SET note = ''parent'' RETURNING *',
'SELECT k, fruit, note FROM t WHERE k = 2',
-- triggers that change keys
'CREATE FUNCTION even() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN new.k := new.k / 2 * 2; RETURN new; END''',
'CREATE TRIGGER even BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION even()',
'INSERT INTO t VALUES (3, ''made even'') ON CONFLICT (k) DO UPDATE SET note = excluded.fruit RETURNING *',
'INSERT INTO t VALUES (601, ''made even''), (600, ''dup'') ON CONFLICT (k) DO NOTHING',
'INSERT INTO t VALUES (603, ''made even''), (602, ''dup'')',
-- generated columns, dropped columns
'CREATE TABLE g (gone int, a int, gone2 text, b int GENERATED ALWAYS AS (a % 10) STORED, c text)',
'ALTER TABLE g DROP COLUMN gone, DROP COLUMN gone2',
'CREATE UNIQUE INDEX g_b ON g USING @am (b) INCLUDE (c)',
'INSERT INTO g (a, c) VALUES (1, ''x''), (2, ''y'')',
'INSERT INTO g (a, c) VALUES (11, ''z'')',
'INSERT INTO g (a, c) VALUES (11, ''z''), (5, ''w'') ON CONFLICT (b) DO UPDATE SET a = excluded.a, c = g.c || excluded.c RETURNING *',
'INSERT INTO g (a, c) VALUES (21, ''z'') ON CONFLICT (b) DO UPDATE SET a = 2',
'SELECT b, c FROM g WHERE b IN (1, 5)');

SELECT play('NULLS NOT DISTINCT',
'CREATE TABLE t (a int, b text, c int)',
'CREATE UNIQUE INDEX t_ab ON t USING @am (a, b @key) NULLS NOT DISTINCT',
'INSERT INTO t VALUES (1, NULL, 1), (NULL, ''x'', 2), (NULL, NULL, 3), (1, ''x'', 4)',
'INSERT INTO t VALUES (1, NULL, 5)',
'INSERT INTO t VALUES (NULL, ''x'', 5)',
'INSERT INTO t VALUES (NULL, NULL, 5)',
'INSERT INTO t VALUES (NULL, NULL, 5), (2, NULL, 6), (2, NULL, 7) ON CONFLICT DO NOTHING RETURNING *',
'INSERT INTO t VALUES (NULL, NULL, 8), (3, NULL, 9) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c RETURNING *',
'UPDATE t SET b = NULL WHERE a = 1 AND b = ''x''',
'DELETE FROM t WHERE a IS NULL AND b IS NULL',
'INSERT INTO t VALUES (NULL, NULL, 10)',
'SELECT * FROM t WHERE a IS NULL AND b IS NULL',
'CREATE TABLE d (a int)',
'INSERT INTO d VALUES (NULL), (NULL)',
'CREATE UNIQUE INDEX d_a ON d USING @am (a) NULLS NOT DISTINCT',
'CREATE UNIQUE INDEX d_a ON d USING @am (a)',
'INSERT INTO d VALUES (NULL), (1)',
'INSERT INTO d VALUES (NULL) ON CONFLICT (a) DO UPDATE SET a = 5 RETURNING *',
'INSERT INTO d VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 5 RETURNING *');

SELECT play('partial, expression and INCLUDE',
'CREATE TABLE o (id int, state text, total numeric, tags text[], at timestamptz, pad text)',
'INSERT INTO o SELECT i, (ARRAY[''open'', ''done'', ''lost''])[1 + i % 3], i * 1.10, ARRAY[''t'' || i % 4], timestamptz ''2024-01-01 00:00+00'' + i * interval ''1 hour'', repeat(''p'', i % 300) FROM generate_series(1, 900) i',
'CREATE INDEX o_open ON o USING @am (total) WHERE state = ''open''',
'CREATE UNIQUE INDEX o_done ON o USING @am ((id * 2)) WHERE state = ''done''',
'CREATE INDEX o_day ON o USING @am (((at AT TIME ZONE ''UTC'')::date), id DESC)',
'CREATE INDEX o_tag ON o USING @am ((tags[1]) @key, state @key)',
'CREATE UNIQUE INDEX o_inc ON o USING @am (id) INCLUDE (total, pad, tags)',
'ANALYZE o',
'SELECT id FROM o WHERE state = ''open'' AND total > 900',
'SELECT id FROM o WHERE state IN (''open'') AND total BETWEEN 100 AND 120',
'/*any*/ SELECT id FROM o WHERE total > 960',
'SELECT id FROM o WHERE id * 2 = 1000 AND state = ''done''',
'SELECT id FROM o WHERE id * 2 > 1700 AND state = ''done''',
'SELECT id FROM o WHERE (at AT TIME ZONE ''UTC'')::date = ''2024-01-09'' ORDER BY id DESC',
'SELECT id FROM o WHERE (at AT TIME ZONE ''UTC'')::date IN (''2024-01-09'', ''2024-02-01'') AND id < 205',
'SELECT id FROM o WHERE tags[1] = ''t3'' AND state = ''lost''',
'SELECT id, total, length(pad), tags FROM o WHERE id BETWEEN 290 AND 310',
'SELECT id, tags FROM o WHERE id = 299',
'SELECT total, id FROM o WHERE id > 10 ORDER BY id LIMIT 5',
'UPDATE o SET state = ''done'' WHERE id % 3 = 0 AND id < 100',
'UPDATE o SET id = id + 1 WHERE id = 1',
'UPDATE o SET state = ''open'', total = -id WHERE id BETWEEN 700 AND 710',
'SELECT id FROM o WHERE state = ''open'' AND total < 0 ORDER BY total',
'INSERT INTO o (id, state) VALUES (2000, ''done''), (2001, ''done'')',
'INSERT INTO o (id, state) VALUES (2000, ''open'')',
'INSERT INTO o (id, state) VALUES (2000, ''done'') ON CONFLICT ((id * 2)) WHERE state = ''done'' DO UPDATE SET id = 2002 RETURNING id',
'INSERT INTO o (id, state, pad) VALUES (2001, ''x'', ''new'') ON CONFLICT (id) DO UPDATE SET pad = excluded.pad, total = NULL RETURNING id, pad',
'SELECT id, total, pad FROM o WHERE id >= 2000',
'CREATE UNIQUE INDEX o_bad ON o USING @am ((id / (id - 5)))',
'CREATE INDEX o_now ON o USING @am ((at > now()))',
'CREATE UNIQUE INDEX o_once ON o USING @am ((1)) WHERE id = 3',
'INSERT INTO o (id) VALUES (3)',
-- more of INCLUDE
'CREATE TABLE inc (a int, b int, c box, d name, e text)',
'INSERT INTO inc SELECT i, i % 3, box(point(i, i), point(0, 0)), ''name'' || i, repeat(md5(i::text), 10) FROM generate_series(1, 120) i',
'CREATE UNIQUE INDEX inc_ab ON inc USING @am (a, b) INCLUDE (c, d, e)',
'SELECT a, b, c, d, length(e) FROM inc WHERE a IN (5, 6, 70)',
'SELECT c::text, d FROM inc WHERE a = 6 AND b = 0',
'CREATE UNIQUE INDEX inc_b ON inc USING @am (b) INCLUDE (a)',
'CREATE INDEX inc_x ON inc USING @am (a) INCLUDE ((b + 1))',
'CREATE INDEX inc_x ON inc USING @am (a) INCLUDE (b DESC)',
'CREATE INDEX inc_x ON inc USING @am (a) INCLUDE (a)',
'INSERT INTO inc VALUES (5, 2, NULL, NULL, NULL)',
'INSERT INTO inc VALUES (5, 3, NULL, NULL, NULL), (5, 2) ON CONFLICT (a, b) DO NOTHING',
'UPDATE inc SET c = NULL WHERE a = 5',
'SELECT a, b, c, d FROM inc WHERE a = 5',
'ALTER TABLE inc DROP COLUMN c',
'SELECT count(*) FROM pg_class WHERE relname = ''inc_ab'' AND relnamespace = ''core_@am''::regnamespace');

SELECT play('changes of the table',
'CREATE TABLE t (id int, v varchar(10), n numeric(8, 2), d timestamp, m text)',
'INSERT INTO t SELECT i, ''v'' || (i * 7) % 300, i / 3.0, timestamp ''2024-03-01'' + i * interval ''5 hours'', chr(97 + i % 26) FROM generate_series(1, 300) i',
'CREATE UNIQUE INDEX t_id ON t USING @am (id)',
'CREATE INDEX t_v ON t USING @am (v @key)',
'CREATE INDEX t_n ON t USING @am (n DESC)',
'CREATE INDEX t_d ON t USING @am (d)',
'CREATE INDEX t_e ON t USING @am ((id % 10), v @key)',
'ALTER TABLE t ALTER id TYPE bigint',
'SELECT id FROM t WHERE id = 17',
'INSERT INTO t VALUES (17)',
'INSERT INTO t VALUES (9999999999)',
'ALTER TABLE t ALTER id TYPE int USING (id % 100000)',
'ALTER TABLE t ALTER id TYPE int USING (id % 10)',
'ALTER TABLE t ALTER v TYPE varchar(40)',
'SELECT id FROM t WHERE v = ''v14''',
'ALTER TABLE t ALTER n TYPE numeric(10, 2)',
'ALTER TABLE t ALTER n TYPE numeric(10, 1)',
'SELECT id, n FROM t WHERE n > 95 ORDER BY n DESC',
'ALTER TABLE t ALTER d TYPE timestamptz USING d AT TIME ZONE ''UTC''',
'SELECT id FROM t WHERE d < ''2024-03-03 00:00+00''',
'ALTER TABLE t ALTER n TYPE float8',
'SELECT id FROM t WHERE n BETWEEN 10 AND 12',
'ALTER TABLE t ADD COLUMN x int DEFAULT 5',
'CREATE INDEX t_x ON t USING @am (x, id)',
'SELECT x, id FROM t WHERE x = 5 AND id < 10 ORDER BY id',
'ALTER TABLE t RENAME COLUMN x TO y',
'SELECT y, id FROM t WHERE y = 5 AND id < 10 ORDER BY id',
'ALTER TABLE t DROP COLUMN m',
'UPDATE t SET y = id WHERE id % 3 = 0',
'SELECT y, id FROM t WHERE y > 290',
'ALTER TABLE t ALTER id SET NOT NULL',
'ALTER TABLE t REPLICA IDENTITY USING INDEX t_id',
'ALTER TABLE t REPLICA IDENTITY USING INDEX t_v',
'ALTER INDEX t_v RENAME TO t_v2',
'ALTER INDEX t_e ALTER COLUMN 1 SET STATISTICS 500',
'ANALYZE t',
'SELECT id FROM t WHERE id % 10 = 3 AND v = ''v91''',
'REINDEX INDEX t_v2',
'REINDEX TABLE t',
'SELECT id FROM t WHERE v > ''v9'' ORDER BY v, id',
'TRUNCATE t',
'SELECT * FROM t WHERE id > 0',
'INSERT INTO t (id) VALUES (1), (2)',
'INSERT INTO t (id) VALUES (1)',
'DO $x$ BEGIN TRUNCATE t; INSERT INTO t (id) VALUES (1), (5), (6); DELETE FROM t WHERE id = 5; INSERT INTO t (id) VALUES (5); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END $x$',
'SELECT id FROM t WHERE id > 0',
'DO $x$ BEGIN DROP INDEX t_id; INSERT INTO t (id) VALUES (1); CREATE UNIQUE INDEX t_id ON t USING @am (id); EXCEPTION WHEN unique_violation THEN NULL; END $x$',
'INSERT INTO t (id) VALUES (1)',
'DO $x$ BEGIN FOR i IN 1 .. 5 LOOP TRUNCATE t; INSERT INTO t (id) SELECT generate_series(1, i * 3); END LOOP; END $x$',
'SELECT id FROM t WHERE id > 10 ORDER BY id DESC',
'ALTER TABLE t SET UNLOGGED',
'INSERT INTO t (id) VALUES (16), (17)',
'INSERT INTO t (id) VALUES (17)',
'ALTER TABLE t SET LOGGED',
'SELECT id FROM t WHERE id > 14',
'CREATE TABLE l (LIKE t INCLUDING ALL)',
'INSERT INTO l SELECT * FROM t',
'INSERT INTO l SELECT * FROM t WHERE id = 17',
'SELECT count(*), count(*) FILTER (WHERE indisunique) FROM pg_index WHERE indrelid = ''l''::regclass',
'SELECT id FROM l WHERE id IN (15, 17, 20)',
'CREATE SCHEMA core_@am_2',
'ALTER TABLE t SET SCHEMA core_@am_2',
'SELECT id FROM core_@am_2.t WHERE id = 3',
'DROP SCHEMA core_@am_2 CASCADE',
'CREATE MATERIALIZED VIEW mv AS SELECT i AS a, -i AS b FROM generate_series(1, 50) i',
'CREATE UNIQUE INDEX mv_a ON mv USING @am (a)',
'REFRESH MATERIALIZED VIEW mv',
'SELECT b FROM mv WHERE a = 7',
'CREATE TABLE made AS SELECT i AS a FROM generate_series(1, 3000) i',
'CREATE UNIQUE INDEX made_a ON made USING @am (a)',
'SELECT count(*) FROM made WHERE a BETWEEN 1000 AND 1999',
'ALTER TABLE made ALTER a TYPE int8',
'SELECT count(*) FROM made WHERE a BETWEEN 1000 AND 1999',
'DROP TABLE made');

SELECT play('definitions',
'CREATE TABLE t (a int, b text, c uuid, d int[], e point)',
'CREATE INDEX t_x ON t USING @am (a ASC NULLS LAST, c DESC)',
'SELECT replace(pg_get_indexdef(''t_x''::regclass), ''@am'', ''am'')',
'SELECT n, p, pg_index_column_has_property(''t_x''::regclass, n, p) FROM generate_series(1, 2) n, unnest(ARRAY[''asc'', ''desc'', ''nulls_first'', ''nulls_last'', ''orderable'', ''distance_orderable'', ''returnable'', ''search_array'', ''search_nulls'']) p ORDER BY 1, 2',
'SELECT p, pg_index_has_property(''t_x''::regclass, p) FROM unnest(ARRAY[''index_scan'', ''bitmap_scan'']) p',
'SELECT p, pg_indexam_has_property(oid, p) FROM pg_am, unnest(ARRAY[''can_order'', ''can_unique'', ''can_multi_col'', ''can_exclude'', ''can_include'']) p WHERE amname = ''@am''',
'CREATE INDEX t_y ON t USING @am (nosuch)',
'CREATE INDEX t_x ON t USING @am (a)',
'CREATE INDEX IF NOT EXISTS t_x ON t USING @am (a)',
'CREATE INDEX t_y ON t USING @am (a) WITH (nosuch = 1)',
'CREATE INDEX t_y ON t USING @am (e)',
'CREATE INDEX t_y ON t USING @am (a nosuch_ops)',
'CREATE INDEX t_y ON t USING @am (a COLLATE "C")',
'CREATE INDEX t_y ON t USING @am (a) TABLESPACE nosuch',
'CREATE INDEX ON t USING @am (a, a, a DESC)',
'CREATE UNIQUE INDEX ON t USING @am (c, a)',
'SELECT relname FROM pg_class c JOIN pg_index i ON indexrelid = c.oid WHERE indrelid = ''t''::regclass',
'INSERT INTO t (a, c) SELECT i, md5(i::text)::uuid FROM generate_series(1, 50) i',
'SELECT a FROM t WHERE a = 7',
'SELECT a FROM t WHERE a < 7 AND c > ''55555555-0000-0000-0000-000000000000'' ORDER BY a DESC',
'CREATE TABLE x (a int, b text, EXCLUDE USING @am (a WITH =))',
'INSERT INTO x VALUES (1), (2), (NULL), (NULL)',
'INSERT INTO x VALUES (2)',
'INSERT INTO x VALUES (2), (3) ON CONFLICT DO NOTHING',
'INSERT INTO x VALUES (2) ON CONFLICT ON CONSTRAINT x_a_excl DO NOTHING',
'INSERT INTO x VALUES (2) ON CONFLICT ON CONSTRAINT x_a_excl DO UPDATE SET b = ''''',
'INSERT INTO x VALUES (2) ON CONFLICT (a) DO NOTHING',
'ALTER TABLE x ADD EXCLUDE USING @am ((a % 2) WITH =) WHERE (a < 100)',
'ALTER TABLE x ADD EXCLUDE USING @am ((a % 1000) WITH =, lower(b) @key WITH =) WHERE (a < 100)',
'UPDATE x SET a = 2 WHERE a = 1',
'UPDATE x SET a = a + 1 WHERE a IN (1, 3)',
'CREATE TABLE z (a int, n int, CONSTRAINT z_a EXCLUDE USING @am (a WITH =) DEFERRABLE INITIALLY DEFERRED)',
'INSERT INTO z VALUES (1, 1), (2, 2), (3, 3)',
'DO $x$ BEGIN UPDATE z SET a = a + 1; SET CONSTRAINTS z_a IMMEDIATE; SET CONSTRAINTS z_a DEFERRED; END $x$',
'DO $x$ BEGIN INSERT INTO z VALUES (4, 5); SET CONSTRAINTS z_a IMMEDIATE; END $x$',
'DO $x$ BEGIN INSERT INTO z VALUES (4, 5); DELETE FROM z WHERE n = 3; SET CONSTRAINTS z_a IMMEDIATE; SET CONSTRAINTS z_a DEFERRED; END $x$',
'INSERT INTO z VALUES (4, 5) ON CONFLICT DO NOTHING',
'INSERT INTO z VALUES (4, 5) ON CONFLICT (a) DO NOTHING',
'SELECT * FROM z WHERE a = 4');

SELECT play('partitions',
'CREATE TABLE p (a int, b text, c int) PARTITION BY RANGE (a)',
'CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)',
'CREATE INDEX p_a ON p USING @am (a)',
'CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200) PARTITION BY HASH (c)',
'CREATE TABLE p20 PARTITION OF p2 FOR VALUES WITH (MODULUS 2, REMAINDER 0)',
'CREATE TABLE p21 (c int, gone int, b text, a int)',
'ALTER TABLE p21 DROP COLUMN gone',
'CREATE INDEX p21_a ON p21 USING @am (a)',
'ALTER TABLE p2 ATTACH PARTITION p21 FOR VALUES WITH (MODULUS 2, REMAINDER 1)',
'SELECT c.relname, i.inhparent::regclass FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid WHERE c.relkind IN (''i'', ''I'') AND c.relnamespace = ''core_@am''::regnamespace ORDER BY 1',
'INSERT INTO p SELECT (i * 7) % 200, ''b'' || i, i FROM generate_series(1, 600) i',
'SELECT a, c FROM p WHERE a BETWEEN 95 AND 105 ORDER BY a, c',
'SELECT a FROM p ORDER BY a LIMIT 300',
'SELECT a FROM p ORDER BY a DESC LIMIT 300',
'SELECT min(a), max(a) FROM p',
'SELECT a, c FROM p WHERE a IN (3, 103, 199, NULL)',
'ALTER TABLE p2 DETACH PARTITION p20',
'SELECT count(*) FROM p WHERE a > 90',
'SELECT count(*) FROM p20 WHERE a > 90',
'INSERT INTO p20 VALUES (500, ''out'', 1)',
'ALTER TABLE p2 ATTACH PARTITION p20 FOR VALUES WITH (MODULUS 2, REMAINDER 0)',
'DELETE FROM p20 WHERE a = 500',
'DELETE FROM p20 WHERE NOT satisfies_hash_partition(''p2''::regclass, 2, 0, c)',
'ALTER TABLE p2 ATTACH PARTITION p20 FOR VALUES WITH (MODULUS 2, REMAINDER 0)',
'CREATE UNIQUE INDEX p1_c ON p1 USING @am (c)',
'CREATE UNIQUE INDEX p20_c ON p20 USING @am (c)',
'CREATE UNIQUE INDEX p21_c ON p21 USING @am (c) WHERE b <> ''free''',
'INSERT INTO p SELECT a, ''new'', c FROM p ON CONFLICT DO NOTHING',
'INSERT INTO p VALUES (150, ''free'', 3), (150, ''free'', 3), (151, ''taken'', 3) ON CONFLICT DO NOTHING',
'UPDATE p SET a = 150 WHERE a = 7 AND c < 50',
'UPDATE p SET a = a + 100 WHERE a < 20',
'INSERT INTO p VALUES (300, ''none'', 3) ON CONFLICT DO NOTHING',
'INSERT INTO p VALUES (1, ''dup'', 1), (30, ''dup'', (SELECT min(c) FROM p1))',
'CREATE TABLE p3 PARTITION OF p DEFAULT',
'CREATE UNIQUE INDEX p3_c ON p3 USING @am (c)',
'INSERT INTO p VALUES (300, ''some'', 3) ON CONFLICT DO NOTHING',
'INSERT INTO p VALUES (300, ''some'', 3), (301, ''other'', 4) ON CONFLICT DO NOTHING RETURNING *',
'INSERT INTO p3 VALUES (302, ''third'', 3) ON CONFLICT (c) DO UPDATE SET b = ''third'' RETURNING *',
'INSERT INTO p1 VALUES (302, ''third'', 3) ON CONFLICT (c) DO UPDATE SET b = ''third'' RETURNING *',
'MERGE INTO p USING (VALUES (300, 3), (5, 7000), (301, 4)) v (a, c) ON p.a = v.a AND p.c = v.c WHEN MATCHED AND p.a = 301 THEN DELETE WHEN MATCHED THEN UPDATE SET b = ''merged'' WHEN NOT MATCHED THEN INSERT VALUES (v.a, ''inserted'', v.c)',
'SELECT * FROM p WHERE a >= 300',
'TRUNCATE p',
'INSERT INTO p SELECT i, ''b'' || i, i FROM generate_series(1, 199) i',
'SELECT c FROM p WHERE a IN (1, 150)',
'DROP INDEX p_a',
'/*any*/ SELECT c FROM p WHERE a IN (1, 150)',
'DROP TABLE p2',
'SELECT count(*) FROM p');

SELECT play('temporary and unlogged tables',
'CREATE TEMP TABLE @am_temp (a int, b text)',
'CREATE UNIQUE INDEX ON @am_temp USING @am (a)',
'CREATE INDEX ON @am_temp USING @am (b @key, a)',
'INSERT INTO @am_temp SELECT i, ''b'' || i % 10 FROM generate_series(1, 500) i',
'INSERT INTO @am_temp SELECT i, ''again'' FROM generate_series(400, 600) i ON CONFLICT (a) DO UPDATE SET b = excluded.b',
'INSERT INTO @am_temp VALUES (3)',
'SELECT a FROM @am_temp WHERE b = ''again'' AND a > 580',
'SELECT b, a FROM @am_temp ORDER BY b, a LIMIT 20',
'DELETE FROM @am_temp WHERE a % 2 = 0',
'SELECT count(*) FROM @am_temp WHERE a < 100',
'TRUNCATE @am_temp',
'INSERT INTO @am_temp VALUES (3)',
'SELECT a FROM @am_temp WHERE a > 0',
'DROP TABLE @am_temp',
'CREATE UNLOGGED TABLE u (a int, b text)',
'CREATE UNIQUE INDEX u_a ON u USING @am (a)',
'INSERT INTO u SELECT i, ''b'' || i % 10 FROM generate_series(1, 500) i',
'INSERT INTO u VALUES (3)',
'INSERT INTO u VALUES (3, ''c''), (501, ''d'') ON CONFLICT (a) DO UPDATE SET b = excluded.b',
'SELECT a, b FROM u WHERE a IN (3, 501)');

-- Types, with comparisons between them
SELECT play('types',
'CREATE TYPE colour AS ENUM (''red'', ''green'', ''blue'')',
'CREATE DOMAIN posint AS int CHECK (VALUE > 0)',
'CREATE TABLE y (i int, s int2, l int8, p posint, u uuid, by bytea, dt date, ts timestamp, tz timestamptz, tm time, iv interval, n numeric, f4 float4, f8 float8, ip inet, ci cidr, o oid, bo bool, c colour)',
$$INSERT INTO y SELECT i, i % 50 - 25, (i::int8 - 100) * 40000000000, i, md5((i % 90)::text)::uuid, decode(substr(md5(i::text), 1, 2 * (i % 6)), 'hex'),
	date '1999-12-25' + i % 40, timestamp '2024-03-30' + i * interval '20 minutes', timestamptz '2024-10-26 00:00+00' + i * interval '20 minutes',
	time '00:00' + i * interval '7 minutes', (i % 30) * interval '1 day' + (i % 7) * interval '24 hours', (i - 100) / 8.0, (i - 100) / 8.0, (i % 40 - 20) / 3.0,
	('10.0.' || i % 7 || '.' || i % 250)::inet, ('10.' || i % 7 || '.0.0/16')::cidr, i * 20000000::int8, i % 2 = 0, (ARRAY['red', 'green', 'blue'])[1 + i % 3]::colour
	FROM generate_series(1, 210) i$$,
$$INSERT INTO y (i, n, f4, f8, dt, ts, tz) VALUES (300, 'NaN', 'NaN', 'NaN', 'infinity', 'infinity', '-infinity'), (301, '0.000', '-0', '-0', '-infinity', '-infinity', 'infinity'), (302, '1.50', 'infinity', '-infinity', '0044-03-15 BC', '0044-03-15 BC', '0044-03-15 BC')$$);
SELECT play('types', format('CREATE INDEX y_%1$s ON y USING @am (%1$s %2$s)', c, (ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'])[1 + n % 4]))
FROM unnest(ARRAY['i', 's', 'l', 'p', 'u', 'by', 'dt', 'ts', 'tz', 'tm', 'iv', 'n', 'f4', 'f8', 'ip', 'ci', 'o', 'bo', 'c']) WITH ORDINALITY x (c, n);
SELECT play('types', 'SET timezone = ''Europe/Berlin''');
SELECT play('types', format('SELECT i FROM y WHERE %s %s %s', c, o, v))
FROM (VALUES ('s', '3::int8'), ('s', '-70000'), ('l', '0::int2'), ('l', '-120000000000'), ('p', '17'), ('u', '''c81e728d-9d4c-2f63-6f06-7f89cc14862c'''),
	('by', '''\x'''), ('by', '''\xc4'''), ('by', '''\xc4ca'''), ('dt', 'date ''2000-01-01'''), ('dt', 'timestamp ''2000-01-01 12:00'''), ('dt', 'timestamptz ''2000-01-01 00:00+01'''),
	('dt', 'timestamp ''infinity'''), ('dt', 'timestamptz ''-infinity'''), ('ts', 'timestamptz ''2024-03-31 02:00+01'''), ('ts', 'timestamptz ''2024-03-31 03:20+02'''),
	('ts', 'date ''2024-03-31'''), ('ts', 'timestamp ''2024-03-31 02:20'''), ('ts', 'date ''infinity'''), ('tz', 'timestamp ''2024-10-27 02:20'''), ('tz', 'timestamp ''2024-10-27 03:00'''), ('tz', 'date ''2024-10-27'''), ('tz', '''infinity'''),
	('tm', '''11:40'''), ('iv', '''30 days'''), ('iv', '''5 days'''), ('n', '1.5'), ('n', '0'), ('n', '''NaN'''), ('n', '7::int'), ('f4', '1.5::float8'), ('f4', '0.1::float8'), ('f4', '0'), ('f4', '''NaN''::float8'),
	('f8', '0'), ('f8', '''infinity'''), ('f8', '(1.0 / 3)::float4'), ('f8', '1e300'), ('ip', '''10.0.3.44'''), ('ip', '''10.0.3.0/24'''), ('ci', '''10.2.0.0/16'''), ('o', '40000000'), ('o', '4000000000'), ('bo', 'true'), ('c', '''green''')) x (c, v),
	unnest(ARRAY['=', '<', '>=']) o
	WHERE NOT (c = 'bo' AND o = '=');
SELECT play('types', format('SELECT %1$s::text FROM y WHERE %1$s IS NOT NULL ORDER BY %1$s%2$s LIMIT 1', c, d))
FROM unnest(ARRAY['i', 's', 'l', 'p', 'u', 'by', 'dt', 'ts', 'tz', 'tm', 'n', 'f4', 'f8', 'ip', 'o', 'bo', 'c']) c, unnest(ARRAY['', ' DESC']) d;
SELECT play('types', format('SELECT count(*), count(DISTINCT %1$s) FROM y WHERE %1$s IN (SELECT %1$s FROM y WHERE i %% 5 = 2)', c))
FROM unnest(ARRAY['i', 's', 'l', 'p', 'u', 'by', 'dt', 'ts', 'tz', 'tm', 'iv', 'n', 'f4', 'f8', 'ip', 'o', 'bo', 'c']) c;
SELECT play('types',
'/*any*/ SELECT i FROM y WHERE ip << ''10.0.3.0/28''',
'/*any*/ SELECT i FROM y WHERE i = 7.0',
'/*any*/ SELECT i FROM y WHERE bo = true',
'/*any*/ SELECT i FROM y WHERE NOT bo AND i < 20',
'/*any*/ SELECT i FROM y WHERE i = 7.5',
'ALTER TYPE colour RENAME VALUE ''green'' TO ''lime''',
'SELECT count(*) FROM y WHERE c = ''lime''',
'SELECT count(*) FROM y WHERE c > ''red''',
'CREATE UNIQUE INDEX y_f ON y USING @am (f8, n)',
'CREATE UNIQUE INDEX y_z ON y USING @am (f4)',
'INSERT INTO y (i, f4) VALUES (400, ''-0'')',
'INSERT INTO y (i, f4) VALUES (400, ''NaN'')',
'CREATE TABLE q (n numeric, iv interval, ip inet)',
'CREATE UNIQUE INDEX q_n ON q USING @am (n)',
'CREATE UNIQUE INDEX q_iv ON q USING @am (iv)',
'CREATE UNIQUE INDEX q_ip ON q USING @am (ip)',
'INSERT INTO q VALUES (1.0, ''1 month'', ''10.0.0.1''), (2.00, ''1 day'', ''10.0.0.1/24'')',
'INSERT INTO q VALUES (1.000)',
'INSERT INTO q (iv) VALUES (''30 days'')',
'INSERT INTO q (iv) VALUES (''24 hours'')',
'INSERT INTO q (ip) VALUES (''10.0.0.1/32'')',
'INSERT INTO q VALUES (1.00), (2.0), (3) ON CONFLICT (n) DO UPDATE SET n = q.n + 0.000',
'SELECT n FROM q WHERE n = 1',
'SELECT iv FROM q WHERE iv = ''720 hours''');

-- Transactions inside of a statement
SELECT play('subtransactions',
'CREATE TABLE t (k int, v text)',
'CREATE UNIQUE INDEX t_k ON t USING @am (k)',
'DO $x$ BEGIN FOR i IN 1 .. 200 LOOP BEGIN INSERT INTO t VALUES ((i * 7) % 60, ''a''); IF i % 4 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN unique_violation OR division_by_zero THEN NULL; END; END LOOP; END $x$',
'SELECT k FROM t WHERE k >= 0',
'DO $x$ BEGIN FOR i IN 1 .. 200 LOOP BEGIN INSERT INTO t VALUES (i % 90, ''b'') ON CONFLICT (k) DO UPDATE SET v = t.v || ''+''; IF i % 3 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN unique_violation OR division_by_zero THEN NULL; END; END LOOP; END $x$',
'SELECT k, v FROM t WHERE k >= 0',
'DO $x$ DECLARE n int; BEGIN FOR i IN 100 .. 300 LOOP BEGIN INSERT INTO t VALUES (i, ''c''); DELETE FROM t WHERE k = i; BEGIN INSERT INTO t VALUES (i, ''d''); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; SELECT count(*) INTO n FROM t WHERE k = i; IF n > 0 THEN RAISE ''seen''; END IF; IF i % 2 = 0 THEN INSERT INTO t VALUES (i, ''e'') ON CONFLICT DO NOTHING; END IF; END; END LOOP; END $x$',
'SELECT k, v FROM t WHERE k >= 100',
'DO $x$ BEGIN UPDATE t SET k = -k WHERE k > 200; BEGIN UPDATE t SET k = -k WHERE k < -200; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; INSERT INTO t VALUES (202, ''f''); INSERT INTO t VALUES (-202, ''g''); EXCEPTION WHEN unique_violation THEN NULL; END $x$',
'SELECT k, v FROM t WHERE k > 200 OR k < 0',
'CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN IF new.k < 10000 THEN EXECUTE format(''''INSERT INTO %I.t VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = t.v || $2'''', tg_table_schema) USING new.k + 10000, ''''t''''; END IF; RETURN NULL; END''',
'CREATE TRIGGER again AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION again()',
'INSERT INTO t SELECT i, ''x'' FROM generate_series(1, 40) i ON CONFLICT (k) DO UPDATE SET v = ''x''',
'INSERT INTO t SELECT i, ''y'' FROM generate_series(20, 60) i ON CONFLICT DO NOTHING',
'SELECT k, v FROM t WHERE k > 10000',
'CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN IF new.k % 5 = 0 THEN RAISE division_by_zero; END IF; RETURN new; END''',
'CREATE TRIGGER fail BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fail()',
'INSERT INTO t SELECT i, ''z'' FROM generate_series(501, 506) i ON CONFLICT DO NOTHING',
'DO $x$ BEGIN FOR i IN 501 .. 530 LOOP BEGIN INSERT INTO t VALUES (i, ''z''), (i + 1, ''zz'') ON CONFLICT (k) DO UPDATE SET v = t.v || excluded.v; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $x$',
'SELECT k, v FROM t WHERE k BETWEEN 500 AND 600',
'MERGE INTO t USING generate_series(495, 509) i ON t.k = i WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = ''m'' WHEN NOT MATCHED AND i % 5 > 0 THEN INSERT VALUES (i, ''n'')',
'MERGE INTO t USING (VALUES (901), (901)) x (i) ON t.k = i WHEN NOT MATCHED THEN INSERT VALUES (i, ''n'')',
'SELECT k, v FROM t WHERE k BETWEEN 400 AND 600',
'COPY t FROM PROGRAM ''printf "701\\tc\\n702\\tc\\n701\\td\\n"''',
'COPY t FROM PROGRAM ''printf "701\\tc\\n702\\tc\\n"''',
'SELECT k, v FROM t WHERE k BETWEEN 700 AND 710');

-- Parameters that are known at execution, NULLs among them
SELECT play('generic plans',
'CREATE TABLE w (id int, a int, b int8, c text)',
'INSERT INTO w SELECT i, CASE WHEN i % 9 > 0 THEN i % 13 END, i % 40, ''c'' || i % 17 FROM generate_series(1, 700) i',
'CREATE UNIQUE INDEX w_id ON w USING @am (id)',
'CREATE INDEX w_ab ON w USING @am (a, b DESC)',
'CREATE INDEX w_c ON w USING @am (c @key, id)',
'CREATE FUNCTION one(x int) RETURNS SETOF w LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS ''BEGIN RETURN QUERY SELECT * FROM w WHERE id = x; END''',
'CREATE FUNCTION some(x int[]) RETURNS SETOF w LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS ''BEGIN RETURN QUERY SELECT * FROM w WHERE id = ANY (x) ORDER BY id; END''',
'CREATE FUNCTION pairs(x int[], y int8[], z int) RETURNS SETOF w LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS ''BEGIN RETURN QUERY SELECT * FROM w WHERE a = ANY (x) AND b = ANY (y) AND b < z; END''',
'CREATE FUNCTION bounds(x int, y int8, z text) RETURNS SETOF w LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS ''BEGIN RETURN QUERY SELECT * FROM w WHERE a >= x AND a <= x + 2 AND b > y OR c = z AND id < 300; END''',
'CREATE FUNCTION each_c() RETURNS SETOF bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS ''DECLARE v text; r record; BEGIN FOR v IN SELECT DISTINCT c FROM w LOOP FOR r IN SELECT id FROM w WHERE c = v AND id > 20 ORDER BY id LIMIT 11 LOOP RETURN NEXT r.id; END LOOP; END LOOP; END''',
'/*any*/ SELECT g, one(g) FROM unnest(ARRAY[1, 2, NULL, 700, 701, -5]) g',
'/*any*/ SELECT some(ARRAY[3, 1, 3, NULL, 900]), some(NULL), some(''{}'')',
'/*any*/ SELECT pairs(ARRAY[1, NULL, 5], ARRAY[3, 39, 3, 12], 30)',
'/*any*/ SELECT pairs(ARRAY[1, NULL, 5], NULL, 30)',
'/*any*/ SELECT pairs(ARRAY[1, NULL, 5], ARRAY[3, 39, 3, 12], NULL)',
'/*any*/ SELECT bounds(g, g * 3, ''c'' || g) FROM generate_series(-2, 14) g',
'/*any*/ SELECT bounds(NULL, 3, NULL), bounds(3, NULL, ''c5'')',
'/*any*/ SELECT each_c()',
'DELETE FROM w WHERE id % 2 = 0',
'/*any*/ SELECT each_c()',
'/*any*/ SELECT g, one(g) FROM unnest(ARRAY[1, 2, NULL, 700, 701, -5]) g');

\o
\echo == statements
SELECT section, count(*) FROM script GROUP BY section ORDER BY min(n);

\echo == differences
CALL play_all('none', true);
CALL play_all('flush', false);
CALL play_all('merge', true);
RESET timezone;

\echo == outside of transactions
DROP SCHEMA IF EXISTS core_btree, core_snii CASCADE;
CREATE SCHEMA core_btree;
CREATE SCHEMA core_snii;
SELECT replace(replace(s, '@s', 'core_' || am), '@am', am) FROM unnest(ARRAY[
'CREATE TABLE @s.v (id int, k text COLLATE "C", n int) WITH (autovacuum_enabled = off)',
'INSERT INTO @s.v SELECT i, ''k'' || i % 500, i % 11 FROM generate_series(1, 3000) i',
'CREATE UNIQUE INDEX CONCURRENTLY v_id ON @s.v USING @am (id)',
'CREATE INDEX CONCURRENTLY v_n ON @s.v USING @am (n, id DESC) WHERE id % 3 > 0',
'CREATE UNIQUE INDEX CONCURRENTLY v_dup ON @s.v USING @am (n)',
'DROP INDEX CONCURRENTLY @s.v_dup',
'DELETE FROM @s.v WHERE id % 5 = 0',
'VACUUM @s.v',
'INSERT INTO @s.v SELECT i, ''k'' || i % 70, i % 5 FROM generate_series(2500, 3800) i ON CONFLICT (id) DO UPDATE SET n = v.n + 100',
'UPDATE @s.v SET n = n + 1 WHERE id % 7 = 0',
'VACUUM (INDEX_CLEANUP ON) @s.v',
'REINDEX INDEX CONCURRENTLY @s.v_n',
'INSERT INTO @s.v VALUES (4000, ''k3'', 3), (3800, ''dup'', 1)',
'REINDEX TABLE CONCURRENTLY @s.v',
'DELETE FROM @s.v WHERE id > 3000',
'VACUUM (TRUNCATE ON) @s.v',
'INSERT INTO @s.v SELECT i, ''k'' || i % 70, i % 5 FROM generate_series(3001, 3300) i',
'VACUUM FULL @s.v',
'INSERT INTO @s.v SELECT i, ''k'' || i % 70, i % 5 FROM generate_series(3200, 3500) i ON CONFLICT DO NOTHING',
'VACUUM (ANALYZE) @s.v'
]) WITH ORDINALITY x (s, o), unnest(ARRAY['btree', 'snii']) am ORDER BY o, am
\gexec
SELECT d FROM unnest(ARRAY[
'SELECT * FROM v WHERE id IN (1, 5, 3000, 3001, 3100, 3500, 3501)',
'SELECT id FROM v ORDER BY id',
'SELECT n, id FROM v WHERE id % 3 > 0 AND n IN (3, 101, 104) ORDER BY n, id DESC',
'SELECT n, id FROM v WHERE id % 3 > 0 AND n > 99 ORDER BY n DESC, id',
'SELECT count(*) FROM v WHERE id BETWEEN 100 AND 3300'
]) q, LATERAL compare(q) d;
SELECT * FROM compare_tables();
SELECT count(*), sum((indisvalid AND indisready AND indislive)::int) AS valid FROM pg_index WHERE indrelid = 'core_snii.v'::regclass;
SELECT settle('check');
DROP SCHEMA core_btree, core_snii CASCADE;

DROP SCHEMA key_core CASCADE;
