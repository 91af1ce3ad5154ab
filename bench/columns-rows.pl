#!/usr/bin/perl
# columns-rows.pl BINDIR DATABASE: rows with window functions, from resident columns and by PostgreSQL's WindowAgg over
# gpusort's sort: processor time of the session and of all threads of the service, the least of RUNS turns (default 3)
# in alternation, and what the planner takes both to cost.  The last columns: the plan that costs less, how much longer
# it takes than the other, in percent, if it does, and the COLUMNS_WINDOW_VALUE_COST at which the costs would stand to
# each other as the times do.  ROWS rows, default a million; ONLY, a pattern, chooses lines.
use strict;
use warnings;

use FindBin;
use List::Util qw(max min);
use lib $FindBin::Bin;
use Processor;
use Session;

my ($bindir, $database) = @ARGV;
my $rows = $ENV{ROWS} || 1_000_000;
my $runs = $ENV{RUNS} || 3;
my $wanted = $ENV{ONLY} // '.';
my $session = Session->new("$bindir/psql", $database);
my @processes = ('/proc/' . $session->query('SELECT pg_backend_pid()'));
my $w = 'OVER (PARTITION BY g ORDER BY ts, a)';
my @queries = (
	[ 'row_number, 1 column', 'SELECT a, row_number() OVER (ORDER BY ts, a) FROM held' ],
	[ 'row_number of groups, 1 column', "SELECT a, row_number() $w FROM held" ],
	[ 'sum, 2 columns', "SELECT a, g, sum(b) $w FROM held" ],
	[ 'sum, 2 columns, a hundredth', "SELECT a, g, sum(b) $w FROM held WHERE a < $rows / 100" ],
	[ 'sum, 2 columns, a tenth', "SELECT a, g, sum(b) $w FROM held WHERE a < $rows / 10" ],
	[ 'sum, 2 columns, a third', "SELECT a, g, sum(b) $w FROM held WHERE a < $rows / 3" ],
	[ 'sum, avg, lag, 5 columns', "SELECT a, g, n, d, b, sum(b) $w, avg(n) $w, lag(d) $w FROM held" ],
	[ 'the same, a tenth', "SELECT a, g, n, d, b, sum(b) $w, avg(n) $w, lag(d) $w FROM held WHERE a < $rows / 10" ],
	[ 'two windows', "SELECT a, sum(b) $w, rank() OVER (ORDER BY n) FROM held" ],
	[ 'three windows', "SELECT a, sum(b) $w, rank() OVER (ORDER BY n), count(*) OVER (PARTITION BY d) FROM held" ],
	[ 'three windows, a tenth', "SELECT a, sum(b) $w, rank() OVER (ORDER BY n), count(*) OVER (PARTITION BY d) "
		. "FROM held WHERE a < $rows / 10" ],
	[ 'max of 60 rows', "SELECT a, max(n) OVER (PARTITION BY g ORDER BY ts, a ROWS 59 PRECEDING) FROM held" ],
	[ 'sum of 60 rows, numeric', "SELECT a, sum(n) OVER (PARTITION BY g ORDER BY ts, a ROWS 59 PRECEDING) FROM held" ],
	[ 'the first three of groups', "SELECT * FROM (SELECT a, b, row_number() $w AS r FROM held) q WHERE r <= 3" ],
	[ 'where the row before differs', "SELECT * FROM (SELECT a, d, lag(d) $w AS l FROM held) q WHERE d <> l" ],
	[ 'total beside each row', 'SELECT a, n, sum(n) OVER (PARTITION BY g) FROM held' ],
	[ 'equal rows', 'SELECT g, count(*) OVER (PARTITION BY g) FROM held' ]);

