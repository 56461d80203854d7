# Workers that are killed, and workers of a standby that becomes the primary:
# with signal 9 in the middle of a merge nothing is lost, and the first VACUUM
# gives back what was taken; after a promotion maintenance goes on. What is
# shown of an index on a standby is what the primary shows. Who holds pages
# that wait to be used again is told.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = snii_cluster('faults', streaming => 1, conf => <<'CONF');
snii.buffer_limit = 256
restart_after_crash = on
max_prepared_transactions = 5
wal_receiver_status_interval = 1
CONF
my $fill = <<'SQL';
INSERT INTO w (body) SELECT 'row common term' || g % 50 || ' ' || md5(random()::text) || ' ' || md5(random()::text) FROM generate_series(1, 4000) g
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE w (id bigserial, body text);
CREATE INDEX w_i ON w USING snii (body);
CREATE UNIQUE INDEX w_id ON w USING snii (id);
SQL
my @where = ("body ||| 'common'", "body &&& 'common term7'", "body ### 'row common'", 'id BETWEEN 100 AND 900');

sub wait_for
{
	my ($server, $query, $want) = @_;
	my $end = time + 20;
	while (time < $end)
	{
		my ($rc, $out) = $server->psql('postgres', $query);
		return 1 if $rc == 0 && $out eq $want;
		usleep(50_000);
	}
	return 0;
}

# ---- signal 9 ----
my $killed = 0;
for my $round (1 .. 4)
{
	$node->safe_psql('postgres', $fill) for 1 .. 3;
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'snii%worker%' LIMIT 1");
	if ($pid ne '')
	{
		usleep(1000 * (5 + 20 * $round));
		$killed++ if kill 9, $pid;
	}
	usleep(300_000);
	ok(wait_for($node, 'SELECT 1', 1), "round $round: the server is back");
}
cmp_ok($killed, '>', 0, "a worker was killed ($killed times)");
check_indexes($node);
same_answers($node, table => 'w', where => \@where, name => 'same answers after workers were killed');
$node->safe_psql('postgres', 'VACUUM w');
$node->safe_psql('postgres', "SELECT snii_merge('w_i'), snii_merge('w_id')");
check_indexes($node);

# ---- who holds pages ----
sub holder
{
	return $node->safe_psql('postgres', "SELECT coalesce(parked_holder, '') FROM snii_stats('w_i')");
}
$node->safe_psql('postgres', "BEGIN; INSERT INTO w (body) VALUES ('prepared'); PREPARE TRANSACTION 'held'");
$node->safe_psql('postgres', $fill);
$node->safe_psql('postgres', "SELECT snii_flush('w_i')");
$node->safe_psql('postgres', "SELECT snii_merge('w_i')");
like(holder(), qr/prepared transaction|^$/, 'a prepared transaction is named, or holds nothing');
$node->safe_psql('postgres', "COMMIT PREPARED 'held'");

# ---- a standby ----
my $standby = snii_standby($node, 'second', conf => "hot_standby_feedback = on\n");
$node->safe_psql('postgres', $fill);
$node->wait_for_catchup($standby);
for my $index ('w_i', 'w_id')
{
	my $columns = 'segments, documents, dead, flushes, merges, bytes_flushed';
	is($standby->safe_psql('postgres', "SELECT $columns FROM snii_stats('$index')"),
		$node->safe_psql('postgres', "SELECT $columns FROM snii_stats('$index')"), "snii_stats of $index on a standby");
	is($standby->safe_psql('postgres', "SELECT count(*) > 0 FROM snii_segments('$index')"), 't', "snii_segments of $index on a standby");
	is($standby->safe_psql('postgres', "SELECT snii_check('$index')"), '', "snii_check of $index on a standby");
}
like(($standby->psql('postgres', "SELECT snii_flush('w_i')"))[2], qr/recovery|read-only/, 'a standby does not flush');
unlike($standby->safe_psql('postgres', 'EXPLAIN SELECT id FROM w WHERE id = 7'), qr/Index Only/, 'no index-only scan where VACUUM cannot wait');

# ---- promotion, with work under way ----
my ($out, $err) = ('', '');
append_to_file($node->basedir . '/fill.sql', $fill);
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 5, '-f', $node->basedir . '/fill.sql', '-h', $node->host, '-p', $node->port, 'postgres' ],
	'>', \$out, '2>', \$err);
usleep(1_500_000);
$node->stop('immediate');
$load->finish;
$standby->promote;
check_indexes($standby);
same_answers($standby, table => 'w', where => \@where, name => 'same answers after the promotion');
my $flushes = $standby->safe_psql('postgres', "SELECT flushes FROM snii_stats('w_i')");
$standby->safe_psql('postgres', $fill) for 1 .. 4;
ok(wait_for($standby, "SELECT flushes > $flushes FROM snii_stats('w_i')", 't'), 'workers flush on the new primary');
$standby->safe_psql('postgres', 'DELETE FROM w WHERE id % 3 = 0');
$standby->safe_psql('postgres', 'VACUUM w');
check_indexes($standby);
like($standby->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN SELECT id FROM w WHERE id = 7'), qr/Index Only/, 'index-only scans on the new primary');
same_answers($standby, table => 'w', where => \@where, name => 'same answers after work on the new primary');
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|XX00|corrupted/, 'the log is free of faults');
$standby->stop;
done_testing();
