# gpusort_progress of sorts whose keys are in the service: one that the service holds, seen from another session, one
# that goes on on the CPU, and one that gives its rows out.
# tags: service
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

# the service has the rows in its hands, and does not stir
my $node = service_node('service_progress', '--fault=hang@finish --stall=600', <<'CONF');
shared_preload_libraries = 'gpusort'
gpusort.engine = gpu
gpusort.gpu_min_rows = 0
gpusort.timeout = 600s
CONF
make_table($node);

# What another session sees.
sub progress
{
	my ($columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM gpusort_progress");
}

my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k');
$session->{stdin} .= "MOVE 10000 c;\n";
$session->{run}->pump_nb;
$node->poll_query_until('postgres', "SELECT phase = 'ordering' FROM gpusort_progress")
  or die 'the sort does not come to its place';
is(progress('engine, phase, rows, rows_expected, runs'), "$engine_kind|ordering|150000|150000|0",
	'a sort in the service');
is($node->safe_psql('postgres', 'SELECT sum(jobs) FROM gpusort_devices'), '1', 'which runs it');

# the same sort on the CPU
kill 'KILL', service_pids($node);
$session->query_safe('SELECT 1');
is(progress('engine, phase, rows, rows_expected'), 'CPU|giving rows out|8192|150000', 'once the service is lost');
$session->query_safe('COMMIT');
is(counted($node, 'GPU service was lost'), 1, 'which is counted');
is(progress('count(*)'), '0', 'and gone with its cursor');

# done by the service
service_with($node, '');
wait_until(sub { explain_sort($node, 'gpu') =~ /Engine: $engine_name/ }, 'the service is back');
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; MOVE 10000 c');
is(progress('engine, phase, rows, rows_expected'), "$engine_kind|giving rows out|8192|150000",
	'rows that the service sorted');
$session->query_safe('COMMIT');
$session->quit;
$node->stop;
done_testing();
