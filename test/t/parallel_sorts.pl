# Parallel workers sort under Gather Merge.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('parallel', <<'CONF');
max_parallel_workers_per_gather = 2
max_worker_processes = 8
max_parallel_workers = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i % 100 g, i FROM generate_series(1, 300000::int8) i;
CREATE TABLE few AS SELECT i FROM generate_series(1, 3) i;
VACUUM ANALYZE t, few;
SQL
my $query = 'SELECT * FROM t ORDER BY k, i';
my $expected = $node->safe_psql('postgres', 'SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; '
	  . rows_digest($query));

for my $memory ('64MB', '1MB')
{
	my $settings = "SET gpusort.work_mem = '$memory'; ";

	for my $workers (1, 2)
	{
		my $set = $settings . "SET max_parallel_workers_per_gather = $workers; SET enable_incremental_sort = off; ";
		my $plan = $node->safe_psql('postgres', $set . "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query");
		like($plan, qr/Gather Merge.*GpuSort/s, "$memory, $workers workers: GpuSort under Gather Merge");
		like($plan, qr/Workers Launched: $workers/, "$memory, $workers workers: they ran");
		is($node->safe_psql('postgres', $set . rows_digest($query)), $expected,
			"$memory, $workers workers: right rows");
	}
	is( $node->safe_psql('postgres', $settings . 'SET parallel_leader_participation = off; ' . rows_digest($query)),
		$expected, "$memory: without the leader");
	is( $node->safe_psql('postgres',
			$settings . 'SELECT count(DISTINCT d) FROM few, LATERAL (SELECT md5(string_agg(i::text, $$,$$)) d '
			  . "FROM ($query LIMIT 2000 OFFSET few.i - few.i) x) y"),
		'1', "$memory: workers started again for every outer row");
	is( $node->safe_psql('postgres', $settings . "SELECT count(*) FROM ($query LIMIT 5) x"),
		'5', "$memory: workers stopped early");
	is( $node->safe_psql('postgres',
			$settings
			. 'SET enable_hashagg = off; SELECT count(*), sum(c) FROM (SELECT g, count(*) c FROM t GROUP BY g) x'),
		'100|300000', "$memory: groups of partial results");
}
is(scalar(temp_files($node)), 0, 'no file is left');

# keys without an exact encoding: each worker has forms of its own, and Gather Merge compares
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE w AS SELECT md5((i % 90000)::text) s, ARRAY[i * 7919 % 10007, i % 3] a, 'n' || i % 900 few, i
	FROM generate_series(1, 120000::int8) i;
VACUUM ANALYZE w;
SQL
my $english = $node->psql('postgres', q(CREATE COLLATION english (locale = 'en_US.UTF-8'))) == 0 ? 'COLLATE english'
	: '';
for my $memory ('64MB', '1MB')
{
	for my $keys ("s $english, i", "few $english DESC, a, i", 'a, i')
	{
		my $sorted = "SELECT * FROM w ORDER BY $keys";
		my $set = "SET gpusort.work_mem = '$memory'; SET gpusort.verify = full; SET enable_incremental_sort = off; ";
		my $plan = $node->safe_psql('postgres', $set . "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $sorted");

		like($plan, qr/Gather Merge.*GpuSort/s, "$memory, $keys: GpuSort under Gather Merge");
		unlike($plan, qr/Engine: PostgreSQL/, "$memory, $keys: which does it");
		is( $node->safe_psql('postgres', $set . rows_digest($sorted)),
			$node->safe_psql('postgres', 'SET gpusort.enabled = off; SET max_parallel_workers_per_gather = 0; '
				. rows_digest($sorted)),
			"$memory, $keys: right rows");
	}
}
is(scalar(temp_files($node)), 0, 'no file is left');

# a worker that fails
my $err;
$node->psql('postgres', "SELECT 1 / (i - 150000) FROM t ORDER BY k", stderr => \$err, on_error_stop => 0);
like($err, qr/division by zero/, 'an error in a worker arrives');
$node->psql('postgres',
	"SET gpusort.work_mem = '1MB'; SET temp_file_limit = '1MB'; SELECT * FROM t ORDER BY k OFFSET 300000",
	stderr => \$err, on_error_stop => 0);
like($err, qr/temp_file_limit/, "a worker's limit of temporary files");
is(scalar(temp_files($node)), 0, 'no file is left');
$node->stop;
done_testing();
