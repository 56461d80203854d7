# One session stays open on a physical standby while the primary inserts,
# flushes, merges, deletes, vacuums and re-uses pages, and while the standby
# is promoted. Its answers are those of the primary after each step.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $primary = snii_cluster('primary', streaming => 1, conf => "snii.buffer_limit = 256\nwal_receiver_status_interval = 1\n");

$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE docs (id int, body text);
CREATE INDEX docs_i ON docs USING snii (body);
CREATE INDEX docs_k ON docs USING snii (id DESC);
INSERT INTO docs SELECT g, 'start ' || g % 10 || ' number' || g FROM generate_series(1, 2000) g;
CREATE UNLOGGED TABLE none (id int, body text);
CREATE INDEX none_i ON none USING snii (body);
SQL
my $standby = snii_standby($primary, 'standby',
	conf => "hot_standby_feedback = off\nmax_standby_streaming_delay = 500ms\n");

my @where = ("body ||| 'start'", "body &&& 'start 7'", "body ### 'start 7'", "body ||| 'second third'",
	"body @@@ 'start NOT 7'", "body ||| 'number17 number1500 number2500'", "body ||| 'large'",
	"body ### 'tok39999 tok40000'", 'body IS NULL', 'id BETWEEN 20 AND 700', 'id = ANY (ARRAY[7, 1700, 2500, -1])');
my $query = join '', map { "SELECT count(*) || ' ' || coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '') FROM docs WHERE $_;\n" } @where;
my $by_index = "SET enable_seqscan = off;\n";
my $by_seq = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;';

my $session = $standby->background_psql('postgres');
$session->query_safe($by_index);

# same(WHEN): one test.
sub same
{
	my ($when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	my $want = $primary->safe_psql('postgres', "$by_seq\n$query");
	my $got = $session->query_safe($query);
	my $other = $standby->safe_psql('postgres', "$by_index SET enable_bitmapscan = off; $query");
	my ($rc, $out, $err) = $standby->psql('postgres', "SELECT snii_check('docs_i', true)");
	ok($got eq $want && $other eq $want && $rc == 0, "same answers $when");
	diag("primary:\n$want\nsession:\n$got\nnew session:\n$other\ncheck: $err") unless $got eq $want && $other eq $want && $rc == 0;
	return;
}

like($standby->safe_psql('postgres', "$by_index EXPLAIN SELECT * FROM docs WHERE body ||| 'start'"), qr/docs_i/, 'the standby uses the index');
same('at first');
my @steps = (
	[ 'an INSERT', "INSERT INTO docs SELECT g, 'second ' || g % 10 || ' number' || g FROM generate_series(2001, 3000) g" ],
	[ 'a rolled back INSERT', "BEGIN; INSERT INTO docs SELECT g, 'start ' || g % 10 FROM generate_series(20001, 20300) g; ROLLBACK" ],
	[ 'a flush', "SELECT snii_flush('docs_i')" ],
	[ 'NULLs', 'INSERT INTO docs SELECT g, NULL FROM generate_series(3001, 3100) g' ],
	[ 'a large document', "INSERT INTO docs SELECT 4000, 'large ' || string_agg('tok' || g, ' ' ORDER BY g) FROM generate_series(1, 41000) g" ],
	[ 'a merge', "SELECT snii_merge('docs_i')" ],
	[ 'a DELETE', 'DELETE FROM docs WHERE id % 3 = 0' ],
	[ 'VACUUM', 'VACUUM docs' ],
	[ 'an INSERT into the places of old rows', "INSERT INTO docs SELECT g, 'third ' || g % 10 || ' number' || g FROM generate_series(5001, 8000) g" ],
	[ 'flush and merge, with recycling', "SELECT snii_flush('docs_i'); SELECT snii_merge('docs_i'); SELECT snii_flush('docs_i')" ],
	[ 'UPDATE', "UPDATE docs SET body = body || ' changed' WHERE id % 5 = 0" ],
	[ 'VACUUM and more recycling', 'VACUUM docs' ],
	[ 'UPDATE of everything', "UPDATE docs SET body = body || ' more'; SELECT snii_flush('docs_i')" ],
	[ 'VACUUM once more', 'VACUUM docs' ],
	[ 'REINDEX', 'REINDEX INDEX docs_i' ],
	[ 'TRUNCATE', 'TRUNCATE docs' ],
	[ 'an INSERT after that', "INSERT INTO docs SELECT g, 'start ' || g % 10 || ' number' || g FROM generate_series(1, 3000) g" ]);
for my $step (@steps)
{
	$primary->safe_psql('postgres', "$_;") for split /; (?!INSERT|ROLLBACK)/, $step->[1];
	same("after $step->[0]");
}

# What a standby refuses.
for my $function ('snii_flush', 'snii_merge')
{
	my ($rc, $out, $err) = $standby->psql('postgres', "SELECT $function('docs_i')");
	like($err, qr/recovery is in progress/, "$function is refused on a standby");
}
my ($rc, $out, $err) = $standby->psql('postgres', 'SELECT count(*) FROM none');
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'unlogged tables are out of reach');

