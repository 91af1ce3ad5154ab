# Limits of the GPU service: device memory, pinned memory, connections, idle sessions; and nothing is left after many
# sorts.
# tags: service
use strict;
use warnings;

use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $folder = PostgreSQL::Test::Utils::tempdir();
my $library = "$folder/faulty_memory.so";
build_library($library, 'memory/faulty_memory.c');

my $node;
{
	local $ENV{LD_PRELOAD} = join ' ', $library, $ENV{LD_PRELOAD} // ();
	local $ENV{FAULTY_MEMORY} = "$folder/fault";
	$node = service_node('limits', '', "max_connections = 250\nshared_buffers = 128MB\n");
}
make_table($node);
my $right = digest($node, 'cpu');

# More than the device may hold: sorted in parts and merged.
$node->append_conf('postgresql.conf', 'gpusort.max_device_memory = 2MB');
service_with($node, '');
is(digest($node, 'gpu'), $right, 'more than fits on the device');
my $plan = explain_sort($node, 'gpu');
like($plan, qr/Engine: $engine_name/, 'the service did it');
like($plan, qr/Runs: [1-9]/, 'in parts');
unlike($plan, qr/Fallback/, 'without falling back');
is(digest($node, 'gpu', '', 's COLLATE "C", k DESC'), digest($node, 'cpu', '', 's COLLATE "C", k DESC'), 'strings');
is($node->safe_psql('postgres', 'SELECT sum(reserved_bytes) FROM gpusort_devices'), '0', 'all given back');

# The bytes of strings count, however long they are.  Of long text only the first bytes are a key, of bits all.
$node->append_conf('postgresql.conf', 'gpusort.max_device_memory = 8MB');
service_with($node, '');
$node->safe_psql('postgres', "CREATE TABLE long AS SELECT i, ('x' || repeat(md5(i::text), 30))::varbit k FROM "
	. "generate_series(1, 40000) i; ANALYZE long");
my $long = 'SELECT md5(string_agg(i::text, \',\')) FROM (SELECT i FROM long ORDER BY k) x';
is($node->safe_psql('postgres', "SET gpusort.engine = gpu; $long"),
	$node->safe_psql('postgres', "SET gpusort.engine = cpu; $long"),
	'20 MB of strings through 8 MB of a device');
$plan = $node->safe_psql('postgres',
	'SET gpusort.engine = gpu; EXPLAIN (ANALYZE, COSTS OFF) SELECT i FROM long ORDER BY k');
like($plan, qr/Engine: $engine_name/, 'the service did it');
like($plan, qr/Runs: [1-9]/, 'in parts');
unlike($plan, qr/Fallback/, 'without falling back');
$node->append_conf('postgresql.conf', 'gpusort.max_device_memory = 0');

# A run at a time, because memory is small.
service_with($node, '');
$plan = explain_sort($node, 'gpu', "SET gpusort.work_mem = '2MB'");
like($plan, qr/Engine: $engine_name/, 'runs are sorted by the service');
like($plan, qr/Runs: [1-9]/, 'several of them');
is(digest($node, 'gpu', "SET gpusort.work_mem = '2MB'"), $right, 'and merged');

# A string larger than a chunk.
$node->safe_psql('postgres',
	"CREATE TABLE large AS SELECT i, ('x' || repeat(md5(i::text), 200000))::varbit s FROM generate_series(1, 5) i");
is($node->safe_psql('postgres',
	'SET gpusort.engine = gpu; SELECT string_agg(i::text, \',\') FROM (SELECT i FROM large ORDER BY s) x'),
	$node->safe_psql('postgres',
		'SET gpusort.enabled = off; SELECT string_agg(i::text, \',\') FROM (SELECT i FROM large ORDER BY s) x'),
	'large strings');
is(counted($node, 'too large for the GPU service'), 1, 'are not for the service');
is($node->safe_psql('postgres',
	'SET gpusort.engine = gpu; SELECT count(*) FROM (SELECT i FROM t WHERE false ORDER BY k) x'), 0, 'no rows');

