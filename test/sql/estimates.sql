-- Row estimates come from the dictionary: exact for terms, sane for the rest.
CREATE TABLE facts(id int, body text) WITH (autovacuum_enabled = off);
INSERT INTO facts
SELECT g, CASE WHEN g % 10 > 0 THEN
    format('all h%s p%s new york %s', g % 100, g % 7,
           CASE WHEN g % 20 = 1 THEN 'york new' ELSE 'w' || g END) END
FROM generate_series(1, 20000) AS g;
CREATE INDEX facts_body ON facts USING snii (body);
ANALYZE facts;

-- A plan's rows beside the truth: "ok" if it is within the given factors.
CREATE FUNCTION check_rows(condition text, lowest float, highest float,
                           OUT actual bigint, OUT verdict text)
LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    estimated float;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM facts WHERE ' || condition
    INTO plan;
    estimated := plan -> 0 -> 'Plan' ->> 'Plan Rows';
    EXECUTE 'SELECT count(*) FROM facts WHERE ' || condition INTO actual;
    verdict := CASE WHEN estimated BETWEEN lowest * actual - 2
                                   AND highest * actual + 2
               THEN 'ok' ELSE estimated::text END;
END
$$;
CREATE TABLE conditions(n serial, condition text, lowest float, highest float);
INSERT INTO conditions(condition, lowest, highest) VALUES
    -- terms: exact but for the share of NULLs, which is sampled
    ($$body ||| 'all'$$, 0.97, 1.03),
    ($$body ||| 'h7'$$, 0.97, 1.03),
    ($$body ||| 'w12345'$$, 0.5, 2),
    ($$body ||| 'absent'$$, 1, 1),
    -- independent words
    ($$body &&& 'h7 p3'$$, 0.9, 1.1),
    ($$body ||| 'h7 p3'$$, 0.97, 1.03),
    ($$body @@@ 'all AND NOT h7'$$, 0.97, 1.03),
    ($$body @@@ 'NOT p3'$$, 0.97, 1.03),
    ($$body &&& 'all absent'$$, 1, 1),
    ($$body ### 'h7 absent'$$, 1, 1),
    ($$body @@@ 'NOT absent'$$, 0.97, 1.03),
    -- phrases
    ($$body ### 'all h7'$$, 0.2, 1.03),
    ($$body ### 'new york'$$, 0.2, 1.03),
    ($$body ### 'york new'$$, 1, 20),
    ($$body ### 'p3 new york'$$, 0.1, 1.03),
    -- by another way of writing it
    ($$match_all(body, 'h7 p3')$$, 0.9, 1.1);

SELECT condition, r.* FROM conditions, check_rows(condition, lowest, highest) AS r
ORDER BY n;

-- partly in the write buffer, whose rows are taken to be alike
INSERT INTO facts SELECT id + 20000, body FROM facts WHERE id <= 5000;
ANALYZE facts;
SELECT condition, r.* FROM conditions, check_rows(condition, lowest, highest) AS r
WHERE verdict <> 'ok' ORDER BY n;

-- half of them deleted and vacuumed
DELETE FROM facts WHERE id % 2 = 0;
VACUUM ANALYZE facts;
SELECT condition, r.*
FROM conditions, check_rows(condition, lowest * 0.5, highest * 1.5) AS r
WHERE verdict <> 'ok' ORDER BY n;

-- all in the write buffer: some rows are tried
TRUNCATE facts;
INSERT INTO facts
SELECT g, CASE WHEN g % 4 > 0 THEN 'all ' || 'p' || g % 3 END
FROM generate_series(1, 1000) AS g;
ANALYZE facts;
SELECT c AS condition, r.* FROM unnest(ARRAY[
    $$body ||| 'all'$$, $$body ||| 'p1'$$, $$body @@@ 'NOT p1'$$,
    $$body ### 'all p2'$$, $$body ### 'p2 all'$$]) AS c,
    check_rows(c, 0.5, 2) AS r;

SELECT snii_check('facts_body', true);
DROP TABLE facts, conditions;
DROP FUNCTION check_rows;

-- What a match costs follows the length of the text, in line or not.
CREATE TABLE short_texts(id int, body text) WITH (autovacuum_enabled = off);
CREATE TABLE long_texts(LIKE short_texts) WITH (autovacuum_enabled = off);
CREATE TABLE huge_texts(LIKE short_texts) WITH (autovacuum_enabled = off);
ALTER TABLE huge_texts ALTER body SET STORAGE EXTERNAL;
INSERT INTO short_texts SELECT g, 'all h' || g % 100
FROM generate_series(1, 3000) AS g;
INSERT INTO long_texts
SELECT g, (SELECT string_agg(md5((g * h)::text), ' ')
           FROM generate_series(1, 20) AS h) ||
          CASE WHEN g % 50 > 0 THEN ' all h' || g % 100 ELSE '' END
FROM generate_series(1, 3000) AS g;
INSERT INTO huge_texts SELECT g, repeat('all h' || g % 100 || ' ', 1000)
FROM generate_series(1, 300) AS g;
VACUUM ANALYZE short_texts, long_texts, huge_texts;

-- Its cost for each row, in calls of an operator.
CREATE FUNCTION match_cost(of regclass, condition text) RETURNS float
LANGUAGE plpgsql AS $$
DECLARE
    with_match json;
    without json;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %s WHERE %s', of,
                   condition) INTO with_match;
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %s', of) INTO without;
    RETURN ((with_match -> 0 -> 'Plan' ->> 'Total Cost')::float -
            (without -> 0 -> 'Plan' ->> 'Total Cost')::float) /
           (SELECT reltuples FROM pg_class WHERE oid = of) /
           current_setting('cpu_operator_cost')::float;
END
$$;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT t, round(match_cost(t, $$body ||| 'all'$$)) BETWEEN low AND high AS match,
       round(match_cost(t, $$lower(body) ||| 'all'$$)) BETWEEN low AND high + 1
       AS expression
FROM (VALUES ('short_texts'::regclass, 60, 90), ('long_texts', 1200, 1600),
             ('huge_texts', 14000, 50000)) AS v(t, low, high);

-- Other conditions are looked at before, unless they cost more.
CREATE FUNCTION is_even(int) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE COST 500 AS 'BEGIN RETURN $1 % 2 = 0; END';
EXPLAIN (COSTS OFF)
SELECT FROM short_texts WHERE is_even(id) AND body ||| 'all';
EXPLAIN (COSTS OFF)
SELECT FROM long_texts WHERE body ||| 'all' AND is_even(id);

-- An index bounds it, but no sequential scan is preferred to a search.
CREATE INDEX ON short_texts USING snii (body);
CREATE INDEX ON long_texts USING snii (body);
CREATE INDEX ON huge_texts USING snii (body);
SELECT match_cost('long_texts', $$body ||| 'all'$$) BETWEEN 100 AND 1000 AS bounded;
RESET enable_indexscan;
RESET enable_bitmapscan;
CREATE FUNCTION scan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Node Type';
END
$$;
SELECT scan_of($$SELECT FROM long_texts WHERE body ||| 'all'$$) <> 'Seq Scan' AS frequent,
       scan_of($$SELECT FROM long_texts WHERE body @@@ 'all AND NOT h1'$$) <> 'Seq Scan' AS nearly,
       scan_of($$SELECT FROM long_texts WHERE body ||| 'h7 h9 h11 h13'$$) AS rare,
       scan_of($$SELECT FROM huge_texts WHERE body ||| 'h7'$$) <> 'Seq Scan' AS huge;
-- nor are the rows of another index that would be matched one by one
CREATE INDEX ON long_texts (id);
EXPLAIN (COSTS OFF)
SELECT FROM long_texts WHERE id < 1000 AND body &&& 'all h7';
-- without a query that is being planned it has a constant cost
ALTER TABLE short_texts ADD CHECK (NOT body @@@ '@standard absent'::sniiquery);
-- an argument that is costed while the function is inlined, of an outer query
CREATE FUNCTION twice(boolean) RETURNS boolean LANGUAGE sql IMMUTABLE
AS 'SELECT $1 AND $1';
SELECT count(*) FROM short_texts AS s
WHERE id < 3 AND EXISTS (SELECT FROM long_texts AS l
                         WHERE l.id = s.id AND twice(s.body ||| 'h1'));
DROP FUNCTION twice;
DROP TABLE short_texts, long_texts, huge_texts;
DROP FUNCTION match_cost, is_even, scan_of;
