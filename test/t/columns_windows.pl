# Windows over resident columns: random queries over random tables, answered with columns and without in one snapshot,
# by the seed SEED.  COLUMNS_WINDOWS is how many, 300 unless it is given, and 20,000 in "large".
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortHeld;
use GpuSortQueries;
use GpuSortService;
use GpuSortTest;
use GpuSortWindows;
use PostgreSQL::Test::Utils;
use Test::More;

my $wanted = $ENV{COLUMNS_WINDOWS} || (($ENV{GPUSORT_TEST_SIZE} // '') eq 'large' ? 20000 : 300);
my $seed = $ENV{SEED} || 1 + int(rand(1e9));
diag("SEED=$seed, $wanted queries");
srand($seed);

my $node = service_node('columns_windows', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
CONF
my @types = ('int2', 'int4', 'int8', 'float4', 'float8', 'numeric(14,2)', 'numeric(30,6)', 'date', 'time', 'timestamp',
	'timestamptz', 'bool', 'oid', 'uuid', 'int4', 'date', 'timestamp');

comparison_functions($node);

# Columns of a table: name => type.
sub some_columns
{
	my %columns = map { ("c$_" => one_of(@types)) } 1 .. 3 + number(5);

	@columns{qw(u i d)} = ('int4', one_of('int2', 'int4'), one_of('date', 'timestamp'));
	return \%columns;
}

# Makes a table that is held, or one of partitions, with values in runs or not.
sub make
{
	my ($table, $columns, $rows) = @_;
	my $values = sub {
		my ($name) = @_;

		return $name eq 'u' ? 'u' : random_values($columns->{$name}, one_of(0, 0, 0.01), one_of(0, 0, 0.1, 0.9),
			one_of('floor(random() * 8)::int', 'u / 20 % 8', 'u * 7 % 8'));
	};

	make_held($node, $table, $columns, partitions => chance(0.2) ? 1 + number(3) : 0, by => 'u', values => $values,
		from => "generate_series(1, $rows) u ORDER BY random()");
	return;
}

my %found = (count => {}, reason => {}, different => []);

# Compares some queries in one session, of which the last ones see changed rows.
sub compare_some
{
	my ($table, $columns, $n) = @_;
	# whatever small tables cost
	my $script = "SET cpu_operator_cost = 1;\n";

	foreach my $i (1 .. $n)
	{
		$script .= "BEGIN;\nUPDATE $table SET i = 5 WHERE u % 97 = 3;\n" if $i == int($n * 0.8);
		$script .= compared_line('window', random_window_query($table, $columns), 'SELECT 1 AS one');
	}
	compare_script($node, "${script}ROLLBACK;\n", \%found);
	return;
}

for (my $table = 1; ($found{count}{all} // 0) < $wanted && @{ $found{different} } < 20; $table++)
{
	my $columns = some_columns();

	make("t$table", $columns, one_of(300, 3000, 3000, 8000));
	compare_some("t$table", $columns, 50);
	$node->safe_psql('postgres', "DROP TABLE t$table");
}
end_comparisons($node, \%found, 'window', 0.9);
