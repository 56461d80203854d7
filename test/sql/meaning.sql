-- One meaning everywhere: whatever the level of a query, the plan and the moment,
-- a clause uses the analyzer of its column's index.
--
-- Of the rows below, analyzer standard finds "foo" in 1 and 2, whitespace in 2 alone,
-- keyword in 3 alone. EXPLAIN shows which one the planner took.
CREATE SCHEMA meaning;
SET search_path = meaning, public;
SET jit = off;
CREATE TABLE docs (id int, body text, title text);
INSERT INTO docs VALUES (1, 'Foo-Bar baz', 'Foo-Bar'), (2, 'foo bar', 'foo x'), (3, 'foo', 'foo'),
	(4, NULL, NULL), (5, 'x', 'x');
UPDATE docs SET body = 'foo', title = 'foo' WHERE id = 3;

-- shows(query): the analyzers in its plan, and its rows
CREATE FUNCTION shows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text[] := '{}';
	result text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		found := found || ARRAY(SELECT coalesce(m[1], m[2]) FROM
			regexp_matches(line, '''@(\w+) |snii_(?:any|all|phrase|websearch)\(''(\w+)''', 'g') m);
		IF line ~ '(\|\|\||&&&|###|match_(any|all|phrase))' THEN
			found := found || 'NOT REPLACED'::text;
		END IF;
	END LOOP;
	EXECUTE 'SELECT string_agg(s::text, '' '' ORDER BY s::text) FROM (' || query || ') s' INTO result;
	RETURN (SELECT string_agg(DISTINCT f, ', ') FROM unnest(found) f) || ': ' || coalesce(result, 'none');
END $$;

