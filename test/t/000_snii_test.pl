# Proves that the helpers of SniiTest.pm find what they are for: each is shown
# a server that is well and one that is not. No snii index is needed.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('helpers', streaming => 1);
is($node->safe_psql('postgres', q(SELECT token FROM snii_analyze('standard', 'One'))),
	'one', 'snii_cluster: the extension is there');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int PRIMARY KEY, n int);
INSERT INTO t SELECT g, g % 10 FROM generate_series(1, 1000) g;
CREATE INDEX t_n ON t (n);
ANALYZE t;
SQL

same_answers($node, table => 't', where => [ 'n = 1', 'n < 3', 'n > 100' ],
	name => 'same_answers: equal answers pass');
my @differences = different_answers($node, table => 't', plan => 0,
	where => [ 'n = 1', "current_setting('enable_seqscan') = 'on'" ]);
is(scalar(@differences), 2, 'different_answers: another answer is found, once a way');
like($differences[0], qr/^bitmap: current_setting.*: 0 rows , by sequential scan 1000 rows/,
	'different_answers: and named');
@differences = different_answers($node, table => 't', where => ['id + n = 1'], ways => ['index']);
is("@differences", 'index: id + n = 1: the plan has no such scan',
	'different_answers: a plan without the index is found');

my $standby = snii_standby($node, 'standby');
$node->safe_psql('postgres', 'INSERT INTO t VALUES (5000, 1)');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t'), '1001', 'snii_standby: it follows');
$standby->stop;

my $session = $node->background_psql('postgres');
crash($node);
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '1001', 'crash: the server is back');
like(slurp_file($node->logfile), qr/automatic recovery in progress/, 'crash: after recovery');
eval { $session->quit; };

my $bytes = read_block($node, 't', 0);
is(length($bytes), 8192, 'read_block: a whole block');
fails_as_corrupted($node, 'SELECT 1/0', sqlstate => '22012', name => 'fails_as_corrupted: an error of that code');
corrupt_block($node, 't', 2, 0, "\xff" x 24);
fails_as_corrupted($node, 'SET enable_indexscan = off; SELECT sum(n) FROM t', block => 2,
	sqlstate => 'XX001', name => 'corrupt_block: reading a damaged block fails');
is(block_count($node, 't'), 5, 'block_count');
my $ok = eval { corrupt_block($node, 't', 99, 0, 'x'); 1 };
ok(!$ok, 'corrupt_block: there must be such a block');

$node->stop;
done_testing();
