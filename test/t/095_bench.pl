# The benchmarks' sections run: on little data, for about a minute in all. What
# they print is looked at for its shape only; the figures mean nothing.

use strict;
use warnings;

use IPC::Run;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my %SECTIONS = (
	build => qr/^\| logs \| GIN, expression \|/m,
	inserts => qr/^\| COPY of \d+ \| snii \|/m,
	writes => qr/^\| snii, not preloaded \|.*^### Queries while 2 clients.*^\| phrase \|/ms,
	updates => qr/^\| of the file \|/m,
	delete => qr/^\| its work on the index \|/m,
	horizon => qr/^\| dump \|.*^\| one INSERT of/ms,
	buffer => qr/^\| phrase \|/m);

my $node = snii_cluster('bench', conf => "wal_consistency_checking = ''\nshared_buffers = 128MB\n");
my $work = PostgreSQL::Test::Utils::tempdir();
mkdir "$work/out" or die "$work/out: $!";
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
$ENV{PYTHONDONTWRITEBYTECODE} = 1;
delete @ENV{qw(SNII_DATA SNII_CORPUS)};
my $ctl = sprintf "pg_ctl -w -m fast -D '%s' -l '%s'", $node->data_dir, $node->logfile;

for my $section (sort keys %SECTIONS)
{
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run(
		[ 'python3', 'test/bench/measure.py', '--smoke', '--work', $work, '--ctl', $ctl, '--corpora', 'logs', '--sections', $section ],
		'>', \$out, '2>', \$err);
	ok($ok, "$section: ends well") or diag($err);
	like($out, $SECTIONS{$section}, "$section: its table");
}
is($node->safe_psql('postgres', 'SHOW autovacuum'), 'off', 'settings are as they were');
$node->stop;

# Builds and loads, on a server of their own.
my %BUILD_SECTIONS = (
	speed => qr/^\| unique \| \d+ \| [0-9.]+ /m,
	memory => qr/^\| unique \| \d+ \| 128 \| 2 \| \d+ \| [0-9.]+ /m,
	price => qr/^\| 2 \| every \|.*^\| 2 \| every \|/ms,
	loads => qr/^\| ten \| 10 snii \|.*^\| wide \| 3 snii \|.*^\| copy1000 \| 1 snii \|/ms,
	spills => qr/^\| both \|[^\n]* equal \| nothing \|\n/m);

$node = snii_cluster('builds', conf => <<'CONF');
shared_preload_libraries = 'snii'
wal_consistency_checking = ''
shared_buffers = 64MB
restart_after_crash = on
log_temp_files = 0
CONF
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
for my $section (sort keys %BUILD_SECTIONS)
{
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run(
		[ 'python3', 'test/bench/build_parallel.py', '--smoke', '--log', $node->logfile, '--section', $section ],
		'>', \$out, '2>', \$err);
	ok($ok, "$section: ends well") or diag($out, $err);
	like($out, $BUILD_SECTIONS{$section}, "$section: its table");
}
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name LIKE 'snii.%' AND sourcefile LIKE '%auto.conf'"),
	0, 'settings are as they were');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname LIKE 'bench%'"), 0, '... and no table stays');
$node->stop;
done_testing();
