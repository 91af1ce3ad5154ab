#!/usr/bin/perl
# demo.pl PSQL: makes a table of orders, runs five queries with and without gpusort, and prints plans, times and ratios.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Session;

my $psql = shift;
my $rows = $ENV{ROWS} // 3_000_000;
my $runs = $ENV{RUNS} // 3;

my @queries = (
	[ 'Latest orders first', 'SELECT * FROM orders ORDER BY ordered_at DESC' ],
	[ 'History of every customer', 'SELECT * FROM orders ORDER BY customer_id, ordered_at' ],
	[ 'Largest amounts first', 'SELECT order_id, amount, status FROM orders ORDER BY amount DESC, order_id' ],
	[ 'By tracking code', 'SELECT tracking, order_id FROM orders ORDER BY tracking' ],
	[ 'Running total per customer',
		"SELECT order_id, sum(amount) OVER (PARTITION BY customer_id ORDER BY ordered_at) FROM orders" ]);

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
	tracking text COLLATE "C",
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

# EXPLAIN's text, the time, and how many processes worked.
sub explain
{
	my ($query) = @_;
	my $text = $session->query("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $query");
	my ($ms) = $text =~ /^Execution Time: ([0-9.]+) ms$/m;
	my ($workers) = $text =~ /Workers Launched: (\d+)/;
	return ($text, $ms, 1 + ($workers // 0));
}

my @table;
for my $query (@queries)
{
	my ($title, $sql) = @$query;
	my (%ms, %plan, %processes);

	printf "\n%s\n%s\n\n    %s;\n", '-' x 100, $title, $sql;
	for my $run (1 .. $runs)
	{
		for my $side ('off', 'on')
		{
			$session->query("SET gpusort.enabled = $side");
			($plan{$side}, my $ms, $processes{$side}) = explain($sql);
			push @{ $ms{$side} }, $ms;
		}
	}
	for my $side ('off', 'on')
	{
		print "\n", $side eq 'off' ? 'PostgreSQL alone' : 'with gpusort', "\n\n";
		print map { "    $_\n" } split /\n/, $plan{$side};
	}
	push @table, [ $title, (map { Session::median(@{ $ms{$_} }) } 'off', 'on'), @processes{ 'off', 'on' } ];
}

printf "\n%s\nMedian of %d runs, %d rows\n\n", '=' x 100, $runs, $rows;
printf "%-30s %13s %10s %7s %12s\n", '', 'PostgreSQL', 'gpusort', 'ratio', 'processes';
printf "%-30s %10.0f ms %7.0f ms %6.1fx %8d, %d\n", @$_[ 0 .. 2 ], $_->[1] / $_->[2], @$_[ 3, 4 ] for @table;
print "\ngpusort is installed now; in a database of yours: CREATE EXTENSION gpusort;\n";
$session->finish;
