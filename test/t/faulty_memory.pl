# Memory that the kernel does not give, or moves as older kernels do; sorts come out the same.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir();
my $library = "$folder/faulty_memory.so";
my $control = "$folder/fault";
build_library($library, 'memory/faulty_memory.c');

my $node;
{
	local $ENV{LD_PRELOAD} = join ' ', $library, $ENV{LD_PRELOAD} // ();
	local $ENV{FAULTY_MEMORY} = $control;
	$node = start_node('memory', "gpusort.work_mem = '1GB'\ngpusort.engine = cpu\n");
}
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i, repeat(md5(i::text), (i % 5)::int) t FROM generate_series(1,
	60000::int8) i;
ANALYZE t;
SQL
my @queries = ('SELECT * FROM t ORDER BY k', 'SELECT t, k FROM t ORDER BY t COLLATE "C", k');
my @expected = map { $node->safe_psql('postgres', 'SET gpusort.enabled = off; ' . rows_digest($_)) } @queries;

# Sorts, several times in a session, while memory has a fault; kept: what the session keeps of one for the next.
sub with_fault
{
	my ($name, $fault, $kept, $place) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("SET gpusort.kept_memory = '$kept'");
	$session->query_safe(rows_digest($queries[0]));
	append_to_file($control, "$fault\n");
	foreach my $round (1, 2)
	{
		foreach my $i (0, 1)
		{
			is($session->query_safe(rows_digest($queries[$i])), $expected[$i], "$name, $kept kept: the same rows");
			like($session->query_safe("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $queries[$i]"), $place,
				"$name, $kept kept: where they were sorted");
		}
	}
	unlink $control;
	$session->quit;
	return;
}

foreach my $kept (0, '1GB')
{
	with_fault('one area at a time', 'old', $kept, qr/Method: radix.*Memory: \d+kB/s);
	with_fault('no area moves', 'fixed', $kept, qr/Method: radix.*Memory: \d+kB/s);
	with_fault('12 MB in all', 'all 12288', $kept, qr/GpuSort.*(Memory|Disk): \d+kB/s);
	with_fault('no more than 1 MB at a time', 'none 1024', $kept, qr/GpuSort.*(Memory|Disk): \d+kB/s);
	with_fault('no mapping', 'none 0', $kept, qr/GpuSort.*(Memory|Disk): \d+kB/s);
}

$node->stop;
done_testing();
