# Several devices of one service: sessions are spread over them, each gets its share of the jobs, and every answer is
# that of a sort in the backend, row by row.  Then a service that dies with jobs on all of them.
# tags: service
use strict;
use warnings;

use GpuSortService;
use IPC::Run ();
use List::Util qw(sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'one GPU' if $devices < 2;

my $node = service_node('devices', $engine eq 'gpu' ? '' : "--devices=$devices");
make_table($node);

# Queries that are true if their answer is: numbers, strings, several keys, the first rows, groups.
my @queries = map { "SELECT md5(string_agg(x::text, ',')) FROM (SELECT $_) q" }
  ('i x FROM t ORDER BY k', 'i x FROM t ORDER BY s, k DESC', 's x FROM t ORDER BY s COLLATE "C" DESC, i LIMIT 500',
	'i x FROM t ORDER BY k DESC LIMIT 2000', 'k x FROM t GROUP BY k ORDER BY k');
my $script = $node->basedir . '/sorts.sql';
my $set = "SET enable_hashagg = off;\n";
append_to_file($script, "SET gpusort.engine = gpu;\n$set");
foreach my $query (@queries)
{
	my $right = $node->safe_psql('postgres', "SET gpusort.engine = cpu; $set $query");
	append_to_file($script, "SELECT 1 / (($query) = '$right')::int;\n");
}

# Starts pgbench in so many sessions; a wrong answer ends it with an error.
sub start_sessions
{
	my ($sessions, $turns) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start(
		[
			'pgbench', '-n', '-c', $sessions, '-j', 2, '-t', $turns, '-h', $node->host, '-p', $node->port, '-f',
				$script,
			'postgres'
		],
		'>', \$out, '2>', \$err);
	return { run => $run, err => \$err };
}

# Its end: true if all answers were right.
sub all_right
{
	my ($sessions) = @_;
	my $right = $sessions->{run}->finish;
	diag(${ $sessions->{err} }) unless $right;
	return $right;
}

# Jobs done by each device.
sub jobs_done
{
	return split /,/, $node->safe_psql('postgres',
		"SELECT string_agg(jobs_done::text, ',' ORDER BY device) FROM gpusort_devices");
}

is($node->safe_psql('postgres', "SET gpusort.engine = gpu; $queries[0]"), digest($node, 'cpu'), 'the service sorts');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_devices'), $devices, 'on all devices');

# Sorts that stand still in the middle, in as many sessions for each device: each device gets its share of them.
my $share = 4;
sub spread
{
	my ($name) = @_;
	my @still = map { $node->background_psql('postgres') } 1 .. $share * $devices;

	# an order that is not looked at beforehand stays in the service until its rows are wanted
	$_->query_safe('SET gpusort.engine = gpu; SET gpusort.verify = off; BEGIN; '
		. 'DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c') foreach @still;
	is($node->safe_psql('postgres', "SELECT string_agg(jobs::text, ',') FROM gpusort_devices"),
		join(',', ($share) x $devices), "$name: all devices are at work at once, each has its share");
	$_->query_safe('COMMIT') foreach @still;
	$_->quit foreach @still;
}
spread('at first');

# A session's next job goes where its engine is open already, if no other device has fewer jobs.
sub stays
{
	my ($still, $session) = map { $node->background_psql('postgres') } 1 .. 2;
	my $next = sub {
		my @before = jobs_done();
		$session->query_safe("SET gpusort.engine = gpu; $queries[0]");
		my @after = jobs_done();
		return join(',', grep { $after[$_] > $before[$_] } 0 .. $#after);
	};

	$still->query_safe('SET gpusort.engine = gpu; SET gpusort.verify = off; BEGIN; '
		. 'DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c');
	my $busy = $node->safe_psql('postgres', 'SELECT device FROM gpusort_devices WHERE jobs > 0');
	my $first = $next->();
	isnt($first, $busy, 'a job goes to a device without one');
	$still->query_safe('COMMIT');
	$still->quit;
	wait_until(sub { $node->safe_psql('postgres', 'SELECT sum(jobs) FROM gpusort_devices') eq '0' }, 'no job is left');
	is($next->(), $first, 'the next one of that session stays there');
	$session->quit;
}
stays();

my @before = jobs_done();
my $many = 4 * $devices;
my $sessions = start_sessions($many, 6);
ok(all_right($sessions), "$many sessions: every answer is right");
my @after = jobs_done();
cmp_ok(sum0(@after) - sum0(@before), '>=', $many * 6 * 3, 'by jobs of the service');
wait_until(sub { $node->safe_psql('postgres', 'SELECT sum(jobs), sum(reserved_bytes) FROM gpusort_devices') eq '0|0' },
	'all given back');

# The service dies with jobs on all devices, and comes back with all of them.
my ($service) = service_pids($node);
$sessions = start_sessions($many, 6);
sleep(0.5);
kill 'KILL', $service;
ok(all_right($sessions), 'right when the service is killed');
wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM gpusort_devices WHERE service = 'running'")
	== $devices },
	'it comes back with all devices');
$sessions = start_sessions($many, 3);
ok(all_right($sessions), 'and goes on');
spread('again');

sound($node);
$node->stop;
done_testing();
