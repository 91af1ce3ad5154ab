# Every allocation and system call fails once, in the service and in a backend that asks it, in a sort, a spilled sort,
# an aggregate and a function: the answer is right, whatever fails in the service, and neither side keeps anything.  All
# of them are for `make test-large`; `make test` takes some, by the seed.
use strict;
use warnings;

use Errno qw(EINTR);
use GpuSortCalls;
use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

build_calls();
my $node = preloaded(sub { service_node('calls', '--idle=1', <<'CONF') });
shared_preload_libraries = 'gpusort'
gpusort.engine = gpu
work_mem = '1MB'
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i % 7 g, i, md5((i % 3000)::text) COLLATE "C" s
	FROM generate_series(1, 30000::int8) i;
CREATE TABLE a AS SELECT array_agg(k) k, array_agg(s) s, array_agg(g) g FROM (SELECT * FROM t LIMIT 5000) x;
VACUUM ANALYZE t, a;
SQL

my %asks = (
	sort => [ '', rows_hash('SELECT * FROM t ORDER BY s, k DESC') ],
	spilled => [ "SET gpusort.work_mem = '1MB'", rows_hash('SELECT * FROM t ORDER BY k') ],
	aggregate => [
		'',
		'SELECT hashtext(string_agg(x::text, chr(10))) FROM (SELECT g, count(DISTINCT s), array_agg(k ORDER BY s, k) a '
			. 'FROM t GROUP BY g ORDER BY g) x'
	],
	function => [
		'',
		'SELECT hashtext(gpu_sort(k)::text), hashtext(gpu_distinct(s)::text), (SELECT hashtext(string_agg(r::text, '
			. 'chr(10))) FROM gpu_reduce_by_key(s, g) r), '
		  . "hashtext(gpu_scan(g, 'sum')::text) FROM a"
	]);
foreach my $name (sort keys %asks)
{
	my ($settings, $query) = @{ $asks{$name} };
	my %how = (
		name => $name,
		gpu => 1,
		settings => $settings,
		query => $query,
		expected => $node->safe_psql('postgres',
			"$settings; SET gpusort.engine = cpu; SET gpusort.enabled = off; SET gpusort.aggregates = off; $query"));

	foreach my $who ('service', 'backend')
	{
		my %where = (%how, name => "$name, $who", service => $who eq 'service');

		sweep($node, %where, kind => 'memory');
		sweep($node, %where, kind => 'system');
		sweep($node, %where, kind => 'system', all => 1, some => 3);
		sweep($node, %where, kind => 'system', error => EINTR);
	}
	sweep($node, %how, kind => 'palloc');
}
sound($node);
$node->stop;
is(service_pids($node), 0, 'no process is left');
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
