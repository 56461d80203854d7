-- other server encodings: offsets are those of the original, nothing raises
CREATE DATABASE snii_latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE snii_win1252 TEMPLATE template0 ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE snii_euc_jp TEMPLATE template0 ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE snii_euc_jis TEMPLATE template0 ENCODING 'EUC_JIS_2004' LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE snii_sql_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C';

\c snii_latin1
SET client_min_messages = warning;
CREATE EXTENSION test_snii_text;
-- "Tür À la µ-Straße" and the tokens in UTF-8
SELECT * FROM test_text_tokens('standard', '\x54fc7220c0206c6120b52d53747261df65');
SELECT * FROM test_text_tokens('whitespace', '\xc0a0e92062');
SELECT * FROM test_text_tokens('keyword', '\xc0a0e92062');
-- a run without a space is cut at a million bytes, before punctuation
SELECT count(*), min(length(token)), max(length(token)), min(start_offset), max(end_offset)
FROM test_text_tokens('standard', decode(repeat('e9', 3000000), 'hex'));
SELECT count(*), min(length(token)), max(length(token)), max(end_offset)
FROM test_text_tokens('standard', decode(repeat('e9e97be9e9', 600000), 'hex'));
SELECT count(*), min(length(token)), max(end_offset)
FROM test_text_tokens('standard', decode(repeat('e961e920', 100000), 'hex'));
SELECT length(token) FROM test_text_tokens('keyword', decode(repeat('e9', 200000), 'hex'));
-- all bytes
SELECT count(*), max(end_offset) FROM test_text_tokens('standard',
	(SELECT decode(string_agg(lpad(to_hex(b), 2, '0'), '' ORDER BY b), 'hex') FROM generate_series(1, 255) b));

-- shown in the database encoding: it has no Greek mu, Han, replacement
SELECT encode(convert_to(test_text_shown(token), 'LATIN1'), 'hex') FROM (VALUES
	('\xc3a9cebc'::bytea), ('\xe6bca261'), ('\xefbfbd'), ('\x61'), ('\x')) v (token);
SELECT length(test_text_shown(decode(repeat('c3a9', 100000), 'hex')));

\c snii_win1252
SET client_min_messages = warning;
CREATE EXTENSION test_snii_text;
-- curly quotes; 81 and 8d mean nothing
SELECT * FROM test_text_tokens('standard', '\x93446f6e9274948161e9208d62');

\c snii_euc_jp
SET client_min_messages = warning;
CREATE EXTENSION test_snii_text;
-- hiragana "a i", kanji, truncated and invalid bytes
SELECT * FROM test_text_tokens('standard', '\x41a4a2a4a420c5ecb5fe2062ff20c520b5');
SELECT * FROM test_text_tokens('keyword', '\xc5ecb5feff');
-- many distinct characters, more than the cache holds, and back
SELECT count(*), max(end_offset) FROM test_text_tokens('keyword',
	(SELECT decode(string_agg(to_hex(a * 256 + b), ''), 'hex')
	FROM generate_series(176, 207) a, generate_series(161, 254) b, generate_series(1, 2) c));
SELECT count(*) FROM generate_series(176, 206) a, generate_series(161, 254) b,
	LATERAL (SELECT decode(to_hex(a * 256 + b), 'hex') AS c) x,
	test_text_tokens('keyword', c)
WHERE convert_to(test_text_shown(token), 'EUC_JP') = c;

\c snii_euc_jis
SET client_min_messages = warning;
CREATE EXTENSION test_snii_text;
-- one character that is two code points in Unicode
SELECT * FROM test_text_tokens('keyword', '\x61a4f762');
SELECT * FROM test_text_tokens('whitespace', '\x61a4f72062');

\c snii_sql_ascii
SET client_min_messages = warning;
CREATE EXTENSION test_snii_text;
SELECT * FROM test_text_tokens('standard', '\x41c3a9ff42e92043');
SELECT * FROM test_text_tokens('whitespace', '\x41c3a9ff42e92043c2a044');
SELECT * FROM test_text_tokens('keyword', '\x41c3a9ff42e92043');
SELECT test_text_shown('\x41ff') = chr(65) || chr(255) AS unchanged;

\c template1
DROP DATABASE snii_latin1;
DROP DATABASE snii_win1252;
DROP DATABASE snii_euc_jp;
DROP DATABASE snii_euc_jis;
DROP DATABASE snii_sql_ascii;
