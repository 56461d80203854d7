# Builds of key indexes by several processes: workers are launched, the run is
# that of a build by one process byte by byte, in memory and by way of files,
# the same rows are refused, and errors, cancels and workers that die leave nothing.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(usleep);

my $WORKERS = 3;
my $node = snii_cluster('key_build', conf => <<"CONF");
max_worker_processes = 16
max_parallel_workers = 16
max_parallel_maintenance_workers = $WORKERS
CONF
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id int, u uuid, a text COLLATE "C", b text COLLATE "und-x-icu", n numeric, part int) WITH (parallel_workers = $WORKERS);
INSERT INTO t SELECT g, md5(g::text)::uuid, CASE WHEN g % 13 > 0 THEN 'http://host' || g % 97 || '/' || repeat('x', g % 50) END,
	'Wort ' || g % 4001, g % 5003 / 7.0, g % 10 FROM generate_series(1, 150000) g;
-- rows that are dead to some and are indexed nevertheless
UPDATE t SET part = 11 WHERE id % 1000 = 0;
ANALYZE t;
-- every block of an index, but for what tells when it was written
CREATE FUNCTION blocks(index regclass) RETURNS text LANGUAGE sql AS \$\$
	SELECT count(*) || ' blocks ' || md5(string_agg(md5(substr(pg_read_binary_file(pg_relation_filepath(index), b * 8192, 8192), 11)), ''
		ORDER BY b))
	FROM generate_series(0, pg_relation_size(index) / 8192 - 1) b \$\$;
SQL

# build(SETTINGS, STATEMENT): what the last build of the session says.
sub build
{
	my ($settings, $statement) = @_;
	my %build;
	@build{qw(workers documents runs memory)} = split /\|/, $node->safe_psql('postgres',
		"$settings; $statement; SELECT workers_launched, documents, runs, memory_peak FROM snii_last_build()");
	return \%build;
}

sub blocks
{
	my ($index) = @_;
	return $node->safe_psql('postgres', "CHECKPOINT; SELECT blocks('$index')");
}

my $SERIAL = 'SET max_parallel_maintenance_workers = 0';

### the same run

# NAME => COLUMNS; memory that makes a participant spill, or spill so often
# that it merges files first
my %index = (
	u => [ 'u', 'bytes of one length' ],
	a => [ 'a text_key_ops DESC NULLS LAST, id', 'bytes of many lengths, with NULLs' ],
	i => [ 'part, id) INCLUDE (u, b', 'payload' ],
	b => [ 'b text_key_ops, n', 'compared by functions' ],
	e => [ '(id % 1000), u) WHERE (part < 5', 'expression and predicate' ]);
for my $name (sort keys %index)
{
	my ($columns, $what) = @{ $index{$name} };
	my $create = "USING snii ($columns)";
	my $serial = build("$SERIAL; SET maintenance_work_mem = '64MB'", "CREATE INDEX t_$name ON t $create");
	is("$serial->{workers} $serial->{runs}", '0 0', "$what: one process, in memory");
	my $blocks = blocks("t_$name");
	for my $memory (qw(64MB 1MB))
	{
		for my $settings ($SERIAL, '')
		{
			my $n = $settings eq '' ? $WORKERS : 0;
			my $built = build("$settings; SET maintenance_work_mem = '$memory'", "CREATE INDEX t_2 ON t $create");
			is("$built->{workers} $built->{documents}", "$n $serial->{documents}", "... $n workers, $memory");
			if ($name ne 'b')
			{
				cmp_ok($built->{runs}, $memory eq '64MB' ? '==' : '>', 0, '... which spill as they should');
				# Each participant merges at most 8 at a time.
				cmp_ok($built->{runs}, '>', 8 * ($n + 1), '... more often than runs are merged at once')
				  if $name eq 'u' && $memory eq '1MB' && $n > 0;
			}
			is(blocks('t_2'), $blocks, '... and make the same run');
			# (by functions, core sorts, and all that it may take is counted)
			cmp_ok($built->{memory}, '<=', ($memory eq '1MB' ? 1 : 64) * 1048576 + ($n + 1) * 1048576, '... in the memory that they have');
			cmp_ok($built->{memory}, '>', 500_000, '... which is counted');
			$node->safe_psql('postgres', 'DROP INDEX t_2');
		}
	}
}
check_indexes($node, name => 'indexes are sound');
is($node->safe_psql('postgres', "SELECT snii_check('t_' || x, true) FROM unnest('{u,a,i,b}'::text[]) x"), "\n\n\n",
	'... and have all rows');

### uniqueness

# messages(STATEMENTS): errors of builds by one process and by several
sub messages
{
	my ($before, $statement) = @_;
	my @texts;
	for my $settings ($SERIAL, '')
	{
		my ($out, $err);
		$node->psql('postgres', "$settings; BEGIN; $before; $statement; SELECT 'built by ' || workers_launched FROM snii_last_build(); ROLLBACK",
			stdout => \$out, stderr => \$err);
		push @texts, $out . $err;
	}
	return @texts;
}

