#!/usr/bin/perl
# functions.pl PART PSQL JSON_FILE: the SQL functions against the plain SQL that gives the same, in turns in one session.
#
# PART is "memory" (work_mem and gpusort.work_mem 4 GB), "stock" (nothing set) or "gpu" (16 GB, the functions on the CPU and
# on the GPU).  ROWS: default 5 million, for "gpu" 50 million.  RUNS turns a line, default 5, for "gpu" 3; PLAIN_RUNS of plain
# SQL, default as many, for "gpu" 1.  LINES, a pattern, chooses lines, for "gpu" those that have a target.
#
# Plain SQL runs with gpusort.enabled off: it is PostgreSQL's own.  One backend, no parallel workers, no JIT; times are the
# client's for a query of one row, ratios those of medians.  Answers are compared.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Session;
use Time::HiRes qw(time);

$| = 1;

my ($part, $psql, $json_file) = @ARGV;
my $rows = $ENV{ROWS} // ($part eq 'gpu' ? 50_000_000 : 5_000_000);
my $runs = $ENV{RUNS} // ($part eq 'gpu' ? 3 : 5);
my $plain_runs = $ENV{PLAIN_RUNS} // ($part eq 'gpu' ? 1 : $runs);
my $wanted = $ENV{LINES};
my @engines = $part eq 'gpu' ? ('cpu', 'gpu') : ('cpu');

# Islands as one writes them without gpusort, and what each is: its state, where it begins, how long it is.
my $islands = 'SELECT count(*) || \'/\' || max(n) FROM (SELECT state, min(ts), count(*) AS n FROM (
	SELECT ts, state, sum(begins) OVER (ORDER BY ts) AS island FROM (
		SELECT ts, state, (state IS DISTINCT FROM lag(state) OVER (ORDER BY ts))::int AS begins FROM t) AS a) AS b
	GROUP BY state, island) AS c';

# name, target, plain SQL, with gpusort
my @lines = (
	[ 'gpu_rle(state, ts): islands', 3, $islands,
		'SELECT count(*) || \'/\' || max(run_length) FROM unnest((SELECT gpu_rle(state, ts) FROM t))' ],
	[ 'gpu_rle(state ORDER BY ts): islands', undef, $islands,
		'SELECT count(*) || \'/\' || max(run_length) FROM unnest((SELECT gpu_rle(state ORDER BY ts) FROM t))' ],
	[ 'gpu_run_id(state): islands', undef, $islands,
		'SELECT count(*) || \'/\' || max(n) FROM (SELECT state, min(ts), count(*) AS n FROM (
			SELECT ts, state, gpu_run_id(state) OVER (ORDER BY ts) AS island FROM t) AS b GROUP BY state, island) AS c' ],
	[ 'gpu_count_distinct(int8)', 3, 'SELECT count(DISTINCT k) FROM t', 'SELECT gpu_count_distinct(k) FROM t' ],
	[ 'gpu_count_distinct(int4), 4 values', undef, 'SELECT count(DISTINCT state) FROM t',
		'SELECT gpu_count_distinct(state) FROM t' ],
	[ 'gpu_median(float8)', 2, 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM t',
		'SELECT gpu_median(f) FROM t' ],
	[ 'gpu_percentile_disc(timestamp)', undef, 'SELECT percentile_disc(0.99) WITHIN GROUP (ORDER BY ts) FROM t',
		'SELECT gpu_percentile_disc(ts, 0.99) FROM t' ],
	[ 'gpu_sort_agg(int8)', undef, 'SELECT (array_agg(k ORDER BY k))[1000] FROM t', 'SELECT (gpu_sort_agg(k))[1000] FROM t' ],
	[ 'gpu_sort(int8[])', 6, 'SELECT (SELECT array_agg(x ORDER BY x) FROM unnest(a) AS x)[1000] FROM arrays',
		'SELECT (gpu_sort(a))[1000] FROM arrays' ]);

# The time of a query in milliseconds, and its answer.
sub timed
{
	my ($session, $query) = @_;
	my $start = time;
	my $answer = $session->query($query);
	return ((time - $start) * 1000, $answer);
}

# What a host's GPU is, or nothing.
sub device
{
	my $query = 'nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null';
	my $name = $part eq 'gpu' ? `$query` : '';
	chomp $name;
	return $name;
}

