# Builds by several processes and under limits of memory: workers are launched,
# the answers are those of a sequential scan and of a build by one process;
# errors, cancels and a crash leave no temporary file and no memory counted.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(usleep);

my $WORKERS = 3;
my $BUILDS = 8;
my $conf = <<"CONF";
max_worker_processes = 24
max_parallel_workers = 24
max_parallel_maintenance_workers = $WORKERS
maintenance_work_mem = 8MB
CONF

# About half of the terms come once; documents have 0 to 40 words.
my $rows = <<'SQL';
INSERT INTO t (body) SELECT (SELECT string_agg(CASE WHEN w % 2 = 0 THEN 'word' || (g * 7 + w * w) % 5000
		ELSE md5((g * 41 + w)::text) END, ' ') FROM generate_series(1, g % 41) w)
	FROM generate_series(1, 30000) g;
SQL
my @where = ("body ||| 'word7'", "body &&& 'word7 word23'", "body ### 'word4 word9'",
	"body ||| '" . md5_of(41 * 1000 + 3) . "'", "body IS NULL",
	"body @@@ 'word1 AND NOT word2 AND id < 20000'");

sub md5_of
{
	my ($n) = @_;
	require Digest::MD5;
	return Digest::MD5::md5_hex($n);
}

# leftovers(NODE): temporary files, writers, bytes that are counted.
sub leftovers
{
	my ($node) = @_;
	return $node->safe_psql('postgres', <<'SQL');
SELECT (SELECT count(*) FROM pg_ls_tmpdir()),
	(SELECT count(*) FROM snii_memory WHERE pid IS NOT NULL),
	(SELECT published FROM snii_memory WHERE pid IS NULL)
SQL
}

