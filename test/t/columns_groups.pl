# Groups from resident columns, and a service that fails at every point of such a question, has no memory for it, or
# lies about groups.  Each answer is the one without columns, and why columns did not give it is counted.
# tags: service
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortService;
use GpuSortTest;
use Test::More;

plan skip_all => 'columns in host memory' if $engine eq 'gpu';
my $node = service_node('columns_groups', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
cpu_operator_cost = 1
CONF

sub one { return $node->safe_psql('postgres', $_[0]) }

one(<<'SQL');
CREATE TABLE t (id int8, a int4, n numeric(12, 2));
INSERT INTO t SELECT i, i % 100, i / 7.0 FROM generate_series(1, 30000) i;
CREATE TABLE p (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (15000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (15000) TO (40000);
INSERT INTO p SELECT * FROM t;
CREATE TABLE wide AS SELECT i id, i % 64 a FROM generate_series(1, 140000) i;
VACUUM ANALYZE t, p, wide;
SELECT gpusort_columns_add('t'), gpusort_columns_add('p'), gpusort_columns_add('wide');
SQL

# Questions whose answers come in one area or in parts, in an order or not, with and without keys, about one table or
# several; the groups of a wide one take 256 MB.
my $aggregates = join ', ', map { "count(*) FILTER (WHERE a < $_)" } 1 .. 63;
my %query = (
	few => 'SELECT a, count(*), sum(n), max(id) FROM t GROUP BY a',
	many => 'SELECT id, count(*), min(a) FROM t GROUP BY id',
	first => 'SELECT id, sum(n) FROM t GROUP BY id ORDER BY 2 DESC, 1 LIMIT 50',
	values => 'SELECT count(DISTINCT id), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM t',
	partitions => 'SELECT a, count(*), count(DISTINCT id) FROM p GROUP BY a',
	different => 'SELECT DISTINCT a FROM p');
my $wide = "SELECT id, $aggregates FROM wide GROUP BY id";
my $change = 'UPDATE t SET n = n + 1 WHERE id = 500; UPDATE p SET n = n + 1 WHERE id IN (500, 20000)';

# Runs statements in a transaction that has changed a page of each table, so that there are chunks to be sent.
sub changed
{
	my ($mode, @statements) = @_;
	my $script = join ";\n", 'BEGIN', $change, "SET LOCAL gpusort.columns = $mode", @statements, 'ROLLBACK';

	return $node->safe_psql('postgres', $script);
}

# Waits until all is held.
sub wait_until_held
{
	wait_until(
		sub {
			one("SELECT bool_and(from_columns > 0) FROM unnest('{t,p1,p2,wide}'::regclass[]) r, "
					. "gpusort_columns_check(r, '{id}')") eq 't';
		},
		'the tables are held');
}

# How queries are answered: "columns" or why not.
sub answered_by
{
	my (@queries) = @_;
	my @plans = grep { /\S/ } split /^-$/m,
		changed('on', map { ("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $_", "SELECT '-'") } @queries);

	return map { columns_used($_) eq 'columns' ? 'columns' : (node_of($_) // {})->{Columns} } @plans;
}

# Questions of tables that were left, as the view counts them.
sub fallbacks
{
	return one("SELECT sum(f) FROM (SELECT rel, max(fallbacks) f FROM gpusort_columns GROUP BY rel) x");
}

my @names = sort keys %query;
my $digests = join ";\n", map { digest_of($query{$_}) } @names;
my $right = changed('off', $digests);

wait_until_held();
is_deeply([ answered_by(@query{@names}) ], [ ('columns') x @names ], 'without a fault');
is(changed('force', $digests), $right, 'the right answers');

my $wrong = 'not used (GPU service broke the protocol)';
my %reason = (oom => 'not used (out of device memory)', device => 'not used (GPU failed)',
	crash => 'not used (GPU service was lost)', hang => 'not used (GPU service did not answer)');

# What each fault does to some of them; the others are answered.
foreach my $case (
	(map { my $kind = $_; map { [ "$kind\@$_", $reason{$kind}, @names ] } 'begin', 'add', 'finish' } 'oom', 'device'),
	(map { [ "$_\@next", $reason{$_}, 'many' ] } 'oom', 'device'),
	[ 'corrupt@finish', $wrong, @names ],
	[ 'corrupt@next', $wrong, @names ],
	[ 'order@finish', $wrong, 'first' ],
	[ 'keys@finish', $wrong, grep { $_ ne 'values' } @names ],
	[ 'short:100000@finish', $wrong, @names ],
	[ 'short:1@next', $wrong, @names ])
{
	my ($fault, $why, @failing) = @$case;
	my %failing = map { ($_ => 1) } @failing;

	service_with($node, "--fault=$fault --fault-every=1");
	wait_until_held();
	my $before = fallbacks();
	is_deeply([ answered_by(@query{@names}) ], [ map { $failing{$_} ? $why : 'columns' } @names ], "$fault: why");
	is(fallbacks() - $before, scalar(@failing), "$fault: counted");
	is(changed('on', $digests), $right, "$fault: the right answers");
}

# A row that is lost, or counted twice: the groups of all rows have as many as were looked at, and one that has more is
# none of the protocol's.
$query{all} = 'SELECT count(*), sum(n) FROM t';
foreach my $case ([ 'count@finish', 'few', 'many', 'partitions', 'all' ], [ 'count@next', 'few', 'many', 'partitions' ])
{
	my ($fault, @failing) = @$case;
	my $counts = join ";\n", map { digest_of($query{$_}) } @failing;

	service_with($node, "--fault=$fault --fault-every=1");
	wait_until_held();
	is_deeply([ answered_by(@query{@failing}) ], [ ('not used (GPU service gave a wrong answer)') x @failing ],
		"$fault: why");
	is(changed('on', $counts), changed('off', $counts), "$fault: the right answers");
	is(counted($node, 'GPU service gave a wrong answer'), 2 * @failing, "$fault: counted");
}

# A service that dies or stops, which is begun anew.
foreach my $fault ('crash@begin', 'crash@add', 'crash@finish', 'crash@next', 'hang@finish', 'hang@next')
{
	my ($kind) = $fault =~ /^(\w+)/;

	$node->append_conf('postgresql.conf', "gpusort.timeout = " . ($kind eq 'hang' ? $impatient : $timeout));
	service_with($node, "--fault=$fault --fault-every=1" . ($kind eq 'hang' ? ' --stall=1' : ''));
	wait_until_held();
	is_deeply([ answered_by($query{many}) ], [ $reason{$kind} ], "$fault: why");
	wait_until_held();
	is(changed('on', digest_of($query{many})), changed('off', digest_of($query{many})), "$fault: the right answer");
}

# A session that is cancelled while parts come takes none of them for those of a later question.
$node->append_conf('postgresql.conf', "gpusort.timeout = $timeout");
service_with($node, '--fault=hang@next --fault-every=2 --stall=100');
wait_until_held();
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $many = digest_of($query{many});
my $expected = one("SET gpusort.columns = off; $many");
my $cancelled = 0;
foreach (1 .. 4)
{
	$session->query_safe("SET statement_timeout = '1s'");
	$session->query($many);
	$cancelled += $session->{stderr} =~ /canceling statement due to statement timeout/;
	$session->{stderr} = '';
	$session->query_safe('SET statement_timeout = 0');
	$session->query_safe('SET gpusort.columns = off');
	is($session->query($many), $expected, 'the next answer is right');
	$session->query_safe('SET gpusort.columns = on');
}
cmp_ok($cancelled, '>', 0, 'some were cancelled');
$session->quit;

# Groups that take more than 256 MB, and more than there is.
service_with($node, '');
wait_until_held();
my $too_many = 'not used (its groups or rows are too many, or their keys too wide)';
is_deeply([ answered_by($wide) ], [$too_many], 'too many groups');
$expected = one('SET gpusort.columns = off; ' . digest_of($wide));
is(one(digest_of($wide)), $expected, 'are the right ones');
my ($service) = service_pids($node);
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 1MB');
forgive($node);
wait_until(sub { (answered_by($wide))[0] eq $reason{oom} }, 'no memory for groups');
is(one(digest_of($wide)), $expected, 'which are right');
is_deeply([ answered_by($query{few}) ], ['columns'], 'others find some');
is_deeply([ service_pids($node) ], [$service], 'the service has run all the time');

# Partitions on several devices, on which one table after another finds most room.
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 1GB');
one("SELECT gpusort_columns_remove('t'), gpusort_columns_remove('p'), gpusort_columns_remove('wide')");
service_with($node, '--devices=2');
one("SELECT gpusort_columns_add('$_')") foreach 'p1', 'p2', 't';
is_deeply([ answered_by($query{partitions}) ], ['columns'], 'partitions that lie apart');
is_deeply([ answered_by('SELECT count(*), sum(n), max(id) FROM p') ], ['columns'], 'have one answer without groups');
is(changed('on', $digests), $right, 'the right answers');
$node->stop;
sound($node);
done_testing();
