# The GPU service: started on first use, shown, counted, ended with the server; machines without a GPU do not notice.
# tags: service
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use GpuSortService;

# No GPU here, or the tests do as if.
my $node = start_node('plain', "gpusort.gpu_min_rows = 0\n");
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
make_table($node);
my $right = digest($node, 'cpu');
SKIP:
{
	skip 'this machine has a GPU', 13 if -e '/dev/nvidiactl' || -e '/dev/dxg';
	is(digest($node, 'auto'), $right, 'auto sorts');
	is(service_pids($node), 0, 'without a GPU there is no service');
	is($node->safe_psql('postgres', 'SELECT device, service, next_attempt, reason FROM gpusort_devices'),
		'|not started||this machine shows no GPU', 'no device is shown, and why');
	is(digest($node, 'gpu'), $right, 'gpu sorts too');
	my $none = $engine eq 'gpu' ? 'no GPU' : 'this gpusortd was built without CUDA';
	like(explain_sort($node, 'gpu'), qr/Engine: CPU\n\s+Fallback: no device to sort on: $none\n/,
		'EXPLAIN says why it was the CPU');
	like(explain_sort($node, 'gpu', 'SET gpusort.explain_machine = off'), qr/Engine: CPU\n\s+Fallback: no GPU\n/,
		'where machines may not show, without what is this one\'s');
	my @lines = grep { /no device to sort on/ } split /\n/, slurp_file($node->logfile);
	is(scalar(@lines), 1, 'one line in the log');
	is($node->safe_psql('postgres', 'SELECT service, reason FROM gpusort_devices'),
		"no device|no device to sort on: $none", 'the view says so');
	is($node->safe_psql('postgres', 'SELECT extract(minute FROM next_attempt - since) FROM gpusort_devices'), 10,
		'and from when on it is looked for again');
	cmp_ok($node->safe_psql('postgres', "SELECT jobs FROM gpusort_stat WHERE fallback = 'no GPU'"), '>=', 2, 'counted');
	is_deeply([ leftovers($node) ], [], 'nothing lies around');
	# where a GPU shows itself, and cannot be used, a sort that would have had it says so
	$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=gpu'");
	$node->reload;
	wait_until(sub { explain_sort($node, 'auto') =~ /Engine: CPU\n\s+Fallback: no device to sort on: $none\n/ },
		'EXPLAIN says so of a sort that chose for itself');
	# as when a driver comes up after the server
	$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=cpu'");
	$node->reload;
	wait_until(sub { explain_sort($node, 'gpu') =~ /Engine: CPU service/ },
		'a device is looked for again once the configuration is reloaded');
}
$node->stop;
is_deeply([ leftovers($node) ], [], 'nothing lies around');

# A service with the library, or in bin beside its folder, is taken, and not the one with the server's programs.
my ($bin, $lib) = map { $node->config_data($_) } '--bindir', '--pkglibdir';
foreach my $place ('lib', 'bin')
{
	my $volume = PostgreSQL::Test::Utils::tempdir;
	mkdir "$volume/$_" or die "$volume/$_: $!\n" for 'lib', 'bin';
	system('cp', "$lib/gpusort.so", "$volume/lib") == 0 or die "cp failed\n";
	system('cp', "$bin/gpusortd", "$volume/$place") == 0 or die "cp failed\n";
	$node = PostgreSQL::Test::Cluster->new("volume_$place");
	$node->init;
	$node->append_conf('postgresql.conf',
		"dynamic_library_path = '$volume/lib'\nshared_preload_libraries = 'gpusort'\n"
		. "gpusort.service_options = '--engine=$engine'\n");
	$node->start;
	make_table($node);
	is(digest($node, 'gpu'), $right, "a service in $place with the library sorts");
	is(readlink('/proc/' . (service_pids($node))[0] . '/exe'), "$volume/$place/gpusortd", 'and it is that one');
	$node->stop;
}

# No background worker can be had.
$node = service_node('slots', '', "max_worker_processes = 0\n");
make_table($node);
is(digest($node, 'gpu'), $right, 'sorts without a worker');
like(explain_sort($node, 'gpu'), qr/Fallback: no free background worker/, 'and says why');
is($node->safe_psql('postgres', 'SELECT service, reason FROM gpusort_devices'), 'not started|no free background worker',
	'in the view, too');
$node->stop;

# With the service.
$node = service_node('service', $engine eq 'gpu' ? '' : "--devices=$devices");
make_table($node);
is(digest($node, 'gpu'), $right, 'the first sort of a session');
my $plan = explain_sort($node, 'gpu');
like($plan, qr/Engine: $engine_name/, 'the service did it');
like($plan, qr/Keys: \d+ bits/, 'keys');
like($plan, qr/Transfer: \d+kB  Overlap: \d+%  Waited: in/, 'transfer');
like($plan, qr/Device Time: \d/, 'device time');
unlike($plan, qr/Fallback/, 'no fallback');
is($node->safe_psql('postgres',
	"SELECT fallback IS NULL, jobs > 0, rows > 0, bytes > 0 FROM gpusort_stat WHERE engine = '$engine_kind'"),
	't|t|t|t', 'counted');
