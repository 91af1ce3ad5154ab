# Sorted runs, exchanged rows and states of aggregates on a disk that takes few bytes at a time, is full, or cannot be
# read.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir();
my $library = "$folder/faulty_disk.so";
my $control = "$folder/fault";
build_library($library, 'disk/faulty_disk.c');

my $node;
{
	local $ENV{LD_PRELOAD} = join ' ', $library, $ENV{LD_PRELOAD} // ();
	local $ENV{FAULTY_DISK} = $control;
	$node = start_node('disk', "gpusort.work_mem = '1MB'\nwork_mem = '1MB'\n");
}
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i, repeat(md5(i::text), (i % 5)::int) t FROM generate_series(1,
	100000::int8) i;
ANALYZE t;
SQL
my $query = 'SELECT * FROM t ORDER BY k';
my $expected = $node->safe_psql('postgres', 'SET gpusort.enabled = off; ' . rows_digest($query));
like(plan_of($node, $query, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'), qr/GpuSort.*Disk: \d+kB/s,
	'a GpuSort that goes to disk');

# Runs statements while the disk has a fault: what they print, and their errors.
sub with_fault
{
	my ($fault, $sql) = @_;
	my ($out, $err);

	append_to_file($control, "$fault\n");
	$node->psql('postgres', "$sql; SELECT 'still ' || 'here'", on_error_stop => 0, stdout => \$out, stderr => \$err);
	unlink $control;
	return ($out, $err);
}

my ($out, $err) = with_fault('short', rows_digest($query));
is($err, '', 'few bytes at a time: no error');
like($out, qr/^\Q$expected\E$/m, 'few bytes at a time: the same rows');
($out, $err) = with_fault('short',
	"BEGIN; DECLARE c SCROLL CURSOR FOR $query; MOVE FORWARD ALL FROM c; FETCH BACKWARD 2 FROM c");
is($err, '', 'few bytes at a time, and back: no error');
foreach my $bytes (0, 20000, 3000000)
{
	($out, $err) = with_fault("full $bytes", rows_digest($query));
	like($err, qr/could not write to file "base\/pgsql_tmp[^"]*": No space left on device/,
		"a disk that is full after $bytes bytes");
	like($out, qr/still here/, 'the session goes on');
	is(scalar(temp_files($node)), 0, 'no file is left');
}
($out, $err) = with_fault('broken', rows_digest($query));
like($err, qr/could not read file "base\/pgsql_tmp[^"]*": Input\/output error/, 'a disk that cannot be read');
is(scalar(temp_files($node)), 0, 'no file is left');
($out, $err) = with_fault('cut', rows_digest($query));
like($err, qr/could not read file "base\/pgsql_tmp[^"]*": read only 0 of \d+ bytes/, 'a file that ends too early');
is(scalar(temp_files($node)), 0, 'no file is left');
($out, $err) = with_fault('turned', rows_digest($query));
like($err, qr/file "base\/pgsql_tmp[^"]*" does not hold what was written to it/,
	'a bit that is another when it is read');
like($out, qr/still here/, 'the session goes on');
is(scalar(temp_files($node)), 0, 'no file is left');

# rows that participants hand to each other
my $exchange = "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET gpusort.parallel_windows = exchange; SET enable_gathermerge = off";
my $windows = 'SELECT i, sum(k % 100) OVER (PARTITION BY i % 1000 ORDER BY i) s FROM t';
like($node->safe_psql('postgres', "$exchange; EXPLAIN (COSTS OFF) $windows"), qr/Share/, 'rows are exchanged');
my $right = $node->safe_psql('postgres', 'SET gpusort.enabled = off; ' . rows_digest("$windows ORDER BY i"));
is($node->safe_psql('postgres', "$exchange; " . rows_digest("$windows ORDER BY i")), $right,
	'exchanged rows: the same');
foreach my $fault ('turned', 'cut')
{
	($out, $err) = with_fault("$fault 0 fileset", "$exchange; SELECT count(s) FROM ($windows OFFSET 0) x");
	like($err, qr/ERROR:  temporary file "rows\d" does not hold what was written to it/,
		"exchanged rows that are $fault");
	unlike($err, qr/terminated|connection/, 'which ends the query alone');
	is(scalar(temp_files($node)), 0, 'no file is left');
}

# states of aggregates that workers hand over, of which the largest at least goes to a file
my $states = "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0";
my $aggregate = 'SELECT gpu_count_distinct(k) FROM t';
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
is($node->safe_psql('postgres', "$states; $aggregate"), 100000, 'states in files');
foreach my $fault ('turned', 'cut')
{
	($out, $err) = with_fault("$fault 0 fileset", "$states; $aggregate");
	like($err, qr/ERROR:  temporary file "[\d.]+" does not hold what was written to it/, "a state that is $fault");
	like($out, qr/still here/, 'the session goes on');
	is(scalar(temp_files($node)), 0, 'no file is left');
}
($out, $err) = with_fault('full 20000', "BEGIN; SAVEPOINT s; " . rows_digest($query)
	. '; ROLLBACK TO s; SELECT count(*) FROM t; COMMIT');
like($out, qr/^100000$/m, 'a savepoint before it holds');
is($node->safe_psql('postgres', rows_digest($query)), $expected, 'and then the disk is whole again');

$node->stop;
done_testing();
