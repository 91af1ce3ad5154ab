#!/usr/bin/perl
# queries.pl PART PSQL JSON_FILE: ORDER BY with PostgreSQL's own Sort and with gpusort, in turns in one session.
#
# PART is "memory" (ROWS rows, default 10 million, work_mem and gpusort.work_mem 4 GB) or "stock" (STOCK_ROWS rows,
# default 5 million, nothing set), or "keys" (text in a language and types without an exact encoding, KeyLines.pm: in
# memory but for the last line; SHARE of their rows, default 1).  RUNS pairs of runs a line, default 5; ONLY, a pattern,
# chooses lines.  One backend, no parallel workers, no JIT; the time is the whole query's under EXPLAIN (ANALYZE, TIMING
# OFF), the ratio that of the medians.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use KeyLines;
use Session;

my ($part, $psql, $json_file) = @ARGV;
die "There is no part \"$part\".\n" unless $part =~ /^(memory|stock|keys)$/;
my $share = $ENV{SHARE} // 1;
my $rows = $part eq 'memory' ? $ENV{ROWS} // 10_000_000 : $ENV{STOCK_ROWS} // 5_000_000;
my $runs = $ENV{RUNS} // 5;
my $wanted = $ENV{ONLY} // '.';
my $hash = 'hashint8extended(i, 1)';
my $text = 'substr(md5(i::text), 1, 16)';

# name, targets in memory and stock, columns, their expressions, order, and what differs from the usual
my @lines = (
	[ 'int8', 2.0, 1.4, 'k int8, v int4', "$hash, i::int4", 'k' ],
	[ 'float8', 2.3, 1.4, 'k float8, v int4', "$hash / 1e6, i::int4", 'k' ],
	[ 'int8 + 100-byte text', 1.8, 1.4, 'k int8, v text', "$hash, rpad(i::text, 100, 'x')", 'k' ],
	[ 'two keys: k % 1000, int8', 4, 1.0, 'g int4, k int8', "abs($hash % 1000)::int4, hashint8extended(i, 2)", 'g, k' ],
	[ 'numeric(12,2)', 1.9, 1.0, 'k numeric(12,2), v int4', "($hash % 1000000000) / 100.0, i::int4", 'k' ],
	[ 'uuid', 1.8, 1.0, 'k uuid, v int4', 'md5(i::text)::uuid, i::int4', 'k' ],
	[ 'text(16) COLLATE "C"', 2.2, 1.0, 'k text COLLATE "C", v int4', "$text, i::int4", 'k' ],
	[ 'text(16), C.UTF-8 database', 6, 1.0, 'k text, v int4', "$text, i::int4", 'k' ],
	[ '5 distinct values', 2, 1.0, 'k int8, v int4', "abs($hash % 5), i::int4", 'k' ],
	[ 'already sorted', 1.2, 1.0, 'k int8, v int4', 'i, i::int4', 'k' ],
	[ '20 000 rows', 1.0, 1.0, 'k int8, v int4', "$hash, i::int4", 'k', { rows => 20_000, runs => 101 } ],
	[ 'partitions, LIMIT 10', 0.95, 0.95, 'k int8, v int4', "$hash, i::int4", 'k LIMIT 10', { partitions => 8 } ]);

@lines = @KeyLines::lines if $part eq 'keys';

# Makes a table of its own for a line.
sub make_table
{
	my ($session, $columns, $expressions, $n, $partitions) = @_;

	$session->query('DROP TABLE IF EXISTS t');
	if ($partitions)
	{
		$session->query("CREATE TABLE t ($columns) PARTITION BY HASH (v)");
		$session->query("CREATE UNLOGGED TABLE t$_ PARTITION OF t FOR VALUES WITH (MODULUS $partitions, REMAINDER $_)")
		  for 0 .. $partitions - 1;
	}
	else { $session->query("CREATE UNLOGGED TABLE t ($columns)") }
	$session->query("INSERT INTO t SELECT $expressions FROM generate_series(1, ${n}::int8) AS i");
	$session->query('VACUUM (FREEZE, ANALYZE) t');
	$session->query($partitions ? join('; ', map { "SELECT pg_prewarm('t$_')" } 0 .. $partitions - 1)
		: "SELECT pg_prewarm('t')");
	$session->query('CHECKPOINT');
	return;
}

# What is left of a query's time behind its sort: giving rows out, and what is done with them.
sub rest
{
	my ($explain, $sort) = @_;
	return $sort->{'Sort Time'} && $explain->{'Execution Time'} - $sort->{'Child and In Time'} - $sort->{'Sort Time'};
}