-- uses_index(query): does its plan have an index condition of ours?
CREATE FUNCTION uses_index(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Cond: .*@@@' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

-- each of these asks for the ids of rows whose body has "foo"
CREATE TABLE forms (n serial, what text, query text);
INSERT INTO forms (what, query) VALUES
	('table', 'SELECT id FROM docs WHERE body ||| ''foo'''),
	('function', 'SELECT id FROM docs d WHERE match_any(d.body, ''foo'')'),
	('all', 'SELECT id FROM docs WHERE body &&& ''foo'''),
	('phrase', 'SELECT id FROM docs WHERE body ### ''foo'''),
	('language', 'SELECT id FROM docs WHERE body @@@ ''+foo'''),
	('target list', 'SELECT id FROM (SELECT id, body ||| ''foo'' AS m FROM docs OFFSET 0) s WHERE m'),
	('not constant', 'SELECT id FROM docs WHERE body ||| (SELECT ''foo'')'),
	('casts', 'SELECT id FROM docs WHERE body::varchar::text COLLATE "C" ||| ''foo'''),
	('above a subquery', 'SELECT id FROM (SELECT * FROM docs) s WHERE body ||| ''foo'''),
	('above a barrier', 'SELECT id FROM (SELECT id, body AS b FROM docs OFFSET 0) s WHERE b ||| ''foo'''),
	('below a barrier', 'SELECT id FROM (SELECT id FROM docs WHERE body ||| ''foo'' OFFSET 0) s'),
	('two levels up', 'SELECT id FROM (SELECT * FROM (SELECT id, body AS b FROM docs OFFSET 0) s LIMIT 9) t WHERE b ||| ''foo'''),
	('limit', 'SELECT id FROM (SELECT * FROM docs ORDER BY id LIMIT 9) s WHERE body ||| ''foo'''),
	('distinct', 'SELECT id FROM (SELECT DISTINCT id, body FROM docs) s WHERE body ||| ''foo'''),
	('window', 'SELECT id FROM (SELECT id, body, row_number() OVER (ORDER BY id) FROM docs) s WHERE body ||| ''foo'''),
	('group by', 'SELECT min(id) FROM docs GROUP BY body, id HAVING body ||| ''foo'''),
	('above group by', 'SELECT id FROM (SELECT min(id) AS id, body FROM docs GROUP BY body OFFSET 0) s WHERE body ||| ''foo'''),
	('grouping sets', 'SELECT id FROM (SELECT id, body FROM docs GROUP BY GROUPING SETS ((id, body), ())) s WHERE body ||| ''foo'''),
	('filter', 'SELECT unnest(array_agg(id) FILTER (WHERE body ||| ''foo'')) FROM docs'),
	('cte', 'WITH c AS (SELECT * FROM docs) SELECT id FROM c WHERE body ||| ''foo'''),
	('materialized', 'WITH c AS MATERIALIZED (SELECT id, body AS b FROM docs) SELECT id FROM c WHERE b ||| ''foo'''),
	('cte of cte', 'WITH c AS MATERIALIZED (SELECT id, body AS b FROM docs), d AS MATERIALIZED (SELECT * FROM c) SELECT id FROM d WHERE b ||| ''foo'''),
	('cte from below', 'WITH c AS MATERIALIZED (SELECT * FROM docs) SELECT id FROM (SELECT (SELECT c.id FROM c WHERE c.id = docs.id AND c.body ||| ''foo'') AS id FROM docs) s WHERE id > 0'),
	('recursive', 'WITH RECURSIVE r AS (SELECT id, body FROM docs UNION ALL SELECT id + 10, body FROM r WHERE id < 0 AND body ||| ''foo'') SELECT id FROM r WHERE body ||| ''foo'''),
	('in the recursive term', 'WITH RECURSIVE r AS (SELECT id, body, 0 AS d FROM docs UNION ALL SELECT id, body, 1 FROM r WHERE d = 0 AND body ||| ''foo'') SELECT id FROM r WHERE d = 1'),
	('above union all', 'SELECT id FROM (SELECT id, body FROM docs UNION ALL SELECT 9, ''nothing'') s WHERE body ||| ''foo'''),
	('second branch', 'SELECT id FROM (SELECT 9 AS id, ''nothing'' AS body UNION ALL SELECT id, body FROM docs) s WHERE body ||| ''foo'''),
	('below union all', 'SELECT id FROM docs WHERE body ||| ''foo'' UNION ALL SELECT id FROM docs WHERE id < 0'),
	('above union', 'SELECT id FROM (SELECT id, body FROM docs UNION SELECT id, body FROM docs WHERE id < 3) s WHERE body ||| ''foo'''),
	('above except', 'SELECT id FROM (SELECT id, body FROM docs EXCEPT SELECT 9, ''x'') s WHERE body ||| ''foo'''),
	('union all of ctes', 'WITH c AS MATERIALIZED (SELECT * FROM docs) SELECT id FROM (SELECT id, body FROM c UNION ALL SELECT 9, ''n'') s WHERE body ||| ''foo'''),
	('view', 'SELECT id FROM docs_view WHERE b ||| ''foo'''),
	('clause in a view', 'SELECT id FROM foo_view'),
	('security barrier', 'SELECT id FROM docs_barrier WHERE body ||| ''foo'''),
	('view of a union', 'SELECT id FROM docs_union WHERE body ||| ''foo'''),
	('join', 'SELECT a.id FROM docs a JOIN docs b USING (id) WHERE a.body ||| ''foo'''),
	('merged column', 'SELECT a.id FROM docs a JOIN docs b USING (body) WHERE a.id = b.id AND body ||| ''foo'''),
	('join alias', 'SELECT j.i FROM (docs a CROSS JOIN (SELECT 1) one) AS j(i, b, t, o) WHERE b ||| ''foo'''),
	('outer join', 'SELECT b.id FROM docs a LEFT JOIN docs b ON a.id = b.id AND b.body ||| ''foo'' WHERE b.id > 0'),
	('above an outer join', 'SELECT a.id FROM (VALUES (1), (2), (3)) a(id) LEFT JOIN docs b USING (id) WHERE b.body ||| ''foo'''),
	('nullable side', 'SELECT id FROM (SELECT a.id, (b.body ||| ''foo'') AS m FROM docs a LEFT JOIN (SELECT id, body, 1 AS one FROM docs) b USING (id) OFFSET 0) s WHERE m'),
	('lateral', 'SELECT a.id FROM docs a, LATERAL (SELECT a.body AS b OFFSET 0) s WHERE b ||| ''foo'''),
	('lateral inside', 'SELECT a.id FROM docs a, LATERAL (SELECT 1 WHERE a.body ||| ''foo'' OFFSET 0) s'),
	('exists', 'SELECT id FROM docs a WHERE EXISTS (SELECT FROM docs b WHERE a.id = b.id AND b.body ||| ''foo'')'),
	('outer column', 'SELECT id FROM docs a WHERE EXISTS (SELECT FROM docs b WHERE b.id = 1 AND a.body ||| ''foo'')'),
	('not pulled up', 'SELECT id FROM docs a WHERE (SELECT count(*) FROM docs b WHERE a.id = b.id AND a.body ||| ''foo'') > 0'),
	('in', 'SELECT id FROM docs WHERE id IN (SELECT id FROM docs WHERE body ||| ''foo'')'),
	('not in', 'SELECT id FROM docs WHERE id NOT IN (SELECT id FROM docs WHERE (body ||| ''foo'') IS NOT TRUE)'),
	('scalar subquery', 'SELECT id FROM docs a WHERE (SELECT b.body FROM docs b WHERE b.id = a.id) ||| ''foo'''),
	('any of a subquery', 'SELECT id FROM docs WHERE body ||| ANY (SELECT ''foo'')'),
	('values', 'SELECT a.id FROM docs a, LATERAL (VALUES (a.body), (NULL)) v(b) WHERE b ||| ''foo'''),
	('inlined function', 'SELECT id FROM docs WHERE is_foo(body)'),
	('function in from', 'SELECT id FROM docs_of(9) WHERE body ||| ''foo'''),
	('case', 'SELECT id FROM docs WHERE CASE WHEN body ||| ''foo'' THEN true ELSE false END'),
	('or', 'SELECT id FROM docs WHERE body ||| ''foo'' OR id < 0'),
	('not not', 'SELECT id FROM docs WHERE NOT (NOT body ||| ''foo'')'),
	('is true', 'SELECT id FROM docs WHERE (body ||| ''foo'') IS TRUE'),
	('field of a row', 'SELECT id FROM (SELECT id, d FROM docs d OFFSET 0) s WHERE (d).body ||| ''foo'''),
	('tablesample', 'SELECT id FROM docs TABLESAMPLE system (100) WHERE body ||| ''foo'''),
	('order by', 'SELECT id FROM (SELECT id FROM docs ORDER BY (body ||| ''foo'') DESC NULLS LAST, id DESC LIMIT (SELECT count(*) FROM docs WHERE body ||| ''foo'')) s'),
	('array', 'SELECT id FROM docs WHERE (ARRAY[false, body ||| ''foo''])[2]'),
	('row type', 'SELECT (d).id FROM (SELECT d FROM docs d OFFSET 0) s WHERE (d).id > 0 AND (SELECT x.body FROM docs x WHERE x.id = (d).id) ||| ''foo''');
CREATE VIEW docs_view AS SELECT id, body AS b FROM docs;
CREATE VIEW foo_view AS SELECT id FROM docs WHERE body ||| 'foo';
CREATE VIEW docs_barrier WITH (security_barrier) AS SELECT * FROM docs WHERE id < 100;
CREATE VIEW docs_union AS SELECT id, body FROM docs UNION ALL SELECT 9, 'nothing';
CREATE FUNCTION is_foo(body text) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT body ||| ''foo''';
CREATE FUNCTION docs_of(max int) RETURNS SETOF docs LANGUAGE sql STABLE AS 'SELECT * FROM docs WHERE id < max';

CREATE VIEW answers AS SELECT shows(query), count(*), array_agg(what ORDER BY n) AS forms
	FROM forms GROUP BY 1 ORDER BY 2 DESC;
-- all of them the same, in each state
SELECT shows, count FROM answers;
CREATE INDEX docs_ws ON docs USING snii (body) WITH (analyzer = 'whitespace');
SELECT shows, count FROM answers;
SET enable_seqscan = off;
SELECT shows, count FROM answers;
RESET enable_seqscan;
SET enable_bitmapscan = off; SET enable_indexscan = off;
SELECT shows, count FROM answers;
RESET enable_bitmapscan; RESET enable_indexscan;
-- the lowest OID decides
CREATE INDEX docs_kw ON docs USING snii (body) WITH (analyzer = 'keyword');
SELECT shows, count FROM answers;
DROP INDEX docs_ws;
SELECT shows, count FROM answers;
-- a valid one
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'docs_kw'::regclass;
COMMENT ON TABLE docs IS 'touched';
DISCARD ALL;
SET search_path = meaning, public;
SET jit = off;
ALTER TABLE docs SET (fillfactor = 90);
SELECT shows, count FROM answers;
DROP INDEX docs_kw;
-- on other columns, or of another kind, or on part of the rows
CREATE INDEX docs_title ON docs USING snii (title) WITH (analyzer = 'keyword');
CREATE INDEX docs_btree ON docs (body);
SELECT shows, count FROM answers;
CREATE INDEX docs_part ON docs USING snii (title, body) WITH (analyzer = 'whitespace') WHERE id < 3;
SELECT shows, count FROM answers;
DROP INDEX docs_title, docs_btree, docs_part;

-- ---------- expressions ----------
CREATE INDEX docs_upper ON docs USING snii (upper(body)) WITH (analyzer = 'whitespace');
CREATE INDEX docs_cat ON docs USING snii ((body || ' ' || title)) WITH (analyzer = 'keyword');
SELECT q, shows(q) FROM unnest(ARRAY[
	'SELECT id FROM docs WHERE upper(body) ||| ''FOO''',
	'SELECT id FROM (SELECT id, upper(b) AS u FROM docs_view OFFSET 0) s WHERE u ||| ''FOO''',
	'SELECT id FROM (SELECT id, b FROM docs_view OFFSET 0) s WHERE upper(b) ||| ''FOO''',
	'WITH c AS MATERIALIZED (SELECT id, upper(body) AS u FROM docs) SELECT id FROM c WHERE u ||| ''FOO''',
	'SELECT b.id FROM (VALUES (1), (2)) a(id) LEFT JOIN docs b USING (id) WHERE upper(b.body) ||| ''FOO''',
	'SELECT id FROM docs WHERE body || '' '' || title ||| ''foo foo''',
	'SELECT id FROM docs WHERE body || ''-'' || title ||| ''foo''',
	'SELECT a.id FROM docs a JOIN docs b USING (id) WHERE a.body || '' '' || b.title ||| ''foo''',
	'SELECT id FROM docs WHERE body ||| ''foo''']) q;
