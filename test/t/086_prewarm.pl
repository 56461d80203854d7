# snii_prewarm(): look-ups after it find their pages in shared buffers, on a
# standby, too.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('prewarm', streaming => 1,
	conf => "shared_preload_libraries = 'snii'\nshared_buffers = 64MB");
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE keys AS SELECT md5(i::text)::uuid AS id FROM generate_series(1, 100000) i;
	CREATE INDEX keys_idx ON keys USING snii (id);
	VACUUM ANALYZE keys;
	SQL
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('prewarm_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;

# Pages that look-ups of keys miss in a server that has just started: of keys
# that are there, or of some that are not.
sub misses
{
	my ($server, $warm, $keys) = @_;
	$server->restart;
	$server->safe_psql('postgres', $warm) if $warm;
	$server->safe_psql('postgres', <<~"SQL");
		SET enable_seqscan = off;
		SELECT count(*) FROM keys WHERE id = ANY (ARRAY(SELECT md5($keys)::uuid FROM generate_series(1, 300) i));
		SQL
	return $server->safe_psql('postgres', q{SELECT lookup_misses FROM snii_stats('keys_idx')});
}

foreach my $server ($node, $standby)
{
	my $name = $server->name;
	my $cold = misses($server, '', 'i::text');
	cmp_ok($cold, '>', 50, "$name: cold look-ups miss pages");
	is(misses($server, q{SELECT snii_prewarm('keys_idx', 'all')}, 'i::text'),
		0, "$name: none when all pages were read");
	my $filters = misses($server, q{SELECT snii_prewarm('keys_idx')}, q{'no' || i});
	cmp_ok($filters, '<', 20, "$name: few of absent keys when filters were");
	cmp_ok(misses($server, '', q{'no' || i}), '>', $filters + 5,
		"$name: more when they were not");
}

$standby->stop;
$node->stop;
done_testing();
