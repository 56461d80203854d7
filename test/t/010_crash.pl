# Acceptance cases by index and by sequential scan, in the
# write buffer, flushed, merged and rebuilt, each before and after kill -9.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('crash');

# What is asked of each table: predicate and the ids that match.
my %cases = (
	# phrases over all ordered pairs of letters
	pairs => [
		[ "body ### 'a b'", '2' ],
		[ "body ### 'b a'", '27' ],
		[ "body ### 'a a'", '1' ],
		[ "body ### 'z z'", '676' ],
		[ "body &&& 'a b'", '2,27' ],
		[ "body @@@ 'a AND NOT b' AND id < 5", '1,3,4' ],
		[ "body @@@ '\"a b\" OR \"b a\"'", '2,27' ],
	],
	# three-valued logic
	logic => [
		[ "body ||| 'blue'", '1' ],
		[ "NOT (body ||| 'blue')", '2,4' ],
		[ "(body ||| 'blue') IS NULL", '3' ],
		[ "body ||| ''", '' ],
		[ 'body IS NULL', '3' ],
		[ 'body IS NOT NULL', '1,2,4' ],
	],
	# no cliff of size
	size => [
		[ "body ### 'w19998 w19999'", '1' ],
		[ "body ### 'w2 w3'", '1,2' ],
		[ "body ### 'w17000 w19999'", '' ],
		[ "body ### 'x z'", '3' ],
		[ "body ### 'z x'", '' ],
		[ "body ### 'tok249999 tok250000'", '4' ],
		[ "body ### 'tok250000 tok249999'", '' ],
		[ "body ||| 'tail'", '5' ],
		[ "body @@@ 'tail NOT x'", '5' ],
	],
	# an emptied term whose rows' places are used again
	reuse => [
		[ "body ||| 'doomed'", '' ],
		[ "body &&& 'fresh 10'", '20010' ],
		[ "body ### 'keep 999'", '999' ],
		[ "body @@@ 'doomed OR \"fresh 4999\"'", '24999' ],
	],
	# rows that a transaction did not commit before the crash
	lost => [
		[ "body ||| 'lost'", '' ],
		[ "body ||| 'kept'", '1,2' ],
	],
);

sub sql { return $node->safe_psql('postgres', $_[0]); }

