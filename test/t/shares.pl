# Participants of a parallel plan that each do a share of the groups: workers that are missing, rescans, cancel, errors.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A server where rows reach their share that way, of that name.
sub server
{
	my ($way, $name) = @_;

	return start_node("shares_$name", <<"CONF");
gpusort.parallel_windows = $way
max_parallel_workers_per_gather = 2
max_worker_processes = 8
max_parallel_workers = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
CONF
}

# The plan as it ran.
sub plan_run
{
	my ($node, $settings, $sql) = @_;

	return $node->safe_psql('postgres', "$settings EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $sql");
}

# What a plan says of its shares: how often the input was read, rows seen and kept.
sub shares_of
{
	my ($plan) = @_;

	return $plan =~ /Shares: (\d+)  Rows Seen: (\d+)  Rows Kept: (\d+)/ ? ($1, $2, $3) : ();
}

# Everything, where rows reach their share that way.
sub run_tests
{
	my ($way) = @_;
	my $node = server($way, $way);

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint4(i) % 5000 AS g, i AS k, repeat('x', i % 20) AS pad FROM generate_series(1, 200000)
	AS i;
CREATE TABLE few AS SELECT i FROM generate_series(1, 3) AS i;
VACUUM ANALYZE t, few;
SQL
	my $query = 'SELECT g, k, sum(k) OVER (PARTITION BY g ORDER BY k) AS s, pad FROM t';
	# the rows of a query in one value, made by a plan that uses workers
	my $digest = "SELECT count(*), sum(hashtext(q::text)::int8), sum(g * s) FROM ($query) AS q";
	my $expected = $node->safe_psql('postgres',
		"SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; $digest");

	for my $leader ('on', 'off')
	{
		for my $workers (1 .. 4)
		{
			my $set = "SET max_parallel_workers_per_gather = $workers; SET parallel_leader_participation = $leader;";
			my $participants = $workers + ($leader eq 'on');
			my $plan = plan_run($node, $set, $digest);
			my ($shares, $seen, $kept) = shares_of($plan);

			is($node->safe_psql('postgres', "$set $digest"), $expected, "$workers workers, leader $leader: right rows");
			next unless $workers > 1 || $leader eq 'on';
			like($plan, qr/Share Key: t\.g\n\s+Share Way: $way\n/, "$workers workers, leader $leader: by shares");
			is($kept, 200000, "$workers workers, leader $leader: every row is kept once");
			is($seen, 200000 * ($way eq 'scan' ? $shares : 1),
				"$workers workers, leader $leader: every share sees all rows, or every row is seen once");
			cmp_ok($shares, '>=', 1, "$workers workers, leader $leader: shares");
		}
	}

	# workers that do not come
	my $none = plan_run($node, 'SET max_parallel_workers = 0;', $digest);
	like($none, qr/Workers Launched: 0/, 'no worker can be had');
	is(join(' ', shares_of($none)), '1 200000 200000', 'the leader does all in one pass');
	is($node->safe_psql('postgres', "SET max_parallel_workers = 0; $digest"), $expected, 'and gives the right rows');
	my $one = plan_run($node, 'SET max_parallel_workers = 1; SET max_parallel_workers_per_gather = 4;', $digest);
	like($one, qr/Workers Launched: 1/, 'one of four workers can be had');
	is((shares_of($one))[2], 200000, 'every row is kept once');
	is( $node->safe_psql('postgres', "SET max_parallel_workers = 1; SET max_parallel_workers_per_gather = 4; $digest"),
		$expected, 'and the rows are right');
	my $lonely = 'SET max_parallel_workers = 1; SET max_parallel_workers_per_gather = 4; SET '
		. 'parallel_leader_participation = off;';
	like(plan_run($node, $lonely, $digest), qr/Workers Launched: 1/,
		'one of four workers can be had, without the leader');
	is($node->safe_psql('postgres', "$lonely $digest"), $expected, 'which does what the others should have done');

	# on disk, with tuplesort
	is($node->safe_psql('postgres', "SET gpusort.work_mem = '1MB'; $digest"), $expected, 'past the memory limit');
	is( $node->safe_psql('postgres',
		"SET plan_cache_mode = force_generic_plan; PREPARE p AS $digest; SET gpusort.enabled = off; EXECUTE p"),
		$expected, 'switched off under a prepared plan');

	# started again for every outer row, with and without new parameters
	my $again =
		"SELECT few.i, d.* FROM few, LATERAL (SELECT count(*), sum(s) FROM ($query OFFSET few.i - few.i) AS q) AS d";
	my $outer = $node->safe_psql('postgres',
		"SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; $again");
	is($node->safe_psql('postgres', $again), $outer, 'again for each outer row');
	my $correlated = "SELECT few.i, (SELECT sum(s) FROM (SELECT sum(k) OVER (PARTITION BY g ORDER BY k) AS s FROM t "
		. "WHERE k % 3 < few.i) AS q) FROM few";
	is( $node->safe_psql('postgres', $correlated),
		$node->safe_psql('postgres', "SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; $correlated"),
		'in a subquery with parameters');
	my $nested = "SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
	  . "SELECT count(*), sum(n) FROM few LEFT JOIN (SELECT k, row_number() OVER (PARTITION BY g ORDER BY k) AS n FROM "
	  . "t) AS q ON q.n > few.i";
	is( $node->safe_psql('postgres', $nested),
		$node->safe_psql('postgres', "SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; $nested"),
		'as the inner side of a nested loop');

	# ended early, cancelled, failed
	is($node->safe_psql('postgres', "SELECT count(*) FROM ($query LIMIT 5) AS q"), 5, 'ended early');
	my $err;
	$node->psql('postgres', "SET statement_timeout = 50; SELECT count(*) FROM ($query) AS q, few AS a, few AS b, few "
		. "AS c, t AS d WHERE d.k > q.s",
		stderr => \$err, on_error_stop => 0);
	like($err, qr/canceling statement due to statement timeout/, 'cancelled');
	$node->psql('postgres',
		'SELECT sum(s) FROM (SELECT sum(1 / (k - 150000)) OVER (PARTITION BY g ORDER BY k) AS s FROM t) AS q',
		stderr => \$err, on_error_stop => 0);
	like($err, qr/division by zero/, 'an error in a window function arrives');
	$node->psql('postgres',
		'SELECT sum(s) FROM (SELECT sum(k) OVER (PARTITION BY 1 / (k - 150000), g ORDER BY k) AS s FROM t) AS q',
		stderr => \$err, on_error_stop => 0);
	like($err, qr/division by zero/, 'one below the sort, too');
	$node->psql('postgres', "SET gpusort.work_mem = '1MB'; SET temp_file_limit = '100kB'; $digest", stderr => \$err,
		on_error_stop => 0);
	like($err, qr/temporary file size exceeds/, 'the limit of temporary files is each process\'s');
	is($node->safe_psql('postgres', $digest), $expected, 'and all is well afterwards');
	is(scalar(temp_files($node)), 0, 'no file is left');

	# more workers than cores would take each other's time
	my $cores = sub {
		plan_run($node, "SET enable_gathermerge = off; SET max_parallel_workers_per_gather = 4; "
			  . "SET gpusort.cores = $_[0]; SET parallel_leader_participation = $_[1];", $digest);
	};
	unlike($cores->(1, 'on'), qr/Share Key/, 'one core: no shares');
	like($cores->(2, 'on'), qr/Workers Planned: 1\n.*Share Key/s, 'two cores: a worker beside the leader');
	like($cores->(2, 'off'), qr/Workers Planned: 2\n.*Share Key/s, 'two workers where the leader does not take part');
	like($cores->(4, 'on'), qr/Workers Planned: 3\n.*Share Key/s, 'four cores: three workers');
	like($cores->(64, 'on'), qr/Workers Planned: 4\n.*Share Key/s, 'many cores: as many workers as are allowed');
	is($node->safe_psql('postgres', "SET gpusort.cores = 0; $digest"), $expected, 'as the machine has');
	is($node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 4; SET gpusort.cores = 2; $digest"),
		$expected,
		'a plan for two cores gives the right rows');

	# a cursor is not run in parallel, nor is what a function reads in parts
	is( $node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR $query; FETCH 3 FROM c; COMMIT") =~ tr/\n//, 2,
		'a cursor');

	$node->stop;
}

