# The benchmark's sections run: on little data, for about 15 s in all. What
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
done_testing();
