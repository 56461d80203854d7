# Without preloading, there are never more workers at work in all databases than
# snii.max_workers says, also after one is killed; indexes that get none stay
# small by the work of their inserters, and those that are busy take turns.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = snii_cluster('bound', conf => <<'CONF');
snii.buffer_limit = 256
snii.max_workers = 1
max_worker_processes = 8
restart_after_crash = on
wal_consistency_checking = ''
CONF
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION snii');
my @tables = ([ 'postgres', 'a' ], [ 'postgres', 'b' ], [ 'other', 'c' ], [ 'other', 'd' ]);
$node->safe_psql($_->[0], "CREATE TABLE $_->[1] (id int, body text); CREATE INDEX $_->[1]_i ON $_->[1] USING snii (body)") for @tables;

# Those at work: who has just started may find no place, and goes.
my $working = "SELECT count(DISTINCT pid), string_agg(DISTINCT query, ' ') FROM pg_stat_activity WHERE backend_type = 'snii worker' AND state = 'active'";
my $places = "SELECT count(*), coalesce(max(database), 0) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_am'::regclass AND objid = 0 AND mode = 'ExclusiveLock' AND granted";

sub load
{
	my ($seconds) = @_;
	return map {
		my ($dbname, $table) = @$_;
		my ($out, $err) = ('', '');
		my $sql = "INSERT INTO $table SELECT g, 'common term' || g % 20 || ' ' || md5(g::text) || ' ' || md5((-g)::text) FROM generate_series(1, 500) g";
		append_to_file($node->basedir . "/$table.sql", "$sql;\n") if !-e $node->basedir . "/$table.sql";
		+{ run => IPC::Run::start([ 'pgbench', '-n', '-c', 1, '-T', $seconds, '-f', $node->basedir . "/$table.sql", '-h', $node->host, '-p', $node->port, $dbname ],
			'>', \$out, '2>', \$err), err => \$err };
	} @tables;
}

# Run the load, and look at the workers meanwhile.
sub watch
{
	my ($seconds) = @_;
	my ($most, $seen, $taken) = (0, 0, 0);
	my %served;
	my @jobs = load($seconds);
	while (grep { $_->{run}->pumpable } @jobs)
	{
		eval { $_->{run}->pump_nb } foreach @jobs;
		my ($n) = split /\|/, $node->safe_psql('postgres', $working);
		my ($p) = split /\|/, $node->safe_psql('postgres', $places);
		$most = $n if $n > $most;
		$taken = $p if $p > $taken;
		$served{$_} = 1 for split /\n/, $node->safe_psql('postgres', "SELECT relation FROM pg_locks WHERE locktype = 'page' AND page = -5 AND mode = 'ExclusiveLock'");
		usleep(10_000);
	}
	$_->{run}->finish for @jobs;
	return ($most, $taken, scalar keys %served);
}

my ($most, $taken, $served) = watch(10);
is($taken, 1, 'one place is taken, no more');
cmp_ok($most, '<=', 1, 'no two workers are at work');
cmp_ok($served, '>', 1, "$served indexes had a worker");
for my $t (@tables)
{
	my ($bytes, $segments) = split /\|/, $node->safe_psql($t->[0],
		"SELECT coalesce(sum(bytes) FILTER (WHERE kind = 'sealed buffer'), 0), count(*) FROM snii_segments('$t->[1]_i')");
	cmp_ok($bytes, '<=', 4 * 1024 * 1024, "$t->[1]: a small buffer");
	cmp_ok($segments, '<=', 64, "$t->[1]: few segments");
}

# A place is free again after its owner was killed.
my @jobs = load(3);
my $pid = '';
my $end = time + 20;
$pid = $node->safe_psql('postgres', "SELECT min(pid) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_am'::regclass AND objid = 0 AND mode = 'ExclusiveLock'") while $pid eq '' && time < $end;
ok($pid ne '', 'a worker is at work');
kill 9, $pid if $pid ne '';
$_->{run}->finish for @jobs;
my $up = 0;
for (1 .. 200) { $up = $node->psql('postgres', 'SELECT 1') == 0 and last; usleep(100_000); }
usleep(300_000);
ok($node->poll_query_until('postgres', 'SELECT true'), 'the server is back');
is($node->safe_psql('postgres', "SELECT count(*) FROM ($places) x WHERE x.count > 0"), '0', 'no place is taken');
($most, $taken) = watch(2);
is($taken, 1, 'one is taken again');

# None at all.
$node->append_conf('postgresql.conf', "snii.max_workers = 0\n");
$node->restart;
($most, $taken) = watch(1);
is("$most $taken", '0 0', 'no worker where none may be');
for my $t (@tables)
{
	is($node->safe_psql($t->[0], "SELECT snii_check('$t->[1]_i', true)"), '', "snii_check of $t->[1]_i");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted/, 'the log is free of faults');
$node->stop;
done_testing();