# The value of a constant of the cost model.
sub constant
{
	my ($name) = @_;

	open my $file, '<', "$FindBin::Bin/../src/base/costs.h" or die "costs.h: $!\n";
	my ($value) = map { /^#define $name (\S+)/ ? $1 : () } <$file>;
	return $value;
}

# The processor time of a query, in milliseconds.
sub time_of
{
	my ($query) = @_;
	my $used = 0;

	$used -= Processor::threads_ms($_) foreach @processes;
	$session->query("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $query");
	$used += Processor::threads_ms($_) foreach @processes;
	return $used;
}

# The cost and the rows of a plan, or of its GpuColumns, whether columns answer, and how many values their rows have.
sub cost_of
{
	my ($query) = @_;
	my $plan = $session->query("EXPLAIN $query");

	my ($line) = $plan =~ /^(.*GpuColumns.*)$/m;
	my ($cost, $returned) = ($line // $plan) =~ /\.\.([\d.]+) rows=(\d+)/ or die "$plan\n";

	return ($cost, $returned, $plan =~ /GpuColumns/, scalar split /, /, $plan =~ /Window Rows: (.*)/ ? $1 : '');
}

$session->query(<<"SQL");
CREATE EXTENSION IF NOT EXISTS gpusort;
DROP TABLE IF EXISTS held;
CREATE TABLE held AS SELECT i AS a, (i::int8 * 7919 % greatest($rows / 50, 1))::int AS g, i::int8 * 31 % 100003 AS b,
	(i * 17 % 99991 / 100.0)::numeric(12, 2) AS n, date '2020-01-01' + i * 13 % 2000 AS d,
	timestamp '2020-01-01' + i * interval '1 s' AS ts FROM generate_series(1, $rows) AS i ORDER BY hashint4(i);
VACUUM ANALYZE held;
SELECT gpusort_columns_add('held');
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SQL
$session->wait_held('held');
$session->query('SET gpusort.columns = force; SELECT count(*) FROM held; RESET gpusort.columns');
push @processes, Processor::service($session);
my $value_cost = constant('COLUMNS_WINDOW_VALUE_COST');
my $worst = 0;

printf "# rows with windows: columns or WindowAgg, processor time, %s, %d rows, %s, COLUMNS_WINDOW_VALUE_COST %s\n",
	$ENV{COMMIT} // '', $rows, $session->query('SHOW server_version'), $value_cost;
printf "%-32s %9s %9s %8s %9s %9s %10s %6s %8s\n", '', 'columns', 'plan', 'rows', 'columns', 'plan', 'chosen', 'loss',
	'constant';
foreach my $query (grep { $_->[0] =~ /$wanted/ } @queries)
{
	my ($name, $sql) = @$query;
	my (%ms, %cost);

	# a scan that is out of the question shows what columns cost
	$session->query('RESET gpusort.columns; SET cpu_tuple_cost = 1000');
	my ($columns_cost, $returned, $found, $values) = cost_of($sql);
	$session->query('RESET cpu_tuple_cost');
	die "no columns: $sql\n" unless $found;
	$session->query('SET gpusort.columns = off');
	my ($plan_cost) = cost_of($sql);
	foreach my $run (1 .. $runs)
	{
		foreach my $side ('force', 'off')
		{
			$session->query("SET gpusort.columns = $side");
			push @{ $ms{$side} }, time_of($sql);
		}
	}
	my ($columns, $plan) = (min(@{ $ms{force} }), min(@{ $ms{off} }));
	my $chosen = $columns_cost < $plan_cost;
	my $loss = 100 * ($chosen ? $columns / $plan - 1 : $plan / $columns - 1);

	$worst = max($worst, $loss);
	printf "%-32s %6.0f ms %6.0f ms %8d %9.0f %9.0f %10s %6s %8.3f\n", $name, $columns, $plan, $returned, $columns_cost,
		$plan_cost, $chosen ? 'columns' : 'plan', $loss > 0 ? sprintf('%.0f %%', $loss) : '',
		($plan_cost * $columns / $plan - $columns_cost) / $returned / $values + $value_cost;
}
printf "\nthe plan that is chosen takes at most %.0f %% longer than the other\n", $worst;
$session->query('SELECT gpusort_columns_remove(\'held\')');
$session->query('DROP TABLE held');
$session->finish;
