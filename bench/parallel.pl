#!/usr/bin/perl
# parallel.pl PSQL: ORDER BY in parallel workers: PostgreSQL, gpusort row by row, gpusort in blocks.
#
#   narrow   ROWS rows (default 10 million) of (int8, int4)
#   wide     the same with a text of 100 bytes
#   two      as narrow, by two keys
#   text     a text of 32 characters under "C", and an int4
#
# Each line is a side with its number of workers: whole queries in ms, as EXPLAIN (ANALYZE, TIMING OFF) and as a count
# over the sorted rows, minimum and median of RUNS (default 5); the leader's time on a processor, in ns a row; how many
# times as fast as gpusort's serial sort.  "alone" leaves sorting to the workers (parallel_leader_participation = off),
# so that the leader's time is that of the merge.  Sides take turns in every run.  ENGINE, WORKERS ("1 2 4 8"), TABLES
# and SIDES (patterns) choose.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min);
use POSIX ();
use Session;
use Time::HiRes qw(time);

my ($psql) = @ARGV;
my $rows = $ENV{ROWS} // 10_000_000;
my $runs = $ENV{RUNS} // 5;
my $engine = $ENV{ENGINE} // 'cpu';
my @workers = split ' ', $ENV{WORKERS} // '1 2 4 8';
my $tables = $ENV{TABLES} // '.';
my $sides = $ENV{SIDES} // '.';
my $tick = 1 / POSIX::sysconf(POSIX::_SC_CLK_TCK());

# name, columns, key
my @tables = (
	[ 'narrow', 'hashint8extended(i, 1) AS k, i::int4 AS v', 'k' ],
	[ 'wide', "hashint8extended(i, 1) AS k, i::int4 AS v, repeat(md5(i::text), 3) || 'abcd' AS t", 'k' ],
	[ 'two', 'hashint8extended(i, 1) % 1000 AS k, hashint8(i) AS v', 'k, v' ],
	[ 'text', 'md5(i::text) COLLATE "C" AS k, i::int4 AS v', 'k' ]);

# name, settings but for the number of workers
my @sides = (
	[ 'core', 'SET gpusort.enabled = off' ],
	[ 'gpusort, rows', 'SET gpusort.parallel_blocks = off' ],
	[ 'gpusort, blocks', '' ],
	[ 'gpusort, blocks, alone', 'SET parallel_leader_participation = off' ]);

# Seconds that a process has spent on processors.
sub on_processor
{
	my ($pid) = @_;
	open my $stat, '<', "/proc/$pid/stat" or die "/proc/$pid/stat: $!";
	my @fields = split ' ', (readline($stat) =~ s/^.*\) //r);
	return ($fields[11] + $fields[12]) * $tick;
}

# A session with a side's settings.
sub session
{
	my ($settings, $workers) = @_;
	my $session = Session->new($psql, 'postgres');

	$session->query("SET jit = off; SET gpusort.engine = $engine; SET max_parallel_workers_per_gather = $workers; "
		  . 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
		  . "SET gpusort.cores = 64; SET enable_incremental_sort = off; $settings");
	$session->{backend} = $session->query('SELECT pg_backend_pid()');
	return $session;
}

# The lines of one table: a session with its name and results each.
sub lines
{
	my @lines;
	foreach my $side (@sides)
	{
		my ($name, $settings) = @$side;
		next if $name !~ /$sides/ && $name ne 'gpusort, blocks';
		foreach my $n (0, @workers)
		{
			next if $n == 0 && $name =~ /rows|alone/;
			my $label = $n ? "$name, $n" : ($name =~ s/,.*//r) . ', serial';
			push @lines, { name => $label, session => session($settings, $n), workers => $n };
		}
	}
	return @lines;
}

# Runs a line's queries once and notes times.
sub run
{
	my ($line, $query) = @_;
	my $session = $line->{session};
	my $before = on_processor($session->{backend});
	my $explain = $session->analyze($query);

	push @{ $line->{leader} }, (on_processor($session->{backend}) - $before) / $rows * 1e9;
	push @{ $line->{analyze} }, $explain->{'Execution Time'};
	$line->{plan} = shape($explain->{Plan});
	push @{ $line->{count} }, $session->milliseconds("SELECT count(*) FROM ($query OFFSET 0) x");
	return;
}

# The names of a plan's nodes from the top, with the workers that were launched.
sub shape
{
	my ($plan) = @_;
	my $name = $plan->{'Custom Plan Provider'} // $plan->{'Node Type'};

	$name .= " $plan->{'Workers Launched'}" if defined $plan->{'Workers Launched'};
	return join ' > ', $name, map { shape($_) } @{ $plan->{Plans} // [] };
}

sub table
{
	my ($name, $columns, $key) = @_;
	my $loader = Session->new($psql, 'postgres');
	my $query = "SELECT * FROM $name ORDER BY $key";
	my @lines;
	my $serial;

	(my $types = $columns) =~ s/\bi\b/1/g;
	$loader->query("CREATE UNLOGGED TABLE $name AS SELECT $types LIMIT 0");
	Session::in_parallel($psql, $rows,
		"INSERT INTO $name SELECT $columns FROM generate_series({from}::int8, {to}::int8) i");
	$loader->query("VACUUM (FREEZE, ANALYZE) $name");
	@lines = lines();
	foreach my $n (0 .. $runs) { run($_, $query) foreach @lines }
	# the first runs warm the sessions up
	foreach my $line (@lines) { shift @{ $line->{$_} } foreach qw(leader analyze count) }
	($serial) = map { min(@{ $_->{analyze} }) } grep { $_->{name} eq 'gpusort, serial' } @lines;
	printf "\n%-28s %9s %9s %9s %9s %9s %9s   %s\n", "$name, $rows rows", 'min', 'median', 'count min', 'median',
		'leader ns', 'x serial', 'plan';
	foreach my $line (@lines)
	{
		my $best = min(@{ $line->{analyze} });

		printf "%-28s %9.0f %9.0f %9.0f %9.0f %9.1f %9.2f   %s\n", $line->{name}, $best,
			Session::median(@{ $line->{analyze} }),
		  min(@{ $line->{count} }), Session::median(@{ $line->{count} }), min(@{ $line->{leader} }), $serial / $best,
		  $line->{plan};
		$line->{session}->finish;
	}
	$loader->query("DROP TABLE $name");
	$loader->finish;
	return;
}

$| = 1;
my $session = Session->new($psql, 'postgres');
$session->query('CREATE EXTENSION gpusort');
$session->query("SET gpusort.engine = $engine; SET gpusort.min_rows = 0; SELECT count(*) FROM (SELECT i FROM "
	. "generate_series(1, 100000) i ORDER BY -i OFFSET 1) x");
my $device = $engine eq 'gpu' ? $session->query('SELECT min(name) FROM gpusort_devices') : 'CPU engine';
chomp(my $driver = `nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1`);
open my $cpuinfo, '<', '/proc/cpuinfo' or die;
my @models = map { s/^.*?: |\n//gr } grep { /^model name/ } <$cpuinfo>;
printf "%s; driver %s; %d x %s; %s; commit %s; PostgreSQL %s; %d runs\n", $device, $driver || 'none', scalar(@models),
	$models[0] // '?',
  scalar(gmtime), $ENV{COMMIT} // '', $session->query('SHOW server_version'), $runs;
$session->finish;
table(@$_) foreach grep { $_->[0] =~ /$tables/ } @tables;
