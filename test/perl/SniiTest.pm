# SniiTest.pm
#	  What the TAP tests of snii share, on top of PostgreSQL::Test::Cluster of
#	  PostgreSQL 15 to 18.
#
#	  my $node = snii_cluster('main');               started, extension created
#	  my $standby = snii_standby($node, 'standby');  streaming from $node
#	  same_answers($node, table => 'docs', where => [ "body ||| 'a'" ]);
#	  check_indexes($node);                          snii_check of each index
#	  all_dead_marked($node, 'docs', 'docs_idx');    VACUUM marked what is dead
#	  crash($node);                                  kill -9 and start again
#	  corrupt_block($node, 'docs_idx', 3, 100, "\xff" x 8);
#	  fails_as_corrupted($node, 'SELECT ...', index => 'docs_idx', block => 3);
#
# Functions that test (same_answers, check_indexes,
# all_dead_marked, fails_as_corrupted) take a
# name as "name" and make exactly one test each.

package SniiTest;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(snii_cluster snii_standby answers different_answers
  same_answers check_indexes all_dead_marked crash block_count read_block corrupt_block
  fails_as_corrupted);

our $BLCKSZ = 8192;

# Settings of a session that make the planner take one way to the rows.
my %WAY = (
	seqscan => 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;',
	bitmap => 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;',
	index => 'SET enable_seqscan = off; SET enable_bitmapscan = off;',
);

# snii_cluster(NAME, streaming => 1, conf => TEXT, extra => [options of
# initdb]): a started node with the extension in database postgres. Redo is compared with what was logged
# wherever it replays (wal_consistency_checking), autovacuum is off, and data
# checksums are too, so that corrupt_block reaches the code under test.
sub snii_cluster
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $help = `initdb --help`;
	my @extra = @{ $opt{extra} || [] };
	push @extra, '--no-data-checksums' if $help =~ /--no-data-checksums/;
	$node->init(allows_streaming => $opt{streaming} || 0, extra => \@extra);
	$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
jit = off
wal_consistency_checking = 'all'
max_prepared_transactions = 10
max_wal_size = 2GB
CONF
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION snii');
	return $node;
}

# snii_standby(PRIMARY, NAME, conf => TEXT): a started physical standby; the
# primary was made with streaming => 1.
sub snii_standby
{
	my ($primary, $name, %opt) = @_;
	my $backup = "backup_for_$name";
	$primary->backup($backup);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	$standby->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$standby->start;
	return $standby;
}

# answers(NODE, WAY, table => T, key => 'id', where => [PREDICATE...],
# dbname => 'postgres'): one string for each predicate, that tells how many
# rows match and which. WAY is seqscan, bitmap or index.
sub answers
{
	my ($node, $way, %opt) = @_;
	my $key = $opt{key} || 'id';
	my $sql = $WAY{$way} || die "no way is called $way";
	for my $where (@{ $opt{where} })
	{
		$sql .= "\nSELECT count(*) || ' rows ' || coalesce(md5(string_agg(($key)::text, ',' ORDER BY $key)), '') FROM $opt{table} WHERE $where;";
	}
	return split /\n/, $node->safe_psql($opt{dbname} || 'postgres', $sql);
}

# plan_uses(NODE, WAY, TABLE, PREDICATE, DBNAME): does the plan hold a scan of
# that way?
sub plan_uses
{
	my ($node, $way, $table, $where, $dbname) = @_;
	my $plan = $node->safe_psql($dbname || 'postgres',
		"$WAY{$way} EXPLAIN (COSTS OFF) SELECT * FROM $table WHERE $where");
	return $plan =~ ($way eq 'bitmap' ? qr/Bitmap Index Scan/ : $way eq 'index' ? qr/Index (Only )?Scan/ : qr/Seq Scan/);
}

