# Resident columns: attacks on their proof, each on purpose.  Each answer from columns, young pages and the table is
# PostgreSQL's in its snapshot; the keeper is stopped where the test needs it not to look.
use strict;
use warnings;

use GpuSortColumns;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = columns_node('columns_attacks', 'max_prepared_transactions = 5');

my $compare = comparison('t', 'a', 'b');
my ($out, $err);

run(<<'SQL');
CREATE EXTENSION IF NOT EXISTS pg_visibility;
CREATE TABLE t (a int8, b int4, n numeric(10, 2), pad text) WITH (fillfactor = 70);
INSERT INTO t SELECT i, i % 100, i / 7.0, repeat('x', 100) FROM generate_series(1, 3000) i;
CREATE UNIQUE INDEX t_a ON t (a);
VACUUM t;
SELECT gpusort_columns_add('t');
SQL
all_held('at first');

# Changed, vacuumed, all-visible again: between two rolls, and over many.
foreach my $round (1 .. 8)
{
	run("UPDATE t SET b = b + 1 WHERE a % 100 = $round");
	run('VACUUM t');
	right("after an update and a vacuum, $round");
	run("DELETE FROM t WHERE a = $round; INSERT INTO t VALUES ($round, 0, 0, repeat('y', 100)); BEGIN; "
			. 'UPDATE t SET b = -1; ROLLBACK');
	run('VACUUM t') for 1 .. 3;
	right("after a delete, an insert, a rollback and vacuums, $round");
	sleep 0.05 * $round;
	run('VACUUM t');
	right("after a while, $round");
}
window_held('after all that');
while_stopped(
	sub {
		my @before = right('with the keeper stopped');
		run('UPDATE t SET b = b + 1 WHERE a = 2000');
		run('VACUUM t') for 1 .. 3;
		my @after = right('after an update under its window');
		cmp_ok($after[1], '<', $before[1], 'its pages come from the table');
		run('BEGIN; UPDATE t SET b = b + 1 WHERE a < 1000; ROLLBACK');
		run('VACUUM t') for 1 .. 2;
		my @undone = right('after a rollback under its window');
		is($undone[1], $after[1], 'pages of a rollback are held once vacuumed');
	});
window_held('again');
# a page that changed is all-visible as soon as windows allow it: the map is compared before the window is dropped
foreach my $round (1 .. 3)
{
	run('UPDATE t SET b = b + 1 WHERE a BETWEEN 700 AND 800');
	next_window();
	run('VACUUM t');
	next_window();
	right("when vacuumed at the next window, $round");
	window_held("after that, $round");
}

# Without a keeper nothing holds the horizon; what it held is taken over by LSN.
foreach my $statement ('UPDATE t SET b = b + 1 WHERE a BETWEEN 1000 AND 1100', 'DELETE FROM t WHERE a = 1001',
	"INSERT INTO t VALUES (1001, 0, 0, '')")
{
	end_keeper();
	run($statement);
	run('VACUUM t');
	# the question starts the next one, which may be there before it is asked
	my @answer = right("without a keeper: $statement");
	like($answer[5], qr/^(its keeper is not there yet)?$/, "refused without a keeper, or by the next: $statement");
	all_held("by the next keeper after: $statement");
}

# Young pages: by their LSN.
sub young
{
	my ($name) = @_;
	my @answer;

	wait_until(sub { @answer = right($name); $answer[2] > 0 && $answer[4] == 0 }, "young $name");
}
{
	no warnings 'redefine';
	local *right = sub { return compared(run($compare)) };
	run('UPDATE t SET b = b + 1 WHERE a < 500');
	young('after an update');
}
while_stopped(
	sub {
		run('UPDATE t SET b = b + 1 WHERE a < 400');
		my @answer = right('after another change of young pages');
		cmp_ok($answer[4], '>', 0, 'they come from the table');
	});
# a young page that was changed, and is all-visible when the keeper looks next, is another one
{
	my @answer;

	wait_until(sub { @answer = compared(run($compare)); $answer[2] > 0 && $answer[4] == 0 }, 'young again');
	run('UPDATE t SET b = b + 1 WHERE a < 400');
	next_window();
	run('VACUUM t');
	next_window() for 1 .. 2;
	right('when a young page was changed and vacuumed');
}

