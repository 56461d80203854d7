-- Operator classes: those that snii has, and a user's own.
CREATE FUNCTION validate() RETURNS TABLE (class name, valid boolean)
LANGUAGE sql AS $$
	SELECT opcname, amvalidate(oid) FROM pg_opclass
	WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'snii')
	ORDER BY opcname COLLATE "C" $$;
SELECT * FROM validate();

-- The classes have what btree's of the same types have.
SELECT o.amoplefttype::regtype, o.amoprighttype::regtype, o.amopstrategy,
	o.amopopr::regoperator
FROM pg_amop o JOIN pg_opfamily f ON f.oid = o.amopfamily
WHERE f.opfmethod = (SELECT oid FROM pg_am WHERE amname = 'snii')
	AND o.amopstrategy < 10
	AND NOT EXISTS (SELECT FROM pg_amop b WHERE b.amopmethod = 403
		AND b.amopopr = o.amopopr AND b.amopstrategy = o.amopstrategy);
SELECT p.amproclefttype::regtype, p.amprocrighttype::regtype, p.amproc
FROM pg_amproc p JOIN pg_opfamily f ON f.oid = p.amprocfamily
WHERE f.opfmethod = (SELECT oid FROM pg_am WHERE amname = 'snii')
	AND p.amprocnum = 1
	AND NOT EXISTS (SELECT FROM pg_amproc b JOIN pg_opfamily g ON g.oid = b.amprocfamily
		WHERE g.opfmethod = 403 AND b.amprocnum = 1 AND b.amproc = p.amproc
			AND b.amproclefttype = p.amproclefttype
			AND b.amprocrighttype = p.amprocrighttype);

