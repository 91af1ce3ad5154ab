# Every allocation, system call and write of a temporary file fails once, in a sort, a spilled sort, an aggregate, a
# function, an index build and rows that go to the client: the answer is right, or there is a clean error, and nothing
# is left behind.  All of them are for `make test-large`; `make test` takes some, by the seed.  ASKS=spilled asks that
# alone.
# tags: slow
use strict;
use warnings;

use Errno qw(EINTR);
use GpuSortCalls;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

build_calls();
my $node = preloaded(sub { start_node('calls', <<'CONF') });
gpusort.engine = cpu
gpusort.index_builds = force
max_worker_processes = 8
work_mem = '1MB'
dynamic_shared_memory_type = posix
CONF
make_tables($node);

my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2';
# an index that is built and read, and given up afterwards
my $by_index = 'BEGIN; CREATE INDEX built ON t (s, k); SET LOCAL enable_seqscan = off; '
	. 'SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; '
	. rows_hash("SELECT i FROM t WHERE s > '' ORDER BY s, k");
my %asks = (
	%asks_of_all,
	back => [
		"SET gpusort.work_mem = '1MB'",
		'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT i FROM t ORDER BY k; MOVE FORWARD ALL FROM c; FETCH BACKWARD 3 FROM '
			. 'c; COMMIT'
	],
	'spilled aggregate' => [ "SET gpusort.work_mem = '1MB'",
		'SELECT count(DISTINCT s), gpu_count_distinct(k), gpu_count_distinct(n) FROM t' ],
	parallel => [ $parallel, rows_hash('SELECT * FROM t ORDER BY k') ],
	index => [ 'SET max_parallel_maintenance_workers = 0', $by_index ],
	'parallel index' => [ 'SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0', $by_index ],
	output => [ '', 'SELECT i, g, n, s, date \'2020-01-01\' + g::int, k < 0 FROM t WHERE i < 400 ORDER BY k' ],
	copy => [ '', 'COPY (SELECT i, n, s FROM t WHERE i < 400 ORDER BY n, i) TO STDOUT' ],
	shares => [
		$parallel,
		'SELECT hashtextextended(string_agg(x::text, chr(10)), 0) FROM (SELECT i, rank() OVER (PARTITION BY g ORDER BY '
			. 'k) FROM t) x (i, r) WHERE r < 3'
	]);

foreach my $name (asked(keys %asks))
{
	my ($settings, $query) = @{ $asks{$name} };
	my %how = (
		name => $name,
		settings => $settings,
		query => $query,
		expected => $node->safe_psql('postgres',
			"$settings; SET gpusort.enabled = off; SET gpusort.aggregates = off; $query"),
		anybody => scalar($name =~ /parallel|shares/),
		open => scalar($name =~ /index/));

	sweep($node, %how, kind => 'palloc');
	sweep($node, %how, kind => 'memory', anybody => 0);
	# the server itself sends what gpusort has written
	next if $name =~ /output|copy/;
	sweep($node, %how, kind => 'system');
	sweep($node, %how, kind => 'system', all => 1, some => 3);
	sweep($node, %how, kind => 'system', error => EINTR);
	next unless $name =~ /spilled|back/;
	sweep($node, %how, kind => 'write');
	sweep($node, %how, kind => 'write', all => 1, some => 3);
}
cmp_ok($node->safe_psql('postgres', "SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'index'"), '>', 0,
	'indexes were built by gpusort') if asked('index');
is(scalar(temp_files($node)), 0, 'no file is left');
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC|TRAP:|all server processes terminated/, 'the server never restarted');
unlike($log, qr/WARNING:  (?!there is)/, 'no leak was warned of');
$node->stop;
done_testing();
