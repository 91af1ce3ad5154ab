#!/usr/bin/perl
# small.pl PSQL [DATABASE]: queries that sort 1000 to 40,000 rows, with gpusort and without, on the server's settings.
#
# The lines are a part of the product of types (SmallLines.pm), numbers of keys, distinct values, skew, lengths of
# strings, orders of rows and shapes of queries.  Every type meets every number of distinct values, every text every
# length, every type two and three keys, every shape ten types; the rest is dealt.  SEED (default 1) deals anew.  ONLY,
# a pattern, chooses lines by "shape: keys", and PART=K/N every N-th of them from the K-th on.
#
# Off and on run in turns in one session; what counts is the processor time of its server process, planning included.
# Result rows go nowhere: an OFFSET is beyond them, so output functions have no part.  A line takes at least PAIRS pairs
# (default 9) and 150 ms of each side, if three pairs do not take seconds, and has the medians and the median of the
# pairs' ratios.  A ratio below 0.97 is measured once more with three times the pairs, and the second result counts.
# "!" marks a ratio below 0.95 of a plan with a node or an aggregate of gpusort; plans without are PostgreSQL's own,
# marked "-", and are not counted.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use KeyLines;
use List::Util qw(max min sum);
use Session;
use SmallLines;

$| = 1;

my ($psql, $database) = (@ARGV, 'postgres');
my $only = $ENV{ONLY} // '';
my $seed = $ENV{SEED} // 1;
my ($part, $parts) = split qr{/}, $ENV{PART} // '1/1';
my $pairs = $ENV{PAIRS} // 9;
my $target = 0.95;
# milliseconds of one side that a line takes at least, and at most; and those between two readings of the clock
my ($least, $most, $batch) = (150, 1500, 3);
# above this the planner may take workers, whose time is not the session's
my $serial_bytes = 8 << 20;

# One session of psql, whose library is loaded.
sub open_session
{
	my $session = Session->new($psql, $database);
	$session->backend;
	return $session;
}

# Milliseconds of the server process for so many runs of a query.
sub timed
{
	my ($session, $query, $on, $times) = @_;

	$session->query("SET gpusort.enabled = $on");
	my $before = $session->cpu_ms;
	$session->query("$query;\n" x $times);
	return ($session->cpu_ms - $before) / $times;
}

# The first run of a query in a session of its own.
sub first_time
{
	my ($query, $on) = @_;
	my $session = open_session();
	my $ms = timed($session, $query, $on, 1);

	$session->finish;
	return $ms;
}

# Runs both sides in turns, at least so many times: off, on, and the ratio.
sub compare
{
	my ($line, $query, $wanted) = @_;
	my ($session, %ms, @ratios) = ($line->{session});
	my $times = max(1, int($batch / max(timed($session, $query, 'off', 2), 0.01)));
	my $one = $line->{shape} eq 'first'
	  ? sub { first_time($query, $_[0]) }
	  : sub { timed($session, $query, $_[0], $times) };

	timed($session, $query, 'on', 2);
	for (my ($pair, $spent) = (0, 0); $pair < 3 || ($pair < $wanted && $spent < $most) || $spent < $least; $pair++)
	{
		my %this = map { $_ => $one->($_) } $pair % 2 ? ('on', 'off') : ('off', 'on');
		$spent += $this{off} * $times;
		# less than the clock of processes tells
		next if min(values %this) <= 0;
		push @{ $ms{$_} }, $this{$_} foreach keys %this;
		push @ratios, $this{off} / $this{on};
	}
	return ((map { Session::median(@{ $ms{$_} }) } 'off', 'on'), Session::median(@ratios));
}

# Fills the table of a line, whose rows come in its order.
sub make_table
{
	my ($session, $line) = @_;
	my ($columns, $rows) = SmallLines::table($line);

	$session->query("DROP TABLE IF EXISTS t; CREATE UNLOGGED TABLE t ($columns); INSERT INTO t $rows; "
		. ($line->{shape} eq 'indexed' ? 'CREATE INDEX ON t (k1); ' : '') . 'ANALYZE t');
	my $serial = $session->query("SELECT pg_table_size('t')") >= $serial_bytes;
	$session->query($serial ? 'SET max_parallel_workers_per_gather = 0' : 'RESET max_parallel_workers_per_gather');
	return;
}

# Does the plan have anything of gpusort's?
sub is_ours
{
	my ($session, $query) = @_;
	my $plan = $session->query("SET gpusort.enabled = on; EXPLAIN (VERBOSE, COSTS OFF) $query");

	die "workers take part: $query\n" if $plan =~ /Workers Planned/;
	return $plan =~ /\bGpu[A-Z]|\bgpu_/;
}

# Measures a line and prints it; its text and ratio if the plan is ours.
sub measure
{
	my ($session, $line) = @_;
	my $query = SmallLines::query($line);

	make_table($session, $line);
	my $ours = is_ours($session, $query);
	$line->{session} = $session;
	my ($off, $on, $ratio) = compare($line, $query, $pairs);
	($off, $on, $ratio) = compare($line, $query, 3 * $pairs) if $ours && $ratio < $target + 0.02;
	my $text = sprintf '%-100s %8.2f %8.2f %6.2f %s', SmallLines::text($line), $off, $on, $ratio,
	  !$ours ? '-' : $ratio < $target ? '!' : '';

	print $text =~ s/ +$//r, "\n";
	return $ours ? { text => $text, ratio => $ratio } : ();
}

srand $seed;
my $session = open_session();
$session->query($_) for $KeyLines::setup, $SmallLines::setup;
my @kinds = SmallLines::available(sub { eval { $session->query($_[0]); 1 } });
my @lines = grep { SmallLines::text($_) =~ /$only/ } SmallLines::lines(@kinds);
@lines = @lines[grep { $_ % $parts == $part - 1 } 0 .. $#lines];
my ($cpu) = do { open my $f, '<', '/proc/cpuinfo' or die; grep { /^model name/ } <$f> };
open my $load, '<', '/proc/loadavg' or die;

printf "PostgreSQL %s, %s; %s, load %s at the start; %s UTC, commit %s\n", $session->query('SHOW server_version'),
  $session->query("SELECT coalesce((SELECT 'PostGIS ' || extversion FROM pg_extension WHERE extname = 'postgis'), "
	  . "'no PostGIS')"), $cpu ? $cpu =~ s/^.*?: |\n//gr : '', (split ' ', readline $load)[0], scalar(gmtime),
  $ENV{COMMIT} // '';
printf "%d lines, seed %d; processor time of the server process, ms, medians of %d pairs or more\n", scalar @lines,
  $seed, $pairs;
printf "%-100s %8s %8s %6s\n", SmallLines::heading(), 'off', 'on', 'ratio';
my @ours = map { measure($session, $_) } @lines;
my @lost = grep { $_->{ratio} < $target } @ours;

$session->finish;
print "\n", @lost ? "below $target:\n" : '', map { "$_->{text}\n" } sort { $a->{ratio} <=> $b->{ratio} } @lost;
printf "\n%d of %d lines have a plan of gpusort's, geometric mean %.2f; %d of them are below %s\n", scalar @ours,
  scalar @lines, @ours ? exp(sum(map { log $_->{ratio} } @ours) / @ours) : 1, scalar @lost, $target;