# A session keeps its ring, and nothing more, over many sorts.
my $session = $node->background_psql('postgres');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe('SET gpusort.engine = gpu; SELECT count(*) FROM (SELECT i FROM t ORDER BY k OFFSET 10) x');
my ($service) = service_pids($node);
# other sessions have ended, of which the service takes leave in its own time
wait_until(sub { (held($service))[1] == 1 && settled(sub { held($service) }) }, 'one session is left');
my @before = (held($pid), held($service));
$session->query_safe(<<'SQL');
DO $$ BEGIN FOR n IN 1..300 LOOP PERFORM i FROM (SELECT i FROM t WHERE i < 500 ORDER BY k OFFSET 10) x; END LOOP;
	END $$;
SQL
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 5 c; CLOSE c; COMMIT')
	foreach 1 .. 20;
$session->query_safe('SELECT count(*) FROM (SELECT i FROM t ORDER BY k OFFSET 10) x');
wait_until(sub { join(' ', held($pid), held($service)) eq "@before" }, 'descriptors and rings after 320 sorts');
is($before[1], 1, 'one ring');
is($node->safe_psql('postgres', 'SELECT sum(reserved_bytes), sum(jobs) FROM gpusort_devices'), '0|0',
	'no memory reserved');

# An error in the middle ends the job.
$session->query_safe("SELECT 1");
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 5 c');
is($node->safe_psql('postgres', 'SELECT sum(jobs), sum(reserved_bytes) FROM gpusort_devices'), '1|600000',
	'an open cursor is a job, which needs its row numbers only');
$session->query('ROLLBACK');
wait_until(sub { $node->safe_psql('postgres', 'SELECT sum(jobs) FROM gpusort_devices') eq '0' },
	'its end ends the job');
is($node->safe_psql('postgres', 'SELECT max(pinned_bytes) > 0 FROM gpusort_devices'), 't', 'the ring is kept');

# Idle for long, the ring goes; wanted again, there is a new one.
$session->quit;
service_with($node, '--idle=1');
$session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu; SELECT count(*) FROM (SELECT i FROM t ORDER BY k OFFSET 10) x');
wait_until(sub { $node->safe_psql('postgres', 'SELECT max(pinned_bytes) FROM gpusort_devices') eq '0' },
	'the ring of an idle session goes');
is($session->query_safe("SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x"), $right,
	'and comes again');
is(counted($node, 'GPU service was lost'), 0, 'unnoticed');
$session->quit;

# Pinned memory for two sessions only, wanted by one with three sorts open.
$node->append_conf('postgresql.conf', 'gpusort.pinned_memory = 20MB');
service_with($node, '');
$session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu; BEGIN');
$session->query_safe("DECLARE c$_ CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c$_") foreach 1 .. 3;
is(counted($node, 'quota of gpusort.pinned_memory is used up'), 1, 'no ring for the third');
is($session->query_safe('FETCH 1 c3'), $session->query_safe('FETCH 1 c1'), 'which sorts all the same');
$session->query_safe('COMMIT');

# Another sort of that session has a ring, and no memory for the order when the last row has come.
$session->query_safe(<<"SQL");
SET gpusort.kept_memory = 0;
SET gpusort.work_mem = '1GB';
CREATE FUNCTION pg_temp.no_memory() RETURNS integer LANGUAGE plpgsql AS \$\$
BEGIN
	COPY (SELECT 'none 0') TO '$folder/fault';
	RETURN 0;
END \$\$;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i FROM t ORDER BY k + CASE WHEN i = 150000 THEN pg_temp.no_memory() ELSE 0 END;
FETCH 1 c;
COMMIT;
SQL
unlink "$folder/fault" or die "$folder/fault: $!";
is(counted($node, 'quota of gpusort.pinned_memory is used up'), 1, 'no memory of its own is not for want of a ring');
is(counted($node, 'out of device memory'), 1, 'and is counted as such');
$session->quit;

# Three sessions that take turns: a ring that is idle for a second makes room for one that is wanted.  On a busy machine
# the service may hear of the end of a sort too late for that.
my @sessions = map { $node->background_psql('postgres') } 1 .. 3;
$_->query_safe('SET gpusort.engine = gpu') foreach @sessions;
for my $pause (1.2, 2, 4, 8, 16)
{
	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
	foreach my $turn (1 .. 2)
	{
		foreach (@sessions)
		{
			is($_->query_safe("SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x"), $right,
				"turn $turn");
			sleep($pause);
		}
	}
	last if counted($node, 'gpusort.pinned_memory is used up') == 0;
}
is(counted($node, 'gpusort.pinned_memory is used up'), 0, 'each gets a ring');
is($node->safe_psql('postgres', 'SELECT sum(jobs) FROM gpusort_stat WHERE fallback IS NOT NULL'), '',
	'and nobody notices');
