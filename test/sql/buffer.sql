-- The write buffer as a session indexes it in memory: random queries with
-- that, record by record, and by sequential scans.  Only differences are
-- printed, and counts.
SET client_min_messages = notice;
SELECT setseed(0.2718);
CREATE SCHEMA buffer_test;
SET search_path = buffer_test, public;

CREATE FUNCTION random_word() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN random() < 0.01 THEN 'rare' || (random() * 50)::int
           ELSE 'w' || (8 * random() * random())::int END
$$;

CREATE FUNCTION random_text(words int DEFAULT 8) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN random() >= 0.1 THEN
        coalesce((SELECT string_agg(random_word(), ' ')
                  FROM generate_series(1, (words * random())::int)), '') END
$$;

CREATE FUNCTION random_query(depth int) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kind float := random();
    result text;
BEGIN
    IF depth = 0 OR kind < 0.3 THEN
        IF random() < 0.4 THEN
            SELECT '"' || string_agg(random_word(), ' ') || '"' INTO result
            FROM generate_series(1, 2 + (2.4 * random())::int);
            RETURN result;
        END IF;
        RETURN random_word();
    ELSIF kind < 0.5 THEN
        RETURN 'NOT ' || random_query(depth - 1);
    END IF;
    SELECT '(' || string_agg(random_query(depth - 1),
                             CASE WHEN kind < 0.75 THEN ' AND '
                             ELSE ' OR ' END) || ')'
    INTO result FROM generate_series(1, 2 + (2 * random())::int);
    RETURN result;
END
$$;

CREATE FUNCTION random_condition(cols text[]) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kind float := random();
    col text := cols[1 + floor(random() * cardinality(cols))];
BEGIN
    RETURN CASE
        WHEN kind < 0.7 THEN
            format('%I @@@ %L', col, random_query((3.4 * random())::int))
        WHEN kind < 0.9 THEN
            format('%I ### %L', col, random_word() || ' ' || random_word())
        WHEN kind < 0.95 THEN format('%I IS NULL', col)
        ELSE format('%I IS NOT NULL', col) END ||
        CASE WHEN random() < 0.3 THEN ' AND ' || random_condition(cols)
        ELSE '' END;
END
$$;

CREATE FUNCTION ids_by(plan text, tab text, cond text) RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT coalesce(array_agg(id ORDER BY id), ''{}'')
                          FROM %s WHERE %s', tab, cond);
    line text;
    seen boolean := false;
    ids int[];
