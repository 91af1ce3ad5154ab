#!/usr/bin/perl
# gpu.pl PSQL JSON-FILE: ORDER BY on a GPU against PostgreSQL and gpusort's CPU engine, all in one run.
#
#   order      ROWS rows (default 20 million) of t20, all columns: PostgreSQL serial, PostgreSQL with 8 workers, gpusort
#              on the CPU, on the GPU, in turns; medians of RUNS rounds (default 3; PostgreSQL serial 2), the first of
#              gpusort's not counted
#   sessions   1, 4, 16 sessions that each sort t20 by k8 twice, and 16 that sort small tables for some seconds
#   even       where the GPU begins to win: warm sessions, by rows and key
#   large      LARGE rows (default 100 million) of (int8, int4), once
#
# Times are those of EXPLAIN (ANALYZE, TIMING OFF): rows go nowhere.  PARTS, a pattern, chooses parts; ENGINE=cpu
# rehearses without a GPU.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Session;
use Time::HiRes qw(time);

my ($psql, $json_file) = @ARGV;
my $rows = $ENV{ROWS} // 20_000_000;
my $large = $ENV{LARGE} // 100_000_000;
my $runs = $ENV{RUNS} // 3;
my $parts = $ENV{PARTS} // '.';
my %result = (date => scalar(gmtime), commit => $ENV{COMMIT} // '');
my $missed = 0;
(my $pgbench = $psql) =~ s/psql$/pgbench/;

my %side = (
	serial => 'SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0',
	workers => 'SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 8; SET parallel_setup_cost = 0; '
	  . 'SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0',
	cpu => 'SET gpusort.enabled = on; SET gpusort.engine = cpu; SET max_parallel_workers_per_gather = 0',
	gpu => 'SET gpusort.enabled = on; SET gpusort.engine = gpu; SET max_parallel_workers_per_gather = 0');
my @sides = qw(serial workers cpu gpu);

# name, query, targets: times faster than PostgreSQL serial, than 8 workers, than the CPU engine
my @queries = (
	[ 'ORDER BY k8', 'SELECT * FROM t20 ORDER BY k8', 3.5, 1.6, 1.3 ],
	[ 'ORDER BY f8', 'SELECT * FROM t20 ORDER BY f8', 4, 0, 1.3 ],
	[ 'ORDER BY lowcard, k4', 'SELECT * FROM t20 ORDER BY lowcard, k4', 6.5, 0, 1.3 ],
	[ 'ORDER BY s COLLATE "C"', 'SELECT * FROM t20 ORDER BY s COLLATE "C"', 5, 0, 1.3 ],
	[ 'SELECT k8 ORDER BY k8', 'SELECT k8 FROM t20 ORDER BY k8', 0, 0, 1.3 ]);

# A session with a side's settings.
sub session
{
	my ($name) = @_;
	my $session = Session->new($psql, 'postgres');
	$session->query("SET jit = off; $side{$name}");
	return $session;
}

# Runs a query and returns its time with what its sort says.
sub run
{
	my ($session, $query) = @_;
	my $explain = $session->analyze($query);
	my ($sort) = Session::sorts($explain->{Plan});
	my %facts = (ms => $explain->{'Execution Time'} + 0);

	return \%facts unless $sort;
	$facts{$_->[0]} = $sort->{ $_->[1] } foreach grep { defined $sort->{ $_->[1] } } (
		[ engine => 'Engine' ], [ fallback => 'Fallback' ], [ method => 'Sort Method' ],
		[ space_kb => 'Sort Space Used' ],
		[ in_ms => 'Child and In Time' ], [ sort_ms => 'Sort Time' ], [ device_ms => 'Device Time' ],
		[ wait_in_ms => 'Input Wait' ], [ wait_out_ms => 'Output Wait' ]);
	# what is left of the query: giving rows out, and what is done with them
	$facts{out_ms} = $facts{ms} - $facts{in_ms} - $facts{sort_ms} if defined $facts{sort_ms};
	return \%facts;
}

# The run in the middle of several.
sub middle
{
	my @sorted = sort { $a->{ms} <=> $b->{ms} } @_;
	return { %{ $sorted[ $#sorted / 2 ] }, all_ms => [ map { $_->{ms} } @_ ] };
}

# "meets" a target or not, as text.
sub against
{
	my ($ratio, $target) = @_;
	$missed++ if $target && $ratio < $target;
	return sprintf '%5.2f%s', $ratio, !$target ? '       ' : sprintf ' (%3.1f)%s', $target, $ratio < $target ? '!' : '';
}

sub part_order
{
	my %session = map { $_ => session($_) } @sides;
	my @found;

	printf "\n%-24s %9s %9s %8s %8s   %s %s %s   %s\n", "$rows rows", 'serial', '8 workers', 'CPU', 'GPU',
		'x serial   ', 'x workers  ', 'x CPU      ',
	  'GPU: in + wait + out, ms';
	for my $line (@queries)
	{
		my ($name, $query, @targets) = @$line;
		my %run;
		for my $round (0 .. $runs)
		{
			for my $side (@sides)
			{
				next if $round == 0 && $side !~ /pu/;	 # warms gpusort's sessions up
				next if $side eq 'serial' && $round > 2;
				my $facts = run($session{$side}, $query);
				push @{ $run{$side} }, $facts if $round > 0;
			}
		}
		my %m = map { $_ => middle(@{ $run{$_} }) } @sides;
		my @ratio = map { $m{$_}{ms} / $m{gpu}{ms} } qw(serial workers cpu);
		printf "%-24s %9.0f %9.0f %8.0f %8.0f   %s %s %s   %.0f + %.1f + %.0f\n", $name, (map { $m{$_}{ms} } @sides),
		  (map { against($ratio[$_], $targets[$_]) } 0 .. 2), @{ $m{gpu} }{qw(in_ms sort_ms out_ms)};
		push @found, { query => $query, name => $name, sides => \%m, targets => \@targets };
		if (($m{gpu}{sort_ms} // 99) >= 30) { $missed++; print "  waited too long after the last row\n" }
	}
	my %scan = map { my $what = $_; $_ => middle(map { run($session{serial}, "SELECT $what FROM t20") } 1 .. 3) } 'k8',
		'*';
	my $over = $found[4]{sides}{gpu}{ms} - $scan{k8}{ms};
	$missed++ if $over > 500;
	printf "SELECT k8 without order %.0f ms, SELECT * %.0f ms; k8 in order takes %.0f ms more%s\n", $scan{k8}{ms},
		$scan{'*'}{ms}, $over,
	  $over > 500 ? ' !' : '';
	# a new session's first sorts
	my $new = session('gpu');
	my @first = map { run($new, 'SELECT * FROM b300000 ORDER BY i8')->{ms} } 1 .. 5;
	printf "the first sorts of a new session, 300000 rows: %s ms\n", join ', ', map { sprintf '%.1f', $_ } @first;
	$result{order} = { rows => $rows, queries => \@found, scan => \%scan, first_ms => \@first };
	$_->finish foreach values %session, $new;
	return;
}

# pgbench with so many sessions: transactions a second and their time in ms.
sub bench
{
	my ($side, $sessions, $how, $script) = @_;
	my $file = "/tmp/gpusort-bench-$$.sql";
	open my $out, '>', $file or die;
	print $out "$script;\n";
	close $out;
	local $ENV{PGOPTIONS} = join ' ', map { s/^SET //r =~ s/ = /=/r =~ s/^/-c /r } split /; */, $side{$side};
	my $text = `$pgbench -n -c $sessions -j $sessions $how -f $file postgres 2>&1`;
	unlink $file;
	my ($latency) = $text =~ /latency average = ([\d.]+)/;
	my ($tps) = $text =~ /tps = ([\d.]+)/;
	die $text unless defined $tps;
	return { tps => $tps + 0, ms => $latency + 0 };
}

sub part_sessions
{
	my $session = session('gpu');
	my @found;

	print "\nSessions at once, ORDER BY k8 of $rows rows: sorts a minute, seconds for each\n";
	printf "%8s %18s %18s %18s\n", '', 'serial', 'CPU', 'GPU';
	for my $n (1, 4, 16)
	{
		my %m = map { $_ => bench($_, $n, '-t ' . ($_ eq 'serial' ? 1 : 2),
			'EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM t20 ORDER BY k8') }
		  qw(serial cpu gpu);
		printf "%8d %s\n", $n, join ' ', map { sprintf '%8.1f %7.2f s', $m{$_}{tps} * 60,
			$m{$_}{ms} / 1000 } qw(serial cpu gpu);
		push @found, { sessions => $n, sides => \%m };
	}
	my @small;
	print "16 sessions, small sorts: sorts a second, ms for each\n";
	for my $table (qw(b1000 b10000 b100000))
	{
		$session->query('SELECT gpusort_stat_reset()');
		my $query = "EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM $table ORDER BY i8";
		my %m = map { $_ => bench($_, 16, '-T 2', $query) } qw(serial cpu gpu);
		my ($device) = $session->query("SELECT sum(device_ms) / nullif(sum(jobs), 0) FROM gpusort_stat WHERE engine <> "
			. "'CPU' AND fallback IS NULL");
		printf "%8s %s  %.3f ms on the device\n", $table,
			join(' ', map { sprintf '%9.0f %6.2f ms', $m{$_}{tps}, $m{$_}{ms} } qw(serial cpu gpu)),
		  $device || 0;
		push @small, { table => $table, sides => \%m, device_ms => ($device || 0) + 0 };
	}
	$result{sessions} = { rows => $rows, large => \@found, small => \@small };
	$session->finish;
	return;
}

sub part_even
{
	my %session = map { $_ => session($_) } qw(cpu gpu);
	my @found;

	print "\nWarm sessions, CPU / GPU in ms\n";
	printf "%10s %s\n", 'rows', join '', map { sprintf '%20s', $_ } 'int4', 'int8', 'int8, int8', 'text of 16',
		'text of 48';
	$session{$_}->query('SET gpusort.min_rows = 0') foreach keys %session;
	for my $n (1000, 3000, 10000, 30000, 100000, 300000, 1000000)
	{
		my $line = sprintf '%10d', $n;
		for my $key ('i4', 'i8', 'g, i8', 't16', 't48')
		{
			my %ms;
			my $times = $n >= 300000 ? 5 : $n >= 30000 ? 15 : 40;
			for my $round (0 .. $times)
			{
				push @{ $ms{$_} }, run($session{$_}, "SELECT id, i8 FROM b$n ORDER BY $key")->{ms} foreach qw(cpu gpu);
			}
			$_ = Session::median(@$_) foreach values %ms;
			$line .= sprintf '%10.2f /%8.2f', $ms{cpu}, $ms{gpu};
			push @found, { rows => $n, key => $key, cpu_ms => $ms{cpu}, gpu_ms => $ms{gpu} };
		}
		print "$line\n";
	}
	$result{even} = \@found;
	$_->finish foreach values %session;
	return;
}

sub part_large
{
	my $session = session('serial');
	my %m;

	$session->query('CREATE UNLOGGED TABLE large (k int8, v int4)');
	Session::in_parallel($psql, $large,
		'INSERT INTO large SELECT hashint8extended(i, 1), i::int4 FROM generate_series({from}::int8, {to}) AS i');
	$session->query('ALTER TABLE large SET (parallel_workers = 8)');
	$session->query('VACUUM (FREEZE, ANALYZE) large');
	for my $side (qw(workers cpu gpu))
	{
		my $one = session($side);
		$m{$side} = run($one, 'SELECT * FROM large ORDER BY k');
		$one->finish;
	}
	printf "\n%d rows of (int8, int4), once: 8 workers %.0f ms, CPU %.0f ms, GPU %.0f ms (%.0f + %.1f + %.0f)\n",
		$large,
	  (map { $m{$_}{ms} } qw(workers cpu gpu)), @{ $m{gpu} }{qw(in_ms sort_ms out_ms)};
	$result{large} = { rows => $large, sides => \%m };
	$session->query('DROP TABLE large');
	$session->finish;
	return;
}

my $session = Session->new($psql, 'postgres');
my $start = time;
$session->query('CREATE EXTENSION gpusort; CREATE EXTENSION pg_prewarm');
$session->query('CREATE UNLOGGED TABLE t20 (id int, k4 int, k8 bigint, f8 float8, s text, lowcard int)');
Session::in_parallel($psql, $rows, q{INSERT INTO t20 SELECT i, hashint4extended(i::int, 5)::bit(32)::int4,
	hashint8extended(i, 1), hashint8extended(i, 2) / 1e6,
	substr(md5(i::text), 1, 16), (hashint4(i::int) % 100) FROM generate_series({from}::int8, {to}) AS i});
for my $n (1000, 3000, 10000, 30000, 100000, 300000, 1000000)
{
	$session->query("CREATE UNLOGGED TABLE b$n AS SELECT i::int4 AS id, hashint4(i::int4) AS i4, hashint8extended(i, 1)
		AS i8, hashint8extended(i, 3) % 50 AS g,
		substr(md5(i::text), 1, 16) COLLATE \"C\" AS t16,
		md5(i::text) || substr(md5(i::text), 1, 16) COLLATE \"C\" AS t48
		FROM generate_series(1, $n\::int8) AS i; VACUUM (FREEZE, ANALYZE) b$n");
}
$session->query('ALTER TABLE t20 SET (parallel_workers = 8)');
$session->query('VACUUM (FREEZE, ANALYZE) t20');
$session->query("SELECT pg_prewarm('t20')");
$result{server} = $session->query('SELECT version()');
$session->query("SET gpusort.engine = gpu; SELECT count(*) FROM (SELECT * FROM b1000 ORDER BY i8 OFFSET 1) x");
$result{device} = $session->query('SELECT min(name) FROM gpusort_devices');
chomp($result{driver} = `nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1`);
open my $cpuinfo, '<', '/proc/cpuinfo' or die;
($result{cpu}) = map { s/^.*?: |\n//gr } grep { /^model name/ } <$cpuinfo>;
printf "%s; driver %s; %s; commit %s; %s; loaded in %.0f s\n", $result{device}, $result{driver}, $result{date},
	$result{commit}, $result{server},
  time - $start;
foreach my $part (qw(order sessions even large))
{
	next unless $part =~ /$parts/;
	no strict 'refs';
	&{"part_$part"}();
}
printf "\n%d targets missed, %.0f s\n", $missed, time - $start;
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(\%result);
close $file;
$session->finish;
