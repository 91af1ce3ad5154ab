# gpusort_progress: sorts of one session watched from another, until they end, however they do; who sees what of them;
# what a session sees where the library was not preloaded.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tables = <<'SQL';
CREATE EXTENSION gpusort;
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i FROM generate_series(1, 100000::int8) i;
VACUUM ANALYZE t;
SQL
my $node = start_node('progress', <<'CONF');
shared_preload_libraries = 'gpusort'
gpusort.engine = cpu
compute_query_id = on
max_worker_processes = 8
max_parallel_workers = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
CONF
$node->safe_psql('postgres', $tables);

# What the view says of sorts, as somebody else.
sub progress
{
	my ($columns, $where, $role) = @_;
	my $query = "SELECT $columns FROM gpusort_progress" . ($where ? " WHERE $where" : '');

	return $node->safe_psql('postgres', (defined $role ? "SET ROLE $role; " : '') . $query);
}

# The sort of this query stands still when it has read 50000 rows.
my $standing = 'SELECT * FROM t WHERE i <= 50000 OR pg_sleep(3600) IS NULL ORDER BY k';

# A session in which that query runs, once it stands still; and its pid.
sub stand_still
{
	my ($settings, $user, $there) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0,
		extra_params => [ defined $user ? ('-U', $user) : () ]);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');

	$session->query_safe($settings) if $settings ne '';
	$session->{stdin} .= "$standing;\n";
	$session->{run}->pump_nb;
	$there //= "SELECT rows >= 49000 FROM gpusort_progress WHERE pid = PID AND phase = 'reading'";
	$node->poll_query_until('postgres', $there =~ s/PID/$pid/gr)
	  or die 'the query does not come to its place';
	return ($session, $pid);
}

# in memory, until it is cancelled
my ($session, $pid) = stand_still('');
is(progress('count(*)'), '1', 'one sort runs');
is( progress("pid = $pid, datid, datname, leader_pid, query_id <> 0, phase, rows, rows_expected > 0, memory_bytes > "
	. "50000 * 16, disk_bytes, "
		  . 'runs, engine, started BETWEEN now() - interval $$1 day$$ AND clock_timestamp()'),
	't|' . $node->safe_psql('postgres', q(SELECT oid FROM pg_database WHERE datname = 'postgres'))
	  . '|postgres||t|reading|49152|t|t|0|0|CPU|t', 'what is known of it');
is( progress("query_id = (SELECT query_id FROM pg_stat_activity WHERE pid = $pid)"), 't',
	'its query is that of pg_stat_activity');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like(($session->query('SELECT 1'))[0], qr/1$/, 'cancelled');
$session->{stderr} = '';
is(progress('count(*)'), '0', 'it is gone');
$session->quit;

# on disk, until the session ends
($session, $pid) = stand_still("SET gpusort.work_mem = '1MB'");
is(progress('phase, rows, disk_bytes > 0, runs > 0, memory_bytes < 2000000'), 'reading|49152|t|t|t',
	'a sort with runs on disk');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 600000)");
is(progress('count(*)'), '0', 'gone with its session');
eval { $session->quit };

# one that writes runs: a session sorts again and again until it has been seen to
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE seen AS SELECT * FROM gpusort_progress WHERE false;
CREATE FUNCTION look() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. 10000 LOOP
		INSERT INTO seen SELECT * FROM gpusort_progress WHERE phase = 'writing runs';
		IF FOUND THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SQL
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe("SET gpusort.work_mem = '1MB'");
$session->{stdin} .= <<'SQL';
DO $$ BEGIN
	WHILE NOT EXISTS (SELECT FROM seen) LOOP
		PERFORM count(*) FROM (SELECT * FROM t ORDER BY k OFFSET 0) AS s;
	END LOOP;
END $$;
SQL
$session->{run}->pump_nb;
ok($node->poll_query_until('postgres', 'SELECT look()'), 'a sort that writes runs');
$session->query('SELECT 1');
$session->quit;
is($node->safe_psql('postgres', 'SELECT engine, rows > 0, rows <= rows_expected, memory_bytes > 0 FROM seen'),
	'CPU|t|t|t', 'and what is known of it');

# PostgreSQL's own sort inside the node, which tells of its rows only
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('SET plan_cache_mode = force_generic_plan');
$session->query_safe(<<'SQL');
CREATE FUNCTION watched() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT * FROM t ORDER BY k;
	said text;
BEGIN
	OPEN c;
	MOVE FORWARD 5000 IN c;
	SELECT concat_ws('|', phase, rows, rows_expected, memory_bytes, disk_bytes, runs, engine) INTO said
		FROM gpusort_progress;
	CLOSE c;
	RETURN said;
END $$
SQL
like($session->query_safe('SELECT watched()'), qr/^giving rows out\|4096\|100000\|\d+\|0\|0\|CPU$/,
	'a cursor of a function');
is($session->query_safe('SET gpusort.enabled = off; SELECT watched()'), 'giving rows out|4096|100000|PostgreSQL',
	'switched off under a cached plan');
$session->quit;

# rows given out, by cursors of one session
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN');
$session->query_safe('DECLARE a CURSOR FOR SELECT * FROM t ORDER BY k; MOVE 10000 a');
is(progress('phase, rows, rows_expected'), 'giving rows out|8192|100000', 'a cursor');
$session->query_safe('MOVE FORWARD ALL a');
is(progress('phase, rows, rows_expected'), 'giving rows out|100000|100000', 'at its end');
$session->query_safe("SET LOCAL gpusort.work_mem = '1MB'");
$session->query_safe('DECLARE b SCROLL CURSOR FOR SELECT * FROM t ORDER BY k; MOVE 10000 b; CLOSE a');
is(progress('phase, rows, rows_expected, disk_bytes > 0'), 'giving rows out|8192|100000|t',
	'one that scrolls, with runs');
