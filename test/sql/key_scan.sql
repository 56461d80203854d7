--
-- Scans of key indexes: rows and their order must be those of a sequential
-- scan, for every type, before and after flush, merge, deletes and VACUUM.
-- The queries are made from a seed.
--
SET client_min_messages = warning;
CREATE SCHEMA key_scan;
SET search_path = key_scan, public;
\if :{?seed}
\else
\set seed 0.42
\endif
SELECT setseed(:seed) IS NOT NULL AS seeded;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'glad');
ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok';

CREATE TABLE k (
	row_id serial, b bool, i2 int2, i4 int4, i8 int8, o oid, u uuid,
	tc text COLLATE "C", td text COLLATE "default", tu text COLLATE "und-x-icu",
	v varchar(20), by bytea, d date, ts timestamp, tz timestamptz, tm time,
	iv interval, n numeric, f4 float4, f8 float8, ip inet, e mood);

CREATE FUNCTION word() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT (ARRAY['a', 'A', 'ab', 'aB', 'b', '', 'z', 'ä', 'zz', 'éa', 'e', 'B '])[1 + floor(random() * 12)::int]
		|| CASE WHEN random() < 0.5 THEN floor(random() * 40)::int::text ELSE '' END $$;

-- random(), and now and then NULL
CREATE FUNCTION r() RETURNS float8 LANGUAGE sql VOLATILE AS
	$$ SELECT CASE WHEN random() < 0.01 THEN NULL ELSE random() END $$;

CREATE FUNCTION add_rows(n int) RETURNS void LANGUAGE sql AS $$
INSERT INTO k (b, i2, i4, i8, o, u, tc, td, tu, v, by, d, ts, tz, tm, iv, n, f4, f8, ip, e)
SELECT r() < 0.5, (r() * 60 - 30)::int2,
	CASE WHEN r() < 0.05 THEN -2147483648 WHEN r() < 0.05 THEN 2147483647 ELSE (r() * 200 - 100)::int4 END,
	CASE WHEN r() < 0.05 THEN 9223372036854775807 WHEN r() < 0.05 THEN -9223372036854775808 ELSE (r() * 1e4 - 5e3)::int8 END,
	(r() * 500)::int8::oid, md5((r() * 300)::int::text)::uuid,
	word(), word(), word(), word(),
	decode(CASE WHEN r() < 0.5 THEN '00' ELSE '' END || substr(md5((r() * 40)::int::text), 1, 2 * (r() * 4)::int) || CASE WHEN r() < 0.3 THEN '00ff' ELSE '' END, 'hex'),
	CASE WHEN r() < 0.05 THEN 'infinity'::date WHEN r() < 0.05 THEN '-infinity' ELSE '2024-01-01'::date + (r() * 100)::int END,
	CASE WHEN r() < 0.05 THEN 'infinity'::timestamp ELSE '2024-01-01'::timestamp + (r() * 100)::int * interval '12 hours' END,
	CASE WHEN r() < 0.05 THEN '-infinity'::timestamptz ELSE '2024-03-20'::timestamptz + (r() * 300)::int * interval '3 hours' END,
	'00:00'::time + (r() * 1000)::int * interval '1 minute',
	(r() * 100)::int * interval '7 hours' - interval '1 month',
	CASE WHEN r() < 0.05 THEN 'NaN'::numeric WHEN r() < 0.1 THEN round((r() * 20)::numeric, 2) ELSE round((r() * 200 - 100)::numeric, (r() * 4)::int) END,
	CASE WHEN r() < 0.05 THEN 'NaN'::float4 WHEN r() < 0.05 THEN '-0'::float4 WHEN r() < 0.05 THEN '-infinity' ELSE round((r() * 40 - 20)::numeric, 1)::float4 END,
	CASE WHEN r() < 0.05 THEN 'NaN'::float8 WHEN r() < 0.05 THEN '-0'::float8 ELSE round((r() * 40 - 20)::numeric, 1)::float8 END,
	('10.' || (r() * 3)::int || '.0.0/' || (8 + (r() * 24)::int))::inet,
	(ARRAY['sad', 'meh', 'ok', 'happy', 'glad'])[1 + floor(r() * 5)::int]::mood
FROM generate_series(1, n) $$;

SELECT add_rows(1500);

CREATE TABLE columns AS SELECT attname::text AS name, atttypid::regtype::text AS type,
	row_number() OVER (ORDER BY attnum) AS n
	FROM pg_attribute WHERE attrelid = 'k'::regclass AND attnum > 1;
