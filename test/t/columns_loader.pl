# Resident columns: pages that a loader has read and that change before the keeper knows of them.  The loader is stopped
# in the midst of a transaction in which it holds no snapshot, as of a table without strings, while windows move on.
use strict;
use warnings;

use GpuSortColumns;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir();
my $library = "$folder/stopped_reader.so";
build_library($library, 'disk/stopped_reader.c');
local $ENV{STOPPED_READER} = "$folder/stops";
local $ENV{LD_PRELOAD} = $library;
my $node = columns_node('columns_loader', 'max_parallel_maintenance_workers = 1');
my $compare = comparison('s', 'a', 'b');

# The loader's process, if it is stopped.
sub stopped_loader
{
	my $pid = run("SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'gpusort columns loader'");

	return $pid ne '' && eval { slurp_file("/proc/$pid/stat") } =~ /\) T / ? $pid : undef;
}

# a row a page
run('CREATE TABLE t (a int8, b int4)', 'INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i',
	'CREATE TABLE s (a int8, b int4, pad text)', 'ALTER TABLE s ALTER pad SET STORAGE PLAIN',
	"INSERT INTO s SELECT i, i, repeat('x', 7000) FROM generate_series(0, 4999) i", 'VACUUM (FREEZE)',
	"SELECT gpusort_columns_add('t')");
my $path = run("SELECT pg_relation_filepath('s')");

# nothing of the table is in buffers; the next keeper loads it
$node->restart;
all_held('a table');
append_to_file($ENV{STOPPED_READER}, "loader /$path 10 100\n");
run("INSERT INTO gpusort_columns_choice VALUES ('s', '{a,b}')");
end_keeper();
right('when the next keeper comes');
my $loader;
wait_until(sub { $loader = stopped_loader() }, 'a loader is stopped');
is(run("SELECT backend_xmin FROM pg_stat_activity WHERE pid = $loader"), '', 'which holds no snapshot');

# It has read pages 64 to 99 in this transaction.
run("UPDATE s SET b = b + 1 WHERE ctid >= '(64,0)' AND ctid < '(99,0)'");
next_window();
run('VACUUM s');
next_window() for 1 .. 2;
kill 'CONT', $loader;
wait_until(
	sub {
		my @answer = compared(run($compare));
		return $answer[0] ne 't' || $answer[1] > 0 && $answer[4] == 0;
	},
	'held');
right('of pages that have changed since they were read', run($compare));
$node->stop;
done_testing();