# Old snapshots, of queries that began before, and of one that runs.
foreach my $case (
	[ 'an update', '', 'UPDATE t SET b = b + 1 WHERE a < 300' ],
	[ 'an update that runs', 'UPDATE t SET b = b + 1 WHERE a < 300', 'SELECT 1' ],
	[ 'a delete and an insert', '',
		"DELETE FROM t WHERE a < 3; INSERT INTO t SELECT i, i, i, repeat('z', 100) FROM generate_series(1, 2) i" ],
	[ '70 subtransactions',
		'DO $$ BEGIN FOR i IN 1 .. 70 LOOP BEGIN UPDATE t SET b = b + 1 WHERE a = i; EXCEPTION WHEN division_by_zero '
			. 'THEN NULL; END; END LOOP; END $$',
		'SELECT 1' ])
{
	my ($name, $before, $after) = @$case;
	my ($writer, $reader, $cursor) = (session(), session(), session());
	my @answer;

	window_held("before $name");
	$writer->query_safe("BEGIN; $before");
	run('SELECT txid_current()');	# snapshots end after the writer's xids
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class LIMIT 1');
	$cursor->query_safe("BEGIN; DECLARE c CURSOR FOR $compare");
	my $snapshot = $reader->query_safe('SELECT pg_export_snapshot()');
	$writer->query_safe("$after; COMMIT");
	wait_until(sub { @answer = right("after $name"); $answer[2] > 0 && $answer[4] == 0 }, "young after $name");
	@answer = right("in an old snapshot, after $name", scalar $reader->query_safe($compare));
	cmp_ok($answer[3], '>', 0, 'which leaves pages undecided');
	@answer = right("in a cursor, after $name", scalar $cursor->query_safe('FETCH c'));
	cmp_ok($answer[3], '>', 0, 'which leaves pages undecided, too');
	@answer = right("in an imported snapshot, after $name",
		run("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'; $compare; COMMIT"));
	cmp_ok($answer[3], '>', 0, 'and so does that one');
	run('VACUUM t');
	right("in the old snapshot, after a vacuum and $name", scalar $reader->query_safe($compare));
	$_->query_safe('COMMIT') foreach $reader, $cursor;
	$_->quit foreach $writer, $reader, $cursor;
	right("after all of $name");
}

# Prepared transactions: pages of transactions in progress are not held, and committing changes no page.
foreach my $statement (
	'UPDATE t SET b = b + 1 WHERE a BETWEEN 500 AND 520', 'DELETE FROM t WHERE a BETWEEN 530 AND 550',
	"INSERT INTO t SELECT i, i, i, '' FROM generate_series(10001, 10020) i")
{
	window_held("before it is prepared: $statement");
	run("BEGIN; $statement; PREPARE TRANSACTION 'p'");
	my @answer = right("while prepared: $statement");
	next_window_of_prepared();
	@answer = right("later, while prepared: $statement");
	cmp_ok($answer[4], '>', 0, 'its pages come from the table');
	run("COMMIT PREPARED 'p'");
	right("after the commit: $statement");
	all_held("after the commit: $statement");
}

# Waits for some rolls, by queries that want pages, while a prepared transaction holds the horizon.
sub next_window_of_prepared
{
	my $end = time + 1;

	while (time < $end) { compared(run($compare)); sleep 0.05; }
}

# Own changes, and savepoints.
my @own = map { (compared($_))[0] } split /\n/,
	run('BEGIN', 'UPDATE t SET b = b + 5 WHERE a = 10', $compare, 'SAVEPOINT s', 'DELETE FROM t WHERE a < 20', $compare,
		'ROLLBACK TO s', $compare,
		'INSERT INTO t SELECT 1 - a, b, n FROM t WHERE a BETWEEN 2 AND 50 ON CONFLICT DO NOTHING', $compare, 'COMMIT');
is("@own", 't t t t', 'own changes are seen');
right('after them');
refused('when serializable', 'the transaction is serializable',
	run("BEGIN ISOLATION LEVEL SERIALIZABLE; $compare; COMMIT"));
refused('when serializable by SET', 'the transaction is serializable',
	run("BEGIN; SET transaction_isolation = 'serializable'; $compare; COMMIT"));
refused('when serializable, read only and deferrable', 'the transaction is serializable',
	run("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; $compare; COMMIT"));

# Row locks leave pages as they are.
window_held('before row locks');
run('CREATE TABLE child (a int8 REFERENCES t (a)); INSERT INTO child SELECT i FROM generate_series(100, 110) i');
{
	my @answer = right('after row locks by foreign keys');
	is($answer[4], 0, 'they keep pages');
}
run("INSERT INTO t VALUES (100, 0, 0, '') ON CONFLICT (a) DO UPDATE SET b = t.b + 1");
right('after INSERT ... ON CONFLICT DO UPDATE');
run('DROP TABLE child');

# Definitions.
my $file = $node->basedir . '/rows';
run("COPY (SELECT i, i, i, 'f' FROM generate_series(1, 300) i) TO '$file'");
foreach my $end ('ROLLBACK', 'COMMIT')
{
	my $once = "COPY t FROM '$file' FREEZE";
	my $out = run("BEGIN; DROP INDEX t_a; TRUNCATE t; $once; $compare; $once; $compare; $end");

	refused("in the transaction of COPY FREEZE, $end", 'it is new in this transaction', $_) foreach split /\n/, $out;
	right("after COPY FREEZE, $end");
	all_held("after COPY FREEZE, $end");
}
while_stopped(
	sub {
		run("BEGIN; TRUNCATE t; COPY t FROM '$file' FREEZE; UPDATE t SET b = 7 WHERE a = 7; COMMIT");
		refused('of another file', 'its columns are being loaded again');
	});