is($node->safe_psql('postgres', 'SELECT count(*), min(service), bool_and(reserved_bytes = 0) FROM gpusort_devices'),
	"$devices|running|t", 'devices');
is($node->safe_psql('postgres', 'SELECT count(next_attempt), count(reason) FROM gpusort_devices'), '0|0',
	'none is missing');
is(service_pids($node), 1, 'one process');

# Both devices get jobs: two sorts of one merge join.
$node->safe_psql('postgres', <<'SQL');
SET gpusort.engine = gpu; SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT count(*) FROM t a JOIN t b ON a.k = b.k;
SQL
is($node->safe_psql('postgres', 'SELECT bool_and(jobs_done > 0) FROM gpusort_devices'), 't', 'each device had a job');

SKIP:
{
	skip 'one GPU', 4 if $engine ne 'gpu' || $devices < 2;
	my $run = sub {
		my ($list) = @_;
		$node->append_conf('postgresql.conf', "gpusort.devices = '$list'");
		$node->reload;
		wait_until(sub { $node->safe_psql('postgres',
			"SELECT string_agg(device::text, ',' ORDER BY device) FROM gpusort_devices") eq $list },
			"gpusort.devices = $list");
		digest($node, 'gpu') eq $right && $node->safe_psql('postgres',
			'SELECT bool_or(jobs_done > 0) FROM gpusort_devices');
	};
	is($run->('1'), 't', 'sorts on the second GPU alone');
	is($run->('0,1'), 't', 'and on both again');
}

# Who may do what.
$node->safe_psql('postgres', 'CREATE ROLE somebody LOGIN');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM gpusort_stat', extra_params => [ '-U', 'somebody' ]), 't',
	'all may read');
is($node->safe_psql('postgres', 'SELECT count(pid) FROM gpusort_devices', extra_params => [ '-U', 'somebody' ]), '0',
	'but not see the process');
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT gpusort_stat_reset()', extra_params => [ '-U', 'somebody' ]);
like($err, qr/permission denied/, 'nor reset');
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
is($node->safe_psql('postgres', 'SELECT sum(jobs) FROM gpusort_stat'), '0', 'reset');

is(sprintf('%o', (stat $node->data_dir . "/$socket")[2] & 07777), '600', 'the socket is for its owner');

is(service_pids($node), 1, 'still one process');

# Fast shutdown, start, immediate shutdown, start; death of the postmaster.
$node->stop('fast');
is_deeply([ leftovers($node) ], [], 'nothing is left by a fast shutdown');
is(service_pids($node), 0, 'no process either');
$node->start;
is(digest($node, 'gpu'), $right, 'sorts after a restart');
$node->stop('immediate');
wait_until(sub { leftovers($node) == 0 }, 'nothing is left by an immediate shutdown');
wait_until(sub { service_pids($node) == 0 }, 'no process either');
$node->start;
is(digest($node, 'gpu'), $right, 'sorts after that');
kill 'STOP', service_pids($node);
$node->stop('fast');
is(service_pids($node), 0, 'a stopped service ends with the server, too');
is_deeply([ leftovers($node) ], [], 'and nothing is left');
append_to_file($node->data_dir . "/$socket", 'stale');
$node->start;
is(digest($node, 'gpu'), $right, 'a stale file is replaced');
is(service_pids($node), 1, 'one process');
my $postmaster = $node->{_pid};
$node->kill9;
wait_until(sub { service_pids($node) == 0 }, 'the service ends when the postmaster dies');
wait_until(sub { leftovers($node) == 0 }, 'and leaves nothing');
wait_until(sub { !-e "/proc/$postmaster" }, 'the postmaster is gone');
$node->start;
is(digest($node, 'gpu'), $right, 'sorts after that');
$node->stop;

# Preloaded into the server: the worker is there from the start.
$node = service_node('preloaded', '', "shared_preload_libraries = 'gpusort'\n");
wait_until(sub { service_pids($node) == 1 }, 'preloaded: the service starts with the server');
make_table($node);
is(digest($node, 'gpu'), $right, 'and sorts');
$node->append_conf('postgresql.conf', "gpusort.engine = auto\ngpusort.gpu_min_rows = 1000\n");
$node->reload;
like(explain_sort($node, 'auto'), qr/Engine: $engine_name/, 'auto takes it for large sorts');
# 150000 rows; long keys gain more from a GPU than short ones
like(explain_sort($node, 'auto', 'SET gpusort.gpu_min_rows = 200000'), qr/Engine: CPU\n/, 'not for fewer rows');
like($node->safe_psql('postgres',
	'SET gpusort.gpu_min_rows = 200000; EXPLAIN (ANALYZE, COSTS OFF) SELECT i FROM t ORDER BY s COLLATE "C"'),
	qr/Engine: $engine_name/, 'but for as many with long keys');
$node->safe_psql('postgres', 'CREATE TABLE small AS SELECT i FROM generate_series(1, 50) i; ANALYZE small');
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM small ORDER BY i'), qr/Engine: CPU\n/,
	'but not for small ones');
$node->stop('smart');
is(service_pids($node), 0, 'a smart shutdown ends the service, too');
done_testing();