# What a run tells: time, memory or disk, stages.
sub facts
{
	my ($explain) = @_;
	my ($sort) = Session::sorts($explain->{Plan});

	return {
		ms => $explain->{'Execution Time'},
		node => $sort->{'Custom Plan Provider'} // $sort->{'Node Type'},
		method => $sort->{'Sort Method'},
		space => $sort->{'Sort Space Used'},
		space_type => $sort->{'Sort Space Type'},
		in => $sort->{'Child and In Time'},
		sort => $sort->{'Sort Time'},
		out => rest($explain, $sort) };
}

sub space
{
	my ($facts) = @_;
	return '' unless defined $facts->{space};
	return sprintf '%d MB%s', ($facts->{space} + 512) / 1024, $facts->{space_type} eq 'Disk' ? ' disk' : '';
}

my $session = Session->new($psql, 'postgres');
$session->query('CREATE EXTENSION IF NOT EXISTS pg_prewarm');
$session->query("LOAD 'gpusort'");
$session->query('SET max_parallel_workers_per_gather = 0; SET jit = off');
$session->query($KeyLines::setup) if $part eq 'keys';

my @results;
my $missed = 0;
printf "\n%s, %s, commit %s\n\n", $part eq 'memory' ? "In memory: $rows rows" : $part eq 'stock'
	? "Stock postgresql.conf: $rows rows" :
  'In memory, ' . $session->query('SHOW lc_collate') . ($share != 1 ? ", $share of the rows" : ''),
  $session->query('SHOW server_version'), $ENV{COMMIT} // '';
printf "%-27s %11s %11s %6s %6s   %-26s %-13s %s\n", '', 'PostgreSQL', 'gpusort', 'ratio', 'target',
	'in + sort + out, ms', 'gpusort', 'PostgreSQL';
for my $line (grep { $_->[0] =~ /$wanted/ } @lines)
{
	my ($name, $memory_target, $stock_target, $columns, $expressions, $order, $special) = @$line;
	my $target = $part eq 'stock' ? $stock_target : $memory_target;
	my $n = $part eq 'keys' ? int($special->{rows} * $share) : $special->{rows} // $rows;
	my $memory = $part eq 'stock' || $special->{stock} ? 'DEFAULT' : "'4GB'";
	my $query = "SELECT * FROM t ORDER BY $order";
	my (%ms, %run);

	make_table($session, $columns, $expressions, $n, $special->{partitions});
	$session->query("SET work_mem = $memory; SET gpusort.work_mem = $memory");
	for my $run (0 .. ($special->{runs} // $runs))
	{
		for my $side ('off', 'on')
		{
			$session->query("SET gpusort.enabled = $side");
			my $facts = facts($session->analyze($query));
			# the first pair warms up
			push @{ $run{$side} }, $facts if $run > 0;
		}
	}
	$ms{$_} = [ map { $_->{ms} } @{ $run{$_} } ] for 'off', 'on';
	my ($off, $on) = map { Session::median(@{ $ms{$_} }) } 'off', 'on';
	my $ratio = $off / $on;
	# stages and memory are those of the run in the middle
	my ($theirs, $ours) = map { (sort { $a->{ms} <=> $b->{ms} } @{ $run{$_} })[ @{ $run{$_} } / 2 ] } 'off', 'on';
	my $stages = defined $ours->{in} ? sprintf('%.0f + %.0f + %.0f', $ours->{in}, $ours->{sort}, $ours->{out} // 0)
		: "($ours->{node})";

	$missed++ if $ratio < $target;
	printf "%-27s %8.1f ms %8.1f ms %6.2f %6.2f%s %-26s %-13s %s\n", $name, $off, $on, $ratio, $target, $ratio < $target
		? ' !' : '  ',
	  $stages, space($ours), space($theirs);
	push @results,
	  {
		line => $name,
		rows => $n,
		ratio => $ratio + 0,
		target => $target + 0,
		postgresql => { %$theirs, median_ms => $off, ms => $ms{off} },
		gpusort => { %$ours, median_ms => $on, ms => $ms{on} } };
}
$session->query('DROP TABLE IF EXISTS t');
printf "\n%d of %d lines below their target\n", $missed, scalar @results;

my ($cpu) = do { open my $f, '<', '/proc/cpuinfo' or die; grep { /^model name/ } <$f> };
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(
	{
		part => $part,
		server => $session->query('SELECT version()'),
		cpu => $cpu ? $cpu =~ s/^.*?: |\n//gr : '',
		commit => $ENV{COMMIT} // '',
		date => scalar(gmtime),
		results => \@results });
close $file;
$session->finish;