# Runs a query with and without gpusort under workers of some number, with the leader and without, in batches and not.
sub same_joined
{
	my ($node, $query, $label) = @_;
	my $expected = $node->safe_psql('postgres',
		"SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; $query");

	for my $leader ('on', 'off')
	{
		for my $workers (2, 4)
		{
			for my $memory ('64MB', '64kB')
			{
				is( $node->safe_psql('postgres',
					"SET max_parallel_workers_per_gather = $workers; SET parallel_leader_participation = $leader; "
						  . "SET work_mem = '$memory'; SET enable_mergejoin = off; $query"),
					$expected, "$label: $workers workers, leader $leader, work_mem $memory");
			}
		}
	}
}

# The ids of the workers that wait for that, once there are so many.
sub waiting
{
	my ($node, $event, $number) = @_;
	my $ids = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event = '$event'";

	$node->poll_query_until('postgres', "SELECT count(*) = $number FROM ($ids) AS w") or die "no worker waits: $event";
	return split /\n/, $node->safe_psql('postgres', $ids);
}

# Ends a process by a function of the server while one worker of a query is reading and the others wait for it: the
# one that reads, one that waits, or the leader.
sub ended_while_waiting
{
	my ($node, $function, $whom, $expected) = @_;
	my $label = "$function of the one that $whom";
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my %id = (leads => $session->query_safe('SELECT pg_backend_pid()'));
	my $log = -s $node->logfile;

	$session->query_safe('SET parallel_leader_participation = off; SET max_parallel_workers_per_gather = 3');
	$session->query_until(qr/begun/, "\\echo begun\nSELECT sum(s) FROM (SELECT sum(k) OVER (PARTITION BY g ORDER BY k) "
		. "AS s FROM t WHERE slow(k) > 0) AS q;\n");
	($id{waits}) = waiting($node, 'Extension', 2);
	($id{reads}) = waiting($node, 'PgSleep', 1);
	$node->safe_psql('postgres', "SELECT $function($id{$whom})");
	# by itself it would not end for an hour, which is longer than this is waited for
	ok( $node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity "
			. "WHERE backend_type = 'parallel worker' OR (pid = $id{leads} AND state = 'active')"),
		"$label: nobody waits for what will not come");
	like(slurp_file($node->logfile, $log), $expected, "$label: an error");
	is(scalar(temp_files($node)), 0, "$label: no file is left");
	# psql ends with its connection
	eval { $session->quit };
}

