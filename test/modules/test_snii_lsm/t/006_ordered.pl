# Ordered stretches of the write buffer: keys that ascend, descend, are random,
# equal, or long; splits and rotation beside flush, merge, VACUUM and a standby
# that reads; errors and crashes between the steps. At the end every row has
# exactly one entry, and each value leads to its rows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use LsmTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $primary = lsm_cluster('primary', streaming => 1, conf => <<'CONF');
shared_buffers = 4MB
restart_after_crash = on
log_checkpoints = off
wal_keep_size = 2GB
CONF
$primary->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE s;
CREATE TABLE o (id int DEFAULT nextval('s'), v text);
ALTER TABLE o ALTER v SET STORAGE EXTERNAL;
CREATE INDEX o_v ON o USING snii_test_ordered (v);
-- ascending, descending, random, equal and long values
CREATE FUNCTION val(id int, way text) RETURNS text IMMUTABLE LANGUAGE sql RETURN
	CASE way WHEN 'up' THEN 'a' || lpad(id::text, 10, '0')
		WHEN 'down' THEN 'd' || lpad((10000000 - id)::text, 10, '0')
		WHEN 'random' THEN 'r' || md5(id::text)
		WHEN 'equal' THEN 'same' || id % 2
		WHEN 'long' THEN 'l' || md5(id::text) || repeat('x', id * 7919 % 2600) END;
CREATE FUNCTION fill(way text, n int) RETURNS void LANGUAGE sql AS
	$$ INSERT INTO o SELECT g, val(g, way) FROM (SELECT nextval('s')::int AS g FROM generate_series(1, n)) x $$;
SQL
$primary->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'b', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nhot_standby_feedback = off\n");
$standby->start;

# The index against the table: values of a sample, those of NULL and of many rows
# among them, and with strict the number of entries, each TID being there once.
sub faults
{
	my ($node, %opt) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', <<'SQL');
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT v, n, got FROM (SELECT v, count(*) AS n FROM o WHERE v IN (SELECT v FROM (
	(SELECT v FROM o ORDER BY md5(v) LIMIT 60) UNION (SELECT v FROM o ORDER BY id DESC LIMIT 20)
	UNION (SELECT v FROM o ORDER BY v LIMIT 3) UNION (SELECT v FROM o ORDER BY v DESC LIMIT 3)) y)
	GROUP BY v) x,
	LATERAL (SELECT count(id) AS got FROM o WHERE o.v = x.v OFFSET 0) z WHERE n <> got;
SQL
	return "psql: $err" if $rc != 0 || $err ne '';
	my @faults = $out eq '' ? () : ($out);
	my $strict = $opt{strict} ? 'true' : 'false';
	my $compare = $opt{exact} ? '=' : '>=';
	($rc, $out, $err) = $node->psql('postgres', "SELECT test_lsm_check('o_v', $strict) $compare count(id) FROM o");
	push @faults, "check: $out $err" if $rc != 0 || $out ne 't';
	return @faults;
}

sub well
{
	my ($node, $name, %opt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", faults($node, %opt)), '', $name);
}

# --- one session ---------------------------------------------------------------
for my $way ('up', 'down', 'random', 'equal', 'long')
{
	my $n = $way eq 'long' ? 300 : 6000;
	$primary->safe_psql('postgres', "SELECT fill('$way', $n)");
	well($primary, "$n values, $way", strict => 1, exact => 1);
}
my $stretches = $primary->safe_psql('postgres', "SELECT count(*) FROM test_lsm_entries('o_v') WHERE kind = 'stretch'");
cmp_ok($stretches, '>', 4, "there are $stretches stretches");
$primary->safe_psql('postgres', "INSERT INTO o VALUES (nextval('s'), NULL), (nextval('s'), '')");
$primary->safe_psql('postgres', 'DELETE FROM o WHERE id % 3 = 0');
$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) o');
well($primary, 'after VACUUM', strict => 1, exact => 1);
# records that are dead on leaves that are split, and rewritten
$primary->safe_psql('postgres', "SELECT fill('random', 200)");
$primary->safe_psql('postgres', "DELETE FROM o WHERE id > (SELECT max(id) - 150 FROM o)");
$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) o');
$primary->safe_psql('postgres', "SELECT fill('random', 2000), fill('up', 500)");
well($primary, 'splits of leaves with dead records', strict => 1, exact => 1);
$primary->safe_psql('postgres', $_) for "SELECT test_lsm_flush('o_v')", "SELECT test_lsm_merge_all('o_v')",
	"SELECT fill('equal', 100)";
well($primary, 'after a merge', strict => 1, exact => 1);
my ($rc, $out, $err) = $primary->psql('postgres', "INSERT INTO o VALUES (1, repeat('x', 3000))");
like($err, qr/value has more than/, 'a value that is too long is refused');

