# GpuSortService.pm: what the tests of the GPU service share.
package GpuSortService;

use strict;
use warnings;

use Exporter 'import';
use File::Find;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(service_node service_with forgive make_table digest explain_sort service_pids stop_process held
	leftovers power_failure wait_until wait_visible settled counted sound $engine $engine_kind $engine_name $devices
	$timeout $impatient $socket);

# The service runs with its CPU engine; GPUSORT_SERVICE_ENGINE=gpu runs the same tests on GPUs.  How the views and
# EXPLAIN name it; devices.
our $engine = $ENV{GPUSORT_SERVICE_ENGINE} // 'cpu';
our $engine_kind = $engine eq 'gpu' ? 'GPU' : 'CPU service';
our $engine_name = $engine eq 'gpu' ? qr/NVIDIA [^\n]+/ : qr/CPU service/;
our $devices = $engine eq 'gpu' ? gpus() : 2;
# below the data directory
our $socket = 'pg_stat_tmp/pgsql_tmp_gpusort';
# how long nobody loses patience with a service that is well, however busy the machine is; and what is set where
# something shall not answer, but a context takes a while
our $timeout = '120s';
our $impatient = $engine eq 'gpu' ? '5s' : '2s';

# GPUs that the service sees.
sub gpus
{
	my $all = () = `nvidia-smi -L` =~ /^GPU /mg;
	return $all unless defined $ENV{CUDA_VISIBLE_DEVICES};
	my $chosen = () = $ENV{CUDA_VISIBLE_DEVICES} =~ /[^,]+/g;
	return $chosen < $all ? $chosen : $all;
}

# A server whose service runs with the given options; what follows the settings is for initdb.
sub service_node
{
	my ($name, $options, $settings, %init) = @_;
	my $node = start_node($name,
		"gpusort.service_options = '--engine=$engine $options'\ngpusort.timeout = $timeout\nrestart_after_crash = on\n"
		. ($settings // ''),
		%init);
	$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
	return $node;
}

# Was this process of the service started with these options?  They come last, behind those of the settings.
sub started_with
{
	my ($pid, $options) = @_;
	my $wanted = join(' ', split(' ', "--engine=$engine $options"));
	my $command = eval { slurp_file("/proc/$pid/cmdline") } // '';

	return join(' ', split(/\0/, $command)) =~ / \Q$wanted\E$/;
}

# Gives the service other options, and waits until it runs with them, if it was started.  It may be coming back from a
# fault, for a moment with the old ones.
sub service_with
{
	my ($node, $options) = @_;
	my ($started, $before) = split /\|/,
		$node->safe_psql('postgres', "SELECT bool_or(service IN ('starting', 'running', 'restarting', 'set aside')), "
			. "max(pid) FROM gpusort_devices"), -1;

	$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=$engine $options'");
	$node->reload;
	wait_until(
		sub {
			my $pid = $node->safe_psql('postgres', "SELECT max(pid) FROM gpusort_devices WHERE service = 'running'");
			return $pid ne '' && $pid ne $before && started_with($pid, $options);
		},
		"service with $options") if $started eq 't';
	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
}

# Reloads the configuration, so that devices which were set aside come back, and waits until new sessions know it;
# counters begin anew.
sub forgive
{
	my ($node) = @_;
	my $turn = time();

	$node->append_conf('postgresql.conf', "test.turn = '$turn'");
	$node->reload;
	wait_until(sub { $node->safe_psql('postgres', "SELECT current_setting('test.turn', true)") eq $turn }, 'reloaded');
	$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
}

# Rows enough for several parts of the order.
sub make_table
{
	my ($node, $rows) = @_;
	$rows //= 150000;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t AS SELECT i, hashint8extended(i, 1) % 100000 k, md5((i % 1000)::text) s FROM generate_series(1,
	${rows}::int8) i;
VACUUM ANALYZE t;
SQL
}

# The rows in order, as one number; ties tell whether they kept their order of arrival.
sub digest
{
	my ($node, $engine, $settings, $keys) = @_;
	$settings //= '';
	$keys //= 'k';
	return $node->safe_psql('postgres',
		"SET gpusort.engine = $engine; $settings; SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY "
			. "$keys) x");
}

