#!/usr/bin/perl
# columns-answers.pl BINDIR DATABASE: queries with gpusort.columns on and off (or the setting that
# WITHOUT names, as gpusort.enabled for PostgreSQL alone), as psql measures them.
#
#   warm       in a session that has asked before: medians of RUNS (default 9) with columns, then of RUNS_OFF
#              (default 3) without; and where the time of one goes by EXPLAIN ANALYZE
#   first      the first query of a session, for RUNS sessions of each
#   sessions   SESSIONS (default 64) sessions that ask as fast as they can for SECONDS_EACH (default 10): latencies, the
#              sessions with the most and the fewest queries, and how many queries were answered from columns
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use List::Util qw(max min);
use Session;

my ($bindir, $database) = @ARGV;
my $runs = $ENV{RUNS} || 9;
my $without = $ENV{WITHOUT} // 'gpusort.columns';
my %runs_of = (on => $runs, off => $ENV{RUNS_OFF} || 3);
my $sessions = $ENV{SESSIONS} || 64;
my $seconds = $ENV{SECONDS_EACH} || 10;
my $psql = "$bindir/psql";
my $session = Session->new($psql, $database);
my @queries = (
	[ 'count(*)', 'sales', 'SELECT count(*) FROM sales' ],
	[ 'sum of int4', 'sales', 'SELECT sum(customer) FROM sales' ],
	[ 'sum of float8', 'sales', 'SELECT sum(amount) FROM sales' ],
	[ 'sum of numeric', 'sales', 'SELECT sum(price) FROM sales' ],
	[ 'filter, sum', 'sales',
		"SELECT sum(amount) FROM sales WHERE ts BETWEEN '2020-06-01' AND '2020-12-31' AND shop < 10" ],
	[ 'filter, sum of numeric', 'sales',
		"SELECT sum(price) FROM sales WHERE ts BETWEEN '2020-06-01' AND '2020-12-31' AND shop < 10" ],
	[ 'min, max, avg', 'sales', 'SELECT min(ts), max(ts), avg(price), count(*) FROM sales WHERE shop = 7' ],
	[ 'groups of shop', 'sales', 'SELECT shop, count(*), sum(amount) FROM sales GROUP BY shop' ],
	[ 'groups of shop, filter', 'sales',
		"SELECT shop, count(*), sum(price), max(ts) FROM sales WHERE ts >= '2021-06-01' GROUP BY shop" ],
	[ 'distinct customers', 'sales', 'SELECT count(DISTINCT customer) FROM sales' ],
	[ 'distinct per shop', 'sales', 'SELECT shop, count(DISTINCT customer) FROM sales GROUP BY shop' ],
	[ 'median', 'sales', 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales' ],
	[ 'median per shop', 'sales',
		'SELECT shop, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales GROUP BY shop' ],
	[ 'customers, top 10', 'sales',
		'SELECT customer, sum(price) FROM sales GROUP BY customer ORDER BY 2 DESC, 1 LIMIT 10' ],
	[ 'page, 1 M rows down', 'sales', 'SELECT * FROM sales ORDER BY amount LIMIT 20 OFFSET 1000000' ],
	[ 'rows of a filter', 'sales', 'SELECT * FROM sales WHERE customer BETWEEN 1000 AND 1010' ],
	[ 'runs of state: lag', 'sales',
		'SELECT count(*) FROM (SELECT state, lag(state) OVER (ORDER BY ts, id) p FROM sales) q '
			. 'WHERE state IS DISTINCT FROM p' ],
	[ 'runs of state: gpu_rle', 'sales', 'SELECT cardinality(gpu_rle(state ORDER BY ts, id)) FROM sales' ],
	[ 'runs of state, as rows lie', 'sales', 'SELECT cardinality(gpu_rle(state)) FROM sales' ],
	[ 'islands of state', 'sales',
		'SELECT count(*) FROM (SELECT run, state, min(ts), max(ts), count(*) FROM (SELECT state, ts, '
			. 'gpu_run_id(state) OVER (ORDER BY ts, id) AS run FROM sales) r GROUP BY run, state) q' ],
	[ 'runs per shop: lag', 'sales',
		'SELECT count(*) FROM (SELECT state, lag(state) OVER (PARTITION BY shop ORDER BY ts, id) p FROM sales) q '
			. 'WHERE state IS DISTINCT FROM p' ],
	[ 'runs per shop: gpu_rle', 'sales',
		'SELECT shop, cardinality(gpu_rle(state ORDER BY ts, id)) FROM sales GROUP BY shop' ],
	[ 'running total, float8', 'sales',
		'SELECT max(r) FROM (SELECT sum(amount) OVER (PARTITION BY customer ORDER BY ts) r FROM sales) q' ],
	[ 'running total, int4', 'sales',
		'SELECT max(r) FROM (SELECT sum(state) OVER (PARTITION BY customer ORDER BY ts) r FROM sales) q' ],
	[ 'running total, numeric', 'sales',
		'SELECT max(r) FROM (SELECT sum(price) OVER (PARTITION BY customer ORDER BY ts) r FROM sales) q' ],
	[ 'last three per customer', 'sales',
		'SELECT count(*), sum(price) FROM (SELECT price, row_number() OVER (PARTITION BY customer ORDER BY ts DESC, '
			. 'id) n FROM sales) q WHERE n <= 3' ],
	[ 'seconds between, mean', 'sales',
		'SELECT avg(extract(epoch FROM ts - p)) FROM (SELECT ts, lag(ts) OVER (PARTITION BY customer ORDER BY ts) p '
			. 'FROM sales) q' ],
	[ 'distinct parts', 'lineitem', 'SELECT count(DISTINCT l_partkey) FROM lineitem' ],
	[ 'groups of suppliers', 'lineitem',
		'SELECT l_suppkey, count(*), sum(l_quantity) FROM lineitem GROUP BY l_suppkey' ],
	[ 'median quantity', 'lineitem', 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem' ],
	[ 'TPC-H Q6', 'lineitem',
		"SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= date '1994-01-01' "
			. "AND l_shipdate < date '1994-01-01' + interval '1' year AND l_discount BETWEEN 0.06 - 0.01 AND"
			. " 0.06 + 0.01 "
			. 'AND l_quantity < 24' ]);

@queries = grep { $_->[0] =~ /$ENV{QUERIES}/ } @queries if $ENV{QUERIES};

sub say_line { printf "%-24s %s\n", @_; STDOUT->flush; return }

# Milliseconds of a query by psql's own clock.
sub timed
{
	my ($in, $query) = @_;
	my ($ms) = $in->query($query) =~ /^Time: ([\d.]+) ms/m;

	return $ms;
}

# The node of a plan that answers from columns.
sub columns_node
{
	my ($plan) = @_;

	return $plan if ($plan->{'Custom Plan Provider'} // '') eq 'GpuColumns';
	foreach my $below (@{ $plan->{Plans} // [] })
	{
		my $found = columns_node($below);

		return $found if $found;
	}
	return undef;
}

# How a query is answered, and where its time goes: dies unless it is from columns.
sub require_columns
{
	my ($query) = @_;
	my $plan;
	my $node;

	# the second time everything is at hand
	$plan = $session->analyze($query) foreach 1, 2;
	$node = columns_node($plan->{Plan});
	die "not from columns: $query\n" unless $node && !defined $node->{Columns};
	return sprintf '%s (plan %.2f, execute %.2f: prove %.2f, heap %.2f, engine %.2f)', $node->{Engine},
		$plan->{'Planning Time'}, $plan->{'Execution Time'}, @$node{'Prove Time', 'Heap Time', 'Engine Time'};
}

# A query with columns and without, in turns.
sub warm
{
	my ($name, $table, $query) = @_;
	my $rows = $session->query("SELECT reltuples::int8 FROM pg_class WHERE relname = '$table'");
	my $engine = require_columns($query);
	my %ms;

	$session->query("\\timing on\n");
	foreach my $mode (qw(on off))
	{
		$session->query("SET $without = $mode");
		for my $run (0 .. $runs_of{$mode})
		{
			my $ms = timed($session, $query);
			push @{ $ms{$mode} }, $ms if $run > 0;
		}
	}
	$session->query("SET $without = on;\n\\timing off\n");
	my ($on, $off) = map { Session::median(@{ $ms{$_} }) } qw(on off);
	say_line($name, sprintf '%8.2f ms with columns (least %.2f), %8.1f without: %6.1f times; %s, %d rows', $on,
		min(@{ $ms{on} }), $off, $off / $on, $engine, $rows);
	return $on;
}

# The first query of a session.
sub first
{
	my ($name, $query) = @_;
	my %ms;

	foreach my $run (1 .. $runs)
	{
		foreach my $mode (qw(on off))
		{
			my $new = Session->new($psql, $database);

			$new->query("SET $without = $mode;\n\\timing on\n");
			push @{ $ms{$mode} }, timed($new, $query);
			$new->finish;
		}
	}
	say_line("first: $name", sprintf '%8.2f ms with columns, %8.1f without',
		map { Session::median(@{ $ms{$_} }) } qw(on off));
}

# Queries of a table that were answered from columns.
sub answered
{
	my ($table) = @_;
	return $session->query("SELECT max(queries) FROM gpusort_columns WHERE rel = '$table'::regclass");
}

# Many sessions at once.
sub at_once
{
	my ($name, $table, $query, $one) = @_;
	my $file = "/tmp/columns_answers.$$";
	my $before = answered($table);

	open my $script, '>', "$file.sql" or die "$file.sql: $!\n";
	print $script "$query;\n";
	close $script;
	system("$bindir/pgbench -n -M prepared -c $sessions -j 2 -T $seconds -f $file.sql -l --log-prefix=$file $database "
			. ">$file.out 2>&1") == 0 or die "pgbench failed: $file.out\n";
	my (@ms, %of);
	foreach my $log (glob "$file.[0-9]*")
	{
		open my $lines, '<', $log or die "$log: $!\n";
		while (my $line = readline $lines)
		{
			my ($client, undef, $us) = split / /, $line;

			push @ms, $us / 1000;
			$of{$client}++;
		}
		close $lines;
	}
	unlink "$file.sql", "$file.out", glob "$file.[0-9]*";
	my $all = @ms;
	my $from_columns = answered($table) - $before;
	@ms = sort { $a <=> $b } @ms;
	say_line("$sessions x $name", sprintf '%d queries/s; median %.1f ms, p99 %.1f, most %.1f; %d times one query %.1f; '
			. 'sessions %d to %d queries; %.2f %% from columns', $all / $seconds, $ms[ $all / 2 ],
				$ms[ $all * 0.99 ], $ms[-1],
		$sessions, $sessions * $one, min(values %of), max(values %of), 100 * $from_columns / $all);
}

printf "# answers from resident columns, %s, %d cores, %s, %s\n", $ENV{COMMIT} // '',
	scalar(split /\n/, `grep ^processor /proc/cpuinfo`), $session->query('SHOW server_version'), scalar gmtime;
$session->query(<<"SQL");
SELECT setseed(0.5);
CREATE TABLE sales AS SELECT i::int8 AS id, (random() * 5000000)::int4 AS customer, (random() * 1e6)::float8 AS amount,
	(i % 50)::int4 AS shop, timestamp '2020-01-01' + t * interval '1 s' AS ts, (random() * 3e5)::numeric(12,2) AS price,
	(t / 500 % 7)::int4 AS state
	FROM (SELECT i, (random() * 1e8)::int8 AS t FROM generate_series(1, $ENV{ROWS}) i) g;
VACUUM ANALYZE sales, lineitem;
SELECT gpusort_columns_add('sales'), gpusort_columns_add('lineitem');
SQL
my %warm;
foreach my $query (@queries) { $warm{ $query->[0] } = warm(@$query) }
foreach my $query (@queries) { first($query->[0], $query->[2]) if $query->[0] =~ /int4|^filter, sum$|Q6/ }
foreach my $query (@queries) { at_once(@$query, $warm{ $query->[0] }) if $query->[0] =~ /int4|^filter, sum$|Q6/ }
$session->finish;
