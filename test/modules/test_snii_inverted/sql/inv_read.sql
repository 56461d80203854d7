-- Segments of random postings: look-ups, walks, cursors with every kind of
-- step, TIDs, lengths and NULLs are compared with the postings in memory, the
-- work that single look-ups do is counted, and the checker must be silent.
CREATE EXTENSION test_snii_inverted;
CREATE UNLOGGED TABLE reads (a int) WITH (autovacuum_enabled = off);

SELECT test_inv_read('reads', 1, 0, 10, true);
SELECT test_inv_read('reads', 2, 1, 10, true);
SELECT test_inv_read('reads', 3, 300, 0, true);

-- borders of windows and of column groups
SELECT n, test_inv_read('reads', n, n, 60, true)
  FROM unnest(ARRAY[127, 128, 129, 255, 256, 257]) n;

-- windows, super-blocks, inner nodes; with and without a filter
SELECT test_inv_read('reads', 4, 5000, 500, false);
SELECT test_inv_read('reads', 5, 20000, 200, true);
SELECT test_inv_read('reads', 6, 200, 20000, true);

-- Merging pieces with dead documents gives the segment of the live ones.
SELECT n, test_inv_merge('reads', n, 1500, 300, n) FROM generate_series(1, 9) n;
SELECT test_inv_merge('reads', 11, 9000, 200, 3);
SELECT test_inv_merge('reads', 12, 10, 500, 6);
DROP TABLE reads;

-- Damaged pages: errors of the right kind or answers, never anything else.
CREATE UNLOGGED TABLE damage (a int) WITH (autovacuum_enabled = off);
SELECT n, test_inv_corrupt('damage', n, 700, 80, 150)
  FROM generate_series(1, 4) n;
SELECT test_inv_corrupt('damage', 5, 30, 3000, 50);
SELECT test_inv_corrupt('damage', 6, 9000, 20, 50);
SELECT test_inv_check_record('damage');
DROP TABLE damage;
DROP EXTENSION test_snii_inverted;
