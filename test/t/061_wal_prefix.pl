# Replay stopped after each record that an index wrote. The WAL of insertions,
# flushes, merges, VACUUM, page reuse and a large document is given to a
# standby record by record; between two of them, it verifies the index and
# compares its answers with sequential scans. Then copies of the base backup
# are recovered up to a sample of the records and promoted: they must be well,
# and go on.
#
#	SNII_LONG=1		after each record of the WAL, also those of others, and
#					more copies

use strict;
use warnings;

use File::Path qw(rmtree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;
use Time::HiRes qw(time usleep);

my $long = $ENV{SNII_LONG} || 0;
my $most_stops = $long ? 1_000_000 : 200;
my $most_copies = $long ? 150 : 6;
my $SEGMENT = 1 << 20;

my $primary = snii_cluster('wal', streaming => 1, extra => ['--wal-segsize=1'], conf => <<'CONF');
snii.workers = off
snii.buffer_limit = 256
wal_keep_size = 1GB
checkpoint_timeout = 1h
max_wal_size = 1GB
min_wal_size = 4MB
shared_buffers = 16MB
CONF
plan skip_all => 'pg_walinspect is not installed'
  if ($primary->psql('postgres', 'CREATE EXTENSION pg_walinspect'))[0] != 0;

# compare() tells what is wrong with the index: nothing if all is well.
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE docs (id int, body text);
CREATE INDEX docs_i ON docs USING snii (body);
CREATE FUNCTION compare() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	cond text;
	truth text;
	answer text;
	way text;
	faults text = '';
BEGIN
	BEGIN
		PERFORM snii_check('docs_i', true);
	EXCEPTION WHEN others THEN
		faults = 'snii_check: ' || SQLERRM || '; ';
	END;
	FOREACH cond IN ARRAY ARRAY['body ||| ''one''', 'body &&& ''one d3''', 'body ### ''two d4''', 'body IS NULL',
		'body @@@ ''two NOT d5''', 'body ||| ''large''', 'body ### ''tok2999 tok3000''', 'body ||| ''lost''']
	LOOP
		FOREACH way IN ARRAY ARRAY['seqscan', 'bitmapscan', 'indexscan']
		LOOP
			PERFORM set_config('enable_' || s, CASE WHEN s = way THEN 'on' ELSE 'off' END, true)
			FROM unnest(ARRAY['seqscan', 'bitmapscan', 'indexscan']) s;
			BEGIN
				EXECUTE 'SELECT count(*) || '' '' || coalesce(md5(string_agg(id::text, '','' ORDER BY id)), '''') FROM docs WHERE ' || cond INTO answer;
			EXCEPTION WHEN others THEN
				answer = SQLERRM;
			END;
			IF way = 'seqscan' THEN
				truth = answer;
			ELSIF truth IS DISTINCT FROM answer THEN
				faults = faults || format('%s by %s: %s, not %s; ', cond, way, answer, truth);
			END IF;
		END LOOP;
	END LOOP;
	RETURN 'faults: ' || faults;
END $$;
INSERT INTO docs SELECT g, 'one start d' || g % 7 || ' ' || md5(g::text) FROM generate_series(1, 150) g;
SELECT snii_flush('docs_i');
INSERT INTO docs SELECT g, 'two start d' || g % 7 FROM generate_series(151, 180) g;
CHECKPOINT;
SQL
$primary->backup('base');

# ----- the work -------------------------------------------------------------

sub lsn_number { my ($high, $low) = split m(/), $_[0]; return hex($high) * 2**32 + hex($low); }
sub lsn_text { return sprintf '%X/%X', $_[0] >> 32, $_[0] & 0xffffffff; }

sub insert_lsn { return lsn_number($primary->lsn('insert')); }

my $words = "md5(g::text) || ' ' || md5((g + 7)::text)";
my @work = (
	[ 'insertion', "INSERT INTO docs SELECT g, CASE WHEN g % 9 > 0 THEN 'one d' || g % 7 || ' ' || $words END FROM generate_series(1001, 1060) g" ],
	[ 'rolled back insertion', "BEGIN; INSERT INTO docs SELECT g, 'lost d' || g % 7 FROM generate_series(1101, 1115) g; ROLLBACK" ],
	[ 'flush', "SELECT snii_flush('docs_i')" ],
	[ 'insertion that flushes', "INSERT INTO docs SELECT g, 'two d' || g % 7 || ' ' || $words FROM generate_series(2001, 2040) g" ],
	[ 'insertion that flushes', "INSERT INTO docs SELECT g, 'two d' || g % 7 || ' ' || (SELECT string_agg(md5((g * 100 + h)::text), ' ') FROM generate_series(1, 100) h) FROM generate_series(2101, 2300) g" ],
	[ 'large document', "INSERT INTO docs SELECT 3000, 'large ' || string_agg('tok' || g, ' ' ORDER BY g) FROM generate_series(1, 3001) g" ],
	[ 'huge document', "INSERT INTO docs SELECT 3001, 'large ' || string_agg(md5(g::text), ' ' ORDER BY g) FROM generate_series(1, 12000) g" ],
	[ 'flush', "SELECT snii_flush('docs_i')" ],
	[ 'merge', "SELECT snii_merge('docs_i')" ],
	[ 'insertion', "INSERT INTO docs SELECT g, 'two d' || g % 7 || ' ' || $words FROM generate_series(4001, 4030) g" ],
	[ 'deletion', 'DELETE FROM docs WHERE id % 3 = 0 OR id = 3001' ],
	[ 'VACUUM', 'VACUUM (INDEX_CLEANUP on) docs' ],
	[ 'insertion', "INSERT INTO docs SELECT g, 'one d' || g % 7 || ' ' || $words FROM generate_series(5001, 5030) g" ],
	[ 'flush', "SELECT snii_flush('docs_i')" ],
	[ 'merge', "SELECT snii_merge('docs_i')", 'while a snapshot is held' ],
	[ 'recycling', 'VACUUM (INDEX_CLEANUP on) docs' ],
	[ 'recycling', 'SELECT txid_current(); VACUUM (INDEX_CLEANUP on) docs' ],
	[ 'page reuse', "INSERT INTO docs SELECT g, 'two d' || g % 7 || ' ' || $words FROM generate_series(6001, 6040) g" ],
	[ 'page reuse', "SELECT snii_flush('docs_i')" ],
	[ 'page reuse', "SELECT snii_merge('docs_i')" ],
	[ 'emptying', "DELETE FROM docs WHERE id < 6001; VACUUM (INDEX_CLEANUP on) docs; SELECT snii_merge('docs_i'); VACUUM docs" ],
);
my $from = insert_lsn();
my @ends;
for my $step (@work)
{
	my $holder;
	if (defined $step->[2])
	{
		# what the merge displaces is parked, and freed later
		$holder = $primary->background_psql('postgres');
		$holder->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs");
		$holder->query_safe("SET enable_seqscan = off; DECLARE c CURSOR FOR SELECT id FROM docs WHERE body ||| 'one two'; FETCH 1 FROM c");
	}
	$primary->safe_psql('postgres', $step->[1]);
	$holder->quit if defined $holder;
	push @ends, insert_lsn();
}
like($primary->safe_psql('postgres', 'SELECT compare()'), qr/^faults: $/, 'the primary is well');
$primary->safe_psql('postgres', "SELECT txid_current(); SELECT pg_switch_wal(); SELECT txid_current()");
my $to = lsn_text($ends[-1]);
my $file = $primary->safe_psql('postgres', "SELECT relfilenode FROM pg_class WHERE relname = 'docs_i'");

# Records, with what was done, and their kind.
my @records;
my $step = 0;
my $sql = <<"SQL";
SELECT start_lsn, end_lsn, resource_manager, record_type,
	(SELECT count(*) FROM regexp_matches(block_ref, 'blkref #', 'g')),
	coalesce(block_ref ~ 'rel [0-9]+/[0-9]+/$file ', false) OR record_type = 'REUSE_PAGE'
FROM pg_get_wal_records_info('@{[lsn_text($from)]}', '$to') ORDER BY start_lsn
SQL
for my $line (split /\n/, $primary->safe_psql('postgres', $sql))
{
	my ($begin, $end, $rm, $type, $blocks, $ours) = split /\|/, $line;
	$end = lsn_number($end);
	$begin = lsn_number($begin);
	$step++ while $step < $#ends && $end > $ends[$step];
	push @records, { start => $begin, end => $end, ours => $ours eq 't', what => $work[$step][0],
		kind => "$work[$step][0]: $rm $type" . ($rm eq 'Generic' ? " $blocks" : '') };
}

# Which of a list to take: the first and the last of each kind, and others at
# equal distances.
sub spread
{
	my ($n, @list) = @_;
	return @list if @list <= $n;
	my (%first, %last, %taken);
	for my $i (0 .. $#list)
	{
		$first{ $list[$i]{kind} } //= $i;
		$last{ $list[$i]{kind} } = $i;
	}
	for my $i (sort({ $a <=> $b } values %first), sort({ $a <=> $b } values %last),
		map { int($_ * @list / $n) } 0 .. $n - 1)
	{
		$taken{$i} = 1 if keys %taken < $n;
	}
	return map { $list[$_] } sort { $a <=> $b } keys %taken;
}

my @ours = grep { $_->{ours} } @records;
my %kinds;
$kinds{ $_->{kind} }++ for @ours;
note "$_: $kinds{$_}" for sort keys %kinds;
cmp_ok(scalar(grep { $_->{kind} =~ /REUSE_PAGE/ } @ours), '>', 0, 'pages were used again');
for my $what (qw(insertion flush merge VACUUM), 'recycling', 'page reuse', 'large document', 'huge document')
{
	cmp_ok(scalar(grep { $_->{what} eq $what } @ours), '>', 0, "records of: $what");
}

# ----- a standby that is given one record after the other ---------------------

sub segment_name
{
	my ($segment) = @_;
	my $per_log = 2**32 / $SEGMENT;
	return sprintf '00000001%08X%08X', $segment / $per_log, $segment % $per_log;
}

# Bytes of the primary's WAL from one place to another, in a standby's pg_wal.
sub give
{
	my ($node, $begin, $end) = @_;
	while ($begin < $end)
	{
		my $name = segment_name(int($begin / $SEGMENT));
		my $offset = $begin % $SEGMENT;
		my $n = $end - $begin < $SEGMENT - $offset ? $end - $begin : $SEGMENT - $offset;
		my $target = $node->data_dir . "/pg_wal/$name";
		my $bytes;
		open my $in, '<:raw', $primary->data_dir . "/pg_wal/$name" or die "$name: $!";
		sysseek $in, $offset, 0 or die $!;
		die "$name is too short" if sysread($in, $bytes, $n) != $n;
		if (!-e $target)
		{
			open my $new, '>:raw', $target or die "$target: $!";
			syswrite $new, "\0" x $SEGMENT;
		}
		open my $out, '+<:raw', $target or die "$target: $!";
		sysseek $out, $offset, 0 or die $!;
		die "$target: $!" if syswrite($out, $bytes) != $n;
		close $out or die $!;
		$begin += $n;
	}
	return;
}

my $standby = PostgreSQL::Test::Cluster->new('stepping');
$standby->init_from_backup($primary, 'base');
$standby->append_conf('postgresql.conf', "wal_retrieve_retry_interval = 1ms\nhot_standby = on\n");
append_to_file($standby->data_dir . '/standby.signal', '');
my ($first) = sort grep { /^[0-9A-F]{24}$/ } slurp_dir($standby->data_dir . '/pg_wal');
unlink $standby->data_dir . "/pg_wal/$_" for grep { /^[0-9A-F]{24}$/ } slurp_dir($standby->data_dir . '/pg_wal');
my $begin = hex(substr $first, 8, 8) * 2**32 + hex(substr $first, 16, 8) * $SEGMENT;
give($standby, $begin, $from);
$standby->start;
my $session = $standby->background_psql('postgres');

# Replay up to there; what is wrong then.
sub stop_at
{
	my ($end) = @_;
	give($standby, $from, $end) if $end > $from;
	$from = $end;
	# no snapshot may be held meanwhile, lest replay waits for it
	my $limit = time + $PostgreSQL::Test::Utils::timeout_default;
	my $reached = "SELECT pg_last_wal_replay_lsn() >= '" . lsn_text($end) . "'";
	while ($session->query_safe($reached) ne 't')
	{
		die 'replay does not come to ' . lsn_text($end) if time > $limit;
		usleep(1000);
	}
	my $answer = $session->query_safe('SELECT compare()');
	return $answer =~ /^faults: $/ ? '' : $answer;
}

my $start = time;
my @stops = spread($most_stops, $long ? @records : @ours);
my @faults;
my %stopped;
for my $record (@stops)
{
	my $fault = stop_at($record->{end});
	push @faults, "after a record of $record->{kind}, at " . lsn_text($record->{end}) . ": $fault" if $fault ne '';
	$stopped{ $record->{what} }++;
	last if @faults > 10;
}
note sprintf '%d of %d records, %d of them of the index, in %.1f s', scalar(@stops), scalar(@records), scalar(@ours), time - $start;
is(join("\n", @faults), '', 'the index is well after each record: ' . join ', ', map { "$_ $stopped{$_}" } sort keys %stopped);
$session->quit;
like($standby->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT * FROM docs WHERE body ||| 'one'"), qr/docs_i/, 'the standby uses the index');
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|inconsistent page|ERROR/, 'its log is free of faults');
$standby->stop;

# ----- copies that are promoted ------------------------------------------------

my $archive = $primary->basedir . '/wal';
mkdir $archive or die $!;
system_or_bail('cp', '-a', map({ $primary->data_dir . "/pg_wal/$_" } grep { /^[0-9A-F]{24}$/ } slurp_dir($primary->data_dir . '/pg_wal')), $archive);
$primary->stop;
my $copy = PostgreSQL::Test::Cluster->new('promoted');
$copy->init_from_backup($primary, 'base');
$copy->append_conf('postgresql.conf', "restore_command = 'cp $archive/%f %p'\nrecovery_target_action = promote\n");
append_to_file($copy->data_dir . '/recovery.signal', '');
rmtree($copy->data_dir . '/pg_wal');
mkdir $copy->data_dir . '/pg_wal', 0700 or die $!;
my $pristine = $copy->basedir . '/pristine';
rename $copy->data_dir, $pristine or die $!;

$start = time;
my $n = 0;
my $copies = 0;
my $next = "INSERT INTO docs SELECT g, 'one d' || g % 7 || ' ' || $words FROM generate_series(9001, 9100) g";
for my $record (spread($most_copies, @ours))
{
	rmtree($copy->data_dir);
	system_or_bail('cp', '-a', $pristine, $copy->data_dir);
	my $inclusive = $n++ % 3 ? 'on' : 'off';
	$copy->append_conf('postgresql.conf', "recovery_target_lsn = '" . lsn_text($record->{$inclusive eq 'on' ? 'start' : 'end'}) . "'\nrecovery_target_inclusive = $inclusive\n");
	$copy->start;
	$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	my ($rc, $out, $err) = $copy->psql('postgres', join ";\n", 'SELECT compare()', $next, 'SELECT compare()',
		"DO \$\$ BEGIN PERFORM snii_flush('docs_i'); END \$\$", 'SELECT compare()', "DELETE FROM docs WHERE id % 4 = 0",
		'VACUUM (INDEX_CLEANUP on) docs', 'SELECT compare()', "DO \$\$ BEGIN PERFORM snii_merge('docs_i'); END \$\$",
		'VACUUM docs', 'SELECT compare()');
	my $want = join "\n", ('faults: ') x 5;
	push @faults, "promoted after $record->{kind}, inclusive $inclusive, " . lsn_text($record->{end}) . ": $rc $out $err" if $rc != 0 || $out ne $want;
	$copy->stop('immediate');
	$copies++;
	last if @faults > 10;
}
note sprintf '%d copies in %.1f s', $copies, time - $start;
is(join("\n", @faults), '', "$copies copies are well after recovery up to a record, and go on");
unlike(slurp_file($copy->logfile), qr/PANIC|TRAP|inconsistent page|ERROR/, 'their log is free of faults');
done_testing();