refused('after a savepoint with TRUNCATE was released', 'it is new in this transaction',
	run("BEGIN; SAVEPOINT s; TRUNCATE t; RELEASE s; $compare; ROLLBACK"));
right('after a savepoint with TRUNCATE was rolled back',
	run("BEGIN; SAVEPOINT s; TRUNCATE t; ROLLBACK TO s; $compare; COMMIT"));
all_held('after that');
refused('of a column that was changed here', 'a column is not held',
	run("BEGIN; ALTER TABLE t ALTER a SET STATISTICS 50; $compare; ROLLBACK"));
my $z = comparison('t', 'z', 'a');
refused('of a new column', 'a column is not held',
	run('BEGIN', 'SAVEPOINT s', 'ALTER TABLE t ADD z int8 DEFAULT 5', 'ROLLBACK TO s',
		'ALTER TABLE t ADD z int8 DEFAULT 7', $z, 'COMMIT'));
right('of a fast default', run($z));
all_held('with a fast default', $z);
run('BEGIN; ALTER TABLE t DROP z; ALTER TABLE t ADD z int8 DEFAULT 9; COMMIT');
right('of another fast default', run($z));
all_held('with another fast default', $z);
my $n = comparison('t', 'a', 'n');
while_stopped(
	sub {
		run('ALTER TABLE t ALTER n TYPE numeric(20, 2)');
		right('of a wider numeric', run($n));
	});
all_held('with a wider numeric', $n);
run('ALTER TABLE t ALTER n TYPE numeric');
$node->psql('postgres', $n, stderr => \$err);
like($err, qr/column "n" cannot be held: numeric is held only with a precision/, 'numeric without a precision');
right('beside it');
foreach my $type ('numeric(12, 4)', 'numeric(10, 1)')
{
	run("ALTER TABLE t ALTER n TYPE $type");
	right("of $type", run($n));
	all_held("with $type", $n);
}
my $tablespaces = $node->psql('postgres',
	"SET allow_in_place_tablespaces = on; CREATE TABLESPACE other LOCATION ''", stderr => \$err) == 0;
foreach my $ddl ('ALTER TABLE t ALTER b TYPE int8', 'CREATE INDEX t_b ON t (b); CLUSTER t USING t_b', 'VACUUM FULL t',
	$tablespaces
	? ('BEGIN; ALTER TABLE t SET TABLESPACE other; UPDATE t SET b = b + 1 WHERE a < 50; COMMIT',
		'ALTER TABLE t SET TABLESPACE pg_default')
	: ())
{
	run($ddl);
	right("after $ddl");
	all_held("after $ddl");
}

# The table ends, and grows again.
run('DELETE FROM t WHERE a > 100');
next_window();
run('VACUUM t');
right('after the end was cut off');
run("INSERT INTO t SELECT i, i, i, repeat('w', 100) FROM generate_series(101, 3000) i");
right('after it grew again');
all_held('after it grew again');
window_held('as grown');
run("SELECT pg_truncate_visibility_map('t')");
right('without a visibility map');
run('UPDATE t SET b = b + 1 WHERE a = 50');
right('without a visibility map, after an update');
all_held('without a visibility map');

# Refused tables.
run('CREATE UNLOGGED TABLE u (a int8, b int4)', 'CREATE VIEW v AS SELECT * FROM t');
refused('of an unlogged table', 'its changes are not logged', run(comparison('u', 'a', 'b')));
refused('of a temporary table', 'its changes are not logged',
	run('CREATE TEMP TABLE tt (a int8, b int4); ' . comparison('tt', 'a', 'b')));
refused('of a catalog', 'it is a system table', run(comparison('pg_class', 'relpages', 'relnatts')));
foreach my $table ('u', 'pg_class')
{
	isnt($node->psql('postgres', "SELECT gpusort_columns_add('$table')", stderr => \$err), 0, "$table is not chosen");
}

# A session's map is of other columns than its keeper's: that of the map before is gone, and told nobody.
{
	my $reader = session();
	my $single = comparison('t', 'b');

	all_held('before columns change');
	right('of one column', scalar $reader->query_safe($single));
	end_keeper();
	run("SELECT gpusort_columns_remove('t'); SELECT gpusort_columns_add('t', '{b,n}')");
	right('of one column that has another place', scalar $reader->query_safe($single));
	right('of one column, again', scalar $reader->query_safe($single));
	$reader->quit;
	run("SELECT gpusort_columns_remove('t'); SELECT gpusort_columns_add('t')");
}

