#!/usr/bin/perl
# costs.pl PSQL: what rows cost in scans, in sorts and on their way from workers, and the settings that follow.
#
# ROWS  of each table, default 5000000
# RUNS  of each query, default 5; the least counts
#
# Times are CPU time of the session's process, from /proc/self/schedstat, so that other work on the machine matters
# little; those of whole parallel queries are times of the clock.  A sort's share is what its query takes more than a
# scan of the table.  A nanosecond is worth what the planner takes for a scan of the first table by the time that the
# scan takes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min sum);
use Session;

$| = 1;

my ($psql) = @ARGV;
my $rows = $ENV{ROWS} || 5_000_000;
my $runs = $ENV{RUNS} || 5;
my $session = Session->new($psql, 'postgres');
my $output_cost = 0.0025;		# what the server adds for giving a row of a sort out: cpu_operator_cost
my $worth;						# of a nanosecond, in the planner's units

# Makes a table of some columns from row numbers i, in memory.
sub make
{
	my ($name, $columns) = @_;
	$session->query("DROP TABLE IF EXISTS $name; CREATE TABLE $name AS SELECT $columns "
		  . "FROM generate_series(1, $rows) AS i; VACUUM ANALYZE $name; SELECT count(*) FROM $name");
	return;
}

# The least CPU time of a query that throws its rows away, in ns a row.
sub cpu
{
	my ($query) = @_;
	my $spent = sub { (split ' ', $session->query("SELECT pg_read_file('/proc/self/schedstat')"))[0] };

	return min(map {
		my $before = $spent->();
		$session->query("$query OFFSET $rows");
		($spent->() - $before) / $rows } 1 .. $runs);
}

# The least time of the clock, in ns a row.
sub wall
{
	my ($query) = @_;
	return min(map { $session->milliseconds("$query OFFSET $rows") * 1e6 / $rows } 1 .. $runs);
}

sub plan
{
	my ($query) = @_;
	return $session->query("EXPLAIN $query");
}

# What the planner takes for a row of a scan.
sub scan_cost
{
	my ($table) = @_;
	return (plan("SELECT * FROM $table") =~ /\.\.([0-9.]+) /)[0] / $rows;
}

sub settings
{
	$session->query("RESET ALL; SET client_min_messages = warning; SET max_parallel_workers_per_gather = 0; "
		  . join('; ', map { "SET $_" } @_));
	return;
}

# The scan, a sort's share above it on both sides, in ns a row, and ours in units.
sub measure
{
	my ($table, $order) = @_;
	my %found;

	settings();
	my $scan = cpu("SELECT * FROM $table");
	$worth //= scan_cost($table) / $scan;
	foreach my $side ('off', 'on')
	{
		settings("gpusort.enabled = $side");
		$found{$side} = cpu("SELECT * FROM $table ORDER BY $order") - $scan;
	}
	return ($scan, $found{off}, $found{on}, $found{on} * $worth - $output_cost);
}

sub line
{
	my ($name, @found) = @_;
	printf "%-34s %6.0f %6.0f %6.0f %8.4f\n", $name, @found;
	return;
}

# The line through some points: its height at 0, and its slope.
sub fit
{
	my @points = @_;
	my ($x, $y) = map { my $i = $_; sum(map { $_->[$i] } @points) / @points } 0, 1;
	my $slope = sum(map { ($_->[0] - $x) * ($_->[1] - $y) } @points) / sum(map { ($_->[0] - $x)**2 } @points);
	return ($y - $slope * $x, $slope);
}

# The leader's time when it does nothing but merge what workers send.
sub merge
{
	my ($table, $workers, $blocks) = @_;
	settings("max_parallel_workers_per_gather = $workers", 'parallel_leader_participation = off',
		'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
		'gpusort.cores = 64', 'gpusort.cpu_row_cost = 0', "gpusort.parallel_blocks = $blocks");
	$session->query("ALTER TABLE $table SET (parallel_workers = $workers)");
	return plan("SELECT * FROM $table ORDER BY k") =~ /Gather Merge/ ? cpu("SELECT * FROM $table ORDER BY k") : undef;
}

