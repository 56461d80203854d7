# A physical standby: the same answers as the primary after each step, in a
# session that stays open; right answers or a recovery conflict when the
# primary uses displaced pages again under a long snapshot of the standby;
# promotion.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LsmTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lsm_cluster('primary', streaming => 1);
lsm_table($primary);
$primary->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'b', has_streaming => 1);
$standby->append_conf('postgresql.conf', <<'CONF');
hot_standby_feedback = off
max_standby_streaming_delay = 0
wal_receiver_status_interval = 1
CONF
$standby->start;

sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
}

my $open = lsm_session($standby);
lsm_ask($open, 'SET enable_seqscan = off; SET enable_bitmapscan = off');
my $ask = 'SELECT n, (SELECT ROW(count(id), sum(id)) FROM t WHERE v = val(n) AND id IS NOT NULL) FROM generate_series(0, 12) n';

# Do something on the primary, then compare the open session of the standby
# with a sequential scan there and the primary's.
sub step
{
	my ($name, @sql) = @_;
	$primary->safe_psql('postgres', $_) for @sql;
	catch_up();
	my ($got, $err) = lsm_ask($open, $ask);
	my $truth = $primary->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; $ask");
	is($err, '', "$name: no error");
	is($got, $truth, "$name: open session");
	lsm_same($standby, "$name: new session");
}

my $fill = 'INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 400) g';
step('insert', $fill);
step('flush', "SELECT test_lsm_flush('t_v')");
step('insert again', $fill, "INSERT INTO t (k, v) VALUES (12, val(12))");
step('delete', 'DELETE FROM t WHERE id % 3 = 0');
step('vacuum', 'VACUUM (INDEX_CLEANUP ON) t');
step('insert into freed places', $fill);
step('merge', "SELECT test_lsm_flush('t_v')", "SELECT test_lsm_merge_all('t_v')");
step('recycle', 'SELECT txid_current()', "SELECT test_lsm_recycle('t_v')", $fill,
	"SELECT test_lsm_flush('t_v')");
step('reindex', 'REINDEX INDEX t_v');
step('truncate', 'TRUNCATE t', $fill);
step('an insertion that failed half way',
	"DO \$\$ BEGIN SET LOCAL test_snii_lsm.fail = 'large_handed_out'; INSERT INTO t (k, v) VALUES (11, val(11)); EXCEPTION WHEN raise_exception THEN NULL; END \$\$");
step('and work after it', $fill);