# The table: in no order; states last about 20 rows in the order of time.
sub make_tables
{
	my ($session) = @_;
	$session->query('CREATE UNLOGGED TABLE t (k int8, f float8, ts timestamp, state int4)');
	Session::in_parallel($psql, $rows, "INSERT INTO t SELECT hashint8extended(i, 1) AS k, (hashint8extended(i, 2) / 1e6)::float8 AS f,
		timestamp '2020-01-01' + i * interval '1 second' AS ts, abs(hashint8extended(i / 20, 3) % 4)::int4 AS state
		FROM (SELECT n * 7368787::int8 % $rows AS i FROM generate_series({from}::int8, {to}) AS n) AS s");
	$session->query('VACUUM ANALYZE t');
	$session->query('CREATE UNLOGGED TABLE arrays (a int8[])');
	$session->query('ALTER TABLE arrays ALTER a SET STORAGE external');
	$session->query('INSERT INTO arrays SELECT array_agg(k) FROM t');
	return;
}

my $session = Session->new($psql, 'postgres');
$session->query('CREATE EXTENSION gpusort');
$session->query('SET max_parallel_workers_per_gather = 0; SET jit = off');
my $memory = $part eq 'gpu' ? '16GB' : '4GB';
$session->query("SET work_mem = '$memory'; SET gpusort.work_mem = '$memory'") if $part ne 'stock';
make_tables($session);

my @results;
my $missed = 0;
my $title = { memory => 'In memory', stock => 'Stock postgresql.conf', gpu => 'In memory, with ' . device() }->{$part};
printf "\n%s: %d rows, %s\n\n", $title, $rows, $session->query('SHOW server_version');
printf "%-36s %11s%s %6s\n", '', 'plain SQL', join('', map { sprintf ' %11s %6s', $_, 'ratio' } @engines), 'target';
for my $line (grep { defined $wanted ? $_->[0] =~ /$wanted/ : $part ne 'gpu' || $_->[1] } @lines)
{
	my ($name, $target, $plain, $ours) = @$line;
	my %ms;
	my %answer;
	for my $run (0 .. $runs)
	{
		for my $side ('plain', @engines)
		{
			next if $side eq 'plain' && $run > ($plain_runs > 1 ? $plain_runs : 0);
			$session->query($side eq 'plain' ? 'SET gpusort.enabled = off'
				: "SET gpusort.enabled = on; SET gpusort.engine = $side");
			(my $ms, $answer{$side}) = timed($session, $side eq 'plain' ? $plain : $ours);
			# the first turn warms up, unless there is no other
			push @{ $ms{$side} }, $ms if $run > 0 || ($side eq 'plain' && $plain_runs < 2);
			die "$name: $answer{$side} on $side, $answer{plain} by plain SQL\n" if $answer{$side} ne $answer{plain};
		}
	}
	my %median = map { $_ => Session::median(@{ $ms{$_} }) } keys %ms;
	my $ratio = $median{plain} / $median{cpu};
	my $below = defined $target && $ratio < $target;

	$missed++ if $below;
	printf "%-36s %8.1f ms%s %6s%s\n", $name, $median{plain},
	  join('', map { sprintf ' %8.1f ms %6.2f', $median{$_}, $median{plain} / $median{$_} } @engines), $target // '', $below ? ' !' : '';
	push @results,
	  {
		line => $name,
		target => $target,
		plain => $plain,
		query => $ours,
		ms => \%ms,
		median_ms => \%median,
		ratio => { map { $_ => $median{plain} / $median{$_} } @engines } };
}
printf "\n%d of %d lines below their target\n", $missed, scalar @results;
my $stat = $session->query("SELECT string_agg(format('%s on %s: %s jobs', op, engine, jobs) || coalesce(', ' || fallback, ''),
	'; ' ORDER BY op, engine) FROM gpusort_stat WHERE jobs > 0");
print "$stat\n" if $part eq 'gpu';

my ($cpu) = do { open my $f, '<', '/proc/cpuinfo' or die; grep { /^model name/ } <$f> };
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(
	{
		part => $part,
		rows => $rows + 0,
		server => $session->query('SELECT version()'),
		cpu => $cpu ? $cpu =~ s/^.*?: |\n//gr : '',
		device => device(),
		commit => $ENV{COMMIT} // '',
		stat => $stat,
		date => scalar(gmtime),
		results => \@results });
close $file;
$session->finish;
