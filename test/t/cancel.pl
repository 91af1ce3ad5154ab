# A timeout or a cancel is answered quickly, whatever the sort is just doing, and leaves nothing behind.
use strict;
use warnings;

use GpuSortTest;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

# processor time, so that others may use the machine meanwhile; what is needed is far below
my $allowed = 0.5;

my $node = start_node('cancel');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, hashint8extended(i, 2) % 1000 k2, i
	FROM generate_series(1, 1500000::int8) i;
VACUUM ANALYZE t;
SQL

# Processor time that a backend takes for a query.
sub cost_of
{
	my ($session, $pid, $query) = @_;
	my $before = backend_seconds($pid);

	$session->query_safe($query);
	return backend_seconds($pid) - $before;
}

# A query that is asked again and again is cut after many parts of the time that it takes once, so that every stage is
# hit: reading, sorting, writing runs, merging, output.
sub cut
{
	my ($name, $settings, $query) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my $again = "DO \$\$ BEGIN LOOP PERFORM * FROM ($query) x; END LOOP; END \$\$;\n";
	my ($worst, $wrong) = (0, 0);

	$session->query_safe($settings);
	$session->query_safe($query);	# a session's first sort may take longer than those that follow
	my $whole = min(map { cost_of($session, $pid, $query) } 1 .. 3);
	for my $part (1 .. 12)
	{
		my $start = backend_seconds($pid);

		$session->{stdin} .= $again;
		$session->{run}->pump_nb;
		sleep 0.002 while backend_seconds($pid) < $start + $whole * $part / 13;
		$start = backend_seconds($pid);
		kill 'INT', $pid;
		$session->query('SELECT 1');
		my $late = backend_seconds($pid) - $start;
		$worst = $late if $late > $worst;
		if ($session->{stderr} !~ /canceling statement due to user request/) { $wrong++; diag($session->{stderr}) }
		$session->{stderr} = '';
	}
	diag(sprintf '%s: %.2f s in all, answered after %.0f ms at worst', $name, $whole, 1000 * $worst);
	cmp_ok($worst, '<', $allowed, "$name: every cancel answered in time");
	is($wrong, 0, "$name: no other error");
	$session->query("BEGIN; SET LOCAL statement_timeout = 50;\n$again");
	like($session->{stderr}, qr/canceling statement due to statement timeout/, "$name: a timeout");
	$session->{stderr} = '';
	$session->query('ROLLBACK');
	is($session->query_safe('SELECT 1'), '1', "$name: the session goes on");
	is(scalar(temp_files($node)), 0, "$name: no file is left");
	$session->quit;
}

cut('in memory', "SET gpusort.work_mem = '1GB'", 'SELECT * FROM t ORDER BY k OFFSET 10000000');
cut('two keys', "SET gpusort.work_mem = '1GB'", 'SELECT * FROM t ORDER BY k2, k DESC OFFSET 10000000');
cut('runs', "SET gpusort.work_mem = '4MB'", 'SELECT * FROM t ORDER BY k OFFSET 10000000');
cut('many runs', "SET gpusort.work_mem = '1MB'", 'SELECT * FROM t ORDER BY k OFFSET 10000000');
cut('checked', "SET gpusort.work_mem = '1GB'; SET gpusort.verify = full", 'SELECT * FROM t ORDER BY k OFFSET 10000000');

# sorts by comparison: of everything, and of rows that primary weights leave tied
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE c AS SELECT ARRAY[k] a, chr(97 + (i % 2)::int) || repeat('-', (i % 7)::int) || (i % 50) || repeat('/',
	(i / 7 % 5)::int) || (i / 50 % 3) s FROM t LIMIT 200000;
SQL
cut('by comparison', '', 'SELECT * FROM c ORDER BY a OFFSET 10000000');
cut('by comparison, runs', "SET gpusort.work_mem = '2MB'", 'SELECT * FROM c ORDER BY a OFFSET 10000000');
# the first rows, kept while all pass, and put in order at the end: few of them, with keys that take long to compare
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE j AS SELECT i, to_jsonb(array_fill(0, ARRAY[1000]) || i) j FROM generate_series(1, 36500) i;
ALTER TABLE j SET (parallel_workers = 0);
VACUUM ANALYZE j;
SQL
cut('a page with its total', "SET work_mem = '1GB'", 'SELECT i, count(*) OVER () FROM j ORDER BY j LIMIT 3600');
SKIP:
{
	skip 'no en_US.UTF-8', 1 if $node->psql('postgres', q(CREATE COLLATION english (locale = 'en_US.UTF-8'))) != 0;
	cut('tied runs', '', 'SELECT * FROM c ORDER BY s COLLATE english OFFSET 10000000');
}

# functions over arrays, too: jobs, comparisons, values added one by one
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE a AS SELECT array_agg(md5(k::text)) s, array_agg(to_jsonb(k)) FILTER (WHERE i <= 200000) j,
	array_agg(k / 7.0) n FROM t;
SQL
cut('gpu_sort', '', 'SELECT cardinality(gpu_sort(s)) FROM a');
cut('gpu_sort by comparisons', '', 'SELECT cardinality(gpu_sort(j)) FROM a');
cut('gpu_reduce_by_key of numeric', '', 'SELECT count(*) FROM a, gpu_reduce_by_key(s, n)');
cut('gpu_scan of numeric', '', 'SELECT cardinality(gpu_scan(n)) FROM a');

# pg_cancel_backend from another session
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
for my $delay (0.2, 0.5, 0.9)
{
	$session->{stdin} .= "SELECT * FROM t a, generate_series(1, 1000) ORDER BY k OFFSET 1000000000;\n";
	$session->{run}->pump_nb;
	sleep $delay;
	# by itself it would take hours
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	ok( $node->poll_query_until('postgres', "SELECT state <> 'active' FROM pg_stat_activity WHERE pid = $pid"),
		"cancelled after $delay s");
	is($session->query('SELECT 1'), '1', 'and the session goes on');
}
$session->quit;
is(scalar(temp_files($node)), 0, 'no file is left');
$node->stop;
done_testing();
