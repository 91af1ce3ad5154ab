# Resident columns: random queries over random tables, answered with columns and without in one snapshot, by the seed
# SEED.  `make columns-random TIME=3600` runs it for an hour.
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortHeld;
use GpuSortQueries;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $large = ($ENV{GPUSORT_TEST_SIZE} // '') eq 'large';
my $seconds = $ENV{COLUMNS_RANDOM_SECONDS} || ($large ? 600 : 10);
my $seed = $ENV{SEED} || 1 + int(rand(1e9));
my $rows = 20000;
diag("SEED=$seed, $seconds s");
srand($seed);

my $node = service_node('columns_random', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
CONF
my @types = ('int2', 'int4', 'int8', 'float4', 'float8', 'numeric(14,2)', 'numeric(8,0)', 'numeric(30,6)',
	'date', 'time',
	'timestamp', 'timestamptz', 'bool', 'oid', 'uuid', 'int4', 'int8', 'numeric(14,2)', 'float8', 'text', 'text',
	'varchar(20)', 'char(6)', 'name');

comparison_functions($node);

# Columns of a table: name => type.
sub some_columns
{
	my %columns = map { ("c$_" => one_of(@types)) } 1 .. 3 + number(7);

	$columns{n} = 'numeric(14,2)';
	$columns{i} = 'int4';
	return \%columns;
}

# Makes a table that is held, or one of partitions.
sub make
{
	my ($table, $columns) = @_;
	my $values = sub {
		return random_values($columns->{ $_[0] }, chance(0.5) ? 0.005 : 0, one_of(0, 0, 0.1, 0.9, 1),
			'floor(random() * 8)::int');
	};

	make_held($node, $table, $columns, partitions => chance(0.3) ? 1 + number(3) : 0, by => 'i',
		storage => 'WITH (fillfactor = 90)', values => $values, from => "generate_series(1, $rows)",
		before => chance(0.3) ? "CREATE INDEX ON $table (" . one_of(sort keys %$columns) . ')' : '');
	return;
}

# A change of some rows: of pages that are next to each other, or of some here and there.
sub change
{
	my ($table, $columns) = @_;
	my $name = one_of(sort keys %$columns);
	my $page = int(rand(100));
	my $where = one_of("ctid BETWEEN '($page,1)' AND '(" . ($page + number(5)) . ",1)'", 'random() < 0.001');

	return one_of("DELETE FROM $table WHERE $where",
		"INSERT INTO $table SELECT * FROM $table WHERE $where",
		"UPDATE $table SET $name = '" . odd_value($columns->{$name}, chance(0.5)) . "' WHERE $where",
		"UPDATE $table SET $name = NULL WHERE $where", "VACUUM $table");
}

my %found = (count => {}, reason => {}, different => []);

# Compares some queries in one session, between two statements.
sub compare_some
{
	my ($table, $columns, $before, $after) = @_;
	# whatever that costs, where columns find rows
	my $script = "$before;\n" . one_of('', "SET enable_seqscan = off;\nSET enable_indexscan = off;\n"
			. "SET enable_bitmapscan = off;\n");

	foreach (1 .. 40)
	{
		my $plain = chance(0.6);
		$script .= compared_line($plain ? 'plain' : 'any', random_query($table, $columns, $plain));
	}
	compare_script($node, "$script$after;\n", \%found);
	return;
}

my $end = time + $seconds;
my $tables = 0;
while (time < $end && @{ $found{different} } < 20)
{
	my $table = 't' . ++$tables;
	my $columns = some_columns();

	make($table, $columns);
	compare_some($table, $columns, 'SELECT 1', 'SELECT 1');
	compare_some($table, $columns, change($table, $columns), 'SELECT 1') foreach 1 .. 2;
	compare_some($table, $columns, 'BEGIN; ' . (change($table, $columns) =~ s/^VACUUM/ANALYZE/r), 'ROLLBACK');
	$node->safe_psql('postgres', "DROP TABLE $table");
}
end_comparisons($node, \%found, 'plain', 0.5);
