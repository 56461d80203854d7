-- Random queries over random rows: what an index finds, by bitmap and by plain
-- scan, against a sequential scan.  Only differences are printed, and counts.
SET client_min_messages = notice;
SET jit = off;
SELECT setseed(0.4711);

-- Small vocabulary with frequent and rare words; rows of 0 to 40 words, NULLs.
CREATE FUNCTION random_word() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN random() < 0.01 THEN 'rare' || (random() * 50)::int
           ELSE 'w' || (8 * random() * random())::int END
$$;

CREATE FUNCTION random_text() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n int := CASE WHEN random() < 0.1 THEN 40 * random() ELSE 8 * random() END;
BEGIN
    IF random() < 0.1 THEN
        RETURN NULL;
    END IF;
    RETURN coalesce((SELECT string_agg(random_word(),
                                       CASE WHEN random() < 0.9 THEN ' '
                                       ELSE ', ' END)
                     FROM generate_series(1, n)), '');
END
$$;

CREATE FUNCTION random_query(depth int) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kind float := random();
    result text;
BEGIN
    IF depth = 0 OR kind < 0.3 THEN
        IF random() < 0.3 THEN
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

CREATE FUNCTION random_condition(col text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kind float := random();
    words text;
BEGIN
    SELECT string_agg(random_word(), ' ') INTO words
    FROM generate_series(1, 1 + (2.5 * random())::int);
    RETURN CASE
        WHEN kind < 0.55 THEN
            format('%I @@@ %L', col, random_query((3.4 * random())::int))
        WHEN kind < 0.65 THEN format('%I ||| %L', col, words)
        WHEN kind < 0.75 THEN format('%I &&& %L', col, words)
        WHEN kind < 0.9 THEN format('%I ### %L', col, words)
        WHEN kind < 0.95 THEN format('%I IS NULL', col)
        ELSE format('%I IS NOT NULL', col) END;
END
$$;

-- The ids of one query, by one kind of plan; counts plans of another kind.
CREATE TABLE other_plans(n bigint);
INSERT INTO other_plans VALUES (0);

CREATE FUNCTION ids_by(plan text, tab text, cond text) RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT coalesce(array_agg(id ORDER BY id), ''{}'')
                          FROM %I WHERE %s', tab, cond);
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
        UPDATE other_plans SET n = n + 1;
    END IF;
    EXECUTE query INTO ids;
    RETURN ids;
END
$$;

CREATE FUNCTION differences(tab text, cols text[], nqueries int,
                            OUT queries int, OUT matched boolean,
                            OUT differences int, OUT other_plans bigint)
LANGUAGE plpgsql AS $$
DECLARE
    cond text;
    truth int[];
    ids int[];
    plan text;
    total bigint := 0;
BEGIN
    queries := nqueries;
    differences := 0;
    UPDATE other_plans SET n = 0;
    FOR i IN 1..nqueries LOOP
        cond := random_condition(cols[1 + floor(random() * cardinality(cols))]);
        WHILE random() < 0.3 LOOP
            cond := cond || ' AND ' || random_condition(
                cols[1 + floor(random() * cardinality(cols))]);
        END LOOP;
        truth := ids_by('Seq Scan', tab, cond);
        total := total + cardinality(truth);
        FOREACH plan IN ARRAY '{Bitmap Index Scan,Index Scan}'::text[] LOOP
            ids := ids_by(plan, tab, cond);
            IF ids <> truth THEN
                differences := differences + 1;
                RAISE NOTICE '% of % WHERE %: % rows instead of %', plan, tab,
                    cond, cardinality(ids), cardinality(truth);
            END IF;
        END LOOP;
    END LOOP;
    matched := total > 10 * nqueries;
    SELECT n INTO other_plans FROM other_plans;
END
$$;

CREATE TABLE one(id int, body text) WITH (autovacuum_enabled = off);
CREATE TABLE two(id int, a text, filler int, b text)
    WITH (autovacuum_enabled = off);
CREATE INDEX one_body ON one USING snii (body);
CREATE INDEX two_a_b ON two USING snii (a, b);

-- empty
SELECT differences FROM differences('one', '{body}', 5);

-- in the write buffer only
INSERT INTO one SELECT g, random_text() FROM generate_series(1, 700) AS g;
INSERT INTO two SELECT g, random_text(), 1, random_text()
FROM generate_series(1, 700) AS g;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- one segment
SELECT snii_flush('one_body') > 0 AS flushed, snii_flush('two_a_b') > 0 AS flushed;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- several segments, the last ones small, and a buffer
INSERT INTO one SELECT g, random_text() FROM generate_series(701, 1000) AS g;
INSERT INTO two SELECT g, random_text(), 1, random_text()
FROM generate_series(701, 1000) AS g;
SELECT snii_flush('one_body') > 0 AS flushed, snii_flush('two_a_b') > 0 AS flushed;
INSERT INTO one VALUES (1001, 'w0 w1 w2'), (1002, NULL), (1003, '');
INSERT INTO two VALUES (1001, 'w0 w1 w2', 1, NULL), (1002, NULL, 1, 'w1 w0');
SELECT snii_flush('one_body') > 0 AS flushed, snii_flush('two_a_b') > 0 AS flushed;
INSERT INTO one SELECT g, random_text() FROM generate_series(1004, 1100) AS g;
INSERT INTO two SELECT g, random_text(), 1, random_text()
FROM generate_series(1003, 1100) AS g;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- dead rows, not vacuumed; updates of indexed and of other columns
DELETE FROM one WHERE id % 7 = 0;
DELETE FROM two WHERE id % 7 = 0;
UPDATE one SET body = random_text() WHERE id % 5 = 0;
UPDATE two SET b = random_text() WHERE id % 5 = 0;
UPDATE two SET filler = 2 WHERE id % 3 = 0;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- vacuumed, then their TIDs taken by other rows
VACUUM one;
VACUUM two;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);
INSERT INTO one SELECT g, random_text() FROM generate_series(2001, 2300) AS g;
INSERT INTO two SELECT g, random_text(), 1, random_text()
FROM generate_series(2001, 2300) AS g;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- marks in segments, then merged away
DELETE FROM one WHERE id % 11 < 3;
DELETE FROM two WHERE id % 11 < 3;
SELECT snii_flush('one_body') > 0 AS flushed, snii_flush('two_a_b') > 0 AS flushed;
VACUUM one;
VACUUM two;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);
SELECT snii_merge('one_body') > 0 AS merged, snii_merge('two_a_b') > 0 AS merged;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- built from the table
REINDEX INDEX one_body;
REINDEX INDEX two_a_b;
SELECT * FROM differences('one', '{body}', 40);
SELECT * FROM differences('two', '{a,b}', 40);

