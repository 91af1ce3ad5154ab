#!/usr/bin/perl
# documents.pl: holds the documentation against the source, as TAP: what there is is described, what is described is
# there, links lead somewhere, every result of a benchmark is named on a page, and charts are what is drawn of results.
use strict;
use warnings;

use File::Temp qw(tempdir);
use FindBin;
use JSON::PP;

chdir "$FindBin::Bin/.." or die "$!\n";
my @pages = ('README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', glob('doc/*.md src/*.md src/*/*.md'),
	glob('kernels/*.md kernels/*/*.md kernels/*/*/*.md .github/*/*.md'));
my %text = map { $_ => slurp($_) } @pages;
my $count = 0;
my $failed = 0;

sub slurp
{
	my ($file) = @_;
	local $/ = undef;
	open my $in, '<', $file or die "$file: $!\n";
	return <$in>;
}

# A check passes if nothing was found that is wrong.
sub report
{
	my ($what, @findings) = @_;
	$count++;
	print @findings ? 'not ' : '', "ok $count - $what\n";
	print STDERR "# $_\n" for @findings;
	$failed = 1 if @findings;
	return;
}

# All that a pattern finds in files, each once.
sub found
{
	my ($pattern, @files) = @_;
	my %seen;
	return grep { !$seen{$_}++ } map { slurp($_) =~ /$pattern/g } @files;
}

# Which of some names do not stand in backquotes on a page, maybe with more beside them.
sub undescribed
{
	my ($page, @names) = @_;
	return "$page: there is nothing to describe" unless @names;
	return map { "$page does not describe $_" } grep { $text{$page} !~ /`[^`\n]*\Q$_\E[^`\n]*`/ } @names;
}

# What a heading is called in links.
sub anchor
{
	my ($heading) = @_;
	$heading =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
	$heading = lc $heading =~ s/[^\w\s-]//gr;
	return $heading =~ s/ /-/gr;
}

my %anchors;
for my $page (@pages)
{
	my $prose = $text{$page} =~ s/^```.*?^```$//gmsr;
	$anchors{$page} = { map { anchor($_) => 1 } $prose =~ /^#+ +(.*)$/mg };
}

# What a line of queries.pl has in a table: both times and their ratio.
sub cells
{
	my ($line) = @_;
	my @ms = map { $line->{$_}{median_ms} } 'postgresql', 'gpusort';
	return ((map { sprintf $_ < 10 ? '%.1f ms' : '%.0f ms', $_ } @ms), sprintf '%.1f', $line->{ratio});
}

# A path without ".." and ".".
sub plain
{
	my ($path) = @_;
	1 while $path =~ s{(^|/)(?!\.\./)[^/]+/\.\./}{$1};
	return $path =~ s{(^|/)\./}{$1}gr;
}

sub broken_links
{
	my @broken;
	for my $page (@pages)
	{
		my ($folder) = $page =~ m{^(.*/)};
		my $prose = $text{$page} =~ s/^```.*?^```$//gmsr =~ s/`[^`\n]*`//gr;
		for my $link ($prose =~ /\]\(([^)\s]+)\)/g, $prose =~ /(?:src|srcset)="([^"]+)"/g)
		{
			next if $link =~ /^[a-z]+:/;
			my ($path, $anchor) = split /#/, $link;
			my $file = $path eq '' ? $page : plain(($folder // '') . $path);
			push @broken, "$page: there is no $link"
			  if !-e $file || defined $anchor && $anchors{$file} && !$anchors{$file}{$anchor};
		}
	}
	return @broken;
}

