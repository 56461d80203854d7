# A long merge more than half of whose documents die meanwhile begins anew. (It
# does so again only when what is left is halved again, so not without end.) And an inserter that is killed
# with signal 9 while back-pressure lets it sleep leaves a sound index.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = snii_cluster('anew', conf => <<'CONF');
snii.buffer_limit = 1MB
snii.maintenance_cost_delay = 100
vacuum_cost_limit = 1
restart_after_crash = on
wal_consistency_checking = ''
CONF

sub sql { return $node->safe_psql('postgres', $_[0]); }
sub rows { my ($n, $text) = @_; return "SELECT g, '$text common term' || g % 20 || ' ' || md5(g::text) || ' ' || md5((-g)::text) FROM generate_series(1, $n) g"; }

sub wait_for
{
	my ($query, $want, $seconds) = @_;
	my $end = time + $seconds;
	while (time < $end)
	{
		my ($rc, $out) = $node->psql('postgres', $query);
		return 1 if $rc == 0 && $out eq $want;
		usleep(50_000);
	}
	return 0;
}

my $worker = "backend_type = 'snii worker'";
# A merge is one transaction of a worker; see storage_alloc.h for its lock.
my $merging = "FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE $worker AND locktype = 'page' AND page = -65 AND granted";

# ---- a merge that is not worth it any more ----
my $make = 'SET snii.workers = off; CREATE TABLE m (id int, body text); CREATE INDEX m_i ON m USING snii (body);';
$make .= 'INSERT INTO m ' . rows(3000, "part$_") . "; SELECT snii_flush('m_i');" for 1 .. 9;
sql($make);
sql('INSERT INTO m ' . rows(8000, 'more'));
ok(wait_for("SELECT count(*) $merging", '1', 20), 'a merge is under way');
my $began = sql("SELECT xact_start $merging");
my ($before, $bytes) = split /\|/, sql("SELECT bytes_merged, (SELECT sum(bytes) FROM snii_segments('m_i') WHERE kind = 'segment') FROM snii_stats('m_i')");
sql('DELETE FROM m WHERE id % 10 < 3');
sql('VACUUM (INDEX_CLEANUP on) m');
usleep(1_000_000);
is(sql("SELECT xact_start $merging"), $began, 'it goes on while few of its documents die');
sql('DELETE FROM m WHERE id % 10 < 7');
sql('VACUUM (INDEX_CLEANUP on) m');
# Then it is not throttled any more. Had it gone on, it would have written all
# that was alive when it began.
ok(wait_for("SELECT count(*) FROM snii_segments('m_i') WHERE kind = 'segment' AND dead > 0", '0', 30), 'a merge ends that knows of the dead');
my $written = sql("SELECT bytes_merged FROM snii_stats('m_i')") - $before;
cmp_ok($written, '<', $bytes / 2, "it began anew when most were dead: $written bytes are written of $bytes");
$node->append_conf('postgresql.conf', "snii.maintenance_cost_delay = 0\nvacuum_cost_limit = 200\n");
$node->reload;
ok(wait_for("SELECT count(*) FROM pg_stat_activity WHERE $worker", '0', 20), 'the worker left');
is(sql("SELECT snii_check('m_i', true)"), '', 'the index is well');
same_answers($node, table => 'm', where => [ "body ||| 'common'", "body &&& 'common term9'", "body ### 'part3 common'" ]);

# ---- an inserter that is killed while it sleeps ----
sql('INSERT INTO m ' . rows(12000, 'again'));
ok(wait_for("SELECT count(*) FROM pg_stat_activity WHERE $worker AND state = 'idle'", '1', 20), 'a worker lingers');
my $pid = sql("SELECT pid FROM pg_stat_activity WHERE $worker");
kill 'STOP', $pid;
my ($out, $err) = ('', '');
my $job = IPC::Run::start([ 'psql', '-XAtq', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-c',
		'SET snii.buffer_limit = 256; INSERT INTO m ' . rows(2_000_000, 'gone') ], '>', \$out, '2>', \$err);
my $sleeper = '';
my $end = time + 20;
$sleeper = sql("SELECT pid FROM pg_stat_activity WHERE query ~ 'gone' AND pid <> pg_backend_pid() AND wait_event_type = 'Extension'")
  while $sleeper eq '' && time < $end;
ok($sleeper ne '', 'an inserter sleeps');
kill 9, $sleeper if $sleeper ne '';
$job->finish;
ok(wait_for("SELECT count(*) FROM pg_stat_activity WHERE $worker OR query ~ 'gone' AND pid <> pg_backend_pid()", '0', 60), 'the server is back');
is(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'page'"), '0', 'no lock is left');
is(sql("SELECT snii_check('m_i', true)"), '', 'the index is well');
is(sql("SELECT count(*) FROM m WHERE body ||| 'gone'"), '0', 'what was under way is not seen');
sql('INSERT INTO m ' . rows(12000, 'after'));
same_answers($node, table => 'm', where => [ "body ||| 'common'", "body &&& 'common term9'", "body ||| 'after'" ]);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted/, 'the log is free of faults');
$node->stop;
done_testing();