# The keeper is cancelled, the service killed, in the midst of changes.
{
	my $end = time + 4;
	my $changer = session();
	my ($wrong, $rounds) = (0, 0);

	$changer->{stdin} .= 'DO $$ BEGIN FOR i IN 1 .. 3000 LOOP UPDATE t SET b = b + 1 WHERE a = i % 1000; COMMIT; '
		. "PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'gpusort columns'; "
		. "PERFORM pg_sleep(0.002); END LOOP; END \$\$;\n";
	$changer->{run}->pump_nb;
	while (time < $end)
	{
		my @answer = compared(run($compare));
		$wrong++ if $answer[0] ne 't';
		$rounds++;
		kill 'KILL', service_pids($node) if $rounds % 40 == 0;
	}
	is($wrong, 0, "right while the keeper is cancelled ($rounds comparisons)");
	run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO %'");
	$changer->quit;
	all_held('after cancels');
}

# A keeper without a service does not hold the horizon.
{
	$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=none'");
	$node->reload;
	kill 'KILL', service_pids($node);
	run($compare);
	next_window();
	next_window();
	$node->append_conf('postgresql.conf', "gpusort.service_options = '--engine=cpu'");
	$node->reload;
	forgive($node);
	all_held('with a service again');
}

# A bit that is set although its page is not all-visible (a torn page, an incremental backup): changes do not clear it.
{
	my $path = $node->data_dir . '/' . run("SELECT pg_relation_filepath('t')");
	my $map;

	run("SELECT pg_truncate_visibility_map('t')");
	run('UPDATE t SET b = b + 1', 'CHECKPOINT');
	my $blocks = run("SELECT pg_relation_size('t') / 8192");
	$node->stop;
	set_bits("${path}_vm", 24, $blocks);
	$node->start;
	all_held('with bits that lie');
	next_window() for 1 .. 3;
	run('UPDATE t SET b = b + 1 WHERE a % 20 = 0');
	right('with bits that lie');
	run('VACUUM (DISABLE_PAGE_SKIPPING) t');
}

# Sets the all-visible bits of the first pages in a file of a visibility map.
sub set_bits
{
	my ($path, $header, $blocks) = @_;
	my $page = slurp_file($path);
	my $bytes = int($blocks / 4);

	substr($page, $header, $bytes) = "\x55" x $bytes;
	open my $out, '>:raw', $path or die "$path: $!";
	print $out $page;
	close $out;
}

# Pages that cannot be proved by an LSN: none was written.
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0");
$node->restart;
run("BEGIN; CREATE TABLE bare (a int8, b int4); INSERT INTO bare SELECT i, i FROM generate_series(1, 2000) i; COMMIT");
run("SELECT gpusort_columns_add('bare')");
my $bare = comparison('bare', 'a', 'b');
compared(run($bare)), next_window() for 1 .. 2;
{
	# a hint bit logs its page where that has to be safe from torn writes
	my $logged = run('SELECT bool_or(setting::bool) FROM pg_settings WHERE name IN (\'data_checksums\', '
			. "'wal_log_hints')") eq 't';

	all_held('with LSNs by hint bits', $bare) if $logged;
	my @answer = right('of pages without LSN', run($bare));
	if ($logged)
	{
		# young ones at first, which a window makes old
		cmp_ok($answer[1], '>', 0, 'they come from columns');
	}
	else
	{
		is("@answer[1, 2]", '0 0', 'they come from the table');
	}
	window_held('pages without LSN', 'bare');
	end_keeper();
	run('UPDATE bare SET b = b + 1 WHERE a = 5');
	right('of pages without LSN, without a keeper', run($bare));
	window_held('pages without LSN, by another keeper', 'bare');
	right('of pages without LSN, by another keeper', run($bare));
}

# A map's window is not handed on when the keeper has missed the table: it was changed under a lock that was held for
# some windows, and is all-visible again when the keeper looks.  With wal_level = minimal a lock takes no xid, which
# would hold the window.
{
	my ($first, $second, $third) = (session(), session(), session());

	window_held('before locks');
	$first->query_safe('BEGIN; LOCK t; UPDATE t SET b = b + 1 WHERE a < 200');
	$second->{stdin} .= "BEGIN; LOCK t;\n";
	$second->{run}->pump_nb;
	waits('t', 1);
	$first->query_safe('COMMIT');
	waits('t', 0);
	next_window();
	$third->{stdin} .= "VACUUM t;\n";
	$third->{run}->pump_nb;
	waits('t', 1);
	$second->query_safe('COMMIT');
	$third->query_safe('SELECT 1');
	next_window() for 1 .. 2;
	right('after rolls that missed the table');
	$_->quit foreach $first, $second, $third;
}

$node->stop;
done_testing();
