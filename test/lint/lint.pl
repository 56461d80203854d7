#!/usr/bin/perl
#
# lint.pl
#	  Check the rules of the source tree that a compiler does not check.
#
#	  usage: perl test/lint/lint.pl [--tap] [--only CHECK] [--list] [FOLDER]
#	         perl test/lint/lint.pl --indent [FOLDER]     rewrites the C files
#
# Prints a line "FILE:LINE: what is wrong" for each fault and exits 1 if there
# is one; with --tap a line "ok" or "not ok" for each check as well. Checks are
# the functions of the table at the end; each takes nothing, looks at the tree
# below the current folder and returns its faults. self_test.pl beside this file
# proves of each check that it finds what it is for.
#
# PG_CONFIG (default: pg_config) tells where the server's headers are.

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Find;

# What each folder of src may include, besides its own headers and compat.h.
my @BELOW_QUERY = qw(inverted key lsm storage codec memory text);
my %MAY_INCLUDE = (
	am => [ 'query', @BELOW_QUERY ],
	query => \@BELOW_QUERY,
	inverted => [qw(lsm storage codec memory text)],
	key => [qw(lsm storage codec memory)],
	lsm => [qw(storage codec memory)],
	storage => [qw(codec memory)],
	memory => [],
	codec => [],
	text => [qw(codec)],);

# How file names begin, where it is not the folder's own name.
my %PREFIX = (inverted => 'inv', memory => 'mem');

my $MAX_COLUMNS = 100;
my $MAX_LINES = 1200;

# PostgreSQL's own options for pg_bsd_indent.
my @INDENT_OPTIONS = qw(-bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12
  -nfc1 -i4 -l79 -lp -lpl -nip -npro -sac -tpg -ts4);

# Typedefs of no header below the server's include folder, and names that are
# typedefs there but spoil ordinary variables of the same name.
my @MORE_TYPEDEFS = qw(bool size_t ssize_t off_t time_t FILE va_list int8_t
  int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t
  UChar UChar32 UErrorCode UBool UBreakIterator UText UCaseMap USet UProperty
  UVersionInfo UNormalizer2 UConverter ZSTD_CCtx ZSTD_DCtx ZSTD_inBuffer
  ZSTD_outBuffer);
my %NO_TYPEDEF = map { $_ => 1 } qw(ANY FD_SET U abs allocfunc boolean date digit
  ilist interval iterator other pointer printfunc reference string timestamp type
  wrap);

my ($tap, $only, $indent);

# --- helpers ------------------------------------------------------------------

# files(REGEX, FOLDER...): the names of files below the folders, sorted.
sub files
{
	my ($regex, @folders) = @_;
	my @found;
	@folders = grep { -d } @folders;
	return () unless @folders;
	find(
		{   no_chdir => 1,
			wanted => sub {
				if (-d && basename($_) =~ /^(results|tmp_check|\.build|output_iso)$/)
				{
					$File::Find::prune = 1;
					return;
				}
				push @found, $_ if -f && /$regex/;
			} },
		@folders);
	return sort @found;
}

sub c_files { return files(qr/\.[ch]$/, 'src', 'test/modules', 'test/fuzz', 'test/bench'); }

sub slurp
{
	my ($file) = @_;
	open my $fh, '<', $file or die "$file: $!\n";
	local $/;
	my $text = <$fh>;
	return defined $text ? $text : '';
}

sub spew
{
	my ($file, $text) = @_;
	open my $fh, '>', $file or die "$file: $!\n";
	print $fh $text;
	close $fh or die "$file: $!\n";
	return;
}

