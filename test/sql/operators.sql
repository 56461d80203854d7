-- The search operators and functions: types, precedence, NULL, what cannot know
-- its column. Without an index; meaning.sql has the same with indexes.
CREATE SCHEMA operators;
SET search_path = operators, public;
SET jit = off;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
RESET client_min_messages;
CREATE DOMAIN body_domain AS text CHECK (VALUE <> 'never');
CREATE DOMAIN code_domain AS char(20);
CREATE TABLE op (id int, body text, v varchar(40), c char(40), n name, d body_domain,
	dc code_domain, ci citext, j jsonb);
INSERT INTO op (id, body) VALUES (1, 'blue sky'), (2, 'Red sky, blue'), (3, NULL), (4, ''),
	(5, 'sky blue'), (6, 'green');
UPDATE op SET v = body, c = body, n = body, d = body, dc = body, ci = body,
	j = jsonb_build_object('m', body);

-- ---------- three-valued logic (acceptance case A5) ----------
CREATE TABLE logic (id int, body text);
INSERT INTO logic VALUES (1, 'blue'), (2, 'red'), (3, NULL), (4, '');
SELECT
	array_agg(id) FILTER (WHERE body ||| 'blue') AS matches,
	array_agg(id) FILTER (WHERE NOT body ||| 'blue') AS matches_not,
	array_agg(id) FILTER (WHERE (body ||| 'blue') IS NULL) AS unknown,
	array_agg(id) FILTER (WHERE body ||| '') AS empty,
	array_agg(id) FILTER (WHERE NOT body ||| '') AS not_empty,
	array_agg(id) FILTER (WHERE body @@@ 'NOT blue') AS lacks,
	array_agg(id) FILTER (WHERE body @@@ '*'::sniiquery) AS not_null,
	array_agg(id) FILTER (WHERE body @@@ '()'::sniiquery) AS none,
	count(*)
FROM logic;
SELECT id FROM logic WHERE body ||| 'blue' ORDER BY id;
SELECT id FROM logic WHERE NOT (body ||| 'blue') ORDER BY id;
SELECT id FROM logic WHERE (body ||| 'blue') IS NULL ORDER BY id;
SELECT id FROM logic WHERE (body ||| 'blue') IS NOT TRUE ORDER BY id;
SELECT id FROM logic WHERE body ||| '' ORDER BY id;
SELECT id FROM logic WHERE body ||| NULL OR body &&& NULL OR body @@@ NULL::text
	OR body @@@ NULL::sniiquery OR match_phrase(body, NULL);
SELECT count(*) FROM logic WHERE (body ||| NULL) IS NULL AND (body @@@ NULL::sniiquery) IS NULL;
SELECT id FROM logic WHERE body ||| 'blue' OR id = 3 ORDER BY id;
SELECT id FROM logic WHERE body ||| 'blue' AND id = 3 ORDER BY id;

-- ---------- every form ----------
SELECT id, body ||| 'blue sky' AS "any", body &&& 'blue sky' AS "all", body ### 'blue sky' AS phrase,
	body @@@ '"sky blue" OR red' AS text, body @@@ 'blue AND NOT red'::sniiquery AS query
	FROM op ORDER BY id;
SELECT count(*) FROM op WHERE
	(body ||| 'blue sky', body &&& 'blue sky', body ### 'blue sky', body @@@ 'blue -red',
	 body @@@ 'blue -red'::sniiquery)
	IS DISTINCT FROM
	(match_any(body, 'blue sky'), match_all(body, 'blue sky'), match_phrase(body, 'blue sky'),
	 match(body, 'blue -red'), match(body, 'blue -red'::sniiquery));
-- phrases over all ordered pairs (acceptance case A4)
CREATE TABLE pairs AS SELECT row_number() OVER (ORDER BY x, y) AS id, chr(x) || ' ' || chr(y) AS body
	FROM generate_series(97, 122) x, generate_series(97, 122) y;
SELECT array_agg(id) FROM pairs WHERE body ### 'a b';
SELECT array_agg(id) FROM pairs WHERE body ### 'b a';
SELECT array_agg(id) FROM pairs WHERE body ### 'a a';
SELECT array_agg(id ORDER BY id) FROM pairs WHERE body &&& 'a b';
SELECT count(*) FROM pairs WHERE body @@@ 'a AND NOT b';
SELECT count(*) FROM pairs WHERE body @@@ 'NOT a';
-- phrases that overlap themselves, have gaps, lie far behind
SELECT body, body ### 'a b a c' AS abac, body @@@ $$phrase('a' _ 'c')$$::sniiquery AS gap,
	body @@@ $$phrase('a' _2 'a')$$::sniiquery AS gap2
	FROM (VALUES ('a b a b a c'), ('a b a d a c'), ('a b c'), ('a c'), ('a b c a'), ('c b a')) v(body);
