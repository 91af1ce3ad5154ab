# Every way in which the GPU service can fail, at every stage: the same query goes on on the CPU, its answer is right,
# and the reason is counted.
# tags: service
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = service_node('faults', '');
make_table($node);
my $right = digest($node, 'cpu');
my $right_strings = digest($node, 'cpu', '', 's COLLATE "C" DESC, k');
is(digest($node, 'gpu'), $right, 'without faults');
is(digest($node, 'gpu', '', 's COLLATE "C" DESC, k'), $right_strings, 'strings');

# A service that is well is not called hung, however little time it is given: called so at a heartbeat, it would never
# live through two.  One that gets no processor time for so long is.
$node->append_conf('postgresql.conf', 'gpusort.timeout = 900ms');
service_with($node, '');
my $lives = 0;
for (1 .. 40)
{
	my ($well) = service_pids($node);
	sleep(3);
	$lives = defined $well && grep { $_ == $well } service_pids($node);
	last if $lives;
}
ok($lives, 'a timeout shorter than the time between two heartbeats');
$node->append_conf('postgresql.conf', "gpusort.timeout = $timeout");

# One restart for each of these, so that the service does not count as failing too often.
my %reason = (
	crash => 'GPU service was lost',
	hang => 'GPU service did not answer',
	corrupt => 'GPU service gave a wrong answer',
	oom => 'out of device memory',
	'short:100000' => 'GPU service broke the protocol',
	'short:0' => 'GPU service broke the protocol');
my @cases = (
	[ 'oom', 'begin' ], [ 'oom', 'add' ], [ 'oom', 'finish' ], [ 'oom', 'next' ],
	[ 'corrupt', 'finish' ], [ 'corrupt', 'next' ], [ 'short:100000', 'next' ], [ 'short:0', 'next' ],
	[ 'crash', 'begin' ], [ 'crash', 'add' ], [ 'crash', 'finish' ], [ 'crash', 'next' ]);
foreach my $case (@cases)
{
	my ($kind, $stage) = @$case;
	my $fault = "$kind\@$stage";

	service_with($node, "--fault=$fault --fault-every=1");
	is(digest($node, 'gpu'), $right, "$fault: right answer");
	is(counted($node, $reason{$kind}), 1, "$fault: counted");
}

# What EXPLAIN says, and what a spilled sort, a scrollable cursor and a checked order make of it.
service_with($node, '--fault=oom@next');
like(explain_sort($node, 'gpu'), qr/Engine: CPU\n\s+Fallback: out of device memory/, 'EXPLAIN');
is(digest($node, 'gpu', "SET gpusort.work_mem = '2MB'"), $right, 'in the middle of a run');
is(digest($node, 'gpu', "SET gpusort.verify = full"), $right, 'with the order checked');
my $cursor = <<'SQL';
SET gpusort.engine = %s;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i FROM t ORDER BY k;
MOVE 140000 c;
FETCH 3 c;
MOVE BACKWARD 139000 c;
FETCH 3 c;
FETCH LAST c;
COMMIT;
SQL
is($node->safe_psql('postgres', sprintf($cursor, 'gpu')), $node->safe_psql('postgres', sprintf($cursor, 'cpu')),
	'both ways');

# Only some jobs of a spilled sort fail.
service_with($node, '--fault=oom@finish --fault-every=3');
is(digest($node, 'gpu', "SET gpusort.work_mem = '2MB'", 'k, i DESC'), digest($node, 'cpu', '', 'k, i DESC'),
	'every third run');
is(digest($node, 'gpu', "SET gpusort.work_mem = '2MB'"), $right, 'every third run, ties');

# A device that fails a kind of job and works otherwise gets no more of that kind: what would only fail is not sent.
# One device, as each has its own two.
service_with($node, '--fault=device --devices=' . ($engine eq 'gpu' ? 0 : 1));
is(digest($node, 'gpu'), $right, "device: right answer, $_") foreach 1 .. 4;
is(counted($node, 'GPU failed'), 4, 'device: counted');
is($node->safe_psql('postgres', 'SELECT jobs_done FROM gpusort_devices'), '2', 'device: two were sent');
is(() = slurp_file($node->logfile) =~ /failed two jobs of operation 0 in a row/g, 1,
	'device: with one line in the log');

# A hung job that the service does not see: the sort waits as long as gpusort.timeout says, and others do not wait again
# for what does not answer.
$node->append_conf('postgresql.conf', "gpusort.timeout = $impatient");
service_with($node, '--fault=hang@finish --stall=600');
is(digest($node, 'gpu'), $right, 'hang: right answer');
is(counted($node, $reason{hang}), 1, 'hang: counted');
# that holds for seconds, which a busy machine may let pass
for (1 .. 40)
{
	is(digest($node, 'gpu'), $right, 'next session');
	last if counted($node, 'GPU service cannot be reached') > 0;
}
cmp_ok(counted($node, 'GPU service cannot be reached'), '>', 0, 'which did not even try');

