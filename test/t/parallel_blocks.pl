# Parallel sorts in blocks that end at any moment, and many at once: no worker, file or memory is left.  SESSIONS in the
# environment says how many.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $sessions = $ENV{SESSIONS} // 20;
my $node = start_node('parallel_blocks', <<"CONF");
max_connections = @{[ $sessions + 20 ]}
max_parallel_workers_per_gather = 2
max_worker_processes = 24
max_parallel_workers = 24
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
enable_incremental_sort = off
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, (i % 1000)::int4 g, i, repeat('x', (i % 90)::int) filler
	FROM generate_series(1, 200000::int8) i;
CREATE TABLE c AS SELECT ARRAY[k % 5000, i % 3] a, i FROM t WHERE i <= 60000;
CREATE TABLE few AS SELECT i FROM generate_series(1, 3) i;
VACUUM ANALYZE t, c, few;
SQL
my %queries = (
	words => 'SELECT * FROM t ORDER BY k',
	bytes => 'SELECT * FROM t ORDER BY g DESC, i',
	compared => 'SELECT * FROM c ORDER BY a, i');

like($node->safe_psql('postgres', "EXPLAIN $queries{$_}"), qr/GpuMerge/, "$_: in blocks") foreach sort keys %queries;

# where the leader takes no part, EXPLAIN has what workers' sorts took
for ([ '64MB', 'Memory' ], [ '1MB', 'Disk' ])
{
	my ($memory, $what) = @$_;
	my $set = "SET parallel_leader_participation = off; SET gpusort.work_mem = '$memory'";

	like($node->safe_psql('postgres', "$set; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $queries{words}"),
		qr/Worker $what: [1-9]\d* kB/, "workers' $what");
	unlike($node->safe_psql('postgres', "$set; SET gpusort.explain_machine = off; EXPLAIN (ANALYZE) $queries{words}"),
		qr/Worker (Memory|Disk)/, 'which is of a machine');
}

