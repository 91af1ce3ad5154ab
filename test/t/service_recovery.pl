# A service that cannot start, or loses its device, comes back by itself; meanwhile gpusort_devices says what, since
# when, why and until when.
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = service_node('heal', '', "shared_preload_libraries = 'gpusort'\n");
make_table($node, 20000);
my $right = digest($node, 'cpu');
is(digest($node, 'gpu'), $right, 'sorts');
my $state = "SELECT service FROM gpusort_devices LIMIT 1";

# What stands in the lock's place keeps the service from starting: six ends in a row.  Nobody reloads anything then.
my $lock = $node->data_dir . "/$socket.lock";
my ($pid) = service_pids($node);
stop_process($pid);
unlink $lock;
mkdir $lock or die "mkdir: $!";
kill 'KILL', $pid;
my $line;
wait_until(
	sub {
		$line = $node->safe_psql('postgres', "SELECT service, count(*) OVER (), device,
			extract(epoch FROM next_attempt - since)::int, reason FROM gpusort_devices");
		return $line =~ /^gave up/;
	},
	'a service that cannot start is given up for a while');
like($line, qr/^gave up\|1\|\|[124]0\|could not open "\Q$socket\E.lock": /,
	'the view has a line that tells why, and until when');
is(digest($node, 'gpu'), $right, 'sorts all the same');
my $log = slurp_file($node->logfile);
like($log, qr/started again in 1600 ms.*started again in 10 s\n.*Sorts run on the CPU until then/s,
	'the log tells, too');
rmdir $lock or die "rmdir: $!";
wait_until(sub { $node->safe_psql('postgres', $state) eq 'running' }, 'what kept it away is gone, and it is back', 300);
is($node->safe_psql('postgres', 'SELECT count(reason) + count(next_attempt) FROM gpusort_devices'), 0, 'all is well');
like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, 'and it sorts');

# No device where there was one: it is looked for again in seconds.
SKIP:
{
	skip 'a real GPU does not go away', 2 if $engine eq 'gpu';
	$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=cpu --devices=0'");
	$node->reload;
	wait_until(
		sub {
			$line = $node->safe_psql('postgres',
				"SELECT service, next_attempt - since < '1min', reason FROM gpusort_devices");
			return $line =~ /^no device/;
		},
		'the device is lost');
	is($line, 'no device|t|no device to sort on: none of those chosen can be used', 'and soon looked for again');
}

# Objects of version 0.1.0, as they are until ALTER EXTENSION UPDATE, with this library.
$node->safe_psql('postgres', "DROP EXTENSION gpusort; CREATE EXTENSION gpusort VERSION '0.1.0'");
my $columns = 'SELECT count(*) FROM json_object_keys((SELECT row_to_json(d) FROM gpusort_devices d LIMIT 1))';
is($node->safe_psql('postgres', $columns), 12, "version 0.1.0's view has its columns");
$node->safe_psql('postgres', 'CREATE VIEW mine AS SELECT service FROM gpusort_devices; ALTER EXTENSION gpusort UPDATE');
is($node->safe_psql('postgres', $columns), 14, 'an update adds two');
is($node->safe_psql('postgres', 'SELECT m.service = d.service FROM mine m, gpusort_devices d LIMIT 1'), 't',
	'and keeps a view built upon it');

sound($node);
$node->stop;
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
