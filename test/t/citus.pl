# Sorts over Citus, where it is installed: a coordinator and two workers, each with gpusort.  Rows are the same with
# gpusort on and off on all of them; sorts are replaced on workers and in what the coordinator combines; the order in
# which libraries are loaded; a worker restarted.
# tags: slow
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
plan skip_all => 'Citus is not installed' unless -e "$sharedir/extension/citus.control";

my %nodes;
foreach my $name (qw(coordinator worker1 worker2))
{
	$nodes{$name} = start_node($name, <<'CONF');
shared_preload_libraries = 'citus, gpusort'
wal_level = logical
max_connections = 200
max_prepared_transactions = 200
citus.node_conninfo = 'sslmode=prefer'
citus.max_adaptive_executor_pool_size = 4
citus.show_shards_for_app_name_prefixes = '*'
CONF
	$nodes{$name}->safe_psql('postgres', $_)
	  foreach "ALTER SYSTEM SET citus.local_hostname = '@{[ $nodes{$name}->host ]}'", 'SELECT pg_reload_conf()';
	$nodes{$name}->safe_psql('postgres', 'CREATE EXTENSION citus; CREATE EXTENSION citus_columnar');
	$nodes{$name}->safe_psql('postgres', 'CREATE EXTENSION gpusort') if $name ne 'coordinator';
}
my $coordinator = $nodes{coordinator};
my $host = $coordinator->host;
$coordinator->safe_psql('postgres', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $host, $coordinator->port));
$coordinator->safe_psql('postgres', sprintf("SELECT citus_add_node('%s', %d)", $host, $nodes{$_}->port))
	foreach qw(worker1 worker2);
# on all nodes by one command, where they have it already, too
$coordinator->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$coordinator->safe_psql('postgres', <<'SQL');
SET citus.shard_count = 32;
CREATE TABLE items (id int8, customer int, day date, price numeric(10, 2), name text);
SELECT create_distributed_table('items', 'customer');
CREATE TABLE groups (customer int, kind int);
SELECT create_reference_table('groups');
CREATE TABLE archive (id int8, customer int, price numeric(10, 2)) USING columnar;
SELECT create_distributed_table('archive', 'customer');
INSERT INTO items SELECT i, abs(hashint8(i)) % 900, date '2026-01-01' + (i % 365)::int, (i * 7919 % 100000) / 100.0,
	'name ' || i * 31 % 5000
FROM generate_series(1, 40000::int8) i;
INSERT INTO groups SELECT i, i % 12 FROM generate_series(0, 899) i;
INSERT INTO archive SELECT id, customer, price FROM items WHERE id % 2 = 0;
ANALYZE items; ANALYZE groups; ANALYZE archive;
SQL

# A table that is distributed when it has rows: the coordinator's own one seems to be as large as before, so that its
# planner thinks of workers and of shares.
sub make_events
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE events (k int, at int, kind int);
INSERT INTO events SELECT abs(hashint4(i)) % 5000, i, i % 300 FROM generate_series(1, 60000) i;
ANALYZE events;
SELECT create_distributed_table('events', 'k');
SQL
	return;
}
make_events($coordinator);

# Groups of that table, by the distribution column and by another.
my %events = map {
	(
		"groups by $_" => "SELECT $_, count(*), max(at) FROM events GROUP BY $_ ORDER BY $_",
		"the first group by $_" => "SELECT $_, count(*) FROM events GROUP BY $_ ORDER BY $_ LIMIT 1",
		"count(DISTINCT) of events by $_" => "SELECT $_, count(DISTINCT at % 50) FROM events GROUP BY $_ ORDER BY $_",
		"DISTINCT $_" => "SELECT DISTINCT $_ FROM events ORDER BY $_",
		"DISTINCT ON ($_)" => "SELECT DISTINCT ON ($_) $_, at FROM events ORDER BY $_, at DESC",
		"windows by $_" => "SELECT at, sum(at) OVER (PARTITION BY $_ ORDER BY at) FROM events ORDER BY at",
		"windows by $_ in a subquery" => "SELECT $_, max(r) FROM (SELECT $_, rank() OVER (PARTITION BY $_ ORDER BY at) "
			. "AS r FROM events) x GROUP BY $_ ORDER BY $_")
} 'k', 'kind';

