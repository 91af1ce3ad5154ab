# The array functions' work in the GPU service, and every way in which it can fail there: the answer is that of the CPU,
# and the operation and the reason are counted.
# tags: service
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = service_node('functions', '');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT array_agg(hashint8(i) % 1000 ORDER BY i) i4, array_agg(hashint8extended(i, 1) % 100000
	ORDER BY i) i8,
	array_agg(nullif(hashint8(i) % 50, 7) / 4.0::float8 ORDER BY i) f8, array_agg(md5((i % 500)::text) ORDER BY i) s,
	array_agg(nullif(i % 3, 2) = 0 ORDER BY i) b, array_agg(i / 40 ORDER BY i) runs
FROM generate_series(1, 60000) i;
SQL

# An operation, and what asks for it.
my @asks = (
	[ 'order', 'gpu_argsort(i8)' ],
	[ 'select', "gpu_select_if(f8, '>=', 2.5::float8)" ],
	[ 'select', "gpu_select_if(s, '<>', md5('7'))" ],
	[ 'partition', 'gpu_partition_if(i8, b)' ],
	[ 'runs', 'gpu_distinct(s)' ],
	[ 'runs', 'gpu_dedup(s)' ],
	[ 'runs', '(SELECT array_agg(r::text) FROM gpu_rle_runs(runs) r)' ],
	[ 'values', 'gpu_sort(i8)' ],
	[ 'values', 'gpu_sort(f8, true)' ],
	[ 'values', 'gpu_distinct(i4)' ],
	[ 'values', '(SELECT gpu_sort_agg(x) FROM unnest(f8) x)' ],
	[ 'scan', "gpu_scan(i4, 'sum', true)" ],
	[ 'scan', "gpu_scan(f8, 'sum')" ],
	[ 'scan', "gpu_scan(f8, 'min')" ],
	[ 'reduce', '(SELECT array_agg(r::text) FROM gpu_reduce_by_key(i8, f8) r)' ],
	[ 'reduce', "(SELECT array_agg(r::text) FROM gpu_reduce_by_key(s, i4, 'max') r)" ]);
my %digest;

sub answer
{
	my ($engine, $ask) = @_;
	return $node->safe_psql('postgres', "SET gpusort.engine = $engine; SELECT md5(($ask)::text) FROM a");
}

sub jobs
{
	my ($op, $where) = @_;
	return $node->safe_psql('postgres', "SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = '$op' AND $where");
}

foreach my $line (@asks)
{
	my ($op, $ask) = @$line;

	$digest{$ask} = answer('cpu', $ask);
	my $before = jobs($op, "engine <> 'CPU' AND fallback IS NULL");
	is(answer('gpu', $ask), $digest{$ask}, "$ask: the same from both");
	cmp_ok(jobs($op, "engine <> 'CPU' AND fallback IS NULL"), '>', $before, "$op: done in the service");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_stat WHERE fallback IS NOT NULL'), '0',
	'without fallbacks');

# A constant that does not fit into a message stays with the CPU.
my $long = "gpu_select_if(s, '<', repeat('f', 9000))";
is(answer('gpu', $long), answer('cpu', $long), 'a long constant');
is(jobs('select', "fallback = 'too large for the GPU service'"), '1', 'is too large for the service');

# Only the aggregates' sort_key goes through two columns; runs carry row numbers of the first.
is($node->safe_psql('postgres',
	'SET gpusort.engine = gpu; SELECT md5(gpu_rle(x, y)::text) FROM (SELECT unnest(runs) x, unnest(i8) y FROM a) u'),
	$node->safe_psql('postgres', 'SET gpusort.engine = cpu; SELECT md5(gpu_rle(x, y)::text) FROM (SELECT unnest(runs) '
		. 'x, unnest(i8) y FROM a) u'),
	'gpu_rle(value, sort_key)');

# A sum that leaves bigint is the same error from both, and no failure of the service.
foreach my $engine ('cpu', 'gpu')
{
	my ($rc, $out, $err) = $node->psql('postgres',
		"SET gpusort.engine = $engine; SELECT gpu_scan(array_agg(9000000000000000000 + i)) FROM generate_series(1, "
			. "5000) i");
	like($err, qr/bigint out of range/, "$engine: bigint out of range");
}
is(jobs('scan', 'fallback IS NOT NULL'), '0', 'which is no fallback');

my %reason = (
	crash => 'GPU service was lost',
	hang => 'GPU service did not answer',
	corrupt => 'GPU service gave a wrong answer',
	oom => 'out of device memory',
	'short:10' => 'GPU service broke the protocol');
my @faults = (
	[ 'oom', 'begin' ], [ 'oom', 'add' ], [ 'oom', 'finish' ], [ 'corrupt', 'finish' ], [ 'short:10', 'next' ],
	[ 'crash', 'finish' ],
	[ 'hang', 'finish' ]);
foreach my $fault (@faults)
{
	my ($kind, $stage) = @$fault;

	$node->append_conf('postgresql.conf', 'gpusort.timeout = ' . ($kind eq 'hang' ? $impatient : $timeout));
	service_with($node, "--fault=$kind\@$stage --fault-every=1");
	foreach my $line (@asks)
	{
		my ($op, $ask) = @$line;

		# a wrong sum of floats cannot be told from a right one; a service that dies for each is given up
		next if $kind eq 'corrupt' && $op eq 'scan';
		next if $kind =~ /crash|hang/ && $ask !~ /reduce_by_key\(i8/;
		forgive($node) if $kind eq 'corrupt';
		is(answer('gpu', $ask), $digest{$ask}, "$kind\@$stage: $ask");
		cmp_ok(jobs($op, "fallback = '$reason{$kind}'"), '>', 0, "$kind\@$stage: $op counted");
	}
}

# Cancelled while waiting for the service, which nothing else would end for an hour.
$node->append_conf('postgresql.conf', 'gpusort.timeout = 1h');
service_with($node, '--fault=hang@finish');
my ($seconds, $status, $out, $err) = GpuSortTest::timed($node,
	"SET gpusort.engine = gpu; SET statement_timeout = '500ms'; SELECT gpu_distinct(s) FROM a");
like($err, qr/canceling statement due to statement timeout/, 'statement_timeout while waiting');
cmp_ok($seconds, '<', 600, 'at once');
service_with($node, '');
is($node->safe_psql('postgres', 'SELECT sum(reserved_bytes) FROM gpusort_devices'), '0',
	'no device memory is reserved');

sound($node);
$node->stop;
done_testing();
