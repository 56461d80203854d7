-- needs a database in UTF-8
\encoding UTF8
-- The type sniiquery and the query language: what is read, what is printed,
-- what is refused, and that no text of a user is refused by the lenient form.
\set VERBOSITY terse

CREATE SCHEMA query;
SET search_path = query, public;

-- ---------- words, operators, precedence ----------
CREATE TABLE q (n serial, input text);
INSERT INTO q (input) VALUES
	('word'), ('Two Words'), ('  blanks   between  '),
	('a AND b'), ('a OR b'), ('NOT a'), ('a && b'), ('a || b'), ('!a'),
	('a&&b'), ('a||b'), ('a & b | c'),
	('a OR b AND c'), ('a AND b OR c'), ('(a OR b) AND c'),
	('NOT a AND b'), ('NOT (a AND b)'), ('NOT NOT a'), ('NOT NOT NOT a'),
	('a NOT b'), ('a OR NOT b'), ('a AND NOT b'), ('NOT a NOT b'),
	('+a b'), ('+a +b c'), ('a -b'), ('+a b -c'), ('-a'), ('-a -b'),
	('a b AND c d'), ('a b OR c -d'), ('a OR -b'), ('+a OR b'), ('+(a b) -(c d)'),
	('b (-a)'), ('((a))'), ('and or not'), ('"AND" "OR"'),
	('well-known'), ('a/b/c'), ('10.0.0.1'), ('don''t'),
	('/'), ('"a phrase"'), ('"one"'), ('""'), ('"..." a'), ('"a \"quoted\" b"'),
	('\+a'), ('a\ b'), ('C:\Windows'), ('trailing\'), ('\*'), ('a\~2'),
	('foo"bar"'), ('foo(bar)'), ('a a A'), ('a AND a'), ('(a AND b) AND (b AND c)'),
	('a OR (b OR (c OR a))'), ('a AND (b OR b)'), ('a AND *'), ('a OR *'),
	('a AND NOT *'), ('a OR NOT *'), ('NOT *'), ('*'), ('()'), ('NOT ()'), (''),
	(' '), ('a AND ...'), ('NOT ...'), ('+... a');

-- NULL stands for an error; it is shown below
CREATE FUNCTION try(input text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN input::sniiquery::text;
EXCEPTION WHEN syntax_error OR feature_not_supported OR program_limit_exceeded
	OR undefined_object THEN
	RETURN NULL;
END $$;
SELECT n, input, try(input) AS strict, snii_websearch(input) AS lenient
	FROM q ORDER BY n;
-- what is printed reads back to the same value, also over the wire's format
SELECT count(*), count(*) FILTER (WHERE query::text::sniiquery = query) AS same
	FROM (SELECT snii_websearch(input) AS query FROM q
		  UNION ALL SELECT try(input)::sniiquery FROM q) s
	WHERE query IS NOT NULL;

-- ---------- exact terms ----------
SELECT $$'Exact Term'$$::sniiquery, $$'it''s'$$::sniiquery;
SELECT $$phrase('a' 'b')$$::sniiquery, $$phrase('a' _ 'b' _3 'c')$$::sniiquery,
	$$phrase('a')$$::sniiquery, $$phrase('a' _ _2 'b')$$::sniiquery;
SELECT $$phrase (a)$$::sniiquery AS "a word and a group";
SELECT $$NOT ('a' OR 'b' AND NOT 'c') AND phrase('d' 'e')$$::sniiquery;
-- not in the lenient form: quotes and phrase( are text there
SELECT snii_websearch($$'Exact Term'$$), snii_websearch($$phrase('a' 'b')$$),
	snii_websearch('@keyword a')::text LIKE '@standard %keyword% OR ''a''' AS analyzer, snii_websearch('*');

-- ---------- analyzers ----------
SELECT '@whitespace Foo-Bar "A b"'::sniiquery, '@keyword "Foo Bar"'::sniiquery,
	'@standard'::sniiquery, '@standard(a)'::sniiquery;
SELECT '@nothing a'::sniiquery;
SELECT '@ a'::sniiquery;
SELECT snii_query('whitespace', 'Foo-Bar AND x'), snii_query('keyword', '@keyword a');
SELECT snii_query('whitespace', '@standard a');
SELECT snii_query('nothing', 'a');
SELECT snii_any('standard', 'B a b'), snii_all('standard', 'B a b'),
	snii_phrase('standard', 'B a b'), snii_websearch('whitespace', 'B -a');
SELECT snii_any('standard', ''), snii_all('standard', '.'), snii_phrase('standard', ' '),
	snii_any('standard', 'one'), snii_phrase('standard', 'one');
SELECT snii_any(NULL, 'a') IS NULL AND snii_any('standard', NULL) IS NULL AS strict;

-- ---------- errors of strict input, with their place ----------
\set VERBOSITY default
SELECT '('::sniiquery;
SELECT 'a)'::sniiquery;
SELECT 'é AND'::sniiquery;
SELECT 'AND a'::sniiquery;
SELECT 'a OR OR b'::sniiquery;
SELECT 'a NOT'::sniiquery;
SELECT 'a - b'::sniiquery;
SELECT '--a'::sniiquery;
SELECT 'a "b'::sniiquery;
SELECT $$'a$$::sniiquery;
SELECT $$''$$::sniiquery;
SELECT $$phrase()$$::sniiquery;
SELECT $$phrase(_ 'a')$$::sniiquery;
SELECT $$phrase('a' _)$$::sniiquery;
SELECT $$phrase('a' b)$$::sniiquery;
SELECT $$phrase('a'$$::sniiquery;
SELECT $$phrase('a' _0 'b')$$::sniiquery;
SELECT $$phrase('a' _99999999999 'b')$$::sniiquery;
-- a soft error, from 16 on
CREATE FUNCTION valid(input text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	result boolean := try(input) IS NOT NULL;
BEGIN
	IF current_setting('server_version_num')::int >= 160000 THEN
		EXECUTE 'SELECT pg_input_is_valid($1, ''sniiquery'')' INTO result USING input;
	END IF;
	RETURN result;
END $$;
SELECT valid('a AND'), valid('@nothing a'), valid('a*'), valid(repeat('(', 300)), valid('a');
-- syntax of features to come
SELECT 'pre*'::sniiquery;
SELECT 'w?ld'::sniiquery;
SELECT '"a b"~2'::sniiquery;
SELECT 'fuzzy~1'::sniiquery;
SELECT '/re/'::sniiquery;
SELECT 'term^2'::sniiquery;
SELECT '[a TO b]'::sniiquery;
\set VERBOSITY terse
-- in the lenient form it is words
SELECT snii_websearch('pre* w?ld "a b"~2 fuzzy~1 /re/ term^2 [a TO b]');

-- ---------- lenient: everything is a query ----------
SELECT input, snii_websearch(input) FROM (VALUES
	('cats AND'), ('AND cats'), ('OR'), ('NOT'), ('a AND OR b'), ('a NOT'),
	('((a OR b'), ('a))) AND b'), (')('), ('5" disk drive'), ('"a b" "c'),
	('a - b'), ('--help'), ('-- --'), ('+'), ('-'), ('!'), ('a ! b'), ('!!!a'),
	('\'), ('\\'), ('\"a'), ('"a\"'), ('&& ||'), ('a &&'), ('|| a'), ('(((((('),
	('-(-(-a))'), ('+-a'), ('-+a'), ('''quoted'' text'), ('TO BE OR NOT TO BE'),
	(E'tab\tand\nline'), (U&'no\00a0break\3000wide')
	) v(input);

SELECT snii_websearch(U&'\200b'), snii_websearch(U&'a\200bb\2009c');

-- deep nesting: refused by the strict form, ignored beyond a depth by the other
SELECT (repeat('(', 256) || 'a' || repeat(')', 256))::sniiquery;
SELECT try(repeat('(', 257) || 'a' || repeat(')', 257)) IS NULL AS too_deep;
SELECT snii_websearch(repeat('(', 100000) || 'a' || repeat(')', 100000) || ' b'),
	snii_websearch(repeat('(', 100000) || 'a b'),
	snii_websearch(repeat('NOT ', 100001) || 'a'),
	snii_websearch(repeat('!(', 100000) || 'a'),
	snii_websearch(repeat('-', 100000) || 'a');
-- a tree as deep as lenient text makes it reads back
SELECT query::text::sniiquery = query AS same, length(query::text) > 1000 AS long
	FROM snii_websearch(repeat('-(p OR NOT (q -r ', 90)) query;
-- 1,000,000 words, 1,000 of them different
SELECT length(snii_any('standard', string_agg('w' || i % 1000, ' '))::text)
	FROM generate_series(1, 1000000) i;
-- long tokens keep their text
SELECT length(query::text), query::text::sniiquery = query AS same
	FROM snii_any('standard', repeat('x', 3000)) query;

-- ---------- hostile strings ----------
CREATE TABLE nasty (n int, s text);
\copy nasty FROM 'test/data/blns.tsv'
SELECT count(*), count(snii_websearch(s)) AS queries,
	count(*) FILTER (WHERE snii_websearch(s)::text::sniiquery = snii_websearch(s)) AS same,
	count(s @@@ s) + count(s ||| s) + count(s &&& s) + count(s ### s) AS matched
	FROM nasty;
-- a text has all of its own words, and is a phrase of itself
SELECT count(*) FROM nasty
	WHERE ((s ||| s) OR (s &&& s) OR (s ### s))
		IS DISTINCT FROM EXISTS (SELECT FROM snii_analyze('standard', s))
	OR (s ||| s) <> (s &&& s) OR (s &&& s) <> (s ### s);
-- pairs of them, and cut at every place
SELECT count(snii_websearch(a.s || b.s)) FROM nasty a, nasty b WHERE b.n % 10 = 0;
SELECT count(snii_websearch(left(s, i)))
	FROM nasty, generate_series(0, length(s)) i;
-- strict input is read, or refused with an error that try() knows
SELECT count(try(s)) > 100 AS read, count(*) - count(try(s)) > 10 AS refused FROM nasty;

-- ---------- random text of the language's own characters ----------
SELECT setseed(0.42);
CREATE TEMP TABLE noise AS
	SELECT (SELECT string_agg((ARRAY['a', 'b', 'foo', ' ', ' ', ' ', '(', ')', '"', '''',
		'+', '-', '!', 'AND ', 'OR ', 'NOT ', '&&', '||', '\', '*', '?', '~2', '^', '/',
		'[', ']', 'TO', '@', '_', 'phrase(', 'é', '.', ','])[1 + floor(random() * 33)], '')
		FROM generate_series(1, 1 + g % 40)) AS s
	FROM generate_series(1, 20000) g;
SELECT count(*), count(snii_websearch(s)),
	count(*) FILTER (WHERE snii_websearch(s)::text::sniiquery = snii_websearch(s)) AS same
	FROM noise;
SELECT count(*) FILTER (WHERE t::sniiquery::text = t) = count(*) AS same, count(*) > 100 AS read
	FROM (SELECT try(s) AS t FROM noise) s WHERE t IS NOT NULL;
-- where strict input is read without its own syntax, both mean the same
SELECT count(*) FROM (SELECT s, try(s) AS t FROM noise) s
	WHERE t IS NOT NULL AND s !~ '[''*@]|phrase' AND t <> snii_websearch(s)::text;

-- ---------- type ----------
SELECT 'a'::sniiquery = 'A'::sniiquery AS equal, 'a b'::sniiquery <> 'b a'::sniiquery AS ordered,
	'a'::sniiquery = '@whitespace a'::sniiquery AS analyzer;
SELECT pg_column_size('a'::sniiquery);
-- stored, compressed and out of line
CREATE TABLE stored (id int, query sniiquery);
INSERT INTO stored SELECT 1, 'a AND NOT b';
INSERT INTO stored SELECT 2, snii_any('standard', string_agg(md5(i::text), ' '))
	FROM generate_series(1, 2000) i;
INSERT INTO stored SELECT 3, snii_any('standard', string_agg('w' || i, ' '))
	FROM generate_series(1, 2000) i;
SELECT s.id, t.id, t.body @@@ s.query AS matches
	FROM stored s, (VALUES (1, 'a c'), (2, md5('1999')), (3, 'w1 w2'), (4, NULL)) t(id, body)
	ORDER BY 1, 2;
COPY stored TO '/dev/null' (FORMAT binary);
SELECT query FROM stored WHERE query = 'a AND NOT b'::sniiquery;
-- sent and received
CREATE TEMP TABLE received (LIKE stored);
\copy stored TO 'results/stored.bin' (FORMAT binary)
\copy received FROM 'results/stored.bin' (FORMAT binary)
SELECT count(*) FROM stored JOIN received USING (id) WHERE stored.query = received.query;
SELECT encode(snii_query_send('@whitespace phrase(''a'' _ ''b'') AND NOT ''c'''), 'hex');
-- what is received is not trusted
CREATE TEMP TABLE message (bytes bytea);
CREATE TEMP TABLE target (query sniiquery);
-- one that is good
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e6461726400026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- no node
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e6461726400', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- an unknown node
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e64617264000f', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- a term without an end
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e64617264000261', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- an empty term
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e64617264000200', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- bytes behind the end
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e646172640002610000', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- a count of 1
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e64617264000400000001026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- a count beyond the end
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e6461726400047fffffff026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- a phrase with slop
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e646172640003000000010100000002000000006100000000016200', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- unknown flags
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e646172640003000000000300000002000000006100000000016200', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- positions that do not ascend
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e646172640003000000000100000002000000006100000000006200', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- a first position that is not 0
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e646172640003000000000100000002000000016100000000026200', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- text that is not UTF-8
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e646172640002ff00', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- what is not in normal form: NOT (NOT a AND NOT a)
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e64617264000604000000020602610006026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- nodes nested too deeply
TRUNCATE message;
INSERT INTO message VALUES (decode('017374616e6461726400' || repeat('06', 2000) || '026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
-- another version, an unknown analyzer
TRUNCATE message;
INSERT INTO message VALUES (decode('027374616e6461726400026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
TRUNCATE message;
INSERT INTO message VALUES (decode('016f7468657200026100', 'hex'));
\copy message TO 'results/message.bin' (FORMAT binary)
\copy target FROM 'results/message.bin' (FORMAT binary)
SELECT * FROM target;
SET client_min_messages = warning;
DROP SCHEMA query CASCADE;
