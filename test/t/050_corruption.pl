# Damaged pages. Many small indexes are damaged at once while the server is
# stopped, each at one place that is drawn at random among the kinds of page,
# and then queried, verified, written, flushed, merged and vacuumed. Each
# statement ends well or with an error of corruption; the server never stops,
# nothing hangs, and REINDEX repairs.
#
#	SNII_SEED=n		another seed
#	SNII_DAMAGES=n	more damages than the usual number

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $seed = $ENV{SNII_SEED} || 20260;
my $damages = $ENV{SNII_DAMAGES} || 70;
note "seed $seed";
srand($seed);

my $node = snii_cluster('damaged', conf => "max_connections = 20\n");
my $PAGE = 8192;

# ----- the format version -------------------------------------------------

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql("CREATE TABLE v (id int, body text); CREATE INDEX v_i ON v USING snii (body); INSERT INTO v VALUES (1, 'one')");
my $meta = read_block($node, 'v_i', 0);
my ($magic, $version, $min_reader) = unpack 'x24 L S S', $meta;
is($magic, 0x534E4949, 'the meta page begins with the magic number');
is("$version $min_reader", '1 1', 'format version 1');

sub fails
{
	my ($statement, $state, $pattern, $name) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET enable_seqscan = off;\n$statement");
	ok($rc != 0 && $err =~ /ERROR:  $state:/ && $err =~ $pattern, $name);
	diag("rc $rc: $out $err") unless $err =~ /ERROR:  $state:/ && $err =~ $pattern;
	return;
}
my $find = "SELECT id FROM v WHERE body ||| 'one'";
my $add = "INSERT INTO v VALUES (2, 'one')";
corrupt_block($node, 'v_i', 0, 28, pack('S S', 7, 6));
fails($_, '0A000', qr/version.*7.*1|1.*version.*7|version.*6.*1|1.*version.*6/is, "a newer format is refused with both versions: $_")
  for ($find, $add, "SELECT snii_check('v_i')", "SELECT snii_flush('v_i')", 'VACUUM v');
corrupt_block($node, 'v_i', 0, 28, pack('S S', 7, 1));
is(sql("SET enable_seqscan = off; $find"), '1', 'a newer format that this version may read is read');
corrupt_block($node, 'v_i', 0, 28, pack('S S', 1, 1));
corrupt_block($node, 'v_i', 0, 32, pack('Q', 1 << 40));
fails($find, '0A000', qr/feature|version/, 'an unknown feature that readers must know is refused');
corrupt_block($node, 'v_i', 0, 32, pack('Q Q', 0, 1 << 40));
is(sql("SET enable_seqscan = off; $find"), '1', 'one that writers must know does not stop a reader');
fails($add, '0A000', qr/feature|version/, 'but a writer');
corrupt_block($node, 'v_i', 0, 40, pack('Q', 0));
sql($add);
is(sql("SET enable_seqscan = off; $find"), "1\n2", 'all is well again');
corrupt_block($node, 'v_i', 0, 24, "\0\0\0\0");
fails_as_corrupted($node, "SET enable_seqscan = off; $find", index => 'v_i', block => 0, name => 'no magic number');
fails_as_corrupted($node, "SELECT snii_check('v_i')", index => 'v_i', block => 0, name => 'no magic number, snii_check');
sql('REINDEX INDEX v_i');
is(sql("SET enable_seqscan = off; $find"), "1\n2", 'REINDEX repairs it');

# ----- a directory of tables ----------------------------------------------

sql(<<'SQL');
CREATE FUNCTION make(t text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, body text, title text)', t);
	EXECUTE format('CREATE INDEX %I ON %I USING snii (body, title)', t || '_i', t);
	EXECUTE format('INSERT INTO %I SELECT g, ''word'' || g %% 7 || '' common '' || md5(g::text) || repeat('' again'', g %% 5), CASE WHEN g %% 3 = 0 THEN NULL ELSE ''title '' || g END FROM generate_series(1, 1500) g', t);
	PERFORM snii_flush((t || '_i')::regclass);
	EXECUTE format('INSERT INTO %I SELECT g, ''word'' || g %% 7 || '' common '' || md5(g::text), ''title '' || g FROM generate_series(1501, 2400) g', t);
	PERFORM snii_flush((t || '_i')::regclass);
	PERFORM snii_merge((t || '_i')::regclass);
	EXECUTE format('INSERT INTO %I SELECT g, ''word'' || g %% 7 || '' common '' || md5(g::text), ''title '' || g FROM generate_series(2401, 2600) g', t);
	EXECUTE format('INSERT INTO %I SELECT 2601, string_agg(''tok'' || g, '' ''), ''large'' FROM generate_series(1, 3000) g', t);