DO $$
DECLARE c record;
BEGIN
	FOR c IN SELECT * FROM columns LOOP
		EXECUTE format('CREATE INDEX k_%s ON k USING snii (%I%s%s)', c.name, c.name,
			CASE WHEN c.type IN ('text', 'character varying') THEN ' text_key_ops' END,
			(ARRAY['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])[1 + c.n % 4]);
	END LOOP;
END $$;
CREATE INDEX k_multi ON k USING snii (i2 DESC, td text_key_ops, i8 NULLS FIRST);
CREATE INDEX k_multi2 ON k USING snii (b, e DESC NULLS LAST, f8, tc text_key_ops DESC);
ANALYZE k;

-- Run a query by index and by sequential scan; both in the order it says.
CREATE FUNCTION differs(query text, idx text, ordered bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE a text; b text; plan text; line text;
BEGIN
	SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = on;
	EXECUTE query INTO b;
	SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
	IF ordered OR random() < 0.5 THEN
		SET LOCAL enable_indexscan = on;
	ELSE
		SET LOCAL enable_bitmapscan = on;
	END IF;
	plan := '';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	EXECUTE query INTO a;
	IF plan NOT LIKE '%k\_%' AND idx <> 'k_b' THEN
		RETURN format('NO INDEX: %s: %s', query, plan);
	END IF;
	IF a IS DISTINCT FROM b THEN
		RETURN format('DIFFERENT: %s: %s instead of %s', query, left(a, 300), left(b, 300));
	END IF;
	RETURN NULL;
END $$;

-- A value of the column, as a literal; sometimes of a row, sometimes not.
CREATE FUNCTION literal(c text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE format('SELECT %I::text FROM k WHERE %I IS NOT NULL ORDER BY random() LIMIT 1', c, c) INTO result;
	IF type IN ('integer', 'bigint', 'smallint') AND random() < 0.3 THEN
		RETURN format('%L::%s', result::numeric % 30000, (ARRAY['int2', 'int4', 'int8'])[1 + floor(random() * 3)::int]);
	ELSIF type = 'integer' AND random() < 0.2 THEN
		RETURN (ARRAY['9999999999', '-9999999999', '2147483648'])[1 + floor(random() * 3)::int];
	ELSIF type IN ('date', 'timestamp without time zone', 'timestamp with time zone') AND random() < 0.4 THEN
		RETURN format('%L::%s', result, (ARRAY['date', 'timestamp', 'timestamptz'])[1 + floor(random() * 3)::int]);
	ELSIF type IN ('real', 'double precision') AND random() < 0.4 THEN
		RETURN format('%L::%s', result, (ARRAY['float4', 'float8'])[1 + floor(random() * 2)::int]);
	END IF;
	RETURN format('%L::%s', result, type);
END $$;

CREATE FUNCTION condition(c text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE p float8 := random(); ops text[] := ARRAY['<', '<=', '=', '>=', '>'];
BEGIN
	IF p < 0.08 THEN RETURN format('%I IS NULL', c);
	ELSIF p < 0.14 THEN RETURN format('%I IS NOT NULL', c);
	ELSIF p < 0.30 THEN
		RETURN format('%I = ANY (ARRAY[%s, %s, NULL, %s]::%s[])', c,
			format('%L', trim(both '''' FROM split_part(literal(c, type), '::', 1))),
			format('%L', trim(both '''' FROM split_part(literal(c, type), '::', 1))),
			format('%L', trim(both '''' FROM split_part(literal(c, type), '::', 1))), type);
	ELSIF p < 0.5 THEN
		RETURN format('%I %s %s AND %I %s %s', c, ops[4 + floor(random() * 2)::int], literal(c, type),
			c, ops[1 + floor(random() * 2)::int], literal(c, type));
	END IF;
	RETURN format('%I %s %s', c, ops[1 + floor(random() * 5)::int], literal(c, type));
END $$;

CREATE FUNCTION compare(rounds int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE c record; q text; r text; cond text;
BEGIN
	FOR c IN SELECT * FROM columns ORDER BY n LOOP
		FOR i IN 1 .. rounds LOOP
			BEGIN
				cond := condition(c.name, c.type);
				EXECUTE format('SELECT 1 FROM k WHERE %s LIMIT 1', cond);
			EXCEPTION WHEN data_exception THEN CONTINUE;	-- out of range of the type
			END;
			r := differs(format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM k WHERE %s', cond), 'k_' || c.name, false);
			IF r IS NOT NULL THEN RETURN NEXT r; END IF;
		END LOOP;
		-- in order; rows with equal keys in the order of their numbers
		FOREACH q IN ARRAY ARRAY['', ' DESC'] LOOP
			r := differs(format('SELECT string_agg(%1$I::text, '' '') FROM (SELECT %1$I FROM k ORDER BY %1$I%2$s%3$s LIMIT 700) x',
				c.name, CASE WHEN (c.n % 2 = 1) = (q = '') THEN ' DESC' ELSE '' END,
				CASE WHEN (c.n % 4 IN (2, 1)) = (q = '') THEN ' NULLS FIRST' ELSE ' NULLS LAST' END), 'k_' || c.name, true);
			-- equal values with different texts (-0, 1.0) may come in any order
			IF r IS NOT NULL AND c.type NOT IN ('numeric', 'real', 'double precision', 'interval') THEN RETURN NEXT r; END IF;
		END LOOP;
	END LOOP;
	FOR i IN 1 .. rounds * 4 LOOP
		r := differs(format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM k WHERE %s AND %s%s',
			condition('i2', 'smallint'), condition('td', 'text'),
			CASE WHEN random() < 0.5 THEN ' AND ' || condition('i8', 'bigint') ELSE '' END), 'k_multi', false);
		IF r IS NOT NULL THEN RETURN NEXT r; END IF;
		r := differs(format('SELECT string_agg(row_id::text, '' '' ORDER BY row_id) FROM k WHERE %s AND %s AND %s',
			condition('b', 'boolean'), condition('e', 'key_scan.mood'), condition('f8', 'double precision')), 'k_multi2', false);
		IF r IS NOT NULL THEN RETURN NEXT r; END IF;
	END LOOP;
END $$;

CREATE FUNCTION all_indexes(f text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE i regclass;
BEGIN
	FOR i IN SELECT indexrelid FROM pg_index WHERE indrelid = 'k'::regclass ORDER BY 1 LOOP
		EXECUTE format(f, i);
	END LOOP;
END $$;

\echo == built
SELECT * FROM compare(4);
\echo == in the write buffer
SELECT add_rows(600);
SELECT * FROM compare(4);
\echo == flushed
SELECT all_indexes('SELECT snii_flush(%L)');
SELECT add_rows(300);
SELECT all_indexes('SELECT snii_flush(%L)');
SELECT add_rows(50);
SELECT * FROM compare(4);
\echo == with rows deleted and updated
DELETE FROM k WHERE row_id % 3 = 0;
UPDATE k SET i4 = i4 / 2, td = td || 'u' WHERE row_id % 7 = 0;
SELECT * FROM compare(3);
\echo == vacuumed
VACUUM k;
SELECT * FROM compare(3);
SELECT add_rows(700);
SELECT * FROM compare(2);
\echo == merged
SELECT all_indexes('SELECT snii_merge(%L)');
SELECT * FROM compare(3);
SELECT all_indexes('SELECT snii_check(%L, true)');
\echo == rebuilt
REINDEX TABLE k;
SELECT * FROM compare(1);
SELECT all_indexes('SELECT snii_check(%L, true)');

-- cursors, backward and forward
SET enable_seqscan = off;
SET enable_sort = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i4 FROM k WHERE i4 BETWEEN 0 AND 20 ORDER BY i4;
FETCH 3 c;
FETCH BACKWARD 2 c;
FETCH LAST c;
FETCH PRIOR c;
FETCH FIRST c;
COMMIT;

-- merge join: mark and restore
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM k a JOIN k b ON a.i2 = b.i2;
SELECT count(*) FROM k a JOIN k b ON a.i2 = b.i2;
SET enable_indexscan = off;
SET enable_sort = on;
SET enable_seqscan = on;
SELECT count(*) FROM k a JOIN k b ON a.i2 = b.i2;
RESET ALL;
SET search_path = key_scan, public;

-- what is too long
CREATE TABLE long (t text);
CREATE INDEX long_t ON long USING snii (t text_key_ops);
INSERT INTO long SELECT string_agg(md5(i::text), '') FROM generate_series(1, 70) i;
INSERT INTO long SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) i;
SELECT length(t) FROM long;

DROP SCHEMA key_scan CASCADE;
