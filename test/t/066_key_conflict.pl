# ON CONFLICT on tables with key indexes where it is easily disturbed: by
# invalidations that other sessions send without end, in the first statement of
# a connection, with prepared transactions to wait for, after a crash, on places
# of the table that are used again, and with caches that never keep anything.
#
#	SNII_SECONDS=n	how long the storm lasts

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seconds = $ENV{SNII_SECONDS} || 6;
my $node = snii_cluster('conflict', conf => <<'CONF');
snii.buffer_limit = 256
session_preload_libraries = snii
shared_buffers = 16MB
CONF
my $dir = $node->basedir;

# Run a statement in a connection of its own; its standard output, or its error.
sub first_statement
{
	my ($sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $sql);
	return $rc == 0 ? $out : $err;
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int, alt text, n int DEFAULT 0);
CREATE UNIQUE INDEX t_id ON t USING snii (id);
CREATE UNIQUE INDEX t_alt ON t USING snii (alt text_key_ops) INCLUDE (n);
CREATE TABLE p (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (200) PARTITION BY HASH (id);
CREATE TABLE p00 PARTITION OF p0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p01 (v text, gone int, id int);
ALTER TABLE p01 DROP COLUMN gone;
ALTER TABLE p0 ATTACH PARTITION p01 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE p1 PARTITION OF p DEFAULT;
CREATE UNIQUE INDEX p00_id ON p00 USING snii (id);
CREATE UNIQUE INDEX p01_id ON p01 USING snii (id);
CREATE UNIQUE INDEX p1_id ON p1 USING snii (id);
CREATE TABLE copies (id int, what text);
CREATE UNIQUE INDEX copies_id ON copies USING snii (id);
-- a trigger that looks at its own table and writes with ON CONFLICT itself
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT count(*) FROM t WHERE id = new.id) > 1 THEN
		RAISE 'key % is there twice', new.id;
	END IF;
	BEGIN
		INSERT INTO copies VALUES (new.id, 'x'), (new.id % 7, 'y') ON CONFLICT DO NOTHING;
		INSERT INTO copies VALUES (new.id, 'z') ON CONFLICT (id) DO UPDATE SET what = excluded.what;
		IF new.id % 3 = 0 THEN
			RAISE division_by_zero;
		END IF;
	EXCEPTION WHEN division_by_zero THEN NULL;
	END;
	RETURN new;
END $$;
CREATE TRIGGER look BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION look();
SQL

# --- the first statement of a connection -----------------------------------

my @first = (
	[ "INSERT INTO t (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING id", '1' ],
	[ "INSERT INTO t (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING id", '' ],
	[ "INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO NOTHING RETURNING id", '' ],
	[ "INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = t.n + 1 RETURNING n", '1' ],
	[ "INSERT INTO p VALUES (1, 'a'), (2, 'a'), (3, 'a'), (500, 'a') ON CONFLICT DO NOTHING RETURNING id", "1\n2\n3\n500" ],
	[ "INSERT INTO p SELECT i, 'b' FROM generate_series(1, 5) i ON CONFLICT DO NOTHING RETURNING id", "4\n5" ],
	[ "INSERT INTO p01 (id, v) SELECT id, 'c' FROM p01 ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING v = 'c'", qr/^t/ ],
	[ "PREPARE s AS INSERT INTO p VALUES (\$1, 'd') ON CONFLICT DO NOTHING RETURNING id; EXECUTE s (1); EXECUTE s (6); EXECUTE s (6)", '6' ],
	[ "DO \$\$ BEGIN INSERT INTO p VALUES (1, 'e'), (7, 'e') ON CONFLICT DO NOTHING; END \$\$; SELECT v FROM p WHERE id IN (1, 7) ORDER BY id", "a\ne" ],
	[ "WITH x AS (INSERT INTO p VALUES (1, 'f'), (8, 'f') ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM x", '8' ],
	[ "MERGE INTO t USING (VALUES (1), (2)) v (i) ON id = i WHEN MATCHED THEN UPDATE SET n = 100 WHEN NOT MATCHED THEN INSERT (id) VALUES (i); SELECT n FROM t WHERE id IN (1, 2) ORDER BY id", "100\n0" ],
	[ "COPY t (id) FROM PROGRAM 'echo 1'", qr/duplicate key value violates unique constraint "t_id".*Key \(id\)=\(1\) already exists/s ],
	[ "INSERT INTO t (id) VALUES (1)", qr/duplicate key value violates unique constraint "t_id"/ ]);
