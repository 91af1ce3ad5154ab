#!/usr/bin/perl
# verify.pl PSQL: what gpusort.verify costs a whole query whose sort runs in the GPU service: off, sample and full in
# turns in one session.
#
# SIZES (default "5000000 10000000") are the tables' rows, RUNS (default 15) the rounds counted after one that is not;
# in every other round the sides come in the reverse order.  ONLY, a pattern, chooses lines.  The time is the whole
# query's under EXPLAIN (ANALYZE, TIMING OFF): rows go nowhere.  Printed are medians, and the median of the rounds' own
# ratios to "off", with their quartiles; the same for the backend's time on a processor, which other programs on the
# machine disturb less.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Session;

my ($psql) = @ARGV;
my @sizes = split ' ', $ENV{SIZES} // '5000000 10000000';
my $runs = $ENV{RUNS} // 15;
my $wanted = $ENV{ONLY} // '.';
my @sides = qw(off sample full);
my $hash = 'hashint8extended(i, 1)';

# name, columns, their expressions, order
my @lines = (
	[ 'int8', 'k int8, v int4', "$hash, i::int4", 'k' ],
	[ 'two keys: int4, int8', 'g int4, k int8', "abs($hash % 1000)::int4, hashint8extended(i, 2)", 'g, k' ],
	[ 'text(16) COLLATE "C"', 'k text COLLATE "C", v int4', 'substr(md5(i::text), 1, 16), i::int4', 'k' ],
	[ 'int8 + 100-byte text', 'k int8, v text', "$hash, rpad(i::text, 100, 'x')", 'k' ]);

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
	die "the GPU service did not sort: $sort->{Fallback}\n" if defined $sort->{Fallback};
	die "the sort wrote files\n" if $sort->{'Sort Space Type'} ne 'Memory';
	return ($explain->{'Execution Time'}, $cpu);
}

my $session = Session->new($psql, 'postgres');
$session->query('CREATE EXTENSION IF NOT EXISTS gpusort; CREATE EXTENSION IF NOT EXISTS pg_prewarm');
$session->query('SET max_parallel_workers_per_gather = 0; SET jit = off; SET gpusort.engine = gpu');
$session->query('SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) i ORDER BY -i OFFSET 1) x');
chomp(my $driver = `nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1`);
printf "%s; driver %s; %s; commit %s; PostgreSQL %s; %d rounds\n\n",
	$session->query('SELECT min(name) FROM gpusort_devices'), $driver || 'none',
  scalar(gmtime), $ENV{COMMIT} // '', $session->query('SHOW server_version'), $runs;
printf "%-24s %9s %10s %10s %10s   %-26s %-12s %s\n", '', 'rows', 'off, ms', 'sample', 'full',
	'sample : off (quartiles)', 'full : off',
  'on a processor: sample : off (quartiles)';
for my $size (@sizes)
{
	for my $line (grep { $_->[0] =~ /$wanted/ } @lines)
	{
		my ($name, $columns, $expressions, $order) = @$line;
		my (%ms, %ratio, @cpu);

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
			push @{ $ms{$_} }, $this{$_}[0] foreach @sides;
			push @{ $ratio{$_} }, $this{$_}[0] / $this{off}[0] foreach @sides;
			push @cpu, $this{sample}[1] / $this{off}[1];
		}
		printf "%-24s %9d %10.1f %10.1f %10.1f   %.4f (%.4f, %.4f)    %.4f       %.4f (%.4f, %.4f)\n", $name, $size,
			(map { Session::median(@{ $ms{$_} }) } @sides),
		  Session::median(@{ $ratio{sample} }), quantile(0.25, @{ $ratio{sample} }),
		  quantile(0.75, @{ $ratio{sample} }),
		  Session::median(@{ $ratio{full} }), Session::median(@cpu), quantile(0.25, @cpu), quantile(0.75, @cpu);
	}
}
$session->query('DROP TABLE IF EXISTS t');
$session->finish;
