# Crashes: at every step of flush, merge, recycling, VACUUM and large
# insertions, and at random moments under a load; then the index is verified
# block by block and compared with its table. Redo is compared with what was
# logged (wal_consistency_checking).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use LsmTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = lsm_cluster('main', conf => <<'CONF');
shared_buffers = 2MB
restart_after_crash = on
log_checkpoints = off
CONF
lsm_table($node);

# How often the server has become ready.
sub starts
{
	my $log = slurp_file($node->logfile);
	return scalar(() = $log =~ /database system is ready to accept connections/g);
}

# Wait until it has become ready once more than before.
sub wait_up
{
	my ($before) = @_;
	for (1 .. 600)
	{
		return if starts() > $before;
		sleep 0.1;
	}
	die "the server does not come back";
}

# What an operating system may lose in a crash: blocks at the end of the file
# that were never written.
sub lose_empty_tail
{
	my ($path) = @_;
	my $size = -s $path;
	open(my $fh, '+<', $path) or die $!;
	binmode $fh;
	while ($size >= 8192)
	{
		my $block;
		seek($fh, $size - 8192, 0);
		read($fh, $block, 8192) == 8192 or die "short read";
		last if $block =~ /[^\0]/;
		$size -= 8192;
	}
	truncate($fh, $size) or die $!;
	close $fh;
}

sub index_path
{
	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_v')");
}

my $fill = 'INSERT INTO t (k, v) SELECT g % 12, val(g % 12) FROM generate_series(1, 300) g;';

# --- at each step ---------------------------------------------------------------
# twice: what cannot be freed by its epoch is past after the next xid
my $recycle = "SELECT test_lsm_recycle('t_v'); SELECT txid_current(); SELECT test_lsm_recycle('t_v')";
my @steps = (
	[ 'large_handed_out', "INSERT INTO t (k, v) VALUES (11, val(11))" ],
	[ 'large_half', "INSERT INTO t (k, v) VALUES (11, val(11))" ],
	[ 'batch_written', "INSERT INTO t (k, v) VALUES (12, val(12))" ],
	[ 'build_end', "SELECT test_lsm_flush('t_v')" ],
	[ 'batch_written', "SELECT test_lsm_flush('t_v')" ],
	[ 'flush_written', "SELECT test_lsm_flush('t_v')" ],
	[ 'publish', "SELECT test_lsm_flush('t_v')" ],
	[ 'published', "SELECT test_lsm_flush('t_v')" ],
	[ 'merge_end', "SELECT test_lsm_merge_all('t_v')" ],
	[ 'merge_written', "SELECT test_lsm_merge_all('t_v')" ],
	[ 'publish', "SELECT test_lsm_merge_all('t_v')" ],
	[ 'published', "SELECT test_lsm_merge_all('t_v')" ],
	[ 'recycle_logged', $recycle ],
	[ 'recycle_one', $recycle ],
	[ 'vacuum_read', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'vacuum_marked', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'vacuum_between', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'vacuum_turn', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'vacuum_barrier', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'side_start', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'batch_written', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'side_written', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'side_published', "VACUUM (INDEX_CLEANUP ON) t" ],
	[ 'batch_written', "REINDEX INDEX t_v" ]);
my $lossy = 0;
for my $step (@steps)
{
	my ($point, $sql) = @$step;
	$node->safe_psql('postgres', $fill);
	$node->safe_psql('postgres', "SELECT test_lsm_flush('t_v')")
	  if $sql !~ /^INSERT|test_lsm_flush/;
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 7 = 0');
	# recycling begins with lists that may be freed
	$node->safe_psql('postgres', "SELECT test_lsm_merge_all('t_v')") if $sql eq $recycle;
	$node->safe_psql('postgres', 'CHECKPOINT') if $point =~ /^large|written/;
	my $path = index_path();
	my $starts = starts();
	my ($rc, $out, $err) = $node->psql('postgres', "SET test_snii_lsm.crash = '$point';\n$sql");
	isnt($rc, 0, "$sql is killed at $point");
	wait_up($starts);
	if ($sql =~ /^INSERT/)
	{
		# the same once more, with the end of the file lost
		$node->stop('immediate');
		lose_empty_tail($path);
		$node->start;
		$lossy++;
	}
	lsm_same($node, "after it", strict => 1);
}
is($lossy, 3, 'three times the end of the file was lost');
$node->safe_psql('postgres', "$fill SELECT test_lsm_flush('t_v');");
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 5 = 0');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
lsm_same($node, 'work goes on', strict => 1);

