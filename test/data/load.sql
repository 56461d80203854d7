-- load.sql: make and fill the tables of the samples. Run it by psql in the
-- project's folder; needs zstd.
CREATE TABLE kjv_verses (id bigint PRIMARY KEY, book text, chapter int, verse int, body text);
\copy kjv_verses FROM PROGRAM 'zstd -dc test/data/kjv_verses.tsv.zst'
CREATE TABLE dictionary (id bigint PRIMARY KEY, dict text, headword text, body text);
\copy dictionary FROM PROGRAM 'zstd -dc test/data/dictionary.tsv.zst'
CREATE TABLE windows_events (id bigint PRIMARY KEY, ts timestamptz, host text, source text, event_id int, recording text, message text);
\copy windows_events FROM PROGRAM 'zstd -dc --long=27 test/data/windows_events.tsv.zst'
CREATE TABLE udhr (id bigint PRIMARY KEY, lang text, para int, body text);
\copy udhr FROM PROGRAM 'zstd -dc test/data/udhr.tsv.zst'