# code_of(FILE): its text with comments and the insides of strings blanked out,
# line breaks kept.
sub code_of
{
	my ($file) = @_;
	my $text = slurp($file);
	$text =~ s{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')}
		{my $t = $1; my $q = substr($t, 0, 1);
		 if ($q eq '/') { $t =~ s/[^\n]/ /g; $t } else { "$q$q" }}gse;
	return $text;
}

# grep_lines(REGEX, MESSAGE, FILE...): a fault for each line of code that matches.
sub grep_lines
{
	my ($regex, $message, @names) = @_;
	my @faults;
	for my $file (@names)
	{
		my $n = 0;
		for my $line (split /\n/, code_of($file))
		{
			$n++;
			push @faults, "$file:$n: $message" if $line =~ $regex;
		}
	}
	return @faults;
}

# layer_of(FILE): its folder in src, '' for src itself.
sub layer_of { return $_[0] =~ m{^src/([^/]+)/} ? $1 : ''; }

sub pg_config
{
	my ($what) = @_;
	my $program = $ENV{PG_CONFIG} || 'pg_config';
	my $answer = `$program $what 2>/dev/null`;
	die "lint: no pg_config; set PG_CONFIG\n" unless $? == 0 && defined $answer;
	chomp $answer;
	return $answer;
}

# --- the checks -----------------------------------------------------------------

# Includes go down the layers, or stay in the folder.
sub check_include_direction
{
	my @faults;
	for my $file (files(qr/\.[ch]$/, 'src'))
	{
		my $layer = layer_of($file);
		next if $layer eq '' && $file ne 'src/compat.h';
		my @allowed = $layer eq '' ? () : ($layer, @{ $MAY_INCLUDE{$layer} || [] });
		push @faults, "$file:1: folder src/$layer has no place in the layers"
		  if $layer ne '' && !$MAY_INCLUDE{$layer};
		my $n = 0;
		for my $line (split /\n/, slurp($file))
		{
			$n++;
			next unless $line =~ /^\s*#\s*include\s+"([^"]+)"/;
			my $name = $1;
			next if $name eq 'compat.h' && $layer ne '';
			my $target =
				$name =~ m{^([^/]+)/} && -f "src/$name" ? $1
			  : -f dirname($file) . "/$name" ? $layer
			  : -f "src/$name" ? ''
			  : next;
			next if grep { $_ eq $target } @allowed;
			push @faults, "$file:$n: src/"
			  . ($layer || '') . " must not include \"$name\"";
		}
	}
	return @faults;
}

# The server log shows only base names.
sub check_unique_names
{
	my (%seen, @faults);
	for my $file (files(qr/\.[ch]$/, 'src'))
	{
		my $name = basename($file);
		push @faults, "$file:1: same name as $seen{$name}" if $seen{$name};
		$seen{$name} = $file;
	}
	return @faults;
}

sub check_name_prefix
{
	my @faults;
	for my $file (files(qr/\.[ch]$/, 'src'))
	{
		my $layer = layer_of($file);
		next if $layer eq '';
		my $prefix = $PREFIX{$layer} || $layer;
		push @faults, "$file:1: the name must begin with ${prefix}_"
		  unless basename($file) =~ /^\Q$prefix\E_/
		  || basename($file) =~ /^\Q$layer\E_/;
	}
	return @faults;
}

sub check_headers_alone
{
	my @faults;
	my $include = pg_config('--includedir-server');
	my $cc = $ENV{CC} || 'gcc';
	for my $file (files(qr/\.h$/, 'src'))
	{
		my @out = `echo '#include "$file"' | $cc -fsyntax-only -w -x c -I. -Isrc -I'$include' -D_GNU_SOURCE -include postgres.h - 2>&1`;
		next if $? == 0;
		my ($first) = grep { /error/ } @out;
		$first = $out[0] || "?\n" unless defined $first;
		chomp $first;
		push @faults, "$file:1: does not compile alone after postgres.h: $first";
	}
	return @faults;
}

sub check_no_extern
{
	return grep_lines(qr/\bextern\b/, 'extern in a .c file: include the header',
		grep { /\.c$/ } c_files());
}

# An ereport(ERROR or worse) names its errcode.
sub check_errcode
{
	my @faults;
	for my $file (grep { /\.c$/ } c_files())
	{
		my $code = code_of($file);
		while ($code =~ /\bereport\s*(\((?:[^()]++|(?1))*\))/g)
		{
			my ($call, $before) = ($1, substr($code, 0, $-[0]));
			next if $call !~ /^\(\s*(ERROR|FATAL|PANIC|elevel)\b/;
			next if $call =~ /\berrcode\w*\s*\(/;
			my $n = 1 + ($before =~ tr/\n//);
			push @faults, "$file:$n: ereport($1) without an errcode";
		}
	}
	return @faults;
}

sub check_version_conditionals
{
	return grep_lines(qr/\bPG_(VERSION_NUM|MAJORVERSION\w*)\b/,
		'conditionals on the server version belong in src/compat.h',
		grep { $_ ne 'src/compat.h' } c_files());
}

# Width with tabs of four columns.
sub check_line_length
{
	my @faults;
	for my $file (c_files())
	{
		my $n = 0;
		for my $line (split /\n/, slurp($file))
		{
			$n++;
			my $width = 0;
			utf8::decode(my $chars = $line);
			$width += $_ eq "\t" ? 4 - $width % 4 : 1 for split //, $chars;
			push @faults, "$file:$n: $width columns (at most $MAX_COLUMNS)"
			  if $width > $MAX_COLUMNS

			  # the text of a message stays on one line, to be found by grep
			  && $line !~ /"(?:[^"\\]|\\.){50,}"/;
		}
	}
	return @faults;
}

# Only a warning: printed, but no fault.
sub check_file_length
{
	for my $file (c_files())
	{
		my $n = () = slurp($file) =~ /\n/g;
		print "# warning: $file has $n lines (more than $MAX_LINES)\n"
		  if $n > $MAX_LINES;
	}
	return ();
}

# typedefs(): the names that pg_bsd_indent must know as types: those of the
# server's headers, of our own files and a few of the system.
sub typedefs
{
	my %names = map { $_ => 1 } @MORE_TYPEDEFS;
	for my $file (files(qr/\.h$/, pg_config('--includedir-server')), c_files())
	{
		my $code = code_of($file);
		next unless $code =~ /\btypedef\b/;
		$code =~ s/^\s*#(?:.*\\\n)*.*$//gm;
		$code =~ s/\bextern\s+""\s*\{//g;
		1 while $code =~ s/\{[^{}]*\}//g;
		for my $t ($code =~ /\btypedef\b([^;{}]*);/g)
		{
			if ($t =~ /\(\s*\*\s*(\w+)\s*\)/) { $names{$1} = 1; }
			elsif ($t =~ /(\w+)\s*\([^()]*\)\s*$/) { $names{$1} = 1; }
			elsif ($t =~ /(\w+)\s*(?:\[[^\]]*\]\s*)*(?:\w+\(.*\))?\s*$/) { $names{$1} = 1; }
		}
	}
	delete @names{ keys %NO_TYPEDEF };
	return sort keys %names;
}

# indented(FILE, TYPEDEFS): the text of the file as pg_bsd_indent wants it,
# with pgindent's treatment of comments, and of pointers that functions return,
# around it.
sub indented
{
	my ($file, $typedefs) = @_;
	my $text = slurp($file);
	my $tmp = "/tmp/snii-indent-$$";
	$text =~ s{/\* +---}{/*---X_X}g;
	spew("$tmp.in", $text);
	my $log = `pg_bsd_indent @INDENT_OPTIONS -U$typedefs $tmp.in $tmp.out 2>&1`;
	die "lint: pg_bsd_indent does not run (package pg-bsd-indent): $log\n"
	  unless -f "$tmp.out";
	$text = slurp("$tmp.out");
	unlink "$tmp.in", "$tmp.out";
	$text =~ s{/\*---X_X}{/* ---}g;
	$text =~ s{\*/(/\*.*\*/)$}{*/\t$1}gm;
	$text =~ s{^((?:\w+ )*\w+)[ \t]+(\*+)$}{$1 $2}gm;
	return $text;
}

sub check_indent
{
	my @faults;
	my $typedefs = "/tmp/snii-typedefs-$$";
	my @names = c_files();
	return () unless @names;
	spew($typedefs, join("\n", typedefs()) . "\n");
	for my $file (@names)
	{
		my $old = slurp($file);
		my $new = indented($file, $typedefs);
		next if $old eq $new;
		if ($indent)
		{
			spew($file, $new);
			print "$file\n";
			next;
		}
		my @old = split /\n/, $old;
		my @new = split /\n/, $new;
		my $n = 0;
		$n++ while $n < @old && $n < @new && $old[$n] eq $new[$n];
		push @faults, "$file:" . ($n + 1) . ': not as pg_bsd_indent has it (make indent)';
	}
	unlink $typedefs;
	return @faults;
}

# Documents name only files, functions, types, settings, options and targets
# that exist.
sub check_documents
{
	my @faults;
	my @docs = (grep({ -f } 'README.md'), files(qr/\.md$/, 'docs'));
	return () unless @docs;
	my %exists;
	for my $file (files(qr/./, grep { -d } qw(src sql test expected docs .ci)), grep { -f } glob('* .gitignore'))
	{
		$exists{$file} = $exists{ basename($file) } = 1;
		my $dir = $file;
		$exists{$dir} = $exists{ basename($dir) } = 1 while ($dir = dirname($dir)) ne '.';
	}
	my $code = join "\n", map { slurp($_) } grep({ -f } 'Makefile'),
	  files(qr/\.([ch]|sql|pl|pm|sh)$/, 'src', 'sql', 'test/modules', 'test/fuzz', 'test/perl', 'test/t'),
	  files(qr{/(run|demo|versions|assert|lib\.sh)$}, 'test');
	my %known = map { $_ => 1 } $code =~ /\b(\w*snii\w*)\b/gi;
	my %strings = map { $_ => 1 } $code =~ /"([\w.]+)"/g;
	my $makefile = -f 'Makefile' ? slurp('Makefile') : '';
	my %targets = map { $_ => 1 } qw(all install installcheck clean uninstall),
	  map { split ' ' } $makefile =~ /^([a-z][\w -]*):/mg;

	for my $doc (@docs)
	{
		my ($n, $fenced) = (0, 0);
		for my $line (split /\n/, slurp($doc))
		{
			$n++;
			$fenced = !$fenced if $line =~ /^\s*```/;
			my $fault = sub { push @faults, "$doc:$n: $_[0]"; };
			my @quoted = $fenced ? () : $line =~ /`([^`]+)`/g;
			for my $path (@quoted, $line =~ /\]\(([^)#\s]+)[^)]*\)/g)
			{
				next if $path =~ m{^\w+://} || $path =~ /[\s()<>=\$]|NAME/;
				next
				  unless $path =~ m{^(?:\./)?(?:src|sql|test|docs|expected|\.ci)/}
				  || $path =~ /^[\w.\/*-]+\.(?:c|h|md|sql|pl|pm|spec|control|json)$/;
				$path =~ s{^\./}{};
				$path =~ s{/$}{};
				next if $exists{$path} || -e dirname($doc) . "/$path";
				next if $path =~ /\*/ && glob($path);
				$fault->("there is no file $path");
			}
			while ($line =~ /\b(snii_\w+|Snii[A-Z]\w*|SNII_\w+)\b(?!\.\w)/g)
			{
				my $name = $1;
				$fault->("nothing is called $name") unless $known{$name};
			}
			while ($line =~ /\b(snii\.[a-z_]{2,})\b/g)
			{
				my $name = $1;
				next if $exists{$name} || $name =~ /\.so$/;
				$fault->("there is no setting $name") unless $strings{$name};
			}
			while ($line =~ /\bUSING\s+snii\b.*?\bWITH\s*\(([^)]*)\)/g)
			{
				for my $option ($1 =~ /(\w+)\s*=/g)
				{
					$fault->("there is no option $option") unless $strings{$option};
				}
			}
			my @commands = $fenced ? $line =~ /^\s*(?:\$ |sudo )?(make [\w -]+)/ : grep { /^make / } @quoted;
			for my $command (@commands)
			{
				my (undef, $target) = split ' ', $command;
				$fault->("there is no target $target")
				  if defined $target && $target =~ /^[a-z][\w-]*$/ && !$targets{$target};
			}
		}
	}
	return @faults;
}

my @CHECKS = (
	[ 'include-direction', 'includes go down the layers', \&check_include_direction ],
	[ 'unique-names', 'file names are unique', \&check_unique_names ],
	[ 'name-prefix', 'file names begin with their layer', \&check_name_prefix ],
	[ 'headers-alone', 'headers compile alone', \&check_headers_alone ],
	[ 'no-extern', 'no extern in .c files', \&check_no_extern ],
	[ 'errcode', 'every ereport(ERROR) has an errcode', \&check_errcode ],
	[ 'version-conditionals', 'version conditionals are in compat.h', \&check_version_conditionals ],
	[ 'line-length', "no line is over $MAX_COLUMNS columns", \&check_line_length ],
	[ 'indent', 'formatted by pg_bsd_indent', \&check_indent ],
	[ 'documents', 'documents name only what exists', \&check_documents ],
	[ 'file-length', 'long files are named (a warning)', \&check_file_length ],);

# --- main ------------------------------------------------------------------------

my $root = '.';
while (defined(my $arg = shift @ARGV))
{
	if ($arg eq '--tap') { $tap = 1; }
	elsif ($arg eq '--only') { $only = shift @ARGV; }
	elsif ($arg eq '--indent') { $indent = 1; $only = 'indent'; }
	elsif ($arg eq '--list') { print "$_->[0]\n" for @CHECKS; exit 0; }
	elsif ($arg =~ /^-/) { die "lint: unknown option $arg\n"; }
	else { $root = $arg; }
}
chdir $root or die "lint: $root: $!\n";
die "lint: no check is called $only\n"
  if defined $only && !grep { $_->[0] eq $only } @CHECKS;

my ($n, $bad) = (0, 0);
for my $check (@CHECKS)
{
	my ($name, $title, $function) = @$check;
	next if defined $only && $name ne $only;
	$n++;
	my @faults = $function->();
	$bad += @faults;
	print "not " if $tap && @faults;
	print "ok $n - $title\n" if $tap;
	print $tap ? "# $_\n" : "$_\n" for @faults;
}
print "1..$n\n" if $tap;
exit($bad ? 1 : 0);
