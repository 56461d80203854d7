# Forced spills under a real load: 16 builds and loads of log rows at once,
# with next to no memory for all of them together. They spill because they are
# asked to, say that it does not suffice, and finish; the answers are those of a
# sequential scan and, for words that both cut alike, of GIN. What is counted
# goes back to 0 and no temporary file stays, also after a cancel, after a
# backend was killed, and after the server was.
#
# SNII_ROWS=200000: more rows (12000).

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(usleep);

my $ROWS = $ENV{SNII_ROWS} || 12000;
my $BUILDS = 10;
my $LOADS = 6;

# Floor below a fill of the write buffer, so that flushes can be asked, too.
my $node = snii_cluster('forced', conf => <<'CONF');
shared_preload_libraries = 'snii'
wal_consistency_checking = ''
shared_buffers = 128MB
restart_after_crash = on
max_worker_processes = 16
snii.max_workers = 4
maintenance_work_mem = 4MB
snii.build_memory_limit = '1MB'
snii.forced_spill_min_arena = '1MB'
log_temp_files = 0
CONF

# Log rows, and the last word of each, whole, in a column of its own.
my $file = PostgreSQL::Test::Utils::tempdir() . '/logs.tsv';
system("python3 test/bench/gen_logs.py $ROWS 5 > '$file'") == 0 or die 'no log rows';
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id bigint, body text, word text);
COPY t (id, body) FROM '$file';
UPDATE t SET word = substring(body from '([a-z]+)\$');
CREATE INDEX t_gin ON t USING gin (to_tsvector('simple', body));
VACUUM ANALYZE t;
SQL

# two frequent words, one that is rare, and a pair that stands side by side
my @words = split /\|/, $node->safe_psql('postgres', <<'SQL');
WITH w AS (SELECT word, count(*) AS n FROM t WHERE length(word) > 3 AND body !~ 'payload=' GROUP BY 1)
SELECT (SELECT string_agg(word, '|') FROM (SELECT word FROM w ORDER BY n DESC, word LIMIT 2) s) || '|' ||
	(SELECT min(word) FROM w WHERE n = 1) || '|' ||
	(SELECT min(p) FROM (SELECT substring(body from '([a-z]{4,} [a-z]{4,})$') AS p FROM t WHERE body !~ 'payload=') s)
SQL
my ($often, $other, $rare, $pair) = @words;
is(scalar(@words), 4, 'there are words to ask for') or diag("@words");
my ($first, $second) = split / /, $pair;
my @where = (
	"body ||| '$often $rare'", "body &&& '$often $other'", "body ### '$pair'",
	"body ||| '$rare'", "word ||| '$often'", "word ||| '$rare'",
	"body &&& '$often' AND NOT body ||| '$other'");

# The same by GIN.
my @gin = (
	"'$often | $rare'", "'$often & $other'", "'$first <-> $second'", "'$rare'",
	undef, undef, "'$often & !$other'");

# left(): temporary files, writers, bytes that are counted.
sub left
{
	return $node->safe_psql('postgres', <<'SQL');
SELECT (SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false)),
	(SELECT count(*) FROM snii_memory WHERE pid IS NOT NULL),
	(SELECT published FROM snii_memory WHERE pid IS NULL)
SQL
}

# wait_for(QUERY): until it says t; false after three minutes. A psql that is
# refused does not read the query, which raises an error.
sub wait_for
{
	my ($query) = @_;
	for (1 .. 1800)
	{
		my $out = '';
		eval { $node->psql('postgres', $query, stdout => \$out); };
		return 1 if $out eq 't';
		usleep(100_000);
	}
	return 0;
}

