#!/usr/bin/perl
# verify.pl PSQL [ENGINE]: what gpusort.verify costs a whole query whose sort runs in the GPU service, or with ENGINE
# "backend" in the backend: its values in turns in one session.
#
# SIDES (default "off sample words full") are the values, the first of which the others are compared with.  SIZES
# (default "5000000 10000000") are the tables' rows, RUNS (default 15) the rounds counted after one that is not; in
# every other round the sides come in the reverse order.  ONLY, a pattern, chooses lines; those that would begin after
# LIMIT seconds are left out.  MEMORY is gpusort.work_mem, with which sorts are to write runs and merge them; without it
# they are to take memory alone.
#
# The time is the whole query's under EXPLAIN (ANALYZE, TIMING OFF): rows go nowhere.  Printed are medians of the time
# and of the backend's time on a processor, which other programs on the machine disturb less, and of both the median of
# the rounds' own ratios to the first side, of the latter with their quartiles.
use strict;
use warnings;

use FindBin;
use IO::Handle;
use lib $FindBin::Bin;
use Session;

my ($psql, $engine) = @ARGV;
my $backend = ($engine // '') eq 'backend';
my @sizes = split ' ', $ENV{SIZES} // '5000000 10000000';
my $runs = $ENV{RUNS} // 15;
my $wanted = $ENV{ONLY} // '.';
my @sides = split ' ', $ENV{SIDES} // 'off sample words full';
my ($base, @others) = @sides;
my $limit = $ENV{LIMIT} // 1e9;
my $memory = $ENV{MEMORY} // '4GB';
my $hash = 'hashint8extended(i, 1)';

# name, columns, their expressions, order
my @lines = (
	[ 'int8', 'k int8, v int4', "$hash, i::int4", 'k' ],
	[ 'two keys: int4, int8', 'g int4, k int8', "abs($hash % 1000)::int4, hashint8extended(i, 2)", 'g, k' ],
	[ 'text(16) COLLATE "C"', 'k text COLLATE "C", v int4', 'substr(md5(i::text), 1, 16), i::int4', 'k' ],
	[ 'int8, few values', 'k int8, v int4', "$hash % 100, i::int4", 'k' ],
	[ 'int8 + 100-byte text', 'k int8, v text', "$hash, rpad(i::text, 100, 'x')", 'k' ],
	[ 'uuid', 'k uuid, v int4', 'md5(i::text)::uuid, i::int4', 'k' ],
	[ 'numeric', 'k numeric, v int4', "($hash % 1000000) / 100.0, i::int4", 'k' ],
	[ 'int8, NULLs behind it', 'k int8, v int4, w text, f float8',
		"$hash, CASE WHEN i % 2 = 0 THEN i::int4 END, NULL, i::float8", 'k' ],
	[ 'text and int8', 't text COLLATE "C", k int8, m text', "'x' || (i % 100), $hash, md5(i::text)", 't, k' ]);

# The value below which a share of the values lies.
sub quantile
{
	my ($share, @values) = @_;
	return (sort { $a <=> $b } @values)[ int($share * $#values + 0.5) ];
}

# Runs the query with one setting; its time in ms, and the backend's on a processor.
sub run
{
	my ($session, $side, $query) = @_;

	$session->query("SET gpusort.verify = $side");
	my $before = $session->cpu_ms;
	my $explain = $session->analyze($query);
	my $cpu = $session->cpu_ms - $before;
	my ($sort) = Session::sorts($explain->{Plan});
	die "the GPU service did not sort: $sort->{Fallback}\n" if !$backend && defined $sort->{Fallback};
	my $merged = $sort->{'Sort Space Type'} eq 'Disk';
	die $merged ? "the sort wrote files\n" : "the sort wrote no files\n" if $merged != defined $ENV{MEMORY};
	return ($explain->{'Execution Time'}, $cpu);
}

STDOUT->autoflush;
my $session = Session->new($psql, 'postgres');
$session->query('CREATE EXTENSION IF NOT EXISTS gpusort; CREATE EXTENSION IF NOT EXISTS pg_prewarm');
$session->query("SET max_parallel_workers_per_gather = 0; SET jit = off; SET gpusort.work_mem = '$memory'");
$session->query('SET gpusort.engine = '
	. ($backend ? 'cpu' : 'gpu'));
$session->query('SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) i ORDER BY -i OFFSET 1) x');
chomp(my $driver = `nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1`);
printf "%s; driver %s; %s; commit %s; PostgreSQL %s; %d rounds\n\n",
	$backend ? 'CPU, in the backend' : $session->query('SELECT min(name) FROM gpusort_devices'), $driver || 'none',
  scalar(gmtime), $ENV{COMMIT} // '', $session->query('SHOW server_version'), $runs;
printf "%-24s %9s  %-*s %-*s %s\n", '', '', 8 * @sides - 1, 'ms', 8 * @sides - 1, 'ms on a processor',
	"on a processor, : $base (quartiles), and by the clock";
printf "%-24s %9s %s %s %s\n", '', 'rows', (join('', map { sprintf '%8s', $_ } @sides)) x 2,
	join('', map { sprintf '%33s', $_ } @others);
for my $size (@sizes)
{
	for my $line (grep { $_->[0] =~ /$wanted/ } @lines)
	{
		my ($name, $columns, $expressions, $order) = @$line;
		my (%ms, %cpu, %ratio, %clock);

		last if time - $^T > $limit;
		$session->query("DROP TABLE IF EXISTS t; CREATE UNLOGGED TABLE t ($columns)");
		$session->query("INSERT INTO t SELECT $expressions FROM generate_series(1, ${size}::int8) AS i");
		$session->query("VACUUM (FREEZE, ANALYZE) t");
		$session->query("SELECT pg_prewarm('t')");
		$session->query('CHECKPOINT');
		for my $round (0 .. $runs)
		{
			my %this = map { $_ => [ run($session, $_, "SELECT * FROM t ORDER BY $order") ] } $round % 2
				? reverse @sides : @sides;
			next if $round == 0;
			foreach my $side (@sides)
			{
				push @{ $ms{$side} }, $this{$side}[0];
				push @{ $cpu{$side} }, $this{$side}[1];
				push @{ $ratio{$side} }, $this{$side}[1] / $this{$base}[1];
				push @{ $clock{$side} }, $this{$side}[0] / $this{$base}[0];
			}
		}
		printf "%-24s %9d %s %s %s\n", $name, $size,
			join('', map { sprintf '%8.1f', Session::median(@{ $ms{$_} }) } @sides),
			join('', map { sprintf '%8.1f', Session::median(@{ $cpu{$_} }) } @sides),
			join('', map { sprintf '  %.4f (%.4f, %.4f) %.4f', Session::median(@{ $ratio{$_} }),
				quantile(0.25, @{ $ratio{$_} }), quantile(0.75, @{ $ratio{$_} }), Session::median(@{ $clock{$_} })
			} @others);
	}
}
$session->query('DROP TABLE IF EXISTS t');
$session->finish;
