--
-- snii_prewarm(): what look-ups begin with, or all pages
--
CREATE TABLE pw (id int, body text);
INSERT INTO pw SELECT i, 'word' || i % 500 || ' text ' || i FROM generate_series(1, 20000) i;
CREATE INDEX pw_key ON pw USING snii (id);
CREATE INDEX pw_text ON pw USING snii (body);

-- without a write buffer all pages but list pages are those of streams
CREATE FUNCTION warm(i regclass, OUT upper boolean, OUT every boolean) LANGUAGE sql AS $$
	SELECT snii_prewarm(i) BETWEEN 2 AND snii_prewarm(i, 'all') - 10,
		snii_prewarm(i, 'all') BETWEEN sum(pages) * 0.9 AND sum(pages)
	FROM snii_segments(i) $$;
SELECT * FROM warm('pw_key');
SELECT * FROM warm('pw_text');
SELECT snii_prewarm('pw_key') = snii_prewarm('pw_key', 'filters') AS the_default;

-- pages of the write buffer
SELECT snii_prewarm('pw_key') AS some, snii_prewarm('pw_key', 'all') AS every,
	snii_prewarm('pw_text', 'all') AS every_text \gset
INSERT INTO pw SELECT i, 'new ' || i FROM generate_series(20001, 22000) i;
SELECT snii_prewarm('pw_key') - :some AS fences, snii_prewarm('pw_key', 'all') > :every + 5 AS leaves,
	snii_prewarm('pw_text', 'all') > :every_text + 5 AS records;

-- an empty index, a temporary one
CREATE TEMP TABLE pwt (id int);
CREATE INDEX pwt_i ON pwt USING snii (id);
SELECT snii_prewarm('pwt_i', 'all');
INSERT INTO pwt SELECT generate_series(1, 1000);
SELECT snii_flush('pwt_i');
SELECT snii_prewarm('pwt_i', 'all') > 3 AS pages;

-- arguments and privileges
SELECT snii_prewarm('pw_key', 'everything');
SELECT snii_prewarm('pw_key', NULL);
SELECT snii_prewarm('pw');
CREATE ROLE regress_snii_prewarm;
SET ROLE regress_snii_prewarm;
SELECT snii_prewarm('pw_key');
RESET ROLE;
GRANT SELECT ON pw TO regress_snii_prewarm;
SET ROLE regress_snii_prewarm;
SELECT snii_prewarm('pw_key') > 0 AS allowed;
RESET ROLE;
SELECT snii_check('pw_key', true), snii_check('pw_text', true);
DROP TABLE pw CASCADE;
DROP ROLE regress_snii_prewarm;
