#!/usr/bin/perl
# merge.pl PSQL SOCKET_DIRECTORY: the executor's CPU time of ORDER BY over 4, 8, 32 and 256 sorted streams, gpusort off
# and on, and of the same scans without an order (an Append): best of RUNS, in ms.  The keys are in random order; in
# "runs" each stream has its own range of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Session;

$| = 1;

my ($psql, $sockets) = @ARGV;
my $rows = $ENV{ROWS} || 480000;
my $runs = $ENV{RUNS} || 5;
my $session = Session->new($psql, 'postgres');
# keys, and a condition that has an index scanned where no order is wanted
my %keys = (a => 'a > -9223372036854775807', 'b, a' => 'b > -100000', c => "c > ''", t => "t > ''", r => "r > ''");
my %what = (a => 'int8', 'b, a' => 'int4, int8', c => 'text "C"', t => 'text en_US', r => 'text en_US, runs');

# CPU seconds of the executor in a query.
sub cpu
{
	my ($sql) = @_;
	my $log = $session->query("SET client_min_messages = log; SET log_executor_stats = on; $sql; SET "
		. "log_executor_stats = off; RESET client_min_messages");
	my ($user, $system) = $log =~ /(\d+\.\d+) s user, (\d+\.\d+) s system, \d+\.\d+ s elapsed/ or die $log;
	return $user + $system;
}

sub best
{
	my ($best) = sort { $a <=> $b } map { cpu($_[0]) } 1 .. $runs;
	return $best * 1000;
}

open my $load, '<', '/proc/loadavg' or die;
printf "%d rows, executor's CPU time, best of %d, ms; PostgreSQL %s, load %s at the start; %s, commit %s\n%-28s %8s "
	. "%8s %8s %6s %9s\n", $rows, $runs,
  $session->query('SHOW server_version'), (split ' ', readline $load)[0], scalar(gmtime), $ENV{COMMIT} // '', '',
  'in none', 'off', 'on', 'ratio', 'merging';
$session->query("CREATE EXTENSION postgres_fdw; CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host "
	. "'$sockets', port '54321', "
	  . "dbname 'postgres', fetch_size '1000'); CREATE USER MAPPING FOR PUBLIC SERVER here");
foreach my $n (4, 8, 32, 256)
{
	my $columns = '(part int, a int8, b int, c text COLLATE "C", t text, r text) PARTITION BY LIST (part)';
	$session->query("CREATE TABLE p$n $columns; CREATE TABLE f$n $columns");
	foreach my $i (0 .. $n - 1)
	{
		$session->query("CREATE TABLE p${n}_$i PARTITION OF p$n FOR VALUES IN ($i); INSERT INTO p${n}_$i SELECT $i, "
			. "hashint8extended(g, $i), "
			  . "hashint4(g) % 1000, 'item ' || md5((g * ($i + 1))::text), 'item ' || md5((g * ($i + 1))::text), "
			  . "to_char($i, '000') || md5(g::text) "
			  . "FROM generate_series(1, $rows / $n) g ORDER BY 2");
		$session->query("CREATE INDEX ON p${n}_$i ($_)") foreach keys %keys;
		$session->query("CREATE FOREIGN TABLE f${n}_$i PARTITION OF f$n FOR VALUES IN ($i) SERVER here OPTIONS "
			. "(table_name 'p${n}_$i')");
	}
	$session->query("VACUUM ANALYZE p$n; SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off; "
		. "SET enable_incremental_sort = off");
	foreach my $key ('a', 'b, a', 'c', 't', 'r')
	{
		foreach my $table ("p$n", $key =~ /^[at]$/ ? "f$n" : ())
		{
			my $none = best("SELECT count(*) FROM (SELECT $key FROM $table WHERE $keys{$key} OFFSET 0) x");
			my ($off, $on) = map {
				$session->query("SET gpusort.enabled = $_; SET gpusort.min_rows = 0");
				best("SELECT count(*) FROM (SELECT $key FROM $table WHERE $keys{$key} ORDER BY $key OFFSET 0) x");
			} 'off', 'on';
			printf "%-28s %8.0f %8.0f %8.0f %6.2f %9.2f\n", "$n " . ($table =~ /^f/ ? 'foreign, ' : '') . $what{$key},
				$none, $off, $on, $off / $on,
			  $on > $none ? ($off - $none) / ($on - $none) : 0;
		}
	}
}
$session->finish;