# The settings by which workers are thought of in small tables.
my $parallel = join '', map { "SET $_;" } 'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0',
	'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0';

# Switches gpusort on or off on workers.
sub workers
{
	my ($on) = @_;
	$nodes{$_}->safe_psql('postgres', "ALTER SYSTEM SET gpusort.enabled = $on") foreach qw(worker1 worker2);
	$nodes{$_}->reload foreach qw(worker1 worker2);
	return;
}

my %queries = (
	'ORDER BY' => 'SELECT * FROM items ORDER BY day, price DESC, id',
	'LIMIT under the guess' => 'SELECT id, price FROM items ORDER BY price, id LIMIT 9000',
	'LIMIT over the guess' => 'SELECT id, price FROM items ORDER BY price, id LIMIT 11000',
	'a window by the distribution column' => 'SELECT id, sum(price) OVER (PARTITION BY customer ORDER BY day, id) FROM '
		. 'items ORDER BY id',
	'a window by another' => 'SELECT id, rank() OVER (PARTITION BY day ORDER BY price, id) FROM items ORDER BY id',
	'DISTINCT ON' => 'SELECT DISTINCT ON (customer) customer, day, id FROM items ORDER BY customer, day DESC, id',
	'DISTINCT' => 'SELECT DISTINCT name FROM items ORDER BY name',
	'count(DISTINCT) by the distribution column' => 'SELECT customer, count(DISTINCT day) FROM items GROUP BY customer '
		. 'ORDER BY customer',
	'count(DISTINCT) of everything' => 'SELECT count(DISTINCT name), count(DISTINCT day), count(*) FROM items',
	'count(DISTINCT) with conditions' =>
	  'SELECT day, count(DISTINCT name) FILTER (WHERE id % 3 = 0) AS a, count(DISTINCT id % 7) AS b, '
		. 'sum(DISTINCT price) AS c FROM items GROUP BY day HAVING count(DISTINCT name) > 3 ORDER BY day',
	'percentiles by another' => 'SELECT day, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) AS a, '
		. 'percentile_cont(0.3) WITHIN GROUP (ORDER BY price::float8) AS b, mode() WITHIN GROUP (ORDER BY customer) '
		. 'AS c FROM items GROUP BY day ORDER BY day',
	'several percentiles' => 'SELECT day, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) AS a, '
		. 'percentile_disc(0.9) WITHIN GROUP (ORDER BY price) AS b FROM items GROUP BY day ORDER BY day',
	'count(DISTINCT) by another' => 'SELECT day, count(DISTINCT name) FROM items GROUP BY day ORDER BY day',
	'our aggregates by the distribution column' =>
	  'SELECT customer, gpu_median(price::float8) m, gpu_count_distinct(name) d, gpu_sort_agg(id) FROM items GROUP BY '
		. 'customer ORDER BY customer',
	'our aggregates by another' =>
	  "SELECT day, gpu_median(price::float8) m, gpu_count_distinct(name) d FROM items GROUP BY day ORDER BY day",
	'runs by the distribution column' => 'SELECT customer, gpu_rle(day, id) FROM items GROUP BY customer ORDER BY '
		. 'customer',
	'a percentile' => 'SELECT customer, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) FROM items GROUP BY '
		. 'customer ORDER BY customer',
	'a reference table' => 'SELECT i.id, g.kind FROM items i JOIN groups g USING (customer) ORDER BY g.kind, i.id',
	'a columnar table' => 'SELECT * FROM archive ORDER BY price, id',
	'a window over a columnar table' => 'SELECT id, rank() OVER (PARTITION BY customer ORDER BY price, id) FROM '
		. 'archive ORDER BY id',
	'a repartitioned join' =>
	  'SELECT a.id, b.id AS other FROM items a JOIN archive b ON a.id = b.id ORDER BY a.id',
	%events);
