# Sorts over postgres_fdw: what is shipped, where rows are sorted, that rows are the same with gpusort on and off at
# either end, and what a remote server does that lacks gpusort or goes away in the middle.
# tags: slow
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# shared_preload_libraries: gpusort_stat counts for the whole server
my $stat = "shared_preload_libraries = 'gpusort'\n";
my $coordinator = start_node('coordinator', $stat);
my %remotes = (one => start_node('one', $stat), two => start_node('two', $stat));

# a third remote server knows nothing of gpusort
$remotes{bare} = PostgreSQL::Test::Cluster->new('bare');
$remotes{bare}->init;
$remotes{bare}->append_conf('postgresql.conf', 'jit = off');
$remotes{bare}->start;

$coordinator->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE EXTENSION postgres_fdw;
DO $$
DECLARE
	t text;
BEGIN
	IF current_setting('server_version_num')::int < 170000 THEN
		FOR t IN SELECT typname FROM pg_type WHERE typname LIKE 'gpu\_rle\_%' LOOP
			EXECUTE format('ALTER EXTENSION gpusort ADD TYPE %I[]', t);
		END LOOP;
	END IF;
END $$;
CREATE TABLE items (shard int, k int, price numeric, day date, name text COLLATE "C", seq int)
	PARTITION BY LIST (shard);
SQL
my $shard = 0;
foreach my $name (sort keys %remotes)
{
	my $remote = $remotes{$name};
	my ($host, $port) = ($remote->host, $remote->port);
	my $sql = <<"SQL";
CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'gpusort', async_capable 'true',
		use_remote_estimate 'true');
CREATE USER MAPPING FOR PUBLIC SERVER $name;
SQL

	$remote->safe_psql('postgres', 'CREATE EXTENSION gpusort') if $name ne 'bare';
	# of the first two, two partitions each
	foreach my $part ($name eq 'bare' ? () : (1, 2))
	{
		$shard++;
		$remote->safe_psql('postgres', <<"SQL");
CREATE TABLE items_$shard AS SELECT $shard AS shard, hashint4(i) % 500 AS k, (hashint4(i * 3) % 10000) / 100.0 AS price,
	date '2026-01-01' + i % 300 AS day, ('item ' || hashint4(i * 7) % 1000) COLLATE "C" AS name, i * 10 + $shard AS seq
	FROM generate_series(1, 5000) i;
ANALYZE items_$shard;
SQL
		$sql .= "CREATE FOREIGN TABLE items_$shard PARTITION OF items FOR VALUES IN ($shard) SERVER $name;\n";
	}
	$coordinator->safe_psql('postgres', $sql);
}
$remotes{bare}->safe_psql('postgres',
	'CREATE TABLE plain AS SELECT i AS k, i % 7 AS g FROM generate_series(1, 3000) i; ANALYZE plain');
$coordinator->safe_psql('postgres',
	'CREATE FOREIGN TABLE plain (k int, g int) SERVER bare; ANALYZE items; ANALYZE plain');

# What is shipped.
foreach my $call ('gpu_rle(k, seq)', 'gpu_rle(day ORDER BY seq)', 'gpu_count_distinct(name)', 'gpu_median(k)',
	'gpu_percentile_cont(k, 0.9)',
	'gpu_percentile_disc(price, 0.5)', 'gpu_sort_agg(day)')
{
	my $query = "SELECT shard, $call FROM items_1 GROUP BY shard";

	like(plan_of($coordinator, $query, 'VERBOSE, COSTS OFF'), qr/Remote SQL: .*gpu_/, "$call is shipped");
	is($coordinator->safe_psql('postgres', $query), $remotes{one}->safe_psql('postgres', $query),
		'and answers what it answers there');
}
like(plan_of($coordinator, "SELECT k FROM items_1 WHERE gpu_dedup(ARRAY[k, k]) = '{3}'", 'VERBOSE, COSTS OFF'),
	qr/Remote SQL: .*gpu_dedup/,
	'a function in a condition is shipped');
unlike(plan_of($coordinator, 'SELECT shard, gpu_median(k) FROM items_1, gpusort_stat GROUP BY shard',
	'VERBOSE, COSTS OFF'), qr/Remote SQL: .*stat/,
	'what differs from server to server is not');