sub explain_sort
{
	my ($node, $engine, $settings) = @_;
	$settings //= '';
	return $node->safe_psql('postgres',
		"SET gpusort.engine = $engine; $settings; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT i FROM t ORDER BY k");
}

# Processes of gpusortd that work in this server's data directory.
sub service_pids
{
	my ($node) = @_;
	my @pids;

	foreach my $dir (glob '/proc/[0-9]*')
	{
		my $cwd = readlink "$dir/cwd";
		my $exe = readlink "$dir/exe";
		next unless defined $cwd && defined $exe && $exe =~ m{/gpusortd( \(deleted\))?$};
		push @pids, $dir =~ m{(\d+)$} if $cwd eq $node->data_dir;
	}
	return @pids;
}

# Stops a process, and returns when it has stopped: a busy machine lets other threads run on after the signal.
sub stop_process
{
	my ($pid) = @_;

	kill 'STOP', $pid;
	sleep 0.002 while grep { slurp_file($_) !~ /\) T / } glob "/proc/$pid/task/*/stat";
}

# Descriptors of a process, and its rings.
sub held
{
	my ($pid) = @_;
	# files of tables, catalogs and the log are the server's to open when it reads them
	my @fds = grep { (readlink // '') !~ m{/(base/\d+|global|pg_wal)/} } glob "/proc/$pid/fd/*";
	my @rings = grep { /memfd:gpusort/ } split /\n/, slurp_file("/proc/$pid/maps");
	return (scalar(@fds), scalar(@rings));
}

# Ends a server like a power failure, so that nothing can be put in order; the service's files stay.
sub power_failure
{
	my ($node) = @_;
	my ($service) = service_pids($node);
	my ($worker) = slurp_file("/proc/$service/status") =~ /^PPid:\s+(\d+)$/m;

	stop_process($worker);
	$node->kill9;
	kill 'KILL', $worker;
	wait_until(sub { service_pids($node) == 0 && !-e "/proc/$worker" }, 'the power fails');
}

# Files of the service, wherever they lie in a data directory.
sub leftovers
{
	my ($node) = @_;
	my @found;

	find({ no_chdir => 1, wanted => sub { push @found, m{([^/]*)$} if m{gpusort[^/]*$} && !-d } }, $node->data_dir);
	return @found;
}

# Passes once the condition holds, fails after three minutes or so many seconds.
sub wait_until
{
	my ($condition, $name, $seconds) = @_;
	my $end = time() + ($seconds // 180);

	while (time() < $end)
	{
		if ($condition->()) { pass($name); return 1; }
		sleep(0.05);
	}
	fail($name);
	return 0;
}

# Passes once all pages of a table are marked as visible to all.  The keeper's snapshot may be older than its rows are;
# until it ends a vacuum marks no page.
sub wait_visible
{
	my ($node, $table, $database) = @_;

	$database //= 'postgres';
	return wait_until(
		sub {
			$node->safe_psql($database, "VACUUM $table");
			return $node->safe_psql($database,
				"SELECT relallvisible = relpages FROM pg_class WHERE relname = '$table'") eq 't';
		},
		"$table is visible to all");
}

# Is what a function lists the same for half a second?
sub settled
{
	my ($function) = @_;
	my $first = join ' ', $function->();

	for (1 .. 10)
	{
		sleep(0.05);
		return 0 if join(' ', $function->()) ne $first;
	}
	return 1;
}

# Jobs counted under a reason.
sub counted
{
	my ($node, $reason) = @_;
	return $node->safe_psql('postgres', "SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE fallback = '$reason'");
}

# The server has not crashed and warned of no leak, and the service has understood it.
sub sound
{
	my ($node) = @_;
	my $log = slurp_file($node->logfile);

	unlike($log, qr/server process .* was terminated|PANIC|TRAP:|all server processes terminated/,
		'the server never restarted');
	unlike($log, qr/WARNING:  (?!gpusortd|there is)/, 'no leak was warned of');
	unlike($log, qr/out of order|a message that is none|breaks the rules/, 'the service understood all messages');
}

1;
