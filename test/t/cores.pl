# The cores that gpusort.cores = 0 stands for: those that the process may run on, of many, within its control groups'
# quotas, whatever their files hold.
use strict;
use warnings;

use File::Path qw(make_path remove_tree);
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir();
my $library = "$folder/other_machine.so";
build_library($library, 'cores/other_machine.c');
chmod 0755, $folder;

my $node;
{
	local $ENV{LD_PRELOAD} = join ' ', $library, $ENV{LD_PRELOAD} // ();
	local $ENV{OTHER_MACHINE} = $folder;
	$node = start_node('cores', "gpusort.cores = 0\n");
}
$node->safe_psql('postgres',
	'CREATE TABLE t AS SELECT i, i % 1000 g FROM generate_series(1, 20000) i; '
	  . 'ALTER TABLE t SET (parallel_workers = 6); ANALYZE t');
my $settings = 'SET max_parallel_workers_per_gather = 6; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; '
  . 'SET min_parallel_table_scan_size = 0; SET gpusort.parallel_windows = scan; SET enable_gathermerge = off';
my $query = 'SELECT g, sum(i) OVER (PARTITION BY g ORDER BY i) FROM t';

# How many workers' shares a new session plans, where there are so many cores, and these groups with their quotas.
sub workers
{
	my ($cores, $cgroup, %quotas) = @_;

	unlink "$folder/cores", "$folder/cgroup";
	remove_tree("$folder/groups");
	append_to_file("$folder/cores", "$cores\n");
	append_to_file("$folder/cgroup", $cgroup) if defined $cgroup;
	foreach my $group (keys %quotas)
	{
		make_path("$folder/groups$group");
		append_to_file("$folder/groups$group/cpu.max", $quotas{$group});
	}
	my $plan = $node->safe_psql('postgres', "$settings; EXPLAIN (COSTS OFF) $query");
	return $plan =~ /Workers Planned: (\d+)\n.*Share Key/s ? $1 : 0;
}

is(workers(1), 0, 'one core');
is(workers(3), 2, 'three of many cores');
is(workers(64), 6, 'more than there are workers');
is(workers(8, "1:cpu:/x\n0::/a/b\n", '/a' => "max 100000\n", '/a/b' => "250000 100000\n"), 1, 'a quota');
is(workers(8, "0::/a/b\n", '/a' => "300000 100000\n", '/a/b' => "max 100000\n"), 2, 'of the group above');
is(workers(8, "0::/../../x\n", '' => "400000 100000\n"), 3, 'of a container, whose path leads nowhere');
is(workers(2, "0::/a\n", '/a' => "800000 100000\n"), 1, 'a quota of more than there are');
is(workers(8, "0::/a\n", '/a' => "20000 100000\n"), 0, 'less than a core');
my %nothing = (
	'an empty file' => '',
	'an empty line' => "\n",
	'max' => "max 100000\n",
	'no numbers' => "nan nan\n",
	'one number' => "100000\n",
	'a period of nothing' => "100000 0\n",
	'less than nothing' => "-5 100000\n",
	'bytes' => "\0\1\2\n",
	'a long line' => 'x' x 5000);
is(workers(8, "0::/a\n", '/a' => $nothing{$_}), 6, "no quota: $_") foreach sort keys %nothing;
is(workers(8, $_, '/a' => "100000 100000\n"), 6, 'no group')
  foreach ('', "\n", "0::\n", '0:', "\0" x 5000);
is(workers(8, "0::/" . '/' x 5000), 6, 'a path of nothing');
is(workers(8, "0::/" . '%s%n/' x 400), 6, 'a path that is too long');

$node->stop;
done_testing();