# verify(WHEN): every case by every way. One test a table.
sub verify
{
	my ($when) = @_;
	my %way = (
		'sequential scan' => 'SET enable_indexscan = off; SET enable_bitmapscan = off;',
		'index scan' => 'SET enable_seqscan = off; SET enable_bitmapscan = off;',
		'bitmap scan' => 'SET enable_seqscan = off; SET enable_indexscan = off;');
	for my $table (sort keys %cases)
	{
		my @faults;
		for my $way (sort keys %way)
		{
			my $sql = $way{$way};
			$sql .= "SELECT coalesce(string_agg(id::text, ',' ORDER BY id), '') FROM $table WHERE $_->[0];\n"
			  for @{ $cases{$table} };
			my ($rc, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 0);
			my @got = split /\n/, $out, -1;
			for my $i (0 .. $#{ $cases{$table} })
			{
				my ($where, $want) = @{ $cases{$table}[$i] };
				my $got = $got[$i];
				push @faults, "$way: $where: " . ($got // "nothing, $err")
				  if !defined $got || $got ne $want;
			}
		}
		ok(!@faults, "$table, $when");
		diag($_) for @faults;
	}
	my $counts = sql("SELECT (SELECT count(*) FROM reuse WHERE body ||| 'fresh'), (SELECT count(*) FROM reuse WHERE body ||| 'keep'), (SELECT count(*) FROM pairs WHERE body @@@ 'a NOT b'), (SELECT count(*) FROM pairs WHERE NOT body ||| 'a')");
	is($counts, '5000|1000|49|625', "counts, $when");
	return;
}

sub check
{
	my ($when) = @_;
	my @faults;
	for my $table (sort keys %cases)
	{
		my ($rc, $out, $err) = $node->psql('postgres', "SELECT snii_check('${table}_i', true)");
		push @faults, $err if $rc != 0;
	}
	ok(!@faults, "snii_check, $when");
	diag($_) for @faults;
	return;
}

# each(FUNCTION): call it for every index.
sub each_index { sql("SELECT $_[0]('${_}_i')") for sort keys %cases; return; }

sql(<<"SQL") for sort keys %cases;
CREATE TABLE $_ (id int, body text);
CREATE INDEX ${_}_i ON $_ USING snii (body);
SQL
sql('CREATE UNLOGGED TABLE unlogged (id int, body text); CREATE INDEX unlogged_i ON unlogged USING snii (body)');

# The emptied term, its rows in the write buffer when VACUUM comes.
sql("INSERT INTO reuse SELECT g, 'keep ' || g FROM generate_series(1, 1000) g");
sql("INSERT INTO reuse SELECT 10000 + g, 'doomed ' || g FROM generate_series(1, 5000) g");
my $old = sql("SELECT min(ctid) FROM reuse WHERE id > 10000");
sql("DELETE FROM reuse WHERE id > 10000");
sql('VACUUM reuse');
is(sql("SET enable_seqscan = off; SELECT count(*) FROM reuse WHERE body ||| 'doomed'"), '0',
	'no row of the emptied term');
# once more, its rows in a segment
sql("INSERT INTO reuse SELECT 10000 + g, 'doomed ' || g FROM generate_series(1, 5000) g");
sql("SELECT snii_flush('reuse_i')");
sql('DELETE FROM reuse WHERE id > 10000');
sql('VACUUM reuse');
sql("INSERT INTO reuse SELECT 20000 + g, 'fresh ' || g FROM generate_series(1, 5000) g");
is(sql("SELECT min(ctid) <= '$old'::tid FROM reuse WHERE id > 20000"), 't', 'the rows took the places of the old ones');

sql("INSERT INTO pairs SELECT 26 * (x - 97) + y - 96, chr(x) || ' ' || chr(y) FROM generate_series(97, 122) x, generate_series(97, 122) y WHERE x < 110");
sql("INSERT INTO logic VALUES (1, 'blue'), (2, 'red')");
sql("INSERT INTO size SELECT 1, string_agg('w' || g, ' ' ORDER BY g) FROM generate_series(1, 20000) g");
sql("INSERT INTO size VALUES (2, 'w1 w2 w3'), (3, repeat('x y ', 300) || 'x z')");
sql("INSERT INTO lost VALUES (1, 'kept')");
sql("SELECT snii_flush('pairs_i'), snii_flush('logic_i'), snii_flush('lost_i')");
sql("INSERT INTO pairs SELECT 26 * (x - 97) + y - 96, chr(x) || ' ' || chr(y) FROM generate_series(97, 122) x, generate_series(97, 122) y WHERE x >= 110");
sql("INSERT INTO logic VALUES (3, NULL), (4, '')");
sql("INSERT INTO size SELECT 4, string_agg('tok' || g, ' ' ORDER BY g) FROM generate_series(1, 250000) g");
sql("INSERT INTO size VALUES (5, repeat('q', 3000) || ' tail')");
sql("INSERT INTO lost VALUES (2, 'kept')");
sql("INSERT INTO unlogged SELECT g, 'word ' || g FROM generate_series(1, 1000) g");

verify('in the buffer');
check('in the buffer');

# A transaction under way leaves its rows behind, in the buffer and flushed.
my $session = $node->background_psql('postgres');
$session->query_safe("BEGIN; INSERT INTO lost SELECT g, 'lost ' || g FROM generate_series(100, 2000) g;");
$session->query_safe("SELECT snii_flush('lost_i'); INSERT INTO lost SELECT g, 'lost ' || g FROM generate_series(2001, 2100) g;");
crash($node);
eval { $session->quit };

verify('in the buffer, after a crash');
check('in the buffer, after a crash');
is(sql("SET enable_seqscan = off; SELECT count(*) FROM unlogged WHERE body ||| 'word'"), '0', 'the unlogged index is empty after a crash');
sql("INSERT INTO unlogged VALUES (1, 'word again')");
is(sql("SET enable_seqscan = off; SELECT count(*) FROM unlogged WHERE body ||| 'word'"), '1', 'and works');
is(sql("SELECT snii_check('unlogged_i', true)"), '', 'and is sound');

for my $step (
	[ 'flush', sub { each_index('snii_flush') } ],
	[ 'merge', sub { each_index('snii_merge') } ],
	[ 'VACUUM', sub { sql('VACUUM') } ],
	[ 'REINDEX', sub { sql("REINDEX INDEX ${_}_i") for sort keys %cases } ])
{
	my ($name, $sub) = @$step;
	$sub->();
	verify("after $name");
	crash($node);
	verify("after $name and a crash");
	check("after $name and a crash");
}
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|inconsistent page/, 'the log is free of faults');
$node->stop;
done_testing();
