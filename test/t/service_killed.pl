# The service is killed and stopped in the middle of sorts while eight sessions sort and compare: all answers are right,
# the server never restarts.  A backend that crashes takes the service with it, and a new one comes.
# tags: service
use strict;
use warnings;

use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = service_node('killed', '', "max_connections = 40\nmax_worker_processes = 12\n");
make_table($node, 60000);
my $right = digest($node, 'cpu');
$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION check_sort(memory text) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	s text;
BEGIN
	PERFORM set_config('gpusort.engine', 'gpu', true);
	PERFORM set_config('gpusort.work_mem', memory, true);
	SELECT md5(string_agg(i::text, ',')) INTO s FROM (SELECT i FROM t ORDER BY k) x;
	IF s <> '$right' THEN
		RAISE 'wrong order';
	END IF;
END \$\$;
SQL
my $script = $node->basedir . '/sort.sql';
append_to_file($script, "\\set memory random(1, 3)\nSELECT check_sort((:memory * :memory * 2) || 'MB');\n");

# Runs eight sessions for so many seconds while something is done to the service; says how often, and how many sorts
# there were.
sub storm
{
	my ($seconds, $name, $act) = @_;
	my ($out, $err) = ('', '');
	my $end = time() + $seconds;
	my $done = 0;
	# it may have been too often
	$node->reload;
	my $run = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '8', '-j', '2', '-T', $seconds, '-f', $script,
			'-h', $node->host, '-p', $node->port, 'postgres' ],
		'<', \undef, '>', \$out, '2>', \$err);

	while (time() < $end - 1)
	{
		sleep(0.7 + rand(0.3));
		$done += $act->() ? 1 : 0;
	}
	$run->finish;
	is($run->result(0), 0, "$name: no query failed") or diag($err);
	# one that was stopped before it was up would be given a minute
	kill 'CONT', service_pids($node);
	return ($done, $out =~ /number of transactions actually processed: (\d+)/);
}

# Storms, until it has happened several times, in the middle of sorts.
sub storms
{
	my ($name, $act) = @_;
	my ($happened, $sorts, $noticed) = (0, 0, 0);

	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
	for (1 .. 20)
	{
		my ($done, $processed) = storm(8, $name, $act);

		$happened += $done;
		$sorts += $processed // 0;
		$noticed = counted($node, 'GPU service was lost') + counted($node, 'GPU service did not answer');
		last if $happened >= 2 && $sorts > 0 && $noticed > 0;
	}
	cmp_ok($happened, '>=', 2, "$name: it happened");
	cmp_ok($sorts, '>', 0, "$name: sorts were done");
	cmp_ok($noticed, '>', 0, "$name: it was noticed");
}

$node->append_conf('postgresql.conf', "gpusort.timeout = $impatient");
storms('kill', sub { my ($pid) = service_pids($node); $pid && kill 9, $pid });
storms('stop', sub { my ($pid) = service_pids($node); $pid && kill 'STOP', $pid });
$node->append_conf('postgresql.conf', "gpusort.timeout = $timeout");
sound($node);

$node->reload;
wait_until(
	sub { $node->safe_psql('postgres', "SELECT bool_and(service = 'running' AND jobs = 0) FROM gpusort_devices")
		eq 't' },
	'the service is back, without jobs');
is(digest($node, 'gpu'), $right, 'and sorts');
my ($before) = service_pids($node);

# A backend dies in the middle of a sort: the server restarts, as it must, and so does the service.
my $victim = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $victim->query_safe('SELECT pg_backend_pid()');
# not looked at beforehand, an order stays in the service until its rows are wanted
$victim->query_safe("SET gpusort.engine = gpu; SET gpusort.verify = off; BEGIN; DECLARE c CURSOR FOR SELECT i FROM t "
	. "ORDER BY k; FETCH 1 c");
is($node->safe_psql('postgres', 'SELECT sum(jobs) FROM gpusort_devices'), 1, 'a job in the middle');
kill 9, $pid;
eval { $victim->quit };
wait_until(sub { ($node->psql('postgres', 'SELECT 1'))[0] == 0 }, 'the server is back');
is(digest($node, 'gpu'), $right, 'and sorts');
my ($after) = service_pids($node);
isnt($after, $before, 'with a new service');
is($node->safe_psql('postgres', 'SELECT sum(jobs), sum(reserved_bytes) FROM gpusort_devices'), '0|0',
	'which has no old job');
$node->stop;
is(service_pids($node), 0, 'no process is left');
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
