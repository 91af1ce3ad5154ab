#!/usr/bin/perl
# demo.pl PSQL SUMMARY [text]: makes a table of orders, runs some queries with and without gpusort, or only those that
# sort text, and answers one from resident columns.  Prints a summary as the queries run, and then their plans; writes
# the summary to the end of the file SUMMARY, too, with the reason for what gained little.
#
# A query is timed at the client: from when it is sent until psql has read the last row from the socket and thrown it
# away.  Right after that EXPLAIN (ANALYZE) runs it again for its plan; the plan of the run with the median time is
# shown.
use strict;
use warnings;
use utf8;

use FindBin;
use lib $FindBin::Bin;
use Session;

my $psql = shift;
my $summary = shift;
my $rows = $ENV{ROWS} // 500_000;
my $runs = $ENV{RUNS} // 3;

my $only_text = ($ARGV[0] // '') eq 'text';

# less than this, which shows as 1.5, is little
my $gain = 1.45;

# lines of a plan that the demonstration leaves out
my $details = qr/^ *(?:Sort Key|Blocks|Workers Planned|Stages|Share \w+|Shares|Worker \d+):|^\w+ Time:/;

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

my $server = sprintf '%s, stock settings, gpusort preloaded, locale %s',
  $session->query('SELECT split_part(version(), $$ on $$, 1)'),
  $session->query('SELECT datcollate FROM pg_database WHERE datname = current_database()');
print "\n$server\n";
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
CREATE EXTENSION gpusort;
SQL

# EXPLAIN's text, and what it says: processes, and the most that a sort of one process took of memory and disk.
sub explain
{
	my ($query) = @_;
	my $text = $session->query("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $query");
	my ($workers) = $text =~ /Workers Launched: (\d+)/;
	my %plan = (text => $text, processes => 1 + ($workers // 0));

	($plan{server_ms}) = $text =~ /^Execution Time: ([0-9.]+) ms$/m;
	foreach my $kind ('Memory', 'Disk')
	{
		($plan{$kind}) = (sort { $b <=> $a } $text =~ /$kind: (\d+)kB/g, 0);
	}
	return \%plan;
}

# A query on one side once: what the client waited, and the plan.
sub timed
{
	my ($side, $sql) = @_;

	$session->query("SET gpusort.enabled = $side");
	my $ms = $session->discard($sql);
	return { ms => $ms, %{ explain($sql) } };
}

# The run whose time is the median; of an even number the faster one of the two in the middle.
sub median_run
{
	my @sorted = sort { $a->{ms} <=> $b->{ms} } @_;
	return $sorted[ $#sorted / 2 ];
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

	push @why, "PostgreSQL sorts itself: $reasons"
	  . ($on->{processes} > 1 ? " (rows of each of $on->{processes} processes, as the planner expects them)" : '')
	  if $reasons;
	push @why, 'both times are of plans without gpusort' if $on->{text} !~ /GpuSort/;
	push @why, "the node gave its rows to PostgreSQL's sort: $1" if $on->{text} =~ /Fallback: (.*)/;
	push @why, "PostgreSQL worked in $off->{processes} processes, gpusort in $on->{processes}" if $off->{processes}
		> $on->{processes};
	push @why, "the sort of one process wrote $1 kB to disk" if $on->{text} =~ /external radix merge.*Disk: (\d+)kB/;
	push @why, sprintf('of %.0f ms in the server under EXPLAIN %.0f went into the sort itself, %.0f into reading the '
		. 'rows', $on->{server_ms}, $2, $1)
	  if $on->{text} =~ /Stages: child and in ([\d.]+) ms  sort ([\d.]+) ms/;
	return join '; ', @why;
}

# The processes of a query without gpusort and with it.
sub processes
{
	my ($off, $on) = map { $_->{processes} } @_;
	return $off == $on ? $on : "$off → $on";
}

sub summary_head { printf "%-30s %13s %10s %7s   %s\n", '', 'PostgreSQL', 'gpusort', 'ratio', 'processes'; return }

sub summary_line
{
	my ($result) = @_;
	printf "%-30s %10.0f ms %7.0f ms %6.1fx   %s\n", $result->{title}, $result->{off}{ms}, $result->{on}{ms},
	  $result->{ratio}, processes(@$result{ 'off', 'on' });
	return;
}

binmode STDOUT, ':utf8';
print <<"TEXT";

Time at the client, from sending a query until the last of its rows has come through the socket; median of $runs runs,
with gpusort and without it in turns. "processes" is how many worked on a query.

TEXT
my @results;
summary_head();
for my $query (@queries)
{
	my ($title, $sql) = @$query;
	my %done;

	for my $run (1 .. $runs)
	{
		push @{ $done{$_} }, timed($_, $sql) for 'off', 'on';
	}
	my %result = (title => $title, sql => $sql, map { $_ => median_run(@{ $done{$_} }) } 'off', 'on');
	$result{ratio} = $result{off}{ms} / $result{on}{ms};
	push @results, \%result;
	summary_line(\%result);
}

print "\nThe plans (EXPLAIN ANALYZE), shortened.  Of several processes rows, memory and disk are those of one.\n";
for my $result (@results)
{
	printf "\n%s\n%s\n\n    %s;\n", '-' x 100, $result->{title}, $result->{sql};
	for my $side ('off', 'on')
	{
		printf "\n%s, %.0f ms\n\n", $side eq 'off' ? 'PostgreSQL alone' : 'with gpusort', $result->{$side}{ms};
		print map { "    $_\n" } grep { !/$details/ } split /\n/, $result->{$side}{text};
	}
}

# Resident columns: one answer from the table and from memory, and one right after an update.
sub show_columns
{
	my $sql = 'SELECT count(*), sum(amount), count(DISTINCT customer_id) FROM orders WHERE amount > 100';
	my $shown = sub
	{
		my ($what, $side, $times) = @_;

		$session->query("SET gpusort.columns = $side");
		my @ms = sort { $a <=> $b } map { $session->milliseconds($sql) } 1 .. $times;
		printf "%-44s %8.1f ms   %s\n", $what, $ms[ $#ms / 2 ], $session->query($sql);
		return;
	};

	printf "\n%s\nColumns that stay in memory\n\n    %s;\n\n", '-' x 100, $sql;
	printf "%-44s %8.1f ms\n", "SELECT gpusort_columns_add('orders')", $session->milliseconds(
		"SELECT gpusort_columns_add('orders') \\g /dev/null\n");
	$shown->('from the table', 'off', $runs);
	$shown->('from columns', 'on', $runs);
	$session->query("UPDATE orders SET amount = 9999.99 WHERE order_id % ($rows / 100) = 7");
	print "UPDATE of 100 orders, by this session\n";
	$shown->('from columns, right after it', 'on', 1);
	$shown->('from the table', 'off', 1);
	return;
}
$session->query('SET gpusort.enabled = on');
show_columns() unless $only_text;

open my $out, '>>:utf8', $summary or die "$summary: $!\n";
select $out;
printf "\n%s, %d rows\n\n", $server, $rows;
summary_head();
summary_line($_) for @results;

# where no sort is gpusort's both times are PostgreSQL's, however they differ
my @little = grep { $_->{ratio} < $gain || $_->{on}{text} !~ /GpuSort/ } @results;
print "\nLittle or nothing gained:\n" if @little;
printf "* %s (%.1fx): %s.\n", @$_{ 'title', 'ratio' }, why(@$_{ 'sql', 'off', 'on' }) for @little;
my ($memory) = sort { $b <=> $a } map { $_->{on}{text} =~ /GpuSort/ ? $_->{on}{Memory} : 0 } @results;
my ($disk) = sort { $b <=> $a } map { $_->{off}{Disk} } @results;
printf "\nFor this a sort of gpusort's in one process held up to %.0f MB of memory (gpusort.work_mem is %s).\n",
	$memory / 1024, $session->query('SHOW gpusort.work_mem') if $memory;
printf "A sort of PostgreSQL's in one process wrote up to %.0f MB to disk (work_mem is %s).\n", $disk / 1024,
	$session->query('SHOW work_mem') if $disk;
$session->finish;
close $out or die "$summary: $!\n";