# nothing_left(WHEN): one test. Background workers may be about to finish.
sub nothing_left
{
	my ($when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_for('SELECT count(*) = 0 FROM snii_memory WHERE pid IS NOT NULL');
	is(left(), '0|0|0', "$when: no temporary file, no writer, no byte counted");
}

# start(STATEMENT...): each list of statements in a session of its own.
sub start
{
	my @runs;
	for my $statements (@_)
	{
		my $run = { out => '', err => '' };
		$run->{h} = IPC::Run::start(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', map { ('-c', $_) } @$statements ],
			'<', '/dev/null', '>', \$run->{out}, '2>', \$run->{err});
		push @runs, $run;
	}
	return @runs;
}

sub builds
{
	my ($suffix, $n) = @_;
	return map { [ "CREATE INDEX t_$suffix$_ ON t USING snii (body, word text_keyword_ops)",
			"SELECT 'forced ' || forced_spills || ' runs ' || runs FROM snii_last_build()" ] } 1 .. $n;
}

# A load: a table with an index takes all rows, in batches.
sub loads
{
	my ($suffix, $n) = @_;
	my @batches = map { my $b = $_; "INSERT INTO %s SELECT * FROM t WHERE id % 4 = $b" } 0 .. 3;
	my @lists;
	for my $i (1 .. $n)
	{
		my $table = "l_$suffix$i";
		push @lists, [ "CREATE TABLE $table (LIKE t); CREATE INDEX ${table}_i ON $table USING snii (body, word text_keyword_ops)",
			map { (my $s = $_) =~ s/%s/$table/; $s } @batches ];
	}
	return @lists;
}

# spooling(): temporary files are there.
my $spooling = "SELECT count(*) > 0 FROM pg_ls_dir('base/pgsql_tmp', true, false)";

# by_gin(): what GIN counts for each condition.
sub by_gin
{
	my $sql = "SET enable_seqscan = off; ";
	for my $q (grep { defined } @gin)
	{
		$sql .= "SELECT count(*) || ' rows ' || coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '')"
		  . " FROM t WHERE to_tsvector('simple', body) @@ to_tsquery('simple', $q);";
	}
	return split /\n/, $node->safe_psql('postgres', $sql);
}

### all at once

is(left(), '0|0|0', 'nothing is counted at the start');
my @truth = answers($node, 'seqscan', table => 't', where => \@where);
my $log = -s $node->logfile;
my @runs = start(builds('a', $BUILDS), loads('a', $LOADS));
ok(wait_for($spooling), 'spool files appear');
my ($forced, $failed) = (0, 0);
for my $run (@runs)
{
	$run->{h}->finish;
	$failed++, diag($run->{err}) if $run->{err} ne '';
	$forced += $1 if $run->{out} =~ /forced (\d+)/;
}
is($failed, 0, 'all builds and loads finish');
cmp_ok($forced, '>', 0, 'spills were asked for');
my $text = slurp_file($node->logfile, $log);
like($text, qr/index builds use \d+ kB of the \d+ kB that "snii.build_memory_limit" leaves them/, 'the shortfall is logged');
like($text, qr/temporary file: path "base\/pgsql_tmp/, '... and so are the spool files, which have gone');
nothing_left('afterwards');

is(join(', ', map { $truth[$_] =~ /^0 rows/ ? $where[$_] : () } 0 .. $#where), '', 'each condition has rows');
is(join("\n", by_gin()), join("\n", map { defined $gin[$_] ? $truth[$_] : () } 0 .. $#gin), 'GIN says what a sequential scan does');
$node->safe_psql('postgres', join('', 'DROP INDEX t_gin;', map { "DROP INDEX t_a$_;" } 2 .. $BUILDS));
same_answers($node, table => 't', where => \@where, name => 'answers of an index that was built so');
my @wrong;
for my $i (1 .. $LOADS)
{
	my @got = answers($node, 'bitmap', table => "l_a$i", where => \@where);
	push @wrong, "l_a$i" if "@got" ne "@truth";
}
is("@wrong", '', '... and of those that were loaded');
check_indexes($node, name => 'the indexes are sound');
$node->safe_psql('postgres', join('', map { "DROP TABLE l_a$_;" } 1 .. $LOADS));

### cancelled, a backend killed, the server killed

# in_the_middle(SUFFIX): builds and loads, once they spill.
sub in_the_middle
{
	my ($suffix) = @_;
	@runs = start(builds($suffix, $BUILDS), loads($suffix, $LOADS));
	ok(wait_for($spooling), "$suffix: spool files appear");
}

# clear(SUFFIX): wait for what is left of them and drop what they made.
sub clear
{
	my ($suffix) = @_;
	$_->{h}->finish for @runs;
	wait_for('SELECT true');
	$node->safe_psql('postgres', join('', (map { "DROP INDEX IF EXISTS t_$suffix$_;" } 1 .. $BUILDS),
			map { "DROP TABLE IF EXISTS l_$suffix$_;" } 1 .. $LOADS));
}

in_the_middle('b');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'
	AND pid <> pg_backend_pid()");
$_->{h}->finish for @runs;
cmp_ok(scalar(grep { $_->{err} =~ /canceling statement/ } @runs), '>', 0, 'they are cancelled');
nothing_left('after a cancel');
clear('b');

in_the_middle('c');
my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX t_c%' AND state = 'active' LIMIT 1");
ok($pid, 'a build is under way');
kill 'KILL', $pid if $pid;
clear('c');
cmp_ok(scalar(grep { $_->{err} ne '' } @runs), '>', 0, 'its end ends the others');
nothing_left('after kill -9 of a backend');

in_the_middle('d');
crash($node);
nothing_left('after kill -9 of the server');
clear('d');
same_answers($node, table => 't', where => \@where, name => 'answers of the index from before');
check_indexes($node, name => 'all that is there is sound');

$node->stop;
done_testing();
