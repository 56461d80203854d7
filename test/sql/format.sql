--
-- The bytes of format 1. The expected output is the golden file that
-- docs/format.md explains: it changes only with the format version.
--
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE TABLE golden (body text);
INSERT INTO golden VALUES ('The cat'), ('the dog, the cat'), (NULL), ('');
CREATE INDEX golden_idx ON golden USING snii (body);
INSERT INTO golden VALUES ('a dog');

-- used payload of every page: what lies between its header and pd_lower
CREATE FUNCTION golden_page(blk int, OUT kind int, OUT owner int,
    OUT stream int, OUT payload text) LANGUAGE sql AS $$
  SELECT get_byte(p, 8186), get_byte(p, 8176), get_byte(p, 8188),
    encode(substr(p, 25, get_byte(p, 12) + 256 * get_byte(p, 13) - 24), 'hex')
  FROM get_raw_page('golden_idx', blk) p $$;
SELECT blk, (golden_page(blk)).kind, (golden_page(blk)).owner,
    (golden_page(blk)).stream, length((golden_page(blk)).payload) / 2 AS used
FROM generate_series(0, 13) blk;
\pset tuples_only on
\pset format unaligned
-- the directory (the lane of the stretch depends on the process: masked) and
-- the list of extents
SELECT overlay(payload placing '--' FROM 197) FROM golden_page(1);
SELECT payload FROM golden_page(7);
-- the rest, by kind and stream: head, dictionary, columns, marks, buffer
SELECT kind, stream, regexp_replace(payload, '(.{64})', E'\\1\n', 'g')
FROM generate_series(7, 13) blk, golden_page(blk)
WHERE kind IN (5, 6) ORDER BY kind, stream;
-- the side list after VACUUM: head, terms
DELETE FROM golden WHERE body = 'The cat';
VACUUM (INDEX_CLEANUP on, TRUNCATE off) golden;
SELECT owner, stream, payload
FROM generate_series(7, pg_relation_size('golden_idx') / 8192 - 1) blk,
    golden_page(blk::int)
WHERE kind = 7 ORDER BY stream;
\pset tuples_only off
\pset format aligned
SELECT snii_check('golden_idx', true);
DROP TABLE golden;
DROP FUNCTION golden_page;