$_->quit foreach @sessions;

# Where no ring is to be had a session does not make one in vain for each sort.
$node->append_conf('postgresql.conf', 'gpusort.pinned_memory = 0');
service_with($node, '');
sub many_sorts
{
	my ($engine) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe('SELECT pg_backend_pid()');

	$session->query_safe("SET gpusort.engine = $engine;
		DO \$\$ BEGIN FOR n IN 1..300 LOOP PERFORM i FROM (SELECT i FROM generate_series(1, 500) i
			ORDER BY hashint4(i) OFFSET 10) x; END LOOP;
		END \$\$");
	my $seconds = backend_seconds($pid);
	$session->quit;
	return $seconds;
}
my $usual = many_sorts('cpu');
cmp_ok(many_sorts('gpu'), '<', 3 * $usual + 0.5, 'sorts without a ring take no more of a processor');
is(counted($node, 'gpusort.pinned_memory is used up'), 300, 'and counted');
$node->append_conf('postgresql.conf', 'gpusort.pinned_memory = 4GB');

# Two hundred sessions at once; a thread that waits for its turn on a small machine is not taken for stuck.
service_with($node, '');
my ($descriptors) = held((service_pids($node))[0]);
my $script = $node->basedir . '/small.sql';
append_to_file($script,
	"SET gpusort.engine = gpu;\nSELECT count(*) FROM (SELECT i FROM t WHERE i < 2000 ORDER BY k OFFSET 10) x;\n");
$node->command_ok([ 'pgbench', '-n', '-c', '200', '-j', '4', '-t', '3', '-f', $script, 'postgres' ],
	'two hundred sessions');
is($node->safe_psql('postgres', "SELECT sum(jobs) FROM gpusort_stat WHERE engine = '$engine_kind'"), '600',
	'all in the service');
wait_until(sub { $node->safe_psql('postgres', 'SELECT max(pinned_bytes) FROM gpusort_devices') eq '0' },
	'their rings are gone');
cmp_ok((held((service_pids($node))[0]))[0], '<=', $descriptors + 2, 'and their descriptors');

# So few files that one session cannot have as many sorts open as it wants.
$node->append_conf('postgresql.conf', 'max_files_per_process = 64');
$node->restart;
$session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu; BEGIN');
$session->query_safe(join ';', map { "DECLARE c$_ CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c$_" } 1 .. 24);
cmp_ok(counted($node, 'no file descriptor or shared memory to be had'), '>', 0, 'no descriptor for the last');
is(counted($node, 'gpusort.pinned_memory is used up'), 0, 'which is called by its name');
is($session->query_safe('FETCH 1 c24'), $session->query_safe('FETCH 1 c1'), 'and sorts all the same');
$session->quit;

# So few files in the service that it cannot take a ring: it says so, and is not asked anew for each sort.
$node->append_conf('postgresql.conf', 'max_files_per_process = 1000');
$node->restart;
like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, 'a ring can be passed');
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
my ($few) = service_pids($node);
# the session has ended, of which the service takes leave in its own time; then another connection finds room, but its
# ring does not
wait_until(sub { (held($few))[1] == 0 && settled(sub { held($few) }) }, 'no ring is left');
my %open = map { m{(\d+)$} ? ($1 => 1) : () } glob "/proc/$few/fd/*";
my $room = 0;
my $limit = 0;
for (; $room < 2; $limit++) { $room++ unless $open{$limit} }
is(system('prlimit', "--pid=$few", '--nofile=' . ($limit - 1)), 0, 'files of the service are limited');
many_sorts('gpu');
is(counted($node, 'no file descriptor or shared memory to be had'), 300, 'no descriptor for a ring');
is($node->safe_psql('postgres', 'SELECT max(pid) FROM gpusort_devices'), $few, 'the service goes on');

sound($node);
$node->stop;
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
