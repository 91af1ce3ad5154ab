# Columns that lie on devices, and questions which these do not answer: the order of strings, functions of them, keys
# that are too wide, groups without room, tables on several devices.  The CPU answers them, from copies, also while
# pages change.  Devices are made up, so that refusals are faults.
# tags: service
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = service_node('columns_devices', '--devices=2', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
cpu_operator_cost = 1
CONF

sub one { return $node->safe_psql('postgres', $_[0]) }

one(<<'SQL');
CREATE TABLE t (id int8, a int4, s text COLLATE "C", u text, n numeric(12, 2));
INSERT INTO t SELECT i, nullif(i % 100, 7), CASE WHEN i % 11 <> 0 THEN 's' || i % 3000 END,
	'http://' || i % 500 || '/' || i % 7, i / 7.0 FROM generate_series(1, 60000) i;
CREATE TABLE p (id int8, s text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (15000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (15000) TO (40000);
INSERT INTO p SELECT i, 's' || i % 900 + i / 15000 * 300 FROM generate_series(1, 30000) i;
VACUUM ANALYZE t, p;
SELECT gpusort_columns_add('t');
SELECT gpusort_columns_add('p');
SQL

# What a device leaves to the CPU, and what it does not.
my @strings = (
	'SELECT min(s), max(u), count(s) FROM t',
	'SELECT s FROM t WHERE s IS NOT NULL ORDER BY s LIMIT 10',
	'SELECT a, min(s), max(u) FROM t WHERE id > 100 GROUP BY a',
	'SELECT s, count(*) FROM t GROUP BY s ORDER BY s DESC LIMIT 20',
	'SELECT length(u), count(*), sum(n) FROM t GROUP BY length(u)',
	q{SELECT regexp_replace(u, '^http://([^/]+)/.*$', '\1') k, avg(length(u)), count(*) FROM t GROUP BY k},
	'SELECT a, percentile_disc(0.5) WITHIN GROUP (ORDER BY s) FROM t GROUP BY a',
	'SELECT s, count(*) FROM p GROUP BY s ORDER BY s',
	'SELECT min(s), max(s) FROM p',
	'SELECT DISTINCT s FROM p ORDER BY s LIMIT 50');
my @plain = (
	'SELECT a, count(*), sum(n) FROM t GROUP BY a',
	'SELECT id, a, u, count(*) FROM t GROUP BY id, a, u',
	'SELECT id, sum(n) FROM t GROUP BY id ORDER BY 2 DESC, 1 LIMIT 50',
	'SELECT count(DISTINCT id), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM t',
	'SELECT a, id FROM t WHERE a IS NOT NULL ORDER BY a, id LIMIT 9 OFFSET 700',
	'SELECT max(c) FROM (SELECT count(*) OVER (PARTITION BY a ORDER BY id) c FROM t) x',
	'SELECT gpu_rle(a) FROM t',
	'SELECT cardinality(gpu_rle(u)), count(*) FROM t WHERE a < 60');
my @reduces = ('SELECT count(*), sum(n), max(id) FROM t WHERE a > 50');

# Runs statements in a transaction that has changed pages and added strings, so that there are chunks to be sent.
sub changed
{
	my ($mode, @statements) = @_;
	my $change = q{UPDATE t SET s = 'new' || id % 5, a = NULL, u = 'x/' || id WHERE id % 20000 = 5;
		UPDATE p SET s = 'other' WHERE id IN (500, 20000)};

	return $node->safe_psql('postgres',
		join ";\n", 'BEGIN', $change, "SET LOCAL gpusort.columns = $mode", @statements, 'ROLLBACK');
}

# The engines of queries, or why columns did not answer.
sub engines
{
	my (@queries) = @_;
	my @plans = grep { /\S/ } split /^-$/m,
		changed('on', map { ("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $_", "SELECT '-'") } @queries);

	return map { (node_of($_) // {})->{ columns_used($_) eq 'columns' ? 'Engine' : 'Columns' } } @plans;
}

# Passes if queries are answered by an engine, with PostgreSQL's rows.
sub answered_by
{
	my ($engine, $name, @queries) = @_;

	is_deeply([ engines(@queries) ], [ ($engine) x @queries ], "$name: by $engine");
	foreach my $mode ('changed', 'as it is')
	{
		my $ask = $mode eq 'changed' ? \&changed
			: sub { my ($columns, @statements) = @_; one(join ";\n", "SET gpusort.columns = $columns", @statements) };
		is($ask->('force', map { digest_of($_) } @queries), $ask->('off', map { digest_of($_) } @queries),
			"$name, $mode: PostgreSQL's rows");
	}
}

# Waits until all is held.
sub wait_until_held
{
	wait_until(
		sub {
			one("SELECT bool_and(from_columns > 0) FROM unnest('{t,p1,p2}'::regclass[]) r, "
					. "gpusort_columns_check(r, '{id}')") eq 't';
		},
		'the tables are held');
}

wait_until_held();
cmp_ok(one('SELECT count(*) FROM gpusort_devices WHERE reserved_bytes > 0'), '>', 0, 'on devices');
my ($device) = engines($reduces[0]);
my $cpu = "CPU, columns copied from $device";
answered_by($cpu, 'strings', @strings);
answered_by($device, 'what devices can', @plain, @reduces);

# a device that refuses keys, and one that has no room for groups
SKIP:
{
	skip 'devices that are not made up', 2 if $engine eq 'gpu';
	foreach my $stage ('begin', 'finish')
	{
		service_with($node, "--devices=2 --fault=narrow\@$stage --fault-every=1");
		wait_until_held();
		answered_by($cpu, "refused at $stage", @plain, @strings);
		answered_by($device, "not refused at $stage", @reduces);
	}
	service_with($node, '--devices=2');
	wait_until_held();
}

# a wrong answer that the CPU gave from copies is no device's fault, as one that a device gave is
sub blamed
{
	my @lines = slurp_file($node->logfile) =~ /got a wrong answer from device/g;

	return scalar @lines;
}
SKIP:
{
	skip 'devices that are not made up', 2 if $engine eq 'gpu';
	service_with($node, '--devices=2 --fault=count@finish --fault-every=1');
	wait_until_held();
	one($strings[2]);
	is(blamed(), 0, 'no device is blamed for an answer from copies');
	one($plain[0]);
	is(blamed(), 1, 'but for its own');
	service_with($node, '--devices=2');
	wait_until_held();
}

# segments of pages whose rows have all gone, and of which there is nothing to copy
one("CREATE TABLE e AS SELECT i AS id, 's' || i % 7 AS s FROM generate_series(1, 30000) i");
one('VACUUM e');
one("SELECT gpusort_columns_add('e')");
one('DELETE FROM e WHERE id < 29000');
one('VACUUM e');
wait_until(sub { one("SELECT from_columns > 100 FROM gpusort_columns_check('e', '{id}')") eq 't' }, 'empty pages');
answered_by($cpu, 'empty pages', 'SELECT min(s), max(s), count(id) FROM e');

# copies are memory of questions, within the limit and its least share
my $large = 'SELECT min(s), count(DISTINCT id), sum(n), max(a) FROM t';
one("INSERT INTO t SELECT i, i % 100, 's' || i % 3000, 'u', i FROM generate_series(1, 900000) i");
one('VACUUM t');
wait_until(sub { one("SELECT from_columns > 5000 FROM gpusort_columns_check('t', '{id}')") eq 't' }, 'more rows');
answered_by($cpu, 'more rows', $large, @strings[ 1 .. 4 ]);
foreach my $case ([ '1MB', 'not used (out of device memory)' ], [ '1GB', $cpu ])
{
	my ($limit, $by) = @$case;

	$node->append_conf('postgresql.conf', "gpusort.columns_memory = $limit");
	forgive($node);
	wait_until(sub { ((engines($large))[0] // '') eq $by }, "with $limit: $by", 20);
}

# those of other columns give way to what a question works in, also in the segments that it reads
my @in_turn = (
	'SELECT min(s), sum(id), sum(n) FROM t',
	'SELECT min(u), percentile_disc(0.5) WITHIN GROUP (ORDER BY a) FROM t');
foreach my $limit (7 .. 9)
{
	$node->append_conf('postgresql.conf', "gpusort.columns_memory = ${limit}MB");
	forgive($node);
	one('SELECT pg_sleep(1)');
	is_deeply([ engines(@in_turn) ], [ ($cpu) x 2 ], "of other columns, with ${limit}MB");
}
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 1GB');
forgive($node);

# several at once, whose copies wait for each other
my $together = $node->basedir . '/together.sql';
append_to_file($together, "SET gpusort.columns = force;\n$large;\n$strings[3];\n");
command_ok([ 'pgbench', '-n', '-c', 6, '-j', 2, '-t', 3, '-f', $together, '-h', $node->host, '-p', $node->port,
		'postgres' ], 'six sessions with copies');

# segments that come and go meanwhile
my $writer = $node->background_psql('postgres');
$writer->query_until(qr/go/, <<'SQL');
\echo go
DO $$ BEGIN FOR i IN 1 .. 40 LOOP
	UPDATE p SET s = 'w' || i WHERE id % 1000 = i; COMMIT; PERFORM pg_sleep(0.05);
END LOOP; END $$;
SQL
comparison_functions($node);
is(one("SELECT coalesce(string_agg(compare.same(q), ''), '') FROM generate_series(1, 15), unnest(ARRAY["
			. join(', ', map { "'$_'" } @strings[ 7, 8, 9 ])
			. ']) q'), '', 'while pages change');
$writer->quit;
$node->stop;
sound($node);
done_testing();