DROP INDEX docs_upper, docs_cat;

-- ---------- an explicit analyzer wins ----------
CREATE INDEX docs_ws ON docs USING snii (body) WITH (analyzer = 'whitespace');
SELECT q, shows(q) FROM unnest(ARRAY[
	'SELECT id FROM docs WHERE body @@@ ''foo''',
	'SELECT id FROM docs WHERE body @@@ ''foo''::sniiquery',
	'SELECT id FROM docs WHERE body @@@ ''@whitespace foo''::sniiquery',
	'SELECT id FROM docs WHERE body @@@ snii_any(''keyword'', ''foo'')',
	'SELECT id FROM docs WHERE match(body, snii_query(''standard'', ''foo''))']) q;
SET enable_seqscan = off;
SELECT shows('SELECT id FROM docs WHERE body @@@ ''foo''::sniiquery');
RESET enable_seqscan;

-- ---------- data-modifying statements ----------
BEGIN;
UPDATE docs SET title = 'hit' WHERE body ||| 'foo' RETURNING id, body ||| 'foo' AS foo, body ||| 'bar' AS bar;
WITH u AS (UPDATE docs SET title = title RETURNING id, body) SELECT id FROM u WHERE body ||| 'foo' ORDER BY id;
DELETE FROM docs WHERE body ||| 'foo' RETURNING id;
CREATE UNIQUE INDEX docs_id ON docs (id);
INSERT INTO docs VALUES (1, 'new'), (5, 'new') ON CONFLICT (id) DO UPDATE SET title = 'conflict'
	WHERE docs.body ||| 'foo' OR excluded.body ||| 'Foo-Bar' RETURNING id;
