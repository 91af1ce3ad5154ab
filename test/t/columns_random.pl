# Resident columns: random queries over random tables, answered with columns and without in one snapshot, by the seed
# SEED.  `make columns-random TIME=3600` runs it for an hour.
use strict;
use warnings;

use GpuSortAnswers;
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

# An expression for values of a type: most of them common ones, some odd ones and NULLs.
sub random_values
{
	my ($type) = @_;
	my $odd = chance(0.5) ? 0.005 : 0;
	my $null = one_of(0, 0, 0.1, 0.9, 1);
	my ($common, $rare) = map { my $kind = $_; join ', ', map { "'" . odd_value($type, $kind) . "'" } 1 .. 10 } 0, 1;

	return "CASE WHEN random() < $null THEN NULL WHEN random() < $odd "
		. "THEN (ARRAY[$rare])[1 + floor(random() * 10)::int] "
		. "ELSE (ARRAY[$common])[1 + floor(random() * 10)::int] END::$type";
}

# Makes a table that is held, or one of partitions.
sub make
{
	my ($table, $columns) = @_;
	my @names = sort keys %$columns;
	my $partitions = chance(0.3) ? 1 + number(3) : 0;
	my $filled = 'WITH (fillfactor = 90)';
	my $storage = $partitions ? 'PARTITION BY HASH (i)' : $filled;
	$storage .= ";\nCREATE TABLE ${table}_$_ PARTITION OF $table FOR VALUES WITH (MODULUS $partitions, REMAINDER $_) "
		. $filled foreach 0 .. $partitions - 1;
	my $index = chance(0.3) ? "CREATE INDEX ON $table (" . one_of(@names) . ')' : '';

	$node->safe_psql('postgres', "SELECT setseed(" . rand() . ");\nCREATE TABLE $table ("
			. join(', ', map { "$_ $columns->{$_}" } @names) . ") $storage;\nINSERT INTO $table SELECT "
			. join(', ', map { random_values($columns->{$_}) } @names) . " FROM generate_series(1, $rows);\n$index;\n"
			. "VACUUM ANALYZE $table;\nSELECT gpusort_columns_add('$table')");
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

my (%count, %reason, @different);

# Compares some queries in one session, between two statements.
sub compare_some
{
	my ($table, $columns, $before, $after) = @_;
	my ($out, $err) = ('', '');
	# whatever that costs, where columns find rows
	my $script = "$before;\n" . one_of('', "SET enable_seqscan = off;\nSET enable_indexscan = off;\n"
			. "SET enable_bitmapscan = off;\n");

	foreach (1 .. 40)
	{
		my $plain = chance(0.6);
		$script .= compared_line($plain ? 'plain' : 'any', random_query($table, $columns, $plain));
	}
	my $status = $node->psql('postgres', "$script$after;\n", stdout => \$out, stderr => \$err, on_error_stop => 0);

	is($status, 0, 'the session ends well') or diag($err);
	$err =~ s/^.*(?:NOTICE|WARNING).*\n//mg;
	push @different, "$err in:\n$script" if $err =~ /ERROR|FATAL|server closed/;
	foreach my $line (split /\n/, $out)
	{
		my ($word, $differs, $used, $reason, $heap, $young) = split /\|/, $line, -1;

		next unless defined $young;
		$count{all}++;
		$count{$word}++;
		$count{"$word: $used"}++;
		$count{'with pages of the table'}++ if $used eq 'columns' && ($heap || 0) > 0;
		$reason{$reason}++ if $reason ne '';
		push @different, $differs if $differs ne '';
	}
}

my $end = time + $seconds;
my $tables = 0;
while (time < $end && @different < 20)
{
	my $table = 't' . ++$tables;
	my $columns = some_columns();

	make($table, $columns);
	compare_some($table, $columns, 'SELECT 1', 'SELECT 1');
	compare_some($table, $columns, change($table, $columns), 'SELECT 1') foreach 1 .. 2;
	compare_some($table, $columns, 'BEGIN; ' . (change($table, $columns) =~ s/^VACUUM/ANALYZE/r), 'ROLLBACK');
	$node->safe_psql('postgres', "DROP TABLE $table");
}
diag("comparisons: " . join ', ', map { "$_ $count{$_}" } sort keys %count);
diag("columns were not used: " . join '; ', map { "$_: $reason{$_}" } sort keys %reason) if %reason;
is(join("\n", @different[ 0 .. ($#different < 9 ? $#different : 9) ]), '', 'no answer differs');
cmp_ok($count{'plain: columns'} // 0, '>', $count{plain} / 2, 'most come from columns');
$node->stop;
sound($node);
done_testing();
