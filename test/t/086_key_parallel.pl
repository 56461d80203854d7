# Parallel scans of key indexes while the index changes: within one snapshot
# they give what one process gives, whatever is inserted, deleted, flushed, merged and
# vacuumed between the participants' looks at the directory; several
# participants take part.
#
# SNII_SEED gives other queries, SNII_ROUNDS more of them.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seed = $ENV{SNII_SEED} || 86;
my $rounds = $ENV{SNII_ROUNDS} || 24;
note "SNII_SEED=$seed SNII_ROUNDS=$rounds";

my $node = snii_cluster('key_parallel', conf => <<'CONF');
max_worker_processes = 24
max_parallel_workers = 16
snii.buffer_limit = '256kB'
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_index_scan_size = 0
min_parallel_table_scan_size = 0
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE m (id int, k uuid, a int, v int) WITH (parallel_workers = 3);
CREATE UNIQUE INDEX m_k ON m USING snii (k);
CREATE INDEX m_a ON m USING snii (a, id) INCLUDE (v);
CREATE FUNCTION costly(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 AS
	'BEGIN IF $1 % 500 = 0 THEN PERFORM pg_sleep(0.05); END IF; RETURN $1 IS NOT NULL; END';
-- quick, though it is said not to be; true but for 0
CREATE FUNCTION worth_it(int) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS 'int4_bool';
INSERT INTO m SELECT g, md5(g::text)::uuid, g % 17, 0 FROM generate_series(1, 20000) g;
VACUUM ANALYZE m;
SQL

### several processes return rows

for my $case ([ 'k', 'SELECT count(*) FROM m WHERE k IS NOT NULL AND costly(id)', 'Index Scan' ],
	[ 'a range', 'SELECT count(*) FROM m WHERE a > 2 AND costly(id)', 'Index Only Scan' ],
	[ 'keys', 'SELECT count(*) FROM m WHERE k = ANY (ARRAY(SELECT md5(g::text)::uuid FROM generate_series(1, 9000) g)) AND costly(id)', 'Index Scan' ])
{
	my $plan = $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 3;
SET parallel_leader_participation = off;
EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) $case->[1]
SQL
	like($plan, qr/Parallel $case->[2] using/, "$case->[0]: a parallel scan");
	my ($launched) = $plan =~ /Workers Launched: (\d+)/;
	is($launched, 3, '... with workers');
	my ($scan) = $plan =~ /(Parallel $case->[2] using.*)/s;
	my @rows = $scan =~ /Worker \d+: +actual rows=(\d+)/g;
	cmp_ok(scalar(grep { $_ > 0 } @rows), '>=', 2, '... of which some return rows') or diag($plan);
}

### while the index changes

my $stop = $node->basedir . '/stop';
sub background
{
	my ($sql, $sleep) = @_;
	my $run = { out => '', err => '' };
	# Statements of its own each: VACUUM takes no block.
	$run->{h} = IPC::Run::start([ 'sh', '-c',
			'while [ ! -e "$1" ]; do printf "%s\n" "$2"; sleep "$3"; done | psql -XAtq -v ON_ERROR_STOP=1 -d "$4"', 'sh', $stop, $sql,
			$sleep, $node->connstr('postgres') ], '<', '/dev/null', '>', \$run->{out}, '2>', \$run->{err});
	return $run;
}

my @runs = (
	background("INSERT INTO m SELECT (random() * 1e9)::int, gen_random_uuid(), (random() * 17)::int, 1 FROM generate_series(1, 300);", 0.3),
	background("DELETE FROM m WHERE ctid = ANY (ARRAY(SELECT ctid FROM m TABLESAMPLE SYSTEM (4) WHERE id % 3 = 0));", 0.2),
	background("UPDATE m SET a = (a + 5) % 19 WHERE ctid = ANY (ARRAY(SELECT ctid FROM m TABLESAMPLE SYSTEM (2)));", 0.2),
	background("SELECT count(snii_flush(i)) FROM unnest('{m_k,m_a}'::regclass[]) i;", 0.3),
	background("SELECT count(snii_merge(i)) FROM unnest('{m_k,m_a}'::regclass[]) i;", 1),
	background("VACUUM (INDEX_CLEANUP on) m;", 0.3));

srand($seed);
my @queries = (
	sub { "SELECT k FROM m WHERE k > '" . sprintf('%08x', rand(2**32)) . "-0000-0000-0000-000000000000' AND worth_it(id) ORDER BY k" },
	sub { "SELECT k FROM m WHERE k < '" . sprintf('%08x', rand(2**32)) . "-0000-0000-0000-000000000000' AND worth_it(id) ORDER BY k DESC" },
	sub { "SELECT (a, id, v) FROM m WHERE a > " . int(rand(17)) . " AND worth_it(id) ORDER BY a, id" },
	sub { "SELECT (a, id) FROM m WHERE a < " . int(rand(17)) . " AND worth_it(id) ORDER BY a DESC, id DESC" },
	sub { "SELECT (a, id, v) FROM m WHERE a = ANY ('{" . join(',', map { int(rand(19)) } 1 .. 5) . "}') AND worth_it(id) ORDER BY a, id" },
	sub { "SELECT k FROM m WHERE k = ANY (ARRAY(SELECT md5(g::text)::uuid FROM generate_series(1, " . int(rand(20000)) . ") g)) AND worth_it(id) ORDER BY k" });
my %texts;
my $parallel = 0;
for my $round (1 .. $rounds)
{
	my $query = $queries[ $round % @queries ]->();
	my $all = "SELECT count(*) || ' ' || coalesce(md5(string_agg(q::text, ',')), '') FROM ($query) s(q)";
	my $out = $node->safe_psql('postgres', <<"SQL");
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
SET enable_indexscan = off; SET enable_indexonlyscan = off;
$all;
SET enable_indexscan = on; SET enable_indexonlyscan = on; SET enable_seqscan = off; SET enable_sort = off;
$all;
SET max_parallel_workers_per_gather = 3;
EXPLAIN (COSTS OFF) $all;
$all;
$all;
SQL
	my @lines = split /\n/, $out;
	my @answers = grep { /^\d+ \w*$/ } @lines;
	$parallel++ if $out =~ /Parallel Index/;
	if (@answers != 4 || grep { $_ ne $answers[0] } @answers)
	{
		$texts{$query} = $out;
		last if keys %texts > 3;
	}
}
is(join('', map { "$_: $texts{$_}\n" } sort keys %texts), '', "$rounds queries: all ways give the same rows in the same order");
is($parallel, $rounds, '... and all are parallel');
append_to_file($stop, 'now');
for my $run (@runs)
{
	$run->{h}->finish;
	is($run->{err}, '', 'the changes went on');
}
is($node->safe_psql('postgres', "SELECT snii_check(i, true) FROM unnest('{m_k,m_a}'::regclass[]) i"), "\n", 'the indexes are sound');
$node->stop;
done_testing();
