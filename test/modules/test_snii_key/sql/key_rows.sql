-- Encoded keys: order, equality, hashes, values, separators and positions of
-- rows with edge values and random ones, against the types' own functions.
CREATE EXTENSION snii;
CREATE EXTENSION test_snii_key;
SET extra_float_digits = 3;
SET timezone = 'UTC';
SELECT setseed(0.5) IS NOT NULL AS seeded;
CREATE COLLATION nodiff (provider = icu, locale = 'und-u-ks-level2',
	deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
-- oids of labels that were added later may be out of order
ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok';
ALTER TYPE mood ADD VALUE 'odd' BEFORE 'sad';
CREATE DOMAIN age AS int4;

-- One of the edge values, mostly NULL beyond their number.
CREATE FUNCTION edge(edges text[], choices int) RETURNS text
LANGUAGE sql VOLATILE
AS 'SELECT edges[1 + floor(random() * choices)::int]';
CREATE FUNCTION word() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(string_agg(substr('aAbBzZ0é _-', 1 + floor(random() * 11)::int, 1), ''), '')
	FROM generate_series(1, floor(random() * 6)::int) $$;
CREATE FUNCTION octets() RETURNS bytea LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(decode(string_agg((ARRAY['00', '01', 'ff', '00ff', '0000', '61'])
		[1 + floor(random() * 6)::int], ''), 'hex'), '')
	FROM generate_series(1, floor(random() * 5)::int) $$;

CREATE TABLE v (id serial, b bool, i2 int2, i4 int4, i8 int8, a age, o oid,
	u uuid, tc text COLLATE "C", td text, ti text COLLATE "und-x-icu",
	tn text COLLATE nodiff, vc varchar(20) COLLATE "C", by bytea, d date,
	ts timestamp, tz timestamptz, tm time, iv interval, n numeric,
	f4 float4, f8 float8, ip inet, m mood, pair int4);
ALTER TABLE v ALTER tc SET STORAGE external;
INSERT INTO v (b, i2, i4, i8, a, o, u, tc, td, ti, tn, vc, by, d, ts, tz, tm,
	iv, n, f4, f8, ip, m, pair)
SELECT edge('{t,f}', 3)::bool,
	coalesce(edge('{-32768,-1,0,1,255,256,32767}', 9)::int2,
		(random() * 65535 - 32768)::int2),
	coalesce(edge('{-2147483648,-1,0,1,2147483647,NULL}', 9)::int4,
		(random() * 1000)::int4),
	coalesce(edge('{-9223372036854775808,-1,0,1,9223372036854775807}', 9)::int8,
		(random() * 1e15)::int8),
	edge('{-5,-1,0,7,2147483647}', 6)::age,
	coalesce(edge('{0,1,2147483648,4294967295}', 9)::oid, (random() * 1e9)::int8::oid),
	edge('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,
		7fffffff-0000-0000-0000-000000000000,80000000-0000-0000-0000-000000000000}', 6)::uuid,
	coalesce(edge(ARRAY['', ' ', 'a', 'ab', chr(1), chr(65533), repeat('x', 2600),
		repeat('xy', 1300)], 16), word()),
	word(), word(), coalesce(edge('{a,A,aa,aA,Aa,é,É,e}', 12), word()), word(),
	coalesce(edge(ARRAY['\x', '\x00', '\x0000', '\x00ff', '\xff', '\xff00',
		'\x0001', '\x01', '\x' || repeat('00', 1200)], 16)::bytea, octets()),
	coalesce(edge('{-infinity,infinity,4713-01-01 BC,5874897-12-31,2000-01-01,1999-12-31}', 9)::date,
		date '2020-01-01' + (random() * 100)::int),
	coalesce(edge('{-infinity,infinity,4713-01-01 00:00:00 BC,294276-12-31 23:59:59.999999,
		2000-01-01 00:00:00,1999-12-31 23:59:59.999999}', 9)::timestamp,
		timestamp '2020-01-01' + random() * interval '100 days'),
	coalesce(edge('{-infinity,infinity,4713-01-01 00:00:00+00 BC,294276-12-31 23:59:59.999999+00}', 9)::timestamptz,
		timestamptz '2020-01-01' + random() * interval '100 days'),
	edge('{00:00,24:00,12:00,23:59:59.999999}', 5)::time,
	edge('{1 mon,30 days,720:00,-1 day,-24:00,0,1 day 1 us,24:00}', 9)::interval,
	coalesce(edge('{NaN,Infinity,-Infinity,0,0.0,-0.00,1,1.0,1.00,-1.50,-1.5,1e100,1e-100,-1e100}', 18)::numeric,
		(random() * 100 - 50)::numeric(8, 3)),
	coalesce(edge('{NaN,Infinity,-Infinity,0,-0,1,-1,3.4028235e38,-3.4028235e38,1e-45,-1e-45}', 16)::float4,
		random()::float4),
	coalesce(edge('{NaN,Infinity,-Infinity,0,-0,1,-1,1.7976931348623157e308,5e-324,-5e-324}', 16)::float8,
		random()),
	coalesce(edge('{0.0.0.0,255.255.255.255,10.0.0.0/8,10.0.0.0,10.0.0.1/8,::,::1,ffff::/16}', 10)::inet,
		inet '10.1.0.0' + floor(random() * 300)::int8),
	edge('{sad,ok,happy,meh,odd}', 6)::mood,
	floor(random() * 5)::int
FROM generate_series(1, 600);
-- texts that are stored out of line and still fit
UPDATE v SET tc = (SELECT string_agg(chr(33 + (id * i) % 90), '')
	FROM generate_series(1, 2650) i) WHERE id % 50 = 0;

CREATE FUNCTION check_index(columns text, own boolean DEFAULT false,
	tab text DEFAULT 'v') RETURNS TABLE (rows bigint, form text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX checked ON %I USING snii (%s', tab, columns)
		|| CASE columns LIKE '%INCLUDE%' WHEN true THEN '' ELSE ')' END;
	rows := test_key_rows('checked', 1, own);
	form := test_key_desc('checked');
	DROP INDEX checked;
	RETURN NEXT;
END $$;

-- each type, in all four orders
SELECT c, o, check_index(c || ' ' || o) FROM
	unnest('{b,i2,i4,i8,a,o,u,tc text_key_ops,td text_key_ops,ti text_key_ops,
		tn text_key_ops,vc text_key_ops,by,d,ts,tz,tm,iv,n,f4,f8,ip,m}'::text[]) c,
	unnest('{"",NULLS FIRST,DESC,DESC NULLS LAST}'::text[]) o;

-- several columns
SELECT c, check_index(c) FROM unnest(ARRAY[
	'pair, i4, id', 'pair DESC, by, d NULLS FIRST', 'm, n DESC, pair',
	'tn text_key_ops, tc text_key_ops DESC', 'b, b DESC, i2 NULLS FIRST, u',
	'substr(by, 1, 20) DESC, substr(by, 1, 9), tc text_key_ops', 'f8, f4 DESC, iv', 'pair, (i8 % 7), lower(ti) text_key_ops',
	'left(tc, 80) text_key_ops DESC NULLS LAST, vc text_key_ops, ip DESC, id',
	'u DESC, u DESC, u, u, u, u, u, u, u, u, u, u, u, u, u, u']) c;

-- INCLUDE
SELECT c, check_index(c) FROM unnest(ARRAY[
	'pair) INCLUDE (n, vc, id, f8, by, m, ip, b, td, u, iv)',
	'm) INCLUDE (tc)', 'n, i4 DESC) INCLUDE (tn, pair)']) c;

-- malformed bytes
SET client_min_messages = warning;
CREATE INDEX damage1 ON v USING snii (pair, substr(by, 1, 20), left(tc, 80) text_key_ops, i8);
CREATE INDEX damage2 ON v USING snii (n DESC, left(tc, 80) text_key_ops DESC, substr(by, 1, 20) DESC, u);
CREATE INDEX damage3 ON v USING snii (tn text_key_ops, m, iv, ip NULLS FIRST);
CREATE INDEX damage4 ON v USING snii (id, b, u);
SELECT c, test_key_damage(c::regclass, 1, 5000) > 2400 AS found
FROM unnest('{damage1,damage2,damage3,damage4}'::text[]) c;

-- too long
CREATE TABLE long (t text COLLATE "C", p text COLLATE "und-x-icu", b bytea, i int);
CREATE INDEX long_t ON long USING snii (t text_key_ops);
CREATE INDEX long_p ON long USING snii (p text_key_ops);
CREATE INDEX long_b ON long USING snii (b, i);
CREATE INDEX long_i ON long USING snii (i) INCLUDE (b);
-- the first byte, the end, the TID
INSERT INTO long (t) VALUES (repeat('x', 2692));
INSERT INTO long (t) VALUES (repeat('x', 2693));
INSERT INTO long (t) VALUES (repeat('x', 100000));
INSERT INTO long (p) VALUES (repeat('x', 2691));
INSERT INTO long (p) VALUES (repeat('x', 2692));
INSERT INTO long (p) VALUES (repeat('x', 1000000));
INSERT INTO long (b) SELECT decode(repeat('00', n), 'hex')
	FROM generate_series(1, 1340, 67) n;
INSERT INTO long (b) VALUES (decode(repeat('00', 1350), 'hex'));
INSERT INTO long (b) VALUES (decode(repeat('61', 2690), 'hex'));
SELECT test_key_rows('long_t', 1) > 0 AND test_key_rows('long_p', 1) > 0 AND
	test_key_rows('long_b', 1) > 0 AND test_key_rows('long_i', 1) > 0 AS ok;
