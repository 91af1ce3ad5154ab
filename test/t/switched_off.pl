# Plans that outlive the setting they were made under.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('off');
$node->safe_psql('postgres',
	'CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i FROM generate_series(1, 50000::int8) i; VACUUM ANALYZE t');
my $s = $node->background_psql('postgres');
my $explain = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)';

$s->query_safe('SET plan_cache_mode = force_generic_plan');
$s->query_safe('PREPARE q (int8) AS SELECT * FROM t WHERE i > $1 ORDER BY k');
$s->query_safe('PREPARE digest (int8) AS ' . rows_digest('SELECT * FROM t WHERE i > $1 ORDER BY k'));
my $plan = $s->query_safe("$explain EXECUTE q(5)");
like($plan, qr/Custom Scan \(GpuSort\)/, 'a cached plan with GpuSort');
my $digest = $s->query_safe('EXECUTE digest(5)');

$s->query_safe('SET gpusort.enabled = off');
$plan = $s->query_safe("$explain EXECUTE q(5)");
like($plan, qr/Custom Scan \(GpuSort\)/, 'switched off: the cached plan stays');
like($plan, qr/Engine: PostgreSQL/, "switched off: PostgreSQL's own sort runs");
like($plan, qr/Fallback: gpusort\.enabled is off/, 'and EXPLAIN says why');
is($s->query_safe('EXECUTE digest(5)'), $digest, 'the same rows');
unlike($s->query_safe('EXPLAIN SELECT * FROM t ORDER BY k'), qr/GpuSort/, 'new plans are free of it');

$s->query_safe('SET gpusort.enabled = on');
unlike($s->query_safe("$explain EXECUTE q(5)"), qr/Fallback/, 'switched on again');

# switched off between the rows of an open cursor
$s->query_safe('BEGIN');
$s->query_safe('DECLARE c SCROLL CURSOR FOR SELECT * FROM t ORDER BY k');
my $first = $s->query_safe('FETCH 5 FROM c');
$s->query_safe('SET gpusort.enabled = off');
$s->query_safe('FETCH 1000 FROM c');
$s->query_safe('MOVE ABSOLUTE 0 FROM c');
is($s->query_safe('FETCH 5 FROM c'), $first, 'an open cursor goes on as it began');
$s->query_safe('COMMIT');

# the table changes under a cached plan
$s->query_safe('SET gpusort.enabled = on');
$s->query_safe('ALTER TABLE t ALTER k TYPE numeric');
$s->query_safe('PREPARE p AS SELECT * FROM t ORDER BY k');
is( $s->query_safe('SELECT bool_and(a <= k) FROM (SELECT k, lag(k, 1, k) OVER () a FROM (SELECT k FROM t ORDER BY '
	. 'k) x) y'),
	't', 'after a change of type');
$s->quit;
$node->stop;
done_testing();
