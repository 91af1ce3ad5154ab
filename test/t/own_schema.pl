# The extension in a schema of its own, of which no search_path knows, as doc/install.md recommends: aggregates are
# replaced and shipped, workers and columns work, for roles without a right on that schema, and nothing else shows.
use strict;
use warnings;

use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('own_schema', "shared_preload_libraries = 'gpusort'\n");

# from 16 on the server sorts for one DISTINCT of each group, which is as good
$node->append_conf('postgresql.conf', 'enable_presorted_aggregate = off') if $node->pg_version >= 16;
$node->reload;
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; CREATE DATABASE far');
$node->safe_psql($_, 'CREATE SCHEMA gpusort; CREATE EXTENSION gpusort SCHEMA gpusort') foreach 'postgres', 'far';
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('far', <<'SQL');
CREATE TABLE items AS SELECT i % 7 AS g, i % 100 AS k FROM generate_series(1, 5000) AS i;
GRANT SELECT ON items TO PUBLIC;
VACUUM ANALYZE items;
SQL
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$host', port '$port', dbname 'far', extensions 'gpusort');
CREATE USER MAPPING FOR PUBLIC SERVER far OPTIONS (password_required 'false');
CREATE FOREIGN TABLE items (g int, k int) SERVER far;
CREATE TABLE t AS SELECT i % 7 AS g, i % 100 AS k FROM generate_series(1, 20000) AS i;
GRANT SELECT ON items, t TO PUBLIC;
VACUUM ANALYZE t;
SQL

# What a role without a right on the schema gets; dies of an error.
sub asked
{
	my ($query, $settings) = @_;
	return $node->safe_psql('postgres', ($settings // '') . " $query", extra_params => [ '-U', 'reader' ]);
}

# Two tests: the plan, and the rows, as PostgreSQL has them.
sub check
{
	my ($query, $plan, $name, $settings) = @_;
	$settings //= '';
	like(asked("EXPLAIN (VERBOSE, COSTS OFF) $query", $settings), $plan, "$name: the plan");
	is(asked($query, $settings), asked($query, 'SET gpusort.enabled = off;'), "$name: the rows");
	return;
}

my $median = 'percentile_disc(0.5) WITHIN GROUP (ORDER BY k)';
check("SELECT count(DISTINCT k), $median FROM t", qr/gpusort\.gpu_count_distinct\(.*gpusort\.gpu_percentile_disc\(/,
	'aggregates are replaced');
check("SELECT count(DISTINCT k), $median FROM t", qr/PARTIAL gpusort\.gpu_count_distinct\(/, 'and combined',
	'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; '
	. 'SET min_parallel_table_scan_size = 0;');
check('SELECT g, k FROM t ORDER BY k, g', qr/GpuSort/, 'sorts are taken over');

my $shipped = 'SELECT g, gpusort.gpu_median(k) FROM items GROUP BY g ORDER BY g';
like($node->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $shipped"), qr/Remote SQL: .*gpusort\.gpu_median\(k\)/,
	'aggregates are shipped by their full names');
is($node->safe_psql('postgres', $shipped), $node->safe_psql('far', $shipped), 'and known on the other side');

$node->safe_psql('postgres', "SELECT gpusort.gpusort_columns_add('t')");
wait_until(sub { asked('EXPLAIN (COSTS OFF) SELECT sum(k) FROM t') =~ /GpuColumns/ }, 'columns are held');
check('SELECT g, sum(k), count(*) FROM t GROUP BY g ORDER BY g', qr/GpuColumns/, 'groups of columns');
is($node->safe_psql('postgres', 'SELECT bool_and(state = \'ready\') FROM gpusort.gpusort_columns'), 't',
	'the view says so');

is($node->safe_psql('postgres',
	"SELECT count(*) FROM pg_class WHERE relname LIKE 'gpusort%' AND pg_table_is_visible(oid)"), '0',
	'no view of gpusort is in the search_path');
$node->stop;
done_testing();
