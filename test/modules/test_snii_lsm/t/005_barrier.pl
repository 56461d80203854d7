# The pin barrier: scans with snapshots that are not MVCC, stopped between index
# and heap while VACUUM removes what they found and its place is wanted by
# others. VACUUM waits for those that began before it, can be cancelled, and
# waits for no idle cursor. Of the test kind, and of snii if it is installed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LsmTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lsm_cluster('main', streaming => 1);
my @kinds = ('snii_test');
if ($node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'snii'") eq '1')
{
	$node->safe_psql('postgres', 'CREATE EXTENSION snii');
	push @kinds, 'snii';
}
$node->backup('copy');

my $gate = lsm_session($node);
sub lock_gate { lsm_ask($gate, "SELECT pg_advisory_lock($_[0])"); }
sub unlock_gate { lsm_ask($gate, "SELECT pg_advisory_unlock($_[0])"); }

# Start a statement in a session and do not wait for it.
sub begin_statement
{
	my ($s, $sql) = @_;
	$s->{out} = $s->{err} = '';
	$s->{mark} = 'end-' . ++$s->{n};
	$s->{in} .= "$sql\n;\\echo $s->{mark}\n";
	$s->{run}->pump_nb;
}

sub end_statement
{
	my ($s) = @_;
	$s->{run}->pump until $s->{out} =~ /^\Q$s->{mark}\E$/m || !$s->{run}->pumpable;
	eval { $s->{run}->pump_nb; };
	(my $out = $s->{out}) =~ s/^\Q$s->{mark}\E\n//m;
	chomp $out;
	return ($out, $s->{err});
}

# A session is where it is said to be, waiting.
sub waits
{
	my ($s, $type, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$s->{run}->pump_nb;
	ok($node->poll_query_until('postgres',
		"SELECT wait_event_type = '$type' FROM pg_stat_activity WHERE pid = $s->{pid}"), $name);
}

# snii first: the functions of the test module, which are of the same names and
# for small pages, would else be called by it.
sub session
{
	my $s = lsm_session($node);
	lsm_ask($s, "LOAD 'snii'") if $_[0] eq 'snii';
	($s->{pid}) = lsm_ask($s, 'SELECT pg_backend_pid()');
	return $s;
}

sub make_table
{
	my ($kind) = @_;
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS d');
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE d (id int, v text) WITH (autovacuum_enabled = off);
INSERT INTO d SELECT g, CASE WHEN g % 2 = 1 THEN 'doomed' ELSE 'keep' END FROM generate_series(1, 200) g;
CREATE INDEX d_v ON d USING $kind (v);
DELETE FROM d WHERE v = 'doomed';
SQL
}

my $fresh = "INSERT INTO d SELECT 1000 + g, 'fresh' FROM generate_series(1, 100) g";
for my $kind (@kinds)
{
	my ($early, $late, $vacuum, $failed) = map { session($kind) } 1 .. 4;
	lsm_ask($early, "SET test_snii_lsm.hold = 'fetched'");
	lsm_ask($late, "LOAD 'test_snii_lsm'; SET test_snii_lsm.hold_key = 7208; SET test_snii_lsm.hold = 'fetched'");

	# --- waiting for those before, and for no others ---
	for my $snapshot ('dirty', 'self', 'any')
	{
		make_table($kind);
		lock_gate(7207);
		lock_gate(7208);
		begin_statement($early, "SELECT test_lsm_unsafe('d_v', '$snapshot')");
		waits($early, 'Lock', "$kind, $snapshot: a scan has got its first row from the index");
		begin_statement($vacuum, 'VACUUM (INDEX_CLEANUP ON) d');
		waits($vacuum, 'BufferPin', 'VACUUM waits for it');
		begin_statement($late, "SELECT test_lsm_unsafe('d_v', '$snapshot')");
		waits($late, 'Lock', 'another scan begins meanwhile');
		$node->safe_psql('postgres', $fresh);
		$node->safe_psql('postgres', "DELETE FROM d WHERE v = 'fresh'");
		my ($out, $err);
		is($node->safe_psql('postgres', "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $vacuum->{pid}"),
			'BufferPin', 'VACUUM waits still');
		unlock_gate(7207);
		($out, $err) = end_statement($early);
		is("$out$err", 'keep 100', 'the first scan gets what it found');
		($out, $err) = end_statement($vacuum);
		is("$out$err", '', 'then VACUUM ends, with the other scan still on its way');
		$node->safe_psql('postgres', $fresh);
		is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM d WHERE v = 'fresh' AND ctid < '(1,0)'"),
			't', 'places are used again');
		unlock_gate(7208);
		($out, $err) = end_statement($late);
		is("$out$err", 'keep 100', 'of which that scan sees nothing');
	}

	# --- cancelled ---
	make_table($kind);
	lock_gate(7207);
	begin_statement($early, "SELECT test_lsm_unsafe('d_v', 'dirty')");
	waits($early, 'Lock', "$kind: a scan is on its way");
	for my $round (1 .. 2)
	{
		begin_statement($vacuum, 'VACUUM (INDEX_CLEANUP ON) d');
		waits($vacuum, 'BufferPin', "VACUUM $round waits for it");
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($vacuum->{pid})");
		my ($out, $err) = end_statement($vacuum);
		like($err, qr/canceling statement/, 'and can be cancelled');
	}
	# all marks are set now, and nothing else is done
	$node->safe_psql('postgres', $fresh);
	begin_statement($vacuum, "SET statement_timeout = '200ms'; VACUUM (INDEX_CLEANUP ON) d; RESET statement_timeout");
	my ($out, $err) = end_statement($vacuum);
	like($err, qr/statement timeout/, 'the third one may not pass it either');
	begin_statement($vacuum, 'VACUUM (INDEX_CLEANUP ON) d');
	waits($vacuum, 'BufferPin', 'nor the fourth');
	unlock_gate(7207);
	($out, $err) = end_statement($early);
	is("$out$err", 'keep 100', 'the scan gets what it found');
	($out, $err) = end_statement($vacuum);
	is("$out$err", '', 'then VACUUM ends');

	# --- a scan that fails lets go ---
	make_table($kind);
	lsm_ask($failed, "LOAD 'test_snii_lsm'; SET test_snii_lsm.fail = 'fetched'; BEGIN; SAVEPOINT s");
	($out, $err) = lsm_ask($failed, "SELECT test_lsm_unsafe('d_v', 'dirty')");
	like($err, qr/failure wanted/, "$kind: a scan fails");
	begin_statement($vacuum, "SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON) d; RESET statement_timeout");
	($out, $err) = end_statement($vacuum);
	is("$out$err", '', 'VACUUM does not wait for it');
	($out, $err) = lsm_ask($failed, "ROLLBACK TO s; SELECT count(*) FROM d WHERE v = 'keep'; ROLLBACK");
	is("$out$err", '100', 'whose session goes on');
	lsm_close($_) for $early, $late, $vacuum, $failed;
	is($node->safe_psql('postgres', $kind eq 'snii' ? "SELECT snii_check('d_v', true)" : "SELECT test_lsm_check('d_v') - count(*) FROM d"),
		$kind eq 'snii' ? '' : '0', "$kind: the index is well");
}

# --- cursors that are left idle ---
make_table('snii_test');
my $settings = "LOAD 'test_snii_lsm'; SET test_snii_lsm.barrier = on; SET enable_seqscan = off; SET enable_bitmapscan = off";
my ($cursor, $vacuum) = (session(''), session(''));
lsm_ask($cursor, "$settings; BEGIN; DECLARE c CURSOR FOR SELECT id FROM d WHERE v = 'keep'");
my ($out, $err) = lsm_ask($cursor, 'FETCH 3 FROM c');
is("$out$err", "2\n4\n6", 'a cursor is left idle');
begin_statement($vacuum, "SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON) d; RESET statement_timeout");
($out, $err) = end_statement($vacuum);
is("$out$err", '', 'VACUUM does not wait for it');
$node->safe_psql('postgres', $fresh);
($out, $err) = lsm_ask($cursor, 'MOVE 90 IN c; FETCH 20 FROM c; COMMIT');
is("$out$err", join("\n", map { 2 * $_ } 94 .. 100), 'and it goes on');

# in a loop of PL/pgSQL, which fetches some rows at a time
make_table('snii_test');
lock_gate(7207);
begin_statement($cursor, <<'SQL');
DO $$
DECLARE i int; n int := 0;
BEGIN
	FOR i IN SELECT id FROM d WHERE v = 'keep' LOOP
		IF n = 0 THEN
			PERFORM pg_advisory_lock(7207), pg_advisory_unlock(7207);
		END IF;
		n := n + 1;
	END LOOP;
	RAISE NOTICE '% rows', n;
END $$
SQL
waits($cursor, 'Lock', 'a loop is at its first row');
begin_statement($vacuum, "SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON) d; RESET statement_timeout");
($out, $err) = end_statement($vacuum);
is("$out$err", '', 'VACUUM does not wait for it');
unlock_gate(7207);
($out, $err) = end_statement($cursor);
like($err, qr/NOTICE:  100 rows/, 'and it finds all rows');

# subtransactions that fail, with the cursor in and outside of them
make_table('snii_test');
($out, $err) = lsm_ask($cursor, <<'SQL');
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM d WHERE v = 'keep';
FETCH 1 FROM c;
SAVEPOINT a;
FETCH 1 FROM c;
DECLARE e CURSOR FOR SELECT id FROM d WHERE v = 'keep';
FETCH 1 FROM e;
ROLLBACK TO a;
SELECT count(*) FROM d WHERE v = 'keep';
COMMIT;
SELECT count(*) FROM d WHERE v = 'keep';
SQL
is("$out$err", "2\n4\n2\n100\n100", 'cursors and subtransactions');
begin_statement($vacuum, "SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON) d; RESET statement_timeout");
($out, $err) = end_statement($vacuum);
is("$out$err", '', 'leave no pin behind');

# --- not in recovery ---
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
($out, $err) = ($standby->psql('postgres', "SELECT test_lsm_unsafe('d_v', 'dirty')"))[1, 2];
like($err, qr/cannot be scanned in this way during recovery/, 'not in recovery');
$standby->stop;
lsm_close($_) for $gate, $cursor, $vacuum;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|refcount leak|resource leak|not owned/, 'no panic, no leak');
$node->stop;
done_testing();
