-- Acceptance cases: phrases over all pairs, three-valued logic, no size
-- cliffs, emptied terms and re-used TIDs.  Each list of ids is asked for by
-- bitmap, plain and sequential scan at every stage of the index's life; a
-- case is printed with its answer, or with what differs.
SET client_min_messages = warning;

-- The answer of a query by all kinds of plans, if they agree.
CREATE FUNCTION ids(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answers text[] := '{}';
    answer text;
    plan text;
BEGIN
    FOREACH plan IN ARRAY '{enable_seqscan,enable_indexscan,enable_bitmapscan}'::text[]
    LOOP
        PERFORM set_config('enable_seqscan', 'off', true),
                set_config('enable_indexscan', 'off', true),
                set_config('enable_bitmapscan', 'off', true),
                set_config(plan, 'on', true);
        EXECUTE query INTO answer;
        answers := answers || coalesce(answer, '{}');
    END LOOP;
    RETURN CASE WHEN answers[1] = answers[2] AND answers[1] = answers[3]
           THEN answers[1] ELSE 'differ: ' || answers::text END;
END
$$;

-- The stages of an index; VACUUM is not among them, since it needs a
-- statement of its own.
CREATE FUNCTION reach(stage text, tab regclass, index regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    CASE stage
        WHEN 'buffered' THEN NULL;
        WHEN 'flushed' THEN PERFORM snii_flush(index);
        WHEN 'merged' THEN
            -- something to merge with, that no case finds
            EXECUTE format('INSERT INTO %s VALUES (-1, ''zzz'')', tab);
            PERFORM snii_flush(index), snii_merge(index);
        WHEN 'reindexed' THEN EXECUTE format('REINDEX INDEX %s', index);
    END CASE;
END
$$;

CREATE TABLE stages(n int, stage text);
INSERT INTO stages VALUES (1, 'buffered'), (2, 'flushed'), (3, 'merged'),
    (4, 'reindexed');

-- Run the cases of a table at every stage; one line for each answer.
CREATE TABLE cases(id serial, tab regclass, condition text);
CREATE FUNCTION run(t regclass, index regclass)
RETURNS TABLE (condition text, answer text, stages text)
LANGUAGE plpgsql AS $$
DECLARE
    s record;
BEGIN
    CREATE TEMP TABLE answers(id int, n int, stage text, condition text,
                              answer text) ON COMMIT DROP;
    FOR s IN SELECT * FROM stages ORDER BY stages.n LOOP
        PERFORM reach(s.stage, t, index);
        INSERT INTO answers
        SELECT c.id, s.n, s.stage, c.condition, ids(format(
            'SELECT CASE WHEN count(*) > 10 THEN count(*) || '' rows''
                    ELSE array_agg(id ORDER BY id)::text END
             FROM %s WHERE id >= 0 AND (%s)', t, c.condition))
        FROM cases AS c WHERE c.tab = t ORDER BY c.id;
    END LOOP;
    RETURN QUERY SELECT min(a.condition), a.answer,
        CASE WHEN count(*) = (SELECT count(*) FROM stages) THEN 'all'
        ELSE string_agg(a.stage, ', ' ORDER BY a.n) END
    FROM answers AS a GROUP BY a.id, a.answer ORDER BY a.id, min(a.n);
END
$$;

-- A4: phrases on all ordered pairs
CREATE TABLE pairs(id int, body text);
CREATE INDEX pairs_body ON pairs USING snii (body);
INSERT INTO pairs
SELECT 26 * x + y + 1, chr(97 + x) || ' ' || chr(97 + y)
FROM generate_series(0, 25) AS x, generate_series(0, 25) AS y ORDER BY x, y;
INSERT INTO cases(tab, condition) VALUES
    ('pairs', $q$body ### 'a b'$q$),
    ('pairs', $q$body ### 'b a'$q$),
    ('pairs', $q$body ### 'a a'$q$),
    ('pairs', $q$body &&& 'a b'$q$),
    ('pairs', $q$body @@@ 'a AND NOT b'$q$),
    ('pairs', $q$body @@@ 'NOT a'$q$),
    ('pairs', $q$body @@@ '"a b" OR "b a"'$q$),
    ('pairs', $q$body @@@ 'a AND b AND NOT "a b"'$q$);
SELECT * FROM run('pairs', 'pairs_body');

-- and each of the 676 phrases finds its row alone
SELECT count(*) AS phrases, count(*) FILTER (WHERE found = ARRAY[id]) AS right
FROM (SELECT p.id, (SELECT array_agg(q.id ORDER BY q.id) FROM pairs AS q
                    WHERE q.body ### p.body) AS found
      FROM pairs AS p WHERE p.id > 0) AS s;
SELECT snii_check('pairs_body', true);

-- A5: three-valued logic
CREATE TABLE colours(id int, body text);
CREATE INDEX colours_body ON colours USING snii (body);
INSERT INTO colours VALUES (1, 'blue'), (2, 'red'), (3, NULL), (4, '');
INSERT INTO cases(tab, condition) VALUES
    ('colours', $q$body ||| 'blue'$q$),
    ('colours', $q$NOT (body ||| 'blue')$q$),
    ('colours', $q$body @@@ 'NOT blue'$q$),
    ('colours', $q$body @@@ 'NOT NOT blue'$q$),
    ('colours', $q$body @@@ 'NOT blue AND NOT red'$q$),
    ('colours', $q$body @@@ 'blue OR NOT blue'$q$),
    ('colours', $q$(body ||| 'blue') IS NULL$q$),
    ('colours', $q$body IS NULL$q$),
    ('colours', $q$body IS NOT NULL AND body @@@ 'NOT red'$q$),
    ('colours', $q$body IS NULL AND body ||| 'blue'$q$),
    ('colours', $q$body ||| ''$q$),
    ('colours', $q$body ||| NULL$q$),
    ('colours', $q$true$q$);
SELECT * FROM run('colours', 'colours_body');
SELECT snii_check('colours_body', true);

-- A8: no size cliffs
CREATE TABLE sizes(id int, body text);
CREATE INDEX sizes_body ON sizes USING snii (body);
INSERT INTO sizes SELECT 1, string_agg('w' || g, ' ' ORDER BY g)
FROM generate_series(1, 20000) AS g;
INSERT INTO sizes VALUES (2, 'w1 w2 w3'), (3, repeat('x y ', 300) || 'x z');
INSERT INTO sizes SELECT 4, string_agg('tok' || g, ' ' ORDER BY g)
FROM generate_series(1, 250000) AS g;
INSERT INTO sizes VALUES (5, repeat('abc', 1000) || ' tail'),
    (6, repeat('abc', 999) || 'abd head');
INSERT INTO cases(tab, condition) VALUES
    ('sizes', $q$body ### 'w19998 w19999'$q$),
    ('sizes', $q$body ### 'w2 w3'$q$),
    ('sizes', $q$body ### 'w17000 w19999'$q$),
    ('sizes', $q$body ### 'x z'$q$),
    ('sizes', $q$body ### 'z x'$q$),
    ('sizes', $q$body ### 'y x y x'$q$),
    ('sizes', $q$body ### 'tok249999 tok250000'$q$),
    ('sizes', $q$body ### 'tok250000 tok249999'$q$),
    ('sizes', $q$body ||| 'tail'$q$),
    ('sizes', $q$body ||| repeat('abc', 1000)$q$),
    ('sizes', $q$body ### (repeat('abc', 1000) || ' tail')$q$),
    ('sizes', $q$body ||| repeat('abc', 999)$q$);
SELECT * FROM run('sizes', 'sizes_body');
SELECT snii_check('sizes_body', true);

-- A3: emptied term and re-used TIDs, with the doomed rows in a segment, in the
-- write buffer, and in both
CREATE TABLE doomed(id serial, body text) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill(word text, n int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO doomed(body) SELECT word || ' ' || g
    FROM generate_series(1, n) AS g
$$;
CREATE FUNCTION found(OUT keep text, OUT doomed text, OUT fresh text)
LANGUAGE sql AS $$
    SELECT ids($q$SELECT count(*) FROM doomed WHERE body ||| 'keep'$q$),
           ids($q$SELECT count(*) FROM doomed WHERE body ||| 'doomed'$q$),
           ids($q$SELECT count(*) FROM doomed WHERE body ||| 'fresh'$q$)
$$;

SELECT fill('keep', 1000), fill('doomed', 5000);
CREATE INDEX doomed_body ON doomed USING snii (body);
SELECT * FROM found();
SELECT max(ctid) AS last FROM doomed \gset
DELETE FROM doomed WHERE body LIKE 'doomed%';
VACUUM doomed;
SELECT * FROM found();
SELECT fill('fresh', 5000);
SELECT min(ctid) < :'last' AS reused FROM doomed WHERE body LIKE 'fresh%';
SELECT * FROM found();
SELECT snii_check('doomed_body', true);

-- in the write buffer
TRUNCATE doomed;
SELECT fill('keep', 1000), snii_flush('doomed_body') > 0 AS flushed,
       fill('doomed', 5000);
SELECT * FROM found();
SELECT max(ctid) AS last FROM doomed \gset
DELETE FROM doomed WHERE body LIKE 'doomed%';
VACUUM doomed;
SELECT * FROM found();
SELECT fill('fresh', 5000);
SELECT min(ctid) < :'last' AS reused FROM doomed WHERE body LIKE 'fresh%';
SELECT * FROM found();
SELECT snii_check('doomed_body', true);

-- half of them flushed, then all merged
TRUNCATE doomed;
SELECT fill('keep', 1000), fill('doomed', 2500);
SELECT snii_flush('doomed_body') > 0 AS flushed;
SELECT fill('doomed', 2500);
SELECT * FROM found();
SELECT max(ctid) AS last FROM doomed \gset
DELETE FROM doomed WHERE body LIKE 'doomed%';
VACUUM doomed;
SELECT * FROM found();
SELECT fill('fresh', 5000);
SELECT min(ctid) < :'last' AS reused FROM doomed WHERE body LIKE 'fresh%';
SELECT * FROM found();
SELECT snii_flush('doomed_body') > 0 AS flushed;
SELECT * FROM found();
SELECT snii_merge('doomed_body') > 0 AS merged;
SELECT * FROM found();
REINDEX INDEX doomed_body;
SELECT * FROM found();
SELECT snii_check('doomed_body', true);

DROP TABLE pairs, colours, sizes, doomed, cases, stages;
DROP FUNCTION ids, reach, run, fill, found;
