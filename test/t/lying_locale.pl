# A locale whose sort keys contradict its comparison: the answer is PostgreSQL's, the lie is counted, and the session
# takes no more such keys.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# a library that stands before the C library and the ICU that the server has, if it has one
my $bindir = qx{pg_config --bindir};
chomp $bindir;
my ($icu) = qx{ldd $bindir/postgres} =~ /libicui18n\.so\.(\d+)/;
my $library = PostgreSQL::Test::Utils::tempdir() . '/lying_locale.so';
build_library($library, $icu ? "-DICU=$icu" : (), 'locale/lying_locale.c');

my $node = PostgreSQL::Test::Cluster->new('lying');
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'gpusort'
gpusort.min_rows = 0
max_parallel_workers_per_gather = 0
max_worker_processes = 4
jit = off
CONF

# Starts the server with a lie, or without.
sub start_with
{
	my ($lie) = @_;
	local %ENV = (%ENV, $lie ? (LD_PRELOAD => $library, LYING_LOCALE => $lie) : ());

	$node->start;
}

start_with();
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t AS SELECT i, translate(md5(i::text), '0123456789', 'pqrstuvwxyz') s, 'quiz' || i % 5 few
	FROM generate_series(1, 20000) i;
CREATE TABLE late AS SELECT i, CASE WHEN i < 18000 THEN translate(md5(i::text), '0123456789', 'prstuvwxyz')
	ELSE 'pq' || i END s FROM generate_series(1, 20000) i;
CREATE TABLE cases AS SELECT i, CASE i % 2 WHEN 0 THEN 'q' ELSE 'Q'
	END || i % 3000 / 2 * 2 || md5((i % 3000 / 2)::text) s FROM generate_series(1, 20000) i;
SQL
my %collations = (libc => "provider = libc, locale = 'en_US.UTF-8'");
$collations{icu} = "provider = icu, locale = 'en-US'" if $icu;
$collations{nocase} = "provider = icu, locale = 'und-u-ks-level2', deterministic = false" if $icu;
foreach my $name (sort keys %collations)
{
	my $status = $node->psql('postgres', "CREATE COLLATION $name ($collations{$name})", stderr => \my $error);
	next if $status == 0;
	note "no collation $name: $error";
	delete $collations{$name};
}

my $explain = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)';
my %right;

# Digest of the rows of a table in the order of a collation.
sub digest_of
{
	my ($table, $collation) = @_;
	return rows_digest("SELECT i, s FROM $table ORDER BY s COLLATE $collation, i");
}

foreach my $collation (sort keys %collations)
{
	foreach my $table ('t', 'late', 'cases')
	{
		my $query = digest_of($table, $collation);

		$right{"$table $collation"} = $node->safe_psql('postgres', "SET gpusort.enabled = off; $query");
		is($node->safe_psql('postgres', $query), $right{"$table $collation"}, "$collation, $table: the truth");
	}
}
is($node->safe_psql('postgres', 'SELECT sum(refused) FROM gpusort_stat'), '0', 'which is not refused');
$node->stop;

# One session over a table that a lie is about: once to PostgreSQL, then without keys.
sub lied_to
{
	my ($table, $collation, $memory) = @_;
	my $label = "$collation, $table, $memory";
	my $query = digest_of($table, $collation);
	my $plain = "SELECT i, s FROM $table ORDER BY s COLLATE $collation, i";
	my $session = $node->background_psql('postgres');
	my $before = $node->safe_psql('postgres', "SELECT sum(refused) FROM gpusort_stat");

	$session->query_safe("SET gpusort.work_mem = '$memory'");
	my $plan = $session->query_safe("$explain $plain");
	like($plan, qr/Fallback: sort keys contradict the comparison function/, "$label: the lie is noticed");
	is($node->safe_psql('postgres', "SELECT sum(refused) FROM gpusort_stat"), $before + 1, "$label: and counted");
	$plan = $session->query_safe("$explain $plain");
	like($plan, qr/Key Forms: \S* ?\S*: compared/, "$label: no such keys in this session any more");
	unlike($plan, qr/Engine: PostgreSQL/, "$label: which sorts without them");
	is($session->query_safe($query), $right{"$table $collation"}, "$label: right without them");
	$session->quit;
	is($node->safe_psql('postgres', "SET gpusort.work_mem = '$memory'; $query"), $right{"$table $collation"},
		"$label: right with them");
	return;
}

start_with('weight');
foreach my $collation (grep { $_ ne 'nocase' } sort keys %collations)
{
	lied_to('t', $collation, '64MB');
	lied_to('late', $collation, '64MB');
	lied_to('late', $collation, '1MB');
	like($node->safe_psql('postgres', "$explain SELECT * FROM t ORDER BY few COLLATE $collation"), qr/dictionary/,
		"$collation: few values need no keys");
	is( $node->safe_psql('postgres',
		"SELECT gpu_sort(array_agg(s COLLATE $collation)) = array_agg(s ORDER BY s COLLATE $collation) FROM t"),
		't', "$collation: a function's answer is right");
}
$node->stop;

SKIP:
{
	skip 'no ICU', 1 unless $collations{nocase};
	start_with('case');
	lied_to('cases', 'nocase', '64MB');
	$node->stop;
}
done_testing();
