# CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY while rows come, change
# and go: each live row is indexed exactly once. A build that was cancelled
# leaves an invalid index, which is never read and can be dropped.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('cic', conf => "snii.buffer_limit = 256\nmaintenance_work_mem = 8MB\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE c (id bigserial, n int, body text);
CREATE INDEX c_n ON c (n);
INSERT INTO c (n, body) SELECT g, 'initial row' || g || ' common' FROM generate_series(1, 20000) g;
SQL
my $dir = $node->basedir;
append_to_file("$dir/load.sql", <<'SQL');
\set n random(1, 20000)
\set m random(1, 20000)
\set k random(1, 20000)
BEGIN;
INSERT INTO c (n, body) VALUES (:n, 'inserted row' || :n || ' common ' || md5(random()::text));
UPDATE c SET body = 'updated ' || body WHERE id = (SELECT min(id) FROM c WHERE n = :m);
SAVEPOINT s;
INSERT INTO c (n, body) SELECT :n, 'never row' || :n || ' common' FROM generate_series(1, 3);
ROLLBACK TO s;
DELETE FROM c WHERE id = (SELECT min(id) FROM c WHERE n = :k);
COMMIT;
SQL

# start_load(): four writers, until stop_load().
sub start_load
{
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-T', 100, '-f', "$dir/load.sql",
		'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err);
	my $last = $node->safe_psql('postgres', 'SELECT last_value FROM c_id_seq');
	$node->poll_query_until('postgres', "SELECT last_value > $last + 20 FROM c_id_seq");
	return { run => $run, err => \$err };
}

sub stop_load
{
	my ($load, $name) = @_;
	$load->{run}->signal('TERM');
	$load->{run}->finish;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'");
	my $faults = join "\n", grep { /ERROR|aborted/ } split /\n/, ${ $load->{err} };
	is($faults, '', "$name: the writers saw no error");
	return;
}

my @where = ("body ||| 'common'", "body &&& 'updated common'", "body ||| 'inserted'", "body ||| 'never'", "body ### 'initial row777 common'");
my $load = start_load();
my $before = $node->safe_psql('postgres', "SELECT last_value FROM c_id_seq");
$node->safe_psql('postgres', 'CREATE INDEX CONCURRENTLY c_i ON c USING snii (body)');
stop_load($load, 'CREATE INDEX CONCURRENTLY');
cmp_ok($node->safe_psql('postgres', "SELECT last_value FROM c_id_seq"), '>', $before, 'rows came during the build');
is($node->safe_psql('postgres', "SELECT snii_check('c_i', true)"), '', 'every live row is indexed once');
same_answers($node, table => 'c', where => \@where, name => 'same answers after CREATE INDEX CONCURRENTLY');

$load = start_load();
for my $i (1 .. 3)
{
	$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY c_i');
	$node->safe_psql('postgres', 'VACUUM c');
}
stop_load($load, 'REINDEX CONCURRENTLY');
is($node->safe_psql('postgres', "SELECT snii_check('c_i', true)"), '', 'every live row is indexed once after REINDEX CONCURRENTLY');
same_answers($node, table => 'c', where => \@where, name => 'same answers after REINDEX CONCURRENTLY');
$node->safe_psql('postgres', 'VACUUM c');
all_dead_marked($node, 'c', 'c_i');

# A build that is cancelled in its first wait for other transactions, and one
# in its second.
sub cancelled
{
	my ($command, $phase, $name) = @_;
	my $writer = $node->background_psql('postgres');
	$writer->query_safe("BEGIN; INSERT INTO c (n, body) VALUES (1, 'holder common')");
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $command ], '>', \$out, '2>', \$err);
	ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_progress_create_index WHERE phase LIKE '$phase'"), "$name: it waits");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index");
	$run->finish;
	like($err, qr/canceling statement due to user request/, "$name: cancelled");
	$writer->query_safe('COMMIT');
	$writer->quit;
	return;
}

cancelled('CREATE INDEX CONCURRENTLY c_broken ON c USING snii (body) WITH (analyzer = keyword)', 'waiting for writers before build', 'first wait');
is($node->safe_psql('postgres', "SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'c_broken'::regclass"), 'f|f', 'first wait: neither ready nor valid');
$node->safe_psql('postgres', "INSERT INTO c (n, body) VALUES (1, 'after cancel common')");
$node->safe_psql('postgres', 'VACUUM c');
my ($rc, $out, $err) = $node->psql('postgres', "SELECT snii_check('c_broken')");
like($err, qr/index "c_broken" is not valid/, 'snii_check refuses an invalid index');
same_answers($node, table => 'c', where => \@where, name => 'the invalid index does not decide the analyzer, nor is it read');
$node->safe_psql('postgres', 'DROP INDEX c_broken');

# The second build waits for snapshots that are older than its validation.
my $old = $node->background_psql('postgres');
$old->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
my ($o, $e) = ('', '');
my $run = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'CREATE INDEX CONCURRENTLY c_broken ON c USING snii (body) WITH (analyzer = keyword)' ], '>', \$o, '2>', \$e);
ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_progress_create_index WHERE phase = 'waiting for old snapshots'"), 'second wait: it waits');
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index');
$run->finish;
$old->query_safe('COMMIT');
$old->quit;
like($e, qr/canceling statement due to user request/, 'second wait: cancelled');
is($node->safe_psql('postgres', "SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'c_broken'::regclass"), 't|f', 'second wait: ready but not valid');
$node->safe_psql('postgres', "INSERT INTO c (n, body) VALUES (1, 'after cancel common')");
$node->safe_psql('postgres', 'DELETE FROM c WHERE n < 100');
$node->safe_psql('postgres', 'VACUUM c');
same_answers($node, table => 'c', where => \@where, name => 'an invalid index that is kept up is not read either');
$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY c_broken');
is($node->safe_psql('postgres', "SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'c_broken'::regclass"), 't|t', 'REINDEX CONCURRENTLY makes it valid');
check_indexes($node);
$node->safe_psql('postgres', 'DROP INDEX CONCURRENTLY c_broken');

# A plain build that is cancelled leaves nothing; one of a failing expression neither.
($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = 20; CREATE INDEX c_none ON c USING snii ((body || md5(body) || md5(body || n)))");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'c_none'"), '0', 'a build that timed out leaves no index');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted/, 'the log is free of faults');
$node->stop;
done_testing();
