# The pool of workers of a server that has the library preloaded: all indexes
# of all databases are served, by never more workers than allowed.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = snii_cluster('pool', conf => <<'CONF');
shared_preload_libraries = 'snii'
snii.buffer_limit = 1MB
snii.max_workers = 2
wal_consistency_checking = ''
shared_buffers = 32MB
log_min_messages = info
CONF
my $count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'snii worker'";
my @databases = qw(postgres p1 p2);
my @tables = qw(t1 t2 t3);

# Wait until a query says so, for at most that many seconds.
sub wait_for
{
	my ($query, $want, $seconds, $dbname) = @_;
	my $end = time + $seconds;
	while (time < $end)
	{
		return 1 if $node->safe_psql($dbname || 'postgres', $query) eq $want;
		usleep(20_000);
	}
	return 0;
}

sub set
{
	$node->append_conf('postgresql.conf', $_[0]);
	$node->reload;
	# postmaster, then launcher have to see it; nothing shows that they did
	usleep(1_500_000);
}

sub insert { my ($n, $table, $text) = @_; return "INSERT INTO $table SELECT g, '$text common term' || g % 20 || ' ' || md5(g::text) || ' ' || md5((-g)::text) FROM generate_series(1, $n) g"; }

# Insert into all tables at once; the greatest number of workers seen.
sub load
{
	my ($n, $text) = @_;
	my @jobs;
	for my $dbname (@databases)
	{
		for my $table (@tables)
		{
			my $err = '';
			push @jobs, { err => \$err, run => IPC::Run::start([ 'psql', '-XAtq', '-h', $node->host, '-p', $node->port, '-d', $dbname, '-c', insert($n, $table, $text) ], '2>', \$err) };
		}
	}
	my $most = 0;
	while (grep { $_->{run}->pumpable } @jobs)
	{
		# raises when the process has just ended
		eval { $_->{run}->pump_nb } foreach @jobs;
		my $n = $node->safe_psql('postgres', $count);
		if ($n > $most)
		{
			# one that is leaving may still be shown beside its successor
			usleep(100_000);
			my $again = $node->safe_psql('postgres', $count);
			$n = $again if $again < $n;
		}
		$most = $n if $n > $most;
	}
	$_->{run}->finish foreach @jobs;
	is(join('', map { ${ $_->{err} } } @jobs), '', "$text: insertions end well");
	return $most;
}

# What helpers were busy with may be left, for the next one that seals a stretch.
my $sealed = "SELECT coalesce(max(bytes), 0) < 1024 * 1024 FROM (SELECT sum(s.bytes) bytes FROM pg_class c, snii_segments(c.oid) s WHERE relname LIKE 't%i' AND kind = 'sealed buffer' GROUP BY c.oid) x";

for my $dbname (@databases)
{
	$node->safe_psql('postgres', "CREATE DATABASE $dbname") if $dbname ne 'postgres';
	$node->safe_psql($dbname, ($dbname ne 'postgres' ? 'CREATE EXTENSION snii;' : '') . join(';', map { "CREATE TABLE $_ (id int, body text); CREATE INDEX ${_}_i ON $_ USING snii (body)" } @tables));
}
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'snii launcher'"), '1', 'there is a launcher');

my $most = load(15000, 'first');
cmp_ok($most, '>=', 1, 'workers came');
cmp_ok($most, '<=', 2, 'not more than allowed');
ok(wait_for($sealed, 't', 20, $_), "$_: each index is served") foreach @databases;
ok(wait_for($count, '0', 10), 'all workers left');

set('snii.max_workers = 1');
$most = load(12000, 'second');
is($most, 1, 'a pool of one');
ok(wait_for($sealed, 't', 30, $_), "$_: each index is served") foreach @databases;
ok(wait_for($count, '0', 10), 'it left');

# Without a worker inserters help.
set('snii.max_workers = 0');
is(load(12000, 'third'), 0, 'a pool of none');
for my $dbname (@databases)
{
	cmp_ok($node->safe_psql($dbname, "SELECT max(bytes) FROM (SELECT sum(s.bytes) bytes FROM pg_class c, snii_segments(c.oid) s WHERE relname LIKE 't%i' AND kind LIKE '%buffer' GROUP BY c.oid) x"), '<=', 3 * 1024 * 1024, "$dbname: inserters keep the buffer small");
}

# The launcher comes back.
set('snii.max_workers = 2');
my $launcher = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'snii launcher'";
my $pid = $node->safe_psql('postgres', $launcher);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok(wait_for("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'snii launcher' AND pid <> $pid", '1', 30), 'a new launcher came');
cmp_ok(load(12000, 'fourth'), '<=', 2, 'it keeps to the limit');
ok(wait_for($sealed, 't', 20, $_), "$_: each index is served") foreach @databases;

# A database that is dropped while its requests wait.
set("snii.maintenance_cost_delay = 100\nvacuum_cost_limit = 1");
cmp_ok(load(12000, 'fifth'), '<=', 2, 'a slow pool');
$node->safe_psql('postgres', "DROP DATABASE p2");
pop @databases;
set("snii.maintenance_cost_delay = 0");
cmp_ok(load(12000, 'sixth'), '<=', 2, 'the others are served');
ok(wait_for($sealed, 't', 30, $_), "$_: each index is served") foreach @databases;
ok(wait_for($count, '0', 10), 'all workers left');

for my $dbname (@databases)
{
	check_indexes($node, dbname => $dbname);
	same_answers($node, dbname => $dbname, table => $_, where => [ "body ||| 'common'", "body &&& 'first term3'" ]) foreach @tables;
}

# An index that fails is left alone for some time.
$node->safe_psql('postgres', 'CREATE TABLE bad (id int, body text); CREATE INDEX bad_i ON bad USING snii (body)');
$node->safe_psql('postgres', 'SET snii.workers = off; ' . insert(3000, 'bad', "part$_") . "; SELECT snii_flush('bad_i')") foreach 1 .. 8;
# The kind of a page of the first segment: 10 bytes into its special space.
my $owner = $node->safe_psql('postgres', "SELECT min(id) FROM snii_segments('bad_i') WHERE kind = 'segment'");
my @pages = grep { unpack('Q', substr(read_block($node, 'bad_i', $_), 8176, 8)) == $owner } 1 .. 60;
cmp_ok(scalar(@pages), '>', 5, 'pages of a segment');
corrupt_block($node, 'bad_i', $pages[-1], 8176 + 10, "\xff");
my $from = -s $node->logfile;
# Each of these wants a merge, which fails.
for my $i (1 .. 6)
{
	my ($rc, $out, $err) = $node->psql('postgres', insert(4000, 'bad', "more$i"));
	is($err, '', 'insertion into an index that cannot be merged');
}
my $errors = "ERROR: .*bad_i";
my $end = time + 10;
usleep(50_000) while time < $end && slurp_file($node->logfile, $from) !~ /$errors/;
usleep(1_500_000);
my @errors = slurp_file($node->logfile, $from) =~ /^.*$errors.*$/mg;
is(scalar(@errors), 1, 'one attempt at an index that is damaged')
  or diag(join("\n", @errors));
ok(wait_for($count, '0', 10), 'the worker left');

my $begin = time;
$node->stop('fast');
cmp_ok(time - $begin, '<', 10, 'the pool does not delay a fast stop');
my @lines = grep { !/bad_i|database "?\S+"? does not exist|terminating/ } slurp_file($node->logfile) =~ /^.*(?:ERROR|FATAL|PANIC|TRAP|WARNING):.*$/mg;
is("@lines", '', 'nothing in the log');
done_testing();
