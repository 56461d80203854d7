# Cancellation at random moments of insertions, flushes, merges and VACUUM:
# the index stays well, goes on, and loses no page. First by a timeout, also
# within a subtransaction, then by cancelling and terminating background
# workers.
#
#	SNII_SEED=n		another seed
#	SNII_ROUNDS=n	more rounds

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seed = $ENV{SNII_SEED} || 1861;
my $rounds = $ENV{SNII_ROUNDS} || 50;
note "seed $seed";
srand($seed);

my $node = snii_cluster('cancel', conf => <<'CONF');
snii.workers = off
snii.buffer_limit = 256
wal_consistency_checking = ''
shared_preload_libraries = 'snii'
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE c (id bigserial, n int, body text) WITH (autovacuum_enabled = off);
CREATE INDEX c_i ON c USING snii (body);
CREATE UNIQUE INDEX c_id ON c USING snii (id);
INSERT INTO c (n, body) SELECT g, 'common start w' || g % 50 || ' ' || md5(g::text) FROM generate_series(1, 6000) g;
ANALYZE c;
SQL

# all but the first 6000 rows go again in each round
my $many = 6001;
sub insertion
{
	my ($rows, $words) = @_;
	$many += $rows;
	return "INSERT INTO c (n, body) SELECT g, 'common row w' || g % 50 || ' ' || (SELECT string_agg(md5((g * 1000 + h)::text), ' ') FROM generate_series(1, $words) h) FROM generate_series($many, $many + $rows - 1) g";
}
# Statements, each from what the ones before left.
my @work = (
	[ insertion => sub { insertion(500, 10) } ],
	[ flush => sub { "SELECT snii_flush('c_i')" } ],
	[ helping => sub { insertion(150, 60) } ],
	[ large => sub { insertion(1, 2500) } ],
	[ huge => sub { insertion(1, 14000) } ],
	[ merge => sub { "SELECT snii_merge('c_i')" } ],
	[ deletion => sub { 'DELETE FROM c WHERE n > 6000' } ],
	[ VACUUM => sub { 'VACUUM (INDEX_CLEANUP on) c' } ],
	[ subtransaction => sub { <<'SQL' } ],
DO $$ BEGIN
	BEGIN
		PERFORM snii_flush('c_i');
		PERFORM snii_merge('c_i');
	EXCEPTION WHEN query_canceled THEN
		PERFORM snii_flush('c_i');
		PERFORM snii_merge('c_i');
		RAISE NOTICE 'was cancelled and goes on';
	END;
END $$
SQL
	[ recycling => sub { 'VACUUM (INDEX_CLEANUP on) c' } ],
);

# How long each takes that is not cancelled.
my %takes;
sub measure
{
	for my $step (@work)
	{
		my ($name, $sql) = ($step->[0], $step->[1]->());
		my ($ms) = $node->safe_psql('postgres', "\\timing on\n$sql;") =~ /Time: ([0-9.]+) ms/;
		$takes{$name} = $ms if !exists $takes{$name} || $ms < $takes{$name};
	}
	return;
}
measure() for 1 .. 2;
note "$_ takes $takes{$_} ms" for map { $_->[0] } @work;

# Do everything, and tell how many pages are in use, and in the file.
sub settle
{
	$node->safe_psql('postgres', $_) for 'DELETE FROM c WHERE n > 6000', "SELECT snii_flush('c_i')",
	  'VACUUM (INDEX_CLEANUP on) c', "SELECT snii_merge('c_i')", 'SELECT txid_current()', 'VACUUM c', 'SELECT txid_current()', 'VACUUM c';
	return split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT file_pages, free_pages, parked_pages, (SELECT sum(pages) FROM snii_segments('c_i')) FROM snii_stats_of('c_i')
SQL
}
my @first = settle();
note "pages: file $first[0], free $first[1], parked $first[2], of segments $first[3]";