my $moved = "SET citus.enable_repartition_joins = on; $parallel";
foreach my $what (sort keys %queries)
{
	my %digests;

	foreach my $there (qw(on off))
	{
		workers($there);
		foreach my $here (qw(on off))
		{
			my $rows = $coordinator->safe_psql('postgres', "$moved SET gpusort.enabled = $here; SELECT count(*), "
				. "md5(string_agg(r::text, '|')) FROM ($queries{$what} OFFSET 0) r");
			push @{ $digests{$rows} }, "$here here, $there there";
		}
	}
	is(keys %digests, 1, "$what: the same rows with gpusort on and off, here and there") or diag(explain(\%digests));
	unlike((keys %digests)[0], qr/^0\|/, 'and there are some');
}
workers('on');

# Sorted streams that the coordinator merges, in versions that can.
if ($coordinator->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'citus.enable_sorted_merge'")
	eq '1')
{
	foreach my $what ('ORDER BY', 'LIMIT over the guess')
	{
		my ($merged, $sorted) = map {
			$coordinator->safe_psql('postgres', "SET citus.enable_sorted_merge = $_; SELECT count(*), "
				. "md5(string_agg(r::text, '|')) FROM ($queries{$what}) r")
		} 'on', 'off';
		is($merged, $sorted, "$what: sorted streams are merged");
	}
}

# Where sorts are replaced.
like(plan_of($coordinator, $queries{'a window by the distribution column'}),
	qr/WindowAgg\s+->  Custom Scan \(GpuSort\)/, 'a window is sorted on the workers');
like(plan_of($coordinator, $queries{'a window by another'}),
	qr/WindowAgg\s+->  Custom Scan \(GpuSort\)\n.*Citus Adaptive/s,
	'one that is combined on the coordinator is sorted there');
like(plan_of($coordinator, $queries{'ORDER BY'}), qr/Custom Scan \(GpuSort\)\n.*->  Custom Scan \(Citus Adaptive\)/s,
	'ORDER BY on the coordinator');

