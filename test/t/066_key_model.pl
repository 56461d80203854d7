# A table with a key index against a model of it (test/perl/SniiKeyModel.pm): random
# insertions, updates, deletions, transactions with savepoints, look-ups of all
# kinds, VACUUM, flushes, merges, REINDEX and kill -9. Each statement must give what
# the model says, after a crash too: what was answered is there, and of what
# was not, all or nothing.
#
# A round is 2,500 steps on a new table, whose key has another shape; one in
# fifteen begins with 12,000 rows; every other one has flushes, merges and VACUUM
# by other sessions at the same time, every fourth one kill -9.
#
#	SNII_SEED=n		another seed
#	SNII_ROUNDS=n	more rounds
#	SNII_STATE=file	remember seed and rounds done there, and go on behind them
#					when run again; SNII_ROUNDS counts all of them

use strict;
use warnings;

use Digest::MD5 qw(md5);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiKeyModel;
use SniiTest;
use Test::More;
use Time::HiRes qw(usleep);

use constant STEPS => 2500;

my $seed = $ENV{SNII_SEED} || 4712;
my $rounds = $ENV{SNII_ROUNDS} || 36;
my $done = 0;
my $state = $ENV{SNII_STATE};
if (defined $state && -s $state)
{
	slurp_file($state) =~ /^seed (\d+) rounds (\d+)$/m or die "$state is no state of this test";
	($seed, $done) = ($1, $2);
}
plan skip_all => "$done rounds of seed $seed are done" if $done >= $rounds;
note "seed $seed, from round ", $done + 1;

# Written anew and renamed, so that it is never half a file.
sub remember
{
	my ($round) = @_;
	return if !defined $state;
	open my $fh, '>', "$state.new" or die "$state.new: $!";
	print $fh "seed $seed rounds $round\n";
	close $fh or die $!;
	rename "$state.new", $state or die "$state: $!";
	return;
}

# Types, as expressions of distinct numbers g.
my %TYPES = (
	int => 'g * 7 - 900',
	bigint => 'g * 10000000000 - 5',
	uuid => 'md5(g::text)::uuid',
	numeric => 'CASE g % 10 WHEN 0 THEN g * 1e40 WHEN 1 THEN -g ELSE g / 64.0 END',
	float8 => "CASE g WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' ELSE (g - 20) / 3.0::float8 END",
	date => "'2000-01-01'::date + (g - 100) * 11",
	timestamptz => "'2021-10-31 00:00:00+00'::timestamptz + g * interval '7 min'",
	bytea => "decode(repeat('00', g % 4) || md5((g / 4)::text), 'hex')",
	inet => "CASE g % 3 WHEN 0 THEN ('10.' || g / 200 || '.' || g % 200 || '.0/24') WHEN 1 THEN ('10.' || g / 200 || '.' || g % 200 || '.7') ELSE ('2001:db8::' || to_hex(g)) END::inet",
	bool => 'g % 2 = 0',
	text => "CASE g % 8 WHEN 0 THEN repeat('long ', 60) || g WHEN 1 THEN chr(200 + g) || 'é''\\' WHEN 2 THEN left('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', g / 9 + 1) WHEN 3 THEN upper(md5(g::text)) ELSE md5(g::text) END"
);

# Shapes: types of a and b (with collation), columns of the index as they are
# ordered ("-" DESC, "^" NULLS FIRST, "_" NULLS LAST), the rest of the definition.
my @SHAPES = (
	[ 'int', 'int', 1, 'a' ],
	[ 'int', 'int', 0, 'a' ],
	[ 'text COLLATE "C"', 'int', 1, 'a', 'b-' ],
	[ 'uuid', 'numeric', 0, 'a-_', 'b' ],
	[ 'bigint', 'int', 1, 'a', 'INCLUDE (c)' ],
	[ 'date', 'int', 2, 'a^' ],
	[ 'text', 'text COLLATE "C"', 0, 'a', 'b', 'INCLUDE (c)' ],
	[ 'numeric', 'int', 0, 'a' ],
	[ 'inet', 'float8', 2, 'a', 'b^' ],
	[ 'bytea', 'int', 0, 'a-' ],
	[ 'bool', 'timestamptz', 0, 'a', 'b-_' ],
	[ 'uuid', 'int', 1, 'a' ],
	[ 'timestamptz', 'uuid', 1, 'a-', 'b' ],
	[ 'float8', 'date', 0, 'a_', 'b-' ]
);