my @where = ("body ||| 'common'", "body &&& 'common w7'", "body ### 'row w11'", "body @@@ 'common NOT w3'", "body ||| 'start'");
my (%cancelled, %finished);
my @faults;
my @middle;
for my $round (1 .. $rounds)
{
	my $script = "\\set ON_ERROR_STOP 0\n";
	my @names;
	for my $step (@work)
	{
		# most of them while it is at work, some by another millisecond
		my $ms = int(1 + rand($step->[0] eq 'deletion' ? 500 : $round % 3 == 0 ? 50 : 1.3 * $takes{ $step->[0] }));
		$script .= "SET statement_timeout = $ms;\n\\echo begin $step->[0]\n" . $step->[1]->() . ";\n\\echo state $step->[0] :SQLSTATE\n";
	}
	my ($rc, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	while ($out =~ /^state (\w+) (\w+)$/mg)
	{
		if ($2 eq '57014') { $cancelled{$1}++; }
		elsif ($2 eq '00000') { $finished{$1}++; }
		else { push @faults, "round $round: $1 fails with $2: $err"; }
	}
	$cancelled{subtransaction}++ while $err =~ /was cancelled and goes on/g;
	($rc, $out, $err) = $node->psql('postgres', "SELECT snii_check('c_i', true)");
	push @faults, "round $round: snii_check: $err" if $rc != 0;
	push @faults, map { "round $round: $_" } different_answers($node, table => 'c', where => \@where, plan => 0) if $round % 5 == 0;
	@middle = settle() if $round == 10;
	last if @faults > 5;
}
is(join("\n", @faults), '', "$rounds rounds of cancelled work leave the index well");
note "$_: " . ($cancelled{$_} || 0) . ' cancelled, ' . ($finished{$_} || 0) . ' not' for map { $_->[0] } @work;
cmp_ok($cancelled{$_} || 0, '>', 0, "cancelled: $_") for grep { !/deletion|recycling/ } map { $_->[0] } @work;
my @last = settle();
note "pages: file $last[0], free $last[1], parked $last[2], of segments $last[3]";
cmp_ok($last[0], '<=', 1.3 * $middle[0] + 64, 'the file has not grown since the tenth round');
cmp_ok($last[0] - $last[1] - $last[3], '<=', 32, 'no page is neither free nor in use');
same_answers($node, table => 'c', where => \@where);

# ----- workers that are cancelled and terminated --------------------------------

$node->append_conf('postgresql.conf', "snii.workers = on\nsnii.maintenance_cost_delay = 0\n");
$node->restart;
append_to_file($node->basedir . '/load.sql', <<'SQL');
\set n random(1, 1000000)
INSERT INTO c (n, body) SELECT :n, 'common row w' || :n % 50 || ' ' || (SELECT string_agg(md5((:n + g * 100 + h)::text), ' ') FROM generate_series(1, 20) h) FROM generate_series(1, 10) g;
DELETE FROM c WHERE id IN (SELECT id FROM c ORDER BY id LIMIT 10);
SQL
my ($o, $e) = ('', '');
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-T', 60, '-f', $node->basedir . '/load.sql', '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$o, '2>', \$e);
my $seconds = $rounds > 50 ? 60 : 6;
my $signals = $node->safe_psql('postgres', <<"SQL");
CREATE TABLE signals (terminates boolean);
DO \$\$
DECLARE
	terminates boolean;
	until timestamptz = clock_timestamp() + interval '$seconds s';
BEGIN
	WHILE clock_timestamp() < until LOOP
		PERFORM pg_stat_clear_snapshot();
		-- one that was cancelled leaves the index alone for a minute
		terminates = clock_timestamp() < until - interval '1 s';
		INSERT INTO signals SELECT terminates FROM pg_stat_activity
		WHERE CASE WHEN backend_type <> 'snii worker' OR state <> 'active' THEN false
			WHEN terminates THEN pg_terminate_backend(pid)
			ELSE pg_cancel_backend(pid) END;
		PERFORM pg_sleep(random() * 0.02);
	END LOOP;
END \$\$;
SELECT count(*) FILTER (WHERE NOT terminates), count(*) FILTER (WHERE terminates) FROM signals;
SQL
my %signals;
@signals{qw(cancel terminate)} = split /\|/, $signals;
$load->signal('TERM');
$load->finish;
note "workers cancelled $signals{cancel} times, terminated $signals{terminate} times";
cmp_ok($signals{cancel}, '>', 0, 'workers were cancelled');
cmp_ok($signals{terminate}, '>', 3, 'workers were terminated');
my $errors = join "\n", grep { /ERROR|aborted|FATAL/ } split /\n/, $e;
is($errors, '', 'the writers saw no error');
check_indexes($node, name => 'the index is well');
$node->restart;
$node->safe_psql('postgres', insertion(100, 200));
ok($node->poll_query_until('postgres', "SELECT buffer_sealed_bytes = 0 AND merge_debt = 0 FROM snii_stats_of('c_i')"),
	'workers come again and do what was left');
same_answers($node, table => 'c', where => \@where);
check_indexes($node, name => 'and all rows are indexed');
is($node->safe_psql('postgres', "SELECT snii_check('c_i', true)"), '', 'exactly once');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|XX00|corrupted|terminated by signal/, 'the log is free of faults');
$node->stop;
done_testing();