-- many rows: long posting lists
INSERT INTO one SELECT g, random_text() FROM generate_series(3001, 12000) AS g;
SELECT * FROM differences('one', '{body}', 15);
SELECT snii_flush('one_body') > 0 AS flushed;
SELECT * FROM differences('one', '{body}', 15);
SELECT snii_merge('one_body') > 0 AS merged;
SELECT * FROM differences('one', '{body}', 15);

-- more terms than iterators are open at a time
INSERT INTO one SELECT 30000 + g, 'w0 ' || string_agg('u' || u, ' ' ORDER BY u)
FROM generate_series(1, 40) AS g, generate_series(g * 10, g * 10 + 300) AS u
GROUP BY g;
INSERT INTO one SELECT 31000 + g, 'w0 u' || g FROM generate_series(1, 700) AS g;
CREATE FUNCTION list(first int, last int, sep text) RETURNS text LANGUAGE sql AS
$$ SELECT string_agg('u' || u, sep) FROM generate_series(first, last) AS u $$;
CREATE FUNCTION long_lists() RETURNS TABLE (rows int, bitmap bool, plain bool)
LANGUAGE sql AS $$
    SELECT cardinality(ids_by('Seq Scan', 'one', c)),
           ids_by('Seq Scan', 'one', c) = ids_by('Bitmap Index Scan', 'one', c),
           ids_by('Seq Scan', 'one', c) = ids_by('Index Scan', 'one', c)
    FROM (VALUES
        (1, format('body ||| %L', list(1, 650, ' '))),
        (2, format('body &&& %L', list(250, 520, ' '))),
        (3, format('body &&& %L', list(250, 820, ' '))),
        (4, format('body @@@ %L', 'w0 AND NOT (' || list(1, 650, ' OR ') || ')')),
        (5, format('body @@@ %L', 'w0 AND NOT (' || list(250, 500, ' AND ') || ')')),
        (6, format('body @@@ %L', 'NOT ' || list(1, 400, ' AND NOT '))),
        (7, format('body @@@ %L', '"u1 u2" OR "w0 ' || list(1, 300, '" OR "w0 ') || '"')),
        (8, format('body ### %L', list(250, 500, ' ')))
    ) AS q(n, c) ORDER BY n
$$;
SELECT * FROM long_lists();
SELECT snii_flush('one_body') > 0 AS flushed;
SELECT * FROM long_lists();