-- A user's order of a type that has bytes in order: by digit sum of int4, with
-- ties by value, written in SQL, so that comparisons run queries.
CREATE FUNCTION digits(i int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS
	$$ SELECT sum(d::int)::int FROM regexp_split_to_table(abs(i::int8)::text, '') d $$;
CREATE FUNCTION digits_cmp(a int4, b int4) RETURNS int4 SET search_path FROM CURRENT
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	RETURN coalesce(nullif(btint4cmp(digits(a), digits(b)), 0), btint4cmp(a, b));
END $$;
CREATE FUNCTION digits_lt(a int4, b int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT digits_cmp(a, b) < 0';
CREATE FUNCTION digits_le(a int4, b int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT digits_cmp(a, b) <= 0';
CREATE FUNCTION digits_eq(a int4, b int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT digits_cmp(a, b) = 0';
CREATE FUNCTION digits_ge(a int4, b int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT digits_cmp(a, b) >= 0';
CREATE FUNCTION digits_gt(a int4, b int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT digits_cmp(a, b) > 0';
CREATE OPERATOR <# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = digits_lt);
CREATE OPERATOR <=# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = digits_le);
CREATE OPERATOR =# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = digits_eq);
CREATE OPERATOR >=# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = digits_ge);
CREATE OPERATOR ># (LEFTARG = int4, RIGHTARG = int4, FUNCTION = digits_gt);
-- a build sorts by the order of a btree class
CREATE OPERATOR CLASS digits_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#,
	FUNCTION 1 digits_cmp(int4, int4);
CREATE OPERATOR CLASS digits_ops FOR TYPE int4 USING snii AS
	OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#,
	FUNCTION 1 digits_cmp(int4, int4), FUNCTION 7 hashint4extended(int4, int8);
-- and without a hash function
CREATE OPERATOR CLASS digits_nohash_ops FOR TYPE int4 USING snii AS
	OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#,
	FUNCTION 1 digits_cmp(int4, int4);
SELECT * FROM validate() WHERE class LIKE 'digits%';
CREATE TABLE digits AS SELECT i4, i4 % 10 AS pair FROM v LIMIT 60;
SELECT c, check_index(c, true, 'digits') FROM unnest(ARRAY[
	'i4 digits_ops', 'i4 digits_ops DESC', 'i4 digits_nohash_ops NULLS FIRST, pair',
	'pair digits_ops, i4 digits_ops']) c;
SELECT c, check_intervals(c, 60, 'digits', 'digits')
FROM unnest(ARRAY['i4 digits_ops', 'i4 digits_nohash_ops DESC, pair']) c;

-- A user's class for a type that snii has none for.
CREATE TYPE point3 AS (x int, y numeric, z text);
CREATE OPERATOR CLASS record_key_ops FOR TYPE record USING snii AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btrecordcmp(record, record), FUNCTION 7 hash_record_extended(record, int8);
CREATE OPERATOR CLASS array_key_ops FOR TYPE anyarray USING snii AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btarraycmp(anyarray, anyarray), FUNCTION 7 hash_array_extended(anyarray, int8);
CREATE OPERATOR CLASS money_key_ops DEFAULT FOR TYPE money USING snii AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 cash_cmp(money, money);
CREATE OPERATOR CLASS name_key_ops FOR TYPE name USING snii AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btnamecmp(name, name), FUNCTION 7 hashnameextended(name, int8);
SELECT * FROM validate() WHERE class IN ('record_key_ops', 'array_key_ops',
	'money_key_ops', 'name_key_ops');
CREATE TABLE others AS SELECT ARRAY[f8, -f8, i2] AS fa, ARRAY[tc, vc] AS ta,
	ROW(i4, n, left(vc, 3))::point3 AS p, (i2 / 100.0)::money AS mo, left(vc, 8)::name AS nm, pair
	FROM v WHERE length(tc) < 100 LIMIT 200;
SELECT c, check_index(c, false, 'others') FROM unnest(ARRAY[
	'fa array_key_ops', 'ta array_key_ops DESC, pair', 'p record_key_ops',
	'mo, nm name_key_ops DESC']) c;
SELECT c, check_intervals(c, 300, 'others', 'others') FROM unnest(ARRAY[
	'fa array_key_ops', 'p record_key_ops DESC, pair', 'nm name_key_ops, mo']) c;

-- What is wrong with a class.
CREATE OPERATOR FAMILY bad_ops USING snii;
CREATE OPERATOR CLASS bad_ops FOR TYPE int4 USING snii FAMILY bad_ops AS
	OPERATOR 1 pg_catalog.<, OPERATOR 3 pg_catalog.=, FUNCTION 1 btint4cmp(int4, int4);
SELECT * FROM validate() WHERE class = 'bad_ops';
ALTER OPERATOR FAMILY bad_ops USING snii ADD
	OPERATOR 2 pg_catalog.<= (int4, int4), OPERATOR 4 pg_catalog.>= (int4, int4),
	OPERATOR 5 pg_catalog.> (int4, int4);
SELECT * FROM validate() WHERE class = 'bad_ops';
-- of other types without all operators, or without their order
ALTER OPERATOR FAMILY bad_ops USING snii ADD
	OPERATOR 1 pg_catalog.< (int4, int8);
SELECT * FROM validate() WHERE class = 'bad_ops';
ALTER OPERATOR FAMILY bad_ops USING snii DROP OPERATOR 1 (int4, int8);
ALTER OPERATOR FAMILY bad_ops USING snii ADD
	FUNCTION 1 (int4, int8) btint48cmp(int4, int8);
SELECT * FROM validate() WHERE class = 'bad_ops';
ALTER OPERATOR FAMILY bad_ops USING snii DROP FUNCTION 1 (int4, int8);
ALTER OPERATOR FAMILY bad_ops USING snii ADD
	OPERATOR 7 pg_catalog.= (int4, int8);
SELECT * FROM validate() WHERE class = 'bad_ops';
ALTER OPERATOR FAMILY bad_ops USING snii DROP OPERATOR 7 (int4, int8);
ALTER OPERATOR FAMILY bad_ops USING snii ADD
	FUNCTION 7 (int4, int4) hashint8extended(int8, int8);
SELECT * FROM validate() WHERE class = 'bad_ops';
ALTER OPERATOR FAMILY bad_ops USING snii DROP FUNCTION 7 (int4, int4);
SELECT * FROM validate() WHERE class = 'bad_ops';