BEGIN
    PERFORM set_config('enable_seqscan', (plan = 'Seq Scan')::text, true),
            set_config('enable_indexscan', (plan = 'Index Scan')::text, true),
            set_config('enable_bitmapscan',
                       (plan = 'Bitmap Index Scan')::text, true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        seen := seen OR line LIKE '%' || plan || '%';
    END LOOP;
    IF NOT seen THEN
        RAISE EXCEPTION 'no % for %', plan, query;
    END IF;
    EXECUTE query INTO ids;
    RETURN ids;
END
$$;

-- What this session has indexed in memory.
CREATE VIEW cached AS
SELECT count(*) AS stretches FROM pg_backend_memory_contexts
WHERE name = 'snii stretch';

-- Each query twice with the setting of the session, then, in a second round,
-- without anything in memory.
CREATE FUNCTION compare(tab text, cols text[], nqueries int,
                        OUT differences int, OUT matched boolean,
                        OUT in_memory boolean)
LANGUAGE plpgsql AS $$
DECLARE
    conds text[] := ARRAY(SELECT random_condition(cols)
                          FROM generate_series(1, nqueries));
    plans text[] := '{Bitmap Index Scan,Index Scan}';
    setting text := current_setting('snii.buffer_cache');
    cond text;
    truth int[];
    ids int[];
    plan text;
    total bigint := 0;
BEGIN
    differences := 0;
    FOREACH cond IN ARRAY conds LOOP
        truth := ids_by('Seq Scan', tab, cond);
        total := total + cardinality(truth);
        FOREACH plan IN ARRAY plans || plans LOOP
            ids := ids_by(plan, tab, cond);
            IF ids <> truth THEN
                differences := differences + 1;
                RAISE NOTICE '% of % WHERE %: % rows instead of %', plan, tab,
                    cond, cardinality(ids), cardinality(truth);
            END IF;
        END LOOP;
    END LOOP;
    matched := total > 0;
    in_memory := stretches > 0 FROM cached;
    IF random() < 0.5 THEN
        RETURN;
    END IF;
    PERFORM set_config('snii.buffer_cache', '0', true);
    FOREACH cond IN ARRAY conds LOOP
        truth := ids_by('Seq Scan', tab, cond);
        FOREACH plan IN ARRAY plans LOOP
            ids := ids_by(plan, tab, cond);
            IF ids <> truth THEN
                differences := differences + 1;
                RAISE NOTICE 'by record: % of % WHERE %: % rows instead of %',
                    plan, tab, cond, cardinality(ids), cardinality(truth);
            END IF;
        END LOOP;
    END LOOP;
    IF nqueries > 0 AND (SELECT stretches > 0 FROM cached) THEN
        RAISE EXCEPTION 'memory was not given back';
    END IF;
    PERFORM set_config('snii.buffer_cache', setting, true);
END
$$;

CREATE TABLE one(id int, body text) WITH (autovacuum_enabled = off);
CREATE TABLE two(id int, a text, filler int, b text)
    WITH (autovacuum_enabled = off);
CREATE INDEX one_body ON one USING snii (body);
CREATE INDEX two_a_b ON two USING snii (a, b);

-- nothing there; then a first row
SELECT * FROM compare('one', '{body}', 3);
INSERT INTO one VALUES (0, 'w0 w1 w0 rare1');
SELECT * FROM compare('one', '{body}', 10);

-- rows come between the queries, and some go
CREATE FUNCTION rounds(n int, OUT differences bigint, OUT in_memory bigint)
LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    differences := 0;
    in_memory := 0;
    FOR i IN 1..n LOOP
        INSERT INTO one SELECT 1000 * i + g, random_text()
        FROM generate_series(1, (40 * random())::int) AS g;
        INSERT INTO two SELECT 1000 * i + g, random_text(), 1, random_text()
        FROM generate_series(1, (40 * random())::int) AS g;
        DELETE FROM one WHERE random() < 0.05;
        UPDATE two SET b = random_text() WHERE random() < 0.05;
        FOR r IN SELECT * FROM compare('one', '{body}', 3) UNION ALL
                 SELECT * FROM compare('two', '{a,b}', 3) LOOP
            differences := differences + r.differences;
            in_memory := in_memory + r.in_memory::int;
        END LOOP;
    END LOOP;
END
$$;
SELECT * FROM rounds(30);
SELECT count(*) FILTER (WHERE kind LIKE '%buffer') > 0 AS in_buffer,
       count(*) FILTER (WHERE kind = 'segment') AS segments
FROM snii_segments('one_body');

-- seal, delete, vacuum, and go on in new stretches
SELECT snii_flush('one_body') > 0 AS flushed;
SELECT * FROM rounds(4);
VACUUM one;
VACUUM two;
SELECT * FROM rounds(8);

-- VACUUM marks records that are indexed and stay in the buffer, and other rows
-- come to their TIDs
CREATE TABLE doomed(id int, body text) WITH (autovacuum_enabled = off);
CREATE INDEX doomed_body ON doomed USING snii (body);
INSERT INTO doomed SELECT g, 'w1 old' FROM generate_series(1, 400) AS g;
SELECT * FROM compare('doomed', '{body}', 5);
SELECT cardinality(ids_by('Index Scan', 'doomed', 'body ||| $$old$$')) AS old;
CREATE TABLE doomed_tids AS SELECT ctid AS tid FROM doomed WHERE id % 2 = 0;
DELETE FROM doomed WHERE id % 2 = 0;
SELECT * FROM compare('doomed', '{body}', 5);
VACUUM (INDEX_CLEANUP ON) doomed;
SELECT kind, documents, dead FROM snii_segments('doomed_body');
INSERT INTO doomed SELECT g, 'w2 new' FROM generate_series(1001, 1200) AS g;
SELECT count(*) > 50 AS reused
FROM doomed JOIN doomed_tids AS t ON doomed.ctid = t.tid
WHERE id > 1000;
SELECT cardinality(ids_by(plan, 'doomed', 'body ||| $$old$$')) AS old,
       cardinality(ids_by(plan, 'doomed', 'body ||| $$new$$')) AS new,
       cardinality(ids_by(plan, 'doomed', 'body @@@ $$NOT w1$$')) AS not_old
FROM unnest('{Index Scan,Bitmap Index Scan}'::text[]) AS plan;
SELECT * FROM compare('doomed', '{body}', 10);
SELECT snii_check('doomed_body', true);
DROP TABLE doomed, doomed_tids;

-- records of several pages, beside small ones
INSERT INTO one SELECT 100000 + g,
    CASE WHEN g % 5 = 0 THEN random_text(30000) ELSE random_text() END
FROM generate_series(1, 60) AS g;
SELECT max(octet_length(body)) > 30000 AS large FROM one;
SELECT * FROM compare('one', '{body}', 15);
INSERT INTO one SELECT 200000 + g, random_text()
FROM generate_series(1, 60) AS g;
SELECT * FROM compare('one', '{body}', 15);
DELETE FROM one WHERE id > 100000 AND id % 3 = 0;
SELECT * FROM compare('one', '{body}', 15);

-- savepoints that are rolled back leave their records in the buffer
BEGIN;
INSERT INTO one SELECT 300000 + g, random_text() FROM generate_series(1, 50) AS g;
SAVEPOINT a;
INSERT INTO one SELECT 310000 + g, random_text() FROM generate_series(1, 50) AS g;
SELECT * FROM compare('one', '{body}', 5);
ROLLBACK TO a;
SELECT * FROM compare('one', '{body}', 5);
INSERT INTO one SELECT 320000 + g, random_text() FROM generate_series(1, 50) AS g;
SELECT * FROM compare('one', '{body}', 5);
COMMIT;
SELECT * FROM compare('one', '{body}', 5);
BEGIN;
INSERT INTO one SELECT 330000 + g, random_text() FROM generate_series(1, 50) AS g;
SELECT * FROM compare('one', '{body}', 5);
ROLLBACK;
SELECT * FROM compare('one', '{body}', 5);
SELECT snii_check('one_body', true), snii_check('two_a_b', true);

-- a buffer of many stretches, indexed little by little, and growing
SET snii.buffer_cache = 0;
SET snii.buffer_cache = '16MB';
CREATE TABLE many(id int, body text) WITH (autovacuum_enabled = off);
CREATE INDEX many_body ON many USING snii (body);
INSERT INTO many SELECT g, md5(g::text) || ' ' || md5((g + 1)::text) || ' ' ||
    random_text(6) FROM generate_series(1, 12000) AS g;
SELECT count(*) > 3 AS stretches FROM snii_segments('many_body')
WHERE kind LIKE '%buffer';
CREATE FUNCTION count_by(plan text, cond text) RETURNS int
LANGUAGE sql AS $$ SELECT cardinality(ids_by(plan, 'many', cond)) $$;
CREATE FUNCTION grow(n int, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
    cond text;
BEGIN
    wrong := 0;
    FOR i IN 1..n LOOP
        INSERT INTO many VALUES (20000 + i, random_text());
        cond := random_condition('{body}');
        wrong := wrong + (ids_by('Bitmap Index Scan', 'many', cond) <>
                          ids_by('Seq Scan', 'many', cond))::int;
        cond := format('body ||| %L', md5((random() * 12000)::int::text));
        wrong := wrong + (ids_by('Index Scan', 'many', cond) <>
                          ids_by('Seq Scan', 'many', cond))::int;
    END LOOP;
END
$$;
SELECT * FROM grow(30);
SELECT stretches > 3 AS in_memory FROM cached;

-- what is at hand is not forgotten by looking at it from a cursor that an
-- older view belongs to
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
DECLARE c CURSOR FOR SELECT id FROM many WHERE body ||| 'w0 w1 w2';
MOVE 10 FROM c;
INSERT INTO many SELECT 40000 + g, 'w0' FROM generate_series(1, 100) AS g;
SELECT snii_flush('many_body') > 0 AS flushed;
INSERT INTO many SELECT 41000 + g, 'w1' FROM generate_series(1, 100) AS g;
SELECT * FROM compare('many', '{body}', 3);
CREATE TABLE fetched(n bigint);
DO $$
DECLARE
    c refcursor := 'c';
    n bigint := 10;
    r int;
BEGIN
    LOOP
        FETCH c INTO r;
        EXIT WHEN NOT FOUND;
        n := n + 1;
    END LOOP;
    INSERT INTO fetched VALUES (n);
END $$;
COMMIT;
SELECT n = (SELECT count(*) FROM many
            WHERE id < 40000 AND body ~ '\m(w0|w1|w2)\M') AS complete
FROM fetched;

-- little room: stretches of several indexes push each other out, or stay out
SET snii.buffer_cache = '300kB';
INSERT INTO many SELECT 50000 + g, md5(g::text) || ' ' || random_text(6)
FROM generate_series(1, 8000) AS g;
SELECT differences FROM compare('many', '{body}', 10);
SELECT differences FROM rounds(6);
SELECT differences FROM compare('many', '{body}', 10);
SELECT sum(total_bytes) < 2 * 1024 * 1024 AS bounded
FROM pg_backend_memory_contexts WHERE name LIKE 'snii %';
RESET snii.buffer_cache;

-- the same file emptied within a transaction, other files, other indexes:
-- numbers and places of stretches come again
BEGIN;
CREATE TABLE fresh(id int, body text);
CREATE INDEX fresh_body ON fresh USING snii (body);
INSERT INTO fresh SELECT g, 'w1 w2' FROM generate_series(1, 20) AS g;
SELECT * FROM compare('fresh', '{body}', 10);
TRUNCATE fresh;
INSERT INTO fresh SELECT g, 'w0 w3' FROM generate_series(1, 20) AS g;
SELECT cardinality(ids_by('Index Scan', 'fresh', 'body ||| $$w3$$')) AS found,
       cardinality(ids_by('Index Scan', 'fresh', 'body ||| $$w1$$')) AS gone;
SELECT * FROM compare('fresh', '{body}', 10);
TRUNCATE fresh;
INSERT INTO fresh SELECT g, 'w4' FROM generate_series(1, 20) AS g;
COMMIT;
SELECT cardinality(ids_by('Index Scan', 'fresh', 'body ||| $$w4$$')) AS found,
       cardinality(ids_by('Index Scan', 'fresh', 'body ||| $$w3$$')) AS gone;
SELECT * FROM compare('fresh', '{body}', 10);
TRUNCATE fresh;
INSERT INTO fresh SELECT g, 'w5' FROM generate_series(1, 20) AS g;
SELECT * FROM compare('fresh', '{body}', 10);
REINDEX INDEX fresh_body;
INSERT INTO fresh SELECT g, 'w6' FROM generate_series(1, 20) AS g;
SELECT * FROM compare('fresh', '{body}', 10);
BEGIN;
TRUNCATE fresh;
INSERT INTO fresh SELECT g, 'w7' FROM generate_series(1, 20) AS g;
SELECT * FROM compare('fresh', '{body}', 10);
ROLLBACK;
SELECT cardinality(ids_by('Index Scan', 'fresh', 'body ||| $$w6$$')) AS found,
       cardinality(ids_by('Index Scan', 'fresh', 'body ||| $$w7$$')) AS gone;
SELECT snii_check('fresh_body', true);
CREATE TEMP TABLE passing(id int, body text) ON COMMIT DELETE ROWS;
CREATE INDEX passing_body ON passing USING snii (body);
BEGIN;
INSERT INTO passing SELECT g, 'w1' FROM generate_series(1, 20) AS g;
SELECT * FROM compare('passing', '{body}', 10);
COMMIT;
BEGIN;
INSERT INTO passing SELECT g, 'w2' FROM generate_series(1, 20) AS g;
SELECT cardinality(ids_by('Index Scan', 'passing', 'body ||| $$w2$$')) AS found,
       cardinality(ids_by('Index Scan', 'passing', 'body ||| $$w1$$')) AS gone;
SELECT * FROM compare('passing', '{body}', 10);
COMMIT;

-- queries of very many terms, and of none
SELECT count_by('Bitmap Index Scan', format('body ||| %L', string_agg(w, ' '))) =
       count_by('Seq Scan', format('body ||| %L', string_agg(w, ' '))) AS same
FROM (SELECT md5(g::text) AS w FROM generate_series(1, 600) AS g) AS s;
SELECT count_by('Bitmap Index Scan', 'body @@@ $$""$$') AS nothing,
       count_by('Bitmap Index Scan', 'body @@@ $$NOT zz$$') = count(body) AS rest
FROM many;

SELECT snii_check('one_body', true), snii_check('two_a_b', true),
       snii_check('many_body', true);
-- memory of an index that is gone is given back with the next scan
SELECT * FROM compare('fresh', '{body}', 2);
DROP TABLE one, two, many;
SELECT * FROM compare('fresh', '{body}', 2);
SELECT stretches <= 4 AS given_back FROM cached;
DROP SCHEMA buffer_test CASCADE;
