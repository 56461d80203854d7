-- needs a database in UTF-8
\encoding UTF8
CREATE EXTENSION test_snii_text;

-- The tables agree with this ICU. If not, all other tests pass, but slowly.
SELECT test_text_tables_used();

-- random texts against ICU
SELECT test_text_random('ascii', 1, 50000) > 200000 AS enough;
SELECT test_text_random('joining', 2, 50000) > 50000 AS enough;
SELECT test_text_random('mixed', 3, 30000) > 100000 AS enough;
SELECT test_text_random('invalid', 4, 20000) > 40000 AS enough;

-- another seed each day
SELECT test_text_random(kind, extract(epoch FROM current_date)::int8, 5000) > 0 AS enough
FROM unnest(ARRAY['ascii', 'joining', 'mixed', 'invalid']) kind;

-- separators beside everything
SELECT test_text_document(a.c || s.c || b.c || s.c || a.c || s.c || s.c || b.c || E'\u0301' || s.c || E'\u200d\u24c2') > 0 AS found, count(*)
FROM unnest(ARRAY['@', ':', '¸', E'\uFE10', E'\uFE13', E'\uFE14', E'\uFE55', E'\uFF1A']) s (c),
	unnest(ARRAY['a', '1', '_', 'é', '漢', 'あ', 'カ', 'ไ', E'\u05D0', '한', '.', '''', E'\u0301', E'\u200d', E'\u3000', E'\U0001F600']) a (c),
	unnest(ARRAY['a', '1', '_', 'é', '漢', 'あ', 'カ', 'ไ', E'\u05D0', '한', '.', '''', E'\u0301', E'\u200d', E'\u3000', E'\U0001F600']) b (c)
GROUP BY found;

-- every code point in several contexts
SELECT test_text_every_character() > 10000000 AS enough;

-- two flags' halves are one segment, here a word for its circled letter
SELECT test_text_document(E'\U0001F1E9\U0001F1EA\u200d\u24C2'),
	test_text_document(E'a\U0001F1E9\U0001F1EA\U0001F1E9\u200d\u24C2');

-- Unicode's own test, apart and in one text
CREATE TABLE word_break (id int, s text);
\copy word_break FROM '../../data/unicode/word_break.tsv'
SELECT count(*), sum(test_text_document(s)) > 300 AS enough FROM word_break;
SELECT test_text_document(string_agg(s, '' ORDER BY id)) > 300 AS enough FROM word_break;
SELECT test_text_document(string_agg(s, ' ' ORDER BY id)) > 300 AS enough FROM word_break;

-- long runs: words, windows that end at a full stop, within a dictionary
-- script, within one segment
SELECT test_text_document(repeat('aB', 10000)),
	test_text_document(repeat('a1_', 10000) || '漢'),
	test_text_document(repeat('é', 10000) || '.'),
	test_text_document(repeat(E'a\u200d', 10000)) AS one_segment,
	test_text_document(repeat('。', 10000)),
	test_text_document(repeat(E'\u3042。', 10000)),
	test_text_document(repeat(E'\u0301', 10000)),
	test_text_document(repeat(E'a\u0301''', 10000));

-- words that begin in one window and end in another, behind a dictionary's
SELECT test_text_document(E'\u3042' || repeat('é', 10000)),
	test_text_document(E'\u3042' || repeat('𝐀', 10000)),
	test_text_document(E'\u3042,' || repeat('a', 10000) || E'\u200d' || repeat('b', 10000));

-- folding that makes a token three times as long
SELECT test_text_document(repeat('ΰ', 100000));

-- Texts beyond a window without a safe place: only order and independence of
-- what is before them can be checked.
SELECT test_text_repeat('我们学习中文', 100000) > 200000 AS chinese,
	test_text_repeat('สวัสดีชาวโลก', 30000) > 60000 AS thai,
	test_text_repeat(E'a\u200d', 2000000) AS segment_beyond_windows,
	test_text_repeat('x', 100000000) AS one_word,
	test_text_repeat('É', 10000000) AS one_folded_word,
	test_text_repeat(' ', 100000000) AS spaces;

-- bytes that are not UTF-8: each one a replacement character
SELECT * FROM test_text_tokens('standard', '\x61ff62c328e28262f09f98c03163edA0806480');
SELECT * FROM test_text_tokens('whitespace', '\x61ff62c220e38080c2a0ff');
SELECT * FROM test_text_tokens('keyword', '\xff00fe');
SELECT * FROM test_text_tokens('standard', '\x6100620a');

-- a sink that throws, at the first token, inside of ICU's, after growth
SELECT test_text_abort('a b', 0);
SELECT test_text_abort('我们学习中文', 1);
SELECT test_text_abort(repeat('Á', 1000000) || ' b', 1);
SELECT test_text_abort(repeat(E'a\u200d', 100000) || ' b', 1);
SELECT test_text_abort('a b', 2);
SELECT test_text_random('mixed', 5, 1000) > 0 AS still_right;

-- terms: up to 512 bytes plain, then prefix and hash
SELECT kind, length(term), term = token AS same
FROM (VALUES (''::bytea), ('\x00'), (convert_to(repeat('a', 512), 'UTF8'))) v (token),
	test_text_term(token);
SELECT kind, length(term), substr(term, 1, 256) = substr(token, 1, 256) AS prefix,
	substr(term, 257) AS hash
FROM (SELECT convert_to(repeat('a', n), 'UTF8') FROM generate_series(513, 515) n) v (token),
	test_text_term(token);
SELECT count(DISTINCT term) FROM generate_series(1, 10000) n,
	test_text_term(convert_to(repeat('x', 600) || n, 'UTF8'));
