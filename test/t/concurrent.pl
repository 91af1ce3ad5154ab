# Sixteen sessions sort at once, some are cut short; nobody crashes and all answers are right.
use strict;
use warnings;

use GpuSortTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('concurrent', "max_connections = 40\nmax_worker_processes = 8\nparallel_setup_cost = 0\n"
	  . "parallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i % 77 g, i FROM generate_series(1, 30000::int8) i;
VACUUM ANALYZE t;
CREATE TABLE expected AS SELECT string_agg(i::text, ',' ORDER BY k) s FROM t;
CREATE FUNCTION check_sort(memory text, workers int, cut int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	s text;
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, true);
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
	IF cut = 0 THEN
		BEGIN
			PERFORM 1 / (i - 29999) FROM (SELECT i, k FROM t ORDER BY k) x;
			RAISE 'no error';
		EXCEPTION WHEN division_by_zero THEN
		END;
	END IF;
	SELECT string_agg(i::text, ',') INTO s FROM (SELECT i FROM t ORDER BY k) x;
	IF s <> (SELECT e.s FROM expected e) THEN
		RAISE 'wrong order';
	END IF;
	IF (SELECT count(x) FROM (SELECT g, count(*) OVER (PARTITION BY g ORDER BY k) FROM t) x) <> 30000 THEN
		RAISE 'rows lost';
	END IF;
END $$;
SQL
my $script = $node->basedir . '/script.sql';
append_to_file($script, <<'SQL');
\set workers random(0, 2)
\set cut random(0, 3)
\set memory random(1, 4)
SELECT check_sort(:memory || 'MB', :workers, :cut);
SQL
$node->command_ok(
	[ 'pgbench', '-n', '-c', '16', '-j', '2', '-T', '8', '-f', $script, 'postgres' ], 'sixteen sessions');

my $cut = $node->basedir . '/cut.sql';
append_to_file($cut, <<'SQL');
\set timeout random(5, 60)
BEGIN;
SET LOCAL statement_timeout = :timeout;
DO $$ BEGIN PERFORM check_sort('1MB', 2, 1); EXCEPTION WHEN query_canceled THEN NULL; END $$;
COMMIT;
SQL
# A timeout may also hit just before or behind the block that expects it, and then ends that client: nothing else may go
# wrong.  On a busy machine that may happen to all of them.  One that hits when a command has ended, but for its
# timeout, is "due to user request": PostgreSQL forgets whose it was, without gpusort, too.
my $errors = '';
my $output = '';
my $worked = qr/transactions actually processed: [1-9]/;
for my $round (1 .. 30)
{
	last if $round > 3 && $output =~ $worked;
	my ($stdout, $stderr) = ('', '');

	IPC::Run::run(
		[ 'pgbench', '-n', '-c', '16', '-j', '2', '-T', '2', '-h', $node->host, '-p', $node->port, '-f', $cut,
			'postgres' ],
		'>', \$stdout, '2>', \$stderr);
	$errors .= $stderr;
	$output .= $stdout;
}
my @wrong = grep { !/canceling statement due to (statement timeout|user request)/ }
	grep { /ERROR|FATAL|PANIC|closed the connection/ } split /\n/, $errors;
is(join("\n", @wrong), '', 'sixteen sessions with timeouts') or diag($errors);
like($output, $worked, 'they worked');

is($node->safe_psql('postgres', "SELECT check_sort('1MB', 0, 1)"), '', 'still right');
is(scalar(temp_files($node)), 0, 'no file is left');
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC|wrong order|rows lost/, 'no crash in the log');
unlike($log, qr/WARNING: +(?!there is)/, 'no leak was warned of');
$node->stop;
done_testing();
