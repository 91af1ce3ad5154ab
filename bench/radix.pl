#!/usr/bin/perl
# radix.pl PSQL [DATABASE]: ORDER BY by the server's own Sort and by gpusort, all of it in memory and then with what a
# server's settings are from the beginning; for PostgreSQL 19, whose Sort has a radix sort.
#
# One process, no JIT, in turns, in one session.  A line has the medians of RUNS rounds (default 3) of the query's time
# under EXPLAIN (ANALYZE, TIMING OFF) and their ratio; "!" marks one below the target.  ROWS (default 10 million) is
# each table's, ONLY, a pattern, chooses lines.  CLOCK=cpu takes the CPU time of the server process instead, for a
# machine where others run.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Session;

my ($psql, $database) = (@ARGV, 'postgres');
my $rows = $ENV{ROWS} // 10_000_000;
my $runs = $ENV{RUNS} // 3;
my $only = $ENV{ONLY} // '';
my $cpu = ($ENV{CLOCK} // '') eq 'cpu';
my $missed = 0;
my $hash = 'hashint8extended(i, 1)';
my $text = 'substr(md5(i::text), 1, 16)';

# name, columns, expressions of i, keys
my @lines = (
	[ 'int8', 'k int8, v int4', "$hash, i::int4", 'k' ],
	[ 'float8', 'k float8, v int4', "$hash / 1e6, i::int4", 'k' ],
	[ 'two keys: k % 1000, int8', 'g int4, k int8', "abs($hash % 1000)::int4, hashint8extended(i, 2)", 'g, k' ],
	[ 'numeric(12,2)', 'k numeric(12,2), v int4', "($hash % 1000000000) / 100.0, i::int4", 'k' ],
	[ 'uuid', 'k uuid, v int4', 'md5(i::text)::uuid, i::int4', 'k' ],
	[ 'text(16) COLLATE "C"', 'k text COLLATE "C", v int4', "$text, i::int4", 'k' ],
	[ 'text(16), en_US', 'k text COLLATE "en_us", v int4', "$text, i::int4", 'k' ],
	[ 'int8 + 100-byte text', 'k int8, v text', "$hash, rpad(i::text, 100, 'x')", 'k' ]);
# name, what is set, target
my @memories = (
	[ 'in memory', "SET work_mem = '4GB'; SET gpusort.work_mem = '4GB'", 1.5 ],
	[ 'stock', 'RESET work_mem; RESET gpusort.work_mem', 1.2 ]);

my $session = Session->new($psql, $database);

# One run of a query, in milliseconds.
sub run
{
	my ($query, $on) = @_;
	$session->query("SET gpusort.enabled = $on");
	my $before = $session->cpu_ms;
	my $explain = $session->analyze($query);
	my $ms = $cpu ? $session->cpu_ms - $before : $explain->{'Execution Time'};
	my ($sort) = Session::sorts($explain->{Plan});

	die "no GpuSort: $query\n" if $on eq 'on' && ($sort->{'Custom Plan Provider'} // '') ne 'GpuSort';
	return $ms;
}

# Runs both sides in turns, after a pair that warms up, and prints a line.
sub compare
{
	my ($name, $query, $memory, $target) = @_;
	my %ms;
	for my $round (0 .. $runs)
	{
		for my $on ('off', 'on')
		{
			my $ms = run($query, $on);
			push @{ $ms{$on} }, $ms if $round > 0;
		}
	}
	my ($off, $on) = map { Session::median(@{ $ms{$_} }) } 'off', 'on';
	my $mark = $off / $on < $target ? '!' : '';

	$missed++ if $mark;
	printf "%-26s %-10s %9.0f %9.0f %7.2f%-1s %7.1f\n", $name, $memory, $off, $on, $off / $on, $mark, $target;
	return;
}

$session->query("LOAD 'gpusort'; SET max_parallel_workers_per_gather = 0; SET jit = off; SET gpusort.engine = cpu");
$session->query(q{CREATE COLLATION IF NOT EXISTS en_us (provider = libc, locale = 'en_US.UTF-8')});
$| = 1;
printf "PostgreSQL %s, commit %s, %d rows, medians of %d, %s\n", $session->query('SHOW server_version'), $ENV{COMMIT}
	// '', $rows, $runs,
  $cpu ? 'CPU time' : 'elapsed time';
printf "%-26s %-10s %9s %9s %7s  %7s\n", '', '', 'off, ms', 'on, ms', 'ratio', 'target';
for my $line (grep { $_->[0] =~ /$only/ } @lines)
{
	my ($name, $columns, $expressions, $keys) = @$line;

	$session->query('DROP TABLE IF EXISTS t');
	$session->query("CREATE UNLOGGED TABLE t ($columns)");
	$session->query("INSERT INTO t SELECT $expressions FROM generate_series(1, ${rows}::int8) AS i");
	$session->query('VACUUM (FREEZE, ANALYZE) t');
	for my $memory (@memories)
	{
		$session->query($memory->[1]);
		compare($name, "SELECT * FROM t ORDER BY $keys", $memory->[0], $memory->[2]);
	}
}
$session->query('DROP TABLE IF EXISTS t');
$session->finish;
print "$missed missed\n";
