# Damaged pages: whatever bytes are in them, every operation ends with an
# error of its own, no crash, no endless loop; and a check finds damage in
# each field that it knows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LsmTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lsm_cluster('main', conf => <<'CONF');
wal_consistency_checking = ''
checkpoint_timeout = 1h
full_page_writes = off
CONF
lsm_table($node);

my $prepare = <<'SQL';
TRUNCATE t;
INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 60) g;
SELECT test_lsm_flush('t_v');
INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 60) g;
SELECT test_lsm_flush('t_v');
SELECT test_lsm_merge_all('t_v');
SELECT test_lsm_recycle('t_v');
SELECT txid_current();
SELECT test_lsm_recycle('t_v');
INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 24) g;
SELECT test_lsm_flush('t_v');
INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 36) g;
DELETE FROM t WHERE id % 5 = 0;
SQL
$node->safe_psql('postgres', $prepare);
my $blocks = $node->safe_psql('postgres', "SELECT nblocks FROM test_lsm_info('t_v')");
cmp_ok($blocks, '>', 50, "$blocks blocks to damage");

# --- what a check must find ------------------------------------------------------
sub finds
{
	my ($what, $blk, $offset, $hex) = @_;
	$node->safe_psql('postgres', $prepare);
	$node->safe_psql('postgres', "SELECT test_lsm_poke('t_v', $blk, $offset, '\\x$hex')");
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT test_lsm_check('t_v')");
	like($err, qr/XX002/, "check finds a wrong $what");
}
finds('magic of the meta page', 0, 24, '00');
finds('number of columns', 0, 24 + 33, 'ff');
finds('number of blocks', 0, 24 + 36, '05000000');
finds('head of the free list', 0, 24 + 40, '01000000');
finds('number of free pages', 0, 24 + 44, '01000000');
finds('slot', 0, 24 + 48, '07000000');
finds('number of directory entries', 1, 24 + 8, 'ff00');
finds('number of entries less one', 1, 24 + 8, '01');
finds('number of documents', 1, 24 + 16 + 24, 'ffff');
finds('number of pages', 1, 24 + 16 + 20, '01');
finds('list', 1, 24 + 16 + 12, '01000000');
finds('kind of page', $_, 8192 - 6, '63') for 0, 1, 2;
finds('page id', 1, 8190, '0000');

# --- a free list that names a page twice ---------------------------------------------
$node->safe_psql('postgres', $prepare);
$node->safe_psql('postgres', 'CHECKPOINT');
my $bytes = slurp_file($node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_v')"));
my $free = unpack 'x64 L', $bytes;
my ($extents, $first) = unpack 'x28 L x16 L', substr($bytes, $free * 8192);
cmp_ok($extents, '>', 0, 'there are free pages');
my $twice = unpack 'H*', pack('L*', 4, 0, 0, 0, 0, ($first, 1 << 8) x 4);
$node->safe_psql('postgres', "SELECT test_lsm_poke('t_v', $free, 28, '\\x$twice')");
my ($rc, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT test_lsm_flush('t_v')");
like($stderr, qr/XX002: index "t_v" is corrupted at block $first: page in use/, 'it is not written twice');

# --- random damage ------------------------------------------------------------------
my $seed = $ENV{SNII_SEED} || 20261130;
note "SNII_SEED=$seed";
srand($seed);
my $rounds = $ENV{SNII_CORRUPTION_ROUNDS} || 150;
my $sql = "\\set VERBOSITY verbose\nSET statement_timeout = '5s';\nSET client_min_messages = error;\n";
for my $round (1 .. $rounds)
{
	# the first blocks and list pages matter most
	my $blk = rand() < 0.4 ? int(rand(3)) : int(rand($blocks));
	my $what = rand();
	my $offset = $what < 0.2 ? int(rand(24)) : $what < 0.3 ? 8176 + int(rand(16))
	  : $what < 0.8 ? 24 + int(rand(120)) : int(rand(8192));
	my $bytes = join '', map { sprintf '%02x', (0, 1, 255, 127, 128, int(rand(256)))[ int(rand(6)) ] } 1 .. 1 + int(rand(4));
	$bytes = substr($bytes, 0, 2 * (8192 - $offset));
	$sql .= "\\echo round $round: block $blk offset $offset bytes $bytes\n$prepare";
	$sql .= "SELECT 'file ' || pg_relation_filenode('t_v');\n";
	$sql .= "SELECT test_lsm_poke('t_v', $blk, $offset, '\\x$bytes');\n";
	my @ops = ("SELECT test_lsm_check('t_v', false);", "SELECT test_lsm_check('t_v', true);",
		"SET enable_seqscan = off; SELECT count(id) FROM t WHERE v = val(3); RESET enable_seqscan;",
		"INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 24) g;",
		"INSERT INTO t (k, v) SELECT 12, val(12);",
		"SELECT test_lsm_flush('t_v');", "SELECT test_lsm_merge_all('t_v');",
		"SELECT test_lsm_recycle('t_v');", "SELECT * FROM test_lsm_info('t_v');",
		"VACUUM (INDEX_CLEANUP ON) t;");
	# in any order
	for (my $i = @ops; --$i;)
	{
		my $j = int(rand($i + 1));
		@ops[ $i, $j ] = @ops[ $j, $i ];
	}
	$sql .= join("\n", @ops) . "\n";
}
my $file = PostgreSQL::Test::Utils::tempdir() . '/damage.sql';
append_to_file($file, $sql);
my ($out, $err) = ('', '');
IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-f', $file ],
	'<', \undef, '>', \$out, '2>&1');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC:|TRAP:|terminated by signal/, 'no crash');
my %states;
my ($round, $index, @bad) = ('', 0);
for my $line (split /\n/, $out)
{
	$round = $line if $line =~ /^round \d+:/;
	$index = $1 if $line =~ /^ *file (\d+)$/;
	next unless $line =~ /(ERROR|FATAL|PANIC):  (\w{5}): (.*)/;
	$states{$2}++;
	# index damaged; format unknown; kind unknown; too large; segment gone
	my ($state, $message) = ($2, $3);
	next if $state =~ /^(XX002|0A000|54000|55000)$/;
	# a TID that was damaged leads to places where the table has no row
	next if $message =~ /tuple offset out of range/;
	next if $message =~ m!could not (?:open|read).*base/\d+/(\d+)! && $1 != $index;
	push @bad, "$round: $state $message";
}
cmp_ok($states{XX002} || 0, '>', $rounds / 2, 'damage is found (' . join(', ', map { "$_: $states{$_}" } sort keys %states) . ')');
is(join("\n", @bad[0 .. ($#bad > 20 ? 20 : $#bad)]), '', 'and reported as such');
$node->stop('immediate');
done_testing();