# WAL of one insertion into a leaf: 17 bytes of body.
$primary->safe_psql('postgres', "CREATE TABLE w (v text); CREATE INDEX w_v ON w USING snii_test_ordered (v); INSERT INTO w SELECT lpad(g::text, 16, '0') FROM generate_series(1, 50) g; CHECKPOINT; INSERT INTO w VALUES (lpad('1', 16, '0'))");
my $lsn = $primary->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn()");
$primary->safe_psql('postgres', "SET wal_consistency_checking = ''; INSERT INTO w VALUES (lpad('7', 16, '0'))");
my $to = $primary->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn()");
my ($dump, $complaint) = run_command([ 'pg_waldump', '-p', $primary->data_dir . '/pg_wal', '-s', $lsn, '-e', $to, '-r', 'Generic' ]);
my ($bytes) = $dump =~ m{len \(rec/tot\):\s*(\d+)/\s*\1,};
cmp_ok($bytes // 999, '<=', 90, 'an insertion writes ' . ($bytes // '?') . ' bytes of WAL');

# --- errors and crashes between the steps --------------------------------------
sub starts
{
	my $log = slurp_file($primary->logfile);
	return scalar(() = $log =~ /database system is ready to accept connections/g);
}

sub wait_up
{
	my ($before) = @_;
	for (1 .. 600)
	{
		return if starts() > $before;
		sleep 0.1;
	}
	die 'the server does not come back';
}

for my $point ('stretch_begun', 'fence_made', 'leaf_added', 'ordered_sealed')
{
	$primary->safe_psql('postgres', "SELECT test_lsm_flush('o_v')");
	($rc, $out, $err) = $primary->psql('postgres', "SET test_snii_lsm.fail = '$point'; SELECT fill('random', 3000)");
	like($err, qr/failure wanted at $point/, "an insertion fails at $point");
	$primary->safe_psql('postgres', "SELECT fill('random', 50)");
	$primary->safe_psql('postgres', "SELECT test_lsm_flush('o_v')") if $point eq 'fence_made';
	my $starts = starts();
	($rc) = $primary->psql('postgres', "SET test_snii_lsm.crash = '$point'; SELECT fill('random', 3000)");
	isnt($rc, 0, "and one is killed there") if $point !~ /^stretch|^fence/;
	wait_up($starts) if $rc != 0;
	$primary->safe_psql('postgres', "SELECT fill('random', 50)");
	well($primary, "after $point", strict => 1);
}
$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) o');
well($primary, 'after VACUUM of what failed', strict => 1, exact => 1);

# --- everybody at once ----------------------------------------------------------
my $dir = PostgreSQL::Test::Utils::tempdir();
my %script = (
	up => [ 6, "SELECT fill('up', 20);" ], down => [ 2, "SELECT fill('down', 20);" ],
	random => [ 6, "SELECT fill('random', 20);" ], equal => [ 4, "SELECT fill('equal', 10);" ],
	long => [ 1, "SELECT fill('long', 5);" ],
	abort => [ 1, "BEGIN;\nSELECT fill('random', 10);\nROLLBACK;" ],
	delete => [ 3, "\\set a random(0, 12)\nDELETE FROM o WHERE ctid IN (SELECT ctid FROM o WHERE id % 13 = :a AND id > 100 LIMIT 60 FOR UPDATE SKIP LOCKED);" ],
	flush => [ 1, "SELECT test_lsm_flush('o_v', true, false);" ],
	merge => [ 1, "SELECT test_lsm_merge('o_v');" ],
	recycle => [ 1, "SELECT test_lsm_recycle('o_v');" ],
	vacuum => [ 2, "VACUUM (INDEX_CLEANUP ON) o;" ],
	check => [ 1, "SELECT test_lsm_check('o_v', false);" ]);
my @files;
for my $name (sort keys %script)
{
	append_to_file("$dir/$name.sql", "$script{$name}[1]\n");
	push @files, '-f', "$dir/$name.sql\@$script{$name}[0]";
}

# Rows that stay: a session of the standby finds each exactly once, always.
my $stable = "SELECT sum(n), count(*) FROM (SELECT (SELECT count(id) FROM o WHERE o.v = k.v) AS n FROM keep k OFFSET 0) x";
$primary->safe_psql('postgres', "CREATE TABLE keep AS SELECT v FROM o WHERE v ~ '^[ard]' AND id <= 100");
my $want = $primary->safe_psql('postgres', 'SELECT count(*), count(*) FROM keep');
for my $round (1 .. 2)
{
	local $ENV{PGAPPNAME} = 'load';
	local $ENV{PGOPTIONS} = '-c test_snii_lsm.buffer_limit_kb=' . (64, 400)[ $round - 1 ];
	my ($load_out, $load_err) = ('', '');
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '6', '-j', '1', '-T', $round == 1 ? '2' : '60', @files, $primary->connstr('postgres') ],
		'<', \undef, '>', \$load_out, '2>', \$load_err);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	my ($looks, $wrong) = (0, 0);
	my $end = time + 1.5;
	while (time < $end)
	{
		my ($r, $got, $e) = $standby->psql('postgres', "SET enable_seqscan = off; SET enable_bitmapscan = off; $stable");
		$looks++;
		$wrong++, diag("standby: $got $e") if $got ne $want;
	}
	is($wrong, 0, "round $round: the standby finds what stays, $looks times");
	if ($round == 2)
	{
		my $starts = starts();
		my $pid = $primary->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'load' AND pid <> pg_backend_pid() LIMIT 1");
		kill('KILL', $pid) if $pid =~ /^\d+$/;
		$load->finish;
		wait_up($starts);
	}
	$load->finish;
	my @errors = grep { /ERROR:/ && !/deadlock/ } split /\n/, $load_err;
	is("@errors", '', "round $round: no statement failed");
	well($primary, "round $round", strict => 1);
	$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) o');
	well($primary, "round $round, after VACUUM", strict => 1, exact => 1);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	well($standby, "round $round, the standby");
}
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|inconsistent page/, 'no panic on ' . $_->name)
  for $primary, $standby;
$standby->stop;
$primary->stop;
done_testing();
