# Many sessions insert, update and delete the same few keys while the write
# buffer is flushed, runs are merged and VACUUM makes TIDs free: whatever
# happens, no key is there twice, every look-up finds the row that a sequential
# scan finds, and no session sees an error but those that are meant.
#
#	SNII_SECONDS=n	how long

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seconds = $ENV{SNII_SECONDS} || 10;
my $node = snii_cluster('unique', conf => <<'CONF');
snii.buffer_limit = 256
session_preload_libraries = snii
shared_buffers = 16MB
max_prepared_transactions = 10
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE u (id int, alt text, n int DEFAULT 0);
CREATE UNIQUE INDEX u_id ON u USING snii (id);
CREATE UNIQUE INDEX u_alt ON u USING snii (alt text_key_ops DESC) INCLUDE (n);
CREATE TABLE log (id int, what text);
-- an insertion that may fail, a look-up that must not
CREATE FUNCTION put(k int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO u VALUES (k, 'a' || k);
EXCEPTION WHEN unique_violation THEN NULL;
END $$;
SQL
my $dir = $node->basedir;
append_to_file("$dir/put.sql", "\\set k random(1, 400)\nSELECT put(:k);\n");
append_to_file("$dir/nothing.sql", "\\set k random(1, 400)\nINSERT INTO u VALUES (:k, 'a' || :k) ON CONFLICT DO NOTHING;\n");
# (the second index is no arbiter: two sessions could meet on it)
append_to_file("$dir/update.sql", <<'SQL');
\set k random(1, 400)
INSERT INTO u VALUES (:k, NULL) ON CONFLICT (id) DO UPDATE SET n = u.n + 1;
SQL
append_to_file("$dir/delete.sql", "\\set k random(1, 400)\nDELETE FROM u WHERE id = :k;\n");
append_to_file("$dir/rollback.sql", "\\set k random(1, 400)\nBEGIN;\nSELECT put(:k);\nSELECT put(:k + 1);\nROLLBACK;\n");
append_to_file("$dir/many.sql", "\\set k random(1, 100000)\nINSERT INTO u SELECT 1000 + (:k * 7 + g * 13) % 100000, NULL FROM generate_series(1, 50) g ON CONFLICT DO NOTHING;\n");
append_to_file("$dir/maintain.sql", <<'SQL');
SELECT snii_flush('u_id');
SELECT snii_merge('u_alt');
VACUUM u;
SELECT snii_flush('u_alt');
SELECT snii_merge('u_id');
SQL
append_to_file("$dir/look.sql", <<'SQL');
\set k random(1, 400)
SELECT 1 / (CASE WHEN count(*) <= 1 THEN 1 ELSE 0 END) FROM u WHERE id = :k;
SELECT 1 / (CASE WHEN count(*) <= 1 THEN 1 ELSE 0 END) FROM u WHERE alt = 'a' || :k;
SQL
my @jobs;
for my $job ([ 'put', 1 ], [ 'nothing', 1 ], [ 'update', 2 ], [ 'delete', 2 ], [ 'rollback', 1 ], [ 'many', 1 ], [ 'maintain', 1 ], [ 'look', 1 ])
{
	my ($name, $clients) = @$job;
	my $j = { name => $name, out => '', err => '' };
	$j->{handle} = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-T', $seconds, '-f', "$dir/$name.sql",
		'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$j->{out}, '2>', \$j->{err});
	push @jobs, $j;
}
for my $j (@jobs)
{
	$j->{handle}->finish;
	my $errors = join "\n", grep { /ERROR|abort|FATAL/ && !/deadlock detected/ } split /\n/, $j->{err};
	is($errors, '', "$j->{name}: no error");
}
is($node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) - count(DISTINCT id) FROM u'), 0, 'no key is there twice');
is($node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(alt) - count(DISTINCT alt) FROM u'), 0, 'no key of the second index either');
check_indexes($node);
is($node->safe_psql('postgres', <<'SQL'), '', 'each row is found by its key');
SET enable_seqscan = off;
SELECT a.id FROM u a WHERE NOT EXISTS (SELECT 1 FROM u b WHERE b.id = a.id AND b.ctid = a.ctid OFFSET 0);
SQL
cmp_ok($node->safe_psql('postgres', "SELECT flushes + merges FROM snii_stats('u_id')"), '>', 3, 'runs were made and merged');

# prepared transactions count as under way
$node->safe_psql('postgres', "DELETE FROM u WHERE id = 1; BEGIN; INSERT INTO u VALUES (1, 'p'); PREPARE TRANSACTION 'p1'");
my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '300ms'; INSERT INTO u VALUES (1, 'q')");
like($err, qr/statement timeout/, 'an insertion waits for a prepared transaction, and can be cancelled');
$node->safe_psql('postgres', "COMMIT PREPARED 'p1'");
($rc, $out, $err) = $node->psql('postgres', "INSERT INTO u VALUES (1, 'q')");
like($err, qr/duplicate key value violates unique constraint "u_id"/, 'and fails when that is committed');

# A session that has not loaded the library when it plans cannot know.
SKIP:
{
	skip 'core asks the access method', 1 if $node->pg_version >= 18;
	($rc, $out, $err) = $node->psql('postgres', "INSERT INTO u VALUES (1, 'q') ON CONFLICT DO NOTHING", extra_params => [],
		connstr => $node->connstr('postgres') . " options='-c session_preload_libraries='");
	like($err, qr/unexpected non-btree speculative unique index.*session_preload_libraries/s, 'the hint says what to do');
}
# the index is made while rows come
($rc, $out, $err) = $node->psql('postgres', 'REINDEX INDEX CONCURRENTLY u_id');
is($err, '', 'REINDEX CONCURRENTLY');
check_indexes($node);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted/, 'the log is free of faults');
$node->stop;
done_testing();