# Aggregates that sort are replaced where Citus is only in the server: in its queries of shards, and in others' tables.
my $distinct = 'count(DISTINCT day), percentile_disc(0.5) WITHIN GROUP (ORDER BY price)';
like(plan_of($coordinator, "SELECT customer, $distinct FROM items GROUP BY customer", 'VERBOSE, COSTS OFF'),
	qr/Query: SELECT customer, count\(DISTINCT day\).*gpu_count_distinct\(day\).*gpu_percentile_disc\(price/s,
	'aggregates by the distribution column are ours on the workers');
like(plan_of($coordinator, "SELECT day, count(DISTINCT name) FROM items GROUP BY day", 'VERBOSE, COSTS OFF'),
	qr/Output: [^\n]*gpu_count_distinct\(remote_scan.*Query: SELECT day, name AS count FROM .* GROUP BY day, name/s,
	'by another column they are split as Citus splits them, and ours where it combines');
my $several = 'percentile_disc(0.5) WITHIN GROUP (ORDER BY price), percentile_disc(0.9) WITHIN GROUP (ORDER BY price)';
like(plan_of($coordinator, "SELECT day, $several FROM items GROUP BY day", 'VERBOSE, COSTS OFF'),
	qr/Output: [^\n]*gpu_percentile_disc[^\n]*gpu_percentile_disc/, 'several over the same values, too');
$coordinator->safe_psql('postgres', <<"SQL");
PREPARE c AS SELECT count(DISTINCT name) FROM items;
EXECUTE c;
DROP EXTENSION gpusort;
EXECUTE c;
CREATE EXTENSION gpusort;
SQL
pass('without the extension a plan is made anew');
like(plan_of($coordinator, "SELECT x.n FROM (SELECT count(DISTINCT kind) AS n FROM groups) x", 'VERBOSE, COSTS OFF'),
	qr/Query: SELECT n FROM \(SELECT count\(DISTINCT/, 'and a reference table is a distributed one');
like($coordinator->safe_psql('postgres', 'CREATE TABLE alone (a int, b text); EXPLAIN (VERBOSE, COSTS OFF) SELECT a, '
		. 'count(DISTINCT b) FROM alone GROUP BY a'), qr/gpu_count_distinct\(b\)/, 'a table that is none has ours');
unlike($coordinator->safe_psql('postgres', 'PREPARE c AS SELECT a, count(DISTINCT b) FROM alone GROUP BY a; EXECUTE c; '
		. q(SELECT create_distributed_table('alone', 'a') \g /dev/null
		EXPLAIN (COSTS OFF, VERBOSE) EXECUTE c)) =~ s/->  Task.*//sr, qr/gpu_count_distinct/,
	'until it is distributed, also for a prepared statement');
is($coordinator->safe_psql('postgres', q(INSERT INTO alone SELECT i % 3, i::text FROM generate_series(1, 60) i;
		SELECT string_agg(a || ':' || n, ' ' ORDER BY a)
		FROM (SELECT a, count(DISTINCT b) AS n FROM alone GROUP BY a) x)),
	'0:20 1:20 2:20', 'which then counts all shards');

# A LIMIT above the guess, of more rows than were guessed: only the first are kept once that shows.
$coordinator->safe_psql('postgres',
	'INSERT INTO items SELECT id + i * 100000, customer, day, price, name FROM items, generate_series(1, 5) i');
like(plan_of($coordinator, "SELECT * FROM (SELECT id, price FROM items OFFSET 0) x ORDER BY price, id LIMIT 11000",
	'ANALYZE, COSTS OFF, TIMING OFF'),
	qr/Sort Method: (radix )?top-N/, 'a LIMIT over the guess keeps the first rows only');

# A worker that is restarted under load: each query ends with the right answer or an error, and the sessions go on.
my $asked =
	'SELECT count(*) FROM (SELECT id, sum(price) OVER (PARTITION BY customer ORDER BY day, id) FROM items OFFSET 0) x';
my @sessions = map { $coordinator->background_psql('postgres', on_error_stop => 0) } 1, 2;
# Waits until a session has printed something.
my $printed = sub {
	my ($session, $pattern) = @_;

	until ($session->{stdout} =~ $pattern)
	{
		die 'the load does not end' if $session->{timeout}->is_expired;
		$session->{run}->pump;
	}
};
# an error comes at once while the worker is away, so time passes between queries
$_->{stdin} .= "$asked;\nSELECT pg_sleep(0.3) \\g /dev/null\n" x 15 . "\\echo 'load ends'\n" foreach @sessions;
$printed->($_, qr/^\d+$/m) foreach @sessions;
$nodes{worker2}->restart('immediate');
foreach my $session (@sessions)
{
	$printed->($session, qr/load ends/);
	my @answers = $session->{stdout} =~ /^(\d+)$/mg;
	is(scalar(grep { $_ ne '240000' } @answers), 0, 'no wrong answer under load: ' . @answers . ' of 15 came');
	$session->{stdout} = $session->{stderr} = '';
	ok($coordinator->poll_query_until('postgres', $asked, '240000'), 'a new session when the worker is back');
	is($session->query($asked), '240000', 'and the old one');
	$session->quit;
}

# Libraries in other orders: Citus wants to be the first.
my $node = PostgreSQL::Test::Cluster->new('order');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort, citus'");
isnt($node->start(fail_ok => 1), 1, 'gpusort before Citus: the server does not start');
like(slurp_file($node->logfile), qr/Citus has to be loaded first/, "and Citus' message says why");
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'citus'
session_preload_libraries = 'gpusort'
gpusort.min_rows = 0
wal_level = logical
citus.local_hostname = '@{[ $node->host ]}'
citus.node_conninfo = 'sslmode=prefer'
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION citus; CREATE EXTENSION gpusort');
like(plan_of($node, 'SELECT i FROM generate_series(1, 10000) i ORDER BY -i'), qr/GpuSort/,
	'gpusort in sessions, Citus in the server');
$node->safe_psql('postgres', $_)
  foreach sprintf("SELECT citus_set_coordinator_host('%s', %d)", $node->host, $node->port),
  "SELECT citus_set_node_property('@{[ $node->host ]}', @{[ $node->port ]}, 'shouldhaveshards', true)";
make_events($node);
foreach my $what (sort keys %events)
{
	my ($on, $off) = map {
		$node->safe_psql('postgres', "$parallel SET gpusort.enabled = $_; SELECT count(*), md5(string_agg(r::text, "
			. "'|')) FROM ($events{$what} OFFSET 0) r")
	} 'on', 'off';
	is($on, $off, "gpusort in sessions, Citus in the server: $what");
}

done_testing();