# --- between the two steps of a large insertion --------------------------------
# The standby has replayed that pages were handed out, none of them is written,
# and its file ends before them.
my $gate = lsm_session($primary);
my $writer = lsm_session($primary);
lsm_ask($gate, 'SELECT pg_advisory_lock(7207)');
lsm_ask($writer, "SET test_snii_lsm.hold = 'large_handed_out'");
$writer->{in} .= "INSERT INTO t (k, v) VALUES (11, val(11));\n\\echo written\n";
$writer->{run}->pump_nb;
$primary->poll_query_until('postgres',
	"SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  or die 'the insertion does not wait';
step('within a large insertion', 'SELECT txid_current()');
lsm_ask($gate, 'SELECT pg_advisory_unlock(7207)');
$writer->{run}->pump until $writer->{out} =~ /written/;
step('after it', 'SELECT txid_current()');
lsm_close($_) for $gate, $writer;

# --- a long snapshot on the standby ---------------------------------------------
# Displaces every page that the snapshot may read, and writes over them.
sub recycle_all
{
	my $freed = 0;
	for my $i (1 .. 3)
	{
		$primary->safe_psql('postgres', "SELECT test_lsm_flush('t_v')");
		$primary->safe_psql('postgres', "SELECT test_lsm_merge_all('t_v')");
		$freed += $primary->safe_psql('postgres', "SELECT test_lsm_recycle('t_v')");
		$primary->safe_psql('postgres', 'SELECT txid_current()');
		$freed += $primary->safe_psql('postgres', "SELECT test_lsm_recycle('t_v')");
		$primary->safe_psql('postgres', $fill);
	}
	catch_up();
	return $freed;
}

sub long_snapshot
{
	my $s = lsm_session($standby);
	my $want = $primary->safe_psql('postgres', "SELECT count(id) FROM t WHERE k = 9");
	lsm_ask($s, 'SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR SELECT 1 FROM t WHERE v = val(9)');
	my ($first, $err) = lsm_ask($s, 'FETCH 3 FROM c');
	is($first, "1\n1\n1", 'the cursor is open');
	return ($s, $want);
}

$primary->safe_psql('postgres', "$fill; SELECT test_lsm_flush('t_v');");
catch_up();
my ($s, $want) = long_snapshot();
my $freed = recycle_all();
cmp_ok($freed, '>', 100, "without feedback the primary frees $freed pages");
my ($rest, $err) = lsm_ask($s, 'FETCH ALL FROM c');
my $n = 3 + (() = $rest =~ /1/g);
like($err . ($s->{run}->pumpable ? '' : 'connection lost'), qr/conflict with recovery|connection lost/,
	"and the standby's session is cancelled, not answered wrongly ($n of $want)");
lsm_close($s);
like(slurp_file($standby->logfile), qr/terminating connection due to conflict with recovery|canceling statement due to conflict with recovery/,
	'by a recovery conflict');
lsm_same($standby, 'new sessions find everything');
lsm_close($open);

# Patience instead of feedback: replay waits for the snapshot.
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->reload;
($s, $want) = long_snapshot();
$primary->safe_psql('postgres', $_)
  for "SELECT test_lsm_flush('t_v')", "SELECT test_lsm_merge_all('t_v')",
  "SELECT test_lsm_recycle('t_v')", 'SELECT txid_current()',
  "SELECT test_lsm_recycle('t_v')", $fill, "SELECT test_lsm_flush('t_v')";
($rest, $err) = lsm_ask($s, 'FETCH ALL FROM c');
is(3 + (() = $rest =~ /1/g), $want, 'replay waits: the long snapshot gets its answer');
is($err, '', 'and no error');
lsm_close($s);
catch_up();

# Feedback: nothing is freed.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = 0");
$standby->reload;
($s, $want) = long_snapshot();
my $xmin;
for (1 .. 300)
{
	$xmin = $primary->safe_psql('postgres', 'SELECT backend_xmin FROM pg_stat_replication');
	last if $xmin ne '';
	select(undef, undef, undef, 0.1);
}
isnt($xmin, '', 'the primary knows of the snapshot');
my $parked = $primary->safe_psql('postgres', "SELECT parked_pages FROM test_lsm_info('t_v')");
recycle_all();
cmp_ok($primary->safe_psql('postgres', "SELECT parked_pages FROM test_lsm_info('t_v')"), '>', 100,
	'with feedback displaced pages stay parked');
($rest, $err) = lsm_ask($s, 'FETCH ALL FROM c');
is(3 + (() = $rest =~ /1/g), $want, 'the long snapshot gets its answer');
is($err, '', 'and no error');
lsm_ask($s, 'COMMIT');
lsm_same($standby, 'the standby is well');

# --- promotion --------------------------------------------------------------------
# with a merge that never ended, and an insertion cut in two
my ($rc) = $primary->psql('postgres', "SET test_snii_lsm.fail = 'merge_end'; SELECT test_lsm_flush('t_v'); SELECT test_lsm_merge_all('t_v');");
$gate = lsm_session($primary);
$writer = lsm_session($primary);
lsm_ask($gate, 'SELECT pg_advisory_lock(7207)');
lsm_ask($writer, "SET test_snii_lsm.hold = 'large_handed_out'");
$writer->{in} .= "INSERT INTO t (k, v) VALUES (11, val(11));\n";
$writer->{run}->pump_nb;
$primary->poll_query_until('postgres',
	"SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  or die 'the insertion does not wait';
$primary->safe_psql('postgres', 'SELECT txid_current()');
catch_up();
$primary->stop('immediate');
lsm_close($_) for $gate, $writer;
$standby->promote;
lsm_ask($s, 'SET enable_seqscan = off; SET enable_bitmapscan = off');
my ($got) = lsm_ask($s, $ask);
is($got, $standby->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; $ask"),
	'after promotion: open session');
for my $sql ($fill, "SELECT test_lsm_flush('t_v')", $fill, "SELECT test_lsm_merge_all('t_v')",
	'DELETE FROM t WHERE id % 2 = 0', 'VACUUM (INDEX_CLEANUP ON) t', $fill)
{
	my ($out, $e) = lsm_ask($s, $sql);
	is($e, '', "the promoted standby does: " . substr($sql, 0, 40));
	lsm_same($standby, 'and is well', strict => 1);
}
is($standby->safe_psql('postgres', "SELECT test_lsm_check('t_v') - count(id) FROM t"), '0',
	'as many entries as rows');
lsm_close($s);
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|inconsistent page/, 'no panic on ' . $_->name)
  for $primary, $standby;
$standby->stop;
done_testing();
