# Gates of the key index that count work: WAL of random insertions against a
# btree's at two spacings of checkpoints, and the number of runs that a look-up
# may have to probe while rows come.  WAL of an index is that of a load less
# that of the same load without index, flushes and merges included.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('gates', conf => <<'CONF');
wal_consistency_checking = ''
shared_buffers = 64MB
checkpoint_timeout = 1h
synchronous_commit = off
snii.buffer_limit = 1MB
snii.workers = off
CONF

my $keys = 200_000;		# that are there before

# Bytes of WAL for each of $rows random keys, with a checkpoint every $every;
# $index is CREATE INDEX's access method, or '' for none.
sub wal_per_row
{
	my ($index, $rows, $every) = @_;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS w;
CREATE TABLE w (id uuid) WITH (autovacuum_enabled = off);
INSERT INTO w SELECT md5(i::text)::uuid FROM generate_series(1, $keys) i;
SQL
	$node->safe_psql('postgres', "CREATE UNIQUE INDEX w_id ON w USING $index (id)") if $index;
	my $sql = "CHECKPOINT;\nSELECT pg_current_wal_insert_lsn() AS before \\gset\n";
	for (my $at = 0; $at < $rows; $at += $every)
	{
		my ($from, $to) = ($keys + $at + 1, $keys + $at + $every);
		$sql .= "INSERT INTO w SELECT md5(i::text)::uuid FROM generate_series($from, $to) i;\nCHECKPOINT;\n";
	}
	$sql .= "SELECT snii_flush('w_id');\n" if $index eq 'snii';
	$sql .= "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'before') / $rows;\n";
	my $out = $node->safe_psql('postgres', $sql);
	return (split /\n/, $out)[-1];
}

for my $gate ([ 40_000, 4_000, 0.2 ], [ 40_000, 40_000, 1.0 ])
{
	my ($rows, $every, $limit) = @$gate;
	my $table = wal_per_row('', $rows, $every);
	my $btree = wal_per_row('btree', $rows, $every) - $table;
	my $snii = wal_per_row('snii', $rows, $every) - $table;
	note sprintf 'a checkpoint every %d rows: %.0f bytes a row, btree %.0f', $every, $snii, $btree;
	cmp_ok($snii, '>', 20, "a checkpoint every $every rows: there is WAL");
	cmp_ok($snii / $btree, '<=', $limit, "and at most $limit of a btree's");
}

# --- runs ---------------------------------------------------------------------

$node->append_conf('postgresql.conf', "snii.buffer_limit = 256\nsnii.workers = on\nsession_preload_libraries = snii\n");
$node->restart;
$node->safe_psql('postgres', 'CREATE TABLE r (id uuid); CREATE UNIQUE INDEX r_id ON r USING snii (id)');
my $most = 0;
my $flushes = 0;
for my $i (0 .. 119)
{
	my ($from, $to) = ($i * 1500 + 1, ($i + 1) * 1500);
	my $runs = $node->safe_psql('postgres', "INSERT INTO r SELECT md5(i::text)::uuid FROM generate_series($from, $to) i; SELECT segments FROM snii_stats('r_id')");
	$most = $runs if $runs > $most;
}
$flushes = $node->safe_psql('postgres', "SELECT flushes FROM snii_stats('r_id')");
note "$flushes flushes, at most $most runs";
cmp_ok($flushes, '>', 20, 'many runs were made');
cmp_ok($most, '<=', 12, 'a look-up never has more than 12 runs to probe');
check_indexes($node);
$node->stop;
done_testing();
