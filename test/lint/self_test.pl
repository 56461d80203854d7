#!/usr/bin/perl
#
# self_test.pl
#	  Prove that each check of lint.pl finds what it is for.
#
# For each check a small tree with a fault in it, made in a folder of its own,
# must give the fault named here, and the same tree without it must give none.

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $lint = abs_path(dirname(__FILE__) . '/lint.pl');

# lint(CHECK, {FILE => TEXT}): its exit code and output on such a tree.
sub lint
{
	my ($check, $files) = @_;
	my $dir = tempdir(CLEANUP => 1);
	for my $name (keys %$files)
	{
		make_path(dirname("$dir/$name"));
		open my $fh, '>', "$dir/$name" or die "$dir/$name: $!";
		print $fh $files->{$name};
		close $fh;
	}
	my $out = `$^X $lint --only $check $dir 2>&1`;
	return ($? >> 8, $out);
}

my $error = 'ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("x (")));';

# [ check, faulty tree, faults that must be named, the tree put right ]
my @cases = (
	[   'include-direction',
		{   'src/codec/codec_a.c' => "#include \"lsm/lsm_b.h\"\n",
			'src/lsm/lsm_b.h' => "#include \"inverted/inv_c.h\"\n",
			'src/inverted/inv_c.h' => "#include \"key/key_d.h\"\n",
			'src/key/key_d.h' => '',
			'src/extra/extra_e.c' => '' },
		[   'codec_a.c:1: src/codec must not include "lsm/lsm_b.h"',
			'lsm_b.h:1: src/lsm must not include "inverted/inv_c.h"',
			'inv_c.h:1: src/inverted must not include "key/key_d.h"',
			'folder src/extra has no place' ],
		{   'src/lsm/lsm_b.h' => "#include \"codec/codec_a.h\"\n#include \"lsm_c.h\"\n",
			'src/lsm/lsm_c.h' => "#include \"compat.h\"\n",
			'src/codec/codec_a.h' => '',
			'src/compat.h' => '' } ],
	[   'unique-names',
		{ 'src/am/scan.c' => '', 'src/key/scan.c' => '' },
		['src/key/scan.c:1: same name as src/am/scan.c'],
		{ 'src/am/am_scan.c' => '', 'src/key/key_scan.c' => '' } ],
	[   'name-prefix',
		{ 'src/inverted/writer.c' => '', 'src/am/key_scan.h' => '' },
		[ 'writer.c:1: the name must begin with inv_', 'key_scan.h:1: the name must begin with am_' ],
		{ 'src/inverted/inv_writer.c' => '', 'src/am/am_scan.h' => '', 'src/snii.c' => '' } ],
	[   'headers-alone',
		{ 'src/am/am_a.h' => "extern void snii_am_a(SniiThing x);\n" },
		['am_a.h:1: does not compile alone'],
		{ 'src/am/am_a.h' => "typedef int SniiThing;\nextern void snii_am_a(SniiThing x, Datum d);\n" } ],
	[   'no-extern',
		{ 'src/am/am_a.c' => "int x;\nextern int y;\n", 'test/modules/m/m.c' => "extern int z;\n" },
		[ 'am_a.c:2: extern', 'm.c:1: extern' ],
		{ 'src/am/am_a.c' => "/* extern */\nchar *s = \"extern\";\n", 'src/am/am_a.h' => "extern int y;\n" } ],
	[   'errcode',
		{   'src/am/am_a.c' => "void f(void)\n{\n\tereport(ERROR,\n\t\t\t(errmsg(\"a )\")));\n\t$error\n"
			  . "\tereport(FATAL, errmsg(\"errcode(1)\"));\n}\n" },
		[ 'am_a.c:3: ereport(ERROR) without', 'am_a.c:6: ereport(FATAL) without' ],
		{   'src/am/am_a.c' => "void f(void)\n{\n\t$error\n\tereport(WARNING, errmsg(\"x\"));\n"
			  . "\tereport(ERROR, errcode_for_file_access(), errmsg(\"x\"));\n}\n" } ],
	[   'version-conditionals',
		{ 'src/am/am_a.c' => "\n#if PG_VERSION_NUM >= 160000\n#endif\n" },
		['am_a.c:2: conditionals on the server version'],
		{ 'src/compat.h' => "#if PG_VERSION_NUM >= 160000\n#endif\n", 'src/am/am_a.c' => "/* PG_VERSION_NUM */\n" } ],
	[   'line-length',
		{ 'src/am/am_a.c' => "\n\t/* " . ('x' x 94) . " */\n" },
		['am_a.c:2: 104 columns'],
		{ 'src/am/am_a.c' => "\t/* " . ("\x{c3}\x{a4}" x 90) . " */\n" } ],
	[   'indent',
		{ 'src/am/am_a.c' => "#include \"postgres.h\"\n\nint\nf(void)\n{\n    return 1;\n}\n" },
		['am_a.c:6: not as pg_bsd_indent has it'],
		{   'src/am/am_a.c' => "#include \"postgres.h\"\n\nstatic Relation *\nf(Relation *r, SniiX *x)\n{\n"
			  . "\tSniiX	   *y = x;\n\n\treturn r;\n}\n",
			'src/am/am_a.h' => "typedef struct SniiX\n{\n\tint\t\t\ta;\n}\t\t\tSniiX;\n" =~ s/\}\t\t\t/} /r } ],
	[   'documents',
		{   'README.md' => "See `src/am/am_gone.c` and [this](docs/gone.md).\n"
			  . "Call `snii_gone(1)`; `snii.gone_setting` is a SniiGone.\n"
			  . "`CREATE INDEX ON t USING snii (b) WITH (gone = 1)`, then `make gone`.\n",
			'Makefile' => "here:\n\ttrue\n" },
		[   'README.md:1: there is no file src/am/am_gone.c',
			'README.md:1: there is no file docs/gone.md',
			'README.md:2: nothing is called snii_gone',
			'README.md:2: there is no setting snii.gone_setting',
			'README.md:2: nothing is called SniiGone',
			'README.md:3: there is no option gone',
			'README.md:3: there is no target gone' ],
		{   'README.md' => "See `src/am/am_a.c`, `am_a.c`, `src/*/am_*.c` and [this](docs/a.md).\n"
			  . "Call `snii_here(1)`; `snii.a_setting` is a SniiHere.\n"
			  . "`CREATE INDEX ON t USING snii (b) WITH (analyzer = 'x')`, then `make here`.\n",
			'docs/a.md' => "Back to [it](../README.md).\n",
			'src/am/am_a.c' => "SniiHere snii_here(\"snii.a_setting\", \"analyzer\");\n",
			'Makefile' => "here:\n\ttrue\n" } ],);

my %tested = ('file-length' => 1);
for my $case (@cases)
{
	my ($check, $faulty, $faults, $right) = @$case;
	my ($rc, $out) = lint($check, $faulty);
	$tested{$check} = 1;
	is($rc, 1, "$check: a faulty tree fails");
	like($out, qr/\Q$_\E/, "$check: $_") for @$faults;
	is(scalar(split /\n/, $out), scalar(@$faults), "$check: nothing else is found");
	($rc, $out) = lint($check, $right);
	is("$rc $out", '0 ', "$check: the tree put right passes");
}

my ($rc, $out) = lint('file-length', { 'src/am/am_a.c' => "\n" x 1201 });
is($rc, 0, 'file-length: a long file is no fault');
like($out, qr/warning: .*am_a\.c has 1201 lines/, 'file-length: but is named');

for my $name (split /\n/, `$^X $lint --list`)
{
	ok($tested{$name}, "check $name has a self-test");
}

done_testing();
