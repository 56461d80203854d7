-- What CREATE, ALTER, DROP and their kin do with a snii index.
-- The server's messages are part of the test; plans are not, so each count
-- is asked with sequential scans disabled and once more without the index.
SET client_min_messages = warning;
SET enable_seqscan = off;

-- Rows by index and by sequential scan, and whether the plan had the index.
CREATE FUNCTION both_ways(tab text, cond text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	by_index text;
	by_seq text;
	line text;
	uses bool := false;
BEGIN
	SET LOCAL enable_seqscan = off;
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM %s WHERE %s', tab, cond) LOOP
		uses := uses OR line ~ 'Index Scan';
	END LOOP;
	EXECUTE format('SELECT coalesce(string_agg(id::text, '','' ORDER BY id), ''none'') FROM %s WHERE %s', tab, cond) INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT coalesce(string_agg(id::text, '','' ORDER BY id), ''none'') FROM %s WHERE %s', tab, cond) INTO by_seq;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_seqscan = off;
	RETURN CASE WHEN by_index = by_seq THEN by_index
		ELSE format('index: %s, seq: %s', by_index, by_seq) END
		|| CASE WHEN uses THEN ' (index)' ELSE ' (no index)' END;
END $$;

CREATE TABLE d (id int, gone int, body text, title varchar(80), n int, arr text[]);
ALTER TABLE d DROP COLUMN gone;
INSERT INTO d VALUES
	(1, 'red apple', 'First', 10, '{a}'),
	(2, 'green apple tree', 'Second', 20, '{b}'),
	(3, NULL, 'Third', 30, NULL),
	(4, '', NULL, 40, NULL),
	(5, 'Blue sky', 'Fifth apple', 50, NULL);

--
-- Operator classes
--
SELECT opcname, opcintype::regtype, opcdefault, amvalidate(o.oid)
FROM pg_opclass o JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'snii' ORDER BY opcname;
SELECT amname, pg_indexam_has_property(oid, 'can_order') AS can_order,
	pg_indexam_has_property(oid, 'can_unique') AS can_unique,
	pg_indexam_has_property(oid, 'can_multi_col') AS can_multi_col,
	pg_indexam_has_property(oid, 'can_exclude') AS can_exclude,
	pg_indexam_has_property(oid, 'can_include') AS can_include
FROM pg_am WHERE amname = 'snii';

--
-- What is refused
--
CREATE INDEX ON d USING snii (body) WITH (analyser = 'standard');
CREATE INDEX ON d USING snii (body) WITH (analyzer = 'english');
CREATE INDEX ON d USING snii (body) WITH (analyzer = '');
CREATE INDEX ON d USING snii (body) WITH (analyzer);
CREATE INDEX ON d USING snii (body) WITH (analyzer = 'standard', analyzer = 'keyword');
CREATE INDEX ON d USING snii (body) WITH (fillfactor = 70);
CREATE INDEX ON d USING snii (n);
DROP INDEX d_n_idx;
CREATE INDEX ON d USING snii (arr);
CREATE INDEX ON d USING snii (body, n);
CREATE UNIQUE INDEX ON d USING snii (body);
CREATE INDEX ON d USING snii (body DESC);
CREATE INDEX ON d USING snii (body NULLS FIRST);
CREATE INDEX ON d USING snii (body) INCLUDE (n);
CREATE INDEX ON d USING snii (body int4_ops);
ALTER TABLE d ADD EXCLUDE USING snii (body WITH =);
ALTER TABLE d ADD PRIMARY KEY USING INDEX d_none;
DO $$
BEGIN
	EXECUTE 'CREATE TABLE wide (' || (SELECT string_agg(format('c%s text', g), ', ') FROM generate_series(1, 40) g) || ')';
	EXECUTE 'CREATE INDEX wide_33 ON wide USING snii (' || (SELECT string_agg(format('c%s', g), ', ') FROM generate_series(1, 33) g) || ')';
END $$;
SELECT relname FROM pg_class WHERE relname LIKE 'd\_%' AND relkind = 'i';

-- 32 columns are allowed, and all of them answer.
DO $$
BEGIN
	EXECUTE 'CREATE TABLE wide (id int, ' || (SELECT string_agg(format('c%s text', g), ', ') FROM generate_series(1, 32) g) || ')';
	EXECUTE 'INSERT INTO wide SELECT r, ' || (SELECT string_agg(format('''col%s row'' || r', g), ', ') FROM generate_series(1, 32) g) || ' FROM generate_series(1, 20) r';
	EXECUTE 'CREATE INDEX wide_32 ON wide USING snii (' || (SELECT string_agg(format('c%s', g), ', ') FROM generate_series(1, 32) g) || ')';
	EXECUTE 'INSERT INTO wide SELECT r, ' || (SELECT string_agg(format('''col%s row'' || r', g), ', ') FROM generate_series(1, 32) g) || ' FROM generate_series(21, 40) r';
END $$;
SELECT both_ways('wide', $$c1 ||| 'row3' AND c32 &&& 'col32 row3'$$);
SELECT both_ways('wide', $$c17 ||| 'row30' AND c32 ||| 'col31 row30'$$);
SELECT both_ways('wide', $$c31 ||| 'col1'$$);
SELECT snii_check('wide_32', true);
DROP TABLE wide;

--
-- Forms of index
--
CREATE INDEX d_multi ON d USING snii (body, title);
SELECT both_ways('d', $$body ||| 'apple'$$);
SELECT both_ways('d', $$title ||| 'apple'$$);
SELECT both_ways('d', $$body ||| 'apple' AND title ||| 'second'$$);
SELECT both_ways('d', $$body IS NULL$$);
SELECT both_ways('d', $$body IS NOT NULL AND title IS NULL$$);
SELECT both_ways('d', $$body @@@ 'apple NOT red'$$);
SELECT both_ways('d', $$NOT body ||| 'apple'$$);
SELECT both_ways('d', $$(body ||| 'apple') IS NULL$$);
SELECT both_ways('d', $$body ||| ''$$);
SELECT both_ways('d', $$body ||| NULL$$);
DROP INDEX d_multi;

CREATE INDEX d_partial ON d USING snii (body) WHERE n < 30;
SELECT both_ways('d', $$body ||| 'apple sky' AND n < 30$$);
SELECT both_ways('d', $$body ||| 'apple sky'$$);
UPDATE d SET n = n + 100 WHERE id = 2;
UPDATE d SET n = 5 WHERE id = 5;
SELECT both_ways('d', $$body ||| 'apple sky' AND n < 30$$);
SELECT snii_check('d_partial', true);
DROP INDEX d_partial;
-- A predicate that is a search itself needs the immutable form.
CREATE INDEX d_search ON d USING snii (title) WHERE body ||| 'apple';
CREATE INDEX d_search ON d USING snii (title) WHERE body @@@ '@standard ''apple'''::sniiquery;
SELECT both_ways('d', $$title ||| 'second' AND body @@@ '@standard ''apple'''::sniiquery$$);
SELECT snii_check('d_search', true);
DROP INDEX d_search;
UPDATE d SET n = id * 10;

CREATE INDEX d_expr ON d USING snii ((title || ' ' || body));
SELECT both_ways('d', $$(title || ' ' || body) &&& 'second apple'$$);
INSERT INTO d VALUES (6, 'pear', 'Sixth', 60, NULL);
SELECT both_ways('d', $$(title || ' ' || body) ### 'sixth pear'$$);
SELECT snii_check('d_expr', true);
DROP INDEX d_expr;
CREATE INDEX d_fails ON d USING snii ((body || (1 / (n - 60))::text));
DELETE FROM d WHERE id = 6;

-- Types: varchar, bpchar, name, a domain, citext-like casts.
CREATE DOMAIN words AS text CHECK (VALUE <> 'forbidden');
CREATE TABLE types (id int, v varchar(20), b character(12), m name, w words);
CREATE INDEX types_i ON types USING snii (v, b, m, w);
INSERT INTO types VALUES (1, 'one two', 'one two', 'one_two', 'one two'),
	(2, 'Two', 'two ', 'Two', 'Two'), (3, NULL, NULL, NULL, NULL);
SELECT both_ways('types', $$v ||| 'two'$$);
SELECT both_ways('types', $$b @@@ 'two'$$);
SELECT both_ways('types', $$m @@@ 'two'$$);
SELECT both_ways('types', $$w ||| 'two'$$);
SELECT both_ways('types', $$v IS NULL AND w IS NULL$$);
SELECT snii_check('types_i', true);
DROP TABLE types;

--
-- Options: what the meta page says holds until REINDEX.
--
CREATE INDEX d_i ON d USING snii (body) WITH (analyzer = 'keyword');
SELECT both_ways('d', $$body ||| 'red apple'$$);
SELECT both_ways('d', $$body ||| 'apple'$$);
ALTER INDEX d_i SET (analyzer = 'klingon');
ALTER INDEX d_i SET (analyzer = 'standard');
SELECT both_ways('d', $$body ||| 'red apple'$$);
SELECT both_ways('d', $$body ||| 'apple'$$);
INSERT INTO d VALUES (7, 'apple', NULL, 70, NULL);
SELECT both_ways('d', $$body ||| 'apple'$$);
SELECT snii_check('d_i', true);
REINDEX INDEX d_i;
SELECT both_ways('d', $$body ||| 'apple'$$);
ALTER INDEX d_i RESET (analyzer);
SELECT pg_get_indexdef('d_i'::regclass);
DELETE FROM d WHERE id = 7;
SELECT snii_check('d_i', true);
DROP INDEX d_i;

-- Definitions as pg_dump prints them, and back.
CREATE INDEX d_i1 ON d USING snii (body, title text_keyword_ops) WITH (analyzer = 'whitespace') WHERE n > 0;
CREATE INDEX d_i2 ON d USING snii (lower(body) COLLATE "C", (title || 'x'));
CREATE TEMP TABLE defs AS SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS def
FROM pg_index WHERE indrelid = 'd'::regclass;
SELECT def FROM defs ORDER BY name;
DROP INDEX d_i1, d_i2;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT def FROM defs LOOP EXECUTE r.def; END LOOP; END $$;
SELECT count(*) AS same FROM defs WHERE def = pg_get_indexdef(name::regclass);
SELECT snii_check('d_i1', true), snii_check('d_i2', true);
DROP INDEX d_i1, d_i2;

--
-- Rewrites
--
CREATE INDEX d_i ON d USING snii (body);
INSERT INTO d SELECT g, 'filler number ' || g, 'f', g, NULL FROM generate_series(100, 400) g;
ALTER TABLE d ALTER COLUMN n TYPE bigint;
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
SELECT snii_check('d_i', true);
ALTER TABLE d ALTER COLUMN body TYPE varchar(100);
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
SELECT snii_check('d_i', true);
ALTER TABLE d ALTER COLUMN body TYPE text USING upper(body);
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
ALTER TABLE d ADD COLUMN extra text DEFAULT 'added later';
CREATE INDEX d_extra ON d USING snii (extra);
SELECT both_ways('d', $$extra ||| 'later' AND id < 10$$);
SELECT snii_check('d_extra', true);
CLUSTER d USING d_i;
ALTER TABLE d CLUSTER ON d_i;
VACUUM FULL d;
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
SELECT snii_check('d_i', true);
ALTER TABLE d SET UNLOGGED;
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
ALTER TABLE d SET LOGGED;
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
SELECT snii_check('d_i', true);
ALTER TABLE d RENAME COLUMN body TO content;
ALTER INDEX d_i RENAME TO d_renamed;
SELECT both_ways('d', $$content ||| 'apple'$$);
ALTER TABLE d RENAME COLUMN content TO body;
ALTER INDEX d_renamed SET TABLESPACE pg_default;
ALTER INDEX d_renamed RENAME TO d_i;

REINDEX INDEX d_i;
REINDEX TABLE d;
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
REINDEX INDEX CONCURRENTLY d_i;
REINDEX TABLE CONCURRENTLY d;
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
SELECT snii_check('d_i', true);
DROP INDEX CONCURRENTLY d_i;
CREATE INDEX CONCURRENTLY d_i ON d USING snii (body);
SELECT both_ways('d', $$body ||| 'apple' OR body ### 'number 222'$$);
SELECT snii_check('d_i', true);
SELECT both_ways('d', $$body ||| 'apple' AND extra ||| 'later'$$);

-- In-place truncation: the file keeps its number, the write buffer must not.
TRUNCATE d;
SELECT both_ways('d', $$body ||| 'apple'$$);
BEGIN;
INSERT INTO d (id, body) SELECT g, 'before ' || g FROM generate_series(1, 500) g;
TRUNCATE d;
INSERT INTO d (id, body) VALUES (1, 'after one');
SELECT both_ways('d', $$body ||| 'before after'$$);
TRUNCATE d;
INSERT INTO d (id, body) VALUES (2, 'after two');
SELECT both_ways('d', $$body ||| 'before after'$$);
ROLLBACK;
SELECT both_ways('d', $$body ||| 'before after'$$);
SELECT snii_check('d_i', true);
BEGIN;
CREATE TABLE fresh (id int, body text);
CREATE INDEX fresh_i ON fresh USING snii (body);
INSERT INTO fresh SELECT g, 'before ' || g FROM generate_series(1, 500) g;
TRUNCATE fresh;
INSERT INTO fresh VALUES (1, 'after one');
SELECT both_ways('fresh', $$body ||| 'before after'$$);
SAVEPOINT s;
TRUNCATE fresh;
INSERT INTO fresh VALUES (2, 'after two');
ROLLBACK TO s;
INSERT INTO fresh VALUES (3, 'after three');
SELECT both_ways('fresh', $$body ||| 'before after'$$);
SELECT snii_flush('fresh_i');
SELECT both_ways('fresh', $$body ||| 'before after'$$);
COMMIT;
SELECT snii_check('fresh_i', true);
DROP TABLE fresh, d;

--
-- Temporary and unlogged tables
--
CREATE TEMP TABLE tmp (id int, body text) ON COMMIT DELETE ROWS;
CREATE INDEX tmp_i ON tmp USING snii (body);
BEGIN;
INSERT INTO tmp SELECT g, 'temp ' || g FROM generate_series(1, 1000) g;
SELECT count(*) FROM tmp WHERE body ||| 'temp';
SELECT both_ways('tmp', $$body ||| '17'$$);
COMMIT;
SELECT both_ways('tmp', $$body ||| '17 18'$$);
BEGIN;
INSERT INTO tmp VALUES (18, '18');
SELECT both_ways('tmp', $$body ||| '17 18'$$);
SELECT snii_flush('tmp_i');
SELECT both_ways('tmp', $$body ||| '17 18'$$);
SELECT snii_check('tmp_i', true);
COMMIT;
SELECT both_ways('tmp', $$body ||| '17 18'$$);
DROP TABLE tmp;
CREATE TEMP TABLE tmp (id int, body text);
INSERT INTO tmp SELECT g, 'temp ' || g FROM generate_series(1, 300) g;
CREATE INDEX tmp_i ON tmp USING snii (body);
DELETE FROM tmp WHERE id > 20;
VACUUM tmp;
INSERT INTO tmp SELECT g, 'again ' || g FROM generate_series(1000, 1300) g;
SELECT snii_flush('tmp_i'), snii_merge('tmp_i');
SELECT count(*) FROM tmp WHERE body ||| 'again temp';
SELECT snii_check('tmp_i', true);
-- A cursor reads on while the pages that it reads are displaced, and other
-- pages are wanted.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM tmp WHERE body ||| 'again temp';
FETCH 3 FROM c;
SELECT snii_merge('tmp_i'), snii_flush('tmp_i');
INSERT INTO tmp SELECT g, 'again ' || g FROM generate_series(2000, 2300) g;
SELECT snii_flush('tmp_i'), snii_merge('tmp_i');
FETCH 3 FROM c;
MOVE ALL FROM c;
COMMIT;
SELECT snii_check('tmp_i', true);
DROP TABLE tmp;

CREATE UNLOGGED TABLE u (id int, body text);
CREATE INDEX u_i ON u USING snii (body);
INSERT INTO u SELECT g, 'unlogged ' || g FROM generate_series(1, 300) g;
SELECT both_ways('u', $$body ||| '17'$$);
SELECT snii_flush('u_i'), snii_merge('u_i');
SELECT both_ways('u', $$body ||| '17'$$);
SELECT snii_check('u_i', true);
-- (an unlogged table stays for the tests of recovery)

--
-- Partitioned tables
--
CREATE TABLE p (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE INDEX p_i ON p USING snii (body);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
CREATE TABLE p3 (junk int, body text, id int);
ALTER TABLE p3 DROP COLUMN junk;
INSERT INTO p3 VALUES ('part three', 250);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (200) TO (300);
INSERT INTO p VALUES (1, 'part one'), (150, 'part two'), (251, 'three more');
SELECT both_ways('p', $$body ||| 'part'$$);
SELECT both_ways('p', $$body ||| 'three'$$);
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'p_i'::regclass ORDER BY 1::text;
UPDATE p SET id = id + 100 WHERE id = 150;
SELECT both_ways('p', $$body ||| 'two part'$$);
SELECT snii_check('p_i');
SELECT snii_flush('p_i');
SELECT snii_flush('p1_body_idx'), snii_merge('p3_body_idx');
ALTER TABLE p DETACH PARTITION p3;
SELECT both_ways('p3', $$body ||| 'two part'$$);
SELECT both_ways('p', $$body ||| 'two part'$$);
CREATE INDEX p_only ON ONLY p USING snii (body) WITH (analyzer = 'whitespace');
SELECT indisvalid FROM pg_index WHERE indexrelid = 'p_only'::regclass;
CREATE INDEX p1_ws ON p1 USING snii (body) WITH (analyzer = 'whitespace');
CREATE INDEX p2_ws ON p2 USING snii (body) WITH (analyzer = 'whitespace');
ALTER INDEX p_only ATTACH PARTITION p1_ws;
ALTER INDEX p_only ATTACH PARTITION p2_ws;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'p_only'::regclass;
SELECT snii_check('p1_body_idx', true), snii_check('p2_body_idx', true),
	snii_check('p3_body_idx', true), snii_check('p1_ws', true);
DROP TABLE p, p3;

--
-- Large values, toasted and not
--
CREATE TABLE big (id int, body text);
ALTER TABLE big ALTER COLUMN body SET STORAGE EXTERNAL;
INSERT INTO big SELECT 1, string_agg('ext' || g, ' ') FROM generate_series(1, 3000) g;
CREATE INDEX big_i ON big USING snii (body);
INSERT INTO big SELECT 2, string_agg('ext' || g, ' ') FROM generate_series(2999, 30000) g;
ALTER TABLE big ALTER COLUMN body SET STORAGE EXTENDED;
INSERT INTO big SELECT 3, string_agg('ext' || g, ' ') FROM generate_series(29999, 300000) g;
INSERT INTO big SELECT 4, repeat('long', 100000) || ' tail';
INSERT INTO big SELECT 5, repeat('x y ', 100000) || 'x z';
SELECT both_ways('big', $$body ### 'ext2999 ext3000'$$);
SELECT both_ways('big', $$body ### 'ext299999 ext300000'$$);
SELECT both_ways('big', $$body ### 'ext300000 ext299999'$$);
SELECT both_ways('big', $$body ### 'x z'$$);
SELECT both_ways('big', $$body ### 'z x'$$);
SELECT both_ways('big', $$body ||| 'tail'$$);
SELECT snii_flush('big_i') > 0, snii_merge('big_i') > 0;
SELECT both_ways('big', $$body ### 'ext2999 ext3000'$$);
SELECT both_ways('big', $$body ### 'ext299999 ext300000'$$);
SELECT both_ways('big', $$body ### 'x z'$$);
SELECT both_ways('big', $$body ||| 'tail'$$);
SELECT snii_check('big_i', true);
DROP TABLE big;

--
-- Functions: arguments and privileges
--
CREATE TABLE own (id int, body text);
CREATE INDEX own_i ON own USING snii (body);
CREATE INDEX own_bt ON own (id);
SELECT snii_check('own'), 1;
SELECT snii_check('own_bt');
SELECT snii_flush('pg_class_oid_index');
SELECT * FROM snii_segments('own');
SELECT snii_check(NULL), snii_flush(NULL), snii_merge(NULL);
CREATE ROLE regress_snii_other;
SET ROLE regress_snii_other;
SELECT snii_check('own_i');
SELECT snii_flush('own_i');
SELECT snii_merge('own_i');
SELECT * FROM snii_segments('own_i');
RESET ROLE;
GRANT SELECT ON own TO regress_snii_other;
SET ROLE regress_snii_other;
SELECT count(*) FROM snii_segments('own_i');
SELECT snii_flush('own_i');
RESET ROLE;
BEGIN READ ONLY;
SELECT snii_check('own_i', true);
COMMIT;

--
-- Row-level security: the policy's quals come first unless the search is
-- leakproof, which the operators are.
--
INSERT INTO own SELECT g, 'row ' || g || CASE WHEN g % 2 = 0 THEN ' even' ELSE ' odd' END FROM generate_series(1, 100) g;
ALTER TABLE own ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON own FOR SELECT TO regress_snii_other USING (id < 10);
DROP INDEX own_bt;
ANALYZE own;
SET ROLE regress_snii_other;
EXPLAIN (COSTS OFF) SELECT id FROM own WHERE body ||| 'even';
SELECT id FROM own WHERE body ||| 'even' ORDER BY id;
RESET ROLE;
SELECT snii_check('own_i', true);
DROP TABLE own;
DROP ROLE regress_snii_other;

--
-- Extension
--
SELECT count(*) AS without_comment FROM pg_depend d
WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snii') AND d.deptype = 'e'
	AND obj_description(d.objid, (d.classid::regclass)::text) IS NULL
	AND d.classid NOT IN ('pg_type'::regclass, 'pg_opfamily'::regclass);
BEGIN;
SAVEPOINT s;
\set VERBOSITY terse
DROP EXTENSION snii;
\set VERBOSITY default
ROLLBACK TO s;
DROP EXTENSION snii CASCADE;
CREATE SCHEMA other;
CREATE EXTENSION snii SCHEMA other;
CREATE INDEX u_other ON u USING snii (body);
SELECT other.match_any('a b', 'b');
SELECT count(*) FROM u WHERE body OPERATOR(other.|||) '17';
SELECT other.snii_check('u_other', true);
ROLLBACK;
DROP FUNCTION both_ways;
SELECT snii_check('u_i', true);
