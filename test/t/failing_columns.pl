# Memory and system calls fail one after the other while resident columns answer, in the service and in the backend that
# asks it: the answer is right, whatever fails in the service, and neither side keeps anything.  All of them are for
# `make test-large`; `make test` takes some, by the seed.  ASKS=rows asks that alone.
# tags: slow
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortCalls;
use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

build_calls();
# where all calls fail nothing answers
my $node = preloaded(sub { service_node('calls', '', <<"CONF") });
gpusort.timeout = $impatient
gpusort.columns_quiet = 1h
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
CONF
make_tables($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE c AS TABLE t;
VACUUM FREEZE ANALYZE c;
SELECT gpusort_columns_add('c')
SQL

my %asks = (
	groups => 'SELECT g, count(*), sum(i), min(k), max(k) FROM c WHERE i > 100 GROUP BY g ORDER BY g',
	rows => 'SELECT * FROM c ORDER BY k DESC LIMIT 50',
	strings => 'SELECT s, count(*) FROM c GROUP BY s ORDER BY s LIMIT 20',
	windows => 'SELECT max(d), sum(d) FROM (SELECT i - lag(i) OVER (PARTITION BY g ORDER BY k) d FROM c) x');

# Waits until a query comes from columns, which a service that has ended took with it.
sub from_columns
{
	my ($query) = @_;
	my $explain = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $query";

	wait_until(sub { columns_used($node->safe_psql('postgres', $explain)) eq 'columns' }, "from columns: $query");
	return;
}

foreach my $name (asked(keys %asks))
{
	my $query = $asks{$name};
	my %how = (
		name => "$name of columns",
		gpu => 1,
		settings => '',
		query => $query,
		ready => sub { from_columns($query) },
		expected => $node->safe_psql('postgres', "SET gpusort.enabled = off; $query"));

	sweep_service($node, %how);
}
sound($node);
$node->stop;
is(service_pids($node), 0, 'no process is left');
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
