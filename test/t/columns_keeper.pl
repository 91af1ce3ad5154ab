# Resident columns and their keeper: what it takes over and what it drops, who must not wait for it, and when it ends.
use strict;
use warnings;

use GpuSortColumns;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# with wal_level = minimal a lock takes no xid, which would hold windows
my $node = columns_node('columns_keeper', "wal_level = minimal\nmax_wal_senders = 0");
my ($out, $err);
my $compare_t = comparison('t', 'a', 'b');

# Tells all processes another setting.
sub set
{
	my ($setting) = @_;

	$node->append_conf('postgresql.conf', $setting);
	$node->reload;
}

# Descriptors of maps that a process has, and its mappings of them.
sub maps
{
	my ($pid) = @_;
	my @fds = grep { (readlink // '') =~ /memfd:gpusort columns/ } glob "/proc/$pid/fd/*";
	my @mapped = grep { /memfd:gpusort columns/ } split /\n/, slurp_file("/proc/$pid/maps");

	return scalar(@fds) . ' ' . scalar(@mapped);
}

# Tables that the service holds: it has a descriptor of each one's map.
sub tables
{
	my ($pid) = service_pids($node);
	return (split / /, maps($pid))[0];
}

# Since when a table is ready.  While it is loaded again it is not, though all of its pages may be held already.
sub ready_since
{
	my ($table) = @_;
	my $since;

	wait_until(
		sub {
			$since = run('SELECT max(extract(epoch FROM ready_since)) FROM gpusort_columns '
					. "WHERE rel = '$table'::regclass");
			return $since ne '';
		},
		"$table is ready");
	return $since;
}

# A row a page.
sub insert_pages
{
	my ($table, $first, $last) = @_;
	run("INSERT INTO $table SELECT i, i % 100, repeat('x', 7000) FROM generate_series($first, $last) i");
}

run("CREATE TABLE $_ (a int8, b int4, pad text); ALTER TABLE $_ ALTER pad SET STORAGE PLAIN") foreach qw(t u v w);
insert_pages('t', 1, 1000);
run("INSERT INTO $_ SELECT i, i, '' FROM generate_series(1, 10000) i") foreach qw(u v w);
run('VACUUM');

# when a table is held, in the view
my $begun = time;
run("SELECT gpusort_columns_add('t')");
my $ready = ready_since('t');
cmp_ok($ready, '>=', $begun, 'held since it was chosen');
cmp_ok($ready, '<=', time, 'and not in the future');

# A map that is too small is replaced.  If the service has gone, the keeper is left with neither.
insert_pages('t', 1001, 2400);
all_held('as it has grown');
is(maps(keeper()), '1 1', 'the keeper has a map');
is(ready_since('t'), $ready, 'held since then');
while_stopped(
	sub {
		insert_pages('t', 2401, 5000);
		my ($service) = service_pids($node);
		kill 'KILL', $service;
		wait_until(sub { !-e "/proc/$service" }, 'the service ends');
	});
all_held('as it has grown without a service');
is(maps(keeper()), '1 1', 'the keeper has a map, and no old one');
cmp_ok(ready_since('t'), '>', $ready, 'held since it was loaded again');

# A table that grows is held all the time: a larger map shows from the first moment on what the one before showed, and
# sessions whose map it replaces ask for it at once.
{
	my $watching = session();

	run('CREATE TABLE g (a int8, b int4, pad text); ALTER TABLE g ALTER pad SET STORAGE PLAIN', 'CREATE TABLE over ()',
		q{CREATE FUNCTION unready() RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE
			n bigint := 0;
		BEGIN
			WHILE NOT EXISTS (SELECT FROM over) LOOP
				n := n + (SELECT count(*) FROM gpusort_columns WHERE rel = 'g'::regclass AND state <> 'ready');
			END LOOP;
			RETURN n;
		END $$},
		q{CREATE FUNCTION unheld() RETURNS int LANGUAGE plpgsql SET gpusort.columns = force AS $$
		DECLARE
			n int := 0;
			reason text;
		BEGIN
			FOR i IN 1 .. 100 LOOP
				BEGIN
					EXECUTE 'SELECT sum(a) FROM g';
				EXCEPTION WHEN object_not_in_prerequisite_state THEN
					GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
					n := n + (reason ~ 'not held')::int;
				END;
				PERFORM pg_sleep(0.002);
			END LOOP;
			RETURN n;
		END $$});
	insert_pages('g', 1, 10);
	run("SELECT gpusort_columns_add('g')");
	ready_since('g');
	$watching->{stdin} .= "SELECT 'unready: ' || unready();\n";
	$watching->{run}->pump_nb;
	foreach my $pages (1200, 3000, 5500)
	{
		my $asking = session();

		while_stopped(
			sub {
				insert_pages('g', 1, $pages - run("SELECT pg_relation_size('g') / 8192"));
				$asking->query_safe('SELECT sum(a) FROM g');
			});
		is($asking->query('SELECT unheld()'), 0, "sessions know of a map for $pages pages");
		$asking->quit;
		all_held("with $pages pages", comparison('g', 'a', 'b'));
	}
	run('INSERT INTO over DEFAULT VALUES');
	like($watching->query('SELECT 1'), qr/^unready: 0$/m, 'a table that grows stays ready');
	$watching->quit;
	run("SELECT gpusort_columns_remove('g')", 'DROP TABLE g');
	wait_until(sub { tables() == 1 }, 'one table again');
}

# Tables that lost their choice while no keeper ran are dropped; those of a request that is not committed are not.
$ready = ready_since('t');
run("SELECT gpusort_columns_add('$_')") foreach qw(u w);
is(tables(), 3, 'the service holds three tables');
{
	my $adding = session();
	my $since = "SELECT max(ready_since) FROM gpusort_columns WHERE rel = 'v'::regclass";

	$adding->query_safe("BEGIN; SELECT gpusort_columns_add('v')");
	my $before = $adding->query_safe($since);
	end_keeper();
	is(tables(), 4, 'and one whose choice is not committed');
	run('DROP TABLE w; DELETE FROM gpusort_columns_choice WHERE rel = \'u\'::regclass');
	right('without a keeper');
	wait_until(sub { tables() == 2 }, 'the next keeper has others dropped', 60);
	$adding->query_safe('COMMIT');
	$adding->quit;
	all_held('once its choice is committed', comparison('v', 'a', 'b'));
	is(run($since), $before, 'and was never dropped');
	is(tables(), 2, 'two tables');
	all_held('by the next keeper');
	is(ready_since('t'), $ready, 'held since the first load');
	run("SELECT gpusort_columns_remove('v')");
	wait_until(sub { tables() == 1 }, 'one table', 60);
}

# Whoever waits for the keeper's transaction, as DROP INDEX CONCURRENTLY does if the keeper has the table's lock just
# then, has it end: another window begins.
sub transaction_of_keeper
{
	return run("SELECT virtualxid FROM pg_locks WHERE locktype = 'virtualxid' AND pid = (SELECT pid FROM "
			. "pg_stat_activity WHERE backend_type = 'gpusort columns')");
}
{
	my $end = time + 120;
	my ($status, $rounds) = (0, 0);

	window_held('before somebody waits');
	set('gpusort.columns_roll = 1ms');
	run('UPDATE t SET b = b + 1 WHERE a < 50');
	my $transaction = transaction_of_keeper();
	while ($status == 0 && time < $end && transaction_of_keeper() eq $transaction)
	{
		run('CREATE INDEX i ON t (a)');
		$status = $node->psql('postgres', "SET statement_timeout = '30s'; DROP INDEX CONCURRENTLY i", stderr => \$err);
		$rounds++;
	}
	is($status, 0, "DROP INDEX CONCURRENTLY ends ($rounds times)") or diag($err);
	isnt(transaction_of_keeper(), $transaction, 'for which the keeper has ended its transaction');
	run('UPDATE t SET b = b + 1 WHERE a BETWEEN 40 AND 60');
	right('after a broken window');
	run('VACUUM t');
	right('after a vacuum');
	set('gpusort.columns_roll = 250ms');
	window_held('after a broken window');
}

# A table that a roll passed over, as somebody had it locked, is proved again soon after a query has asked for it, and
# not with the next roll that comes by itself.
{
	my $locking = session();

	$locking->query_safe('BEGIN; LOCK t');
	next_window() for 1 .. 2;
	set('gpusort.columns_roll = 60s');
	sleep 1;
	$locking->query_safe('COMMIT');
	$locking->quit;
	wait_until(sub { (compared(run($compare_t)))[1] > 0 }, 'held when a query has asked', 45);
	set('gpusort.columns_roll = 250ms');
	window_held('after a lock');
}

# A keeper that nobody asks ends.
{
	my $pid = keeper();
	my $end = time + 4;

	set('gpusort.columns_quiet = 3s');
	while (time < $end) { run(comparison('t', 'a')); sleep 0.1; }
	is(keeper(), $pid, 'a keeper stays while queries come');
	wait_until(sub { keeper() eq '' }, 'and ends when none has come for a while');
	set('gpusort.columns_quiet = 60s');
	run('UPDATE t SET b = b + 1 WHERE a BETWEEN 500 AND 520');
	run('VACUUM t');
	refused('after it has ended', 'its keeper is not there yet');
	all_held('by the next one');
}

# A table that grows while there is no keeper, by so much that what the last one held would have another plan cost less:
# queries ask all the same, so that the next keeper comes.
{
	my $session = session();
	my $sum = 'SELECT sum(a) FROM g';

	run('CREATE TABLE g WITH (parallel_workers = 8) AS SELECT i a FROM generate_series(1, 90000) i', 'VACUUM ANALYZE g',
		"SELECT gpusort_columns_add('g')");
	$session->query_safe("SET gpusort.columns = force; $sum; RESET gpusort.columns");
	set('gpusort.columns_quiet = 1s');
	wait_until(sub { keeper() eq '' }, 'a keeper ends');
	set('gpusort.columns_quiet = 60s');
	run('SET gpusort.columns = off', 'INSERT INTO g SELECT i FROM generate_series(1, 60000) i', 'ANALYZE g');
	$session->query_safe("SET $_") foreach 'max_parallel_workers_per_gather = 8', 'parallel_setup_cost = 0',
		'parallel_tuple_cost = 0', 'seq_page_cost = 0.1';
	like($session->query_safe("EXPLAIN $sum"), qr/GpuColumns/, 'what a keeper held that has ended is no cost');
	is($session->query_safe($sum), run('SET gpusort.columns = off', $sum), 'the sum');
	wait_until(sub { keeper() ne '' }, 'a keeper comes');
	$session->quit;
	run("SELECT gpusort_columns_remove('g')", 'DROP TABLE g');
}

# Pages that were loaded and have changed since are not held, though they are all-visible when the keeper comes to know
# of them: it did not see the table meanwhile, for others had locked it.
{
	my ($first, $second, $third) = (session(), session(), session());
	my $compare_s = comparison('s', 'a', 'b');

	run('CREATE TABLE s (a int8, b int4, pad text); ALTER TABLE s ALTER pad SET STORAGE PLAIN');
	insert_pages('s', 1, 5000);
	run('VACUUM s');
	end_keeper();
	set('gpusort.columns_roll = 60s');
	run("INSERT INTO gpusort_columns_choice VALUES ('s')");
	right('when a keeper comes');
	wait_until(sub { run("SELECT state FROM gpusort_columns WHERE rel = 's'::regclass") =~ /loading/ },
		'a table is being loaded');
	wait_until(
		sub { run("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'gpusort columns loader'") eq '0' },
		'the loaders end');
	sleep 0.5;
	while_stopped(
		sub {
			is(run("SELECT max(held) FROM gpusort_columns WHERE rel = 's'::regclass"), '0', 'nothing is held yet');
			$first->query_safe('BEGIN; LOCK s; UPDATE s SET b = b + 1 WHERE a < 100');
			$second->{stdin} .= "BEGIN; LOCK s;\n";
			$second->{run}->pump_nb;
			waits('s', 1);
			set('gpusort.columns_roll = 250ms');
		});
	$first->query_safe('COMMIT');
	waits('s', 0);
	next_window();
	while_stopped(
		sub {
			$third->{stdin} .= "VACUUM s;\n";
			$third->{run}->pump_nb;
			waits('s', 1);
			$second->query_safe('COMMIT');
			$third->query_safe('SELECT 1');
		});
	next_window() for 1 .. 2;
	right('of pages that were changed after their load', run($compare_s));
	all_held('when loaded again', $compare_s);
	$_->quit foreach $first, $second, $third;
}

# A keeper that is cancelled while the service does not answer takes no answer for that of a later question.
foreach my $round (1 .. 4)
{
	my ($service) = service_pids($node);

	stop_process($service);
	run("UPDATE $_ SET b = b + $round WHERE a % 4 = $round") foreach qw(s t);
	wait_until(
		sub {
			return run("SELECT wait_event_type = 'Extension' AND wait_event !~ 'Keeper' FROM pg_stat_activity "
					. "WHERE backend_type = 'gpusort columns'") eq 't';
		},
		"the keeper waits for the service, $round");
	run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'gpusort columns'");
	sleep 0.3;
	kill 'CONT', $service;
	foreach my $turn (1 .. 3)
	{
		right("of $_ after a cancel, $round, $turn", run(comparison($_, 'a', 'b'))) foreach qw(s t);
	}
	all_held("after a cancel, $round: $_", comparison($_, 'a', 'b')) foreach qw(s t);
}

# A session lets go of the map and the dictionary of a table that is dropped: who has them keeps their memory.
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	my $mapped = sub {
		return scalar grep { /memfd:gpusort (?:columns|dictionary)/ } split /\n/, slurp_file("/proc/$pid/maps");
	};
	my $before;

	run("CREATE TABLE gone AS SELECT 'x' || i % 10 AS c FROM generate_series(1, 10000) i", 'VACUUM ANALYZE gone',
		"SELECT gpusort_columns_add('gone')");
	$session->query('SET gpusort.columns = force; SELECT sum(a) FROM t');
	$before = $mapped->();
	is($session->query('SELECT c FROM gone GROUP BY c ORDER BY c LIMIT 1'), 'x0', 'a session with a map');
	is($mapped->(), $before + 2, 'and a dictionary');
	run('DROP TABLE gone');
	wait_until(sub { $session->query('SELECT sum(a) FROM t'); $mapped->() == $before }, 'lets go of both');
	$session->quit;
}

# Of a table that is new in its transaction the reason is that, whether its changes are logged or not.
refused('of a new table', 'it is new in this transaction',
	run('BEGIN; CREATE TABLE n (a int8, b int4); ' . comparison('n', 'a', 'b') . '; ROLLBACK'));
$node->psql('postgres', "BEGIN; CREATE TABLE n (a int8); SELECT gpusort_columns_add('n')", stderr => \$err);
like($err, qr/Reason: it is new in this transaction/, 'such a table is not chosen');

$node->stop;
done_testing();
