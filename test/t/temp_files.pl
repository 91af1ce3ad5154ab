# Temporary files: limited, logged, in the tablespaces told, and gone afterwards.
use strict;
use warnings;

use FindBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('files', "gpusort.work_mem = '2MB'\nwork_mem = '2MB'\n");
my ($out, $err);
my $query = 'SELECT * FROM t ORDER BY k';

$node->safe_psql('postgres',
	"CREATE TABLE t AS SELECT (i * 7919::int8) % 200003 k, i, repeat('x', 40) pad FROM generate_series(1, 200000) i;"
	  . 'ANALYZE t');
my $expected = $node->safe_psql('postgres', 'SET gpusort.enabled = off; ' . rows_digest($query));

# used at all
$out = plan_of($node, $query, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
like($out, qr/Custom Scan \(GpuSort\)/, 'a GpuSort');
like($out, qr/Disk: \d+kB/, 'that went to disk');
is($node->safe_psql('postgres', rows_digest($query)), $expected, 'the same rows in the same order');
is(scalar(temp_files($node)), 0, 'no file is left');

# temp_file_limit
$node->psql(
	'postgres',
	"SET temp_file_limit = '1MB';\n" . rows_digest($query) . ";\nSELECT 'still ' || 'here';",
	on_error_stop => 0, stdout => \$out, stderr => \$err);
like($err, qr/temporary file size exceeds "?temp_file_limit"?/, 'temp_file_limit stops it');
like($out, qr/still here/, 'the session goes on');
is(scalar(temp_files($node)), 0, 'no file is left after the error');
$node->psql(
	'postgres',
	"BEGIN; SAVEPOINT s; SET temp_file_limit = '1MB';\n" . rows_digest($query)
	  . ";\nROLLBACK TO s;\n" . rows_digest($query) . "; COMMIT;",
	on_error_stop => 0, stdout => \$out, stderr => \$err);
like($out, qr/\Q$expected\E/, 'after the savepoint the same query works');

# what EXPLAIN calls Disk is the space that the files take: more suffices, and less does not
my ($space) = plan_of($node, $query, 'ANALYZE, COSTS OFF, TIMING OFF') =~ /GpuSort.*Disk: (\d+)kB/s;
foreach my $part (1.02, 0.98)
{
	$node->psql(
		'postgres', 'SET temp_file_limit = ' . int($space * $part) . '; ' . rows_digest($query),
		on_error_stop => 0, stdout => \$out, stderr => \$err);
	is($err =~ /temp_file_limit/ ? 'too little' : $err, $part > 1 ? '' : 'too little',
		"$part of $space kB of temporary files");
}

# a result that is read in both directions is written again into the space that the merge leaves
my $spilled = 'SELECT k, i, pad FROM t ORDER BY k';
my ($kilobytes) = plan_of($node, $spilled, 'ANALYZE, COSTS OFF, TIMING OFF') =~ /GpuSort.*Disk: (\d+)kB/s;
$node->psql(
	'postgres',
	'BEGIN; SET temp_file_limit = ' . int($kilobytes * 1.5)
	. "; DECLARE c SCROLL CURSOR FOR $spilled; MOVE FORWARD ALL FROM c; FETCH PRIOR FROM c;",
	on_error_stop => 0, stdout => \$out, stderr => \$err);
is($err, '', 'room for one copy of the rows is enough');
like($out, qr/^200002\|/m, 'the last row is the last');

# log_temp_files
my $position = -s $node->logfile;
$node->safe_psql('postgres', 'SET log_temp_files = 0; ' . rows_digest($query));
like(slurp_file($node->logfile, $position), qr/temporary file: path "base\/pgsql_tmp/, 'log_temp_files logs them');

# temp_tablespaces, watched while a cursor holds its files
my $folder = $node->basedir . '/elsewhere';
mkdir $folder or die "$folder: $!";
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$folder'");
my $session = $node->background_psql('postgres');
$session->query_safe("SET temp_tablespaces = 'elsewhere'");
$session->query_safe('BEGIN');
$session->query_safe("DECLARE c CURSOR FOR $query");
$session->query_safe('FETCH 100 FROM c');
my @files = temp_files($node);
cmp_ok(scalar(@files), '>', 0, 'an open cursor has files');
is(scalar(grep { !/pg_tblspc/ } @files), 0, 'all in the tablespace told');
$session->query_safe('CLOSE c');
is(scalar(temp_files($node)), 0, 'CLOSE removes them');
$session->query_safe("DECLARE c CURSOR FOR $query");
$session->query_safe('FETCH 100 FROM c');
$session->query_safe('ROLLBACK');
is(scalar(temp_files($node)), 0, 'ROLLBACK removes them');
$session->quit;

# a backend that is gone leaves none
$session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe('BEGIN');
$session->query_safe("DECLARE c CURSOR FOR $query");
$session->query_safe('FETCH 100 FROM c');
cmp_ok(scalar(temp_files($node)), '>', 0, 'files before the session is terminated');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid");
is(scalar(temp_files($node)), 0, 'none after');
eval { $session->quit };

$node->stop;
done_testing();