# Where rows are sorted: the other servers sort, beside each other, what they can, however cheap a sort is here.
my $ordered = 'SELECT * FROM items ORDER BY k, day, seq';
my $off = 'SET gpusort.enabled = off;';
is(plan_of($coordinator, $ordered) =~ s/Custom Scan \(GpuMergeAppend\)/Merge Append/r,
	$coordinator->safe_psql('postgres', "$off EXPLAIN (COSTS OFF) $ordered"),
	'the same plan as without gpusort, but for the node that merges');
like(plan_of($coordinator, $ordered, 'VERBOSE, COSTS OFF'),
	qr/Custom Scan \(GpuMergeAppend\).*Remote SQL: [^\n]* ORDER BY/s, 'the other servers sort');
foreach my $name (qw(one two))
{
	my $before = $remotes{$name}->safe_psql('postgres',
		q(SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'order'));
	$coordinator->safe_psql('postgres', "SELECT count(*) FROM ($ordered) x; $ordered LIMIT 3");
	cmp_ok($remotes{$name}->safe_psql('postgres',
		q(SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'order')), '>', $before,
		"and do so by gpusort: server $name");
}
# the plan of the cursor that the other server opens for this one
$remotes{one}->append_conf('postgresql.conf',
	"session_preload_libraries = 'gpusort, auto_explain'\nauto_explain.log_min_duration = 0");
$remotes{one}->reload;
my $logged = -s $remotes{one}->logfile;
my $log = '';
for (1 .. 300)
{
	$log = slurp_file($remotes{one}->logfile, $logged);
	last if $log =~ /Query Text: DECLARE c\d+ CURSOR FOR/;
	# a session may still begin under the settings of before
	$coordinator->safe_psql('postgres', "SELECT count(*) FROM ($ordered) x");
	select(undef, undef, undef, 0.1);
}
my $cursor = qr/Query Text: DECLARE c\d+ CURSOR FOR\s+SELECT [^\n]* ORDER BY k ASC NULLS LAST, day ASC[^\n]*/;
like($log, qr/$cursor\n\s*Custom Scan \(GpuSort\)/,
	'by a GpuSort in the plan of the cursor there');
$remotes{one}->append_conf('postgresql.conf',
	"session_preload_libraries = 'gpusort'\nauto_explain.log_min_duration = -1");
$remotes{one}->reload;
# what they cannot sort, or the server does not ask them to, is sorted here
$coordinator->safe_psql('postgres',
	'CREATE FUNCTION here(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN -$1; END $$');
my $local = 'SELECT * FROM items ORDER BY here(k), seq';
like(plan_of($coordinator, $local), qr/Custom Scan \(GpuSort\).*->  Append\n.*Async Foreign Scan.*Async Foreign Scan/s,
	'a sort by what only this server knows is replaced here, over rows that several servers send at once');

# Aggregates that sort are PostgreSQL's where a server may compute them, and ours where groups go across partitions.
my $partitionwise = 'SET enable_partitionwise_aggregate = on; EXPLAIN (VERBOSE, COSTS OFF) SELECT';
like($coordinator->safe_psql('postgres', "$partitionwise shard, count(DISTINCT name) FROM items GROUP BY shard"),
	qr/Remote SQL: SELECT shard, count\(DISTINCT name\)/, 'an aggregate by the partition key is computed there');
