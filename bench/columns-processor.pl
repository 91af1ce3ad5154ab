#!/usr/bin/perl
# columns-processor.pl BINDIR DATABASE: the processor time of queries over lineitem, on a machine whose clock tells
# little because others use it: with columns that of the session and of all threads of the service, a mean of RUNS
# (default 50); without gpusort that of the session, whose query has no workers, a mean of RUNS_OFF (default 3).
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Processor;
use Session;

my ($bindir, $database) = @ARGV;
my $runs = $ENV{RUNS} || 50;
my $runs_off = $ENV{RUNS_OFF} || 3;
my $session = Session->new("$bindir/psql", $database);
my $backend = '/proc/' . $session->query('SELECT pg_backend_pid()');
my @queries = (
	[ 'distinct parts', 'SELECT count(DISTINCT l_partkey) FROM lineitem' ],
	[ 'groups of suppliers', 'SELECT l_suppkey, count(*), sum(l_quantity) FROM lineitem GROUP BY l_suppkey' ],
	[ 'median quantity', 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem' ]);

# The mean processor time of a query, in some processes.
sub mean
{
	my ($n, $query, @processes) = @_;
	my $used = 0;

	$used -= Processor::milliseconds($_) foreach @processes;
	$session->query($query) foreach 1 .. $n;
	$used += Processor::milliseconds($_) foreach @processes;
	return $used / $n;
}

$session->query(<<'SQL');
VACUUM ANALYZE lineitem;
SELECT gpusort_columns_add('lineitem');
SET max_parallel_workers_per_gather = 0;
SQL
$session->wait_held('lineitem');
printf "# processor time of answers from resident columns, %s, %s rows, %s, %s, load %s\n", $ENV{COMMIT} // '',
	$session->query('SELECT count(*) FROM lineitem'), $session->query('SHOW server_version'), scalar gmtime,
	`cut -d ' ' -f 1 /proc/loadavg` =~ s/\n//r;
foreach my $query (@queries)
{
	my ($name, $sql) = @$query;
	my $plan = $session->query("EXPLAIN ANALYZE $sql");

	die "not from columns: $sql\n$plan\n" if $plan !~ /GpuColumns/ || $plan =~ /not used/;
	my $on = mean($runs, $sql, $backend, Processor::service($session));
	$session->query('SET gpusort.enabled = off');
	my $off = mean($runs_off, $sql, $backend);
	$session->query('SET gpusort.enabled = on');
	printf "%-24s %8.2f ms from columns, %8.1f PostgreSQL: %6.1f times\n", $name, $on, $off, $off / ($on || 'nan');
}
$session->finish;