# Files that pages name, but not by a link; a name may be a pattern of the shell.
sub missing_files
{
	my @missing;
	for my $page (grep { $_ ne 'CHANGELOG.md' } @pages)
	{
		for my $path ($text{$page} =~ m{`((?:src|test|bench|kernels|packaging|sql|doc)/[\w./*-]+)}g)
		{
			push @missing, "$page: there is no $path" unless grep { -e || -e "$_.c" } glob $path =~ s/\.$//r;
		}
	}
	return @missing;
}

my @settings = found(qr/"gpusort\.(\w+)",/, 'src/base/guc.c');
my %setting = map { $_ => 1 } @settings;
my @functions = found(qr/CREATE (?:FUNCTION|AGGREGATE) (gpu_\w+?)\(/, glob 'sql/*.sql');
my @targets = grep { $_ ne '\\' } split ' ', join ' ', found(qr/^\.PHONY: ((?:.*\\\n)*.*)/m, 'Makefile');
my %target = map { $_ => 1 } @targets, qw(all install installcheck uninstall clean);
my $commands = join "\n", @text{ 'README.md', 'CONTRIBUTING.md', glob 'doc/*.md' };

report 'all settings are described',
  map { "doc/settings.md does not describe gpusort.$_" }
  grep { $text{'doc/settings.md'} !~ /^\|[^|]*`gpusort\.$_`/m } @settings;
report 'all settings that pages name are there',
  map { my $page = $_; map { "$page: there is no gpusort.$_" }
	grep { !$setting{$_} && !/^(?:so|c|h|spec|control|guc|sql)$/ } $text{$page} =~ /\bgpusort\.(\w+)/g } @pages;
report 'all functions are described', map { "doc/functions.md has no section for $_" }
  grep { $text{'doc/functions.md'} !~ /^### $_$/m } @functions;
report 'all functions that are described are there',
  grep { my $name = $_; !grep { $_ eq $name } @functions } $text{'doc/functions.md'} =~ /^### (gpu_\w+)$/mg;
report 'what EXPLAIN says is described',
  undescribed('doc/explain.md', found(qr/ExplainProperty\w+\("([^"]+)"/, split ' ', qx{find src -name '*.c'}),
	found(qr/\{.*?, "([^"]+)", (?:NULL|"[^"]+"),/, 'src/core/explain.c'),
	found(qr/NODE_NAME "(\w+)"/, split ' ', qx{find src -name '*.h'}));
report 'reasons to leave a sort to PostgreSQL are described',
  undescribed('doc/explain.md', found(qr/^\t\t\[SORTER_(?!OURS)\w+\] = "([^"]+)",/m, 'src/core/sorter_stats.c'));
my ($failures) = slurp('src/engine/engine.c') =~ /^engine_failure_text\(.*?"none",(.*?)\}/ms;
report 'reasons to leave the GPU are described', undescribed('doc/gpu.md', $failures =~ /"([^"]+)"/g);
report 'wait events are described',
  undescribed('doc/administration.md', found(qr/"(Gpusort[A-Z]\w+)"/, 'src/engine/link.c'));
report 'targets of make are described', map { "no page says make $_" } grep { $commands !~ /\bmake $_\b/ } @targets;
report 'targets that pages name are there', map { "there is no make $_" }
  grep { !$target{$_} } map { /(?:^|`)(?:sudo )?make ([a-z][a-z-]*)\b(?!=)/mg }
  $commands =~ /(^```sh\n.*?^```|`[^`\n]+`)/gms;
report 'links lead somewhere', broken_links();
report 'files that pages name are there', missing_files();
report 'all results are named on a page', map { "no page names $_" }
  grep { my $name = s{.*/}{}r =~ s/\.\w+$//r; $commands !~ /\Q$name\E\b/ } glob 'bench/results/*';
report 'all pages are in the site', map { "packaging/mkdocs.yml does not name $_" }
  grep { index(slurp('packaging/mkdocs.yml'), ": $_\n") < 0 } map { s{^doc/}{}r } glob 'doc/*.md';

my $drawn = tempdir(CLEANUP => 1);
system($^X, 'bench/charts.pl', $drawn) == 0 or die "bench/charts.pl failed\n";
report 'charts are drawn of the results', map { "$_ is not what bench/charts.pl draws" }
  grep { !-e "$drawn/" . s{.*/}{}r || slurp($_) ne slurp("$drawn/" . s{.*/}{}r) } glob 'doc/images/*';

my $page = "$drawn/benchmarks.md";
system('cp', 'doc/benchmarks.md', $page) == 0 or die "cp failed\n";
system($^X, 'bench/everyday/table.pl', $page, 'bench/results/everyday-h200-stock.json') == 0 or die "table.pl failed\n";
report 'the table of everyday queries is that of the results',
  slurp($page) eq $text{'doc/benchmarks.md'} ? () : 'doc/benchmarks.md: bench/everyday/table.pl makes another one';
my $summary = decode_json(slurp('bench/results/everyday-h200-stock.json'))->{summary}{cpu};
my @means = map { sprintf '%s %.2f', $_, $summary->{groups}{$_} } sort keys %{ $summary->{groups} };
report 'and so are the means that the README has', map { "README.md does not say $_" }
  grep { index($text{'README.md'}, $_) < 0 } @means, map { sprintf 'is %.2f', $summary->{$_} } 'geometric_mean',
  'changed_geometric_mean';
$page = "$drawn/shards.md";
system('cp', 'doc/shards.md', $page) == 0 or die "cp failed\n";
system($^X, 'bench/shards_table.pl', $page, map { "bench/results/shards-h200$_.txt" } '', '-citus') == 0
  or die "shards_table.pl failed\n";
report 'the tables of shards are those of the results',
  slurp($page) eq $text{'doc/shards.md'} ? () : 'doc/shards.md: bench/shards_table.pl makes other ones';
my ($memory, $stock) = map { decode_json(slurp("bench/results/queries-$_.json"))->{results} } 'memory', 'stock';
report 'the figures of one sort are those of the results', map { "doc/benchmarks.md has no line \"$_\"" }
  grep { index($text{'doc/benchmarks.md'}, $_) < 0 }
  map { join ' | ', "| $memory->[$_]{line}", cells($memory->[$_]), cells($stock->[$_]) } 0 .. $#$memory;
my @radix = map { [ /^(\S.*?) +(?:in memory|stock) +(\d+) +(\d+) +([\d.]+)(!?) +[\d.]+$/ ] }
  grep { / (?:in memory|stock) / } split /\n/, slurp('bench/results/radix-19.txt');
report 'and those of one sort beside the radix sort of PostgreSQL 19, of which none is less than was wanted',
  @radix == 16 ? () : 'bench/results/radix-19.txt does not have eight keys',
  (map { "bench/results/radix-19.txt: too little of $_->[0]" } grep { $_->[4] } @radix),
  map { "doc/versions.md has no line \"$_\"" } grep { index($text{'doc/versions.md'}, $_) < 0 }
  map { join ' | ', "| $radix[$_][0]", map { ("$_->[1] ms", "$_->[2] ms", $_->[3]) } @radix[ $_, $_ + 1 ] }
  grep { $_ % 2 == 0 } 0 .. $#radix;
print "1..$count\n";
exit $failed;
