# No more room: a file of the index cannot grow beyond a limit (RLIMIT_FSIZE
# of one backend, later of the whole server), at random places of insertions,
# flushes, merges and VACUUM. Each fails with an error or is done; the index
# stays well, and goes on when there is room again. The same for temporary
# files of a build.
#
#	SNII_SEED=n		another seed
#	SNII_ROUNDS=n	more rounds

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $seed = $ENV{SNII_SEED} || 77;
my $rounds = $ENV{SNII_ROUNDS} || 35;
plan skip_all => 'there is no prlimit here' if system('prlimit --version >/dev/null 2>&1') != 0;
note "seed $seed";
srand($seed);

# Files of the WAL must stay below the limits. The buffers hold everything, so
# that no backend has to write a page of the table.
my $node = snii_cluster('full', extra => ['--wal-segsize=1'], conf => <<'CONF');
snii.workers = off
snii.buffer_limit = 256
shared_buffers = 160MB
checkpoint_timeout = 1h
bgwriter_delay = 10ms
wal_consistency_checking = ''
CONF
# The table has room for all that comes later, its index has none.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE f (id bigserial, n int, body text);
ALTER TABLE f ALTER body SET STORAGE MAIN;
INSERT INTO f (n, body) SELECT g, 'common start w' || g % 50 || ' ' || md5(g::text) || ' ' || md5((-g)::text) FROM generate_series(1, 14000) g;
INSERT INTO f (n, body) SELECT -1, repeat('gone ', 1000) FROM generate_series(1, 1000);
INSERT INTO f (n, body) SELECT -1, md5(h::text) || (SELECT string_agg(md5((g * h)::text), ' ') FROM generate_series(1, 200) g) FROM generate_series(1, 4000) h;
INSERT INTO f (n, body) VALUES (14001, 'common start last');
DELETE FROM f WHERE n < 0;
VACUUM f;
CREATE INDEX f_i ON f USING snii (body);
CREATE INDEX f_key ON f USING snii (md5(body) text_key_ops);
SQL
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('f_i')"), '>', 1 << 20, 'the index is larger than a file of the WAL');

my $many = 20000;
sub insertion
{
	my ($rows, $words) = @_;
	$many += $rows;
	return "INSERT INTO f (n, body) SELECT g, 'common row w' || g % 50 || ' ' || (SELECT string_agg(md5((g * 1000 + h)::text), ' ') FROM generate_series(1, $words) h) FROM generate_series($many, $many + $rows - 1) g";
}
my $words = sub { my ($n) = @_; return "INSERT INTO f (n, body) SELECT $many, 'common row ' || string_agg(left(md5(g::text), 6), ' ') FROM generate_series(1, $n) g" };
# What is done with room, and then without.
my @work = (
	[ flush => sub { insertion(150, 15) }, sub { "SELECT snii_flush('f_i')" } ],
	[ merge => sub { insertion(100, 10) . "; SELECT snii_flush('f_i')" }, sub { "SELECT snii_merge('f_i')" } ],
	[ insertion => sub { 'SELECT' }, sub { insertion(300, 20) } ],
	[ helping => sub { insertion(80, 20) }, sub { insertion(200, 60) } ],
	[ large => sub { 'SELECT' }, sub { $words->(3500) } ],
	[ VACUUM => sub { insertion(150, 15) . '; DELETE FROM f WHERE n % 5 = 0 AND n > 14001' }, sub { 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) f' } ],
	[ 'flush and merge' => sub { insertion(150, 15) }, sub { "DO \$\$ BEGIN BEGIN PERFORM snii_flush('f_i'); EXCEPTION WHEN others THEN PERFORM snii_merge('f_i'); END; END \$\$" } ],
);
my @where = ("body ||| 'common'", "body &&& 'common w7'", "body ### 'row w11'", "body @@@ 'common NOT w3'", "body ||| 'start'");

sub limit
{
	my ($pid, $bytes) = @_;
	system_or_bail('prlimit', '--pid', $pid, "--fsize=$bytes:unlimited");
	return;
}

my (%failed, %done, %grows, @faults);
for my $round (1 .. $rounds)
{
	my ($name, $before, $during) = @{ $work[ $round % @work ] };
	# a file without free pages
	$node->safe_psql('postgres', $_) for 'DELETE FROM f WHERE n > 14001', 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) f', 'REINDEX INDEX f_i', $before->(), 'CHECKPOINT';
	my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('f_i')");
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query("SELECT pg_backend_pid()");
	# how much it takes is known from the first time
	my $limit = exists $grows{$name} ? $size + int rand $grows{$name} : 1 << 30;
	limit($pid, $limit);
	my $sql = $during->();
	$session->query("$sql\n;");
	my $state = $session->query('\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE');
	limit($pid, 'unlimited');
	$session->quit;
	if ($state =~ /^00000/) { $done{$name}++; }
	elsif ($state =~ /could not (extend|write)|File too large/) { $failed{$name}++; }
	else { push @faults, "round $round: $name fails with $state"; }
	my $full = $node->safe_psql('postgres', "SELECT pg_relation_size('f_i')");
	$grows{$name} //= $full - $size;
	push @faults, "round $round: the file has $full bytes, the limit was $limit" if $full > $limit && $full > $size;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT snii_check('f_i', true)");
	push @faults, "round $round, $name: snii_check: $err" if $rc != 0;
	push @faults, map { "round $round, $name: $_" } different_answers($node, table => 'f', where => \@where, plan => 0) if $round % 4 == 0;
	# there is room again
	($rc, $out, $err) = $node->psql('postgres', $sql);
	push @faults, "round $round, $name, with room: $err" if $rc != 0;
	($rc, $out, $err) = $node->psql('postgres', "SELECT snii_flush('f_i'); SELECT snii_merge('f_i'); SELECT snii_check('f_i', true)");
	push @faults, "round $round, $name, with room: $err" if $rc != 0;
	last if @faults > 5;
}
is(join("\n", @faults), '', "$rounds times without room leave the index well");
note "$_: takes $grows{$_} bytes; " . ($failed{$_} || 0) . ' failed, ' . ($done{$_} || 0) . ' not' for map { $_->[0] } @work;
cmp_ok($failed{$_} || 0, '>', 0, "without room: $_") for grep { $_ ne 'VACUUM' && $_ ne 'flush and merge' } map { $_->[0] } @work;
same_answers($node, table => 'f', where => \@where);

