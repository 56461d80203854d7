# Background workers and back-pressure, without preloading: workers come and
# go, stand in nobody's way, and where there are none inserters do the work.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = snii_cluster('workers', conf => <<'CONF');
snii.buffer_limit = 1MB
wal_consistency_checking = ''
shared_buffers = 32MB
# Of sessions: must not make a worker fail.
statement_timeout = 60s
lock_timeout = 10ms
default_transaction_isolation = serializable
default_transaction_deferrable = on
idle_in_transaction_session_timeout = 100ms
CONF
my $worker = "backend_type = 'snii worker'";
my $count = "SELECT count(*) FROM pg_stat_activity WHERE $worker";
# Page locks that a merge, and a worker, hold: see storage_alloc.h.
my $merging = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE $worker AND locktype = 'page' AND page = -65 AND granted";

# These are for the sessions of this test.
$ENV{PGOPTIONS} = '-c statement_timeout=0 -c lock_timeout=0 -c default_transaction_isolation=read\\ committed -c default_transaction_deferrable=off -c idle_in_transaction_session_timeout=0';

sub sql { return $node->safe_psql($_[1] || 'postgres', $_[0]); }

sub start
{
	my ($sql, $dbname) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start(
		[ 'psql', '-XAtq', '-h', $node->host, '-p', $node->port, '-d', $dbname || 'postgres', '-c', $sql ],
		'>', \$out, '2>', \$err);
	return { run => $run, out => \$out, err => \$err };
}

sub finish
{
	my ($job) = @_;
	$job->{run}->finish;
	return ${ $job->{err} };
}

# Wait until a query says so, for at most that many seconds.
sub wait_for
{
	my ($query, $want, $seconds) = @_;
	my $end = time + $seconds;
	while (time < $end)
	{
		return 1 if $node->safe_psql('postgres', $query) eq $want;
		usleep(20_000);
	}
	return 0;
}

sub rows { my ($n, $text) = @_; return "SELECT g, '$text common term' || g % 20 || ' ' || md5(g::text) || ' ' || md5((-g)::text) FROM generate_series(1, $n) g"; }
my @where = ("body ||| 'common'", "body &&& 'common term3'", "body ### 'first common'");

