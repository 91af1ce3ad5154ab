# After thousands of sorts of several sessions the service holds what it held before: descriptors, rings, and on a GPU
# device memory.
# tags: service
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $sorts = $engine eq 'gpu' ? 10000 : 2000;
my $sessions = 8;
my $node = service_node('many', '--idle=1', '');
make_table($node, 20000);

# What nvidia-smi says the service holds on GPUs, in MB, or where it does not tell processes apart, what is held at all;
# 0 where there is none.
sub device_memory
{
	my ($pid) = @_;
	return 0 if $engine ne 'gpu';
	my $query = 'nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits';
	my @held = map { /^\s*$pid\s*,\s*(\d+)/ ? $1 : () } `$query`;
	@held = `nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits` if !@held;
	my $total = 0;
	$total += $_ foreach @held;
	return $total;
}

# Waits until all rings are gone and devices have given back what they kept, then counts.
sub at_rest
{
	wait_until(sub { $node->safe_psql('postgres', 'SELECT max(pinned_bytes) FROM gpusort_devices') eq '0' }, 'no ring');
	sleep(2.5);
	my ($service) = service_pids($node);
	wait_until(sub { settled(sub { held($service) }) }, 'nothing is on its way');
	return [ held($service), device_memory($service) ];
}

my $script = $node->basedir . '/many.sql';
append_to_file($script, <<'SQL');
SET gpusort.engine = gpu;
\set from random(1, 15000)
\set rows random(10, 5000)
SELECT count(*) FROM (SELECT i FROM t WHERE i BETWEEN :from AND :from + :rows ORDER BY k OFFSET 1) x;
SELECT count(*) FROM (SELECT i FROM t WHERE i BETWEEN :from AND :from + :rows ORDER BY s COLLATE "C", k OFFSET 1) x;
SQL
sub many
{
	my ($number, $name) = @_;
	$node->command_ok([ 'pgbench', '-n', '-c', $sessions, '-j', '2', '-t', $number / $sessions / 2, '-f', $script,
		'postgres' ], $name);
}

many(160, 'some sorts');
my $before = at_rest();
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
many($sorts, "$sorts sorts");
my $after = at_rest();
wait_until(sub { (held((service_pids($node))[0]))[0] <= $before->[0] }, 'no descriptor more');
$after = at_rest();
is($node->safe_psql('postgres',
	"SELECT sum(jobs) FROM gpusort_stat WHERE engine = '$engine_kind' AND fallback IS NULL"), $sorts,
	'all in the service');
is_deeply($after, $before, 'it holds what it held before: descriptors, rings, MB of device memory')
	or diag("@$before / @$after");
note "@$after";
is($node->safe_psql('postgres', 'SELECT sum(reserved_bytes), sum(jobs) FROM gpusort_devices'), '0|0',
	'and nothing is reserved');
is(service_pids($node), 1, 'by the same process');
sound($node);
$node->stop;
done_testing();
