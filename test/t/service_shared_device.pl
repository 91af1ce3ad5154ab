# Two clusters of one host that share a device: each has a service of its own, which keeps to its
# gpusort.max_device_memory, and what happens to one of them does not happen to the other.
# tags: service
use strict;
use warnings;

use GpuSortService;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $limit = 2 * 1024 * 1024;
# the first of the host's; the CPU engine makes up so many
my $device = $engine eq 'gpu' ? 0 : 1;
my @nodes = map { service_node($_, '', "gpusort.devices = '$device'\ngpusort.max_device_memory = 2MB\n") } 'first',
	'second';
my (%right, %service, %script);
foreach my $node (@nodes)
{
	make_table($node);
	$right{$node} = digest($node, 'cpu');
	is(digest($node, 'gpu'), $right{$node}, $node->name . ': sorts on the device');
	like(explain_sort($node, 'gpu'), qr/Engine: $engine_name.*Runs: [1-9]/s,
		'in parts, because all is more than it may have there');
	($service{$node}) = service_pids($node);
	$script{$node} = $node->basedir . '/sorts.sql';
	# a wrong order is an error
	append_to_file($script{$node}, "SET gpusort.engine = gpu;\n"
		  . "SELECT 1 / (md5(string_agg(i::text, ',')) = '$right{$node}')::int FROM (SELECT i FROM t ORDER BY k) x;\n");
}
isnt($service{ $nodes[0] }, $service{ $nodes[1] }, 'each cluster has its own service');

# Starts sorts in four sessions of a cluster.
sub start_sorts
{
	my ($node, $sorts) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '4', '-t', $sorts, '-h', $node->host, '-p', $node->port, '-f', $script{$node},
			'postgres' ],
		'>', \$out, '2>', \$err);
	return { node => $node, run => $run, out => \$out, err => \$err };
}

# Waits for their end: true if all sorts were right.
sub sorts_are_right
{
	my ($sorts) = @_;
	my $right = $sorts->{run}->finish;
	diag(${ $sorts->{err} }) unless $right;
	return $right;
}

# Both at once.
my @most = (0, 0);
my @running = map { start_sorts($_, 8) } @nodes;
while (grep { $_->{run}->pumpable } @running)
{
	$_->{run}->pump_nb foreach grep { $_->{run}->pumpable } @running;
	foreach my $i (0, 1)
	{
		my $reserved = $nodes[$i]->safe_psql('postgres',
			'SELECT coalesce(max(reserved_bytes), 0) FROM gpusort_devices');
		$most[$i] = $reserved if $reserved > $most[$i];
	}
}
foreach my $i (0, 1)
{
	my $name = $nodes[$i]->name;
	ok(sorts_are_right($running[$i]), "$name: right while the other sorts, too");
	cmp_ok($most[$i], '<=', $limit, 'and within its own limit');
	cmp_ok($nodes[$i]->safe_psql('postgres',
		"SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE engine = '$engine_kind'"), '>', 0,
		'by its own service');
	is($nodes[$i]->safe_psql('postgres', 'SELECT sum(reserved_bytes) FROM gpusort_devices'), '0', 'all given back');
}

# One service is killed, then its whole cluster.
@running = map { start_sorts($_, 8) } @nodes;
kill 'KILL', $service{ $nodes[0] };
ok(sorts_are_right($_), $_->{node}->name . ': right when the first one\'s service is killed') foreach @running;
is((service_pids($nodes[1]))[0], $service{ $nodes[1] }, 'the other one\'s goes on');
is(counted($nodes[1], 'GPU service was lost'), 0, 'and no sort of that was sent elsewhere');
my $last = start_sorts($nodes[1], 4);
$nodes[0]->stop('immediate');
ok(sorts_are_right($last), 'right when the first cluster ends');
wait_until(sub { service_pids($nodes[0]) == 0 }, 'whose service ends with it');
is((service_pids($nodes[1]))[0], $service{ $nodes[1] }, 'and no other');

done_testing();