SELECT body ### 'w19998 w19999', body ### 'w19999 w19998', body ### 'w1 w20000', body ### 'w17000 w19999'
	FROM (SELECT string_agg('w' || g, ' ') FROM generate_series(1, 20000) g) s(body);
SELECT body ### 'x z', body ### 'z x', body ### 'y x y x z'
	FROM (SELECT repeat('x y ', 300) || 'x z') s(body);
SELECT body ||| 'tail', body ||| repeat('q', 3000), body ||| repeat('q', 2999), body ### (repeat('q', 3000) || ' tail')
	FROM (SELECT repeat('q', 3000) || ' tail') s(body);
-- 1.25 million positions of two terms
SELECT body ### 'x z', body ### 'z y', body @@@ $$phrase('y' _1000000 'x')$$::sniiquery
	FROM (SELECT repeat('x y ', 625000) || 'x z') s(body);

-- against the same in terms of arrays and strings: 300 documents, 300 queries
SELECT setseed(0.7);
CREATE TABLE letters AS
	SELECT g AS id, (SELECT string_agg(chr(97 + floor(random() * 4)::int), ' ') FROM generate_series(1, 1 + (g * 7) % 12)) AS body
	FROM generate_series(1, 300) g;
CREATE TABLE asked AS
	SELECT g AS id, (SELECT string_agg(chr(97 + floor(random() * 5)::int), ' ') FROM generate_series(1, 1 + g % 4)) AS words
	FROM generate_series(1, 300) g;
