# Resident columns of strings: how dictionaries grow, are taken over by another keeper, become too large for the rows or
# the memory, and go with what nobody needs any more.
use strict;
use warnings;

use GpuSortColumns;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = columns_node('columns_strings', 'autovacuum = off');

# A view of a table's columns: "column state encoding entries", one after the other.
sub shown
{
	my ($table) = @_;
	return run("SELECT string_agg(concat_ws(' ', \"column\", state, encoding, distinct_values), '; ' ORDER BY "
			. "\"column\") FROM gpusort_columns WHERE rel = '$table'::regclass");
}

# Waits until a table is shown like this.
sub shows
{
	my ($table, $pattern, $name) = @_;
	my $now;

	wait_until(sub { $now = shown($table); return $now =~ $pattern }, $name) or diag($now);
}

# Since when a table is held as a whole, once it is.
sub ready_since
{
	my ($table) = @_;
	my $since = "SELECT max(ready_since) FROM gpusort_columns WHERE rel = '$table'::regclass";

	wait_until(sub { return run($since) ne '' }, "$table is ready");
	return run($since);
}

# Passes if columns answer a query with PostgreSQL's rows, once they are held.
sub same
{
	my ($query) = @_;
	my ($off, $on) = (run('SET gpusort.columns = off', $query), undef);

	wait_until(sub { return $node->psql('postgres', "SET gpusort.columns = force; $query", stdout => \$on) == 0 },
		"answered: $query");
	is($on, $off, $query);
}

run(q{CREATE TABLE t (a int, s text, h text)},
	q{INSERT INTO t SELECT i, 's' || i % 20, 'h' || i % 100 FROM generate_series(1, 20000) i}, 'VACUUM ANALYZE t',
	q{SELECT gpusort_columns_add('t')});
shows('t', qr/^a ready as is; h ready dictionary, codes of 8 bits 100; s ready dictionary, codes of 8 bits 20$/,
	'held');
my @queries = ('SELECT s, count(*), sum(a) FROM t GROUP BY s ORDER BY s', 'SELECT count(DISTINCT h) FROM t',
	q{SELECT count(*), count(DISTINCT s) FROM t WHERE h LIKE 'h1%' AND s <> 's3'});
same($_) foreach @queries;

# new strings, more than 8 bits have codes for, and then more than 16
run(q{INSERT INTO t SELECT i, 'new' || i % 5, 'n' || i % 300 FROM generate_series(1, 3000) i}, 'VACUUM t');
same($queries[0]);
shows('t', qr/h ready dictionary, codes of 16 bits 400; s ready dictionary, codes of 8 bits 25/, 'wider codes');
same($_) foreach @queries;
run(q{INSERT INTO t SELECT i, 's1', 'n' || i / 3 FROM generate_series(1, 240000) i}, 'VACUUM t');
same($queries[0]);
shows('t', qr/h ready dictionary, codes of 32 bits 80\d\d\d; s ready dictionary, codes of 8 bits 25/, 'the widest');
same($_) foreach @queries;

# another keeper takes dictionaries over, and what is known of columns
run(q{CREATE TABLE u (a int, s text, x text)},
	q{INSERT INTO u SELECT i, 's' || i % 9, 'x' || i FROM generate_series(1, 30000) i},
	'VACUUM u', q{SELECT gpusort_columns_add('u')});
shows('u', qr/^a ready as is; s ready dictionary, codes of 16 bits 9; x not held$/, 'a column of too many strings');
my $since = run(q{SELECT max(ready_since) FROM gpusort_columns WHERE rel = 'u'::regclass});
end_keeper();
run(q{INSERT INTO u VALUES (1, 'after', 'y')});
same(q{SELECT s, count(*) FROM u WHERE s >= 'a' GROUP BY s ORDER BY s});
shows('u', qr/^a ready as is; s ready dictionary, codes of 16 bits 10; x not held$/, 'as before');
is(run(q{SELECT max(ready_since) FROM gpusort_columns WHERE rel = 'u'::regclass}), $since, 'without a load');

# strings of rows that are gone: their table alone is loaded anew
my $beside = ready_since('t');
run(q{CREATE TABLE c (a int, s text)}, q{INSERT INTO c SELECT i, 'c' || i % 900 FROM generate_series(1, 4000) i},
	'VACUUM c', q{SELECT gpusort_columns_add('c')});
shows('c', qr/s ready dictionary, codes of 16 bits 900$/, 'held before the changes');
foreach my $turn (1 .. 3)
{
	run("UPDATE c SET s = 'turn $turn ' || a % 900", 'VACUUM c');
	same(qq{SELECT count(DISTINCT s), count(*) FROM c WHERE s LIKE 'turn $turn%'});
}
shows('c', qr/s ready dictionary, codes of 16 bits (?:9|1[0-9])\d\d$/,
	'a new dictionary when most strings are of no row');
is(ready_since('t'), $beside, 'other tables are held as before');