# Which form the planner takes at the settings that there are, and what both take.
sub choice
{
	my ($table, $workers) = @_;
	my @usual = ("max_parallel_workers_per_gather = $workers");

	$session->query("ALTER TABLE $table SET (parallel_workers = $workers)");
	settings(@usual);
	my $chosen = plan("SELECT * FROM $table ORDER BY k") =~ /Gather Merge/ ? 'parallel' : 'serial';
	settings(@usual, 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'gpusort.cpu_row_cost = 0',
		'gpusort.cores = 64');
	my $parallel = wall("SELECT * FROM $table ORDER BY k");
	settings();
	my $serial = wall("SELECT * FROM $table ORDER BY k");
	printf "%-34s %6.0f %8.0f  %-8s %s\n", "$table, $workers workers", $serial, $parallel, $chosen,
	  ($chosen eq 'parallel') == ($parallel < $serial) ? '' : 'WRONG';
	return;
}

my @widths = (0, 40, 100, 200);
make('keys', "i * 7919::int8 % 1009 AS a, i * 104729::int8 % 1013 AS b, i * 1299709::int8 % 1019 AS c, "
	  . "i * 15485863::int8 % $rows AS d, hashint8extended(i, 0) AS e");
make('strings', "md5(i::text) COLLATE \"C\" AS s, left(md5(i::text), 12) COLLATE \"C\" AS t, i AS n");
make("wide_$_", "hashint8extended(i, 0) AS k, i AS n" . ($_ ? ", repeat('x', $_) AS filler" : '')) foreach @widths;

printf "%d rows, least of %d runs; commit %s\n", $rows, $runs, $ENV{COMMIT} // '';
printf "%-34s %6s %6s %6s %8s\n", 'ns of CPU a row; units', 'scan', 'theirs', 'ours', 'price';
my @points;
foreach my $order ('e', 'd', 'a, e', 'a, b, e', 'a, b, c, e')
{
	my @found = measure('keys', $order);
	my $words = 1 + ($order =~ tr/,//);
	line("$words keys: $order", @found);
	push @points, [ $words, $found[-1] ];
}
foreach my $order ('t', 's')
{
	line("strings of " . ($order eq 's' ? 32 : 12), measure('strings', $order));
}
line("rows of " . ($_ + 16) . ' bytes', measure("wide_$_", 'k')) foreach @widths;
my ($row_cost, $key_cost) = fit(@points);

printf "\n%-34s %8s %8s %8s\n", 'ns of CPU a row in the leader', 'tuples', 'blocks', 'price';
my @merges;
foreach my $width (@widths)
{
	my ($tuples, $blocks) = map { merge("wide_$width", 2, $_) } 'off', 'on';
	if (!defined $blocks) { print "no parallel plan for rows of @{[ $width + 16 ]} bytes\n"; next }
	printf "%-34s %8.0f %8.0f %8.4f\n", "rows of " . ($width + 16) . ' bytes', $tuples // 0, $blocks, $blocks * $worth;
	push @merges, [ $width + 16, $blocks * $worth ];
}

printf "\n%-34s %6s %8s  %s\n", 'ns of the clock a row', 'serial', 'parallel', 'the planner takes';
foreach my $width (0, 100) { choice("wide_$width", $_) foreach 1, 2, 4, 8 }

my ($merge_cost, $slope) = @merges > 1 ? fit(@merges) : (0, 0);
printf "\ngpusort.cpu_row_cost = %.4f\nKEY_COST = %.3f\n", $row_cost, $key_cost / $row_cost;
printf "MERGE_ROW_COST = %.3f, and %.3f more for 100 bytes (the model: as much again)\n", $merge_cost / $row_cost,
  100 * $slope / $row_cost;
$session->finish;