for my $f (@first)
{
	my ($sql, $want) = @$f;
	my $got = first_statement($sql);
	ref $want ? like($got, $want, "first statement: $sql") : is($got, $want, "first statement: $sql");
}

# --- prepared transactions ---------------------------------------------------

# Run $sql while transaction "two" is prepared, then end that by $end.
sub against_prepared
{
	my ($prepared, $sql, $end) = @_;
	$node->safe_psql('postgres', "BEGIN; $prepared; PREPARE TRANSACTION 'two'");
	my ($in, $out, $err) = ('', '', '');
	my $waiter = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $sql ],
		'<', \$in, '>', \$out, '2>', \$err);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")
	  or die 'nobody waits';
	$node->safe_psql('postgres', "$end PREPARED 'two'");
	$waiter->finish;
	chomp $out;
	return $out . $err;
}
for my $flush (0, 1)
{
	my $id = 1000 + 10 * $flush;
	my $how = $flush ? ' (flushed)' : '';
	my $and = $flush ? "; SELECT snii_flush('t_id')" : '';
	my $do = 'ON CONFLICT DO NOTHING RETURNING id';
	my $up = 'ON CONFLICT (id) DO UPDATE SET n = t.n + 1 RETURNING n';
	is(against_prepared("INSERT INTO t (id) VALUES ($id)$and", "INSERT INTO t (id) VALUES ($id) $do", 'COMMIT'), '', "DO NOTHING waits for a prepared insertion$how");
	$id++;
	is(against_prepared("INSERT INTO t (id) VALUES ($id)$and", "INSERT INTO t (id) VALUES ($id) $do", 'ROLLBACK'), $id, "and inserts if that is rolled back$how");
	is(against_prepared("DELETE FROM t WHERE id = $id$and", "INSERT INTO t (id, n) VALUES ($id, 7) $up", 'COMMIT'), 7, "DO UPDATE inserts what a prepared transaction deleted$how");
	is(against_prepared("DELETE FROM t WHERE id = $id$and", "INSERT INTO t (id, n) VALUES ($id, 7) $up", 'ROLLBACK'), 8, "and updates if it did not$how");
	like(against_prepared("UPDATE t SET n = 50 WHERE id = $id$and", "INSERT INTO t (id) VALUES ($id)", 'COMMIT'), qr/duplicate key.*t_id/, "an update keeps its key$how");
	is(against_prepared("UPDATE t SET n = n + 1 WHERE id = $id$and", "INSERT INTO t (id) VALUES ($id) $up", 'COMMIT'), 52, "DO UPDATE sees what was prepared$how");
}
$node->safe_psql('postgres', "BEGIN; INSERT INTO t (id) VALUES (1100), (1101); PREPARE TRANSACTION 'three'");
crash($node);
my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '300ms'; INSERT INTO t (id) VALUES (1100) ON CONFLICT DO NOTHING");
like($err, qr/statement timeout/, 'a prepared insertion is waited for after a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'three'");
is(first_statement("INSERT INTO t (id) VALUES (1100), (1102) ON CONFLICT DO NOTHING RETURNING id"), 1102, 'and counts when it is committed');
check_indexes($node);

# --- places that are used again --------------------------------------------------

$node->safe_psql('postgres', "CREATE TABLE r (id int, v text); CREATE UNIQUE INDEX r_id ON r USING snii (id);
	INSERT INTO r SELECT i, 'old' FROM generate_series(1, 300) i; SELECT snii_flush('r_id')");
my $again = 0;
for my $round (1 .. 6)
{
	my $base = 300 * $round;
	$node->safe_psql('postgres', 'DELETE FROM r; VACUUM r');
	# the keys of before are free, at places that had others, and new ones, too
	$node->safe_psql('postgres', "INSERT INTO r SELECT 301 - i, 'round $round' FROM generate_series(1, 150) i");
	$node->safe_psql('postgres', "SELECT snii_flush('r_id')") if $round % 2;
	$node->safe_psql('postgres', "SELECT snii_merge('r_id')") if $round % 3 == 0;
	$again += $node->safe_psql('postgres', "INSERT INTO r SELECT i, 'second' FROM generate_series(1, 300) i ON CONFLICT (id) DO UPDATE SET v = r.v || '+' RETURNING v = 'second'") =~ tr/t//;
	is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*), count(*) FILTER (WHERE x.n = 1), count(*) FILTER (WHERE v LIKE \'%+\') FROM r, LATERAL (SELECT count(*) AS n FROM r q WHERE q.id = r.id AND q.v = r.v) x'),
		'300|300|150', "places are used again, round $round");
}
is($again, 900, 'no key was taken for one of before');
check_indexes($node);

