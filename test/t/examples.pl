# The examples in the documentation give what stands below them, and every function has one.  Settings, and columns of
# views, are described.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::Bin/../..";

# What a file holds between a line and the next heading of its rank; the whole file if no line is given.
sub section
{
	my ($file, $heading) = @_;
	my $text = slurp_file("$tree/$file");

	return $text unless defined $heading;
	$text =~ /^(\Q$heading\E\n.*?)(?=^## |\z)/ms or die "$file has no section $heading";
	return $1;
}

# Blocks of SQL in their order, each with the line it begins on and the output below it, if there is one.
sub examples
{
	my ($text) = @_;
	my @found;

	while ($text =~ /^```sql\n(.*?)^```\n(?:```text\n(.*?)^```\n)?/gms)
	{
		my ($sql, $output) = ($1, $2);
		push @found, { line => 1 + (substr($text, 0, $-[0]) =~ tr/\n//), sql => $sql, output => $output };
	}
	return @found;
}

sub without_trailing_space
{
	my ($text) = @_;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/\n+\z/\n/;
	return $text;
}

my $node = PostgreSQL::Test::Cluster->new('examples');
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', "session_preload_libraries = 'gpusort'\ntimezone = 'UTC'\n");
$node->start;

my $examples = '';
for my $database ('functions', 'readme')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION gpusort');
}
for my $example (examples(section('doc/functions.md')))
{
	my ($out, $err) = ('', '');

	# as psql shows it to a user
	IPC::Run::run([ $node->installed_command('psql'), '-X', '-q', '-d', $node->connstr('functions') ], '<',
		\$example->{sql}, '>', \$out, '2>', \$err);
	$out = without_trailing_space($out);
	$examples .= $example->{sql};
	is($err, '', "doc/functions.md, the example on line $example->{line} runs");
	is($out, without_trailing_space($example->{output}), 'and gives what is printed') if defined $example->{output};
}

# The plans of a page, as a server on stock settings shows them which has cores for two workers.  "…" stands for what
# differs between machines, and what follows "←" explains a line.
my ($table, $question, $with, $without) = section('README.md', '## Getting started') =~
  /^```sql\n(CREATE TABLE.*?\n)(EXPLAIN .*?;)\n```\n```text\n(.*?)^```.*?^```text\n(.*?)^```/ms
  	or die 'the README shows no plans';
my ($analyzed) = section('doc/explain.md', '## Line by line') =~
  /^### A sort in parallel workers\n\n```text\n(.*?)^```/ms or die 'doc/explain.md shows no parallel plan';
$node->safe_psql('readme', $table);
for (
	[ 'README.md, with gpusort', 'on', $question, $with ], [ 'README.md, without', 'off', $question, $without ],
	[ 'doc/explain.md', 'on', $question =~ s/COSTS OFF/ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF/r, $analyzed ])
{
	my ($what, $enabled, $asked, $shown) = @$_;
	my $like = join '.*', map { quotemeta } split /\xe2\x80\xa6/, $shown =~ s/ *\xe2\x86\x90.*//gr =~ s/^ //mgr;

	# from 18 on it counts buffers unless it is told not to, and rows to the hundredth
	$asked =~ s/ANALYZE/ANALYZE, BUFFERS OFF/ if $node->pg_version >= 18;
	my $plan = $node->safe_psql('readme', "SET gpusort.cores = 8; SET gpusort.enabled = $enabled; $asked");

	like("$plan\n" =~ s/(rows=\d+)\.\d\d\b/$1/gr, qr/^$like\z/, "the plan of $what");
}

# What pages tell the owner of a database "mydb" to do, in the order in which they stand, each run to its end; a query
# that is to be watched runs once.  A comment that begins with "DEBUG:" is what the session says.
$node->safe_psql('postgres', 'CREATE DATABASE mydb');
for my $page ([ 'README.md', '## Getting started' ], [ 'doc/install.md' ], ['doc/explain.md'], ['doc/columns.md'],
	['doc/gpu.md'], ['doc/administration.md'])
{
	my ($file, $heading) = @$page;

	for my $example (examples(section($file, $heading)))
	{
		my ($out, $err) = ('', '');
		my ($said) = $example->{sql} =~ /^-- (DEBUG:.*)$/m;

		IPC::Run::run([ $node->installed_command('psql'), '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d',
				$node->connstr('mydb') . " options='-c client_min_messages=warning'" ], '<',
			\($example->{sql} =~ s/ \\watch 1$/;/mr), '>', \$out, '2>', \$err);
		is($? >> 8, 0, "$file, the example on line $example->{line} runs") or diag($err);
		like($err, qr/\Q$said\E/, 'and says what is printed') if $said;
	}
	# each page begins with the extension but that on installation, which follows the README's
	$node->safe_psql('mydb', 'CREATE EXTENSION IF NOT EXISTS gpusort') if $file ne 'README.md';
}

my @functions = split /\n/, $node->safe_psql('functions',
	q{SELECT DISTINCT proname FROM pg_proc WHERE proname LIKE 'gpu\_%' ORDER BY 1});
my $reference = section('doc/functions.md');
cmp_ok(scalar @functions, '>', 5, 'the catalog has functions');
my @missing = grep { $reference !~ /^### $_$/m || $examples !~ /\b$_\(/ } @functions;
is("@missing", '', 'every function is described, with an example');

# What a query lists must stand as `name` in a section, where tables describe it.
sub described
{
	my ($query, $file, $heading) = @_;
	my @names = split /\n/, $node->safe_psql('functions', $query);
	my $text = section($file, $heading);

	cmp_ok(scalar @names, '>', 5, "$file: there is something to describe");
	is(join(' ', grep { $text !~ /^\|[^|]*`\Q$_\E`/m } @names), '', 'and all is described');
	return;
}
described("SELECT name FROM pg_settings WHERE name LIKE 'gpusort.%'", 'doc/settings.md', undef);
my %default = map { split /=/, $_, 2 } split /\n/,
	$node->safe_psql('postgres',
		q{SELECT name || '=' || current_setting(name) FROM pg_settings WHERE name LIKE 'gpusort.%'});
for my $row (section('doc/settings.md') =~ /^(\| `gpusort\..*)$/mg)
{
	my (undef, $names, $values) = split / *\| */, $row;
	my @shown = map { s/^empty.*//r } split /, /, $values;
	is("@shown", "@default{ $names =~ /`([^`]+)`/g }", "defaults of $names");
}
described("SELECT DISTINCT attname FROM pg_attribute WHERE attrelid IN ('gpusort_stat'::regclass, "
	. "'gpusort_devices'::regclass, 'gpusort_progress'::regclass) AND attnum > 0",
	'doc/administration.md', '## Watching');
$node->stop;
done_testing();
