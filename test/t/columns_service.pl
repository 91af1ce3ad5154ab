# Resident columns and their service: waits that are cancelled, databases apart, settings that reach a running service,
# options of the service, and what becomes of a database's tables when it is dropped.
# tags: service
use strict;
use warnings;

use GpuSortService;
use GpuSortTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'columns in host memory' if $engine eq 'gpu';
my $node = service_node('columns_service', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
gpusort.columns_threads = 1
CONF
my $long = "SELECT rows, reason FROM gpusort_columns_check('big', array_fill('id'::text, ARRAY[1600]))";
my $short = "SELECT rows, from_columns > 0, reason FROM gpusort_columns_check('t', '{id}')";

sub one { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

# Makes a table of some rows.
sub make
{
	my ($table, $rows, $database) = @_;

	one("CREATE TABLE $table AS SELECT i id, i a FROM generate_series(1, $rows) i", $database);
	wait_visible($node, $table, $database);
}

# Makes a table and holds it.
sub hold
{
	my ($table, $rows, $database) = @_;

	make($table, $rows, $database);
	one("SELECT gpusort_columns_add('$table')", $database);
}

# Tells the service other settings.
sub set
{
	my ($setting) = @_;

	$node->append_conf('postgresql.conf', "$setting\n");
	forgive($node);
	sleep 0.5;
}

# Sends a query from a session, and does not wait for its answer.
sub send_query
{
	my ($query) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_until(qr/begun/, "\\echo begun\n$query;\n");
	return $session;
}

# Sessions that run a query.
sub active
{
	my ($query) = @_;
	return one("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND position('$query' IN query) > 0 AND "
			. 'pid <> pg_backend_pid()');
}

# Cancels them.
sub cancel
{
	my ($query) = @_;
	one("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND "
			. "position('$query' IN query) > 0 "
			. 'AND pid <> pg_backend_pid()');
}

hold('t', 10000);
hold('big', 400000);
is(one($short), '10000|t|', 'answered from columns');

# cancels in the queue, while others have the pool's only thread for some seconds
{
	my @long = map { send_query($long) } 1 .. 4;
	my ($waiting, $err);

	wait_until(sub { active('array_fill') == 4 }, 'the pool has work');
	$node->psql('postgres', "SET statement_timeout = '300ms'; $short", stderr => \$err);
	like($err, qr/canceling statement due to statement timeout/, 'a query that waits is cancelled by its timeout');
	$waiting = send_query($short);
	sleep 0.3;
	is(active("columns_check(''t''"), 1, 'another one waits');
	cancel("columns_check(''t''");
	wait_until(sub { active("columns_check(''t''") == 0 }, 'and is cancelled by somebody', 1);
	cmp_ok(active('array_fill'), '>', 0, 'the pool has had work all the time');
	cancel('array_fill');
	$_->quit foreach $waiting, @long;
	like(slurp_file($node->logfile), qr/canceling statement due to user request/, 'as a user asked for');
	is(one($short), '10000|t|', 'the next one is answered');
}

# a session that is cancelled while the service does not answer takes no answer for that of a later question
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $backend = $session->query_safe('SELECT pg_backend_pid()');
	my ($service) = service_pids($node);
	my $big = "SELECT rows, from_columns > 0, reason FROM gpusort_columns_check('big', '{a}')";
	my @before;

	foreach my $question ($short, 'SELECT count(*) FROM gpusort_columns', $short, $big)
	{
		is($session->query_safe($short), '10000|t|', 'before a cancel');
		$session->query_safe("SELECT count(*) FROM gpusort_columns; $big");
		@before = held($backend) unless @before;
		stop_process($service);
		$session->query_safe("SET statement_timeout = '300ms'");
		$session->query($question);
		like($session->{stderr}, qr/canceling statement due to statement timeout/, 'cancelled while it waits');
		$session->{stderr} = '';
		kill 'CONT', $service;
		$session->query_safe('RESET statement_timeout');
		is($session->query_safe($big), '400000|t|', 'the next answer is its own');
		is($session->query_safe($short), '10000|t|', 'and the one after it');
	}
	is_deeply([ held($backend) ], \@before, 'descriptors and mappings are as before');
	$session->quit;
}

# databases
one('CREATE DATABASE d');
one('CREATE EXTENSION gpusort', 'd');
hold('t', 300000, 'd');
my ($here, $there) = map { one("SELECT 't'::regclass::oid", $_) } 'postgres', 'd';
isnt($here, $there, 'two tables');
is(one($short), '10000|t|', 'each database has its own');
is(one($short, 'd'), '300000|t|', 'of the same name');

# settings
my ($pid) = service_pids($node);
my ($out, $err);
make('more', 400000);
set('gpusort.columns_memory = 1MB');
$node->psql('postgres', "SELECT gpusort_columns_add('more')", stderr => \$err);
like($err, qr/memory/, 'nothing more is held under a lower limit');
is(one($short), '10000|t|', 'what was held remains');
is(one($short, 'd'), '300000|t|', 'in both databases');
set('gpusort.columns_memory = 8MB');
$node->psql('postgres', "SELECT gpusort_columns_add('more')", stderr => \$err);
like($err, qr/memory/, 'a limit that three tables do not fit');

# a dropped database
one('DROP DATABASE d');
wait_until(sub { $node->psql('postgres', "SELECT gpusort_columns_add('more')", stderr => \$err) == 0 },
	'its tables make room for others', 60);
is_deeply([ service_pids($node) ], [$pid], 'the service has run all the time');

# on devices that are made up
service_with($node, '--devices=2');
wait_until(sub { one($short) eq '10000|t|' }, 'answered by a service with other options');
cmp_ok(one('SELECT sum(reserved_bytes) FROM gpusort_devices'), '>=', 10000 * 8, 'from a device');
$node->stop;
sound($node);
done_testing();
