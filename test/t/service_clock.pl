# Somebody sets the machine's clock, by hours, forwards and back: nobody loses patience too early, and nobody waits
# until the old time has come again.
# tags: service
use strict;
use warnings;

use Cwd qw(getcwd);
use Fcntl;
use FindBin;
use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $programs = "$FindBin::RealBin/../service";
my ($said, $service);
IPC::Run::run([ 'make', '-s', '-C', $programs, 'clock' ], '>&', \$said) or die $said;

# Also when the test dies, nothing is left running.
END
{
	local $?;
	$service->kill_kill if $service;
}

# By how many seconds the servers' clock is fast.
my $clock = PostgreSQL::Test::Utils::tempdir . '/clock';
sub set_clock
{
	my ($fast) = @_;

	sysopen my $file, $clock, O_WRONLY | O_CREAT or die "$clock: $!";
	syswrite $file, pack('q', $fast);
	close $file;
}
set_clock(0);

sub clocked_node
{
	my ($name, $settings) = @_;
	local $ENV{LD_PRELOAD} = join ' ', "$programs/build/clock.so", $ENV{LD_PRELOAD} // ();
	local $ENV{GPUSORT_TEST_CLOCK} = $clock;

	return service_node($name, '', $settings);
}

# Begins a sort in a session of its own, and waits until that waits for the service.
my $sort = "SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x";
sub begin_sort
{
	my ($node, $out) = @_;
	my @command = ('psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', 'SET gpusort.engine = gpu', '-c', $sort);
	my $run = IPC::Run::start(\@command, '<', \undef, '>', $out);

	ok($node->poll_query_until('postgres', <<"SQL"),
SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query LIKE '%ORDER BY k%'
SQL
		'a session waits for a service that is stopped');
	return $run;
}

my $node = clocked_node('clocked', '');
make_table($node, 20000);
my $right = digest($node, 'cpu');
is(digest($node, 'gpu'), $right, 'sorts');
my ($pid) = service_pids($node);

# Forwards, while a session and the worker wait for an answer.
stop_process($pid);
my $out = '';
my $run = begin_sort($node, \$out);
sleep(1.5);
set_clock(7200);
cmp_ok($node->safe_psql('postgres', 'SELECT extract(epoch FROM now())::int8'), '>', time + 7000, 'the clock is set');
sleep(1);
kill 'CONT', $pid;
$run->finish;
is($out, "$right\n", 'the session sorts');
is($node->safe_psql('postgres', 'SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE fallback IS NOT NULL'), '0',
	'and has not lost patience');
like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, 'nor do others');
is_deeply([ service_pids($node) ], [$pid], 'the service was not killed');

# Back, before it stops: its worker has to notice.
$node->append_conf('postgresql.conf', "gpusort.timeout = $impatient");
service_with($node, '');
is(digest($node, 'gpu'), $right, 'sorts, impatiently');
($pid) = service_pids($node);
set_clock(-7200);
stop_process($pid);
is(digest($node, 'gpu'), $right, 'the clock is set back, and the service stops: the CPU sorts');
wait_until(sub { !grep { $_ eq $pid } service_pids($node) }, 'the service that does not answer is replaced');
wait_until(sub { explain_sort($node, 'gpu') =~ /Engine: $engine_name/ }, 'and used again');
sound($node);
$node->stop;

# Back after a session got no answer, without a worker that would tell others when the service is well: they do not
# stay away until the clock has come to where it was.
set_clock(0);
$node = clocked_node('alone', "max_worker_processes = 0\ngpusort.timeout = 300ms\n");
make_table($node, 20000);
my $here = getcwd();
chdir $node->data_dir or die;
$service = IPC::Run::start([ 'gpusortd', "--engine=$engine" ], '<', \undef, '>&', \$said);
chdir $here;
wait_until(sub { explain_sort($node, 'gpu') =~ /Engine: $engine_name/ }, 'a service without a worker');
($pid) = service_pids($node);
stop_process($pid);
is(digest($node, 'gpu'), $right, 'it stops: the CPU sorts');
cmp_ok(counted($node, 'GPU service did not answer'), '>=', 1, 'having waited for it');
kill 'CONT', $pid;
set_clock(-7200);
wait_until(sub { explain_sort($node, 'gpu') =~ /Engine: $engine_name/ }, 'soon it is tried again');
sound($node);
$node->stop;
$service->kill_kill;
undef $service;
done_testing();