CREATE FUNCTION has_phrase(body text, words text) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	$$ SELECT position(' ' || words || ' ' IN ' ' || body || ' ') > 0 $$;
SELECT count(*), count(*) FILTER (WHERE body ||| words) AS "any", count(*) FILTER (WHERE body &&& words) AS "all",
	count(*) FILTER (WHERE body ### words) AS phrase,
	count(*) FILTER (WHERE
		body ||| words IS DISTINCT FROM (string_to_array(body, ' ') && string_to_array(words, ' ')) OR
		body &&& words IS DISTINCT FROM (string_to_array(body, ' ') @> string_to_array(words, ' ')) OR
		body ### words IS DISTINCT FROM has_phrase(body, words)) AS wrong
	FROM letters, asked;
SELECT count(*), count(*) FILTER (WHERE match) AS matches, count(*) FILTER (WHERE match <> expected) AS wrong
	FROM (SELECT body @@@ format('("%s" OR NOT "%s") AND NOT ("%s" AND "%s")', p.words, q.words, r.words, p.words) AS match,
			(has_phrase(body, p.words) OR NOT has_phrase(body, q.words))
				AND NOT (has_phrase(body, r.words) AND has_phrase(body, p.words)) AS expected
		FROM letters d, asked p, asked q, asked r
		WHERE p.id % 60 = 1 AND q.id % 29 = 0 AND r.id % 99 = 3) s;
SELECT count(*), count(*) FILTER (WHERE match) AS matches, count(*) FILTER (WHERE match <> expected) AS wrong
	FROM (SELECT body @@@ format('+"%s" "%s" -"%s"', p.words, q.words, r.words) AS match,
			has_phrase(body, p.words) AND NOT has_phrase(body, r.words) AS expected
		FROM letters d, asked p, asked q, asked r
		WHERE p.id % 60 = 1 AND q.id % 99 = 0 AND r.id % 99 = 3) s;

-- ---------- types of both sides ----------
CREATE FUNCTION hits(condition text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	result int[];
BEGIN
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM op WHERE ' || condition INTO result;
	RETURN result;
END $$;
SELECT l, o, hits(format('%s %s ''blue sky''', l, o)) AS untyped,
	hits(format('%s %s ''blue sky''::text', l, o)) AS text,
	hits(format('%s %s ''blue sky''::varchar', l, o)) AS varchar,
	hits(format('%s %s ''blue sky''::citext', l, o)) AS citext,
	hits(format('%s %s ''blue sky''::char(10)', l, o)) AS bpchar
	FROM unnest('{body,v,c,n,d,dc,ci,j->>''m''}'::text[]) l, unnest('{|||,&&&,###,@@@}'::text[]) o;
SELECT l, hits(format('%s @@@ ''"blue sky"''::sniiquery', l)) AS query,
	hits(format('match(%s, ''"blue sky"'')', l)) AS match,
	hits(format('match(%s, ''"blue sky"''::sniiquery)', l)) AS match_query,
	hits(format('match_any(%s, ''red'')', l)) AS match_any
	FROM unnest('{body,v,c,n,d,dc,ci,j->>''m''}'::text[]) l;
-- nothing to go by but literals
SELECT 'a b' ||| 'b', 'a b' &&& 'b c', 'a b' ### 'a b', 'a b' @@@ '+b', match('a b', 'b');
SELECT pg_typeof('a' @@@ 'a'), 'a b' @@@ '''b' AS "text, lenient";
-- blanks behind a bpchar mean nothing, also to keyword
SELECT 'a b'::char(10) @@@ '@keyword "a b"'::sniiquery, 'a b'::text @@@ '@keyword "a b"'::sniiquery,
	'a b  '::text @@@ '@keyword "a b"'::sniiquery;

-- parameters: untyped, text, varchar, citext
PREPARE untyped AS SELECT array_agg(id) FROM op WHERE body ||| $1;
PREPARE untyped_query AS SELECT array_agg(id) FROM op WHERE body @@@ $1;
PREPARE untyped_v AS SELECT array_agg(id) FROM op WHERE v @@@ $1 AND c @@@ $1 AND ci @@@ $1;
PREPARE p_text(text) AS SELECT array_agg(id) FROM op WHERE body @@@ $1;
PREPARE p_varchar(varchar) AS SELECT array_agg(id) FROM op WHERE body @@@ $1 AND v ||| $1;
PREPARE p_citext(citext) AS SELECT array_agg(id) FROM op WHERE body @@@ $1 AND ci &&& $1;
PREPARE p_query(sniiquery) AS SELECT array_agg(id) FROM op WHERE body @@@ $1;
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name;
EXECUTE untyped('blue'); EXECUTE untyped_query('+blue "');
EXECUTE untyped_v('blue'); EXECUTE p_text('blue -red'); EXECUTE p_varchar('blue');
EXECUTE p_citext('blue'); EXECUTE p_query('blue AND red');
EXECUTE p_query('blue AND');
EXECUTE untyped(NULL); EXECUTE p_query(NULL);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE untyped('blue');
EXPLAIN (COSTS OFF) EXECUTE untyped_query('blue');
EXPLAIN (COSTS OFF) EXECUTE untyped_v('blue');
EXPLAIN (COSTS OFF) EXECUTE p_query('blue');
EXECUTE untyped('blue'); EXECUTE untyped_query('+blue "');
EXECUTE untyped_v('blue'); EXECUTE p_text('blue -red'); EXECUTE p_varchar('blue');
EXECUTE p_citext('blue'); EXECUTE p_query('blue AND red');
EXECUTE untyped(NULL); EXECUTE p_query(NULL);
RESET plan_cache_mode;
DEALLOCATE ALL;

-- ---------- precedence ----------
SELECT id FROM op WHERE body || ' tail' ||| 'tail' AND j ->> 'm' ||| 'red';
SELECT id FROM op WHERE 'x ' || body &&& 'x sky' AND NOT body ||| 'red' ORDER BY id;
SELECT id FROM op WHERE NOT body ||| 'blue' OR body ### 'sky blue' ORDER BY id;
SELECT id FROM op WHERE body ||| 'red' = true;
SELECT id FROM op WHERE body ||| lower('RED') AND id + 1 < 5;
SELECT body ||| 'a' || 'b' FROM op;		-- left to right: (body ||| 'a') || 'b'
SELECT id FROM op WHERE body ||| ('re' || 'd');

-- ---------- what the planner makes of it ----------
EXPLAIN (COSTS OFF) SELECT FROM op WHERE body ||| 'Blue sky';
EXPLAIN (COSTS OFF) SELECT FROM op WHERE match_all(v, 'Blue sky') AND c ### 'Blue sky' AND match(n, 'a -b');
EXPLAIN (COSTS OFF) SELECT FROM op WHERE match(body, 'a'::sniiquery) AND match(dc, 'a'::sniiquery);
EXPLAIN (COSTS OFF) SELECT FROM op a JOIN op b ON a.body ||| b.v;
EXPLAIN (COSTS OFF) SELECT FROM op WHERE 'constant folding' ||| 'folding';
SELECT count(*) FROM op a JOIN op b ON a.body &&& b.v;
-- a new query in each call, a matcher that is made again
SELECT a.id, array_agg(b.id ORDER BY b.id) FROM op a JOIN op b ON match_phrase(b.body, a.body)
	GROUP BY a.id ORDER BY a.id;

-- ---------- properties ----------
SELECT p.oid::regprocedure AS function, provolatile AS volatile, proisstrict AS strict,
	proparallel AS parallel, proleakproof AS leakproof, prosupport AS support
	FROM pg_proc p WHERE proname ~ '^(match|match_.*|snii_(match|any|all|phrase|query|websearch))$'
	ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT o.oid::regoperator, oprcode, oprcom, oprnegate, oprrest, oprjoin
	FROM pg_operator o WHERE oprname IN ('|||', '&&&', '###', '@@@')
	ORDER BY o.oid::regoperator::text COLLATE "C";
-- as many rows as the query says, by default
CREATE FUNCTION estimated(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE TABLE many AS SELECT CASE WHEN g % 4 <> 0 THEN 'a b' END AS body FROM generate_series(1, 10000) g;
ANALYZE many;
SELECT q, estimated(format('SELECT FROM many WHERE body @@@ %L::sniiquery', q))
	FROM unnest(ARRAY['a', 'a b', 'a AND b', '"a b"', 'NOT a', '*', '()']) q;

-- ---------- where a column's analyzer cannot be known ----------
\set VERBOSITY terse
CREATE TABLE checked (body text CHECK (body ||| 'x'));
INSERT INTO checked VALUES ('x');
INSERT INTO checked VALUES (NULL);
CREATE TABLE checked_query (body text CHECK (body @@@ snii_any('standard', 'x')),
	has_y boolean GENERATED ALWAYS AS (body @@@ 'y'::sniiquery) STORED);
INSERT INTO checked_query VALUES ('x y'), ('X'), (NULL);
INSERT INTO checked_query VALUES ('y');
SELECT * FROM checked_query;
CREATE TABLE generated (body text, g boolean GENERATED ALWAYS AS (body ||| 'x') STORED);
COPY checked_query (body) FROM stdin WHERE body ||| 'x';
x
\.
COPY checked_query (body) FROM stdin WHERE body @@@ 'x'::sniiquery;
x z
z
\.
SELECT * FROM checked_query;
SELECT id FROM op WHERE body ||| ANY (ARRAY['red', 'green']) ORDER BY id;
SELECT id FROM op WHERE body @@@ ANY (ARRAY['red', 'green']::sniiquery[]) ORDER BY id;
SELECT id FROM op WHERE body ||| ANY (SELECT unnest(ARRAY['red', 'green'])) ORDER BY id;
-- predicates of indexes: the immutable form only, which other forms imply
INSERT INTO many SELECT 'rare' FROM generate_series(1, 20);
CREATE INDEX many_bad ON many ((body IS NULL)) WHERE body ||| 'rare';
CREATE INDEX many_rare ON many ((body IS NULL)) WHERE match(body, 'rare'::sniiquery);
ANALYZE many;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT FROM many WHERE body ||| 'Rare' ORDER BY body IS NULL;
EXPLAIN (COSTS OFF) SELECT FROM many WHERE match(body, 'rare'::sniiquery) ORDER BY body IS NULL;
RESET enable_seqscan;
-- triggers: NEW.body is a value in the function, a column in WHEN
CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.body ||| 'rare' THEN
		NEW.body := 'marked';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER mark BEFORE INSERT ON many FOR EACH ROW WHEN (NEW.body @@@ 'rare'::sniiquery) EXECUTE FUNCTION mark();
INSERT INTO many VALUES ('a Rare one'), ('x') RETURNING body;
CREATE TRIGGER mark_text BEFORE INSERT ON many FOR EACH ROW WHEN (NEW.body ||| 'rare') EXECUTE FUNCTION mark();
INSERT INTO many VALUES ('a rare one');
-- values that are no column
DO $$
DECLARE
	body text := 'blue sky';
	matches boolean := body ||| 'sky' AND body @@@ '+blue -red';
BEGIN
	IF body &&& 'blue sky' AND NOT body ### 'sky blue' THEN
		RAISE NOTICE '%', matches;
	END IF;
END $$;
SELECT a.word FROM unnest(ARRAY['blue', 'red']) a(word) WHERE a.word ||| 'red';
SET client_min_messages = warning;
DROP SCHEMA operators CASCADE;