# A snapshot that is older than what the primary frees: the right answer or a
# conflict, nothing else.
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe("$by_index SET enable_bitmapscan = off; BEGIN ISOLATION LEVEL REPEATABLE READ");
my $before = $reader->query_safe("SELECT count(*) FROM docs WHERE body ||| 'start'");
$reader->query_safe("DECLARE c CURSOR FOR SELECT id FROM docs WHERE body ||| 'start'; FETCH 2 FROM c");
$primary->safe_psql('postgres', "DELETE FROM docs WHERE id % 2 = 0");
$primary->safe_psql('postgres', 'VACUUM docs');
$primary->safe_psql('postgres', "INSERT INTO docs SELECT g, 'other ' || md5(g::text) FROM generate_series(1, 8000) g");
for (1 .. 3)
{
	$primary->safe_psql('postgres', "SELECT snii_flush('docs_i')");
	$primary->safe_psql('postgres', "SELECT snii_merge('docs_i')");
}
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $answer = eval { $reader->query("SELECT count(*) FROM docs WHERE body ||| 'start'") } // '';
my $conflict = slurp_file($standby->logfile) =~ /conflict with recovery/;
ok($answer eq $before || $conflict, 'an old snapshot gets its answer or a conflict');
diag("got '$answer' instead of '$before'") if $answer ne $before && !$conflict;
cmp_ok($standby->safe_psql('postgres', "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres'"), '>', 0, 'there was a conflict');
eval { $reader->quit };
same('after that');

# The standby restarts, and is promoted, the session staying.
$session->quit;
$standby->stop('immediate');
$standby->start;
$session = $standby->background_psql('postgres');
$session->query_safe($by_index);
same('after a restart of the standby');
$primary->safe_psql('postgres', "INSERT INTO docs SELECT g, 'second ' || g % 10 || ' number' || g FROM generate_series(9001, 9500) g");
same('before promotion');
my $want = $primary->safe_psql('postgres', "$by_seq\n$query");
$primary->stop;
$standby->promote;
is($session->query_safe($query), $want, 'same answers after promotion');
$session->query_safe("INSERT INTO docs SELECT g, 'third ' || g % 10 || ' number' || g FROM generate_series(10001, 10500) g");
is($session->query_safe("SELECT count(*) FROM docs WHERE body ||| 'third'"), '500', 'the session inserts and finds');
$session->query_safe("SELECT snii_flush('docs_i'); SELECT snii_merge('docs_i'); DELETE FROM docs WHERE id % 2 = 1;");
$session->query_safe('VACUUM docs');
same_answers($standby, table => 'docs', key => 'id', where => \@where, name => 'same answers by index and sequential scan after all', plan => 0);
check_indexes($standby, name => 'snii_check after promotion');
is($session->query_safe("INSERT INTO none VALUES (1, 'unlogged'); SELECT count(*) FROM none WHERE body ||| 'unlogged'"), '1', 'the unlogged index is empty and works after promotion');
$session->quit;
for my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page/, $node->name . ': the log is free of faults');
}
$standby->stop;
done_testing();
