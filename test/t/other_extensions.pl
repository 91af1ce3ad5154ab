# Beside an extension that resolves the columns of running plans: pg_qualstats, where it is installed.  plan_walk, in
# the servers of all suites, does so everywhere, and says where it could not; this is the package, in either order.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('plans', '');

plan skip_all => 'pg_qualstats is not installed'
	if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_qualstats'") eq '0';

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p (a int, b int) PARTITION BY RANGE (a);
SELECT format('CREATE TABLE p%s PARTITION OF p FOR VALUES FROM (%s) TO (%s)', i, i * 100, i * 100 + 100)
FROM generate_series(0, 9) i \gexec
INSERT INTO p SELECT g % 1000, g FROM generate_series(1, 50000) g;
CREATE INDEX ON p (b);
ANALYZE p;
SQL

# The conditions stand above each kind of node of gpusort's.
my $join = 'SELECT x.b FROM p x JOIN p y ON x.b = y.b AND x.a <> y.a + 1';
my %queries = (
	GpuMergeAppend => [$join, 'SET enable_sort = off'],
	GpuMerge => ['SELECT x.b FROM (SELECT * FROM p ORDER BY a + 0, b OFFSET 0) x WHERE x.a + x.b > 5', ''],
	GpuUnpack => ["SELECT x.b FROM p x JOIN p0 y ON x.b = y.b AND x.a <> y.a + 1", ''],
	GpuSort => ['SELECT x.b FROM p x JOIN p y ON x.b = y.b AND x.a <> y.a + 1', 'SET enable_indexscan = off'],
);
my $settings = <<'SQL';
SET pg_qualstats.sample_rate = 1;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_incremental_sort = off;
SQL
my $parallel = <<'SQL';
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0.01;
SET min_parallel_table_scan_size = 0;
SQL

foreach my $libraries ('pg_qualstats, gpusort', 'gpusort, pg_qualstats')
{
	$node->append_conf('postgresql.conf', "session_preload_libraries = '$libraries'");
	$node->reload;
	foreach my $kind (sort keys %queries)
	{
		my ($query, $more) = @{ $queries{$kind} };
		my $all = "$settings$more;\n" . ($kind =~ /GpuMerge$|GpuUnpack/ ? $parallel : '');
		my $sum = "SELECT count(*), sum(b) FROM ($query) q";

		like($node->safe_psql('postgres', "$all EXPLAIN (COSTS OFF) $query"), qr/\($kind\)/,
			"$libraries: $kind is planned");
		is($node->safe_psql('postgres', "$all $sum"), $node->safe_psql('postgres', "SET gpusort.enabled = off; $sum"),
			"$libraries: $kind gives the rows of PostgreSQL's plan");
	}
}
$node->stop;
done_testing();
