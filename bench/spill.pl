#!/usr/bin/perl
# spill.pl PSQL [DATABASE]: sorts that do not fit their memory, by PostgreSQL's own sort and by gpusort in turns, for
# spill.sh.
#
#   stock   work_mem 4 MB and gpusort.work_mem 256 MB, as both are when nothing is set; rows as many as need several
#           runs
#   equal   work_mem = gpusort.work_mem at 1, 4, 16 and 64 MB, over ten shapes of rows
#   many    100 million rows of (int8, int4) with gpusort.work_mem 256 MB
#   second  a session's later sorts in memory, without and with gpusort.kept_memory
#
# One process, no JIT.  A line has the medians of the query's time under EXPLAIN (ANALYZE, TIMING OFF), the median of
# the rounds' ratios, the target, and the space that the sorts say they took on disk; "!" marks a target missed, and a
# space more than 1.1 times PostgreSQL's.
# CLOCK=cpu takes the CPU time of the server process instead, for a machine where others run.
# With CHECK=1 each line's keys are compared once, by a digest.  SHARE=0.1 takes a tenth of the rows, with limits a
# tenth of stock's; RUNS rounds; PARTS and ONLY, patterns, choose parts and lines.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use POSIX qw(ceil);
use Session;

my ($psql, $database) = (@ARGV, 'postgres');
my $share = $ENV{SHARE} // 1;
my $runs = $ENV{RUNS} // 5;
my $parts = $ENV{PARTS} // 'stock|equal|many|second';
my $only = $ENV{ONLY} // '';
my $cpu = ($ENV{CLOCK} // '') eq 'cpu';
my $missed = 0;
my $least = $share < 1 ? $share : 1;
my $stock = sprintf "SET work_mem = '%dkB'; SET gpusort.work_mem = '%dkB'", POSIX::fmax(64, 4096 * $least),
	262144 * $least;

# An expression: a text of that many digests.
sub long_text
{
	my ($of, $digests) = @_;
	return "(SELECT string_agg(md5(($of + 100000 * j)::text), '') FROM generate_series(1, $digests) AS j)";
}

# name => columns, expressions of i, keys, and of large rows the share of the others' number
my %shapes = (
	'int8, int4' => [ 'k int8, v int4', 'hashint8extended(i, 1), i::int4', 'k' ],
	'int8, text(100)' => [ 'k int8, t text', "hashint8extended(i, 1), repeat(md5(i::text), 3) || 'abcd'", 'k' ],
	'text(16) "C"' => [ 't text COLLATE "C"', 'left(md5(i::text), 16)', 't' ],
	'uuid' => [ 'u uuid', 'md5(i::text)::uuid', 'u' ],
	'numeric' => [ 'n numeric, v int4', '(hashint8extended(i, 1) % 1000000000000) / 100.0, i::int4', 'n' ],
	'6 wide columns' => [ 'd date, s int4, id int8, price numeric(12,2), note text, mode text',
		"date '1992-01-01' + abs(hashint8(i) % 2500), (i % 7)::int4, i, (i % 1000000) / 100.0, md5(i::text), 'mode' "
			. "|| i % 7", 'd, s' ],
	'varied text' => [ 'k int8, t text', "hashint8extended(i, 2), repeat('x', abs(hashint8(i) % 100))", 'k' ],
	'two texts(900)' => [ 'a text COLLATE "C", b text COLLATE "C"', long_text('i % 1000', 28) . ', '
		. long_text('i', 28), 'b, a', 0.05 ],
	'two texts(3200), out of line' => [ 'a text COLLATE "C", b text COLLATE "C"', long_text('i % 1000', 100) . ', '
		. long_text('i', 100), 'b, a', 0.02 ],
	'NULLs' => [ 'k int4, t text, v int8',
		'CASE WHEN i % 10 > 2 THEN hashint8(i) END, CASE WHEN i % 2 = 0 THEN md5(i::text) END, i', 'k' ]);
# name, rows, target
my @stock = (
	[ 'int8, text(100)', 5e6, 2.8 ],
	[ 'text(16) "C"', 8e6, 2.2 ],
	[ 'uuid', 8e6, 2.4 ],
	[ '6 wide columns', 6e6, 2 ]);
my $session = Session->new($psql, $database);
$| = 1;
$session->query('CREATE EXTENSION IF NOT EXISTS pg_prewarm');

sub make_table
{
	my ($shape, $rows) = @_;
	my ($columns, $expressions) = @{ $shapes{$shape} };

	$session->query('DROP TABLE IF EXISTS t');
	$session->query("CREATE UNLOGGED TABLE t ($columns)");
	Session::in_parallel($psql, ceil($rows),
		"INSERT INTO t SELECT $expressions FROM generate_series({from}::int8, {to}) AS i", $database);
	$session->query("VACUUM (FREEZE, ANALYZE) t; SELECT pg_prewarm('t'); CHECKPOINT");
	return;
}

# A new session, with gpusort or without.
sub session
{
	my ($on, $settings) = @_;
	my $new = Session->new($psql, $database);

	$new->query("SET max_parallel_workers_per_gather = 0; SET jit = off; SET gpusort.enabled = $on; $settings");
	return $new;
}

# One run of a query in a session that has sorted before: milliseconds.
sub sort_again
{
	my ($session, $query) = @_;
	my $before = $session->cpu_ms;
	my $explain = $session->analyze($query);

	return $cpu ? $session->cpu_ms - $before : $explain->{'Execution Time'};
}

# One run of a query in a session of its own: milliseconds and kilobytes on disk.
sub run
{
	my ($on, $settings, $query) = @_;
	my $new = session($on, $settings);
	my $before = $new->cpu_ms;
	my $explain = $new->analyze($query);
	my $ms = $cpu ? $new->cpu_ms - $before : $explain->{'Execution Time'};
	my ($sort) = Session::sorts($explain->{Plan});

	die "no GpuSort: $query\n" if $on eq 'on' && ($sort->{'Custom Plan Provider'} // '') ne 'GpuSort';
	$new->finish;
	return ($ms, $sort->{'Sort Space Type'} eq 'Disk' ? $sort->{'Sort Space Used'} : 0);
}

# Digests of all keys in their order, by both sides at once; equal rows may be in any order, so only keys are looked at.
# The server writes them to a program, since all of them together may be more than a value can hold.
sub same_order
{
	my ($settings, $keys) = @_;
	my @children;

	foreach my $on ('off', 'on')
	{
		my $new = session($on, $settings);
		my $pid = fork() // die "fork: $!";
		if ($pid == 0)
		{
			$new->query("COPY (SELECT $keys FROM t ORDER BY $keys) TO PROGRAM 'md5sum > spill.$database.$on' (FORMAT "
				. "binary)");
			exec 'true';
		}
		push @children, $pid;
	}
	foreach my $child (@children)
	{
		waitpid $child, 0;
		die "a digest failed\n" if $?;
	}
	my ($off, $on) = map { $session->query("SELECT pg_read_file('spill.$database.$_')") } 'off', 'on';
	return $off eq $on;
}

# Runs both sides in turns and prints a line.
sub compare
{
	my ($name, $shape, $settings, $target) = @_;
	my $keys = $shapes{$shape}[2];
	my $query = "SELECT * FROM t ORDER BY $keys";
	my (%ms, %kb, @ratios);

	for my $round (1 .. $runs)
	{
		foreach my $on ('off', 'on')
		{
			(my $ms, $kb{$on}) = run($on, $settings, $query);
			push @{ $ms{$on} }, $ms;
		}
		push @ratios, $ms{off}[-1] / $ms{on}[-1];
	}
	my $ratio = Session::median(@ratios);
	my $too_large = $kb{on} > 1.1 * $kb{off};
	$missed++ if $target && $ratio < $target;
	$missed++ if $too_large;
	printf "%-30s %9.0f %9.0f %7.2f%s %7s %9.0f %9.0f%s\n", $name, Session::median(@{ $ms{off} }),
		Session::median(@{ $ms{on} }), $ratio,
	  $target && $ratio < $target ? '!' : ' ', $target || '', $kb{off} / 1024, $kb{on} / 1024, $too_large ? ' !' : '';
	return unless $ENV{CHECK};
	die "$name: other keys in order\n" unless same_order($settings, $keys);
	print "$name: the same keys in order\n";
	return;
}

sub part_stock
{
	foreach my $line (grep { $_->[0] =~ /(?:$only)/ } @stock)
	{
		make_table($line->[0], $line->[1] * $share);
		compare("stock, $line->[0]", $line->[0], $stock, $line->[2]);
	}
	return;
}

sub part_equal
{
	foreach my $shape (grep { /(?:$only)/ } sort keys %shapes)
	{
		make_table($shape, 2e6 * $share * ($shapes{$shape}[3] // 1));
		compare("$shape, $_ MB", $shape, "SET work_mem = '${_}MB'; SET gpusort.work_mem = '${_}MB'", 0.97) foreach 1, 4,
			16, 64;
	}
	return;
}

sub part_many
{
	make_table('int8, int4', 1e8 * $share);
	compare('100 M int8, int4', 'int8, int4', $stock, 2.5);
	return;
}

# Does memory that a session keeps of one sort make the next one faster?  Sorts in memory of one session, which are
# compared within it since one process may have a slower core than another; each that counts follows one that does not.
sub part_second
{
	foreach my $shape (grep { /(?:$only)/ } 'int8, int4', 'text(16) "C"', 'uuid', '6 wide columns')
	{
		make_table($shape, 5e6 * $share);
		my $query = "SELECT * FROM t ORDER BY $shapes{$shape}[2]";
		my $sorting = session('on', "SET gpusort.work_mem = '8GB'");
		my (%ms, @ratios);
		for my $round (1 .. $runs)
		{
			foreach my $kept (0, '8GB')
			{
				$sorting->query("SET gpusort.kept_memory = '$kept'");
				$sorting->analyze($query);
				push @{ $ms{$kept} }, sort_again($sorting, $query);
			}
			push @ratios, $ms{0}[-1] / $ms{'8GB'}[-1];
		}
		$sorting->finish;
		my $ratio = Session::median(@ratios);
		$missed++ if $ratio < 1.05;
		printf "%-30s %9.0f %9.0f %7.2f%s %7s   (memory of the last sort not kept, kept)\n", "second, $shape",
			Session::median(@{ $ms{0} }),
		  Session::median(@{ $ms{'8GB'} }), $ratio, $ratio < 1.05 ? '!' : ' ', 1.05;
	}
	return;
}

printf "%s, commit %s, %s of the rows, medians of %d, %s\n", $session->query('SHOW server_version'), $ENV{COMMIT} // '',
	$share, $runs,
  $cpu ? 'CPU time' : 'elapsed time';
printf "%-30s %9s %9s %7s  %7s %9s %9s\n", '', 'off, ms', 'on, ms', 'ratio', 'target', 'off, MB', 'on, MB';
part_stock() if 'stock' =~ /(?:$parts)/;
part_equal() if 'equal' =~ /(?:$parts)/;
part_many() if 'many' =~ /(?:$parts)/;
part_second() if 'second' =~ /(?:$parts)/;
printf "%d missed\n", $missed;
