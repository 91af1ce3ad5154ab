# Memory that the service keeps of questions over columns for the next ones of the same role, and gives back.
# tags: service
use strict;
use warnings;

use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'columns in host memory' if $engine eq 'gpu';
my $node = service_node('columns_scratch', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
gpusort.columns_threads = 1
CONF
my $role = 'another';

sub one { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }

# Makes a table of some groups of two rows, and holds it.
sub hold
{
	my ($table, $groups) = @_;

	one("CREATE TABLE $table AS SELECT i % $groups id, i a FROM generate_series(1, 2 * $groups) i");
	wait_visible($node, $table);
	one("SELECT gpusort_columns_add('$table')");
}

# Asks for the last row before each, which takes scratch for all rows.
sub ask
{
	my ($table, $user) = @_;

	return one(<<SQL, $user);
SET gpusort.columns = force;
SELECT sum(b) FROM (SELECT lag(a) OVER (PARTITION BY id ORDER BY a) b FROM $table) q
SQL
}

one("CREATE ROLE $role LOGIN");
hold('small', 20000);
hold('large', 500000);
one("GRANT SELECT ON small, large TO $role");
my $expected = one(<<'SQL');
SET gpusort.enabled = off;
SELECT sum(b) FROM (SELECT lag(a) OVER (PARTITION BY id ORDER BY a) b FROM large) q
SQL
my ($service) = service_pids($node);
my $slack = 4000;
my $before;

# What the service has taken since; a sanitizer keeps memory of its own, which nobody gives back.
sub taken { return backend_kilobytes($service) - $before }

sub measured
{
	my ($test) = @_;

	SKIP:
	{
		skip 'memory of a sanitizer', 1 if grep { $ENV{$_} } 'ASAN_OPTIONS', 'TSAN_OPTIONS';
		$test->();
	}
	return;
}

ask('small');
$before = backend_kilobytes($service);
is(ask('large'), $expected, 'a large question');
my $kept = taken();
measured(sub { cmp_ok($kept, '>', 2 * $slack, "what it worked in is kept: $kept kB") });
is(ask('large'), $expected, 'and serves the next one');
measured(sub { cmp_ok(taken(), '<', $kept + $slack, 'which takes no more') });
ask('small', $role);
measured(sub { cmp_ok(taken(), '<', $kept / 2, "but it does not serve another role's") });
is(ask('large', $role), $expected, 'whose large question');
measured(sub { wait_until(sub { taken() < $slack }, 'goes back when nobody asks') });

done_testing();
