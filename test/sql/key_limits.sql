--
-- What core keeps for btrees: the statements of the README's list of limitations
-- are refused with the errors that it tells, up to the version that it tells,
-- and what it advises instead works.
--
SET client_min_messages = warning;
CREATE SCHEMA key_limits;
SET search_path = key_limits, public;

-- last: major version up to which a statement is refused.
CREATE FUNCTION refused(statement text, message text, last int DEFAULT 99) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE m text; expected bool := current_setting('server_version_num')::int / 10000 <= last;
BEGIN
	BEGIN
		EXECUTE statement;
		RETURN CASE WHEN expected THEN 'NOT REFUSED' ELSE 'as documented' END;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS m = MESSAGE_TEXT;
	END;
	RETURN CASE WHEN expected AND m LIKE message THEN 'as documented' ELSE m END;
END $$;

-- Does the plan of a query have such a line?
CREATE FUNCTION plan_has(query text, what text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		IF line LIKE '%' || what || '%' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;

CREATE TABLE t (id int NOT NULL, v text COLLATE "C", b bool);
CREATE UNIQUE INDEX t_id ON t USING snii (id);
CREATE INDEX t_v ON t USING snii (v text_key_ops);
CREATE INDEX t_b ON t USING snii (b);
INSERT INTO t SELECT i, 'v' || i, i % 100 = 0 FROM generate_series(1, 1000) i;
ANALYZE t;
CREATE TABLE p (id int) PARTITION BY RANGE (id);
CREATE MATERIALIZED VIEW mv AS SELECT 1 AS id;
CREATE UNIQUE INDEX mv_id ON mv USING snii (id);

SELECT refused('ALTER TABLE t ADD PRIMARY KEY USING INDEX t_id', 'index "t_id" is not a btree');
SELECT refused('ALTER TABLE t ADD UNIQUE USING INDEX t_id', 'index "t_id" is not a btree');
SELECT refused('CREATE TABLE r (id int REFERENCES t (id))', 'only b-tree indexes are supported for foreign keys', 17);
DROP TABLE IF EXISTS r;
SELECT refused('REFRESH MATERIALIZED VIEW CONCURRENTLY mv', 'cannot refresh materialized view "%" concurrently', 17);
SELECT refused('CREATE UNIQUE INDEX ON p USING snii (id)', 'cannot match partition key to an index using access method "snii"', 17);
SELECT refused('CLUSTER t USING t_id', 'cannot cluster on index "t_id" because access method does not support clustering');
SELECT refused('ALTER TABLE t CLUSTER ON t_id', 'cannot cluster on index "t_id" because access method does not support clustering');
SELECT refused('INSERT INTO t VALUES (1) ON CONFLICT (id int4_key_ops) DO NOTHING', 'operator class "int4_key_ops" does not exist for access method "btree"');
SELECT refused('INSERT INTO t VALUES (1) ON CONFLICT ON CONSTRAINT t_id DO NOTHING', 'constraint "t_id" for table "t" does not exist');
SELECT refused('SELECT v FROM t GROUP BY id', 'column "t.v" must appear in the GROUP BY clause%');
SELECT refused('ALTER TABLE t ALTER id TYPE text', 'full-text indexes do not support unique indexes');

-- instead
ALTER TABLE t ADD PRIMARY KEY (id);
-- with columns core takes the first unique index that it finds
CREATE TABLE r (id int REFERENCES t);
DROP TABLE r;
ALTER TABLE t DROP CONSTRAINT t_pkey;
REFRESH MATERIALIZED VIEW mv;
INSERT INTO t VALUES (1) ON CONFLICT (id) DO NOTHING;
ALTER TABLE t ADD CONSTRAINT t_later EXCLUDE USING snii (id WITH =) DEFERRABLE INITIALLY DEFERRED;
BEGIN;
DROP INDEX t_id;
UPDATE t SET id = id + 1;
ROLLBACK;
ALTER TABLE t DROP CONSTRAINT t_later;
BEGIN;
DROP INDEX t_id;
ALTER TABLE t ALTER id TYPE text;
CREATE UNIQUE INDEX t_id ON t USING snii (id text_key_ops);
ROLLBACK;

-- plans: up to 17 the planner proves nothing by it; some conditions it knows for
-- btrees only
SELECT current_setting('server_version_num')::int < 180000 AS old \gset
SET enable_seqscan = off;
SELECT plan_has('SELECT a.* FROM t a LEFT JOIN t b ON a.id = b.id', 't b') = :'old' AS join_stays;
SELECT plan_has('SELECT * FROM t WHERE b IN (true, NULL)', 'Index') AS boolean_by_index;
SELECT plan_has('SELECT * FROM t WHERE (id, v) > (5, ''x'')', 'Index Cond') AS row_comparison_by_index,
	plan_has('SELECT * FROM t WHERE id >= 5 AND (id, v) > (5, ''x'')', 'Index Cond') AS instead;
SELECT plan_has('SELECT * FROM t WHERE v LIKE ''v1%''', 'Index Cond') AS like_by_index;
RESET enable_seqscan;

DROP SCHEMA key_limits CASCADE;
