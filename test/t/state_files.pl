# States of aggregates that are too large for one value go to the leader in temporary files, and nothing of those is
# left, however the query ends.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('states', "allow_in_place_tablespaces = on\nlog_temp_files = 0\n");
sub sql { return $node->safe_psql('postgres', $_[0]) }

# directories of states; the server's log says which files there were
sub left
{
	my $data = $node->data_dir;
	return scalar(grep { /\.4294967295\.fileset$/ } map { glob } "$data/base/pgsql_tmp/*",
		"$data/pg_tblspc/*/*/pgsql_tmp/*");
}
# files in them: in a transaction the directory stays
sub files_left { return scalar(map { glob "$_/*" } glob $node->data_dir . '/base/pgsql_tmp/*.4294967295.fileset') }
my $seen = -s $node->logfile;
sub files
{
	my $log = slurp_file($node->logfile, $seen);
	$seen = -s $node->logfile;
	my @files = $log =~ m{LOG: .*temporary file: path "([^"]*\.4294967295\.fileset/[^"]*)"}g;
	return @files;
}

sql(q{CREATE EXTENSION gpusort;
	CREATE TABLE t AS SELECT i, i % 3 AS g, md5(i::text) AS x FROM generate_series(1, 60000) AS i; VACUUM ANALYZE t;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 2;
		ALTER DATABASE postgres SET parallel_setup_cost = 0;
	ALTER DATABASE postgres SET parallel_tuple_cost = 0; ALTER DATABASE postgres SET min_parallel_table_scan_size = 0;
	ALTER DATABASE postgres SET gpusort.work_mem = '1MB'});

my $one = 'SELECT gpu_count_distinct(x), gpu_percentile_disc(x, 0.5), gpu_count_distinct(i), gpu_percentile_disc(i, '
	. '0.25) FROM t';
