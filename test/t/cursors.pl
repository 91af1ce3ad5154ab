# Cursors over sorts: held at commit, scrolled, under savepoints, spilled or not.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('cursors');
$node->safe_psql('postgres',
	"CREATE TABLE t AS SELECT (i * 7919) % 100003 k, repeat('x', 30) pad FROM generate_series(0, 100002) i; VACUUM "
		. "ANALYZE t");

# $k of the row where a FETCH ends
sub fetch
{
	my ($session, $what) = @_;
	my $out = $session->query_safe("FETCH $what FROM c");
	return join(',', map { (split /\|/)[0] } split /\n/, $out);
}

for my $memory ('256MB', '1MB')
{
	my $s = $node->background_psql('postgres', on_error_stop => 0);
	$s->query_safe("SET gpusort.work_mem = '$memory'");

	$s->query_safe('BEGIN');
	$s->query_safe('DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t ORDER BY k');
	is(fetch($s, '3'), '0,1,2', "$memory: before commit");
	$s->query_safe('COMMIT');
	is(fetch($s, '3'), '3,4,5', "$memory: held after commit");
	is(fetch($s, 'ABSOLUTE 100003'), '100002', "$memory: up to the last row");
	is(fetch($s, 'NEXT'), '', "$memory: and no further");
	$s->query_safe('CLOSE c');

	$s->query_safe('BEGIN');
	$s->query_safe('DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM t ORDER BY k DESC');
	is(fetch($s, '2'), '100002,100001', "$memory: scroll, held");
	$s->query_safe('COMMIT');
	is(fetch($s, 'PRIOR'), '100002', "$memory: backward after commit");
	$s->query_safe('CLOSE c');

	$s->query_safe('BEGIN');
	$s->query_safe('DECLARE c SCROLL CURSOR FOR SELECT * FROM t ORDER BY k');
	is(fetch($s, 'BACKWARD 1'), '', "$memory: nothing before the first");
	is(fetch($s, 'LAST'), '100002', "$memory: last");
	is(fetch($s, 'BACKWARD 2'), '100001,100000', "$memory: backward");
	is(fetch($s, 'ABSOLUTE -100003'), '0', "$memory: from the end");
	is(fetch($s, 'RELATIVE 50000'), '50000', "$memory: relative");
	is(fetch($s, 'FIRST'), '0', "$memory: first");
	$s->query_safe('MOVE FORWARD ALL FROM c');
	is(fetch($s, 'NEXT'), '', "$memory: past the end");
	is(fetch($s, 'PRIOR'), '100002', "$memory: back from the end");
	$s->query_safe('SAVEPOINT a');
	is(fetch($s, 'ABSOLUTE 10'), '9', "$memory: in a savepoint");
	$s->query_safe('ROLLBACK TO a');
	is(fetch($s, 'NEXT'), '10', "$memory: the position outlives the savepoint");
	$s->query_safe('COMMIT');

	# declared in a savepoint that fails
	$s->query_safe('BEGIN');
	$s->query_safe('SAVEPOINT a');
	$s->query_safe('DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k');
	is(fetch($s, '1'), '0', "$memory: opened in a savepoint");
	$s->query_safe('ROLLBACK TO a');
	my ($out, $failed) = $s->query('FETCH 1 FROM c');
	like($s->{stderr}, qr/cursor "c" does not exist/, "$memory: and gone with it");
	$s->{stderr} = '';
	$s->query_safe('ROLLBACK');
	is(scalar(temp_files($node)), 0, "$memory: no file is left");

	# a loop in a function, left early
	is( $s->query_safe(<<'SQL'), '100', "$memory: a loop left early");
CREATE OR REPLACE FUNCTION first_rows(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r record; c int := 0;
BEGIN
	FOR r IN SELECT * FROM t ORDER BY k LOOP
		IF r.k <> c THEN RAISE 'row % has key %', c, r.k; END IF;
		c := c + 1;
		EXIT WHEN c = n;
	END LOOP;
	RETURN c;
END $$;
SELECT first_rows(100);
SQL
	$s->quit;
}
$node->stop;
done_testing();
