--
-- Uniqueness and ON CONFLICT: every statement is run on a table whose
-- unique indexes are btrees and on one whose are snii's; rows, errors and
-- counts must be the same.  A line is printed for each statement; what
-- differs is printed in full.
--
SET client_min_messages = warning;
CREATE SCHEMA key_conflict;
SET search_path = key_conflict, public;

CREATE TABLE outcome (arm text, state text, message text, detail text,
	constr text, rows bigint);

CREATE FUNCTION run_on(arm text, statement text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	s text; m text; d text; c text; n bigint;
BEGIN
	BEGIN
		EXECUTE replace(statement, '@_', arm || '_');
		GET DIAGNOSTICS n = ROW_COUNT;
		INSERT INTO outcome VALUES (arm, '00000', '', '', '', n);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT,
			d = PG_EXCEPTION_DETAIL, c = CONSTRAINT_NAME;
		INSERT INTO outcome VALUES (arm, s, replace(m, arm || '_', '@_'), d,
			replace(c, arm || '_', '@_'), 0);
	END;
END $$;

-- Run a statement on both; then compare outcomes, and the tables named.
CREATE FUNCTION on_both(statement text, VARIADIC tables text[] DEFAULT '{}')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	b outcome; o outcome; t text; n bigint;
BEGIN
	DELETE FROM outcome;
	PERFORM run_on('btree', statement);
	PERFORM run_on('snii', statement);
	SELECT * INTO b FROM outcome WHERE arm = 'btree';
	SELECT * INTO o FROM outcome WHERE arm = 'snii';
	IF (b.state, b.message, b.detail, b.constr, b.rows) IS DISTINCT FROM
	   (o.state, o.message, o.detail, o.constr, o.rows) THEN
		RETURN format('DIFFERENT: %s: %s, %s', statement, b, o);
	END IF;
	FOREACH t IN ARRAY tables LOOP
		EXECUTE format('SELECT count(*) FROM ((TABLE btree_%1$s EXCEPT ALL TABLE snii_%1$s)
			UNION ALL (TABLE snii_%1$s EXCEPT ALL TABLE btree_%1$s)) x', t) INTO n;
		IF n > 0 THEN
			RETURN format('DIFFERENT ROWS in %s after %s', t, statement);
		END IF;
	END LOOP;
	RETURN CASE WHEN o.state = '00000' THEN o.rows::text
		ELSE o.state || ' ' || o.detail END;
END $$;

CREATE TABLE btree_t (id uuid, n int, s text, note text);
CREATE TABLE snii_t (LIKE btree_t);
CREATE UNIQUE INDEX btree_t_id ON btree_t (id);
CREATE UNIQUE INDEX snii_t_id ON snii_t USING snii (id);
CREATE UNIQUE INDEX btree_t_n ON btree_t (n) WHERE n > 0;
CREATE UNIQUE INDEX snii_t_n ON snii_t USING snii (n) WHERE n > 0;
CREATE UNIQUE INDEX btree_t_s ON btree_t (lower(s));
CREATE UNIQUE INDEX snii_t_s ON snii_t USING snii (lower(s) text_key_ops);

SELECT on_both($$INSERT INTO @_t VALUES
	('00000000-0000-0000-0000-000000000001', 1, 'One', 'a'),
	('00000000-0000-0000-0000-000000000002', 2, 'Two', 'b'),
	(NULL, NULL, NULL, 'nulls'), (NULL, NULL, NULL, 'more nulls')$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 9, 'x', '')$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000009', 1, 'x', '')$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000009', 9, 'ONE', '')$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000003', -1, 'neg', ''),
	('00000000-0000-0000-0000-000000000004', -1, 'neg2', '')$$, 't');

-- without a target
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 50, 'fifty', '')
	ON CONFLICT DO NOTHING$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000050', 2, 'fifty', '')
	ON CONFLICT DO NOTHING$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000050', 50, 'TWO', '')
	ON CONFLICT DO NOTHING$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000050', 50, 'fifty', ''),
	('00000000-0000-0000-0000-000000000050', 51, 'fifty-one', '')
	ON CONFLICT DO NOTHING$$, 't');

