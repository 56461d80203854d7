# VACUUM beside flushes, merges and frees, with heap places used again at
# once: each reader must find each row exactly once, at any moment.
#
# Inserters delete as many rows as they insert, so that each snapshot has the
# same number of rows; readers ask for the number by index, and raise an error
# when it differs.
#
#	SNII_RACE_SECONDS=n	a longer race

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seconds = $ENV{SNII_RACE_SECONDS} || 15;
my $node = snii_cluster('race', conf => <<'CONF');
snii.buffer_limit = 256
max_connections = 40
shared_buffers = 16MB
CONF
my $rows = 2000;

$node->safe_psql('postgres', <<"SQL");
CREATE TABLE r (id bigint, n int, body text) WITH (fillfactor = 70);
CREATE INDEX r_i ON r USING snii (body);
CREATE UNIQUE INDEX r_id ON r USING snii (id);
CREATE SEQUENCE ids;
INSERT INTO r SELECT nextval('ids'), g, 'constant filler' || g || ' ' || md5(g::text) || ' term' || g % 50 FROM generate_series(1, $rows) g;
-- One statement, one snapshot: count what the index finds.
CREATE FUNCTION expect(want bigint, cond text) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	got bigint;
	different bigint;
BEGIN
	EXECUTE 'SELECT count(*), count(DISTINCT id) FROM r WHERE ' || cond INTO got, different;
	IF got <> want OR different <> want THEN
		RAISE EXCEPTION 'got % rows, % different ones, instead of % for %', got, different, want, cond;
	END IF;
END \$\$;
SQL

my $dir = $node->basedir;
append_to_file("$dir/change.sql", <<"SQL");
\\set n random(1, $rows)
BEGIN;
SELECT coalesce((SELECT id FROM r WHERE n = :n FOR UPDATE SKIP LOCKED LIMIT 1), 0) AS old \\gset
\\if :old > 0
DELETE FROM r WHERE id = :old;
INSERT INTO r SELECT nextval('ids'), :n, 'constant filler' || :n || ' ' || md5((:old)::text) || ' ' || md5((:old + 1)::text) || ' term' || :n % 50;
\\endif
COMMIT;
SQL
append_to_file("$dir/change_many.sql", <<"SQL");
\\set n random(1, 40)
BEGIN;
WITH gone AS (DELETE FROM r WHERE n % 41 = :n RETURNING n)
INSERT INTO r SELECT nextval('ids'), n, 'constant filler' || n || ' ' || md5(random()::text) || ' ' || md5(random()::text) || ' term' || n % 50 FROM gone;
COMMIT;
SQL
append_to_file("$dir/abort.sql", <<"SQL");
BEGIN;
INSERT INTO r SELECT nextval('ids'), -1, 'constant term1 ' || md5(random()::text) FROM generate_series(1, 50);
ROLLBACK;
SQL
append_to_file("$dir/read.sql", <<"SQL");
SET enable_seqscan = off;
\\set t random(0, 49)
SELECT expect($rows, \$\$body ||| 'constant'\$\$);
SELECT expect($rows / 50, \$\$body &&& 'constant term:t'\$\$);
SET enable_bitmapscan = off;
SELECT expect($rows, \$\$body @@@ 'constant NOT nothing'\$\$);
SELECT expect($rows - $rows / 50, \$\$body @@@ 'constant NOT term7'\$\$);
SQL
append_to_file("$dir/vacuum.sql", "VACUUM (INDEX_CLEANUP on) r;\n\\sleep 20 ms\n");
append_to_file("$dir/merge.sql", "SELECT snii_flush('r_i');\n\\sleep 30 ms\nSELECT snii_merge('r_i');\n\\sleep 50 ms\n");
append_to_file("$dir/check.sql", "SELECT snii_check('r_i', true);\n\\sleep 700 ms\n");

my @jobs;
for my $job ([ 'change', 3 ], [ 'change_many', 1 ], [ 'abort', 1 ], [ 'read', 2 ], [ 'vacuum', 1 ], [ 'merge', 1 ], [ 'check', 1 ])
{
	my ($name, $clients) = @$job;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'pgbench', '-n', '--max-tries=1', '-c', $clients, '-T', $seconds, '-f', "$dir/$name.sql",
		'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err);
	push @jobs, { name => $name, run => $run, out => \$out, err => \$err };
}
for my $job (@jobs)
{
	$job->{run}->finish;
	my $err = ${ $job->{err} };
	# Two inserters that delete the same rows may block each other.
	my $faults = join "\n", grep { /ERROR|aborted|FATAL|PANIC|server closed/ } split /\n/, $err;
	is($faults, '', "$job->{name}: without an error");
	my ($count) = ${ $job->{out} } =~ /number of transactions actually processed: (\d+)/;
	cmp_ok($count // 0, '>', 0, "$job->{name}: something was done");
	note "$job->{name}: " . ($count // 0) . ' transactions';
}
note $node->safe_psql('postgres', "SELECT * FROM snii_segments('r_i')");
check_indexes($node);
is($node->safe_psql('postgres', "SELECT snii_check('r_i', true)"), '', 'every row is indexed');
my @where = ("body ||| 'constant'", map { "body &&& 'constant term$_'" } (0, 7, 49));
same_answers($node, table => 'r', where => \@where);
$node->safe_psql('postgres', 'VACUUM r');
all_dead_marked($node, 'r', 'r_i');

# A worker that is told to go while it waits for work leaves no lock behind,
# which would keep others from coming.
sub workers { return "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'snii worker'" . ($_[0] // ''); }
$node->safe_psql('postgres', "INSERT INTO r SELECT nextval('ids'), -2, 'work ' || md5(g::text) || md5((-g)::text) || md5((2 * g)::text) FROM generate_series(1, 12000) g");
SKIP:
{
	skip 'workers are off', 2 if $node->safe_psql('postgres', "LOAD 'snii'; SHOW snii.workers") eq 'off';
	ok($node->poll_query_until('postgres', workers(" AND state = 'idle'"), '1'), 'a worker came, and is idle');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'snii worker'");
	$node->poll_query_until('postgres', workers(), '0');
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'page'"), '0', 'it left no lock behind');
}
$node->safe_psql('postgres', 'DELETE FROM r WHERE n = -2');
crash($node);
check_indexes($node, name => 'snii_check after a crash');
same_answers($node, table => 'r', where => \@where, name => 'same answers after a crash');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|XX00|corrupted|deadlock/, 'the log is free of faults');
$node->stop;
done_testing();