my $across = 'FROM items GROUP BY k ORDER BY k';
# from 16 on the servers may sort for it, too
my $unsorted = $coordinator->pg_version >= 16 ? 'SET enable_presorted_aggregate = off;' : '';
like($coordinator->safe_psql('postgres', "$unsorted $partitionwise k, count(DISTINCT name) $across"),
	qr/Output: [^\n]*gpu_count_distinct\(.*Foreign Scan/s, 'one by another column is ours, here');
unlike($coordinator->safe_psql('postgres', "$partitionwise k, count(DISTINCT a.name) FROM items a JOIN items b USING "
		. '(shard, k) GROUP BY k'), qr/gpu_count/, 'joins are left alone');
unlike($coordinator->safe_psql('postgres', "$partitionwise shard, (SELECT count(DISTINCT name) FROM items_1) FROM "
		. 'items GROUP BY shard'), qr/gpu_count/, 'and so are tables of foreign servers');

# Rows, with gpusort on and off at either end.
my %queries = (
	'ORDER BY' => $ordered,
	'ORDER BY here' => $local,
	'a window' => 'SELECT seq, sum(price) OVER (PARTITION BY k ORDER BY day, seq) FROM items ORDER BY seq',
	'DISTINCT ON' => 'SELECT DISTINCT ON (k) k, day, seq FROM items ORDER BY k, day, seq',
	'a LIMIT' => 'SELECT * FROM items ORDER BY name, seq LIMIT 700',
	'a merge join' => 'SELECT a.seq, b.seq AS other FROM items a JOIN items b ON here(a.seq) = here(b.seq) ORDER BY 1',
	'parameters' => 'SELECT n, x.* FROM generate_series(1, 400, 90) n, LATERAL (SELECT k, seq FROM items WHERE k >= n '
		. 'ORDER BY k, seq LIMIT n + 20) x',
	'the same twice' => 'SELECT n, x.* FROM generate_series(1, 2) n, LATERAL (SELECT k, seq, n + k AS m FROM items '
		. 'ORDER BY k, seq OFFSET 0) x',
	'pruned parameters' => 'SELECT n, x.* FROM generate_series(1, 4) n, LATERAL (SELECT k, seq FROM items WHERE shard '
		. '>= n ORDER BY k, seq LIMIT 90) x',
	'a merge join of what is sorted there' => 'SELECT a.k, a.seq, b.seq AS other FROM items a JOIN items b ON a.seq = '
		. 'b.seq + 10 AND a.k < b.k ORDER BY a.seq',
	'rows within subqueries' => 'SELECT k, (SELECT seq FROM items b WHERE b.k >= a.k ORDER BY k, seq LIMIT 1) AS next '
		. 'FROM (SELECT DISTINCT k FROM items WHERE k < -490) a ORDER BY k',
	'sorted appends' => 'SELECT day, seq FROM (SELECT day, seq FROM items WHERE here(k) > -300 UNION ALL SELECT day, '
		. 'seq FROM items_2 UNION ALL SELECT day, seq + 1 FROM items_3) x ORDER BY day, seq',
	'aggregates across partitions' => 'SELECT k, count(DISTINCT name) AS d, percentile_disc(0.3) WITHIN GROUP (ORDER '
		. 'BY price) AS p FROM items GROUP BY k ORDER BY k',
	'aggregates of everything' => 'SELECT count(DISTINCT name) AS d, percentile_cont(0.3) WITHIN GROUP (ORDER BY seq) '
		. 'AS p FROM items',
	'partial aggregates' => 'SELECT k, gpu_median(price::float8) AS m, gpu_count_distinct(name) AS d FROM items GROUP '
		. 'BY k ORDER BY k');
foreach my $what (sort keys %queries)
{
	my %digests;
	my $settings = $what =~ /^a merge join/ ? 'SET enable_hashjoin = off; SET enable_nestloop = off;'
	  : $what =~ /^aggregates/ ? 'SET enable_partitionwise_aggregate = on;' : '';

	foreach my $here (qw(on off))
	{
		foreach my $there (qw(on off))
		{
			foreach my $name (qw(one two))
			{
				$remotes{$name}->safe_psql('postgres',
					"ALTER SYSTEM SET gpusort.enabled = $there; SELECT pg_reload_conf()");
			}
			my $digest = $coordinator->safe_psql('postgres', "SET gpusort.enabled = $here; $settings "
				. rows_digest($queries{$what}));
			push @{ $digests{$digest} }, "$here here, $there there";
		}
	}
	is(keys %digests, 1, "$what: the same rows with gpusort on and off at either end") or diag(explain(\%digests));
	unlike((keys %digests)[0], qr/^0\|/, 'and there are some');
}

# Cursors that stand still in the middle, beside each other and other scans by the same connections.
is($coordinator->safe_psql('postgres', <<'SQL'), "t\nt\nt", 'cursors side by side');
CREATE TEMP TABLE seen (which text, n serial, seq int);
DO $$
DECLARE
	a CURSOR FOR SELECT seq FROM items ORDER BY k, day, seq;
	b CURSOR FOR SELECT seq FROM items ORDER BY name, seq;
	r record;
BEGIN
	OPEN a;
	OPEN b;
	FOR i IN 1 .. 20001 LOOP
		FETCH a INTO r;
		IF FOUND THEN INSERT INTO seen VALUES ('a', default, r.seq); END IF;
		FETCH b INTO r;
		IF FOUND THEN INSERT INTO seen VALUES ('b', default, r.seq); END IF;
		IF i % 5000 = 0 THEN PERFORM count(*) FROM items; END IF;
	END LOOP;
END $$;
SELECT array_agg(seq ORDER BY n) = (SELECT array_agg(seq ORDER BY k, day, seq) FROM items) FROM seen WHERE which = 'a';
SELECT array_agg(seq ORDER BY n) = (SELECT array_agg(seq ORDER BY name, seq) FROM items) FROM seen WHERE which = 'b';
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT seq FROM items ORDER BY k, day, seq;
MOVE 20000 IN c;
MOVE BACKWARD 19995 IN c;
CREATE FUNCTION pg_temp.next() RETURNS int LANGUAGE plpgsql AS $$
	DECLARE c refcursor := 'c'; s int; BEGIN FETCH c INTO s; RETURN s; END $$;
SELECT pg_temp.next() = (SELECT seq FROM items ORDER BY k, day, seq OFFSET 5 LIMIT 1);
COMMIT;
SQL

# A cursor over rows in order, of which some are skipped, goes on between savepoints that are rolled back.
sub goes_on
{
	my ($what, $settings, $skipped, $rounds, $tried, $reads, $wanted) = @_;

	is($coordinator->safe_psql('postgres', <<"SQL"), 't', $what);
$settings
BEGIN;
DECLARE c CURSOR FOR SELECT seq FROM items ORDER BY k, day, seq;
MOVE $skipped IN c;
DO \$\$
DECLARE
	c refcursor := 'c';
	sum bigint := 0;
	s int;
BEGIN
	FOR i IN 1 .. $rounds LOOP
		BEGIN
			$tried
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		FOR j IN 1 .. $reads LOOP
			FETCH c INTO s;
			sum := sum + s;
		END LOOP;
	END LOOP;
	PERFORM set_config('test.sum', sum::text, false);
END \$\$;
COMMIT;
SELECT sum(seq) = current_setting('test.sum')::bigint
	FROM (SELECT seq, row_number() OVER (ORDER BY k, day, seq) AS n FROM items) x WHERE $wanted;
SQL
	return;
}
goes_on('after an error in a savepoint a cursor goes on', '', 1000, 30,
	'PERFORM 1 / (count(*) - 20000) FROM items;', 100, 'n BETWEEN 1001 AND 4000');
goes_on('a savepoint rolled back takes no rows from a cursor', 'SET enable_sort = off;', 20, 20,
	'PERFORM count(*) FROM items; MOVE FORWARD 37 FROM c; RAISE division_by_zero;', 1,
	'n BETWEEN 21 AND 780 AND (n - 20) % 38 = 0');

# A parameter is calculated just when a scan that needs it opens its cursor: a query in it may leave no request under
# way on the connection, though it ends early or waits for somebody to want its next row.
my $limit = '(SELECT k FROM items ORDER BY k OFFSET 1000 LIMIT 1)';
is($coordinator->safe_psql('postgres', "SET enable_sort = off; SELECT count(*) FROM (SELECT seq FROM items WHERE k > "
		. "$limit ORDER BY k, seq OFFSET 0) x"),
	$coordinator->safe_psql('postgres', "$off SELECT count(*) FROM items WHERE k > $limit"),
	'a subquery that ends early leaves nothing under way');
$coordinator->safe_psql('postgres', 'CREATE FUNCTION in_order() RETURNS SETOF int STABLE LANGUAGE sql AS '
		. '$$ SELECT k FROM public.items ORDER BY k, seq $$');
my $early = <<'SQL';
SET enable_sort = off;
DO $$
DECLARE
	n bigint;
	sum bigint := 0;
BEGIN
	FOR i IN 0 .. 1000 BY 25 LOOP
		EXECUTE format('SELECT count(*) FROM items_%s WHERE k > (SELECT in_order() OFFSET %s LIMIT 1)', i % 4 + 1, i)
			INTO n;
		sum := sum + n;
	END LOOP;
	PERFORM set_config('test.sum', sum::text, false);
END $$;
SELECT current_setting('test.sum');
SQL
is($coordinator->safe_psql('postgres', $early), $coordinator->safe_psql('postgres', $off . $early),
	'nor does a function that gives out row by row');

# A cursor that fails in a savepoint leaves nothing under way, either: the transaction goes on, and ends as it should.
$coordinator->safe_psql('postgres', <<'SQL');
CREATE FUNCTION refused(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'row is refused'; END $$;
CREATE TABLE done (step int);
SQL
foreach my $after ('', 'SELECT count(*) FROM items')
{
	my ($status, $out, $err) = $coordinator->psql('postgres', <<"SQL", on_error_stop => 0);
SET enable_sort = off;
BEGIN;
INSERT INTO done VALUES (1);
DECLARE c CURSOR FOR SELECT seq FROM items WHERE refused(k) ORDER BY k, seq;
SAVEPOINT s;
FETCH ALL FROM c;
ROLLBACK TO s;
CLOSE c;
SELECT length(string_agg(repeat('x', 1000), '')) FROM generate_series(1, 10000);
$after;
COMMIT;
SELECT 'steps', count(*) FROM done;
SQL

	is($out, join("\n", 10000000, $after ? 20000 : (), 'steps|' . ($after ? 2 : 1)), 'after a cursor that failed'
		. ($after ? ', and another query of its tables' : ''));
	like($err, qr/^[^\n]*ERROR:  row is refused(?!.*ERROR)/s, 'one error');
}

# What a scan calculates may ask the same servers.
$coordinator->safe_psql('postgres', <<'SQL');
CREATE TABLE taken (shard int, k int, seq int) PARTITION BY LIST (shard);
DO $$
BEGIN
	FOR i IN 1 .. 4 LOOP
		EXECUTE format($q$CREATE FOREIGN TABLE taken_%s PARTITION OF taken FOR VALUES IN (%s) SERVER %s
			OPTIONS (table_name 'items_%s', fetch_size '4')$q$, i, 10 + i, CASE WHEN i < 4 THEN 'one' ELSE 'two' END,
			CASE WHEN i < 4 THEN i % 2 + 1 ELSE 3 END);
	END LOOP;
END $$;
CREATE FUNCTION asks(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN EXISTS (SELECT FROM items_1 WHERE seq > $1 LIMIT 1);
END $$;
SQL
my $taken = 'SELECT count(*) FROM (SELECT seq FROM taken WHERE %s ORDER BY hashint4(seq), seq LIMIT 300) x';
foreach my $condition ('(SELECT seq FROM items_1 i WHERE i.seq > taken.seq ORDER BY seq LIMIT 1) > 0', 'asks(seq)')
{
	is($coordinator->safe_psql('postgres', "SET enable_sort = off; SET statement_timeout = '120s'; "
			. sprintf($taken, $condition)), 300, "rows of a scan that asks servers itself: $condition");
}

# A server without gpusort sorts by itself, and says what it lacks when it is asked for more.
is($coordinator->safe_psql('postgres',
	'SELECT string_agg(k::text, $$,$$) FROM (SELECT k FROM plain ORDER BY g DESC, k LIMIT 3) x'), '6,13,20',
	'a server without gpusort sorts');
my ($seconds, $status, $out, $err) = timed($coordinator, 'SELECT gpu_median(k) FROM plain');
like($err, qr/ERROR:  function public\.gpu_median\(\w+\) does not exist/, 'and says what it lacks');
is($coordinator->safe_psql('postgres', "ALTER SERVER bare OPTIONS (DROP extensions); SELECT gpu_median(k) FROM plain"),
	'1500.5',
	'without the option the aggregate stays here');

# A remote server that goes away in the middle.
my $session = $coordinator->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT * FROM items ORDER BY k, day, seq; FETCH 10 FROM c');
$remotes{two}->stop('immediate');
$session->query('SELECT count(*) FROM items; FETCH ALL FROM c');
like($session->{stderr}, qr/ERROR: /, 'a remote server that is gone is an error');
$session->{stderr} = '';
$session->query('ROLLBACK');
$session->{stderr} = '';
is(scalar(temp_files($coordinator)), 0, 'no file is left');
$remotes{two}->start;
is($session->query_safe('SELECT count(*) FROM (SELECT * FROM items ORDER BY here(k)) x'), '20000',
	'and once it is back the session goes on');
$session->quit;

done_testing();