# Nothing is left of a query that has ended.
sub nothing_left
{
	my ($name) = @_;
	ok($node->poll_query_until('postgres',
		q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker')),
		"$name: no worker is left");
	is(scalar(temp_files($node)), 0, "$name: no file is left");
	return;
}

# a timeout at many moments, in memory and on disk; whether it comes in time is not asked, only that it ends
foreach my $name (sort keys %queries)
{
	foreach my $memory ('64MB', '1MB')
	{
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		my ($hit, $wrong) = (0, 0);
		my $query = "SELECT count(*) FROM ($queries{$name} OFFSET 0) x";

		$session->query_safe("SET gpusort.work_mem = '$memory'");
		my $start = time;
		$session->query_safe($query);
		my $whole = time - $start;
		foreach my $part (1 .. 10)
		{
			my $limit = int(1000 * $whole * $part / 11) + 1;

			$session->{stderr} = '';
			$session->query("BEGIN; SET LOCAL statement_timeout = $limit; $query; COMMIT");
			my $error = $session->{stderr};
			$session->{stderr} = '';
			$session->query('ROLLBACK');
			$session->{stderr} = '';
			if ($error =~ /statement timeout/) { $hit++ }
			elsif ($error ne '') { $wrong++; diag($error) }
		}
		is($wrong, 0, "$name, $memory: no other error than the timeout, which came $hit times");
		nothing_left("$name, $memory, cancelled");
		$session->quit;
	}
}

# an error in a worker or the leader, wherever it comes, and one in what reads the rows
foreach my $place (1, 500, 100000, 199999)
{
	my ($out, $err);
	$node->psql('postgres', "SELECT count(*) FROM (SELECT * FROM t WHERE 1 / (i - $place) < 2 ORDER BY k OFFSET 0) x",
		stderr => \$err, on_error_stop => 0);
	like($err, qr/division by zero/, "an error below, at row $place");
	$node->psql('postgres', "SELECT sum(1 / (n - $place)) FROM (SELECT row_number() OVER () n FROM (SELECT * FROM t "
		. "ORDER BY k OFFSET 0) x) y",
		stderr => \$err, on_error_stop => 0);
	like($err, qr/division by zero/, "an error above, at row $place");
}
nothing_left('errors');

# a worker that is terminated: its error arrives, and the session goes on
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('SET parallel_leader_participation = off');
	$session->{stdin} .= "SELECT count(*) FROM (SELECT t.* FROM t, generate_series(1, 100) ORDER BY k OFFSET 0) x;\n";
	$session->{run}->pump_nb;
	ok( $node->poll_query_until('postgres',
		q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker')), 'workers have started');
	$node->safe_psql('postgres',
		q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker'));
	is(($session->query('SELECT 7'))[0], '7', 'the session goes on behind it');
	like($session->{stderr}, qr/terminat|administrator/, 'the error has arrived');
	$session->{stderr} = '';
	nothing_left('terminated');
	$session->quit;
}

# ended early, and started again and again: memory does not grow
{
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my $ended = join ' UNION ALL ', map { "SELECT count(*) FROM ($_ LIMIT 30000) x" } values %queries;
	my $again = 'SELECT count(*) FROM generate_series(1, 3) n, LATERAL (SELECT count(*) FROM (SELECT * FROM c ORDER BY '
		. 'a, i LIMIT 20000 OFFSET n - n) x) y';

	# never has the leader more rows than when it is alone
	$session->query_safe('SET max_parallel_workers = 0');
	$session->query_safe("$ended; $again") foreach 1 .. 3;
	$session->query_safe('RESET max_parallel_workers');
	$session->query_safe("$ended; $again");
	my $before = backend_kilobytes($pid);
	$session->query_safe("$ended; $again") foreach 1 .. 10;
	my $grown = backend_kilobytes($pid) - $before;
	cmp_ok($grown, '<', 16 * 1024, "memory has not grown ($grown kB)");
	nothing_left('ended early');
	$session->quit;
}

# no worker comes: the leader reads more rows than were planned for it, and keeps the first only, fewer than a block
# holds
{
	my $first = 'SELECT i FROM part ORDER BY i LIMIT 100 OFFSET 20';
	my $settings = 'SET enable_sort = off; SET gpusort.min_rows = 0';

	$node->safe_psql('postgres', 'CREATE TABLE part AS SELECT i FROM t WHERE i <= 2400; ANALYZE part');
	like($node->safe_psql('postgres', "$settings; EXPLAIN $first"), qr/GpuMerge/, 'a bound: in blocks');
	is($node->safe_psql('postgres',
		"$settings; SET max_parallel_workers = 0; SELECT count(*), sum(i), max(i) FROM ($first) x"), '100|7050|120',
		'a bound: the leader alone');
}

# keys of more than half of what a tuple can hold are there once in a block: some four GB of memory, and a minute
SKIP:
{
	skip 'of large tests', 1 if ($ENV{GPUSORT_TEST_SIZE} // '') ne 'large';
	is($node->safe_psql('postgres', "SELECT string_agg(length(x) || left(x, 1), ' ') FROM "
			  . "(SELECT repeat(i::text, 560000000) x FROM few ORDER BY 1 OFFSET 0) s"),
		'560000000' . join(' 560000000', 1 .. 3), 'keys of half a GB and more');
}

# many sessions at once: each finds the rows that one alone finds; workers run short
{
	my @scripts;
	foreach my $name (sort keys %queries)
	{
		my $digest = "SELECT md5(string_agg(x.i::text, ',')) FROM ($queries{$name}) x";
		my $alone = $node->safe_psql('postgres',
			"SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; $digest");
		my $file = $node->basedir . "/$name.sql";

		append_to_file($file, "SET gpusort.work_mem = '" . ($name eq 'bytes' ? '1MB' : '64MB') . "';\n"
			  . "SELECT 1 / (CASE WHEN digest = '$alone' THEN 1 ELSE 0 END) FROM ($digest) d(digest);\n");
		push @scripts, "-f$file";
	}
	$node->command_ok([ 'pgbench', '-n', '-c', $sessions, '-j', 4, '-t', 2, @scripts, 'postgres' ],
		"$sessions sessions find the right rows");
	nothing_left('many sessions');
}
$node->stop;
done_testing();