# rows that are being changed are not gone
{
	my $changing = session();

	run(q{CREATE TABLE p (a int, s text)}, q{INSERT INTO p SELECT i, 'p' || i % 9000 FROM generate_series(1, 20000) i},
		'VACUUM p', q{SELECT gpusort_columns_add('p')});
	shows('p', qr/s ready dictionary, codes of 16 bits 9000$/, 'held before the changes');
	my $loaded = ready_since('p');
	foreach my $part (1 .. 4)
	{
		my $pages = run(q{SELECT pg_relation_size('p') / 8192});

		$changing->query_safe("BEGIN; UPDATE p SET a = a + 1 WHERE a <= 5000 * $part");
		wait_until(
			sub { return run(q{SELECT max(changed) FROM gpusort_columns WHERE rel = 'p'::regclass}) > $pages / 9 },
			"pages change, $part");
		same('SELECT count(*), sum(a) FROM p') for 1 .. 3;
		$changing->query_safe('ROLLBACK');
		same('SELECT s, count(*), sum(a) FROM p GROUP BY s ORDER BY s LIMIT 5');
	}
	$changing->quit;
	is(ready_since('p'), $loaded, 'a table is not loaded anew while rows change');
}

# a cursor whose strings are in a file that a larger one replaces, which another query of the session maps
run(q{CREATE TABLE f (s text)}, q{INSERT INTO f SELECT 'f' || i % 2000 FROM generate_series(0, 19999) i}, 'VACUUM f',
	q{SELECT gpusort_columns_add('f')});
shows('f', qr/^s ready dictionary, codes of 16 bits 2000$/, 'held before the cursor');
my $session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.columns = force; BEGIN; DECLARE c CURSOR FOR SELECT s, count(*) FROM f GROUP BY s');
like($session->query_safe('FETCH 1 FROM c'), qr/^f\d+\|10$/, 'the first group');
run(q{INSERT INTO f SELECT 'g' || i % 1000 FROM generate_series(0, 9999) i}, 'VACUUM f');
# which wants the pages that the keeper may have read before the rows were committed
same('SELECT count(DISTINCT s), count(*) FROM f');
shows('f', qr/^s ready dictionary, codes of 16 bits 3000$/, 'more strings');
is($session->query_safe('SELECT count(DISTINCT s), count(*) FROM f'), '3000|30000', 'their number');
is(scalar(grep { /^f\d+\|10$/ } split /\n/, $session->query_safe('FETCH ALL FROM c')), 1999, 'the other groups');
$session->query_safe('COMMIT');
$session->quit;

# hashes of rows with strings, held and not: of each type, with NULL, one that is too long, changed ones
run(q{CREATE TABLE k (id int, c char(5), n name, v varchar(9), s text)},
	q{INSERT INTO k SELECT i, nullif('c' || i % 7, 'c3'), 'n' || i % 5, 'v' || i % 50, CASE WHEN i = 77 THEN }
	  . q{repeat('long', 9000) ELSE 's' || i % 90 END FROM generate_series(1, 9000) i}, 'VACUUM k',
	q{SELECT gpusort_columns_add('k')});
my $hashes = comparison('k', 'id', 'c', 'n', 'v', 's');
my $hashed;
wait_until(sub { $hashed = run($hashes); return $engine eq 'gpu' || $hashed =~ /^.\|[1-9]/ }, 'strings are hashed');
like($hashed, qr/^t\|/, 'as PostgreSQL reads them');
run(q{UPDATE k SET s = 'new', c = NULL WHERE id % 2000 = 5});
like(run($hashes), qr/^t\|/, 'and after a change');

# a service that starts anew
kill 'KILL', service_pids($node);
same($_) foreach @queries[0, 2];

# strings that take seconds to test, in which the service closes the connection, as it lies idle
{
	my $out;

	run(q{CREATE TABLE j (s text)}, 'ALTER TABLE j ALTER s SET STATISTICS 0',
		q{INSERT INTO j SELECT repeat(md5((i % 40)::text), 3) FROM generate_series(1, 1000) i}, 'VACUUM ANALYZE j',
		q{SELECT gpusort_columns_add('j')});
	service_with($node, '--idle=1');
	same('SELECT count(*) FROM j');
	$node->psql('postgres', 'SET gpusort.columns = force; SET max_parallel_workers_per_gather = 0; '
			. q{SELECT count(*) FROM j WHERE s !~ '^(.+)(.+)(.+)\1\2\3$'}, stdout => \$out);
	is($out, 1000, 'a question after a long time');
	service_with($node, '');
}

# too little memory for a dictionary
run(q{CREATE TABLE m (a int, s text, l text)}, q{INSERT INTO m SELECT i, 's' || i % 9, repeat('long' || i % 9000, 200) }
		. q{FROM generate_series(1, 27000) i}, 'VACUUM m');
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 8MB');
run("SELECT gpusort_columns_remove('$_')") foreach qw(t u c f);
$node->reload;
run(q{SELECT gpusort_columns_add('m')});
shows('m', qr/^a ready as is; l not held; s ready dictionary, codes of 16 bits 9$/, 'the others are held');
is(run(q{SELECT last_reason FROM gpusort_columns WHERE "column" = 'l'}), 'gpusort.columns_memory is used up', 'why');
same(q{SELECT s, count(*) FROM m GROUP BY s ORDER BY s});
$node->stop;
sound($node);
done_testing();
