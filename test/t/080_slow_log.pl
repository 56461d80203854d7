# snii.log_min_duration: one line for each flush, merge, VACUUM, recycling and
# large insertion that is slow, with what its time went to; none for others.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('slow_log', conf => 'snii.workers = off');
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE slow (id int, body text);
	CREATE INDEX slow_idx ON slow USING snii (body);
	SQL

# New lines of the log that snii wrote, as hashes of their parts.
my $offset = -s $node->logfile;

sub new_lines
{
	my $log = slurp_file($node->logfile, $offset);
	$offset = -s $node->logfile;
	my @lines;
	foreach my $line ($log =~ /LOG:  (snii .* took .*)$/mg)
	{
		my ($what) = $line =~ /^snii ([a-z ]+) of index "slow_idx"/
		  or BAIL_OUT("unexpected line in the log: $line");
		my %parts = (what => $what, line => $line);
		($parts{total}) = $line =~ /took ([0-9.]+) ms/;
		$parts{$2} = $1 while $line =~ /([0-9]+) ([a-z]+)[,;]/g;
		$parts{$1} = $2 while $line =~ /([a-z]+) ([0-9]+\.[0-9]+)/g;
		push @lines, \%parts;
	}
	return @lines;
}

# Run statements with a limit; the lines that they left.
sub run
{
	my ($limit, $statements) = @_;
	$node->safe_psql('postgres',
		"LOAD 'snii'; SET snii.log_min_duration = $limit; $statements");
	return new_lines();
}

my $insert = q{INSERT INTO slow SELECT i, 'w' || i % 100 || ' x' || i
	FROM generate_series(1, 5000) i;};
my $flush = q{SELECT snii_flush('slow_idx');};
my $merge = q{SELECT snii_merge('slow_idx');};
my $large = q{INSERT INTO slow SELECT 1, string_agg('w' || i, ' ')
	FROM generate_series(1, 60000) i;};

# Phases add up to the whole, but for rounding.
sub adds_up
{
	my ($line, $name, @phases) = @_;
	my $sum = 0;
	$sum += $line->{$_} foreach @phases;
	ok(abs($sum - $line->{total}) < 0.01,
		"$name: phases add up: $line->{line}");
}

my @lines = run(0, $insert . $flush);
is($lines[0]{what}, 'flush', 'a flush is logged');
is($lines[0]{inputs}, 1, 'flush: stretches');
is($lines[0]{documents}, 5000, 'flush: documents');
cmp_ok($lines[0]{bytes}, '>', 8192, 'flush: bytes');
adds_up($lines[0], 'flush', qw(waited read built written published));
ok($lines[0]{built} > 0, 'flush: building takes time');
ok($lines[0]{written} > 0, 'flush: writing takes time');

@lines = run(0, $insert . $flush . $merge);
is_deeply([ grep { $_ ne 'recycling' } map { $_->{what} } @lines ],
	[ 'flush', 'merge' ], 'a merge is logged');
my ($line) = grep { $_->{what} eq 'merge' } @lines;
is($line->{inputs}, 2, 'merge: segments');
is($line->{documents}, 10000, 'merge: documents');
adds_up($line, 'merge', qw(waited read merged written published));
($line) = grep { $_->{what} eq 'recycling' } @lines;
ok(defined $line && $line->{line} =~ /: [1-9][0-9]* pages$/,
	'recycling is logged with what it freed');

# VACUUM, as it is and slowed down
$node->safe_psql('postgres', 'DELETE FROM slow WHERE id % 10 = 0');
@lines = run(0, '');
is(scalar(@lines), 0, 'nothing was done, nothing is logged');
$node->safe_psql('postgres', 'VACUUM slow');
is(scalar(new_lines()), 0, 'what is fast is not logged');
$node->safe_psql('postgres', 'DELETE FROM slow WHERE id % 10 = 1');
@lines = run(0, 'SET vacuum_cost_delay = 1; SET vacuum_cost_limit = 1; VACUUM slow');
($line) = grep { $_->{what} eq 'vacuum' } @lines;
ok(defined $line, 'VACUUM is logged');
is($line->{documents}, 1000, 'VACUUM: documents that died');
adds_up($line, 'VACUUM', qw(waited read tested written));
ok($line->{waited} >= 1, 'VACUUM: the throttle counts as waiting');

@lines = run(0, $large);
is($lines[0]{what}, 'large insertion', 'a large insertion is logged');
is($lines[0]{documents}, 1, 'large insertion: documents');
adds_up($lines[0], 'large insertion', qw(waited read built written));

# limits
is(scalar(run(60000, $insert . $flush . $merge)), 0, 'nothing is slow');
is(scalar(run(-1, $insert . $flush . $merge)), 0, 'never is never');
is( $node->safe_psql('postgres', q{LOAD 'snii'; SHOW snii.log_min_duration}),
	'1min', 'default');
my ($rc, $out, $err) = $node->psql('postgres',
	q{LOAD 'snii'; CREATE ROLE other; SET ROLE other; SET snii.log_min_duration = 0});
like($err, qr/permission denied to set parameter/, 'only for superusers');

# Look-ups of many keys.
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE keys AS SELECT i * 2 AS id FROM generate_series(1, 20000) i;
	CREATE INDEX keys_idx ON keys USING snii (id);
	SQL
my $keys = q{SET enable_seqscan = off; SET enable_bitmapscan = off;
	SELECT count(*) FROM keys WHERE id = ANY (ARRAY(SELECT generate_series(1, 3000)));};
my $one = q{SET enable_seqscan = off; SELECT count(*) FROM keys WHERE id = 8;};

sub multigets
{
	my ($limit, $statements) = @_;
	my $from = -s $node->logfile;
	$node->safe_psql('postgres',
		"LOAD 'snii'; SET snii.log_min_duration = $limit; $statements");
	return slurp_file($node->logfile, $from) =~ /LOG:  (snii multi-get .*)$/mg;
}

$node->restart;
my @multigets = multigets(0, $keys);
is(scalar @multigets, 1, 'a look-up of many keys is logged once');
like($multigets[0],
	qr/of index "keys_idx" took [0-9.]+ ms: 3000 keys, \d+ batches, 1500 entries, \d+ pages, [1-9]\d* misses; waited/,
	'keys, entries and pages that had to be read');
my %phases = $multigets[0] =~ /(waited|read|filtered|searched) ([0-9.]+)/g;
my ($took) = $multigets[0] =~ /took ([0-9.]+)/;
my $sum = 0;
$sum += $_ foreach values %phases;
is(scalar keys %phases, 4, 'four phases');
ok(abs($sum - $took) < 0.01, "phases add up: $multigets[0]");
ok($phases{read} > 0, 'reading pages takes time');
is_deeply([ multigets(0, $one) ], [], 'the look-up of one key is not');
is_deeply([ multigets(60000, $keys) ], [], 'a fast one is not');
is_deeply([ multigets(-1, $keys) ], [], 'nothing is with -1');

$node->stop;
done_testing();