# --- a storm of invalidations -----------------------------------------------------

append_to_file("$dir/plain.sql", "\\set k random(1, 300)\nINSERT INTO t (id, alt) VALUES (:k, 'a' || :k) ON CONFLICT DO NOTHING;\n");
append_to_file("$dir/update.sql", "\\set k random(1, 300)\nINSERT INTO t (id) VALUES (:k) ON CONFLICT (id) DO UPDATE SET n = t.n + 1;\n");
append_to_file("$dir/routed.sql", "\\set k random(1, 250)\nINSERT INTO p SELECT 1 + (:k * i) % 260, 's' FROM generate_series(1, 7) i ON CONFLICT DO NOTHING;\n");
append_to_file("$dir/delete.sql", "\\set k random(1, 250)\nDELETE FROM t WHERE id = :k;\nDELETE FROM p WHERE id = :k;\n");
append_to_file("$dir/storm.sql", <<'SQL');
ALTER TABLE t SET (fillfactor = 90);
ALTER TABLE p00 SET (fillfactor = 90);
ANALYZE t;
ALTER TABLE p01 ALTER v SET STATISTICS 50;
CREATE INDEX storm ON p1 USING snii (v text_key_ops);
DROP INDEX storm;
ANALYZE p;
ALTER INDEX t_id SET (analyzer = 'standard');
ALTER INDEX t_id RESET (analyzer);
CREATE UNIQUE INDEX storm ON p00 USING snii (id, v text_key_ops);
DROP INDEX storm;
CREATE TABLE IF NOT EXISTS p_more PARTITION OF p FOR VALUES FROM (10000) TO (10001);
ALTER TABLE p DETACH PARTITION p_more;
DROP TABLE p_more;
REINDEX INDEX p01_id;
SQL
append_to_file("$dir/maintain.sql", <<'SQL');
SELECT snii_flush('t_id'), snii_flush('p00_id');
SELECT snii_merge('t_alt'), snii_merge('p01_id');
VACUUM t, copies;
VACUUM p00, p01;
SQL
my @jobs;
for my $job ([ 'plain', 1 ], [ 'plain', 1, '-C' ], [ 'update', 1, '-M', 'prepared' ], [ 'routed', 1 ], [ 'routed', 1, '-M', 'prepared' ], [ 'routed', 1, '-C' ], [ 'delete', 1 ], [ 'storm', 1 ], [ 'maintain', 1 ])
{
	my ($name, $clients, @options) = @$job;
	my $j = { name => "$name @options", out => '', err => '' };
	$j->{handle} = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-T', $seconds, @options, '-f', "$dir/$name.sql",
		'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$j->{out}, '2>', \$j->{err});
	push @jobs, $j;
}
for my $j (@jobs)
{
	$j->{handle}->finish;
	my $errors = join "\n", grep { /ERROR|abort|FATAL/ && !/deadlock detected/ } split /\n/, $j->{err};
	is($errors, '', "$j->{name}: no error");
	cmp_ok($j->{out} =~ /transactions actually processed: (\d+)/ ? $1 : 0, '>', 0, "$j->{name}: did something");
}
for my $t ('t', 'p', 'copies')
{
	is($node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SELECT count(*) - count(DISTINCT id) FROM $t"),
		0, "no key of $t is there twice");
}
check_indexes($node);

# --- caches that keep nothing --------------------------------------------------------

SKIP:
{
	skip 'the server cannot clobber its caches', 1
	  if $node->psql('postgres', 'SET debug_discard_caches = 1') != 0;
	my $sql = "SET debug_discard_caches = 1;\n";
	$sql .= "$_->[0];\n" for grep { $_->[0] !~ /COPY|INSERT INTO t \(id\) VALUES \(1\)$/ } @first;
	$sql .= "INSERT INTO t (id) VALUES (9001), (9001) ON CONFLICT DO NOTHING RETURNING id;\n"
	  . "INSERT INTO p SELECT i, 'clobbered' FROM generate_series(190, 210, 4) i ON CONFLICT DO NOTHING;\n";
	my ($rc, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 1);
	is($err, '', 'with clobbered caches');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id = 9001'), 1, 'one of two rows is inserted');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted/, 'the log is free of faults');
$node->stop;
done_testing();
