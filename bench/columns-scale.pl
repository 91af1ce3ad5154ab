#!/usr/bin/perl
# columns-scale.pl BINDIR DATABASE: queries answered from columns of tables with ROWS rows each, in turns: the least
# time at the client, and the service's processor time in all its threads, of RUNS (default 7) queries.  The last
# column is the processor time of a row in the largest table over that in the smallest one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use List::Util qw(max min);
use Processor;
use Session;

my ($bindir, $database) = @ARGV;
my $runs = $ENV{RUNS} || 7;
my @rows = split ' ', $ENV{ROWS};
my $session = Session->new("$bindir/psql", $database);
my @queries = (
	[ 'sum of int4', 'SELECT sum(customer) FROM %s' ],
	[ 'groups of shop', 'SELECT shop, count(*), sum(amount) FROM %s GROUP BY shop' ],
	[ 'distinct customers', 'SELECT count(DISTINCT customer) FROM %s' ],
	[ 'distinct per shop', 'SELECT shop, count(DISTINCT customer) FROM %s GROUP BY shop' ],
	[ 'median', 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM %s' ],
	[ 'median per shop', 'SELECT shop, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM %s GROUP BY shop' ],
	[ 'customers, top 10', 'SELECT customer, sum(price) FROM %s GROUP BY customer ORDER BY 2 DESC, 1 LIMIT 10' ],
	[ 'page, 1 M rows down', 'SELECT customer, amount FROM %s ORDER BY amount LIMIT 20 OFFSET 1000000' ]);

# A table, held.
sub make
{
	my ($table, $rows) = @_;

	$session->query(<<"SQL");
SELECT setseed(0.5);
CREATE TABLE $table AS SELECT (random() * 5000000)::int4 AS customer, (random() * 1e6)::float8 AS amount,
	(i % 50)::int4 AS shop, (random() * 3e5)::numeric(12,2) AS price FROM generate_series(1, $rows) i;
VACUUM ANALYZE $table;
SELECT gpusort_columns_add('$table');
SQL
	$session->wait_held($table);
	return;
}

# Times a query; dies unless it is from columns.
sub measured
{
	my ($query) = @_;
	my $plan = $session->query("EXPLAIN (ANALYZE, TIMING OFF) $query");
	my $service = Processor::service($session);

	die "not from columns: $query\n$plan\n" if $plan !~ /GpuColumns/ || $plan =~ /not used/;
	my $before = Processor::milliseconds($service);
	my @ms = map { $session->milliseconds($query) } 1 .. $runs;
	return (min(@ms), (Processor::milliseconds($service) - $before) / $runs);
}

printf "# answers from resident columns by rows, %s, %d cores, %s, %s, load %s\n", $ENV{COMMIT} // '',
	scalar(split /\n/, `grep ^processor /proc/cpuinfo`), $session->query('SHOW server_version'), scalar gmtime,
	`cut -d ' ' -f 1 /proc/loadavg` =~ s/\n//r;
printf "%-22s%s\n", '', join '', map { sprintf '%36s', "$_ rows" } @rows;
make("sales_$_", $_) foreach @rows;
foreach my $query (@queries)
{
	my ($name, $sql) = @$query;
	my @all = map { [ measured(sprintf $sql, "sales_$_") ] } @rows;

	printf "%-22s%s%8.2f\n", $name, join('', map { sprintf '%14.1f ms (processor %7.1f)', @$_ } @all),
		$all[-1][1] / ($all[0][1] || 'nan') / ($rows[-1] / $rows[0]);
	STDOUT->flush;
}
$session->finish;
