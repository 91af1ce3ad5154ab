# FOR UPDATE and UPDATE with concurrent changes: EvalPlanQual runs a fresh copy of the plan over one row.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('locks', "enable_hashjoin = off\nenable_nestloop = off\nenable_indexscan = off\n"
	  . "enable_bitmapscan = off\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int PRIMARY KEY, k int8, v int);
CREATE TABLE u (id int, k int8);
SQL

# Starts a query in a session that will wait for another one's lock.
sub start_waiting
{
	my ($session, $query) = @_;

	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
	  or die 'no session waits';
}

# one: what the waiting query is, how the row changes meanwhile, what is to come out
sub conflict
{
	my ($name, $query, $change, $expected, $plan) = @_;

	$node->safe_psql('postgres', 'TRUNCATE t, u; INSERT INTO t SELECT i, 1000 - i, 0 FROM generate_series(1, 1000) i;'
		  . 'INSERT INTO u SELECT i, i FROM generate_series(1, 1000) i; ANALYZE t; ANALYZE u');
	like(plan_of($node, $query), qr/GpuSort/, "$name: the plan has a GpuSort");
	my $writer = $node->background_psql('postgres');
	my $waiter = $node->background_psql('postgres');
	$writer->query_safe('BEGIN');
	$writer->query_safe($change);
	start_waiting($waiter, $query);
	$writer->query_safe('COMMIT');
	my $out = $waiter->query_safe('');
	$out =~ s/\s+/ /g;
	is($out, $expected, "$name: the changed row is seen");
	$writer->quit;
	$waiter->quit;
}

conflict('value changed', 'SELECT id, k, v FROM t WHERE id <= 3 ORDER BY k FOR UPDATE',
	'UPDATE t SET v = 7 WHERE id = 2', '3|997|0 2|998|7 1|999|0');
conflict('row left the condition', 'SELECT id, k, v FROM t WHERE id <= 3 AND k < 5000 ORDER BY k FOR UPDATE',
	'UPDATE t SET k = 6000 WHERE id = 2', '3|997|0 1|999|0');
conflict('key changed', 'SELECT id, k, v FROM t WHERE id <= 3 ORDER BY k FOR UPDATE',
	'UPDATE t SET k = 1 WHERE id = 1', '3|997|0 2|998|0 1|1|0');
conflict('row deleted', 'SELECT id, k, v FROM t WHERE id <= 3 ORDER BY k FOR UPDATE',
	'DELETE FROM t WHERE id = 3', '2|998|0 1|999|0');
conflict('merge join, both sides sorted',
	'SELECT t.id, t.v, u.k FROM t JOIN u ON t.k = u.k WHERE t.id <= 3 FOR UPDATE OF t',
	'UPDATE t SET v = 7 WHERE id = 2', '3|0|997 2|7|998 1|0|999');
conflict('merge join in UPDATE',
	'UPDATE t SET v = v + 1 FROM u WHERE t.k = u.k AND t.id <= 3 RETURNING t.id, t.v, u.id',
	'UPDATE t SET v = 7 WHERE id = 2', '3|1|997 2|8|998 1|1|999');
conflict('subquery',
	'SELECT t.id, t.v FROM t JOIN (SELECT k FROM u ORDER BY k OFFSET 0) s ON t.k = s.k WHERE t.id = 2 FOR UPDATE OF t',
	'UPDATE t SET v = 9 WHERE id = 2', '2|9');
$node->stop;
done_testing();
