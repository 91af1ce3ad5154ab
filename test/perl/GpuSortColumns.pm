# GpuSortColumns.pm: what the tests of resident columns share.  Comparisons are of columns a and b of table t unless
# they name others.
package GpuSortColumns;

use strict;
use warnings;

use Exporter 'import';
use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(columns_node run comparison compared right refused all_held window_held session keeper end_keeper
	while_stopped next_window waits);

my $node;

# A server with columns, on which the other functions work.
sub columns_node
{
	my ($name, $settings, %init) = @_;

	$node = service_node($name, '', <<"CONF", %init);
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
wal_level = replica
$settings
CONF
	return $node;
}

# A comparison of columns: "equal|from columns|young|undecided|from the table|reason".
sub comparison
{
	my ($table, @columns) = @_;
	my $list = join ', ', @columns;

	return "SELECT (c.rows, c.sum, c.hash) = (p.n, p.s, p.h), c.from_columns, c.young, c.undecided, c.from_table, "
		. "c.reason FROM gpusort_columns_check('$table', '{$list}') c, "
		. "(SELECT count(*) n, coalesce(sum($columns[0]), 0)::int8 s, "
		. "coalesce(bit_xor(gpusort_columns_hash($list)), 0) h FROM $table) p";
}
my $compare = comparison('t', 'a', 'b');

sub run { return $node->safe_psql('postgres', join ';', @_) }

# The last comparison's result, as a list.
sub compared { return split /\|/, (split /\n/, $_[0])[-1], -1 }

# Passes if an answer is PostgreSQL's, and returns it.
sub right
{
	my ($name, $answer) = @_;
	my @answer = compared($answer // run($compare));

	is($answer[0], 't', "right $name") or diag("@answer");
	return @answer;
}

# Passes if it is, and the reason is the given one.
sub refused
{
	my ($name, $reason, $answer) = @_;
	my @answer = right($name, $answer);

	is($answer[5], $reason, "refused $name");
}

# Waits until all pages come from columns; all answers on the way are right.
sub all_held
{
	my ($name, $query) = @_;
	my @answer;

	wait_until(
		sub {
			@answer = compared(run($query // $compare));
			return $answer[0] ne 't' || $answer[1] > 0 && $answer[4] == 0;
		},
		"held $name");
	is($answer[0], 't', "right on the way $name") or diag("@answer");
}

# Waits until all pages come from columns, proved by the window.
sub window_held
{
	my ($name, $table) = @_;
	my @answer;

	$table //= 't';
	wait_until(
		sub {
			@answer = compared(run("VACUUM $table", comparison($table, 'a', 'b')));
			return $answer[1] > 0 && $answer[2] + $answer[4] == 0;
		},
		"held by the window $name");
	is($answer[0], 't', "right when held by the window $name") or diag("@answer");
}

sub session { return $node->background_psql('postgres', on_error_stop => 0) }

sub keeper { return run("SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'gpusort columns'") }

# Ends a keeper, and waits for that.
sub end_keeper
{
	my $pid = keeper();

	kill 'TERM', $pid;
	wait_until(sub { !-e "/proc/$pid" }, 'the keeper ends');
}

# Does something while the keeper does nothing, with its last window held and no table locked.
sub while_stopped
{
	my ($code) = @_;
	my $pid = keeper();

	stop_process($pid);
	while (run("SELECT count(*) FROM pg_locks WHERE pid = $pid AND relation >= 16384") ne '0')
	{
		kill 'CONT', $pid;
		usleep(10_000);
		stop_process($pid);
	}
	$code->();
	kill 'CONT', $pid;
}

# Waits until the window's horizon has passed all transactions that have ended.
sub next_window
{
	my $xid = run('SELECT txid_current()');

	wait_until(
		sub {
			return run("SELECT backend_xmin::text::int8 > $xid FROM pg_stat_activity "
					. "WHERE backend_type = 'gpusort columns'") eq 't';
		},
		'the window moves on');
}

# Waits until so many sessions wait for a lock of a table.
sub waits
{
	my ($table, $sessions) = @_;

	wait_until(
		sub { run("SELECT count(*) FROM pg_locks WHERE relation = '$table'::regclass AND NOT granted") eq $sessions },
		'a session waits for the table');
}

1;