# One that it sees before the sort loses patience: the service is replaced, and the reason is the same, also for a sort
# that hears of it only when it has more rows to send.
my ($stall) = map { $_ - 1 } $impatient =~ /(\d+)/;
$node->append_conf('postgresql.conf', "gpusort.timeout = $timeout");
my $slow = "s COLLATE \"C\" DESC, k + CASE WHEN i = 40000 THEN length(pg_sleep($stall + 1)::text) ELSE 0 END";
foreach my $case ([ 'begin', 'k' ], [ 'add', 'k' ], [ 'finish', 'k' ], [ 'next', 'k' ], [ 'add', $slow ])
{
	my ($stage, $keys) = @$case;
	my $name = $keys eq $slow ? "hang\@$stage, slow rows" : "hang\@$stage";

	service_with($node, "--fault=hang\@$stage --stall=$stall");
	my $pid = $node->safe_psql('postgres', 'SELECT max(pid) FROM gpusort_devices');
	is(digest($node, 'gpu', '', $keys), $keys eq $slow ? $right_strings : $right, "$name: right answer");
	is(counted($node, $reason{hang}), 1, "$name: counted");
	wait_until(sub { $node->safe_psql('postgres',
		"SELECT max(pid) FROM gpusort_devices WHERE service = 'running'") !~ /^($pid|)$/ },
		"$name: the service is replaced");
}

# What hangs is not a job but the thread that watches them and lets sessions in.
$node->append_conf('postgresql.conf', "gpusort.timeout = $impatient");
service_with($node, '--fault=hang@rest --idle=1');
is(digest($node, 'gpu'), $right, 'before the first thread hangs');
my ($hung) = service_pids($node);
wait_until(sub { my ($now) = service_pids($node); defined $now && $now != $hung },
	'a service that lets nobody in is replaced');

# Cancelled while waiting, which nothing else would end for an hour.
$node->append_conf('postgresql.conf', 'gpusort.timeout = 1h');
service_with($node, '--fault=hang@finish');
my ($seconds, $status, $out, $err) = GpuSortTest::timed($node,
	"SET gpusort.engine = gpu; SET statement_timeout = '500ms'; SELECT count(*) FROM (SELECT i FROM t ORDER BY k "
		. "OFFSET 1) x");
like($err, qr/canceling statement due to statement timeout/, 'statement_timeout while waiting');
cmp_ok($seconds, '<', 600, 'at once');
$node->append_conf('postgresql.conf', "gpusort.timeout = $timeout");
service_with($node, '');
is(digest($node, 'gpu'), $right, 'well again');
is($node->safe_psql('postgres', 'SELECT sum(reserved_bytes) FROM gpusort_devices'), '0',
	'no device memory is reserved');

# Ends too often; service_recovery.pl has the way out of it.
$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=nonsense'");
$node->reload;
wait_until(sub { $node->safe_psql('postgres', 'SELECT service FROM gpusort_devices') eq 'gave up' }, 'gives up');
like(slurp_file($node->logfile), qr/ended with status 2.*; it is started again in 600 s/, 'with a line in the log');
is(digest($node, 'gpu'), $right, 'sorts all the same');
is(counted($node, 'GPU service failed too often'), 1, 'and counts why');
service_with($node, '--fault=crash@begin');
$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=$engine --fault=crash\@begin'");
$node->reload;
wait_until(sub { service_pids($node) == 1 }, 'tries again when told');
# six times in a row, each within ten seconds of its start
my $session = $node->background_psql('postgres');
wait_until(
	sub {
		$session->query_safe('SET gpusort.engine = gpu; SELECT count(*) FROM (SELECT i FROM t ORDER BY k OFFSET 0) x');
		return $session->query_safe('SELECT DISTINCT service FROM gpusort_devices') eq 'gave up';
	},
	'a service that always crashes');
$session->quit;

# Another version than the server's, as after an installation without a restart.
$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=$engine --fault=version'");
$node->reload;
wait_until(sub { slurp_file($node->logfile) =~ /is of another version/ }, 'another version is known for what it is');
wait_until(sub { $node->safe_psql('postgres', 'SELECT service FROM gpusort_devices') eq 'gave up' },
	'and not soon tried again');
like($node->safe_psql('postgres', 'SELECT reason FROM gpusort_devices'), qr/is of another version/, 'with the reason');
is(() = slurp_file($node->logfile) =~ /is of another version/g, 1, 'with one line in the log');
is(digest($node, 'gpu'), $right, 'sorts all the same');

# Of another version than a session's library only, which was installed since the worker began.
service_with($node, '--fault=version@next');
wait_until(sub { $node->safe_psql('postgres', 'SELECT service FROM gpusort_devices') eq 'running' },
	'a service that its worker understands');
is(digest($node, 'gpu'), $right, 'sorts without a service of another version');
is(counted($node, 'GPU service is of another version'), 1, 'and counts why');
like(slurp_file($node->logfile),
	qr/another version than this session's library\n.*DETAIL:  The service speaks .*\n.*HINT:  Restart the server/,
	'the log has a hint');
is(digest($node, 'auto'), $right, 'sorts where the engine may be any');

sound($node);
$node->stop;
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