INSERT INTO docs VALUES (1, 'new'), (5, 'Foo-Bar') ON CONFLICT (id) DO UPDATE SET title = 'conflict'
	WHERE excluded.body ||| 'Foo-Bar' RETURNING id;
MERGE INTO docs d USING (VALUES (1), (5)) v(id) ON d.id = v.id
	WHEN MATCHED AND d.body ||| 'foo' THEN UPDATE SET title = 'merged: foo'
	WHEN MATCHED AND d.body ||| 'Foo-Bar' THEN UPDATE SET title = 'merged: Foo-Bar'
	WHEN MATCHED THEN UPDATE SET title = 'merged';
SELECT id, body, title FROM docs WHERE title LIKE 'merged%' ORDER BY id;
ROLLBACK;
-- rows of a statement, in its trigger
CREATE FUNCTION count_foo() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% of the new rows have foo', (SELECT count(*) FROM new_rows WHERE body ||| 'foo');
	RETURN NULL;
END $$;
CREATE TRIGGER count_foo AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION count_foo();
INSERT INTO docs VALUES (11, 'Foo-Bar'), (12, 'a foo'), (13, 'b foo');
DELETE FROM docs WHERE id > 10;
DROP TRIGGER count_foo ON docs;
-- row security
CREATE ROLE regress_snii_reader;
GRANT USAGE ON SCHEMA meaning TO regress_snii_reader;
GRANT SELECT ON docs, docs_view TO regress_snii_reader;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY foo_only ON docs FOR SELECT USING (body ||| 'foo');
SET ROLE regress_snii_reader;
SELECT id FROM docs ORDER BY id;
SELECT id FROM docs WHERE body ||| 'bar' ORDER BY id;
SET enable_seqscan = off;
SELECT id FROM docs WHERE body ||| 'bar' ORDER BY id;
SELECT uses_index('SELECT id FROM docs WHERE body ||| ''bar''') AS leakproof;
RESET enable_seqscan;
RESET ROLE;
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
DROP POLICY foo_only ON docs;
REVOKE ALL ON docs, docs_view FROM regress_snii_reader;
REVOKE ALL ON SCHEMA meaning FROM regress_snii_reader;
DROP ROLE regress_snii_reader;
DROP INDEX docs_ws;

