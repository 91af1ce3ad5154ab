# A backend gives back what its sorts took, also after errors.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('memory');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, repeat('x', 40) pad, i FROM generate_series(1, 400000::int8) i;
VACUUM ANALYZE t;
SQL

my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
my $contexts = 'SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts';

# Runs a query several times: what the backend has grown by from the third time on, in kB.
sub growth
{
	my ($name, $settings, $query, $error) = @_;
	my ($rss, $palloc);

	$session->query_safe($settings);
	for my $time (1 .. 12)
	{
		$session->query($query);
		if ($error)
		{
			like($session->{stderr}, $error, "$name: the error") if $time == 1;
		}
		elsif ($session->{stderr} ne '') { fail("$name: $session->{stderr}") }
		$session->{stderr} = '';
		if ($time == 3)
		{
			$palloc = $session->query_safe($contexts);
			$rss = backend_kilobytes($pid);
		}
	}
	$palloc = $session->query_safe($contexts) - $palloc;
	$rss = backend_kilobytes($pid) - $rss;
	cmp_ok($palloc, '<', 300, "$name: memory contexts grow by $palloc kB");
	cmp_ok($rss, '<', 4000, "$name: the process grows by $rss kB");
	$session->query_safe('RESET ALL');
}

my $sorted = 'SELECT * FROM t ORDER BY k OFFSET 1000000';
growth('in memory', 'SET gpusort.work_mem = "1GB"', $sorted);
growth('runs', 'SET gpusort.work_mem = "2MB"', $sorted);
growth('left early', 'SET gpusort.work_mem = "1GB"',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k; FETCH 1 FROM c; COMMIT');
growth('error while reading', 'SET gpusort.work_mem = "1GB"',
	'SELECT 1 / (i - 399999), k FROM t ORDER BY k OFFSET 1000000', qr/division by zero/);
growth('error while writing runs', 'SET gpusort.work_mem = "2MB"; SET temp_file_limit = "4MB"',
	$sorted, qr/temp_file_limit/);
growth('timeout', 'SET gpusort.work_mem = "1GB"; SET statement_timeout = 15', $sorted, qr/statement timeout/);
growth('rescans', 'SET gpusort.work_mem = "1GB"',
	'SELECT count(x.k) FROM generate_series(1, 5) g, LATERAL (SELECT k FROM t WHERE i > g * 1000 ORDER BY k '
		. 'OFFSET 10) x');

# after all that the process is about as large as one that never sorted much
$session->query_safe('SELECT 1');
my $fresh = $node->background_psql('postgres');
$fresh->query_safe($contexts);
$fresh->query_safe("SET gpusort.enabled = off; $sorted");
my $usual = backend_kilobytes($fresh->query_safe('SELECT pg_backend_pid()'));
# what it has kept for its next sorts it gives back when it is idle
for (1 .. 120)
{
	last if backend_kilobytes($pid) - $usual < 20000;
	sleep 1;
}
my $more = backend_kilobytes($pid) - $usual;
cmp_ok($more, '<', 20000, "what a backend keeps after its sorts: $more kB more than one that sorted once without them");
$fresh->quit;
$session->quit;

# the most that a fresh backend had, in kB
sub peak
{
	my ($query) = @_;
	my ($kilobytes) = $node->safe_psql('postgres', "$query; SELECT pg_read_file('/proc/self/status')")
		=~ /^VmHWM:\s+(\d+) kB/m;
	return $kilobytes;
}

# what functions need does not grow with what is made on the way: numbers of many digits, copies for comparisons
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE TABLE arrays AS SELECT array_agg(i) a FROM t');
$more = peak('SELECT count(value) FROM arrays, gpu_avg_by_key(a, a)')
	- peak('SELECT count(value) FROM arrays, gpu_reduce_by_key(a, a)');
cmp_ok($more, '<', 10000, "averages of 400000 groups take $more kB more than sums");
my $spilled = "SET gpusort.work_mem = '1MB'; SELECT gpu_count_distinct(%s) FROM t";
$more = peak(sprintf($spilled, 'numrange(i % 1000, 2000)')) - peak(sprintf($spilled, 'ARRAY[i % 1000]'));
cmp_ok($more, '<', 10000, "400000 ranges in files take $more kB more than arrays");

# what blocks hold beyond what was asked for, as huge pages, is little against the limit, and nothing in many groups
my $serial = 'SET max_parallel_workers_per_gather = 0; SET enable_sort = %s; SET gpusort.work_mem = %s; %s';
my $scan = peak(sprintf($serial, 'on', "'2MB'", 'SELECT count(k) FROM t'));
$more = peak(sprintf($serial, 'on', "'2MB'", 'SELECT count(*) FROM (SELECT * FROM t ORDER BY k OFFSET 1) x')) - $scan;
cmp_ok($more, '<', 8000, "a sort of 2 MB takes $more kB more than a scan");
$more = peak(sprintf($serial, 'off', "'256MB'", 'SELECT i % 12, gpu_median(k) FROM t GROUP BY 1')) - $scan;
cmp_ok($more, '<', 14000, "12 groups of 260 kB take $more kB");

# many small sorts that are open at once do not have a huge page each, nor two
$node->safe_psql('postgres', "CREATE TABLE small AS SELECT i, md5(i::text) s, repeat('y', 60) pad FROM "
	. 'generate_series(1, 2500) i; VACUUM ANALYZE small');
my $many = "SET gpusort.enabled = %s; SELECT count(pad), sum(i * r) FROM ("
  . join(' UNION ALL ', ('SELECT * FROM (SELECT *, row_number() OVER (ORDER BY s) r FROM small) x') x 50) . ') y';
$more = peak(sprintf($many, 'on')) - peak(sprintf($many, 'off'));
cmp_ok($more, '<', 30000, "50 sorts of 2500 rows take $more kB more than PostgreSQL's");

# the first rows of an order, of which a few at a time are wide: not all have the memory of a wide one in the end
my $first = <<'SQL';
SET gpusort.enabled = %s; SELECT max(length(x)), max(n) FROM (SELECT x, count(*) OVER () n FROM
	(SELECT i, repeat('x', CASE WHEN i > 1000 AND i % 100 = 0 THEN 100000 ELSE 1 END) x FROM t WHERE i <= 100000
	 OFFSET 0) q ORDER BY i DESC LIMIT 800) p
SQL
like(plan_of($node, $first =~ s/.*?; //r), qr/GpuFirst/, 'a page with its total');
$more = peak($first =~ s/%s/on/r) - peak($first =~ s/%s/off/r);
cmp_ok($more, '<', 24000, "800 rows, 8 of which are wide, take $more kB more than in PostgreSQL's sort");

# copies of values for comparisons stay within the limit: of large ones, which lie out of line, and of the keys of
# strings
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large AS SELECT array(SELECT hashint4(i * 3000 + j) FROM generate_series(1, 3000) j) a
	FROM generate_series(1, 6000) i;
CREATE TABLE cases AS SELECT (SELECT string_agg(CASE hashint4(i * 300 + j) % 2 WHEN 0 THEN 'a' ELSE 'A' END, '')
	FROM generate_series(1, 300) j) s
	FROM generate_series(1, 15000) i;
SQL
my $limited = "SET gpusort.enabled = %s; SET gpusort.work_mem = '16MB'; SET work_mem = '16MB'; SELECT count(*) FROM "
	. "(SELECT * FROM %s OFFSET 1) x";
$more = peak(sprintf($limited, 'on', 'large ORDER BY a')) - peak(sprintf($limited, 'off', 'large ORDER BY a'));
cmp_ok($more, '<', 24000, "70 MB of arrays take $more kB more than in PostgreSQL's sort");
SKIP:
{
	skip 'no en_US.UTF-8', 1 if $node->psql('postgres', q(CREATE COLLATION english (locale = 'en_US.UTF-8'))) != 0;
	$more = peak(sprintf($limited, 'on', 'cases ORDER BY s COLLATE english'))
		- peak(sprintf($limited, 'off', 'cases ORDER BY s COLLATE english'));
	cmp_ok($more, '<', 20000, "15000 tied strings take $more kB more than in PostgreSQL's sort");
}
$node->stop;
done_testing();
