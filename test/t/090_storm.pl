# A storm: writers with small flush limits, background workers, a loop of
# flushes and merges, a deleter, a loop of VACUUMs and one of REINDEX, and
# readers that compare the index with a sequential scan in one snapshot, all at
# once. Then every index is sound and complete, and the log has no error.
#
#	SNII_STORM_SECONDS=n	longer
#	SNII_STORM_PRELOAD=1	with the pool instead of dynamic workers

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seconds = $ENV{SNII_STORM_SECONDS} || 20;
my $node = snii_cluster('storm', conf => <<'CONF' . ($ENV{SNII_STORM_PRELOAD} ? "shared_preload_libraries = 'snii'\n" : ''));
snii.buffer_limit = 256
shared_buffers = 16MB
max_worker_processes = 4
max_wal_size = 256MB
min_wal_size = 64MB
wal_consistency_checking = ''
log_autovacuum_min_duration = -1
CONF

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE s (id bigserial, n int, body text, title text) WITH (fillfactor = 80);
CREATE UNIQUE INDEX s_id ON s USING snii (id);
CREATE INDEX s_i ON s USING snii (body, title);
CREATE INDEX s_p ON s USING snii (body) WITH (analyzer = whitespace) WHERE n % 2 = 0;
CREATE UNLOGGED TABLE u (id bigserial, body text);
CREATE INDEX u_i ON u USING snii (body);
INSERT INTO s (n, body, title) SELECT g, 'row common term' || g % 20 || ' ' || md5(g::text), 'T ' || g % 3 FROM generate_series(1, 3000) g;
-- In one snapshot, the index and the table have the same rows.
CREATE FUNCTION compare(cond text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	truth text;
	got text;
	query text := 'SELECT count(*) || '' rows, sum of ids '' || coalesce(sum(id), 0) FROM s WHERE ' || cond;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE query INTO got;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
	EXECUTE query INTO truth;
	IF got <> truth THEN
		RAISE EXCEPTION '%: % by index, % by sequential scan', cond, got, truth;
	END IF;
END $$;
SQL

my %scripts = (
	write => [ 3, <<'SQL' ],
\set n random(1, 3000)
INSERT INTO s (n, body, title) SELECT :n, 'row common term' || :n % 20 || ' ' || md5(random()::text) || ' ' || md5(random()::text), CASE WHEN :n % 5 = 0 THEN NULL ELSE 'T ' || :n % 3 END FROM generate_series(1, 20);
INSERT INTO u (body) SELECT 'row common ' || md5(random()::text) FROM generate_series(1, 5);
BEGIN;
INSERT INTO s (n, body) SELECT :n, 'aborted common ' || md5(random()::text) FROM generate_series(1, 10);
ROLLBACK;
UPDATE s SET body = body || ' changed' WHERE id = (SELECT max(id) FROM s) - :n % 50;
SQL
	large => [ 1, <<'SQL' ],
INSERT INTO s (n, body) SELECT 7, 'large common ' || string_agg('tok' || g || md5(random()::text), ' ') FROM generate_series(1, 4000) g;
DELETE FROM s WHERE n = 7 AND length(body) > 10000 AND id < (SELECT max(id) - 3000 FROM s);
\sleep 200 ms
SQL
	delete => [ 1, <<'SQL' ],
DELETE FROM s WHERE id IN (SELECT id FROM s ORDER BY id LIMIT 150);
DELETE FROM u WHERE id < (SELECT max(id) - 2000 FROM u);
\sleep 20 ms
SQL
	merge => [ 1, <<'SQL' ],
SELECT snii_flush('s_i');
SELECT snii_merge('s_p');
SELECT snii_flush('s_p');
SELECT snii_merge('s_i');
SELECT snii_merge('u_i');
\sleep 30 ms
SQL
	vacuum => [ 1, <<'SQL' ],
VACUUM s;
VACUUM u;
\sleep 10 ms
SQL
	reindex => [ 1, <<'SQL' ],
REINDEX INDEX CONCURRENTLY s_p;
SELECT snii_check('s_i');
\sleep 1000 ms
SQL
	read => [ 2, <<'SQL' ],
\set n random(0, 19)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compare('body &&& ''common term:n''');
SELECT compare('body ||| ''changed large'' AND n % 2 = 0');
SELECT compare('title ||| ''T 1'' AND body ### ''row common''');
COMMIT;
SQL
);

my $dir = $node->basedir;
my @running;
for my $name (sort keys %scripts)
{
	my ($clients, $text) = @{ $scripts{$name} };
	$text =~ s/term:n/term' || :n || '/g;
	append_to_file("$dir/$name.sql", $text);
	my ($out, $err) = ('', '');
	push @running,
	  { name => $name,
		err => \$err,
		out => \$out,
		run => IPC::Run::start(
			[ 'pgbench', '-n', '-T', $seconds, '-c', $clients, '-f', "$dir/$name.sql", '-h', $node->host, '-p', $node->port, 'postgres' ],
			'>', \$out, '2>', \$err) };
}
for my $r (@running)
{
	my $ok = $r->{run}->finish;
	my ($done) = ${ $r->{out} } =~ /transactions actually processed: (\d+)/;
	ok($ok && $done && ${ $r->{err} } !~ /ERROR|aborted/, "$r->{name}: " . ($done || 0) . ' times')
	  or diag(${ $r->{err} });
}

my $workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'snii worker'";
ok($node->poll_query_until('postgres', $workers, '0'), 'no worker is left');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'page'"), '0', 'no lock is left');
for my $index (qw(s_i s_p u_i))
{
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT snii_check('$index', true)");
	is($err, '', "snii_check($index, true)");
}
same_answers($node, table => 's', where => [ "body ||| 'common'", "body &&& 'common term3'", "body ### 'row common term4'", "title ||| 'T 2'", "body ||| 'changed large'" ]);
$node->safe_psql('postgres', 'VACUUM s');
check_indexes($node, name => 'snii_check after another VACUUM');

# REINDEX CONCURRENTLY may be chosen as the victim of a deadlock with VACUUM.
my @bad = grep { !/deadlock detected/ } slurp_file($node->logfile) =~ /^.*(?:ERROR|FATAL|PANIC|TRAP|WARNING):.*$/mg;
is("@bad", '', 'nothing in the log');
$node->stop;
done_testing();
