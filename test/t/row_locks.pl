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
	my $pid = $session->query_safe('SELECT pg_backend_pid()');

	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid")
	  or die 'the session does not wait';
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

# the same over partitions whose rows are merged
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p (id int, k int8, v int, part int) PARTITION BY LIST (part);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
CREATE INDEX ON p (k);
INSERT INTO p SELECT i, 1000 - i, 0, i % 3 FROM generate_series(1, 1000) i;
ANALYZE p;
SQL

sub conflict_merged
{
	my ($name, $query, $change, $expected) = @_;
	my $settings = 'SET enable_indexscan = on; SET enable_seqscan = off; SET enable_sort = off';

	like($node->safe_psql('postgres', "$settings; EXPLAIN (COSTS OFF) $query"), qr/GpuMergeAppend/,
		"$name: the plan has a GpuMergeAppend");
	my $writer = $node->background_psql('postgres');
	my $waiter = $node->background_psql('postgres');
	$waiter->query_safe("$settings; BEGIN");
	$writer->query_safe("BEGIN; $change");
	start_waiting($waiter, $query);
	$writer->query_safe('COMMIT');
	my $out = $waiter->query_safe('');
	$out =~ s/\s+/ /g;
	is($out, $expected, "$name: the changed row is seen");
	$waiter->query_safe('ROLLBACK');
	$_->quit foreach $writer, $waiter;
}

my $merged = 'SELECT id, k, v FROM p WHERE k BETWEEN 994 AND 999 ORDER BY k';
conflict_merged('merged, value changed', "$merged FOR UPDATE", 'UPDATE p SET v = 7 WHERE id = 3',
	'6|994|0 5|995|0 4|996|0 3|997|7 2|998|0 1|999|0');
conflict_merged('merged, row left the condition', "$merged FOR UPDATE", 'UPDATE p SET k = 6000 WHERE id = 5',
	'6|994|0 4|996|0 3|997|7 2|998|0 1|999|0');
conflict_merged('merged, row deleted', "$merged LIMIT 3 FOR UPDATE", 'DELETE FROM p WHERE id = 6',
	'4|996|0 3|997|7 2|998|0');
conflict_merged('merge join over merged rows', 'SELECT a.id, a.v, b.id FROM p a JOIN p b ON a.k = b.k AND b.v = 0 '
	. 'WHERE a.k > 995 AND a.k < 1000 ORDER BY a.k FOR UPDATE OF a',
	'UPDATE p SET v = 8 WHERE id = 2', '4|0|4 2|8|2 1|0|1');
conflict_merged('UPDATE by a merge join of merged rows',
	'WITH c AS (UPDATE p SET v = p.v + 1 FROM (SELECT k FROM p ORDER BY k OFFSET 0) s WHERE p.k = s.k AND p.k > 995 '
		. 'AND p.k < 999 RETURNING p.id, p.v) SELECT * FROM c ORDER BY id',
	'UPDATE p SET v = 20 WHERE id = 3', '2|9 3|21 4|1');
$node->stop;
done_testing();
