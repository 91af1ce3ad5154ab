# tags: slow
# index_storm.pl: builds of indexes while others write, builds are cancelled, workers and sessions end, and the server
# crashes, as long as STORM_SECONDS says, by the seed SEED.  At the end every index that is valid has all rows.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{STORM_SECONDS} || 25;
my $seed = $ENV{SEED} || int(rand(2**31));
my $node = start_node('index_storm', <<'CONF', extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
min_parallel_table_scan_size = 0
gpusort.index_builds = force
restart_after_crash = on
max_connections = 40
CONF

if ($node->psql('postgres', 'CREATE EXTENSION amcheck') != 0)
{
	$node->stop;
	plan skip_all => 'amcheck is not installed';
}
diag("SEED=$seed");
srand($seed);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE s AS SELECT i id, md5(i::text) k, i % 50 n FROM generate_series(1, 30000) i;
ALTER TABLE s SET (parallel_workers = 2);
CREATE TABLE done (built bigint);
SQL

sub one_of { return $_[ rand @_ ] }

# Runs statements, which may fail, until the time is up.
sub until_the_end
{
	my ($end, $pause, $statements) = @_;
	my $pid = fork // die "fork: $!";
	return $pid if $pid != 0;
	srand($seed + $$);
	while (time < $end)
	{
		my ($out, $err);
		# a server that has just crashed takes nobody
		eval { $node->psql('postgres', $statements->(), on_error_stop => 0, stdout => \$out, stderr => \$err) };
		sleep rand $pause;
	}
	POSIX::_exit(0);
}

# Rows change in all ways, HOT updates among them.
sub writing
{
	my $id = int rand 30000;
	return one_of(
		"UPDATE s SET n = n + 1 WHERE id BETWEEN $id AND $id + 50",
		"UPDATE s SET k = md5(k) WHERE id BETWEEN $id AND $id + 50",
		"DELETE FROM s WHERE id BETWEEN $id AND $id + 20",
		"INSERT INTO s SELECT i, md5(i::text || '$id'), i % 50 FROM generate_series($id, $id + 60) i",
		"BEGIN; INSERT INTO s SELECT i, 'gone', 0 FROM generate_series(1, 100) i; ROLLBACK",
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM s; SELECT pg_sleep(0.2); COMMIT");
}

# Builds one of a few indexes, or what they stand for, anew.
sub building
{
	my $name = one_of('s1', 's2', 's3', 's4');
	my $columns = one_of('(k)', '(n, k)', '(k COLLATE "en-x-icu")', '(lower(k))', '(id)',
		'(k) INCLUDE (n)', '(n) WHERE id % 3 = 0');
	my $concurrently = one_of('', 'CONCURRENTLY');
	my @statements = one_of(
		[ "DROP INDEX IF EXISTS $name", "CREATE INDEX $concurrently $name ON s $columns" ],
		[ "CREATE INDEX $concurrently IF NOT EXISTS $name ON s $columns" ],
		[ "REINDEX INDEX $concurrently $name" ],
		[ "CREATE UNIQUE INDEX $concurrently ${name}u ON s (id, k)", "DROP INDEX IF EXISTS ${name}u" ],
		[ one_of("REINDEX TABLE $concurrently s", 'VACUUM FULL s') ])->@*;
	return join ";\n", 'SET max_parallel_maintenance_workers = ' . int(rand 3),
		"SET maintenance_work_mem = '" . one_of(4, 8, 96) . "MB'",
		rand() < 0.3 ? 'SET statement_timeout = ' . int(rand 400) : (), @statements,
		# a crash takes these counts away
		q{INSERT INTO done SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'index'};
}

# Cancels or ends a builder, or one of its workers.
sub breaking
{
	my $how = one_of('pg_cancel_backend', 'pg_terminate_backend');
	my $whom = one_of("backend_type = 'parallel worker'", "query ~ 'INDEX'");
	return "SELECT $how(pid) FROM pg_stat_activity WHERE $whom AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1";
}

my $end = time + $seconds;
my @children = (
	until_the_end($end, 0.05, \&writing), until_the_end($end, 0.05, \&writing), until_the_end($end, 0.1, \&building),
	until_the_end($end, 0.1, \&building), until_the_end($end, 0.6, \&breaking));
my $crashes = 0;
for (1 .. 3)
{
	my $pid;

	sleep $seconds / 4;
	eval { $node->psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query ~ 'INDEX' AND pid <> pg_backend_pid()
		ORDER BY random() LIMIT 1}, stdout => \$pid) };
	$crashes += kill 'KILL', $pid if defined $pid && $pid =~ /^\d+$/;
}
waitpid $_, 0 foreach @children;
ok($node->poll_query_until('postgres', 'SELECT true'), "the server is up, after $crashes crashes");
my ($done, $built) = split /\|/, $node->safe_psql('postgres',
	'SELECT count(*), count(*) FILTER (WHERE built > 0) FROM done');
cmp_ok($done, '>', 0, "$done builders came to an end");
cmp_ok($built, '>', 0, "$built found indexes that gpusort has built since the last crash");
is($node->safe_psql('postgres', <<'SQL'), '', 'valid indexes have all rows, in order');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 's'::regclass AND indisvalid
	AND (SELECT count(*) FROM
		(SELECT bt_index_check(indexrelid, true), bt_index_parent_check(indexrelid, true, true)) c) <> 1
SQL
is($node->safe_psql('postgres',
	q{DROP INDEX IF EXISTS s1; CREATE INDEX s1 ON s (k); SELECT bt_index_check('s1', true)}), '',
	'the next build is right');
is(scalar(temp_files($node)), 0, 'no file is left');
$node->stop;
done_testing();
