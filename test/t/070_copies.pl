# Copies of a cluster answer as the original does: pg_basebackup, pg_dump and
# restore, and pg_upgrade (to the same version, which moves every file).

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SniiTest;
use Test::More;

my $node = snii_cluster('original', streaming => 1);
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA app;
CREATE TABLE app.docs (id int, body text, code varchar(40)) ;
CREATE INDEX docs_i ON app.docs USING snii (body, code text_keyword_ops);
CREATE INDEX docs_p ON app.docs USING snii (body) WITH (analyzer = 'whitespace') WHERE id % 2 = 0;
CREATE INDEX docs_e ON app.docs USING snii (lower(code));
CREATE MATERIALIZED VIEW app.mv AS SELECT id FROM app.docs WHERE body ||| 'word3';
CREATE VIEW app.v AS SELECT id, body FROM app.docs WHERE body ### 'word3 tail';
CREATE TABLE app.parted (id int, body text) PARTITION BY HASH (id);
CREATE TABLE app.parted0 PARTITION OF app.parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE app.parted1 PARTITION OF app.parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX parted_i ON app.parted USING snii (body);
CREATE TABLE app.checked (id int, body text CHECK (body @@@ '@standard ''must'''::sniiquery), q sniiquery DEFAULT '@standard ''a b''');
INSERT INTO app.checked VALUES (1, 'this must be');
INSERT INTO app.docs SELECT g, 'word' || g % 7 || ' tail ' || md5(g::text), 'Code ' || g % 11 FROM generate_series(1, 3000) g;
SELECT snii_flush('app.docs_i');
INSERT INTO app.docs SELECT g, 'word' || g % 7 || ' tail ' || md5(g::text), NULL FROM generate_series(3001, 3500) g;
INSERT INTO app.parted SELECT g, 'word' || g % 7 FROM generate_series(1, 300) g;
REFRESH MATERIALIZED VIEW app.mv;
DELETE FROM app.docs WHERE id % 10 = 0;
VACUUM app.docs;
INSERT INTO app.docs VALUES (9001, 'word3 tail late', 'Late');
SQL

my @where = ("body ||| 'word3'", "body ### 'word3 tail'", "body @@@ 'tail NOT word3'", "code ||| 'Code 7'",
	"lower(code) ||| 'code'", 'code IS NULL', "body ||| 'late'");
my @truth = answers($node, 'seqscan', table => 'app.docs', where => \@where);

sub is_copy
{
	my ($copy, $name, $dbname) = @_;
	$dbname ||= 'postgres';
	my @got = answers($copy, 'bitmap', table => 'app.docs', where => \@where, dbname => $dbname);
	is("@got", "@truth", "$name: same answers as the original");
	same_answers($copy, table => 'app.docs', where => \@where, dbname => $dbname, name => "$name: same answers without index");
	check_indexes($copy, dbname => $dbname, name => "$name: snii_check");
	is($copy->safe_psql($dbname, "SELECT snii_check('app.docs_i', true), snii_check('app.docs_p', true)"), '|', "$name: all rows are indexed");
	$copy->safe_psql($dbname, "INSERT INTO app.docs VALUES (9002, 'word3 tail copied', 'x'); SELECT snii_flush('app.docs_i'); SELECT snii_merge('app.docs_i')");
	is($copy->safe_psql($dbname, "SET enable_seqscan = off; SELECT id FROM app.docs WHERE body ||| 'copied'; SELECT count(*) FROM app.v; SELECT count(*) FROM app.parted WHERE body ||| 'word3'"),
		"9002\n" . ($node->safe_psql('postgres', 'SELECT count(*) + 1 FROM app.v')) . "\n43", "$name: it goes on");
	return;
}

# pg_basebackup under load
my ($o, $e) = ('', '');
append_to_file($node->basedir . '/load.sql', "INSERT INTO app.parted SELECT g, 'load ' || md5(random()::text) FROM generate_series(1, 100) g;\nDELETE FROM app.parted WHERE body ||| 'load';\nSELECT snii_flush('app.parted0_body_idx');\n");
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 60, '-f', $node->basedir . '/load.sql', '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$o, '2>', \$e);
$node->backup('base');
$load->signal('TERM');
$load->finish;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
is_copy($copy, 'pg_basebackup');
$copy->stop;

# pg_dump and restore, the extension in another schema than the tables
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'the dump is restored without an error');
my $defs = "SELECT string_agg(indexdef, E'\\n' ORDER BY indexdef) FROM pg_indexes WHERE schemaname = 'app'";
is($node->safe_psql('restored', $defs), $node->safe_psql('postgres', $defs), 'the same definitions');
is($node->safe_psql('restored', 'SELECT q, body FROM app.checked'), $node->safe_psql('postgres', 'SELECT q, body FROM app.checked'), 'the same queries');
is_copy($node, 'restore', 'restored');
$node->safe_psql('postgres', 'DROP DATABASE restored');

# pg_upgrade
SKIP:
{
	my $bindir = $node->config_data('--bindir');
	skip 'there is no pg_upgrade', 1 unless -x "$bindir/pg_upgrade";
	my $new = PostgreSQL::Test::Cluster->new('upgraded');
	my $help = `initdb --help`;
	$new->init(extra => $help =~ /--no-data-checksums/ ? ['--no-data-checksums'] : []);
	$node->stop;
	my $cwd = $new->basedir;
	chdir $cwd or die $!;
	$ENV{PGHOST} = '';
	command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir,
		'-s', $new->host, '-p', $node->port, '-P', $new->port ], 'pg_upgrade');
	$new->start;
	$node->start;
	is_copy($new, 'pg_upgrade');
	$new->stop;
	$node->stop;
}
done_testing();