-- with targets
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 60, 'sixty', '')
	ON CONFLICT (id) DO NOTHING$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 60, 'sixty', 'upd')
	ON CONFLICT (id) DO UPDATE SET note = excluded.note || @_t.note$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000060', 1, 'sixty', 'upd')
	ON CONFLICT (id) DO UPDATE SET note = excluded.note$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000060', 1, 'sixty', 'upd n')
	ON CONFLICT (n) WHERE n > 0 DO UPDATE SET note = excluded.note$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000060', 61, 'tWO', 'upd s')
	ON CONFLICT (lower(s)) DO UPDATE SET note = excluded.note, id = excluded.id$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000070', 70, 'seventy', '1'),
	('00000000-0000-0000-0000-000000000070', 71, 'seventy-one', '2')
	ON CONFLICT (id) DO UPDATE SET note = excluded.note$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 80, 'eighty', 'w')
	ON CONFLICT (id) DO UPDATE SET note = 'w' WHERE @_t.n > 1000$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 80, 'eighty', 'key change')
	ON CONFLICT (id) DO UPDATE SET id = '00000000-0000-0000-0000-000000000002'$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 80, 'eighty', 'key change')
	ON CONFLICT (note) DO NOTHING$$, 't');
SELECT on_both($$WITH w AS (INSERT INTO @_t VALUES
	('00000000-0000-0000-0000-000000000001', 81, 'in a CTE', '')
	ON CONFLICT (id) DO UPDATE SET note = 'cte' RETURNING *) SELECT * FROM w$$, 't');
SELECT on_both($$WITH w AS (INSERT INTO @_t VALUES
	('00000000-0000-0000-0000-000000000001', 81, 'in a CTE', '')
	ON CONFLICT DO NOTHING RETURNING *),
	v AS (INSERT INTO @_t VALUES
	('00000000-0000-0000-0000-000000000091', 91, 'in a second', '')
	ON CONFLICT DO NOTHING RETURNING *) SELECT * FROM w, v$$, 't');

-- updates, deletes, reuse of keys
SELECT on_both($$UPDATE @_t SET id = '00000000-0000-0000-0000-000000000001' WHERE n = 50$$, 't');
SELECT on_both($$UPDATE @_t SET n = n + 1 WHERE n > 0$$, 't');
SELECT on_both($$UPDATE @_t SET n = n + 1000 WHERE n > 0$$, 't');
SELECT on_both($$DELETE FROM @_t WHERE id = '00000000-0000-0000-0000-000000000001'$$, 't');
SELECT on_both($$INSERT INTO @_t VALUES ('00000000-0000-0000-0000-000000000001', 1, 'One', 'again')$$, 't');
SELECT on_both($$MERGE INTO @_t t USING (VALUES ('00000000-0000-0000-0000-000000000001'::uuid),
	('00000000-0000-0000-0000-0000000000aa')) v(id) ON t.id = v.id
	WHEN MATCHED THEN UPDATE SET note = 'merged'
	WHEN NOT MATCHED THEN INSERT VALUES (v.id, 170, 'one hundred seventy', 'merged')$$, 't');

-- subtransactions
SELECT on_both($$DO $x$ BEGIN
	FOR i IN 1 .. 20 LOOP
		BEGIN
			INSERT INTO @_t VALUES (NULL, 3000 + i % 7, 'sub ' || i, '');
			IF i % 3 = 0 THEN RAISE EXCEPTION 'no'; END IF;
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
	END LOOP; END $x$ $$, 't');

-- NULLS NOT DISTINCT, several columns, descending, INCLUDE
CREATE TABLE btree_m (tenant int, key text, v int);
CREATE TABLE snii_m (LIKE btree_m);
CREATE UNIQUE INDEX btree_m_k ON btree_m (tenant DESC NULLS LAST, key) INCLUDE (v) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX snii_m_k ON snii_m USING snii (tenant DESC NULLS LAST, key text_key_ops) INCLUDE (v) NULLS NOT DISTINCT;
SELECT on_both($$INSERT INTO @_m VALUES (1, 'a', 1), (1, 'b', 2), (NULL, 'a', 3), (NULL, NULL, 4)$$, 'm');
SELECT on_both($$INSERT INTO @_m VALUES (1, 'a', 10)$$, 'm');
SELECT on_both($$INSERT INTO @_m VALUES (NULL, 'a', 10)$$, 'm');
SELECT on_both($$INSERT INTO @_m VALUES (NULL, NULL, 10)$$, 'm');
SELECT on_both($$INSERT INTO @_m VALUES (NULL, 'a', 10) ON CONFLICT (tenant, key) DO UPDATE SET v = 11$$, 'm');
SELECT on_both($$INSERT INTO @_m VALUES (NULL, NULL, 10), (2, 'a', 5) ON CONFLICT DO NOTHING$$, 'm');
SELECT on_both($$UPDATE @_m SET key = 'a' WHERE tenant = 1$$, 'm');
SELECT on_both($$COPY @_m FROM PROGRAM 'printf "7\tcopy\t1\n7\tcopy\t2\n"'$$, 'm');

