-- needs a database in UTF-8
\encoding UTF8
-- what the analyzers make of a text
SELECT * FROM snii_analyze('standard', 'The quick brown fox, it''s 3.5 km away.');
SELECT * FROM snii_analyze('whitespace', E'The quick\tbrown\u00a0fox,\u3000it''s\n3.5 km away.');
SELECT * FROM snii_analyze('keyword', 'The quick brown fox.');

-- nothing to find
SELECT * FROM snii_analyze('standard', '');
SELECT * FROM snii_analyze('standard', E' \t\n.,;!? _ \u2026\u201c\u201d');
SELECT * FROM snii_analyze('whitespace', '');
SELECT * FROM snii_analyze('whitespace', E' \t\r\n\u2003');
SELECT * FROM snii_analyze('keyword', '');
SELECT * FROM snii_analyze('standard', NULL);

-- unknown names
SELECT * FROM snii_analyze('english', 'text');
SELECT * FROM snii_analyze('Standard', 'text');
SELECT * FROM snii_analyze('', 'text');

-- what joins words and what parts them
SELECT token, start_offset, end_offset FROM snii_analyze('standard',
	$$can't e-mail user@example.com http://example.com/a_b?c=d 1,000.5 1.a a.1 $$ ||
	$$__init__ _ 'quoted' x'y' a:b C++ #tag 12:30 192.168.0.1 -1 50%$$);

\pset format unaligned
-- separators: the same on every release of ICU
SELECT string_agg(token || ' ' || start_offset, ' | ' ORDER BY position) AS tokens
FROM snii_analyze('standard', $$a@b.c @ x@ @y error:foo a:b:c 1:2 _:_ é:é é@é é:1 a.:b a:.b a'@'b @@a::b$$);
SELECT string_agg(token || ' ' || start_offset, ' | ' ORDER BY position) AS tokens
FROM snii_analyze('standard', E'a\uFF1Ab a\uFE55b a\uFE13b 1\uFE101 1\uFE141 a\uFF20b a\uFE6Bb ' ||
	E'漢:字 漢字@example 東京：大阪 ไทย:ไทย a:\u0301b a@\u0301b あ:\u0301い a:\u200D\u24C2 カ：\u0301カ a¸b¸');
\pset format aligned

-- the same with the punctuation of typographers
SELECT token, start_offset, end_offset FROM snii_analyze('standard',
	E'\u201cDon\u2019t\u201d \u2014 he said\u2026 1\u2013\u00a02 \u2018so\u2019');

-- scripts: case folding, marks, no spaces
CREATE TEMP TABLE script (id int, name text, body text);
INSERT INTO script VALUES
	(1, 'German', 'Die Straße in ÄHRENFELD, GROẞ'),
	(2, 'French', 'L''œuvre d’un Élève'),
	(3, 'decomposed', E'E\u0301le\u0300ve'),
	(4, 'Turkish', 'DİYARBAKIR ısı'),
	(5, 'Greek', 'ΟΔΟΣ οδός ΣΟΦΙΑΣ'),
	(6, 'Russian', 'Ёлка и ЩУКА'),
	(7, 'Arabic', 'السَّلامُ عليكم ١٢٫٥'),
	(8, 'Hebrew', 'צה״ל צה"ל ג''ירפה שלום'''),
	(9, 'Hindi', 'नमस्ते दुनिया क्‍ष'),
	(10, 'Thai', 'สวัสดีชาวโลก'),
	(11, 'Chinese', '我们在北京，学习中文。'),
	(12, 'Japanese', '東京タワーに行きました'),
	(13, 'Korean', '안녕하세요 세계'),
	(14, 'mixed', 'PostgreSQL数据库15版'),
	(15, 'emoji', 'ok 👍🏽 👨‍👩‍👧 🇩🇪 1️⃣ go'),
	(16, 'wide', 'Ｆｕｌｌ　ｗｉｄｔｈ、１２'),
	(17, 'ligature', 'ﬃ ŉ ǰ');
\pset format unaligned
SELECT name, string_agg(token, ' | ' ORDER BY position) AS tokens
FROM script, snii_analyze('standard', body)
GROUP BY id, name ORDER BY id;
\pset format aligned

-- offsets are bytes of the original, positions are consecutive
SELECT count(*) AS tokens, bool_and(position = number - 1) AS consecutive,
	bool_and(convert_from(substr(convert_to(body, 'UTF8'), start_offset::int + 1,
		(end_offset - start_offset)::int), 'UTF8') = token) AS same
FROM script, snii_analyze('whitespace', body)
	WITH ORDINALITY AS a (token, position, start_offset, end_offset, number);
SELECT bool_and(end_offset <= octet_length(body) AND start_offset < end_offset)
FROM script, snii_analyze('standard', body);

-- long tokens are neither cut nor refused, and depend on nothing around them
SELECT position, length(token), token = repeat('ab', 50000) AS same
FROM snii_analyze('standard', 'x ' || repeat('aB', 50000) || ' y');
SELECT length(token) FROM snii_analyze('keyword', repeat('x', 1000000));
SELECT length(token) FROM snii_analyze('whitespace', repeat('é!', 100000));
SELECT count(*), max(end_offset) FROM snii_analyze('standard', repeat('é!', 100000));
SELECT length(token), octet_length(token)
FROM snii_analyze('standard', repeat('ΰ', 20000));

-- text without spaces: linear, and the same wherever it stands
SELECT count(*), max(end_offset) FROM snii_analyze('standard', repeat('我们学习中文。', 20000));
SELECT count(*) > 20000 AS many, max(end_offset)
FROM snii_analyze('standard', repeat('我们学习中文', 20000));

-- how it may be used
SELECT provolatile, proparallel, proisstrict, proleakproof
FROM pg_proc WHERE proname = 'snii_analyze';