-- rescans: the query comes from the outer side
CREATE TABLE queries AS
SELECT g AS id, random_query(2) AS q FROM generate_series(1, 25) AS g;
CREATE FUNCTION counts_by(plan text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    counts bigint[];
BEGIN
    PERFORM set_config('enable_seqscan', (plan = 'Seq Scan')::text, true),
            set_config('enable_indexscan', (plan = 'Index Scan')::text, true),
            set_config('enable_bitmapscan', (plan = 'Bitmap')::text, true);
    EXECUTE 'SELECT array_agg(n ORDER BY id) FROM
             (SELECT q.id, (SELECT count(*) FROM one
                            WHERE body @@@ snii_query(''standard'', q.q)) AS n
              FROM queries AS q) AS s' INTO counts;
    RETURN counts;
END
$$;
SELECT counts_by('Bitmap') = counts_by('Seq Scan') AS bitmap,
       counts_by('Index Scan') = counts_by('Seq Scan') AS plain;

-- a cursor keeps its view while the index changes under it
CREATE FUNCTION cursor_over_changes(plan text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT id FROM one WHERE body ||| 'w0 rare7';
    truth int[] := ids_by('Seq Scan', 'one', 'body ||| $q$w0 rare7$q$');
    ids int[] := '{}';
    next int;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true),
            set_config('enable_indexscan', (plan = 'Index Scan')::text, true),
            set_config('enable_bitmapscan', (plan = 'Bitmap')::text, true);
    OPEN c;
    LOOP
        FETCH c INTO next;
        EXIT WHEN NOT FOUND;
        ids := ids || next;
        IF cardinality(ids) IN (3, 1500) THEN
            INSERT INTO one SELECT g, 'w0 w0'
            FROM generate_series(20001, 20500) AS g;
            PERFORM snii_flush('one_body'), snii_merge('one_body');
        END IF;
    END LOOP;
    CLOSE c;
    RETURN cardinality(ids) > 1500 AND
        truth = (SELECT array_agg(id ORDER BY id) FROM unnest(ids) AS id);
END
$$;
SELECT cursor_over_changes('Index Scan'), cursor_over_changes('Bitmap');

-- real text: words and phrases are taken from the rows themselves
CREATE TABLE verses(id int, body text);
\set lines `zstd -dcq "$PG_ABS_SRCDIR/data/kjv_verses.tsv.zst" | cut -f 1,5`
INSERT INTO verses
SELECT split_part(line, E'\t', 1)::int, split_part(line, E'\t', 2)
FROM string_to_table(:'lines', E'\n') AS line WHERE line LIKE E'%\t%' LIMIT 10000;
\unset lines
SELECT count(*) AS loaded FROM verses;
CREATE INDEX verses_body ON verses USING snii (body);
INSERT INTO verses SELECT 100000 + id, body FROM verses WHERE id % 30 = 0;

CREATE FUNCTION verse_condition() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    words text[];
    n int := 2 + (2.4 * random())::int;
    at int;
    kind float := random();
    part text;
BEGIN
    SELECT regexp_split_to_array(trim(lower(body), '.,;:?!() '), '[^a-z]+')
    INTO words
    FROM (SELECT body FROM verses OFFSET floor(10000 * random()) LIMIT 1) AS v;
    at := 1 + floor(random() * greatest(cardinality(words) - n, 1));
    part := array_to_string(words[at:at + n - 1], ' ');
    RETURN CASE
        WHEN kind < 0.5 THEN format('body ### %L', part)
        WHEN kind < 0.6 THEN format('body ||| %L', part)
        WHEN kind < 0.7 THEN format('body &&& %L', part)
        WHEN kind < 0.8 THEN
            format('body @@@ %L', format('"%s" AND NOT %s', part, words[1]))
        WHEN kind < 0.9 THEN
            format('body @@@ %L', format('%s AND NOT "%s"', words[at], part))
        ELSE format('body @@@ %L', format('"%s" OR NOT %s', part, words[at])) END;
END
$$;
SELECT count(*) AS queries, count(*) FILTER (WHERE cardinality(truth) > 0) > 40 AS matched,
       count(*) FILTER (WHERE truth <> ids_by('Bitmap Index Scan', 'verses', c)) AS by_bitmap,
       count(*) FILTER (WHERE truth <> ids_by('Index Scan', 'verses', c)) AS plain
FROM (SELECT c, ids_by('Seq Scan', 'verses', c) AS truth
      FROM (SELECT verse_condition() AS c FROM generate_series(1, 50) OFFSET 0) AS q
      OFFSET 0) AS s;
SELECT snii_check('verses_body', true);

SELECT snii_check('one_body', true), snii_check('two_a_b', true);
DROP TABLE one, two, queries, other_plans, verses;
DROP FUNCTION random_word, random_text, random_query, random_condition, ids_by,
    differences, counts_by, cursor_over_changes, list, long_lists,
    verse_condition;