$session->query_safe('MOVE BACKWARD ALL b');
is(progress('rows'), '0', 'back at its beginning');
$session->query_safe('CLOSE b');
is(progress('count(*)'), '0', 'gone with its cursor');
$session->query_safe('DECLARE a CURSOR FOR SELECT * FROM t ORDER BY k LIMIT 50000; MOVE 20000 a');
is(progress('phase, rows, rows_expected'), 'giving rows out|16384|100000', 'below a LIMIT');
$session->query_safe('SELECT count(*) FROM (SELECT * FROM t ORDER BY k OFFSET 10) s');
is(progress('count(*)'), '1', 'a statement beside the cursor leaves only that');
$session->query_safe('SAVEPOINT s');
$session->query_safe('DECLARE b CURSOR FOR SELECT * FROM t ORDER BY i DESC; MOVE 1 b');
is(progress('count(*)'), '2', 'another cursor in a savepoint');
$session->query_safe('ROLLBACK TO s');
is(progress('count(*)'), '1', 'gone with the savepoint');
$session->query_safe('RELEASE s');
$session->query('SELECT 1 / (i - 99999) FROM t ORDER BY k OFFSET 100000');
$session->{stderr} = '';
is(progress('count(*)'), '0', 'an error ends them all, before the transaction is rolled back');
$session->query_safe('ROLLBACK');
$session->query_safe('BEGIN');
$session->query('DO $$ BEGIN PERFORM 1 / (i - 99999) FROM t ORDER BY k OFFSET 100000; END $$');
$session->{stderr} = '';
is(progress('count(*)'), '0', "and those of functions, whose memory stays until then");
$session->query_safe('ROLLBACK');

# an error in a savepoint, and one that a function catches
$session->query_safe('BEGIN; DECLARE a CURSOR FOR SELECT * FROM t ORDER BY k; MOVE 1 a; SAVEPOINT s');
$session->query('SELECT 1 / (i - 99999) FROM t ORDER BY k OFFSET 100000');
$session->{stderr} = '';
is(progress('count(*)'), '1', "an error in a savepoint ends the sorts that failed, not the cursor's");
$session->query_safe('ROLLBACK TO s');
$session->query_safe('DO $$ BEGIN PERFORM 1 / (i - 99999) FROM t ORDER BY k OFFSET 100000; EXCEPTION WHEN '
	. 'division_by_zero THEN NULL; END $$');
is(progress('phase, rows'), 'giving rows out|0', 'an error that was caught leaves the cursor, too');
is($session->query_safe('FETCH 1 a') ne '', 1, 'which goes on');
$session->query_safe('COMMIT');

# several sorts in one plan, and more than there is room for
$session->query_safe('SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_material = off; BEGIN');
$session->query_safe('DECLARE a CURSOR FOR SELECT * FROM t a JOIN t b ON a.k = b.k ORDER BY a.i; MOVE 1 a');
is(progress('count(*), min(pid) = max(pid)'), '3|t', 'three sorts of one plan');
$session->query_safe("DECLARE b$_ CURSOR FOR SELECT * FROM t ORDER BY k; MOVE 1 b$_") for 1 .. 9;
is(progress('count(*)'), '8', 'of twelve sorts, eight are shown');
$session->query_safe('COMMIT');
is(progress('count(*)'), '0', 'none of them stays');
$session->quit;

# parallel workers
($session, $pid) = stand_still('SET max_parallel_workers_per_gather = 2', undef,
	'SELECT count(*) = 3 FROM gpusort_progress WHERE PID IN (pid, leader_pid)');
is(progress('count(*), min(pid) < max(pid)', "leader_pid = $pid"), '2|t', 'sorts of two workers');
is(progress('count(*)', "pid = $pid AND leader_pid IS NULL"), '1', 'and of their leader');
is(progress("count(*)", "leader_pid = $pid AND query_id = (SELECT query_id FROM pg_stat_activity WHERE pid = $pid)"),
	'2', 'of the same query');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
$session->query('SELECT 1');
$session->{stderr} = '';
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM gpusort_progress'), 'all are gone');
$session->quit;

# who sees what
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE stranger; CREATE ROLE monitor; CREATE ROLE friend;
	GRANT SELECT ON t TO owner; GRANT pg_read_all_stats TO monitor; GRANT owner TO friend');
($session, $pid) = stand_still('', 'owner');
my $little = "$pid|postgres" . '|' x 10;
my $columns =
	'pid, datname, leader_pid, query_id, phase, rows, rows_expected, memory_bytes, disk_bytes, runs, engine, started';
is(progress($columns, '', 'stranger'), $little, 'a stranger sees a sort, and nothing of it');
is(progress('count(*)', "phase = 'reading' AND rows = 49152", $_), '1', "$_ sees it all") for qw(owner friend monitor);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 600000)");
eval { $session->quit };
$node->stop;

# not preloaded: a session's own sorts
my $own = start_node('own', "gpusort.engine = cpu\n");
$own->safe_psql('postgres', $tables);
my @sessions = map { $own->background_psql('postgres', on_error_stop => 0) } 1 .. 2;
$sessions[0]->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k; MOVE 10000 c');
is($sessions[0]->query_safe('SELECT pid = pg_backend_pid(), phase, rows FROM gpusort_progress'),
	't|giving rows out|8192', 'own sorts');
is($sessions[1]->query_safe('SELECT count(*) FROM gpusort_progress'), '0', "not another session's");
$_->quit for @sessions;
$own->stop;
done_testing();