END $$;
CREATE FUNCTION more(t text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT g, ''word'' || g %% 7 || '' common '' || md5(g::text), ''title '' || g FROM generate_series(3001, 3100) g', t);
	PERFORM snii_flush((t || '_i')::regclass);
	EXECUTE format('INSERT INTO %I SELECT g, ''word'' || g %% 7 || '' common '' || md5(g::text), ''title '' || g FROM generate_series(4001, 4200) g', t);
END $$;
SQL
sql(join "\n", map { "SELECT make('d$_');" } 1 .. $damages);
sql(join "\n", map { "DELETE FROM d$_ WHERE id % 11 = 0; VACUUM d$_;" } 1 .. $damages);
sql(join "\n", map { "SELECT more('d$_');" } 1 .. $damages);
sql('CHECKPOINT');

my @where = ("body ||| 'common'", "body &&& 'word3 common'", "body ### 'again again again'", "body @@@ 'word1 NOT again'",
	"title IS NULL", "title ||| '77 2500 4100'", "body ### 'tok2999 tok3000'", "body ||| 'nothing'", 'body IS NOT NULL');
my $queries = join "\n", map { "SELECT coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '') FROM TABLE WHERE $_;" } @where;
(my $first = $queries) =~ s/TABLE/d1/g;
my @truth = split /\n/, sql("SET enable_indexscan = off; SET enable_bitmapscan = off; $first"), -1;
my @intact = split /\n/, sql("SET enable_seqscan = off; $first"), -1;
is("@intact", "@truth", 'the intact index answers right');

# ----- damage ---------------------------------------------------------------

my (%path, %heap);
for my $i (1 .. $damages)
{
	$path{$i} = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('d${i}_i')");
	$heap{$i} = sql("SELECT pg_relation_filenode('d$i')");
}
$node->stop('fast');

# kind_of(PAGE): what the special space says it is, data pages by stream.
sub kind_of
{
	my ($page) = @_;
	return 'new' if $page =~ /^\0*$/;
	my ($kind, $stream) = unpack 'x10 C x C', substr($page, -16);
	return $kind == 5 ? "stream $stream" : (qw(0 meta directory park list data buffer))[$kind] // "kind $kind";
}

my @done;
my %seen;
for my $i (1 .. $damages)
{
	my $bytes = slurp_file($path{$i});
	my $nblocks = length($bytes) / $PAGE;
	my %by_kind;
	push @{ $by_kind{ kind_of(substr $bytes, $_ * $PAGE, $PAGE) } }, $_ for 0 .. $nblocks - 1;
	delete $by_kind{new};
	my @kinds = sort keys %by_kind;
	$seen{$_} = 1 for @kinds;
	# each kind in turn, then anything
	my $kind = $kinds[ $i % @kinds ];
	my $blk = $by_kind{$kind}[ rand @{ $by_kind{$kind} } ];
	my $page = substr $bytes, $blk * $PAGE, $PAGE;
	my ($lower) = unpack 'x12 S', $page;
	my $used = ($lower > 24 && $lower <= $PAGE) ? $lower - 24 : $PAGE - 40;
	my $at = 24 + int rand($used);
	my $what = (qw(bit byte word zeroes noise tail page other swap lower))[ rand 10 ];
	# the first bytes of a page matter most
	$at = 24 + int rand(40) if rand() < 0.4;
	if ($what eq 'bit') { substr($page, $at, 1) ^= chr(1 << int rand 8); }
	elsif ($what eq 'byte') { substr($page, $at, 1) = chr int rand 256; }
	elsif ($what eq 'word') { my $w = $at & ~3; substr($page, $w, 4) = (pack('L', 0xFFFFFFFF), pack('L', 0x7FFFFFFF), pack('L', $nblocks + 5), pack('L', 0))[ rand 4 ]; }
	elsif ($what eq 'zeroes') { my $n = 1 + int rand 100; $n = $PAGE - 16 - $at if $at + $n > $PAGE - 16; substr($page, $at, $n) = "\0" x $n; }
	elsif ($what eq 'noise') { my $n = 1 + int rand 200; $n = $PAGE - 16 - $at if $at + $n > $PAGE - 16; substr($page, $at, $n) = join '', map { chr int rand 256 } 1 .. $n; }
	elsif ($what eq 'tail') { substr($page, $PAGE - 16 + int rand 16, 1) = chr int rand 256; }
	elsif ($what eq 'page') { $page = rand() < 0.5 ? "\0" x $PAGE : substr($page, 0, 24) . join '', map { chr int rand 256 } 25 .. $PAGE; }
	elsif ($what eq 'other') { $page = substr $bytes, $PAGE * int(rand $nblocks), $PAGE; }
	elsif ($what eq 'swap') { my @same = @{ $by_kind{$kind} }; $page = substr $bytes, $PAGE * $same[ rand @same ], $PAGE; }
	elsif ($what eq 'lower') { substr($page, 12, 2) = pack 'S', 24 + int rand($PAGE - 40); }
	open my $fh, '+<:raw', $path{$i} or die $!;
	seek $fh, $blk * $PAGE, 0 or die $!;
	print $fh $page;
	close $fh or die $!;
	$done[$i] = "d$i: $what in $kind, block $blk of $nblocks" . ($what =~ /^(bit|byte|word|zeroes|noise)$/ ? " at $at" : '');
}
note 'kinds of page: ' . join ', ', sort keys %seen;
ok($seen{$_}, "there are pages of kind $_") for qw(meta directory park list buffer);
cmp_ok(scalar(grep { /stream/ } keys %seen), '>=', 6, 'and of the streams of a segment');
$node->start;

# ----- what happens -----------------------------------------------------------

# XX001 is what core says of a damaged page header, or of a heap place that
# is not there; 0A000 of a format that looks like a later one.
my $allowed = qr/^(XX002|XX001|0A000)$/;
my (%count, @wrong);
for my $i (1 .. $damages)
{
	(my $mine = $queries) =~ s/TABLE/d$i/g;
	my @bitmap = split /\n/, $mine;
	my $script = "SET statement_timeout = '10s';\nSET enable_seqscan = off;\n\\set VERBOSITY verbose\n";
	$script .= "\\echo answers\n$mine\nSET enable_bitmapscan = off;\n\\echo answers\n$mine\n\\echo end\n";
	$script .= "$_\n" for ("SELECT count(*) FROM snii_segments('d${i}_i');", "SELECT snii_check('d${i}_i', true);",
		"INSERT INTO d$i SELECT g, 'word1 common late' FROM generate_series(5001, 5300) g;", "SELECT snii_flush('d${i}_i');", "DELETE FROM d$i WHERE id % 5 = 0;",
		"VACUUM d$i;", "SELECT snii_merge('d${i}_i');", "SELECT snii_check('d${i}_i');", "SELECT count(*) FROM d$i WHERE body ||| 'common late';");
	my $timed_out;
	my ($rc, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0, timeout => 100, timed_out => \$timed_out);
	if ($timed_out)
	{
		fail("$done[$i]: a statement does not end, not even by statement_timeout (seed $seed)");
		diag($out, $err);
		$node->stop('immediate');
		done_testing();
		exit 1;
	}
	# A TID that was damaged leads to a place far beyond the end of the table,
	# of which core complains in several ways.
	my %states;
	$states{XX001}++ while $err =~ s/ERROR:  \w{5}: could not (?:open|read) [^\n]*base\/\d+\/$heap{$i}\b//;
	$states{$1}++ while $err =~ /(?:ERROR|FATAL|PANIC):  (\w{5}):/g;
	my @bad = grep { !/$allowed/ } keys %states;
	push @bad, 'lost connection' if $err =~ /server closed|connection to server|lost/ || $rc == 2;
	ok(!@bad, "$done[$i]: no crash, no hang, no internal error");
	diag("seed $seed, states @bad:\n" . join "\n", grep { !/^LOCATION/ } (split /\n/, $err)[ 0 .. 40 ]) if @bad;
	# Undetected damage gives wrong answers; without checksums that cannot be
	# avoided wholly, and is counted here.
	my @answers = $out =~ /answers\n(.*?)(?=answers\n|end\n)/sg;
	my $detected = %states ? 1 : 0;
	my $right = 1;
	for my $answer (@answers) { $right = 0 if !$detected && $answer ne join('', map { "$_\n" } @truth); }
	$count{ $detected ? 'detected' : $right ? 'without effect' : 'undetected' }++;
	push @wrong, $done[$i] if !$detected && !$right;
	last if $node->psql('postgres', 'SELECT 1') != 0;
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
note "wrong answers without an error: $_" for @wrong;
cmp_ok($count{detected} // 0, '>', $damages / 4, 'most damages are detected');

# REINDEX repairs all of them.
my @left;
for my $i (1 .. $damages)
{
	my ($rc, $out, $err) = $node->psql('postgres', "REINDEX INDEX d${i}_i; SELECT snii_check('d${i}_i', true)");
	push @left, "$done[$i]: $err" if $rc != 0;
}
is("@left", '', 'REINDEX repairs each');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal (4|6|7|8|11)/, 'no crash is in the log');
$node->stop;
done_testing();