# build(NODE, SETTINGS, STATEMENT): its row of snii_last_build.
sub build
{
	my ($node, $settings, $statement) = @_;
	my $row = $node->safe_psql('postgres', "$settings; $statement; SELECT workers_launched, documents, tokens, runs,
		forced_spills, buffer_peak, memory_peak FROM snii_last_build()");
	my %build;
	@build{qw(workers documents tokens runs forced buffer memory)} = split /\|/, $row;
	return \%build;
}

### without a limiter of the server

my $node = snii_cluster('build', conf => $conf);
$node->safe_psql('postgres', "CREATE TABLE t (id serial, body text); $rows
	CREATE TABLE small (body text); INSERT INTO small VALUES ('one row'); ANALYZE");
my $settings = 'SET max_parallel_maintenance_workers = 0';
my $serial = build($node, $settings, 'CREATE INDEX t_serial ON t USING snii (body)');
is($serial->{workers}, 0, 'no worker is launched if none is allowed');
cmp_ok($serial->{runs}, '>', 1, 'the build spilled');
cmp_ok($serial->{buffer}, '<', 9 * 1024 * 1024, 'the term buffer kept to its budget');
my $again = build($node, $settings, 'DROP INDEX t_serial; CREATE INDEX t_serial ON t USING snii (body)');
is_deeply($again, $serial, 'one process does the same work for the same rows');
is($node->safe_psql('postgres', "SELECT count(*) FROM snii_segments('t_serial')"), 1, '... and makes one segment');
my $bytes = $node->safe_psql('postgres', "SELECT pages, bytes FROM snii_segments('t_serial')");
build($node, "$settings; SET maintenance_work_mem = '256MB'", 'DROP INDEX t_serial; CREATE INDEX t_serial ON t USING snii (body)');
is($node->safe_psql('postgres', "SELECT pages, bytes FROM snii_segments('t_serial')"), $bytes,
	'... of the same size, whether it spills or not');
my $serial_answers = join("\n", answers($node, 'bitmap', table => 't', where => \@where));

# The table's option counts, not its size.
$node->safe_psql('postgres', "DROP INDEX t_serial; ALTER TABLE t SET (parallel_workers = $WORKERS)");
my $parallel = build($node, '', 'CREATE INDEX t_idx ON t USING snii (body)');
is($parallel->{workers}, $WORKERS, 'all workers are launched');
is("$parallel->{documents} $parallel->{tokens}", "$serial->{documents} $serial->{tokens}",
	'all documents are indexed, each by one participant');
cmp_ok($parallel->{memory}, '<', 8 * 1024 * 1024 * 1.1 + ($WORKERS + 1) * 4 * 1024 * 1024,
	'all participants together keep to the budget');
same_answers($node, table => 't', where => \@where, name => 'answers of the parallel build');
is(join("\n", answers($node, 'bitmap', table => 't', where => \@where)), $serial_answers,
	'... are those of the serial one');
is(leftovers($node), '0|0|0', '... which leaves nothing');
$parallel = build($node, '', 'REINDEX INDEX CONCURRENTLY t_idx');
is($parallel->{workers}, $WORKERS, 'a concurrent build has workers, too');
same_answers($node, table => 't', where => \@where, name => '... and the same answers');
is(build($node, '', 'TRUNCATE small; ALTER TABLE small SET (parallel_workers = 3); CREATE INDEX small_i ON small USING snii (body)')->{workers},
	0, 'an empty table has none');
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION unsafe(text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION fails(int, text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN IF $1 = 29500 THEN RAISE ''no row is like this one''; END IF; RETURN $2; END';
CREATE FUNCTION fails_in_worker(text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN IF (SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = ''parallel worker''
		AND random() < 0.001 THEN RAISE ''worker has failed''; END IF; RETURN $1; END';
SQL
is(build($node, '', 'CREATE INDEX t_u ON t USING snii (unsafe(body)); DROP INDEX t_u')->{workers}, 0,
	'an expression that is not safe has none');
is(build($node, '', "CREATE INDEX t_p ON t USING snii (body) WHERE id % 2 = 0; DROP INDEX t_p")->{documents}, 15000,
	'a partial index has the rows of its predicate');

# A large text has a line of its own in the account, and none in the budget.
my $large = build($node, "CREATE TABLE large (body text); INSERT INTO large VALUES (repeat('one word and another ', 2000000))",
	'CREATE INDEX large_i ON large USING snii (body); DROP TABLE large');
cmp_ok($large->{memory}, '>', 42_000_000, 'a large text is counted');
cmp_ok($large->{buffer}, '<', 9 * 1024 * 1024, '... and spilled in its middle');
cmp_ok($large->{runs}, '>', 0, '... as a run');

### progress

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION pauses(int, text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN
	WHILE ($1 = 24999 OR $1 % 997 = 0 AND current_setting(''max_parallel_maintenance_workers'') <> ''0'') AND (pg_stat_file(''pause'', true)).size IS NOT NULL AND
		(current_setting(''max_parallel_maintenance_workers'') = ''0'' OR
		(SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = ''parallel worker'')
	LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN $2; END';
SQL
# One process stops in the middle of its scan; of several, only workers do.
for my $case ([ 0, 'scanning table', 'documents BETWEEN 23000 AND 25000 AND tuples_done = documents AND runs > 0' ],
	[ $WORKERS, 'waiting for workers', 'documents BETWEEN 10000 AND 30000' ])
{
	my ($workers, $phase, $count) = @$case;
	append_to_file($node->data_dir . '/pause', '');
	my $build = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'),
			'-c', "SET max_parallel_maintenance_workers = $workers", '-c', 'CREATE INDEX t_p ON t USING snii (pauses(id, body))' ],
		'<', '/dev/null');
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM snii_progress s
			JOIN pg_stat_progress_create_index p USING (pid) WHERE s.phase = '$phase' AND p.phase LIKE '%: $phase'
			AND $count AND bytes > documents * 100 AND s.relid = 't'::regclass"),
		"progress with $workers workers") or diag($node->safe_psql('postgres', 'SELECT * FROM snii_progress'));
	unlink($node->data_dir . '/pause');
	$build->finish;
	is($node->safe_psql('postgres', 'DROP INDEX t_p; SELECT count(*) FROM snii_progress'), 0, '... which ends');
}

### errors

for my $case ([ 'fails(id, body)', qr/no row is like this one/ ], [ 'fails_in_worker(body)', qr/worker has failed/ ])
{
	my ($out, $err);
	$node->psql('postgres', "CREATE INDEX t_f ON t USING snii (($case->[0]))", stderr => \$err);
	like($err, $case->[1], "$case->[0] fails the build");
	is(leftovers($node), '0|0|0', '... and leaves nothing');
	is($node->safe_psql('postgres', "SELECT to_regclass('t_f') IS NULL"), 't', '... not even an index');
}
# an error that is caught, and a build after it
is($node->safe_psql('postgres', <<'SQL'), '0|1', 'an error in a block leaves nothing, and a build may follow');
DO $$BEGIN CREATE INDEX t_f ON t USING snii (fails(id, body)); EXCEPTION WHEN raise_exception THEN NULL; END$$;
BEGIN; CREATE INDEX t_g ON t USING snii (body); DROP INDEX t_g; COMMIT;
SELECT (SELECT count(*) FROM pg_ls_tmpdir()), count(*) FROM snii_memory WHERE used = 0 AND published = 0;
SQL

### with a limiter of the server

$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'snii'
snii.build_memory_limit = '1MB'
snii.forced_spill_min_arena = '1MB'
log_temp_files = 0
CONF
$node->restart;
$node->safe_psql('postgres', "DROP INDEX t_idx; ALTER TABLE t SET (parallel_workers = 0); INSERT INTO t (body) SELECT body FROM t");
is(leftovers($node), '0|0|0', 'nothing is counted at the start');

# start_builds(): builds at once, each in a session and on an index of its own.
sub start_builds
{
	my ($suffix) = @_;
	my @runs;
	for my $i (1 .. $BUILDS)
	{
		my $run = { out => '', err => '' };
		# what comes by standard input would only be sent when it is waited for
		$run->{h} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1',
				'-c', "CREATE INDEX t_$suffix$i ON t USING snii (" . ($i == 2 ? "(repeat(md5(body), 5)) COLLATE \"C\" text_key_ops)" : 'body)'),
				'-c', "SELECT 'forced ' || forced_spills FROM snii_last_build()" ],
			'<', '/dev/null', '>', \$run->{out}, '2>', \$run->{err});
		push @runs, $run;
	}
	return @runs;
}

# wait_for(QUERY): until it says t; false after a minute.
sub wait_for
{
	my ($query) = @_;
	for (1 .. 600)
	{
		return 1 if $node->safe_psql('postgres', $query) eq 't';
		usleep(100_000);
	}
	return 0;
}

my $log = -s $node->logfile;
my @runs = start_builds('a');
ok(wait_for('SELECT count(*) > 0 AND sum(published) > 0 FROM snii_memory WHERE pid IS NOT NULL'), 'builds are shown');
ok(wait_for('SELECT count(*) > 0 FROM pg_ls_tmpdir()'), 'they spill to temporary files');
my $forced = 0;
for my $run (@runs)
{
	$run->{h}->finish;
	is($run->{err}, '', 'the build ends well');
	$forced += $1 if $run->{out} =~ /forced (\d+)/;
}
cmp_ok($forced, '>', 0, 'spills were asked for');
like(slurp_file($node->logfile, $log), qr/index builds use \d+ kB of the \d+ kB that "snii.build_memory_limit" leaves them/,
	'the shortfall is logged');
is(leftovers($node), '0|0|0', '... and all of it is given back');
$node->safe_psql('postgres', join('', map { "DROP INDEX t_a$_;" } 2 .. $BUILDS));
same_answers($node, table => 't', where => \@where, name => 'answers after forced spills');
check_indexes($node, name => 'the index is sound');

# cancel
@runs = start_builds('b');
ok(wait_for('SELECT count(*) > 0 FROM pg_ls_tmpdir()'), 'builds have spilled');
my $cancelled = $node->safe_psql('postgres', <<'SQL');
SELECT count(*) > 0 FROM (SELECT pg_cancel_backend(pid) FROM snii_memory WHERE pid IS NOT NULL) s
SQL
$_->{h}->finish for @runs;
is($cancelled, 't', 'they are cancelled');
is(scalar(grep { $_->{err} =~ /canceling statement/ } @runs) > 0, 1, '... and say so');
is(leftovers($node), '0|0|0', '... and leave nothing');

# terminate
$node->safe_psql('postgres', join('', map { "DROP INDEX IF EXISTS t_b$_;" } 1 .. $BUILDS));
@runs = start_builds('c');
ok(wait_for('SELECT count(*) > 0 FROM pg_ls_tmpdir()'), 'builds have spilled');
$node->safe_psql('postgres', 'SELECT pg_terminate_backend(pid) FROM snii_memory WHERE pid IS NOT NULL');
$_->{h}->finish for @runs;
ok(wait_for('SELECT count(*) = 0 FROM snii_memory WHERE pid IS NOT NULL'), 'terminated builds leave');
is(leftovers($node), '0|0|0', '... nothing behind');

# crash
$node->safe_psql('postgres', join('', map { "DROP INDEX IF EXISTS t_c$_;" } 1 .. $BUILDS));
@runs = start_builds('d');
ok(wait_for('SELECT count(*) > 0 FROM pg_ls_tmpdir()'), 'builds have spilled');
crash($node);
$_->{h}->finish for @runs;
is(leftovers($node), '0|0|0', 'a crash leaves nothing');
check_indexes($node, name => 'what was built before is sound');

done_testing();
