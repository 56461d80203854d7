-- Intervals of random scan keys, with arguments of the column's type and of
-- others, against the operators on every row. (Uses the table of key_rows.)
SET timezone = 'Europe/Berlin';
SELECT setseed(0.25) IS NOT NULL AS seeded;
CREATE TABLE r AS
SELECT g AS id, v.* FROM generate_series(1, 1) g,
	LATERAL (SELECT i2, i4, i8, o, u, tc, ti, tn, vc, by, d, ts, tz, tm, iv, n,
		f4, f8, ip, m, b, pair FROM v ORDER BY v.id LIMIT 250) v;
CREATE TABLE args AS SELECT * FROM r;
-- arguments that no entry can have, or beyond the column's type
INSERT INTO args (i2, i4, i8, f4, f8, n, tc, ti, tn, by, d, ts, tz)
VALUES (32767, 32768, 2147483648, 1, 1e300, 1e130000, repeat('x', 3000), repeat('x', 3000),
		repeat('a', 70000), decode(repeat('00', 3000), 'hex'), '5874897-12-31', '294276-12-31', '294276-12-31'),
	(-32768, -32769, -2147483649, -1, -1e300, -1e-16000, repeat('x', 2601), repeat('b', 2600),
		repeat('a', 5000), decode(repeat('ff', 3000), 'hex'), '4713-01-01 BC', '4713-01-01 BC', '4713-01-02 BC'),
	(NULL, NULL, NULL, NULL, 3.4028235e38, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(NULL, NULL, NULL, NULL, 1e-46, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(0, 0, 0, 0, 0.1::float4, 0, chr(1), '', '', '\x', '2020-03-29', '2020-03-29', '2020-03-29'),
	(1, 1, 1, 0.1, 0.1, 1.0000, 'x', 'X', 'X', '\x00', '2020-02-01', '2020-02-01', '2020-02-01');
-- equal values of different types
UPDATE r SET ts = d WHERE id % 3 = 0 AND d BETWEEN '2000-01-01' AND '2100-01-01';
UPDATE r SET tz = ts WHERE i2 % 3 = 0;

CREATE FUNCTION check_intervals(columns text, rounds int DEFAULT 1500,
	arguments regclass DEFAULT 'args', tab text DEFAULT 'r')
RETURNS TABLE (hits boolean, points boolean, tight boolean, residual boolean)
LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	EXECUTE format('CREATE INDEX checked ON %I USING snii (%s)', tab, columns);
	r := test_key_intervals('checked', arguments, 1, rounds);
	DROP INDEX checked;
	hits := r.wanted > 0 AND r.wanted < r.rows_checked;
	points := r.points > 0;
	tight := r.tight = rounds;
	residual := r.residual > 0;
	RETURN NEXT;
END $$;

-- one column: the interval says it all
SELECT c, o, check_intervals(c || ' ' || o, 600) FROM
	unnest('{b,i2,i4,i8,o,u,tc text_key_ops,ti text_key_ops,tn text_key_ops,vc text_key_ops,
		by,d,ts,tz,tm,iv,n,f4,f8,ip,m}'::text[]) c,
	unnest('{"",NULLS FIRST,DESC}'::text[]) o;

-- where clocks are set, local times are not in the order of those they are
CREATE TABLE clocks AS
	SELECT t + i * interval '7 min' AS ts, (t + i * interval '7 min')::date AS d,
		(t + i * interval '7 min') AT TIME ZONE 'UTC' AS tz
	FROM unnest('{2020-03-29 00:00,2020-10-25 00:00,2020-06-01 00:00}'::timestamp[]) t,
		generate_series(0, 40) i;
CREATE TABLE clock_args AS SELECT tz FROM clocks;
SELECT c, check_intervals(c, 1000, 'clock_args', 'clocks')
	FROM unnest('{ts,ts DESC,d,tz}'::text[]) c;
-- and where a day is left out
SET timezone = 'Pacific/Apia';
UPDATE clocks SET ts = ts - timestamp '2020-03-29' + timestamp '2011-12-29 12:00',
	tz = tz - timestamptz '2020-03-29' + timestamptz '2011-12-30 10:00Z' WHERE ts < '2020-04-01';
UPDATE clocks SET ts = ts + interval '20 hours', tz = tz + interval '10 h'
	WHERE ts < '2012-01-01' AND random() < 0.7;
UPDATE clocks SET d = ts;
DELETE FROM clock_args;
INSERT INTO clock_args SELECT tz FROM clocks;
SELECT c, check_intervals(c, 1000, 'clock_args', 'clocks')
	FROM unnest('{ts,ts DESC,d,tz}'::text[]) c;
SET timezone = 'Europe/Berlin';

-- several columns
SELECT c, check_intervals(c) FROM unnest(ARRAY[
	'pair, i4', 'pair DESC, i2 NULLS FIRST, b', 'b, m, pair DESC',
	'n, pair', 'tn text_key_ops DESC, pair, b', 'b, d, ts', 'tz, d DESC',
	'pair, substr(by, 1, 20) DESC, left(tc, 80) text_key_ops', 'f4, f8 DESC', 'b DESC, pair, f8, i8']) c;
