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
