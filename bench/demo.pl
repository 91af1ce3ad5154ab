#!/usr/bin/perl
# demo.pl PSQL [text]: makes a table of orders, runs some queries with and without gpusort, or only those that sort
# text, and prints plans, times and ratios, and for what gained little the reason that the plans give.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Session;

my $psql = shift;
my $rows = $ENV{ROWS} // 3_000_000;
my $runs = $ENV{RUNS} // 3;

my $only_text = ($ARGV[0] // '') eq 'text';

# less than this, which shows as 1.5, is little
my $gain = 1.45;

my @queries = (
	[ 'Latest orders first', 'SELECT * FROM orders ORDER BY ordered_at DESC' ],
	[ 'History of every customer', 'SELECT * FROM orders ORDER BY customer_id, ordered_at' ],
	[ 'Largest amounts first', 'SELECT order_id, amount, status FROM orders ORDER BY amount DESC, order_id' ],
	[ 'By tracking code, as bytes', 'SELECT tracking, order_id FROM orders ORDER BY tracking COLLATE "C"', 'text' ],
	[ 'By tracking code', 'SELECT tracking, order_id FROM orders ORDER BY tracking', 'text' ],
	[ 'Running total per customer',
		"SELECT order_id, sum(amount) OVER (PARTITION BY customer_id ORDER BY ordered_at) FROM orders" ],
	[ 'The ten latest orders', 'SELECT * FROM orders ORDER BY ordered_at DESC LIMIT 10' ]);
@queries = grep { $_->[2] } @queries if $only_text;

$| = 1;

my $session = Session->new($psql, 'postgres');
$session->query("CREATE DATABASE shop");
$session->finish;
$session = Session->new($psql, 'shop');

printf "\n%s, %s, locale %s\n", $session->query('SELECT split_part(version(), $$ on $$, 1)'), 'stock settings',
  $session->query('SELECT datcollate FROM pg_database WHERE datname = current_database()');
print "Filling a table with $rows orders\n";
$session->query(<<"SQL");
CREATE TABLE orders (
	order_id bigint,
	customer_id int,
	ordered_at timestamptz,
	amount numeric(10,2),
	status text,
	tracking text,
	note text);
SELECT setseed(0.5) \\g /dev/null
INSERT INTO orders
SELECT i, (random() ^ 2 * 200000)::int,
	   '2025-01-01'::timestamptz + random() * interval '365 days',
	   round((exp(random() * 8) + 1)::numeric, 2),
	   (ARRAY['new', 'paid', 'packed', 'sent', 'returned'])[1 + floor(random() * 5)::int],
	   upper(substr(md5(i::text), 1, 12)),
	   CASE WHEN random() < 0.1 THEN 'leave at the door of number ' || i % 500 END
FROM generate_series(1, ${rows}::bigint) AS i;
VACUUM ANALYZE orders;
SQL

print "\npostgres=# CREATE EXTENSION gpusort;\n";
$session->query('SET client_min_messages = notice');
my $notice = $session->query('CREATE EXTENSION gpusort');
print "$notice\n";
$session->query('SET client_min_messages = warning');

# EXPLAIN's text, and what it says: time, processes, and the most that any sort took of memory and disk.
sub explain
{
	my ($query) = @_;
	my $text = $session->query("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $query");
	my ($ms) = $text =~ /^Execution Time: ([0-9.]+) ms$/m;
	my ($workers) = $text =~ /Workers Launched: (\d+)/;
	my %plan = (text => $text, ms => $ms, processes => 1 + ($workers // 0));

	foreach my $kind ('Memory', 'Disk')
	{
		($plan{$kind}) = (sort { $b <=> $a } $text =~ /$kind: (\d+)kB/g, 0);
	}
	return \%plan;
}

# Why a sort stayed PostgreSQL's, as gpusort says it while it plans.
sub reasons
{
	my ($query) = @_;
	$session->query('SET client_min_messages = debug1');
	my @reasons = $session->query("EXPLAIN $query") =~ /gpusort leaves a sort to PostgreSQL: (.*)/g;
	$session->query('SET client_min_messages = warning');
	return join '; ', @reasons;
}

# Why a query gained little or nothing, from its plans.
sub why
{
	my ($query, $off, $on) = @_;
	my $reasons = reasons($query);
	my @why;

	push @why, "PostgreSQL sorts itself: $reasons" if $reasons;
	push @why, 'both times are of plans without gpusort' if $on->{text} !~ /GpuSort/;
	push @why, "the node gave its rows to PostgreSQL's sort: $1" if $on->{text} =~ /Fallback: (.*)/;
	push @why, "PostgreSQL worked in $off->{processes} processes, gpusort in $on->{processes}" if $off->{processes}
		> $on->{processes};
	push @why, "the sort wrote $1 kB to disk" if $on->{text} =~ /external radix merge.*Disk: (\d+)kB/;
	push @why, sprintf('of %.0f ms with gpusort %.0f went into the sort itself, %.0f into reading the rows, %.0f into '
		. 'giving them out and what is done with them then',
		$on->{ms}, $2, $1, $on->{ms} - $1 - $2)
	  if $on->{text} =~ /Stages: child and in ([\d.]+) ms  sort ([\d.]+) ms/;
	return join '; ', @why;
}

my @results;
for my $query (@queries)
{
	my ($title, $sql) = @$query;
	my (%ms, %plan);

	printf "\n%s\n%s\n\n    %s;\n", '-' x 100, $title, $sql;
	for my $run (1 .. $runs)
	{
		for my $side ('off', 'on')
		{
			$session->query("SET gpusort.enabled = $side");
			$plan{$side} = explain($sql);
			push @{ $ms{$side} }, $plan{$side}{ms};
		}
	}
	for my $side ('off', 'on')
	{
		print "\n", $side eq 'off' ? 'PostgreSQL alone' : 'with gpusort', "\n\n";
		print map { "    $_\n" } split /\n/, $plan{$side}{text};
	}
	my %result = (title => $title, sql => $sql, %plan, map { ("ms_$_" => Session::median(@{ $ms{$_} })) } 'off', 'on');
	$result{ratio} = $result{ms_off} / $result{ms_on};
	push @results, \%result;
}

printf "\n%s\nMedian of %d runs, %d rows; processes: of PostgreSQL's plan, and of gpusort's\n\n", '=' x 100, $runs,
	$rows;
printf "%-30s %13s %10s %7s %12s\n", '', 'PostgreSQL', 'gpusort', 'ratio', 'processes';
printf "%-30s %10.0f ms %7.0f ms %6.1fx %8d, %d\n", @$_{ 'title', 'ms_off', 'ms_on', 'ratio' },
	map { $_->{processes} } @$_{ 'off', 'on' } for @results;

# where no sort is gpusort's both times are PostgreSQL's, however they differ
my @little = grep { $_->{ratio} < $gain || $_->{on}{text} !~ /GpuSort/ } @results;
print "\nLittle or nothing gained:\n" if @little;
printf "* %s (%.1fx): %s.\n", @$_{ 'title', 'ratio' }, why(@$_{ 'sql', 'off', 'on' }) for @little;
my ($memory) = sort { $b <=> $a } map { $_->{on}{text} =~ /GpuSort/ ? $_->{on}{Memory} : 0 } @results;
my ($disk) = sort { $b <=> $a } map { $_->{off}{Disk} } @results;
printf "\nFor this a sort by gpusort held up to %.0f MB of memory (gpusort.work_mem is %s).\n", $memory / 1024,
	$session->query('SHOW gpusort.work_mem') if $memory;
printf "A process of PostgreSQL's sorts wrote up to %.0f MB to disk (work_mem is %s).\n", $disk / 1024,
	$session->query('SHOW work_mem') if $disk;
$session->finish;