for my $columns ('u', 'b text_key_ops, id')
{
	my $name = $columns =~ /u/ ? 'u' : 'b';
	my $unique = "CREATE UNIQUE INDEX t_x ON t USING snii ($columns)";
	my @texts = messages('SELECT', $unique);
	is_deeply(\@texts, [ 'built by 0', "built by $WORKERS" ], "($columns) is unique");
	@texts = messages('INSERT INTO t SELECT id, u, a, b FROM t WHERE id IN (77777, 149000, 5)', $unique);
	like($texts[0], qr/could not create unique index "t_x"\nDETAIL:  Key \(\Q$1\E.*\)=\(.*\) is duplicated/, 'a row too many is refused')
	  if $columns =~ /^(\w)/;
	is($texts[1], $texts[0], '... with the same words by several processes');
	@texts = messages('INSERT INTO t SELECT id, u, a, b FROM t WHERE id IN (77777, 149000); DELETE FROM t WHERE id IN (77777, 149000)',
		$unique);
	is_deeply(\@texts, [ 'built by 0', "built by $WORKERS" ], '... but not one that is deleted');
	@texts = messages("INSERT INTO t (id, b, part) SELECT g % 2, NULL, g FROM generate_series(1, 10) g", $unique);
	is_deeply(\@texts, [ 'built by 0', "built by $WORKERS" ], '... nor NULLs');
	@texts = messages("INSERT INTO t (id, b, part) SELECT g % 2, NULL, g FROM generate_series(1, 10) g", "$unique NULLS NOT DISTINCT");
	like($texts[0], qr/duplicated/, '... unless they are not distinct');
	is($texts[1], $texts[0], '... by several processes, too');
}

### concurrent builds

my $load = { out => '', err => '' };
$load->{h} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-c', <<'SQL' ],
DO $$BEGIN FOR i IN 200001 .. 203000 LOOP
	INSERT INTO t (id, u, b, part) VALUES (i, gen_random_uuid(), 'later', 3); DELETE FROM t WHERE id = i - 150000; COMMIT;
END LOOP; END$$
SQL
	'<', '/dev/null', '>', \$load->{out}, '2>', \$load->{err});
my $concurrent = build('', 'CREATE UNIQUE INDEX CONCURRENTLY t_c ON t USING snii (u)');
is($concurrent->{workers}, $WORKERS, 'a concurrent build has workers');
is(build('', 'REINDEX INDEX CONCURRENTLY t_c')->{workers}, $WORKERS, '... and so has REINDEX');
$load->{h}->finish;
is($load->{err}, '', '... while rows come and go');
is($node->safe_psql('postgres', "SELECT snii_check('t_c', true)"), '', '... all of which are in the index');
same_answers($node, table => 't', where => [ "u > '80000000-0000-0000-0000-000000000000'", "u = md5('1234')::uuid" ],
	name => '... and are found');
is(build('', 'CREATE TABLE s (id int) WITH (parallel_workers = 3); CREATE INDEX s_i ON s USING snii (id)')->{workers}, 0,
	'an empty table has no worker');
is(build('', 'CREATE TABLE small AS SELECT 1 AS id; CREATE INDEX small_i ON small USING snii (id)')->{workers}, 0,
	'nor has a small one');
is(build('', 'CREATE TEMP TABLE temp WITH (parallel_workers = 3) AS SELECT g FROM generate_series(1, 100000) g; CREATE INDEX ON temp USING snii (g)')->{workers},
	0, 'nor has a temporary one');

### errors

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION fails(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN IF id = 149500 THEN RAISE ''no row is like this one''; END IF; RETURN id; END';
CREATE FUNCTION fails_in_worker(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN IF (SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = ''parallel worker''
		AND random() < 0.001 THEN RAISE ''worker has failed''; END IF; RETURN id; END';
CREATE FUNCTION ends_worker(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN IF random() < 0.001 AND (SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = ''parallel worker''
		THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN id; END';
CREATE FUNCTION slow(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN IF id % 1000 = 0 THEN PERFORM pg_sleep(0.1); END IF; RETURN id; END';
SQL

sub leftovers
{
	return $node->safe_psql('postgres', <<'SQL');
SELECT (SELECT count(*) FROM pg_ls_tmpdir()), (SELECT count(*) FROM pg_class WHERE relname = 't_f'),
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker')
SQL
}

for my $case ([ 'fails', qr/no row is like this one/ ], [ 'fails_in_worker', qr/worker has failed/ ],
	[ 'ends_worker', qr/terminating .* due to administrator command/ ])
{
	my ($out, $err);
	$node->psql('postgres', "SET maintenance_work_mem = '1MB'; CREATE INDEX t_f ON t USING snii ($case->[0](id))", stderr => \$err);
	like($err, $case->[1], "$case->[0]() fails the build");
	is(leftovers(), '0|0|0', '... and leaves nothing');
}
my $slow = { out => '', err => '' };
$slow->{h} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'CREATE INDEX t_f ON t USING snii (slow(id))' ],
	'<', '/dev/null', '>', \$slow->{out}, '2>', \$slow->{err});
ok($node->poll_query_until('postgres', 'SELECT sum(documents) > 0 FROM snii_progress'), 'progress is shown');
my $cancelled = '';
for (1 .. 600)
{
	usleep(100_000);
	$cancelled = $node->safe_psql('postgres', <<'SQL');
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%t_f%' AND backend_type = 'client backend' AND pid <> pg_backend_pid()
	AND EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'parallel worker')
SQL
	last if $cancelled ne '';
}
$slow->{h}->finish;
like($slow->{err}, qr/canceling statement/, 'a build is cancelled');
is(leftovers(), '0|0|0', '... and leaves nothing');

# no worker is to be had
$node->safe_psql('postgres', 'ALTER SYSTEM SET max_parallel_workers = 0; SELECT pg_reload_conf()');
is(build('SELECT pg_sleep(0.1)', 'CREATE INDEX t_w ON t USING snii (u, id)')->{documents} > 0, 1, 'without workers, one process builds');
check_indexes($node, name => 'all indexes are sound');
$node->stop;
done_testing();
