# GpuSortStorm.pm: real queries for the storm over resident columns (test/t/columns_storm.pl): columns of every type,
# changes that leave odd values there, queries, and what became of them.
package GpuSortStorm;

use strict;
use warnings;

use Exporter 'import';
use GpuSortAnswers;
use GpuSortQueries;
use GpuSortWindows;
use List::Util qw(sum0);
use Test::More;

our @EXPORT = qw(storm_columns odd_change ask count_answer answers_said);

# Columns beside those that the storm's tables begin with, and what their values are made of.
my %added = (
	s => [ 'int2', 'id % 100' ],
	g => [ 'float4', 'id % 50 / 4.0' ],
	x => [ 'float8', 'id % 90 / 8.0' ],
	m => [ 'numeric(30,4)', 'id / 16.0' ],
	q => [ 'numeric(8,0)', 'id % 1000' ],
	c => [ 'time', "time '00:00' + id % 86400 * interval '1 s'" ],
	t => [ 'timestamp', "timestamp '2020-01-01' + id % 300 * interval '1 day'" ],
	v => [ 'varchar(12)', "'v' || id % 60" ],
	h => [ 'char(6)', "nullif('h' || id % 30, 'h3')" ],
	z => [ 'timestamptz', "timestamptz '2020-01-01 00:00+00' + id % 300 * interval '1 day'" ]);
# without the column that has an index, which is cheaper
my %asked = (a => 'int4', b => 'int8', f => 'float8', d => 'date', o => 'bool', pad => 'text',
	map { $_ => $added{$_}[0] } keys %added);
# those whose values never leave their type's range in a product of a few
my @numbers = qw(a b m q);

# Adds columns of all types to a table, with values.
sub storm_columns
{
	my ($node, $table) = @_;
	my @names = sort keys %added;

	$node->safe_psql('postgres',
		"ALTER TABLE $table " . join(', ', map { "ADD COLUMN $_ $added{$_}[0]" } @names) . ";\nUPDATE $table SET "
			. join(', ', map { "$_ = $added{$_}[1]" } @names) . ";\nVACUUM FULL $table;\nVACUUM ANALYZE $table");
	return;
}

# A statement after which a row of a table has odd values, or is like others again.
sub odd_change
{
	my ($table, $id) = @_;
	my $odd = chance(0.3);
	my @names = grep { chance(0.4) } qw(s g x c t z d q v h);

	@names = ('t') unless @names;
	return "UPDATE $table SET " . join(', ', map { "$_ = '" . odd_value($asked{$_}, $odd && $_ ne 'q') . "'" } @names)
		. " WHERE id = $id;\n";
}

# A comparison of a query with columns and without: "ans|kind|differs|used|reason|heap|young".  Some have a snapshot
# that is older than their transaction's newest.
sub ask
{
	my ($table, $kind) = @_;
	my %columns = %asked;

	# a page with a numeric that cannot be held leaves queries of that column to PostgreSQL, and so does a sum of floats
	# that is not finite
	$columns{n} = 'numeric(14,2)' if chance(0.05);
	delete $columns{x} if chance(0.7);
	my ($query, $scale) = chance(0.2) ? (random_window_query($table, \%columns), 'SELECT 1 AS one')
		: random_query($table, \%columns, 1, @numbers);

	return compared_line("ans|$kind", $query, $scale) unless chance(0.1);
	return "SELECT 'ans|$kind', replace(compare.same(\$q\$$query\$q\$, \$q\$$scale\$q\$), E'\\n', ' '), 'aged',"
		. " '', 0, 0 "
		. "FROM pg_sleep(" . one_of(0.01, 0.1, 0.5) . ") OFFSET 0;\n";
}

my (%count, %reason, @different);

# Counts a line of output if it is one of these.
sub count_answer
{
	my ($line) = @_;
	my ($word, $kind, $differs, $used, $reason, $heap, $young) = split /\|/, $line, -1;

	return unless $word eq 'ans' && defined $young;
	$count{all}++;
	$count{$kind}++;
	$count{"used: $used"}++;
	$count{'with young and heap pages'}++ if $used eq 'columns' && ($heap || 0) > 0 && ($young || 0) > 0;
	$reason{$reason}++ if $reason ne '';
	# of 0 and -0 PostgreSQL's own plans give either
	push @different, $line if $differs ne '' && $reason !~ /^zeros of both signs/;
	return;
}

# Two tests, and what was counted; in a long storm another one.
sub answers_said
{
	my ($long) = @_;
	my ($columns, $child, $none) = map { $count{"used: $_"} // 0 } qw(columns child none);
	# several keys of odd values at once are left to PostgreSQL by design
	my $wide = sum0(map { $reason{$_} } grep { /too wide/ } keys %reason);

	diag("queries: " . join ', ', map { "$_ $count{$_}" } sort keys %count);
	diag("queries not from columns: " . join '; ', map { "$_: $reason{$_}" } sort keys %reason) if %reason;
	is(join("\n", @different), '', 'no query differs');
	cmp_ok($columns, '>', 0, 'queries were answered from columns');
	cmp_ok($columns, '>=', 0.9 * ($columns + $child + $none - $wide), 'nine of ten queries') if $long;
	return;
}

1;
