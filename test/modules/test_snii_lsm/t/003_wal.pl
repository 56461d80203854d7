# What is in the WAL: records that any server replays, of four pages at most,
# page images in batches, the record that tells standbys of page reuse; and
# what is not logged, unlogged tables and files built at wal_level minimal.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LsmTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lsm_cluster('main', streaming => 1);
$node->append_conf('postgresql.conf', "wal_consistency_checking = ''");
$node->reload;
lsm_table($node);

sub lsn { return $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()'); }

sub work
{
	$node->safe_psql('postgres', $_)
	  for 'INSERT INTO t (k, v) SELECT g % 13, val(g % 13) FROM generate_series(1, 500) g',
	  "SELECT test_lsm_flush('t_v')",
	  'INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 500) g',
	  "SELECT test_lsm_flush('t_v')",
	  'DELETE FROM t WHERE id % 3 = 0', 'VACUUM (INDEX_CLEANUP ON) t',
	  "SELECT test_lsm_merge_all('t_v')",
	  "SELECT test_lsm_recycle('t_v')", 'SELECT txid_current()',
	  "SELECT test_lsm_recycle('t_v')";
}

my ($rc) = $node->psql('postgres', 'CREATE EXTENSION pg_walinspect');
SKIP:
{
	skip 'pg_walinspect is not installed', 5 if $rc != 0;
	my $from = lsn();
	work();
	my $to = lsn();
	# a whole record lies behind the end
	$node->safe_psql('postgres', 'SELECT txid_current(); SELECT pg_switch_wal();');
	my $path = $node->safe_psql('postgres', "SELECT relfilenode FROM pg_class WHERE relname = 't_v'");
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE w AS SELECT resource_manager AS rm, record_type AS type, description,
	block_ref, (SELECT count(*) FROM regexp_matches(block_ref, 'blkref #', 'g')) AS blocks
FROM pg_get_wal_records_info('$from', '$to');
CREATE VIEW ours AS SELECT * FROM w WHERE block_ref ~ 'rel [0-9]+/[0-9]+/$path ' OR type = 'REUSE_PAGE';
SQL
	is($node->safe_psql('postgres', 'SELECT string_agg(DISTINCT rm, \',\' ORDER BY rm) FROM ours'),
		'Btree,Generic,XLOG', 'resource managers of core only');
	is($node->safe_psql('postgres', "SELECT max(blocks) <= 4 FROM ours WHERE rm = 'Generic'"),
		't', 'four pages a generic record at most');
	cmp_ok($node->safe_psql('postgres', "SELECT max(blocks) FROM ours WHERE rm = 'XLOG'"),
		'>=', 4, 'images of new pages go out in batches');
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM w WHERE type = 'REUSE_PAGE'"),
		'>=', 1, 'page reuse is announced');
	is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT type, ',') FROM ours WHERE rm = 'XLOG'"),
		'FPI', 'nothing but page images');
}
lsm_same($node, 'the index is well', strict => 1);

# --- unlogged tables --------------------------------------------------------------
my $create = <<'SQL';
CREATE UNLOGGED TABLE u (id int, v text);
CREATE INDEX u_v ON u USING snii_test (v);
INSERT INTO u SELECT g, 'u' || g % 3 || repeat('x', 500) FROM generate_series(1, 3000) g;
SQL
$node->safe_psql('postgres', $create);
$node->safe_psql('postgres', "SELECT test_lsm_flush('u_v')");
$node->stop('fast');
$node->start;
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(id) FROM u WHERE v = 'u1' || repeat('x', 500)"),
	1000, 'an unlogged table outlives a clean restart');
$node->safe_psql('postgres', "INSERT INTO u VALUES (0, 'more'); SELECT test_lsm_flush('u_v');");
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SELECT count(*) FROM u"), 0, 'and is empty after a crash');
is($node->safe_psql('postgres', "SELECT test_lsm_check('u_v')"), 0, 'so is its index');
$node->safe_psql('postgres', 'INSERT INTO u SELECT g, \'again\' || repeat(\'y\', 20000) FROM generate_series(1, 30) g');
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(id) FROM u WHERE v = 'again' || repeat('y', 20000)"),
	30, 'which takes rows again');
$node->safe_psql('postgres', "SELECT test_lsm_flush('u_v')");
is($node->safe_psql('postgres', "SELECT test_lsm_check('u_v')"), 30, 'and is well');

# --- wal_level minimal: a new file is not logged but synced --------------------------
$node->stop;
$node->append_conf('postgresql.conf', <<'CONF');
wal_level = minimal
max_wal_senders = 0
wal_skip_threshold = 0
fsync = on
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
BEGIN;
CREATE TABLE n (id int, v text);
INSERT INTO n SELECT g, 'n' || g % 3 || repeat('x', 500) FROM generate_series(1, 2000) g;
CREATE INDEX n_v ON n USING snii_test (v);
INSERT INTO n SELECT g, 'n' || g % 3 || repeat('x', 500) FROM generate_series(2001, 4000) g;
SAVEPOINT a;
INSERT INTO n SELECT g, 'n' || g % 3 || repeat('x', 20000) FROM generate_series(1, 50) g;
SELECT test_lsm_flush('n_v');
ROLLBACK TO a;
SELECT test_lsm_merge_all('n_v');
INSERT INTO n SELECT g, 'n' || g % 3 || repeat('x', 500) FROM generate_series(4001, 5000) g;
COMMIT;
INSERT INTO n SELECT g, 'n' || g % 3 || repeat('x', 500) FROM generate_series(5001, 6000) g;
SELECT test_lsm_recycle('n_v');
SQL
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(id) FROM n WHERE v = 'n1' || repeat('x', 500)"),
	2000, 'a table made at wal_level minimal is there after a crash');
is($node->safe_psql('postgres', "SELECT test_lsm_check('n_v') >= count(id) FROM n"), 't', 'and its index is well');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:/, 'no panic');
$node->stop;
done_testing();