# different_answers(NODE, options of answers, ways => ['bitmap', 'index'],
# plan => 1): texts that name each predicate whose answer by one of the ways
# is not that of a sequential scan, or, with plan => 1 (the default), for which
# the way is not taken.
sub different_answers
{
	my ($node, %opt) = @_;
	my @truth = answers($node, 'seqscan', %opt);
	my @texts;
	for my $way (@{ $opt{ways} || [ 'bitmap', 'index' ] })
	{
		my @got = answers($node, $way, %opt);
		for my $i (0 .. $#{ $opt{where} })
		{
			my $where = $opt{where}[$i];
			push @texts, "$way: $where: $got[$i], by sequential scan $truth[$i]"
			  if $got[$i] ne $truth[$i];
			push @texts, "$way: $where: the plan has no such scan"
			  if !(defined $opt{plan} && !$opt{plan})
			  && !plan_uses($node, $way, $opt{table}, $where, $opt{dbname});
		}
	}
	return @texts;
}

# same_answers(NODE, options of different_answers, name => TEXT): one test.
sub same_answers
{
	my ($node, %opt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @texts = different_answers($node, %opt);
	my $n = @{ $opt{where} };
	ok(!@texts, $opt{name} || "$opt{table}: $n queries, the same rows with and without the index");
	diag($_) for @texts;
	return !@texts;
}

# check_indexes(NODE, dbname => D, name => TEXT): snii_check of every permanent
# index of the access method must pass, and there must be one. One test.
sub check_indexes
{
	my ($node, %opt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $dbname = $opt{dbname} || 'postgres';
	my @indexes = split /\n/, $node->safe_psql($dbname, <<'SQL');
SELECT c.oid::regclass FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.relkind = 'i' AND a.amname = 'snii' AND c.relpersistence = 'p' ORDER BY 1
SQL
	my @faults = @indexes ? () : ('there is no snii index');
	for my $index (@indexes)
	{
		my ($rc, $out, $err) = $node->psql($dbname, "SELECT snii_check('$index')");
		push @faults, "$index: $err" if $rc != 0;
	}
	ok(!@faults, $opt{name} || 'snii_check of every index');
	diag($_) for @faults;
	return !@faults;
}

# all_dead_marked(NODE, TABLE, INDEX, NAME): after VACUUM the index has as many
# live documents as the table has rows. VACUUM skips an index for a few dead
# rows unless told otherwise, and keeps rows for whoever still has a snapshot,
# so it is tried for some time. One test.
sub all_dead_marked
{
	my ($node, $table, $index, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($live, $rows) = (-1, 0);
	for my $try (1 .. 50)
	{
		$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP on) $table");
		($live, $rows) = split /\|/, $node->safe_psql('postgres',
			"SELECT coalesce(sum(documents - dead), 0), (SELECT count(*) FROM $table) FROM snii_segments('$index')");
		last if $live == $rows;
		select(undef, undef, undef, 0.1);
	}
	return is($live, $rows, $name || "$index: as many live documents as rows after VACUUM");
}

# crash(NODE): kill -9 the server and start it again. Its backends notice a
# little later that it is gone, and it cannot start before, so it is tried for
# some time. A start that failed takes the process id of the stale lock file for
# a running server's, hence the assignment.
sub crash
{
	my ($node) = @_;
	$node->kill9;
	for my $i (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $node->start(fail_ok => 1);
		$node->{_pid} = undef;
		select(undef, undef, undef, 0.1);
	}
	die 'the server does not start after kill -9';
}

sub relation_file
{
	my ($node, $relation, $dbname) = @_;
	return $node->data_dir . '/'
	  . $node->safe_psql($dbname || 'postgres', "SELECT pg_relation_filepath('$relation')");
}

# block_count(NODE, RELATION, DBNAME): its number of blocks.
sub block_count
{
	my ($node, $relation, $dbname) = @_;
	return $node->safe_psql($dbname || 'postgres', "SELECT pg_relation_size('$relation') / $BLCKSZ");
}

# read_block(NODE, RELATION, BLOCK, DBNAME): its bytes on disk, after a
# checkpoint.
sub read_block
{
	my ($node, $relation, $block, $dbname) = @_;
	$node->safe_psql($dbname || 'postgres', 'CHECKPOINT');
	open my $fh, '<:raw', relation_file($node, $relation, $dbname) or die $!;
	seek $fh, $block * $BLCKSZ, 0 or die $!;
	my $bytes;
	my $n = read($fh, $bytes, $BLCKSZ);
	die "block $block of $relation cannot be read" unless defined $n && $n == $BLCKSZ;
	return $bytes;
}

# corrupt_block(NODE, RELATION, BLOCK, OFFSET, BYTES, DBNAME): stop the server,
# put BYTES at that place of the block, and start it.
sub corrupt_block
{
	my ($node, $relation, $block, $offset, $bytes, $dbname) = @_;
	my $file = relation_file($node, $relation, $dbname);
	my $count = block_count($node, $relation, $dbname);
	die "$relation has no block $block" if $block >= $count;
	die 'the bytes reach over the end of the block' if $offset + length($bytes) > $BLCKSZ;
	$node->stop('fast');
	open my $fh, '+<:raw', $file or die "$file: $!";
	seek $fh, $block * $BLCKSZ + $offset, 0 or die $!;
	print $fh $bytes;
	close $fh or die "$file: $!";
	$node->start;
	return;
}

# fails_as_corrupted(NODE, SQL, index => I, block => B, sqlstate => 'XX002',
# dbname => D, name => TEXT): the statement fails with that code, and its
# message names the index and, if given, the block; the server goes on. One
# test.
sub fails_as_corrupted
{
	my ($node, $sql, %opt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $dbname = $opt{dbname} || 'postgres';
	my $state = $opt{sqlstate} || 'XX002';
	my ($rc, $out, $err) = $node->psql($dbname, "\\set VERBOSITY verbose\n$sql");
	my @faults;
	push @faults, "no error of code $state: $err" unless $rc != 0 && $err =~ /ERROR:  \Q$state\E:/;
	push @faults, "index $opt{index} is not named: $err" if defined $opt{index} && $err !~ /\Q$opt{index}\E/;
	push @faults, "block $opt{block} is not named: $err" if defined $opt{block} && $err !~ /block $opt{block}\b/;
	my ($alive) = $node->psql($dbname, 'SELECT 1');
	push @faults, 'the server does not answer any more' if $alive != 0;
	ok(!@faults, $opt{name} || "error $state: $sql");
	diag($_) for @faults;
	return !@faults;
}

1;
