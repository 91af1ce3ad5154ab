#!/usr/bin/perl
# aggregates.pl PSQL JSON_FILE: aggregates in one process and split between parallel workers, in turns in one session,
# beside PostgreSQL's own in one process.
#
# ROWS rows, default 5 million, in memory; WORKERS workers, default 2, and the leader; RUNS turns a line, default 5;
# ONLY, a pattern, chooses lines.  No JIT; settings of memory are the server's.  Times are the client's for a query of
# one row, with PROCESSOR=1 the processor time of all the server's processes, for busy machines; ratios those of
# medians: of PostgreSQL's own to ours in one process, and of ours in one process to ours split.  Answers are compared.
# OFF=1 adds ours with gpusort.enabled off, in one process and split.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Session;
use Time::HiRes qw(time);

$| = 1;

my ($psql, $json_file) = @ARGV;
my $rows = $ENV{ROWS} // 5_000_000;
my $workers = $ENV{WORKERS} // 2;
my $runs = $ENV{RUNS} // 5;
my $wanted = $ENV{ONLY} // '.';
my $target = 1.6;

# name, plain SQL, with gpusort
my @lines = (
	[ 'gpu_median(float8)', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY f)', 'gpu_median(f)' ],
	[ 'gpu_percentile_disc(int8)', 'percentile_disc(0.3) WITHIN GROUP (ORDER BY k)', 'gpu_percentile_disc(k, 0.3)' ],
	[ 'gpu_percentile_disc(numeric)', 'percentile_disc(0.3) WITHIN GROUP (ORDER BY n)', 'gpu_percentile_disc(n, 0.3)' ],
	[ 'gpu_count_distinct(int8)', 'count(DISTINCT k)', 'gpu_count_distinct(k)' ],
	[ 'gpu_count_distinct(int8), 5 rows each', 'count(DISTINCT d)', 'gpu_count_distinct(d)' ],
	[ 'gpu_count_distinct(int4), 20 values', 'count(DISTINCT c)', 'gpu_count_distinct(c)' ],
	[ 'gpu_count_distinct(numeric)', 'count(DISTINCT n)', 'gpu_count_distinct(n)' ],
	[ 'gpu_count_distinct(text), 100 000 values', 'count(DISTINCT t)', 'gpu_count_distinct(t)' ],
	[ 'gpu_sort_agg(int8)', 'array_length(array_agg(k ORDER BY k), 1)', 'array_length(gpu_sort_agg(k), 1)' ],
	[ 'gpu_sort_agg(numeric)', 'array_length(array_agg(n ORDER BY n), 1)', 'array_length(gpu_sort_agg(n), 1)' ],
	[ 'gpu_rle(int4, int8)', 'array_length(gpu_rle(c ORDER BY u), 1)', 'array_length(gpu_rle(c, u), 1)' ],
	[ 'gpu_rle(text, int8), 100 rows a run', 'array_length(gpu_rle(s ORDER BY i), 1)',
		'array_length(gpu_rle(s, i), 1)' ],
	[ 'gpu_median by group, 20 groups', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY f)', 'gpu_median(f)', 'c' ],
	[ 'gpu_count_distinct by group, 5000', 'count(DISTINCT k)', 'gpu_count_distinct(k)', 'g' ],
	[ 'gpu_median where x, one row of 10', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FILTER (WHERE n < 1000)',
		'gpu_median(f) FILTER (WHERE n < 1000)' ]);

# The query of a line: one row, whatever it groups by.
sub query_of
{
	my ($call, $group) = @_;
	return "SELECT $call FROM agg" unless defined $group;
	return "SELECT md5(string_agg(x::text, ',' ORDER BY g)) FROM (SELECT $group AS g, $call AS x FROM agg GROUP BY "
		. "$group) AS s";
}

my $session = Session->new($psql, 'postgres');

# The time by which queries are measured, in milliseconds.
sub now { return $ENV{PROCESSOR} ? $session->server_ms : time * 1000 }