# ----- temporary files -----------------------------------------------------------

my %builds = (failed => 0, done => 0);
for my $kb (0, 50, 200, 600, 1200, 2500, 100_000)
{
	my ($rc, $out, $err) = $node->psql('postgres', "SET maintenance_work_mem = '1MB'; SET max_parallel_maintenance_workers = 0; SET temp_file_limit = $kb; REINDEX INDEX f_i");
	push @faults, "build with $kb kB: $err" if $rc != 0 && $err !~ /temporary file size exceeds/;
	$builds{ $rc == 0 ? 'done' : 'failed' }++;
}
note "builds: $builds{failed} failed, $builds{done} not";
cmp_ok($builds{failed}, '>', 0, 'builds without room for temporary files fail');
cmp_ok($builds{done}, '>', 0, 'and others do not');
is(join("\n", @faults), '', 'for no other reason');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_ls_tmpdir()"), '0', 'no temporary file is left');
is($node->safe_psql('postgres', "SELECT snii_check('f_i', true)"), '', 'the index is well');

# ----- the whole server, with workers ----------------------------------------------

$node->safe_psql('postgres', $_) for 'DELETE FROM f WHERE n > 14001', 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) f', 'REINDEX INDEX f_i';
$node->append_conf('postgresql.conf', "snii.workers = on\nshared_preload_libraries = 'snii'\n");
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_prewarm; SELECT pg_prewarm(\'f\')');
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('f_i')");
my $offset = -s $node->logfile;
sub workers { return split /\n/, $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'snii%'"); }
limit($_, $size + 1_500_000) for $postmaster, workers();
append_to_file($node->basedir . '/load.sql', <<'SQL');
\set n random(20000, 1000000)
INSERT INTO f (n, body) SELECT :n, 'common row w' || :n % 50 || ' ' || (SELECT string_agg(md5((:n + g * 100 + h)::text), ' ') FROM generate_series(1, 20) h) FROM generate_series(1, 10) g;
SQL
# clients end at the first error, so there are many
my $until = time + 6;
my ($o, $e) = ('', '');
my $errors = 0;
while (time < $until)
{
	$o = $e = '';
	IPC::Run::run([ 'pgbench', '-n', '-c', 3, '-t', 60, '-f', $node->basedir . '/load.sql', '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$o, '2>', \$e);
	$errors++ while $e =~ /aborted/g;
	usleep(100_000);
}
my $log = slurp_file($node->logfile, $offset);
# those of background processes have no application in front
my $failures = () = $log =~ /^\S+ \S+ \S+ \[\d+\] ERROR:  /mg;
my $others = join "\n", grep { !/could not (extend|write)|File too large/ } $log =~ /(?:ERROR|FATAL|PANIC):  (.*)$/mg;
note "workers failed $failures times";
cmp_ok($errors, '>', 0, 'there was no room');
is($others, '', 'and no other error');
cmp_ok($failures, '>', 0, 'for workers, too');
cmp_ok($failures, '<', 4, 'and they do not try all the time');
like($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM f WHERE body ||| 'common'"), qr/^\d+$/, 'queries go on');
check_indexes($node, name => 'the index is well without room');
limit($_, 'unlimited') for $postmaster, workers();
# Inserters help while workers leave the index alone, which is for a minute:
# from three times the limit on, and a stretch may have been sealed since.
$node->safe_psql('postgres', insertion(400, 60));
cmp_ok($node->safe_psql('postgres', "SELECT buffer_sealed_bytes FROM snii_stats_of('f_i')"), '<=', 4 * 256 * 1024, 'inserters flush when there is room');
is($node->safe_psql('postgres', "SELECT snii_check('f_i', true)"), '', 'the index is well');
$node->restart;
$node->safe_psql('postgres', insertion(400, 60));
ok($node->poll_query_until('postgres', "SELECT buffer_sealed_bytes = 0 AND merge_debt = 0 FROM snii_stats_of('f_i')"), 'workers do what was left when there is room');
is($node->safe_psql('postgres', "SELECT snii_check('f_i', true)"), '', 'the index is well');
same_answers($node, table => 'f', where => \@where);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted|terminated by signal/, 'the log is free of faults');
$node->stop;
done_testing();
