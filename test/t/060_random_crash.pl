# kill -9 at random moments under mixed load with a small write buffer: after
# each recovery every index is sound, has every row, and answers as a
# sequential scan does; and what was committed is there.
#
#	SNII_SEED=n		another seed
#	SNII_ROUNDS=n	more rounds
#	SNII_STATE=file	remember seed and rounds done there, and go on behind them
#					when run again; SNII_ROUNDS counts all of them

use strict;
use warnings;

use Digest::MD5 qw(md5);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(usleep);

my $seed = $ENV{SNII_SEED} || 4711;
my $rounds = $ENV{SNII_ROUNDS} || 20;
my $done = 0;
my $state = $ENV{SNII_STATE};
if (defined $state && -s $state)
{
	slurp_file($state) =~ /^seed (\d+) rounds (\d+)$/m or die "$state is no state of this test";
	($seed, $done) = ($1, $2);
}
plan skip_all => "$done rounds of seed $seed are done" if $done >= $rounds;
note "seed $seed, from round ", $done + 1;

# Written anew and renamed, so that it is never half a file.
sub remember
{
	my ($round) = @_;
	return if !defined $state;
	open my $fh, '>', "$state.new" or die "$state.new: $!";
	print $fh "seed $seed rounds $round\n";
	close $fh or die $!;
	rename "$state.new", $state or die "$state: $!";
	return;
}

my $node = snii_cluster('killed', conf => <<'CONF');
snii.buffer_limit = 256
checkpoint_timeout = 30s
max_wal_size = 64MB
min_wal_size = 32MB
shared_buffers = 4MB
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE k (id bigserial, n int, body text, title text);
CREATE INDEX k_i ON k USING snii (body, title);
CREATE INDEX k_p ON k USING snii (body) WITH (analyzer = whitespace) WHERE n % 2 = 0;
CREATE UNIQUE INDEX k_id ON k USING snii (id);
CREATE INDEX k_md ON k USING snii (n DESC, md5(body) text_key_ops) INCLUDE (title);
INSERT INTO k (n, body, title) SELECT g, 'start common term' || g % 20 || ' ' || md5(g::text), 'T ' || g % 3 FROM generate_series(1, 3000) g;
SQL
my $dir = $node->basedir;
append_to_file("$dir/rows.sql", <<'SQL');
\set n random(1, 3000)
INSERT INTO k (n, body, title) SELECT :n, 'row common term' || :n % 20 || ' ' || md5(random()::text) || ' ' || md5(random()::text), CASE WHEN :n % 5 = 0 THEN NULL ELSE 'T ' || :n % 3 END FROM generate_series(1, 20);
DELETE FROM k WHERE id IN (SELECT id FROM k ORDER BY id LIMIT 15);
UPDATE k SET body = body || ' changed' WHERE id = (SELECT max(id) FROM k WHERE n = :n);
SQL
append_to_file("$dir/large.sql", <<'SQL');
INSERT INTO k (n, body) SELECT 7, 'large common ' || string_agg('tok' || g || md5(random()::text), ' ') FROM generate_series(1, 3000) g;
\sleep 200 ms
DELETE FROM k WHERE n = 7 AND id < (SELECT max(id) - 100 FROM k);
SQL
append_to_file("$dir/maintain.sql", <<'SQL');
SELECT snii_flush('k_i');
SELECT snii_merge('k_p');
VACUUM k;
SELECT snii_flush('k_p');
SELECT snii_merge('k_i');
SELECT snii_flush('k_md');
SELECT snii_merge('k_id');
CHECKPOINT;
\sleep 50 ms
SQL
append_to_file("$dir/reindex.sql", <<'SQL');
REINDEX INDEX CONCURRENTLY k_p;
\sleep 500 ms
SQL

my @where = ("body ||| 'common'", "body &&& 'common term7'", "body ### 'row common'", "body @@@ 'common NOT changed'",
	'title IS NULL', "title &&& 't 2'", 'id > 3000 AND id % 3 = 0', 'n = ANY (ARRAY[7, 500, 1000, 2999])',
	'n < 100 AND n > 50', "body ||| 'large'", "body ||| 'start'");
my @partial = map { "$_ AND n % 2 = 0" } ("body ||| 'common'", "body @@@ 'changed NOT large'");
for my $round ($done + 1 .. $rounds)
{
	srand(unpack 'N', md5("$seed $round"));
	my @jobs;
	for my $job ([ 'rows', 3 ], [ 'large', 1 ], [ 'maintain', 1 ], $round % 2 ? [ 'reindex', 1 ] : ())
	{
		my ($name, $clients) = @$job;
		my ($out, $err) = ('', '');
		push @jobs, IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-T', 60, '-f', "$dir/$name.sql",
			'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err);
	}
	my $wait = 100 + int rand 1000;
	usleep(1000 * $wait);
	# the last commit that a client heard of
	my $sure = $node->safe_psql('postgres', "INSERT INTO k (n, body) VALUES (0, 'sure round$round') RETURNING 1");
	usleep(1000 * int rand 200);
	# with the pool of a preloaded library, or with dynamic workers
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '" . ($round % 4 < 2 ? 'snii' : '') . "'");
	crash($node);
	$_->finish for @jobs;

	my @faults;
	for my $index (split /\n/, $node->safe_psql('postgres', "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'k'::regclass AND indisvalid"))
	{
		my ($rc, $out, $err) = $node->psql('postgres', "SELECT snii_check('$index', true)");
		push @faults, "$index: $err" if $rc != 0;
	}
	push @faults, different_answers($node, table => 'k', where => [ @where, @partial ], plan => 0);
	my $rows = $node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM k WHERE body ### 'sure round$round'");
	push @faults, "the row that was committed is found $rows times" if $rows != 1;
	# what a REINDEX CONCURRENTLY left
	for my $left (split /\n/, $node->safe_psql('postgres', "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'k'::regclass AND NOT indisvalid"))
	{
		my ($rc, $out, $err) = $node->psql('postgres', "DROP INDEX $left");
		push @faults, "dropping $left: $err" if $rc != 0;
	}
	ok(!@faults, "round $round, killed after $wait ms");
	diag("seed $seed\n$_") for @faults;
	BAIL_OUT("round $round of seed $seed failed") if @faults && defined $state;
	remember($round);
	# many rounds shall not take ever longer
	$node->safe_psql('postgres', 'DELETE FROM k WHERE id <= (SELECT max(id) - 8000 FROM k)') if $round % 10 == 0;
}
note $node->safe_psql('postgres', "SELECT count(*) FROM k") . ' rows';
note $node->safe_psql('postgres', "SELECT * FROM snii_segments('k_i')");

# Nothing that crashes left behind is lost for good: after VACUUM each page has
# an owner (snii_check says so), and a second round of work needs no more room.
$node->safe_psql('postgres', 'VACUUM k');
check_indexes($node);
all_dead_marked($node, 'k', 'k_i');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted|inconsistent page|terminated by signal (4|6|7|8|11)/, 'the log is free of faults');
$node->stop;
done_testing();