# Exchanges within larger plans, and the end of processes that others wait for.
sub run_exchanges
{
	my $node = server('exchange', 'within');

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint4(i) % 5000 AS g, i AS k FROM generate_series(1, 60000) AS i;
CREATE TABLE few AS SELECT i FROM generate_series(1, 4) AS i;
CREATE TABLE many AS SELECT g, k + copy * 60000 AS k FROM t, generate_series(0, 3) AS copy;
VACUUM ANALYZE t, few, many;
CREATE FUNCTION slow(k int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF k = 40000 THEN
		PERFORM pg_sleep(3600);
	END IF;
	RETURN k;
END $$;
SQL
	my $sums = '(SELECT k, sum(k) OVER (PARTITION BY g ORDER BY k) AS s FROM t) AS a';
	my $numbers = '(SELECT k AS l, row_number() OVER (PARTITION BY g ORDER BY k DESC) AS n FROM t) AS b';
	# the hash table is of the side with fewer rows, whatever joins a version has
	my $two = "SELECT count(*), sum(s), sum(n), sum(many.g) FROM many LEFT JOIN ($sums JOIN $numbers ON k = l) "
		. 'ON many.k = a.k';
	my $again = "SELECT few.i, d.* FROM few, LATERAL (SELECT count(*), sum(s), sum(n) FROM $sums JOIN $numbers ON k = "
		. "l OFFSET few.i - few.i) AS d ORDER BY 1";

	like(plan_run($node, 'SET enable_mergejoin = off;', $two),
		qr/Parallel Hash \(.*Parallel Hash Join.*Share Way: exchange.*Share Way: exchange/s,
		'two exchanges under one hash');
	same_joined($node, $two, 'two exchanges under one hash');
	like(plan_run($node, 'SET enable_mergejoin = off;', $again),
		qr/Gather \(actual rows=[\d.]+ loops=4\).*Parallel Hash Join.*Share Way: exchange.*Share Way: exchange/s,
		'a hash join of exchanges, again and again');
	same_joined($node, $again, 'a hash join of exchanges, again and again');

	my $terminated = qr/terminating .*due to administrator command/;
	ended_while_waiting($node, 'pg_terminate_backend', 'waits', $terminated);
	ended_while_waiting($node, 'pg_terminate_backend', 'reads', $terminated);
	ended_while_waiting($node, 'pg_terminate_backend', 'leads', $terminated);
	ended_while_waiting($node, 'pg_cancel_backend', 'leads', qr/canceling statement due to user request/);
	is($node->safe_psql('postgres', $two), $node->safe_psql('postgres', "SET gpusort.enabled = off; $two"),
		'and all is well afterwards');
	$node->stop;
}

for my $way ('scan', 'exchange')
{
	subtest $way => sub { run_tests($way) };
}
subtest 'exchanges in other plans' => \&run_exchanges;
done_testing();
