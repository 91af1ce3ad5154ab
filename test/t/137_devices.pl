# Several devices of one service: sessions are spread over them, each gets its share of the jobs, and every answer is
# that of a sort in the backend, row by row.  Then a service that dies with jobs on all of them.
use strict;
use warnings;

use GpuSortService;
use IPC::Run ();
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

my @before = jobs_done();
my $at_once = 0;
my $sessions = start_sessions(8, 6);
while ($sessions->{run}->pumpable)
{
	$sessions->{run}->pump_nb;
	my $busy = $node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_devices WHERE jobs > 0');
	$at_once = $busy if $busy > $at_once;
}
ok(all_right($sessions), 'eight sessions: every answer is right');
is($at_once, $devices, 'all devices were at work at once');
my @after = jobs_done();
my ($sum, $least) = (0, 1e9);
foreach my $i (0 .. $#after)
{
	my $jobs = $after[$i] - $before[$i];
	$sum += $jobs;
	$least = $jobs if $jobs < $least;
}
cmp_ok($sum, '>=', 8 * 6 * 3, 'by jobs of the service');
cmp_ok($least * $devices * 2, '>=', $sum, "each device had at least half of its share of $sum jobs: @after");
is($node->safe_psql('postgres', 'SELECT sum(jobs), sum(reserved_bytes) FROM gpusort_devices'), '0|0', 'all given back');

# The service dies with jobs on all devices, and comes back with all of them.
my ($service) = service_pids($node);
$sessions = start_sessions(8, 6);
sleep(0.5);
kill 'KILL', $service;
ok(all_right($sessions), 'right when the service is killed');
wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM gpusort_devices WHERE service = 'running'")
	== $devices },
	'it comes back with all devices');
$sessions = start_sessions(4, 3);
ok(all_right($sessions), 'and goes on');
is(scalar(grep { $_ > 0 } jobs_done()), $devices, 'each has jobs again');

sound($node);
$node->stop;
done_testing();
