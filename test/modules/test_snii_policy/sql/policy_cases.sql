-- What the policy decides, case by case.
CREATE EXTENSION test_snii_policy;

-- Tiers: up to 64 kB, and eight times that each.
SELECT b, policy_tier(b) FROM unnest(ARRAY[0, 1, 65536, 65537, 524288, 524289,
	8 * 1024 * 1024, 1::bigint << 40, 9223372036854775807]) b;

-- Segments: MB, documents, dead ones.
CREATE FUNCTION choose(mb numeric[], docs bigint[] DEFAULT NULL,
	dead bigint[] DEFAULT NULL, max_mb bigint DEFAULT 1000000) RETURNS text
LANGUAGE sql AS $$
SELECT policy_merge(ARRAY(SELECT (m * 1048576)::bigint FROM unnest(mb) m),
	coalesce(docs, array_fill(1000::bigint, ARRAY[cardinality(mb)])),
	coalesce(dead, array_fill(0::bigint, ARRAY[cardinality(mb)])),
	max_mb * 1048576)
$$;
CREATE FUNCTION rep(v numeric, n int) RETURNS numeric[] LANGUAGE sql AS
	$$ SELECT array_fill(v, ARRAY[n]) $$;

-- nothing, one, seven of a size: nothing to do
SELECT choose('{}'), choose('{8}'), choose(rep(8, 7));
-- eight of a size, wherever they stand
SELECT choose(rep(8, 8)), choose('{100}' || rep(8, 8)),
	choose(rep(0.01, 3) || rep(8, 8) || '{100}');
-- neighbours only
SELECT choose(rep(8, 4) || '{600}' || rep(8, 4));
-- all of a run, not only eight of it; 32 at most
SELECT choose(rep(8, 13)), choose(rep(8, 40));
-- small ones between and behind are taken along
SELECT choose('{8, 8, 0.1, 8, 8, 0.1, 8, 8, 8, 0.2}');
-- the smaller merge first
SELECT choose(rep(8, 8) || rep(0.1, 8));
-- a large one is not rewritten for a few small ones
SELECT choose('{30}' || rep(4.1, 7)), choose('{30}' || rep(4.1, 8)),
	choose('{12}' || rep(4.1, 7));
-- a bound on what is read: the run is cut, or left out
SELECT choose(rep(8, 20), max_mb => 100), choose(rep(8, 20), max_mb => 64),
	choose(rep(8, 20), max_mb => 63);
-- unless there are too many
SELECT choose(rep(8, 64), max_mb => 63), choose(rep(8, 65), max_mb => 63);
-- too many and none of them due: the cheapest neighbours
WITH s AS (SELECT array_agg(power(1.2, -i)::numeric * 100000 ORDER BY i) AS mb
	FROM generate_series(1, 65) i)
SELECT choose(mb[1:64], max_mb => 1), choose(mb, max_mb => 1) FROM s;

-- empty ones first, all that stand together; whatever else is due
SELECT choose(rep(8, 8), '{9,9,9,9,9,9,9,9}', '{0,0,9,9,9,0,9,0}');
SELECT choose('{50000}', '{9}', '{9}', max_mb => 1), choose('{1}', '{0}', '{0}');
-- half dead: rewritten alone
SELECT choose('{8,8,8}', '{100,100,100}', '{0,49,0}'),
	choose('{8,8,8}', '{100,100,100}', '{0,50,0}'),
	choose('{8,8,8}', '{100,100,100}', '{0,50,0}', max_mb => 7);
-- together with neighbours that are, too, but not with others
SELECT choose('{8,8,8,8}', '{100,100,100,100}', '{0,50,60,0}'),
	choose('{8,8,80,8}', '{100,100,100,100}', '{70,50,60,0}'),
	choose('{8,8,8,8}', '{100,100,100,100}', '{0,50,60,90}', max_mb => 16);
-- a small merge comes before a large half-dead one, and that before a larger merge
SELECT choose('{20}' || rep(0.1, 8), '{100,9,9,9,9,9,9,9,9}', '{60,0,0,0,0,0,0,0,0}');
SELECT choose('{20}' || rep(300, 8), '{100,9,9,9,9,9,9,9,9}', '{60,0,0,0,0,0,0,0,0}');
-- the size without dead documents counts
SELECT choose(rep(8, 7) || '{200}', '{9,9,9,9,9,9,9,100}', '{0,0,0,0,0,0,0,0}'),
	choose(rep(8, 7) || '{200}', '{9,9,9,9,9,9,9,100}', '{0,0,0,0,0,0,0,96}');

-- 32-bit document numbers: the run is shortened, or waits
SELECT choose(rep(8, 10), array_fill(500000000::bigint, ARRAY[10])),
	choose(rep(8, 10), array_fill(600000000::bigint, ARRAY[10]));
-- and others get their turn
SELECT choose(rep(8, 10) || rep(8, 8), array_fill(600000000::bigint, ARRAY[10]) ||
	array_fill(10::bigint, ARRAY[8]));
