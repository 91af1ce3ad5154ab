# CREATE INDEX and REINDEX by gpusort: page for page PostgreSQL's index, whatever it is on, and after errors too.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('index_builds', <<'CONF', extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
min_parallel_table_scan_size = 0
maintenance_work_mem = '96MB'
gpusort.index_builds = force
CONF
my ($out, $err);

if ($node->psql('postgres', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect') != 0)
{
	$node->stop;
	plan skip_all => 'amcheck and pageinspect are not installed';
}
my $linguistic =
	$node->psql('postgres', q{CREATE COLLATION english (locale = 'en_US.UTF-8')}) == 0 ? 'english' : '"en-x-icu"';

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE COLLATION nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
SELECT setseed(0.3);
CREATE TABLE b AS SELECT i id, (random() * 1e6)::int a,
	CASE WHEN random() < 0.1 THEN NULL ELSE (random() * 2000)::int END n,
	CASE WHEN random() < 0.99 THEN 1 ELSE i END d99, CASE WHEN random() < 0.1 THEN i / 2 * 2 ELSE i END d10,
	('{ä,Ä,a,A,é,e,z,Z," ",-}'::text[])[1 + floor(random() * 10)::int] ||
		substr(md5(random()::text), 1, 1 + (random() * 12)::int) t,
	(random() * 1000)::numeric(8, 2) num, gen_random_uuid() u,
	('{sad,ok,happy}'::mood[])[1 + floor(random() * 3)::int] m,
	random() f8, (random() * 100)::float4 f4, now() - random() * interval '1000 days' tz,
	date '2020-01-01' + (random() * 900)::int dt,
	('10.0.' || (random() * 255)::int || '.' || (random() * 255)::int)::inet ip,
	ARRAY[(random() * 10)::int, (random() * 10)::int] arr,
	md5(random()::text)::bytea by, (random() * 1000)::int8 i8, random() < 0.5 bo, md5(random()::text)::char(20) bp,
	('n' || i % 977)::name nm, int4range((random() * 100)::int, 100 + (random() * 100)::int) rg,
	jsonb_build_object('a', (random() * 50)::int) jb FROM generate_series(1, 8000) i;
UPDATE b SET f8 = 'NaN' WHERE id % 1000 = 1;
UPDATE b SET f8 = -0.0 WHERE id % 1000 = 2;
UPDATE b SET num = 'NaN' WHERE id % 1000 = 3;
ALTER TABLE b SET (fillfactor = 70, parallel_workers = 2);
DELETE FROM b WHERE id % 17 = 0;
-- HOT chains, and rows of a transaction that failed
UPDATE b SET f4 = f4 + 1 WHERE id % 5 = 0;
BEGIN;
UPDATE b SET a = a + 1, t = t || 'q' WHERE id % 7 = 0;
INSERT INTO b SELECT * FROM b WHERE id % 11 = 0;
ROLLBACK;
-- the same pages, but for their LSNs
CREATE FUNCTION same_pages(x text, y text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN pg_relation_size(x) <> pg_relation_size(y) THEN 'sizes differ'
		WHEN bool_and(substr(get_raw_page(x, i), 9) = substr(get_raw_page(y, i), 9)) THEN 'same pages'
		ELSE 'pages differ' END
	FROM generate_series(0, (pg_relation_size(x) / current_setting('block_size')::int)::int - 1) i $$;
CREATE FUNCTION checked(x text) RETURNS text LANGUAGE sql AS $$
	SELECT 'checked' FROM
		(SELECT bt_index_check(x::regclass, true), bt_index_parent_check(x::regclass, true, true)) c $$;
CREATE FUNCTION counted(what text) RETURNS int LANGUAGE sql AS $$
	SELECT coalesce(sum(jobs), 0)::int FROM gpusort_stat WHERE op = what $$;
CREATE FUNCTION made(how text, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpusort.index_builds', how, true);
	EXECUTE command;
	RETURN 'made';
EXCEPTION WHEN OTHERS THEN RETURN replace(sqlerrm, 'theirs', 'ours');
END $$;
-- what is wrong with an index that both build
CREATE FUNCTION wrong(kind text, def text, workers text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	built int := counted('index');
	theirs text := made('off', format('CREATE %s INDEX theirs ON b %s', kind, def));
	ours text;
	problem text;
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers, true);
	ours := made('force', format('CREATE %s INDEX ours ON b %s', kind, def));
	IF ours <> theirs THEN problem := theirs || ' / ' || ours;
	ELSIF ours = 'made' AND same_pages('theirs', 'ours') <> 'same pages' THEN problem := same_pages('theirs', 'ours');
	ELSIF ours = 'made' AND checked('ours') <> 'checked' THEN problem := 'not checked';
	ELSIF ours NOT IN ('made') AND ours NOT LIKE '%could not create unique index%' THEN problem := ours;
	ELSIF counted('index') = built THEN problem := 'not built by gpusort';
	END IF;
	DROP INDEX IF EXISTS ours;
	DROP INDEX IF EXISTS theirs;
	RETURN problem;
END $$;
SQL

my @definitions = (
	'(a)', '(n)', '(n DESC)', '(n NULLS FIRST)', '(n DESC NULLS LAST, t)', '(d99)', '(d10)', '(d99, n, t)', '(t)',
	'(t COLLATE "C")', '(t COLLATE "en-x-icu")', '(t COLLATE nd)', "(t COLLATE $linguistic)",
	"(t COLLATE $linguistic DESC, num DESC)", "(d99, t COLLATE $linguistic)", '(num)', '(num DESC, u)', '(u)', '(m)',
	'(m, bo, n)', '(f8)', '(f4)', '(f8 DESC NULLS FIRST)', '(tz)', '(dt, tz)', '(ip)', '(arr)', '(by)', '(i8)', '(bo)',
	'(bp)', "(bp COLLATE $linguistic)", '(rg)', '(jb)', '(lower(t), (a + id))', '(t text_pattern_ops)',
	'(bp bpchar_pattern_ops)', '(n) INCLUDE (t, num)', '(a) WHERE n IS NULL',
	"(t COLLATE $linguistic) WITH (fillfactor = 60)",
	'(n) WITH (deduplicate_items = off)', '((n::text))', "(repeat(t, 100) COLLATE $linguistic)", '(u, id)',
	'((a / (id + 1)), t)', '(n) NULLS NOT DISTINCT', '(d10, n) NULLS NOT DISTINCT');
foreach my $workers (0, 2)
{
	my @wrong;

	foreach my $definition (@definitions)
	{
		foreach my $kind ($definition =~ /NOT DISTINCT/ ? 'UNIQUE' : ('', 'UNIQUE'))
		{
			my $problem = $node->safe_psql('postgres', "SELECT wrong('$kind', \$\$$definition\$\$, '$workers')");
			push @wrong, "$kind $definition: $problem" if $problem ne '';
		}
	}
	is("@wrong", '', scalar(@definitions) . " definitions, plain and unique, $workers workers");
}

# who takes part, and where it is left
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION slow(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
	BEGIN PERFORM pg_sleep(0.001); RETURN t; END $$;
SQL
foreach my $case ([ 2, 3, 'two workers and the leader sort' ], [ 0, 1, 'the leader alone' ])
{
	my ($workers, $sorts, $what) = @$case;
	is($node->safe_psql('postgres', <<"SQL"), $sorts, $what);
SET max_parallel_maintenance_workers = $workers;
SELECT counted('order') before \\gset
CREATE INDEX i ON b (slow(t)) WHERE id % 4 = 0;
SELECT counted('order') - :before;
DROP INDEX i;
SQL
}

# one worker more than PostgreSQL would start, if the settings allow it: then the leader only merges
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION worked(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
	BEGIN
		IF pg_backend_pid() = current_setting('test.leader', true)::int THEN RAISE EXCEPTION 'the leader scans'; END IF;
		RETURN t;
	END $$;
SQL
# by a table's size, PostgreSQL would start two
my $two_workers = q{SET maintenance_work_mem = '256MB';
SELECT set_config('min_parallel_table_scan_size', (pg_relation_size('b') / 32768)::text, false) \g /dev/null
};
foreach my $case ([ 'SET (parallel_workers = 2)', 2, '', qr/the leader scans/, 'two workers and the leader scan' ],
	[ 'SET (parallel_workers = 2)', 3, '', qr/the leader scans/, 'a table has no more workers than it asks for' ],
	[ 'RESET (parallel_workers)', 2, '', qr/the leader scans/, 'nor more than the settings allow' ],
	[ 'RESET (parallel_workers)', 3, '3', qr/^$/, 'three workers alone scan and sort' ])
{
	my ($table, $workers, $sorts, $says, $what) = @$case;
	$node->psql('postgres', <<"SQL", stdout => \$out, stderr => \$err);
ALTER TABLE b $table;
$two_workers
SELECT set_config('test.leader', pg_backend_pid()::text, false) \\gset
SET max_parallel_maintenance_workers = $workers;
SELECT counted('order') before \\gset
CREATE INDEX i ON b (worked(slow(t))) WHERE id % 4 = 0;
SELECT counted('order') - :before;
SQL
	is($out, $sorts, $what);
	like($err, $says, 'as the function sees');
}
is($node->safe_psql('postgres', q{SELECT checked('i')}), 'checked', 'and the index is right');
$node->safe_psql('postgres', 'DROP INDEX i');
my $slow = $node->background_psql('postgres');
$slow->query_until(qr/started/, "\\echo started\n${two_workers}SET max_parallel_maintenance_workers = 3;\n"
	. "CREATE INDEX i ON b (slow(t)) WHERE id % 4 < 3;\n");
ok($node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_progress_create_index WHERE '
	. 'blocks_done BETWEEN 1 AND blocks_total'), 'and it shows how far they are');
$slow->query_safe('DROP INDEX i');
$slow->quit;
my @wrong = map { my $problem = $node->safe_psql('postgres', "${two_workers}SELECT wrong('', \$\$$_\$\$, '3')");
	$problem eq '' ? () : "$_: $problem" } '(n)', '(n DESC, t)', "(t COLLATE $linguistic)",
	"(d99, t COLLATE $linguistic, num)", '(t COLLATE "en-x-icu")', '(d10, n)', "(repeat(t, 100) COLLATE $linguistic)",
	'(a) INCLUDE (t) WHERE n IS NULL', '(a) WHERE id < 3';
is("@wrong", '', 'definitions by three workers alone');
$node->safe_psql('postgres', 'ALTER TABLE b SET (parallel_workers = 2)');
foreach my $case (
	[ 'gpusort.index_builds = on', '(a)',
		qr/gpusort leaves the build of index "i" to PostgreSQL: .*first key/, 'an int' ],
	[ 'gpusort.index_builds = on', '(a, t)', qr/first key/, 'an int that does not repeat' ],
	[ 'gpusort.index_builds = on', '(t COLLATE "en-x-icu")', qr/abbreviated keys/, 'short strings under ICU' ],
	[ 'gpusort.min_rows = 100000; SET gpusort.index_builds = on',
		"(t COLLATE $linguistic)", qr/fewer rows/, 'few rows' ],
	[ "maintenance_work_mem = '2MB'", '(t)', qr/maintenance_work_mem is too low/, 'little memory' ],
	[ "temp_file_limit = '1GB'", '(t)', qr/temp_file_limit is set/, 'a limit of files' ],
	[ 'gpusort.enabled = on', '(nm)', qr/not stored as its own type/, 'a name' ],
	[ 'gpusort.index_builds = off', '(t)', qr/^(?!.*gpusort leaves)/s, 'gpusort.index_builds = off' ],
	[ 'gpusort.enabled = off', '(t)', qr/^(?!.*gpusort leaves)/s, 'gpusort.enabled = off' ])
{
	my ($setting, $columns, $reason, $what) = @$case;
	my $before = $node->safe_psql('postgres', q{SELECT counted('index')});

	$node->psql('postgres',
		"SET client_min_messages = debug1; SET $setting; CREATE INDEX i ON b $columns; DROP INDEX i",
		stderr => \$err);
	like($err, $reason, "$what: the reason");
	is($node->safe_psql('postgres', q{SELECT counted('index')}), $before, "$what: PostgreSQL's own build");
}

$node->safe_psql('postgres', 'ANALYZE b');
is($node->safe_psql('postgres', <<"SQL"), 2, 'keys behind one that repeats are sorted first');
SET gpusort.index_builds = on;
SELECT counted('index') before \\gset
CREATE INDEX i ON b (m, n);
CREATE INDEX j ON b (bo, t);
SELECT counted('index') - :before;
DROP INDEX i, j;
SQL
SKIP:
{
	skip 'no en_US.UTF-8', 1 if $linguistic ne 'english';
	my $before = $node->safe_psql('postgres', q{SELECT counted('index')});
	is($node->safe_psql('postgres', <<'SQL'), $before + 1, 'so are strings under a collation of libc');
SET gpusort.index_builds = on;
CREATE INDEX i ON b (t COLLATE english);
DROP INDEX i;
SELECT counted('index');
SQL
}

$node->psql('postgres', <<'SQL', stderr => \$err);
CREATE TABLE ascending AS SELECT i / 300 k, i % 300 v FROM generate_series(1, 9000) i;
ANALYZE ascending;
SET client_min_messages = debug1;
SET gpusort.index_builds = on;
CREATE INDEX ON ascending (k, v);
SQL
like($err, qr/rows come in the order of the first key/, 'a table in the order of the index');

# every statement that builds, with workers and without
foreach my $workers (2, 0)
{
	my $before = $node->safe_psql('postgres', q{SELECT counted('index')});

	$node->safe_psql('postgres', <<"SQL");
SET max_parallel_maintenance_workers = $workers;
DROP TABLE IF EXISTS h, p, ul CASCADE;
CREATE TABLE h (id int, x int, y text) WITH (fillfactor = 40);
INSERT INTO h SELECT i, i % 100, 'v' || i FROM generate_series(1, 3000) i;
ALTER TABLE h ADD PRIMARY KEY (id);
ALTER TABLE h ADD CONSTRAINT hu UNIQUE (y) DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX hg ON h USING gin ((ARRAY[x]));
ALTER TABLE h ALTER COLUMN x TYPE bigint;
CREATE INDEX CONCURRENTLY hc ON h (x, y);
REINDEX INDEX hc;
REINDEX INDEX CONCURRENTLY hc;
REINDEX TABLE h;
REINDEX TABLE CONCURRENTLY h;
CREATE TEMP TABLE tt AS SELECT i FROM generate_series(1, 3000) i;
CREATE INDEX ON tt (i);
CREATE UNLOGGED TABLE ul AS SELECT i FROM generate_series(1, 3000) i;
CREATE INDEX ON ul (i);
CREATE MATERIALIZED VIEW mv AS SELECT id, x FROM h;
CREATE UNIQUE INDEX ON mv (id);
REINDEX TABLE mv;
CREATE TABLE p (a int, b text) PARTITION BY hash (a);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO p SELECT i, md5(i::text) FROM generate_series(1, 3000) i;
CREATE INDEX ON p (b);
SQL
	is($node->safe_psql('postgres', q{SELECT counted('index')}) - $before, 19,
		"all indexes are built, $workers workers");
	is($node->safe_psql('postgres', "SET max_parallel_maintenance_workers = $workers; CREATE INDEX hz ON h (y); "
		. 'SHOW max_parallel_maintenance_workers'), $workers, 'and the setting stays');
}
$node->safe_psql('postgres', $_)
	foreach 'VACUUM FULL h', 'CLUSTER h USING h_pkey', 'REFRESH MATERIALIZED VIEW mv', 'TRUNCATE ul';
is($node->safe_psql('postgres', <<'SQL'), '', 'all indexes are right');
SELECT c.oid::regclass FROM pg_class c JOIN pg_am m ON m.oid = relam WHERE c.relkind = 'i' AND
	relnamespace = 'public'::regnamespace AND
	CASE WHEN amname = 'btree' THEN checked(c.oid::regclass::text) <> 'checked' END
SQL

# more than memory, in one process and in two
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large AS SELECT i, repeat(md5((i % 30000)::text), 10) k FROM generate_series(1, 220000) i;
CREATE TABLE stored (k text);
ALTER TABLE stored ALTER k SET STORAGE EXTERNAL;
INSERT INTO stored SELECT repeat(md5((i % 50)::text), 75) FROM generate_series(1, 3000) i;
SQL
foreach my $case ([ 'large', 0, '6MB' ], [ 'large', 1, '64MB' ], [ 'stored', 0, '4MB' ], [ 'stored', 2, '96MB' ])
{
	my ($table, $workers, $memory) = @$case;

	$node->safe_psql('postgres', <<"SQL");
SET max_parallel_maintenance_workers = $workers;
SET maintenance_work_mem = '$memory';
CREATE INDEX ours ON $table (k COLLATE $linguistic);
SET gpusort.index_builds = off;
CREATE INDEX theirs ON $table (k COLLATE $linguistic);
SQL
	is($node->safe_psql('postgres', q{SELECT same_pages('ours', 'theirs')}), 'same pages',
		"$table, $workers workers, $memory");
	$node->safe_psql('postgres', 'DROP INDEX ours, theirs');
}
is(scalar(temp_files($node)), 0, 'no file is left');
is( $node->psql('postgres', <<"SQL", stderr => \$err), 0, 'files for the rows once are enough, as for PostgreSQL')
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '6MB';
SET temp_file_limit = '110MB';
CREATE INDEX ours ON large (k COLLATE $linguistic);
DROP INDEX ours;
SQL
	or diag($err);

# errors, cancels and the end of a session leave nothing behind
foreach my $workers (0, 2)
{
	$node->psql('postgres',
		"SET max_parallel_maintenance_workers = $workers; CREATE INDEX e ON b ((1 / (id - 5000)))",
		stderr => \$err);
	like($err, qr/division by zero/, "an error amid the scan, $workers workers");
	$node->psql('postgres', <<"SQL", on_error_stop => 0, stdout => \$out, stderr => \$err);
SET max_parallel_maintenance_workers = $workers;
SET maintenance_work_mem = '64MB';
SET statement_timeout = '150ms';
CREATE INDEX e ON large (k COLLATE $linguistic);
RESET statement_timeout;
SHOW max_parallel_maintenance_workers;
BEGIN;
SAVEPOINT s;
CREATE UNIQUE INDEX e ON b (d99);
ROLLBACK TO s;
CREATE INDEX e ON b (t);
COMMIT;
SELECT checked('e');
SHOW maintenance_work_mem;
DROP INDEX e;
SQL
	like($err, qr/statement timeout.*could not create unique index/s, 'a cancel, and a duplicate');
	is($out, "$workers\nchecked\n64MB", 'and the next build is right');
}
is(scalar(temp_files($node)), 0, 'no file is left');

# a concurrent build beside a writer, and a HOT chain that an old snapshot sees otherwise
my $writer = $node->background_psql('postgres');
$writer->query_safe(q{BEGIN; INSERT INTO h SELECT i, i, 'w' || i FROM generate_series(10001, 10500) i;
	UPDATE h SET x = x + 1 WHERE id < 50});
my $builder = $node->background_psql('postgres');
$builder->query_until(qr/started/, "\\echo started\nCREATE INDEX CONCURRENTLY hw ON h (x, y);\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
	AND query LIKE '%hw%' AND pid <> pg_backend_pid()}), 'a concurrent build waits for a writer');
$writer->query_safe('COMMIT');
$builder->quit;
is($node->safe_psql('postgres', q{SELECT checked('hw')}), 'checked', 'and has its rows');
$writer->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM b');
$node->safe_psql('postgres', 'UPDATE b SET f4 = f4 + 1 WHERE id % 3 = 0; CREATE INDEX ours ON b (f4)');
is($node->safe_psql('postgres', q{SELECT indcheckxmin, checked('ours') FROM pg_index
	WHERE indexrelid = 'ours'::regclass}), 't|checked',
	'old snapshots do not use an index that lacks their rows');
$writer->query_safe('COMMIT');
$node->safe_psql('postgres', 'DROP INDEX ours');

# rows that only an old snapshot sees are in a unique index, beside live ones with their keys, unless a HOT chain breaks
my $by_index = 'SELECT string_agg(k || $$:$$ || v, $$,$$) FROM (SELECT * FROM dead ORDER BY k) x';
foreach my $case (
	[ 'v = v + 1', 0, 'f|checked', qr/Index Scan using ours/ ],
	[ 'v = v + 1', 2, 'f|checked', qr/Index Scan using ours/ ],
	[ 'k = -k', 0, 't|checked', qr/Seq Scan/ ],
	[ 'k = -k', 2, 't|checked', qr/Seq Scan/ ])
{
	my ($change, $workers, $index, $plan) = @$case;
	my $what = "$change, $workers workers";

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE dead (k int, v int) WITH (fillfactor = 40, parallel_workers = 2);
INSERT INTO dead SELECT i, i % 10 FROM generate_series(1, 3000) i;
CREATE INDEX ON dead (v);
SQL
	$writer->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL enable_seqscan = off');
	my $old_rows = $writer->query_safe($by_index);
	$node->safe_psql('postgres', <<"SQL");
DELETE FROM dead WHERE k % 7 = 0;
INSERT INTO dead SELECT i, -1 FROM generate_series(7, 3000, 7) i;
UPDATE dead SET $change WHERE k % 5 = 0;
INSERT INTO dead SELECT i, -2 FROM generate_series(5, 3000, 5) i EXCEPT SELECT k, -2 FROM dead;
SQL
	my $new_rows = $node->safe_psql('postgres', "SET gpusort.enabled = off; $by_index");
	my $built = $node->safe_psql('postgres', q{SELECT counted('index')});
	$node->psql('postgres', "SET max_parallel_maintenance_workers = $workers; CREATE UNIQUE INDEX ours ON dead (k)",
		stderr => \$err);
	is($err, '', "$what: dead rows are no duplicates");
	is($node->safe_psql('postgres', q{SELECT counted('index')}) - $built, 1, "$what: gpusort builds");
	is($node->safe_psql('postgres', q{SELECT indcheckxmin, checked('ours') FROM pg_index
		WHERE indexrelid = 'ours'::regclass}), $index, "$what: whom the index is for");
	like($writer->query_safe("EXPLAIN $by_index"), $plan, "$what: the old snapshot's plan");
	is($writer->query_safe($by_index), $old_rows, "$what: its rows");
	is($node->safe_psql('postgres', "SET enable_seqscan = off; $by_index"), $new_rows, "$what: the rows of a new one");
	is($node->safe_psql('postgres', <<"SQL"), 'same pages', "$what: the index is PostgreSQL's");
SET gpusort.index_builds = off;
CREATE UNIQUE INDEX theirs ON dead (k);
SELECT same_pages('ours', 'theirs');
SQL
	$writer->query_safe('COMMIT');
	$node->safe_psql('postgres', 'DROP TABLE dead');
}
$writer->quit;

$node->stop;
done_testing();