-- a unique index that cannot be made
SELECT on_both($$CREATE UNIQUE INDEX @_m_v ON @_m $$ || '/**/' || $$ (tenant)$$);
CREATE TABLE snii_dup AS SELECT i % 10 AS k FROM generate_series(1, 100) i;
CREATE UNIQUE INDEX snii_dup_k ON snii_dup USING snii (k);

-- partitions
CREATE TABLE btree_p (id int, k text, v int) PARTITION BY RANGE (id);
CREATE TABLE snii_p (id int, k text, v int) PARTITION BY RANGE (id);
SELECT on_both($$CREATE TABLE @_p1 PARTITION OF @_p FOR VALUES FROM (0) TO (100)$$);
SELECT on_both($$CREATE TABLE @_p2 (v int, k text, dropped int, id int)$$);
SELECT on_both($$ALTER TABLE @_p2 DROP COLUMN dropped$$);
SELECT on_both($$ALTER TABLE @_p ATTACH PARTITION @_p2 FOR VALUES FROM (100) TO (200)$$);
-- up to 17, core wants a btree for a unique index over partitions
DO $$
BEGIN
	CREATE UNIQUE INDEX snii_p_id ON snii_p USING snii (id);
	DROP INDEX snii_p_id;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
CREATE UNIQUE INDEX btree_p1_id ON btree_p1 (id);
CREATE UNIQUE INDEX snii_p1_id ON snii_p1 USING snii (id);
CREATE UNIQUE INDEX btree_p2_id ON btree_p2 (id);
CREATE UNIQUE INDEX snii_p2_id ON snii_p2 USING snii (id);
CREATE UNIQUE INDEX btree_p2_k ON btree_p2 (k);
CREATE UNIQUE INDEX snii_p2_k ON snii_p2 USING snii (k text_key_ops);
SELECT on_both($$INSERT INTO @_p SELECT i, 'k' || i, i FROM generate_series(1, 199, 3) i$$, 'p');
SELECT on_both($$INSERT INTO @_p SELECT i, 'k' || i, i FROM generate_series(1, 199) i ON CONFLICT DO NOTHING$$, 'p');
SELECT on_both($$INSERT INTO @_p SELECT i, 'k' || i, -i FROM generate_series(50, 150) i
	ON CONFLICT (id) DO UPDATE SET v = excluded.v$$, 'p');
SELECT on_both($$INSERT INTO @_p VALUES (500, 'nowhere', 1) ON CONFLICT DO NOTHING$$, 'p');
SELECT on_both($$DELETE FROM @_p WHERE id = 120$$, 'p');
SELECT on_both($$INSERT INTO @_p VALUES (120, 'k130', 1) ON CONFLICT (id) DO NOTHING$$, 'p');
SELECT on_both($$INSERT INTO @_p VALUES (120, 'k130', 1) ON CONFLICT DO NOTHING$$, 'p');
SELECT on_both($$INSERT INTO @_p VALUES (120, 'new', 1), (20, 'x', 7) ON CONFLICT (id) DO UPDATE SET k = 'y'
	RETURNING *$$, 'p');

-- a trigger that queries the same table
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %I.%I WHERE id = $1', tg_table_schema, tg_table_name)
		INTO n USING new.id;
	new.v := coalesce(new.v, 0) + n * 1000;
	RETURN new;
END $$;
CREATE TRIGGER look BEFORE INSERT ON btree_p1 FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE INSERT ON snii_p1 FOR EACH ROW EXECUTE FUNCTION look();
SELECT on_both($$INSERT INTO @_p SELECT i, 'k' || i, 3 FROM generate_series(1, 110, 9) i
	ON CONFLICT (id) DO UPDATE SET v = excluded.v$$, 'p');

-- both kinds of index on one table
CREATE UNIQUE INDEX snii_t_note ON snii_t (note, n, id);
CREATE UNIQUE INDEX btree_t_note ON btree_t (note, n, id);
SELECT on_both($$INSERT INTO @_t SELECT id, n, s, note FROM @_t ON CONFLICT DO NOTHING$$, 't');

-- exclusion constraints
CREATE TABLE btree_e (id int, v text, EXCLUDE USING btree (id WITH =));
CREATE TABLE snii_e (id int, v text, EXCLUDE USING snii (id WITH =));
SELECT on_both($$INSERT INTO @_e VALUES (1, 'a'), (2, 'b')$$, 'e');
SELECT on_both($$INSERT INTO @_e VALUES (1, 'c')$$, 'e');
SELECT on_both($$INSERT INTO @_e VALUES (1, 'c'), (3, 'd') ON CONFLICT DO NOTHING$$, 'e');

DROP SCHEMA key_conflict CASCADE;
