#!/usr/bin/perl
# demo.pl PSQL SUMMARY [text]: makes a table of orders, runs some queries with and without gpusort, or only those that
# sort text, and one that resident columns answer, once more right after an update.  Prints a summary as the queries
# run, and then their plans; writes the summary to the end of the file SUMMARY, too, with the reason for what gained
# little.
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
my $figures = 'SELECT count(*), sum(amount), count(DISTINCT customer_id) FROM orders WHERE amount > 100';

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

# measure TITLE, SQL, RUNS, SIDE...: a query on both sides in turns, in this order.
sub measure
{
	my ($title, $sql, $times, @sides) = @_;
	my %done;

	for my $run (1 .. $times)
	{
		push @{ $done{$_} }, timed($_, $sql) for @sides;
	}
	my %result = (title => $title, sql => $sql, map { $_ => median_run(@{ $done{$_} }) } @sides);
	$result{ratio} = $result{off}{ms} / $result{on}{ms};
	summary_line(\%result);
	return \%result;
}

# What a query says on both sides, which has to be the same.
sub same_answer
{
	my ($sql) = @_;
	my @answers = map { $session->query("SET gpusort.enabled = $_; $sql") } 'on', 'off';
	die "$sql\nwith gpusort: $answers[0]\nwithout: $answers[1]\n" if $answers[0] ne $answers[1];
	return $answers[0];
}

# What is printed between the lines of sorts and those of columns.
sub columns_head { printf "\nFrom columns in memory, loaded in %.0f ms, by threads of gpusortd:\n", shift; return }

# Resident columns: one query from the table and from memory, and once more right after an update, from memory first.
sub measure_columns
{
	my @lines = measure('Figures of orders over 100', $figures, $runs, 'off', 'on');
	my @answers = same_answer($figures);

	$session->query("UPDATE orders SET amount = 9999.99 WHERE order_id % ($rows / 100) = 7");
	push @lines, measure('The same after an UPDATE', $figures, 1, 'on', 'off');
	push @answers, same_answer($figures);
	print "The answers are PostgreSQL's: $answers[0], and after 100 rows were updated $answers[1]\n";
	return @lines;
}

binmode STDOUT, ':utf8';
print <<"TEXT";

Time at the client, from sending a query until the last of its rows has come through the socket; median of $runs runs,
with gpusort and without it in turns. "processes" is how many worked on a query.

TEXT
summary_head();
my @results = map { measure(@$_[ 0, 1 ], $runs, 'off', 'on') } @queries;

# where no sort is gpusort's both times are PostgreSQL's, however they differ
my @little = grep { $_->{ratio} < $gain || $_->{on}{text} !~ /GpuSort/ } @results;
$_->{why} = why(@$_{ 'sql', 'off', 'on' }) for @little;

my $load_ms = 0;
my @columns;
if (!$only_text)
{
	$session->query('SET gpusort.enabled = on');
	$load_ms = $session->milliseconds("SELECT gpusort_columns_add('orders') \\g /dev/null\n");
	columns_head($load_ms);
	@columns = measure_columns();
}

print "\nThe plans (EXPLAIN ANALYZE), shortened.  Of several processes rows, memory and disk are those of one.\n";
for my $result (@results, @columns)
{
	printf "\n%s\n%s\n\n    %s;\n", '-' x 100, $result->{title}, $result->{sql};
	for my $side ('off', 'on')
	{
		printf "\n%s, %.0f ms\n\n", $side eq 'off' ? 'PostgreSQL alone' : 'with gpusort', $result->{$side}{ms};
		# PostgreSQL's plan below columns
		my $text = $result->{$side}{text} =~ s/^[^\n]*\(never executed\).*//smr;
		print map { "    $_\n" } grep { !/$details/ } split /\n/, $text;
	}
}

open my $out, '>>:utf8', $summary or die "$summary: $!\n";
select $out;
printf "\n%s, %d rows\n\n", $server, $rows;
summary_head();
summary_line($_) for @results;
columns_head($load_ms) if @columns;
summary_line($_) for @columns;

print "\nLittle or nothing gained:\n" if @little;
printf "* %s (%.1fx): %s.\n", @$_{ 'title', 'ratio', 'why' } for @little;
my ($memory) = sort { $b <=> $a } map { $_->{on}{text} =~ /GpuSort/ ? $_->{on}{Memory} : 0 } @results;
my ($disk) = sort { $b <=> $a } map { $_->{off}{Disk} } @results;
printf "\nFor this a sort of gpusort's in one process held up to %.0f MB of memory (gpusort.work_mem is %s).\n",
	$memory / 1024, $session->query('SHOW gpusort.work_mem') if $memory;
printf "A sort of PostgreSQL's in one process wrote up to %.0f MB to disk (work_mem is %s).\n", $disk / 1024,
	$session->query('SHOW work_mem') if $disk;
$session->finish;
close $out or die "$summary: $!\n";
