# Aggregates of ours in the place of PostgreSQL's: rights on both, plans that outlive what they were made for, and where
# the extension is missing, elsewhere, or not alone.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('aggregates');
my $query = 'SELECT g, count(DISTINCT x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM t GROUP BY g ORDER BY g';

sub sql { return $node->safe_psql('postgres', $_[0]) }
sub shown { return plan_of($node, $_[0] // $query, 'VERBOSE, COSTS OFF') }

sql('CREATE TABLE t AS SELECT i % 3 AS g, i % 100 AS x FROM generate_series(1, 20000) AS i; VACUUM ANALYZE t;
	 CREATE ROLE anna; CREATE ROLE ben; GRANT SELECT ON t TO PUBLIC');

# from 16 on the server sorts for one DISTINCT of each group, which is as good
sql('ALTER SYSTEM SET enable_presorted_aggregate = off') if $node->pg_version >= 16;
$node->reload;

unlike(shown(), qr/gpu_/, 'nothing is replaced without the extension');
my $rows = sql($query);
is($rows, "0|100|50\n1|100|49\n2|100|49", 'as PostgreSQL counts') or diag $rows;
sql('CREATE SCHEMA "Some where"; CREATE EXTENSION gpusort SCHEMA "Some where"');
like(shown(), qr/"Some where"\.gpu_count_distinct\(.*gpu_percentile_disc\(/,
	'replaced, in whatever schema the extension is');
is(sql($query), $rows, 'the same rows');
sql('ALTER AGGREGATE "Some where".gpu_count_distinct(anyelement) SET SCHEMA public');
like(shown(), qr/ gpu_count_distinct\(.*"Some where"\.gpu_percentile_disc\(/, 'and after one has moved');
sql('DROP EXTENSION gpusort; CREATE EXTENSION gpusort');

# rights on PostgreSQL's aggregates count, those on ours do not
sub asked_by
{
	my ($role, $statements) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', "SET ROLE $role; $statements", stdout => \$out, stderr => \$err);
	return $err =~ /ERROR:\s+(.*)/ ? $1 : $out;
}

sql('REVOKE EXECUTE ON FUNCTION gpu_count_distinct(anyelement) FROM PUBLIC');
is(asked_by('anna', $query), $rows, 'without a right on ours');
unlike(shown(), qr/gpu_count_distinct/, 'which is then not taken, for nobody');
like(shown(), qr/gpu_percentile_disc/, 'though others are');
sql('GRANT EXECUTE ON FUNCTION gpu_count_distinct(anyelement) TO PUBLIC');
like(shown(), qr/gpu_count_distinct/, 'the right is back');
my $denied = 'permission denied for aggregate count';
sql('REVOKE EXECUTE ON FUNCTION count("any") FROM PUBLIC; GRANT EXECUTE ON FUNCTION count("any") TO ben');
is(asked_by('anna', $query), $denied, "without a right on PostgreSQL's");
is(asked_by('ben', $query), $rows, 'with one');
unlike(shown(), qr/gpu_count_distinct/, "PostgreSQL's own is planned, which looks at rights");
sql('GRANT EXECUTE ON FUNCTION count("any") TO PUBLIC');

my $within =
	'SELECT mode() WITHIN GROUP (ORDER BY x), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY x) FROM t';
like(shown($within), qr/gpu_mode_within\(\) WITHIN GROUP.*gpu_percentile_disc_within\('\{0\.1,0\.9\}'/,
	'mode and several fractions');
sql('REVOKE EXECUTE ON FUNCTION mode(anyelement) FROM PUBLIC; REVOKE EXECUTE ON FUNCTION '
	. 'gpu_percentile_disc_within(double precision[], anyelement) FROM PUBLIC');
is(asked_by('anna', $within), 'permission denied for aggregate mode', 'without a right on mode');
unlike(shown($within), qr/gpu_/, 'of which neither is replaced then');
sql('GRANT EXECUTE ON FUNCTION mode(anyelement) TO PUBLIC; GRANT EXECUTE ON FUNCTION gpu_percentile_disc_within(double '
	. 'precision[], anyelement) TO PUBLIC');
is(asked_by('anna', $within), sql("SET gpusort.aggregates = off; $within"), 'with it');

# cached plans
my $s = $node->background_psql('postgres', on_error_stop => 0);
$s->query_safe('SET plan_cache_mode = force_generic_plan');
$s->query_safe("PREPARE q AS $query");
my $explain = 'EXPLAIN (VERBOSE, COSTS OFF) EXECUTE q';
like($s->query_safe($explain), qr/gpu_count_distinct/, 'a cached plan with ours');
$s->query_safe('SET gpusort.aggregates = off');
is($s->query_safe('EXECUTE q'), $rows, 'runs when switched off');
$s->query_safe('RESET gpusort.aggregates');
$s->query_safe('SET ROLE anna');
is($s->query_safe('EXECUTE q'), $rows, 'runs as another role');
sql('REVOKE EXECUTE ON FUNCTION gpu_count_distinct(anyelement) FROM PUBLIC');
is($s->query_safe('EXECUTE q'), $rows, 'after the right on ours is gone');
unlike($s->query_safe($explain), qr/gpu_count_distinct/, 'by another plan');
sql('GRANT EXECUTE ON FUNCTION gpu_count_distinct(anyelement) TO PUBLIC');
$s->query_safe('DISCARD PLANS');
like($s->query_safe($explain), qr/gpu_count_distinct/, 'ours again');
sql('REVOKE EXECUTE ON FUNCTION count("any") FROM PUBLIC');
my ($out, $failed) = $s->query('EXECUTE q');
ok($failed, "after the right on PostgreSQL's is gone: an error") or diag $out;
like($s->{stderr}, qr/permission denied for aggregate count/, 'which says so');
$s->{stderr} = '';
$s->query_safe('RESET ROLE');
is($s->query_safe('EXECUTE q'), $rows, 'but not for a superuser');
sql('GRANT EXECUTE ON FUNCTION count("any") TO PUBLIC');
$s->query_safe('DISCARD PLANS');
like($s->query_safe($explain), qr/gpu_count_distinct/, 'ours once more');
sql('DROP EXTENSION gpusort');
is($s->query_safe('EXECUTE q'), $rows, 'after the extension is gone');
unlike($s->query_safe($explain), qr/gpu_/, 'by a plan without it');
sql('CREATE EXTENSION gpusort');
like(shown(), qr/gpu_count_distinct/, 'a new session finds the new extension');
$s->query_safe('DISCARD PLANS');
like($s->query_safe($explain), qr/gpu_count_distinct/, 'and so does an old one');

# an error while ours are looked up: the next query looks again
my $locker = $node->background_psql('postgres');
my $fresh = $node->background_psql('postgres', on_error_stop => 0);
$locker->query_safe('BEGIN; LOCK TABLE pg_depend');
$fresh->query_safe("SET lock_timeout = '10ms'");
(undef, $failed) = $fresh->query("EXPLAIN (VERBOSE, COSTS OFF) $query");
ok($failed, 'a look-up that fails');
$fresh->{stderr} = '';
$locker->query_safe('ROLLBACK');
like($fresh->query_safe("EXPLAIN (VERBOSE, COSTS OFF) $query"), qr/gpu_count_distinct/, 'is made again');
$_->quit foreach $locker, $fresh;

# rows that only some roles see
sql('CREATE TABLE secrets AS SELECT i % 7 AS x, CASE WHEN i % 2 = 0 THEN \'anna\' ELSE \'ben\' END AS owner
	FROM generate_series(1, 1000) AS i;
	 DELETE FROM secrets WHERE owner = \'ben\' AND x > 2; GRANT SELECT ON secrets TO PUBLIC;
	 ALTER TABLE secrets ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON secrets USING (owner = current_user)');
$s->query_safe('PREPARE r AS SELECT count(DISTINCT x) FROM secrets');
is($s->query_safe('SET ROLE anna; EXECUTE r'), '7', 'row-level security: one role');
is($s->query_safe('SET ROLE ben; EXECUTE r'), '3', 'row-level security: another');
is($s->query_safe('RESET ROLE; EXECUTE r'), '7', 'row-level security: a superuser');
like($s->query_safe('SET ROLE ben; EXPLAIN (VERBOSE) EXECUTE r'), qr/gpu_count_distinct/, 'all by ours');
$s->quit;

# functions of our names that are not ours
sql('CREATE SCHEMA fake; CREATE AGGREGATE fake.gpu_count_distinct(anyelement) (SFUNC = int8inc_any, STYPE = int8,
	INITCOND = \'0\');
	 ALTER DATABASE postgres SET search_path = fake, public');
is(sql($query), $rows, 'a function of the same name, found earlier, is not taken');
unlike(shown(), qr/fake/, 'nor planned');
sql('ALTER DATABASE postgres RESET search_path');

# workers hand over the states of what was replaced where there are no groups, of which each would hold all
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET '
	. 'min_parallel_table_scan_size = 0;';
unlike(sql("$parallel EXPLAIN $query"), qr/Partial/, 'workers do not hand over states of groups');
like(sql("$parallel EXPLAIN SELECT g, gpu_count_distinct(x) FROM t GROUP BY g"), qr/Partial/,
	'but of what was written so');
my $all = 'SELECT count(DISTINCT x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM t';
like(sql("$parallel EXPLAIN $all"), qr/Partial Aggregate/, 'and without groups');
is(sql("$parallel $all"), '100|49', 'with the same result');
sql('CREATE TABLE many AS SELECT i % 100 AS x, i AS y FROM generate_series(1, 100000) AS i; ANALYZE many');
my $little = "$parallel SET gpusort.work_mem = '1MB';";
like(sql("$little EXPLAIN SELECT count(DISTINCT x) FROM many"), qr/Partial Aggregate/, 'few values are handed over');
unlike(sql("$little EXPLAIN SELECT count(DISTINCT y) FROM many"), qr/Partial/,
	'and not more than one state could hold');
unlike(sql("$little EXPLAIN SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM many"), qr/Partial/,
	'nor for percentiles');
is(sql("$little SELECT count(DISTINCT y), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM many"), '100000|49',
	'with the same result, too');
like(sql("$parallel EXPLAIN SELECT (SELECT count(DISTINCT x) FROM t), sum(x) FROM t"), qr/Partial Aggregate/,
	'other queries of the statement are split');

# tables elsewhere: their server counts
SKIP:
{
	skip 'postgres_fdw is not installed', 2
	  unless sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	my ($port, $host) = ($node->port, $node->host);
	sql("CREATE EXTENSION postgres_fdw; CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host',
		port '$port', dbname 'postgres');
		 CREATE USER MAPPING FOR CURRENT_USER SERVER other; CREATE FOREIGN TABLE far (g int, x int) SERVER other
			OPTIONS (table_name 't')");
	like(shown('SELECT count(DISTINCT x) FROM far'), qr/Foreign Scan.*Remote SQL: SELECT count\(DISTINCT x\)/s,
		'foreign tables: the aggregate goes there');
	is(sql('SELECT count(DISTINCT x) FROM far'), '100', 'and comes back');
}

$node->stop;
done_testing();