-- dead ones do not count
SELECT choose(rep(8, 8), array_fill(600000000::bigint, ARRAY[8]),
	array_fill(200000000::bigint, ARRAY[8]));
-- too many segments that cannot be merged because of it
SELECT choose(rep(8, 70), array_fill(2200000000::bigint, ARRAY[70]));

-- debt: merges that follow from merges count
SELECT * FROM policy_debt(array_fill(8000000::bigint, ARRAY[8]),
	array_fill(10::bigint, ARRAY[8]), array_fill(0::bigint, ARRAY[8]));
SELECT * FROM policy_debt(array_fill(64000000::bigint, ARRAY[7]) ||
	array_fill(8000000::bigint, ARRAY[8]),
	array_fill(10::bigint, ARRAY[15]), array_fill(0::bigint, ARRAY[15]));
SELECT * FROM policy_debt('{1000,1000}', '{10,10}', '{10,0}');
SELECT * FROM policy_debt('{}', '{}', '{}');

-- VACUUM leaves a trickle in the buffer, unless all of it is dead.
SELECT v.*, policy_vacuum_flush(docs, dead, bytes)
FROM (VALUES (0, 0, 0), (10, 0, 1000), (10, 9, 1000), (10, 10, 1000),
	(1000, 900, 100000), (2000, 0, 200000)) v (docs, dead, bytes);

--
-- Advice to inserters
--
-- calm: nothing at all, neither to sleep nor to wake anybody
SELECT a.* FROM (VALUES (0, 0), (1000000, 10), (2000000, 30)) v (sealed, n),
	policy_advice(sealed, 8388608, n, n, n + 4, true) a;
-- monotone in bytes, in segments, in entries
CREATE TABLE load AS
SELECT sealed, excess, a.* FROM generate_series(0, 40000000, 500000) sealed,
	generate_series(0, 80, 4) excess,
	policy_advice(sealed, 8388608, 10 + excess, 10, 14 + excess, true) a;
SELECT count(*) FROM load a JOIN load b
	ON a.sealed <= b.sealed AND a.excess <= b.excess
WHERE a.wake > b.wake OR a.help > b.help OR a.sleep_ms > b.sleep_ms
	OR a.urgent > b.urgent OR a.help_merge > b.help_merge;
-- who merges flushes, too
SELECT count(*) FROM load WHERE help_merge AND NOT help;
-- in this order: a worker is woken, then told to hurry, then inserters sleep,
-- then they help; and no sleep is without a reason
SELECT min(sealed) FILTER (WHERE wake) AS wake,
	min(sealed) FILTER (WHERE urgent) AS urgent,
	min(sealed) FILTER (WHERE sleep_ms > 0) AS sleep,
	min(sealed) FILTER (WHERE help) AS help
FROM load WHERE excess = 0;
SELECT min(excess) FILTER (WHERE wake) AS wake,
	min(excess) FILTER (WHERE urgent) AS urgent,
	min(excess) FILTER (WHERE sleep_ms > 0) AS sleep
FROM load WHERE sealed = 0;
SELECT count(*) FILTER (WHERE (sleep_ms > 0) <> (reason > 0)) AS unreasonable,
	count(DISTINCT reason) FILTER (WHERE sleep_ms > 0) AS reasons,
	max(sleep_ms) < 600 AS bounded FROM load;
SELECT DISTINCT reason FROM load WHERE sleep_ms > 0 AND excess = 0;
SELECT DISTINCT reason FROM load WHERE sleep_ms > 0 AND sealed = 0;
-- nor are dead documents, until they and the limit outweigh the live ones
SELECT mb AS more, policy_urgent((mb + 54) << 20, 46 << 20, 8 << 20) AS urgent
FROM unnest(ARRAY[0::bigint, 46, 47, 100]) mb;
-- many segments are nothing bad as such, a full directory is
SELECT sleep_ms, help, help_merge FROM policy_advice(0, 8388608, 60, 60, 64, true);
SELECT sleep_ms, help, help_merge FROM policy_advice(0, 8388608, 90, 90, 96, true);
-- without a worker: help from the limit on, never sleep
SELECT a.* FROM unnest(ARRAY[0, 8000000, 8388608, 80000000]) sealed,
	policy_advice(sealed, 8388608, 10, 10, 20, false) a;
SELECT help FROM policy_advice(0, 8388608, 90, 90, 96, false);

-- side lists: of small segments always, of large ones every 5 %, of none that
-- is as large as it was, half dead, or all dead
SELECT min(dead) AS first, max(dead) AS last, count(*)
FROM generate_series(0, 1000) dead WHERE policy_side(1000000, 1000, dead, 0);
SELECT min(dead) AS first, max(dead) AS last, count(*)
FROM generate_series(0, 1000) dead WHERE policy_side(10000000, 1000, dead, 0);
SELECT min(dead) AS first, max(dead) AS last, count(*)
FROM generate_series(0, 1000) dead WHERE policy_side(10000000, 1000, dead, 50);
SELECT min(dead) AS first, max(dead) AS last, count(*)
FROM generate_series(0, 1000) dead WHERE policy_side(1000000, 1000, dead, 50);
