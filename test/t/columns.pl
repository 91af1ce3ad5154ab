# Resident columns: choosing and loading, what ends a choice, and who must not wait for the keeper.
use strict;
use warnings;

use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = service_node('columns', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
wal_level = replica
CONF
my $check = "gpusort_columns_check('t', '{id,a,n}')";
my $plain = 'SELECT count(*) n, coalesce(sum(id), 0)::int8 s, '
	. 'coalesce(bit_xor(gpusort_columns_hash(id, a, n)), 0) h FROM t';

# Whether the answer from columns is PostgreSQL's, and the number of pages from the table.
sub answer
{
	return $node->safe_psql('postgres',
		"SELECT (c.rows, c.sum, c.hash) = (p.n, p.s, p.h), c.from_columns > 0 AND c.from_table = 0 FROM $check c, "
		. "($plain) p");
}

# Waits until all pages come from columns, and are right.
sub all_held
{
	my ($name) = @_;
	wait_until(sub { answer() eq 't|t' }, $name)
		or diag($node->safe_psql('postgres', "SELECT c FROM $check c; SELECT v FROM gpusort_columns v"));
}

# Processes of this server whose title has that.
sub processes
{
	my ($title) = @_;
	return split /\n/, $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = '$title'");
}

# Waits until nothing is held of a relation.
sub freed
{
	my ($name, $relation) = @_;
	wait_until(
		sub {
			$node->safe_psql('postgres', "SELECT reason FROM gpusort_columns_check('$relation', '{id}')") =~
				/not held|loaded again/;
		},
		$name);
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int8, a int4, n numeric(12, 2), s text);
INSERT INTO t SELECT i, nullif(i % 1000, 7), i / 7.0, 'row ' || i FROM generate_series(1, 50000) i;
VACUUM t;
CREATE TABLE p (id int8, a int4) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1000);
INSERT INTO p SELECT i, i FROM generate_series(0, 999) i;
VACUUM p1;
SQL

# loading
$node->safe_psql('postgres', "SELECT gpusort_columns_add('t')");
is(answer(), 't|t', 'all is held once the function returns');
is($node->safe_psql('postgres', 'SELECT string_agg("column", \' \' ORDER BY "column") FROM gpusort_columns'),
	'a id n s', 'all columns that can be held');
is($node->safe_psql('postgres', "SELECT bool_and(state = 'ready' AND held = pages AND bytes > 0) FROM gpusort_columns "
		. "WHERE \"column\" <> 's'"), 't', 'the view says so');
is($node->safe_psql('postgres', "SELECT state, last_reason FROM gpusort_columns WHERE \"column\" = 's'"),
	'not held|it has different values in more than half of the rows', 'and why a column is not held');
cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'gpusort columns'"),
	'==', 1, 'there is one keeper');

# one that is not held is said not to be at once, and not only after the keeper's next look
$node->safe_psql('postgres', "CREATE TABLE d AS SELECT i id, 'row ' || i s FROM generate_series(1, 20000) i");
my $turn = "SELECT gpusort_columns_add('d') \\g /dev/null\nSELECT state FROM gpusort_columns WHERE \"column\" = 's' "
	. "AND rel = 'd'::regclass;\nSELECT gpusort_columns_remove('d') \\g /dev/null\n"
	. "SELECT pg_sleep(0.2) \\g /dev/null\n";
is($node->safe_psql('postgres', $turn x 10) =~ s/\n/,/gr, join(',', ('not held') x 10),
	'different values are not held');