my $plain = sql('SET gpusort.enabled = off; SELECT count(DISTINCT x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x),
	count(DISTINCT i),
	percentile_disc(0.25) WITHIN GROUP (ORDER BY i) FROM t');
files();
# how many depends on how the participants share the rows; the one that has most of them writes at least one
is(sql($one), $plain, 'states in files');
cmp_ok(scalar(files()), '>', 0, 'which there were');
is(left(), 0, 'and are no more');
is(sql("SET parallel_leader_participation = off; $one"), $plain, 'of workers only');
files();
is(sql("SET gpusort.work_mem = '64MB'; SELECT gpu_count_distinct(x) FROM t"), 60000, 'states in memory');
is(scalar(grep { /fileset/ } files()), 0, 'for which there are no files');

# with groups, read twice by a sort
my $groups = 'SELECT g, gpu_count_distinct(x), gpu_percentile_disc(x, 0.5), gpu_sort_agg(x) FROM t GROUP BY g';
my $same = 'SELECT count(s) FROM (VALUES (1), (2), (3)) AS v CROSS JOIN (%s) AS s';
my $plans = "SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET "
	. "parallel_leader_participation = off;";
for my $hashed ('on', 'off')
{
	my $set = "$plans SET enable_hashagg = $hashed;";
	files();
	is(sql("$set SELECT md5(string_agg(s::text, ',' ORDER BY g)) FROM ($groups) AS s"),
		sql("SELECT md5(string_agg(s::text, ',' ORDER BY g)) FROM (SELECT g, count(DISTINCT x), percentile_disc(0.5) "
			. "WITHIN GROUP (ORDER BY x), array_agg(x ORDER BY x) FROM t GROUP BY g) AS s"),
		"groups, enable_hashagg $hashed");
	cmp_ok(scalar(files()), '>', 0, 'in files');
	is(sql("$set " . sprintf($same, $groups)), 9, "groups, three times, enable_hashagg $hashed");
}
is(left(), 0, 'nothing is left of groups');

# nor while the transaction lasts: what may be read twice is deleted when the query ends, other files as they are read
my $s = $node->background_psql('postgres', on_error_stop => 0);
for my $hashed ('on', 'off')
{
	$s->query_safe("BEGIN; $plans SET enable_hashagg = $hashed");
	files();
	is($s->query_safe(sprintf($same, $groups)), 9, "in a transaction, enable_hashagg $hashed");
	cmp_ok(scalar(files()), '>', 0, 'files have been deleted');
	is(files_left(), 0, 'all of them');
	is($s->query_safe('COMMIT; SELECT 1'), 1, 'and it commits');
	$s->query_safe('RESET ALL');
}

# a query that ends early; the states of its first group are in memory
sql('CREATE TABLE u AS SELECT CASE WHEN i < 20 THEN 0 ELSE 1 END AS g, md5(i::text) AS x FROM generate_series(1, '
	. '40000) AS i; VACUUM ANALYZE u');
$s->query_safe('SET parallel_leader_participation = off; SET enable_hashagg = off; SET cpu_tuple_cost = 1');
my $early = 'SELECT g, gpu_count_distinct(x), pg_sleep(1) FROM u GROUP BY g LIMIT 1';
like($s->query_safe("EXPLAIN $early"), qr/Finalize GroupAggregate/, 'a query that ends early');
like($s->query_safe("BEGIN; $early"), qr/^0\|19\|/, 'one group');
isnt(left(), 0, 'there are files that nobody has read');
is($s->query_safe('SELECT count(DISTINCT x) FROM t'), 60000, 'another query meanwhile');
$s->query_safe('COMMIT');
is(left(), 0, 'nothing is left at the end of the transaction');
$s->query_safe('RESET cpu_tuple_cost; RESET enable_hashagg');

# A worker that fails when another one has ended, which has the other pages of the table, and so a state that goes to a
# file: the one with the first row waits for that.
sql(q{CREATE FUNCTION late(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
	BEGIN
		FOR n IN 1 .. CASE WHEN i = 1 THEN 60000 ELSE 0 END LOOP
			IF EXISTS (SELECT FROM (SELECT 'base' UNION ALL SELECT 'pg_tblspc/' || s || '/' || v
				FROM pg_ls_dir('pg_tblspc') AS s, pg_ls_dir('pg_tblspc/' || s) AS v) AS d (folder),
					pg_ls_dir(folder || '/pgsql_tmp', true, false) AS f WHERE f ~ '\.4294967295\.fileset$') THEN
				RAISE 'late';
			END IF;
			PERFORM pg_sleep(0.01);
		END LOOP;
		RETURN i;
	END $$});
my $late = 'SELECT gpu_count_distinct(x || late(i)) FROM t';
like($s->query_safe("EXPLAIN $late"), qr/Partial Aggregate/, 'a query that fails late');
$s->query($late);
like($s->{stderr}, qr/ERROR:  late/, 'fails');
$s->{stderr} = '';
is(left(), 0, 'nothing is left of it');
$s->query('BEGIN; SAVEPOINT a');
$s->query($late);
like($s->{stderr}, qr/ERROR:  late/, 'fails in a subtransaction');
$s->{stderr} = '';
isnt(left(), 0, 'files are there while the transaction is');
is($s->query_safe("ROLLBACK TO a; $one"), $plain, 'others work');
$s->query_safe('COMMIT');
is(left(), 0, 'nothing is left at its end');
$s->query_safe("SET gpusort.enabled = off");
$s->query("SELECT gpu_count_distinct(x || late(i)) FROM t");
like($s->{stderr}, qr/ERROR:  late/, 'fails while switched off');
$s->{stderr} = '';
is(left(), 0, 'nothing is left of that either');
$s->quit;

# other tablespaces, and limits
sql(q{CREATE TABLESPACE "aside" LOCATION ''});
files();
is(sql("SET temp_tablespaces = 'aside'; $one"), $plain, 'in a tablespace for temporary files');
ok((grep { m{^pg_tblspc/} } files()), 'where they were');
my ($out, $err) = ('', '');
$node->psql('postgres', "SET temp_tablespaces = 'aside'; SET parallel_leader_participation = off; $late",
	stderr => \$err);
like($err, qr/ERROR:  late/, 'fails there');
is(left(), 0, 'nothing is left there');
$node->psql('postgres', "SET temp_file_limit = '100kB'; $one", stderr => \$err);
like($err, qr/temporary file size exceeds "?temp_file_limit/, 'temp_file_limit');
is(left(), 0, 'nothing is left');

# values that their type's own functions would not receive
is(sql('SET max_parallel_workers_per_gather = 2; SELECT count(DISTINCT ARRAY[g, g]::oidvector), count(DISTINCT '
	. 'ARRAY[ARRAY[g, g]::oidvector]) FROM t'), '3|3', 'vectors of OIDs that begin at 1');

$node->stop;
done_testing();
