-- Iterators over random segments, read in every way, against a naive
-- evaluation: an error tells the first difference.
CREATE EXTENSION test_snii_query;

-- no document, one, few words, many words
SELECT test_query_random(1, 0, 3, 40) > 0 AS ok;
SELECT test_query_random(2, 1, 2, 100) > 0 AS ok;
SELECT bool_and(test_query_random(seed, 5 + seed * 13, 4, 60) > 0) AS ok
FROM generate_series(1, 20) AS seed;
SELECT bool_and(test_query_random(100 + seed, 1500, 12, 40) > 0) AS ok
FROM generate_series(1, 10) AS seed;
SELECT test_query_random(200, 3000, 400, 100) > 0 AS ok;

-- several blocks of the bulk disjunction
SELECT test_query_random(300, 150000, 5, 12) > 0 AS ok;
SELECT test_query_random(301, 150000, 3000, 12) > 0 AS ok;

-- a conjunction stops at the first absent term
SELECT test_query_lookups('{t,t,t}'), test_query_lookups('{f,t,t}'),
       test_query_lookups('{t,f,t,f,t}'), test_query_lookups('{f}');

-- deep trees: right, or an error about the stack
SELECT test_query_nested(1), test_query_nested(60), test_query_nested(2000);
SET max_stack_depth = '100kB';
DO $$
BEGIN
    PERFORM test_query_nested(100000);
EXCEPTION WHEN statement_too_complex THEN
    RAISE NOTICE 'too deep';
END
$$;
RESET max_stack_depth;
