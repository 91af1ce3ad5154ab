# Resident columns: what stands around a query that they answer.  Rights, cached plans, changes of one's own, cursors,
# isolation, partitions, functions, triggers and settings: each answer is the one with gpusort.columns off.
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = service_node('columns_answers', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
max_prepared_transactions = 5
deadlock_timeout = 100ms
CONF
my $rows = 30000;

sub run { return $node->safe_psql('postgres', join ';', @_) }

sub session { return $node->background_psql('postgres', on_error_stop => 0) }

# What statements print in a session, errors included.
sub said
{
	my ($session, @statements) = @_;
	my $text = $session->query(join ";\n", @statements);

	$text .= $session->{stderr} =~ s/^psql:\S* //mgr;
	$session->{stderr} = '';
	return $text;
}

# How a statement is answered: "columns", "child" or "none".
sub used
{
	my ($session, $statement) = @_;
	my $text = said($session, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $statement");

	return $text =~ /^\[/ ? columns_used($text) : $text;
}

# Passes once a statement is answered from columns.
sub from_columns
{
	my ($session, $statement, $name) = @_;
	my $used;

	# a plan may have been made while columns were off
	wait_until(sub { said($session, 'DISCARD PLANS'); ($used = used($session, $statement)) eq 'columns' },
		"$name: from columns")
		or diag("$used: " . said($session, "EXPLAIN ANALYZE $statement"));
}

# Passes if a statement is not.
sub not_from_columns
{
	my ($session, $statement, $name) = @_;
	isnt(used($session, $statement), 'columns', "$name: not from columns");
}

# Passes if a query's answer in a session's transaction is PostgreSQL's.
sub same
{
	my ($session, $query, $name) = @_;
	is(said($session, "SELECT 'equal', compare.same(\$q\$$query\$q\$)"), 'equal|', $name);
}

# Passes if a session says of a statement the same with columns on and off, and that is the given text.
sub executed
{
	my ($session, $statement, $expected, $name) = @_;
	# on first: a plan that is cached now shall be one with columns
	my ($on, $off) = map { said($session, "SET gpusort.columns = $_", $statement) } 'on', 'off';

	said($session, 'SET gpusort.columns = on');

	is($on, $off, "$name: $statement");
	is($on, $expected, "$name: $statement, as planned anew") if defined $expected;
}

# Passes if a script in a session of its own prints the same with columns on and off, errors included.
sub alike
{
	my ($name, $script) = @_;
	my %printed;

	foreach my $mode (qw(on off))
	{
		my ($out, $err) = ('', '');
		$node->psql('postgres', "SET gpusort.columns = $mode;\n$script", stdout => \$out, stderr => \$err,
			on_error_stop => 0);
		$printed{$mode} = "$out\n$err";
	}
	is($printed{on}, $printed{off}, $name);
	return $printed{on};
}

# A plain query's answer without columns.
sub without { return run("SET gpusort.columns = off", $_[0]) }

comparison_functions($node);
run(<<"SQL");
CREATE TABLE t (id int8, a int4, n numeric(12, 2), f float8, d date, ts timestamp, o bool, s int2);
INSERT INTO t SELECT i, i % 1000, i / 7.0, i / 8.0, date '2020-01-01' + i % 1000, timestamp '2020-01-01' + i % 1000 *
	interval '1 day', i % 3 = 0, i % 100 FROM generate_series(1, $rows) i;
UPDATE t SET a = NULL, n = NULL, ts = NULL, o = NULL WHERE id % 50 = 7;
CREATE TABLE r AS SELECT id, a, s FROM t;
CREATE TABLE e AS SELECT * FROM t;
CREATE TABLE g AS SELECT id, a FROM t;
CREATE TABLE log (mode text, n int8, s int8);
CREATE ROLE reader;
CREATE ROLE owner;
VACUUM ANALYZE t, r, e, g;
GRANT CREATE ON SCHEMA public TO owner;
SELECT gpusort_columns_add(x) FROM unnest('{t,r,e,g}'::regclass[]) x;
SQL
my $session = session();
my $sum = 'SELECT count(*), sum(id), sum(a), min(n), avg(n) FROM t WHERE a < 500';
from_columns($session, $sum, 'a query');
same($session, $sum, 'a query');

# row security
run(<<'SQL');
ALTER TABLE r OWNER TO owner;
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON r USING (s = 3);
GRANT SELECT ON r TO reader;
SQL
my $secured = 'SELECT count(*), sum(id) FROM r';
my ($all, $allowed) = map { without("$secured $_") } '', 'WHERE s = 3';
said($session, 'SET plan_cache_mode = force_generic_plan', "PREPARE secured AS $secured");
from_columns($session, 'EXECUTE secured', 'a superuser');
executed($session, 'EXECUTE secured', $all, 'row security, a superuser');
said($session, 'SET ROLE reader');
executed($session, $secured, $allowed, 'row security');
like(said($session, "EXPLAIN (COSTS OFF) $secured"), qr/^Aggregate/, 'row security: rows at most are from columns');
executed($session, 'EXECUTE secured', $allowed, 'row security, a plan of somebody else');
said($session, 'SET ROLE owner');
executed($session, 'EXECUTE secured', $all, 'the owner');
run('ALTER TABLE r FORCE ROW LEVEL SECURITY');
executed($session, 'EXECUTE secured', $allowed, 'the owner, with forced row security');
executed($session, 'SET row_security = off; EXECUTE secured; RESET row_security', undef, 'the owner, refusing it');
said($session, 'RESET ROLE');
executed($session, 'EXECUTE secured', $all, 'a superuser again');
run('ALTER TABLE r NO FORCE ROW LEVEL SECURITY', 'ALTER TABLE r DISABLE ROW LEVEL SECURITY');
said($session, 'SET ROLE reader');
executed($session, 'EXECUTE secured', $all, 'no row security');
run('ALTER TABLE r ENABLE ROW LEVEL SECURITY');
executed($session, 'EXECUTE secured', $allowed, 'row security under a cached plan');
said($session, 'RESET ROLE');

# columns' rights
run('GRANT SELECT (id, s) ON t TO reader');
said($session, 'PREPARE of_id AS SELECT sum(id) FROM t', 'PREPARE of_a AS SELECT sum(a) FROM t',
	'PREPARE by_a AS SELECT count(*) FROM t WHERE a < 5', 'EXECUTE of_id', 'EXECUTE of_a', 'EXECUTE by_a');
said($session, 'SET ROLE reader');
from_columns($session, 'SELECT count(*), sum(id) FROM t WHERE s < 50', 'granted columns');
executed($session, 'SELECT count(*), sum(id) FROM t WHERE s < 50', undef, 'granted columns');
foreach my $denied ('SELECT sum(a) FROM t', 'SELECT sum(id) FROM t WHERE a < 5', 'SELECT count(*), max(id + a) FROM t',
	'EXECUTE of_a', 'EXECUTE by_a', 'SELECT count(t) FROM t')
{
	executed($session, $denied, undef, 'columns that are not granted');
	like(said($session, $denied), qr/permission denied for table t/, "denied: $denied");
}
executed($session, 'EXECUTE of_id', undef, 'a granted column');
run('REVOKE SELECT (id) ON t FROM reader');
like(said($session, 'EXECUTE of_id'), qr/permission denied/, 'a right that is gone, under a cached plan');
said($session, 'RESET ROLE');
alike('roles of cursors', <<'SQL');
BEGIN;
DECLARE c CURSOR FOR SELECT sum(a) FROM t;
DECLARE h CURSOR WITH HOLD FOR SELECT sum(n) FROM t;
SET LOCAL ROLE reader;
FETCH c;
FETCH h;
SAVEPOINT s;
DECLARE e CURSOR FOR SELECT sum(a) FROM t;
ROLLBACK TO s;
COMMIT;
FETCH h;
SQL

# views
run(<<'SQL');
CREATE FUNCTION leaks(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF $1 >= 500 THEN RAISE EXCEPTION 'a hidden row: %', $1; END IF;
	RETURN true;
END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, a, n FROM t WHERE a < 500;
CREATE VIEW plain AS SELECT id, a, n FROM t WHERE a < 500;
CREATE VIEW invoker WITH (security_invoker) AS SELECT id, a, n FROM t WHERE a < 500;
GRANT SELECT ON barrier, plain, invoker TO reader;
SQL
said($session, 'SET ROLE reader');
from_columns($session, 'SELECT sum(id) FROM plain WHERE a > 3', 'a view of what the user may not read');
# without a barrier nothing says which condition is tested first
executed($session, $_, undef, 'a view')
	foreach grep { !/plain WHERE leaks/ }
	map { ("SELECT sum(id), max(n) FROM $_ WHERE a > 3", "SELECT sum(id) FROM $_ WHERE leaks(a)",
		"SELECT sum(id) FROM $_ WHERE leaks(a) AND a < 100", "SELECT count(*) FROM $_ WHERE 1 / (a - 700) > 3") }
	qw(barrier plain invoker);
said($session, 'RESET ROLE');

# parameters
foreach my $case (
	[ 'int8', 'a < $1', 500, -1, '9223372036854775807', 'NULL' ],
	[ 'int2', 'a = $1', 7, 'NULL' ],
	[ 'int4', '$1 <= s', 50, 2147483647, -2147483648 ],
	[ 'int8', 's <> $1', 50, 32768 ],
	[ 'numeric', 'n < $1', 100.005, "'NaN'", "'-Infinity'", '1e30' ],
	[ 'int4', 'n >= $1', 100 ],
	[ 'numeric', 'a > $1', 499.5 ],
	[ 'float8', 'f >= $1', 0.125, "'NaN'", "'-0'", "'Infinity'" ],
	[ 'float4', 'f = $1', 0.125, 0.1 ],
	[ 'timestamp', 'd < $1', "'2020-05-05 00:00:01'", "'infinity'" ],
	[ 'date', 'ts > $1', "'2020-05-05'", "'5874897-12-31'", "'-infinity'" ],
	[ 'timestamptz', 'ts > $1', "'2020-05-05'" ],
	[ 'bool', 'o = $1', 'true', 'NULL' ],
	[ 'int4[]', 'a = ANY ($1)', "'{1,2,3,NULL}'", "'{}'", 'NULL', "'{{5,5},{1000,-1}}'" ],
	[ 'int8[]', 'a = ANY ($1)', "'{1,2,9223372036854775807}'" ],
	[ 'int4, int4', 'a BETWEEN $1 AND $2', '10, 20', '20, 10', 'NULL, 5' ],
	[ 'int4, int4', 'a IN ($1, $2)', '10, 20', 'NULL, 5', 'NULL, NULL' ],
	[ 'int4', '$1 = 1', 1, 2, 'NULL' ],
	[ 'int4', 'a + $1 < 100', 5 ],
	[ 'int4', 'a < $1 + 1', 5, 2147483647 ],
	[ 'int4', 'a < 100 / $1', 5, 0 ])
{
	my ($types, $condition, @values) = @$case;
	my $query = "SELECT count(*), sum(id), min(n) FROM t WHERE $condition";

	said($session, "PREPARE q ($types) AS $query");
	foreach my $value (@values)
	{
		executed($session, "EXECUTE q ($value)", undef, "$types: $condition");
		executed($session, "SET plan_cache_mode = force_custom_plan; EXECUTE q ($value); "
				. "SET plan_cache_mode = force_generic_plan", undef, "$types: $condition, planned for it");
	}
	said($session, 'DEALLOCATE q');
}
said($session, 'PREPARE q (int4) AS SELECT sum(id) FROM t WHERE a < $1');
from_columns($session, 'EXECUTE q (100)', 'a parameter');
executed($session, 'EXECUTE q (100)', without('SELECT sum(id) FROM t WHERE a < 100'), 'a parameter');
executed($session, 'EXECUTE q (200)', without('SELECT sum(id) FROM t WHERE a < 200'), 'another value');

# settings under a cached plan
foreach my $setting ('gpusort.columns', 'gpusort.enabled')
{
	said($session, "SET $setting = off");
	not_from_columns($session, 'EXECUTE q (100)', "$setting = off");
	said($session, "SET $setting = on");
	from_columns($session, 'EXECUTE q (100)', "$setting = on");
}
said($session, 'SET gpusort.columns = off', 'PREPARE w AS SELECT sum(s) FROM t', 'EXECUTE w');
said($session, 'SET gpusort.columns = on');
executed($session, 'EXECUTE w', without('SELECT sum(s) FROM t'), 'planned without columns');

# an error instead of the table
said($session, 'SET gpusort.columns = force');
is(said($session, 'SELECT sum(id) FROM t WHERE a < 100'), without('SELECT sum(id) FROM t WHERE a < 100'),
	'force: from columns');
like(said($session, 'BEGIN ISOLATION LEVEL SERIALIZABLE', 'EXECUTE q (100)'), qr/ERROR/, 'force: refused');
said($session, 'ROLLBACK', 'SET gpusort.columns = on');

# definitions under cached plans
my %prepared = (
	p1 => [ 'int4', 'SELECT count(*), sum(id) FROM e WHERE a < $1', 500 ],
	p2 => [ 'timestamp', 'SELECT max(n), sum(n * (1 - n)) FROM e WHERE ts >= $1', "'2020-06-06'" ],
	p3 => [ 'bool', 'SELECT avg(s), min(d) FROM e WHERE o = $1', 'true' ]);
my $prepare = join ';', map { "PREPARE $_ ($prepared{$_}[0]) AS $prepared{$_}[1]" } sort keys %prepared;
said($session, $prepare, map { "EXECUTE $_ ($prepared{$_}[2])" } sort keys %prepared);
foreach my $ddl (
	'ALTER TABLE e ALTER a TYPE int8',
	'ALTER TABLE e ALTER n TYPE numeric(16, 3)',
	'ALTER TABLE e ADD COLUMN x int8 DEFAULT 5',
	'ALTER TABLE e DROP COLUMN o',
	"ALTER TABLE e ADD COLUMN o bool DEFAULT true",
	'ALTER TABLE e RENAME COLUMN a TO b; ALTER TABLE e RENAME COLUMN x TO a',
	'VACUUM FULL e',
	'CREATE INDEX e_id ON e (id)',
	'CLUSTER e USING e_id',
	'ALTER TABLE e SET UNLOGGED',
	'ALTER TABLE e SET LOGGED',
	"SELECT gpusort_columns_remove('e')",
	"SELECT gpusort_columns_add('e')",
	'TRUNCATE e',
	'INSERT INTO e (id, a, n, d, ts, o, s) SELECT id, a, n, d, ts, o, s FROM t',
	'ALTER TABLE e RENAME TO e_old; CREATE TABLE e AS SELECT * FROM t',
	"SELECT gpusort_columns_add('e')",
	'ALTER TABLE e ALTER n TYPE numeric',
	'ALTER TABLE e ALTER a TYPE text',
	'DROP TABLE e')
{
	run($_) foreach split /; /, $ddl;
	foreach my $name (sort keys %prepared)
	{
		my ($types, $query, $value) = @{ $prepared{$name} };
		my $plain = $query =~ s/\$1/$value/r;

		executed($session, "EXECUTE $name ($value)", undef, $ddl);
		executed($session, $plain, undef, $ddl);
		# a column's type may have changed since, which a cached plan must not
		my ($cached, $anew) = map { said($session, $_) } "EXECUTE $name ($value)", $plain;
		is($cached, $anew, "$ddl: $name as planned anew") unless $cached =~ /ERROR/;
		said($session, "DEALLOCATE $name", "PREPARE $name ($types) AS $query") if $cached =~ /ERROR/;
	}
	from_columns($session, 'EXECUTE p1 (500)', $ddl) if $ddl =~ /int8|TO a|CLUSTER|LOGGED|_add/
		&& $ddl !~ /UNLOGGED/;
}

# changes of one's own
$sum = 'SELECT count(*), sum(id), min(a), max(a), sum(n) FROM t WHERE a >= 10 OR true';
my $plain = 'SELECT count(*), sum(id), min(a), max(a), sum(n) FROM t WHERE s < 90';
foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	said($session, "BEGIN ISOLATION LEVEL $level");
	foreach my $step ('INSERT INTO t (id, a, n, s) SELECT i, -i, i, 5 FROM generate_series(1, 100) i',
		'SAVEPOINT one', 'UPDATE t SET a = a + 100000, s = 1 WHERE id % 1000 = 3', 'SAVEPOINT two',
		'DELETE FROM t WHERE id BETWEEN 5000 AND 6000', 'DECLARE c CURSOR FOR SELECT sum(id), count(*) FROM t',
		'DELETE FROM t WHERE id % 3 = 0', 'FETCH c', 'ROLLBACK TO two', 'SAVEPOINT three',
		'UPDATE t SET n = 5.55 WHERE ctid = (SELECT min(ctid) FROM t WHERE n > 0)', 'RELEASE three', 'DELETE FROM t',
		'ROLLBACK TO one', 'INSERT INTO t SELECT * FROM t WHERE id = 77', 'SELECT FROM t WHERE id < 500 FOR UPDATE')
	{
		my $seen = said($session, $step);
		is($seen =~ /^\d+\|\d+$/ ? 'a row' : $seen =~ s/^\n*$//r, $step eq 'FETCH c' ? 'a row' : '', "$level: $step");
		same($session, $_, "$level: after $step") foreach $plain, $sum;
	}
	from_columns($session, $plain, "$level: own changes");
	said($session, 'ROLLBACK');
}
alike('a truncation of one\'s own', "BEGIN; TRUNCATE t; $plain; INSERT INTO t (id, s) VALUES (1, 1); $plain;"
	. " ROLLBACK; $plain;");
alike('a prepared transaction', "BEGIN; DELETE FROM t WHERE id < 100; $plain; PREPARE TRANSACTION 'p'; $plain;"
	. " ROLLBACK PREPARED 'p'; $plain;");

# cursors
foreach my $change ('UPDATE t SET a = a + 1 WHERE id % 100 = 1', 'DELETE FROM t WHERE id > 29000',
	'INSERT INTO t (id, s) SELECT i, 1 FROM generate_series(1, 1000) i')
{
	my $old = without($plain);

	foreach my $mode (qw(on off))
	{
		said($session, "SET gpusort.columns = $mode", 'BEGIN', "DECLARE a SCROLL CURSOR FOR $plain",
			"DECLARE b NO SCROLL CURSOR WITH HOLD FOR $plain", "DECLARE c CURSOR FOR $plain", 'SAVEPOINT s',
			"DECLARE d CURSOR FOR $plain");
		is(said($session, 'FETCH a'), $old, "columns $mode: a cursor");
		run($change) if $mode eq 'on';
		said($session, $change) if $mode eq 'off';
		is(said($session, 'FETCH c'), $mode eq 'on' ? $old : without($plain), "columns $mode: its snapshot, $change");
		is(said($session, 'FETCH a; FETCH BACKWARD a; FETCH BACKWARD a; FETCH a; FETCH FIRST a; FETCH LAST a;'
			. ' MOVE ABSOLUTE 0 a; FETCH a'),
			join("\n", ($old) x 5), "columns $mode: to and fro");
		said($session, 'ROLLBACK TO s');
		said($session, 'COMMIT');
		is(said($session, 'FETCH b'), $old, "columns $mode: held over a commit");
		said($session, 'CLOSE b');
		$old = without($plain);
	}
}
said($session, 'SET gpusort.columns = on');
run('VACUUM t');

# serializable
not_from_columns($session, $plain, 'serializable') if said($session, 'BEGIN ISOLATION LEVEL SERIALIZABLE') eq '';
not_from_columns($session, 'EXECUTE q (100)', 'serializable, under a cached plan');
same($session, $plain, 'serializable');
said($session, 'COMMIT');
foreach my $query ('EXECUTE q (100)', 'SELECT sum(id) FROM t WHERE a < 100')
{
	my $other = session();

	said($other, 'SET plan_cache_mode = force_generic_plan', 'PREPARE q (int4) AS SELECT sum(id) FROM t WHERE a < $1',
		'EXECUTE q (100)');
	foreach my $one ($session, $other)
	{
		said($one, 'BEGIN ISOLATION LEVEL SERIALIZABLE', $query, 'INSERT INTO t (id, a) VALUES (1, 1)');
	}
	unlike(said($session, 'COMMIT'), qr/ERROR/, 'the first of two that depend on each other');
	like(said($other, 'COMMIT'), qr/could not serialize/, "the second is refused: $query");
	$other->quit;
}

# subplans and parameters of other nodes
alike("a query: $_", "$_;") foreach (
	'SELECT x, (SELECT sum(id) FROM t WHERE a < x) FROM generate_series(-1, 500, 100) x',
	'SELECT x, q.* FROM generate_series(0, 300, 100) x, LATERAL (SELECT count(*), max(n) FROM t WHERE a = x) q',
	'SELECT x, q.* FROM (VALUES (1), (NULL), (1), (2)) v (x) LEFT JOIN LATERAL (SELECT sum(id + x) FROM t WHERE'
		. ' a < x) q ON true',
	'SELECT sum(id) FROM t WHERE a < (SELECT 10)',
	'SELECT sum(id) FROM t WHERE a = (SELECT max(a) FROM t)',
	'SELECT sum(id) FROM t WHERE a = (SELECT 1 WHERE false)',
	'SELECT sum(id), (SELECT sum(a) FROM t) FROM t HAVING sum(id) > (SELECT count(*) FROM t)',
	'SELECT sum(id) FROM t WHERE a < 100 AND EXISTS (SELECT FROM t WHERE a = 5)',
	'SELECT sum(id) FROM t WHERE random() < 2', 'SELECT count(random()) FROM t',
	'SELECT sum(id) FROM t WHERE ts > now()', "SELECT sum(id) FROM t WHERE ts < now() + '10 years'",
	'SELECT count(t), count(t.*), count(ctid), max(tableoid::int8) = t.tableoid::int8 FROM t GROUP BY t.tableoid',
	'SELECT sum(id) FROM t TABLESAMPLE bernoulli (10) REPEATABLE (5)', 'SELECT count(*) FROM t a JOIN t b USING (id)',
	'SELECT sum(id) FROM t GROUP BY ()', 'SELECT o, sum(id) FROM t GROUP BY o ORDER BY o',
	'SELECT sum(id) FROM t GROUP BY ROLLUP (o) ORDER BY 1', 'SELECT DISTINCT sum(id) FROM t ORDER BY 1 LIMIT 1'
		. ' OFFSET 0',
	'SELECT sum(id) FROM t LIMIT 0', 'SELECT sum(id) FROM t OFFSET 1', 'SELECT sum(id) OVER () FROM t LIMIT 1',
	'SELECT sum(sum(id)) OVER () FROM t', 'SELECT sum(id) FILTER (WHERE a > 5), count(DISTINCT a) FROM t',
	'SELECT sum(id ORDER BY a), array_agg(id ORDER BY id) FILTER (WHERE id < 5) FROM t', 'SELECT 1 FROM t HAVING true',
	'SELECT sum(DISTINCT a), variance(a), stddev(f), bit_or(a), bool_and(o) FROM t',
	'SELECT (sum(id) + count(*)) * 2 || \'x\', CASE WHEN max(a) > 5 THEN min(n) END FROM t', 'TABLE t LIMIT 0',
	'SELECT sum(id) FROM t UNION ALL SELECT sum(a) FROM t UNION ALL SELECT count(*) FROM t WHERE false',
	'WITH c AS MATERIALIZED (SELECT sum(id) s FROM t) SELECT * FROM c, c d',
	'WITH RECURSIVE c (i, s) AS (SELECT 1, 1::numeric UNION ALL SELECT i + 1, (SELECT sum(id) FROM t WHERE a <'
		. ' i) FROM c WHERE i < 4) SELECT * FROM c',
	'SELECT sum(id) FROM ONLY t', 'SELECT sum(id) FROM (SELECT id FROM t OFFSET 0) q', 'SELECT sum(q) FROM'
		. ' (SELECT id + 1 AS q FROM t) x',
	'SELECT sum(id) FROM t WHERE false', 'SELECT sum(id), count(*) FROM t WHERE NULL', 'SELECT sum(id) FROM t'
		. ' WHERE a = 1 AND a = 2',
	'SELECT sum(5), count(1), max(NULL::int), count(NULL), min(2.5) FROM t', 'SELECT max(a * a), sum(a::int8 *'
		. ' id * id * id) FROM t',
	'SELECT sum(a + id * 922337203685477580) FROM t WHERE a IS NULL',
	'SELECT sum(s * s * s) FROM t', 'SELECT sum(a / 0) FROM t WHERE a > 100000', 'SELECT sum(a / (a - 5)) FROM t');
from_columns($session, 'SELECT sum(id) FROM t WHERE a < (SELECT 10)', 'a parameter of an InitPlan');

# partitions
run(<<"SQL");
CREATE TABLE p (id int8, a int4, n numeric(12, 2)) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10000) TO (20000) PARTITION BY LIST (a);
CREATE TABLE p2a PARTITION OF p2 FOR VALUES IN (1, 2, 3);
CREATE TABLE p2b PARTITION OF p2 DEFAULT;
INSERT INTO p SELECT i, i % 100, i / 3.0 FROM generate_series(0, 19999) i;
CREATE TABLE p3 (junk text, n numeric(12, 2), a int4, gone int, id int8 NOT NULL);
ALTER TABLE p3 DROP COLUMN junk, DROP COLUMN gone;
INSERT INTO p3 SELECT i / 3.0, i % 100, i FROM generate_series(20000, 29999) i;
CREATE TABLE single (id int8, a int4, n numeric(12, 2));
CREATE TABLE heir () INHERITS (single);
INSERT INTO single SELECT i, i % 100, i FROM generate_series(1, 20000) i;
INSERT INTO heir SELECT i, i % 100, i FROM generate_series(1, 2000) i;
VACUUM ANALYZE p, p3, single, heir;
SELECT gpusort_columns_add('p'), gpusort_columns_add('single'), gpusort_columns_add('heir');
SQL
my @asked = map { "SELECT count(*), sum(id), max(a), sum(n) FROM $_" } 'p', 'p WHERE a < 50', 'p WHERE id < 5000',
	'p WHERE id BETWEEN 5000 AND 25000 AND a = 2', 'p WHERE id > 1000000', 'p2 WHERE a <> 2', 'ONLY p', 'p1', 'single',
	'ONLY single', 'heir';
said($session, 'PREPARE parts (int8) AS SELECT count(*), sum(id), sum(n) FROM p WHERE id >= $1');
said($session, "EXECUTE parts ($_)") foreach 0, 0;
foreach my $step ('SELECT 1', 'ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (30000)',
	'UPDATE p SET a = a + 1 WHERE id % 500 = 0 AND id <> 10000', 'ALTER TABLE p DETACH PARTITION p1',
	'DELETE FROM p1 WHERE id < 100; INSERT INTO p3 (id, a, n) VALUES (25000, 5, 5)',
	'ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10000)', "SELECT gpusort_columns_add('p')",
	'ALTER TABLE p DETACH PARTITION p3 CONCURRENTLY', 'CREATE TABLE p4 PARTITION OF p DEFAULT',
	'INSERT INTO p SELECT i, i, i FROM generate_series(40000, 45000) i', 'DROP TABLE p2', 'TRUNCATE p1')
{
	run($_) foreach split /; /, $step;
	executed($session, $_, undef, $step) foreach @asked;
	executed($session, "EXECUTE parts ($_)", without("SELECT count(*), sum(id), sum(n) FROM p WHERE id >= $_"), $step)
		foreach 0, 15000, 1000000;
	from_columns($session, $asked[0], $step) if $step =~ /SELECT 1|ATTACH|_add/;
}
alike('pruned while it runs', <<'SQL');
SELECT x, (SELECT sum(a) FROM p WHERE id < x) FROM generate_series(0, 50000, 10000) x;
SELECT sum(a) FROM p WHERE id = (SELECT 40005);
SQL

# statements that write what they read
alike("writes: $_", "BEGIN; $_; SELECT count(*), sum(id), sum(a) FROM g; ROLLBACK;") foreach (
	'INSERT INTO g SELECT sum(id), count(*) FROM g', 'INSERT INTO g SELECT sum(id), count(*) FROM t RETURNING *',
	'CREATE TABLE made AS SELECT sum(id), max(n) FROM t; TABLE made',
	'UPDATE g SET a = (SELECT max(s) FROM t) WHERE id < 10', 'UPDATE g SET a = (SELECT count(*) FROM g h WHERE'
		. ' h.a = g.a) WHERE id < 4',
	'UPDATE g SET a = q.m FROM (SELECT max(a) m FROM g) q WHERE id < 10 RETURNING g.*',
	'DELETE FROM g WHERE id > (SELECT avg(id) FROM g)',
	'WITH i AS (INSERT INTO g SELECT i, i FROM generate_series(1, 1000) i RETURNING id) SELECT (SELECT sum(id)'
		. ' FROM i), sum(id), count(*) FROM g',
	'WITH d AS (DELETE FROM g WHERE id < 1000) SELECT sum(id), count(*) FROM g',
	'MERGE INTO g USING (SELECT max(id) m, count(*)::int c FROM g) q ON g.id = q.m WHEN MATCHED THEN UPDATE SET'
		. ' a = q.c WHEN NOT MATCHED THEN DO NOTHING');

# functions
run(<<'SQL');
CREATE FUNCTION in_sql(int) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(id) FROM g WHERE a < $1';
CREATE FUNCTION in_sql_volatile(int) RETURNS numeric LANGUAGE sql VOLATILE AS 'SELECT sum(id) FROM g WHERE a < $1';
CREATE FUNCTION in_stable(int) RETURNS numeric LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT sum(id) FROM g
	WHERE a < $1); END';
CREATE FUNCTION in_volatile(int) RETURNS numeric LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN (SELECT sum(id)
	FROM g WHERE a < $1); END';
CREATE FUNCTION in_immutable(int) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN (SELECT sum(id)
	FROM g WHERE a < $1); END';
CREATE FUNCTION without_columns(int) RETURNS numeric LANGUAGE plpgsql SET gpusort.columns = off AS 'BEGIN
	RETURN in_volatile($1); END';
CREATE FUNCTION loops() RETURNS SETOF numeric LANGUAGE plpgsql AS $$
DECLARE
	s numeric;
	c CURSOR FOR SELECT sum(id), count(*) FROM g;
BEGIN
	FOR i IN 1 .. 8 LOOP
		SELECT sum(id) INTO s FROM g WHERE a < i * 50;
		RETURN NEXT s;
		BEGIN
			INSERT INTO g VALUES (i * 1000000, i);
			DELETE FROM g WHERE id = i * 10;
			RETURN NEXT (SELECT sum(id) FROM g WHERE a < i * 50);
			IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
		EXCEPTION WHEN division_by_zero THEN
			RETURN NEXT (SELECT sum(id) + count(*) FROM g WHERE a < i * 50);
		END;
		FOR r IN c LOOP
			UPDATE g SET a = a + 1 WHERE id = i;
			RETURN NEXT r.sum;
		END LOOP;
		EXECUTE 'SELECT sum(id) FROM g WHERE a < $1' INTO s USING i;
		RETURN NEXT s;
	END LOOP;
END $$;
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
DECLARE
	s numeric;
BEGIN
	FOR i IN 1 .. 6 LOOP
		SELECT sum(id) INTO s FROM g WHERE a < i * 50;
		INSERT INTO log VALUES (current_setting('gpusort.columns'), i, s);
		UPDATE g SET a = 999 - a WHERE id = i;
		IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
		INSERT INTO log SELECT current_setting('gpusort.columns'), i, sum(id) FROM g WHERE a < i * 50;
	END LOOP;
	UPDATE g SET a = 999 - a WHERE id IN (2, 4, 6);
END $$;
SQL
my $functions = join ' ', map { "SELECT $_(x) FROM generate_series(0, 300, 100) x;" } qw(in_sql in_sql_volatile
	in_stable in_volatile in_immutable without_columns);
alike('functions', "BEGIN; $functions UPDATE g SET a = a + 50 WHERE id < 1000; $functions SELECT loops(); "
		. "SELECT in_stable(5), in_volatile(5), loops(), in_stable(5), in_volatile(5) LIMIT 3; ROLLBACK; $functions");
run("SET gpusort.columns = $_", 'CALL commits()') foreach qw(on off);
is(run("SELECT n, s FROM log GROUP BY n, s HAVING count(*) FILTER (WHERE mode = 'on') <> count(*) FILTER (WHERE"
	. " mode = 'off')"),
	'', 'a procedure that commits');
is(run("SELECT count(*) FROM log"), '14', 'of as many answers');

# triggers
run(<<'SQL');
CREATE FUNCTION looks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log SELECT TG_WHEN || TG_LEVEL || TG_OP, count(*), sum(a) FROM g;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON g FOR EACH ROW EXECUTE FUNCTION looks();
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON g FOR EACH ROW EXECUTE FUNCTION looks();
CREATE TRIGGER s AFTER INSERT OR UPDATE OR DELETE ON g FOR EACH STATEMENT EXECUTE FUNCTION looks();
CREATE CONSTRAINT TRIGGER c AFTER UPDATE ON g DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION looks();
SQL
alike('triggers', <<'SQL');
BEGIN;
TRUNCATE log;
INSERT INTO g SELECT i, i FROM generate_series(1, 3) i;
UPDATE g SET a = a * 2 WHERE id < 4;
DELETE FROM g WHERE id = 2;
SAVEPOINT s;
UPDATE g SET a = 77 WHERE id = 5;
ROLLBACK TO s;
SET CONSTRAINTS ALL IMMEDIATE;
TABLE log;
ROLLBACK;
SQL
run("DROP TRIGGER $_ ON g") foreach qw(a b c s);

# a row that somebody else has changed meanwhile
my @rows;
foreach my $mode (qw(on off))
{
	my ($first, $second) = (session(), session());

	said($first, 'BEGIN', 'UPDATE g SET a = a + 500 WHERE id IN (1, 2, 3)');
	said($second, "SET gpusort.columns = $mode", 'BEGIN');
	$second->query_until(qr/begun/, <<'SQL');
\echo begun
UPDATE g SET a = (SELECT count(*) FROM g h WHERE h.a > g.a) + (SELECT max(a) FROM g) WHERE id IN (1, 2, 3) AND
	a > (SELECT min(a) FROM g);
SQL
	wait_until(sub { run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") eq '1' }, 'it waits');
	said($first, 'COMMIT');
	push @rows, said($second, 'SELECT * FROM g WHERE id IN (1, 2, 3) ORDER BY 1');
	said($second, 'ROLLBACK');
	said($first, 'UPDATE g SET a = a - 500 WHERE id IN (1, 2, 3)');
	$_->quit foreach $first, $second;
}
is($rows[0], $rows[1], 'rows that were changed meanwhile');

# other settings
my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
my $several = "$plain; SELECT sum(f), max(f) FROM t WHERE f < 100; SELECT sum(n) FROM p; SELECT x, (SELECT"
	. " sum(id) FROM t "
	. 'WHERE a < x) FROM generate_series(0, 200, 100) x; SELECT count(*) FROM t a JOIN (SELECT max(id) m FROM t)'
	. ' q ON a.id = q.m;';
alike("with $_", "SET $_; $several") foreach "$force = on", "$force = regress",
	'max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET'
		. ' min_parallel_table_scan_size = 0',
	'jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0', 'enable_seqscan = off', 'enable_hashagg = off',
	'work_mem = 64', 'default_transaction_read_only = on', 'default_transaction_isolation = serializable',
	"session_replication_role = replica", 'transform_null_equals = on', "timezone = 'Asia/Tokyo'", "datestyle ="
		. " 'German'",
	'extra_float_digits = -5', 'cursor_tuple_fraction = 0.001', 'gpusort.verify = full', 'gpusort.engine = cpu',
	'seq_page_cost = 0; SET cpu_tuple_cost = 0', 'row_security = off', 'log_executor_stats = on',
		'constraint_exclusion = on',
	'enable_partition_pruning = off', 'enable_partitionwise_aggregate = on', 'gpusort.columns_float_sums = off';

# what EXPLAIN says
foreach my $options ('COSTS OFF', 'VERBOSE', 'ANALYZE', 'ANALYZE, BUFFERS, VERBOSE, SETTINGS, WAL', 'ANALYZE,'
	. ' TIMING OFF',
	'ANALYZE, FORMAT JSON', 'ANALYZE, FORMAT XML, BUFFERS', 'FORMAT YAML, VERBOSE', 'FORMAT JSON')
{
	like(said($session, "EXPLAIN ($options) $_"), qr/GpuColumns/, "EXPLAIN ($options) $_: from columns")
		foreach 'SELECT sum(id) FROM t WHERE a < 5', 'SELECT sum(id), avg(f), count(*) FROM t', 'EXECUTE q (5)',
		'SELECT sum(a) FROM p', 'SELECT (SELECT sum(id) FROM t WHERE a < x) FROM generate_series(1, 2) x';
}
like(said($session, 'EXPLAIN ANALYZE SELECT sum(id) FROM t WHERE a < 5'), qr/never executed/, 'the plan below is'
	. ' not executed: from columns');
like(said($session, 'SET gpusort.columns = off', 'EXPLAIN SELECT sum(id) FROM t', 'SET gpusort.columns = on'),
	qr/^Aggregate/, 'without columns there is no trace of them');
alike('auto_explain', "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; "
		. "SET auto_explain.log_format = json; SET auto_explain.log_nested_statements = on; $several");

# the session ends in its own time
same($session, $plain, 'at the end');
said($session, 'DISCARD ALL');
same($session, $plain, 'after DISCARD ALL');
$session->quit;
$node->stop;
sound($node);
done_testing();
