# A service that lies: between backends and gpusortd stands a program that changes, cuts, doubles and makes up
# messages.  With the order checked before a row leaves, every answer is right; without, the only error allowed is the
# one that says so.
# tags: service
use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

# Also when the test dies, nothing is left running.
my ($service, $mangle);
my $seed = $ENV{SEED} || 1 + int(rand(1e6));
diag("SEED=$seed");
END
{
	local $?;
	$_->kill_kill foreach grep { defined } $mangle, $service;
}

my $programs = "$FindBin::RealBin/../service";
my $said;
# beside what others build there
IPC::Run::run([ 'make', '-s', '-C', $programs, 'mangle', 'BUILD=build/mangle' ], '>&', \$said) or die $said;

my $node = service_node('liar', '', "max_worker_processes = 0\ngpusort.timeout = 60s\n");
make_table($node, 100000);
my $right = digest($node, 'cpu');
my $data = $node->data_dir;
my $behind = 'pg_stat_tmp/pgsql_tmp_behind';

# Starts a program in the data directory and waits for its socket.
sub start_there
{
	my ($socket, @command) = @_;
	my $here = getcwd();

	chdir $data or die;
	my $program = IPC::Run::start([@command], '<', \undef, '>&', \$said);
	for (1 .. 3600) { last if -S $socket; sleep(0.05); }
	chdir $here;
	return $program;
}
$service = start_there($behind, 'gpusortd', "--engine=$engine", "--socket=$behind");

# Puts a mangle with other habits in the place of the one that is there.
sub mangle_with
{
	$mangle->kill_kill if $mangle;
	unlink "$data/$socket";
	$mangle = start_there($socket, "$programs/build/mangle/mangle", $socket, $behind, @_);
}

# One that ends connections when their second job begins, as happens to idle ones: there is another connection to be
# had.
mangle_with('0', $seed, '1');
my $session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu');
my $sort = "SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x";
is($session->query_safe($sort), $right, 'a connection that ends when it is wanted again') foreach 1 .. 3;
$session->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_stat WHERE fallback IS NOT NULL'), '0', 'is not noticed');

# What never comes is waited for no longer than needed from now on; a busy machine then loses some of the rest.
my $wait = 300;
$node->append_conf('postgresql.conf', "gpusort.timeout = ${wait}ms");
$node->reload;
mangle_with('12', $seed);

$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION sorts(n int, memory text, verify text) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	s text;
	good int := 0;
	honest int := 0;
BEGIN
	SET LOCAL gpusort.engine = gpu;
	PERFORM set_config('gpusort.work_mem', memory, true);
	PERFORM set_config('gpusort.verify', verify, true);
	FOR turn IN 1..n LOOP
		BEGIN
			SELECT md5(string_agg(i::text, ',')) INTO s FROM (SELECT i FROM t ORDER BY k) x;
			IF s <> '$right' THEN
				RETURN 'wrong order';
			END IF;
			good := good + 1;
		EXCEPTION WHEN data_corrupted THEN
			honest := honest + 1;
		END;
	END LOOP;
	RETURN CASE WHEN verify = 'full' AND honest > 0 THEN 'failed' WHEN good = 0 THEN 'none' ELSE 'right' END;
END \$\$;
SQL
is($node->safe_psql('postgres', "SELECT sorts(25, '64MB', 'full')"), 'right', 'checked orders');
is($node->safe_psql('postgres', "SELECT sorts(20, '2MB', 'full')"), 'right', 'checked orders, spilled');
is($node->safe_psql('postgres', "SELECT sorts(25, '64MB', 'off')"), 'right', 'orders as they come');
# some seeds' first lies are all of one kind
my $ways;
foreach (1 .. 20)
{
	$ways = $node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_stat WHERE fallback IS NOT NULL');
	last if $ways >= 2;
	$node->safe_psql('postgres', "SELECT sorts(25, '64MB', 'full')");
}
cmp_ok($ways, '>=', 2, 'the lies were noticed, in several ways');
note $node->safe_psql('postgres', 'SELECT engine, fallback, jobs FROM gpusort_stat');
my $through;
foreach (1 .. 40)
{
	$through = $node->safe_psql('postgres', "SELECT jobs FROM gpusort_stat WHERE engine = '$engine_kind'");
	last if $through > 5;
	# more patience, and lies shall not have set the device aside
	$wait *= 2 if $wait < 60000;
	$node->append_conf('postgresql.conf', "gpusort.timeout = ${wait}ms");
	$node->reload;
	is($node->safe_psql('postgres', "SELECT sorts(10, '64MB', 'full')"), 'right', 'checked orders, again');
}
cmp_ok($through, '>', 5, 'and some jobs went through');

# One that writes to the rings while backends fill them: what they rely on they must not read there.
mangle_with('0', $seed, 'scribble');
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
my @orders = map { [ $_, digest($node, 'cpu', '', $_) ] } 's COLLATE "C", k, i', 'k, i';
my $noticed = 0;
foreach (1 .. 20)
{
	foreach my $turn (1 .. 24)
	{
		my ($keys, $order) = @{ $orders[ $turn % 2 ] };

		$node->reload;			# wrong answers shall not have set the device aside
		is(digest($node, 'gpu', 'SET gpusort.verify = full', $keys), $order,
			"$keys: through a ring that somebody writes to");
	}
	$noticed = $node->safe_psql('postgres',
		'SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE fallback IS NOT NULL');
	last if $noticed > 3;
}
cmp_ok($noticed, '>', 3, 'which was noticed');
$mangle->kill_kill;
$service->kill_kill;
($mangle, $service) = ();
sound($node);
$node->stop;
done_testing();
