-- The published names of these tests: new terms that keep the arena stay off
-- the limiter; pressure is decided when the arena next grows; swings below
-- the step stay off the shared counters; held-back bytes are published
-- together at the step; the last partial step is published at the end;
-- concurrent changes lose nothing.
CREATE EXTENSION test_snii_memory;

SELECT test_mem_terms_stay_off_limiter();
SELECT test_mem_pressure_at_growth();
SELECT test_mem_small_swings();
SELECT test_mem_step();
SELECT test_mem_end();
SELECT test_mem_concurrent();
SELECT test_mem_victims();
SELECT test_mem_slots();
SELECT test_mem_limit_setting();
SELECT test_mem_kept_blocks();
SELECT test_mem_view();
SELECT test_mem_machine();
SELECT test_mem_machine_files();

-- A writer that an error leaves behind is given back by the end of its
-- transaction or subtransaction, and of no other one. (The first call makes
-- the limiter.)
SELECT * FROM test_mem_left();
BEGIN;
SELECT test_mem_leave(3000000);
SELECT * FROM test_mem_left();
SAVEPOINT s;
SELECT test_mem_leave(5000000);
SELECT * FROM test_mem_left();
ROLLBACK TO s;
SELECT * FROM test_mem_left();
ROLLBACK;
SELECT * FROM test_mem_left();

-- Work, not time: a million new terms. Calls come from blocks and from the
-- table, none from terms; the shared counters move by steps.
SELECT reporter_calls BETWEEN 1000 AND 4000 AS calls_by_block,
	limiter_calls BETWEEN 200 AND 700 AS limiter_by_block,
	shared_writes - limiter_calls BETWEEN 30 AND 200 AS writes_by_step
	FROM test_mem_counts(1000000, 1024);
SELECT b.shared_writes - b.limiter_calls >=
	20 * (a.shared_writes - a.limiter_calls) AS at_every_change
	FROM test_mem_counts(1000000, 1024) a, test_mem_counts(1000000, 0) b;