#
# Workers come, keep up, and leave
#
sql('CREATE TABLE a (id int, body text); CREATE INDEX a_i ON a USING snii (body); CREATE TABLE b (id int, body text); CREATE INDEX b_i ON b USING snii (body)');
my @jobs = map { start("INSERT INTO $_ " . rows(60000, 'first')) } qw(a a b);
my ($seen, $most, $sealed) = (0, 0, 0);
while (grep { $_->{run}->pumpable } @jobs)
{
	# raises when the process has just ended
	eval { $_->{run}->pump_nb } foreach @jobs;
	my ($n, $per_index, $bytes) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT ($count), (SELECT coalesce(max(n), 0) FROM (SELECT count(*) n FROM pg_locks l JOIN pg_stat_activity USING (pid) WHERE $worker AND locktype = 'page' AND page = -5 GROUP BY relation) x),
  (SELECT max(bytes) FROM (SELECT sum(bytes) bytes FROM snii_segments('a_i') WHERE kind = 'sealed buffer' UNION ALL SELECT sum(bytes) FROM snii_segments('b_i') WHERE kind = 'sealed buffer') x)
SQL
	$seen = $n if $n > $seen;
	$most = $per_index if $per_index > $most;
	$sealed = $bytes if ($bytes || 0) > $sealed;
}
is(join('', map { finish($_) } @jobs), '', 'insertions end well');
cmp_ok($seen, '>=', 1, 'workers came');
cmp_ok($most, '<=', 1, 'no two for one index');
cmp_ok($sealed, '<=', 5 * 1024 * 1024, "the buffer stayed small: $sealed bytes were sealed at most");
ok(wait_for($count, '0', 10), 'they left');
cmp_ok(sql("SELECT count(*) FROM snii_segments('a_i') WHERE kind = 'segment'"), '<', 16, 'segments are merged');
is(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'page'"), '0', 'no lock is left');
check_indexes($node);
same_answers($node, table => 'a', where => \@where);

# A trickle afterwards calls one again, which leaves within a moment of its end.
sql('INSERT INTO a ' . rows(6000, 'second'));
ok(wait_for($count, '1', 5), 'one came again');
my $begin = time;
ok(wait_for($count, '0', 10), 'and left');
note sprintf('after %.1f s', time - $begin);

#
# DDL during a long merge
#

# A table with many segments in a database: all that is due is one merge,
# which takes long for the throttle.
sub long_table
{
	my ($dbname, $table) = @_;
	my $make = "SET snii.workers = off; CREATE TABLE $table (id int, body text); CREATE INDEX ${table}_i ON $table USING snii (body);";
	$make .= 'INSERT INTO ' . $table . ' ' . rows(3000, "first part$_") . "; SELECT snii_flush('${table}_i');" for 1 .. 9;
	sql($make, $dbname);
}

sub throttle
{
	my ($delay) = @_;
	$node->append_conf('postgresql.conf', "snii.maintenance_cost_delay = $delay\nvacuum_cost_limit = " . ($delay ? 1 : 200));
	$node->reload;
}

sub begin_merge
{
	my ($dbname, $table) = @_;
	sql("INSERT INTO $table " . rows(8000, 'first more'), $dbname);
	ok(wait_for($merging, '1', 10), "$table: a merge is under way")
	  or diag(sql("SELECT * FROM snii_segments('${table}_i')", $dbname) . "\n" . sql("SELECT backend_type, state, wait_event, query FROM pg_stat_activity"));
}

throttle(100);
my %ddl = (
	'DROP INDEX' => 'DROP INDEX long_i',
	'DROP INDEX CONCURRENTLY' => 'DROP INDEX CONCURRENTLY long_i',
	'TRUNCATE' => 'TRUNCATE long',
	'ALTER TABLE' => 'ALTER TABLE long ALTER id TYPE bigint',
	'REINDEX' => 'REINDEX INDEX long_i',
	'REINDEX CONCURRENTLY' => 'REINDEX INDEX CONCURRENTLY long_i',
	'CREATE INDEX CONCURRENTLY' => 'CREATE INDEX CONCURRENTLY long_j ON long USING snii (body)',
	'DROP TABLE' => 'DROP TABLE long');
for my $name (sort keys %ddl)
{
	long_table('postgres', 'long');
	begin_merge('postgres', 'long');
	$begin = time;
	# No lock is waited for longer than that.
	my ($rc, $out, $err) = $node->psql('postgres', "SET lock_timeout = '1s';\n" . $ddl{$name});
	is($err, '', sprintf('%s waits for no merge (%.2f s)', $name, time - $begin));
	check_indexes($node, name => "$name: snii_check");
	is(sql("SELECT count(*) FROM long WHERE body ||| 'common'"), $name eq 'TRUNCATE' ? 0 : 35000, "$name: rows") if $name ne 'DROP TABLE';
	sql('DROP TABLE IF EXISTS long');
	ok(wait_for($count, '0', 10), "$name: the worker left");
}
for my $name ('CREATE DATABASE other TEMPLATE long', 'ALTER DATABASE long RENAME TO longer', 'DROP DATABASE longer')
{
	my ($dbname) = $name =~ /(longer)/ && $name =~ /DROP/ ? 'longer' : 'long';
	if ($name =~ /CREATE/)
	{
		$node->safe_psql('postgres', 'CREATE DATABASE long');
		$node->safe_psql('long', 'CREATE EXTENSION snii');
		long_table('long', 'long');
	}
	begin_merge($dbname, 'long');
	$begin = time;
	my $job = start($name);
	ok(wait_for($count, '0', 5), sprintf('%s: the worker left after %.2f s', $name, time - $begin));
	cmp_ok(time - $begin, '<', 2, 'at once');
	is(finish($job), '', $name);
}
is($node->safe_psql('other', "SELECT count(*) FROM long WHERE body ||| 'common'"), '35000', 'the copy is whole');

# The merge is done once nobody is in the way.
long_table('postgres', 'long');
begin_merge('postgres', 'long');

# Nor does what is displaced meanwhile wait for its end: the file would grow.
my $in = sql("SELECT bytes_in FROM snii_stats('long_i')");
my $flushed = 0;
for (1 .. 16)
{
	# Not faster than that, or the merge is urgent.
	sql('INSERT INTO long ' . rows(4000, "first within$_"));
	$flushed += wait_for("SELECT buffer_sealed_bytes < 256 * 1024 FROM snii_stats('long_i')", 't', 10);
}
is($flushed, 16, 'the buffer is flushed within a merge');
my ($pages, $parked) = split /\|/, sql("SELECT (bytes_in - $in) / 8192, parked_pages FROM snii_stats('long_i')");
is(sql($merging), '1', 'which is still under way');
cmp_ok($pages, '>', 200, 'pages of the buffer that were displaced');
cmp_ok($parked, '<', $pages / 2, 'pages that are parked');
throttle(0);
ok(wait_for("SELECT merge_debt FROM snii_stats('long_i')", '0', 20), 'a merge ends');
ok(wait_for($count, '0', 10), 'the worker left');
check_indexes($node);

#
# A worker that is stopped, and sessions that end while they wait
#
sql('INSERT INTO a ' . rows(12000, 'first again'));
ok(wait_for("SELECT count(*) FROM pg_stat_activity WHERE $worker AND state = 'idle'", '1', 10), 'a worker lingers');
my $pid = sql("SELECT pid FROM pg_stat_activity WHERE $worker");
kill 'STOP', $pid;
for my $how ('pg_terminate_backend', 'pg_cancel_backend')
{
	my $job = start('SET snii.buffer_limit = 256; INSERT INTO a ' . rows(2_000_000, 'gone'));
	my $sleeps = "SELECT pid FROM pg_stat_activity WHERE query ~ 'gone' AND pid <> pg_backend_pid() AND wait_event_type = 'Extension'";
	my $sleeper = '';
	my $end = time + 20;
	$sleeper = $node->safe_psql('postgres', $sleeps) while $sleeper eq '' && time < $end;
	ok($sleeper ne '', 'an inserter is slowed down');
	$begin = time;
	$node->safe_psql('postgres', "SELECT $how($sleeper)");
	my $err = finish($job);
	like($err, qr/terminat|cancel/, "$how ends it");
	cmp_ok(time - $begin, '<', 3, 'at once');
}
cmp_ok(sql("SELECT sum(bytes) FROM snii_segments('a_i') WHERE kind = 'sealed buffer'"), '<=', 4 * 1024 * 1024, 'the buffer stays small without a worker');
kill 'CONT', $pid;
ok(wait_for($count, '0', 20), 'the worker goes on, and leaves');
is(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'page'"), '0', 'no lock is left');
check_indexes($node);
same_answers($node, table => 'a', where => [ @where, "body ||| 'gone'" ]);

#
# Without workers
#
sub bounded
{
	my ($table, $name, $settings) = @_;
	sql("CREATE TABLE $table (id int, body text); CREATE INDEX ${table}_i ON $table USING snii (body)");
	sql("$settings SET snii.buffer_limit = 256; INSERT INTO $table " . rows(60000, 'first'));
	cmp_ok(sql("SELECT count(*) FROM snii_segments('${table}_i')"), '<=', 64, "$name: few segments");
	cmp_ok(sql("SELECT sum(bytes) FROM snii_segments('${table}_i') WHERE kind LIKE '%buffer'"), '<=', 2 * 1024 * 1024, "$name: a small buffer");
	same_answers($node, table => $table, where => \@where);
}

my $log_from = -s $node->logfile;
$node->append_conf('postgresql.conf', "log_min_messages = debug1\n");
$node->reload;
bounded('w_off', 'workers = off', 'SET snii.workers = off;');
unlike(slurp_file($node->logfile, $log_from), qr/snii worker/, 'workers = off: none was started');
$node->adjust_conf('postgresql.conf', 'log_min_messages', 'warning');

throttle(100);
long_table('postgres', 'longest');
begin_merge('postgres', 'longest');
$begin = time;
$node->stop('fast');
cmp_ok(time - $begin, '<', 10, sprintf('a long merge does not delay a fast stop (%.1f s)', time - $begin));
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$node->start;
bounded('w_none', 'no process', '');
check_indexes($node);

#
# The log
#
my @bad = grep {
	!/terminating background worker "snii worker" due to administrator command/
	  && !/terminating connection due to administrator command|canceling statement due to user request/
} slurp_file($node->logfile) =~ /^.*(?:ERROR|FATAL|PANIC|TRAP|WARNING):.*$/mg;
is("@bad", '', 'nothing in the log');
$node->stop;
done_testing();