# changes
$node->safe_psql('postgres', 'UPDATE t SET a = a + 1 WHERE id % 500 = 0');
is(answer() =~ s/\|.*//r, 't', 'right after an update');
all_held('changed pages are held again');
$node->safe_psql('postgres', 'VACUUM t');
all_held('after a vacuum');
$node->safe_psql('postgres', "INSERT INTO t SELECT i, i, i, '' FROM generate_series(50001, 60000) i");
all_held('new pages are held without a vacuum');
is($node->safe_psql('postgres', "BEGIN; DELETE FROM t WHERE id <= 10; SELECT rows FROM $check; ROLLBACK"), '59990',
	'own changes are seen');
$node->safe_psql('postgres', "INSERT INTO t VALUES (0, 0, 'NaN', '')");
is(answer() =~ s/\|.*//r, 't', 'a page with a value that cannot be held comes from the table');
$node->safe_psql('postgres', "DELETE FROM t WHERE n = 'NaN'; VACUUM t");
all_held('and is held when it has gone');

# definitions
foreach my $ddl ('BEGIN; TRUNCATE t; ROLLBACK', 'VACUUM FULL t', 'CREATE INDEX i ON t (id)', 'CLUSTER t USING i',
	'ALTER TABLE t ADD COLUMN z int DEFAULT 5', 'ALTER TABLE t DROP COLUMN z',
	'ALTER TABLE t ALTER n TYPE numeric(14, 2)',
	'ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t RENAME COLUMN b TO a', 'ALTER TABLE t ALTER a TYPE int8',
	'TRUNCATE t; INSERT INTO t SELECT i, i, i, i FROM generate_series(1, 20000) i')
{
	$node->safe_psql('postgres', $_) foreach $ddl =~ /^BEGIN/ ? $ddl : split /; /, $ddl;
	is(answer() =~ s/\|.*//r, 't', "right after $ddl");
	all_held("held after $ddl");
}

# partitions
$node->safe_psql('postgres', "SELECT gpusort_columns_add('p', '{id}')");
like($node->safe_psql('postgres', "SELECT rows, from_table FROM gpusort_columns_check('p1', '{id}')"), qr/^1000\|0$/,
	'a partition of a chosen table is held');
$node->safe_psql('postgres', 'CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (1000) TO (2000)');
$node->safe_psql('postgres', 'INSERT INTO p SELECT i, i FROM generate_series(1000, 1999) i');
wait_until(
	sub {
		$node->safe_psql('postgres', "SELECT rows, from_table FROM gpusort_columns_check('p2', '{id}')") eq '1000|0';
	},
	'so is one that is made later');
my ($out, $err);
is($node->psql('postgres', 'ALTER TABLE p DETACH PARTITION p2 CONCURRENTLY', timeout => 60), 0,
	'DETACH CONCURRENTLY ends');

# transactions
is( $node->safe_psql('postgres',
		"BEGIN; SELECT gpusort_columns_remove('p'); ROLLBACK; "
			. "SELECT rows, from_table FROM gpusort_columns_check('p1', '{id}')"),
	"\n1000|0",
	'a removal that is rolled back');
$node->safe_psql('postgres', "SELECT gpusort_columns_remove('p')");
freed('a removal frees', 'p1');
$node->safe_psql('postgres', "BEGIN; SELECT gpusort_columns_add('p'); ROLLBACK");
freed('a choice that is rolled back is freed', 'p1');
$node->safe_psql('postgres', "BEGIN; SAVEPOINT a; SELECT gpusort_columns_add('p'); ROLLBACK TO a; COMMIT");
freed('by a savepoint, too', 'p1');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpusort_columns_choice WHERE rel = 'p'::regclass"), '0',
	'and is no choice');
$node->psql('postgres', "BEGIN; LOCK p1; SELECT gpusort_columns_add('p1')", stderr => \$err);
like($err, qr/in a transaction that has locked it/, 'a table that the transaction has locked is refused');
$node->psql('postgres', "BEGIN; LOCK p1; SELECT gpusort_columns_add('p')", stderr => \$err);
like($err, qr/columns of "p1" .*in a transaction that has locked it/, 'so is one with a locked partition');

# in nobody's way
foreach my $statement (
	'CREATE INDEX CONCURRENTLY j ON t (a)',
	'REINDEX INDEX CONCURRENTLY j',
	'DROP INDEX CONCURRENTLY j')
{
	my $queries = $node->background_psql('postgres', on_error_stop => 0);
	my $begun = time;

	$queries->query_safe("SELECT rows FROM $check");
	is($node->psql('postgres', $statement, timeout => 60), 0, "$statement ends");
	$queries->quit;
	all_held("held after $statement");
}
$node->safe_psql('postgres', 'CREATE DATABASE d');
$node->safe_psql('d', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t AS SELECT i id, i a FROM generate_series(1, 1000) i;
SELECT gpusort_columns_add('t');
SQL
is($node->psql('postgres', 'CREATE DATABASE e TEMPLATE d', stderr => \$err), 0, 'its database can be a template');
$node->safe_psql('d', "SELECT rows FROM gpusort_columns_check('t', '{id}')");
is($node->psql('postgres', 'ALTER DATABASE d RENAME TO f', stderr => \$err), 0, 'renamed');
$node->safe_psql('f', "SELECT rows FROM gpusort_columns_check('t', '{id}')");
is($node->psql('postgres', 'DROP DATABASE f', stderr => \$err), 0, 'and dropped');

# processes that end
my ($keeper) = processes('gpusort columns');
kill 'TERM', $keeper;
wait_until(sub { !grep { $_ eq $keeper } processes('gpusort columns') }, 'a keeper ends');
is(answer() =~ s/\|.*//r, 't', 'right without a keeper');
all_held('the next keeper takes over');
kill 'KILL', service_pids($node);
is(answer() =~ s/\|.*//r, 't', 'right without a service');
all_held('loaded again');
$node->restart;
all_held('loaded after a restart');

# cancels
$node->safe_psql('postgres', 'CREATE TABLE big AS SELECT i id, i a FROM generate_series(1, 1000000) i');
$node->psql('postgres', "SET statement_timeout = '60ms'; SELECT gpusort_columns_add('big')", stderr => \$err);
like($err, qr/canceling statement due to statement timeout/, 'loading can be cancelled');
freed('and is freed', 'big');

# a dump has the choices
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE g');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('g') ], 'restored');
is($node->safe_psql('g', 'SELECT rel FROM gpusort_columns_choice'), 't', 'the choice is restored');
$node->safe_psql('g', 'CREATE ROLE other; SET ROLE other; INSERT INTO gpusort_columns_choice VALUES (1)');
is($node->safe_psql('g', 'SELECT count(*) FROM gpusort_columns_choice'), '1', 'only by its owner');
wait_until(
	sub { $node->safe_psql('g', "SELECT from_columns > 0 FROM gpusort_columns_check('t', '{id}')") eq 't' },
	'and loaded when a query comes');
$node->safe_psql('g', 'DROP EXTENSION gpusort');
wait_until(
	sub {
		$node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'gpusort columns' AND "
				. "datname = 'g'") eq '0';
	},
	'without the extension the keeper ends');

# no room
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$node->restart;
$node->psql('postgres', "SELECT gpusort_columns_add('big')", stderr => \$err);
like($err, qr/no worker slot.*max_worker_processes/s, 'no worker slot');
$node->append_conf('postgresql.conf', "max_worker_processes = 16\nshared_preload_libraries = ''");
$node->restart;
all_held('without shared_preload_libraries');
$node->stop;
done_testing();