my $node = snii_cluster('model', conf => <<'CONF');
wal_consistency_checking = ''
session_preload_libraries = snii
snii.buffer_limit = 256
checkpoint_timeout = 30s
max_wal_size = 64MB
min_wal_size = 32MB
shared_buffers = 4MB
enable_seqscan = off
jit = off
log_statement = none
CONF
my $dir = $node->basedir;
append_to_file("$dir/maintain.sql", <<'SQL');
SELECT snii_flush('t_i');
SELECT snii_merge('t_i');
\sleep 10 ms
SQL
append_to_file("$dir/vacuum.sql", "VACUUM (INDEX_CLEANUP on) t;\n\\sleep 10 ms\n");

# Distinct values of a type in its order, as text.
sub domain
{
	my ($type, $n) = @_;
	my ($name, $rest) = $type =~ /^(\w+)(.*)$/;
	return [ split /\n/, $node->safe_psql('postgres',
		"SELECT s.v FROM (SELECT DISTINCT $TYPES{$name} AS v FROM generate_series(1, $n) g) s ORDER BY s.v$rest"), -1 ];
}

# A new table; returns its model.
sub begin_round
{
	my ($round) = @_;
	my ($type_a, $type_b, $unique, @rest) = @{ $SHAPES[ ($round - 1) % @SHAPES ] };
	my %shape = (unique => $unique, ascending => $type_a eq 'bigint', type_a => $type_a =~ s/ .*//r);
	my (@defs, $include);
	for my $column (@rest)
	{
		if ($column =~ /INCLUDE/) { $include = $column; next; }
		my ($name, $desc, $nulls) = $column =~ /^(\w)(-?)([_^]?)$/ or die $column;
		my $class = ($name eq 'a' ? $type_a : $type_b) =~ /^text/ ? ' text_key_ops' : '';
		push @{ $shape{columns} }, { name => $name, desc => $desc ? 1 : 0, first => $nulls ? ($nulls eq '^' ? 1 : 0) : $desc ? 1 : 0 };
		push @defs, $name . $class . ($desc ? ' DESC' : '') . (!$nulls ? '' : $nulls eq '^' ? ' NULLS FIRST' : ' NULLS LAST');
	}
	my $index = 'CREATE ' . ($unique ? 'UNIQUE ' : '') . 'INDEX t_i ON t USING snii (' . join(', ', @defs) . ')'
	  . (defined $include ? " $include" : '') . ($unique == 2 ? ' NULLS NOT DISTINCT' : '');
	$node->safe_psql('postgres', "CREATE TABLE t (id int, a $type_a, b $type_b, c int); $index");
	# runs of many pages, now and then
	my $large = $round % 15 == 8 && $type_a ne 'bool';
	my %domain = (a => domain($type_a, $large ? 20000 : $round % 3 ? 400 : 60), b => domain($type_b, 40));
	# many dead versions of a key make each look-up long
	return SniiKeyModel->new(
		shape => \%shape,
		name => $index,
		load => $large ? 12000 : 0,
		keep => $large ? 15000 : @{ $domain{a} } < 10 ? 50 : 300 + int rand 1500,
		domain => \%domain);
}

# Run the script of a segment; kill the server after some microseconds, if given.
# Returns faults, and the step that was answered last.
sub run_segment
{
	my ($model, $kill_us) = @_;
	my $file = "$dir/segment.sql";
	my %set = (enable_bitmapscan => rand() < 0.3 ? 'on' : 'off', enable_indexonlyscan => rand() < 0.7 ? 'on' : 'off',
		'snii.workers' => rand() < 0.5 ? 'on' : 'off');
	open my $fh, '>', $file or die $!;
	print $fh "\\pset null '-'\n", map("SET $_ = $set{$_};\n", sort keys %set), $model->script;
	close $fh or die $!;
	my ($out, $err) = ('', '');
	my $psql = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-f', $file,
		'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err);
	if (defined $kill_us)
	{
		usleep($kill_us);
		crash($node);
	}
	$psql->finish;
	my @lines = split /\n/, $out, -1;
	my $answered = 0;
	my $at = 0;
	for my $expected ($model->expected)
	{
		my ($step, $text) = @$expected;
		# the answer to what was under way does not count
		last if defined $kill_us && ($at >= $#lines || $lines[$at] =~ /^= (57P|08|XX000|\s*$)/);
		my $got = $at < @lines ? $lines[$at] : '(nothing)';
		$at++;
		$answered = $step if $text =~ /^= / && $got eq $text;
		next if $got eq $text;
		my ($statement) = grep { defined } (split /^\\echo.*\n/m, $model->script)[ $step - $model->{first_step} ];
		return ("step $step: $got, instead of $text: $statement" . substr($err, -500), $answered);
	}
	return (undef, $answered);
}

# The rows of the table by a sequential scan, and all of them by the index.
sub compare_table
{
	my ($model) = @_;
	my @faults;
	my $columns = join ', ', map { "$_->{name} " . ($_->{desc} ? 'DESC' : 'ASC') . ' NULLS ' . ($_->{first} ? 'FIRST' : 'LAST') } @{ $model->{shape}{columns} };
	my $want = join "\n", $model->table;
	my $seq = $node->safe_psql('postgres', "\\pset null '-'\nSET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;\nSELECT id, a, b, c FROM t ORDER BY id");
	push @faults, 'the table is not what the model says' if $seq ne $want;
	my $by_index = join "\n", sort { ($a =~ /^(\d+)/)[0] <=> ($b =~ /^(\d+)/)[0] } split /\n/,
	  $node->safe_psql('postgres', "\\pset null '-'\nSET enable_sort = off; SET enable_bitmapscan = off; SELECT id, a, b, c FROM t ORDER BY $columns");
	push @faults, 'the rows by the index are not what the model says' if $by_index ne $want;
	return @faults;
}

for my $round ($done + 1 .. $rounds)
{
	srand(unpack 'N', md5("$seed $round"));
	my $model = begin_round($round);
	my $crash = $round % 4 == 0;
	my ($out, $err) = ('', '');
	my $other;
	my $start_other = sub {
		$other = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 600, '-f', "$dir/maintain.sql", '-f', "$dir/vacuum.sql",
			'-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err) if $round % 2 == 0;
	};
	my @faults;
	while ($model->{step} < STEPS && !@faults)
	{
		my $last = $model->{step} + 400 + int rand 600;
		$model->segment;
		$model->{first_step} = $model->{step} + 1;
		$model->load($model->{load}) if $model->{step} == 0;
		$model->step while $model->{step} < $last;
		$model->close_transaction;
		my $kill = $crash && $last < STEPS && rand() < 0.3 ? 50000 + int rand 400000 : undef;
		$start_other->() if !defined $other;
		my ($fault, $answered) = run_segment($model, $kill);
		push @faults, $fault if defined $fault;
		next if !defined $kill || @faults;
		if (defined $other) { $other->finish; $other = undef; $err = ''; }
		$model->back_to($answered);
		my @wrong = compare_table($model);
		@wrong = compare_table($model) if @wrong && $model->ahead;
		push @faults, map { "after kill -9 behind step $answered: $_" } @wrong;
	}
	if (defined $other)
	{
		$other->signal('TERM');
		$other->finish;
		push @faults, "upkeep by another session: $1" if $err =~ /(ERROR.*)/ && $err !~ /canceling/;
	}
	push @faults, compare_table($model);
	my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS off) SELECT id FROM t WHERE a = (SELECT a FROM t LIMIT 1)");
	push @faults, "the index is not used: $plan" if $plan !~ /t_i/;
	my ($rc, $stdout, $stderr) = $node->psql('postgres', "SELECT snii_check('t_i', true)");
	push @faults, "snii_check: $stderr" if $rc != 0;
	ok(!@faults, "round $round: $model->{step} steps, " . keys(%{ $model->{rows} }) . " rows, $model->{name}");
	diag("seed $seed\n$_") for @faults;
	BAIL_OUT("round $round of seed $seed failed") if @faults && defined $state;
	remember($round);
	$node->safe_psql('postgres', 'DROP TABLE t');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00|corrupted|inconsistent page|terminated by signal (4|6|7|8|11)/, 'the log is free of faults');
$node->stop;
done_testing();
