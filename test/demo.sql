-- demo.sql: the tour of make demo, run by psql in the project's folder in an
-- empty database. Statements are shown as they run.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset linestyle ascii
\pset null '(null)'
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

\qecho
\qecho '1. The extension, and real text to search: Bible verses, dictionary'
\qecho '   entries, Windows event logs, the UN declaration in 28 languages'
\qecho '==================================================================='
\set ECHO queries
CREATE EXTENSION snii;
\set ECHO none
\i test/data/load.sql
VACUUM ANALYZE;
\set ECHO queries
SELECT relname AS "table", reltuples::int AS rows,
       pg_size_pretty(pg_table_size(oid)) AS size
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
ORDER BY 1;
\set ECHO none

\qecho
\qecho '2. What the analyzer makes of a text'
\qecho '===================================='
\set ECHO queries
SELECT * FROM snii_analyze('standard', 'Hello, WORLD: the 2nd naïve Café at 10.0.0.1');
\set ECHO none

\qecho
\qecho '3. Indexes, beside the GIN index that PostgreSQL has for this'
\qecho '============================================================='
\timing on
\set ECHO queries
CREATE INDEX kjv_body ON kjv_verses USING snii (body);
CREATE INDEX dictionary_body ON dictionary USING snii (body);
CREATE INDEX udhr_body ON udhr USING snii (body);
CREATE INDEX events_message ON windows_events USING snii (message);
CREATE INDEX events_gin ON windows_events USING gin (to_tsvector('simple', message));
\timing off
SELECT c.relname AS index, am.amname AS method,
       pg_size_pretty(pg_relation_size(c.oid)) AS size
FROM pg_class c JOIN pg_am am ON am.oid = c.relam
WHERE c.relkind = 'i' AND am.amname IN ('snii', 'gin') ORDER BY 1;
\set ECHO none
VACUUM ANALYZE;

\qecho
\qecho '4. Any of the words: |||'
\qecho '========================'
\timing on
\set ECHO queries
SELECT count(*) FROM kjv_verses WHERE body ||| 'leviathan behemoth unicorn';
SELECT book, chapter, verse, left(body, 60) AS body
FROM kjv_verses WHERE body ||| 'leviathan behemoth' ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM kjv_verses WHERE body ||| 'leviathan behemoth';
\set ECHO none
\timing off

\qecho
\qecho '5. All of the words: &&&'
\qecho '========================'
\timing on
\set ECHO queries
SELECT count(*) FROM windows_events WHERE message &&& 'lsass.exe powershell.exe';
SELECT headword, left(replace(body, E'\n', ' '), 70) AS body
FROM dictionary WHERE body &&& 'chemistry carbon' ORDER BY id LIMIT 5;
\set ECHO none
\timing off

\qecho
\qecho '6. A phrase: ###'
\qecho '================'
\timing on
\set ECHO queries
SELECT book, chapter, verse, left(body, 60) AS body
FROM kjv_verses WHERE body ### 'in the beginning' ORDER BY id LIMIT 5;
SELECT count(*) FROM windows_events WHERE message ### 'process accessed rulename';
SELECT count(*) FROM windows_events
WHERE to_tsvector('simple', message) @@ phraseto_tsquery('simple', 'process accessed rulename');
SELECT lang, left(body, 60) AS body FROM udhr WHERE body ### 'alle Menschen' OR body ### 'все люди' ORDER BY id LIMIT 4;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT count(*) FROM kjv_verses WHERE body ### 'and it came to pass';
\set ECHO none
\timing off

\qecho
\qecho '7. The query language: @@@ with AND, OR, NOT, parentheses, "phrases"'
\qecho '===================================================================='
\timing on
\set ECHO queries
SELECT count(*) FROM kjv_verses WHERE body @@@ '(shepherd OR flock) AND NOT sheep';
SELECT book, chapter, verse, left(body, 60) AS body
FROM kjv_verses WHERE body @@@ '"valley of the shadow of death" OR (lions AND den AND daniel)' ORDER BY id;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT * FROM windows_events WHERE message @@@ 'whoami.exe AND NOT ("process terminated" OR "image loaded")';
\qecho '-- no text is a wrong query: here a quote and a parenthesis are left open'
SELECT count(*) FROM kjv_verses WHERE body @@@ '("shepherd AND';
\set ECHO none
\timing off

\qecho
\qecho '8. The same answer without the index'
\qecho '===================================='
\timing on
\set ECHO queries
SELECT count(*) FROM windows_events WHERE message @@@ 'whoami.exe OR ("logon type" AND NOT system)';
\set ECHO none
\timing off
SET enable_bitmapscan = off;
SET enable_indexscan = off;
\timing on
\set ECHO queries
EXPLAIN (COSTS OFF) SELECT count(*) FROM windows_events WHERE message @@@ 'whoami.exe OR ("logon type" AND NOT system)';
SELECT count(*) FROM windows_events WHERE message @@@ 'whoami.exe OR ("logon type" AND NOT system)';
\set ECHO none
\timing off
RESET enable_bitmapscan;
RESET enable_indexscan;
DROP INDEX events_gin;

\qecho
\qecho '9. New rows are found at once; flush, merge and VACUUM tidy up'
\qecho '=============================================================='
\timing on
\set ECHO queries
INSERT INTO windows_events
SELECT 1000000 + g, now(), 'demo', 'demo', g, NULL, 'demo event ' || g || ': disk quota exceeded on volume ' || g % 7
FROM generate_series(1, 20000) g;
SELECT count(*) FROM windows_events WHERE message ### 'quota exceeded on volume 3';
SELECT snii_flush('events_message');
UPDATE windows_events SET message = 'demo event: volume repaired' WHERE message ### 'quota exceeded on volume 3';
DELETE FROM windows_events WHERE message ### 'quota exceeded on volume 4';
VACUUM windows_events;
SELECT snii_merge('events_message');
SELECT count(*) FILTER (WHERE message ### 'volume 3') AS volume_3,
       count(*) FILTER (WHERE message ### 'volume 4') AS volume_4,
       count(*) FILTER (WHERE message ### 'volume repaired') AS repaired
FROM windows_events WHERE message &&& 'demo event';
\timing off
\set ECHO none

\qecho
\qecho '10. A look inside, and the check that all is well (it says nothing)'
\qecho '==================================================================='
\set ECHO queries
SELECT * FROM snii_segments('events_message');
SELECT snii_check('events_message');
SELECT snii_check('kjv_body');
\set ECHO none
