# LsmTest.pm
#	  What the TAP tests of test_snii_lsm share.
#
#	  my $node = lsm_cluster('main', streaming => 1, conf => TEXT);
#	  lsm_same($node, NAME, strict => 1);    index t_v against table t: one test
#	  my $session = lsm_session($node);      a psql that stays open
#	  my ($out, $err) = lsm_ask($session, SQL);
#
# Table t (id, k, v) has rows of twelve values, some of several pages.

package LsmTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(lsm_cluster lsm_table lsm_same lsm_faults lsm_session lsm_ask
  lsm_close);

sub lsm_cluster
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => $opt{streaming} || 0);
	$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
wal_consistency_checking = 'generic'
max_wal_size = 4GB
fsync = off
CONF
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION test_snii_lsm');
	return $node;
}

sub lsm_table
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE s;
CREATE TABLE t (id int DEFAULT nextval('s'), k int, v text);
ALTER TABLE t ALTER v SET STORAGE EXTERNAL;
CREATE INDEX t_v ON t USING snii_test (v);
CREATE INDEX t_id ON t (id);
-- the value of key k
CREATE FUNCTION val(k int) RETURNS text IMMUTABLE LANGUAGE sql RETURN
	'k' || k || repeat('x', CASE k WHEN 11 THEN 30000 WHEN 10 THEN 9000 WHEN 9 THEN 2000 WHEN 12 THEN 210000 ELSE k * 20 END);
SQL
}

# Texts of what is wrong with the index of a node, empty if nothing.
sub lsm_faults
{
	my ($node, %opt) = @_;
	my $strict = $opt{strict} ? 'true' : 'false';
	my ($rc, $out, $err) = $node->psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT k, count(id), sum(id) FROM t GROUP BY k ORDER BY k;
\\echo ---
SET enable_seqscan = off; SET enable_indexscan = on;
SELECT n, (SELECT ROW(count(id), sum(id)) FROM t WHERE v = val(n) AND id IS NOT NULL)
FROM generate_series(0, 12) n;
\\echo ---
SET enable_bitmapscan = on; SET enable_indexscan = off;
SELECT n, (SELECT ROW(count(id), sum(id)) FROM t WHERE v = val(n))
FROM generate_series(0, 12) n;
\\echo ---
SELECT test_lsm_check('t_v', $strict) >= count(id) FROM t;
SQL
	return "psql failed: $err" if $rc != 0 || $err ne '';
	my ($truth, $index, $bitmap, $check) = split /---\n/, $out;
	my %truth = map { /^(\d+)\|(.*)$/ ? ($1 => $2) : () } split /\n/, $truth;
	my @faults;
	for my $way ([ 'index', $index ], [ 'bitmap', $bitmap ])
	{
		my $rows = 0;
		for my $line (split /\n/, $way->[1])
		{
			my ($k, $got) = $line =~ /^(\d+)\|\((.*)\)$/ or next;
			$got =~ s/,/|/;
			$rows++;
			my $want = exists $truth{$k} ? $truth{$k} : '0|';
			push @faults, "$way->[0] scan of key $k: $got instead of $want"
			  if $got ne $want;
		}
		push @faults, "$way->[0]: $rows keys" if $rows != 13;
	}
	push @faults, "entries are missing" if $check !~ /^t/;
	return @faults;
}

sub lsm_same
{
	my ($node, $name, %opt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @faults = lsm_faults($node, %opt);
	is(join("\n", @faults), '', $name);
	return !@faults;
}

sub lsm_session
{
	my ($node) = @_;
	my %s = (in => '', out => '', err => '', n => 0);
	$s{timer} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default || 180);
	$s{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', '-' ],
		'<', \$s{in}, '>', \$s{out}, '2>', \$s{err}, $s{timer});
	return \%s;
}

# Returns the output and the errors of the statements, without the last newline.
sub lsm_ask
{
	my ($s, $sql) = @_;
	my $mark = 'end-' . ++$s->{n};
	$s->{out} = $s->{err} = '';
	$s->{in} .= "$sql\n;\\echo $mark\n";
	eval {
		$s->{run}->pump until $s->{out} =~ /^\Q$mark\E$/m || !$s->{run}->pumpable;
	};
	# Let what was written to the other pipe come in, too.
	eval { $s->{run}->pump_nb; };
	my $out = $s->{out};
	$out =~ s/^\Q$mark\E\n//m;
	chomp $out;
	return ($out, $s->{err});
}

sub lsm_close
{
	my ($s) = @_;
	eval { $s->{run}->kill_kill; };
}

1;
