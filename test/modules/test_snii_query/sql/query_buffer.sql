-- Work that queries do on the write buffer, counted.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS snii;
CREATE EXTENSION IF NOT EXISTS test_snii_query;
RESET client_min_messages;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE qb(id int, body text) WITH (autovacuum_enabled = off);
CREATE INDEX qb_body ON qb USING snii (body);

-- Run a query n times; what that added to the counters.
CREATE FUNCTION work(n int, tab text DEFAULT 'qb', OUT missed bigint,
	OUT used bigint, OUT partial bigint, OUT created bigint,
	OUT bytes bigint, OUT evicted bigint, OUT dropped bigint)
LANGUAGE plpgsql AS $$
DECLARE
	a record;
	b record;
	rows bigint;
BEGIN
	SELECT * INTO a FROM test_query_buffer_stats();
	FOR i IN 1..n LOOP
		EXECUTE format('SELECT count(id) FROM %I WHERE body ||| %L', tab,
					   'common') INTO rows;
	END LOOP;
	SELECT * INTO b FROM test_query_buffer_stats();
	missed := b.missed - a.missed;
	used := b.used - a.used;
	partial := b.partial - a.partial;
	created := b.created - a.created;
	bytes := b.bytes - a.bytes;
	evicted := b.evicted - a.evicted;
	dropped := b.dropped - a.dropped;
END
$$;

-- one stretch: noted, indexed, used
INSERT INTO qb SELECT g, 'common word' || g FROM generate_series(1, 100) AS g;
SELECT missed, used, partial, created, bytes FROM work(1);
SELECT missed, used, partial, created, bytes > 0 AS bytes FROM work(1);
SELECT missed, used, partial, created, bytes FROM work(5);

-- only what was appended is added
INSERT INTO qb VALUES (101, 'common');
SELECT missed, used, partial, created, bytes BETWEEN 1 AND 100 AS few
FROM work(3);

-- a flush: forgotten, another stretch takes its turn
SELECT snii_flush('qb_body');
INSERT INTO qb VALUES (102, 'common');
SELECT missed, used, created, dropped FROM work(1);
SELECT missed, used, created, dropped FROM work(2);

-- where stretches live for many scans, new ones are indexed when they are met
CREATE PROCEDURE rounds(n int, scans int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		INSERT INTO qb VALUES (103, 'common');
		PERFORM work(scans);
		PERFORM snii_flush('qb_body');
	END LOOP;
	PERFORM snii_merge('qb_body');	-- else a worker would
	INSERT INTO qb VALUES (103, 'common');
END
$$;
CALL rounds(5, 20);
SELECT missed, used, created FROM work(1);
CALL rounds(10, 2);
SELECT missed, used, created FROM work(1);
DROP PROCEDURE rounds;
SELECT count(*) FROM work(2);

-- many stretches: each scan indexes a bounded part, the rest is matched
INSERT INTO qb SELECT g, 'common ' || md5(g::text) || md5((-g)::text)
FROM generate_series(1, 20000) AS g;
SELECT missed > 4, used, bytes > 300 * 1024 AS too_much FROM work(1);
SELECT missed > 0 AS missed, used > 0 AS used, partial,
	   bytes BETWEEN 100 * 1024 AND 300 * 1024 AS bounded FROM work(1);
SELECT missed > 0 AS missed, bytes BETWEEN 900000 AND 3000000 AS all_bytes
FROM work(20);
SELECT missed, used > 4 AS used, partial, created, bytes FROM work(3);

-- settings: less room, none, enough again
SET snii.buffer_cache = '1MB';
SELECT evicted > 0 AS evicted, missed > 0 AS missed FROM work(1);
SELECT evicted, created <= 1 AS at_rest, missed > 0 AS missed FROM work(5);
SELECT memory <= 1024 * 1024 AS bounded, stretches > 0 AS some
FROM test_query_buffer_stats();
SET snii.buffer_cache = 0;
SELECT missed > 4 AS missed, used, created FROM work(1);
SELECT indexes, stretches, memory FROM test_query_buffer_stats();
RESET snii.buffer_cache;
SELECT count(*) FROM work(25);
SELECT missed, partial, created FROM work(1);

-- two indexes for which there is no room together: the one that came first
-- stays, until it is idle
CREATE TABLE qb2(id int, body text) WITH (autovacuum_enabled = off);
CREATE INDEX qb2_body ON qb2 USING snii (body);
INSERT INTO qb2 SELECT * FROM qb WHERE id <= 15000;
SET snii.buffer_cache = '4MB';
DO $$
BEGIN
	FOR i IN 1..30 LOOP
		PERFORM work(1), work(1, 'qb2');
	END LOOP;
END $$;
SELECT created, evicted, missed > 0 AS missed FROM work(1, 'qb2');
SELECT created, evicted FROM work(1);
SELECT count(*) FROM work(60, 'qb2');
SELECT missed, created, evicted FROM work(1, 'qb2');
SELECT memory <= 4 * 1024 * 1024 AS bounded FROM test_query_buffer_stats();

-- gone with their indexes
DROP TABLE qb2;
SELECT count(*) FROM work(1);
SELECT indexes FROM test_query_buffer_stats();
SELECT snii_check('qb_body', true);
DROP TABLE qb;
DROP FUNCTION work;