$session->query('CREATE EXTENSION IF NOT EXISTS gpusort; CREATE EXTENSION IF NOT EXISTS pg_prewarm; SET jit = off');
$session->query('DROP TABLE IF EXISTS agg; CREATE UNLOGGED TABLE agg (k int8, u int8, f float8, n numeric(12,2), d '
	. 'int8, c int4, g int4, t text, s text, i int8)');
$session->query("INSERT INTO agg SELECT hashint8extended(i, 1), hashint8extended(i, 1) / 8 * 8 + i % 8,
	(hashint8extended(i, 2) % 1000000) / 8.0,
	abs(hashint8extended(i, 3) % 1000000000) / 100.0, abs(hashint8extended(i, 4) % ($rows / 5)), abs(hashint8extended(i,
		5) % 20),
	abs(hashint8extended(i, 6) % 5000), md5((i % 100000)::text), 'state ' || i / 100 % 7, i
	FROM generate_series(1, ${rows}::int8) AS i");
$session->query("VACUUM (FREEZE, ANALYZE) agg; SELECT pg_prewarm('agg'); CHECKPOINT");

my @results;
my $missed = 0;
printf "\n%d rows, %s workers and the leader%s, %s, %s, commit %s\n\n", $rows, $workers,
	$ENV{PROCESSOR} ? ', processor time' : '',
	$session->query('SHOW lc_collate'),
  $session->query('SHOW server_version'), $ENV{COMMIT} // '';
printf "%-42s %11s %11s %6s %11s %6s\n", '', 'PostgreSQL', 'gpusort', 'ratio', 'split', 'ratio';
for my $line (grep { $_->[0] =~ /$wanted/ } @lines)
{
	my ($name, $plain, $call, $group) = @$line;
	my %sides = (
		postgresql => [ 0, 'off', query_of($plain, $group) ],
		gpusort => [ 0, 'on', query_of($call, $group) ],
		split => [ $workers, 'on', query_of($call, $group) ],
		off => [ 0, 'off', query_of($call, $group) ],
		'off, split' => [ $workers, 'off', query_of($call, $group) ]);
	my (%ms, %answer);

	for my $run (0 .. $runs)
	{
		for my $side ('postgresql', 'gpusort', 'split', $ENV{OFF} ? ('off', 'off, split') : ())
		{
			my ($parallel, $enabled, $query) = @{ $sides{$side} };
			$session->query("SET max_parallel_workers_per_gather = $parallel; SET gpusort.enabled = $enabled");
			my $start = now();
			$answer{$side} = $session->query($query);
			# the first turn warms up
			push @{ $ms{$side} }, now() - $start if $run > 0;
		}
	}
	die "$name: " . join(', ', %answer) . "\n" if grep { $_ ne $answer{postgresql} } values %answer;
	my $plan = $session->query("EXPLAIN $sides{split}[2]");
	my %median = map { $_ => Session::median(@{ $ms{$_} }) } keys %ms;
	my ($gain, $split) = ($median{postgresql} / $median{gpusort}, $median{gpusort} / $median{split});

	$missed++ if $split < $target;
	printf "%-42s %8.1f ms %8.1f ms %6.2f %8.1f ms %6.2f%s%s\n", $name, @median{ 'postgresql', 'gpusort' }, $gain,
		$median{split}, $split,
		$plan !~ /Finalize/ ? ' not split' : $split < $target ? ' !' : '',
		$ENV{OFF} ? sprintf('  off %.1f ms, split %.1f ms', @median{ 'off', 'off, split' }) : '';
	push @results, { line => $name, median_ms => {%median}, ms => {%ms}, ratio => $gain, split => $split,
		plan => [ split /\n/, $plan ] };
}
$session->query('DROP TABLE agg');
printf "\n%d of %d lines are less than %s times as fast when split\n", $missed, scalar @results, $target;

my ($cpu) = do { open my $f, '<', '/proc/cpuinfo' or die; grep { /^model name/ } <$f> };
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(
	{
		part => 'aggregates',
		rows => $rows,
		workers => $workers,
		server => $session->query('SELECT version()'),
		cpu => $cpu ? $cpu =~ s/^.*?: |\n//gr : '',
		commit => $ENV{COMMIT} // '',
		date => scalar(gmtime),
		results => \@results });
close $file;
$session->finish;