-- ---------- partitions and children ----------
CREATE TABLE part (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (3);
CREATE TABLE part_high (extra int, body text, gone int, id int);
ALTER TABLE part_high DROP COLUMN gone;
CREATE INDEX part_high_own ON part_high USING snii (body) WITH (analyzer = 'keyword');
ALTER TABLE part_high DROP COLUMN extra;
ALTER TABLE part ATTACH PARTITION part_high FOR VALUES FROM (3) TO (100);
INSERT INTO part SELECT id, body FROM docs UNION ALL SELECT 50, 'a foo';
CREATE TABLE part_forms (q text);
INSERT INTO part_forms VALUES ('SELECT id FROM part WHERE body ||| ''foo'''),
	('SELECT id FROM (SELECT * FROM part OFFSET 0) s WHERE body ||| ''foo'''),
	('SELECT id FROM (SELECT * FROM part UNION ALL SELECT * FROM part WHERE id < 0) s WHERE body ||| ''foo'''),
	('SELECT p.id FROM docs d JOIN part p USING (id) WHERE p.body ||| ''foo'''),
	('SELECT id FROM part_low WHERE body ||| ''foo'''),
	('SELECT id FROM part_high WHERE body ||| ''foo''');
SELECT q, shows(q) FROM part_forms;
-- not valid before all partitions have one
CREATE INDEX part_ws ON ONLY part USING snii (body) WITH (analyzer = 'whitespace');
SELECT q, shows(q) FROM part_forms;
DROP INDEX part_ws;
CREATE INDEX part_ws ON part USING snii (body) WITH (analyzer = 'whitespace');
SELECT q, shows(q) FROM part_forms;
SET enable_seqscan = off;
SELECT q, shows(q) FROM part_forms;
RESET enable_seqscan;
UPDATE part SET body = body WHERE body ||| 'foo' RETURNING id;
-- inheritance: the parent's, under its name
CREATE TABLE parent (id int, body text);
CREATE TABLE child (more text) INHERITS (parent);
INSERT INTO parent SELECT id, body FROM docs WHERE id < 3;
INSERT INTO child SELECT id, body FROM docs WHERE id >= 3;
CREATE INDEX child_kw ON child USING snii (body) WITH (analyzer = 'keyword');
SELECT shows('SELECT id FROM parent WHERE body ||| ''foo''') AS parent, shows('SELECT id FROM child WHERE body ||| ''foo''') AS child;
CREATE INDEX parent_ws ON parent USING snii (body) WITH (analyzer = 'whitespace');
SELECT shows('SELECT id FROM parent WHERE body ||| ''foo''') AS parent, shows('SELECT id FROM child WHERE body ||| ''foo''') AS child;
DROP TABLE parent CASCADE;

-- ---------- column types ----------
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
RESET client_min_messages;
CREATE DOMAIN words AS varchar(40);
CREATE DOMAIN code AS char(20);
CREATE TABLE typed (id int, v varchar(40), c char(40), n name, ci citext, d words, dc code);
INSERT INTO typed SELECT id, body, body, body, body, body, body FROM docs;
CREATE TABLE columns (name text, op text);
INSERT INTO columns SELECT n, o FROM unnest('{v,c,n,ci,d,dc}'::text[]) n, unnest('{|||,&&&,###,@@@}'::text[]) o;
SELECT shows(format('SELECT id FROM typed WHERE %s %s ''foo''', name, op)), count(*) FROM columns GROUP BY 1;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{v,c,n,ci,d,dc}'::text[] LOOP
		EXECUTE format('CREATE INDEX ON typed USING snii (%s) WITH (analyzer = ''whitespace'')', name);
	END LOOP;
END $$;
SELECT shows(format('SELECT id FROM typed WHERE %s %s ''foo''', name, op)), count(*) FROM columns GROUP BY 1;
SELECT shows(format('SELECT id FROM (SELECT id, %s AS x FROM typed OFFSET 0) s WHERE x %s ''foo''', name, op)), count(*)
	FROM columns GROUP BY 1;
SELECT shows(format('SELECT id FROM (SELECT id, %s::text AS x FROM typed OFFSET 0) s WHERE x %s ''foo''', name, op)), count(*)
	FROM columns GROUP BY 1;
SET enable_seqscan = off;
SELECT shows(format('SELECT id FROM typed WHERE %s %s ''foo''', name, op)), count(*) FROM columns GROUP BY 1;
SELECT name, uses_index(format('SELECT id FROM typed WHERE %s ||| ''foo''', name)),
	uses_index(format('SELECT id FROM typed WHERE %s::text @@@ ''foo''', name)) AS cast,
	uses_index(format('SELECT id FROM typed WHERE %s @@@ ''@whitespace foo''::sniiquery', name)) AS query
	FROM columns WHERE op = '|||' ORDER BY name;
-- all blanks at the end of a bpchar are cut, also under keyword
DROP INDEX typed_c_idx;
CREATE INDEX typed_c ON typed USING snii (c) WITH (analyzer = 'keyword');
SELECT shows('SELECT id FROM typed WHERE c ||| ''foo''');
RESET enable_seqscan;
SELECT shows('SELECT id FROM typed WHERE c ||| ''foo''');
DROP TABLE typed, columns;

-- ---------- prepared statements follow the index ----------
CREATE FUNCTION run(state text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text;
	ids text;
	result text[] := '{}';
BEGIN
	FOREACH name IN ARRAY '{con,par,lev,pre,prt}'::text[] LOOP
		EXECUTE format('EXECUTE %s%s', name, CASE WHEN name IN ('con', 'lev', 'prt') THEN '' ELSE '(''foo'')' END) INTO ids;
		result := result || (name || '=' || coalesce(ids, 'none'));
	END LOOP;
	RETURN state || ': ' || array_to_string(result, ' ');
END $$;
PREPARE con AS SELECT string_agg(id::text, ',' ORDER BY id) FROM docs WHERE body ||| 'foo';
PREPARE par(text) AS SELECT string_agg(id::text, ',' ORDER BY id) FROM docs WHERE body ||| $1;
PREPARE lev AS WITH c AS MATERIALIZED (SELECT id, body AS b FROM docs UNION ALL SELECT 9, 'n')
	SELECT string_agg(id::text, ',' ORDER BY id) FROM c WHERE b ||| 'foo';
PREPARE pre(text) AS SELECT string_agg(id::text, ',' ORDER BY id) FROM docs_view WHERE b @@@ $1;
PREPARE prt AS SELECT string_agg(id::text, ',' ORDER BY id) FROM part WHERE body ||| 'foo';
SET plan_cache_mode = force_generic_plan;
SELECT run('no index');
CREATE INDEX docs_ws ON docs USING snii (body) WITH (analyzer = 'whitespace');
SELECT run('create');
CREATE INDEX docs_kw ON docs USING snii (body) WITH (analyzer = 'keyword');
SELECT run('a second one');
DROP INDEX docs_ws;
SELECT run('drop the first');
ALTER INDEX docs_kw SET (analyzer = 'whitespace');
SELECT run('alter: what is built stays');
SELECT shows('SELECT id FROM docs WHERE body ||| ''foo''') AS "and is what new plans see";
REINDEX INDEX docs_kw;
SELECT run('reindex');
ALTER INDEX docs_kw RESET (analyzer);
REINDEX TABLE docs;
SELECT run('reset, reindex table');
ALTER INDEX docs_kw RENAME TO docs_renamed;
ALTER INDEX docs_renamed SET (analyzer = 'keyword');
SELECT run('alter');
REINDEX INDEX CONCURRENTLY docs_renamed;
SELECT run('reindex concurrently');
DROP INDEX CONCURRENTLY docs_renamed;
SELECT run('drop concurrently');
CREATE INDEX CONCURRENTLY docs_ws ON docs USING snii (body) WITH (analyzer = 'whitespace');
SELECT run('create concurrently');
BEGIN;
DROP INDEX docs_ws;
SELECT run('dropped in a transaction');
ROLLBACK;
SELECT run('rolled back');
DROP INDEX part_ws;
SELECT run('index of the partitioned table dropped');
CREATE INDEX part_ws ON part USING snii (body) WITH (analyzer = 'whitespace');
SELECT run('and made again');
ALTER TABLE part DETACH PARTITION part_high;
SELECT run('partition detached');
RESET plan_cache_mode;
SELECT run('custom plans');
DEALLOCATE ALL;
SELECT relname, snii_check(c.oid) FROM pg_class c JOIN pg_am a ON a.oid = relam
	WHERE amname = 'snii' AND relkind = 'i' AND relnamespace = 'meaning'::regnamespace ORDER BY relname;
SET client_min_messages = warning;
DROP SCHEMA meaning CASCADE;
