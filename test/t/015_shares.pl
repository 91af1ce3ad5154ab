# Participants of a parallel plan that each do a share of the groups: workers that are missing, rescans, cancel, errors.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A server where rows reach their share that way.
sub server
{
	my ($way) = @_;

	return start_node("shares_$way", <<"CONF");
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
	my $node = server($way);

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
			like($plan, qr/Share Key: t\.g/, "$workers workers, leader $leader: by shares");
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

	# a cursor is not run in parallel, nor is what a function reads in parts
	is( $node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR $query; FETCH 3 FROM c; COMMIT") =~ tr/\n//, 2,
		'a cursor');

	$node->stop;
}

for my $way ('scan', 'exchange')
{
	subtest $way => sub { run_tests($way) };
}
done_testing();
