# Every allocation and system call fails once, in the service and in a backend that asks it, in a sort, a spilled sort,
# an aggregate and a function: the answer is right, whatever fails in the service, and neither side keeps anything.  All
# of them are for `make test-large`; `make test` takes some, by the seed.  ASKS=spilled asks that alone.
# tags: slow
use strict;
use warnings;

use GpuSortCalls;
use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

build_calls();
# where all calls fail nothing answers
my $node = preloaded(sub { service_node('calls', '--idle=1', <<"CONF") });
gpusort.timeout = $impatient
shared_preload_libraries = 'gpusort'
gpusort.engine = gpu
work_mem = '1MB'
CONF
make_tables($node);

foreach my $name (asked(keys %asks_of_all))
{
	my ($settings, $query) = @{ $asks_of_all{$name} };
	my %how = (
		name => $name,
		gpu => 1,
		settings => $settings,
		query => $query,
		expected => $node->safe_psql('postgres',
			"$settings; SET gpusort.engine = cpu; SET gpusort.enabled = off; SET gpusort.aggregates = off; $query"));

	sweep_service($node, %how);
}
sound($node);
$node->stop;
is(service_pids($node), 0, 'no process is left');
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