# --- at random moments ------------------------------------------------------------
my $seed = $ENV{SNII_SEED} || int(time * 1000) % 1000000;
note "SNII_SEED=$seed";
srand($seed);
my $dir = PostgreSQL::Test::Utils::tempdir();
my %script = (
	insert => [ 8, "\\set k random(0, 9)\n\\set n random(1, 60)\n"
		  . "INSERT INTO t (k, v) SELECT :k, val(:k) FROM generate_series(1, :n);\n" ],
	large => [ 1, "\\set k random(9, 12)\nINSERT INTO t (k, v) SELECT :k, val(:k) FROM generate_series(1, 2);\n" ],
	abort => [ 1, "BEGIN;\nINSERT INTO t (k, v) SELECT 11, val(11) FROM generate_series(1, 3);\nROLLBACK;\n" ],
	delete => [ 4, "\\set a random(1, 13)\nDELETE FROM t WHERE id IN (SELECT id FROM t WHERE id % 13 + 1 = :a ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED);\n" ],
	flush => [ 2, "SELECT test_lsm_flush('t_v', true, false);\n" ],
	merge => [ 1, "SELECT test_lsm_merge('t_v');\n" ],
	mergeall => [ 1, "SELECT test_lsm_merge_all('t_v');\n" ],
	recycle => [ 2, "SELECT test_lsm_recycle('t_v');\n" ],
	vacuum => [ 1, "VACUUM (INDEX_CLEANUP ON) t;\n" ],
	check => [ 1, "SELECT test_lsm_check('t_v', false);\n" ]);
my @files;
for my $name (sort keys %script)
{
	append_to_file("$dir/$name.sql", $script{$name}[1]);
	push @files, '-f', "$dir/$name.sql\@$script{$name}[0]";
}
my $rounds = $ENV{SNII_CRASH_ROUNDS} || 10;
my $seen = 0;
for my $round (1 .. $rounds)
{
	my $before = $node->safe_psql('postgres', 'SELECT last_value FROM s');
	my $limit = (1, 100, 600)[ int(rand(3)) ];
	local $ENV{PGAPPNAME} = 'load';
	local $ENV{PGOPTIONS} = "-c test_snii_lsm.buffer_limit_kb=$limit";
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '6', '-j', '1', '-T', '20', @files, $node->connstr('postgres') ],
		'<', \undef, '>', \$out, '2>', \$err);
	sleep(0.5 + rand(1.5));
	if (rand() < 0.5)
	{
		my $path = index_path();
		$node->stop('immediate');
		lose_empty_tail($path) if rand() < 0.5;
		$load->finish;
		$node->start;
	}
	else
	{
		my $starts = starts();
		my $pid = $node->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'load' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");
		like($pid, qr/^\d+$/, "round $round: a process to kill");
		kill('KILL', $pid);
		$load->finish;
		wait_up($starts);
	}
	# pgbench must have ended by the crash, not by an error of a statement
	my @errors = grep { /ERROR:/ && !/deadlock/ } split /\n/, $err;
	is("@errors", '', "round $round: no statement failed");
	last unless lsm_same($node, "round $round, buffer limit $limit", strict => 1);
	my $after = $node->safe_psql('postgres', 'SELECT last_value FROM s');
	$seen += $after - $before;
	if ($round % 3 == 0)
	{
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
		is($node->safe_psql('postgres', "SELECT test_lsm_check('t_v') - count(id) FROM t"),
			'0', 'after VACUUM the index has no more entries than the table');
		$node->safe_psql('postgres', 'CHECKPOINT');
	}
	$node->safe_psql('postgres', 'DELETE FROM t WHERE random() < 0.6')
	  if $node->safe_psql('postgres', 'SELECT count(id) FROM t') > 20000;
}
cmp_ok($seen, '>', 1000, 'the load did insert');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP:|inconsistent page/, 'no panic, no failed assertion');
$node->stop;
done_testing();
