# Windows over resident columns: random queries over random tables, answered with columns and without in one snapshot,
# by the seed SEED.  COLUMNS_WINDOWS is how many, 300 unless it is given, and 20,000 in "large".
use strict;
use warnings;

use GpuSortAnswers;
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

# An expression for values of a type: most of them common ones, in runs or not, some odd ones and NULLs.
sub random_values
{
	my ($type) = @_;
	my ($common, $rare) = map { my $kind = $_; join ', ', map { "'" . odd_value($type, $kind) . "'" } 1 .. 8 } 0, 1;
	my $odd = one_of(0, 0, 0.01);
	my $null = one_of(0, 0, 0.1, 0.9);
	my $which = one_of('floor(random() * 8)::int', 'u / 20 % 8', 'u * 7 % 8');

	return "CASE WHEN random() < $null THEN NULL WHEN random() < $odd "
		. "THEN (ARRAY[$rare])[1 + floor(random() * 8)::int] ELSE (ARRAY[$common])[1 + $which] END::$type";
}

# Makes a table that is held, or one of partitions.
sub make
{
	my ($table, $columns, $rows) = @_;
	my @names = sort keys %$columns;
	my $partitions = chance(0.2) ? 1 + number(3) : 0;
	my $storage = $partitions ? 'PARTITION BY HASH (u)' : '';

	$storage .= ";\nCREATE TABLE ${table}_$_ PARTITION OF $table FOR VALUES WITH (MODULUS $partitions, REMAINDER $_)"
		foreach 0 .. $partitions - 1;
	$node->safe_psql('postgres', 'SELECT setseed(' . rand() . ");\nCREATE TABLE $table ("
			. join(', ', map { "$_ $columns->{$_}" } @names) . ") $storage;\nINSERT INTO $table SELECT "
			. join(', ', map { $_ eq 'u' ? 'u' : random_values($columns->{$_}) } @names)
			. " FROM generate_series(1, $rows) u ORDER BY random();\n"
			. "VACUUM ANALYZE $table;\nSELECT gpusort_columns_add('$table')");
	return;
}

my (%count, %reason, @different);

# Compares some queries in one session, of which the last ones see changed rows.
sub compare_some
{
	my ($table, $columns, $n) = @_;
	my ($out, $err) = ('', '');
	# whatever small tables cost
	my $script = "SET cpu_operator_cost = 1;\n";

	foreach my $i (1 .. $n)
	{
		$script .= "BEGIN;\nUPDATE $table SET i = 5 WHERE u % 97 = 3;\n" if $i == int($n * 0.8);
		$script .= compared_line('window', random_window_query($table, $columns), 'SELECT 1 AS one');
	}
	my $status = $node->psql('postgres', "${script}ROLLBACK;\n", stdout => \$out, stderr => \$err, on_error_stop => 0);

	push @different, "exit status $status" if $status;
	$err =~ s/^.*(?:NOTICE|WARNING).*\n//mg;
	push @different, "$err in:\n$script" if $err =~ /ERROR|FATAL|server closed/;
	foreach my $line (split /\n/, $out)
	{
		my ($word, $differs, $used, $reason, $heap) = split /\|/, $line, -1;

		next unless defined $heap;
		$count{all}++;
		$count{$used}++;
		$count{'with pages of the table'}++ if $used eq 'columns' && ($heap || 0) > 0;
		$reason{$reason}++ if $reason ne '';
		push @different, $differs if $differs ne '';
	}
	return;
}

for (my $table = 1; ($count{all} // 0) < $wanted && @different < 20; $table++)
{
	my $columns = some_columns();

	make("t$table", $columns, one_of(300, 3000, 3000, 8000));
	compare_some("t$table", $columns, 50);
	$node->safe_psql('postgres', "DROP TABLE t$table");
}
diag('comparisons: ' . join ', ', map { "$_ $count{$_}" } sort keys %count);
diag('columns were not used: ' . join '; ', map { "$_: $reason{$_}" } sort keys %reason) if %reason;
is(join("\n", @different[ 0 .. ($#different < 9 ? $#different : 9) ]), '', 'no answer differs');
cmp_ok($count{columns} // 0, '>', 0.9 * ($count{all} // 0), 'nine in ten come from columns');
$node->stop;
sound($node);
done_testing();
